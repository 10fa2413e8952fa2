/** In what two plans differ so that their results cannot be compared as they stand. */
import type { LoadPlan } from '../plan/plan.ts';
import { describeLoop } from '../result/format.ts';
import { formatNumber } from './client/format.js';

export interface PlanDifference {
  /** What differs, in words of the command line. */
  readonly what: string;
  readonly before: string;
  readonly after: string;
}

/** Server, seed, users' names and own directories may differ: they are why one compares, or change nothing. */
export function findPlanDifferences(before: LoadPlan, after: LoadPlan): PlanDifference[] {
  return MATTERING.map(([what, describe]) => ({ what, before: describe(before), after: describe(after) })).filter(
    (difference) => difference.before !== difference.after,
  );
}

const MATTERING: readonly (readonly [string, (plan: LoadPlan) => string])[] = [
  ['loop', ({ loop }) => (loop.kind === 'replay' ? describeLoop(loop) : loop.kind)],
  ['rate', ({ loop }) => (loop.kind === 'open' ? `${formatNumber(loop.callsPerSecond)} calls/s` : 'none')],
  ['mix', ({ mix }) => describeMix(mix)],
  ['connections', ({ connections }) => formatNumber(connections)],
  ['calls in flight', ({ inFlight }) => formatNumber(inFlight)],
  ['users', ({ users }) => formatNumber(users.length)],
  ['mounts', ({ targets }) => formatNumber(targets.length)],
  ['paths given', ({ paths }) => formatNumber(paths.length)],
  ['files of a mount', ({ filesPerTarget }) => formatNumber(filesPerTarget)],
  [
    'path distribution',
    ({ distribution }) => (distribution.kind === 'zipf' ? `zipf:${distribution.exponent}` : 'uniform'),
  ],
  ['timeout', ({ timeoutMs }) => `${formatNumber(timeoutMs)} ms`],
  ['clock', ({ spin }) => (spin === true ? 'watched without sleeping' : 'looked at each millisecond')],
  ['observer reads', ({ observerReads }) => (observerReads ? 'yes' : 'no')],
];

/** Shares of the mix in percent, largest first, so that 70:30 and 7:3 are the same. */
export function describeMix(mix: LoadPlan['mix']): string {
  const sum = mix.reduce((total, { weight }) => total + weight, 0);
  return [...mix]
    .sort((left, right) => right.weight - left.weight || (left.operation < right.operation ? -1 : 1))
    .map(({ operation, weight }) => `${operation} ${formatNumber((weight / sum) * 100)} %`)
    .join(', ');
}
