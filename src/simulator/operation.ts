/** What an operation gets to work with, and how it is listed. */
import type { Plain } from '../wire/messages.ts';
import type { DataNode } from './datanodes.ts';
import type { Namespace } from './namespace.ts';
import type { Caller } from './permission-check.ts';

export type HaState = 'active' | 'standby' | 'observer';

/** Values of a NameNode's configuration that show in answers. */
export interface NamespaceSettings {
  /** Entries of one page of a listing, `dfs.ls.limit`. */
  readonly listingLimit: number;
  /** Defaults for clients: `dfs.replication`, `dfs.blocksize`. */
  readonly replication: number;
  readonly blockSizeBytes: number;
  /** Age of an access time at which a read renews it, `dfs.namenode.accesstime.precision`; 0: never. */
  readonly accessTimePrecisionMs: number;
}

export type SafeModeAction = 'enter' | 'leave' | 'get';

/** What administrators did to one NameNode; not part of the namespace, so it does not pass to the others. */
export interface Administration {
  /** State that the last image holds, and when it was written. */
  checkpointTxId: number;
  checkpointMs: number;
  /** Whether failed storage is tried again. */
  restoresStorage: boolean;
}

/** What operations may ask of the NameNode that they run on. */
export interface NameNodeView {
  readonly state: HaState;
  readonly blockPoolId: string;
  readonly clusterId: string;
  readonly namespaceId: number;
  /** Time of the NameNode's format, milliseconds. */
  readonly createdMs: number;
  /** Last edit that this NameNode knows, applied or not. */
  readonly lastTxId: number;
  readonly datanodes: readonly DataNode[];
  readonly administration: Administration;
  readonly safeMode: boolean;
  /** Why safe mode is on and when it ends. */
  readonly safeModeTip: string;
  /** Whether it is active and cut off from the journal: nothing that it writes is kept. */
  readonly fenced: boolean;
  /** Whether DataNodes have told it where blocks are. */
  readonly knowsPlaces: boolean;
  /** Text of an exception for what safe mode does not allow. */
  describeSafeMode(what: string): string;
  /** Changes or reads safe mode; whether it is on afterwards. */
  setSafeMode(action: SafeModeAction): boolean;
  /** Throws ServiceFailedException when the transition is not possible. */
  transition(to: HaState): void;
  groupsOf(user: string): readonly string[];
}

/** One execution of one operation. */
export interface Site {
  readonly namespace: Namespace;
  readonly namenode: NameNodeView;
  readonly caller: Caller;
  /** Address of the client, as it stands in texts. */
  readonly machine: string;
  readonly settings: NamespaceSettings;
  /** Throws SafeModeException with `what` in its text while the NameNode is in safe mode. */
  checkSafeMode(what: string): void;
  /** For operations that turn out to belong to another category than their own. */
  checkCategory(category: Category): void;
}

/** Which HA states answer an operation: READ active and observer, WRITE and JOURNAL active, UNCHECKED all. */
export type Category = 'READ' | 'WRITE' | 'JOURNAL' | 'UNCHECKED';

export interface Operation {
  readonly category: Category;
  /** Fields of the response message. */
  run(site: Site, request: Plain): Plain;
}
