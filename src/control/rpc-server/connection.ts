/**
 * One client connection of a Hadoop RPC server:
 *
 *   stream     = preamble { frame }
 *   preamble   = "hrpc" version:9 service-class auth        auth: 0x00 none, 0xdf SASL
 *   frame      = length:u32 delimited(RpcRequestHeaderProto) content
 *   content    = RpcSaslProto (call id -33) | IpcConnectionContextProto (-3) | nothing (ping, -4)
 *              | delimited(RequestHeaderProto) delimited(request message)      all delimited by a varint length
 *
 * It reads frames and says what is wrong with them as a Java server does; good calls go to the server.
 */
import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Plain } from '../../wire/messages.ts';
import { decodePlain, messageType } from '../../wire/messages.ts';
import { PROTOCOL_VERSION, type RpcCall, type RpcMethod } from './call.ts';
import { messageOf, messagesOf, numberOf, textOf } from './fields.ts';
import { delimited, headerProblem, messageText } from './frame-parts.ts';
import { JAVA, type JavaClass, RemoteException } from './remote-exception.ts';
import {
  CallId,
  encodeError,
  encodeOldVersionMismatch,
  encodeSuccess,
  HTTP_ANSWER,
  headWithoutCall,
  IPC_VERSION,
  type ReplyError,
} from './reply.ts';

const PREAMBLE_BYTES = 7;
const LENGTH_BYTES = 4;
const AUTH_NONE = 0x00;
const AUTH_SASL = 0xdf;
/** A client that leaves this much unread is closed. */
const MAX_OUTBOX_BYTES = 256 * 1024 * 1024;

/** Who speaks on a connection, by its context; '' for what the context leaves out. */
export interface Identity {
  readonly user: string;
  readonly realUser: string;
  readonly protocol: string;
  /** Numeric address of the far end. */
  readonly machine: string;
}

/** What a connection needs from its server. */
export interface ConnectionOwner<Method extends RpcMethod, Caller> {
  readonly maxFrameBytes: number;
  /** Until the context is accepted. */
  readonly maxLoginFrameBytes: number;
  /** Offers tokens beside SIMPLE; else a negotiation ends at once with the order to go on without SASL. */
  readonly offersTokens: boolean;
  /** State id for reply headers, null when they carry none. */
  stateId(): number | null;
  methodsOf(protocol: string): ReadonlyMap<string, Method> | undefined;
  /** The caller of a connection's calls. Throws or rejects with RemoteException when there shall be none. */
  login(identity: Identity): Caller | Promise<Caller>;
  /** Text of an exception that ends a call, as it goes out. */
  errorText(message: string, method: string): string;
  /** More or fewer bytes of unfinished requests and unread answers are held than before; false closes the connection. */
  onHeldBytes(change: number): boolean;
  admit(connection: RpcConnection<Method, Caller>, call: RpcCall<Method, Caller>): void;
  onClosed(connection: RpcConnection<Method, Caller>): void;
}

type Phase = 'preamble' | 'sasl' | 'context' | 'login' | 'calls' | 'closed';

export class RpcConnection<Method extends RpcMethod, Caller> {
  /** Time of the last bytes in either direction, for `performance.now`'s clock. */
  lastActiveMs = performance.now();
  /** Calls that were admitted and not answered; the server counts them. */
  openCalls = 0;
  readonly #socket: Socket;
  readonly #owner: ConnectionOwner<Method, Caller>;
  readonly #machine: string;
  readonly #port: number;
  #phase: Phase = 'preamble';
  /** The preamble asked for SASL, and it has not ended in SIMPLE yet. */
  #negotiating = false;
  #negotiated = false;
  #caller: Caller | null = null;
  #realUser = '';
  #protocol = '';
  #paused = false;
  #reading = false;
  #chunks: Buffer[] = [];
  #bufferedBytes = 0;
  /** What the owner knows of. */
  #heldBytes = 0;
  /** Nothing can be done before this many bytes are there. */
  #neededBytes = PREAMBLE_BYTES;
  #outbox: Buffer[] = [];

  constructor(socket: Socket, owner: ConnectionOwner<Method, Caller>) {
    this.#socket = socket;
    this.#owner = owner;
    this.#machine = (socket.remoteAddress ?? '').replace(/^::ffff:/, '');
    this.#port = socket.remotePort ?? 0;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
    // What breaks a socket is the client's affair; its calls are dropped with it.
    socket.on('error', () => this.destroy());
    socket.on('close', () => this.#onClose());
    socket.on('drain', () => this.#reportHeld());
  }

  get closed(): boolean {
    return this.#phase === 'closed';
  }

  /** Whether the context was accepted. */
  get loggedIn(): boolean {
    return this.#phase === 'calls';
  }

  /** Reads no further, not even what is there already. */
  pause(): void {
    this.#paused = true;
    this.#socket.pause();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#read();
    if (!this.#paused && this.#phase !== 'login') this.#socket.resume();
  }

  destroy(): void {
    this.#socket.destroy();
    this.#onClose();
  }

  /** Writes go out together at the end of the turn. */
  send(bytes: Buffer): void {
    if (this.closed) {
      return;
    }
    this.lastActiveMs = performance.now();
    this.#outbox.push(bytes);
    if (this.#outbox.length === 1) {
      setImmediate(() => this.#flush());
    }
  }

  /** Sends a FATAL reply and closes: so do NameNodes. */
  sendFatal(callId: number, detail: string, javaClass: JavaClass, message: string, retryCount = -1): void {
    this.send(
      encodeError(headWithoutCall(callId, this.#owner.stateId(), retryCount), {
        status: 'FATAL',
        detail,
        javaClass,
        message,
      }),
    );
    this.#closeAfterFlush();
  }

  #flush(): void {
    const parts = this.#outbox;
    this.#outbox = [];
    if (parts.length > 0 && !this.#socket.destroyed) {
      this.#socket.write(parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts));
      if (this.#socket.writableLength > MAX_OUTBOX_BYTES || !this.#reportHeld()) {
        this.destroy();
      }
    }
  }

  #closeAfterFlush(): void {
    this.#flush();
    this.#socket.end();
    this.#onClose();
  }

  #onClose(): void {
    if (this.#phase !== 'closed') {
      this.#phase = 'closed';
      this.#chunks = [];
      this.#bufferedBytes = 0;
      this.#reportHeld();
      this.#owner.onClosed(this);
    }
  }

  #onData(chunk: Buffer): void {
    if (this.closed) return;
    this.lastActiveMs = performance.now();
    this.#chunks.push(chunk);
    this.#bufferedBytes += chunk.length;
    this.#read();
    if (!this.#reportHeld()) this.destroy();
  }

  /** Takes what is complete, as long as nothing holds it up. */
  #read(): void {
    if (this.#reading || this.#bufferedBytes < this.#neededBytes) return;
    this.#reading = true;
    const bytes = this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks);
    let at = 0;
    while (!this.closed && !this.#paused && this.#phase !== 'login') {
      const taken = this.#phase === 'preamble' ? this.#takePreamble(bytes, at) : this.#takeFrame(bytes, at);
      if (taken === 0) {
        break;
      }
      at += taken;
    }
    this.#reading = false;
    this.#chunks = at < bytes.length && !this.closed ? [bytes.subarray(at)] : [];
    this.#bufferedBytes = this.closed ? 0 : bytes.length - at;
  }

  #reportHeld(): boolean {
    const held = this.#bufferedBytes + (this.closed ? 0 : this.#socket.writableLength);
    const change = held - this.#heldBytes;
    this.#heldBytes = held;
    return change === 0 || this.#owner.onHeldBytes(change);
  }

  #takePreamble(bytes: Buffer, at: number): number {
    if (bytes.length - at < PREAMBLE_BYTES) {
      this.#neededBytes = PREAMBLE_BYTES;
      return 0;
    }
    const magic = bytes.toString('latin1', at, at + 4);
    const version = bytes.readInt8(at + 4);
    const auth = bytes.readUInt8(at + 6);
    if (magic === 'GET ') {
      this.send(HTTP_ANSWER);
      this.#closeAfterFlush();
    } else if (magic !== 'hrpc' || version !== IPC_VERSION) {
      this.#refuseVersion(version);
    } else if (auth !== AUTH_NONE && auth !== AUTH_SASL) {
      this.sendFatal(CallId.FATAL, 'FATAL_UNAUTHORIZED', JAVA.IPC, `Unknown auth protocol:${(auth << 24) >> 24}`);
    } else {
      this.#phase = auth === AUTH_SASL ? 'sasl' : 'context';
      this.#negotiating = auth === AUTH_SASL;
    }
    return PREAMBLE_BYTES;
  }

  #refuseVersion(version: number): void {
    const message = `Server IPC version ${IPC_VERSION} cannot communicate with client version ${version}`;
    if (version >= IPC_VERSION) {
      this.sendFatal(CallId.FATAL, 'FATAL_VERSION_MISMATCH', JAVA.VERSION_MISMATCH, message);
      return;
    }
    if (version >= 2) {
      this.send(encodeOldVersionMismatch(version, JAVA.VERSION_MISMATCH, message));
    }
    this.#closeAfterFlush();
  }

  #takeFrame(bytes: Buffer, at: number): number {
    const left = bytes.length - at;
    if (left < LENGTH_BYTES) {
      this.#neededBytes = LENGTH_BYTES;
      return 0;
    }
    const length = bytes.readInt32BE(at);
    const { maxFrameBytes, maxLoginFrameBytes } = this.#owner;
    if (length < 0 || length > (this.#caller === null ? maxLoginFrameBytes : maxFrameBytes)) {
      this.#closeAfterFlush();
      return LENGTH_BYTES;
    }
    if (left < LENGTH_BYTES + length) {
      this.#neededBytes = LENGTH_BYTES + length;
      return 0;
    }
    this.#neededBytes = LENGTH_BYTES;
    this.#onFrame(bytes, at + LENGTH_BYTES, at + LENGTH_BYTES + length);
    return LENGTH_BYTES + length;
  }

  #onFrame(bytes: Buffer, start: number, end: number): void {
    let header: Plain;
    let content: number;
    try {
      const { from, to } = delimited(bytes, start, end);
      header = decodePlain(messageType('hadoop.common.RpcRequestHeaderProto'), bytes, from, to);
      content = to;
    } catch (error) {
      const message = `Error decoding RpcRequestHeaderProto: ${messageText(error)}`;
      this.sendFatal(CallId.FATAL, 'FATAL_DESERIALIZING_REQUEST', JAVA.RPC_SERVER, message);
      return;
    }
    const callId = numberOf(header, 'callId');
    const problem = headerProblem(header);
    if (problem !== '') {
      this.#refuseHeader(header, problem);
    } else if (callId === CallId.SASL) {
      this.#onSasl(header, bytes, content, end);
    } else if (callId === CallId.CONTEXT) {
      this.#onContext(header, bytes, content, end);
    } else if (callId === CallId.PING) {
      // Nothing to answer: the client only makes sure that the connection is alive.
    } else if (callId < 0) {
      this.#refuseHeader(header, `Unknown out of band call #${callId}`);
    } else if (this.#caller === null) {
      this.#refuseHeader(header, 'Connection context not established');
    } else {
      this.#onCall(this.#caller, header, bytes, content, end);
    }
  }

  #refuseHeader(header: Plain, message: string): void {
    const retryCount = numberOf(header, 'retryCount', -1);
    this.sendFatal(numberOf(header, 'callId'), 'FATAL_INVALID_RPC_HEADER', JAVA.RPC_SERVER, message, retryCount);
  }

  /** A client that takes an offered SIMPLE gets no answer and goes on with its context. */
  #onSasl(header: Plain, bytes: Buffer, content: number, end: number): void {
    if (!this.#negotiating) {
      this.#refuseHeader(header, 'SASL protocol not requested by client');
      return;
    }
    let sasl: Plain;
    try {
      const { from, to } = delimited(bytes, content, end);
      sasl = decodePlain(messageType('hadoop.common.RpcSaslProto'), bytes, from, to);
    } catch (error) {
      this.sendFatal(CallId.SASL, 'FATAL_DESERIALIZING_REQUEST', JAVA.RPC_SERVER, messageText(error));
      return;
    }
    const state = textOf(sasl, 'state');
    const auth = messagesOf(sasl, 'auths')[0] ?? {};
    const method = textOf(auth, 'method');
    if (state === 'NEGOTIATE' && this.#negotiated) {
      this.#refuseSasl(JAVA.ACCESS_CONTROL, 'Client already attempted negotiation');
    } else if (state === 'NEGOTIATE') {
      this.#negotiate();
    } else if (state !== 'INITIATE') {
      this.#refuseSasl(JAVA.SASL, `Client sent unsupported state ${state}`);
    } else if (method === 'SIMPLE') {
      this.#negotiating = false;
      this.#phase = 'context';
    } else if (method === 'TOKEN' && this.#owner.offersTokens) {
      // Nobody has one here.
      this.#refuseSasl(JAVA.INVALID_TOKEN, "Token for real user: , can't be found in cache");
    } else if (this.#negotiated || !this.#owner.offersTokens) {
      const available = this.#owner.offersTokens ? 'TOKEN, SIMPLE' : 'SIMPLE';
      this.#refuseSasl(JAVA.ACCESS_CONTROL, `${method} authentication is not enabled.  Available:[${available}]`);
    } else {
      this.#offer();
    }
  }

  #negotiate(): void {
    if (this.#owner.offersTokens) {
      this.#offer();
      return;
    }
    this.#negotiating = false;
    this.#phase = 'context';
    const head = headWithoutCall(CallId.SASL, this.#owner.stateId());
    this.send(encodeSuccess(head, messageType('hadoop.common.RpcSaslProto'), { state: 'SUCCESS' }));
  }

  #offer(): void {
    this.#negotiated = true;
    const nonce = randomBytes(30).toString('base64');
    const challenge = `realm="default",nonce="${nonce}",qop="auth",charset=utf-8,algorithm=md5-sess`;
    this.send(
      encodeSuccess(headWithoutCall(CallId.SASL, this.#owner.stateId()), messageType('hadoop.common.RpcSaslProto'), {
        state: 'NEGOTIATE',
        auths: [
          {
            method: 'TOKEN',
            mechanism: 'DIGEST-MD5',
            protocol: '',
            serverId: 'default',
            challenge: Buffer.from(challenge),
          },
          { method: 'SIMPLE', mechanism: '' },
        ],
      }),
    );
  }

  #refuseSasl(javaClass: JavaClass, message: string): void {
    this.sendFatal(CallId.SASL, 'FATAL_UNAUTHORIZED', javaClass, message);
  }

  #onContext(header: Plain, bytes: Buffer, content: number, end: number): void {
    if (this.#negotiating) {
      this.#refuseHeader(header, 'Connection header sent during SASL negotiation');
      return;
    }
    if (this.#caller !== null) {
      this.#refuseHeader(header, 'Connection context already processed');
      return;
    }
    let context: Plain;
    try {
      const { from, to } = delimited(bytes, content, end);
      context = decodePlain(messageType('hadoop.common.IpcConnectionContextProto'), bytes, from, to);
    } catch (error) {
      const message = `Error decoding IpcConnectionContextProto: ${messageText(error)}`;
      this.sendFatal(CallId.CONTEXT, 'FATAL_DESERIALIZING_REQUEST', JAVA.RPC_SERVER, message);
      return;
    }
    const userInfo = messageOf(context, 'userInfo') ?? {};
    this.#realUser = textOf(userInfo, 'realUser');
    this.#protocol = textOf(context, 'protocol');
    const user = textOf(userInfo, 'effectiveUser');
    this.#login({ user, realUser: this.#realUser, protocol: this.#protocol, machine: this.#machine });
  }

  #login(identity: Identity): void {
    try {
      const caller = this.#owner.login(identity);
      if (caller instanceof Promise) {
        this.#phase = 'login';
        this.#socket.pause();
        caller.then(
          (known: Caller) => this.#onLogin(known),
          (error: unknown) => this.#refuseLogin(error),
        );
      } else this.#accept(caller);
    } catch (error) {
      this.#refuseLogin(error);
    }
  }

  #accept(caller: Caller): void {
    this.#caller = caller;
    this.#phase = 'calls';
  }

  #onLogin(caller: Caller): void {
    if (this.closed) return;
    this.#accept(caller);
    this.#read();
    this.#reportHeld();
    if (!this.#paused) this.#socket.resume();
  }

  #refuseLogin(error: unknown): void {
    if (this.closed) return;
    const refusal = error instanceof RemoteException ? error : null;
    const message = error instanceof Error ? error.message : String(error);
    this.sendFatal(CallId.CONTEXT, 'FATAL_UNAUTHORIZED', refusal?.javaClass ?? JAVA.AUTHORIZATION, message);
  }

  #onCall(caller: Caller, header: Plain, bytes: Buffer, content: number, end: number): void {
    const callId = numberOf(header, 'callId');
    const retryCount = numberOf(header, 'retryCount', -1);
    const clientId = header['clientId'] as Buffer;
    const refuse = (detail: string, javaClass: JavaClass, message: string): void => {
      const error: ReplyError = { status: 'ERROR', detail, javaClass, message: this.#owner.errorText(message, 'call') };
      this.send(encodeError({ callId, retryCount, clientId, stateId: this.#owner.stateId() }, error));
    };
    let request: Plain;
    let body: { from: number; to: number };
    try {
      const { from, to } = delimited(bytes, content, end);
      request = decodePlain(messageType('hadoop.common.RequestHeaderProto'), bytes, from, to);
      body = { from: to, to: end };
    } catch (error) {
      refuse('ERROR_RPC_SERVER', JAVA.RPC_SERVER, messageText(error));
      return;
    }
    const protocol = textOf(request, 'declaringClassProtocolName');
    const name = textOf(request, 'methodName');
    const version = numberOf(request, 'clientProtocolVersion');
    const methods = this.#owner.methodsOf(protocol);
    const method = methods?.get(name);
    if (methods === undefined) {
      refuse('ERROR_NO_SUCH_PROTOCOL', JAVA.NO_SUCH_PROTOCOL, `Unknown protocol: ${protocol}`);
    } else if (version !== PROTOCOL_VERSION) {
      const message = `Protocol ${protocol} version mismatch. (client = ${version}, server = ${PROTOCOL_VERSION})`;
      refuse('ERROR_RPC_VERSION_MISMATCH', JAVA.VERSION_MISMATCH, message);
    } else if (method === undefined) {
      const message = `Unknown method ${name} called on ${this.#protocol} protocol.`;
      refuse('ERROR_NO_SUCH_METHOD', JAVA.NO_SUCH_METHOD, message);
    } else {
      let decoded: Plain;
      let message: Buffer;
      try {
        const { from, to } = delimited(bytes, body.from, body.to);
        message = bytes.subarray(from, to);
        decoded = decodePlain(method.request, bytes, from, to);
      } catch (error) {
        refuse('ERROR_APPLICATION', JAVA.PROTOBUF, messageText(error));
        return;
      }
      const context = messageOf(header, 'callerContext');
      const signature = context?.['signature'];
      const stateId = header['stateId'];
      this.#owner.admit(this, {
        method,
        request: decoded,
        message,
        caller,
        realUser: this.#realUser,
        machine: this.#machine,
        clientPort: this.#port,
        clientId,
        callId,
        retryCount,
        callerContext: context === undefined ? '' : textOf(context, 'context'),
        callerSignature: Buffer.isBuffer(signature) ? signature.toString('hex') : '',
        stateId: typeof stateId === 'number' || typeof stateId === 'bigint' ? BigInt(stateId) : null,
      });
    }
  }
}
