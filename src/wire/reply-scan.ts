/**
 * Reads the header of a NameNode's reply; the body behind it is not looked at.
 *
 *   reply frame = delimited RpcResponseHeaderProto [· delimited response message, only for SUCCESS]
 *   RpcResponseHeaderProto  1 callId uint32, required · 2 status enum, required · 3 serverIpcVersionNum uint32 · 4 exceptionClassName string
 *                           5 errorMsg string · 6 errorDetail enum · 7 clientId bytes · 8 retryCount sint32 · 9 stateId int64
 *                           10 routerFederatedState bytes
 *
 * The header is rebuilt for the client, never copied, so this reads as a decoder does: the last of a repeated field wins, unknown fields
 * and fields of another wire type are stepped over, numbers may be longer than they need to be.
 */
import { SCAN_BAD, SCAN_OK } from './call-scan.ts';
import { readVarint32, readVarint64, skipValueLoosely, unzigzag32, varint32Size, Wide } from './varint.ts';

/** What `scanReply` found. Offsets are absolute in the buffer, a pair of zeros means absent. Reused. */
export class ReplyScan {
  /** As int32: -1, -33 for replies to no call. */
  callId = 0;
  /** Status of reply-head.ts. */
  status = 0;
  /** ErrorDetail of reply-head.ts, 0 when absent. */
  detail = 0;
  classStart = 0;
  classEnd = 0;
  messageStart = 0;
  messageEnd = 0;
  clientIdStart = 0;
  clientIdEnd = 0;
  hasRetryCount = false;
  /** -1 when absent. */
  retryCount = 0;
  hasStateId = false;
  stateIdHigh = 0;
  stateIdLow = 0;
  federatedStart = 0;
  federatedEnd = 0;
  /** Where the delimited response message starts. */
  headerEnd = 0;
  /** The header is `08 CALLID 10 00 18 09 3a 10 ID 40 RETRYCOUNT` and nothing else, its numbers in their shortest form. */
  usual = false;
}

const REQUIRED_FIELDS = (1 << 1) | (1 << 2);
const LAST_STATUS = 2;
/** Values of RpcErrorCodeProto as bits: 1 to 6 and 10 to 15. */
const KNOWN_DETAILS = 0xfc7e;
const wide = new Wide();

/** Scans the header of the reply frame buffer[start, end): SCAN_OK, or SCAN_BAD for what no decoder could read. */
export function scanReply(buffer: Buffer, start: number, end: number, scan: ReplyScan): number {
  reset(scan);
  let at = readVarint64(buffer, start, end, wide);
  if (at < 0 || wide.low < 0) return SCAN_BAD;
  const limit = at + wide.low;
  if (limit > end) return SCAN_BAD;
  scan.headerEnd = limit;
  if (scanUsualSuccess(buffer, at, limit, scan)) return SCAN_OK;

  let seen = 0;
  while (at < limit) {
    let tag = buffer[at]!;
    if (tag < 0x80) at++;
    else {
      at = readVarint64(buffer, at, limit, wide);
      if (at < 0) return SCAN_BAD;
      tag = wide.low;
    }
    const field = tag >>> 3;
    if (field === 0 || field > 10 || (tag & 7) !== wireTypeOf(field)) {
      at = skipValueLoosely(buffer, at, limit, tag);
      if (at < 0) return SCAN_BAD;
      continue;
    }
    at = readVarint64(buffer, at, limit, wide);
    if (at < 0) return SCAN_BAD;
    const { low } = wide;
    if ((tag & 7) === 2) {
      if (low < 0 || at + low > limit) return SCAN_BAD;
      const valueEnd = at + low;
      if (field === 7) {
        scan.clientIdStart = at;
        scan.clientIdEnd = valueEnd;
      } else if (field === 4) {
        scan.classStart = at;
        scan.classEnd = valueEnd;
      } else if (field === 5) {
        scan.messageStart = at;
        scan.messageEnd = valueEnd;
      } else {
        scan.federatedStart = at;
        scan.federatedEnd = valueEnd;
      }
      at = valueEnd;
      continue;
    }
    switch (field) {
      case 1:
        scan.callId = low;
        break;
      case 2:
        // An enum value that the definition does not know counts as absent, as in a decoder.
        if (low < 0 || low > LAST_STATUS) continue;
        scan.status = low;
        break;
      case 6:
        if (low >= 0 && low < 32 && ((KNOWN_DETAILS >> low) & 1) !== 0) scan.detail = low;
        break;
      case 8:
        scan.hasRetryCount = true;
        scan.retryCount = unzigzag32(low);
        break;
      case 9:
        scan.hasStateId = true;
        scan.stateIdHigh = wide.high;
        scan.stateIdLow = low;
        break;
    }
    seen |= 1 << field;
  }
  return (seen & REQUIRED_FIELDS) === REQUIRED_FIELDS ? SCAN_OK : SCAN_BAD;
}

/**
 * The header of a SUCCESS as NameNodes write it, read without a loop: callId, status 0, version 9, a client id of 16 bytes, retryCount, maybe
 * a state id. False: any other header; what was set is set again by the loop.
 */
function scanUsualSuccess(buffer: Buffer, start: number, limit: number, scan: ReplyScan): boolean {
  if (buffer[start] !== 0x08) return false;
  const callId = readVarint32(buffer, start + 1, limit);
  if (callId < 0) return false;
  let at = start + 1 + varint32Size(callId);
  if (at + 24 > limit || buffer[at] !== 0x10 || buffer[at + 1] !== 0 || buffer[at + 2] !== 0x18 || buffer[at + 3] !== 9)
    return false;
  if (buffer[at + 4] !== 0x3a || buffer[at + 5] !== 16 || buffer[at + 22] !== 0x40) return false;
  const idAt = at + 6;
  const retryCount = readVarint32(buffer, at + 23, limit);
  if (retryCount < 0) return false;
  at += 23 + varint32Size(retryCount);
  scan.usual = at === limit;
  if (at < limit) {
    if (buffer[at] !== 0x48 || readVarint64(buffer, at + 1, limit, wide) !== limit) return false;
    scan.hasStateId = true;
    scan.stateIdHigh = wide.high;
    scan.stateIdLow = wide.low;
  }
  scan.callId = callId | 0;
  scan.clientIdStart = idAt;
  scan.clientIdEnd = idAt + 16;
  scan.hasRetryCount = true;
  scan.retryCount = unzigzag32(retryCount);
  return true;
}

/** Fields 4, 5, 7 and 10 are bytes, the others varints. */
const BYTES_FIELDS = (1 << 4) | (1 << 5) | (1 << 7) | (1 << 10);

function wireTypeOf(field: number): number {
  return ((BYTES_FIELDS >> field) & 1) << 1;
}

function reset(scan: ReplyScan): void {
  scan.callId = 0;
  scan.status = 0;
  scan.detail = 0;
  scan.classStart = 0;
  scan.classEnd = 0;
  scan.messageStart = 0;
  scan.messageEnd = 0;
  scan.clientIdStart = 0;
  scan.clientIdEnd = 0;
  scan.hasRetryCount = false;
  scan.retryCount = -1;
  scan.hasStateId = false;
  scan.stateIdHigh = 0;
  scan.stateIdLow = 0;
  scan.federatedStart = 0;
  scan.federatedEnd = 0;
  scan.headerEnd = 0;
  scan.usual = false;
}
