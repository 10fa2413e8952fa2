/**
 * Writes the head of a reply frame to a client.
 *
 *   length · delimited RpcResponseHeaderProto [· delimited response message, only for SUCCESS]
 *   RpcResponseHeaderProto  1 callId uint32 · 2 status enum · 3 serverIpcVersionNum uint32 = 9 · 4 exceptionClassName string
 *                           5 errorMsg string · 6 errorDetail enum · 7 clientId bytes · 8 retryCount sint32
 *
 * A Java server sets 1, 2, 3, 7 and 8 always, the client id also when it is empty; 4, 5 and 6 with every error.
 */
import { type Block, moveRight } from './block.ts';
import { copyBytes, varint32Size, writeInt32, writeVarint32, zigzag32 } from './varint.ts';

export const Status = { SUCCESS: 0, ERROR: 1, FATAL: 2 } as const;

/** RpcErrorCodeProto. */
export const ErrorDetail = {
  ERROR_APPLICATION: 1,
  ERROR_NO_SUCH_METHOD: 2,
  ERROR_NO_SUCH_PROTOCOL: 3,
  ERROR_RPC_SERVER: 4,
  ERROR_SERIALIZING_RESPONSE: 5,
  ERROR_RPC_VERSION_MISMATCH: 6,
  FATAL_UNKNOWN: 10,
  FATAL_UNSUPPORTED_SERIALIZATION: 11,
  FATAL_INVALID_RPC_HEADER: 12,
  FATAL_DESERIALIZING_REQUEST: 13,
  FATAL_VERSION_MISMATCH: 14,
  FATAL_UNAUTHORIZED: 15,
} as const;

export const IPC_VERSION = 9;
/** retryCount of replies to what had none. */
export const NO_RETRY_COUNT = -1;

/** What a success head adds to client id and body at most: length 4, header length 5, callId 6, status 2, version 2, client id 6, retryCount 6. */
export const SUCCESS_HEAD_BYTES = 31;
/** The same for an error head, beside client id, class name and message. */
export const ERROR_HEAD_BYTES = 49;

/** What `writeSuccessHead` writes, and the bytes of further fields. */
export function successHeadBytes(callId: number, idBytes: number, retryCount: number, moreBytes = 0): number {
  const headerBytes = successHeaderBytes(callId, idBytes, zigzag32(retryCount)) + moreBytes;
  return 4 + varint32Size(headerBytes) + headerBytes;
}

function successHeaderBytes(callId: number, idBytes: number, retryBits: number): number {
  return 7 + varint32Size(callId) + varint32Size(idBytes) + idBytes + varint32Size(retryBits);
}

/**
 * Writes length prefix and header of a SUCCESS whose delimited response message of bodyBytes (its own length prefix included) follows.
 * Returns the position after the header; at most SUCCESS_HEAD_BYTES and the client id are written. With `moreBytes` the header is left
 * unfinished: so many bytes of further fields belong to it.
 */
export function writeSuccessHead(
  out: Buffer,
  at: number,
  bodyBytes: number,
  callId: number,
  clientId: Buffer,
  clientIdStart: number,
  clientIdEnd: number,
  retryCount: number,
  moreBytes = 0,
): number {
  const idBytes = clientIdEnd - clientIdStart;
  const retryBits = zigzag32(retryCount);
  const headerBytes = successHeaderBytes(callId, idBytes, retryBits) + moreBytes;
  let next = writeInt32(out, at, varint32Size(headerBytes) + headerBytes + bodyBytes);
  next = writeVarint32(out, next, headerBytes);
  next = writeStart(out, next, callId, Status.SUCCESS);
  return writeIds(out, next, clientId, clientIdStart, clientIdEnd, retryBits);
}

/**
 * Writes a whole ERROR or FATAL frame. className[cs, ce) is the Java class, message[ms, me) its text; detail 0 leaves errorDetail out.
 * Returns the position after it; at most ERROR_HEAD_BYTES and class, message and client id are written. With `moreBytes` so many bytes of
 * further fields belong to it.
 */
export function writeErrorHead(
  out: Buffer,
  at: number,
  status: number,
  detail: number,
  className: Buffer,
  cs: number,
  ce: number,
  message: Buffer,
  ms: number,
  me: number,
  callId: number,
  clientId: Buffer,
  clientIdStart: number,
  clientIdEnd: number,
  retryCount: number,
  moreBytes = 0,
): number {
  const idBytes = clientIdEnd - clientIdStart;
  const classBytes = ce - cs;
  const messageBytes = me - ms;
  const retryBits = zigzag32(retryCount);
  let headerBytes = 7 + varint32Size(callId) + varint32Size(idBytes) + idBytes + varint32Size(retryBits);
  headerBytes += 2 + varint32Size(classBytes) + classBytes + varint32Size(messageBytes) + messageBytes;
  if (detail !== 0) headerBytes += 1 + varint32Size(detail);
  headerBytes += moreBytes;
  let next = writeInt32(out, at, varint32Size(headerBytes) + headerBytes);
  next = writeVarint32(out, next, headerBytes);
  next = writeStart(out, next, callId, status);
  out[next++] = 0x22;
  next = writeVarint32(out, next, classBytes);
  next = copyBytes(out, next, className, cs, ce);
  out[next++] = 0x2a;
  next = writeVarint32(out, next, messageBytes);
  next = copyBytes(out, next, message, ms, me);
  if (detail !== 0) {
    out[next++] = 0x30;
    next = writeVarint32(out, next, detail);
  }
  return writeIds(out, next, clientId, clientIdStart, clientIdEnd, retryBits);
}

/** Bytes of the retryCount that `shortenHead` takes the place of, as a varint. */
const LONG_RETRY_BYTES = 5;

/**
 * Makes the head of a NameNode's usual SUCCESS (ReplyScan.usual) the client's, whose call id and client id are the same: only the
 * retryCount, there of five bytes, becomes one byte. The reply is block[start, end) without its length prefix, which is written to the four
 * bytes that become free at the front. False: the lengths are others, nothing was done.
 */
export function shortenHead(
  block: Block,
  start: number,
  headerEnd: number,
  end: number,
  clientIdEnd: number,
  retryCount: number,
): boolean {
  const out = block.bytes;
  const retryBits = zigzag32(retryCount);
  const headerBytes = headerEnd - start - 1;
  const freed = LONG_RETRY_BYTES - 1;
  if (out[start] !== headerBytes || headerBytes >= 0x80 || retryBits >= 0x80) return false;
  if (clientIdEnd + 1 + LONG_RETRY_BYTES !== headerEnd) return false;
  moveRight(block, start + 1, headerEnd - LONG_RETRY_BYTES, freed);
  writeInt32(out, start, end - start - freed);
  out[start + freed] = headerBytes - freed;
  out[headerEnd - 1] = retryBits;
  return true;
}

function writeStart(out: Buffer, at: number, callId: number, status: number): number {
  out[at] = 0x08;
  const next = writeVarint32(out, at + 1, callId);
  out[next] = 0x10;
  out[next + 1] = status;
  out[next + 2] = 0x18;
  out[next + 3] = IPC_VERSION;
  return next + 4;
}

function writeIds(out: Buffer, at: number, clientId: Buffer, start: number, end: number, retryBits: number): number {
  out[at] = 0x3a;
  let next = writeVarint32(out, at + 1, end - start);
  next = copyBytes(out, next, clientId, start, end);
  out[next] = 0x40;
  return writeVarint32(out, next + 1, retryBits);
}

export interface ErrorReply {
  readonly callId: number;
  /** Status.ERROR or Status.FATAL. */
  readonly status: number;
  /** ErrorDetail. */
  readonly detail: number;
  /** Java binary name of the exception, e.g. `org.apache.hadoop.ipc.RPC$VersionMismatch`. */
  readonly className: string;
  readonly message: string;
  /** Empty when left out, as in replies that a Java server builds while it reads a request. */
  readonly clientId?: Buffer | undefined;
  /** NO_RETRY_COUNT when left out. */
  readonly retryCount?: number | undefined;
  /** Further fields of the header. */
  readonly more?: Buffer | undefined;
}

const NO_CLIENT_ID = Buffer.alloc(0);

/** A whole error frame in a buffer of its own, for replies that are not worth a reused one. */
export function encodeError(error: ErrorReply): Buffer {
  const className = Buffer.from(error.className, 'utf8');
  const message = Buffer.from(error.message, 'utf8');
  const clientId = error.clientId ?? NO_CLIENT_ID;
  const moreBytes = error.more?.length ?? 0;
  const out = Buffer.allocUnsafe(ERROR_HEAD_BYTES + className.length + message.length + clientId.length + moreBytes);
  const { callId, status, detail, retryCount = NO_RETRY_COUNT } = error;
  const end = writeErrorHead(
    out,
    0,
    status,
    detail,
    className,
    0,
    className.length,
    message,
    0,
    message.length,
    callId,
    clientId,
    0,
    clientId.length,
    retryCount,
    moreBytes,
  );
  error.more?.copy(out, end);
  return out.subarray(0, end + moreBytes);
}
