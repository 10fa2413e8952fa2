import { randomBytes } from 'node:crypto';
import net from 'node:net';
import { encodeHandshake } from '../../wire/handshake.ts';
import { type CallFrames, CLIENT_ID_BYTES, CLIENT_PROTOCOL } from './call-frames.ts';
import { ReplyCutter, type ReplySink } from './reply-cutter.ts';
import { SlotTable } from './slot-table.ts';

/** Of a connection being opened. */
export const CONNECT_LIMIT_MS = 10_000;
const READ_BYTES = 256 * 1024;
/** One write takes as many calls as fit. */
const WRITE_BYTES = 256 * 1024;
const FIRST_PENDING = 8;
/**
 * Bytes of calls that wait for the server to read them: those of the socket, and those of pending calls at their longest. A connection with more
 * gets no calls until the server has taken all of them. Only what closes created files goes beyond it, which the slots bound.
 */
export const MAX_UNWRITTEN_BYTES: number = 1024 * 1024;

/** All connections of a thread read into the same memory, and write from the same: each is one synchronous step. */
const readBuffer = Buffer.allocUnsafeSlow(READ_BYTES);
let writeBuffer = Buffer.allocUnsafeSlow(WRITE_BYTES);

export interface ConnectionOwner {
  onOpen(connection: LoadConnection): void;
  /** One reply, buffer[start, end), at connection.nowMs; the buffer is used again afterwards. */
  onReply(connection: LoadConnection, buffer: Buffer, start: number, end: number): void;
  /** It was full, and all that waited in it is written. */
  onDrained(connection: LoadConnection): void;
  /** It could not be opened, or is gone; calls are still in its slots. */
  onBroken(connection: LoadConnection, reason: string): void;
}

/** One HDFS client: a connection of one user, its calls without a reply, and those that wait for this turn's write. */
export class LoadConnection implements ReplySink {
  readonly index: number;
  /** Index in plan.users. */
  readonly user: number;
  readonly clientId: Buffer = randomBytes(CLIENT_ID_BYTES);
  readonly slots: SlotTable;
  /** When the bytes came that are being read; performance.now. */
  nowMs = 0;
  isOpen = false;
  /** It has MAX_UNWRITTEN_BYTES to write: no more calls now. */
  isFull = false;
  /** It was open when it broke. */
  wasOpen = false;
  /** Position in the list of those with a free slot; -1: not in it. */
  readyAt = -1;
  /** Failed attempts to open it, one after the other. */
  failures = 0;
  /** What the server said before it ended the connection; '' when nothing. */
  fatalClass = '';
  fatalMessage = '';
  readonly #owner: ConnectionOwner;
  readonly #handshake: Buffer;
  readonly #cutter: ReplyCutter;
  #socket: net.Socket | null = null;
  /** Ids of the calls that wait for the flush: [0, pendingCount). */
  #pending = new Int32Array(FIRST_PENDING);
  pendingCount = 0;
  /** Left in the socket by the last write; less by now. */
  #unwrittenBytes = 0;

  constructor(owner: ConnectionOwner, index: number, user: number, userName: string, inFlight: number) {
    this.index = index;
    this.user = user;
    this.#owner = owner;
    this.slots = new SlotTable(inFlight);
    const identity = { user: userName, realUser: '', protocol: CLIENT_PROTOCOL, clientId: this.clientId };
    this.#handshake = encodeHandshake(identity);
    this.#cutter = new ReplyCutter(this);
  }

  open(host: string, port: number): void {
    this.#cutter.clear();
    this.fatalClass = '';
    this.fatalMessage = '';
    this.isFull = false;
    this.#unwrittenBytes = 0;
    const socket: net.Socket = net.connect({
      host,
      port,
      noDelay: true,
      onread: { buffer: readBuffer, callback: (bytes) => this.#read(socket, bytes) },
    });
    this.#socket = socket;
    const limit = setTimeout(
      () => this.#breakOff(socket, `no connection within ${CONNECT_LIMIT_MS / 1000} s`),
      CONNECT_LIMIT_MS,
    );
    socket.on('drain', () => this.#onDrain(socket));
    socket.on('connect', () => {
      clearTimeout(limit);
      socket.write(this.#handshake);
      this.isOpen = true;
      this.failures = 0;
      this.#owner.onOpen(this);
    });
    // Of an attempt at several addresses only the code says something.
    socket.on('error', (error: NodeJS.ErrnoException) => this.#breakOff(socket, error.message || String(error.code)));
    socket.on('close', () => {
      clearTimeout(limit);
      this.#breakOff(socket, 'the server closed the connection');
    });
  }

  /** Where it is connected to; '' while it is not. */
  get remoteAddress(): string {
    return this.#socket?.remoteAddress ?? '';
  }

  /** Ends it without a word to the owner. `abruptly` leaves no trace in the kernel's table of waiting connections. */
  end(abruptly: boolean): void {
    const socket = this.#socket;
    this.#socket = null;
    this.isOpen = false;
    if (abruptly) socket?.resetAndDestroy();
    else socket?.destroy();
  }

  onFrame(buffer: Buffer, start: number, end: number): void {
    this.#owner.onReply(this, buffer, start, end);
  }

  /** The call in this slot goes out with the next flush; its frame takes at most `frameBound` bytes. */
  addPending(slot: number, frameBound: number): void {
    if (this.pendingCount === this.#pending.length) {
      const grown = new Int32Array(this.pendingCount * 2);
      grown.set(this.#pending);
      this.#pending = grown;
    }
    this.slots.sentAt[slot] = 0;
    this.#pending[this.pendingCount++] = this.slots.callIds[slot]!;
    if (this.#unwrittenBytes + this.pendingCount * frameBound >= MAX_UNWRITTEN_BYTES) this.isFull = true;
  }

  /** Writes the pending calls. `dueWhenSent`: a closed loop, where calls are due when they are written. */
  flush(frames: CallFrames, nowMs: number, dueWhenSent: boolean): void {
    const { slots } = this;
    const count = this.pendingCount;
    this.pendingCount = 0;
    let at = 0;
    for (let i = 0; i < count; i++) {
      const slot = slots.find(this.#pending[i]!);
      if (slot < 0) continue;
      slots.sentAt[slot] = nowMs;
      if (dueWhenSent) slots.dueAt[slot] = nowMs;
      if (at + frames.frameBound > WRITE_BYTES) {
        this.#write(at);
        at = 0;
      }
      at = frames.write(
        writeBuffer,
        at,
        slots.requests[slot]!,
        slots.callIds[slot]!,
        this.clientId,
        slots.sources[slot]!,
        slots.groups[slot]!,
        slots.numbers[slot]!,
        slots.destinations[slot]!,
      );
    }
    if (at > 0) this.#write(at);
    // Beyond the bound it stays full until the socket says that it has written all.
    if (this.#unwrittenBytes < MAX_UNWRITTEN_BYTES) this.isFull = false;
  }

  breakOff(reason: string): void {
    if (this.#socket !== null) this.#breakOff(this.#socket, reason);
  }

  #write(bytes: number): void {
    const socket = this.#socket;
    if (socket === null || !this.isOpen) return;
    if (socket.writableLength > 0) {
      // The kernel is full: these bytes are going to wait, so they need memory of their own.
      socket.write(Buffer.from(writeBuffer.subarray(0, bytes)));
    } else {
      socket.write(writeBuffer.subarray(0, bytes));
      // After a short write the rest is still read from the buffer: leave it to the socket.
      if (socket.writableLength > 0) writeBuffer = Buffer.allocUnsafeSlow(WRITE_BYTES);
    }
    this.#unwrittenBytes = socket.writableLength;
  }

  #onDrain(socket: net.Socket): void {
    if (socket !== this.#socket) return;
    this.#unwrittenBytes = 0;
    if (!this.isFull) return;
    this.isFull = false;
    this.#owner.onDrained(this);
  }

  #read(socket: net.Socket, bytes: number): boolean {
    if (socket !== this.#socket) return true;
    this.nowMs = performance.now();
    if (!this.#cutter.feed(readBuffer, bytes)) this.#breakOff(socket, 'a reply with an impossible length');
    return true;
  }

  #breakOff(socket: net.Socket, reason: string): void {
    if (socket !== this.#socket) return;
    this.#socket = null;
    this.wasOpen = this.isOpen;
    this.isOpen = false;
    this.pendingCount = 0;
    this.nowMs = performance.now();
    socket.destroy();
    this.#owner.onBroken(this, reason);
  }
}
