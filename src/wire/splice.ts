/**
 * Writes the call that goes to a NameNode: the client's bytes with what has to change.
 *
 *   length · delimited RpcRequestHeaderProto · delimited RequestHeaderProto · delimited request message
 *
 * A later field of a protobuf message overrides an earlier one and embedded messages are merged, so a header is changed by appending:
 *
 *   5 retryCount     := the tag by which the reply will be matched
 *   7 callerContext  := {1 context := the router's text}, the signature of the client's own stays
 *   8 stateId        := only for observers
 *
 * State ids of the client (8 and 9) must not reach a NameNode that was not chosen for them. Clients write them last: from a header that
 * otherwise holds the fields 1–5 and 7, each once (APPENDABLE), they are left out by ending it there. Of any other header the fields 1, 2,
 * 3, 4, 6 and 7 are copied first.
 *
 * The usual header (rpcKind 2, rpcOp 0, callId, a client id of 16 bytes, maybe a retryCount) is written anew instead, with 5 and 8 last:
 * client id and context are the same from call to call of a client, and are one copy.
 */
import { type CallFields, CallFlag } from '../handoff/link.ts';
import { type Block, copyBlock } from './block.ts';
import {
  type ContextPrefix,
  callerContextBound,
  plainContextBytes,
  USUAL_CLIENT_ID_BYTES,
  writePlainContext,
} from './context.ts';
import {
  copyBytes,
  readVarint32,
  skipValue,
  varint32Size,
  writeInt32,
  writeVarint32,
  writeVarint64,
  zigzag32,
} from './varint.ts';

const NOTHING = Buffer.alloc(0);

/** What changes in one call. Reused. */
export class RequestSplice {
  /** int32, comes back as the retryCount of the reply. */
  tag = 0;
  /** The new context string: context[contextStart, contextEnd). */
  context: Buffer = NOTHING;
  contextStart = 0;
  contextEnd = 0;
  /** Set for a call without a context of its own: written from here instead, so that it is copied once. */
  prefix: ContextPrefix | null = null;
  callId = 0;
  /** Replacement of the first path, path[pathFrom, pathTo); null leaves it. A path that the call does not have is not added. */
  path: Buffer | null = null;
  pathFrom = 0;
  pathTo = 0;
  /** The same for the second path. */
  path2: Buffer | null = null;
  path2From = 0;
  path2To = 0;
  /** The state id, in two halves, for an observer, which answers when it has caught up with it. */
  stateIdPresent = false;
  stateIdHigh = 0;
  stateIdLow = 0;
}

/**
 * More than the frame can grow beside context and paths: length prefix 4, header length 5, retryCount 6, tags and lengths of the context
 * 12, stateId 11, grown lengths of body and paths 15.
 */
const GROWTH_BYTES = 64;

/** Header fields that survive when it is not APPENDABLE, as bits of their numbers: 1, 2, 3, 4, 6, 7. */
const KEPT_FIELDS = (1 << 1) | (1 << 2) | (1 << 3) | (1 << 4) | (1 << 6) | (1 << 7);

/** Upper bound of what `spliceRequest` writes for a frame of so many bytes (without its length prefix). */
export function spliceBound(fields: CallFields, frameBytes: number, splice: RequestSplice): number {
  let bytes = frameBytes + GROWTH_BYTES;
  bytes += splice.prefix === null ? splice.contextEnd - splice.contextStart : callerContextBound(splice.prefix, 0);
  if (splice.path !== null && fields.pathStart !== 0) bytes += splice.pathTo - splice.pathFrom;
  if (splice.path2 !== null && fields.path2Start !== 0) bytes += splice.path2To - splice.path2From;
  return bytes;
}

/**
 * Writes the frame for the NameNode, its length prefix included, to out[at…] and returns the position after it: `spliceHead`, then the rest.
 * Bytes behind the request message are dropped.
 */
export function spliceRequest(
  out: Buffer,
  at: number,
  frame: Buffer,
  start: number,
  end: number,
  fields: CallFields,
  splice: RequestSplice,
  outBlock: Block | null = null,
  frameBlock: Block | null = null,
): number {
  const next = spliceHead(out, at, frame, start, end, fields, splice, outBlock, frameBlock);
  const from = start + restStart(fields, splice);
  return copyFrame(out, next, frame, from, restEnd(start, end, fields), outBlock, frameBlock);
}

/**
 * Writes what comes before the rest of the frame for the NameNode: the length prefix, of all of it, to the last byte that changes. The rest are
 * the client's own bytes, frame[start + restStart, restEnd). frame[start, end) is the client's frame (scanned: SCAN_OK), `fields` its offsets.
 * Returns the position after the head; the blocks, when given, are those of `out` and `frame`.
 */
export function spliceHead(
  out: Buffer,
  at: number,
  frame: Buffer,
  start: number,
  end: number,
  fields: CallFields,
  splice: RequestSplice,
  outBlock: Block | null = null,
  frameBlock: Block | null = null,
): number {
  let next = isUsual(frame, start, fields, splice)
    ? writeUsualHeader(out, at + 4, frame, start, fields, splice)
    : writeHeader(out, at + 4, frame, start, fields, splice);
  if (changesBody(fields, splice)) next = spliceBody(out, next, frame, start, fields, splice, outBlock, frameBlock);
  const restBytes = restEnd(start, end, fields) - start - restStart(fields, splice);
  writeInt32(out, at, next - at - 4 + restBytes);
  return next;
}

/** Where the bytes begin that stay as they are to the end of the request message, as an offset of the frame. */
export function restStart(fields: CallFields, splice: RequestSplice): number {
  let from = fields.headerEnd;
  if (splice.path !== null && fields.pathStart !== 0) from = fields.pathEnd;
  if (splice.path2 !== null && fields.path2Start !== 0 && fields.path2End > from) from = fields.path2End;
  return from;
}

/** Where they end, of frame[start, end). */
export function restEnd(start: number, end: number, fields: CallFields): number {
  return Math.min(start + fields.bodyEnd, end);
}

/** Copies a piece of the client's frame. */
function copyFrame(
  out: Buffer,
  at: number,
  frame: Buffer,
  start: number,
  end: number,
  outBlock: Block | null,
  frameBlock: Block | null,
): number {
  return outBlock === null || frameBlock === null
    ? copyBytes(out, at, frame, start, end)
    : copyBlock(outBlock, at, frameBlock, start, end);
}

/** Whether the header is made of nothing but `08 02 10 00`, call id, a client id of the usual length, maybe a retryCount and state ids. */
function isUsual(frame: Buffer, start: number, fields: CallFields, splice: RequestSplice): boolean {
  const at = start + fields.headerStart;
  return (
    splice.prefix !== null &&
    (fields.flags & CallFlag.APPENDABLE) !== 0 &&
    fields.contextEnd === fields.contextStart &&
    fields.clientIdEnd - fields.clientIdStart === USUAL_CLIENT_ID_BYTES &&
    splice.callId === fields.callId &&
    frame[at] === 0x08 &&
    frame[at + 1] === 2 &&
    frame[at + 2] === 0x10 &&
    frame[at + 3] === 0
  );
}

/** Writes the delimited header of a call that `isUsual`: `08 02 10 00 18 CALLID`, the fields 4 and 7, `28 TAG`, maybe `40 STATEID`. */
function writeUsualHeader(
  out: Buffer,
  at: number,
  frame: Buffer,
  start: number,
  fields: CallFields,
  splice: RequestSplice,
): number {
  const prefix = splice.prefix as ContextPrefix;
  const { callId } = fields;
  const headerBytes = usualHeaderBytes(frame, start, fields, splice);
  let next = writeVarint32(out, at, headerBytes);
  out[next] = 0x08;
  out[next + 1] = 2;
  out[next + 2] = 0x10;
  out[next + 3] = 0;
  out[next + 4] = 0x18;
  next = writeVarint32(out, next + 5, zigzag32(callId));
  out.set(prefix.fields, next);
  next += prefix.fields.length;
  out[next] = 0x28;
  next = writeVarint32(out, next + 1, zigzag32(splice.tag));
  return splice.stateIdPresent ? writeStateId(out, next, splice) : next;
}

function writeStateId(out: Buffer, at: number, splice: RequestSplice): number {
  out[at] = 0x40;
  return writeVarint64(out, at + 1, splice.stateIdHigh, splice.stateIdLow);
}

/** Length of what `writeUsualHeader` writes, without its prefix; prepares the context. */
function usualHeaderBytes(frame: Buffer, start: number, fields: CallFields, splice: RequestSplice): number {
  const prefix = splice.prefix as ContextPrefix;
  prefix.setCall(frame, start + fields.clientIdStart, fields.callId);
  const tagBytes = varint32Size(zigzag32(splice.tag));
  return 6 + varint32Size(zigzag32(fields.callId)) + prefix.fields.length + tagBytes + stateIdBytesOf(splice);
}

/** Writes the delimited header of any call. */
function writeHeader(
  out: Buffer,
  at: number,
  frame: Buffer,
  start: number,
  fields: CallFields,
  splice: RequestSplice,
): number {
  const headerStart = start + fields.headerStart;
  const appendable = (fields.flags & CallFlag.APPENDABLE) !== 0;
  const { prefix } = splice;
  const contextBytes = contextBytesOf(frame, start, fields, splice);
  const embeddedBytes = embeddedBytesOf(contextBytes);
  const headerBytes = headerBytesOf(frame, start, fields, splice, embeddedBytes);

  let next = writeVarint32(out, at, headerBytes);
  next = appendable
    ? copyBytes(out, next, frame, headerStart, start + fields.statelessEnd)
    : copyKept(out, next, frame, headerStart, start + fields.headerEnd);
  out[next++] = 0x28;
  next = writeVarint32(out, next, zigzag32(splice.tag));
  out[next++] = 0x3a;
  next = writeVarint32(out, next, embeddedBytes);
  out[next++] = 0x0a;
  next = writeVarint32(out, next, contextBytes);
  next =
    prefix === null
      ? copyBytes(out, next, splice.context, splice.contextStart, splice.contextEnd)
      : writePlainContext(out, next, prefix, splice.callId);
  return splice.stateIdPresent ? writeStateId(out, next, splice) : next;
}

/** Length of the frame that `spliceRequest` writes, without its length prefix: what the NameNode compares with its limit. */
export function splicedBytes(
  frame: Buffer,
  start: number,
  end: number,
  fields: CallFields,
  splice: RequestSplice,
): number {
  const headerBytes = isUsual(frame, start, fields, splice)
    ? usualHeaderBytes(frame, start, fields, splice)
    : headerBytesOf(frame, start, fields, splice, embeddedBytesOf(contextBytesOf(frame, start, fields, splice)));
  const restBytes = restEnd(start, end, fields) - start - fields.headerEnd;
  const head = varint32Size(headerBytes) + headerBytes;
  if (!changesBody(fields, splice)) return head + restBytes;
  const bodyBytes = fields.bodyEnd - fields.bodyStart;
  return head + restBytes + growth(bodyBytes, changedBodyBytes(fields, splice));
}

function contextBytesOf(frame: Buffer, start: number, fields: CallFields, splice: RequestSplice): number {
  const { prefix } = splice;
  return prefix === null
    ? splice.contextEnd - splice.contextStart
    : plainContextBytes(prefix, frame, start + fields.clientIdStart, start + fields.clientIdEnd, splice.callId);
}

/** RPCCallerContextProto with a context of so many bytes. */
function embeddedBytesOf(contextBytes: number): number {
  return 1 + varint32Size(contextBytes) + contextBytes;
}

/** What of the client's header stays, and what is appended to it. */
function headerBytesOf(
  frame: Buffer,
  start: number,
  fields: CallFields,
  splice: RequestSplice,
  embeddedBytes: number,
): number {
  const appendable = (fields.flags & CallFlag.APPENDABLE) !== 0;
  let bytes = appendable
    ? fields.statelessEnd - fields.headerStart
    : measureKept(frame, start + fields.headerStart, start + fields.headerEnd);
  bytes += 1 + varint32Size(zigzag32(splice.tag)) + 1 + varint32Size(embeddedBytes) + embeddedBytes;
  return bytes + stateIdBytesOf(splice);
}

function stateIdBytesOf(splice: RequestSplice): number {
  return splice.stateIdPresent ? 1 + varint64Size(splice.stateIdHigh, splice.stateIdLow) : 0;
}

function changesBody(fields: CallFields, splice: RequestSplice): boolean {
  return (splice.path !== null && fields.pathStart !== 0) || (splice.path2 !== null && fields.path2Start !== 0);
}

/** The request message with one or both paths replaced. */
function changedBodyBytes(fields: CallFields, splice: RequestSplice): number {
  const { pathStart, pathEnd, path2Start, path2End } = fields;
  let bytes = fields.bodyEnd - fields.bodyStart;
  if (splice.path !== null && pathStart !== 0) bytes += growth(pathEnd - pathStart, splice.pathTo - splice.pathFrom);
  if (splice.path2 !== null && path2Start !== 0) {
    bytes += growth(path2End - path2Start, splice.path2To - splice.path2From);
  }
  return bytes;
}

/** RequestHeaderProto and request message with one or both paths replaced, up to the end of the last one. */
function spliceBody(
  out: Buffer,
  at: number,
  frame: Buffer,
  start: number,
  fields: CallFields,
  splice: RequestSplice,
  outBlock: Block | null,
  frameBlock: Block | null,
): number {
  const { bodyStart, bodyEnd, pathStart, pathEnd, path2Start, path2End } = fields;
  const first = splice.path !== null && pathStart !== 0;
  const second = splice.path2 !== null && path2Start !== 0;
  const bodyBytes = bodyEnd - bodyStart;

  let next = copyFrame(
    out,
    at,
    frame,
    start + fields.headerEnd,
    start + bodyStart - varint32Size(bodyBytes),
    outBlock,
    frameBlock,
  );
  next = writeVarint32(out, next, changedBodyBytes(fields, splice));
  let from = start + bodyStart;
  // The fields may stand in either order.
  const swapped = second && path2Start < pathStart;
  for (let i = 0; i < 2; i++) {
    if ((i === 0) !== swapped) {
      if (!first) continue;
      next = copyFrame(
        out,
        next,
        frame,
        from,
        start + pathStart - varint32Size(pathEnd - pathStart),
        outBlock,
        frameBlock,
      );
      next = writeVarint32(out, next, splice.pathTo - splice.pathFrom);
      next = copyBytes(out, next, splice.path!, splice.pathFrom, splice.pathTo);
      from = start + pathEnd;
    } else {
      if (!second) continue;
      next = copyFrame(
        out,
        next,
        frame,
        from,
        start + path2Start - varint32Size(path2End - path2Start),
        outBlock,
        frameBlock,
      );
      next = writeVarint32(out, next, splice.path2To - splice.path2From);
      next = copyBytes(out, next, splice.path2!, splice.path2From, splice.path2To);
      from = start + path2End;
    }
  }
  return next;
}

/** By how much a field grows whose value had oldBytes and gets newBytes. */
function growth(oldBytes: number, newBytes: number): number {
  return newBytes - oldBytes + varint32Size(newBytes) - varint32Size(oldBytes);
}

function measureKept(frame: Buffer, start: number, end: number): number {
  let bytes = 0;
  let at = start;
  while (at < end) {
    const next = fieldEnd(frame, at, end);
    if (isKept(frame[at]!)) bytes += next - at;
    at = next;
  }
  return bytes;
}

function copyKept(out: Buffer, at: number, frame: Buffer, start: number, end: number): number {
  let from = start;
  let next = at;
  while (from < end) {
    const to = fieldEnd(frame, from, end);
    if (isKept(frame[from]!)) next = copyBytes(out, next, frame, from, to);
    from = to;
  }
  return next;
}

/** By the first byte of the tag; kept fields have tags of one byte. */
function isKept(tag: number): boolean {
  return tag < 0x80 && ((KEPT_FIELDS >> (tag >> 3)) & 1) !== 0;
}

/** End of the field whose tag is at `at`. The header was scanned: it is well-formed. */
function fieldEnd(frame: Buffer, at: number, end: number): number {
  const tag = readVarint32(frame, at, end);
  const next = skipValue(frame, at + varint32Size(tag), end, tag & 7);
  return next < 0 ? end : next;
}

function varint64Size(high: number, low: number): number {
  if (high === 0) return varint32Size(low);
  const upper = high >>> 0;
  if (upper < 1 << 3) return 5;
  if (upper < 1 << 10) return 6;
  if (upper < 1 << 17) return 7;
  if (upper < 1 << 24) return 8;
  return upper < 2 ** 31 ? 9 : 10;
}
