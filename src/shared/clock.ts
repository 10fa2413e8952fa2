/**
 * Milliseconds since the process started, monotonic. Read once per batch of events (`tick`), so that calls of one batch share one clock
 * read; `nowMs` may therefore lag by the length of an event-loop turn.
 */
export class Clock {
  nowMs = performance.now();

  tick(): number {
    this.nowMs = performance.now();
    return this.nowMs;
  }
}
