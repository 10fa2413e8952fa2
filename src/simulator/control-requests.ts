/** What can be asked of a running simulator; requests and results are plain data that cross threads. */
import type { CallFilter, LoggedCall } from './call-log.ts';
import type { HaState } from './operation.ts';
import type { SimulatorSettings } from './options.ts';
import type { HangMode } from './rpc-server.ts';
import type { ServiceTime } from './service-time.ts';

/** One NameNode, e.g. ns0 nn1. */
export interface Which {
  readonly nameservice: string;
  readonly namenode: string;
}

/** How far a standby or observer stays behind; what is left out becomes 0 or false. */
export interface LagRequest {
  readonly paused?: boolean;
  /** The last so many transactions are not applied, and up to `randomTransactions` more, drawn anew with each edit. */
  readonly lagTransactions?: number;
  readonly randomTransactions?: number;
  /** Age at which an edit is applied: `lagMs` for all, or drawn for each from `lagTime`. */
  readonly lagMs?: number;
  readonly lagTime?: ServiceTime;
}

/**
 * How a NameNode comes back: in the state that it had, but as standby when another one has become active. What it had not written to the
 * journal is lost; standbys and observers lose more if they are told to.
 */
export interface RestartRequest {
  /**
   * So many transactions of a standby or observer are gone and have to be applied again, as if they had been written now: at once unless it
   * lags. In nameservices with observers only.
   */
  readonly loseTransactions?: number;
  /** Nothing is applied until the next `lag`. */
  readonly paused?: boolean;
  /** So many calls are answered "NameNode still not started". */
  readonly notStartedCalls?: number;
  /** After those so many calls find it in safe mode, without the places of any block. */
  readonly safeModeCalls?: number;
}

export type ControlRequest =
  | { readonly op: 'status' }
  /** Another state; a second active is refused. */
  | ({ readonly op: 'transition'; readonly to: HaState } & Which)
  /**
   * The active (if any) becomes standby, `to` active. With `fence` the old active does not know of it: it stays active for whoever asks, as
   * after `fence`.
   */
  | {
      readonly op: 'failover';
      readonly nameservice: string;
      readonly to: string;
      readonly fence?: { readonly unsynced: number };
    }
  /**
   * The active is cut off from the journal with `unsynced` transactions (default 0) that only it has written: it goes on answering reads and
   * msync, with state ids that count them, and closes the connections of those who write. Another NameNode may become active, and goes on
   * from the last transaction of the journal. A transition, stop or restart ends it.
   */
  | ({ readonly op: 'fence'; readonly unsynced?: number } & Which)
  /** Closes the port and all connections. Starting again takes the same port, as standby. */
  | ({ readonly op: 'stop' } & Which)
  | ({ readonly op: 'start' } & Which)
  /** Closes all connections, and opens the port again at once. */
  | ({ readonly op: 'restart' } & RestartRequest & Which)
  | ({ readonly op: 'hang'; readonly mode?: HangMode } & Which)
  | ({ readonly op: 'resume' } & Which)
  | ({ readonly op: 'lag' } & LagRequest & Which)
  /** Whether DataNodes report blocks to the NameNode; if not, its located blocks have no DataNodes. */
  | ({ readonly op: 'blockReports'; readonly arrive: boolean } & Which)
  /** The next `times` answers to a method are lost: executed, then the connection is closed. */
  | ({ readonly op: 'loseAnswers'; readonly method: string; readonly times: number } & Which)
  /** In place of each answer something that is none comes: calls are executed all the same. */
  | ({ readonly op: 'garble'; readonly on: boolean } & Which)
  /** Settings of all NameNodes, or of one. */
  | { readonly op: 'settings'; readonly settings: Partial<SimulatorSettings>; readonly of?: Which }
  | ({ readonly op: 'calls' } & CallFilter)
  /** Executions since the start (or `clear`) by `nameservice namenode method`. */
  | { readonly op: 'counts' }
  | { readonly op: 'clear' };

export interface NameNodeStatus extends Which {
  readonly host: string;
  readonly port: number;
  readonly state: HaState;
  readonly running: boolean;
  readonly hung: HangMode | null;
  readonly safeMode: boolean;
  /** Active for whoever asks, but cut off from the journal. */
  readonly fenced: boolean;
  /** As in its replies. */
  readonly stateId: number;
  /** Last transaction applied, and the last one that the NameNode knows of. */
  readonly appliedTxId: number;
  readonly lastTxId: number;
  readonly inodes: number;
  readonly connections: number;
  readonly queued: number;
  /** How often calls were put back into the queue because they have to wait for edits. */
  readonly requeued: number;
}

/** Result by request. */
export interface ControlResults {
  status: NameNodeStatus[];
  transition: null;
  failover: null;
  fence: null;
  stop: null;
  start: null;
  restart: null;
  hang: null;
  resume: null;
  lag: null;
  blockReports: null;
  loseAnswers: null;
  garble: null;
  settings: null;
  calls: LoggedCall[];
  counts: Record<string, number>;
  clear: null;
}

/** A control request that names something that is not there, or asks for what is not possible. */
export class ControlError extends Error {
  override readonly name = 'ControlError';
}
