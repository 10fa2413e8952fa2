/**
 * Clients that make calls at a fixed rate, whatever becomes of them, and keep account of every one: asked, answered, refused and with which
 * exception, lost with its connection, never answered, answered twice.
 */

import { randomBytes } from 'node:crypto';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { quantileMicros } from '../../src/load/histogram/latency.ts';
import { bucketOfMs, createCounts } from '../../src/load/histogram/latency-buckets.ts';
import {
  bytesField,
  CallId,
  encodeCall,
  encodeHandshake,
  FrameReader,
  numberField,
  readVarint,
  varintEnd,
} from '../harness/frames.ts';

/** Request of one method; a caller makes its kinds in turn. */
export interface CallKind {
  readonly name: string;
  readonly method: string;
  readonly body: Buffer;
}

export interface CallerOptions {
  readonly port: number;
  readonly kinds: readonly CallKind[];
  /** Connections, divided among the users in turn. */
  readonly connections: number;
  readonly users: readonly string[];
  /** Of all connections together. */
  readonly ratePerSecond: number;
  /** Most calls of one connection without an answer. */
  readonly inFlight: number;
  /** Told of each answer. `error`: '' for success, else the Java class, or LOST. */
  readonly onAnswer?: (kind: CallKind, sentAtMs: number, error: string) => void;
}

/** What became of the calls. asked = succeeded + refused + lost + unanswered. */
export interface Tally {
  readonly asked: number;
  readonly succeeded: number;
  /** Answered with an exception, by its Java class. */
  readonly refused: Readonly<Record<string, number>>;
  /** First line of the first exception of each class. */
  readonly messages: Readonly<Record<string, string>>;
  /** Their connection was closed before the answer. */
  readonly lost: number;
  readonly unanswered: number;
  /** Answers to calls that had one already, or were never made. */
  readonly twice: number;
  /** Were due when no connection had room, and were not made. */
  readonly unsent: number;
  /** From the write to the answer; 0 without calls. */
  readonly successP50Ms: number;
  readonly successP99Ms: number;
  readonly successMaxMs: number;
  readonly refusedP99Ms: number;
}

/** Stands for an exception where the connection was lost. */
export const LOST = 'lost';
const TICK_MS = 1;
const RECONNECT_MS = 100;
const SETTLE_LOOK_MS = 20;
/** Call ids that take 4 bytes in requests and answers. */
const FIRST_ID = CallId.FIRST;
const END_ID = CallId.END;
/** Where the call id stands in a call: length, header length, rpcKind, rpcOp, tag. */
const CALL_ID_AT = 4 + 1 + 2 + 2 + 1;
/** Of RpcResponseHeaderProto. */
const Tag = { CALL_ID: 0x08, STATUS: 0x10, EXCEPTION_CLASS: 0x22, MESSAGE: 0x2a } as const;
const LENGTH_DELIMITED = 2;
const EMPTY = Buffer.alloc(0);

export function getFileInfo(path: string): CallKind {
  return { name: 'getFileInfo', method: 'getFileInfo', body: bytesField(1, path) };
}

export function getListing(path: string): CallKind {
  const body = Buffer.concat([bytesField(1, path), bytesField(2, EMPTY), numberField(3, 0)]);
  return { name: 'getListing', method: 'getListing', body };
}

export class Caller {
  readonly #options: CallerOptions;
  readonly #clients: Client[];
  readonly #success = createCounts();
  readonly #refusedTimes = createCounts();
  readonly #refused: Record<string, number> = {};
  readonly #messages: Record<string, string> = {};
  #maxMs = 0;
  #succeeded = 0;
  #asked = 0;
  #lost = 0;
  #twice = 0;
  #unsent = 0;
  #due = 0;
  #next = 0;
  #startedMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: CallerOptions) {
    this.#options = options;
    this.#clients = Array.from(
      { length: options.connections },
      (_, i) => new Client(options, options.users[i % options.users.length] as string, this.#account()),
    );
  }

  get outstanding(): number {
    return this.#clients.reduce((sum, client) => sum + client.outstanding, 0);
  }

  get succeeded(): number {
    return this.#succeeded;
  }

  /** Opens the connections, and when each is open or was refused, begins: calls are due from then on. */
  async start(): Promise<this> {
    await Promise.all(this.#clients.map((client) => client.open()));
    this.#startedMs = performance.now();
    this.#timer = setInterval(() => this.#makeDue(), TICK_MS);
    return this;
  }

  /** Makes no more calls, waits for the answers to those that were made, at most `waitMs`, and closes. */
  async stop(waitMs: number): Promise<Tally> {
    clearInterval(this.#timer);
    const endMs = performance.now() + waitMs;
    while (this.outstanding > 0 && performance.now() < endMs) await sleep(SETTLE_LOOK_MS);
    const unanswered = this.outstanding;
    for (const client of this.#clients) client.close();
    return { unanswered, ...this.#tally() };
  }

  #tally(): Omit<Tally, 'unanswered'> {
    const [successP50 = 0, successP99 = 0] = quantileMicros(this.#success, [0.5, 0.99]);
    const [refusedP99 = 0] = quantileMicros(this.#refusedTimes, [0.99]);
    return {
      asked: this.#asked,
      succeeded: this.#succeeded,
      refused: { ...this.#refused },
      messages: { ...this.#messages },
      lost: this.#lost,
      twice: this.#twice,
      unsent: this.#unsent,
      successP50Ms: successP50 / 1_000,
      successP99Ms: successP99 / 1_000,
      successMaxMs: this.#maxMs,
      refusedP99Ms: refusedP99 / 1_000,
    };
  }

  #makeDue(): void {
    const due = Math.floor(((performance.now() - this.#startedMs) * this.#options.ratePerSecond) / 1_000);
    for (; this.#due < due; this.#due++) this.#make();
    for (const client of this.#clients) client.flush();
  }

  #make(): void {
    for (let tried = 0; tried < this.#clients.length; tried++) {
      const client = this.#clients[this.#next++ % this.#clients.length] as Client;
      if (client.call()) {
        this.#asked++;
        return;
      }
    }
    this.#unsent++;
  }

  #account(): Account {
    return {
      answered: (kind, sentAtMs, error, message) => {
        const tookMs = performance.now() - sentAtMs;
        if (error === '') {
          this.#succeeded++;
          const bucket = bucketOfMs(tookMs);
          this.#success[bucket] = (this.#success[bucket] as number) + 1;
          this.#maxMs = Math.max(this.#maxMs, tookMs);
        } else if (error === LOST) {
          this.#lost++;
        } else {
          this.#refused[error] = (this.#refused[error] ?? 0) + 1;
          this.#messages[error] ??= message.split('\n', 1)[0] ?? '';
          const bucket = bucketOfMs(tookMs);
          this.#refusedTimes[bucket] = (this.#refusedTimes[bucket] as number) + 1;
        }
        this.#options.onAnswer?.(kind, sentAtMs, error);
      },
      answeredTwice: () => {
        this.#twice++;
      },
    };
  }
}

interface Account {
  answered(kind: CallKind, sentAtMs: number, error: string, message: string): void;
  answeredTwice(): void;
}

/** One connection; a lost one is opened again. */
class Client {
  readonly #options: CallerOptions;
  readonly #handshake: Buffer;
  readonly #templates: readonly Buffer[];
  readonly #account: Account;
  /** Times of the write by call id. */
  readonly #sent = new Map<number, number>();
  #socket: net.Socket | undefined;
  #isOpen = false;
  #isClosed = false;
  #nextId: number = FIRST_ID;
  #batch: Buffer[] = [];
  #reopenTimer: NodeJS.Timeout | undefined;

  constructor(options: CallerOptions, user: string, account: Account) {
    const clientId = randomBytes(16);
    this.#options = options;
    this.#account = account;
    this.#handshake = encodeHandshake(user, clientId);
    this.#templates = options.kinds.map(({ method, body }) => encodeCall(method, body, clientId, FIRST_ID));
  }

  get outstanding(): number {
    return this.#sent.size;
  }

  /** Resolves when it is open, or closed again. */
  open(): Promise<void> {
    const opened = Promise.withResolvers<void>();
    const reader = new FrameReader(0, (buffer, start, end) => this.#onReply(buffer, start, end));
    const socket = net.connect({ host: '127.0.0.1', port: this.#options.port, noDelay: true });
    this.#socket = socket;
    socket.on('connect', () => {
      socket.write(this.#handshake);
      this.#isOpen = true;
      opened.resolve();
    });
    socket.on('data', (chunk: Buffer) => {
      if (!reader.feed(chunk, chunk.length)) socket.destroy();
    });
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      opened.resolve();
      this.#onClose();
    });
    return opened.promise;
  }

  /** False: there is no room for another call. */
  call(): boolean {
    if (!this.#isOpen || this.#sent.size >= this.#options.inFlight) return false;
    const id = this.#nextId++;
    if (this.#nextId === END_ID) this.#nextId = FIRST_ID;
    const call = Buffer.from(this.#templates[id % this.#templates.length] as Buffer);
    writeCallId(call, id);
    this.#batch.push(call);
    this.#sent.set(id, performance.now());
    return true;
  }

  flush(): void {
    if (this.#batch.length === 0) return;
    this.#socket?.write(Buffer.concat(this.#batch));
    this.#batch = [];
  }

  close(): void {
    this.#isClosed = true;
    this.#sent.clear();
    clearTimeout(this.#reopenTimer);
    this.#socket?.destroy();
  }

  #onReply(buffer: Buffer, start: number, end: number): void {
    const { callId, error, message } = readReply(buffer, start, end);
    const sentAtMs = this.#sent.get(callId);
    if (sentAtMs === undefined) {
      // A fatal answer may name no call: the connection goes, and its calls with it.
      if (callId >= FIRST_ID && callId < END_ID) this.#account.answeredTwice();
      return;
    }
    this.#sent.delete(callId);
    this.#account.answered(this.#kindOf(callId), sentAtMs, error, message);
  }

  #onClose(): void {
    this.#isOpen = false;
    this.#batch = [];
    if (this.#isClosed) return;
    for (const [id, sentAtMs] of this.#sent) this.#account.answered(this.#kindOf(id), sentAtMs, LOST, '');
    this.#sent.clear();
    this.#reopenTimer = setTimeout(() => void this.open(), RECONNECT_MS);
  }

  #kindOf(callId: number): CallKind {
    return this.#options.kinds[callId % this.#options.kinds.length] as CallKind;
  }
}

interface ReplyHead {
  readonly callId: number;
  /** Java class of the exception; '' for SUCCESS. */
  readonly error: string;
  readonly message: string;
}

/** RpcResponseHeaderProto, as far as it is looked at. */
export function readReply(buffer: Buffer, start: number, end: number): ReplyHead {
  const headerBytes = readVarint(buffer, start);
  const headerEnd = Math.min(end, varintEnd + headerBytes);
  let callId = -1;
  let isSuccess = true;
  let error = '';
  let message = '';
  for (let at = varintEnd; at < headerEnd; ) {
    const tag = readVarint(buffer, at);
    const value = readVarint(buffer, varintEnd);
    at = varintEnd;
    if (tag === Tag.CALL_ID) callId = value;
    else if (tag === Tag.STATUS) isSuccess = value === 0;
    if ((tag & 7) !== LENGTH_DELIMITED) continue;
    if (tag === Tag.EXCEPTION_CLASS) error = buffer.toString('latin1', at, at + value);
    else if (tag === Tag.MESSAGE) message = buffer.toString('utf8', at, at + value);
    at += value;
  }
  if (isSuccess) return { callId, error: '', message: '' };
  return { callId, error: error === '' ? 'an exception without a class' : error, message };
}

/** A zigzag varint of 4 bytes. */
function writeCallId(call: Buffer, id: number): void {
  const value = id * 2;
  call[CALL_ID_AT] = (value & 127) | 128;
  call[CALL_ID_AT + 1] = ((value >>> 7) & 127) | 128;
  call[CALL_ID_AT + 2] = ((value >>> 14) & 127) | 128;
  call[CALL_ID_AT + 3] = value >>> 21;
}
