/**
 * Which mount snapshot every thread is on: one Int32 word per thread in shared memory.
 *
 * Word i has a single writer at any time: thread i while it runs, the main thread before it starts and after it has ended. A thread that
 * was started without a snapshot has announced nothing when it is given its first one: the main thread announces that one for it.
 * A thread stores an epoch after it has swapped its reference, and snapshots reach it in ascending order. So a thread that announces
 * epoch e neither looks at a snapshot older than e nor will be handed one: memory of epochs below the oldest announced one is free.
 * A thread about to start is given the current snapshot, and main announces that epoch for it before.
 */
export type SharedBytes = SharedArrayBuffer;
export type EpochWords = Int32Array<SharedArrayBuffer>;

/** The word of a thread that does not run: it holds nothing. */
export const NO_EPOCH = 0;
/** Highest epoch there is; also the answer of `oldestAnnounced` when no thread runs. */
export const LAST_EPOCH = 0x7fff_ffff;

/** Zeroed memory that all threads see. */
export function allocateShared(bytes: number): SharedBytes {
  return new SharedArrayBuffer(bytes);
}

/** One word per thread, all `NO_EPOCH`. */
export function allocateEpochWords(threads: number): EpochWords {
  return new Int32Array(new SharedArrayBuffer(threads * Int32Array.BYTES_PER_ELEMENT));
}

/** Publishes that `thread` is on `epoch` and has dropped every older snapshot. */
export function announceEpoch(words: EpochWords, thread: number, epoch: number): void {
  Atomics.store(words, thread, epoch);
}

/** The thread is about to be given `epoch`; counts when it has announced nothing yet. */
export function announceFirst(words: EpochWords, thread: number, epoch: number): void {
  Atomics.compareExchange(words, thread, NO_EPOCH, epoch);
}

/** `thread` has ended (or died): it holds no snapshot any more. */
export function retireThread(words: EpochWords, thread: number): void {
  Atomics.store(words, thread, NO_EPOCH);
}

/** The epoch that `thread` is on, `NO_EPOCH` when it does not run. */
export function announcedEpoch(words: EpochWords, thread: number): number {
  return Atomics.load(words, thread);
}

/** The oldest epoch that a running thread is on; `LAST_EPOCH` when none runs. */
export function oldestAnnounced(words: EpochWords): number {
  let oldest = LAST_EPOCH;
  for (let thread = 0; thread < words.length; thread++) {
    const epoch = Atomics.load(words, thread);
    if (epoch !== NO_EPOCH && epoch < oldest) oldest = epoch;
  }
  return oldest;
}
