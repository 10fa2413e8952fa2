/**
 * Reads what the loader needs of a reply: call id, status, where the body starts; class and message of errors; the federated state when it is
 * wanted. Results are fields of one reused object.
 *
 *   reply = headerBytes:varint { 08 callId · 10 status · 18 version · … · 3a clientId · … } [bodyBytes:varint body]
 */
import { SCAN_OK } from '../../wire/call-scan.ts';
import { Status } from '../../wire/reply-head.ts';
import { ReplyScan, scanReply } from '../../wire/reply-scan.ts';
import { CLIENT_ID_BYTES } from './call-frames.ts';

/** What `readReply` makes of a reply. */
export const ReplyKind = {
  SUCCESS: 0,
  /** ERROR or FATAL: class and message are in `scan`. */
  FAILURE: 1,
  UNREADABLE: 2,
  /** It carries the id of another client. */
  FOREIGN: 3,
} as const;

export class Reply {
  callId = 0;
  /** First byte after the header: the length of the response message. */
  bodyStart = 0;
  /** Filled for FAILURE, and for all replies with `wantsState`. */
  readonly scan: ReplyScan = new ReplyScan();
}

/** Reads the reply buffer[start, end). `wantsState`: also the federated state, into `reply.scan`. */
export function readReply(
  buffer: Buffer,
  start: number,
  end: number,
  clientId: Buffer,
  wantsState: boolean,
  reply: Reply,
): number {
  if (!wantsState && readUsualSuccess(buffer, start, end, clientId, reply)) return ReplyKind.SUCCESS;
  const { scan } = reply;
  reply.callId = -1;
  if (scanReply(buffer, start, end, scan) !== SCAN_OK) return ReplyKind.UNREADABLE;
  reply.callId = scan.callId;
  reply.bodyStart = scan.headerEnd;
  const idBytes = scan.clientIdEnd - scan.clientIdStart;
  if (idBytes !== 0 && (idBytes !== CLIENT_ID_BYTES || !isSame(buffer, scan.clientIdStart, clientId))) {
    return ReplyKind.FOREIGN;
  }
  if (scan.status !== Status.SUCCESS) return ReplyKind.FAILURE;
  return scan.headerEnd < end ? ReplyKind.SUCCESS : ReplyKind.UNREADABLE;
}

/** A SUCCESS as Java servers and routers write it, with a body; false: anything else. */
function readUsualSuccess(buffer: Buffer, start: number, end: number, clientId: Buffer, reply: Reply): boolean {
  const headerBytes = buffer[start]!;
  const bodyStart = start + 1 + headerBytes;
  if (headerBytes >= 0x80 || headerBytes < 27 || bodyStart >= end || buffer[start + 1] !== 0x08) return false;
  // Our own ids take four bytes.
  const at = start + 2;
  const low = buffer[at]!;
  const second = buffer[at + 1]!;
  const third = buffer[at + 2]!;
  const high = buffer[at + 3]!;
  if ((low & second & third & 0x80) === 0 || high >= 0x80) return false;
  if (buffer[at + 4] !== 0x10 || buffer[at + 5] !== Status.SUCCESS || buffer[at + 6] !== 0x18 || buffer[at + 7] !== 9) {
    return false;
  }
  if (buffer[at + 8] !== 0x3a || buffer[at + 9] !== CLIENT_ID_BYTES || !isSame(buffer, at + 10, clientId)) return false;
  reply.callId = (low & 127) | ((second & 127) << 7) | ((third & 127) << 14) | (high << 21);
  reply.bodyStart = bodyStart;
  return true;
}

/** The response message at `bodyStart` is one bool that is true. */
export function isTrueResult(buffer: Buffer, bodyStart: number, end: number): boolean {
  return (
    end - bodyStart >= 3 && buffer[bodyStart] === 2 && buffer[bodyStart + 1] === 0x08 && buffer[bodyStart + 2] === 1
  );
}

/** The response message at `bodyStart` is empty: of a read that found nothing at its path. */
export function isEmptyResult(buffer: Buffer, bodyStart: number): boolean {
  return buffer[bodyStart] === 0;
}

function isSame(buffer: Buffer, at: number, clientId: Buffer): boolean {
  for (let i = 0; i < CLIENT_ID_BYTES; i++) if (buffer[at + i] !== clientId[i]) return false;
  return true;
}
