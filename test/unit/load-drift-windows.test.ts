import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SeriesPoint } from '../../src/load/result/result.ts';
import type { LatencyCounts } from '../../src/load/run/seconds.ts';
import { type Drift, LEAST_SAMPLES, MOST_SAMPLES, measureDrift } from '../../src/load/soak/drift.ts';
import { checkDrift, describeTrend, splitExpectations } from '../../src/load/soak/drift-expect.ts';
import {
  chooseWindows,
  isP99Hidden,
  measureDrifts,
  type ProcessUse,
  SoakWindows,
} from '../../src/load/soak/windows.ts';
import { countsOf } from './load-samples.ts';

const HOUR_MS = 3_600_000;

function second(at: number, latenciesMs: readonly number[], measured = true): [SeriesPoint, LatencyCounts] {
  const counts = countsOf(...latenciesMs.map((ms) => [ms, 1] as const));
  const none = { p50: 0, p99: 0, p999: 0, max: 0 };
  const point = { second: at, measured, callsPerSecond: latenciesMs.length, errors: 1, waiting: 0, inFlight: 0 };
  return [
    { ...point, corrected: none, service: none },
    { corrected: counts, service: counts },
  ];
}

function use(rssBytes: number, sockets = 64): ProcessUse {
  return { rssBytes, sockets, descriptors: sockets + 10 };
}

describe('windows of a soak', () => {
  it('are thirty, but not too short and not too long', () => {
    expect(chooseWindows(30 * 60_000)).toEqual({ seconds: 60, count: 30 });
    expect(chooseWindows(10_000)).toEqual({ seconds: 5, count: 2 });
    expect(chooseWindows(1000)).toEqual({ seconds: 5, count: 1 });
    expect(chooseWindows(48 * HOUR_MS)).toEqual({ seconds: 600, count: 288 });
    fc.assert(
      fc.property(fc.integer({ min: 1000, max: 48 * HOUR_MS }), (durationMs) => {
        const { seconds, count } = chooseWindows(durationMs);
        expect(count).toBeLessThanOrEqual(MOST_SAMPLES);
        expect(Math.abs(count * seconds - durationMs / 1000)).toBeLessThanOrEqual(seconds);
      }),
    );
  });

  it('have the p99 of all their calls, not of their seconds', () => {
    const windows = new SoakWindows(chooseWindows(10_000));
    // One bad second of five: a fifth of the calls are slow, so is the p99; four of five seconds say otherwise.
    for (let at = 0; at < 10; at++) windows.add(...second(at + 3, Array(100).fill(at === 1 ? 50 : 2)), null);
    const [first, last, ...more] = windows.end();
    expect(more).toEqual([]);
    expect(first).toMatchObject({ startSecond: 0, seconds: 5, calls: 500, errors: 5, rssBytes: null, sockets: null });
    expect(first?.p99Micros).toBeCloseTo(50_000, -3);
    expect(last).toMatchObject({ startSecond: 5, seconds: 5 });
    expect(last?.p99Micros).toBeCloseTo(2000, -2);
  });

  it('leave out the warm-up, and take the median of what the process used', () => {
    const windows = new SoakWindows(chooseWindows(5000));
    windows.add(...second(0, [900], false), use(1));
    for (const [at, rss] of [10, 30, 1000, 20, 40].entries()) windows.add(...second(at + 1, [1]), use(rss, at));
    windows.add(...second(6, [900], false), use(1));
    expect(windows.end()).toMatchObject([
      { startSecond: 0, seconds: 5, calls: 5, rssBytes: 30, sockets: 2, descriptors: 12 },
    ]);
  });

  it('end early with what they have, without the rest of a window that hardly began', () => {
    const run = (seconds: number): number[] => {
      const windows = new SoakWindows(chooseWindows(600_000));
      expect(windows.seconds).toBe(20);
      for (let at = 0; at < seconds; at++) windows.add(...second(at, [1]), null);
      return windows.end().map((window) => window.seconds);
    };
    expect([run(0), run(1), run(29), run(30)]).toEqual([[], [1], [20], [20, 10]]);
    expect(run(600)).toHaveLength(30);
  });

  it('have a p99 that is at least so much when it lies among calls that wait at their end', () => {
    const hiddenOf = (waiting: number): boolean[] => {
      const windows = new SoakWindows(chooseWindows(5000));
      for (let at = 0; at < 5; at++) {
        const [point, counts] = second(at, Array(198).fill(2));
        windows.add({ ...point, waiting: at === 4 ? waiting : 999 }, counts, null);
      }
      return windows.end().map(isP99Hidden);
    };
    expect([hiddenOf(0), hiddenOf(10), hiddenOf(11)]).toEqual([[false], [false], [true]]);
  });

  it('say nothing of the p99 when it is hidden in too many of them', () => {
    const trendWith = (hidden: number): string | undefined => {
      const windows = new SoakWindows(chooseWindows(100_000));
      for (let at = 0; at < 100; at++) {
        const [point, counts] = second(at, [2]);
        windows.add({ ...point, waiting: at >= 100 - hidden * 5 ? 1000 : 0 }, counts, null);
      }
      return measureDrifts(windows.end()).p99?.trend;
    };
    expect([trendWith(0), trendWith(2), trendWith(3)]).toEqual(['none', 'none', undefined]);
  });

  it('have no sockets where they could not be counted', () => {
    const windows = new SoakWindows(chooseWindows(50_000));
    for (let at = 0; at < 50; at++) {
      windows.add(...second(at, [1]), { rssBytes: 5, sockets: null, descriptors: at < 25 ? null : 8 });
    }
    const found = windows.end();
    expect(found[0]).toMatchObject({ rssBytes: 5, sockets: null, descriptors: null });
    const drifts = measureDrifts(found);
    expect(drifts).toMatchObject({ rss: { samples: 10 }, sockets: null, descriptors: { samples: 5 } });
    const [expectation] = splitExpectations('sockets.drift<1%/h').drifts;
    if (expectation === undefined) throw new Error('no expectation');
    expect(checkDrift(expectation, drifts.sockets)).toMatchObject({
      held: false,
      value: 'unknown: could not be measured',
    });
  });

  it('put the rest of the time into the last one', () => {
    const windows = new SoakWindows(chooseWindows(13_000));
    for (let at = 0; at < 14; at++) windows.add(...second(at, [1]), null);
    expect(windows.end().map(({ seconds }) => seconds)).toEqual([5, 9]);
  });

  it('show drift of each number that is known, with time in hours', () => {
    const windows = new SoakWindows(chooseWindows(1_800_000));
    for (let at = 0; at < 1800; at++) {
      const slower = 10 * (1 + at / 3600);
      windows.add(...second(at, [slower]), at % 5 === 0 ? use(1_000_000 + at * 100) : null);
    }
    const drift = measureDrifts(windows.end()) as Record<string, Drift>;
    expect(drift['p99']).toMatchObject({ samples: 30, trend: 'rising' });
    // The median of p99 lies at half of the half hour: 12.5 ms; it grows by 10 ms an hour.
    expect(drift['p99']?.sharePerHour).toBeCloseTo(10 / 12.5, 1);
    expect(drift['rss']?.perHour).toBeCloseTo(360_000, -2);
    expect(drift['sockets']).toMatchObject({ trend: 'none', level: 64, perHour: 0 });
    expect(drift['descriptors']).toMatchObject({ trend: 'none', level: 74 });
  });

  it('have no drift of what nobody looked at, nor a p99 without calls', () => {
    const windows = new SoakWindows(chooseWindows(50_000));
    for (let at = 0; at < 50; at++) windows.add(...second(at, at < 5 ? [] : [3]), null);
    const drifts = measureDrifts(windows.end());
    expect(drifts).toMatchObject({ rss: null, sockets: null, descriptors: null });
    expect(drifts.p99?.samples).toBe(9);
  });
});

describe('expectations of drift', () => {
  it('are taken out of a list', () => {
    const { drifts, plain } = splitExpectations('p99<5ms, p99.drift<20%/h,errors<0.01%,sockets.drift <= 1.5 %/h');
    expect(drifts).toEqual([
      { text: 'p99.drift<20%/h', metric: 'p99', op: '<', limit: 0.2 },
      { text: 'sockets.drift <= 1.5 %/h', metric: 'sockets', op: '<=', limit: 0.015 },
    ]);
    expect(plain).toBe('p99<5ms,errors<0.01%');
    expect(splitExpectations('rss.drift<5%/h')).toMatchObject({ plain: null });
    expect(splitExpectations('p99<5ms')).toEqual({ drifts: [], plain: 'p99<5ms' });
  });

  it.each([
    'p99.drift',
    'p99.drift<20',
    'p99.drift<20%',
    'p99.drift>1%/h',
    'cpu.drift<1%/h',
    '.drift<1%/h',
    'p99.drift<-1%/h',
  ])('refuse %s and say how to write it', (text) => {
    expect(() => splitExpectations(text)).toThrow(`--expect ${text}: write METRIC.drift<N%/h`);
  });

  const [rise] = splitExpectations('rss.drift<5%/h').drifts;
  if (rise === undefined) throw new Error('no expectation');

  function driftOf(values: readonly number[]): Drift {
    return measureDrift(values.map((value, at) => ({ atMs: at * 60_000, value })));
  }

  function line(perHourShare: number, count = 30): number[] {
    return Array.from({ length: count }, (_, at) => 1000 * (1 + (perHourShare * (at - (count - 1) / 2)) / 60));
  }

  it('compare the slope with the limit', () => {
    expect(checkDrift(rise, driftOf(line(0.049)))).toMatchObject({ held: true, text: 'rss.drift<5%/h' });
    expect(checkDrift(rise, driftOf(line(0.051)))).toMatchObject({ held: false });
    expect(checkDrift({ ...rise, op: '<=', limit: 0 }, driftOf(line(0)))).toMatchObject({ held: true });
    expect(checkDrift({ ...rise, limit: 0 }, driftOf(line(0)))).toMatchObject({ held: false });
  });

  it('hold when the number falls, or has no trend whatever its slope', () => {
    expect(checkDrift(rise, driftOf(line(-3))).held).toBe(true);
    const noise = [5, 1, 9, 2, 8, 3, 7, 6, 4, 9].map((value) => 100 * value);
    const checked = checkDrift(rise, driftOf(noise));
    expect(driftOf(noise).sharePerHour).toBeGreaterThan(0.05);
    expect(checked).toMatchObject({ held: true });
    expect(checked.value).toContain('more than that is not excluded');
    expect(checkDrift(rise, driftOf(line(0.01))).value).not.toContain('excluded');
    expect(checked.value).toMatch(/^no trend \(95 %: -.* … \+.*; p = 0\./);
  });

  it('are missed when nothing can be said', () => {
    expect(checkDrift(rise, null)).toMatchObject({ held: false, value: expect.stringContaining('unknown') });
    const few = checkDrift(rise, driftOf(line(0, LEAST_SAMPLES - 1)));
    expect(few).toMatchObject({ held: false, value: expect.stringContaining('longer --duration') });
  });

  it('know a rise from nothing', () => {
    const values = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6];
    expect(checkDrift(rise, driftOf(values))).toMatchObject({ held: false, value: 'rises from 0' });
    expect(checkDrift(rise, driftOf(values.fill(0)))).toMatchObject({ held: true, value: 'no trend' });
  });

  it('are shown with the sureness of their value', () => {
    expect(describeTrend(driftOf(line(0.5)))).toMatch(/^\+50\.0 %\/h \(95 %: \+50\.0 % … \+50\.0 %; p < 0\.001\)$/);
    expect(describeTrend(driftOf([1]))).toBe('unknown: too few windows');
  });
});
