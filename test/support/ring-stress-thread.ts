/**
 * The two threads of the ring stress. The acceptor's thread sends `records` calls of seeded random sizes, the worker's thread checks
 * number, size and every byte of each and answers each ANSWER_EVERY-th; the acceptor's thread checks the answers. Both are slow for a while
 * in turns, so that the ring is full in some stretches and empty in others. Each posts its Outcome at the end.
 */

import { parentPort, workerData } from 'node:worker_threads';
import { type AcceptorLink, CallFields } from '../../src/handoff/link.ts';
import type { RingPlumbing } from '../../src/handoff/ring-end.ts';
import { RingAcceptorLink, RingWorkerLink } from '../../src/handoff/ring-link.ts';

export interface StressOrder {
  readonly role: 'acceptor' | 'worker';
  readonly plumbing: RingPlumbing;
  readonly records: number;
  readonly seed: number;
}

export interface Outcome {
  readonly role: 'acceptor' | 'worker';
  /** What did not match, '' when all did. */
  readonly fault: string;
  readonly checksum: number;
  readonly bytes: number;
  readonly answers: number;
  /** Times that a call was refused (acceptor) or an answer was (worker). */
  readonly refusals: number;
  readonly spaces: number;
  readonly drains: number;
}

const ANSWER_EVERY = 16;
const PATTERN_BYTES = 256 * 1024;
/** Records of one stretch; both sides tell from the number of a record which stretch it is in. */
const STRETCH_BITS = 14;
const SLOW_LOOPS = 300;
const BURST_RECORDS = 40;

/** A linear congruential generator; both threads follow the same one. */
class Sequence {
  state: number;
  size = 0;
  from = 0;

  constructor(seed: number) {
    this.state = seed;
  }

  /** Sizes of the next record: mostly small, some near an eighth of a 64 KiB ring, few of them beside it. */
  advance(): void {
    const shape = this.draw();
    if (shape < 6) this.size = this.draw() * 8;
    else if (shape < 60) this.size = this.draw() * 2;
    else this.size = this.draw() >> 2;
    this.from = this.draw() * 128 + (shape & 7);
  }

  /** 0 to 1023. */
  private draw(): number {
    this.state = (Math.imul(this.state, 1664525) + 1013904223) | 0;
    return this.state >>> 22;
  }
}

function makePattern(): Buffer {
  const pattern = Buffer.alloc(PATTERN_BYTES);
  let state = 99;
  for (let at = 0; at < PATTERN_BYTES; at++) {
    state = (Math.imul(state, 1103515245) + 12345) | 0;
    pattern[at] = state >>> 16;
  }
  return pattern;
}

/** Sizes of one record in 8,192 are multiplied by this: large enough to go beside the ring. */
const LARGE_FACTOR = 24;

function sizeOf(sequence: Sequence, slot: number): number {
  return (slot & 8191) === 4711 ? sequence.size * LARGE_FACTOR : sequence.size;
}

function stretchOf(slot: number): number {
  return (slot >> STRETCH_BITS) & 7;
}

let sink = 0;

function waste(): void {
  for (let loop = 0; loop < SLOW_LOOPS; loop++) sink = (sink + loop) | 0;
}

function runAcceptor({ plumbing, records, seed }: StressOrder): void {
  const pattern = makePattern();
  const sequence = new Sequence(seed);
  const fields = new CallFields();
  const outcome = { role: 'acceptor', fault: '', checksum: 0, bytes: 0, answers: 0, refusals: 0, spaces: 0, drains: 0 };
  const expectedAnswers = Math.ceil(records / ANSWER_EVERY);
  let slot = 0;
  let mustWait = false;
  let isSet = false;

  const link = new RingWorkerLink(0, plumbing, {
    onReply: (_link, connection, generation, number, flags, buffer, start, end) => {
      if (number !== outcome.answers * ANSWER_EVERY || end - start !== (number & 255) || flags !== 0) {
        outcome.fault ||= `answer ${outcome.answers}: slot ${number}, flags ${flags}, ${end - start} bytes`;
      }
      const middle = start + (number & 127);
      if (
        pattern.compare(buffer, start, middle, 0, number & 127) !== 0 ||
        pattern.compare(buffer, middle, end, 0, (number & 255) - (number & 127)) !== 0
      ) {
        outcome.fault ||= `answer ${outcome.answers}: other bytes`;
      }
      outcome.checksum = (Math.imul(outcome.checksum, 31) + connection + generation) | 0;
      outcome.answers++;
      if (outcome.answers === expectedAnswers) {
        parentPort?.postMessage(outcome);
        link.close();
      }
    },
    onSpace: () => {
      outcome.spaces++;
      if (!mustWait) outcome.fault ||= 'space without a refusal';
      mustWait = false;
      send();
    },
    onDrained: () => {
      outcome.drains++;
    },
  });

  sequence.advance();
  function send(): void {
    isSet = false;
    for (let burst = 0; slot < records && !mustWait; burst++) {
      const size = sizeOf(sequence, slot);
      fields.slot = slot;
      fields.connection = slot & 1023;
      fields.path2End = size;
      if (!link.call(fields, pattern, sequence.from, sequence.from + size)) {
        outcome.refusals++;
        mustWait = true;
        break;
      }
      outcome.bytes += size;
      slot++;
      sequence.advance();
      const isSlow = stretchOf(slot) === 3;
      if (isSlow) waste();
      // Replies and bells must be heard too.
      if (burst >= (isSlow ? BURST_RECORDS : 2000)) {
        setImmediate(send);
        isSet = true;
        break;
      }
    }
    link.flush();
    if (slot < records && !mustWait && !isSet) outcome.fault ||= 'the sender stopped';
  }
  send();
}

function runWorker({ plumbing, records, seed }: StressOrder): void {
  const pattern = makePattern();
  const sequence = new Sequence(seed);
  const outcome = { role: 'worker', fault: '', checksum: 0, bytes: 0, answers: 0, refusals: 0, spaces: 0, drains: 0 };
  const refused: number[] = [];
  let slot = 0;
  let isDone = false;

  const answer = (link: AcceptorLink, number: number): boolean => {
    if (
      !link.reply(
        number & 1023,
        number,
        number,
        0,
        pattern,
        0,
        number & 127,
        pattern,
        0,
        (number & 255) - (number & 127),
      )
    ) {
      return false;
    }
    outcome.checksum = (Math.imul(outcome.checksum, 31) + (number & 1023) + number) | 0;
    outcome.answers++;
    return true;
  };

  const link = new RingAcceptorLink(0, plumbing, {
    onOpen: () => {},
    onClose: () => {},
    onCall: (_link, fields, frame, start, end) => {
      sequence.advance();
      const size = sizeOf(sequence, slot);
      if (
        fields.slot !== slot ||
        fields.connection !== (slot & 1023) ||
        fields.path2End !== size ||
        end - start !== size
      ) {
        outcome.fault ||= `record ${slot}: slot ${fields.slot}, ${end - start} bytes instead of ${size}`;
      }
      if (pattern.compare(frame, start, end, sequence.from, sequence.from + size) !== 0) {
        outcome.fault ||= `record ${slot}: other bytes`;
      }
      outcome.bytes += size;
      if (slot % ANSWER_EVERY === 0 && (refused.length > 0 || !answer(link, slot))) {
        refused.push(slot);
        outcome.refusals++;
        if (refused.length > 1) outcome.fault ||= 'a call was handed over while an answer waited';
      }
      slot++;
      if (stretchOf(slot) === 6) waste();
    },
    onReplySpace: () => {
      outcome.spaces++;
      while (refused.length > 0 && answer(link, refused[0] as number)) refused.shift();
      link.flush();
      finish();
    },
    onDrained: () => {
      outcome.drains++;
      link.flush();
      finish();
    },
  });

  function finish(): void {
    if (isDone || slot !== records || refused.length > 0) return;
    isDone = true;
    parentPort?.postMessage(outcome);
    // The acceptor's end closes the port when it has all answers.
  }
}

const order = workerData as StressOrder;
if (order.role === 'acceptor') runAcceptor(order);
else runWorker(order);
