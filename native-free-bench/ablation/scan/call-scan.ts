/**
 * In place of the tag scan: protobufjs decodes the three messages of a call whole, and the result of the scan is filled from them. Calls in
 * a form that no client is known to send (repeated fields, numbers longer than needed, missing fields), and headers with more than the
 * fields 1 to 5, are then also scanned: their answers are those of the router.
 */

import type protobuf from 'protobufjs';
import { METHODS } from '../../../src/call/methods.ts';
import { CallFlag } from '../../../src/handoff/link.ts';
import {
  type CallScan,
  SCAN_OK,
  scanBody as scanBodyByTags,
  scanHeader as scanHeaderByTags,
  scanRequestHeader as scanRequestHeaderByTags,
} from '../../../src/wire/call-scan.ts';
import { messageType } from '../../../src/wire/messages.ts';
import { readVarint32, varint32Size } from '../../../src/wire/varint.ts';
import { OffsetReader } from '../decode/offset-reader.ts';

export * from '../../../src/wire/call-scan.ts';

interface Header {
  readonly rpcKind: number;
  readonly rpcOp: number;
  readonly callId: number;
  readonly clientId: Uint8Array;
  readonly retryCount: number;
}

interface RequestHeader {
  readonly methodName: string;
  readonly declaringClassProtocolName: string;
  readonly clientProtocolVersion: { readonly low: number; readonly high: number };
}

const HEADER = messageType('hadoop.common.RpcRequestHeaderProto');
const REQUEST_HEADER = messageType('hadoop.common.RequestHeaderProto');
/** Request message of each method, looked up when the method is first called. */
const REQUESTS: (protobuf.Type | undefined)[] = new Array(METHODS.length);
/** Bits of the header fields 1 to 5, and of those that must be there. */
const PLAIN_FIELDS = 0b11_1110;
const REQUIRED_FIELDS = (1 << 3) | (1 << 4);
const REQUEST_HEADER_FIELDS = 0b1110;

const reader = new OffsetReader(Buffer.alloc(0));

export function scanHeader(buffer: Buffer, start: number, end: number, scan: CallScan): number {
  const bytes = readVarint32(buffer, start, end);
  if (bytes < 0) return scanHeaderByTags(buffer, start, end, scan);
  const at = start + varint32Size(bytes);
  const limit = at + bytes;
  const header = limit > end ? null : (decodeOrNull(HEADER, buffer, at, limit) as Header | null);
  if (
    header === null ||
    reader.unusual ||
    (reader.seen & ~PLAIN_FIELDS) !== 0 ||
    (reader.seen & REQUIRED_FIELDS) !== REQUIRED_FIELDS
  ) {
    return scanHeaderByTags(buffer, start, end, scan);
  }
  scan.rpcKind = Object.hasOwn(header, 'rpcKind') ? header.rpcKind : -1;
  scan.rpcOp = Object.hasOwn(header, 'rpcOp') ? header.rpcOp : -1;
  scan.callId = header.callId;
  scan.retryCount = header.retryCount;
  scan.flags = CallFlag.APPENDABLE;
  scan.headerStart = at - start;
  scan.headerEnd = limit - start;
  scan.statelessEnd = limit - start;
  scan.clientIdStart = (reader.starts[4] as number) - start;
  scan.clientIdEnd = scan.clientIdStart + header.clientId.length;
  scan.contextStart = 0;
  scan.contextEnd = 0;
  scan.federatedStart = 0;
  scan.federatedEnd = 0;
  scan.hasStateId = false;
  scan.requestStart = 0;
  scan.frameEnd = end - start;
  scan.bodyStart = 0;
  scan.bodyEnd = 0;
  scan.pathStart = 0;
  scan.pathEnd = 0;
  scan.path2Start = 0;
  scan.path2End = 0;
  scan.why = 0;
  return SCAN_OK;
}

export function scanRequestHeader(buffer: Buffer, start: number, end: number, scan: CallScan): number {
  const from = start + scan.headerEnd;
  const bytes = readVarint32(buffer, from, end);
  if (bytes < 0) return scanRequestHeaderByTags(buffer, start, end, scan);
  const at = from + varint32Size(bytes);
  const limit = at + bytes;
  const header = limit > end ? null : (decodeOrNull(REQUEST_HEADER, buffer, at, limit) as RequestHeader | null);
  if (header === null || reader.unusual || reader.seen !== REQUEST_HEADER_FIELDS) {
    return scanRequestHeaderByTags(buffer, start, end, scan);
  }
  const { low, high } = header.clientProtocolVersion;
  scan.methodStart = (reader.starts[1] as number) - start;
  scan.methodEnd = (reader.ends[1] as number) - start;
  scan.protocolStart = (reader.starts[2] as number) - start;
  scan.protocolEnd = (reader.ends[2] as number) - start;
  scan.clientProtocolVersion = (high >>> 0) * 0x1_0000_0000 + (low >>> 0);
  scan.requestStart = limit - start;
  return SCAN_OK;
}

export function scanBody(buffer: Buffer, start: number, scan: CallScan, pathField: number, path2Field: number): number {
  const end = start + scan.frameEnd;
  const from = start + scan.requestStart;
  const bytes = readVarint32(buffer, from, end);
  if (bytes < 0) return scanBodyByTags(buffer, start, scan, pathField, path2Field);
  const at = from + varint32Size(bytes);
  const limit = at + bytes;
  const request = limit > end ? null : decodeOrNull(requestOf(scan.method), buffer, at, limit);
  if (request === null || reader.unusual) return scanBodyByTags(buffer, start, scan, pathField, path2Field);
  scan.bodyStart = at - start;
  scan.bodyEnd = limit - start;
  const hasPath = pathField > 0 && (reader.seen & (1 << pathField)) !== 0;
  const hasPath2 = path2Field > 0 && (reader.seen & (1 << path2Field)) !== 0;
  scan.pathStart = hasPath ? (reader.starts[pathField] as number) - start : 0;
  scan.pathEnd = hasPath ? (reader.ends[pathField] as number) - start : 0;
  scan.path2Start = hasPath2 ? (reader.starts[path2Field] as number) - start : 0;
  scan.path2End = hasPath2 ? (reader.ends[path2Field] as number) - start : 0;
  return SCAN_OK;
}

function requestOf(method: number): protobuf.Type {
  let type = REQUESTS[method];
  if (type === undefined) {
    type = messageType((METHODS[method] as (typeof METHODS)[number]).request);
    REQUESTS[method] = type;
  }
  return type;
}

/** Null: no decoder can read it. The fields of `reader` describe the message. */
function decodeOrNull(type: protobuf.Type, buffer: Buffer, start: number, end: number): unknown {
  try {
    return reader.decodeMessage(type, buffer, start, end);
  } catch {
    return null;
  }
}
