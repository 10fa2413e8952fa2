/**
 * A session with an ensemble that outlives connections.
 *
 *   connect ──▶ authenticate, watches again, requests ──▶ lost ──▶ pause with back-off ──▶ connect to the next server …
 *
 * Requests wait while there is no connection; each has a deadline. What reads is sent again after a loss, what writes is not: its caller
 * learns that the outcome is unknown. When the server says that the session has expired, or when nobody could be reached for twice its
 * time-out, a new one begins, without watches.
 */
import type { HostPort } from '../../config/address.ts';
import { formatAddress } from '../../config/address.ts';
import { type Call, Connection } from './connection.ts';
import type { JuteReader } from './jute.ts';
import { PendingCall } from './pending-call.ts';
import {
  type Acl,
  type Credentials,
  decodeAcl,
  decodeStat,
  ErrorCode,
  encodeCreate,
  encodeDelete,
  encodePath,
  encodeRead,
  encodeSetData,
  isCode,
  Operation,
  PASSWORD_BYTES,
  type SessionKey,
  type Stat,
  type WatchEvent,
  ZooKeeperError,
} from './protocol.ts';
import { Watches } from './watches.ts';

/** Most requests of one connection that await their answer. */
const MAX_IN_FLIGHT = 1024;
/** Most requests that wait to be sent; more fail at once. */
export const MAX_QUEUED = 16_384;
/** Longest request: with its header a server takes 1 MiB less one byte, and closes the connection for more. */
export const MAX_REQUEST_BYTES = 1024 * 1024 - 64;

const FIRST_PAUSE_MS = 50;
const MIN_PAUSE_MS = 10;
const MIN_CONNECT_MS = 500;
/** A server that starts takes connections that it forgets: no attempt may use up a request's whole time. */
const ATTEMPTS_PER_TIMEOUT = 3;
const CLOSE_WITHIN_MS = 1000;
/** Session time-outs without any server after which a session is given up. */
const GIVE_UP_TIMEOUTS = 2;
const NO_SESSION: SessionKey = { id: 0n, password: Buffer.alloc(PASSWORD_BYTES) };

export interface SessionOptions {
  readonly servers: readonly HostPort[];
  /** Session time-out to ask for, and the deadline of each request. */
  readonly timeoutMs: number;
  /** How often a read is sent again within its deadline. */
  readonly numRetries: number;
  /** Longest pause between two attempts to connect, before jitter. */
  readonly retryIntervalMs: number;
  readonly auth: readonly Credentials[];
}

export interface SessionListener {
  /** Requests are sent from now on. A new session has no watches. */
  onConnected(isNew: boolean): void;
  onWatch(event: WatchEvent): void;
  /** The session is gone and with it all watches; another one is being opened. */
  onExpired(): void;
  /** A change worth a line in the log. */
  onRemark(text: string): void;
}

export interface NodeData {
  /** A view of the connection's buffer: to be copied before the next turn. */
  readonly data: Buffer;
  readonly stat: Stat;
}

export class Session {
  readonly #options: SessionOptions;
  readonly #listener: SessionListener;
  readonly #servers: readonly HostPort[];
  readonly #watches = new Watches();
  #nextServer = 0;
  #connection: Connection | null = null;
  #isReady = false;
  #isClosed = false;
  #key = NO_SESSION;
  #lastZxid = 0n;
  /** Up to here every change of a watched node has been told; behind #lastZxid while watches are being asked for again. */
  #watchZxid = 0n;
  #partsLeft = 0;
  #timeoutMs: number;
  #failures = 0;
  #lostAtMs = 0;
  #lastReason = '';
  #retryTimer: NodeJS.Timeout | null = null;
  #queue: PendingCall[] = [];

  constructor(options: SessionOptions, listener: SessionListener) {
    this.#options = options;
    this.#listener = listener;
    this.#servers = shuffle(options.servers);
    this.#timeoutMs = options.timeoutMs;
  }

  get isConnected(): boolean {
    return this.#isReady;
  }

  /** '' while nothing has gone wrong since the last connection. */
  get lastReason(): string {
    return this.#lastReason;
  }

  get id(): bigint {
    return this.#key.id;
  }

  /** Whether a change of the node's data would be told. */
  watchesData(path: string): boolean {
    return this.#watches.hasData(path);
  }

  watchesChildren(path: string): boolean {
    return this.#watches.hasChildren(path);
  }

  start(): void {
    if (this.#connection === null && this.#retryTimer === null && !this.#isClosed) this.#connect();
  }

  /** Creates a persistent node with its data. */
  async create(path: string, data: Uint8Array | null, acl: readonly Acl[]): Promise<void> {
    await this.#request(Operation.CREATE, encodeCreate(path, data, acl), false, () => {});
  }

  /** Version −1 stands for any. */
  async delete(path: string, version = -1): Promise<void> {
    await this.#request(Operation.DELETE, encodeDelete(path, version), false, () => {});
  }

  async setData(path: string, data: Uint8Array, version = -1): Promise<Stat> {
    return await this.#request(Operation.SET_DATA, encodeSetData(path, data, version), false, decodeStat);
  }

  /** Null when there is no such node. */
  async exists(path: string): Promise<Stat | null> {
    try {
      return await this.#request(Operation.EXISTS, encodeRead(path, false), true, decodeStat);
    } catch (error) {
      if (isCode(error, ErrorCode.NO_NODE)) return null;
      throw error;
    }
  }

  /** `take` gets what the node holds while it lies in the connection's buffer. */
  async getData<T>(path: string, watch: boolean, take: (node: NodeData) => T): Promise<T> {
    const isWatched = watch && this.#watches.hasRoom;
    return await this.#request(Operation.GET_DATA, encodeRead(path, isWatched), true, (reader) => {
      const taken = take({ data: reader.buffer(), stat: decodeStat(reader) });
      if (isWatched) this.#watches.addData(path);
      return taken;
    });
  }

  async getChildren(path: string, watch: boolean): Promise<string[]> {
    const isWatched = watch && this.#watches.hasRoom;
    return await this.#request(Operation.GET_CHILDREN, encodeRead(path, isWatched), true, (reader) => {
      const names = reader.texts();
      if (isWatched) this.#watches.addChildren(path);
      return names;
    });
  }

  async getAcl(path: string): Promise<Acl[]> {
    return await this.#request(Operation.GET_ACL, encodePath(path), true, decodeAcl);
  }

  /** Afterwards reads see every write that had succeeded before, and every event of a watch up to then has been told. */
  async sync(path: string): Promise<void> {
    await this.#request(Operation.SYNC, encodePath(path), true, () => {});
  }

  /** Ends the session on the server too, as far as that is quick; requests that wait fail. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#retryTimer !== null) clearTimeout(this.#retryTimer);
    const connection = this.#connection;
    if (connection !== null && this.#isReady) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, CLOSE_WITHIN_MS);
      this.#onEnd = resolve;
      connection.closeSession(resolve);
      await promise;
      clearTimeout(timer);
    }
    connection?.close('closed here');
    this.#isReady = false;
    for (const call of this.#queue.splice(0)) call.fail(new ZooKeeperError(ErrorCode.CONNECTION_LOSS, 'closed here'));
  }

  #onEnd: () => void = () => {};

  async #request<T>(operation: number, body: Buffer, isRead: boolean, decode: (reader: JuteReader) => T): Promise<T> {
    if (this.#isClosed) throw new ZooKeeperError(ErrorCode.CONNECTION_LOSS, 'closed here');
    if (body.length > MAX_REQUEST_BYTES) {
      throw new ZooKeeperError(ErrorCode.MARSHALLING, `${body.length} bytes, at most ${MAX_REQUEST_BYTES} are taken`);
    }
    if (this.#queue.length >= MAX_QUEUED) {
      this.#queue = this.#queue.filter((call) => !call.isSettled);
      if (this.#queue.length >= MAX_QUEUED) {
        throw new ZooKeeperError(ErrorCode.OPERATION_TIMEOUT, `${MAX_QUEUED} requests wait already`);
      }
    }
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const call = new PendingCall({
      operation,
      body,
      retriesLeft: isRead ? this.#options.numRetries : 0,
      timeoutMs: this.#options.timeoutMs,
      onReply: (reader) => resolve(decode(reader)),
      onError: reject,
      onSettled: () => this.#flush(),
      detail: () => this.#lastReason,
    });
    this.#queue.push(call);
    this.#flush();
    return await promise;
  }

  #flush(): void {
    const connection = this.#connection;
    while (connection !== null && this.#isReady && connection.sentCount < MAX_IN_FLIGHT) {
      const call = this.#queue.shift();
      if (call === undefined) return;
      if (!call.isSettled) connection.send(call);
    }
  }

  #connect(): void {
    this.#retryTimer = null;
    const timedOutMs = GIVE_UP_TIMEOUTS * this.#timeoutMs;
    if (this.#key.id !== 0n && performance.now() - this.#lostAtMs > timedOutMs) this.#dropSession();
    const server = this.#servers[this.#nextServer++ % this.#servers.length];
    if (server === undefined) return;
    const address = formatAddress(server.host, server.port);
    const { timeoutMs } = this.#options;
    const connection: Connection = new Connection(
      {
        ...server,
        key: this.#key,
        lastZxid: this.#lastZxid,
        timeoutMs,
        connectWithinMs: Math.max(MIN_CONNECT_MS, timeoutMs / Math.max(ATTEMPTS_PER_TIMEOUT, this.#servers.length)),
      },
      {
        onOpen: (key, negotiatedMs) => this.#onOpen(connection, key, negotiatedMs, address),
        onExpired: () => this.#dropSession(),
        onWatch: (event) => {
          this.#watches.fire(event);
          this.#listener.onWatch(event);
        },
        onZxid: (zxid) => this.#onZxid(zxid),
        onClosed: (reason, unanswered, code) => this.#onClosed(`${address}: ${reason}`, unanswered, code),
      },
    );
    this.#connection = connection;
  }

  #onOpen(connection: Connection, key: SessionKey, negotiatedMs: number, address: string): void {
    const isNew = key.id !== this.#key.id;
    this.#key = key;
    this.#timeoutMs = negotiatedMs;
    for (const credentials of this.#options.auth) connection.authenticate(credentials);
    const parts = this.#watches.parts();
    this.#partsLeft = parts.length;
    for (const part of parts) {
      connection.setWatches(this.#watchZxid, part, () => {
        if (--this.#partsLeft === 0) this.#watchZxid = this.#lastZxid;
      });
    }
    this.#isReady = true;
    this.#lastReason = '';
    this.#listener.onRemark(
      `connected to ${address}, ${isNew ? 'a new session' : 'the same session'} of ${negotiatedMs} ms`,
    );
    this.#listener.onConnected(isNew);
    this.#flush();
  }

  #onZxid(zxid: bigint): void {
    // A server that answers works: only then attempts begin anew.
    this.#failures = 0;
    if (zxid > this.#lastZxid) this.#lastZxid = zxid;
    if (this.#partsLeft === 0) this.#watchZxid = this.#lastZxid;
  }

  #dropSession(): void {
    if (this.#key.id === 0n) return;
    this.#key = NO_SESSION;
    this.#lastZxid = 0n;
    this.#watchZxid = 0n;
    this.#watches.clear();
    this.#listener.onRemark('session expired');
    this.#listener.onExpired();
  }

  #onClosed(reason: string, unanswered: Call[], code: number): void {
    if (this.#isReady) this.#lostAtMs = performance.now();
    this.#connection = null;
    this.#isReady = false;
    this.#partsLeft = 0;
    const again: PendingCall[] = [];
    for (const call of unanswered) if (call instanceof PendingCall && call.takeAgain(code, reason)) again.push(call);
    if (this.#isClosed) {
      for (const call of again) call.fail(new ZooKeeperError(ErrorCode.CONNECTION_LOSS, 'closed here'));
      this.#onEnd();
      return;
    }
    if (again.length > 0) this.#queue = [...again, ...this.#queue];
    if (reason !== this.#lastReason) this.#listener.onRemark(`no connection to ${reason}`);
    this.#lastReason = reason;
    const round = Math.floor(this.#failures++ / this.#servers.length);
    const longestMs = Math.max(MIN_PAUSE_MS, this.#options.retryIntervalMs);
    const pauseMs = Math.min(longestMs, FIRST_PAUSE_MS * 2 ** Math.min(round, 16));
    this.#retryTimer = setTimeout(() => this.#connect(), pauseMs * (0.5 + Math.random()));
    this.#retryTimer.unref();
  }
}

function shuffle<T>(items: readonly T[]): readonly T[] {
  const shuffled = [...items];
  for (let i = shuffled.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1));
    [shuffled[i], shuffled[j]] = [shuffled[j] as T, shuffled[i] as T];
  }
  return shuffled;
}
