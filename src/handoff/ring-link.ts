import { copyBlock } from '../wire/block.ts';
import { copyBytes } from '../wire/varint.ts';
import { OpenCloseBacklog } from './backlog.ts';
import { allocateBeside } from './beside.ts';
import {
  type AcceptorLink,
  type AcceptorSide,
  CallFields,
  type ClientIdentity,
  type WorkerLink,
  type WorkerSide,
} from './link.ts';
import {
  BESIDE,
  CALL_HEAD_BYTES,
  CLOSE_HEAD_BYTES,
  identityBytes,
  Kind,
  OPEN_HEAD_BYTES,
  packIdentity,
  REPLY_HEAD_BYTES,
  readCallFields,
  unpackIdentity,
  writeCallFields,
} from './records.ts';
import { RingEnd, type RingPlumbing } from './ring-end.ts';

/**
 * The acceptor's end: (b) hand-over out, (e) hand-back in. It drains replies whatever else is full or refused.
 * On a closed link `call` is refused, and no `onSpace` follows.
 */
export class RingWorkerLink extends RingEnd implements WorkerLink {
  readonly worker: number;
  private readonly side: AcceptorSide;
  private readonly backlog = new OpenCloseBacklog();
  /** A call was refused: `onSpace` is owed. */
  private refused = false;

  constructor(worker: number, plumbing: RingPlumbing, side: AcceptorSide, besideLimitBytes?: number) {
    super(plumbing.calls, plumbing.replies, plumbing.port, false, besideLimitBytes);
    this.worker = worker;
    this.side = side;
  }

  openClient(connection: number, generation: number, identity: ClientIdentity): void {
    if (this.closed) return;
    if (this.waiting || !this.writeOpen(connection, generation, identity)) {
      this.waiting = true;
      this.backlog.addOpen(connection, generation, identity);
    }
  }

  closeClient(connection: number, generation: number): void {
    if (this.closed) return;
    if (this.waiting || !this.writeClose(connection, generation)) {
      this.waiting = true;
      this.backlog.addClose(connection, generation);
    }
  }

  call(fields: CallFields, frame: Buffer, start: number, end: number, owned = false): boolean {
    // While one waits all wait: the ring empties in the order of arrival, and small calls do not keep a large one out.
    if (this.waiting || !this.writeCall(fields, frame, start, end, owned)) {
      this.waiting = true;
      this.refused = true;
      return false;
    }
    return true;
  }

  override close(): void {
    super.close();
    this.backlog.clear();
  }

  /** Writes one record to the ring of calls; false when there is no room (then the space bell will come). For the backlog. */
  writeOpen(connection: number, generation: number, identity: ClientIdentity): boolean {
    const writer = this.writer;
    const bytes = identityBytes(identity);
    const isLarge = OPEN_HEAD_BYTES + bytes > writer.largestBytes;
    if (isLarge && !this.besideOut.hasRoom(bytes)) return false;
    const at = writer.reserve(isLarge ? OPEN_HEAD_BYTES : OPEN_HEAD_BYTES + bytes);
    if (at === -1) return false;
    const word = at >> 2;
    writer.words[word + 1] = isLarge ? Kind.OPEN | BESIDE : Kind.OPEN;
    writer.words[word + 2] = connection;
    writer.words[word + 3] = generation;
    if (isLarge) {
      const beside = allocateBeside(bytes);
      packIdentity(writer.words, word, identity, beside, 0);
      this.besideOut.send(beside);
    } else {
      packIdentity(writer.words, word, identity, writer.bytes, at + OPEN_HEAD_BYTES);
    }
    this.commit();
    return true;
  }

  /** As writeOpen. */
  writeClose(connection: number, generation: number): boolean {
    const writer = this.writer;
    const at = writer.reserve(CLOSE_HEAD_BYTES);
    if (at === -1) return false;
    const word = at >> 2;
    writer.words[word + 1] = Kind.CLOSE;
    writer.words[word + 2] = connection;
    writer.words[word + 3] = generation;
    this.commit();
    return true;
  }

  private writeCall(fields: CallFields, frame: Buffer, start: number, end: number, owned: boolean): boolean {
    const writer = this.writer;
    const bytes = CALL_HEAD_BYTES + end - start;
    if (bytes > writer.largestBytes) return this.writeLargeCall(fields, frame, start, end, owned);
    const at = writer.reserve(bytes);
    if (at === -1) return false;
    writer.words[(at >> 2) + 1] = Kind.CALL;
    writeCallFields(writer.words, at >> 2, fields);
    const block = this.received.of(frame);
    if (block === null) frame.copy(writer.bytes, at + CALL_HEAD_BYTES, start, end);
    else copyBlock(writer.block, at + CALL_HEAD_BYTES, block, start, end);
    this.commit();
    return true;
  }

  private writeLargeCall(fields: CallFields, frame: Buffer, start: number, end: number, owned: boolean): boolean {
    const writer = this.writer;
    if (!this.besideOut.hasRoom(end - start)) return false;
    const at = writer.reserve(CALL_HEAD_BYTES);
    if (at === -1) return false;
    writer.words[(at >> 2) + 1] = Kind.CALL | BESIDE;
    writeCallFields(writer.words, at >> 2, fields);
    if (owned) this.besideOut.send(frame as Buffer<ArrayBuffer>);
    else {
      const beside = allocateBeside(end - start);
      frame.copy(beside, 0, start, end);
      this.besideOut.send(beside);
    }
    this.commit();
    return true;
  }

  protected take(_kind: number, at: number, beside: Buffer | undefined): void {
    const reader = this.reader;
    const word = at >> 2;
    const words = reader.words;
    const connection = words[word + 2] as number;
    const generation = words[word + 3] as number;
    const slot = words[word + 4] as number;
    const flags = words[word + 5] as number;
    if (beside === undefined) {
      const start = at + REPLY_HEAD_BYTES;
      this.side.onReply(this, connection, generation, slot, flags, reader.bytes, start, at + reader.length, false);
    } else {
      this.side.onReply(this, connection, generation, slot, flags, beside, 0, beside.length, true);
    }
  }

  protected roomAgain(): void {
    const isWritten = this.backlog.writeTo(this);
    this.flush();
    if (!isWritten) {
      this.waiting = true;
      return;
    }
    if (this.refused) {
      this.refused = false;
      this.side.onSpace(this);
    }
  }

  protected drained(): void {
    this.side.onDrained(this);
  }
}

/**
 * The worker's end: (b) hand-over in, (e) hand-back out. While a reply waits for room it takes no further call, so what a worker holds
 * back is bounded by the calls it had taken; the acceptor always drains, so room always comes.
 */
export class RingAcceptorLink extends RingEnd implements AcceptorLink {
  readonly acceptor: number;
  private readonly side: WorkerSide;
  private readonly fields = new CallFields();

  constructor(acceptor: number, plumbing: RingPlumbing, side: WorkerSide, besideLimitBytes?: number) {
    super(plumbing.replies, plumbing.calls, plumbing.port, true, besideLimitBytes);
    this.acceptor = acceptor;
    this.side = side;
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
    owned = false,
  ): boolean {
    // On a closed end nobody wants it any more: it counts as delivered, so that the worker does not keep it.
    if (this.waiting) return this.closed;
    const writer = this.writer;
    const headBytes = headEnd - headStart;
    const bytes = headBytes + bodyEnd - bodyStart;
    const isLarge = REPLY_HEAD_BYTES + bytes > writer.largestBytes;
    if (isLarge && !this.besideOut.hasRoom(bytes)) return this.refuse();
    const at = writer.reserve(isLarge ? REPLY_HEAD_BYTES : REPLY_HEAD_BYTES + bytes);
    if (at === -1) return this.refuse();
    const word = at >> 2;
    const words = writer.words;
    words[word + 1] = isLarge ? Kind.REPLY | BESIDE : Kind.REPLY;
    words[word + 2] = connection;
    words[word + 3] = generation;
    words[word + 4] = slot;
    words[word + 5] = flags;
    if (isLarge && owned && headBytes === 0) {
      this.besideOut.send(body.subarray(bodyStart, bodyEnd) as Buffer<ArrayBuffer>);
    } else if (isLarge) {
      const beside = allocateBeside(bytes);
      head.copy(beside, 0, headStart, headEnd);
      body.copy(beside, headBytes, bodyStart, bodyEnd);
      this.besideOut.send(beside);
    } else {
      const start = at + REPLY_HEAD_BYTES;
      copyBytes(writer.bytes, start, head, headStart, headEnd);
      if (bodyEnd > bodyStart) {
        const block = this.received.of(body);
        if (block === null) body.copy(writer.bytes, start + headBytes, bodyStart, bodyEnd);
        else copyBlock(writer.block, start + headBytes, block, bodyStart, bodyEnd);
      }
    }
    this.commit();
    return true;
  }

  private refuse(): false {
    this.waiting = true;
    return false;
  }

  protected take(kind: number, at: number, beside: Buffer | undefined): void {
    const reader = this.reader;
    const words = reader.words;
    const word = at >> 2;
    if (kind === Kind.CALL) {
      readCallFields(words, word, this.fields);
      if (beside !== undefined) this.side.onCall(this, this.fields, beside, 0, beside.length, true);
      else this.side.onCall(this, this.fields, reader.bytes, at + CALL_HEAD_BYTES, at + reader.length, false);
      return;
    }
    const connection = words[word + 2] as number;
    const generation = words[word + 3] as number;
    if (kind === Kind.CLOSE) {
      this.side.onClose(this, connection, generation);
      return;
    }
    const texts = beside ?? reader.bytes;
    const identity = unpackIdentity(words, word, texts, beside === undefined ? at + OPEN_HEAD_BYTES : 0);
    this.side.onOpen(this, connection, generation, identity);
  }

  protected roomAgain(): void {
    this.side.onReplySpace(this);
  }

  protected drained(): void {
    this.side.onDrained(this);
  }
}

export { DEFAULT_RING_BYTES, makeRingPlumbing, type RingPlumbing } from './ring-end.ts';
