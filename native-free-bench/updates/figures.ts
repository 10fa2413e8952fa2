/** What the measurements of this bench come to. */

import { median } from '../harness/table.ts';
import type { Reached } from './reach.ts';

/** One load. Latencies in µs, from the moment when each call was due. */
export interface Load {
  readonly p50: number;
  readonly p99: number;
  readonly calls: number;
  readonly cpuSeconds: number;
  readonly errors: number;
  readonly loaderWasTheLimit: boolean;
}

/** The same load without and with updates, one right after the other. */
export interface Pair {
  readonly without: Load;
  readonly with: Load;
  readonly updatesPerSecond: number;
  readonly failedUpdates: number;
}

export interface ForwardingFigures {
  readonly name: string;
  readonly pairs: number;
  readonly p50Ms: readonly [without: number, updating: number];
  readonly p99Ms: readonly [without: number, updating: number];
  /** Medians of the pairs' own ratios. */
  readonly p50Ratio: number;
  readonly p99Ratio: number;
  readonly p99Ratios: readonly number[];
  readonly cpuMicrosPerCall: readonly [without: number, updating: number];
  readonly updatesPerSecond: number;
  readonly errors: number;
  readonly failedUpdates: number;
  /** Loads in which the load tool was the limit. */
  readonly spoilt: number;
}

export interface ReachFigures {
  readonly name: string;
  readonly count: number;
  readonly answeredMs: number;
  readonly medianMs: number;
  readonly p99Ms: number;
  readonly highestMs: number;
}

export interface MemoryFigures {
  readonly name: string;
  readonly minutes: number;
  /** CPU seconds of the router per second. */
  readonly cpuShare: number;
  /** Medians of the quarters of the time. */
  readonly quarterMegabytes: readonly number[];
  readonly highestMegabytes: number;
  /** Of the highest of the second half over that of the first: between collections it goes up and down. */
  readonly growth: number;
  readonly updatesPerSecond: number;
  readonly failedUpdates: number;
  readonly errors: number;
}

const MB = 1_000_000;
const QUARTERS = 4;

export function summarisePairs(name: string, pairs: readonly Pair[]): ForwardingFigures {
  const both = (of: (load: Load) => number): readonly [number, number] => [
    median(pairs.map((pair) => of(pair.without))),
    median(pairs.map((pair) => of(pair.with))),
  ];
  const ratios = (of: (load: Load) => number): number[] => pairs.map((pair) => of(pair.with) / of(pair.without));
  const loads = pairs.flatMap((pair) => [pair.without, pair.with]);
  const p99Ratios = ratios(({ p99 }) => p99);
  return {
    name,
    pairs: pairs.length,
    p50Ms: both(({ p50 }) => p50 / 1_000),
    p99Ms: both(({ p99 }) => p99 / 1_000),
    p50Ratio: median(ratios(({ p50 }) => p50)),
    p99Ratio: median(p99Ratios),
    p99Ratios,
    cpuMicrosPerCall: both(({ cpuSeconds, calls }) => (cpuSeconds / calls) * 1e6),
    updatesPerSecond: median(pairs.map((pair) => pair.updatesPerSecond)),
    errors: sum(loads.map(({ errors }) => errors)),
    failedUpdates: sum(pairs.map((pair) => pair.failedUpdates)),
    spoilt: loads.filter(({ loaderWasTheLimit }) => loaderWasTheLimit).length,
  };
}

export function summariseReach(name: string, all: readonly Reached[]): ReachFigures {
  const sorted = all.map(({ routedMs }) => routedMs).sort((a, b) => a - b);
  return {
    name,
    count: all.length,
    answeredMs: median(all.map(({ answeredMs }) => answeredMs)),
    medianMs: median(sorted),
    p99Ms: sorted[Math.ceil(0.99 * sorted.length) - 1] ?? 0,
    highestMs: sorted.at(-1) ?? 0,
  };
}

/** `bytes`: resident size, looked at in equal steps over the whole time. */
export function summariseMemory(
  name: string,
  bytes: readonly number[],
  rest: Pick<MemoryFigures, 'minutes' | 'cpuShare' | 'updatesPerSecond' | 'failedUpdates' | 'errors'>,
): MemoryFigures {
  const length = Math.ceil(bytes.length / QUARTERS);
  const quarterMegabytes = Array.from({ length: QUARTERS }, (_, i) => {
    const quarter = bytes.slice(i * length, (i + 1) * length);
    return median(quarter.length > 0 ? quarter : bytes.slice(-1)) / MB;
  });
  const half = Math.ceil(bytes.length / 2);
  const first = Math.max(...bytes.slice(0, half));
  const second = Math.max(...bytes.slice(-half));
  const highestMegabytes = Math.max(first, second) / MB;
  return { name, ...rest, quarterMegabytes, highestMegabytes, growth: second / first - 1 };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
