import net from 'node:net';
import type { Call } from '../call/call.ts';
import { Place } from '../call/call.ts';
import { NameNodeState } from '../shared/control-block.ts';
import { Counter } from '../shared/counters.ts';
import { WheelEntry } from '../shared/timer-wheel.ts';
import type { Block } from '../wire/block.ts';
import { SCAN_OK } from '../wire/call-scan.ts';
import { FRAMES_HELD, FRAMES_OK, FrameAssembler, type FrameSink } from '../wire/frame.ts';
import { encodeHandshake, encodePing } from '../wire/handshake.ts';
import { Status } from '../wire/reply-head.ts';
import { scanReply } from '../wire/reply-scan.ts';
import { type RequestSplice, restEnd, restStart, spliceBound, spliceHead, spliceRequest } from '../wire/splice.ts';
import type { ConnectionGroup } from './group.ts';

/** Most calls in flight on one connection; also the number of slots that a tag can name (14 bits). */
const SLOT_BITS = 14;
export const MAX_IN_FLIGHT = 1 << SLOT_BITS;
const SLOT_MASK = MAX_IN_FLIGHT - 1;
const MAX_SERIAL = (1 << (31 - SLOT_BITS)) - 1;
/** From here on a tag takes five bytes as a varint, so that the header of a reply is never shorter than the one the client gets. */
const MIN_SERIAL = 1 << (30 - SLOT_BITS);
/** Batch buffer of one connection; larger frames are written from where they lie. */
export const BATCH_BYTES = 64 * 1024;
/** Left free before what sockets read: the head of an answer may be longer than the NameNode's. */
export const READ_HEADROOM_BYTES = 1024;

/** A NameNode that has said FATAL closes the connection; after so long we do, and the other calls on it go elsewhere. */
const FATAL_LINGER_MS = 1000;

export const ConnectionState = { OPENING: 0, OPEN: 1, CLOSED: 2 } as const;

/**
 * One socket to a NameNode: leg (c) write-call and leg (d) read-reply. Calls of many clients are in flight on it at once; each is in a slot,
 * and its reply is found by the tag (slot and serial) that goes as retryCount and that a NameNode echoes in every reply.
 *
 * A connection is OPENING until TCP is up, OPEN while it may carry calls, CLOSED for ever after.
 */
export class NameNodeConnection extends WheelEntry implements FrameSink {
  readonly group: ConnectionGroup;
  /** Carries one suspect call at a time and nothing else. */
  readonly lone: boolean;
  state: number = ConnectionState.OPENING;
  inFlight = 0;
  /** It takes no more calls and is about to close. */
  closing = false;
  /** Why is known, and no call in flight is to blame: the NameNode said FATAL to another, or we close it for a reason of ours. */
  explained = false;
  /** A reply found no room towards its acceptor: reading is paused. */
  held = false;
  lastWriteMs: number;
  lastUseMs: number;
  readonly #socket: net.Socket;
  readonly #assembler: FrameAssembler;
  readonly #slots: (Call | null)[] = [];
  #freeSlots: number[] = [];
  /**
   * Tags of calls that went elsewhere, by the slot that each has left. It stays empty until its late reply has come: tags come again, and in
   * the same slot that reply would be taken for another call's.
   */
  readonly #owed = new Map<number, number>();
  #serial = MIN_SERIAL;
  #out: Block | null = null;
  #outEnd = 0;
  #dirty = false;
  /** The socket wants no more before its `drain`. */
  #full = false;
  #why = '';

  constructor(group: ConnectionGroup, lone: boolean) {
    super();
    this.group = group;
    this.lone = lone;
    const pool = group.pool;
    const settings = pool.settings;
    this.lastWriteMs = pool.clock.nowMs;
    this.lastUseMs = pool.clock.nowMs;
    this.#assembler = new FrameAssembler(this, settings.maxResponseBytes, pool.budget);
    const readBuffer = pool.readBuffer;
    this.#socket = net.connect({
      host: group.namenode.host,
      port: group.namenode.port,
      lookup: group.namenode.hostAddress.lookup,
      noDelay: settings.namenodeTcpNoDelay,
      keepAlive: true,
      onread: {
        buffer: readBuffer.subarray(READ_HEADROOM_BYTES),
        callback: (bytes) => {
          this.#onBytes(readBuffer, bytes);
          return true;
        },
      },
    });
    this.#socket.on('connect', () => this.#onConnect());
    this.#socket.on('drain', () => {
      this.#full = false;
      this.group.pump();
    });
    this.#socket.on('error', (error) => {
      this.#why = error.message;
    });
    this.#socket.on('end', () => {
      if (this.#why === '') this.#why = 'the NameNode closed the connection';
    });
    this.#socket.on('close', () => this.#onClose());
    pool.wheel.add(this, settings.connectTimeoutMs);
  }

  /** Room for one more call right now. */
  canTake(): boolean {
    const slots = this.inFlight + this.#owed.size;
    return this.state === ConnectionState.OPEN && !this.closing && slots < MAX_IN_FLIGHT && !this.#full;
  }

  /** Leg (c) write-call: gives the call a slot and a tag and puts its spliced frame into the batch of this turn. */
  writeCall(call: Call): void {
    const pool = this.group.pool;
    const slot = this.#freeSlots.length > 0 ? (this.#freeSlots.pop() as number) : this.#slots.push(null) - 1;
    this.#serial = this.#serial === MAX_SERIAL ? MIN_SERIAL : this.#serial + 1;
    call.tag = (this.#serial << SLOT_BITS) | slot;
    call.slot = slot;
    call.connection = this;
    call.place = Place.IN_FLIGHT;
    this.#slots[slot] = call;
    if (this.inFlight++ === 0) this.lastUseMs = pool.clock.nowMs;
    this.group.namenode.started(pool.clock.nowMs);

    const splice = pool.owner.prepareSplice(call);
    const need = spliceBound(call.fields, call.end - call.start, splice);
    if (need > BATCH_BYTES) {
      this.#writeBatch();
      this.#writeLarge(call, splice, need);
    } else {
      if (this.#out !== null && this.#outEnd + need > BATCH_BYTES) this.#writeBatch();
      if (this.#out === null) this.#out = pool.takeBatch();
      const out = this.#out;
      const from = call.frame === call.slab.bytes ? call.slab : null;
      this.#outEnd = spliceRequest(
        out.bytes,
        this.#outEnd,
        call.frame,
        call.start,
        call.end,
        call.fields,
        splice,
        out,
        from,
      );
    }
    if (!this.#dirty) {
      this.#dirty = true;
      pool.markDirty(this);
    }
  }

  /** End of the turn: one write for all calls of the turn. */
  flush(): void {
    this.#dirty = false;
    if (this.state === ConnectionState.OPEN) this.#writeBatch();
    if (this.group.current === this) this.group.current = null;
  }

  /** The call leaves its slot: answered, or about to be sent elsewhere. */
  release(call: Call): void {
    this.group.pool.owner.onReleased(call);
    this.#slots[call.slot] = null;
    this.#freeSlots.push(call.slot);
    call.slot = -1;
    call.connection = null;
    call.place = Place.RESOLVING;
    const now = this.group.pool.clock.nowMs;
    if (--this.inFlight === 0) this.lastUseMs = now;
    this.group.namenode.ended();
    if (this.lone) this.group.onLoneFree(this);
    else if (this.group.waiting.length > 0) this.group.pumpSoon();
  }

  /** The call goes elsewhere before its reply has come. */
  giveUp(call: Call): void {
    const { slot, tag } = call;
    this.release(call);
    this.#freeSlots.pop();
    this.#owed.set(slot, tag);
  }

  ping(): void {
    if (this.state !== ConnectionState.OPEN || this.#full) return;
    this.#writeBatch();
    this.#socket.write(encodePing(this.group.pool.clientId));
    this.lastWriteMs = this.group.pool.clock.nowMs;
    this.group.pool.counters.add(Counter.pingsSent);
  }

  /** Closes for a reason of ours; calls in flight are handed to the group as lost for an explained reason. */
  destroy(why: string): void {
    this.explained = true;
    this.#destroyFor(why);
  }

  /** The acceptor has room again. */
  resume(): void {
    this.held = false;
    if (this.state !== ConnectionState.OPEN) return;
    const code = this.#assembler.resume();
    if (code === FRAMES_HELD) this.held = true;
    else if (code !== FRAMES_OK) this.#destroyFor(this.#badFrame());
    else this.#socket.resume();
  }

  /** Deadline: of connecting, or of a NameNode that has said FATAL and must close. */
  onDue(): void {
    if (this.state === ConnectionState.OPENING) {
      this.#why = `connect timed out after ${this.group.pool.settings.connectTimeoutMs} ms`;
      this.#socket.destroy();
    } else this.#destroyFor('the NameNode said FATAL and left the connection open');
  }

  /** Leg (d) read-reply: one reply frame without its length prefix. */
  onFrame(buffer: Buffer, start: number, end: number): boolean {
    const pool = this.group.pool;
    const scan = pool.replyScan;
    if (scanReply(buffer, start, end, scan) !== SCAN_OK) {
      this.#destroyFor('malformed reply header');
      return true;
    }
    const slot = scan.retryCount & SLOT_MASK;
    const call = scan.hasRetryCount && slot < this.#slots.length ? (this.#slots[slot] as Call | null) : null;
    const matched = call !== null && call.tag === scan.retryCount && scan.callId >= 0;
    if (scan.status === Status.FATAL) {
      this.#retire();
      pool.wheel.add(this, FATAL_LINGER_MS);
      if (matched) this.explained = true;
      else this.#why = pool.owner.describeError(scan, buffer);
      // To no call: the connection itself is refused.
      if (scan.callId < 0) {
        this.explained = true;
        this.group.onRefused(this, scan, buffer);
        return true;
      }
    }
    if (!matched) {
      // A reply to a call that has been answered otherwise, or to none of ours: consumed, counted, nothing else.
      pool.counters.add(Counter.unknownReplies);
      if (this.#owed.get(slot) === scan.retryCount) {
        this.#owed.delete(slot);
        this.#freeSlots.push(slot);
      }
      return true;
    }
    return pool.owner.onReply(call, scan, buffer, start, end, this.#assembler.owns(buffer));
  }

  /** Calls in flight, in no special order; for the loss of the connection. */
  takeAll(): Call[] {
    const calls: Call[] = [];
    for (const call of this.#slots) if (call !== null) calls.push(call);
    for (const call of calls) this.release(call);
    return calls;
  }

  #onBytes(buffer: Buffer, bytes: number): void {
    const pool = this.group.pool;
    pool.noteActivity();
    this.group.namenode.lastByteMs = pool.clock.nowMs;
    pool.noteAlive(this.group.namenode, NameNodeState.UNKNOWN);
    this.lastUseMs = pool.clock.nowMs;
    const code = this.#assembler.feed(buffer, READ_HEADROOM_BYTES, READ_HEADROOM_BYTES + bytes);
    if (code === FRAMES_OK) return;
    if (code === FRAMES_HELD) {
      this.held = true;
      this.#socket.pause();
      return;
    }
    this.#destroyFor(this.#badFrame());
  }

  /** What came on it cannot be followed, or it is not wanted any more. */
  #destroyFor(why: string): void {
    if (this.#why === '') this.#why = why;
    this.#retire();
    this.#socket.destroy();
  }

  /** From here on it takes no more calls. */
  #retire(): void {
    if (this.closing) return;
    this.closing = true;
    if (this.state === ConnectionState.OPEN) this.group.namenode.openConnections--;
  }

  #badFrame(): string {
    const { badLength } = this.#assembler;
    if (badLength === 0) return 'no memory left for a reply (switchyard.memory.limit)';
    return `a reply of ${badLength} bytes, the limit is ${this.group.pool.settings.maxResponseBytes} (ipc.maximum.response.length)`;
  }

  /** What changes and the rest of the client's bytes, in one write; `need` bytes at most. */
  #writeLarge(call: Call, splice: RequestSplice, need: number): void {
    const { fields, frame, start, end } = call;
    // Slabs are used again, maybe before the socket has taken all: a short frame with long paths is copied.
    if (frame === call.slab.bytes) {
      const own = Buffer.allocUnsafeSlow(need);
      this.#full = !this.#socket.write(own.subarray(0, spliceRequest(own, 0, frame, start, end, fields, splice)));
      return;
    }
    const from = restStart(fields, splice);
    const head = Buffer.allocUnsafeSlow(spliceBound(fields, from, splice));
    const headEnd = spliceHead(head, 0, frame, start, end, fields, splice);
    this.#socket.cork();
    this.#socket.write(head.subarray(0, headEnd));
    this.#full = !this.#socket.write(frame.subarray(start + from, restEnd(start, end, fields)));
    this.#socket.uncork();
  }

  #writeBatch(): void {
    if (this.#out === null || this.#outEnd === 0) return;
    const out = this.#out;
    this.#full = !this.#socket.write(out.bytes.subarray(0, this.#outEnd));
    this.lastWriteMs = this.group.pool.clock.nowMs;
    this.#out = null;
    this.#outEnd = 0;
    // After a short write the kernel still reads from it: only a batch that left whole is used again.
    if (this.#socket.writableLength === 0) this.group.pool.giveBatch(out);
  }

  #onConnect(): void {
    const { pool, user, protocol } = this.group;
    pool.noteActivity();
    pool.wheel.remove(this);
    this.state = ConnectionState.OPEN;
    this.group.namenode.openConnections++;
    const proxy = pool.settings.proxyUser;
    const realUser = proxy === user.user ? '' : proxy;
    this.#socket.write(encodeHandshake({ user: user.user, realUser, protocol, clientId: pool.clientId }));
    this.lastWriteMs = pool.clock.nowMs;
    pool.counters.add(Counter.namenodeConnectionsOpened);
    this.group.onOpened(this);
  }

  #onClose(): void {
    const pool = this.group.pool;
    pool.noteActivity();
    pool.wheel.remove(this);
    this.#assembler.release();
    this.#retire();
    const before = this.state;
    this.state = ConnectionState.CLOSED;
    this.#out = null;
    this.#outEnd = 0;
    if (this.group.current === this) this.group.current = null;
    if (before === ConnectionState.OPENING) {
      pool.counters.add(Counter.namenodeConnectFailures);
      this.group.onConnectFailed(this, this.#why === '' ? 'connection refused' : this.#why);
    } else {
      if (this.inFlight > 0) pool.counters.add(Counter.namenodeConnectionsLost);
      this.group.onLost(this, this.explained, this.#why === '' ? 'connection reset' : this.#why);
    }
  }
}
