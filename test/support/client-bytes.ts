import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { encodeDelimited, messageType, type Plain, readDelimited, serviceType } from '../../src/wire/messages.ts';
import { WAIT_MS, within } from './wait.ts';

/** What clients write on a connection, piece by piece, right or wrong; and a connection that shows what comes back byte for byte. */

export const CLIENT_PROTOCOL = 'org.apache.hadoop.hdfs.protocol.ClientProtocol';
export const PREAMBLE: Buffer = Buffer.from('hrpc\x09\x00\x00', 'latin1');
export const SASL_PREAMBLE: Buffer = Buffer.from('hrpc\x09\x00\xdf', 'latin1');
export const CLIENT_ID: Buffer = Buffer.from('a0a1a2a3a4a5a6a7a8a9aaabacadaeaf', 'hex');

const REQUEST_HEADER = messageType('hadoop.common.RpcRequestHeaderProto');
const RESPONSE_HEADER = messageType('hadoop.common.RpcResponseHeaderProto');

/** The parts as one frame with its length. */
export function frameOf(...parts: Buffer[]): Buffer {
  const frame = Buffer.concat([Buffer.alloc(4), ...parts]);
  frame.writeInt32BE(frame.length - 4, 0);
  return frame;
}

/** A length prefix alone. */
export function prefixOf(bytes: number): Buffer {
  const prefix = Buffer.alloc(4);
  prefix.writeInt32BE(bytes, 0);
  return prefix;
}

/** A delimited RpcRequestHeaderProto; undefined leaves a field out. */
export function headerOf(fields: object): Buffer {
  return encodeDelimited(REQUEST_HEADER, {
    rpcKind: 'RPC_PROTOCOL_BUFFER',
    rpcOp: 'RPC_FINAL_PACKET',
    callId: 0,
    clientId: CLIENT_ID,
    retryCount: 0,
    ...fields,
  });
}

export interface ContextFields {
  /** Left out: the context names no user. */
  readonly user?: string;
  readonly realUser?: string;
  readonly protocol?: string;
}

export function contextFrame({ user, realUser, protocol = CLIENT_PROTOCOL }: ContextFields): Buffer {
  const context = { protocol, userInfo: { effectiveUser: user, realUser } };
  return frameOf(
    headerOf({ callId: -3, retryCount: -1 }),
    encodeDelimited(messageType('hadoop.common.IpcConnectionContextProto'), context),
  );
}

/** A frame that is neither context nor call: ping, SASL, unknown out of band ids. */
export function controlFrame(callId: number, body: Buffer = Buffer.alloc(0)): Buffer {
  return frameOf(headerOf({ callId, retryCount: -1 }), body);
}

export function saslFrame(message: object): Buffer {
  return controlFrame(-33, encodeDelimited(messageType('hadoop.common.RpcSaslProto'), message));
}

export interface CallOptions {
  readonly callId?: number;
  readonly method?: string;
  readonly protocol?: string;
  readonly version?: number;
  /** Fields of RpcRequestHeaderProto. */
  readonly header?: object;
  /** The delimited request message; made of `path` when left out. */
  readonly body?: Buffer;
  readonly path?: string;
}

/** A getFileInfo call unless it is told otherwise. */
export function callFrame({
  callId = 0,
  method = 'getFileInfo',
  protocol = CLIENT_PROTOCOL,
  version = 1,
  header = {},
  path = '/a/x',
  body = encodeDelimited(messageType('hadoop.hdfs.GetFileInfoRequestProto'), { src: path }),
}: CallOptions = {}): Buffer {
  const names = { methodName: method, declaringClassProtocolName: protocol, clientProtocolVersion: version };
  return frameOf(
    headerOf({ callId, ...header }),
    encodeDelimited(messageType('hadoop.common.RequestHeaderProto'), names),
    body,
  );
}

export interface ReplyFrame {
  readonly header: Plain;
  /** What follows the header. */
  readonly body: Buffer;
}

/** Header and rest of a reply frame with its length. */
export function readReply(frame: Buffer): ReplyFrame {
  const { message, next } = readDelimited(RESPONSE_HEADER, frame, 4);
  return { header: message, body: frame.subarray(next) };
}

/** The response message of a successful call of the client protocol. */
export function readResult(frame: Buffer, method = 'getFileInfo'): Plain {
  const { header, body } = readReply(frame);
  if (header['status'] !== 'SUCCESS') throw new Error(`${header['exceptionClassName']}: ${header['errorMsg']}`);
  const { responseType } = serviceType('hadoop.hdfs.ClientNamenodeProtocol').methods[method] as {
    responseType: string;
  };
  return readDelimited(messageType(`hadoop.hdfs.${responseType}`), body).message;
}

/** A connection that writes exactly what it is told and keeps everything that comes back. It stays half open when the server ends. */
export class ByteClient implements Disposable {
  readonly socket: Socket;
  received: Buffer = Buffer.alloc(0);
  /** 'FIN', or the error that ended it; '' while it is open. */
  ended = '';
  readonly #ended = Promise.withResolvers<void>();
  #at = 0;
  #waiter: (() => void) | null = null;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.received = Buffer.concat([this.received, chunk]);
      this.#waiter?.();
    });
    socket.on('end', () => this.#end('FIN'));
    socket.on('error', (error) => this.#end(error.message));
    socket.on('close', () => this.#end('closed'));
  }

  static async connect(server: { readonly host: string; readonly port: number }): Promise<ByteClient> {
    const socket = connect({ host: server.host, port: server.port, noDelay: true, allowHalfOpen: true });
    const client = new ByteClient(socket);
    await within(once(socket, 'connect'), `connection to ${server.host}:${server.port}`);
    return client;
  }

  send(...parts: Buffer[]): void {
    this.socket.write(Buffer.concat(parts));
  }

  /** One byte a write, each in a turn of its own. */
  async sendSlowly(...parts: Buffer[]): Promise<void> {
    const bytes = Buffer.concat(parts);
    for (let at = 0; at < bytes.length && this.ended === ''; at++) {
      this.socket.write(bytes.subarray(at, at + 1));
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** The next whole frame, its length included. */
  async nextFrame(limitMs: number = WAIT_MS): Promise<Buffer> {
    for (;;) {
      const left = this.received.length - this.#at;
      if (left >= 4) {
        const length = 4 + this.received.readInt32BE(this.#at);
        if (left >= length) {
          this.#at += length;
          return this.received.subarray(this.#at - length, this.#at);
        }
      }
      if (this.ended !== '') throw new Error(`no further frame: ${this.ended}`);
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiter = resolve;
      await within(promise, 'a frame', limitMs);
    }
  }

  /** Everything that came, once the server has ended the connection. */
  async whole(limitMs: number = WAIT_MS): Promise<Buffer> {
    await within(this.#ended.promise, 'the server ends the connection', limitMs);
    return this.received;
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }

  #end(how: string): void {
    if (this.ended === '') this.ended = how;
    this.#ended.resolve();
    this.#waiter?.();
  }
}
