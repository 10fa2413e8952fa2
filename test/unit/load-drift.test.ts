import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LEAST_SAMPLES, MOST_SAMPLES, measureDrift, median, type Sample } from '../../src/load/soak/drift.ts';
import { seededRandom } from '../../src/simulator/service-time.ts';

const MINUTE_MS = 60_000;

/** One value a minute. */
function series(values: readonly number[]): Sample[] {
  return values.map((value, at) => ({ atMs: at * MINUTE_MS, value }));
}

function line(start: number, perMinute: number, count = 30): number[] {
  return Array.from({ length: count }, (_, at) => start + perMinute * at);
}

/** Noise with the standard normal distribution. */
function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

describe('median', () => {
  it('is the middle, whatever the order', () => {
    expect([median([]), median([7]), median([10, 9, 100]), median([4, 1, 3, 2])]).toEqual([0, 7, 10, 2.5]);
  });
});

describe('drift', () => {
  it('of a line is its slope, with quarters and a sure trend', () => {
    const drift = measureDrift(series(line(100, 1, 29)));
    expect(drift).toMatchObject({ samples: 29, level: 114, trend: 'rising', firstQuarter: 103, lastQuarter: 125 });
    expect(drift.perHour).toBeCloseTo(60, 9);
    expect(drift.sharePerHour).toBeCloseTo(60 / 114, 9);
    expect(drift.interval?.low).toBeCloseTo(60 / 114, 9);
    expect(drift.interval?.high).toBeCloseTo(60 / 114, 9);
    expect(drift.quarterShare).toBeCloseTo(22 / 103, 9);
    expect(drift.pValue).toBeLessThan(1e-6);
  });

  it('agrees with a calculation by hand', () => {
    // 19 pairs rise and 9 fall: S = 10; variance 8 * 7 * 21 / 18 = 65.33, z = 9 / 8.083 = 1.1135, p = 0.2655.
    const drift = measureDrift(series([11, 13, 12, 14, 16, 15, 18, 10]));
    expect(drift.pValue).toBeCloseTo(0.2655, 3);
    expect(drift.trend).toBe('none');
    // Of the 28 slopes those of rank 14 - 15.84 / 2 and 15 + 15.84 / 2, rounded outwards: the 6th and the 23rd.
    expect(drift.level).toBe(13.5);
    expect(drift.perHour).toBeCloseTo(54.0, 9);
    expect(drift.interval?.low).toBeCloseTo(-60.0 / 13.5, 9);
    expect(drift.interval?.high).toBeCloseTo(90.0 / 13.5, 9);
  });

  it('corrects the test for equal values', () => {
    // S = 16, variance (1176 - 2 · 4·3·13) / 18 = 48, z = 15/6.928 = 2.165, p = 0.0304.
    const drift = measureDrift(series([5, 5, 5, 5, 6, 6, 6, 6]));
    expect(drift.pValue).toBeCloseTo(0.0304, 3);
    expect(drift.trend).toBe('rising');
  });

  it('is none for a constant', () => {
    expect(measureDrift(series(line(64, 0)))).toMatchObject({
      perHour: 0,
      sharePerHour: 0,
      pValue: 1,
      trend: 'none',
      quarterShare: 0,
      interval: { low: 0, high: 0 },
    });
  });

  it('has no share of a level of 0, and no trend from too few samples', () => {
    expect(measureDrift(series(line(0, 0)))).toMatchObject({ sharePerHour: null, interval: null, quarterShare: null });
    expect(measureDrift(series(line(100, 1, LEAST_SAMPLES - 1)))).toMatchObject({
      trend: 'unknown',
      interval: null,
      pValue: 1,
    });
    expect(measureDrift(series(line(100, 1, LEAST_SAMPLES)))).toMatchObject({ trend: 'rising' });
    expect(measureDrift([])).toMatchObject({ samples: 0, level: 0, perHour: 0, trend: 'unknown' });
    expect(measureDrift(series([7]))).toMatchObject({ level: 7, perHour: 0, firstQuarter: 7, lastQuarter: 7 });
  });

  it('is not moved by a few stalls', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.nat(29), { maxLength: 5 }),
        fc.double({ min: 10, max: 1e6, noNaN: true }),
        (stalled, worse) => {
          const values = line(1000, 1).map((value, at) => (stalled.includes(at) ? value + worse : value));
          const drift = measureDrift(series(values));
          // Most pairs are not touched, so the slope lies among theirs: at most the slope of a line one step steeper.
          expect(drift.perHour).toBeGreaterThan(0);
          expect(drift.interval?.low).toBeLessThanOrEqual(60 / drift.level + 1e-9);
          expect(drift.interval?.high).toBeGreaterThanOrEqual(60 / drift.level - 1e-9);
        },
      ),
    );
  });

  it('turns its sign with time, and does not depend on the unit', () => {
    const values = fc.array(fc.double({ min: 1, max: 1e9, noNaN: true }), { minLength: 8, maxLength: 40 });
    fc.assert(
      fc.property(values, fc.integer({ min: 1, max: 1000 }), (list, unit) => {
        const forward = measureDrift(series(list));
        const backward = measureDrift(series(list.toReversed()));
        const scaled = measureDrift(series(list.map((value) => value * unit)));
        const size = Math.abs(forward.perHour) + forward.level;
        expect(Math.abs(backward.perHour + forward.perHour)).toBeLessThanOrEqual(1e-9 * size);
        expect(backward.pValue).toBe(forward.pValue);
        expect(Math.abs((scaled.sharePerHour as number) - (forward.sharePerHour as number))).toBeLessThan(
          1e-6 * (1 + Math.abs(forward.sharePerHour as number)),
        );
        expect(forward.interval?.low).toBeLessThanOrEqual((forward.sharePerHour as number) + 1e-12);
        expect(forward.interval?.high).toBeGreaterThanOrEqual((forward.sharePerHour as number) - 1e-12);
      }),
    );
  });

  it('sees a trend in noise alone in about one of twenty series', () => {
    const random = seededRandom(7);
    let seen = 0;
    for (let n = 0; n < 400; n++) {
      const { trend } = measureDrift(series(line(1000, 0).map((value) => value + 50 * normal(random))));
      if (trend !== 'none') seen++;
    }
    expect(seen).toBeGreaterThan(8);
    expect(seen).toBeLessThan(36);
  });

  it('has the true slope within its interval in about nineteen of twenty series', () => {
    const random = seededRandom(8);
    let within = 0;
    for (let n = 0; n < 400; n++) {
      const drift = measureDrift(series(line(1000, 2).map((value) => value + 50 * normal(random))));
      const { low, high } = drift.interval as { low: number; high: number };
      if (low * drift.level <= 120 && 120 <= high * drift.level) within++;
    }
    expect(within).toBeGreaterThan(364);
    expect(within).toBeLessThan(396);
  });

  it('refuses more samples than it can pair', () => {
    expect(() => measureDrift(series(line(1, 0, MOST_SAMPLES + 1)))).toThrow(RangeError);
  });
});
