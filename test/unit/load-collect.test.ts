import { describe, expect, it } from 'vitest';
import { countRecords, drawCurve, quantileMicros, summarizeCounts } from '../../src/load/histogram/latency.ts';
import type { SecondReport } from '../../src/load/plan/plan.ts';
import { type Collected, collectResult } from '../../src/load/result/collect.ts';
import type { LoadResult, SeriesPoint } from '../../src/load/result/result.ts';
import { SecondsMerge } from '../../src/load/run/seconds.ts';
import { countsOf, IDLE_SELF, sampleCell, sampleFinal, samplePlan } from './load-samples.ts';

function collect(changes: Partial<Collected> = {}): LoadResult {
  return collectResult({
    plan: samplePlan(),
    finals: [sampleFinal()],
    series: [],
    startedAt: new Date(0),
    cpuShare: 0.5,
    watch: null,
    endedEarly: false,
    ...changes,
  });
}

/** Buckets are 0.8 % wide. */
const near = (micros: number) => expect.closeTo(micros, -Math.log10(micros * 0.016));

describe('numbers of latency counts', () => {
  it('are percentiles, mean and extremes', () => {
    const summary = summarizeCounts(countsOf([1, 900], [2, 90], [10, 9], [100, 1]));
    expect(summary).toMatchObject({
      count: 1000,
      min: near(1000),
      p50: near(1000),
      p90: near(1000),
      p95: near(2000),
      p99: near(2000),
      p999: near(10_000),
      p9999: near(100_000),
      max: near(100_000),
      mean: near(1270),
    });
    expect(summary.stdev).toBeGreaterThan(3000);
    expect(summary.stdev).toBeLessThan(3500);
  });

  it('are zeros without records', () => {
    expect(summarizeCounts(new Uint32Array(0))).toMatchObject({ count: 0, min: 0, mean: 0, p99: 0, max: 0 });
    expect(drawCurve(countsOf())).toEqual([]);
  });

  it('take the last record only for 100 %', () => {
    const counts = countsOf([1, 999], [50, 1]);
    expect(quantileMicros(counts, [0.999, 1])).toEqual([near(1000), near(50_000)]);
  });

  it('make a curve that rises from 0 to 100', () => {
    const curve = drawCurve(countsOf([1, 900], [2, 90], [10, 9], [100, 1]));
    expect(curve[0]).toEqual([0, near(1000)]);
    expect(curve.at(-1)).toEqual([100, near(100_000)]);
    for (const [index, [percentile, micros]] of curve.entries()) {
      expect(percentile).toBeGreaterThan(curve[index - 1]?.[0] ?? -1);
      expect(micros).toBeGreaterThanOrEqual(curve[index - 1]?.[1] ?? 0);
    }
    expect(curve.length).toBeGreaterThan(50);
  });
});

describe('the pace of a replay', () => {
  const plan = samplePlan({ loop: { kind: 'replay', speed: 2 }, durationMs: null });
  const finals = [sampleFinal({ replies: 1000, due: 1000, measuredFromMs: 500, measuredToMs: 4500 })];

  it('is that of its log', () => {
    const result = collect({ plan, finals, scheduledMs: 2000 });
    expect([result.callsPerSecond, result.askedPerSecond]).toEqual([250, 500]);
    expect(result.achievedShare).toBeCloseTo(0.5, 2);
    expect(result.saturated).toBe(true);
    expect(collect({ plan, finals, scheduledMs: 3990 }).saturated).toBe(false);
  });

  it('is not judged when it is short, or ended early', () => {
    expect(collect({ plan, finals, scheduledMs: 900 })).toMatchObject({ achievedShare: 1, saturated: false });
    expect(collect({ plan, finals, scheduledMs: 2000, endedEarly: true })).toMatchObject({ saturated: false });
  });
});

describe('the result', () => {
  it('adds up the threads, by operation and by target', () => {
    const errors = (count: number, firstMessage: string) => ({ 'java.io.IOException': { count, firstMessage } });
    const result = collect({
      plan: samplePlan({ threads: 2 }),
      finals: [
        sampleFinal({
          replies: 4000,
          due: 4000,
          lateForSlots: 1,
          unsent: 2,
          substituted: 3,
          cells: [
            sampleCell({ corrected: countsOf([1, 50]), service: countsOf([0.5, 50]), errors: errors(2, 'first') }),
            sampleCell({ operation: 'mkdirs', target: 1, corrected: countsOf([4, 10]), service: countsOf([2, 10]) }),
          ],
        }),
        sampleFinal({
          replies: 5960,
          due: 6000,
          lateForLoader: 10,
          cells: [
            sampleCell({
              target: 1,
              corrected: countsOf([1, 40]),
              service: countsOf([0.5, 40]),
              errors: { ...errors(1, 'later'), timeout: { count: 4, firstMessage: '' } },
            }),
          ],
        }),
      ],
    });
    expect(result).toMatchObject({
      version: 1,
      measuredMs: 10_000,
      calls: 100,
      callsPerSecond: 996,
      askedPerSecond: 1000,
      achievedShare: 0.996,
      saturated: false,
      lateForSlots: 1,
      lateForLoader: 10,
      unsent: 2,
      substituted: 3,
      errors: 7,
      errorShare: 0.07,
      errorClasses: [
        { class: 'timeout', count: 4 },
        { class: 'java.io.IOException', count: 3, firstMessage: 'first' },
      ],
    });
    expect(result.latency.corrected).toMatchObject({ count: 100, p50: near(1000), max: near(4000) });
    expect(result.latency.service).toMatchObject({ p50: near(500), max: near(2000) });
    expect(result.operations.map(({ name, calls, errors }) => [name, calls, errors])).toEqual([
      ['getFileInfo', 90, 7],
      ['mkdirs', 10, 0],
    ]);
    expect(result.targets.map(({ name, calls, errors }) => [name, calls, errors])).toEqual([
      ['data', 50, 2],
      ['logs', 50, 5],
    ]);
    expect(JSON.parse(JSON.stringify(result))).toEqual(result);
  });

  it('counts lost calls and timeouts as errors among all that are over', () => {
    const errors = { connection: { count: 30, firstMessage: '' }, timeout: { count: 20, firstMessage: '' } };
    const cells = [sampleCell({ errors, successes: 50 })];
    expect(collect({ finals: [sampleFinal({ replies: 50, due: 100, cells })] })).toMatchObject({
      calls: 100,
      successes: 50,
      errors: 50,
      errorShare: 0.5,
    });
  });

  it('of a counted run lasts from the first call of any thread to the last reply of any', () => {
    const plan = samplePlan({ durationMs: null, calls: 300, threads: 3 });
    const finals = [
      sampleFinal({ replies: 100, due: 100, measuredFromMs: 5, measuredToMs: 105 }),
      sampleFinal({ replies: 200, due: 200, measuredFromMs: 55, measuredToMs: 305 }),
      sampleFinal({ replies: 0, due: 0, measuredFromMs: 0, measuredToMs: 0 }),
    ];
    expect(collect({ plan, finals })).toMatchObject({ measuredMs: 300, callsPerSecond: 1000 });
  });

  it('of a run that gave up says so, and what it did not make is missing from what was achieved', () => {
    const plan = samplePlan({ durationMs: null, calls: 1000 });
    const finals = [sampleFinal({ replies: 400, due: 1000, unsent: 600, gaveUp: true, measuredToMs: 1400 })];
    expect(collect({ plan, finals })).toMatchObject({ gaveUp: true, unsent: 600, achievedShare: 0.4 });
    const replay = samplePlan({ loop: { kind: 'replay', speed: 1 }, durationMs: null });
    expect(collect({ plan: replay, finals, scheduledMs: 2000 })).toMatchObject({ gaveUp: true, achievedShare: 0.4 });
    expect(collect().gaveUp).toBeUndefined();
  });

  it('has the exact longest latencies, and the delay of sending', () => {
    const cells = [
      sampleCell({ correctedMaxMs: 1.0001, serviceMaxMs: 0.9999 }),
      sampleCell({ operation: 'mkdirs', corrected: countsOf([400_000, 1]), correctedMaxMs: 400_000.5 }),
    ];
    const result = collect({ finals: [sampleFinal({ cells, unanswered: 3 }), sampleFinal({ sendDelay: countsOf() })] });
    expect(result.latency.corrected.max).toBe(400_000_500);
    expect(result.operations.map(({ corrected }) => corrected.max)).toEqual([1000.1, 400_000_500]);
    expect(result.curve.corrected.at(-1)).toEqual([100, 400_000_500]);
    expect(result.loader.sendDelay).toEqual({ p50: near(500), p99: near(1000) });
    expect(result.unanswered).toBe(3);
    expect(collect({ finals: [sampleFinal({ sendDelay: new Uint32Array(0) })] }).loader.sendDelay).toBeNull();
  });

  it('is saturated when less than 98 % of the asked rate gets through', () => {
    expect(collect({ finals: [sampleFinal({ replies: 9800 })] }).saturated).toBe(false);
    const result = collect({ finals: [sampleFinal({ replies: 9799 })] });
    expect(result.saturated).toBe(true);
    expect(result.achievedShare).toBeCloseTo(0.9799, 6);
    const underWay = collect({ finals: [sampleFinal({ replies: 9700, keptUp: 10_000 })] });
    expect(underWay).toMatchObject({ callsPerSecond: 970, achievedShare: 1, saturated: false });
    expect(collect({ finals: [sampleFinal({ nothingFound: 3 })] }).nothingFound).toBe(3);
  });

  it('asks for no rate in a closed loop', () => {
    expect(collect({ plan: samplePlan({ loop: { kind: 'closed' } }) })).toMatchObject({
      askedPerSecond: null,
      achievedShare: null,
      saturated: false,
      callsPerSecond: 1000,
    });
  });

  it('compares a counted run with the time that its calls should take, but for the wait after the last one', () => {
    const plan = samplePlan({ durationMs: null, calls: 100 });
    const cells = [sampleCell({ corrected: countsOf([20, 100]), service: countsOf([20, 100]) })];
    const run = { replies: 100, due: 100, cells };
    expect(collect({ plan, finals: [sampleFinal({ ...run, measuredFromMs: 0, measuredToMs: 120 })] }).saturated).toBe(
      false,
    );
    expect(collect({ plan, finals: [sampleFinal({ ...run, measuredFromMs: 0, measuredToMs: 200 })] })).toMatchObject({
      saturated: true,
    });
  });

  it('takes for that wait what early calls took, when the queue grew', () => {
    const plan = samplePlan({ durationMs: null, calls: 1000 });
    // 970 calls a second instead of 1000: half of the calls waited for more than 15 ms.
    const cells = [sampleCell({ service: countsOf([1, 100], [10, 300], [16, 600]) })];
    const run = { replies: 1000, due: 1000, cells, measuredFromMs: 0, measuredToMs: 1031 };
    expect(collect({ plan, finals: [sampleFinal(run)] }).saturated).toBe(false);
    expect(collect({ plan, finals: [sampleFinal({ ...run, early: countsOf([1, 100]) })] }).saturated).toBe(true);
  });

  it('of paths that were given names them so', () => {
    const cells = [sampleCell({ target: -1 })];
    expect(collect({ finals: [sampleFinal({ cells })] }).targets.map(({ name }) => name)).toEqual(['--paths']);
  });

  it('of nothing is not a division by zero', () => {
    const result = collect({
      finals: [sampleFinal({ replies: 0, due: 0, measuredFromMs: 0, measuredToMs: 0, cells: [] })],
      endedEarly: true,
    });
    expect(result).toMatchObject({ calls: 0, callsPerSecond: 0, errorShare: 0, saturated: false, endedEarly: true });
    expect(JSON.stringify(result)).not.toContain('null,null');
  });
});

describe('the limit', () => {
  it('comes from the worst thread', () => {
    const plan = samplePlan({ loop: { kind: 'closed' }, threads: 2 });
    const finals = [sampleFinal(), sampleFinal({ self: { ...IDLE_SELF, utilization: 0.99, gcTotalMs: 5 } })];
    expect(collect({ plan, finals }).loader).toMatchObject({
      utilization: 0.99,
      gcCount: 6,
      gcTotalMs: 9,
      cpuShare: 0.5,
      wasTheLimit: true,
    });
    expect(collect({ finals: [sampleFinal({ lateForLoader: 200 })] }).loader.wasTheLimit).toBe(true);
  });
});

describe('seconds of several threads', () => {
  const report = (second: number, changes: Partial<SecondReport> = {}): SecondReport => ({
    kind: 'second',
    second,
    measured: second >= 1,
    replies: 10,
    errors: 1,
    correctedMaxMs: 1,
    serviceMaxMs: 1,
    waiting: 2,
    inFlight: 3,
    corrected: countsOf([1, 10]),
    service: countsOf([1, 10]),
    measuredCalls: null,
    ...changes,
  });

  function merge(threads: number) {
    const points: SeriesPoint[] = [];
    const merge = new SecondsMerge(threads, (point) => points.push(point));
    return { merge, points, seconds: () => points.map(({ second }) => second) };
  }

  it('go out in order, once all threads have reported them', () => {
    const { merge: seconds, points } = merge(2);
    seconds.add(0, report(0));
    seconds.add(0, report(1));
    expect(points).toEqual([]);
    seconds.add(1, report(0, { replies: 30, corrected: countsOf([9, 100]), correctedMaxMs: 9 }));
    expect(points).toHaveLength(1);
    expect(points[0]).toMatchObject({
      second: 0,
      measured: false,
      callsPerSecond: 40,
      errors: 2,
      waiting: 4,
      inFlight: 6,
      corrected: { p50: near(9000), max: 9000 },
      service: { p50: near(1000) },
    });
    seconds.add(1, report(1));
    expect(points[1]).toMatchObject({ second: 1, measured: true, callsPerSecond: 20 });
  });

  it('tell calls that are measured from others, thread by thread', () => {
    const counts: number[][] = [];
    const seconds = new SecondsMerge(2, (_, { corrected, measuredCalls }) => {
      counts.push([corrected, measuredCalls.corrected, measuredCalls.service].map(countRecords));
    });
    seconds.add(0, report(1));
    seconds.add(1, report(1, { measuredCalls: { corrected: countsOf([1, 7]), service: countsOf([1, 7]) } }));
    expect(counts).toEqual([[20, 17, 17]]);
  });

  it('do not wait for a thread that has ended', () => {
    const { merge: seconds, seconds: seen } = merge(2);
    seconds.add(0, report(0));
    seconds.add(0, report(1));
    seconds.end(1);
    expect(seen()).toEqual([0, 1]);
  });

  it('wait for a thread that is stuck only so long, and leave out what comes later', () => {
    const { merge: seconds, seconds: seen } = merge(2);
    for (let second = 0; second <= 30; second++) seconds.add(0, report(second));
    expect(seen()).toEqual([0]);
    seconds.add(1, report(0));
    seconds.add(1, report(1));
    expect(seen()).toEqual([0, 1]);
  });
});
