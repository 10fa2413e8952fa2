import { connect, type Socket } from 'node:net';
import { FrameReader } from './frame-reader.ts';
import { JuteError, JuteReader } from './jute.ts';
import {
  type Credentials,
  decodeConnect,
  decodeEvent,
  ErrorCode,
  encodeAuth,
  encodeConnect,
  encodeRequest,
  encodeSetWatches,
  Operation,
  type SessionKey,
  type WatchEvent,
  type WatchPaths,
  Xid,
} from './protocol.ts';

/** The life of a connection is watched this often per session time-out. */
const TICKS_PER_SESSION = 12;
/** A ping goes out when nothing else has for a third of the session time-out, … */
const PING_AFTER_TICKS = 4;
/** … and a server that has said nothing for two thirds counts as hung. Ticks, not time: a stall of our own counts as one. */
const SILENT_TICKS = 8;
const MIN_TICK_MS = 10;
const HIGHEST_XID = 0x7fff_ffff;
const EMPTY = Buffer.alloc(0);
/** xid, zxid, error. */
const REPLY_HEADER_BYTES = 16;

/** A request as a connection sees it. */
export interface Call {
  readonly operation: number;
  readonly body: Buffer;
  /** `reader` stands at the reply's record, empty unless `error` is 0. Throws JuteError when that is not what was asked for. */
  answer(error: number, reader: JuteReader): void;
}

/** `call` null: a request of the connection itself. */
interface Sent {
  readonly xid: number;
  readonly call: Call | null;
  readonly onAnswer: (() => void) | null;
}

export interface ConnectionOptions {
  readonly host: string;
  readonly port: number;
  readonly key: SessionKey;
  readonly lastZxid: bigint;
  /** Session time-out to ask for. */
  readonly timeoutMs: number;
  /** From the first packet of TCP to the server's word on the session. */
  readonly connectWithinMs: number;
}

/** What a connection tells its session. After `onClosed` it says nothing more. */
export interface ConnectionListener {
  onOpen(key: SessionKey, timeoutMs: number): void;
  /** The server knows the session no more; `onClosed` follows. */
  onExpired(): void;
  onWatch(event: WatchEvent): void;
  onZxid(zxid: bigint): void;
  /** `unanswered` were sent: what they ask for may have happened. */
  onClosed(reason: string, unanswered: Call[], code: number): void;
}

/** One TCP connection to one server, from the handshake to its end. Bounded by who uses it: `sentCount` is what awaits an answer. */
export class Connection {
  readonly #listener: ConnectionListener;
  readonly #socket: Socket;
  readonly #frames = new FrameReader();
  readonly #connectTimer: NodeJS.Timeout;
  #ticker: NodeJS.Timeout | null = null;
  /** Sent, unanswered, oldest first from #firstSent on. */
  #sent: Sent[] = [];
  #firstSent = 0;
  #nextXid = 1;
  #isOpen = false;
  #sessionTimeoutMs = 0;
  #isClosed = false;
  #isCorked = false;
  #ticksSinceSent = 0;
  #ticksSinceHeard = 0;

  constructor(options: ConnectionOptions, listener: ConnectionListener) {
    this.#listener = listener;
    const { host, port, connectWithinMs } = options;
    this.#connectTimer = setTimeout(() => this.#end(`no session within ${connectWithinMs} ms`), connectWithinMs);
    this.#socket = connect({ host, port, noDelay: true, keepAlive: true });
    this.#socket.on('connect', () => {
      this.#socket.write(encodeConnect(options.lastZxid, options.timeoutMs, options.key));
    });
    this.#socket.on('data', (chunk) => this.#onData(chunk));
    this.#socket.on('error', (error) => this.#end(error.message));
    this.#socket.on('close', () => this.#end('closed by the server'));
  }

  get sentCount(): number {
    return this.#sent.length - this.#firstSent;
  }

  send(call: Call): void {
    this.#request(call.operation, call.body, call, null);
  }

  authenticate(credentials: Credentials): void {
    this.#write(encodeRequest(Xid.AUTH, Operation.AUTH, encodeAuth(credentials)));
  }

  /** `onAnswer` is called once the server holds the watches and has sent the events that were missed. */
  setWatches(zxid: bigint, paths: WatchPaths, onAnswer: () => void): void {
    this.#sent.push({ xid: Xid.SET_WATCHES, call: null, onAnswer });
    this.#write(encodeRequest(Xid.SET_WATCHES, Operation.SET_WATCHES, encodeSetWatches(zxid, paths)));
  }

  /** Ends the session; `onAnswer` is called when the server has done so. */
  closeSession(onAnswer: () => void): void {
    this.#request(Operation.CLOSE, EMPTY, null, onAnswer);
  }

  close(reason: string): void {
    this.#end(reason);
  }

  #request(operation: number, body: Buffer, call: Call | null, onAnswer: (() => void) | null): void {
    const xid = this.#nextXid;
    this.#nextXid = xid === HIGHEST_XID ? 1 : xid + 1;
    this.#sent.push({ xid, call, onAnswer });
    this.#write(encodeRequest(xid, operation, body));
  }

  /** One write per turn. */
  #write(frame: Buffer): void {
    this.#ticksSinceSent = 0;
    if (!this.#isCorked) {
      this.#isCorked = true;
      this.#socket.cork();
      process.nextTick(() => {
        this.#isCorked = false;
        this.#socket.uncork();
      });
    }
    this.#socket.write(frame);
  }

  #onData(chunk: Buffer): void {
    if (this.#isClosed) return;
    try {
      const length = this.#frames.push(chunk, (frame) => {
        if (!this.#isClosed) this.#onFrame(frame);
      });
      if (length !== null) this.#end(`the server announces a message of ${length} bytes`);
    } catch (error) {
      if (!(error instanceof JuteError)) throw error;
      this.#end(`the server's answer cannot be read: ${error.message}`);
    }
  }

  #onFrame(frame: Buffer): void {
    this.#ticksSinceHeard = 0;
    if (!this.#isOpen) {
      this.#onConnectResponse(frame);
      return;
    }
    const reader = new JuteReader(frame);
    if (reader.left < REPLY_HEADER_BYTES) throw new JuteError(`${reader.left} bytes of a header`);
    const xid = reader.int();
    const zxid = reader.long();
    const error = reader.int();
    if (xid === Xid.EVENT) this.#listener.onWatch(decodeEvent(reader));
    else if (xid === Xid.AUTH) {
      if (error !== ErrorCode.OK) this.#end('authentication refused', ErrorCode.AUTH_FAILED);
    } else if (xid !== Xid.PING) this.#onAnswer(xid, zxid, error, reader);
  }

  #onConnectResponse(frame: Buffer): void {
    const { timeoutMs, key } = decodeConnect(new JuteReader(frame));
    if (timeoutMs <= 0) {
      this.#listener.onExpired();
      this.#end('session expired');
      return;
    }
    clearTimeout(this.#connectTimer);
    this.#isOpen = true;
    this.#sessionTimeoutMs = timeoutMs;
    this.#ticker = setInterval(() => this.#tick(), Math.max(MIN_TICK_MS, timeoutMs / TICKS_PER_SESSION));
    this.#ticker.unref();
    this.#listener.onOpen(key, timeoutMs);
  }

  #onAnswer(xid: number, zxid: bigint, error: number, reader: JuteReader): void {
    const sent = this.#sent[this.#firstSent];
    if (sent?.xid !== xid) {
      this.#end(`the server answers request ${xid}, due is ${sent === undefined ? 'none' : sent.xid}`);
      return;
    }
    if (error === ErrorCode.SESSION_EXPIRED || error === ErrorCode.SESSION_MOVED) {
      this.#end('the server has dropped the session');
      return;
    }
    // The answer is read first: a connection that ends here still has the call among the unanswered.
    if (sent.call !== null) sent.call.answer(error, reader);
    this.#firstSent++;
    if (this.#firstSent === this.#sent.length) {
      this.#sent = [];
      this.#firstSent = 0;
    } else if (this.#firstSent >= 1024) {
      this.#sent = this.#sent.slice(this.#firstSent);
      this.#firstSent = 0;
    }
    if (zxid > 0n) this.#listener.onZxid(zxid);
    sent.onAnswer?.();
  }

  #tick(): void {
    this.#ticksSinceHeard++;
    this.#ticksSinceSent++;
    if (this.#ticksSinceHeard > SILENT_TICKS) {
      const silentMs = (SILENT_TICKS * this.#sessionTimeoutMs) / TICKS_PER_SESSION;
      this.#end(`no word from the server for ${Math.round(silentMs)} ms`);
    } else if (this.#ticksSinceSent >= PING_AFTER_TICKS) this.#write(encodeRequest(Xid.PING, Operation.PING, EMPTY));
  }

  #end(reason: string, code: number = ErrorCode.CONNECTION_LOSS): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#connectTimer);
    if (this.#ticker !== null) clearInterval(this.#ticker);
    this.#socket.destroy();
    const unanswered: Call[] = [];
    for (const { call } of this.#sent.slice(this.#firstSent)) if (call !== null) unanswered.push(call);
    this.#sent = [];
    this.#firstSent = 0;
    this.#listener.onClosed(reason, unanswered, code);
  }
}
