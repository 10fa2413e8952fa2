import { expect, it } from 'vitest';
import { markdownReport, printReport, type Run, ratioOf } from './report.ts';

const alone: Run = {
  name: 'active',
  readsPerSecond: 900,
  writesPerSecond: 100,
  p50Ms: 40,
  p99Ms: 60,
  errors: 0,
  executed: [3000, 0, 0],
  msyncs: 0,
};
const both: Run = {
  ...alone,
  name: 'observers',
  readsPerSecond: 1890,
  writesPerSecond: 210,
  executed: [640, 2830, 2840],
  msyncs: 1,
};

it('says by how much observers add to the reads of the active', () => {
  expect(ratioOf([alone, both])).toBeCloseTo(2.1);
  expect(ratioOf([alone, both, alone, { ...both, readsPerSecond: 900 }, alone, both])).toBeCloseTo(2.1);
  const text = printReport([alone, both]);
  expect(text).toMatch(/two observers +1,890 +210 +40\.00 +60\.00 +640 \/ 2,830 \/ 2,840 +1 +0/);
  expect(text).toContain('active alone: 2.10 (aim ≥ 2.0: reached)');
});

it('says when the aim is missed', () => {
  expect(printReport([alone, { ...both, readsPerSecond: 1791 }])).toContain('1.99 (aim ≥ 2.0: missed)');
});

it('writes a page with the conditions', () => {
  expect(markdownReport('some machine', [alone, both])).toMatch(
    /^# Reads from observers\n\nsome machine\n\n\| reads from \|/,
  );
});
