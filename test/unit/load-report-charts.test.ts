import { describe, expect, it } from 'vitest';
import {
  formatBytes,
  formatClock,
  formatMicros,
  formatNumber,
  formatPercentile,
  formatShare,
} from '../../src/load/report/client/format.js';
import { findAlone } from '../../src/load/report/client/points.js';
import { invertCurve, makeCurveChart } from '../../src/load/report/curve-chart.ts';
import { makeLoadCharts, makeWatchedCharts } from '../../src/load/report/over-time.ts';
import { findPlanDifferences } from '../../src/load/report/plan-differences.ts';
import { findChange, findRange, formatChange, type Run } from '../../src/load/report/runs.ts';
import { makeLatencyCharts, makeProcessCharts, makeRateChart } from '../../src/load/report/time-charts.ts';
import type { LoadResult } from '../../src/load/result/result.ts';
import { makeLoadResult } from '../support/load-result.ts';

function single(result: LoadResult): Run[] {
  return [{ letter: '', name: '', result }];
}

function pair(before: LoadResult, after: LoadResult): Run[] {
  return [
    { letter: 'A', name: '', result: before },
    { letter: 'B', name: '', result: after },
  ];
}

describe('the curve', () => {
  it('gives each further nine the same room and puts the maximum at the last call', () => {
    const points = invertCurve(
      [
        [0, 10],
        [50, 20],
        [90, 30],
        [99, 40],
        [99.9, 50],
        [100, 90],
      ],
      5000,
    );
    expect(points).toEqual([
      [1, 10],
      [2, 20],
      [10, 30],
      [100, 40],
      [1000, 50],
      [5000, 90],
    ]);
  });

  it('ascends even where percentiles are finer than the calls', () => {
    const points = invertCurve(
      [
        [99, 1],
        [99.9999, 7],
        [99.99999, 8],
        [100, 9],
      ],
      1000,
    );
    expect(points).toEqual([
      [100, 1],
      [1000, 9],
    ]);
  });

  it('has one x for the lines of both runs', () => {
    const chart = makeCurveChart(pair(makeLoadResult(), makeLoadResult({ callsPerSecond: 700 })));
    expect([...chart.x].sort((left, right) => left - right)).toEqual(chart.x);
    expect(chart.lines.map(({ label }) => label)).toEqual(['A corrected', 'A service', 'B corrected', 'B service']);
    for (const { values } of chart.lines) expect(values).toHaveLength(chart.x.length);
  });

  it('has one line for a closed loop', () => {
    const chart = makeCurveChart(single(makeLoadResult({ closed: true })));
    expect(chart.lines.map(({ label }) => label)).toEqual(['latency']);
  });
});

describe('charts over time', () => {
  it('can be as long as a run may be', () => {
    const result = makeLoadResult({ seconds: 10, warmupSeconds: 0 });
    const [point] = result.series;
    if (point === undefined) throw new Error('no point');
    const series = Array.from({ length: 172_800 }, (_, second) => ({ ...point, second, callsPerSecond: 500 + second }));
    const [, rate] = makeLoadCharts(single({ ...result, series }));
    expect(rate?.text.caption).toContain('lowest second 500, highest 173,299');
    expect(findRange(series.map(({ second }) => second))).toEqual({ lowest: 0, highest: 172_799 });
  });

  it('have the sockets of seconds in which they were not counted as they were counted last', () => {
    const result = makeLoadResult({ seconds: 10 });
    if (result.watched === null) throw new Error('not watched');
    const counts = [null, 5, null, null, 9, null];
    const samples = counts.map((sockets, second) => [second, 1e6, sockets, second] as const);
    const charts = makeProcessCharts(single({ ...result, watched: { ...result.watched, samples } }));
    expect(charts.find(({ id }) => id === 'sockets')?.lines[0]?.values).toEqual([null, 5, 5, 5, 9, 9]);
    const watched = { ...result.watched, samples, socketsStart: null, socketsEnd: null };
    const texts = makeWatchedCharts(single({ ...result, watched })).map(({ text }) => text.caption);
    expect(texts[2]).toContain('could not be counted');
  });

  it('shade the warm-up', () => {
    const [chart] = makeLatencyCharts(single(makeLoadResult({ warmupSeconds: 5, seconds: 20 })));
    expect(chart?.shaded).toEqual([[0, 5]]);
    expect(chart?.x).toHaveLength(25);
  });

  it('of two runs shade what neither has measured', () => {
    const before = makeLoadResult({ warmupSeconds: 5, seconds: 20 });
    const shorter = makeLoadResult({ warmupSeconds: 3, seconds: 6 });
    // The last replies of the shorter run come in the middle of the other.
    const series = [...shorter.series, { ...shorter.series[0]!, second: 9, measured: false }];
    const [chart] = makeLatencyCharts(pair(before, { ...shorter, series }));
    expect(chart?.shaded).toEqual([[0, 3]]);
  });

  it('have no latency for a second in which no call was over, and one for a second of timeouts alone', () => {
    const made = makeLoadResult({ seconds: 10 });
    const none = { p50: 0, p99: 0, p999: 0, max: 0 };
    const series = made.series.map((point) => {
      if (point.second === 7) return { ...point, callsPerSecond: 0, corrected: none, service: none };
      return point.second === 8 ? { ...point, callsPerSecond: 0, errors: 50 } : point;
    });
    const [chart] = makeLatencyCharts(single({ ...made, series }));
    for (const { values } of chart?.lines ?? []) {
      expect(values[7]).toBeNull();
      expect(values[8]).not.toBeNull();
    }
  });

  it('show the asked rate with its ramp', () => {
    const chart = makeRateChart(single(makeLoadResult({ callsPerSecond: 3000, seconds: 10 })));
    const asked = chart.lines.find(({ label }) => label === 'asked')?.values;
    expect(asked?.slice(0, 5)).toEqual([500, 1500, 2500, 3000, 3000]);
    expect(makeRateChart(single(makeLoadResult({ closed: true }))).lines.map(({ label }) => label)).toEqual([
      'answered',
    ]);
  });

  it('end the rates with the last measured second', () => {
    const made = makeLoadResult({ seconds: 10, warmupSeconds: 2 });
    const [first] = made.series;
    if (first === undefined) throw new Error('no point');
    const rest = { ...first, second: 12, callsPerSecond: 3 };
    const chart = makeRateChart(single({ ...made, series: [...made.series, rest] }));
    expect(chart.x).toHaveLength(13);
    for (const { label, values } of chart.lines) {
      expect(values.indexOf(null), label).toBe(12);
    }
    const unmeasured = made.series.map((point) => ({ ...point, measured: false }));
    for (const { values } of makeRateChart(single({ ...made, series: unmeasured })).lines) {
      expect(values).not.toContain(null);
    }
  });

  it('mark the values that no line joins to another', () => {
    expect(findAlone([1, null, 2, 3, null, 4], false)).toEqual([0, 5]);
    expect(findAlone([1, 2, null], false)).toBeNull();
    expect(findAlone([null, 5, null], false)).toEqual([1]);
    expect(findAlone([null, 5, null], true)).toEqual([1]);
    expect(findAlone([1, null, 2], true)).toBeNull();
    expect(findAlone([null], false)).toBeNull();
  });

  it('align the samples of two watched processes, which are a little late, with the measured seconds', () => {
    const before = makeLoadResult({ seconds: 10, warmupSeconds: 5 });
    const after = makeLoadResult({ seconds: 10, warmupSeconds: 5, seed: 3 });
    const { watched } = after;
    if (watched === null) throw new Error('the sample has no watched process');
    const samples = watched.samples.map(([second, ...rest]) => [second + 0.08, ...rest] as const);
    const charts = makeProcessCharts(pair(before, { ...after, watched: { ...watched, samples } }));
    expect(charts.map(({ id }) => id)).toEqual(['rss', 'cpu', 'sockets']);
    for (const { id, x, lines } of charts) {
      expect(x).toEqual([5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
      for (const { values } of lines) expect(values.indexOf(null, 1), id).toBe(-1);
    }
  });

  it('tell CPU seconds as cores in use', () => {
    const made = makeLoadResult({ seconds: 3, warmupSeconds: 0 });
    if (made.watched === null) throw new Error('the sample has no watched process');
    const samples = [
      [0, 1, 1, 0],
      [1, 1, 1, 0.5],
      [3, 1, 1, 3.5],
    ] as const;
    const charts = makeProcessCharts(single({ ...made, watched: { ...made.watched, samples } }));
    expect(charts.find(({ id }) => id === 'cpu')?.lines[0]?.values).toEqual([null, 0.5, 1.5]);
  });
});

describe('numbers for people', () => {
  it.each([
    [0, '0'],
    [64, '64'],
    [1234567, '1,234,567'],
    [1.234, '1.23'],
    [12.34, '12.3'],
    [99.96, '100'],
    [1234.5, '1,235'],
    [0.0123, '0.012'],
  ])('%d is %s', (value, text) => expect(formatNumber(value)).toBe(text));

  it('have the unit that fits', () => {
    expect([812, 999.6, 1234, 999_600, 2_500_000].map(formatMicros)).toEqual([
      '812 µs',
      '1.00 ms',
      '1.23 ms',
      '1.00 s',
      '2.50 s',
    ]);
    expect([12, 1500, 152e6, 4e9].map(formatBytes)).toEqual(['12 B', '1.50 KB', '152 MB', '4 GB']);
    expect([1, 0.99996, 0.5, 0.00004, 0].map(formatShare)).toEqual(['100 %', '99.99 %', '50 %', '0.004 %', '0 %']);
    expect([0, 61, 3599, 3600, 7325].map(formatClock)).toEqual(['0:00', '1:01', '59:59', '1:00:00', '2:02:05']);
    expect([1, 2, 4, 10, 100, 1000, 10_000, 158].map(formatPercentile)).toEqual([
      ...['0 %', '50 %', '75 %', '90 %', '99 %', '99.9 %', '99.99 %', '99.37 %'],
    ]);
  });

  it('say how much more or less', () => {
    expect([findChange(10, 12), findChange(10, 5), findChange(10, 10), findChange(1, 30)].map(formatChange)).toEqual([
      ...['+20.0 %', '−50.0 %', '±0 %', '× 30'],
    ]);
    expect(formatChange(findChange(0, 5))).toBe('–');
    expect(formatChange(findChange(null, 5))).toBe('–');
  });
});

describe('the difference of plans', () => {
  const { plan } = makeLoadResult();

  it('is none for what changes nothing', () => {
    const mix = plan.mix.map(({ operation, weight }) => ({ operation, weight: weight * 2 }));
    expect(findPlanDifferences(plan, { ...plan, host: 'other', port: 1, seed: 9, watchedPid: 1, mix })).toEqual([]);
  });

  it('names mix, rate, connections and loop', () => {
    const other = { ...plan, connections: 8, loop: { kind: 'open', callsPerSecond: 9000, rampMs: 0 } as const };
    expect(findPlanDifferences(plan, other)).toEqual([
      { what: 'rate', before: '5,000 calls/s', after: '9,000 calls/s' },
      { what: 'connections', before: '64', after: '8' },
    ]);
    const reads = [{ operation: 'getFileInfo', weight: 1 } as const];
    const closed = findPlanDifferences(plan, { ...plan, mix: reads, loop: { kind: 'closed' } });
    expect(closed.map(({ what }) => what)).toEqual(['loop', 'rate', 'mix']);
    expect(closed[2]?.after).toBe('getFileInfo 100 %');
  });
});
