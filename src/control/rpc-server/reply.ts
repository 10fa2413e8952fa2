/**
 * Reply frames of a Hadoop RPC server:
 *
 *   frame   = length:u32 header [body]
 *   header  = varint-delimited RpcResponseHeaderProto
 *   body    = varint-delimited response message, on success only
 *
 * and the answers to peers that do not speak IPC version 9.
 */
import type { Plain } from '../../wire/messages.ts';
import { encodeDelimited, messageType } from '../../wire/messages.ts';
import type { JavaClass } from './remote-exception.ts';

export const IPC_VERSION = 9;
/** Call ids of frames that are no calls. */
export const CallId = { FATAL: -1, CONTEXT: -3, PING: -4, SASL: -33 } as const;

const RESPONSE_HEADER = 'hadoop.common.RpcResponseHeaderProto';
const NO_CLIENT_ID = Buffer.alloc(0);
const LENGTH_BYTES = 4;

/** Fields that every reply carries. */
export interface ReplyHead {
  readonly callId: number;
  readonly retryCount: number;
  /** Empty in replies that are made while the request is read. */
  readonly clientId: Buffer;
  /** Null when the server does not tell a state. */
  readonly stateId: number | null;
}

export interface ReplyError {
  readonly status: 'ERROR' | 'FATAL';
  /** Name in RpcErrorCodeProto. */
  readonly detail: string;
  readonly javaClass: JavaClass;
  readonly message: string;
}

/** The head of replies to what is not (yet) a call. */
export function headWithoutCall(callId: number, stateId: number | null, retryCount = -1): ReplyHead {
  return { callId, retryCount, clientId: NO_CLIENT_ID, stateId };
}

export function encodeSuccess(head: ReplyHead, type: Parameters<typeof encodeDelimited>[0], answer: object): Buffer {
  return frame(encodeDelimited(messageType(RESPONSE_HEADER), headerOf(head, 'SUCCESS')), encodeDelimited(type, answer));
}

export function encodeError(head: ReplyHead, error: ReplyError): Buffer {
  return frame(
    encodeDelimited(messageType(RESPONSE_HEADER), {
      ...headerOf(head, error.status),
      exceptionClassName: error.javaClass,
      errorMsg: error.message,
      errorDetail: error.detail,
    }),
  );
}

function headerOf(head: ReplyHead, status: string): Plain {
  const { callId, retryCount, clientId, stateId } = head;
  const header: Plain = { callId, status, serverIpcVersionNum: IPC_VERSION, clientId, retryCount };
  if (stateId !== null) {
    header['stateId'] = stateId;
  }
  return header;
}

function frame(...parts: readonly Buffer[]): Buffer {
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(parts.reduce((sum, part) => sum + part.length, 0));
  return Buffer.concat([length, ...parts]);
}

/** The answer to a browser. */
export const HTTP_ANSWER = Buffer.from(
  'HTTP/1.1 404 Not Found\r\nContent-type: text/plain\r\n\r\n' +
    'It looks like you are making an HTTP request to a Hadoop IPC port. ' +
    'This is not the correct port for the web interface on this daemon.\r\n',
);

/**
 * Before version 9 replies had no protobuf header. Versions 3 to 8: eight bytes 0xff, then class and message, each as
 * u32 length and text. Version 2: call id 0 as u32, a byte 1, class and message.
 */
export function encodeOldVersionMismatch(version: number, javaClass: JavaClass, message: string): Buffer {
  const head = version >= 3 ? Buffer.alloc(8, 0xff) : Buffer.from([0, 0, 0, 0, 1]);
  return Buffer.concat([head, oldText(javaClass), oldText(message)]);
}

function oldText(text: string): Buffer {
  const bytes = Buffer.from(text);
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}
