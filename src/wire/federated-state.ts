/**
 * State ids by nameservice, as clients bring them and routers answer with them: field 9 routerFederatedState of RpcRequestHeaderProto, field
 * 10 of RpcResponseHeaderProto, each bytes that hold
 *
 *   RouterFederatedStateProto  repeated 1 namespaceStateIds { 1 nameservice string · 2 stateId int64 }
 *
 * Clients merge what they get by maximum; an answer without the field makes Java clients forget that they talk to a router.
 */
import { Block, copyBlock } from './block.ts';
import { readVarint64, skipValueLoosely, varint32Size, Wide, writeVarint32, writeVarint64 } from './varint.ts';

/** A state with more entries or bytes is read as if it were absent. */
export const MAX_STATE_ENTRIES = 1024;
export const MAX_STATE_BYTES: number = 64 * 1024;

const ENTRY_TAG = 0x0a;
const NAME_TAG = 0x0a;
const STATE_ID_TAG = 0x10;
/** Field 10 of the response header. */
const ANSWER_TAG = 0x52;

const wide = new Wide();

/** One field as it was read: nameservice bytes[nameStart, nameEnd) and its state id in two halves. Reused. */
export class StateEntry {
  /** False for a field that is no entry. */
  isEntry = false;
  nameStart = 0;
  nameEnd = 0;
  high = 0;
  low = 0;
}

/** Reads the field at `at`; returns the position after it, negative for what cannot be read. */
export function readStateEntry(buffer: Buffer, at: number, end: number, entry: StateEntry): number {
  const usual = readUsualEntry(buffer, at, end, entry);
  return usual < 0 ? readAnyField(buffer, at, end, entry) : usual;
}

/** An entry as every encoder writes it: `0a LENGTH 0a LENGTH NAME 10 STATEID`, its lengths in one byte each. Negative: it is another. */
function readUsualEntry(buffer: Buffer, at: number, end: number, entry: StateEntry): number {
  const bytes = buffer[at + 1] as number;
  const nameBytes = buffer[at + 3] as number;
  const after = at + 2 + bytes;
  const nameEnd = at + 4 + nameBytes;
  if (buffer[at] !== ENTRY_TAG || bytes >= 0x80 || after > end || buffer[at + 2] !== NAME_TAG || nameBytes >= 0x80) {
    return -1;
  }
  if (buffer[nameEnd] !== STATE_ID_TAG) return -1;
  if (readVarint64(buffer, nameEnd + 1, after, wide) !== after) return -1;
  entry.isEntry = true;
  entry.nameStart = at + 4;
  entry.nameEnd = nameEnd;
  entry.high = wide.high;
  entry.low = wide.low;
  return after;
}

function readAnyField(buffer: Buffer, at: number, end: number, entry: StateEntry): number {
  entry.isEntry = false;
  const valueAt = readVarint64(buffer, at, end, wide);
  if (valueAt < 0) return valueAt;
  const tag = wide.low;
  const after = skipValueLoosely(buffer, valueAt, end, tag);
  if (after < 0 || tag !== ENTRY_TAG) return after;
  entry.isEntry = true;
  entry.nameStart = 0;
  entry.nameEnd = 0;
  entry.high = 0;
  entry.low = 0;
  for (let next = readVarint64(buffer, valueAt, end, wide); next < after; ) {
    next = readVarint64(buffer, next, after, wide);
    if (next < 0) return next;
    const inner = wide.low;
    const innerEnd = skipValueLoosely(buffer, next, after, inner);
    if (innerEnd < 0) return innerEnd;
    if (inner === NAME_TAG) {
      entry.nameStart = readVarint64(buffer, next, after, wide);
      entry.nameEnd = innerEnd;
    } else if (inner === STATE_ID_TAG) {
      readVarint64(buffer, next, after, wide);
      entry.high = wide.high;
      entry.low = wide.low;
    }
    next = innerEnd;
  }
  return after;
}

const read = new StateEntry();

/**
 * Reads the state id of a nameservice in the state buffer[start, end) into the halves of `into`, the last one when it stands twice. False:
 * it has none, or the state cannot be read.
 */
export function findStateId(buffer: Buffer, start: number, end: number, nameservice: Buffer, into: Wide): boolean {
  if (end - start > MAX_STATE_BYTES) return false;
  let isFound = false;
  let entries = 0;
  for (let at = start; at < end; ) {
    at = readStateEntry(buffer, at, end, read);
    if (at < 0 || ++entries > MAX_STATE_ENTRIES) return false;
    if (!read.isEntry || read.nameEnd - read.nameStart !== nameservice.length) continue;
    if (!isName(buffer, read.nameStart, nameservice)) continue;
    isFound = true;
    into.high = read.high;
    into.low = read.low;
  }
  return isFound;
}

function isName(buffer: Buffer, at: number, name: Buffer): boolean {
  for (let i = 0; i < name.length; i++) if (buffer[at + i] !== name[i]) return false;
  return true;
}

/** What an entry of this nameservice has between its length and its state id: in each answer the same. */
export function makeNamePart(nameservice: Buffer): Block {
  const part = Buffer.alloc(2 + varint32Size(nameservice.length) + nameservice.length);
  part[0] = NAME_TAG;
  const at = writeVarint32(part, 1, nameservice.length);
  part[at + nameservice.copy(part, at)] = STATE_ID_TAG;
  return new Block(part);
}

/** Bytes of one entry with its tag and length, for a state id from 0 to 2^53. */
export function stateEntryBytes(namePart: Block, stateId: number): number {
  const inner = namePart.bytes.length + varintBytes(Math.floor(stateId / 2 ** 32), stateId | 0);
  return 1 + varint32Size(inner) + inner;
}

/** Writes one entry; returns the position after it. */
export function writeStateEntry(out: Block, at: number, namePart: Block, stateId: number): number {
  const { bytes } = out;
  const { length } = namePart.bytes;
  const high = Math.floor(stateId / 2 ** 32);
  const low = stateId | 0;
  bytes[at] = ENTRY_TAG;
  let next = writeVarint32(bytes, at + 1, length + varintBytes(high, low));
  next = copyBlock(out, next, namePart, 0, length);
  return writeVarint64(bytes, next, high, low);
}

/** Of a number in two halves. */
function varintBytes(high: number, low: number): number {
  const bits = high === 0 ? 32 - Math.clz32(low) : 64 - Math.clz32(high);
  return bits <= 7 ? 1 : Math.ceil(bits / 7);
}

/** Tag and length of the field of an answer's header whose entries take so many bytes. */
export function stateFieldBytes(entriesBytes: number): number {
  return 1 + varint32Size(entriesBytes) + entriesBytes;
}

export function writeStateFieldStart(out: Buffer, at: number, entriesBytes: number): number {
  out[at] = ANSWER_TAG;
  return writeVarint32(out, at + 1, entriesBytes);
}
