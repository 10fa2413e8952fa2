/**
 * Calls that were due and have no latency: never sent, or without a reply when the run was ended. Theirs would be the longest, so a percentile
 * that lies among them is not known; what was measured is less than it.
 */
import { formatCount } from './format.ts';
import type { LoadResult } from './result.ts';

export function countMissing({ unsent, unanswered }: Pick<LoadResult, 'unsent' | 'unanswered'>): number {
  return unsent + unanswered;
}

/** `share` 0 … 1: whether that percentile of `answered` calls lies among those that are missing beside them. */
export function liesAmongMissing(share: number, answered: number, missing: number): boolean {
  return missing > 0 && share * (answered + missing) > answered;
}

/** `3 calls were due and never sent`; '' when none is missing. */
export function describeMissing({ unsent, unanswered }: LoadResult): string {
  const parts = [
    ...(unsent > 0 ? [`${countCalls(unsent)} due and never sent`] : []),
    ...(unanswered > 0
      ? [`${formatCount(unanswered)} ${unanswered === 1 ? 'call' : 'calls'} had no reply when the run was ended`]
      : []),
  ];
  return parts.join(', ');
}

function countCalls(count: number): string {
  return count === 1 ? '1 call was' : `${formatCount(count)} calls were`;
}
