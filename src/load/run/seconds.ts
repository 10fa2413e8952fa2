import { addCounts, quantileMicros } from '../histogram/latency.ts';
import type { BucketCounts, SecondReport } from '../plan/plan.ts';
import type { SeriesPoint } from '../result/result.ts';

export interface LatencyCounts {
  readonly corrected: BucketCounts;
  readonly service: BucketCounts;
}

/** Latencies of one second, all threads together. */
export interface SecondCounts extends LatencyCounts {
  /** Of measured calls alone: over all seconds, those of the result. */
  readonly measuredCalls: LatencyCounts;
}

/** Seconds that wait for a thread; then the oldest goes out without it. */
const MAX_PENDING_SECONDS = 30;

/** Merges the reports of the threads, second by second; `emit` gets each second once, in order. */
export class SecondsMerge {
  readonly #emit: (point: SeriesPoint, counts: SecondCounts) => void;
  /** Last second that each thread has reported; infinity when it has ended. */
  readonly #reported: number[];
  readonly #pending: PendingSecond[] = [];
  #next = 0;

  constructor(threads: number, emit: (point: SeriesPoint, counts: SecondCounts) => void) {
    this.#reported = Array.from({ length: threads }, () => -1);
    this.#emit = emit;
  }

  add(thread: number, report: SecondReport): void {
    this.#reported[thread] = report.second;
    // It has gone out already: this thread was late by all the pending seconds.
    if (report.second < this.#next) return;
    let pending = this.#pending.find(({ second }) => second === report.second);
    if (pending === undefined) {
      pending = new PendingSecond(report.second);
      this.#pending.push(pending);
      this.#pending.sort((left, right) => left.second - right.second);
    }
    pending.add(report);
    this.#emitComplete();
  }

  /** The thread reports no more seconds. */
  end(thread: number): void {
    this.#reported[thread] = Number.POSITIVE_INFINITY;
    this.#emitComplete();
  }

  #emitComplete(): void {
    const complete = Math.min(...this.#reported);
    for (;;) {
      const [oldest] = this.#pending;
      if (oldest === undefined) return;
      if (oldest.second > complete && this.#pending.length <= MAX_PENDING_SECONDS) return;
      this.#pending.shift();
      this.#next = oldest.second + 1;
      this.#emit(oldest.toPoint(), oldest);
    }
  }
}

/** Sums of the threads that have reported this second. */
class PendingSecond implements SecondCounts {
  readonly second: number;
  corrected: BucketCounts = new Uint32Array(0);
  service: BucketCounts = new Uint32Array(0);
  readonly measuredCalls: { corrected: BucketCounts; service: BucketCounts } = {
    corrected: new Uint32Array(0),
    service: new Uint32Array(0),
  };
  #correctedMaxMs = 0;
  #serviceMaxMs = 0;
  #measured = false;
  #replies = 0;
  #errors = 0;
  #waiting = 0;
  #inFlight = 0;

  constructor(second: number) {
    this.second = second;
  }

  add(report: SecondReport): void {
    this.#measured ||= report.measured;
    this.#replies += report.replies;
    this.#errors += report.errors;
    this.#waiting += report.waiting;
    this.#inFlight += report.inFlight;
    this.corrected = addCounts(this.corrected, report.corrected);
    this.service = addCounts(this.service, report.service);
    const { measuredCalls } = this;
    const { corrected, service } = report.measuredCalls ?? report;
    measuredCalls.corrected = addCounts(measuredCalls.corrected, corrected);
    measuredCalls.service = addCounts(measuredCalls.service, service);
    this.#correctedMaxMs = Math.max(this.#correctedMaxMs, report.correctedMaxMs);
    this.#serviceMaxMs = Math.max(this.#serviceMaxMs, report.serviceMaxMs);
  }

  toPoint(): SeriesPoint {
    return {
      second: this.second,
      measured: this.#measured,
      callsPerSecond: this.#replies,
      errors: this.#errors,
      waiting: this.#waiting,
      inFlight: this.#inFlight,
      corrected: summarize(this.corrected, this.#correctedMaxMs),
      service: summarize(this.service, this.#serviceMaxMs),
    };
  }
}

function summarize(counts: BucketCounts, maxMs: number): SeriesPoint['corrected'] {
  const [p50 = 0, p99 = 0, p999 = 0, max = 0] = quantileMicros(counts, [0.5, 0.99, 0.999, 1], maxMs * 1000);
  return { p50, p99, p999, max };
}
