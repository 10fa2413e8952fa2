import type { Loop, ReplayCall } from '../plan/plan.ts';

/** When calls are due: call k at a time that is a function of k, whatever the server does. Calls are numbered from 0, by time. */
export interface Schedule {
  /** Infinity for one without an end. */
  readonly count: number;
  /** In ms after the start of the run. */
  dueMs(call: number): number;
  /** Number of calls that are due before this time in ms after the start. */
  countBefore(ms: number): number;
}

/**
 * A rate that grows linearly from 0 over the ramp and then stays:
 *
 *   calls until t = rate · t² / (2 · ramp)            t < ramp
 *                   rate · ramp / 2 + rate · (t - ramp)  later
 *
 * Call k is due when that reaches k + phase.
 */
export class RateSchedule implements Schedule {
  readonly count = Number.POSITIVE_INFINITY;
  readonly #callsPerMs: number;
  readonly #rampMs: number;
  readonly #rampCalls: number;
  readonly #phase: number;

  /** `phase` in [0, 1): threads with different ones do not send at the same moments. */
  constructor(callsPerSecond: number, rampMs: number, phase: number) {
    this.#callsPerMs = callsPerSecond / 1000;
    this.#rampMs = rampMs;
    this.#rampCalls = (this.#callsPerMs * rampMs) / 2;
    this.#phase = phase;
  }

  dueMs(call: number): number {
    const calls = call + this.#phase;
    if (calls < this.#rampCalls) return Math.sqrt((2 * this.#rampMs * calls) / this.#callsPerMs);
    return this.#rampMs + (calls - this.#rampCalls) / this.#callsPerMs;
  }

  countBefore(ms: number): number {
    if (!(ms > 0)) return 0;
    const calls =
      ms < this.#rampMs
        ? (this.#callsPerMs * ms * ms) / (2 * this.#rampMs)
        : this.#rampCalls + this.#callsPerMs * (ms - this.#rampMs);
    // The formula may be off by its rounding; dueMs decides.
    let count = Math.max(0, Math.ceil(calls - this.#phase));
    while (count > 0 && this.dueMs(count - 1) >= ms) count--;
    while (this.dueMs(count) < ms) count++;
    return count;
  }
}

/** The times of a recorded log, divided by `speed`. */
export class ReplaySchedule implements Schedule {
  readonly count: number;
  readonly #atMs: Float64Array;

  /** `calls` by time. */
  constructor(calls: readonly ReplayCall[], speed: number) {
    this.count = calls.length;
    this.#atMs = Float64Array.from(calls, ({ atMs }) => atMs / speed);
    for (let i = 1; i < calls.length; i++) {
      if (this.#atMs[i]! < this.#atMs[i - 1]!) throw new RangeError(`replay: call ${i} is earlier than the one before`);
    }
  }

  dueMs(call: number): number {
    return this.#atMs[call] ?? Number.POSITIVE_INFINITY;
  }

  countBefore(ms: number): number {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#atMs[middle]! < ms) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Nothing is ever due: a closed loop sends when a reply has come. */
export const NO_SCHEDULE: Schedule = {
  count: 0,
  dueMs: () => Number.POSITIVE_INFINITY,
  countBefore: () => 0,
};

export function createSchedule(
  loop: Loop,
  rateShare: number,
  thread: number,
  threads: number,
  replay: readonly ReplayCall[],
): Schedule {
  if (loop.kind === 'closed') return NO_SCHEDULE;
  if (loop.kind === 'replay') return new ReplaySchedule(replay, loop.speed);
  return new RateSchedule(loop.callsPerSecond * rateShare, loop.rampMs, (thread + 0.5) / threads);
}
