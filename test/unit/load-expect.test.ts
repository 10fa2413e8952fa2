import { describe, expect, it } from 'vitest';
import { UsageError } from '../../src/commands/usage.ts';
import type { LoadPlan } from '../../src/load/plan/plan.ts';
import { collectResult } from '../../src/load/result/collect.ts';
import { judgeExpectations, parseExpectations, renderVerdicts } from '../../src/load/result/expect.ts';
import type { LoadResult } from '../../src/load/result/result.ts';
import { countsOf, sampleCell, sampleFinal, samplePlan } from './load-samples.ts';

const OPEN = samplePlan();

/** 980 calls of about 1 ms and 20 of about 8 ms at `data`, ten of them failed; service times a tenth. 500 calls/s of 1000 asked. */
function sampleResult(plan: LoadPlan = OPEN, unsent = 0): LoadResult {
  const cell = sampleCell({
    corrected: countsOf([1, 980], [8, 20]),
    service: countsOf([0.1, 980], [0.8, 20]),
    errors: { 'java.io.IOException': { count: 10, firstMessage: 'no' } },
  });
  return collectResult({
    plan,
    finals: [sampleFinal({ cells: [cell], replies: 5000, due: 10_000, unsent })],
    series: [],
    startedAt: new Date(0),
    cpuShare: 0.1,
    watch: null,
    endedEarly: false,
  });
}

function judge(text: string, plan: LoadPlan = OPEN): string {
  const verdicts = judgeExpectations(parseExpectations(text, plan), sampleResult(plan));
  return verdicts.map(({ held }) => (held ? 'held' : 'missed')).join(' ');
}

describe('expectations', () => {
  it.each([
    ['p50<2ms', 'held'],
    ['p50<900us', 'missed'],
    ['p95 < 5ms', 'held'],
    ['p99<5ms', 'missed'],
    ['p99<9ms', 'held'],
    ['p99.9>=7ms', 'held'],
    ['p99.99>1s', 'missed'],
    ['max<0.1s', 'held'],
    ['mean<2ms', 'held'],
    ['service.p99<1ms', 'held'],
    ['service.p99<500us', 'missed'],
    ['getFileInfo.p99<9ms', 'held'],
    ['data.p99.9<5ms', 'missed'],
    ['service.data.p99.9<5ms', 'held'],
    ['errors<1%', 'missed'],
    ['errors<=1%', 'held'],
    ['errors<=0', 'missed'],
    ['getFileInfo.errors<2%', 'held'],
    ['rate>=500', 'held'],
    ['rate>0.5k', 'missed'],
    ['achieved>40%', 'held'],
    ['achieved>=98%', 'missed'],
    ['p50<2ms, p99<5ms', 'held missed'],
  ])('%s: %s', (text, verdict) => {
    expect(judge(text)).toBe(verdict);
  });

  it('are not held by a percentile that lies among calls that were never sent', () => {
    const expectations = parseExpectations('p50<1s,p90<1s,p99<1s,max<1s,data.p50<1s,service.p99<1s,p99>1us', OPEN);
    const verdicts = (unsent: number) =>
      judgeExpectations(expectations, sampleResult(OPEN, unsent)).map(({ held }) => (held ? 'held' : 'missed'));
    expect(verdicts(0)).toEqual(['held', 'held', 'held', 'held', 'held', 'held', 'held']);
    expect(verdicts(1)).toEqual(['held', 'held', 'held', 'missed', 'missed', 'held', 'held']);
    expect(verdicts(20)).toEqual(['held', 'held', 'missed', 'missed', 'missed', 'held', 'held']);
    expect(verdicts(2000)).toEqual(['missed', 'missed', 'missed', 'missed', 'missed', 'held', 'held']);
    const [line] = renderVerdicts(judgeExpectations(parseExpectations('max<1s', OPEN), sampleResult(OPEN, 3)));
    expect(line).toMatch(/^expect max<1s {2}MISSED: at least 8\.0. ms, 3 calls were due and never sent$/);
  });

  it('are not held by a percentile among calls whose replies an early end did not wait for', () => {
    const expectations = parseExpectations('p50<1s,p99<1s,max<1s', OPEN);
    const verdicts = judgeExpectations(expectations, { ...sampleResult(OPEN, 10), unanswered: 10 });
    expect(verdicts.map(({ held }) => held)).toEqual([true, false, false]);
    expect(renderVerdicts(verdicts)[1]).toMatch(
      /MISSED: at least 8.*, 10 calls were due and never sent, 10 calls had no reply when the run was ended$/,
    );
  });

  it('of what was never called are missed', () => {
    expect(judge('mkdirs.p99<1s')).toBe('missed');
    expect(judge('logs.errors<=0')).toBe('missed');
  });

  it('are printed with what was measured', () => {
    const verdicts = judgeExpectations(parseExpectations('p50<2ms,errors<=0.5%,mkdirs.p99<1s', OPEN), sampleResult());
    const lines = renderVerdicts(verdicts);
    expect(lines[0]).toMatch(/^expect p50<2ms {8,}held: 1\.00 ms$/);
    expect(lines[1]).toMatch(/^expect errors<=0\.5% +MISSED: 1\.0 %$/);
    expect(lines[2]).toMatch(/^expect mkdirs\.p99<1s +MISSED: no calls$/);
    const nearly = { ...sampleResult(), achievedShare: 0.97999 };
    const [line] = renderVerdicts(judgeExpectations(parseExpectations('achieved>=98%', OPEN), nearly));
    expect(line).toBe('expect achieved>=98%  MISSED: 97.9 %');
  });

  it.each([
    ['', /write METRIC<VALUE/],
    ['p99', /write METRIC<VALUE/],
    ['p99=5ms', /write METRIC<VALUE/],
    ['p99<5', /give a time with its unit/],
    ['p98<5ms', /no metric p98/],
    ['error<1%', /did you mean errors\?/],
    ['errors<5', /give a share in %/],
    ['rate>5%', /give calls per second/],
    ['service.errors<1%', /no service time/],
    ['data.rate>5', /all calls together only/],
    ['delete.p99<1ms', /no operation or mount delete; it has getFileInfo, mkdirs, data, logs/],
    ['service..p99<1ms', /no name before the last dot/],
  ])('%s is refused before the run', (text, message) => {
    expect(() => parseExpectations(text, OPEN)).toThrow(UsageError);
    expect(() => parseExpectations(text, OPEN)).toThrow(message);
  });

  it('of a rate reached have no meaning in a closed loop', () => {
    const plan = samplePlan({ loop: { kind: 'closed' } });
    expect(() => parseExpectations('achieved>98%', plan)).toThrow(/asks for no rate/);
    expect(judge('rate>100', plan)).toBe('held');
  });

  it('of a replay may name every operation', () => {
    const plan = samplePlan({ loop: { kind: 'replay', speed: 1 }, mix: [], durationMs: null });
    expect(judge('delete.p99<1s,getFileInfo.p99<1s', plan)).toBe('missed held');
  });
});
