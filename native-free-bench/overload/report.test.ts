import { expect, it } from 'vitest';
import type { Tally } from '../pressure/caller.ts';
import { growthOf, isAnsweredOnce, markdownReport, printReport, quartersOf, type Row } from './report.ts';

const TALLY: Tally = {
  asked: 1_000,
  succeeded: 400,
  refused: { 'a.Busy': 550, 'a.Late': 50 },
  messages: { 'a.Busy': 'full', 'a.Late': 'late' },
  lost: 0,
  unanswered: 0,
  twice: 0,
  unsent: 5,
  successP50Ms: 100,
  successP99Ms: 900,
  successMaxMs: 1_000,
  refusedP99Ms: 4,
};
const STATE = { rssBytes: 100e6, sockets: 20, stages: { queued: 0 }, counts: {} };
const ROW: Row = {
  peer: 'inline',
  capacityPerSecond: 2_000,
  goodput: 1_900,
  tally: TALLY,
  rssBytes: [100e6, 200e6, 200e6, 202e6],
  before: STATE,
  after: { ...STATE, sockets: 21, stages: { queued: 2 }, counts: {} },
  fullest: { queued: 5_000 },
  drainMs: 2_500,
};

it('says what came of the calls, and of the memory', () => {
  const lines = printReport([ROW]).split('\n');
  expect(lines).toContainEqual(
    expect.stringMatching(
      /^inline +1,900 +95 % +1,000 +400 +600 +0 +0 +0 +5 +100\.0 +900\.0 +1000\.0 +4\.0 +≥ 90 %, each once, p99 ≤ 30 s: reached$/,
    ),
  );
  expect(lines).toContainEqual(
    expect.stringMatching(/^inline +100 +200 +200 +202 +202 +1 % +1 +2\.5 +≤ 5 %: reached$/),
  );
  expect(lines).toContain('- inline: 550 refused with a.Busy: full');
  expect(lines).toContainEqual(expect.stringMatching(/^inline +queued +5000 +2$/));
});

it.each([
  ['goodput', { goodput: 1_799 }],
  ['a second answer', { tally: { ...TALLY, twice: 1 } }],
  ['no answer', { tally: { ...TALLY, succeeded: 399, unanswered: 1 } }],
  ['a late answer', { tally: { ...TALLY, successP99Ms: 30_001 } }],
] as const)('says that the aim is missed: %s', (_, others) => {
  expect(printReport([{ ...ROW, ...others }])).toContain('p99 ≤ 30 s: missed');
});

it('says that memory grows', () => {
  expect(printReport([{ ...ROW, rssBytes: [100e6, 106e6] }])).toContain('≤ 5 %: missed');
  expect(growthOf([100, 200, 150, 210])).toBeCloseTo(0.05);
  expect(growthOf([100])).toBe(0);
});

it('takes quarters of the time', () => {
  expect(quartersOf([1, 2, 3, 4, 5, 6, 7, 8])).toEqual([1.5, 3.5, 5.5, 7.5]);
  expect(quartersOf([1, 2])).toEqual([1, 1, 2, 2]);
  expect(quartersOf([])).toEqual([0, 0, 0, 0]);
});

it('finds calls without exactly one answer', () => {
  expect(isAnsweredOnce(TALLY)).toBe(true);
  expect(isAnsweredOnce({ ...TALLY, lost: 1 })).toBe(false);
  expect(isAnsweredOnce({ ...TALLY, asked: 1_001 })).toBe(false);
});

it('writes a page with the conditions', () => {
  expect(markdownReport('some machine', [ROW])).toMatch(
    /^# Overload\n\nsome machine\n\nCalls\n\n\| by \| goodput\/s \|/,
  );
});
