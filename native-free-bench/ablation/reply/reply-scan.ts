/** In place of the scan of reply headers: protobufjs decodes the whole header, and the result of the scan is filled from it. */

import { SCAN_OK } from '../../../src/wire/call-scan.ts';
import { messageType } from '../../../src/wire/messages.ts';
import { type ReplyScan, scanReply as scanReplyByTags } from '../../../src/wire/reply-scan.ts';
import { readVarint32, varint32Size } from '../../../src/wire/varint.ts';
import { OffsetReader } from '../decode/offset-reader.ts';

export * from '../../../src/wire/reply-scan.ts';

interface Header {
  readonly callId: number;
  readonly status: number;
  readonly errorDetail: number;
  readonly retryCount: number;
  readonly stateId: { readonly low: number; readonly high: number };
}

const HEADER = messageType('hadoop.common.RpcResponseHeaderProto');
const CLASS = 4;
const MESSAGE = 5;
const CLIENT_ID = 7;
const FEDERATED_STATE = 10;

const reader = new OffsetReader(Buffer.alloc(0));

/** What protobufjs cannot read is left to the router's own scan, which reads as a Java client does. */
export function scanReply(buffer: Buffer, start: number, end: number, scan: ReplyScan): number {
  const bytes = readVarint32(buffer, start, end);
  if (bytes < 0) return scanReplyByTags(buffer, start, end, scan);
  const at = start + varint32Size(bytes);
  const limit = at + bytes;
  if (limit > end) return scanReplyByTags(buffer, start, end, scan);
  let header: Header;
  try {
    header = reader.decodeMessage(HEADER, buffer, at, limit) as unknown as Header;
  } catch {
    return scanReplyByTags(buffer, start, end, scan);
  }
  if (!Object.hasOwn(header, 'callId') || !Object.hasOwn(header, 'status')) {
    return scanReplyByTags(buffer, start, end, scan);
  }
  scan.callId = header.callId | 0;
  scan.status = header.status;
  scan.detail = Object.hasOwn(header, 'errorDetail') ? header.errorDetail : 0;
  scan.classStart = startOf(CLASS);
  scan.classEnd = endOf(CLASS);
  scan.messageStart = startOf(MESSAGE);
  scan.messageEnd = endOf(MESSAGE);
  scan.clientIdStart = startOf(CLIENT_ID);
  scan.clientIdEnd = endOf(CLIENT_ID);
  scan.federatedStart = startOf(FEDERATED_STATE);
  scan.federatedEnd = endOf(FEDERATED_STATE);
  scan.hasRetryCount = Object.hasOwn(header, 'retryCount');
  scan.retryCount = header.retryCount;
  scan.hasStateId = Object.hasOwn(header, 'stateId');
  scan.stateIdHigh = scan.hasStateId ? header.stateId.high | 0 : 0;
  scan.stateIdLow = scan.hasStateId ? header.stateId.low | 0 : 0;
  scan.headerEnd = limit;
  // A decoder does not tell in which form the header came; its answer writes a head of its own anyhow.
  scan.usual = false;
  return SCAN_OK;
}

function startOf(field: number): number {
  return (reader.seen & (1 << field)) === 0 ? 0 : (reader.starts[field] as number);
}

function endOf(field: number): number {
  return (reader.seen & (1 << field)) === 0 ? 0 : (reader.ends[field] as number);
}
