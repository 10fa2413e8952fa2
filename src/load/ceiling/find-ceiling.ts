/** Drives the search for a ceiling: measures the rates that the search asks for, keeps what came of each. */

import type { LoadResult, Percentiles } from '../result/result.ts';
import { type CeilingSettings, chooseStepMs } from './flags.ts';
import { believesHeld, type Ceiling, CeilingSearch, judgeStep, type Verdict } from './search.ts';
import type { MeasuredStep } from './step.ts';

/** One step, as --json writes it. */
export interface CeilingStep {
  /** Calls per second that were due. */
  readonly rate: number;
  /** Whether this step counts as one that held the objective. */
  readonly held: boolean;
  readonly verdict: Verdict;
  /** What was missed, or why this step does not count as held; '' when it did. */
  readonly why: string;
  /** The rate is measured once more, and this step does not count. */
  readonly repeated: boolean;
  readonly measuredMs: number;
  readonly callsPerSecond: number;
  readonly achievedShare: number;
  readonly errorShare: number;
  /** µs, from the moment a call was due. */
  readonly corrected: Percentiles;
  /** p99 of the halves of the measured time, µs; null when it was too short. */
  readonly halves: { readonly firstMicros: number; readonly secondMicros: number } | null;
}

export interface FoundCeiling {
  readonly ceiling: Ceiling;
  readonly steps: readonly CeilingStep[];
  /** Of the step that held the highest rate; null when none did. */
  readonly best: LoadResult | null;
  /** Of the last step that was judged. */
  readonly last: LoadResult | null;
}

/** What a search needs of the world. */
export interface StepRunner {
  /** A step that ends early is not judged. */
  measure(step: { callsPerSecond: number; durationMs: number }): Promise<MeasuredStep>;
  onStep?(step: CeilingStep): void;
  readonly signal?: AbortSignal;
}

/** Searches until the ceiling is found or the signal ends it. Rejects with what `measure` rejects with. */
export async function findCeiling(settings: CeilingSettings, runner: StepRunner): Promise<FoundCeiling> {
  const search = new CeilingSearch(settings.search);
  const steps: CeilingStep[] = [];
  let best: LoadResult | null = null;
  let last: LoadResult | null = null;
  for (let rate = search.nextPerSecond(); rate !== null; rate = search.nextPerSecond()) {
    const durationMs = chooseStepMs(settings.stepMs, rate);
    const measured = await measureUntil(runner, { callsPerSecond: rate, durationMs });
    if (measured === null) break;
    const { result, measure } = measured;
    last = result;
    const judgement = judgeStep(measure, settings.objective);
    const counts = search.record(judgement);
    const held = counts && believesHeld(judgement);
    if (held) best = result;
    const step: CeilingStep = {
      rate,
      held,
      verdict: judgement.verdict,
      why: held ? '' : judgement.why || (counts ? 'latency still grows' : 'its halves differ'),
      repeated: !counts,
      measuredMs: result.measuredMs,
      callsPerSecond: result.callsPerSecond,
      achievedShare: measure.achievedShare,
      errorShare: measure.errorShare,
      corrected: result.latency.corrected,
      halves: measure.halves,
    };
    steps.push(step);
    runner.onStep?.(step);
  }
  return { ceiling: search.ceiling, steps, best, last };
}

/** Null when the signal has ended the step: what it measured until then is not judged. */
async function measureUntil(
  runner: StepRunner,
  step: Parameters<StepRunner['measure']>[0],
): Promise<MeasuredStep | null> {
  const hasEnded = (): boolean => runner.signal?.aborted === true;
  if (hasEnded()) return null;
  try {
    const measured = await runner.measure(step);
    return hasEnded() ? null : measured;
  } catch (error) {
    if (hasEnded()) return null;
    throw error;
  }
}
