import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { RingIndex } from '../../src/handoff/ring.ts';
import { makeRingPlumbing, type RingPlumbing } from '../../src/handoff/ring-end.ts';
import type { Outcome, StressOrder } from '../support/ring-stress-thread.ts';
import { nextEvent } from '../support/wait.ts';

/** About five seconds on two idle cores. */
const RECORDS = 10_000_000;
/** Small, so that it wraps every few hundred records and is full often. */
const RING_BYTES = 64 * 1024;
const SEED = 20_240_611;
const LIMIT_MS = 240_000;

function run(role: StressOrder['role'], plumbing: RingPlumbing): { thread: Worker; outcome: Promise<Outcome> } {
  const order: StressOrder = { role, plumbing, records: RECORDS, seed: SEED };
  const thread = new Worker(new URL('../support/ring-stress-thread.ts', import.meta.url), {
    workerData: order,
    transferList: [plumbing.port],
  });
  const outcome = Promise.race([
    nextEvent(thread, 'message', `outcome of the ${role}`, LIMIT_MS).then(([message]) => message as Outcome),
    nextEvent(thread, 'error', `error of the ${role}`, LIMIT_MS).then(([error]) => Promise.reject(error as Error)),
  ]);
  return { thread, outcome };
}

it(
  `passes ${RECORDS.toLocaleString('en')} records between two threads, through wrap, full and empty`,
  async () => {
    const { acceptorEnd, workerEnd } = makeRingPlumbing(RING_BYTES);
    // The running positions cross 2^31 soon and 2^32 later.
    for (const ring of [acceptorEnd.calls, acceptorEnd.replies]) {
      const words = new Int32Array(ring);
      words[RingIndex.PRODUCED] = 2 ** 31 - 4096;
      words[RingIndex.CONSUMED] = 2 ** 31 - 4096;
    }
    const worker = run('worker', workerEnd);
    const acceptor = run('acceptor', acceptorEnd);
    try {
      const [taken, sent] = await Promise.all([worker.outcome, acceptor.outcome]);
      expect(taken.fault).toBe('');
      expect(sent.fault).toBe('');
      expect(taken.bytes).toBe(sent.bytes);
      expect(sent.answers).toBe(Math.ceil(RECORDS / 16));
      expect(taken.answers).toBe(sent.answers);
      expect(taken.checksum).toBe(sent.checksum);
      // Each refusal was followed by one notice, and the run met both full and empty rings.
      expect(sent.spaces).toBe(sent.refusals);
      expect(sent.refusals).toBeGreaterThan(10);
      expect(taken.drains).toBeGreaterThan(10);
    } finally {
      await Promise.all([worker.thread.terminate(), acceptor.thread.terminate()]);
    }
  },
  LIMIT_MS,
);
