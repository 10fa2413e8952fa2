import { expect, it } from 'vitest';
import { type Leg, summarise } from './figures.ts';
import { markdownReport, printReport } from './report.ts';

const STATE = { rssBytes: 100e6, sockets: 20, stages: { paused: 0 }, counts: {} };
const CALM: Leg = {
  p50Ms: 1,
  p99Ms: 4,
  throughput: 400,
  errors: 0,
  firstError: '',
  loaderWasTheLimit: false,
  before: STATE,
  after: STATE,
  mostRssBytes: 100e6,
  fullest: { paused: 0 },
  done: null,
};
const ATTACKED: Leg = {
  ...CALM,
  p99Ms: 6,
  throughput: 380,
  mostRssBytes: 150e6,
  after: { ...STATE, sockets: 22 },
  fullest: { paused: 3 },
  done: { storms: 2, answered: 2_000 },
};

it('says what the others saw without and with the abuse', () => {
  const figures = summarise('storm', 'ring', [
    { calm: CALM, attacked: ATTACKED },
    { calm: CALM, attacked: { ...ATTACKED, p99Ms: 80, errors: 2, firstError: 'timeout: none\nmore' } },
    { calm: CALM, attacked: ATTACKED },
  ]);
  expect(figures).toMatchObject({ p99Ratio: 1.5, throughputRatio: 0.95, mostGrownBytes: 50e6, socketsLeft: 2 });
  expect(figures.done).toEqual({ storms: 6, answered: 6_000 });
  const lines = printReport([figures]).split('\n');
  expect(lines).toContainEqual(
    expect.stringMatching(
      /^storm +ring +4\.00 +6\.00 +1\.50 +1\.50–20\.00 +400 +380 +0\.95 +0 +2 +50\.0 +2 +≤ 2: reached$/,
    ),
  );
  expect(lines).toContain('- storm, ring: 6 storms, 6,000 answered');
  expect(lines).toContain('- storm, ring: first error of the others: timeout: none');
  expect(lines).toContainEqual(expect.stringMatching(/^storm, ring +paused +3 +0$/));
});

it('says when the aim is missed, or the load tool was the limit', () => {
  const attacked = { ...ATTACKED, p99Ms: 8.1, loaderWasTheLimit: true };
  const text = printReport([summarise('half-open', 'direct', [{ calm: CALM, attacked }])]);
  expect(text).toContain('≤ 2: missed');
  expect(text).toContain('- half-open, direct: the load tool was the limit in 1 of 2 legs');
});

it('writes a page with the conditions', () => {
  const page = markdownReport('some machine', [summarise('storm', 'ring', [{ calm: CALM, attacked: ATTACKED }])]);
  expect(page).toMatch(/^# Abuse\n\nsome machine\n\nWhat the others saw\n\n\| abuse \| by \|/);
});
