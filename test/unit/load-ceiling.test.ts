import { describe, expect, it } from 'vitest';
import { parseFlags, UsageError } from '../../src/commands/usage.ts';
import { readSearchedPlan } from '../../src/load/ceiling/ceiling.ts';
import {
  type CeilingStep,
  type FoundCeiling,
  findCeiling,
  type StepRunner,
} from '../../src/load/ceiling/find-ceiling.ts';
import {
  CEILING_FLAGS,
  type CeilingSettings,
  chooseStepMs,
  readCeilingSettings,
  refuseSearchedFlags,
} from '../../src/load/ceiling/flags.ts';
import { insertSection, renderCeilingPage } from '../../src/load/ceiling/page.ts';
import { describeCeiling, formatBest, formatStep, toCeilingJson } from '../../src/load/ceiling/print.ts';
import { Halves, StepPlans, toMeasure } from '../../src/load/ceiling/step.ts';
import { html } from '../../src/load/report/html.ts';
import { makeLoadResult, type ResultOptions } from '../support/load-result.ts';
import { countsOf, samplePlan } from './load-samples.ts';

const SETTINGS: CeilingSettings = {
  objective: { p99Ms: 10, errorShare: 0.0001 },
  search: { startPerSecond: 1000, maxPerSecond: 1_000_000, precision: 0.05 },
  stepMs: 10_000,
};

/** Answers at most `capacity` calls a second; slow beyond. */
function serve(capacity: number, changes: (rate: number) => ResultOptions = () => ({})): StepRunner['measure'] {
  return async ({ callsPerSecond, durationMs }) => {
    const achievedShare = Math.min(1, capacity / callsPerSecond);
    const result = makeLoadResult({
      callsPerSecond,
      seconds: durationMs / 1000,
      achievedShare,
      medianMicros: achievedShare < 1 ? 50_000 : 640,
      ...changes(callsPerSecond),
    });
    const measure = {
      p99Micros: result.latency.corrected.p99,
      hidesP99: '',
      errorShare: result.errorShare,
      achievedShare,
      loaderReason: result.loader.reason,
      halves: null,
    };
    return { result, measure };
  };
}

async function find(measure: StepRunner['measure'], more: Partial<StepRunner> = {}): Promise<FoundCeiling> {
  return await findCeiling(SETTINGS, { measure, ...more });
}

describe('finding a ceiling', () => {
  it('keeps each step and the result of the highest rate that held', async () => {
    const told: CeilingStep[] = [];
    const found = await find(serve(3000), { onStep: (step) => told.push(step) });
    expect(told).toEqual(found.steps);
    expect(found.steps.map(({ rate, held, repeated }) => [rate, held, repeated])).toEqual([
      [1000, true, false],
      [2000, true, false],
      [4000, false, false],
      [2828, true, false],
      [3363, false, false],
      [3084, false, true],
      [3084, false, false],
      [2953, true, false],
    ]);
    expect(found.ceiling).toEqual({ outcome: 'found', heldPerSecond: 2953, missedPerSecond: 3084 });
    expect(found.best?.askedPerSecond).toBe(2953);
    expect(found.steps[2]).toMatchObject({ verdict: 'missed', achievedShare: 0.75, measuredMs: 10_000 });
    expect(found.steps[2]?.why).toContain('achieved 75.0 % < 98.0 %');
    expect(found.steps[0]).toMatchObject({ why: '', corrected: { p50: expect.any(Number) } });
  });

  it('measures a step for the time that the settings give its rate', async () => {
    const times: number[] = [];
    const serving = serve(3000);
    const measure: StepRunner['measure'] = (step) => {
      times.push(step.durationMs);
      return serving(step);
    };
    await findCeiling({ ...SETTINGS, stepMs: null }, { measure });
    expect(times.slice(0, 3)).toEqual([100_000, 50_000, 25_000]);
  });

  it('ends when it is told to, without judging the step that was ended', async () => {
    const controller = new AbortController();
    const serving = serve(100_000);
    const found = await find(
      async (step) => {
        if (step.callsPerSecond === 4000) controller.abort();
        return await serving(step);
      },
      { signal: controller.signal },
    );
    expect(found.steps.map(({ rate }) => rate)).toEqual([1000, 2000]);
    expect(found.ceiling).toEqual({ outcome: 'unfinished', heldPerSecond: 2000, missedPerSecond: null });
    expect(found.best?.askedPerSecond).toBe(2000);
    expect(describeCeiling(found, SETTINGS)).toBe('Ended early: the ceiling is at least 2,000/s.');
  });

  it('takes the error of an ended step for its end, and passes on any other', async () => {
    const controller = new AbortController();
    const ending = find(
      async () => {
        controller.abort();
        throw new Error('ended before anything was measured');
      },
      { signal: controller.signal },
    );
    expect(await ending).toMatchObject({ ceiling: { outcome: 'unfinished', heldPerSecond: null }, steps: [] });
    await expect(find(async () => Promise.reject(new Error('no route')))).rejects.toThrow('no route');
  });
});

describe('what is said of a ceiling', () => {
  it.each([
    [
      'found',
      3000,
      {},
      /^Ceiling: 2,953\/s held, 3,084\/s missed \(p99 at most 10\.0 ms, errors at most 0\.010 %\)\.$/,
    ],
    ['none', 1, {}, /^No ceiling: even 16\/s missed p99 at most 10\.0 ms.*--p99.*--start below 1,000\/s/],
    ['max-rate', 1e9, {}, /^The highest rate allowed was held: the ceiling is at least 1,000,000\/s.*--max-rate/],
    [
      'none-loader',
      1e9,
      { loaderReason: 'GC', medianMicros: 50_000 },
      /^No ceiling: the loader was the limit even at 16\/s\..*cores/,
    ],
  ])('%s', async (outcome, capacity, changes, text) => {
    const found = await find(serve(capacity, () => changes));
    expect(found.ceiling.outcome).toBe(outcome);
    expect(describeCeiling(found, SETTINGS)).toMatch(text);
  });

  it('loader', async () => {
    const found = await find(
      serve(1e9, (rate) => (rate > 5000 ? { loaderReason: 'busy thread', medianMicros: 50_000 } : {})),
    );
    expect(describeCeiling(found, SETTINGS)).toMatch(
      /^The loader was the limit at 5,188\/s: the ceiling is at least 4,9..\/s\. .*--threads.*busy thread/,
    );
  });

  it('has a line for each step, with what was wrong and how rough it is', async () => {
    const { steps } = await find(serve(3000));
    const [held, , clear, , , repeated] = steps.map(formatStep);
    expect(held).toMatch(/^ +1,000\/s +held +100\.0 % .* 0 % +rough: 10 s, 100 calls beyond the p99$/);
    expect(clear).toMatch(/missed +75\.0 % .*achieved 75\.0 % < 98\.0 %, p99/);
    expect(repeated).toContain('measured once more');
    const [first] = (await findCeiling({ ...SETTINGS, stepMs: null }, { measure: serve(3000) })).steps;
    expect(formatStep(first as CeilingStep)).not.toContain('rough');
  });

  it('shows percentiles corrected and service', () => {
    const lines = formatBest(makeLoadResult({ medianMicros: 1000 }));
    expect(lines).toHaveLength(10);
    expect(lines[1]).toMatch(/p50 +1\.02 ms +1\.00 ms/);
  });

  it('is JSON with all steps and the best result', async () => {
    const found = await find(serve(3000));
    const json = JSON.parse(JSON.stringify(toCeilingJson(found, SETTINGS)));
    expect(json).toMatchObject({
      version: 1,
      kind: 'ceiling',
      objective: { p99Ms: 10, errorShare: 0.0001 },
      ceiling: { outcome: 'found', heldPerSecond: 2953 },
      best: { version: 1, askedPerSecond: 2953 },
    });
    expect(json.steps).toHaveLength(8);
    expect(json.steps[0]).toMatchObject({ rate: 1000, held: true, why: '', corrected: { p99: expect.any(Number) } });
  });

  it('is a page with all steps above the report of the best, or of the last', async () => {
    const page = renderCeilingPage(await find(serve(3000)), SETTINGS);
    expect(page.match(/<h2 id="search">/g)).toHaveLength(1);
    expect(page.indexOf('id="search"')).toBeLessThan(page.indexOf('id="summary"'));
    expect(page).toContain('2,953/s held, 3,084/s missed');
    expect(page).toContain('achieved 75.0 % &#60; 98.0 %');
    expect(renderCeilingPage(await find(serve(1)), SETTINGS)).toContain('What follows is the last step');
    expect(page).toContain('rough: 10 s, 100 calls beyond the p99');
    const long = { ...SETTINGS, stepMs: 120_000 };
    expect(renderCeilingPage(await findCeiling(long, { measure: serve(3000) }), long)).not.toContain('rough: ');
    expect(() =>
      renderCeilingPage(
        {
          ceiling: { outcome: 'unfinished', heldPerSecond: null, missedPerSecond: null },
          steps: [],
          best: null,
          last: null,
        },
        SETTINGS,
      ),
    ).toThrow('nothing was measured');
    expect(() => insertSection('<p>', html`x`)).toThrow('no <main>');
  });
});

describe('steps', () => {
  it('last as asked, or long enough for a thousand calls beyond the p99 within bounds', () => {
    expect([1, 500, 1000, 5000, 10_000, 1_000_000].map((rate) => chooseStepMs(null, rate))).toEqual([
      120_000, 120_000, 100_000, 20_000, 10_000, 10_000,
    ]);
    expect(chooseStepMs(2000, 1)).toBe(2000);
  });

  it('have names of their own in the own directories of the search', () => {
    const plan = samplePlan({ warmupMs: 1000 });
    const plans = new StepPlans(plan);
    const first = plans.next(1000, 5000);
    const second = plans.next(2000, 5000);
    const third = plans.next(1, 1000);
    expect(first).toMatchObject({ durationMs: 5000, calls: null, firstName: 0, seed: plan.seed });
    expect(first.loop).toEqual({ kind: 'open', callsPerSecond: 1000, rampMs: 0 });
    // A quarter of the calls makes names.
    expect(second.firstName).toBeGreaterThan(1500);
    expect((third.firstName ?? 0) - (second.firstName ?? 0)).toBeGreaterThan(3000);
    expect(third.firstName).toBeLessThan(9000);
    expect(() => plans.next(10_000_000, 3_600_000)).toThrow('ask for a lower rate');
    const reading = new StepPlans(samplePlan({ targets: [] }));
    expect(reading.next(10_000_000, 3_600_000)).toMatchObject({ durationMs: 3_600_000 });
  });

  it('have enough names for a long soak whose calls mostly read', () => {
    const hours48 = 48 * 3_600_000;
    const mix = (mkdirs: number) => [
      { operation: 'getFileInfo', weight: 100 - mkdirs } as const,
      { operation: 'mkdirs', weight: mkdirs } as const,
    ];
    const plans = new StepPlans(samplePlan({ mix: mix(5) }));
    expect(() => plans.refuseTooLong(20_000, hours48)).not.toThrow();
    expect(plans.next(20_000, hours48).firstName).toBe(0);
    const writing = new StepPlans(samplePlan({ mix: mix(95) }));
    expect(() => writing.refuseTooLong(20_000, hours48)).toThrow(UsageError);
    expect(() => writing.refuseTooLong(20_000, hours48)).toThrow(/20000 calls\/s for 172800 s: .*--mix/);
  });

  it('have no p99 when it lies among calls without a latency', () => {
    const result = { ...makeLoadResult({ callsPerSecond: 100, seconds: 10, achievedShare: 1 }), unanswered: 0 };
    expect(result.latency.corrected.count).toBe(1000);
    const hidden = (unsent: number, unanswered: number): string =>
      toMeasure({ ...result, unsent, unanswered }, new Halves(10_000)).hidesP99;
    expect([hidden(0, 0), hidden(10, 0), hidden(5, 5)]).toEqual(['', '', '']);
    expect(hidden(11, 0)).toBe('11 calls were due and never sent');
    expect(hidden(5, 6)).toBe('5 calls were due and never sent, 6 calls had no reply when the run was ended');
  });

  it('are compared by the p99 of their halves, warm-up left out', () => {
    const halves = new Halves(6000);
    const point = { callsPerSecond: 100, errors: 0, waiting: 0, inFlight: 0 };
    const none = { p50: 0, p99: 0, p999: 0, max: 0 };
    const add = (second: number, ms: number, measured = true): void => {
      const counts = countsOf([ms, 100]);
      halves.add(
        { ...point, second, measured, corrected: none, service: none },
        { corrected: counts, service: counts },
      );
    };
    add(1, 900, false);
    for (const second of [2, 3, 4]) add(second, 1);
    expect(halves.compare()).toBeNull();
    for (const second of [5, 6, 7]) add(second, 4);
    const compared = halves.compare();
    expect(compared?.firstMicros).toBeCloseTo(1000, -1);
    expect(compared?.secondMicros).toBeCloseTo(4000, -2);
  });
});

describe('flags of ceiling', () => {
  const read = (...args: string[]): CeilingSettings => readCeilingSettings(parseFlags(args, CEILING_FLAGS));

  it('have defaults but for the objective', () => {
    expect(read('--p99', '10ms')).toEqual({
      objective: { p99Ms: 10, errorShare: 0.0001 },
      search: { startPerSecond: 1000, maxPerSecond: 10_000_000, precision: 0.05 },
      stepMs: null,
    });
    expect(
      read('--p99', '1s', '--errors', '1%', '--start', '5k', '--step', '5s', '--precision', '0.1', '--max-rate', '20k'),
    ).toEqual({
      objective: { p99Ms: 1000, errorShare: 0.01 },
      search: { startPerSecond: 5000, maxPerSecond: 20_000, precision: 0.1 },
      stepMs: 5000,
    });
    expect(read('--p99', '1s', '--max-rate', '500').search.startPerSecond).toBe(500);
  });

  it.each([
    [[], 'give --p99 T'],
    [['--p99', '10'], '--p99 10: give a time with its unit'],
    [['--p99', '0s'], '--p99 0s: give a time from'],
    [['--p99', '1ms', '--errors', '101%'], '--errors 101%: give a share from 0% to 100%'],
    [['--p99', '1ms', '--errors', 'few'], '--errors few: give a share'],
    [['--p99', '1ms', '--precision', '0%'], '--precision 0%: give a share from 0.1% to 100%'],
    [['--p99', '1ms', '--start', '2k', '--max-rate', '1k'], '--start 2000 is beyond --max-rate 1000'],
    [['--p99', '1ms', '--start', '0'], '--start 0: give calls per second'],
    [['--p99', '1ms', '--step', '100ms'], '--step 100ms: give a time from 1s'],
  ])('%j is refused: %s', (args, message) => {
    expect(() => read(...args)).toThrow(message);
  });

  it('refuse what the search sets itself', () => {
    expect(() => refuseSearchedFlags({ rate: '5' }, ['rate'])).toThrow('--rate has no meaning here');
    expect(() => refuseSearchedFlags({ duration: '5s' }, ['duration'])).toThrow('its steps last --step');
    expect(() => refuseSearchedFlags({ fs: 'x' }, ['rate', 'duration'])).not.toThrow();
  });

  it('make a plan with the first rate', () => {
    const flags = parseFlags(
      ['--p99', '5ms', '--fs', 'hdfs://127.0.0.1:1', '--mounts', '/a', '--start', '300'],
      CEILING_FLAGS,
    );
    expect(readSearchedPlan(flags, readCeilingSettings(flags)).loop).toEqual({
      kind: 'open',
      callsPerSecond: 300,
      rampMs: 0,
    });
  });
});
