import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  addCounts,
  countRecords,
  drawCurve,
  quantileMicros,
  summarizeCounts,
} from '../../src/load/histogram/latency.ts';
import { BUCKET_COUNT, bucketOfMs, createCounts, middleMicrosOf } from '../../src/load/histogram/latency-buckets.ts';
import { countsOf } from './load-samples.ts';

function countEach(latenciesMs: readonly number[]): Uint32Array {
  return countsOf(...latenciesMs.map((ms) => [ms, 1] as const));
}

describe('buckets', () => {
  test('every latency lies in a bucket whose middle is less than 0.8 % away, and longer ones in no lower one', () => {
    const latencies = fc.double({ min: 0, max: 200_000, noNaN: true });
    fc.assert(
      fc.property(latencies, latencies, (ms, other) => {
        const bucket = bucketOfMs(ms);
        const units = Math.floor(ms * 10_000);
        expect(Math.abs(middleMicrosOf(bucket) * 10 - units)).toBeLessThanOrEqual(Math.max(0.5, units * 0.008));
        if (other >= ms) expect(bucketOfMs(other)).toBeGreaterThanOrEqual(bucket);
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
        const sorted = ms.toSorted((a, b) => a - b);
        const exact = sorted[Math.max(1, Math.ceil(share * ms.length)) - 1] as number;
        expect(quantileMicros(countEach(ms), [share])).toEqual([middleMicrosOf(bucketOfMs(exact))]);
      }),
    );
  });

  test('merged counts are those of all records together, and leave what they came from as it was', () => {
    const latencies = fc.array(fc.double({ min: 0, max: 1000, noNaN: true }), { maxLength: 50 });
    fc.assert(
      fc.property(latencies, latencies, (left, right) => {
        const one = countEach(left);
        const sum = addCounts(addCounts(new Uint32Array(0), one), countEach(right));
        expect(sum).toEqual(countEach([...left, ...right]));
        expect(countRecords(sum)).toBe(left.length + right.length);
        expect(one).toEqual(countEach(left));
      }),
    );
  });

  test('the longest latency is exact, and no percentile is longer', () => {
    const latencies = fc.array(fc.double({ min: 0.001, max: 400_000, noNaN: true }), { minLength: 1, maxLength: 50 });
    fc.assert(
      fc.property(latencies, (ms) => {
        const maxMicros = Math.max(...ms) * 1000;
        const { max, p9999, p50 } = summarizeCounts(countEach(ms), maxMicros);
        expect(max).toBe(maxMicros);
        expect(p9999).toBeLessThanOrEqual(maxMicros);
        expect(p50).toBeLessThanOrEqual(maxMicros);
        expect(drawCurve(countEach(ms), maxMicros).at(-1)).toEqual([100, maxMicros]);
      }),
    );
  });

  test('nothing is a quantile of nothing', () => {
    expect(quantileMicros(createCounts(), [0.5, 1], 0)).toEqual([0, 0]);
  });
});
