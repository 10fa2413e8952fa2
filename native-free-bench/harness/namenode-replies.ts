/**
 * What the stub NameNode answers. The reply to getFileInfo is 210 bytes long when the call id takes 4 bytes, the retry count one and the
 * client id 16: the status of a file in an encryption zone. makeFileInfoBody gives replies of other sizes.
 *
 *   reply head = length:u32be headerBytes:u8 { 08 callId · 10 00 SUCCESS · 18 09 · 3a clientId · 40 retryCount }
 */

import { bytesField, delimited, framed, numberField, readVarint, varintEnd } from './frames.ts';

const FILE = 2;
/** In HAServiceStateProto. */
const ACTIVE = 1;
const BLOCK_BYTES = 134217728;

/** HdfsFileStatusProto in GetFileInfoResponseProto, delimited. */
export const FILE_INFO_BODY: Buffer = delimited(
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
/** SetSafeModeResponseProto {result false}: asked for the state, it is not in safe mode. */
const SAFE_MODE_BODY = delimited(numberField(1, 0));
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
  ['setSafeMode', SAFE_MODE_BODY],
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

/** Longest client id in a request. */
export const MAX_CLIENT_ID_BYTES = 64;
/** Most bytes of a reply before its body: the length, two 5-byte varints, the longest client id. */
export const HEAD_BOUND_BYTES: number = 4 + 1 + 6 + 2 + 2 + 2 + MAX_CLIENT_ID_BYTES + 6;
/** Most bytes that one reply takes, unless a body of another size was asked for. */
export const REPLY_BOUND_BYTES: number = HEAD_BOUND_BYTES + Math.max(FILE_INFO_BODY.length, VERSION_BODY.length);

/** Bytes of a reply before its body in the usual case: call id of 4 bytes, client id of 16, retry count of one. */
const USUAL_HEAD_BYTES = 4 + 1 + 5 + 2 + 2 + 18 + 2;
/** Lengths around a name: its own, of the status, of the message. */
const MOST_LENGTHS = 3;
/** The usual reply frame to getFileInfo, its length included. */
export const USUAL_REPLY_BYTES = 210;
/** Replies to getFileInfo can be made as short and as long as this. */
export const MIN_REPLY_BYTES = 100;
export const MAX_REPLY_BYTES: number = 1 << 24;

/**
 * A body for getFileInfo with which the usual reply frame, its length included, takes exactly `replyBytes`: the status of a file whose name
 * is as long as it takes. Throws a RangeError outside MIN_REPLY_BYTES … MAX_REPLY_BYTES, and for the few sizes that cannot be, where a
 * length around the message takes one byte more (163, 166, 16,420, 16,424 and 2,097,189 among them).
 */
export function makeFileInfoBody(replyBytes: number): Buffer {
  if (!Number.isInteger(replyBytes) || replyBytes < MIN_REPLY_BYTES || replyBytes > MAX_REPLY_BYTES) {
    throw new RangeError(`a reply of ${replyBytes} bytes: ${MIN_REPLY_BYTES} to ${MAX_REPLY_BYTES} are possible`);
  }
  const bodyBytes = replyBytes - USUAL_HEAD_BYTES;
  // A name one byte longer can make the lengths around it longer too; a longer owner reaches the sizes that are left out so.
  for (let owner = 'h'; owner.length <= MOST_LENGTHS; owner += 'h') {
    const others = statusFields(owner);
    const least = Math.max(0, bodyBytes - others.length - MOST_LENGTHS * (1 + 5));
    for (let nameBytes = least; nameBytes < bodyBytes; nameBytes++) {
      const status = others.length + 1 + delimitedBytes(nameBytes);
      if (delimitedBytes(1 + delimitedBytes(status)) !== bodyBytes) continue;
      const name = bytesField(2, Buffer.alloc(nameBytes, 'n'));
      return delimited(bytesField(1, Buffer.concat([others, name])));
    }
  }
  throw new RangeError(`a reply of ${replyBytes} bytes cannot be: take one byte more or less`);
}

/** The required fields of HdfsFileStatusProto but the name. */
function statusFields(owner: string): Buffer {
  return Buffer.concat([
    numberField(1, FILE),
    numberField(3, 73400320),
    bytesField(4, numberField(1, 0o640)),
    bytesField(5, owner),
    bytesField(6, 'g'),
    numberField(7, 1764500000000),
    numberField(8, 1764500000000),
  ]);
}

/** Bytes of a message of `bytes` bytes with its length before it. */
function delimitedBytes(bytes: number): number {
  let lengthBytes = 1;
  for (let rest = bytes; rest >= 128; rest = Math.floor(rest / 128)) lengthBytes++;
  return lengthBytes + bytes;
}

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

/** Body for the method that `fields` names, `fileInfo` for getFileInfo; every method without one of its own gets a file's status. */
function bodyFor(buffer: Buffer, fields: RequestFields, fileInfo: Buffer): Buffer {
  if (isFileInfo(buffer, fields)) return fileInfo;
  return BODY_OF_METHOD.get(buffer.toString('latin1', fields.methodStart, fields.methodEnd)) ?? FILE_INFO_BODY;
}

/**
 * Writes the reply to the request in `frame` that `fields` describes; returns its end. `out` has REPLY_BOUND_BYTES at `at`, or as many more
 * as `fileInfo` is longer than the usual body.
 */
export function writeReply(
  out: Buffer,
  at: number,
  frame: Buffer,
  fields: RequestFields,
  fileInfo: Buffer = FILE_INFO_BODY,
): number {
  const body = bodyFor(frame, fields, fileInfo);
  const to = writeReplyHead(out, at, frame, fields, body.length);
  body.copy(out, to);
  return to + body.length;
}

/** Writes all of the reply before a body of `bodyBytes`; returns its end. `out` has HEAD_BOUND_BYTES at `at`. */
export function writeReplyHead(
  out: Buffer,
  at: number,
  frame: Buffer,
  fields: RequestFields,
  bodyBytes: number,
): number {
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
  const length = to - at - 4 + bodyBytes;
  out[at] = length >>> 24;
  out[at + 1] = length >>> 16;
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
