/**
 * In place of the two rings: each call and each reply is one message on the port of the pair, with the words and bytes of the ring's record in
 * an ArrayBuffer of its own. Nothing is ever full: what is on its way is bounded by the table of outstanding calls.
 */

import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import {
  type AcceptorLink,
  type AcceptorSide,
  CallFields,
  type ClientIdentity,
  type WorkerLink,
  type WorkerSide,
} from '../../../src/handoff/link.ts';
import {
  CALL_HEAD_BYTES,
  CLOSE_HEAD_BYTES,
  Kind,
  REPLY_HEAD_BYTES,
  readCallFields,
  writeCallFields,
} from '../../../src/handoff/records.ts';
import type { RingPlumbing } from '../../../src/handoff/ring-end.ts';

export { DEFAULT_RING_BYTES, makeRingPlumbing, type RingPlumbing } from '../../../src/handoff/ring-end.ts';

/** Larger replies belong to the receiver; smaller ones are gathered in its slabs, as those from the ring are. */
const OWNED_BYTES = 64 * 1024;

interface OpenMessage {
  readonly connection: number;
  readonly generation: number;
  readonly identity: ClientIdentity;
}

/** What both ends have in common: the port, and a note to the owner once the messages of a turn have been handed on. */
abstract class MessageEnd {
  protected readonly port: MessagePort;
  protected closed = false;
  #drainedDue = false;
  readonly #onMessage = (message: unknown): void => this.#hear(message);
  readonly #onImmediate = (): void => {
    this.#drainedDue = false;
    if (!this.closed) this.drained();
  };

  protected constructor(port: MessagePort) {
    this.port = port;
    port.on('message', this.#onMessage);
  }

  /** Hands on what is on the port already. */
  drain(): void {
    for (;;) {
      const next = this.closed ? undefined : (receiveMessageOnPort(this.port) as { message: unknown } | undefined);
      if (next === undefined) return;
      this.#hear(next.message);
    }
  }

  /** A message is on its way as soon as it is posted. */
  flush(): void {}

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.port.off('message', this.#onMessage);
    this.port.close();
  }

  protected abstract take(message: unknown): void;
  protected abstract drained(): void;

  #hear(message: unknown): void {
    if (this.closed) return;
    if (!this.#drainedDue) {
      this.#drainedDue = true;
      setImmediate(this.#onImmediate);
    }
    this.take(message);
  }
}

export class RingWorkerLink extends MessageEnd implements WorkerLink {
  readonly worker: number;
  readonly #side: AcceptorSide;

  constructor(worker: number, plumbing: RingPlumbing, side: AcceptorSide) {
    super(plumbing.port);
    this.worker = worker;
    this.#side = side;
  }

  openClient(connection: number, generation: number, identity: ClientIdentity): void {
    if (!this.closed) this.port.postMessage({ connection, generation, identity } satisfies OpenMessage);
  }

  closeClient(connection: number, generation: number): void {
    if (this.closed) return;
    const record = new ArrayBuffer(CLOSE_HEAD_BYTES);
    const words = new Int32Array(record);
    words[1] = Kind.CLOSE;
    words[2] = connection;
    words[3] = generation;
    this.port.postMessage(record);
  }

  call(fields: CallFields, frame: Buffer, start: number, end: number): boolean {
    if (this.closed) return false;
    const record = new ArrayBuffer(CALL_HEAD_BYTES + end - start);
    const words = new Int32Array(record, 0, CALL_HEAD_BYTES >> 2);
    words[1] = Kind.CALL;
    writeCallFields(words, 0, fields);
    frame.copy(Buffer.from(record), CALL_HEAD_BYTES, start, end);
    this.port.postMessage(record);
    return true;
  }

  protected take(message: unknown): void {
    const bytes = Buffer.from(message as ArrayBuffer);
    const words = new Int32Array(message as ArrayBuffer, 0, REPLY_HEAD_BYTES >> 2);
    const connection = words[2] as number;
    const generation = words[3] as number;
    const slot = words[4] as number;
    const flags = words[5] as number;
    const isOwned = bytes.length > OWNED_BYTES;
    this.#side.onReply(this, connection, generation, slot, flags, bytes, REPLY_HEAD_BYTES, bytes.length, isOwned);
  }

  protected drained(): void {
    this.#side.onDrained(this);
  }
}

export class RingAcceptorLink extends MessageEnd implements AcceptorLink {
  readonly acceptor: number;
  readonly #side: WorkerSide;
  readonly #fields = new CallFields();

  constructor(acceptor: number, plumbing: RingPlumbing, side: WorkerSide) {
    super(plumbing.port);
    this.acceptor = acceptor;
    this.#side = side;
  }

  reply(
    connection: number,
    generation: number,
    slot: number,
    flags: number,
    head: Buffer,
    headStart: number,
    headEnd: number,
    body: Buffer,
    bodyStart: number,
    bodyEnd: number,
  ): boolean {
    // Nobody wants it any more: it counts as delivered.
    if (this.closed) return true;
    const headBytes = headEnd - headStart;
    const record = new ArrayBuffer(REPLY_HEAD_BYTES + headBytes + bodyEnd - bodyStart);
    const words = new Int32Array(record, 0, REPLY_HEAD_BYTES >> 2);
    words[1] = Kind.REPLY;
    words[2] = connection;
    words[3] = generation;
    words[4] = slot;
    words[5] = flags;
    const bytes = Buffer.from(record);
    head.copy(bytes, REPLY_HEAD_BYTES, headStart, headEnd);
    body.copy(bytes, REPLY_HEAD_BYTES + headBytes, bodyStart, bodyEnd);
    this.port.postMessage(record);
    return true;
  }

  protected take(message: unknown): void {
    if (!(message instanceof ArrayBuffer)) {
      const { connection, generation, identity } = message as OpenMessage;
      this.#side.onOpen(this, connection, generation, identity);
      return;
    }
    const words = new Int32Array(message, 0, Math.min(CALL_HEAD_BYTES, message.byteLength) >> 2);
    if (words[1] === Kind.CLOSE) {
      this.#side.onClose(this, words[2] as number, words[3] as number);
      return;
    }
    readCallFields(words, 0, this.#fields);
    const bytes = Buffer.from(message);
    this.#side.onCall(this, this.#fields, bytes, CALL_HEAD_BYTES, bytes.length, false);
  }

  protected drained(): void {
    this.#side.onDrained(this);
  }
}
