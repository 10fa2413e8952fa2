/** The tables of the micro bench. */

import { describe, expect, it } from 'vitest';
import { compare, markdownReport, printReport } from './report.ts';

const MACHINE = { processor: 'one', cores: 2, kernel: '6.1', node: 'v24.1' };

describe('micro report', () => {
  const result = (name: string, medianNs: number) => ({ name, medianNs, p99Ns: 2 * medianNs, operations: 10 });
  const run = (): number => 1;
  const subjects = [
    { name: 'fast', run, alternative: { name: 'slow', run } },
    { name: 'alone', run },
  ];
  const comparisons = compare(subjects, [result('fast', 20), result('slow', 50), result('alone', 7)]);

  it('puts each operation beside its alternative', () => {
    expect(comparisons.map(({ factor }) => factor)).toEqual([2.5, null]);
    expect(printReport(MACHINE, 50, comparisons)).toMatch(/fast +20\.0 +40\.0 +slow +50\.0 +2\.50\n/);
    expect(markdownReport(MACHINE, 50, comparisons)).toContain('| fast | 20.0 | 40.0 | slow | 50.0 | 2.50 |');
  });

  it('names the machine and the time for each operation', () => {
    for (const text of [printReport(MACHINE, 50, comparisons), markdownReport(MACHINE, 50, comparisons)]) {
      expect(text).toMatch(/one, Linux 6\.1, Node v24\.1; 50 ms for each operation/);
    }
  });
});
