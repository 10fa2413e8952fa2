/** What counts of latency buckets say: percentiles, mean, the curve. All in µs. */
import type { BucketCounts } from '../plan/plan.ts';
import type { Percentiles } from '../result/result.ts';
import { middleMicrosOf } from './latency-buckets.ts';

/** `into` with the counts of `from` added; a new array when `into` is empty, else `into` itself. */
export function addCounts(into: BucketCounts, from: BucketCounts): BucketCounts {
  if (into.length === 0) return from.slice();
  for (let bucket = 0; bucket < from.length; bucket++) {
    into[bucket] = (into[bucket] as number) + (from[bucket] as number);
  }
  return into;
}

export function countRecords(counts: BucketCounts): number {
  let records = 0;
  for (const count of counts) records += count;
  return records;
}

/**
 * Latencies below or at which these shares (0 to 1, rising) of the records lie, as the middles of their buckets; 0 without records. With
 * `maxMicros`, the longest latency itself, the share 1 is exact and no other is longer.
 */
export function quantileMicros(
  counts: BucketCounts,
  shares: readonly number[],
  maxMicros: number | null = null,
): number[] {
  const records = countRecords(counts);
  if (records === 0) return shares.map(() => 0);
  const found: number[] = [];
  let seen = 0;
  let bucket = -1;
  for (const share of shares) {
    // The product of a share and a count is off by some last digits: 0.999 of 1000 is the 999th, not the 1000th.
    const rank = Math.min(records, Math.max(1, Math.ceil(share * records - records * Number.EPSILON * 4)));
    while (seen < rank) seen += counts[++bucket] as number;
    const micros = middleMicrosOf(bucket);
    if (maxMicros === null) found.push(micros);
    else found.push(rank === records ? maxMicros : Math.min(maxMicros, micros));
  }
  return found;
}

/**
 * What a call usually takes, µs: the median of all, or of the early ones where that is less. Under an overload the queue grows as long as the
 * load lasts, and with it the median of all; taken for usual, it would hide an overload of some percent. 0 without records.
 */
export function findUsualMicros(early: BucketCounts, all: BucketCounts): number {
  const [ofAll = 0] = quantileMicros(all, [0.5]);
  const [ofEarly = 0] = quantileMicros(early, [0.5]);
  return countRecords(early) === 0 ? ofAll : Math.min(ofEarly, ofAll);
}

const SHARES = [0, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 1] as const;

/** `maxMicros`: the longest latency itself; null: it is not known, and the middle of its bucket stands for it. */
export function summarizeCounts(counts: BucketCounts, maxMicros: number | null = null): Percentiles {
  const count = countRecords(counts);
  const [min = 0, p50 = 0, p75 = 0, p90 = 0, p95 = 0, p99 = 0, p999 = 0, p9999 = 0, max = 0] = quantileMicros(
    counts,
    SHARES,
    maxMicros,
  );
  const { mean, stdev } = findMoments(counts, count);
  return { count, min, mean, stdev, p50, p75, p90, p95, p99, p999, p9999, max };
}

function findMoments(counts: BucketCounts, count: number): { mean: number; stdev: number } {
  if (count === 0) return { mean: 0, stdev: 0 };
  let sum = 0;
  forEachBucket(counts, (micros, records) => {
    sum += micros * records;
  });
  const mean = sum / count;
  let squares = 0;
  forEachBucket(counts, (micros, records) => {
    squares += (micros - mean) ** 2 * records;
  });
  return { mean, stdev: Math.sqrt(squares / count) };
}

/** Each bucket that has records, from the lowest: the latency in its middle, and their number. */
export function forEachBucket(counts: BucketCounts, visit: (micros: number, records: number) => void): void {
  for (let bucket = 0; bucket < counts.length; bucket++) {
    const records = counts[bucket] as number;
    if (records > 0) visit(middleMicrosOf(bucket), records);
  }
}

/** Points of the curve for each halving of the distance to 100 %. */
const POINTS_PER_HALVING = 8;
/** 2^-34 is less than one of ten thousand million records. */
const MAX_HALVINGS = 34;

/** Points [percentile, µs] from 0 to 100, denser towards 100, up to where a single record decides; empty without records. */
export function drawCurve(counts: BucketCounts, maxMicros: number | null = null): (readonly [number, number])[] {
  const records = countRecords(counts);
  if (records === 0) return [];
  const shares: number[] = [];
  for (let point = 0; point < MAX_HALVINGS * POINTS_PER_HALVING; point++) {
    const halving = Math.floor(point / POINTS_PER_HALVING);
    const within = (point % POINTS_PER_HALVING) / POINTS_PER_HALVING;
    const beyond = 2 ** -halving * (1 - within / 2);
    if (beyond * records < 1) break;
    shares.push(1 - beyond);
  }
  shares.push(1);
  const micros = quantileMicros(counts, shares, maxMicros);
  return shares.map((share, index) => [share * 100, micros[index] as number] as const);
}
