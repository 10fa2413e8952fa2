/**
 * The four record types of the State Store: protobuf bytes ↔ plain objects. Dates are ms since 1970 by the writer's clock, 0 when absent.
 * A record that cannot be used throws RecordError; what is odd but harmless comes back in `remarks`.
 */
import { type Enum, type Message, Reader } from 'protobufjs';
import {
  emptyEntry,
  MOUNT_MARKS,
  type MountDefaults,
  type MountEntry,
  ORDERS,
  STORAGE_TYPES,
  unusableReason,
} from '../mount/entry.ts';
import { decode, encode, messageType, type Plain, type PlainValue, toPlain } from '../wire/messages.ts';

/** Directory (znode, table) names of the record types, and their messages. */
export const RECORD_TYPES = {
  MembershipState: 'hadoop.hdfs.NamenodeMembershipRecordProto',
  MountTable: 'hadoop.hdfs.MountTableRecordProto',
  RouterState: 'hadoop.hdfs.RouterRecordProto',
  DisabledNameservice: 'hadoop.hdfs.DisabledNameserviceRecordProto',
} as const;
export type RecordType = keyof typeof RECORD_TYPES;

/** Bytes that are no usable record; the message says why. */
export class RecordError extends Error {
  override readonly name = 'RecordError';
}

export interface Decoded<T> {
  readonly record: T;
  readonly remarks: readonly string[];
}

export interface MountRecord {
  readonly entry: MountEntry;
  /** The record as it was read: `encodeMount` takes from it what this build does not know. */
  readonly message: Message;
}

export const MEMBERSHIP_STATES = ['ACTIVE', 'OBSERVER', 'STANDBY', 'UNAVAILABLE', 'EXPIRED', 'DISABLED'] as const;
export type MembershipState = (typeof MEMBERSHIP_STATES)[number];

/** One NameNode as one router last saw it. Absent texts are '', but for the NameNode's id. */
export interface MembershipRecord {
  dateCreated: number;
  dateModified: number;
  lastContact: number;
  routerId: string;
  nameserviceId: string;
  /** Null when the nameservice has one NameNode without an id: absent is another key than empty. */
  namenodeId: string | null;
  clusterId: string;
  blockPoolId: string;
  webAddress: string;
  rpcAddress: string;
  serviceAddress: string;
  lifelineAddress: string;
  webScheme: string;
  state: MembershipState;
  safeMode: boolean;
  /** Fields of NamenodeMembershipStatsRecordProto by their names; −1 is a value that the writer could not obtain. */
  stats: Readonly<Record<string, number | bigint>> | null;
}

export const ROUTER_STATUSES = [
  'UNINITIALIZED',
  'INITIALIZING',
  'SAFEMODE',
  'RUNNING',
  'STOPPING',
  'SHUTDOWN',
  'EXPIRED',
] as const;
export type RouterStatus = (typeof ROUTER_STATUSES)[number];

/** One router's own row. Absent texts are ''. */
export interface RouterRecord {
  dateCreated: number;
  dateModified: number;
  /** Router id, host:rpcPort. */
  address: string;
  status: RouterStatus;
  /** Newest dateModified in the router's cache of that record type; −1 when it is empty or not loaded. */
  membershipVersion: number;
  mountTableVersion: number;
  version: string;
  compileInfo: string;
  dateStarted: number;
  adminAddress: string;
}

export interface DisabledNameserviceRecord {
  dateCreated: number;
  dateModified: number;
  nameserviceId: string;
}

/** Field number and wire type of `destOrder`: an order unknown to the message definition is kept as raw bytes that begin with it. */
const ORDER_TAG = (6 << 3) | 0;

/**
 * A mount table record. Absent owner, group, mode and quota become the defaults; an order unknown to us reads as HASH, with a remark,
 * and is kept by `encodeMount`.
 */
export function decodeMount(bytes: Buffer, defaults: MountDefaults): Decoded<MountRecord> {
  const decoded = readMount(bytes, defaults);
  const reason = unusableReason(decoded.record.entry);
  if (reason !== null) throw new RecordError(reason);
  return decoded;
}

/** As `decodeMount`, whether calls can be routed by the entry or not. */
export function readMount(bytes: Buffer, defaults: MountDefaults): Decoded<MountRecord> {
  const { message, plain } = decodeRecord('MountTable', bytes);
  const remarks: string[] = [];
  const entry = emptyEntry(text(plain, 'srcPath'), defaults);
  for (const destination of plain['destinations'] as Plain[]) {
    entry.destinations.push({ nameservice: text(destination, 'nameserviceId'), path: text(destination, 'path') });
  }
  const order = orderNumber(message);
  const known = ORDERS[order];
  if (known === undefined)
    remarks.push(
      `destination order ${order} of mount '${entry.sourcePath}' is unknown, HASH is used; set one of ${ORDERS.join(', ')}`,
    );
  else entry.order = known;
  entry.readOnly = plain['readOnly'] === true;
  entry.faultTolerant = plain['faultTolerant'] === true;
  const falseMarks = MOUNT_MARKS.filter((mark) => plain[mark] === false);
  if (falseMarks.length > 0) entry.falseMarks = falseMarks;
  entry.owner = text(plain, 'ownerName') || entry.owner;
  entry.group = text(plain, 'groupName') || entry.group;
  if (plain['mode'] !== undefined) entry.mode = plain['mode'] as number;
  entry.dateCreated = date(plain, 'dateCreated');
  entry.dateModified = date(plain, 'dateModified');
  const quota = plain['quota'] as Plain | undefined;
  if (quota !== undefined) {
    const infos = quota['typeQuotaInfos'] as Plain | undefined;
    entry.quota = {
      fileAndDirectoryCount: long(quota, 'fileAndDirectoryCount'),
      namespaceQuota: long(quota, 'quota'),
      spaceConsumed: long(quota, 'spaceConsumed'),
      spaceQuota: long(quota, 'spaceQuota'),
      types: ((infos?.['typeQuotaInfo'] ?? []) as Plain[]).map((info) => ({
        type: STORAGE_TYPES.find((type) => type === info['type']) ?? 'DISK',
        quota: long(info, 'quota'),
        consumed: long(info, 'consumed'),
      })),
    };
  }
  return { record: { entry, message }, remarks };
}

/**
 * Bytes of a mount table record, every field written. `original`, the record that the entry replaces, lends what this build does not
 * know: unknown fields of the record, of its quota and of destinations that stay, and an unknown order as long as the entry says HASH.
 */
export function encodeMount(entry: MountEntry, original: MountRecord | null = null): Buffer {
  const { quota } = entry;
  const order = ORDERS.indexOf(entry.order);
  const type = messageType(RECORD_TYPES.MountTable);
  const orders = type.fields['destOrder']?.resolve().resolvedType as Enum;
  const orderIsKnown = orders.valuesById[order] !== undefined;
  const plain: Plain = {
    srcPath: entry.sourcePath,
    destinations: entry.destinations.map(({ nameservice, path }) => ({ nameserviceId: nameservice, path })),
    dateCreated: entry.dateCreated,
    dateModified: entry.dateModified,
    ownerName: entry.owner,
    groupName: entry.group,
    mode: entry.mode,
    quota: {
      fileAndDirectoryCount: quota.fileAndDirectoryCount,
      quota: quota.namespaceQuota,
      spaceConsumed: quota.spaceConsumed,
      spaceQuota: quota.spaceQuota,
    },
  };
  // As Java writes them: marks only when set, named or written before, types only when there are any.
  for (const mark of MOUNT_MARKS) {
    const isNamed = entry.falseMarks?.includes(mark) || (original !== null && Object.hasOwn(original.message, mark));
    if (entry[mark] || isNamed) plain[mark] = entry[mark];
  }
  if (orderIsKnown) plain['destOrder'] = order;
  if (quota.types.length > 0) {
    const infos = quota.types.map(({ type, quota: limit, consumed }) => ({ type, quota: limit, consumed }));
    (plain['quota'] as Plain)['typeQuotaInfos'] = { typeQuotaInfo: infos };
  }
  const message = decode(type, encode(type, plain));
  const unknown = original === null ? [] : unknownsOf(original.message);
  const keepsOrder = entry.order === 'HASH' && unknown.some(isOrder);
  const kept = unknown.filter((field) => keepsOrder || !isOrder(field));
  if (!orderIsKnown) kept.push(Buffer.from([ORDER_TAG, order]));
  setUnknowns(message, kept);
  if (original !== null) lendUnknowns(original.message, message);
  return encode(type, message);
}

/** One NameNode's record. An unknown or absent state reads as UNAVAILABLE, with a remark. */
export function decodeMembership(bytes: Buffer): Decoded<MembershipRecord> {
  const { plain } = decodeRecord('MembershipState', bytes);
  const remarks: string[] = [];
  const stateText = text(plain, 'state');
  const state = MEMBERSHIP_STATES.find((known) => known === stateText);
  if (state === undefined) remarks.push(`NameNode state '${stateText}' is unknown, UNAVAILABLE is used`);
  return {
    record: {
      dateCreated: date(plain, 'dateCreated'),
      dateModified: date(plain, 'dateModified'),
      lastContact: date(plain, 'lastContact'),
      routerId: text(plain, 'routerId'),
      nameserviceId: text(plain, 'nameserviceId'),
      namenodeId: (plain['namenodeId'] as string | undefined) ?? null,
      clusterId: text(plain, 'clusterId'),
      blockPoolId: text(plain, 'blockPoolId'),
      webAddress: text(plain, 'webAddress'),
      rpcAddress: text(plain, 'rpcAddress'),
      serviceAddress: text(plain, 'serviceAddress'),
      lifelineAddress: text(plain, 'lifelineAddress'),
      webScheme: text(plain, 'webScheme'),
      state: state ?? 'UNAVAILABLE',
      safeMode: plain['isSafeMode'] === true,
      stats: (plain['stats'] as Record<string, number | bigint> | undefined) ?? null,
    },
    remarks,
  };
}

/** One router's record. Throws RecordError for an unknown status, as Java routers do. */
export function decodeRouter(bytes: Buffer): Decoded<RouterRecord> {
  const { plain } = decodeRecord('RouterState', bytes);
  const statusText = text(plain, 'status');
  const status = ROUTER_STATUSES.find((known) => known === statusText);
  if (status === undefined)
    throw new RecordError(`router status '${statusText}' is none of ${ROUTER_STATUSES.join(', ')}`);
  const versions = (plain['stateStoreVersion'] ?? {}) as Plain;
  return {
    record: {
      dateCreated: date(plain, 'dateCreated'),
      dateModified: date(plain, 'dateModified'),
      address: text(plain, 'address'),
      status,
      membershipVersion: version(versions, 'membershipVersion'),
      mountTableVersion: version(versions, 'mountTableVersion'),
      version: text(plain, 'version'),
      compileInfo: text(plain, 'compileInfo'),
      dateStarted: date(plain, 'dateStarted'),
      adminAddress: text(plain, 'adminAddress'),
    },
    remarks: [],
  };
}

export function decodeDisabledNameservice(bytes: Buffer): Decoded<DisabledNameserviceRecord> {
  const { plain } = decodeRecord('DisabledNameservice', bytes);
  const nameserviceId = text(plain, 'nameServiceId');
  if (nameserviceId === '') throw new RecordError('no nameservice in the record');
  return {
    record: { dateCreated: date(plain, 'dateCreated'), dateModified: date(plain, 'dateModified'), nameserviceId },
    remarks: [],
  };
}

/**
 * Bytes of a NameNode's record, with the fields that a Java router writes: cluster and block pool also when empty, no contact and no
 * counts when there are none. `original`, bytes of the record that it replaces, lends the fields that this build does not know.
 */
export function encodeMembership(record: MembershipRecord, original: Buffer | null = null): Buffer {
  const { safeMode, stats, lastContact, namenodeId, ...same } = record;
  const plain: Plain = { ...same, isSafeMode: safeMode };
  if (namenodeId !== null) plain['namenodeId'] = namenodeId;
  if (lastContact !== 0) plain['lastContact'] = lastContact;
  if (stats !== null) plain['stats'] = { ...stats };
  for (const field of ['webScheme', 'serviceAddress', 'lifelineAddress']) {
    if (plain[field] === '') delete plain[field];
  }
  return encodeRecord('MembershipState', plain, original, ['stats']);
}

/** Bytes of a router's record; `original` as in encodeMembership. */
export function encodeRouter(record: RouterRecord, original: Buffer | null = null): Buffer {
  const { membershipVersion, mountTableVersion, ...same } = record;
  const plain: Plain = { ...same, stateStoreVersion: { membershipVersion, mountTableVersion } };
  return encodeRecord('RouterState', plain, original, ['stateStoreVersion']);
}

/** `original` as in encodeMembership. */
export function encodeDisabledNameservice(record: DisabledNameserviceRecord, original: Buffer | null = null): Buffer {
  const { nameserviceId, ...dates } = record;
  return encodeRecord('DisabledNameservice', { ...dates, nameServiceId: nameserviceId }, original, []);
}

/**
 * The record with another date of modification, everything else as it is. That of an EXPIRED record is frozen: it tells since when
 * nobody has renewed it. Bytes that are no record come back as they are.
 */
export function stampModified(recordType: RecordType, bytes: Buffer, nowMs: number): Buffer {
  const type = messageType(RECORD_TYPES[recordType]);
  let message: Message;
  try {
    message = decode(type, bytes);
  } catch {
    return bytes;
  }
  const { state, status } = message as Message & { state?: string; status?: string };
  if (state === 'EXPIRED' || status === 'EXPIRED') return bytes;
  const changed = message as Message & { dateModified: number };
  changed.dateModified = nowMs;
  return encode(type, changed);
}

/** Whether the bytes are a message of the type, usable or not. */
export function isRecord(recordType: RecordType, bytes: Buffer): boolean {
  if (bytes.length === 0) return false;
  try {
    decode(messageType(RECORD_TYPES[recordType]), bytes);
    return true;
  } catch {
    return false;
  }
}

function encodeRecord(recordType: RecordType, plain: Plain, original: Buffer | null, parts: readonly string[]): Buffer {
  const type = messageType(RECORD_TYPES[recordType]);
  const bytes = encode(type, plain);
  if (original === null) return bytes;
  const message = decode(type, bytes);
  const from = decode(type, original);
  setUnknowns(message, unknownsOf(from));
  for (const part of parts) {
    const [lender, borrower] = [partOf(from, part), partOf(message, part)];
    if (lender !== null && borrower !== null) setUnknowns(borrower, unknownsOf(lender));
  }
  return encode(type, message);
}

/** Null when absent. */
function partOf(message: Message, part: string): Message | null {
  return Object.hasOwn(message, part) ? ((message as unknown as Record<string, Message>)[part] ?? null) : null;
}

function decodeRecord(recordType: RecordType, bytes: Buffer): { message: Message; plain: Plain } {
  // Base64 without a single valid character: Java makes an empty record of it.
  if (bytes.length === 0) throw new RecordError('no record in it');
  const type = messageType(RECORD_TYPES[recordType]);
  let message: Message;
  try {
    message = decode(type, bytes);
  } catch (error) {
    throw new RecordError(error instanceof Error ? error.message : String(error), { cause: error });
  }
  return { message, plain: toPlain(type, message) };
}

/** Number of the destination order: the field itself when its value is known to the message definition, else as it was kept. */
function orderNumber(message: Message): number {
  const raw = unknownsOf(message).findLast(isOrder);
  if (raw === undefined || Object.hasOwn(message, 'destOrder')) return (message as MountMessage).destOrder ?? 0;
  const reader = Reader.create(raw);
  reader.uint32();
  return reader.int32();
}

function isOrder(field: Uint8Array): boolean {
  return field[0] === ORDER_TAG;
}

function unknownsOf(message: Message): Uint8Array[] {
  return message.$unknowns ?? [];
}

function setUnknowns(message: Message, fields: readonly Uint8Array[]): void {
  if (fields.length > 0) message.$unknowns = fields.slice();
}

interface MountMessage extends Message {
  destOrder?: number;
  destinations?: (Message & { nameserviceId: string; path: string })[];
  /** Null when absent. */
  quota?: Message | null;
}

/** Unknown fields of the parts of a mount record: of its quota and of each destination that is in both. */
function lendUnknowns(from: Message, to: Message): void {
  const { destinations = [], quota } = from as MountMessage;
  const target = to as MountMessage;
  if (quota && target.quota) setUnknowns(target.quota, unknownsOf(quota));
  for (const destination of target.destinations ?? []) {
    const same = destinations.find(
      (other) => other.nameserviceId === destination.nameserviceId && other.path === destination.path,
    );
    if (same !== undefined) setUnknowns(destination, unknownsOf(same));
  }
}

function text(plain: Plain, field: string): string {
  return (plain[field] as string | undefined) ?? '';
}

function date(plain: Plain, field: string): number {
  const value = plain[field];
  return typeof value === 'number' ? value : 0;
}

/** −1 also for what no date can be. */
function version(plain: Plain, field: string): number {
  const value = plain[field];
  return typeof value === 'number' ? value : -1;
}

function long(plain: Plain, field: string): bigint {
  return BigInt(plain[field] as Extract<PlainValue, number | bigint>);
}
