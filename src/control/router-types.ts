import type { SchedulerReport } from '../admission/scheduler/decay-scheduler.ts';
import type { Sums } from '../admission/shared/figures.ts';
import type { Configuration } from '../config/configuration.ts';
import type { Groups } from '../config/groups.ts';
import type { MountEntry } from '../mount/entry.ts';
import type { FigureName } from '../observer/shared/figures.ts';
import type { StateWords } from '../observer/shared/state-words.ts';
import type { ControlBlock } from '../shared/control-block.ts';
import type { CounterName, MethodCountName } from '../shared/counters.ts';
import type { AdmissionSettings, Settings, Topology } from '../shared/settings.ts';
import type { StoreDriver } from '../state-store/driver.ts';
import type { Federation } from './federation.ts';
import type { Impersonation } from './impersonation.ts';
import type { Log } from './log.ts';
import type { ObserverLags } from './observers/observer-lags.ts';

/** What this router says of itself in its record in the State Store. */
export interface RouterVersion {
  readonly version: string;
  readonly compileInfo: string;
  /** ms since 1970. */
  readonly startedMs: number;
}

/** Bytes that wait in the rings between acceptors and workers, of all pairs together; 0 with the inline hand-off. */
export interface RingLevels {
  readonly calls: number;
  readonly replies: number;
  /** What they hold in each direction. */
  readonly capacity: number;
}

/** One thread of the data path. */
export interface ThreadView {
  /** `worker 0` */
  readonly name: string;
  /** It runs and takes part. */
  readonly ready: boolean;
  /** How often it has died lately. */
  readonly deaths: number;
}

/** What administration and the HTTP server work on; see admin/administration.ts. */
export interface RouterServices {
  readonly federation: Federation;
  readonly block: ControlBlock;
  /** Null when no nameservice takes part in reads from observers. */
  readonly observerReads: {
    readonly words: StateWords;
    readonly lags: ObserverLags | null;
    /** By nameservice. */
    readonly figures: () => Record<FigureName, number>[];
  } | null;
  /** What admission does, by nameservice. */
  readonly admission: () => Sums[];
  /** Priority levels of the queues now. */
  readonly admissionLevels: () => number;
  /** What callers cost; null: nobody's cost is counted. */
  readonly scheduler: () => SchedulerReport | null;
  readonly counters: () => Record<CounterName, number>;
  /** By the index of the method. */
  readonly methodCounts: () => Record<MethodCountName, Float64Array>;
  readonly rings: () => RingLevels;
  readonly threads: () => readonly ThreadView[];
  /** host:port of the client port, with the real port; '' before clients are served. */
  readonly rpcAddress: () => string;
  /** It is about to end: new calls are sent elsewhere. */
  readonly isDraining: () => boolean;
  readonly groups: Groups;
  readonly impersonation: Impersonation;
  /** Gives new settings to every thread that calls wait in, and to those that take the place of one that died. */
  readonly refreshAdmission: (admission: AdmissionSettings) => void;
}

/** The router's administration and its HTTP server, opened before clients are served. */
export interface OpenAdministration {
  /** host:port as it was configured; '' without an admin port. */
  readonly adminAddress: string;
  /** host:port of the HTTP server; '' without one. */
  readonly httpAddress: string;
  /** host:port for this router's record; '' without an admin port. */
  readonly recordedAddress: string;
  stop(): Promise<void>;
}

export interface RouterOptions {
  readonly settings: Settings;
  readonly topology: Topology;
  /** Mount points of the command line. */
  readonly entries: readonly MountEntry[];
  /** Null: there is no State Store. */
  readonly driver: StoreDriver | null;
  readonly configuration: Configuration;
  readonly version: RouterVersion;
  readonly log: Log;
  /** Opens the administration of this router; null: it has none. Rejects with ListenError. */
  readonly openAdministration: ((services: RouterServices) => Promise<OpenAdministration>) | null;
}

/** A router that serves clients. */
export interface RunningRouter {
  /** host:port of the client port, with the real port. */
  readonly rpc: string;
  /** host:port of the admin port; '' without one. */
  readonly admin: string;
  /** host:port of the HTTP server; '' without one. */
  readonly http: string;
  /**
   * Stops accepting, answers new calls with StandbyException, lets calls in flight finish for `Settings.drainMs`, and closes. Resolves
   * with the number of calls that did not finish; asked again, with the same answer.
   */
  drain(): Promise<{ cut: number }>;
  /** Resolves with an exit code when the router has ended, drained or not. */
  readonly closed: Promise<number>;
}

/** The router has ended before it served clients; its log says why. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/** The client port cannot be had; the message says why and what to do. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}
