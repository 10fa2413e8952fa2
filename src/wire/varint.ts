/**
 * Numbers of the protobuf wire format, read and written in place.
 *
 *   varint   7 bits a byte, lowest first, the top bit says that more follow; at most 10 bytes
 *   tag      varint of field number << 3 | wire type (0 varint, 1 eight bytes, 2 length and bytes, 3/4 group, 5 four bytes)
 *   sint32   varint of the zigzag form 0, -1, 1, -2 …
 *
 * Two ways of reading. The strict one (`readVarint32`) accepts only the shortest form of at most 32 bits, so that the size of what was
 * read follows from its value (`varint32Size`) and two decoders cannot differ about it. The loose one (`readVarint64`) accepts what any
 * decoder accepts.
 */

/** Bytes end inside the number or the value. */
export const VARINT_TRUNCATED = -1;
/** A decoder can read it, but it is not the shortest form, or has more than 32 bits. */
export const VARINT_NOT_SHORTEST = -2;
/** No decoder can read it: more than 10 bytes, a length above 2^31 - 1, wire type 6 or 7, field number 0. */
export const VARINT_MALFORMED = -3;
/** `skipValue` only: the field is a group. */
export const VALUE_IS_GROUP = -4;

export const WireType = { VARINT: 0, FIXED64: 1, BYTES: 2, GROUP_START: 3, GROUP_END: 4, FIXED32: 5 } as const;

/** Longest varint. */
export const MAX_VARINT_BYTES = 10;
/** Groups nested deeper than this are refused, as Java's decoder does. */
export const MAX_GROUP_DEPTH = 100;

/** A 64-bit number as two 32-bit halves; `low` and `high` are signed. Reused. */
export class Wide {
  high = 0;
  low = 0;
}

/** Unsigned value (0 to 2^32 - 1) of the shortest-form varint at buffer[at], or one of the negative codes above. */
export function readVarint32(buffer: Buffer, at: number, end: number): number {
  if (at >= end) return VARINT_TRUNCATED;
  const byte = buffer[at]!;
  return byte < 0x80 ? byte : readLongVarint32(buffer, at, end);
}

/** Apart, so that the common case is small enough to be inlined. */
function readLongVarint32(buffer: Buffer, at: number, end: number): number {
  let value = buffer[at]! & 0x7f;
  let shift = 7;
  for (let i = at + 1; i < end; i++) {
    const byte = buffer[i]!;
    if (shift === 28) {
      if (byte > 0x0f) return judgeLongVarint(buffer, at, end);
      return byte === 0 ? VARINT_NOT_SHORTEST : (value | (byte << 28)) >>> 0;
    }
    if (byte < 0x80) return byte === 0 ? VARINT_NOT_SHORTEST : value | (byte << shift);
    value |= (byte & 0x7f) << shift;
    shift += 7;
  }
  return VARINT_TRUNCATED;
}

/** Why `readVarint32` cannot take a varint that goes on after 32 bits. */
function judgeLongVarint(buffer: Buffer, at: number, end: number): number {
  const most = at + MAX_VARINT_BYTES;
  for (let i = at; i < most; i++) {
    if (i >= end) return VARINT_TRUNCATED;
    if (buffer[i]! < 0x80) return VARINT_NOT_SHORTEST;
  }
  return VARINT_MALFORMED;
}

/** Reads any varint into `into` (bits above 64 are dropped, as decoders do). Returns the position after it, or a negative code. */
export function readVarint64(buffer: Buffer, at: number, end: number, into: Wide): number {
  if (at >= end) return VARINT_TRUNCATED;
  const byte = buffer[at]!;
  if (byte >= 0x80) return readLongVarint64(buffer, at, end, into);
  into.low = byte;
  into.high = 0;
  return at + 1;
}

function readLongVarint64(buffer: Buffer, start: number, end: number, into: Wide): number {
  let low = 0;
  let high = 0;
  let at = start;
  for (let i = 0; i < MAX_VARINT_BYTES; i++) {
    if (at >= end) return VARINT_TRUNCATED;
    const byte = buffer[at++]!;
    const bits = byte & 0x7f;
    if (i < 4) low |= bits << (7 * i);
    else if (i === 4) {
      low |= bits << 28;
      high = bits >> 4;
    } else high |= bits << (7 * i - 32);
    if (byte < 0x80) {
      into.low = low;
      into.high = high;
      return at;
    }
  }
  return VARINT_MALFORMED;
}

/** Position after the varint at buffer[at], or a negative code. */
export function skipVarint(buffer: Buffer, at: number, end: number): number {
  const most = at + MAX_VARINT_BYTES;
  for (let i = at; i < most; i++) {
    if (i >= end) return VARINT_TRUNCATED;
    if (buffer[i]! < 0x80) return i + 1;
  }
  return VARINT_MALFORMED;
}

/**
 * Position after the value (the tag is read already) of this wire type, or a negative code; a length must be in its shortest form.
 * Groups are not entered (VALUE_IS_GROUP).
 */
export function skipValue(buffer: Buffer, at: number, end: number, wireType: number): number {
  switch (wireType) {
    case WireType.VARINT:
      return skipVarint(buffer, at, end);
    case WireType.BYTES: {
      const bytes = readVarint32(buffer, at, end);
      if (bytes < 0) return bytes;
      if (bytes > 0x7fffffff) return VARINT_MALFORMED;
      const after = at + varint32Size(bytes) + bytes;
      return after > end ? VARINT_TRUNCATED : after;
    }
    case WireType.FIXED64:
      return at + 8 > end ? VARINT_TRUNCATED : at + 8;
    case WireType.FIXED32:
      return at + 4 > end ? VARINT_TRUNCATED : at + 4;
    case WireType.GROUP_START:
    case WireType.GROUP_END:
      return VALUE_IS_GROUP;
    default:
      return VARINT_MALFORMED;
  }
}

const scratch = new Wide();

/** As `skipValue`, for any length form and with groups skipped whole. `tag` is the tag that was read. */
export function skipValueLoosely(buffer: Buffer, at: number, end: number, tag: number, depth = 0): number {
  const wireType = tag & 7;
  if (tag >>> 3 === 0) return VARINT_MALFORMED;
  if (wireType === WireType.BYTES) {
    const after = readVarint64(buffer, at, end, scratch);
    if (after < 0) return after;
    if (scratch.low < 0) return VARINT_MALFORMED;
    return after + scratch.low > end ? VARINT_TRUNCATED : after + scratch.low;
  }
  if (wireType !== WireType.GROUP_START) {
    return wireType === WireType.GROUP_END ? VARINT_MALFORMED : skipValue(buffer, at, end, wireType);
  }
  if (depth >= MAX_GROUP_DEPTH) return VARINT_MALFORMED;
  let next = at;
  while (next < end) {
    const after = readVarint64(buffer, next, end, scratch);
    if (after < 0) return after;
    const inner = scratch.low;
    if ((inner & 7) === WireType.GROUP_END) return inner >>> 3 === tag >>> 3 ? after : VARINT_MALFORMED;
    next = skipValueLoosely(buffer, after, end, inner, depth + 1);
    if (next < 0) return next;
  }
  return VARINT_TRUNCATED;
}

/** Bytes of the varint of value, 0 to 2^32 - 1 (a negative int32 is taken as its unsigned 32 bits). */
export function varint32Size(value: number): number {
  const bits = value >>> 0;
  return bits < 0x80 ? 1 : longVarint32Size(bits);
}

function longVarint32Size(bits: number): number {
  if (bits < 0x4000) return 2;
  if (bits < 0x200000) return 3;
  return bits < 0x10000000 ? 4 : 5;
}

/** Writes the varint of value (as `varint32Size`). Returns the position after it. */
export function writeVarint32(out: Buffer, at: number, value: number): number {
  let bits = value >>> 0;
  while (bits > 0x7f) {
    out[at++] = (bits & 0x7f) | 0x80;
    bits >>>= 7;
  }
  out[at++] = bits;
  return at;
}

/** Writes the varint of a 64-bit number. Returns the position after it. */
export function writeVarint64(out: Buffer, at: number, high: number, low: number): number {
  let upper = high >>> 0;
  let lower = low >>> 0;
  while (upper !== 0) {
    out[at++] = (lower & 0x7f) | 0x80;
    lower = ((lower >>> 7) | (upper << 25)) >>> 0;
    upper >>>= 7;
  }
  return writeVarint32(out, at, lower);
}

/** Unsigned 32 bits of the zigzag form of an int32. */
export function zigzag32(value: number): number {
  return ((value << 1) ^ (value >> 31)) >>> 0;
}

/** The int32 of a zigzag form. */
export function unzigzag32(bits: number): number {
  return (bits >>> 1) ^ -(bits & 1);
}

/** Writes a big-endian u32 (the length before a frame). Returns the position after it. */
export function writeInt32(out: Buffer, at: number, value: number): number {
  out[at] = value >>> 24;
  out[at + 1] = value >>> 16;
  out[at + 2] = value >>> 8;
  out[at + 3] = value;
  return at + 4;
}

/** Reads a big-endian i32. The four bytes must be there. */
export function readInt32(buffer: Buffer, at: number): number {
  return (buffer[at]! << 24) | (buffer[at + 1]! << 16) | (buffer[at + 2]! << 8) | buffer[at + 3]!;
}

/** Below this a loop is faster than Buffer.copy, which pays about 40 ns to leave JavaScript. */
const LOOP_COPY_BYTES = 40;

/** Copies from[start, end) to out[at…]. Returns the position after it. */
export function copyBytes(out: Buffer, at: number, from: Buffer, start: number, end: number): number {
  if (end - start > LOOP_COPY_BYTES) {
    from.copy(out, at, start, end);
    return at + end - start;
  }
  for (let i = start; i < end; i++) out[at++] = from[i]!;
  return at;
}
