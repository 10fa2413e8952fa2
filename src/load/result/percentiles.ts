/** The percentiles of a result: in the order of tables, with their names for people and in expectations. */
import type { Percentiles } from './result.ts';

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

export type PercentileKey = (typeof PERCENTILES)[number][0];
export type PercentileName = (typeof PERCENTILES)[number][1];

const KEYS: ReadonlyMap<string, PercentileKey> = new Map(PERCENTILES.map(([key, name]) => [name, key]));

/** Field of a result that has the percentile; undefined when there is no such name. */
export function findPercentile(name: string): PercentileKey | undefined {
  return KEYS.get(name);
}
