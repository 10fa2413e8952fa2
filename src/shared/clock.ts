/**
 * Milliseconds since the thread started, monotonic. Read once per batch of events (`tick`), so that calls of one batch share one clock
 * read; `nowMs` may therefore lag by the length of an event-loop turn.
 */
export class Clock {
  nowMs = performance.now();
  /** From this thread's time to that of the machine, the same for all threads. */
  readonly #offsetMs = Number(process.hrtime.bigint() / 1000n) / 1000 - performance.now();

  tick(): number {
    this.nowMs = performance.now();
    return this.nowMs;
  }

  /** `nowMs` as threads tell it to each other. */
  get stamp(): number {
    return this.stampOf(this.nowMs);
  }

  /**
   * A time of this clock as a number of 32 bits for shared memory: whole ms, never 0, counted modulo 2^32. Two stamps are compared by
   * their difference, `(a - b) | 0`, and must be less than 24 days apart.
   */
  stampOf(ms: number): number {
    return Math.trunc(ms + this.#offsetMs) | 0 || 1;
  }
}
