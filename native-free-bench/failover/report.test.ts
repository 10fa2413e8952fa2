import { expect, it } from 'vitest';
import { markdownReport, printReport } from './report.ts';

const results = [
  { id: 'standby', title: 'the second is active', firstMs: [30, 10, 20], allMs: [40, 20, 35], calls: 24, errors: [] },
  {
    id: 'hung',
    title: 'the first hangs',
    firstMs: [15_000],
    allMs: [15_001],
    calls: 8,
    errors: ['a.B: no', 'a.C: no'],
  },
];

it('tells how soon each case was over, and what clients saw of it', () => {
  const text = printReport(results);
  expect(text).toMatch(/standby +20 +30 +35 +40 +3 +24 +0\n/);
  expect(text).toMatch(/hung +15000 +15000 +15001 +15001 +1 +8 +2\n/);
  expect(text).toContain('hung: the first hangs [error: a.B: no]');
  expect(markdownReport('some machine', results)).toMatch(/^# Failover\n\nsome machine\n\n\| case \|/);
});
