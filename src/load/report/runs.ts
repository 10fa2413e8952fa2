/** The runs of a report: one, or two that are compared. */
import type { LoadResult } from '../result/result.ts';
import { formatNumber } from './client/format.js';

export interface Run {
  /** 'A' or 'B' where two are compared, else ''. */
  readonly letter: '' | 'A' | 'B';
  /** What the user calls it: a file name, or ''. */
  readonly name: string;
  readonly result: LoadResult;
}

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

/** Names of all groups of the runs, in the order of the first run that has them. */
export function joinNames(lists: readonly (readonly { readonly name: string }[])[]): string[] {
  return [...new Set(lists.flatMap((list) => list.map(({ name }) => name)))];
}

/** Lowest and highest of the values; ±Infinity without any. A call with all of them as arguments would be too large for the stack. */
export function findRange(values: readonly number[]): { lowest: number; highest: number } {
  let lowest = Number.POSITIVE_INFINITY;
  let highest = Number.NEGATIVE_INFINITY;
  for (const value of values) {
    if (value < lowest) lowest = value;
    if (value > highest) highest = value;
  }
  return { lowest, highest };
}
