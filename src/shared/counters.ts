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
  /** Of the calls that the router itself refused: in safe mode, changes below read-only mount points, paths that lead nowhere. */
  'callsInSafeMode',
  'callsReadOnly',
  'callsUnresolved',
  'repliesWritten',
  /** Bytes of clients, as they come and go. */
  'bytesReceived',
  'bytesSent',
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
  /** Levels, not counts, as of the last second: connections to NameNodes, of these those with calls in flight and those that are being opened; users' pools of them. */
  'namenodeConnections',
  'namenodeConnectionsBusy',
  'namenodeConnectionsOpening',
  'namenodePools',
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

/** Rows of the method table that are counted apart (call/methods.ts has fewer). */
export const METHOD_ROWS = 256;
/** What is counted of each method: calls of clients, requests to NameNodes, and calls for which several of these were on their way at once. */
export const METHOD_COUNTS = ['calls', 'requests', 'fanOuts'] as const;
export type MethodCountName = (typeof METHOD_COUNTS)[number];

export type CounterName = (typeof COUNTERS)[number];

/** Those that are no counts. `budgetKib` is given back by `reclaim`. */
const LEVELS: readonly CounterName[] = [
  'namenodeConnections',
  'namenodeConnectionsBusy',
  'namenodeConnectionsOpening',
  'namenodePools',
  'clientsOpen',
  'clientsPaused',
  'callsOutstanding',
  'unreadKib',
];

const INDEX = Object.fromEntries(COUNTERS.map((name, index) => [name, index])) as Record<CounterName, number>;
/** Position of each counter, for `Counters.add`. */
export const Counter: Readonly<Record<CounterName, number>> = INDEX;

const METHOD_INDEX = Object.fromEntries(
  METHOD_COUNTS.map((name, index) => [name, COUNTERS.length + index * METHOD_ROWS]),
) as Record<MethodCountName, number>;
/** Position of the first row of each, for `Counters.add` with the index of a method added. */
export const MethodCount: Readonly<Record<MethodCountName, number>> = METHOD_INDEX;

/** Doubles of one thread. */
const REGION = COUNTERS.length + METHOD_COUNTS.length * METHOD_ROWS;

export function createCounters(threads: number): SharedArrayBuffer {
  return new SharedArrayBuffer(threads * REGION * 8);
}

export class Counters {
  readonly #region: Float64Array;

  constructor(shared: SharedArrayBuffer, thread: number) {
    this.#region = new Float64Array(shared, thread * REGION * 8, REGION);
  }

  add(counter: number, amount = 1): void {
    this.#region[counter] = (this.#region[counter] as number) + amount;
  }

  /** For levels. */
  set(counter: number, level: number): void {
    this.#region[counter] = level;
  }

  /** The thread has died: what it has counted stays, what it had is gone. */
  forgetLevels(): void {
    for (const name of LEVELS) this.#region[Counter[name]] = 0;
  }

  get(counter: number): number {
    return this.#region[counter] as number;
  }
}

/** Sum over all threads, by name. */
export function readCounters(shared: SharedArrayBuffer): Record<CounterName, number> {
  const sums = sumOf(shared, 0, COUNTERS.length);
  return Object.fromEntries(COUNTERS.map((name, i) => [name, sums[i]])) as Record<CounterName, number>;
}

/** Sums over all threads, by the index of the method. */
export function readMethodCounts(shared: SharedArrayBuffer): Record<MethodCountName, Float64Array> {
  return Object.fromEntries(
    METHOD_COUNTS.map((name) => [name, sumOf(shared, MethodCount[name], METHOD_ROWS)]),
  ) as Record<MethodCountName, Float64Array>;
}

function sumOf(shared: SharedArrayBuffer, first: number, count: number): Float64Array {
  const all = new Float64Array(shared);
  const sums = new Float64Array(count);
  for (let from = first; from < all.length; from += REGION) {
    for (let i = 0; i < count; i++) sums[i] = (sums[i] as number) + (all[from + i] as number);
  }
  return sums;
}
