/**
 * DataNodes of a report found as bytes; of the many fields of each only those are read that merging needs.
 *
 *   GetDatanodeReportResponseProto         1 di DatanodeInfoProto, repeated (getSlowDatanodeReport alike)
 *   GetDatanodeStorageReportResponseProto  1 datanodeStorageReports, repeated: 1 datanodeInfo DatanodeInfoProto · 2 storageReports …
 *   DatanodeInfoProto                      1 id · 2 capacity · 3 dfsUsed · 4 remaining · 6 lastUpdate · 8 location · 10 adminState …
 *   DatanodeIDProto                        1 ipAddr · 3 datanodeUuid · 4 xferPort …
 *
 * A field that stands twice counts as it stood last, as decoders have it.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { textOf } from '../../wire/text.ts';
import { readVarint64, skipValueLoosely, varint32Size, Wide, WireType, writeVarint32 } from '../../wire/varint.ts';

/** DataNodes of one report; HDFS clusters have some ten thousand. */
export const MAX_DATANODES = 200_000;
/** Entries read or written before other events have their turn. */
export const ENTRIES_PER_TURN = 500;

const ENTRY_TAG = 0x0a;
const NORMAL = 0;
/** NetworkTopology's name for the rack of a node that has none. */
const DEFAULT_RACK = '/default-rack';
const LOCATION_TAG = 0x42;

export interface DataNodeEntry {
  readonly body: Buffer;
  /** The entry without its tag and length. */
  readonly start: number;
  readonly end: number;
  /** `ip:xferPort`; the uuid of a node without an ip. */
  readonly address: string;
  readonly uuid: string;
  /** Time of the last heartbeat, milliseconds since 1970. */
  readonly lastUpdateMs: number;
  /** Neither decommissioned nor in maintenance, nor on its way there. */
  readonly isInService: boolean;
  readonly capacityBytes: bigint;
  readonly usedBytes: bigint;
  readonly remainingBytes: bigint;
  /** The field `location` with its tag, -1 when the entry has none. */
  readonly locationStart: number;
  readonly locationEnd: number;
  readonly location: string;
}

/** A report is no message, or has a DataNode without an id or too many of them. */
export class ReportError extends Error {
  override readonly name = 'ReportError';
}

const wide = new Wide();

/** Entries of a response message. `nested`: each holds the DatanodeInfoProto in its field 1. Throws ReportError. */
export async function readDataNodes(body: Buffer, nested: boolean): Promise<DataNodeEntry[]> {
  const entries: DataNodeEntry[] = [];
  let at = 0;
  while (at < body.length) {
    const valueAt = readTag(body, at, body.length);
    const tag = wide.low;
    const end = skip(body, valueAt, body.length, tag);
    if (tag === ENTRY_TAG) {
      if (entries.length === MAX_DATANODES) throw new ReportError(`more than ${MAX_DATANODES} DataNodes`);
      const start = readNumber(body, valueAt, end);
      entries.push(nested ? readNested(body, start, end) : readInfo(body, start, end, start, end));
      if (entries.length % ENTRIES_PER_TURN === 0) await nextTurn();
    }
    at = end;
  }
  return entries;
}

function readNested(body: Buffer, start: number, end: number): DataNodeEntry {
  let infoStart = -1;
  let infoEnd = -1;
  let at = start;
  while (at < end) {
    const valueAt = readTag(body, at, end);
    const tag = wide.low;
    at = skip(body, valueAt, end, tag);
    if (tag === ENTRY_TAG) {
      infoStart = readNumber(body, valueAt, at);
      infoEnd = at;
    }
  }
  if (infoStart < 0) throw new ReportError('a DataNode without its description');
  return readInfo(body, infoStart, infoEnd, start, end);
}

/** The DatanodeInfoProto in body[from, to); the entry is body[start, end). */
function readInfo(body: Buffer, from: number, to: number, start: number, end: number): DataNodeEntry {
  let id: { address: string; uuid: string } | null = null;
  let capacityBytes = 0n;
  let usedBytes = 0n;
  let remainingBytes = 0n;
  let lastUpdateMs = 0;
  let adminState = NORMAL;
  let locationStart = -1;
  let locationEnd = -1;
  let location = '';
  let at = from;
  while (at < to) {
    const fieldStart = at;
    const valueAt = readTag(body, at, to);
    const tag = wide.low;
    at = skip(body, valueAt, to, tag);
    switch (tag) {
      case ENTRY_TAG:
        id = readId(body, readNumber(body, valueAt, at), at);
        break;
      case field(2, WireType.VARINT):
        capacityBytes = readLong(body, valueAt, at);
        break;
      case field(3, WireType.VARINT):
        usedBytes = readLong(body, valueAt, at);
        break;
      case field(4, WireType.VARINT):
        remainingBytes = readLong(body, valueAt, at);
        break;
      case field(6, WireType.VARINT):
        lastUpdateMs = Number(readLong(body, valueAt, at));
        break;
      case LOCATION_TAG:
        locationStart = fieldStart;
        locationEnd = at;
        location = textOf(body, readNumber(body, valueAt, at), at);
        break;
      case field(10, WireType.VARINT):
        readNumber(body, valueAt, at);
        adminState = wide.low;
        break;
      default:
    }
  }
  if (id === null) throw new ReportError('a DataNode without an id');
  return {
    body,
    start,
    end,
    ...id,
    lastUpdateMs,
    isInService: adminState === NORMAL,
    capacityBytes,
    usedBytes,
    remainingBytes,
    locationStart,
    locationEnd,
    location,
  };
}

function readId(body: Buffer, start: number, end: number): { address: string; uuid: string } {
  let ip = '';
  let uuid = '';
  let port = 0;
  let at = start;
  while (at < end) {
    const valueAt = readTag(body, at, end);
    const tag = wide.low;
    at = skip(body, valueAt, end, tag);
    if (tag === field(1, WireType.BYTES)) ip = textOf(body, readNumber(body, valueAt, at), at);
    else if (tag === field(3, WireType.BYTES)) uuid = textOf(body, readNumber(body, valueAt, at), at);
    else if (tag === field(4, WireType.VARINT)) {
      readNumber(body, valueAt, at);
      port = wide.low;
    }
  }
  // Without an address it is nobody else's: nodes are not made one because they lack theirs.
  return { address: ip === '' ? uuid : `${ip}:${port}`, uuid };
}

/** Bytes of a response message with these entries, each as its NameNode wrote it. */
export async function writeDataNodes(entries: Iterable<DataNodeEntry>): Promise<Buffer> {
  return await writeEntries(entries, () => null);
}

/** As `writeDataNodes`, with the racks of each entry below `/NAMESERVICE`. The entries are DatanodeInfoProto. */
export async function writeDataNodesBelow(
  entries: Iterable<DataNodeEntry>,
  nameserviceOf: (entry: DataNodeEntry) => string,
): Promise<Buffer> {
  return await writeEntries(entries, (entry) => {
    const location = Buffer.from(`/${nameserviceOf(entry)}${entry.locationStart < 0 ? DEFAULT_RACK : entry.location}`);
    const written = Buffer.allocUnsafe(1 + varint32Size(location.length) + location.length);
    written[0] = LOCATION_TAG;
    location.copy(written, writeVarint32(written, 1, location.length));
    return written;
  });
}

/** `locationOf` gives the field that stands in place of the entry's location, null to keep it. */
async function writeEntries(
  entries: Iterable<DataNodeEntry>,
  locationOf: (entry: DataNodeEntry) => Buffer | null,
): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let count = 0;
  for (const entry of entries) {
    const { body, start, end } = entry;
    const location = locationOf(entry);
    const cutStart = entry.locationStart < 0 ? end : entry.locationStart;
    const cutEnd = entry.locationStart < 0 ? end : entry.locationEnd;
    const bytes = location === null ? end - start : end - start - (cutEnd - cutStart) + location.length;
    const head = Buffer.allocUnsafe(1 + varint32Size(bytes));
    head[0] = ENTRY_TAG;
    writeVarint32(head, 1, bytes);
    pieces.push(head);
    if (location === null) pieces.push(body.subarray(start, end));
    else pieces.push(body.subarray(start, cutStart), location, body.subarray(cutEnd, end));
    if (++count % ENTRIES_PER_TURN === 0) await nextTurn();
  }
  return Buffer.concat(pieces);
}

function field(number: number, wireType: number): number {
  return (number << 3) | wireType;
}

/** Position after the tag; the tag is in `wide.low`. */
function readTag(body: Buffer, at: number, end: number): number {
  return readNumber(body, at, end);
}

/** Position after the varint; its value is in `wide`. */
function readNumber(body: Buffer, at: number, end: number): number {
  const next = readVarint64(body, at, end, wide);
  if (next < 0) throw new ReportError(`no number at byte ${at}`);
  return next;
}

function readLong(body: Buffer, at: number, end: number): bigint {
  readNumber(body, at, end);
  return BigInt.asIntN(64, (BigInt(wide.high) << 32n) | BigInt(wide.low >>> 0));
}

/** Position after the value of a field. */
function skip(body: Buffer, at: number, end: number, tag: number): number {
  const next = skipValueLoosely(body, at, end, tag);
  if (next < 0) throw new ReportError(`no value at byte ${at}`);
  return next;
}
