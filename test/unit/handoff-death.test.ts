import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CallFields } from '../../src/handoff/link.ts';
import { makeRingPlumbing } from '../../src/handoff/ring-end.ts';
import { RingWorkerLink } from '../../src/handoff/ring-link.ts';
import { nextTurn, patternBytes, RecordingAcceptor, sendCall } from '../support/handoff-sides.ts';
import { nextEvent } from '../support/wait.ts';

const RING_BYTES = 64 * 1024;
const FRAME = patternBytes(300, 1);

let thread: Worker;
let acceptor: RecordingAcceptor;
let link: RingWorkerLink;

function start(): void {
  const { acceptorEnd, workerEnd } = makeRingPlumbing(RING_BYTES);
  acceptor = new RecordingAcceptor();
  thread = new Worker(new URL('../support/handoff-echo-thread.ts', import.meta.url), {
    workerData: workerEnd,
    transferList: [workerEnd.port],
  });
  link = new RingWorkerLink(0, acceptorEnd, acceptor);
}

beforeEach(start);

afterEach(async () => {
  link.close();
  await thread.terminate();
});

/** A call that makes the thread do `flags` (handoff-echo-thread.ts). */
function sendOrder(flags: number, slot: number): void {
  const fields = new CallFields();
  fields.slot = slot;
  fields.flags = flags;
  expect(link.call(fields, FRAME, 0, FRAME.length)).toBe(true);
}

describe('rule 6: a worker that dies', () => {
  it('leaves the answers that it gave, even those it did not ring for, and no others', async () => {
    for (let slot = 0; slot < 10; slot++) sendCall(link, 1, slot, FRAME);
    sendOrder(1, 10);
    for (let slot = 11; slot < 15; slot++) sendCall(link, 1, slot, FRAME);
    const exit = nextEvent(thread, 'exit', 'death of the worker');
    link.flush();
    expect(await exit).toEqual([7]);
    await acceptor.until(() => acceptor.replies.length === 10, 'the answers given before');
    await nextTurn();
    // Exactly the others are still outstanding: these are the calls that the acceptor answers itself.
    expect(acceptor.replies.map(({ slot }) => slot)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it('does the same when it dies by an error', async () => {
    sendCall(link, 1, 0, FRAME);
    sendOrder(2, 1);
    const error = nextEvent(thread, 'error', 'error of the worker');
    link.flush();
    expect(String((await error)[0])).toContain('thrown by the worker');
    await acceptor.until(() => acceptor.replies.length === 1, 'the answer given before');
  });

  it('neither harms nor is felt by the acceptor: calls go on until the ring is full, then are refused', async () => {
    sendOrder(1, 0);
    const exit = nextEvent(thread, 'exit', 'death of the worker');
    link.flush();
    await exit;
    let taken = 0;
    while (sendCall(link, 1, taken, FRAME)) taken++;
    link.openClient(1, 1, { user: 'a', realUser: '', address: '', port: 0 });
    link.flush();
    expect(taken).toBeGreaterThan(100);
    expect(acceptor.spaces).toBe(0);
    link.close();
    // Its successor has a ring of its own.
    start();
    sendCall(link, 1, 0, FRAME);
    link.flush();
    await acceptor.until(() => acceptor.replies.length === 1, 'the answer of the successor');
  });
});
