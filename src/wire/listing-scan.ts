/**
 * Entries of listings and statuses found and copied as bytes, without decoding them.
 *
 *   GetListingResponseProto   1 dirList DirectoryListingProto
 *   DirectoryListingProto     1 partialListing HdfsFileStatusProto, repeated · 2 remainingEntries uint32
 *   GetFileInfoResponseProto  1 fs HdfsFileStatusProto (getFileLinkInfo and getLocatedFileInfo alike)
 *   HdfsFileStatusProto       1 fileType · 2 path bytes (the name in listings) · … · 14 childrenNum int32 · …
 *
 * A field that stands twice counts as it stood last, as decoders have it.
 */
import { copyBytes, readVarint64, skipValueLoosely, varint32Size, Wide, WireType, writeVarint32 } from './varint.ts';

export const ENTRIES_OK = 0;
/** No decoder can read it, or an entry has no name or no type. */
export const ENTRIES_MALFORMED = -1;
/** More than MAX_SCANNED_ENTRIES. */
export const ENTRIES_TOO_MANY = -2;

/** NameNodes put 1000 into a page (`dfs.ls.limit`). */
export const MAX_SCANNED_ENTRIES = 1_048_576;

/** HdfsFileStatusProto.FileType. */
export const DIRECTORY = 1;
/** `childrenNum` of an entry that has none. */
export const NO_CHILDREN_NUM = -1;

/** Bytes that the entries of a listing have around them at most: the tag and the length of it, and the remaining entries. */
export const LISTING_HEAD_BYTES = 6;
export const LISTING_TAIL_BYTES = 6;

const ENTRY_TAG = 0x0a;
const REMAINING_TAG = 0x10;
const PATH_TAG = 0x12;
const CHILDREN_TAG = 0x70;
const FILE_TYPE_TAG = 0x08;
const MAX_INT32 = 0x7fffffff;
const FIRST_CAPACITY = 64;

const Word = { START: 0, END: 1, FIELD_START: 2, NAME_START: 3, NAME_END: 4, FILE_TYPE: 5, CHILDREN: 6 } as const;
const WORDS = 7;

/** Where the entries of one message lie in its buffer. Reused. */
export class EntryScan {
  count = 0;
  remaining = 0;
  /** The number of remaining entries, which a listing must say, was there. */
  hasRemaining = false;
  /** `scanListing`: the directory exists. */
  hasListing = false;
  #words = new Int32Array(FIRST_CAPACITY * WORDS);

  clear(): void {
    this.count = 0;
    this.remaining = 0;
    this.hasRemaining = false;
    this.hasListing = false;
  }

  /** Start of the status itself, behind its tag and length. */
  startOf(entry: number): number {
    return this.#words[entry * WORDS + Word.START]!;
  }

  endOf(entry: number): number {
    return this.#words[entry * WORDS + Word.END]!;
  }

  nameStartOf(entry: number): number {
    return this.#words[entry * WORDS + Word.NAME_START]!;
  }

  nameEndOf(entry: number): number {
    return this.#words[entry * WORDS + Word.NAME_END]!;
  }

  /** Start of the field that holds the name. */
  nameFieldOf(entry: number): number {
    return this.#words[entry * WORDS + Word.FIELD_START]!;
  }

  isDirectory(entry: number): boolean {
    return this.#words[entry * WORDS + Word.FILE_TYPE] === DIRECTORY;
  }

  childrenOf(entry: number): number {
    return this.#words[entry * WORDS + Word.CHILDREN]!;
  }

  /** Reads the status buffer[start, end) as the next entry. Returns ENTRIES_OK or why not. */
  addEntry(buffer: Buffer, start: number, end: number): number {
    if (this.count === MAX_SCANNED_ENTRIES) return ENTRIES_TOO_MANY;
    const row = this.count * WORDS;
    if (row === this.#words.length) {
      const grown = new Int32Array(this.#words.length * 2);
      grown.set(this.#words);
      this.#words = grown;
    }
    const words = this.#words;
    words[row + Word.START] = start;
    words[row + Word.END] = end;
    words[row + Word.NAME_START] = -1;
    words[row + Word.FILE_TYPE] = 0;
    words[row + Word.CHILDREN] = NO_CHILDREN_NUM;
    let at = start;
    while (at < end) {
      const field = at;
      at = readVarint64(buffer, at, end, wide);
      if (at < 0) return ENTRIES_MALFORMED;
      const tag = wide.low;
      if (tag === PATH_TAG) {
        const from = readVarint64(buffer, at, end, wide);
        if (from < 0 || wide.low < 0 || wide.high !== 0 || wide.low > end - from) return ENTRIES_MALFORMED;
        at = from + wide.low;
        words[row + Word.FIELD_START] = field;
        words[row + Word.NAME_START] = from;
        words[row + Word.NAME_END] = at;
      } else if (tag === FILE_TYPE_TAG || tag === CHILDREN_TAG) {
        at = readVarint64(buffer, at, end, wide);
        words[row + (tag === CHILDREN_TAG ? Word.CHILDREN : Word.FILE_TYPE)] = wide.low;
      } else {
        at = skipValueLoosely(buffer, at, end, tag);
      }
      if (at < 0) return ENTRIES_MALFORMED;
    }
    if (words[row + Word.NAME_START] === -1 || words[row + Word.FILE_TYPE] === 0) return ENTRIES_MALFORMED;
    this.count++;
    return ENTRIES_OK;
  }
}

const wide = new Wide();

/** The GetListingResponseProto in buffer[start, end). Returns ENTRIES_OK or why it cannot be read. */
export function scanListing(buffer: Buffer, start: number, end: number, scan: EntryScan): number {
  scan.clear();
  let at = start;
  while (at < end) {
    at = readVarint64(buffer, at, end, wide);
    if (at < 0) return ENTRIES_MALFORMED;
    const tag = wide.low;
    const after = skipValueLoosely(buffer, at, end, tag);
    if (after < 0) return ENTRIES_MALFORMED;
    if (tag === ENTRY_TAG) {
      scan.hasListing = true;
      const code = readEntries(buffer, readVarint64(buffer, at, end, wide), after, scan);
      if (code !== ENTRIES_OK) return code;
    }
    at = after;
  }
  return scan.hasListing && !scan.hasRemaining ? ENTRIES_MALFORMED : ENTRIES_OK;
}

/** A message with a status in field 1, in buffer[start, end): one entry, none when it is empty. */
export function scanStatus(buffer: Buffer, start: number, end: number, scan: EntryScan): number {
  scan.clear();
  return readEntries(buffer, start, end, scan);
}

function readEntries(buffer: Buffer, start: number, end: number, scan: EntryScan): number {
  let at = start;
  while (at < end) {
    at = readVarint64(buffer, at, end, wide);
    if (at < 0) return ENTRIES_MALFORMED;
    const tag = wide.low;
    const after = skipValueLoosely(buffer, at, end, tag);
    if (after < 0) return ENTRIES_MALFORMED;
    if (tag === ENTRY_TAG) {
      const code = scan.addEntry(buffer, readVarint64(buffer, at, end, wide), after);
      if (code !== ENTRIES_OK) return code;
    } else if (tag === REMAINING_TAG) {
      readVarint64(buffer, at, end, wide);
      scan.remaining = wide.low < 0 ? MAX_INT32 : wide.low;
      scan.hasRemaining = true;
    } else if (tag >>> 3 === 0 || (tag & 7) === WireType.GROUP_END) {
      return ENTRIES_MALFORMED;
    }
    at = after;
  }
  return ENTRIES_OK;
}

/** Order of names in HDFS: bytes, unsigned; of two that begin alike the shorter first. Negative, 0 or positive. */
export function compareNames(a: Buffer, aStart: number, aEnd: number, b: Buffer, bStart: number, bEnd: number): number {
  let i = aStart;
  let j = bStart;
  while (i < aEnd && j < bEnd) {
    const difference = a[i]! - b[j]!;
    if (difference !== 0) return difference;
    i++;
    j++;
  }
  return aEnd - i - (bEnd - j);
}

/** The names ascend, and all are behind `after`: as a NameNode lists a directory. A file is the one entry without a name. */
export function isInOrder(buffer: Buffer, scan: EntryScan, after: Buffer): boolean {
  if (scan.count === 1 && scan.nameStartOf(0) === scan.nameEndOf(0)) return true;
  let before = after;
  let start = 0;
  let end = after.length;
  for (let entry = 0; entry < scan.count; entry++) {
    const from = scan.nameStartOf(entry);
    const to = scan.nameEndOf(entry);
    if (compareNames(before, start, end, buffer, from, to) >= 0) return false;
    before = buffer;
    start = from;
    end = to;
  }
  return true;
}

/** A sum of children of several directories. */
export function addChildren(sum: number, childrenNum: number): number {
  return Math.min(MAX_INT32, sum + Math.max(0, childrenNum));
}

/** Bytes of `writeEntry`. */
export function entrySize(scan: EntryScan, entry: number, childrenNum: number): number {
  const bytes = statusBytes(scan, entry, childrenNum);
  return 1 + varint32Size(bytes) + bytes;
}

/** Writes an entry of the scanned buffer as field 1, with `childrenNum` instead of its own unless that is NO_CHILDREN_NUM. */
export function writeEntry(
  out: Buffer,
  at: number,
  buffer: Buffer,
  scan: EntryScan,
  entry: number,
  childrenNum: number,
): number {
  out[at] = ENTRY_TAG;
  let next = writeVarint32(out, at + 1, statusBytes(scan, entry, childrenNum));
  next = copyBytes(out, next, buffer, scan.startOf(entry), scan.endOf(entry));
  if (childrenNum === NO_CHILDREN_NUM) return next;
  out[next] = CHILDREN_TAG;
  return writeVarint32(out, next + 1, childrenNum);
}

function statusBytes(scan: EntryScan, entry: number, childrenNum: number): number {
  const own = scan.endOf(entry) - scan.startOf(entry);
  return childrenNum === NO_CHILDREN_NUM ? own : own + 1 + varint32Size(childrenNum);
}

/** Upper bound of `writeRenamed`. */
export function renamedBound(scan: EntryScan, entry: number, nameBytes: number): number {
  return scan.endOf(entry) - scan.startOf(entry) + nameBytes + LISTING_HEAD_BYTES;
}

/** Writes the status of an entry with another name, without tag and length around it. */
export function writeRenamed(
  out: Buffer,
  at: number,
  buffer: Buffer,
  scan: EntryScan,
  entry: number,
  name: Buffer,
): number {
  let next = copyBytes(out, at, buffer, scan.startOf(entry), scan.nameFieldOf(entry));
  out[next] = PATH_TAG;
  next = writeVarint32(out, next + 1, name.length);
  next = copyBytes(out, next, name, 0, name.length);
  return copyBytes(out, next, buffer, scan.nameEndOf(entry), scan.endOf(entry));
}

/** Writes a status in bytes as field 1. Needs its length and LISTING_HEAD_BYTES. */
export function writeStatus(out: Buffer, at: number, status: Buffer): number {
  out[at] = ENTRY_TAG;
  return copyBytes(out, writeVarint32(out, at + 1, status.length), status, 0, status.length);
}

/**
 * Writes the GetListingResponseProto of entries that are written as field 1 already. Needs their length, LISTING_HEAD_BYTES and
 * LISTING_TAIL_BYTES.
 */
export function writeListing(out: Buffer, at: number, entries: Buffer, remaining: number): number {
  const left = Math.min(remaining, MAX_INT32);
  out[at] = ENTRY_TAG;
  let next = writeVarint32(out, at + 1, entries.length + 1 + varint32Size(left));
  next = copyBytes(out, next, entries, 0, entries.length);
  out[next] = REMAINING_TAG;
  return writeVarint32(out, next + 1, left);
}
