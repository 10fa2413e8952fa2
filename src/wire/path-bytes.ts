/** Paths of NameNodes in exception texts, translated back to those of clients. */
import { copyBytes } from './varint.ts';

const SLASH = 0x2f;

/** At most so many places of one text are translated; what follows stays as it is. */
const MAX_TRANSLATIONS = 64;

/** Upper bound of what `translateBack` writes. */
export function translateBackBound(messageBytes: number, targetBytes: number, mountedBytes: number): number {
  return messageBytes + MAX_TRANSLATIONS * Math.max(1, mountedBytes - targetBytes);
}

/**
 * Rewrites an exception text of a NameNode for the client. target[ts, te) is the path that the call had at the NameNode, mounted[os, oe)
 * the client's own; both end in the same remainder. The first targetPrefixBytes of the target are the mount's own target path. Where the text names
 * the target, or an ancestor of it at or below the mount's target, as a whole path, the client's path is put; from the first stack line on
 * nothing changes. Returns the position after what was written to out[at…].
 */
export function translateBack(
  message: Buffer,
  ms: number,
  me: number,
  target: Buffer,
  ts: number,
  te: number,
  targetPrefixBytes: number,
  mounted: Buffer,
  os: number,
  oe: number,
  out: Buffer,
  at: number,
): number {
  const targetBytes = te - ts;
  // The remainder starts with its `/`, so a mount target that is the root has no bytes before it.
  const prefixBytes = targetPrefixBytes === 1 ? 0 : Math.min(targetPrefixBytes, targetBytes);
  const mountedPrefixBytes = oe - os - (targetBytes - prefixBytes);
  if (mountedPrefixBytes < 0) return copyBytes(out, at, message, ms, me);
  const stack = findStack(message, ms, me);
  let next = at;
  let from = ms;
  let count = 0;
  let i = ms;
  while (i < stack && count < MAX_TRANSLATIONS) {
    if (message[i] !== SLASH || (i > ms && isPathByte(message[i - 1]!))) {
      i++;
      continue;
    }
    let same = 0;
    while (same < targetBytes && i + same < stack && message[i + same] === target[ts + same]) same++;
    const isRoot = same === 1 && prefixBytes === 0;
    const isAncestor = same >= Math.max(prefixBytes, 1) && (same === targetBytes || target[ts + same] === SLASH);
    if ((isRoot || isAncestor) && endsPath(message, i + same, stack)) {
      next = copyBytes(out, next, message, from, i);
      next = writeMounted(out, next, mounted, os, oe, mountedPrefixBytes, isRoot ? 0 : same - prefixBytes, targetBytes);
      i += same;
      from = i;
      count++;
    } else {
      i += Math.max(same, 1);
    }
  }
  return copyBytes(out, next, message, from, me);
}

/** The mount path and so many bytes of the remainder. */
function writeMounted(
  out: Buffer,
  at: number,
  mounted: Buffer,
  os: number,
  oe: number,
  prefixBytes: number,
  remainderBytes: number,
  targetBytes: number,
): number {
  // A root at the target's end: the whole client path; above it: the mount path, which is the root when it has no bytes of its own.
  if (targetBytes === 1 && remainderBytes === 0) return copyBytes(out, at, mounted, os, oe);
  if (prefixBytes + remainderBytes === 0) {
    out[at] = SLASH;
    return at + 1;
  }
  return copyBytes(out, at, mounted, os, os + prefixBytes + remainderBytes);
}

/** Position of the first stack line, "\n\tat ", or me. */
function findStack(message: Buffer, ms: number, me: number): number {
  for (let i = ms; i + 5 <= me; i++) {
    if (
      message[i] === 0x0a &&
      message[i + 1] === 0x09 &&
      message[i + 2] === 0x61 &&
      message[i + 3] === 0x74 &&
      message[i + 4] === 0x20
    ) {
      return i;
    }
  }
  return me;
}

/** Bytes that, next to a path, make it a piece of another one: letters, digits, `/ . - _ ~ % + @ # $ & = ^ *`… and all beyond ASCII. */
function isPathByte(byte: number): boolean {
  return PATH_BYTES[byte] === 1;
}

/** A path ends at the end of the text, before a byte that is none of a path, or before punctuation that ends a sentence. */
function endsPath(message: Buffer, at: number, end: number): boolean {
  if (at >= end) return true;
  const byte = message[at]!;
  if (byte === DOT) return at + 1 >= end || !isPathByte(message[at + 1]!);
  if (byte === COMMA) return at + 1 >= end || !isPathByte(message[at + 1]!) || message[at + 1] === SLASH;
  return !isPathByte(byte);
}

const DOT = 0x2e;
const COMMA = 0x2c;

const PATH_BYTES = new Uint8Array(256);
for (let byte = 0x80; byte < 256; byte++) PATH_BYTES[byte] = 1;
for (const byte of Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/.-_~%+@#$&^*'))
  PATH_BYTES[byte] = 1;
