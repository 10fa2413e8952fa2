import { expect, it } from 'vitest';
import { type Load, type Pair, summariseMemory, summarisePairs, summariseReach } from './figures.ts';

const LOAD: Load = { p50: 400, p99: 1_000, calls: 10_000, cpuSeconds: 0.5, errors: 0, loaderWasTheLimit: false };

function pair(without: number, updating: number): Pair {
  return {
    without: { ...LOAD, p99: without },
    with: { ...LOAD, p99: updating, cpuSeconds: 1 },
    updatesPerSecond: 100,
    failedUpdates: 1,
  };
}

it('takes the median of the ratios of pairs, not the ratio of medians', () => {
  const figures = summarisePairs('ring', [pair(1_000, 1_100), pair(4_000, 8_000), pair(2_000, 2_400)]);
  expect(figures).toMatchObject({ pairs: 3, p99Ms: [2, 2.4], p99Ratio: 1.2, p50Ratio: 1, failedUpdates: 3, errors: 0 });
  expect(figures.cpuMicrosPerCall).toEqual([50, 100]);
  const spoilt = { ...pair(1, 1), with: { ...LOAD, loaderWasTheLimit: true, errors: 2 } };
  expect(summarisePairs('ring', [spoilt])).toMatchObject({ spoilt: 1, errors: 2 });
});

it('tells median, p99 and highest of the times to the first routed call', () => {
  const all = Array.from({ length: 200 }, (_, i) => ({ answeredMs: 5, routedMs: 200 - i }));
  expect(summariseReach('ring', all)).toEqual({
    ...{ name: 'ring', count: 200, answeredMs: 5 },
    ...{ medianMs: 100.5, p99Ms: 198, highestMs: 200 },
  });
});

it('compares the highest of the two halves, for between collections it goes up and down', () => {
  const bytes = [50, 90, 100, 120, 101, 150, 110, 110].map((megabytes) => megabytes * 1e6);
  const rest = { minutes: 1, cpuShare: 0.1, updatesPerSecond: 100, failedUpdates: 0, errors: 0 };
  const figures = summariseMemory('ring', bytes, rest);
  expect(figures.quarterMegabytes).toEqual([70, 110, 125.5, 110]);
  expect(figures.highestMegabytes).toBe(150);
  expect(figures.growth).toBeCloseTo(0.25);
  expect(summariseMemory('ring', [1e6], rest).growth).toBe(0);
});
