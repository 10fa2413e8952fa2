/**
 * What a load run is to do: the checked form of the command line, and the part of it that one loader thread gets. Plain data, so that it
 * passes between threads and can be put into the result.
 */
import type { OperationName } from './operations.ts';

/** Where calls are directed: a directory that was given with --mounts or in the URI, and the one of ours in it. */
export interface Target {
  /** Name in the results: the nameservice or mount that the user gave, else the directory. */
  readonly name: string;
  /** The given directory; it exists and is never changed itself. */
  readonly directory: string;
  /** `<directory>/<own name of this run>`: made by prepare, removed by remove; nothing outside is ever changed. */
  readonly own: string;
}

/** How calls come about. */
export type Loop =
  /** Calls are due on a schedule whatever the server does; the rate grows linearly from 0 over the first `rampMs`. */
  | { readonly kind: 'open'; readonly callsPerSecond: number; readonly rampMs: number }
  /** A reply makes the next call: shows the most that goes through, hides the waiting of those who did not call. */
  | { readonly kind: 'closed' }
  /** Calls of a recorded log, due at their relative times divided by `speed`. */
  | { readonly kind: 'replay'; readonly speed: number };

export type Distribution = { readonly kind: 'uniform' } | { readonly kind: 'zipf'; readonly exponent: number };

export interface MixShare {
  readonly operation: OperationName;
  /** Relative to the sum of all weights; greater than 0. */
  readonly weight: number;
}

export interface LoadPlan {
  readonly host: string;
  readonly port: number;
  readonly loop: Loop;
  /** Client connections of all threads together. */
  readonly connections: number;
  /** Most calls without a reply of one connection. */
  readonly inFlight: number;
  /** User of connection i is users[i % users.length]; at least one. */
  readonly users: readonly string[];
  /** Who makes and removes the own directories; default: the first of the users. */
  readonly owner?: string;
  readonly mix: readonly MixShare[];
  readonly targets: readonly Target[];
  /** Existing paths to read, given with --paths; empty: files of the own directories. They are never changed. */
  readonly paths: readonly string[];
  readonly distribution: Distribution;
  /** Files that prepare makes in the own directory of each target. */
  readonly filesPerTarget: number;
  /** Not measured, at the start; the ramp counts into it when it is longer. */
  readonly warmupMs: number;
  /** Measured time, or calls to be measured; one of the two is null. A replay ends with its log: both are null. */
  readonly durationMs: number | null;
  readonly calls: number | null;
  /** A call without a reply for this long is an error of class `timeout`; its latency counts as this long. */
  readonly timeoutMs: number;
  readonly threads: number;
  /** Calls carry routerFederatedState, as clients with observer reads send it. */
  readonly observerReads: boolean;
  /** Process on this machine whose CPU, memory and descriptors are reported; null: none. */
  readonly watchedPid: number | null;
  /** Of the random choices: the same seed gives the same operations and read paths. What is renamed, changed or deleted depends on the replies. */
  readonly seed: number;
  /** Number of the first name that each thread makes at each target; default 0. Runs one after the other in the same own directories differ. */
  readonly firstName?: number;
  /** Loader threads watch the clock without sleeping: calls are written when they are due, and each thread takes a whole core. Default: false. */
  readonly spin?: boolean;
}

/** One recorded call of a replay. */
export interface ReplayCall {
  /** After the first call of the log, before `speed`. */
  readonly atMs: number;
  readonly operation: OperationName;
  readonly user: string;
  /** Paths as the server knows them, inside the own directories where the operation changes something. */
  readonly source: string;
  readonly destination: string;
  /**
   * Indexes, among the calls that it is given together with, of earlier calls that have to be over before this one is sent, for the one changes
   * what the other is about; left out when there are none.
   */
  readonly after?: readonly number[];
}

/** Calls of a replay that wait for calls of other loader threads: what one thread has to know of the others. */
export interface ReplayLinks {
  /**
   * Calls of other threads that own calls wait for, by their threads. They are numbered after the own ones: `after` of a call names the i-th of
   * them as `replay.length + i`.
   */
  readonly foreign: Int32Array;
  /** Own calls that calls of other threads wait for, three numbers each: the own call, the other thread, and the number that it has there. */
  readonly awaited: Int32Array;
}

/** What one loader thread is given. */
export interface ThreadStart {
  readonly plan: LoadPlan;
  /** 0 … plan.threads - 1. */
  readonly thread: number;
  /** Indexes of the connections of this thread: connection i belongs to thread i % threads. */
  readonly connections: readonly number[];
  /** Its share of the rate, in (0, 1]; the shares of all threads add up to 1. */
  readonly rateShare: number;
  /** Its share of `plan.calls`; null without. */
  readonly calls: number | null;
  /** Calls of the connections of this thread, by time; empty but for a replay. */
  readonly replay: readonly ReplayCall[];
  readonly links: ReplayLinks;
  /** Line to the main thread. */
  readonly port: import('node:worker_threads').MessagePort;
}

/** Main thread to loader thread. */
export type ToLoader =
  /** All threads are connected: begin. `startAtMs` is performance.timeOrigin-based epoch time, the same for all threads. */
  | { readonly kind: 'begin'; readonly startAtEpochMs: number }
  /** End early (Ctrl-C): stop issuing, wait for replies up to a second, report. */
  | { readonly kind: 'stop' }
  /** Calls of other threads are over, by their numbers here (see ReplayLinks). */
  | { readonly kind: 'over'; readonly calls: Int32Array }
  /** Another thread has ended: it makes no call any more. */
  | { readonly kind: 'ended'; readonly thread: number };

/** Loader thread to main thread. */
export type FromLoader =
  | { readonly kind: 'connected' }
  /** A connection could not be opened, or broke before `begin`: the run is given up. */
  | { readonly kind: 'failed'; readonly message: string }
  /** Calls are over that `thread` waits for, by their numbers there. */
  | { readonly kind: 'over'; readonly thread: number; readonly calls: Int32Array }
  | SecondReport
  | FinalReport;

/** Counts of latencies (see histogram/latency-buckets.ts), copied; the buckets' shape is common to all threads. */
export type BucketCounts = Uint32Array;

/** Sent each second after `begin`, warm-up included. */
export interface SecondReport {
  readonly kind: 'second';
  /** 0 for the first second after `begin`. */
  readonly second: number;
  readonly measured: boolean;
  readonly replies: number;
  readonly errors: number;
  /** Calls that are due and not sent, now. */
  readonly waiting: number;
  readonly inFlight: number;
  /** Latencies of the calls that were over in this second: answered, timed out or lost. */
  readonly corrected: BucketCounts;
  readonly service: BucketCounts;
  /** The same of measured calls alone; null: all were measured. */
  readonly measuredCalls: { readonly corrected: BucketCounts; readonly service: BucketCounts } | null;
  /** The longest of all, exactly. */
  readonly correctedMaxMs: number;
  readonly serviceMaxMs: number;
}

/** Calls of one operation at one target that are over, measured ones: each has a latency, and is a success or an error. */
export interface CellReport {
  readonly operation: OperationName;
  /** Index in plan.targets; -1: paths given with --paths, or of a replay. */
  readonly target: number;
  readonly corrected: BucketCounts;
  readonly service: BucketCounts;
  /** The longest latencies, exactly. */
  readonly correctedMaxMs: number;
  readonly serviceMaxMs: number;
  readonly successes: number;
  /** By Java exception class, `timeout`, or `connection` (lost with the connection). */
  readonly errors: Readonly<Record<string, { readonly count: number; readonly firstMessage: string }>>;
}

export interface FinalReport {
  readonly kind: 'final';
  /** Answered within the measured time, errors included. */
  readonly replies: number;
  /** Calls due in the measured time that were answered before its end, or so soon after it that they were merely under way. */
  readonly keptUp: number;
  /** Service times of those that were due in the first tenth of the measured time, or of the measured calls. */
  readonly early: BucketCounts;
  /** Measured reads of given paths, or of a replay, that found nothing: successes. */
  readonly nothingFound: number;
  /**
   * The measured time, in ms after the begin that all threads have in common: that of the plan, or from the first measured call to the last reply.
   * Equal when nothing was measured.
   */
  readonly measuredFromMs: number;
  readonly measuredToMs: number;
  /** Calls that were due in the measured time. In a closed loop: sent. */
  readonly due: number;
  /**
   * Sent later than LATE_MS after they were due because all slots were taken, or a call had to be over before; and because this thread was late
   * itself.
   */
  readonly lateForSlots: number;
  readonly lateForLoader: number;
  /** Due in the measured time and still not sent at its end; after giving up also what would have been due. */
  readonly unsent: number;
  /** Measured calls that were sent and had no reply when an early end gave them up: neither latencies nor errors. */
  readonly unanswered: number;
  /** The server was gone for so long that a run without an end of its own ended itself. */
  readonly gaveUp: boolean;
  /** How long after they were due calls were written that found a free slot; measured ones, none in a closed loop. */
  readonly sendDelay: BucketCounts;
  /** Renames and deletes for which nothing was left, replaced by mkdirs. */
  readonly substituted: number;
  readonly cells: readonly CellReport[];
  readonly self: ThreadSelf;
}

/** What a loader thread says about itself, in the measured time. */
export interface ThreadSelf {
  /** Share of the time in which its event loop was busy, 0 … 1. */
  readonly utilization: number;
  readonly loopDelayP50Ms: number;
  readonly loopDelayP99Ms: number;
  readonly loopDelayMaxMs: number;
  readonly gcCount: number;
  readonly gcTotalMs: number;
  readonly gcMaxMs: number;
}
