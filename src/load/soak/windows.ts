/** Windows of a soak: p99 and calls of each, and what a process used in it. */

import { addCounts, quantileMicros } from '../histogram/latency.ts';
import type { BucketCounts } from '../plan/plan.ts';
import { liesAmongMissing } from '../result/missing-calls.ts';
import type { SeriesPoint } from '../result/result.ts';
import type { LatencyCounts } from '../run/seconds.ts';
import type { ProcessSample } from '../run/watch.ts';
import { type Drift, LEAST_SAMPLES, MOST_SAMPLES, measureDrift, median, type Sample } from './drift.ts';

export interface SoakWindow {
  /** After the start of the measured time. */
  readonly startSecond: number;
  readonly seconds: number;
  /** Answered in it, errors included. */
  readonly calls: number;
  readonly errors: number;
  /** From the moment a call was due; of all calls of the window. */
  readonly p99Micros: number;
  /** Due and not sent at its end. */
  readonly waiting: number;
  /** Medians of the samples of the process; null where there are none that could be counted. */
  readonly rssBytes: number | null;
  readonly sockets: number | null;
  readonly descriptors: number | null;
}

export type ProcessUse = Pick<ProcessSample, 'rssBytes' | 'sockets' | 'descriptors'>;

export const DRIFT_METRICS = ['p99', 'rss', 'sockets', 'descriptors'] as const;
export type DriftMetric = (typeof DRIFT_METRICS)[number];

const WINDOWS = 30;
/** A p99 of less time says little. */
const MIN_WINDOW_SECONDS = 5;
/** Longer ones would hide what happens in them. With the longest duration this makes fewer windows than MOST_SAMPLES. */
const MAX_WINDOW_SECONDS = 600;

/** Least measured time in which a trend can be seen. */
export const LEAST_SOAK_MS = LEAST_SAMPLES * MIN_WINDOW_SECONDS * 1000;

/** Length of the windows, and how many there are; what is left of the time belongs to the last one. */
export function chooseWindows(durationMs: number): { seconds: number; count: number } {
  const wanted = Math.round(durationMs / 1000 / WINDOWS);
  const seconds = Math.min(MAX_WINDOW_SECONDS, Math.max(MIN_WINDOW_SECONDS, wanted));
  const count = Math.max(1, Math.floor(durationMs / 1000 / seconds));
  return { seconds, count: Math.min(count, MOST_SAMPLES) };
}

/** Windows of a number of seconds each, at most `count`: what comes after the last of them belongs to it. */
export class SoakWindows {
  readonly seconds: number;
  readonly #count: number;
  readonly #onWindow: (window: SoakWindow) => void;
  readonly #windows: SoakWindow[] = [];
  #startSecond = -1;
  #open: OpenWindow | null = null;

  constructor({ seconds, count }: { seconds: number; count: number }, onWindow = (_window: SoakWindow): void => {}) {
    this.seconds = seconds;
    this.#count = count;
    this.#onWindow = onWindow;
  }

  /** Takes one second and what the process used then, null when that was not looked at. Seconds of the warm-up are left out. */
  add(point: SeriesPoint, counts: LatencyCounts, use: ProcessUse | null): void {
    if (!point.measured) return;
    if (this.#startSecond < 0) this.#startSecond = point.second;
    const second = point.second - this.#startSecond;
    const index = Math.min(this.#count - 1, Math.floor(second / this.seconds));
    if (this.#open === null || this.#open.index !== index) {
      this.#close();
      this.#open = new OpenWindow(index, second);
    }
    this.#open.add(point, counts, use);
  }

  /** All windows; the last one as far as it got, unless that is less than half of one. */
  end(): readonly SoakWindow[] {
    if (this.#open !== null && (this.#open.seconds * 2 >= this.seconds || this.#windows.length === 0)) this.#close();
    this.#open = null;
    return this.#windows;
  }

  #close(): void {
    if (this.#open === null) return;
    const window = this.#open.toWindow();
    this.#windows.push(window);
    this.#onWindow(window);
  }
}

class OpenWindow {
  readonly index: number;
  readonly #startSecond: number;
  readonly #uses: ProcessUse[] = [];
  seconds = 0;
  #calls = 0;
  #errors = 0;
  #waiting = 0;
  #corrected: BucketCounts = new Uint32Array(0);

  constructor(index: number, startSecond: number) {
    this.index = index;
    this.#startSecond = startSecond;
  }

  add(point: SeriesPoint, counts: LatencyCounts, use: ProcessUse | null): void {
    this.seconds++;
    this.#calls += point.callsPerSecond;
    this.#errors += point.errors;
    this.#waiting = point.waiting;
    this.#corrected = addCounts(this.#corrected, counts.corrected);
    if (use !== null) this.#uses.push(use);
  }

  toWindow(): SoakWindow {
    const [p99Micros = 0] = quantileMicros(this.#corrected, [0.99]);
    const middle = (read: (use: ProcessUse) => number | null): number | null => {
      const counted = this.#uses.map(read).filter((value) => value !== null);
      return counted.length === 0 ? null : median(counted);
    };
    return {
      startSecond: this.#startSecond,
      seconds: this.seconds,
      calls: this.#calls,
      errors: this.#errors,
      p99Micros,
      waiting: this.#waiting,
      rssBytes: middle((use) => use.rssBytes),
      sockets: middle((use) => use.sockets),
      descriptors: middle((use) => use.descriptors),
    };
  }
}

/**
 * Most windows whose p99 lies among calls that were still waiting, as a share: the trend withstands a few values that are too low, not more.
 */
const MAX_HIDDEN_SHARE = 0.1;

/** The p99 of the window is at least what was measured: it lies among the calls that were due in it and not sent. */
export function isP99Hidden({ calls, waiting }: SoakWindow): boolean {
  return liesAmongMissing(0.99, calls, waiting);
}

/** Drift of each number over the windows; of those that are known. Null: there is nothing to be said. */
export function measureDrifts(windows: readonly SoakWindow[]): Readonly<Record<DriftMetric, Drift | null>> {
  const drift = (read: (window: SoakWindow) => number | null): Drift | null => {
    const samples = windows.flatMap((window): Sample[] => {
      const value = read(window);
      return value === null ? [] : [{ atMs: (window.startSecond + window.seconds / 2) * 1000, value }];
    });
    return samples.length === 0 ? null : measureDrift(samples);
  };
  const isHidden = windows.filter(isP99Hidden).length > windows.length * MAX_HIDDEN_SHARE;
  return {
    // A window without replies has no p99, rather than one of 0.
    p99: isHidden ? null : drift((window) => (window.calls === 0 ? null : window.p99Micros)),
    rss: drift((window) => window.rssBytes),
    sockets: drift((window) => window.sockets),
    descriptors: drift((window) => window.descriptors),
  };
}
