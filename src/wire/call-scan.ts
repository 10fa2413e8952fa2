/**
 * Reads a call without decoding it.
 *
 *   call frame = delimited RpcRequestHeaderProto · delimited RequestHeaderProto · delimited request message
 *   delimited  = varint length · bytes
 *
 *   RpcRequestHeaderProto  1 rpcKind enum · 2 rpcOp enum · 3 callId sint32, required · 4 clientId bytes, required · 5 retryCount sint32
 *                          6 traceInfo {1 traceId int64 · 2 parentId int64 · 3 spanContext bytes}
 *                          7 callerContext {1 context string, required · 2 signature bytes} · 8 stateId int64 · 9 routerFederatedState bytes
 *   RequestHeaderProto     1 methodName string · 2 declaringClassProtocolName string · 3 clientProtocolVersion uint64, all required
 *
 * The scan must never disagree with a decoder. So it takes only what has one reading: each field once, of the right wire type, with
 * numbers in their shortest form, no groups. Everything else that some decoder may accept is SCAN_UNSURE (recode.ts decodes it whole),
 * what none can read is SCAN_BAD.
 */
import { CallFields, CallFlag } from '../handoff/link.ts';
import {
  readVarint32,
  readVarint64,
  skipValue,
  skipVarint,
  unzigzag32,
  VALUE_IS_GROUP,
  VARINT_MALFORMED,
  VARINT_TRUNCATED,
  varint32Size,
  Wide,
} from './varint.ts';

export const SCAN_OK = 0;
/** Must be decoded whole; `why` says for what. */
export const SCAN_UNSURE = 1;
/** Truncated or garbage; `why` says which. */
export const SCAN_BAD = -1;

/** Reasons of SCAN_UNSURE and SCAN_BAD. */
export const ScanWhy = {
  NONE: 0,
  TRUNCATED: 1,
  MALFORMED: 2,
  NOT_SHORTEST: 3,
  REPEATED: 4,
  WIRE_TYPE: 5,
  GROUP: 6,
  MISSING: 7,
  /** An embedded message of the header holds something else than its known fields, each once. */
  EMBEDDED: 8,
} as const;

const WHY_TEXTS = [
  'nothing is wrong',
  'the message ends inside a field',
  'a tag or a number is not valid',
  'a number is longer than it needs to be',
  'a field that can stand once stands twice',
  'a field has another wire type than its definition says',
  'the message holds a group',
  'a required field is missing',
  'an embedded message is not understood',
];

/** A ScanWhy in words, for error messages. */
export function describeWhy(why: number): string {
  return WHY_TEXTS[why] ?? WHY_TEXTS[ScanWhy.MALFORMED]!;
}

/** What the three scans found. Offsets count from the first byte of the frame, as in CallFields; reused from call to call. */
export class CallScan extends CallFields {
  /** Values of the enums; -1 when absent or unknown to us (a decoder treats both alike). */
  rpcKind = -1;
  rpcOp = -1;
  hasStateId = false;
  stateIdHigh = 0;
  stateIdLow = 0;
  methodStart = 0;
  methodEnd = 0;
  protocolStart = 0;
  protocolEnd = 0;
  /** uint64 as a number; exact up to 2^53. */
  clientProtocolVersion = 0;
  /** Where the delimited request message begins (its length prefix). */
  requestStart = 0;
  frameEnd = 0;
  /** ScanWhy of the last scan that was not SCAN_OK. */
  why = 0;
}

const KNOWN_RPC_KINDS = 3;
const KNOWN_RPC_OPS = 3;
const LAST_HEADER_FIELD = 9;
/** Fields 8 and 9. */
const STATE_ID_TAG = 0x40;
const FEDERATED_TAG = 0x4a;
/** Bits of the fields that a header must have: 3 callId, 4 clientId. */
const REQUIRED_HEADER_FIELDS = (1 << 3) | (1 << 4);
const REQUIRED_REQUEST_HEADER_FIELDS = (1 << 1) | (1 << 2) | (1 << 3);

const wide = new Wide();

/**
 * Scans the RpcRequestHeaderProto at the start of the frame buffer[start, end). Sets callId, retryCount (-1 when absent), clientId,
 * context, federated state, state id, rpcKind, rpcOp, headerStart, headerEnd and statelessEnd, and the flag APPENDABLE.
 */
export function scanHeader(buffer: Buffer, start: number, end: number, scan: CallScan): number {
  resetHeader(scan, end - start);
  const headerBytes = readVarint32(buffer, start, end);
  if (headerBytes < 0) return failNumber(scan, headerBytes);
  let at = start + varint32Size(headerBytes);
  const limit = at + headerBytes;
  if (limit > end) return fail(scan, ScanWhy.TRUNCATED);
  scan.headerStart = at - start;
  scan.headerEnd = limit - start;
  scan.statelessEnd = limit - start;
  if (scanUsualHeader(buffer, start, at, limit, scan)) return SCAN_OK;

  let seen = 0;
  let appendable: number = CallFlag.APPENDABLE;
  let statesAt = limit;
  while (at < limit) {
    const tag = buffer[at++]!;
    if (tag < 0x80) {
      const bit = 1 << (tag >> 3);
      if ((seen & bit) !== 0 && tag >> 3 <= LAST_HEADER_FIELD) return fail(scan, ScanWhy.REPEATED);
      seen |= bit;
    }
    switch (tag) {
      case 0x08:
      case 0x10: {
        const value = readVarint32(buffer, at, limit);
        if (value < 0) return failNumber(scan, value);
        at += varint32Size(value);
        if (tag === 0x08) scan.rpcKind = value < KNOWN_RPC_KINDS ? value : -1;
        else scan.rpcOp = value < KNOWN_RPC_OPS ? value : -1;
        break;
      }
      case 0x18:
      case 0x28: {
        const value = readVarint32(buffer, at, limit);
        if (value < 0) return failNumber(scan, value);
        at += varint32Size(value);
        if (tag === 0x18) scan.callId = unzigzag32(value);
        else scan.retryCount = unzigzag32(value);
        break;
      }
      case 0x22: {
        const bytes = readVarint32(buffer, at, limit);
        if (bytes < 0) return failNumber(scan, bytes);
        at += varint32Size(bytes);
        if (at + bytes > limit) return fail(scan, ScanWhy.TRUNCATED);
        scan.clientIdStart = at - start;
        at += bytes;
        scan.clientIdEnd = at - start;
        break;
      }
      case 0x3a: {
        const bytes = readVarint32(buffer, at, limit);
        if (bytes < 0) return failNumber(scan, bytes);
        at += varint32Size(bytes);
        if (at + bytes > limit) return fail(scan, ScanWhy.TRUNCATED);
        scan.contextStart = at - start;
        if (!isPlainContext(buffer, at, at + bytes)) return fail(scan, ScanWhy.EMBEDDED);
        at += bytes;
        scan.contextEnd = at - start;
        break;
      }
      default: {
        if (tag !== STATE_ID_TAG && tag !== FEDERATED_TAG) appendable = 0;
        else if (statesAt === limit) statesAt = at - 1;
        at = scanRareField(buffer, start, at - 1, limit, scan);
        if (at < 0) return fail(scan, scan.why);
        continue;
      }
    }
    // A field behind the state ids: they cannot be left out by leaving out the end.
    if (statesAt !== limit) appendable = 0;
  }
  if (appendable !== 0) scan.statelessEnd = statesAt - start;
  if ((seen & REQUIRED_HEADER_FIELDS) !== REQUIRED_HEADER_FIELDS) return fail(scan, ScanWhy.MISSING);
  scan.flags = appendable;
  return SCAN_OK;
}

/**
 * The header as nearly every call has it, read without a loop: rpcKind 2, rpcOp 0, callId, a client id of 16 bytes, a retryCount of one
 * byte, then maybe a state id and a federated state, in this order and nothing else. False: any other header; what was set is set again.
 */
function scanUsualHeader(buffer: Buffer, start: number, at: number, limit: number, scan: CallScan): boolean {
  if (buffer[at] !== 0x08 || buffer[at + 1] !== 2 || buffer[at + 2] !== 0x10) return false;
  if (buffer[at + 3] !== 0 || buffer[at + 4] !== 0x18) return false;
  const callId = readVarint32(buffer, at + 5, limit);
  if (callId < 0) return false;
  const idAt = at + 5 + varint32Size(callId);
  const statesAt = idAt + 20;
  if (statesAt > limit || buffer[idAt] !== 0x22 || buffer[idAt + 1] !== 16 || buffer[idAt + 18] !== 0x28) return false;
  const retryCount = buffer[idAt + 19]!;
  if (retryCount >= 0x80) return false;
  if (statesAt < limit && !scanStates(buffer, start, statesAt, limit, scan)) return false;
  scan.rpcKind = 2;
  scan.rpcOp = 0;
  scan.callId = unzigzag32(callId);
  scan.clientIdStart = idAt + 2 - start;
  scan.clientIdEnd = idAt + 18 - start;
  scan.retryCount = unzigzag32(retryCount);
  scan.flags = CallFlag.APPENDABLE;
  return true;
}

/** What nothing but observer reads brings, up to the end of the header: `40 STATEID` and `4a LENGTH STATE`, one of them or both. */
function scanStates(buffer: Buffer, start: number, statesAt: number, limit: number, scan: CallScan): boolean {
  let at = statesAt;
  if (buffer[at] === STATE_ID_TAG) {
    at = readVarint64(buffer, at + 1, limit, wide);
    if (at < 0) return false;
    scan.stateIdHigh = wide.high;
    scan.stateIdLow = wide.low;
  }
  if (at < limit) {
    if (buffer[at] !== FEDERATED_TAG) return false;
    const bytes = readVarint32(buffer, at + 1, limit);
    if (bytes < 0) return false;
    at += 1 + varint32Size(bytes);
    if (at + bytes !== limit) return false;
    scan.federatedStart = at - start;
    scan.federatedEnd = limit - start;
  }
  scan.hasStateId = buffer[statesAt] === STATE_ID_TAG;
  scan.statelessEnd = statesAt - start;
  return true;
}

function resetHeader(scan: CallScan, frameBytes: number): void {
  scan.flags = 0;
  scan.callId = -1;
  scan.retryCount = -1;
  scan.headerStart = 0;
  scan.headerEnd = 0;
  scan.statelessEnd = 0;
  scan.clientIdStart = 0;
  scan.clientIdEnd = 0;
  scan.contextStart = 0;
  scan.contextEnd = 0;
  scan.federatedStart = 0;
  scan.federatedEnd = 0;
  scan.rpcKind = -1;
  scan.rpcOp = -1;
  scan.hasStateId = false;
  scan.requestStart = 0;
  scan.frameEnd = frameBytes;
  scan.bodyStart = 0;
  scan.bodyEnd = 0;
  scan.pathStart = 0;
  scan.pathEnd = 0;
  scan.path2Start = 0;
  scan.path2End = 0;
  scan.why = 0;
}

/** Header fields that clients seldom send, with the tag at `at`. Returns the position after the field, or -1 with `why` set. */
function scanRareField(buffer: Buffer, start: number, at: number, limit: number, scan: CallScan): number {
  const tag = readVarint32(buffer, at, limit);
  if (tag < 0) {
    failNumber(scan, tag);
    return -1;
  }
  const value = at + varint32Size(tag);
  const field = tag >>> 3;
  if (field === 0) {
    fail(scan, ScanWhy.MALFORMED);
    return -1;
  }
  if (tag === STATE_ID_TAG) {
    const after = readVarint64(buffer, value, limit, wide);
    if (after < 0) {
      failNumber(scan, after);
      return -1;
    }
    scan.hasStateId = true;
    scan.stateIdHigh = wide.high;
    scan.stateIdLow = wide.low;
    return after;
  }
  if (field <= LAST_HEADER_FIELD && tag !== 0x32 && tag !== FEDERATED_TAG) {
    fail(scan, (tag & 7) >= 6 ? ScanWhy.MALFORMED : ScanWhy.WIRE_TYPE);
    return -1;
  }
  const after = skipValue(buffer, value, limit, tag & 7);
  if (after < 0) {
    failNumber(scan, after);
    return -1;
  }
  if (tag === FEDERATED_TAG) {
    scan.federatedStart = value + varint32Size(readVarint32(buffer, value, limit)) - start;
    scan.federatedEnd = after - start;
  } else if (tag === 0x32) {
    const from = value + varint32Size(readVarint32(buffer, value, limit));
    if (!isPlainTrace(buffer, from, after)) {
      fail(scan, ScanWhy.EMBEDDED);
      return -1;
    }
  }
  return after;
}

/** RPCCallerContextProto that holds its context once, its signature at most once, nothing else. */
function isPlainContext(buffer: Buffer, start: number, end: number): boolean {
  let at = start;
  let seen = 0;
  while (at < end) {
    const tag = buffer[at++]!;
    if (tag !== 0x0a && tag !== 0x12) return false;
    const bit = tag === 0x0a ? 1 : 2;
    if ((seen & bit) !== 0) return false;
    seen |= bit;
    const bytes = readVarint32(buffer, at, end);
    if (bytes < 0) return false;
    at += varint32Size(bytes) + bytes;
  }
  return at === end && (seen & 1) !== 0;
}

/** RPCTraceInfoProto of known fields, each at most once. */
function isPlainTrace(buffer: Buffer, start: number, end: number): boolean {
  let at = start;
  let seen = 0;
  while (at < end) {
    const tag = buffer[at++]!;
    const bit = 1 << (tag >> 3);
    if ((seen & bit) !== 0) return false;
    seen |= bit;
    if (tag === 0x08 || tag === 0x10) at = skipVarint(buffer, at, end);
    else if (tag === 0x1a) at = skipValue(buffer, at, end, 2);
    else return false;
    if (at < 0) return false;
  }
  return true;
}

/** Scans the RequestHeaderProto behind the header: sets method, protocol (both as bytes) and clientProtocolVersion. */
export function scanRequestHeader(buffer: Buffer, start: number, end: number, scan: CallScan): number {
  scan.methodStart = 0;
  scan.methodEnd = 0;
  scan.protocolStart = 0;
  scan.protocolEnd = 0;
  scan.clientProtocolVersion = 0;
  let at = start + scan.headerEnd;
  const headerBytes = readVarint32(buffer, at, end);
  if (headerBytes < 0) return failNumber(scan, headerBytes);
  at += varint32Size(headerBytes);
  const limit = at + headerBytes;
  if (limit > end) return fail(scan, ScanWhy.TRUNCATED);

  let seen = 0;
  while (at < limit) {
    const tag = readVarint32(buffer, at, limit);
    if (tag < 0) return failNumber(scan, tag);
    at += varint32Size(tag);
    const field = tag >>> 3;
    if (field <= 3) {
      if (field === 0 || (tag & 7) >= 6) return fail(scan, ScanWhy.MALFORMED);
      if ((seen & (1 << field)) !== 0) return fail(scan, ScanWhy.REPEATED);
      seen |= 1 << field;
      if (tag === 0x18) {
        at = readVarint64(buffer, at, limit, wide);
        if (at < 0) return failNumber(scan, at);
        scan.clientProtocolVersion = (wide.high >>> 0) * 0x1_0000_0000 + (wide.low >>> 0);
        continue;
      }
      if ((tag & 7) !== 2 || field === 3) return fail(scan, ScanWhy.WIRE_TYPE);
      const bytes = readVarint32(buffer, at, limit);
      if (bytes < 0) return failNumber(scan, bytes);
      at += varint32Size(bytes);
      if (at + bytes > limit) return fail(scan, ScanWhy.TRUNCATED);
      if (field === 1) {
        scan.methodStart = at - start;
        scan.methodEnd = at + bytes - start;
      } else {
        scan.protocolStart = at - start;
        scan.protocolEnd = at + bytes - start;
      }
      at += bytes;
    } else {
      at = skipValue(buffer, at, limit, tag & 7);
      if (at < 0) return failNumber(scan, at);
    }
  }
  if (seen !== REQUIRED_REQUEST_HEADER_FIELDS) return fail(scan, ScanWhy.MISSING);
  scan.requestStart = limit - start;
  return SCAN_OK;
}

/**
 * Scans the request message behind the RequestHeaderProto for its path fields (top-level field numbers, 0 for none): sets bodyStart,
 * bodyEnd, pathStart… A field that is not there leaves its pair at zero. Other fields are stepped over, not checked.
 */
export function scanBody(buffer: Buffer, start: number, scan: CallScan, pathField: number, path2Field: number): number {
  const end = start + scan.frameEnd;
  let at = start + scan.requestStart;
  scan.pathStart = 0;
  scan.pathEnd = 0;
  scan.path2Start = 0;
  scan.path2End = 0;
  const bodyBytes = readVarint32(buffer, at, end);
  if (bodyBytes < 0) return failNumber(scan, bodyBytes);
  at += varint32Size(bodyBytes);
  const limit = at + bodyBytes;
  if (limit > end) return fail(scan, ScanWhy.TRUNCATED);
  scan.bodyStart = at - start;
  scan.bodyEnd = limit - start;
  if (pathField === 0 && path2Field === 0) return SCAN_OK;

  while (at < limit) {
    let tag = buffer[at]!;
    if (tag < 0x80) at++;
    else {
      tag = readVarint32(buffer, at, limit);
      if (tag < 0) return failNumber(scan, tag);
      at += varint32Size(tag);
    }
    const field = tag >>> 3;
    if (field === 0) return fail(scan, ScanWhy.MALFORMED);
    if (field !== pathField && field !== path2Field) {
      at = skipValue(buffer, at, limit, tag & 7);
      if (at < 0) return failNumber(scan, at);
      continue;
    }
    if ((tag & 7) !== 2) return fail(scan, (tag & 7) >= 6 ? ScanWhy.MALFORMED : ScanWhy.WIRE_TYPE);
    const bytes = readVarint32(buffer, at, limit);
    if (bytes < 0) return failNumber(scan, bytes);
    at += varint32Size(bytes);
    if (at + bytes > limit) return fail(scan, ScanWhy.TRUNCATED);
    if (field === pathField) {
      if (scan.pathStart !== 0) return fail(scan, ScanWhy.REPEATED);
      scan.pathStart = at - start;
      scan.pathEnd = at + bytes - start;
    } else {
      if (scan.path2Start !== 0) return fail(scan, ScanWhy.REPEATED);
      scan.path2Start = at - start;
      scan.path2End = at + bytes - start;
    }
    at += bytes;
  }
  return SCAN_OK;
}

function failNumber(scan: CallScan, code: number): number {
  if (code === VARINT_TRUNCATED) return fail(scan, ScanWhy.TRUNCATED);
  if (code === VARINT_MALFORMED) return fail(scan, ScanWhy.MALFORMED);
  return fail(scan, code === VALUE_IS_GROUP ? ScanWhy.GROUP : ScanWhy.NOT_SHORTEST);
}

/** What is UNSURE keeps no offsets of paths, so that nobody uses half a scan. */
function fail(scan: CallScan, why: number): number {
  scan.why = why;
  scan.pathStart = 0;
  scan.pathEnd = 0;
  scan.path2Start = 0;
  scan.path2End = 0;
  if (why === ScanWhy.TRUNCATED || why === ScanWhy.MALFORMED) return SCAN_BAD;
  scan.flags |= CallFlag.UNSURE;
  return SCAN_UNSURE;
}
