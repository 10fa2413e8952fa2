/**
 * Counters of the data path: one region of doubles per thread, plain adds by that thread, summed by the reader. A reader may see a sum
 * that is a few events old; it never sees a torn number on 64-bit machines.
 */
export const COUNTERS = [
  'clientsAccepted',
  'clientsClosed',
  'clientsRefused',
  'handshakesRefused',
  'slowReadersClosed',
  'idleClientsClosed',
  'callsRead',
  'callsRecoded',
  'callsRefused',
  'repliesWritten',
  'repliesDropped',
  'strayReplies',
  'callsForwarded',
  /** Requests of composed calls. */
  'partsSent',
  /** Changes that belong in several nameservices and that some of them did not make. */
  'divergences',
  'callsResent',
  'callsUnsupported',
  'callsLocal',
  /** Ended because their time was over. */
  'callsExpired',
  /** Ended before, because no NameNode could be reached for long. */
  'callsUnreached',
  /** Ended by an error in the router's own code. */
  'callsBroken',
  'namenodeConnectionsOpened',
  'namenodeConnectionsLost',
  'namenodeConnectFailures',
  'namenodesHung',
  'unknownReplies',
  'standbyAnswers',
  'activeChanges',
  'suspectsSent',
  'pingsSent',
  /** A level, not a count: KiB of the memory budget that the thread holds. */
  'budgetKib',
] as const;

export type CounterName = (typeof COUNTERS)[number];

const INDEX = Object.fromEntries(COUNTERS.map((name, index) => [name, index])) as Record<CounterName, number>;
/** Position of each counter, for `Counters.add`. */
export const Counter: Readonly<Record<CounterName, number>> = INDEX;

export function createCounters(threads: number): SharedArrayBuffer {
  return new SharedArrayBuffer(threads * COUNTERS.length * 8);
}

export class Counters {
  readonly #region: Float64Array;

  constructor(shared: SharedArrayBuffer, thread: number) {
    this.#region = new Float64Array(shared, thread * COUNTERS.length * 8, COUNTERS.length);
  }

  add(counter: number, amount = 1): void {
    this.#region[counter] = (this.#region[counter] as number) + amount;
  }

  get(counter: number): number {
    return this.#region[counter] as number;
  }
}

/** Sum over all threads, by name. */
export function readCounters(shared: SharedArrayBuffer): Record<CounterName, number> {
  const all = new Float64Array(shared);
  const sums = Object.fromEntries(COUNTERS.map((name) => [name, 0])) as Record<CounterName, number>;
  for (let i = 0; i < all.length; i++) {
    const name = COUNTERS[i % COUNTERS.length] as CounterName;
    sums[name] += all[i] as number;
  }
  return sums;
}
