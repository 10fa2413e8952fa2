import { expect, it } from 'vitest';
import type { Tally } from '../pressure/caller.ts';
import { type Pair, summarise } from './figures.ts';
import { firstOfRow, type Leg, quantile, type SickLeg } from './leg.ts';
import { markdownReport, printReport } from './report.ts';

const TALLY: Tally = {
  asked: 100,
  succeeded: 100,
  refused: {},
  messages: {},
  lost: 0,
  unanswered: 0,
  twice: 0,
  unsent: 0,
  successP50Ms: 1,
  successP99Ms: 2,
  successMaxMs: 3,
  refusedP99Ms: 0,
};
const WELL: Leg = {
  p50Ms: 1,
  p99Ms: 4,
  throughput: 2_000,
  errors: 0,
  firstError: '',
  loaderWasTheLimit: false,
  ownP99Ms: 4,
  sick: TALLY,
  before: { rssBytes: 100e6, sockets: 20, stages: { queued: 0 }, counts: {} },
  after: { rssBytes: 100e6, sockets: 20, stages: { queued: 0 }, counts: {} },
  fullest: {},
};
const BAD: SickLeg = {
  ...WELL,
  p99Ms: 5,
  throughput: 1_900,
  sick: { ...TALLY, succeeded: 60, refused: { 'a.B': 30 }, messages: { 'a.B': 'no' }, lost: 10 },
  recoveryMs: 2_500,
  after: { rssBytes: 103e6, sockets: 21, stages: { queued: 1 }, counts: {} },
  fullest: { queued: 40 },
};
const PAIRS: readonly Pair[] = [
  { well: WELL, sick: BAD },
  { well: WELL, sick: { ...BAD, p99Ms: 40, recoveryMs: 9_000 } },
  { well: WELL, sick: { ...BAD, p99Ms: 6 } },
];

it('takes the median of the ratios of the pairs', () => {
  const figures = summarise('dead', 'ring', PAIRS);
  expect(figures).toMatchObject({ p99Ratio: 1.5, throughputRatio: 0.95, recoveryMs: 2_500, longestRecoveryMs: 9_000 });
  expect(figures).toMatchObject({ asked: 300, succeeded: 180, refused: { 'a.B': 90 }, lost: 30, failedWhileWell: 0 });
  expect(figures).toMatchObject({
    socketsLeft: 1,
    grownBytes: 3e6,
    stagesLeft: { queued: 1 },
    fullest: { queued: 40 },
  });
});

it('says what the others saw and what is left', () => {
  const lines = printReport([summarise('dead', 'ring', PAIRS)]).split('\n');
  expect(lines).toContainEqual(expect.stringMatching(/^dead +ring +4\.00 +6\.00 +1\.50 .*reached$/));
  expect(lines).toContainEqual(
    expect.stringMatching(/^dead +ring +300 +180 +90 +30 +0 +0 +0 +2\.5 +9\.0 +1 +3\.0 +≤ 10 s: reached$/),
  );
  expect(lines).toContain('- dead: both NameNodes refuse connections');
  expect(lines).toContain('- dead, ring: 30 % refused with a.B: no');
  expect(lines).toContainEqual(expect.stringMatching(/^dead, ring +queued +40 +1$/));
});

it('says when an aim is missed', () => {
  const slow = summarise('hung', 'java', [{ well: WELL, sick: { ...BAD, throughput: 1_700, recoveryMs: null } }]);
  expect(slow.longestRecoveryMs).toBeNull();
  const text = printReport([slow]);
  expect(text).toContain('≤ 1.5, ≥ 0.9: missed');
  expect(text).toMatch(/> 60 .*≤ 10 s: missed/);
});

it('tells of failures while it was well, and of a load tool that was the limit', () => {
  const well = { ...WELL, loaderWasTheLimit: true, sick: { ...TALLY, succeeded: 50, lost: 50 } };
  const text = printReport([summarise('slow', 'inline', [{ well, sick: BAD }])]);
  expect(text).toContain('- slow, inline: 50 % failed while it was well');
  expect(text).toContain('- slow, inline: the load tool was the limit in 1 of 2 legs');
});

it('writes a page with the conditions', () => {
  const page = markdownReport('some machine', [summarise('dead', 'ring', PAIRS)]);
  expect(page).toMatch(/^# One sick nameservice\n\nsome machine\n\n/);
  expect(page).toContain('| dead | ring | 4.00 |');
});

it('finds the first of a row of good calls in the order in which they were made', () => {
  const made = (good: string) => [...good].map((mark, i) => ({ sentAtMs: i * 10, isGood: mark === '+' }));
  expect(firstOfRow(made('+-+++'), 3)).toBe(20);
  expect(firstOfRow(made('+-++-+'), 3)).toBeNull();
  expect(firstOfRow(made('+-+++').toReversed(), 3)).toBe(20);
});

it('finds a quantile', () => {
  expect(quantile([5, 1, 3], 0.5)).toBe(3);
  expect(quantile([], 0.99)).toBe(0);
});
