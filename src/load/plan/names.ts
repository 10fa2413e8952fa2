/** How many names a run makes below each own directory. They are numbered, see thread/mix-calls.ts. */
import { isChanging } from './operations.ts';
import type { LoadPlan } from './plan.ts';

/** Largest number of a name. */
const MAX_NAME = 2 ** 31 - 1;
/** Operations are chosen at random: so many standard deviations beyond the mean are made by no run. */
const DEVIATIONS = 10;

/** Most names that so many calls make at one directory: each that changes something makes one at most. */
export function countNames({ targets, mix }: LoadPlan, calls: number): number {
  if (targets.length === 0) return 0;
  const sum = mix.reduce((total, { weight }) => total + weight, 0);
  const changing = mix.reduce((total, { operation, weight }) => total + (isChanging(operation) ? weight : 0), 0);
  const mean = sum === 0 ? 0 : (calls * changing) / sum;
  return mean === 0 ? 0 : Math.ceil(Math.min(calls, mean + DEVIATIONS * Math.sqrt(mean))) + 1;
}

/** What is wrong with making so many names; '' when nothing is. */
export function findNameFault(names: number): string {
  if (names <= MAX_NAME) return '';
  return `it would make up to ${names} names, and there are ${MAX_NAME}: ask for a lower rate, a shorter time, or fewer changing operations (--mix)`;
}
