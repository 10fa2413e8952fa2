/** Round trips of calls between two threads, by the ring link and by a message each: with one in flight, and with 64. */

import { Worker } from 'node:worker_threads';
import { type AcceptorSide, CallFields, type WorkerLink } from '../../src/handoff/link.ts';
import { DEFAULT_RING_BYTES, makeRingPlumbing, RingWorkerLink } from '../../src/handoff/ring-link.ts';
import { RingWorkerLink as MessageWorkerLink } from '../ablation/message/ring-link.ts';
import type { EchoStart } from './echo-thread.ts';
import { expect, type OpenSubjects, type Subject } from './subject.ts';

const FRAME_BYTES = 160;
const DEPTHS = [1, 64];
/** Round trips for each reading of the clock: they take microseconds. */
const BATCH = 1_000;

export async function hopSubjects(): Promise<OpenSubjects> {
  const ring = new EchoPair('ring');
  const message = new EchoPair('message');
  for (const pair of [ring, message]) {
    expect((await pair.run(10, 3)) === 10 * FRAME_BYTES, `a call does not come back (${pair.via})`);
  }
  const subjects = DEPTHS.map((depth): Subject => {
    const suffix = `across threads and back, ${depth} in flight`;
    return {
      name: `ring ${suffix}`,
      awaited: true,
      batch: BATCH,
      run: (times) => ring.run(times, depth),
      alternative: {
        name: `postMessage ${suffix}`,
        awaited: true,
        batch: BATCH,
        run: (times) => message.run(times, depth),
      },
    };
  });
  return {
    subjects,
    [Symbol.asyncDispose]: async () => {
      await Promise.all([ring.close(), message.close()]);
    },
  };
}

/** This end, and a thread that answers each call with its own frame. */
class EchoPair implements AcceptorSide {
  readonly via: EchoStart['via'];
  readonly #link: WorkerLink;
  readonly #thread: Worker;
  readonly #fields = new CallFields();
  readonly #frame = Buffer.alloc(FRAME_BYTES, 0x5a);
  #left = 0;
  #unanswered = 0;
  #bytes = 0;
  #done: (bytes: number) => void = () => {};

  constructor(via: EchoStart['via']) {
    this.via = via;
    const { acceptorEnd, workerEnd } = makeRingPlumbing(DEFAULT_RING_BYTES);
    this.#thread = new Worker(new URL('./echo-thread.ts', import.meta.url), {
      workerData: { via, plumbing: workerEnd } satisfies EchoStart,
      transferList: [workerEnd.port],
    });
    this.#link =
      via === 'ring' ? new RingWorkerLink(0, acceptorEnd, this) : new MessageWorkerLink(0, acceptorEnd, this);
  }

  /** Makes `times` round trips with `depth` calls in flight; bytes of all answers. */
  run(times: number, depth: number): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<number>();
    this.#left = times;
    this.#unanswered = times;
    this.#bytes = 0;
    this.#done = resolve;
    for (let i = 0; i < depth; i++) this.#call();
    this.#link.flush();
    return promise;
  }

  onReply(
    _link: WorkerLink,
    _connection: number,
    _generation: number,
    _slot: number,
    _flags: number,
    _buffer: Buffer,
    start: number,
    end: number,
  ): void {
    this.#bytes += end - start;
    this.#unanswered--;
    this.#call();
  }

  onSpace(): void {
    throw new Error('micro bench: the ring is full with a few calls');
  }

  onDrained(): void {
    this.#link.flush();
    if (this.#unanswered === 0) this.#done(this.#bytes);
  }

  async close(): Promise<void> {
    this.#link.close();
    await this.#thread.terminate();
  }

  #call(): void {
    if (this.#left === 0) return;
    this.#left--;
    this.#fields.slot = this.#left;
    this.#link.call(this.#fields, this.#frame, 0, FRAME_BYTES);
  }
}
