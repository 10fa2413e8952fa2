import { type EventLoopUtilization, monitorEventLoopDelay, PerformanceObserver, performance } from 'node:perf_hooks';
import type { ThreadSelf } from '../plan/plan.ts';

/** The delay is measured by a timer of this period, and counts what exceeds it. */
const DELAY_PERIOD_MS = 10;
const NS_PER_MS = 1e6;

/** Event loop and garbage collections of the thread that makes it, between `start` and `stop`. */
export class SelfMeter {
  #startLoop: EventLoopUtilization = performance.eventLoopUtilization();
  #startMs = Number.POSITIVE_INFINITY;
  #stopMs = Number.POSITIVE_INFINITY;
  readonly #delay = monitorEventLoopDelay({ resolution: DELAY_PERIOD_MS });
  readonly #collections: PerformanceObserver;
  #gcCount = 0;
  #gcTotalMs = 0;
  #gcMaxMs = 0;
  #self: ThreadSelf | null = null;

  constructor() {
    this.#collections = new PerformanceObserver((list) => {
      for (const { startTime, duration } of list.getEntries()) this.#onCollection(startTime, duration);
    });
    this.#collections.observe({ entryTypes: ['gc'] });
  }

  start(): void {
    this.#startMs = performance.now();
    this.#startLoop = performance.eventLoopUtilization();
    this.#delay.reset();
    this.#delay.enable();
  }

  /** The measured time is over; garbage collections in it that are told later still count. */
  stop(): void {
    if (this.#self !== null) return;
    this.#stopMs = performance.now();
    this.#delay.disable();
    const hasStarted = this.#startMs !== Number.POSITIVE_INFINITY;
    this.#self = {
      utilization: hasStarted ? performance.eventLoopUtilization(this.#startLoop).utilization : 0,
      loopDelayP50Ms: this.#delayMs(this.#delay.percentile(50)),
      loopDelayP99Ms: this.#delayMs(this.#delay.percentile(99)),
      loopDelayMaxMs: this.#delayMs(this.#delay.max),
      gcCount: 0,
      gcTotalMs: 0,
      gcMaxMs: 0,
    };
  }

  /** What was measured. Afterwards the meter is of no more use. */
  finish(): ThreadSelf {
    this.stop();
    for (const { startTime, duration } of this.#collections.takeRecords()) this.#onCollection(startTime, duration);
    this.#collections.disconnect();
    return {
      ...(this.#self as ThreadSelf),
      gcCount: this.#gcCount,
      gcTotalMs: this.#gcTotalMs,
      gcMaxMs: this.#gcMaxMs,
    };
  }

  #onCollection(startMs: number, durationMs: number): void {
    if (startMs < this.#startMs || startMs >= this.#stopMs) return;
    this.#gcCount++;
    this.#gcTotalMs += durationMs;
    this.#gcMaxMs = Math.max(this.#gcMaxMs, durationMs);
  }

  #delayMs(intervalNs: number): number {
    // Without a sample percentile and maximum are 0 or meaningless.
    if (this.#delay.count === 0) return 0;
    return Math.max(0, intervalNs / NS_PER_MS - DELAY_PERIOD_MS);
  }
}
