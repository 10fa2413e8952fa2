/**
 * What is said on a connection before the first call, both as server (towards clients) and as client (towards NameNodes). Cold: once per
 * connection.
 *
 *   preamble  `hrpc` · version i8 = 9 · service class u8 (any) · auth protocol i8: 0 none, -33 (0xdf) SASL
 *   SASL      frames {header callId -33, RpcSaslProto} in both directions, only after auth protocol -33
 *   context   frame {header callId -3, delimited IpcConnectionContextProto}, no reply
 *   ping      frame {header callId -4}, no reply
 *
 *   IpcConnectionContextProto  2 userInfo {1 effectiveUser string · 2 realUser string} · 3 protocol string
 *   RpcSaslProto  1 version uint32 · 2 state enum, required · 3 token bytes
 *                 4 auths repeated {1 method · 2 mechanism, both required strings · 3 protocol · 4 serverId · 5 challenge bytes}
 */
import { SCAN_BAD, SCAN_OK } from './call-scan.ts';
import { ErrorDetail, encodeError, IPC_VERSION, NO_RETRY_COUNT, Status, writeSuccessHead } from './reply-head.ts';
import {
  copyBytes,
  readVarint64,
  skipValueLoosely,
  varint32Size,
  Wide,
  writeInt32,
  writeVarint32,
  zigzag32,
} from './varint.ts';

/** Call ids that are no calls. */
export const CallId = { CONNECTION_LEVEL: -1, CONNECTION_CONTEXT: -3, PING: -4, SASL: -33 } as const;

export const PREAMBLE_BYTES = 7;

/** What the first seven bytes of a client ask for. */
export const Preamble = {
  /** Go on: frames follow, the connection context first. */
  OK_NONE: 0,
  /** Go on: SASL frames follow. */
  OK_SASL: 1,
  /** All others are refused: write `encodeRefusal`, if it gives anything, and close. */
  HTTP: 2,
  /** Wrong magic or version, and version 9 or above. */
  OTHER_VERSION: 3,
  /** Version 3 to 8. */
  OLD_VERSION: 4,
  VERSION_2: 5,
  /** Version 0, 1 or negative: closed without a word. */
  NO_VERSION: 6,
  UNKNOWN_AUTH: 7,
} as const;

const VERSION_AT = 4;
const AUTH_AT = 6;
const AUTH_NONE = 0;
const AUTH_SASL = -33;
const OLDEST_WITH_STATUS = 3;

/** Judges the seven bytes buffer[start, start + 7) as a Java server does: Preamble. */
export function judgePreamble(buffer: Buffer, start: number): number {
  if (buffer.toString('latin1', start, start + 4) === 'GET ') return Preamble.HTTP;
  const version = buffer.readInt8(start + VERSION_AT);
  if (buffer.toString('latin1', start, start + 4) !== 'hrpc' || version !== IPC_VERSION) {
    if (version >= IPC_VERSION) return Preamble.OTHER_VERSION;
    if (version >= OLDEST_WITH_STATUS) return Preamble.OLD_VERSION;
    return version === 2 ? Preamble.VERSION_2 : Preamble.NO_VERSION;
  }
  const auth = buffer.readInt8(start + AUTH_AT);
  if (auth === AUTH_NONE) return Preamble.OK_NONE;
  return auth === AUTH_SASL ? Preamble.OK_SASL : Preamble.UNKNOWN_AUTH;
}

const VERSION_MISMATCH = 'org.apache.hadoop.ipc.RPC$VersionMismatch';

/** The bytes that answer a refused preamble, null for none; the connection is closed after them. */
export function encodeRefusal(code: number, buffer: Buffer, start: number): Buffer | null {
  const version = buffer.readInt8(start + VERSION_AT);
  const mismatch = `Server IPC version ${IPC_VERSION} cannot communicate with client version ${version}`;
  switch (code) {
    case Preamble.HTTP:
      return Buffer.from(HTTP_ANSWER, 'latin1');
    case Preamble.OTHER_VERSION:
      return encodeConnectionError(ErrorDetail.FATAL_VERSION_MISMATCH, VERSION_MISMATCH, mismatch);
    case Preamble.OLD_VERSION:
      // Before version 9: i32 call id -1 · i32 status -1 (fatal) · two strings with i32 lengths.
      return Buffer.concat([Buffer.alloc(8, 0xff), oldString(VERSION_MISMATCH), oldString(mismatch)]);
    case Preamble.VERSION_2:
      // Version 2: i32 call id 0 · boolean "is an error" · two strings with i32 lengths.
      return Buffer.concat([Buffer.from([0, 0, 0, 0, 1]), oldString(VERSION_MISMATCH), oldString(mismatch)]);
    case Preamble.UNKNOWN_AUTH: {
      const auth = buffer.readInt8(start + AUTH_AT);
      return encodeConnectionError(
        ErrorDetail.FATAL_UNAUTHORIZED,
        'org.apache.hadoop.ipc.IpcException',
        `Unknown auth protocol:${auth}`,
      );
    }
    default:
      return null;
  }
}

/** A FATAL reply that belongs to no call. */
function encodeConnectionError(detail: number, className: string, message: string): Buffer {
  return encodeError({ callId: CallId.CONNECTION_LEVEL, status: Status.FATAL, detail, className, message });
}

function oldString(text: string): Buffer {
  const bytes = Buffer.from(text, 'utf8');
  const out = Buffer.alloc(4 + bytes.length);
  copyBytes(out, writeInt32(out, 0, bytes.length), bytes, 0, bytes.length);
  return out;
}

// Byte for byte what Java servers answer: monitoring matches on it.
const HTTP_ANSWER =
  'HTTP/1.1 404 Not Found\r\nContent-type: text/plain\r\n\r\n' +
  'It looks like you are making an HTTP request to a Hadoop IPC port. ' +
  'This is not the correct port for the web interface on this daemon.\r\n';

/** RpcSaslProto.SaslState; UNREADABLE when the message has none that is known. */
export const SaslState = {
  UNREADABLE: -1,
  SUCCESS: 0,
  NEGOTIATE: 1,
  INITIATE: 2,
  CHALLENGE: 3,
  RESPONSE: 4,
  WRAP: 5,
} as const;

const LAST_SASL_STATE = 5;

/** The frame that ends a negotiation in SIMPLE: the client drops SASL and sends its connection context. */
export function encodeSaslSuccess(): Buffer {
  const body = Buffer.from([2, 0x10, SaslState.SUCCESS]);
  const out = Buffer.alloc(40);
  const next = writeSuccessHead(out, 0, body.length, CallId.SASL, body, 0, 0, NO_RETRY_COUNT);
  return out.subarray(0, copyBytes(out, next, body, 0, body.length));
}

/** What `scanSasl` found; offsets are absolute in the buffer, a pair of zeros means absent. */
export class SaslScan {
  state: number = SaslState.UNREADABLE;
  tokenStart = 0;
  tokenEnd = 0;
  authsCount = 0;
  /** Of the last of `auths`. */
  method = '';
  mechanism = '';
}

/** Connection context as text; '' for what is absent. */
export class ConnectionContext {
  user = '';
  realUser = '';
  protocol = '';
}

const wide = new Wide();

/** Reads the delimited RpcSaslProto buffer[start, end) (behind the header): its state, SaslState.UNREADABLE when it is none. */
export function scanSasl(buffer: Buffer, start: number, end: number, scan: SaslScan): number {
  scan.state = SaslState.UNREADABLE;
  scan.tokenStart = 0;
  scan.tokenEnd = 0;
  scan.authsCount = 0;
  scan.method = '';
  scan.mechanism = '';
  let state: number = SaslState.UNREADABLE;
  let readable = true;
  const good = walkDelimited(buffer, start, end, (tag, valueStart, valueEnd) => {
    if (tag === 0x10) {
      readVarint64(buffer, valueStart, valueEnd, wide);
      if (wide.low >= 0 && wide.low <= LAST_SASL_STATE) state = wide.low;
    } else if (tag === 0x1a) {
      scan.tokenStart = valueStart;
      scan.tokenEnd = valueEnd;
    } else if (tag === 0x22) {
      scan.authsCount++;
      scan.method = '';
      scan.mechanism = '';
      readable &&= walkFields(buffer, valueStart, valueEnd, (inner, from, to) => {
        if (inner === 0x0a) scan.method = buffer.toString('utf8', from, to);
        else if (inner === 0x12) scan.mechanism = buffer.toString('utf8', from, to);
      });
    }
  });
  if (good && readable) scan.state = state;
  return scan.state;
}

/** Reads the delimited IpcConnectionContextProto buffer[start, end) (behind the header): SCAN_OK or SCAN_BAD. */
export function scanConnectionContext(buffer: Buffer, start: number, end: number, context: ConnectionContext): number {
  context.user = '';
  context.realUser = '';
  context.protocol = '';
  let readable = true;
  const good = walkDelimited(buffer, start, end, (tag, valueStart, valueEnd) => {
    if (tag === 0x12) {
      readable &&= walkFields(buffer, valueStart, valueEnd, (inner, from, to) => {
        if (inner === 0x0a) context.user = buffer.toString('utf8', from, to);
        else if (inner === 0x12) context.realUser = buffer.toString('utf8', from, to);
      });
    } else if (tag === 0x1a) context.protocol = buffer.toString('utf8', valueStart, valueEnd);
  });
  return good && readable ? SCAN_OK : SCAN_BAD;
}

type FieldVisitor = (tag: number, valueStart: number, valueEnd: number) => void;

function walkDelimited(buffer: Buffer, start: number, end: number, visit: FieldVisitor): boolean {
  const at = readVarint64(buffer, start, end, wide);
  if (at < 0 || wide.low < 0 || at + wide.low > end) return false;
  return walkFields(buffer, at, at + wide.low, visit);
}

/** Visits each field of the message buffer[start, end); of bytes fields the value without its length. False: not a message. */
function walkFields(buffer: Buffer, start: number, end: number, visit: FieldVisitor): boolean {
  let at = start;
  while (at < end) {
    at = readVarint64(buffer, at, end, wide);
    if (at < 0) return false;
    const tag = wide.low;
    const after = skipValueLoosely(buffer, at, end, tag);
    if (after < 0) return false;
    if ((tag & 7) === 2) at = readVarint64(buffer, at, after, wide);
    visit(tag, at, after);
    at = after;
  }
  return true;
}

export interface HandshakeIdentity {
  /** Effective user; '' sends none. */
  readonly user: string;
  /** Real user when `user` is impersonated, else ''. */
  readonly realUser: string;
  /** Protocol name that the calls of the connection are for. */
  readonly protocol: string;
  /** 16 bytes. */
  readonly clientId: Buffer;
}

/** Preamble and connection context of a SIMPLE connection to a NameNode. */
export function encodeHandshake(identity: HandshakeIdentity): Buffer {
  const userInfo = Buffer.concat([stringField(1, identity.user), stringField(2, identity.realUser)]);
  const context = Buffer.concat([bytesField(2, userInfo), stringField(3, identity.protocol)]);
  return Buffer.concat([
    Buffer.from([0x68, 0x72, 0x70, 0x63, IPC_VERSION, 0, AUTH_NONE]),
    encodeControlFrame(CallId.CONNECTION_CONTEXT, identity.clientId, delimited(context)),
  ]);
}

/** The ping frame of a client. */
export function encodePing(clientId: Buffer): Buffer {
  return encodeControlFrame(CallId.PING, clientId, Buffer.alloc(0));
}

/** A request frame that is no call: rpcKind 2, rpcOp 0, retryCount -1. */
function encodeControlFrame(callId: number, clientId: Buffer, body: Buffer): Buffer {
  const header = Buffer.concat([
    Buffer.from([0x08, 2, 0x10, 0, 0x18]),
    varint(zigzag32(callId)),
    bytesField(4, clientId),
    Buffer.from([0x28]),
    varint(zigzag32(NO_RETRY_COUNT)),
  ]);
  const frame = Buffer.concat([delimited(header), body]);
  const length = Buffer.alloc(4);
  writeInt32(length, 0, frame.length);
  return Buffer.concat([length, frame]);
}

function stringField(field: number, text: string): Buffer {
  return text === '' ? Buffer.alloc(0) : bytesField(field, Buffer.from(text, 'utf8'));
}

function bytesField(field: number, value: Buffer): Buffer {
  return Buffer.concat([varint((field << 3) | 2), delimited(value)]);
}

function delimited(bytes: Buffer): Buffer {
  return Buffer.concat([varint(bytes.length), bytes]);
}

function varint(value: number): Buffer {
  const out = Buffer.alloc(varint32Size(value));
  writeVarint32(out, 0, value);
  return out;
}
