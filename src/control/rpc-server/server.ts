/**
 * A Hadoop RPC server for few calls: it listens, reads calls, runs each method as a promise and sends what comes of it. Everything that a
 * client can pile up has a bound; see the constants for what happens there.
 */
import { createServer, type Server, type Socket } from 'node:net';
import { MessageError } from '../../wire/messages.ts';
import type { RpcCall, RpcMethod } from './call.ts';
import { type ConnectionOwner, type Identity, RpcConnection } from './connection.ts';
import { JAVA, type JavaClass, RemoteException } from './remote-exception.ts';
import { encodeError, encodeSuccess, headWithoutCall } from './reply.ts';

/** Connections at one time; one more is closed at once. */
export const MAX_CONNECTIONS = 1_024;
/** Calls that run at one time; one more is answered with RetriableException. */
export const MAX_RUNNING_CALLS = 512;
/** Calls of one connection that run at one time; then the connection is not read until one has ended. */
export const MAX_CALLS_OF_CONNECTION = 16;
/** Longest request; a longer one closes its connection, as a Java server does at its own limit. */
export const MAX_REQUEST_BYTES = 16 * 1024 * 1024;
/** Longest frame of a client that has not said who it is. */
const MAX_LOGIN_FRAME_BYTES = 64 * 1024;
/** Bytes of unfinished requests and unread answers of all connections; a connection that goes beyond is closed. */
export const MAX_HELD_BYTES = 64 * 1024 * 1024;
/** A client that has not said who it is by then is closed. */
const LOGIN_WITHIN_MS = 30_000;
/** Longest time that a call may take; the caller is told so then. */
const CALL_WITHIN_MS = 180_000;
const MAX_SCAN_MS = 5_000;
/** How long `stop` waits for calls that run. */
const STOP_WITHIN_MS = 2_000;

/** A method and what it does: fields of the response, or a rejection, best with RemoteException. */
export interface ServiceMethod<Caller> extends RpcMethod {
  run(call: RpcCall<RpcMethod, Caller>): Promise<object>;
}

/** Methods by protocol and name. */
export type ServiceTable<Caller> = ReadonlyMap<string, ReadonlyMap<string, ServiceMethod<Caller>>>;

export interface RpcServerOptions<Caller> {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly maxFrameBytes?: number;
  /** A connection without calls is closed after it. */
  readonly idleMs: number;
  readonly callWithinMs?: number;
  readonly services: ServiceTable<Caller>;
  /** Throws or rejects with RemoteException when the user may not have a connection. */
  login(identity: Identity): Caller | Promise<Caller>;
  /** An exception that is none of RemoteException: a defect, or something outside that broke. */
  onUnexpected(method: string, error: unknown): void;
}

export interface RpcCount {
  calls: number;
  /** Time that they took, summed. */
  ms: number;
}

type Connection<Caller> = RpcConnection<ServiceMethod<Caller>, Caller>;
type Call<Caller> = RpcCall<ServiceMethod<Caller>, Caller>;

export class RpcServer<Caller> implements ConnectionOwner<ServiceMethod<Caller>, Caller>, AsyncDisposable {
  readonly maxFrameBytes: number;
  readonly maxLoginFrameBytes = MAX_LOGIN_FRAME_BYTES;
  readonly offersTokens = false;
  /** 0 until it listens. */
  port = 0;
  readonly #options: RpcServerOptions<Caller>;
  readonly #server: Server;
  readonly #connections = new Map<Connection<Caller>, { readonly sinceMs: number }>();
  readonly #answered = new Map<string, RpcCount>();
  #runningCalls = 0;
  #heldBytes = 0;
  #stopping = false;
  #scan: NodeJS.Timeout | undefined;
  #onQuiet: () => void = () => {};

  constructor(options: RpcServerOptions<Caller>) {
    this.#options = options;
    this.maxFrameBytes = Math.min(options.maxFrameBytes ?? MAX_REQUEST_BYTES, MAX_REQUEST_BYTES);
    this.#server = createServer((socket) => this.#accept(socket));
  }

  get connections(): number {
    return this.#connections.size;
  }

  /** Calls answered since the start, by what a Java server counts them as: the method, or the simple class of the exception. */
  get answered(): ReadonlyMap<string, RpcCount> {
    return this.#answered;
  }

  get runningCalls(): number {
    return this.#runningCalls;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Rejects with the system's error when the port cannot be had. */
  start(): Promise<void> {
    const { host, port, idleMs } = this.#options;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#server.once('error', reject);
    this.#server.listen({ host, port }, () => {
      this.#server.off('error', reject);
      // What fails later (no descriptors left, for one) costs that client its connection.
      this.#server.on('error', (error) => this.#options.onUnexpected('accept', error));
      const address = this.#server.address();
      this.port = typeof address === 'object' && address !== null ? address.port : port;
      this.#scan = setInterval(() => this.#closeIdle(), Math.max(1, Math.min(MAX_SCAN_MS, idleMs / 2)));
      this.#scan.unref();
      resolve();
    });
    return promise;
  }

  /** Accepts and reads nothing more; calls that run get a moment to be answered. */
  async stop(): Promise<void> {
    this.#stopping = true;
    clearInterval(this.#scan);
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const connection of this.#connections.keys()) {
      if (connection.openCalls === 0) connection.destroy();
      else connection.pause();
    }
    if (this.#runningCalls > 0) {
      let timer: NodeJS.Timeout | undefined;
      const waited = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, STOP_WITHIN_MS);
      });
      const quiet = new Promise<void>((resolve) => {
        this.#onQuiet = resolve;
      });
      await Promise.race([waited, quiet]);
      clearTimeout(timer);
      // Answers leave at the end of the turn.
      await new Promise((resolve) => setImmediate(resolve));
    }
    for (const connection of this.#connections.keys()) connection.destroy();
    await closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #accept(socket: Socket): void {
    if (this.#connections.size >= MAX_CONNECTIONS) {
      socket.destroy();
      return;
    }
    this.#connections.set(new RpcConnection(socket, this), { sinceMs: performance.now() });
  }

  #closeIdle(): void {
    const nowMs = performance.now();
    for (const [connection, { sinceMs }] of this.#connections) {
      const isIdle = connection.openCalls === 0 && nowMs - connection.lastActiveMs >= this.#options.idleMs;
      if (isIdle || (!connection.loggedIn && nowMs - sinceMs >= LOGIN_WITHIN_MS)) connection.destroy();
    }
  }

  // --- ConnectionOwner

  stateId(): null {
    return null;
  }

  methodsOf(protocol: string): ReadonlyMap<string, ServiceMethod<Caller>> | undefined {
    return this.#options.services.get(protocol);
  }

  login(identity: Identity): Caller | Promise<Caller> {
    return this.#options.login(identity);
  }

  errorText(message: string): string {
    return message;
  }

  onHeldBytes(change: number): boolean {
    this.#heldBytes += change;
    return change <= 0 || this.#heldBytes <= MAX_HELD_BYTES;
  }

  onClosed(connection: Connection<Caller>): void {
    this.#connections.delete(connection);
  }

  admit(connection: Connection<Caller>, call: Call<Caller>): void {
    if (this.#runningCalls >= MAX_RUNNING_CALLS) {
      const head = headWithoutCall(call.callId, null, call.retryCount);
      const busy = { javaClass: JAVA.RETRIABLE, message: `Server too busy: ${MAX_RUNNING_CALLS} calls run already` };
      connection.send(encodeError(head, { status: 'ERROR', detail: 'ERROR_RPC_SERVER', ...busy }));
      return;
    }
    this.#runningCalls++;
    if (++connection.openCalls >= MAX_CALLS_OF_CONNECTION) connection.pause();
    void this.#answer(connection, call);
  }

  async #answer(connection: Connection<Caller>, call: Call<Caller>): Promise<void> {
    connection.send(await this.#replyTo(call));
    connection.openCalls--;
    if (!this.#stopping) connection.resume();
    if (--this.#runningCalls === 0) this.#onQuiet();
  }

  async #replyTo(call: Call<Caller>): Promise<Buffer> {
    const { callId, retryCount, clientId, method } = call;
    const head = { callId, retryCount, clientId, stateId: null };
    const sinceMs = performance.now();
    const refuse = (detail: string, javaClass: JavaClass, message: string): Buffer => {
      this.#count(javaClass.split(/[.$]/).at(-1) ?? javaClass, sinceMs);
      return encodeError(head, { status: 'ERROR', detail, javaClass, message });
    };
    let answer: object;
    try {
      answer = await this.#runInTime(call);
    } catch (error) {
      if (error instanceof RemoteException) return refuse('ERROR_APPLICATION', error.javaClass, error.message);
      this.#options.onUnexpected(method.name, error);
      return refuse('ERROR_APPLICATION', JAVA.IO, error instanceof Error ? error.message : String(error));
    }
    try {
      const reply = encodeSuccess(head, method.response, answer);
      this.#count(method.name, sinceMs);
      return reply;
    } catch (error) {
      this.#options.onUnexpected(method.name, error);
      const message = error instanceof MessageError ? error.message : `the answer of ${method.name} cannot be sent`;
      return refuse('ERROR_SERIALIZING_RESPONSE', JAVA.IO, message);
    }
  }

  /** Methods and exception classes are closed sets, so the table stays small. */
  #count(name: string, sinceMs: number): void {
    const before = this.#answered.get(name);
    const ms = performance.now() - sinceMs;
    if (before === undefined) this.#answered.set(name, { calls: 1, ms });
    else {
      before.calls++;
      before.ms += ms;
    }
  }

  async #runInTime(call: Call<Caller>): Promise<object> {
    const withinMs = this.#options.callWithinMs ?? CALL_WITHIN_MS;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        const message = `${call.method.name} has taken longer than ${withinMs} ms; it may still be done: look before you repeat it`;
        reject(new RemoteException(JAVA.IO, message));
      }, withinMs);
      timer.unref();
    });
    try {
      return await Promise.race([call.method.run(call), late]);
    } finally {
      clearTimeout(timer);
    }
  }
}
