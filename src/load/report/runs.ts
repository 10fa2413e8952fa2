/** The runs of a report: one, or two that are compared. */
import type { LoadResult, Percentiles } from '../result/result.ts';
import { formatNumber } from './client/format.js';

export interface Run {
  /** 'A' or 'B' where two are compared, else ''. */
  readonly letter: '' | 'A' | 'B';
  /** What the user calls it: a file name, or ''. */
  readonly name: string;
  readonly result: LoadResult;
}

/** The percentiles of a result in the order of tables, with the name for people. */
export const PERCENTILES = [
  ['p50', 'p50'],
  ['p75', 'p75'],
  ['p90', 'p90'],
  ['p95', 'p95'],
  ['p99', 'p99'],
  ['p999', 'p99.9'],
  ['p9999', 'p99.99'],
  ['max', 'max'],
  ['mean', 'mean'],
] as const satisfies readonly (readonly [keyof Percentiles, string])[];

/** Change from `before` to `after`, null where it says nothing: without a base. */
export function findChange(before: number | null | undefined, after: number | null | undefined): number | null {
  if (before === null || before === undefined || after === null || after === undefined) return null;
  if (before === 0) return after === 0 ? 0 : null;
  return after / before - 1;
}

/** `+12.3 %`, `−4.0 %`, `±0 %`; above tenfold a factor. */
export function formatChange(change: number | null): string {
  if (change === null) return '–';
  if (Math.abs(change) < 0.0005) return '±0 %';
  if (change >= 9) return `× ${formatNumber(change + 1)}`;
  return `${change > 0 ? '+' : '−'}${Math.abs(change * 100).toFixed(1)} %`;
}

/** One line that tells a run from others: how calls came about. */
export function describeLoop(result: LoadResult): string {
  const { loop } = result.plan;
  if (loop.kind === 'closed') return 'closed loop';
  if (loop.kind === 'replay') return `replay at ${formatNumber(loop.speed)} × speed`;
  return `open loop, ${formatNumber(loop.callsPerSecond)} calls/s asked`;
}

/** Names of all groups of the runs, in the order of the first run that has them. */
export function joinNames(lists: readonly (readonly { readonly name: string }[])[]): string[] {
  return [...new Set(lists.flatMap((list) => list.map(({ name }) => name)))];
}
