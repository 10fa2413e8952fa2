/** One step of the search for a ceiling: a short run at one rate, and what of it is judged. */
import { UsageError } from '../../commands/usage.ts';
import { addCounts, quantileMicros } from '../histogram/latency.ts';
import { countNames, findNameFault } from '../plan/names.ts';
import type { BucketCounts, LoadPlan, Loop } from '../plan/plan.ts';
import { countMissing, describeMissing, liesAmongMissing } from '../result/missing-calls.ts';
import type { LoadResult, SeriesPoint } from '../result/result.ts';
import { LoadError } from '../run/load-error.ts';
import { type RunOptions, runLoad, warmupMs } from '../run/run.ts';
import type { LatencyCounts } from '../run/seconds.ts';
import type { StepMeasure } from './search.ts';

export interface MeasuredStep {
  readonly result: LoadResult;
  readonly measure: StepMeasure;
}

/** Fewer measured seconds have no halves that could be compared. */
const LEAST_SECONDS_FOR_HALVES = 4;

/** Runs the plan of a step; its own directories are there. */
export async function measureStep(
  plan: LoadPlan,
  options: Pick<RunOptions, 'onSecond' | 'signal'> = {},
): Promise<MeasuredStep> {
  const { onSecond } = options;
  const halves = new Halves(plan.durationMs ?? 0);
  const result = await runLoad(plan, {
    ...options,
    onSecond: (point, counts) => {
      halves.add(point, counts);
      onSecond?.(point, counts);
    },
  });
  return { result, measure: toMeasure(result, halves) };
}

/** Plans of runs that follow each other in the same own directories: none meets a name that an earlier one has made. */
export class StepPlans {
  readonly #plan: LoadPlan;
  #firstName = 0;

  constructor(plan: LoadPlan) {
    this.#plan = plan;
  }

  /** Throws UsageError when a step with a rate and a measured time has not names enough: to be asked before anything is made. */
  refuseTooLong(callsPerSecond: number, durationMs: number): void {
    const fault = findNameFault(countStepNames(this.#makeStep(callsPerSecond, durationMs)));
    if (fault !== '') throw new UsageError(`${callsPerSecond} calls/s for ${durationMs / 1000} s: ${fault}`);
  }

  /** The plan with a rate and a measured time. Throws LoadError when there are no names left. */
  next(callsPerSecond: number, durationMs: number): LoadPlan {
    const step = this.#makeStep(callsPerSecond, durationMs);
    const names = countStepNames(step);
    const fault = findNameFault(this.#firstName + names);
    if (fault !== '') throw new LoadError(`${callsPerSecond} calls/s for ${durationMs / 1000} s: ${fault}`);
    this.#firstName += names;
    return step;
  }

  #makeStep(callsPerSecond: number, durationMs: number): LoadPlan {
    const rampMs = this.#plan.loop.kind === 'open' ? this.#plan.loop.rampMs : 0;
    const loop: Loop = { kind: 'open', callsPerSecond, rampMs };
    return { ...this.#plan, loop, durationMs, calls: null, firstName: this.#firstName };
  }
}

function countStepNames(step: LoadPlan): number {
  const callsPerSecond = step.loop.kind === 'open' ? step.loop.callsPerSecond : 0;
  return countNames(step, (callsPerSecond * (warmupMs(step) + (step.durationMs ?? 0))) / 1000);
}

/** A run without any reply has missed whatever was asked of it. */
export function toMeasure(result: LoadResult, halves: Halves): StepMeasure {
  return {
    p99Micros: result.latency.corrected.p99,
    hidesP99: liesAmongMissing(0.99, result.latency.corrected.count, countMissing(result))
      ? describeMissing(result)
      : '',
    errorShare: result.calls === 0 ? 1 : result.errorShare,
    achievedShare: result.calls === 0 ? 0 : (result.achievedShare ?? 1),
    loaderReason: result.loader.wasTheLimit ? result.loader.reason : '',
    halves: halves.compare(),
  };
}

/** Latencies of the two halves of the measured time. */
export class Halves {
  readonly #halfSeconds: number;
  #first: BucketCounts = new Uint32Array(0);
  #second: BucketCounts = new Uint32Array(0);
  #startSecond = -1;
  #seconds = 0;

  constructor(durationMs: number) {
    this.#halfSeconds = durationMs / 2000;
  }

  add(point: SeriesPoint, counts: LatencyCounts): void {
    if (!point.measured) return;
    if (this.#startSecond < 0) this.#startSecond = point.second;
    this.#seconds++;
    if (point.second - this.#startSecond < this.#halfSeconds) this.#first = addCounts(this.#first, counts.corrected);
    else this.#second = addCounts(this.#second, counts.corrected);
  }

  compare(): StepMeasure['halves'] {
    if (this.#seconds < LEAST_SECONDS_FOR_HALVES) return null;
    const [firstMicros = 0] = quantileMicros(this.#first, [0.99]);
    const [secondMicros = 0] = quantileMicros(this.#second, [0.99]);
    return { firstMicros, secondMicros };
  }
}
