/** What can be asked of a running simulator; requests and results are plain data that cross threads. */
import type { CallFilter, LoggedCall } from './call-log.ts';
import type { HaState } from './operation.ts';
import type { SimulatorSettings } from './options.ts';
import type { HangMode } from './rpc-server.ts';

/** One NameNode, e.g. ns0 nn1. */
export interface Which {
  readonly nameservice: string;
  readonly namenode: string;
}

export type ControlRequest =
  | { readonly op: 'status' }
  /** Another state; a second active is refused. */
  | ({ readonly op: 'transition'; readonly to: HaState } & Which)
  /** The active (if any) becomes standby, `to` active. */
  | { readonly op: 'failover'; readonly nameservice: string; readonly to: string }
  /** Closes the port and all connections. Starting again takes the same port, as standby. */
  | ({ readonly op: 'stop' } & Which)
  | ({ readonly op: 'start' } & Which)
  | ({ readonly op: 'hang'; readonly mode?: HangMode } & Which)
  | ({ readonly op: 'resume' } & Which)
  /** How far a standby or observer stays behind; what is left out becomes 0 or false. */
  | ({
      readonly op: 'lag';
      readonly paused?: boolean;
      readonly lagTransactions?: number;
      readonly lagMs?: number;
    } & Which)
  /** The next `times` answers to a method are lost: executed, then the connection is closed. */
  | ({ readonly op: 'loseAnswers'; readonly method: string; readonly times: number } & Which)
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
  /** Last transaction applied, and the last one of the journal. */
  readonly appliedTxId: number;
  readonly lastTxId: number;
  readonly inodes: number;
  readonly connections: number;
  readonly queued: number;
}

/** Result by request. */
export interface ControlResults {
  status: NameNodeStatus[];
  transition: null;
  failover: null;
  stop: null;
  start: null;
  hang: null;
  resume: null;
  lag: null;
  loseAnswers: null;
  settings: null;
  calls: LoggedCall[];
  counts: Record<string, number>;
  clear: null;
}

/** A control request that names something that is not there, or asks for what is not possible. */
export class ControlError extends Error {
  override readonly name = 'ControlError';
}
