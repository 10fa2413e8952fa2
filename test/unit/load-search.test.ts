import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Ceiling,
  CeilingSearch,
  judgeStep,
  LOWEST_DIVISOR,
  type SearchSettings,
  type StepMeasure,
} from '../../src/load/ceiling/search.ts';
import { seededRandom } from '../../src/simulator/service-time.ts';

const OBJECTIVE = { p99Ms: 10, errorShare: 0.0001 };
const SETTINGS: SearchSettings = { startPerSecond: 1000, maxPerSecond: 10_000_000, precision: 0.05 };

function measureOf(changes: Partial<StepMeasure> = {}): StepMeasure {
  return { p99Micros: 2000, hidesP99: '', errorShare: 0, achievedShare: 1, loaderReason: '', halves: null, ...changes };
}

describe('judging a step', () => {
  it.each([
    ['all at their limits', measureOf({ p99Micros: 10_000, errorShare: 0.0001, achievedShare: 0.98 }), 'held', ''],
    ['p99', measureOf({ p99Micros: 10_100 }), 'missed', 'p99 10.1 ms > 10.0 ms'],
    [
      'a p99 that is not known',
      measureOf({ hidesP99: '3 calls were due and never sent' }),
      'missed',
      'p99 unknown, at least 2.00 ms: 3 calls were due and never sent',
    ],
    ['errors', measureOf({ errorShare: 0.02 }), 'missed', 'errors 2.0 % > 0.010 %'],
    ['rate', measureOf({ achievedShare: 0.9 }), 'missed', 'achieved 90.0 % < 98.0 %'],
    ['rate, by little', measureOf({ achievedShare: 0.97999 }), 'missed', 'achieved 97.9 % < 98.0 %'],
    [
      'everything',
      measureOf({ p99Micros: 20_000, errorShare: 1, achievedShare: 0.5 }),
      'missed',
      'errors 100.0 % > 0.010 %, achieved 50.0 % < 98.0 %, p99 20.0 ms > 10.0 ms',
    ],
    ['loader', measureOf({ loaderReason: 'GC', achievedShare: 0.5 }), 'loader', 'the loader was the limit: GC'],
    ['held in spite of the loader', measureOf({ loaderReason: 'GC' }), 'held', ''],
  ])('by %s', (_what, measure, verdict, why) => {
    expect(judgeStep(measure, OBJECTIVE)).toMatchObject({ verdict, why });
  });

  it('finds halves alike unless they differ by half of the first and by a tenth of the objective', () => {
    const stable = (firstMicros: number, secondMicros: number): boolean =>
      judgeStep(measureOf({ halves: { firstMicros, secondMicros } }), OBJECTIVE).stable;
    expect([stable(4000, 5900), stable(4000, 2100), stable(100, 1000), stable(0, 0)]).toEqual([true, true, true, true]);
    expect([stable(4000, 6100), stable(4000, 1900), stable(100, 1200)]).toEqual([false, false, false]);
  });

  it('is clear only when calls were not answered', () => {
    expect(judgeStep(measureOf({ p99Micros: 1e6 }), OBJECTIVE).clear).toBe(false);
    expect(judgeStep(measureOf({ achievedShare: 0.94 }), OBJECTIVE).clear).toBe(true);
  });
});

/** A server whose p99 grows as its capacity is neared, and which answers no more than that. */
interface Model {
  readonly capacityPerSecond: number;
  readonly idleP99Ms: number;
  /** Factor on the p99 of the n-th measurement. */
  readonly noise?: (n: number) => number;
  /** From this rate on the loader is the limit, and its own delays make the p99. */
  readonly loaderPerSecond?: number;
  /** Measurements that miss whatever the rate: a stall of the machine. */
  readonly stalls?: readonly number[];
}

function measureModel(model: Model, rate: number, n: number): StepMeasure {
  const { capacityPerSecond, idleP99Ms, noise = () => 1, loaderPerSecond = Infinity, stalls = [] } = model;
  const busy = rate / capacityPerSecond;
  const p99Ms = busy < 1 ? Math.min(5000, idleP99Ms / (1 - busy)) : 5000 + 5000 * (1 - 1 / busy);
  return measureOf({
    p99Micros: (stalls.includes(n) || rate >= loaderPerSecond ? p99Ms + 500 : p99Ms) * 1000 * noise(n),
    achievedShare: Math.min(1, 1 / busy),
    loaderReason: rate >= loaderPerSecond ? 'a thread was busy' : '',
  });
}

/** Highest rate at which the model without noise holds the objective. */
function trueCeiling({ capacityPerSecond, idleP99Ms }: Model): number {
  return capacityPerSecond * (1 - idleP99Ms / OBJECTIVE.p99Ms);
}

function search(model: Model, settings = SETTINGS): { ceiling: Ceiling; rates: number[] } {
  const searching = new CeilingSearch(settings);
  const rates: number[] = [];
  for (let rate = searching.nextPerSecond(); rate !== null; rate = searching.nextPerSecond()) {
    searching.record(judgeStep(measureModel(model, rate, rates.length), OBJECTIVE));
    rates.push(rate);
    if (rates.length > 100) throw new Error(`no end: ${rates.join(' ')}`);
  }
  return { ceiling: searching.ceiling, rates };
}

const models: fc.Arbitrary<Model> = fc.record({
  capacityPerSecond: fc.double({ min: 100, max: 2_000_000, noNaN: true }),
  idleP99Ms: fc.double({ min: 0.05, max: 8, noNaN: true }),
});

describe('the search', () => {
  it('doubles, then halves the bracket', () => {
    const { ceiling, rates } = search({ capacityPerSecond: 10_000, idleP99Ms: 1 });
    // The model's ceiling is 9,000; 11,314 is clearly beyond it and measured once, 9,514 may be noise and is measured twice.
    expect(rates).toEqual([1000, 2000, 4000, 8000, 16_000, 11_314, 9514, 9514, 8724, 9110, 9110]);
    expect(ceiling).toEqual({ outcome: 'found', heldPerSecond: 8724, missedPerSecond: 9110 });
  });

  it('brackets the ceiling of any server within the precision', () => {
    fc.assert(
      fc.property(
        models,
        fc.integer({ min: 20, max: 20_000 }),
        fc.double({ min: 0.01, max: 0.3, noNaN: true }),
        (model, startPerSecond, precision) => {
          const { ceiling, rates } = search(model, { ...SETTINGS, startPerSecond, precision });
          const truth = trueCeiling(model);
          const lowest = Math.max(1, Math.round(startPerSecond / LOWEST_DIVISOR));
          if (ceiling.outcome === 'none') {
            expect(truth).toBeLessThan(lowest);
          } else {
            expect(ceiling.outcome).toBe('found');
            const { heldPerSecond, missedPerSecond } = ceiling as { heldPerSecond: number; missedPerSecond: number };
            expect(heldPerSecond).toBeLessThanOrEqual(truth);
            expect(missedPerSecond).toBeGreaterThan(truth);
            // Rates are whole: at the lowest ones the next is further away than the precision.
            expect(missedPerSecond).toBeLessThanOrEqual(Math.max(heldPerSecond * (1 + precision), heldPerSecond + 1));
          }
          expect(rates.length).toBeLessThan(60);
        },
      ),
    );
  });

  it('finds the same in spite of one stall, whenever it comes', () => {
    fc.assert(
      fc.property(models, fc.nat(20), (model, stall) => {
        expect(search({ ...model, stalls: [stall] }).ceiling).toEqual(search(model).ceiling);
      }),
    );
  });

  it('comes near the ceiling when p99 is noisy', () => {
    fc.assert(
      fc.property(models, fc.integer(), (model, seed) => {
        const random = seededRandom(seed);
        const factors = Array.from({ length: 100 }, () => 0.8 + 0.4 * random());
        const { ceiling } = search(
          { ...model, noise: (n) => factors[n] as number },
          { ...SETTINGS, startPerSecond: 64 },
        );
        // The rates at which p99, times the lowest and the highest factor, is the objective.
        const least = model.capacityPerSecond * (1 - (1.2 * model.idleP99Ms) / OBJECTIVE.p99Ms);
        const most = model.capacityPerSecond * (1 - (0.8 * model.idleP99Ms) / OBJECTIVE.p99Ms);
        if (ceiling.heldPerSecond === null) {
          expect(least).toBeLessThan(1);
        } else {
          expect(ceiling.heldPerSecond).toBeLessThanOrEqual(most);
          expect(ceiling.missedPerSecond).toBeGreaterThan(least);
        }
      }),
    );
  });

  it('says at least what held when the loader is the limit above it', () => {
    const { ceiling, rates } = search({ capacityPerSecond: 1e6, idleP99Ms: 1, loaderPerSecond: 6000 });
    expect(ceiling.outcome).toBe('loader');
    expect(ceiling.heldPerSecond).toBeLessThan(6000);
    expect(ceiling.heldPerSecond).toBeGreaterThan(6000 / 1.05 ** 2);
    expect(Math.max(...rates)).toBe(8000);
    expect(rates.filter((rate) => rate === 8000)).toHaveLength(2);
  });

  it('finds a ceiling of the server below the limit of the loader', () => {
    const { ceiling } = search({ capacityPerSecond: 5000, idleP99Ms: 1, loaderPerSecond: 6000 });
    expect(ceiling).toMatchObject({ outcome: 'found' });
    expect(ceiling.heldPerSecond).toBeLessThanOrEqual(4500);
  });

  it('says so when the loader is the limit at every rate', () => {
    const { ceiling, rates } = search({ capacityPerSecond: 1e6, idleP99Ms: 1, loaderPerSecond: 1 });
    expect(ceiling).toEqual({ outcome: 'none-loader', heldPerSecond: null, missedPerSecond: 16 });
    expect(rates).toEqual([1000, 1000, 250, 250, 63, 63, 16, 16]);
  });

  it('goes down when the first rate misses, each miss confirmed, and gives up at the lowest', () => {
    expect(search({ capacityPerSecond: 100, idleP99Ms: 1 }).rates.slice(0, 5)).toEqual([1000, 1000, 250, 250, 63]);
    const { ceiling, rates } = search({ capacityPerSecond: 1e6, idleP99Ms: 11 });
    expect(rates).toEqual([1000, 1000, 250, 250, 63, 63, 16, 16]);
    expect(ceiling).toEqual({ outcome: 'none', heldPerSecond: null, missedPerSecond: 16 });
  });

  it('ends at the highest rate allowed, which need not be a power of two above the first', () => {
    const { ceiling, rates } = search({ capacityPerSecond: 1e6, idleP99Ms: 1 }, { ...SETTINGS, maxPerSecond: 3000 });
    expect(rates).toEqual([1000, 2000, 3000]);
    expect(ceiling).toEqual({ outcome: 'max-rate', heldPerSecond: 3000, missedPerSecond: null });
  });

  it('measures an unstable step once more and believes the second time, unless latency still grows', () => {
    const unstable = { p99Micros: 6000, halves: { firstMicros: 1000, secondMicros: 9000 } };
    const growing = { p99Micros: 9000, halves: { firstMicros: 1000, secondMicros: 12_000 } };
    const held = (second: Partial<StepMeasure>): boolean => {
      const searching = new CeilingSearch({ ...SETTINGS, maxPerSecond: 1000 });
      expect(searching.record(judgeStep(measureOf(unstable), OBJECTIVE))).toBe(false);
      expect(searching.nextPerSecond()).toBe(1000);
      expect(searching.record(judgeStep(measureOf(second), OBJECTIVE))).toBe(true);
      return searching.ceiling.heldPerSecond === 1000;
    };
    expect(held({})).toBe(true);
    expect(held(unstable)).toBe(true);
    expect(held(growing)).toBe(false);
    expect(held({ p99Micros: 11_000 })).toBe(false);
  });

  it('is unfinished until it ends, and knows what it has', () => {
    const searching = new CeilingSearch(SETTINGS);
    expect(searching.ceiling).toEqual({ outcome: 'unfinished', heldPerSecond: null, missedPerSecond: null });
    searching.record(judgeStep(measureOf(), OBJECTIVE));
    expect(searching.ceiling).toEqual({ outcome: 'unfinished', heldPerSecond: 1000, missedPerSecond: null });
  });
});
