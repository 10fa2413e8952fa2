import { expect, it } from 'vitest';
import type { ForwardingFigures, MemoryFigures, ReachFigures } from './figures.ts';
import { hasFailures, markdownReport, printReport } from './report.ts';

const FORWARDING: ForwardingFigures = {
  name: 'ring, updates through store',
  pairs: 2,
  p50Ms: [0.41, 0.42],
  p99Ms: [1, 1.25],
  p50Ratio: 1.02,
  p99Ratio: 1.25,
  p99Ratios: [1.2, 1.3],
  cpuMicrosPerCall: [40, 60],
  updatesPerSecond: 99.7,
  errors: 0,
  failedUpdates: 0,
  spoilt: 0,
};
const REACH: ReachFigures = { name: 'ring', count: 100, answeredMs: 80, medianMs: 120, p99Ms: 300, highestMs: 420 };
const MEMORY: MemoryFigures = {
  name: 'ring, no calls',
  minutes: 10,
  cpuShare: 0.08,
  quarterMegabytes: [200, 210, 211, 212],
  highestMegabytes: 230,
  growth: 0.008,
  updatesPerSecond: 100,
  failedUpdates: 0,
  errors: 0,
};

it('says what each part took, beside its aim', () => {
  const text = printReport({ forwarding: [FORWARDING], reach: [REACH], memory: [MEMORY] });
  expect(text).toMatch(/1\.00 +1\.25 +1\.25 +1\.20–1\.30 +40\.0 +60\.0 +0 +p99 ≤ 1\.3: reached$/m);
  expect(text).toMatch(/^ring +100 +80 +120 +300 +420 +p99 ≤ 1000 ms: reached$/m);
  expect(text).toMatch(/10 +100 +8 % +200, 210, 211, 212 +230 +0\.8 % +0 +≤ 5 %: reached$/m);
});

it('says when an aim is missed, and when the load was the limit', () => {
  const forwarding = [{ ...FORWARDING, p99Ratio: 1.301, spoilt: 3 }];
  const text = printReport({
    forwarding,
    reach: [{ ...REACH, p99Ms: 1_000.4 }],
    memory: [{ ...MEMORY, growth: 0.051 }],
  });
  expect(text).toContain('p99 ≤ 1.3: missed; the load was the limit in 3');
  expect(text).toContain('p99 ≤ 1000 ms: missed');
  expect(text).toContain('≤ 5 %: missed');
});

it('leaves out parts that were not measured, and knows failures', () => {
  const page = markdownReport('some machine', { forwarding: [], reach: [REACH], memory: [] });
  expect(page).toMatch(/^# Changes of the mount table\n\nsome machine\n\n\| first routed call/);
  expect(page).not.toContain('resident');
  expect(hasFailures({ forwarding: [FORWARDING], reach: [REACH], memory: [MEMORY] })).toBe(false);
  expect(hasFailures({ forwarding: [{ ...FORWARDING, failedUpdates: 1 }], reach: [], memory: [] })).toBe(true);
  expect(hasFailures({ forwarding: [], reach: [], memory: [{ ...MEMORY, errors: 1 }] })).toBe(true);
});
