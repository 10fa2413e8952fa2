/**
 * Log-linear histogram of latencies: exact below 256 units, then 128 buckets an octave (under 0.8 % error). One unit is 100 ns; what lasts
 * longer than a bucket can say (214 s) counts in the last one.
 *
 * The counts are a plain Uint32Array of BUCKET_COUNT entries, the same shape everywhere: threads send copies of it, and latency.ts merges and
 * reads them.
 */

const SUB_BITS = 7;
const SUB_BUCKETS = 1 << SUB_BITS;
const LINEAR_UNITS = SUB_BUCKETS * 2;
const MAX_UNITS = 0x7fffffff;
const UNITS_PER_MICRO = 10;
const UNITS_PER_MS = 1000 * UNITS_PER_MICRO;

export const BUCKET_COUNT: number = bucketOf(MAX_UNITS) + 1;

/** All zero. */
export function createCounts(): Uint32Array {
  return new Uint32Array(BUCKET_COUNT);
}

/** Index in the counts for a latency in ms; negative ones count as 0. */
export function bucketOfMs(elapsedMs: number): number {
  const units = elapsedMs * UNITS_PER_MS;
  return bucketOf(units > 0 ? (units < MAX_UNITS ? units | 0 : MAX_UNITS) : 0);
}

/** Middle of the bucket in µs: what its records are reported as. */
export function middleMicrosOf(bucket: number): number {
  return (lowestOf(bucket) + lowestOf(bucket + 1)) / 2 / UNITS_PER_MICRO;
}

function bucketOf(units: number): number {
  if (units < LINEAR_UNITS) return units;
  const octave = 31 - Math.clz32(units) - SUB_BITS;
  return octave * SUB_BUCKETS + (units >>> octave);
}

function lowestOf(bucket: number): number {
  if (bucket < LINEAR_UNITS) return bucket;
  const octave = Math.floor(bucket / SUB_BUCKETS) - 1;
  return (bucket - octave * SUB_BUCKETS) * 2 ** octave;
}
