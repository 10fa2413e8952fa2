/**
 * One HDFS client of the load: a connection, its calls in flight and what it makes of the replies. Plain fields and no promises: a loader
 * that is slower than the proxy measures itself.
 *
 * A call sits in slot `callId - CallId.FIRST` modulo the number of slots. In a closed loop a slot's next call follows its reply at once; in
 * an open loop calls take the slots in turn.
 */

import net from 'node:net';
import type { LatencyBuckets } from '../../src/load/thread/latency-buckets.ts';
import {
  bytesField,
  CallId,
  encodeCall,
  encodeHandshake,
  FrameReader,
  patchCallId,
  readVarint,
  varintEnd,
} from './frames.ts';

const READ_BYTES = 256 * 1024;
/** All clients read into the same memory: a read and its callback are one synchronous step. */
const readBuffer = Buffer.allocUnsafeSlow(READ_BYTES);
const FREE = -1;

/** What all clients of one run share. */
export class Load {
  /** From the moment when a call was due (closed loop: written) to its reply; undefined while nothing is recorded. */
  sinceDue: LatencyBuckets | undefined = undefined;
  /** From the write of a call to its reply. */
  sinceSent: LatencyBuckets | undefined = undefined;
  /** Replies since the start of the process, errors included. */
  replies = 0;
  errors = 0;
  firstError = '';
  /** No call follows a reply any more. */
  stopped = false;
  /** Called after each read of a connection, when it brought replies or an error. */
  onReplies: () => void = ignore;
  readonly #dirty: LoadClient[] = [];
  #flushDue = false;

  fail(reason: string): void {
    this.errors++;
    if (this.firstError === '') this.firstError = reason;
  }

  markDirty(client: LoadClient): void {
    this.#dirty.push(client);
    if (this.#flushDue) return;
    this.#flushDue = true;
    setImmediate(this.#flush);
  }

  #flush = (): void => {
    this.#flushDue = false;
    const now = performance.now();
    for (let i = 0; i < this.#dirty.length; i++) (this.#dirty[i] as LoadClient).flush(now);
    this.#dirty.length = 0;
  };
}

export interface LoadClientOptions {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** 16 bytes. */
  readonly clientId: Buffer;
  readonly path: string;
  readonly slots: number;
  /** A reply makes room for the next call of the same slot, and issues it. */
  readonly closedLoop: boolean;
  /** Calls to make in a closed loop; Infinity for a run by time. */
  readonly calls: number;
}

export class LoadClient {
  readonly load: Load;
  readonly options: LoadClientOptions;
  readonly socket: net.Socket;
  readonly #clientId: Buffer;
  readonly #slots: number;
  /** Call id in flight in each slot, FREE when none. */
  readonly #inFlight: Int32Array;
  readonly #dueAt: Float64Array;
  readonly #sentAt: Float64Array;
  /** Slots whose call waits for the flush. */
  readonly #unsent: Int32Array;
  #unsentCount = 0;
  #nextCallId: number = CallId.FIRST;
  readonly #frameBytes: number;
  /** As many copies of the call's frame as there are slots: a batch is made by patching the ids of the first ones. */
  #out: Buffer;
  #views: (Buffer | undefined)[];
  readonly #reader: FrameReader;
  #callsLeft: number;
  #now = 0;

  constructor(load: Load, options: LoadClientOptions, onConnect: () => void) {
    this.load = load;
    this.options = options;
    this.#clientId = options.clientId;
    this.#slots = options.slots;
    this.#callsLeft = options.calls;
    this.#inFlight = new Int32Array(options.slots).fill(FREE);
    this.#dueAt = new Float64Array(options.slots);
    this.#sentAt = new Float64Array(options.slots);
    this.#unsent = new Int32Array(options.slots);
    const call = encodeCall('getFileInfo', bytesField(1, options.path), options.clientId, CallId.FIRST);
    this.#frameBytes = call.length;
    this.#out = repeat(call, options.slots);
    this.#views = new Array(options.slots + 1).fill(undefined);
    this.#reader = new FrameReader(0, (buffer, start, end) => this.#take(buffer, start, end));
    this.socket = net.connect(
      {
        host: options.host,
        port: options.port,
        noDelay: true,
        onread: {
          buffer: readBuffer,
          callback: (bytes) => {
            this.#now = performance.now();
            if (!this.#reader.feed(readBuffer, bytes)) this.#broken('a reply has an impossible length');
            load.onReplies();
            return true;
          },
        },
      },
      () => {
        this.socket.write(encodeHandshake(options.user, options.clientId));
        onConnect();
      },
    );
    this.socket.on('error', (error) => this.#broken(error.message));
    this.socket.on('close', () => this.#broken('the connection was closed by the other end'));
  }

  /** Fills all slots of a closed loop. */
  start(): void {
    const now = performance.now();
    for (let slot = 0; slot < this.#slots; slot++) this.#issue(slot, CallId.FIRST + slot, now);
  }

  /** One call of an open loop, due at `dueMs` (performance.now). It counts as an error when all slots are taken: the other end is overrun. */
  startCall(dueMs: number): void {
    const callId = this.#nextCallId;
    const slot = (callId - CallId.FIRST) % this.#slots;
    if (this.#inFlight[slot] !== FREE) {
      this.load.fail(`${this.#slots} calls of one client are unanswered`);
      return;
    }
    this.#nextCallId = callId + 1 < CallId.END ? callId + 1 : CallId.FIRST;
    this.#issue(slot, callId, dueMs);
  }

  /** Closes without a trace in the kernel's table of waiting connections. */
  end(): void {
    this.socket.removeAllListeners('close');
    this.socket.resetAndDestroy();
  }

  flush(now: number): void {
    const count = this.#unsentCount;
    this.#unsentCount = 0;
    if (this.socket.destroyed) return;
    const bytes = this.#frameBytes;
    for (let i = 0; i < count; i++) {
      const slot = this.#unsent[i] as number;
      this.#sentAt[slot] = now;
      patchCallId(this.#out, i * bytes, this.#inFlight[slot] as number);
    }
    let view = this.#views[count];
    if (view === undefined) {
      view = this.#out.subarray(0, count * bytes);
      this.#views[count] = view;
    }
    this.socket.write(view);
    // After a short write the kernel still reads from the buffer: leave it to the socket.
    if (this.socket.writableLength !== 0) {
      this.#out = Buffer.from(this.#out);
      this.#views.fill(undefined);
    }
  }

  #issue(slot: number, callId: number, dueMs: number): void {
    if (this.#callsLeft <= 0) return;
    this.#callsLeft--;
    this.#inFlight[slot] = callId;
    this.#dueAt[slot] = dueMs;
    this.#unsent[this.#unsentCount++] = slot;
    if (this.#unsentCount === 1) this.load.markDirty(this);
  }

  #take(buffer: Buffer, start: number, end: number): void {
    const load = this.load;
    const callId = readReply(buffer, start, end, this.#clientId);
    const slot = callId < CallId.FIRST ? -1 : (callId - CallId.FIRST) % this.#slots;
    if (slot < 0 || this.#inFlight[slot] !== callId) {
      load.fail(
        callId < 0 ? (REPLY_FAULTS[-callId] ?? 'bad reply') : `a reply to call ${callId}, which is not in flight`,
      );
      return;
    }
    this.#inFlight[slot] = FREE;
    load.replies++;
    if (status !== 0) load.fail(`status ${status}: ${buffer.toString('latin1', start, Math.min(end, start + 200))}`);
    if (load.sinceSent !== undefined) load.sinceSent.recordMs(this.#now - (this.#sentAt[slot] as number));
    if (this.options.closedLoop) {
      if (load.stopped) return;
      const next = callId + this.#slots;
      this.#issue(slot, next < CallId.END ? next : CallId.FIRST + slot, this.#now);
    } else if (load.sinceDue !== undefined) {
      load.sinceDue.recordMs(this.#now - (this.#dueAt[slot] as number));
    }
  }

  #broken(reason: string): void {
    if (this.load.stopped || this.socket.listenerCount('close') === 0) return;
    this.socket.removeAllListeners('close');
    this.load.fail(reason);
    this.socket.destroy();
    this.load.onReplies();
  }
}

const REPLY_FAULTS = [
  '',
  'a reply header cannot be read',
  "a reply carries another client's id",
  'a SUCCESS reply has no body',
];
const UNREADABLE = -1;
const OTHER_CLIENT = -2;
const NO_BODY = -3;

/** Status of the reply read last. */
let status = 0;

/** Call id of the reply frame buffer[start, end), or one of the negative faults. Leaves its status in `status`. */
function readReply(buffer: Buffer, start: number, end: number, clientId: Buffer): number {
  const headerBytes = readVarint(buffer, start);
  const headerEnd = varintEnd + headerBytes;
  if (headerBytes < 0 || headerEnd > end) return UNREADABLE;
  let callId: number = UNREADABLE;
  let at = varintEnd;
  status = -1;
  while (at < headerEnd) {
    const tag = buffer[at] as number;
    const value = readVarint(buffer, at + 1);
    at = varintEnd;
    if (tag === 0x08) callId = value;
    else if (tag === 0x10) status = value;
    else if ((tag & 7) === 2) {
      if (value < 0 || value > headerEnd - at) return UNREADABLE;
      if (tag === 0x3a && value !== 0 && !isSame(buffer, at, value, clientId)) return OTHER_CLIENT;
      at += value;
    } else if ((tag & 7) !== 0) return UNREADABLE;
  }
  if (at !== headerEnd || status < 0) return UNREADABLE;
  return status === 0 && end - at < 2 ? NO_BODY : callId;
}

function isSame(buffer: Buffer, at: number, bytes: number, clientId: Buffer): boolean {
  if (bytes !== clientId.length) return false;
  for (let i = 0; i < bytes; i++) if (buffer[at + i] !== clientId[i]) return false;
  return true;
}

function repeat(frame: Buffer, times: number): Buffer {
  const all = Buffer.allocUnsafeSlow(frame.length * times);
  for (let i = 0; i < times; i++) frame.copy(all, i * frame.length);
  return all;
}

function ignore(): void {}
