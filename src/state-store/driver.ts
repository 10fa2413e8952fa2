/**
 * What every State Store driver does: records of four types as protobuf bytes under names made of their keys. What is in a record is
 * none of a driver's business, but for the dates that it keeps.
 */
import type { RecordType } from './records.ts';

/** Most records of one type. */
export const MAX_RECORDS = 1_000_000;

/** The store as a whole, or a write to it, failed; the message names the place and the remedy. */
export class StateStoreError extends Error {
  override readonly name = 'StateStoreError';
}

/** A record that was skipped, or used with a remark. */
export interface StoreProblem {
  /** Escaped key: what was known of this record before may still be known under it. */
  readonly name: string;
  /** File or znode. */
  readonly place: string;
  readonly reason: string;
}

/** One record as it is stored. A driver that knows a record to be unchanged gives the same object again. */
export interface RawRecord {
  /** Escaped key, as the store has it. Never trusted: the key is in the record. */
  readonly name: string;
  readonly place: string;
  /** Protobuf. */
  readonly bytes: Buffer;
  /** Dates that the store keeps (ZooKeeper: ctime, mtime), ms since 1970; null: those in the record count. */
  readonly createdMs: number | null;
  readonly modifiedMs: number | null;
  /** For compare-and-set; 0 where there is none. */
  readonly version: number;
}

export interface ReadResult {
  readonly records: readonly RawRecord[];
  readonly problems: readonly StoreProblem[];
}

export interface PutOptions {
  /** Replaces what is there; inserts when there is nothing. */
  readonly update: boolean;
  /** Without `update`: whether an existing record makes the put fail, or succeed without effect. */
  readonly errorIfExists: boolean;
  /** Replaces only this version, −1 for any, and nothing where nothing is; a driver without versions takes any. */
  readonly version?: number;
}

export interface StoreDriver {
  /** False while the store cannot be used: not started, connection lost, closed. */
  readonly ready: boolean;
  /** Whether `PutOptions.version` is compared. */
  readonly isVersioned: boolean;
  /** Called, some moments coalesced, after a record of the type may have changed. Drivers without watches never call it. */
  onChange: (type: RecordType) => void;
  /**
   * Makes the store usable. Rejects with StateStoreError when it is not, in bounded time; a driver that connects goes on trying, and
   * `start` may be called again.
   */
  start(): Promise<void>;
  /** All records of a type. Rejects with StateStoreError when the store cannot be read; a record that cannot be read is a problem. */
  readAll(type: RecordType): Promise<ReadResult>;
  /** False: refused by `errorIfExists` or `version`. Rejects with StateStoreError when the store cannot be written. */
  put(type: RecordType, name: string, bytes: Buffer, options: PutOptions): Promise<boolean>;
  /** False: there was no such record. Rejects with StateStoreError. */
  remove(type: RecordType, name: string): Promise<boolean>;
  close(): Promise<void>;
}

export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
