/**
 * Counters of the data path: one region of doubles per thread, plain adds by that thread, summed by the reader. A reader may see a sum
 * that is a few events old; it never sees a torn number on 64-bit machines.
 */
export const COUNTERS = [
  'clientsAccepted',
  'clientsClosed',
  /** Above ipc.server.max.connections, while the router stops, or for want of descriptors or of a worker. */
  'clientsRefused',
  /** The same for too many of one address, of one user; the latter are handshakes refused as well. */
  'addressesRefused',
  'usersRefused',
  'handshakesRefused',
  /** Handshakes, and rests of frames, that have not come in time. */
  'slowHandshakesClosed',
  'slowSendersClosed',
  'longFramesClosed',
  /** Replies unread for too long, too many of them unread; and whatever found the memory budget used up. */
  'slowReadersClosed',
  'unreadRepliesClosed',
  'memoryRefusals',
  'idleClientsClosed',
  /** Told by a worker's FATAL to go. */
  'clientsDisconnected',
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
  /** Times that a client was not read from: too many calls in flight; and handshakes that waited for a later turn. */
  'pausesInFlight',
  'contextsDelayed',
  /** Levels, not counts, as of the last second: connections, those not read from, calls at workers, KiB of replies that do not leave. */
  'clientsOpen',
  'clientsPaused',
  'callsOutstanding',
  'unreadKib',
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

  /** For levels. */
  set(counter: number, level: number): void {
    this.#region[counter] = level;
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
