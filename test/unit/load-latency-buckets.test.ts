import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  addCounts,
  BUCKET_COUNT,
  bucketOfMs,
  createCounts,
  LatencyBuckets,
  lowestMicrosOf,
  middleMicrosOf,
  quantileOfCounts,
  sumCounts,
} from '../../src/load/histogram/latency-buckets.ts';

describe('buckets', () => {
  test('every latency lies in its bucket, whose middle is less than 0.8 % away', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 200_000, noNaN: true }), (ms) => {
        const bucket = bucketOfMs(ms);
        const units = Math.floor(ms * 10_000);
        expect(Math.round(lowestMicrosOf(bucket) * 10)).toBeLessThanOrEqual(units);
        expect(Math.round(lowestMicrosOf(bucket + 1) * 10)).toBeGreaterThan(units);
        expect(Math.abs(middleMicrosOf(bucket) * 10 - units)).toBeLessThanOrEqual(Math.max(0.5, units * 0.008));
      }),
    );
  });

  test('what is negative counts as nothing, what is too long in the last bucket', () => {
    expect(bucketOfMs(-1)).toBe(0);
    expect(bucketOfMs(0)).toBe(0);
    expect(bucketOfMs(1e12)).toBe(BUCKET_COUNT - 1);
    expect(bucketOfMs(Number.POSITIVE_INFINITY)).toBe(BUCKET_COUNT - 1);
  });
});

describe('counts', () => {
  test('quantiles are those of the sorted latencies, to the width of a bucket', () => {
    const latencies = fc.array(fc.double({ min: 0, max: 60_000, noNaN: true }), { minLength: 1, maxLength: 200 });
    const shares = fc.constantFrom(0, 0.5, 0.9, 0.99, 0.9999, 1);
    fc.assert(
      fc.property(latencies, shares, (ms, share) => {
        const buckets = new LatencyBuckets();
        for (const each of ms) buckets.recordMs(each);
        const sorted = ms.toSorted((a, b) => a - b);
        const exact = sorted[Math.max(1, Math.ceil(share * ms.length)) - 1] as number;
        expect(buckets.quantileMicros(share)).toBe(middleMicrosOf(bucketOfMs(exact)));
      }),
    );
  });

  test('merged counts are those of all records together', () => {
    const latencies = fc.array(fc.double({ min: 0, max: 1000, noNaN: true }), { maxLength: 50 });
    fc.assert(
      fc.property(latencies, latencies, (left, right) => {
        const [one, other, both] = [new LatencyBuckets(), new LatencyBuckets(), new LatencyBuckets()];
        for (const ms of left) one.recordMs(ms);
        for (const ms of right) other.recordMs(ms);
        for (const ms of [...left, ...right]) both.recordMs(ms);
        const sum = createCounts();
        addCounts(sum, one.counts);
        addCounts(sum, other.counts);
        expect(sum).toEqual(both.counts);
        one.add(other.counts);
        expect(one.counts).toEqual(both.counts);
        expect(one.count).toBe(left.length + right.length);
      }),
    );
  });

  test('a copy stays as it is, and nothing is a quantile of nothing', () => {
    const buckets = new LatencyBuckets();
    buckets.recordMs(3);
    const copy = buckets.copyCounts();
    buckets.clear();
    expect(sumCounts(copy)).toBe(1);
    expect(buckets.count).toBe(0);
    expect(buckets.quantileMicros(0.5)).toBe(0);
    expect(quantileOfCounts(createCounts(), 1)).toBe(0);
    expect(quantileOfCounts(copy, 1)).toBe(middleMicrosOf(bucketOfMs(3)));
  });
});
