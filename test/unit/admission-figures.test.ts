import { describe, expect, it } from 'vitest';
import { Demand, demandBytes } from '../../src/admission/shared/demand.ts';
import {
  BUCKETS,
  boundOf,
  bucketOf,
  Figure,
  Figures,
  figuresBytes,
  readFigures,
} from '../../src/admission/shared/figures.ts';

describe('histograms of times', () => {
  it('put each time into the bucket below whose bound it is, an eighth wide at most', () => {
    for (const ms of [0, 0.001, 0.007, 0.008, 0.0155, 0.016, 0.1, 1, 9.99, 10, 1234.5, 60_000, 2_000_000]) {
      const bucket = bucketOf(ms);
      const lower = bucket === 0 ? 0 : boundOf(bucket - 1);
      const us = Math.trunc(ms * 1000);
      expect(us / 1000).toBeGreaterThanOrEqual(lower);
      expect(us / 1000).toBeLessThan(boundOf(bucket));
      if (us >= 8) expect((boundOf(bucket) - lower) / lower).toBeLessThanOrEqual(1 / 8);
    }
  });

  it('have ascending bounds and hold what is too short or too long', () => {
    for (let bucket = 1; bucket < BUCKETS; bucket++) expect(boundOf(bucket)).toBeGreaterThan(boundOf(bucket - 1));
    expect(bucketOf(-5)).toBe(0);
    expect(bucketOf(1e12)).toBe(BUCKETS - 1);
  });
});

it('figures of several threads are summed by nameservice', () => {
  const shared = new SharedArrayBuffer(figuresBytes(3, 2));
  const [first, second] = [0, 2].map((thread) => new Figures(shared, thread, 2)) as [Figures, Figures];
  first.add(0, Figure.passed);
  second.add(0, Figure.passed);
  second.add(1, Figure.refusedFull);
  first.set(1, Figure.waiting, 7);
  second.set(1, Figure.waiting, 5);
  first.setLevel(1, 3, 2, 9);
  second.time(1, 0, 1.5);
  first.time(1, 1, 3);
  const [ns0, ns1] = readFigures(shared, 2);
  expect(ns0?.figures).toMatchObject({ passed: 2, waiting: 0, refusedFull: 0 });
  expect(ns1?.figures).toMatchObject({ passed: 0, waiting: 12, refusedFull: 1 });
  expect(ns1?.levels[3]).toEqual({ waiting: 2, overflowed: 9 });
  expect(ns1?.histograms.queueTime[bucketOf(1.5)]).toBe(1);
  expect(ns1?.histograms.processingTime[bucketOf(3)]).toBe(1);
  expect(ns0?.histograms.queueTime.every((count) => count === 0)).toBe(true);
  // Fewer levels than before: what the others had is over.
  const [, fewer] = readFigures(shared, 2, 2);
  expect(fewer?.levels).toEqual(Array.from({ length: 2 }, () => ({ waiting: 0, overflowed: 0 })));
});

describe('workers divide a window by demand', () => {
  const shared = new SharedArrayBuffer(demandBytes(3, 2));
  const [first, second] = [1, 2].map((thread) => new Demand(shared, thread, 2)) as [Demand, Demand];

  it('in equal parts while nobody has any', () => {
    expect(first.shareOf(0, 2)).toBe(0.5);
  });

  it('by their calls, one more for each, apart for each nameservice', () => {
    first.tell(0, 89);
    second.tell(0, 9);
    second.tell(1, 1000);
    expect(first.shareOf(0, 2)).toBeCloseTo(0.9);
    expect(second.shareOf(0, 2)).toBeCloseTo(0.1);
    expect(first.shareOf(1, 2)).toBeCloseTo(1 / 1002);
  });

  it('and one that is gone has none', () => {
    second.forget();
    expect(first.shareOf(1, 2)).toBe(0.5);
    expect(first.shareOf(0, 2)).toBeCloseTo(90 / 91);
  });
});
