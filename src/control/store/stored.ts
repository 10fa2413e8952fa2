import type { MountDefaults } from '../../mount/entry.ts';
import type { RawRecord } from '../../state-store/driver.ts';
import { membershipKey } from '../../state-store/record-names.ts';
import {
  type DisabledNameserviceRecord,
  decodeDisabledNameservice,
  decodeMembership,
  decodeMount,
  decodeRouter,
  type MembershipRecord,
  type MountRecord,
  type RecordType,
  type RouterRecord,
} from '../../state-store/records.ts';

/** What each record type decodes to. */
export interface StoreRecords {
  MembershipState: MembershipRecord;
  MountTable: MountRecord;
  RouterState: RouterRecord;
  DisabledNameservice: DisabledNameserviceRecord;
}

/** A record and what the store says of it. */
export interface Stored<T> {
  /** As the store has it; its name is not always what its key would give. */
  readonly raw: RawRecord;
  /** Key text, made from the record itself. */
  readonly key: string;
  /** Dates are those of the store where it keeps its own. */
  readonly record: T;
  readonly remarks: readonly string[];
  /** By its age; the store may not say so yet. */
  readonly isExpired: boolean;
}

/** Version of a record that this router wrote without being told. */
export const UNKNOWN_VERSION = -1;

interface Dated {
  dateCreated: number;
  dateModified: number;
}

/** What to do with the records of one type. */
interface RecordKind<T> {
  decode(bytes: Buffer, defaults: MountDefaults): { readonly record: T; readonly remarks: readonly string[] };
  keyOf(record: T): string;
  datesOf(record: T): Dated;
  isExpired(record: T): boolean;
}

const KINDS: { readonly [K in RecordType]: RecordKind<StoreRecords[K]> } = {
  MembershipState: {
    decode: decodeMembership,
    keyOf: membershipKey,
    datesOf: (record) => record,
    isExpired: ({ state }) => state === 'EXPIRED',
  },
  MountTable: {
    decode: decodeMount,
    keyOf: ({ entry }) => entry.sourcePath,
    datesOf: ({ entry }) => entry,
    isExpired: () => false,
  },
  RouterState: {
    decode: decodeRouter,
    keyOf: ({ address }) => address,
    datesOf: (record) => record,
    isExpired: ({ status }) => status === 'EXPIRED',
  },
  DisabledNameservice: {
    decode: decodeDisabledNameservice,
    keyOf: ({ nameserviceId }) => nameserviceId,
    datesOf: (record) => record,
    isExpired: () => false,
  },
};

/** The record in these bytes. Throws RecordError when it cannot be used. */
export function decodeStored<K extends RecordType>(
  type: K,
  raw: RawRecord,
  defaults: MountDefaults,
): Stored<StoreRecords[K]> {
  const kind: RecordKind<StoreRecords[K]> = KINDS[type];
  const { record, remarks } = kind.decode(raw.bytes, defaults);
  const isExpired = kind.isExpired(record);
  const dates = kind.datesOf(record);
  if (raw.createdMs !== null) dates.dateCreated = raw.createdMs;
  // The mark itself was a write: how old an expired record is stands only in the record.
  if (raw.modifiedMs !== null && !isExpired) dates.dateModified = raw.modifiedMs;
  return { raw, key: kind.keyOf(record), record, remarks, isExpired };
}

/** ms since 1970, 0 when unknown. */
export function dateModifiedOf<K extends RecordType>(type: K, stored: Stored<StoreRecords[K]>): number {
  const kind: RecordKind<StoreRecords[K]> = KINDS[type];
  return kind.datesOf(stored.record).dateModified;
}
