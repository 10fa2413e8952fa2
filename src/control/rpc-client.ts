import { randomBytes } from 'node:crypto';
import { connect as connectTcp, type Socket } from 'node:net';
import { PROTOCOLS } from '../call/methods.ts';
import { FRAMES_OK, FrameAssembler } from '../wire/frame.ts';
import { encode, encodeDelimited, MessageError, messageType, type Plain, readDelimited } from '../wire/messages.ts';

/*
 * Hadoop RPC (IPC version 9) for the few calls that are not on the data path: heartbeats, the demonstration client, tests.
 *
 *   preamble   "hrpc" · version 9 · service class 0 · authentication: 0 = SIMPLE, 0xDF = SASL
 *   frame      u32 length · delimited RpcRequestHeaderProto · the rest by call id:
 *     -33      delimited RpcSaslProto               until the server has agreed on SIMPLE
 *     -3       delimited IpcConnectionContextProto  once, no answer
 *     >= 0     delimited RequestHeaderProto · delimited request message
 *   answer     u32 length · delimited RpcResponseHeaderProto · delimited response message when the status is SUCCESS
 */

const VERSION = 9;
const AUTH_SIMPLE = 0;
const AUTH_SASL = 0xdf;
const CONTEXT_CALL_ID = -3;
const SASL_CALL_ID = -33;
const CLIENT_ID_BYTES = 16;

export const DEFAULT_CONNECT_TIMEOUT_MS = 2_000;
export const DEFAULT_CALL_TIMEOUT_MS = 30_000;
/** Calls of one connection that may wait for their answers at a time; one more is refused. */
export const MAX_OUTSTANDING_CALLS = 10_000;
/** Longest answer, as `ipc.maximum.response.length` by default. */
const MAX_RESPONSE_BYTES = 128 * 1024 * 1024;

export interface ConnectOptions {
  readonly host: string;
  readonly port: number;
  /** Effective user. */
  readonly user: string;
  /** Real user when `user` is impersonated. */
  readonly realUser?: string | undefined;
  /** Protocol named in the connection context; calls may name others. Default ClientProtocol. */
  readonly protocol?: string | undefined;
  /** Default: 16 random bytes. May be empty. */
  readonly clientId?: Buffer | undefined;
  /** Of each call, unless the call says otherwise. */
  readonly timeoutMs?: number | undefined;
  /** From the start of the TCP connection until calls may be sent. */
  readonly connectTimeoutMs?: number | undefined;
  /** Opens with SASL and follows the server's switch to SIMPLE, or its offer of it. */
  readonly sasl?: boolean | undefined;
}

export interface CallOptions {
  /** Default: the next of the connection's own, from 0. */
  readonly callId?: number | undefined;
  readonly retryCount?: number | undefined;
  readonly callerContext?: string | undefined;
  /** Signature of the caller context. */
  readonly signature?: Buffer | undefined;
  readonly stateId?: number | bigint | undefined;
  /** State ids by nameservice, or RouterFederatedStateProto as bytes. */
  readonly federatedState?: Buffer | Readonly<Record<string, number | bigint>> | undefined;
  readonly timeoutMs?: number | undefined;
}

/** RpcResponseHeaderProto. */
export interface ResponseHeader {
  readonly callId: number;
  readonly status: 'SUCCESS' | 'ERROR' | 'FATAL';
  readonly serverIpcVersionNum?: number;
  readonly exceptionClassName?: string;
  readonly errorMsg?: string;
  readonly errorDetail?: string;
  readonly clientId?: Buffer;
  readonly retryCount?: number;
  readonly stateId?: number | bigint;
  readonly routerFederatedState?: Buffer;
}

export interface Reply<Response> {
  readonly response: Response;
  readonly header: ResponseHeader;
}

/** The server answered with an exception. */
export class RemoteError extends Error {
  override readonly name = 'RemoteError';
  /** Java class of the exception. */
  readonly className: string;
  /** Whole text of the exception, stack lines included. */
  readonly text: string;
  /** RpcErrorCodeProto, such as ERROR_APPLICATION; '' when the server gave none. */
  readonly detail: string;
  readonly status: 'ERROR' | 'FATAL';
  /** The server closes the connection after it. */
  readonly fatal: boolean;
  readonly header: ResponseHeader;

  constructor(header: ResponseHeader) {
    const className = header.exceptionClassName ?? 'an exception without a class';
    const text = header.errorMsg ?? '';
    const lineEnd = text.indexOf('\n');
    super(`${className}: ${lineEnd === -1 ? text : text.slice(0, lineEnd)}`);
    this.className = className;
    this.text = text;
    this.detail = header.errorDetail ?? '';
    this.status = header.status === 'FATAL' ? 'FATAL' : 'ERROR';
    this.fatal = this.status === 'FATAL';
    this.header = header;
  }
}

/**
 * There is no answer.
 *
 * - CONNECT: no connection; `cause` has the reason of the system
 * - TIMEOUT: the deadline has passed; the call may have been executed
 * - CLOSED: the connection was closed, by us or by the server; calls that waited may have been executed
 * - MALFORMED: what came is not Hadoop RPC; the connection is closed
 * - REFUSED: too many calls wait, or the server offers no SIMPLE authentication
 */
export type RpcFailure = 'CONNECT' | 'TIMEOUT' | 'CLOSED' | 'MALFORMED' | 'REFUSED';

export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: RpcFailure;

  constructor(code: RpcFailure, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

interface Outstanding {
  readonly callId: number;
  readonly retryCount: number;
  readonly responseType: string;
  readonly timer: NodeJS.Timeout;
  readonly resolve: (reply: Reply<Plain>) => void;
  readonly reject: (error: Error) => void;
}

/** One connection of one user; calls are multiplexed on it. It is not opened again: whoever owns it makes another. */
export class RpcClient implements Disposable {
  readonly clientId: Buffer;
  /** Answers that nobody waited for (late ones, duplicates); they are dropped. */
  unknownReplies = 0;

  readonly #options: ConnectOptions;
  readonly #where: string;
  readonly #socket: Socket;
  readonly #frames: FrameAssembler;
  /** Calls that wait for their answers, in the order in which they were sent, by call id: a test may use one twice. */
  readonly #outstanding = new Map<number, Outstanding[]>();
  #outstandingCalls = 0;
  #nextCallId = 0;
  #closedBecause: Error | undefined;
  /** Settles `connect`; gone once calls may be sent. */
  #opening: { readonly resolve: () => void; readonly reject: (error: Error) => void } | undefined;

  private constructor(options: ConnectOptions) {
    this.#options = options;
    this.#where = `${options.host}:${options.port}`;
    this.clientId = options.clientId ?? randomBytes(CLIENT_ID_BYTES);
    this.#frames = new FrameAssembler(
      { onFrame: (buffer, start, end) => this.#onFrame(buffer, start, end) },
      MAX_RESPONSE_BYTES,
      // One frame at a time, bounded by its limit.
      { claim: () => true, release: () => undefined },
    );
    this.#socket = connectTcp({ host: options.host, port: options.port, noDelay: true });
  }

  /** Opens a connection. Rejects with RpcError, or RemoteError when the server refuses SASL. */
  static async connect(options: ConnectOptions): Promise<RpcClient> {
    const client = new RpcClient(options);
    await client.#open(options.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS);
    return client;
  }

  get isClosed(): boolean {
    return this.#closedBecause !== undefined;
  }

  /**
   * Calls a method. Types are full protobuf names, `request` is as `encode` of messages.ts takes it, and the response as its `Plain`.
   * Rejects with RemoteError, RpcError, or MessageError when the request does not fit its type.
   */
  call<Response extends object = Plain>(
    protocol: string,
    method: string,
    requestType: string,
    responseType: string,
    request: object,
    options: CallOptions = {},
  ): Promise<Reply<Response>> {
    return new Promise((resolve, reject) => {
      this.#refuseWhenUnable(method);
      const callId = options.callId ?? this.#takeCallId();
      const retryCount = options.retryCount ?? 0;
      const frame = frameOf([
        encodeDelimited(
          messageType('hadoop.common.RpcRequestHeaderProto'),
          this.#callHeader(callId, retryCount, options),
        ),
        encodeDelimited(messageType('hadoop.common.RequestHeaderProto'), {
          methodName: method,
          declaringClassProtocolName: protocol,
          clientProtocolVersion: PROTOCOLS.find((known) => known.name === protocol)?.version ?? 1,
        }),
        encodeDelimited(messageType(requestType), request),
      ]);
      const timeoutMs = options.timeoutMs ?? this.#options.timeoutMs ?? DEFAULT_CALL_TIMEOUT_MS;
      const timer = setTimeout(() => {
        this.#forget(waiting);
        reject(new RpcError('TIMEOUT', `${method} on ${this.#where}: no answer within ${timeoutMs} ms`));
      }, timeoutMs);
      // The caller says which message the response type is.
      const settle = resolve as (reply: Reply<object>) => void;
      const waiting: Outstanding = { callId, retryCount, responseType, timer, resolve: settle, reject };
      this.#remember(waiting);
      this.#socket.write(frame);
    });
  }

  /** Closes the connection; calls that wait for their answers are rejected. */
  close(): void {
    this.#end(new RpcError('CLOSED', `the connection to ${this.#where} was closed on this side`));
  }

  [Symbol.dispose](): void {
    this.close();
  }

  async #open(timeoutMs: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#opening = { resolve, reject };
    const timer = setTimeout(() => {
      this.#end(new RpcError('TIMEOUT', `${this.#where}: no connection within ${timeoutMs} ms`));
    }, timeoutMs);
    const socket = this.#socket;
    socket.on('connect', () => this.#greet());
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
    socket.on('error', (error) => this.#end(this.#lost(error)));
    socket.on('close', () => this.#end(this.#lost()));
    try {
      await promise;
    } finally {
      clearTimeout(timer);
    }
  }

  #greet(): void {
    const { sasl = false } = this.#options;
    this.#socket.write(Buffer.from([...Buffer.from('hrpc'), VERSION, 0, sasl ? AUTH_SASL : AUTH_SIMPLE]));
    if (sasl) {
      this.#sendSasl({ state: 'NEGOTIATE' });
    } else {
      this.#opened();
    }
  }

  /** Calls may be sent now; the connection context goes first. */
  #opened(): void {
    const { user, realUser, protocol = PROTOCOLS[0]!.name } = this.#options;
    const userInfo = { effectiveUser: user, realUser: realUser === '' ? undefined : realUser };
    this.#send(CONTEXT_CALL_ID, this.clientId, 'hadoop.common.IpcConnectionContextProto', { userInfo, protocol });
    this.#opening?.resolve();
    this.#opening = undefined;
  }

  #sendSasl(message: object): void {
    this.#send(SASL_CALL_ID, Buffer.alloc(0), 'hadoop.common.RpcSaslProto', message);
  }

  /** Sends a message that is not a call. */
  #send(callId: number, clientId: Buffer, type: string, message: object): void {
    const header = { rpcKind: 'RPC_PROTOCOL_BUFFER', rpcOp: 'RPC_FINAL_PACKET', callId, clientId, retryCount: -1 };
    const headerType = messageType('hadoop.common.RpcRequestHeaderProto');
    this.#socket.write(frameOf([encodeDelimited(headerType, header), encodeDelimited(messageType(type), message)]));
  }

  #callHeader(callId: number, retryCount: number, options: CallOptions): object {
    const { callerContext, signature, stateId, federatedState } = options;
    return {
      rpcKind: 'RPC_PROTOCOL_BUFFER',
      rpcOp: 'RPC_FINAL_PACKET',
      callId,
      clientId: this.clientId,
      retryCount,
      callerContext: callerContext === undefined ? undefined : { context: callerContext, signature },
      stateId,
      routerFederatedState:
        federatedState === undefined || Buffer.isBuffer(federatedState)
          ? federatedState
          : encode(messageType('hadoop.hdfs.RouterFederatedStateProto'), { namespaceStateIds: federatedState }),
    };
  }

  #refuseWhenUnable(method: string): void {
    if (this.#closedBecause !== undefined) {
      const cause = this.#closedBecause;
      throw new RpcError('CLOSED', `${method} on ${this.#where}: the connection is closed (${cause.message})`, cause);
    }
    if (this.#outstandingCalls >= MAX_OUTSTANDING_CALLS) {
      throw new RpcError(
        'REFUSED',
        `${method} on ${this.#where}: ${this.#outstandingCalls} calls wait for answers already`,
      );
    }
  }

  #takeCallId(): number {
    const callId = this.#nextCallId;
    this.#nextCallId = (callId + 1) & 0x7fff_ffff;
    return callId;
  }

  #remember(waiting: Outstanding): void {
    const same = this.#outstanding.get(waiting.callId);
    if (same === undefined) {
      this.#outstanding.set(waiting.callId, [waiting]);
    } else {
      same.push(waiting);
    }
    this.#outstandingCalls++;
  }

  #forget(waiting: Outstanding): void {
    clearTimeout(waiting.timer);
    const same = this.#outstanding.get(waiting.callId) ?? [];
    same.splice(same.indexOf(waiting), 1);
    if (same.length === 0) {
      this.#outstanding.delete(waiting.callId);
    }
    this.#outstandingCalls--;
  }

  #onData(chunk: Buffer): void {
    if (this.#frames.feed(chunk, 0, chunk.length) !== FRAMES_OK && !this.isClosed) {
      const text = `${this.#where} announced a frame of ${this.#frames.badLength} bytes: not Hadoop RPC of version ${VERSION}?`;
      this.#end(new RpcError('MALFORMED', text));
    }
  }

  #onFrame(buffer: Buffer, start: number, end: number): boolean {
    if (!this.isClosed) {
      try {
        // Decoded bytes are views: they must not change with the next frame.
        this.#onReply(Buffer.from(buffer.subarray(start, end)));
      } catch (error) {
        if (!(error instanceof MessageError)) {
          throw error;
        }
        this.#end(
          new RpcError('MALFORMED', `${this.#where} sent an answer that cannot be read: ${error.message}`, error),
        );
      }
    }
    return true;
  }

  #onReply(frame: Buffer): void {
    const { message, next } = readDelimited(messageType('hadoop.common.RpcResponseHeaderProto'), frame);
    const header = message as unknown as ResponseHeader;
    if (header.status === 'FATAL') {
      this.#end(new RemoteError(header));
      return;
    }
    if (this.#opening !== undefined) {
      this.#onSasl(header, frame, next);
      return;
    }
    const { clientId } = header;
    if (clientId !== undefined && clientId.length > 0 && !clientId.equals(this.clientId)) {
      const text = `${this.#where} sent the answer to call ${header.callId} of another client (id ${clientId.toString('hex')})`;
      this.#end(new RpcError('MALFORMED', text));
      return;
    }
    const same = this.#outstanding.get(header.callId);
    const waiting = same?.find((each) => each.retryCount === header.retryCount) ?? same?.[0];
    if (waiting === undefined) {
      this.unknownReplies++;
      return;
    }
    if (header.status === 'ERROR') {
      this.#forget(waiting);
      waiting.reject(new RemoteError(header));
      return;
    }
    const response = readDelimited(messageType(waiting.responseType), frame, next).message;
    this.#forget(waiting);
    waiting.resolve({ response, header });
  }

  /** The server's side of the negotiation: SUCCESS at once is its switch to SIMPLE, otherwise SIMPLE must be among its offers. */
  #onSasl(header: ResponseHeader, frame: Buffer, start: number): void {
    if (header.callId !== SASL_CALL_ID || header.status !== 'SUCCESS') {
      this.#end(new RpcError('MALFORMED', `${this.#where} answered the SASL negotiation with call ${header.callId}`));
      return;
    }
    const { message } = readDelimited(messageType('hadoop.common.RpcSaslProto'), frame, start);
    if (message['state'] === 'SUCCESS') {
      this.#opened();
      return;
    }
    const offers = message['auths'] as Plain[];
    const simple = offers.find((offer) => offer['method'] === 'SIMPLE');
    if (message['state'] !== 'NEGOTIATE' || simple === undefined) {
      const methods = offers.map((offer) => offer['method']).join(', ');
      this.#end(new RpcError('REFUSED', `${this.#where} offers no SIMPLE authentication, only ${methods || 'none'}`));
      return;
    }
    this.#sendSasl({ state: 'INITIATE', auths: [{ ...simple, challenge: undefined }] });
    this.#opened();
  }

  #lost(error?: NodeJS.ErrnoException): RpcError {
    if (this.#opening !== undefined) {
      const why = error === undefined ? 'closed by the server' : (error.code ?? error.message);
      return new RpcError('CONNECT', `cannot connect to ${this.#where}: ${why}`, error);
    }
    const why = error === undefined ? 'by the server' : `(${error.code ?? error.message})`;
    return new RpcError('CLOSED', `the connection to ${this.#where} was closed ${why}`, error);
  }

  /** The connection is over; the first reason counts. */
  #end(because: Error): void {
    if (this.#closedBecause !== undefined) {
      return;
    }
    this.#closedBecause = because;
    this.#socket.destroy();
    this.#frames.release();
    this.#opening?.reject(because);
    this.#opening = undefined;
    const all = [...this.#outstanding.values()].flat();
    for (const waiting of all) {
      this.#forget(waiting);
      waiting.reject(because);
    }
  }
}

function frameOf(parts: readonly Buffer[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const prefix = Buffer.alloc(4);
  prefix.writeUInt32BE(length);
  return Buffer.concat([prefix, ...parts]);
}
