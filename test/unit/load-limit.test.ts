import { describe, expect, it } from 'vitest';
import { collectResult } from '../../src/load/result/collect.ts';
import { findLimit, findNearLimit, type LoaderStrain } from '../../src/load/result/loader-limit.ts';
import { renderResult } from '../../src/load/result/print.ts';
import { checkResult } from '../../src/load/result/read-result.ts';
import type { LoadResult } from '../../src/load/result/result.ts';
import { countsOf, IDLE_SELF, sampleCell, sampleFinal, samplePlan } from './load-samples.ts';

function strain(changes: Partial<LoaderStrain> = {}): LoaderStrain {
  return {
    isClosed: false,
    isSpinning: false,
    utilization: 0.5,
    loopDelayP99Ms: 1,
    p99Ms: 4,
    lateShare: 0,
    gcShare: 0,
    saturated: false,
    ...changes,
  };
}

const limit = (changes: Partial<LoaderStrain>): string => findLimit(strain(changes));
const near = (changes: Partial<LoaderStrain>): string => findNearLimit(strain(changes));

describe('the limit', () => {
  it('was not the loader when it had time', () => {
    expect([limit({}), limit({ isClosed: true }), limit({ saturated: true })]).toEqual(['', '', '']);
    expect(near({})).toBe('');
  });

  it('was a full thread in a closed loop, or in an open one that was not reached', () => {
    expect(limit({ isClosed: true, utilization: 0.97 })).toMatch(/busy 97 %.*closed loop/);
    expect(limit({ utilization: 0.97, saturated: true })).toMatch(/busy 97 %.*not reached/);
    expect(near({ utilization: 0.97, saturated: true })).toBe('');
  });

  it('was near for a full thread that reached its rate', () => {
    expect(limit({ utilization: 0.97 })).toBe('');
    expect(near({ utilization: 0.97 })).toMatch(/busy 97 %.*the rate was reached/);
  });

  it('is not seen from how busy a thread is that watches the clock, but from its lateness', () => {
    const spinning = { isSpinning: true, utilization: 1 };
    expect(limit({ ...spinning, saturated: true })).toBe('');
    expect(near(spinning)).toBe('');
    expect(limit({ ...spinning, lateShare: 0.02 })).toMatch(/sent 2.0 % of the calls late.*one of its own/);
  });

  it('was the loader when it was late, or paused', () => {
    expect(limit({ lateShare: 0.02 })).toMatch(/sent 2.0 % of the calls late/);
    expect(limit({ gcShare: 0.2 })).toMatch(/garbage collection took 20 %/);
  });

  it('was the loader when its delay is most of the p99, however long that is', () => {
    expect(limit({ loopDelayP99Ms: 5, p99Ms: 9 })).toMatch(/wait 5\.0 ms .* corrected p99 of 9\.0 ms/);
    expect(limit({ loopDelayP99Ms: 5, p99Ms: 11 })).toBe('');
    expect(limit({ loopDelayP99Ms: 30, p99Ms: 3000 })).toBe('');
    // Every machine has this much.
    expect(limit({ loopDelayP99Ms: 1.9, p99Ms: 1 })).toBe('');
    // Without latencies there is nothing to compare with.
    expect(limit({ loopDelayP99Ms: 30, p99Ms: 0 })).toBe('');
  });
});

describe('the limit of a result', () => {
  function collect(self: Partial<typeof IDLE_SELF>, latencyMs = 1, spin = false): LoadResult {
    const cells = [sampleCell({ corrected: countsOf([latencyMs, 100]) })];
    return collectResult({
      plan: samplePlan({ spin }),
      finals: [sampleFinal({ self: { ...IDLE_SELF, ...self }, cells })],
      series: [],
      startedAt: new Date(0),
      cpuShare: 0.5,
      watch: null,
      endedEarly: false,
    });
  }

  it('is judged against its corrected p99', () => {
    expect(collect({ loopDelayP99Ms: 25 }, 10).loader.wasTheLimit).toBe(true);
    expect(collect({ loopDelayP99Ms: 25 }, 100).loader.wasTheLimit).toBe(false);
  });

  it('that is near is said, printed and read again', () => {
    const result = collect({ utilization: 0.97 });
    expect(result.loader).toMatchObject({ wasTheLimit: false, reason: '', nearLimit: expect.any(String) });
    expect(renderResult(result).join('\n')).toContain('the loader was near its limit: a loader thread was busy 97 %');
    expect(checkResult(JSON.parse(JSON.stringify(result)), 'a.json')).toEqual(result);
    expect(collect({ utilization: 0.97 }, 1, true).loader.nearLimit).toBeUndefined();
    expect(collect({}).loader.nearLimit).toBeUndefined();
  });
});
