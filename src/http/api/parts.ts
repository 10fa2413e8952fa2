/** What the API works on: administration, and what this router knows of the others. */
import type { MountVerbs } from '../../admin/mounts.ts';
import type { RouterVerbs } from '../../admin/router-verbs.ts';
import type { SchedulerReport } from '../../admission/scheduler/decay-scheduler.ts';
import type { RingLevels } from '../../control/router-types.ts';
import type { MountDefaults } from '../../mount/entry.ts';
import type { FigureName } from '../../observer/shared/figures.ts';
import type { RouterRecord } from '../../state-store/records.ts';

export interface ApiParts {
  readonly mounts: MountVerbs;
  readonly router: RouterVerbs;
  /** Group of what superusers add. */
  readonly defaults: MountDefaults;
  /** Those of the configuration, in its order. */
  nameservices(): readonly NameserviceView[];
  /** Those whose observers serve reads. */
  observers(): readonly ObservedView[];
  /** What waits for each nameservice, and what is in flight there. */
  queues(): readonly QueueView[];
  /** What callers cost; null: nobody's cost is counted. */
  scheduler(): SchedulerReport | null;
  clients(): ClientsView;
  /** Bytes that wait between acceptors and workers. */
  rings(): RingLevels;
  /** By their records; this one alone without a State Store. Throws RemoteException while the store has not been read. */
  routers(): readonly RouterView[];
  /** Wall clock, ms since 1970. */
  readonly now: () => number;
}

export interface NameserviceView {
  readonly id: string;
  readonly enabled: boolean;
  /** Paths without a mount entry lead there. */
  readonly default: boolean;
  readonly namenodes: readonly NamenodeView[];
}

/** A NameNode as this router and the reports of all routers see it. Addresses are host:port. */
export interface NamenodeView {
  /** '' when its nameservice has one without an id. */
  readonly id: string;
  readonly rpcAddress: string;
  /** With its scheme, http://host:port. */
  readonly webAddress: string;
  readonly state: 'ACTIVE' | 'STANDBY' | 'OBSERVER' | 'UNAVAILABLE' | 'UNKNOWN';
  /** It is taken for the active one: calls go to it. */
  readonly takesCalls: boolean;
  /** False: only other routers report it. */
  readonly configured: boolean;
  /** Null: no router has reported it. */
  readonly safeMode: boolean | null;
  /** When a router last reported it, and when the answer to a call last told its state; ms since 1970, null for never. */
  readonly reportedAt: number | null;
  readonly answeredAt: number | null;
}

/** Reads from observers of one nameservice; −1 is unknown. */
export interface ObservedView {
  readonly nameservice: string;
  readonly txid: number;
  readonly epoch: number;
  readonly provedMs: number | null;
  readonly namenodes: readonly {
    readonly id: string;
    readonly rpcAddress: string;
    readonly state: NamenodeView['state'];
    readonly lastTxid: number;
    readonly behind: number;
    readonly requeued: number;
    readonly queueMs: number;
    readonly leftAlone: boolean;
  }[];
  readonly figures: Readonly<Record<FigureName, number>>;
}

/** Connections of clients and what was refused or ended there; levels are at most a second old. */
export interface ClientsView {
  readonly open: number;
  /** Of these, those that are not read from. */
  readonly paused: number;
  readonly callsOutstanding: number;
  readonly unreadKib: number;
  readonly refused: {
    readonly connections: number;
    readonly ofAddress: number;
    readonly ofUser: number;
    readonly handshakes: number;
  };
  readonly closed: {
    readonly slowHandshake: number;
    readonly slowSender: number;
    readonly longFrame: number;
    readonly slowReader: number;
    readonly unreadReplies: number;
    readonly idle: number;
    readonly backOff: number;
  };
  /** Whatever found the memory budget used up. */
  readonly memoryRefusals: number;
  /** Times that a connection was not read from because of its calls in flight. */
  readonly pausesInFlight: number;
}

/** A time below which a part of the calls stayed, in ms; counted in buckets whose bounds are an eighth apart. */
export interface TimesView {
  readonly calls: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

/** Counts of calls by the lane they take. */
export interface LanesView {
  readonly reads: number;
  readonly writes: number;
  readonly heavy: number;
}

/** Admission to one nameservice, of all workers together; levels are at most a second old. */
export interface QueueView {
  readonly nameservice: string;
  readonly window: number;
  readonly inFlight: number;
  readonly inFlightBy: LanesView;
  readonly waiting: number;
  readonly waitingPeak: number;
  readonly waitingBy: LanesView;
  readonly levels: readonly { readonly waiting: number; readonly overflowed: number }[];
  readonly passed: number;
  readonly waited: number;
  readonly shared: number;
  readonly refused: { readonly full: number; readonly slow: number; readonly late: number };
  readonly queueTime: TimesView;
  readonly processingTime: TimesView;
}

export interface RouterView extends Omit<RouterRecord, 'dateCreated'> {
  /** The one that answers. */
  readonly self: boolean;
}
