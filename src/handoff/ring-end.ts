import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { LastBlock } from '../wire/block.ts';
import { BESIDE_LIMIT_BYTES, BesideReceiver, BesideSender } from './beside.ts';
import { fallAsleep, Notice, ringRecords, ringSpace, spaceIsMeant, stayAwake } from './doorbell.ts';
import { BESIDE } from './records.ts';
import { createRing, RingReader, RingWriter } from './ring.ts';

/** What one end of a pair needs: both rings and its end of the port. Goes to a thread as it is, with `port` in the transfer list. */
export interface RingPlumbing {
  readonly calls: SharedArrayBuffer;
  readonly replies: SharedArrayBuffer;
  readonly port: MessagePort;
}

/** Size of each ring when nothing else is wanted: some thousand calls; larger records than 128 KiB go beside it. */
export const DEFAULT_RING_BYTES = 1024 * 1024;

/** Makes the two rings (each of at least `ringBytes`) and the port between one acceptor and one worker. */
export function makeRingPlumbing(ringBytes: number): { acceptorEnd: RingPlumbing; workerEnd: RingPlumbing } {
  const calls = createRing(ringBytes);
  const replies = createRing(ringBytes);
  const { port1, port2 } = new MessageChannel();
  return { acceptorEnd: { calls, replies, port: port1 }, workerEnd: { calls, replies, port: port2 } };
}

/** A drain hands on at most this much, then sockets get their turn and it goes on in the next one. */
export const DRAIN_RECORDS = 512;
export const DRAIN_BYTES = 1024 * 1024;

/**
 * One end of a pair: it produces into one ring, consumes the other, and hears the port. What acceptor and worker have in common.
 *
 * Outside of `drain` one of these is true, so that no record stays unseen: this end is marked asleep; a bell is on the way; the drain
 * goes on in the next turn; it is held back by a refused write of its own and goes on with the space bell.
 */
export abstract class RingEnd {
  protected readonly writer: RingWriter;
  protected readonly reader: RingReader;
  protected readonly besideOut: BesideSender;
  /** What that lies in which is written to the ring. */
  protected readonly received = new LastBlock();
  /** A write was refused and the space bell has not come yet; on a closed end for ever. */
  protected waiting = false;
  protected closed = false;
  private readonly port: MessagePort;
  private readonly besideIn: BesideReceiver;
  /** Takes nothing while it waits for space itself. */
  private readonly holdsBack: boolean;
  private unrung = false;
  private draining = false;
  private goesOn = false;
  private stalled = false;
  private readonly onMessage: (message: unknown) => void;
  private readonly onPortClose: () => void;
  private readonly onImmediate: () => void;
  private readonly onSpaceNotice: () => void;

  protected constructor(
    out: SharedArrayBuffer,
    incoming: SharedArrayBuffer,
    port: MessagePort,
    holdsBack: boolean,
    besideLimitBytes = BESIDE_LIMIT_BYTES,
  ) {
    this.writer = new RingWriter(out);
    this.reader = new RingReader(incoming);
    this.port = port;
    this.besideOut = new BesideSender(this.writer.words, port, besideLimitBytes);
    this.besideIn = new BesideReceiver(this.reader.words);
    this.holdsBack = holdsBack;
    this.onMessage = (message) => this.hear(message);
    // A thread that died after it published and before it rang leaves records that are as good as any other.
    this.onPortClose = () => this.drain();
    this.onImmediate = () => {
      this.goesOn = false;
      this.drain();
    };
    this.onSpaceNotice = () => this.hearSpace();
    port.on('message', this.onMessage);
    port.on('close', this.onPortClose);
  }

  /**
   * Hands on what is in the ring, up to a turn's share. Called on the bell; the owner may also call it at the end of an event-loop turn, which
   * saves the bell. An error thrown by the owner's side comes out here; the record counts as handed on and the next turn continues after it.
   */
  drain(): void {
    if (this.draining || this.closed || this.isHeldBack()) return;
    const reader = this.reader;
    let records = 0;
    let bytes = 0;
    let empty = false;
    this.draining = true;
    this.stalled = false;
    try {
      while (records < DRAIN_RECORDS && bytes < DRAIN_BYTES) {
        const at = reader.next();
        if (at === -1) {
          empty = fallAsleep(reader);
          if (empty) break;
          continue;
        }
        if (records === 0) stayAwake(reader);
        bytes += this.handOn(at);
        if (this.stalled) break;
        records++;
        if (reader.release()) ringSpace(reader, this.port, false);
        if (this.closed || this.isHeldBack()) break;
      }
    } finally {
      // After a throw the record is released here.
      if (!this.stalled) reader.release();
      reader.publish();
      ringSpace(reader, this.port, false);
      this.draining = false;
      if (!empty && !this.stalled && !this.isHeldBack()) this.goOn();
    }
    if (records > 0 && !this.closed) this.drained();
  }

  /** End of the event-loop turn: rings the other end's bell if it sleeps and something was written. */
  flush(): void {
    if (!this.unrung) return;
    this.unrung = false;
    ringRecords(this.writer, this.port);
  }

  /** Stops hearing and closes the port. Records and messages that are still there or come later are ignored. */
  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.waiting = true;
    this.port.off('message', this.onMessage);
    this.port.off('close', this.onPortClose);
    this.port.close();
  }

  /** Publishes the record that was reserved. */
  protected commit(): void {
    this.writer.commit();
    this.unrung = true;
  }

  /** Hands one record of the incoming ring on: at byte offset `at`, its bytes in `beside` when they travelled beside the ring. */
  protected abstract take(kind: number, at: number, beside: Buffer | undefined): void;
  /** There is room after a refused write. */
  protected abstract roomAgain(): void;
  protected abstract drained(): void;

  /** Bytes handed on. */
  private handOn(at: number): number {
    const kind = this.reader.words[(at >> 2) + 1] as number;
    if ((kind & BESIDE) === 0) {
      this.take(kind, at, undefined);
      return this.reader.length;
    }
    const beside = this.nextBeside();
    if (beside === undefined) {
      this.stalled = true;
      return 0;
    }
    ringSpace(this.reader, this.port, true);
    this.take(kind & ~BESIDE, at, beside);
    return beside.length;
  }

  /** The bytes are on the port already when their record is seen, perhaps not in our hands yet. */
  private nextBeside(): Buffer | undefined {
    for (;;) {
      const bytes = this.besideIn.take();
      if (bytes !== undefined) return bytes;
      const next = receiveMessageOnPort(this.port) as { message: unknown } | undefined;
      if (next === undefined) return undefined;
      this.hear(next.message);
    }
  }

  private hear(message: unknown): void {
    if (this.closed) return;
    if (message === Notice.RECORDS) {
      this.drain();
    } else if (message === Notice.SPACE) {
      // Heard in the middle of a drain it waits: the owner's code must not be entered twice.
      if (this.draining) setImmediate(this.onSpaceNotice);
      else this.hearSpace();
    } else {
      this.besideIn.arrive(message as Uint8Array);
      if (this.stalled) this.drain();
    }
  }

  private hearSpace(): void {
    if (!this.waiting || this.closed || !spaceIsMeant(this.writer)) return;
    this.waiting = false;
    this.roomAgain();
    if (this.holdsBack) this.drain();
  }

  private isHeldBack(): boolean {
    return this.holdsBack && this.waiting;
  }

  private goOn(): void {
    if (this.goesOn || this.closed) return;
    this.goesOn = true;
    setImmediate(this.onImmediate);
  }
}
