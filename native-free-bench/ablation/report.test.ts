/** Sums and tables of the ablation bench. */

import { describe, expect, it } from 'vitest';
import type { Metered } from '../harness/limits.ts';
import { gainTable, type LoadPoint, printLoad, summariseLoad } from './report.ts';
import { VARIANTS, type Variant } from './variants.ts';

function round(
  callsPerSecond: number,
  cpuSeconds: number,
  p99: number,
  errors = 0,
  made: Partial<Metered> = {},
): Metered {
  const seconds = 2;
  const driven = {
    calls: callsPerSecond * seconds,
    seconds,
    callsPerSecond,
    p50: p99 / 2,
    // The wait for the loader's tick, the same for all.
    p99: p99 + 1000,
    p999: p99 + 1000,
    serviceP50: p99,
    serviceP99: p99,
    serviceP999: p99,
    errors,
    firstError: errors > 0 ? 'broken' : '',
    cpuSeconds,
    contextSwitches: 0,
    rssBytes: 0,
    loaderBusy: 0.5,
    loaderWasTheLimit: false,
  };
  return { driven, namenodeBusy: 0.25, othersBusy: 0, ...made };
}

const CLOSED: LoadPoint = { name: '64x1', meaning: 'closed', connections: 64, inFlight: 1, ratePerSecond: 0 };
const FIXED: LoadPoint = { name: '64@500', meaning: 'open', connections: 64, inFlight: 0, ratePerSecond: 500 };
const variantOf = (name: string): Variant => VARIANTS.find((variant) => variant.name === name) as Variant;

describe('ablation report', () => {
  const closed = summariseLoad(
    CLOSED,
    new Map([
      ['full', [round(3000, 2, 100), round(2000, 2, 100), round(1000, 2, 100)]],
      ['mounts', [round(1500, 2, 100), round(2000, 2, 100), round(4000, 2, 100)]],
      ['flush', [round(2000, 1, 100), round(2000, 1, 100), round(1000, 1, 100, 4)]],
    ]),
    1,
  );
  const fixed = summariseLoad(
    FIXED,
    new Map([
      ['full', [round(500, 0.5, 700)]],
      ['mounts', [round(500, 0.5, 1000)]],
      ['flush', [round(500, 0.5, 700)]],
    ]),
    1,
  );

  it('divides within each round and takes the median of the ratios', () => {
    const mounts = closed.variants.find(({ variant }) => variant === 'mounts');
    expect(mounts?.gain).toEqual({ callsPerSecond: 1, callsPerCpuSecond: 1, p99: 1 });
    expect(mounts).toMatchObject({ callsPerSecond: 2000, cpuMicrosPerCall: 500, busy: 1 });
  });

  it('marks calls a second of a router that was not the limit, and prints changes beside the published ones', () => {
    const { headings, rows } = gainTable([variantOf('mounts'), variantOf('flush')], [closed, fixed]);
    expect(headings.slice(2, 5)).toEqual(['64x1 calls/s', '64x1 capacity', '64@500 p99']);
    expect(rows[0]?.slice(2)).toEqual(['+0 %', '+0 %', '−30 %', 'mount lookup', '+10 %', '−15 %']);
    expect(rows[1]?.slice(2)).toEqual(['+0 %†', '−50 %', '+0 %', '–', '–', '–']);
  });

  it('marks a rate that was not achieved, a disturbed round and a loader at its limit, and says which', () => {
    const limited = { ...round(500, 0.5, 700), driven: { ...round(500, 0.5, 700).driven, loaderWasTheLimit: true } };
    const summary = summariseLoad(
      FIXED,
      new Map([
        ['full', [round(500, 0.5, 700)]],
        ['mounts', [round(480, 0.5, 700)]],
        ['flush', [round(500, 0.5, 700, 0, { othersBusy: 0.2 })]],
        ['scan', [limited]],
      ]),
      1,
    );
    const text = printLoad(summary);
    expect(text).toContain('mounts: saturated, 96.0 % of the asked rate');
    expect(text).toContain('flush: disturbed: other processes used 20 % of its core');
    expect(text).toContain('scan: the loader was the limit');
    const { rows } = gainTable(['mounts', 'flush', 'scan'].map(variantOf), [summary]);
    expect(rows.map((row) => row[2])).toEqual(['+0 %†', '+0 %†', '+0 %†']);
    expect(text).toMatch(/^ {2}full +500 /m);
  });

  it('names the first error', () => {
    expect(printLoad(closed)).toContain('flush: first error: broken');
  });
});
