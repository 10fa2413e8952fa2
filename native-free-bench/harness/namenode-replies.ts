/**
 * What the stub NameNode answers. The reply to getFileInfo is 210 bytes long when the call id takes 4 bytes and the retry count one: the
 * status of a file in an encryption zone.
 *
 *   reply head = length:u32be headerBytes:u8 { 08 callId · 10 00 SUCCESS · 18 09 · 3a clientId · 40 retryCount }
 */

import { bytesField, delimited, framed, numberField, readVarint, varintEnd } from './frames.ts';

const FILE = 2;
/** In HAServiceStateProto. */
const ACTIVE = 1;
const BLOCK_BYTES = 134217728;

/** HdfsFileStatusProto in GetFileInfoResponseProto, delimited. */
const FILE_INFO_BODY: Buffer = delimited(
  bytesField(
    1,
    Buffer.concat([
      numberField(1, FILE),
      bytesField(2, ''),
      numberField(3, 73400320),
      bytesField(4, numberField(1, 0o640)),
      bytesField(5, 'warehouse-loader'),
      bytesField(6, 'analysts-finance'),
      numberField(7, 1764500000000),
      numberField(8, 1764500000000),
      numberField(10, 3),
      numberField(11, BLOCK_BYTES),
      numberField(13, 1073758209),
      numberField(14, 0),
      bytesField(
        15,
        Buffer.concat([
          numberField(1, 2),
          numberField(2, 2),
          bytesField(3, Buffer.alloc(16, 0x5a)),
          bytesField(4, Buffer.alloc(16, 0xa5)),
          bytesField(5, 'warehouse-zones-key'),
          bytesField(6, 'warehouse-zones-key@0'),
        ]),
      ),
      numberField(16, 0),
      numberField(18, 0),
    ]),
  ),
);

/** GetServiceStatusResponseProto {state ACTIVE, readyToBecomeActive}. */
const SERVICE_STATUS_BODY = delimited(Buffer.concat([numberField(1, ACTIVE), numberField(2, 1)]));
/** HAServiceStateResponseProto {state ACTIVE}. */
const HA_STATE_BODY = delimited(numberField(1, ACTIVE));
/** VersionResponseProto {NamespaceInfoProto}. */
const VERSION_BODY = delimited(
  bytesField(
    1,
    Buffer.concat([
      bytesField(1, 'stub'),
      numberField(2, 0),
      bytesField(3, 'BP-1-127.0.0.1-1'),
      bytesField(
        4,
        Buffer.concat([
          numberField(1, 0xffffffff - 65),
          numberField(2, 1),
          bytesField(3, 'CID-stub'),
          numberField(4, 1),
        ]),
      ),
      bytesField(5, '3.4.1'),
      numberField(7, 0),
    ]),
  ),
);

const BODY_OF_METHOD = new Map<string, Buffer>([
  ['getServiceStatus', SERVICE_STATUS_BODY],
  ['getHAServiceState', HA_STATE_BODY],
  ['versionRequest', VERSION_BODY],
]);

/** Answer to a SASL NEGOTIATE of a server without security: "go on with SIMPLE". */
export const SASL_SIMPLE: Buffer = framed(
  delimited(
    Buffer.concat([
      numberField(1, 0xffffffff - 32),
      numberField(2, 0),
      numberField(3, 9),
      bytesField(7, ''),
      numberField(8, 1),
    ]),
  ),
  delimited(numberField(2, 0)),
);

/** Most bytes that one reply takes: the longest head (two 5-byte varints, client id up to 64 bytes) and the longest body. */
export const REPLY_BOUND_BYTES: number =
  4 + 1 + 6 + 2 + 2 + 2 + 64 + 6 + Math.max(FILE_INFO_BODY.length, VERSION_BODY.length);
const MAX_CLIENT_ID_BYTES = 64;

/** What one request frame says. Offsets are absolute in the buffer that was scanned. */
export class RequestFields {
  callId = 0;
  retryCount = -1;
  clientIdStart = 0;
  clientIdEnd = 0;
  methodStart = 0;
  methodEnd = 0;
}

/**
 * Reads a whole frame buffer[start, end). Where a field stands twice the last one counts, as in every protobuf decoder: a proxy may have
 * appended its own. False: the frame is no request.
 */
export function readRequest(buffer: Buffer, start: number, end: number, fields: RequestFields): boolean {
  fields.callId = 0;
  fields.retryCount = -1;
  fields.clientIdStart = fields.clientIdEnd = fields.methodStart = fields.methodEnd = start;
  const headerBytes = readVarint(buffer, start);
  const headerEnd = varintEnd + headerBytes;
  if (headerBytes < 0 || headerEnd > end) return false;
  let at = varintEnd;
  while (at < headerEnd) {
    const tag = buffer[at] as number;
    if ((tag & 7) === 0) {
      const value = readVarint(buffer, at + 1);
      if (tag === 0x18) fields.callId = (value >>> 1) ^ -(value & 1);
      else if (tag === 0x28) fields.retryCount = (value >>> 1) ^ -(value & 1);
      at = varintEnd;
    } else if ((tag & 7) === 2) {
      const length = readVarint(buffer, at + 1);
      if (length < 0 || length > headerEnd - varintEnd) return false;
      if (tag === 0x22) {
        fields.clientIdStart = varintEnd;
        fields.clientIdEnd = varintEnd + length;
      }
      at = varintEnd + length;
    } else {
      return false;
    }
  }
  if (at !== headerEnd || fields.clientIdEnd - fields.clientIdStart > MAX_CLIENT_ID_BYTES) return false;
  if (at < end) {
    // RequestHeaderProto: its first field is the method's name in every encoder that exists.
    readVarint(buffer, at);
    if (buffer[varintEnd] === 0x0a) {
      const length = readVarint(buffer, varintEnd + 1);
      if (length < 0 || length > end - varintEnd) return false;
      fields.methodStart = varintEnd;
      fields.methodEnd = varintEnd + length;
    }
  }
  return true;
}

/** Told by the length of the name and its 'F', without making a string: no other method is like it. */
export function isFileInfo(buffer: Buffer, fields: RequestFields): boolean {
  return fields.methodEnd - fields.methodStart === 11 && buffer[fields.methodStart + 3] === 0x46;
}

/** Body for the method that `fields` names; every method without one of its own gets a file's status. */
function bodyFor(buffer: Buffer, fields: RequestFields): Buffer {
  if (isFileInfo(buffer, fields)) return FILE_INFO_BODY;
  return BODY_OF_METHOD.get(buffer.toString('latin1', fields.methodStart, fields.methodEnd)) ?? FILE_INFO_BODY;
}

/** Writes the reply to the request in `frame` that `fields` describes; returns its end. `out` has REPLY_BOUND_BYTES at `at`. */
export function writeReply(out: Buffer, at: number, frame: Buffer, fields: RequestFields): number {
  const body = bodyFor(frame, fields);
  let to = at + 5;
  out[to++] = 0x08;
  to = writeVarint(out, to, fields.callId);
  out[to++] = 0x10;
  out[to++] = 0;
  out[to++] = 0x18;
  out[to++] = 9;
  out[to++] = 0x3a;
  out[to++] = fields.clientIdEnd - fields.clientIdStart;
  for (let from = fields.clientIdStart; from < fields.clientIdEnd; from++) out[to++] = frame[from] as number;
  out[to++] = 0x40;
  to = writeVarint(out, to, (fields.retryCount << 1) ^ (fields.retryCount >> 31));
  out[at + 4] = to - at - 5;
  body.copy(out, to);
  to += body.length;
  const length = to - at - 4;
  out[at] = 0;
  out[at + 1] = 0;
  out[at + 2] = length >>> 8;
  out[at + 3] = length;
  return to;
}

function writeVarint(out: Buffer, at: number, value: number): number {
  let rest = value >>> 0;
  let to = at;
  while (rest >= 128) {
    out[to++] = (rest & 127) | 128;
    rest >>>= 7;
  }
  out[to++] = rest;
  return to;
}
