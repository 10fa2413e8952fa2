/** The result of a load run, as --json writes it. Times in it are µs unless a name says otherwise. */
import type { LoadPlan } from '../plan/plan.ts';

export const RESULT_VERSION = 1;

export interface Percentiles {
  readonly count: number;
  readonly min: number;
  readonly mean: number;
  readonly stdev: number;
  readonly p50: number;
  readonly p75: number;
  readonly p90: number;
  readonly p95: number;
  readonly p99: number;
  readonly p999: number;
  readonly p9999: number;
  readonly max: number;
}

/** Corrected: from the moment a call was due. Service: from the moment it was written. In a closed loop the two are the same. */
export interface Latency {
  readonly corrected: Percentiles;
  readonly service: Percentiles;
}

export interface Group extends Latency {
  /** Operation, or name of the target. */
  readonly name: string;
  readonly calls: number;
  readonly errors: number;
}

export interface ErrorClass {
  /** Java class, `timeout`, `connection`, `false`, `missing` or `protocol`. */
  readonly class: string;
  readonly count: number;
  readonly firstMessage: string;
}

export interface SeriesPoint {
  /** Since the start of the load, warm-up included. */
  readonly second: number;
  readonly measured: boolean;
  readonly callsPerSecond: number;
  readonly errors: number;
  readonly waiting: number;
  readonly inFlight: number;
  readonly corrected: { readonly p50: number; readonly p99: number; readonly p999: number; readonly max: number };
  readonly service: { readonly p50: number; readonly p99: number; readonly p999: number; readonly max: number };
}

export interface LoaderHealth {
  /** How long after they were due calls were written that found a free slot: a part of every corrected latency. Null when there were none. */
  readonly sendDelay: { readonly p50: number; readonly p99: number } | null;
  /** Busiest loader thread. */
  readonly utilization: number;
  /** CPU seconds of the whole load process per second: 1 is a whole core. */
  readonly cpuShare: number;
  readonly loopDelayP50Ms: number;
  readonly loopDelayP99Ms: number;
  readonly loopDelayMaxMs: number;
  readonly gcCount: number;
  readonly gcTotalMs: number;
  readonly gcMaxMs: number;
  /** The numbers say more about this tool than about the server; `reason` tells why, '' when it was not. */
  readonly wasTheLimit: boolean;
  readonly reason: string;
  /** It was not, and had no time to spare; why. */
  readonly nearLimit?: string;
}

/** The process named by --pid, over the measured time. */
export interface Watched {
  readonly pid: number;
  readonly command: string;
  readonly cpuSeconds: number;
  /** CPU µs per answered call. */
  readonly cpuMicrosPerCall: number;
  readonly rssStartBytes: number;
  readonly rssEndBytes: number;
  readonly rssMaxBytes: number;
  /** Null: they could not be counted. */
  readonly descriptorsStart: number | null;
  readonly descriptorsEnd: number | null;
  readonly socketsStart: number | null;
  readonly socketsEnd: number | null;
  readonly voluntarySwitches: number;
  readonly involuntarySwitches: number;
  readonly threads: number;
  /** It has ended before the run did; the last numbers are those of the last sample. */
  readonly ended?: boolean;
  /**
   * One sample a second: [seconds of the measured time, rssBytes, sockets, cpu seconds since the start]. Sockets are null in those in which
   * they were not counted.
   */
  readonly samples: readonly (readonly [number, number, number | null, number])[];
}

export interface LoadResult {
  readonly version: typeof RESULT_VERSION;
  readonly tool: string;
  readonly startedAt: string;
  readonly plan: LoadPlan;
  readonly measuredMs: number;
  /** Ended before its time, by a signal; what is here was measured until then. */
  readonly endedEarly?: boolean;
  /** The server was gone for so long that the run ended itself; the calls that it did not make are in `unsent`. */
  readonly gaveUp?: boolean;
  /**
   * Calls due in the measured time that were answered, timed out or were lost, also after its end: `successes` and `errors` together, and the
   * sum of `operations` and of `targets`. In a closed loop: sent in it.
   */
  readonly calls: number;
  /** Replies within the measured time through that time, whenever their calls were due. */
  readonly callsPerSecond: number;
  /** Open loop and replay; null in a closed loop. */
  readonly askedPerSecond: number | null;
  /** Open loop: share of the calls due in the measured time that were answered before its end, or merely under way at it. Null in a closed loop. Below SATURATED_SHARE the run is `saturated`. */
  readonly achievedShare: number | null;
  readonly saturated: boolean;
  readonly lateForSlots: number;
  readonly lateForLoader: number;
  readonly unsent: number;
  /** Sent, and without a reply when an early end gave them up: they have no latency, as the unsent ones. */
  readonly unanswered: number;
  readonly substituted: number;
  /** Reads of paths given with --paths, or of a replay, that found nothing there: successes. Of own files they are errors, `missing`. */
  readonly nothingFound?: number;
  /** Measured calls that were answered with success. Together with `errors` it makes all that have a latency. */
  readonly successes: number;
  readonly errors: number;
  /** Share of `calls`, 0 … 1. */
  readonly errorShare: number;
  readonly errorClasses: readonly ErrorClass[];
  /** Of --expect. `value` as the expectation has it: µs, a share, or calls per second; null when it is unknown, and then it is not held. */
  readonly expectations?: readonly { readonly text: string; readonly value: number | null; readonly held: boolean }[];
  readonly latency: Latency;
  readonly operations: readonly Group[];
  readonly targets: readonly Group[];
  readonly series: readonly SeriesPoint[];
  /** Points [percentile, µs] from 0 to 100 that draw the curve, denser towards 100. */
  readonly curve: {
    readonly corrected: readonly (readonly [number, number])[];
    readonly service: readonly (readonly [number, number])[];
  };
  /** HdrHistogram V2, compressed, base64; values in µs. */
  readonly histogram: { readonly corrected: string; readonly service: string };
  readonly loader: LoaderHealth;
  readonly watched: Watched | null;
}

/** An open loop that achieves less than this share of the asked rate is saturated. */
export const SATURATED_SHARE = 0.98;
