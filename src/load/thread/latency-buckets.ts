/**
 * Log-linear histogram of latencies: exact below 256 units, then 128 buckets an octave (under 0.8 % error). One unit is 100 ns; what lasts
 * longer than a bucket can say (214 s) counts in the last one.
 */

const SUB_BITS = 7;
const SUB_BUCKETS = 1 << SUB_BITS;
const LINEAR_UNITS = SUB_BUCKETS * 2;
const MAX_UNITS = 0x7fffffff;
const UNITS_PER_MICRO = 10;

export class LatencyBuckets {
  #counts = new Uint32Array(bucketOf(MAX_UNITS) + 1);
  count = 0;

  recordMs(elapsedMs: number): void {
    const units = elapsedMs * (1000 * UNITS_PER_MICRO);
    const bucket = bucketOf(units > 0 ? (units < MAX_UNITS ? units | 0 : MAX_UNITS) : 0);
    this.#counts[bucket] = (this.#counts[bucket] as number) + 1;
    this.count++;
  }

  clear(): void {
    this.#counts.fill(0);
    this.count = 0;
  }

  /** Latency in µs below which `share` (0 to 1) of the records lie, as the middle of its bucket; 0 without records. */
  quantileMicros(share: number): number {
    if (this.count === 0) return 0;
    const rank = Math.max(1, Math.ceil(share * this.count));
    let seen = 0;
    let bucket = 0;
    while (bucket < this.#counts.length) {
      seen += this.#counts[bucket] as number;
      if (seen >= rank) break;
      bucket++;
    }
    return (lowestOf(bucket) + lowestOf(bucket + 1)) / 2 / UNITS_PER_MICRO;
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
