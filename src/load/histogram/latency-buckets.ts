/**
 * Log-linear histogram of latencies: exact below 256 units, then 128 buckets an octave (under 0.8 % error). One unit is 100 ns; what lasts
 * longer than a bucket can say (214 s) counts in the last one.
 *
 * The counts are a plain Uint32Array of BUCKET_COUNT entries, the same shape everywhere: threads send copies of it, and the functions on
 * counts below merge and read them.
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

/** Shortest latency in µs that counts in this bucket. */
export function lowestMicrosOf(bucket: number): number {
  return lowestOf(bucket) / UNITS_PER_MICRO;
}

/** Middle of the bucket in µs: what its records are reported as. */
export function middleMicrosOf(bucket: number): number {
  return (lowestOf(bucket) + lowestOf(bucket + 1)) / 2 / UNITS_PER_MICRO;
}

export function addCounts(into: Uint32Array, from: Uint32Array): void {
  for (let bucket = 0; bucket < into.length; bucket++) into[bucket] = into[bucket]! + from[bucket]!;
}

export function sumCounts(counts: Uint32Array): number {
  let sum = 0;
  for (let bucket = 0; bucket < counts.length; bucket++) sum += counts[bucket]!;
  return sum;
}

/** Latency in µs below which `share` (0 to 1) of the records lie, as the middle of its bucket; 0 without records. */
export function quantileOfCounts(counts: Uint32Array, share: number, total: number = sumCounts(counts)): number {
  if (total === 0) return 0;
  const rank = Math.min(total, Math.max(1, Math.ceil(share * total)));
  let seen = 0;
  let bucket = 0;
  while (bucket < counts.length) {
    seen += counts[bucket]!;
    if (seen >= rank) break;
    bucket++;
  }
  return middleMicrosOf(bucket);
}

export class LatencyBuckets {
  readonly counts: Uint32Array = createCounts();
  count = 0;

  recordMs(elapsedMs: number): void {
    this.recordBucket(bucketOfMs(elapsedMs));
  }

  /** For a bucket from `bucketOfMs`, when several histograms take the same latency. */
  recordBucket(bucket: number): void {
    this.counts[bucket] = this.counts[bucket]! + 1;
    this.count++;
  }

  add(counts: Uint32Array): void {
    addCounts(this.counts, counts);
    this.count += sumCounts(counts);
  }

  copyCounts(): Uint32Array {
    return this.counts.slice();
  }

  clear(): void {
    this.counts.fill(0);
    this.count = 0;
  }

  /** As `quantileOfCounts`. */
  quantileMicros(share: number): number {
    return quantileOfCounts(this.counts, share, this.count);
  }
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
