import { Status } from '../../wire/reply-head.ts';
import { textOf } from '../../wire/text.ts';
import { findUsualMicros } from '../histogram/latency.ts';
import { bucketOfMs, createCounts } from '../histogram/latency-buckets.ts';
import { findsNothing, hasResult, OPERATION_NAMES, REQUEST_NAMES } from '../plan/operations.ts';
import { type CallFrames, COMPLETE } from './call-frames.ts';
import type { CallSource } from './call-source.ts';
import type { LoadConnection } from './connection.ts';
import type { FederatedState } from './federated-state.ts';
import type { Pacer, Sender } from './pacer.ts';
import { FALSE_CLASS, MISSING_CLASS, PROTOCOL_CLASS, type Recorder, TIMEOUT_CLASS } from './recorder.ts';
import { isEmptyResult, isTrueResult, Reply, ReplyKind, readReply } from './reply.ts';

const CREATE = OPERATION_NAMES.indexOf('create');
const HAS_RESULT: readonly boolean[] = REQUEST_NAMES.map(hasResult);
const FINDS_NOTHING: readonly boolean[] = REQUEST_NAMES.map(findsNothing);
/** Beyond the usual time, when replies that were merely under way at the end are awaited: timers and reading take some time. */
const GRACE_MS = 5;
/** How the Java class ends that says that a path is not there. */
const MISSING_PATH = 'FileNotFoundException';

/** When replies count for the rate; performance.now. */
export interface MeasuredTime {
  readonly startMs: number;
  readonly endMs: number;
  /** Measured calls that are due before it are the early ones. */
  readonly earlyEndMs: number;
  /** The run ends by time: replies within it count. Else those of measured calls, whenever they come. */
  readonly isTimed: boolean;
}

/**
 * Calls from the choice to the result. A call is in a slot of its connection from `send` until it is answered, has timed out or is lost; the
 * slot says where the result goes.
 */
export class Exchange implements Sender {
  /** Set when the run begins. */
  pacer: Pacer | null = null;
  time: MeasuredTime = {
    startMs: Number.POSITIVE_INFINITY,
    endMs: Number.POSITIVE_INFINITY,
    earlyEndMs: Number.NEGATIVE_INFINITY,
    isTimed: false,
  };
  /** The run ends because the server is gone. */
  givesUp = false;
  /** Calls in slots, those that close created files included. */
  inFlight = 0;
  substituted = 0;
  /** Answers that count for the rate. */
  replies = 0;
  /** Calls due in the measured time that kept up: answered before its end, or after it within the time that a call usually takes (findUsualMicros). */
  keptUp = 0;
  /** Reads of given paths, and of a replay, that were answered with nothing; measured ones. */
  nothingFound = 0;
  /** Service times of the early calls that were answered: what calls take before a queue can have grown. */
  readonly early: Uint32Array = createCounts();
  firstSentMs: number = Number.POSITIVE_INFINITY;
  lastReplyMs = 0;
  readonly #calls: CallSource;
  readonly #frames: CallFrames;
  readonly #recorder: Recorder;
  readonly #federated: FederatedState | null;
  readonly #isClosedLoop: boolean;
  readonly #timeoutMs: number;
  readonly #reply = new Reply();
  /** Connections with calls that wait for the flush. */
  readonly #dirty: LoadConnection[] = [];
  /** Connections that the flush has emptied: calls may go to them again. */
  readonly #resumed: LoadConnection[] = [];
  #isAwake = false;
  /** Until then replies count as kept up; -1: not known yet. */
  #graceEndMs = -1;

  constructor(
    calls: CallSource,
    frames: CallFrames,
    recorder: Recorder,
    federated: FederatedState | null,
    isClosedLoop: boolean,
    timeoutMs: number,
  ) {
    this.#calls = calls;
    this.#frames = frames;
    this.#recorder = recorder;
    this.#federated = federated;
    this.#isClosedLoop = isClosedLoop;
    this.#timeoutMs = timeoutMs;
  }

  send(connection: LoadConnection, call: number, dueMs: number, isMeasured: boolean): void {
    const calls = this.#calls;
    calls.choose(call, connection.user);
    if (isMeasured && calls.substituted) this.substituted++;
    const { slots } = connection;
    const slot = slots.take();
    slots.dueAt[slot] = dueMs;
    slots.cells[slot] = this.#recorder.cellOf(calls.operation, calls.target);
    slots.measured[slot] = isMeasured ? 1 : 0;
    slots.requests[slot] = calls.operation;
    slots.sources[slot] = calls.source;
    slots.groups[slot] = calls.group;
    slots.numbers[slot] = calls.number;
    slots.destinations[slot] = calls.destination;
    this.#recorder.sent++;
    this.inFlight++;
    this.#addPending(connection, slot);
  }

  wake(): void {
    if (this.#isAwake) return;
    this.#isAwake = true;
    setImmediate(this.#onAwake);
  }

  /** Sends what is due and writes it. */
  issue(nowMs: number): void {
    // What is issued here is flushed here: nobody needs to be woken for it.
    const wasAwake = this.#isAwake;
    this.#isAwake = true;
    if (nowMs < this.time.endMs) this.pacer?.issue(nowMs);
    else if (this.pacer?.isOver === false) this.pacer.end(nowMs, this.givesUp);
    this.#flush(nowMs);
    this.#isAwake = wasAwake;
    for (let connection = this.#resumed.pop(); connection !== undefined; connection = this.#resumed.pop()) {
      this.resume(connection);
    }
  }

  /** One reply, buffer[start, end), at connection.nowMs. */
  takeReply(connection: LoadConnection, buffer: Buffer, start: number, end: number): void {
    const reply = this.#reply;
    const federated = this.#federated;
    const kind = readReply(buffer, start, end, connection.clientId, federated !== null, reply);
    const { slots } = connection;
    const slot = slots.find(reply.callId);
    if (slot < 0) {
      this.#takeStray(connection, kind, buffer);
      return;
    }
    if (federated !== null && kind === ReplyKind.SUCCESS) {
      federated.merge(buffer, reply.scan.federatedStart, reply.scan.federatedEnd);
    }
    if (connection.nowMs - slots.sentAt[slot]! >= this.#timeoutMs) {
      this.#expire(connection, slot);
      return;
    }
    const request = slots.requests[slot]!;
    if (request !== COMPLETE) this.#recordReply(connection, slot);
    if (kind !== ReplyKind.SUCCESS) this.#settleFailure(connection, slot, kind, buffer);
    else if (HAS_RESULT[request] === true && !isTrueResult(buffer, reply.bodyStart, end)) {
      this.#recordError(connection, slot, FALSE_CLASS, `${REQUEST_NAMES[request]} was answered with false`);
    } else if (FINDS_NOTHING[request] === true && isEmptyResult(buffer, reply.bodyStart)) {
      this.#settleNothing(connection, slot);
    } else if (request === CREATE) {
      this.#sendComplete(connection, slot);
      return;
    } else {
      if (slots.measured[slot] === 1) this.#recorder.recordSuccess(slots.cells[slot]!);
      this.#calls.settleSuccess(
        request === COMPLETE ? CREATE : request,
        connection.user,
        slots.sources[slot]!,
        slots.groups[slot]!,
        slots.numbers[slot]!,
        slots.destinations[slot]!,
      );
    }
    this.#freeSlot(connection, slot);
  }

  /** The connection is gone, and its calls with it: they took until connection.nowMs. */
  loseCalls(connection: LoadConnection, errorClass: string, message: string): void {
    const { slots, nowMs } = connection;
    for (let slot = 0; slot < slots.size; slot++) {
      if (!slots.isTaken(slot)) continue;
      if (slots.requests[slot] !== COMPLETE) {
        const dueAt = slots.dueAt[slot]!;
        // One that was not written yet has no other beginning than when it was due.
        const sentAt = slots.sentAt[slot]! || dueAt;
        this.#recorder.recordLatency(slots.cells[slot]!, slots.measured[slot] === 1, nowMs - dueAt, nowMs - sentAt);
      }
      this.#recordError(connection, slot, errorClass, message);
      slots.free(slot);
      this.inFlight--;
      this.pacer?.onCallOver(slots.numbers[slot]!);
    }
  }

  /** Gives up the calls of this connection that have had no reply for too long; a reply that comes later is read past. */
  expireCalls(connection: LoadConnection, nowMs: number): void {
    const { slots } = connection;
    if (slots.count === 0) return;
    connection.nowMs = nowMs;
    const { size } = slots;
    // A closed loop takes slots anew while this runs; when that makes the table grow, the rest waits for the next time.
    for (let slot = 0; slot < size && slots.size === size; slot++) {
      const sentAt = slots.sentAt[slot]!;
      if (slots.isTaken(slot) && sentAt !== 0 && nowMs - sentAt >= this.#timeoutMs) this.#expire(connection, slot);
    }
  }

  /**
   * Measured calls of this connection that are sent and have no reply, when nobody waits for them any more. A file that was created and not closed
   * yet has had its reply: a success.
   */
  countUnanswered({ slots }: LoadConnection): number {
    let unanswered = 0;
    for (let slot = 0; slot < slots.size; slot++) {
      if (!slots.isTaken(slot) || slots.measured[slot] !== 1) continue;
      if (slots.requests[slot] === COMPLETE) this.#recorder.recordSuccess(slots.cells[slot]!);
      else unanswered++;
    }
    return unanswered;
  }

  /** What a connection that was full has written makes room for others. */
  resume(connection: LoadConnection): void {
    this.pacer?.onWritable(connection);
    this.wake();
  }

  readonly #onAwake = (): void => {
    this.#isAwake = false;
    this.issue(performance.now());
  };

  #flush(nowMs: number): void {
    const dirty = this.#dirty;
    if (dirty.length === 0) return;
    const federated = this.#federated;
    if (federated?.changed === true) this.#frames.setFederatedState(federated.encode());
    for (let i = 0; i < dirty.length; i++) {
      const connection = dirty[i]!;
      const wasFull = connection.isFull;
      connection.flush(this.#frames, nowMs, this.#isClosedLoop);
      if (wasFull && !connection.isFull) this.#resumed.push(connection);
    }
    dirty.length = 0;
    if (nowMs >= this.time.startMs && this.firstSentMs === Number.POSITIVE_INFINITY) this.firstSentMs = nowMs;
  }

  #addPending(connection: LoadConnection, slot: number): void {
    if (connection.pendingCount === 0) {
      this.#dirty.push(connection);
      this.wake();
    }
    connection.addPending(slot, this.#frames.frameBound);
  }

  #expire(connection: LoadConnection, slot: number): void {
    const { slots } = connection;
    const limitMs = this.#timeoutMs;
    if (slots.requests[slot] !== COMPLETE) {
      const isMeasured = slots.measured[slot] === 1;
      const correctedMs = slots.sentAt[slot]! - slots.dueAt[slot]! + limitMs;
      this.#recorder.recordLatency(slots.cells[slot]!, isMeasured, correctedMs, limitMs);
    }
    this.#recordError(connection, slot, TIMEOUT_CLASS, `no reply within ${limitMs} ms`);
    this.#freeSlot(connection, slot);
  }

  #recordReply(connection: LoadConnection, slot: number): void {
    const { slots, nowMs } = connection;
    const isMeasured = slots.measured[slot] === 1;
    const { startMs, endMs, earlyEndMs, isTimed } = this.time;
    // Before this call is recorded: it must not lengthen its own grace.
    if (isMeasured && (!isTimed || nowMs < endMs || nowMs < this.#findGraceEnd(endMs))) this.keptUp++;
    this.#recorder.replies++;
    this.#recorder.recordLatency(
      slots.cells[slot]!,
      isMeasured,
      nowMs - slots.dueAt[slot]!,
      nowMs - slots.sentAt[slot]!,
    );
    if (isMeasured && slots.dueAt[slot]! < earlyEndMs) {
      const bucket = bucketOfMs(nowMs - slots.sentAt[slot]!);
      this.early[bucket] = this.early[bucket]! + 1;
    }
    if (isTimed ? nowMs < startMs || nowMs >= endMs : !isMeasured) return;
    this.replies++;
    this.lastReplyMs = nowMs;
  }

  /** The end of the time in which a reply shows that the server keeps up. Asked after the end of the measured time. */
  #findGraceEnd(endMs: number): number {
    if (this.#graceEndMs < 0) {
      const usualMicros = findUsualMicros(this.early, this.#recorder.serviceCounts());
      this.#graceEndMs = endMs + usualMicros / 1000 + GRACE_MS;
    }
    return this.#graceEndMs;
  }

  /** A read has found nothing. Of what this run has made, nothing may be missing. */
  #settleNothing({ slots }: LoadConnection, slot: number): void {
    const cell = slots.cells[slot]!;
    const isMeasured = slots.measured[slot] === 1;
    const name = REQUEST_NAMES[slots.requests[slot]!];
    if (this.#recorder.targetOf(cell) >= 0) {
      this.#recorder.recordError(
        cell,
        isMeasured,
        MISSING_CLASS,
        `${name} found nothing at a path that this run has made`,
      );
    } else if (isMeasured) {
      this.nothingFound++;
      this.#recorder.recordSuccess(cell);
    }
  }

  #recordError(connection: LoadConnection, slot: number, errorClass: string, message: string): void {
    const { slots } = connection;
    this.#recorder.recordError(slots.cells[slot]!, slots.measured[slot] === 1, errorClass, message);
  }

  /** The file that create has opened is closed on the same connection; the place among its calls stays taken until then. */
  #sendComplete(connection: LoadConnection, created: number): void {
    const { slots } = connection;
    const cell = slots.cells[created]!;
    const measured = slots.measured[created]!;
    const source = slots.sources[created]!;
    const group = slots.groups[created]!;
    const number = slots.numbers[created]!;
    slots.free(created);
    const slot = slots.take();
    slots.dueAt[slot] = connection.nowMs;
    slots.cells[slot] = cell;
    slots.measured[slot] = measured;
    slots.requests[slot] = COMPLETE;
    slots.sources[slot] = source;
    slots.groups[slot] = group;
    slots.numbers[slot] = number;
    slots.destinations[slot] = 0;
    this.#addPending(connection, slot);
  }

  #freeSlot(connection: LoadConnection, slot: number): void {
    const { slots } = connection;
    slots.free(slot);
    this.inFlight--;
    this.pacer?.onCallOver(slots.numbers[slot]!);
    this.pacer?.onSlotFree(connection);
  }

  #settleFailure(connection: LoadConnection, slot: number, kind: number, buffer: Buffer): void {
    if (kind !== ReplyKind.FAILURE) {
      const what = kind === ReplyKind.FOREIGN ? 'a reply with the id of another client' : 'a SUCCESS without a body';
      this.#recordError(connection, slot, PROTOCOL_CLASS, what);
      return;
    }
    const { scan } = this.#reply;
    const { slots } = connection;
    const errorClass = textOf(buffer, scan.classStart, scan.classEnd) || PROTOCOL_CLASS;
    const message = textOf(buffer, scan.messageStart, scan.messageEnd);
    this.#recordError(connection, slot, errorClass, message);
    if (scan.status === Status.FATAL) {
      connection.fatalClass = errorClass;
      connection.fatalMessage = message;
    }
    const request = slots.requests[slot]!;
    if (request === COMPLETE || errorClass.endsWith(MISSING_PATH)) return;
    this.#calls.settleUnchanged(
      request,
      connection.user,
      slots.sources[slot]!,
      slots.groups[slot]!,
      slots.numbers[slot]!,
    );
  }

  /** A reply to no call that waits: it came too late, or says why the server ends the connection. */
  #takeStray(connection: LoadConnection, kind: number, buffer: Buffer): void {
    if (kind === ReplyKind.UNREADABLE) {
      connection.breakOff('a reply that cannot be read');
      return;
    }
    const { scan, callId } = this.#reply;
    if (kind !== ReplyKind.FAILURE || callId >= 0) return;
    connection.fatalClass = textOf(buffer, scan.classStart, scan.classEnd);
    connection.fatalMessage = textOf(buffer, scan.messageStart, scan.messageEnd);
  }
}
