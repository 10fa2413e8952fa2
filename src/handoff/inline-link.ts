import { OpenCloseBacklog } from './backlog.ts';
import type { AcceptorLink, AcceptorSide, CallFields, ClientIdentity, WorkerLink, WorkerSide } from './link.ts';

/** Replies up to this size are put together in memory that is reused. */
const SCRATCH_BYTES = 64 * 1024;

/**
 * Acceptor and worker in one thread: what the ring does with records, plain calls do here. Nothing is ever full.
 *
 * The worker is never entered while its code is on the stack. What the acceptor wants of it from inside a reply waits until the end of the
 * turn: openings and closings inside the link, calls by being refused (`onSpace` follows). So the deepest chain is call, reply within it.
 */
class InlinePair {
  readonly workerLink: InlineWorkerLink;
  readonly acceptorLink: InlineAcceptorLink;
  readonly acceptorSide: AcceptorSide;
  readonly workerSide: WorkerSide;
  readonly backlog = new OpenCloseBacklog();
  workerIsBusy = false;
  closed = false;
  /** A call was refused: `onSpace` is owed. */
  refused = false;
  /** Records were handed on since the last onDrained of that side. */
  toWorker = false;
  toAcceptor = false;
  scratch: Buffer = Buffer.alloc(0);
  private turnIsSet = false;
  private readonly onImmediate: () => void;

  constructor(worker: number, acceptor: number, acceptorSide: AcceptorSide, workerSide: WorkerSide) {
    this.acceptorSide = acceptorSide;
    this.workerSide = workerSide;
    this.workerLink = new InlineWorkerLink(worker, this);
    this.acceptorLink = new InlineAcceptorLink(acceptor, this);
    this.onImmediate = () => this.endTurn();
  }

  /** Makes sure that the end of this turn is not missed. */
  setTurn(): void {
    if (this.turnIsSet || this.closed) return;
    this.turnIsSet = true;
    setImmediate(this.onImmediate);
  }

  /** Hands waiting openings and closings on; only while the worker is not busy. */
  writeBacklog(): void {
    if (!this.backlog.isEmpty()) this.backlog.writeTo(this);
  }

  writeOpen(connection: number, generation: number, identity: ClientIdentity): boolean {
    this.workerIsBusy = true;
    try {
      this.workerSide.onOpen(this.acceptorLink, connection, generation, identity);
    } finally {
      this.workerIsBusy = false;
    }
    return true;
  }

  writeClose(connection: number, generation: number): boolean {
    this.workerIsBusy = true;
    try {
      this.workerSide.onClose(this.acceptorLink, connection, generation);
    } finally {
      this.workerIsBusy = false;
    }
    return true;
  }

  drainWorker(): void {
    if (!this.toWorker || this.workerIsBusy || this.closed) return;
    this.toWorker = false;
    this.workerIsBusy = true;
    try {
      this.workerSide.onDrained(this.acceptorLink);
    } finally {
      this.workerIsBusy = false;
    }
  }

  drainAcceptor(): void {
    if (!this.toAcceptor || this.closed) return;
    this.toAcceptor = false;
    this.acceptorSide.onDrained(this.workerLink);
  }

  private endTurn(): void {
    this.turnIsSet = false;
    if (this.closed) return;
    try {
      this.writeBacklog();
      if (this.refused) {
        this.refused = false;
        this.acceptorSide.onSpace(this.workerLink);
      }
      this.drainWorker();
      this.drainAcceptor();
    } finally {
      // What a throw left undone.
      if (this.refused || this.toWorker || this.toAcceptor || !this.backlog.isEmpty()) this.setTurn();
    }
  }
}

class InlineWorkerLink implements WorkerLink {
  readonly worker: number;
  private readonly pair: InlinePair;

  constructor(worker: number, pair: InlinePair) {
    this.worker = worker;
    this.pair = pair;
  }

  openClient(connection: number, generation: number, identity: ClientIdentity): void {
    const pair = this.pair;
    if (pair.closed) return;
    pair.toWorker = true;
    pair.setTurn();
    pair.backlog.addOpen(connection, generation, identity);
    if (!pair.workerIsBusy) pair.writeBacklog();
  }

  closeClient(connection: number, generation: number): void {
    const pair = this.pair;
    if (pair.closed) return;
    pair.toWorker = true;
    pair.setTurn();
    pair.backlog.addClose(connection, generation);
    if (!pair.workerIsBusy) pair.writeBacklog();
  }

  call(fields: CallFields, frame: Buffer, start: number, end: number, owned = false): boolean {
    const pair = this.pair;
    if (pair.closed) return false;
    pair.setTurn();
    if (pair.workerIsBusy) {
      pair.refused = true;
      return false;
    }
    pair.writeBacklog();
    pair.toWorker = true;
    pair.workerIsBusy = true;
    try {
      pair.workerSide.onCall(pair.acceptorLink, fields, frame, start, end, owned);
    } finally {
      pair.workerIsBusy = false;
    }
    return true;
  }

  flush(): void {
    const pair = this.pair;
    if (!pair.workerIsBusy) pair.writeBacklog();
    pair.drainWorker();
  }

  close(): void {
    this.pair.closed = true;
    this.pair.backlog.clear();
  }
}

class InlineAcceptorLink implements AcceptorLink {
  readonly acceptor: number;
  private readonly pair: InlinePair;

  constructor(acceptor: number, pair: InlinePair) {
    this.acceptor = acceptor;
    this.pair = pair;
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
    const pair = this.pair;
    // Nobody wants it any more: it counts as delivered, so that the worker does not keep it.
    if (pair.closed) return true;
    pair.toAcceptor = true;
    pair.setTurn();
    const headBytes = headEnd - headStart;
    const bytes = headBytes + bodyEnd - bodyStart;
    let buffer = body;
    let start = bodyStart;
    let end = bodyEnd;
    // A large reply has, or gets, memory of its own: the acceptor may keep it, which saves it the next copy.
    let isOwned = bytes > SCRATCH_BYTES && owned;
    if (headBytes > 0) {
      isOwned = bytes > SCRATCH_BYTES;
      if (isOwned) buffer = Buffer.allocUnsafeSlow(bytes);
      else {
        if (pair.scratch.length === 0) pair.scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);
        buffer = pair.scratch;
      }
      head.copy(buffer, 0, headStart, headEnd);
      body.copy(buffer, headBytes, bodyStart, bodyEnd);
      start = 0;
      end = bytes;
    }
    const wasBusy = pair.workerIsBusy;
    pair.workerIsBusy = true;
    try {
      pair.acceptorSide.onReply(pair.workerLink, connection, generation, slot, flags, buffer, start, end, isOwned);
    } finally {
      pair.workerIsBusy = wasBusy;
    }
    return true;
  }

  flush(): void {
    this.pair.drainAcceptor();
  }
}

/**
 * Both ends of an inline pair. `flush` of one end calls `onDrained` of the other side if anything was handed on since the last time; without
 * a flush that happens once at the end of the turn. Replies are not owned by the receiver unless they are above 64 KiB.
 */
export function makeInlineLinks(
  worker: number,
  acceptor: number,
  acceptorSide: AcceptorSide,
  workerSide: WorkerSide,
): { workerLink: WorkerLink; acceptorLink: AcceptorLink } {
  const pair = new InlinePair(worker, acceptor, acceptorSide, workerSide);
  return { workerLink: pair.workerLink, acceptorLink: pair.acceptorLink };
}
