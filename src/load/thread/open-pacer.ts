import { bucketOfMs, createCounts } from '../histogram/latency-buckets.ts';
import type { LoadConnection } from './connection.ts';
import { LATE_MS, type Pacer, type Sender, takesCalls } from './pacer.ts';
import { ReadyList } from './ready-list.ts';
import type { Schedule } from './schedule.ts';

/**
 * The open loop. Calls are numbered; the backlog is a range of numbers and takes no memory:
 *
 *   0 … firstMeasured … next …………… due by now … lastCall
 *       sent                 waiting
 */
export class OpenPacer implements Pacer {
  lateForSlots = 0;
  lateForLoader = 0;
  unsent = 0;
  isOver = false;
  readonly sendDelay: Uint32Array = createCounts();
  readonly #sender: Sender;
  readonly #schedule: Schedule;
  readonly #startMs: number;
  readonly #ready = new ReadyList();
  readonly #firstMeasured: number;
  #lastCall: number;
  #next = 0;
  /** Calls before this one have found all slots taken. */
  #blockedEnd = 0;
  #isBlocked = false;

  /** The measured calls are those that are due from `measureStartMs` on: `calls` of them, or those before `endMs`. */
  constructor(
    sender: Sender,
    schedule: Schedule,
    startMs: number,
    measureStartMs: number,
    endMs: number,
    calls: number | null,
  ) {
    this.#sender = sender;
    this.#schedule = schedule;
    this.#startMs = startMs;
    this.#firstMeasured = schedule.countBefore(measureStartMs - startMs);
    this.#lastCall = calls === null ? schedule.countBefore(endMs - startMs) : this.#firstMeasured + calls;
  }

  get due(): number {
    return Math.max(0, this.#lastCall - this.#firstMeasured);
  }

  onOpen(connection: LoadConnection): void {
    this.#ready.add(connection);
  }

  onBroken(connection: LoadConnection): void {
    this.#ready.remove(connection);
  }

  onSlotFree(connection: LoadConnection): void {
    if (connection.readyAt < 0 && takesCalls(connection)) this.#ready.add(connection);
    if (this.#isBlocked) this.#sender.wake();
  }

  onWritable(connection: LoadConnection): void {
    if (takesCalls(connection)) this.#ready.add(connection);
  }

  onCallOver(): void {}

  issue(nowMs: number): void {
    if (this.isOver) return;
    const elapsedMs = nowMs - this.#startMs;
    const schedule = this.#schedule;
    this.#isBlocked = false;
    while (this.#next < this.#lastCall) {
      const dueMs = schedule.dueMs(this.#next);
      if (dueMs > elapsedMs) return;
      const connection = this.#ready.take();
      if (connection === null) {
        this.#isBlocked = true;
        this.#blockedEnd = Math.min(this.#lastCall, schedule.countBefore(elapsedMs));
        return;
      }
      const isMeasured = this.#next >= this.#firstMeasured;
      if (isMeasured) this.#countDelay(elapsedMs - dueMs);
      this.#sender.send(connection, this.#next++, this.#startMs + dueMs, isMeasured);
      if (!takesCalls(connection)) this.#ready.remove(connection);
    }
    this.isOver = true;
  }

  end(nowMs: number, givesUp: boolean): void {
    if (this.isOver) return;
    if (!givesUp) {
      const dueBy = this.#schedule.countBefore(nowMs - this.#startMs);
      this.#lastCall = Math.max(this.#next, Math.min(this.#lastCall, dueBy));
    }
    this.issue(nowMs);
    this.isOver = true;
    this.unsent = Math.max(0, this.#lastCall - Math.max(this.#next, this.#firstMeasured));
  }

  countWaiting(nowMs: number): number {
    if (this.isOver) return 0;
    return Math.max(0, Math.min(this.#lastCall, this.#schedule.countBefore(nowMs - this.#startMs)) - this.#next);
  }

  /** Of the next call, which is about to be sent. */
  #countDelay(delayMs: number): void {
    if (this.#next < this.#blockedEnd) {
      if (delayMs > LATE_MS) this.lateForSlots++;
      return;
    }
    const bucket = bucketOfMs(delayMs);
    this.sendDelay[bucket] = this.sendDelay[bucket]! + 1;
    if (delayMs > LATE_MS) this.lateForLoader++;
  }
}
