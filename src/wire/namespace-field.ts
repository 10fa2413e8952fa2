/**
 * Puts the nameservice's name into the file status of `create` and `append` answers, so that the client names it in `renewLease`.
 *
 *   CreateResponseProto  1 fs HdfsFileStatusProto        AppendResponseProto  1 block · 2 stat HdfsFileStatusProto
 *   HdfsFileStatusProto  … · 19 namespace string
 *
 * An embedded message that stands twice is merged by the decoder, so a second one that holds only field 19 is appended.
 */
import { copyBytes, readVarint64, skipValueLoosely, varint32Size, Wide, writeVarint32 } from './varint.ts';

/** Tags of 19 namespace, as bytes: 19 << 3 | 2 = 154. */
const NAMESPACE_TAG_BYTES = 2;
/** Tag and lengths that are added beside the name, and growth of the outer length. */
const GROWTH_BYTES = 16;

const wide = new Wide();

/** Upper bound of what `writeWithNamespace` writes. */
export function namespaceBound(bodyBytes: number, nameserviceBytes: number): number {
  return bodyBytes + nameserviceBytes + GROWTH_BYTES;
}

/**
 * Writes the delimited response message buffer[bodyStart, bodyEnd) with the nameservice's name in its embedded message `field` (1 to 15).
 * A response without that embedded message, or one that is not well-formed, is copied unchanged. Returns the position after it.
 */
export function writeWithNamespace(
  out: Buffer,
  at: number,
  buffer: Buffer,
  bodyStart: number,
  bodyEnd: number,
  field: number,
  nameservice: Buffer,
): number {
  const start = readVarint64(buffer, bodyStart, bodyEnd, wide);
  const messageBytes = wide.low;
  const end = start + messageBytes;
  if (start < 0 || messageBytes < 0 || end > bodyEnd || !hasEmbedded(buffer, start, end, field)) {
    return copyBytes(out, at, buffer, bodyStart, bodyEnd);
  }
  const nameBytes = nameservice.length;
  const statusBytes = NAMESPACE_TAG_BYTES + varint32Size(nameBytes) + nameBytes;
  const addedBytes = 1 + varint32Size(statusBytes) + statusBytes;
  let next = writeVarint32(out, at, messageBytes + addedBytes);
  next = copyBytes(out, next, buffer, start, end);
  out[next++] = (field << 3) | 2;
  next = writeVarint32(out, next, statusBytes);
  out[next++] = 0x9a;
  out[next++] = 0x01;
  next = writeVarint32(out, next, nameBytes);
  return copyBytes(out, next, nameservice, 0, nameBytes);
}

function hasEmbedded(buffer: Buffer, start: number, end: number, field: number): boolean {
  const wanted = (field << 3) | 2;
  let found = false;
  let at = start;
  while (at < end) {
    at = readVarint64(buffer, at, end, wide);
    if (at < 0) return false;
    const tag = wide.low;
    if (tag === wanted) found = true;
    at = skipValueLoosely(buffer, at, end, tag);
    if (at < 0) return false;
  }
  return found;
}
