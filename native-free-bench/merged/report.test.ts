import { expect, it } from 'vitest';
import { type Figures, markdownReport, printReport } from './report.ts';

const row: Figures = {
  part: 'listing',
  name: 'inline',
  calls: 200,
  entries: 200_000,
  callsPerSecond: 97.6,
  cpuMicrosPerCall: 4321.98,
  p50Ms: 9.871,
  p99Ms: 20.5,
  grownMegabytes: 12.34,
  timeOfDirect: 1.234,
  errors: 0,
};

it('says what each way took, beside the direct one and the aim', () => {
  const direct = { ...row, name: 'direct', timeOfDirect: null };
  const lines = printReport([direct, row]).split('\n');
  expect(lines).toHaveLength(3);
  expect(lines[1]).toMatch(/direct +98 +9\.87 +20\.50 +0$/);
  expect(lines[2]).toMatch(/, 200,000 names +inline +98 +4322\.0 +9\.87 +20\.50 +1\.23 +12\.3 +0 +≤ 64 MB: reached$/);
});

it('says when an aim is missed', () => {
  expect(printReport([{ ...row, grownMegabytes: 64.1 }])).toContain('≤ 64 MB: missed');
  const beside = { ...row, part: 'beside', entries: 0, timeOfDirect: null };
  expect(printReport([{ ...beside, p99Ms: 5.01 }])).toContain('p99 ≤ 5 ms: missed');
  expect(printReport([{ ...beside, p99Ms: 4.99 }])).toContain('p99 ≤ 5 ms: reached');
});

it('writes a page with the conditions', () => {
  const page = markdownReport('some machine', [row]);
  expect(page).toMatch(/^# Calls over several nameservices\n\nsome machine\n\n\| call \| by \|/);
});
