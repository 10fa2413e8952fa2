/**
 * Search for the highest rate that holds an objective: doubling until a rate misses, then halving the bracket on a logarithmic scale. Pure:
 * it says which rate to measure next and is told what came of it.
 */
import { formatAchieved, formatMicros, formatShare } from '../result/format.ts';
import { SATURATED_SHARE } from '../result/result.ts';

export interface Objective {
  readonly p99Ms: number;
  /** Most errors as a share of the answered calls, 0 … 1. */
  readonly errorShare: number;
}

export interface SearchSettings {
  /** Calls per second of the first step. */
  readonly startPerSecond: number;
  readonly maxPerSecond: number;
  /** The search ends when the bracket is this narrow: missed / held - 1. */
  readonly precision: number;
}

/** What one step measured. */
export interface StepMeasure {
  /** From the moment a call was due. */
  readonly p99Micros: number;
  /** Calls without a latency among which the p99 lies, so that it is at least what was measured, in words; '' when it is known. */
  readonly hidesP99: string;
  readonly errorShare: number;
  readonly achievedShare: number;
  /** Why the loader was the limit, '' when it was not. */
  readonly loaderReason: string;
  /** p99 of the two halves of the measured time; null when it was too short to tell. */
  readonly halves: { readonly firstMicros: number; readonly secondMicros: number } | null;
}

/** `loader`: the step says nothing about the server, because this tool could not keep up. */
export type Verdict = 'held' | 'missed' | 'loader';

export interface Judgement {
  readonly verdict: Verdict;
  /** For people: what was missed, '' when the objective was held. */
  readonly why: string;
  /** The second half was like the first. */
  readonly stable: boolean;
  /** The p99 of the second half alone holds the objective, or is not known. */
  readonly secondHalfHeld: boolean;
  /** So far beyond the limit that noise is no explanation. */
  readonly clear: boolean;
}

export interface Ceiling {
  /**
   * `found`: the bracket is within the precision. `loader`, `max-rate`: the ceiling is at least `heldPerSecond`. `none`: no rate held.
   * `none-loader`: no rate held, and the loader was the limit. `unfinished`: ended before the end.
   */
  readonly outcome: 'found' | 'loader' | 'max-rate' | 'none' | 'none-loader' | 'unfinished';
  /** Highest rate that held; null when none did. */
  readonly heldPerSecond: number | null;
  /** Lowest rate that was missed or lost to the loader; null when none was. */
  readonly missedPerSecond: number | null;
}

/** A second half whose p99 differs from the first by more than this share of the first … */
export const STABLE_SHARE = 0.5;
/** … and by more than this share of the objective is not like the first. */
export const STABLE_SHARE_OF_OBJECTIVE = 0.1;
/** Less than this share of the asked calls answered in time is no noise. */
export const CLEAR_MISS_SHARE = 0.95;
/** Below a first rate that misses, rates are divided by this, … */
const DOWN_FACTOR = 4;
/** … down to the first rate divided by this, or 1 call per second. */
export const LOWEST_DIVISOR = 64;

export function judgeStep(measure: StepMeasure, objective: Objective): Judgement {
  const limitMicros = objective.p99Ms * 1000;
  const why: string[] = [];
  if (measure.errorShare > objective.errorShare) {
    why.push(`errors ${formatShare(measure.errorShare)} > ${formatShare(objective.errorShare)}`);
  }
  if (measure.achievedShare < SATURATED_SHARE) {
    why.push(`achieved ${formatAchieved(measure.achievedShare)} < ${formatShare(SATURATED_SHARE)}`);
  }
  if (measure.p99Micros > limitMicros) {
    why.push(`p99 ${formatMicros(measure.p99Micros)} > ${formatMicros(limitMicros)}`);
  } else if (measure.hidesP99 !== '') {
    why.push(`p99 unknown, at least ${formatMicros(measure.p99Micros)}: ${measure.hidesP99}`);
  }
  // The loader's own delays are in the corrected latencies: a rate that held in spite of them held.
  const lost = why.length > 0 && measure.loaderReason !== '';
  return {
    verdict: lost ? 'loader' : why.length > 0 ? 'missed' : 'held',
    why: lost ? `the loader was the limit: ${measure.loaderReason}` : why.join(', '),
    stable: isStable(measure, limitMicros),
    secondHalfHeld: measure.halves === null || measure.halves.secondMicros <= limitMicros,
    clear: measure.achievedShare < CLEAR_MISS_SHARE,
  };
}

function isStable({ halves }: StepMeasure, limitMicros: number): boolean {
  if (halves === null) return true;
  const difference = Math.abs(halves.secondMicros - halves.firstMicros);
  return difference <= Math.max(halves.firstMicros * STABLE_SHARE, limitMicros * STABLE_SHARE_OF_OBJECTIVE);
}

/**
 * A rate is measured once, or twice when the first time leaves a doubt: it was not stable, the loader was the limit, or it missed without
 * doubt being impossible. The second time decides.
 */
export class CeilingSearch {
  readonly #settings: SearchSettings;
  readonly #lowestPerSecond: number;
  /** Highest that held and lowest that did not; between them lies the ceiling. */
  #held: number | null = null;
  #missed: number | null = null;
  /** Whether the upper end of the bracket was lost to the loader. */
  #lostToLoader = false;
  /** The rate that is measured now. */
  #current: number;
  #repeating = false;
  #ended = false;

  constructor(settings: SearchSettings) {
    this.#settings = settings;
    this.#lowestPerSecond = Math.max(1, Math.round(settings.startPerSecond / LOWEST_DIVISOR));
    this.#current = Math.min(settings.startPerSecond, settings.maxPerSecond);
  }

  /** Calls per second to measure next; null when the search is over. */
  nextPerSecond(): number | null {
    return this.#ended ? null : this.#current;
  }

  /** Takes what the last rate came to. False: it is to be measured once more before it counts. */
  record(judgement: Judgement): boolean {
    if (!this.#repeating && this.#isDoubtful(judgement)) {
      this.#repeating = true;
      return false;
    }
    this.#repeating = false;
    if (believesHeld(judgement)) {
      this.#held = this.#current;
    } else {
      this.#missed = this.#current;
      this.#lostToLoader = judgement.verdict === 'loader';
    }
    const next = this.#chooseNext();
    if (next === null) this.#ended = true;
    else this.#current = next;
    return true;
  }

  get ceiling(): Ceiling {
    const bracket = { heldPerSecond: this.#held, missedPerSecond: this.#missed };
    if (!this.#ended) return { outcome: 'unfinished', ...bracket };
    if (this.#held === null) return { outcome: this.#lostToLoader ? 'none-loader' : 'none', ...bracket };
    if (this.#missed === null) return { outcome: 'max-rate', ...bracket };
    return { outcome: this.#lostToLoader ? 'loader' : 'found', ...bracket };
  }

  #isDoubtful(judgement: Judgement): boolean {
    if (judgement.verdict === 'held') return !judgement.stable;
    if (judgement.verdict === 'loader') return true;
    return this.#held === null || !judgement.clear;
  }

  #chooseNext(): number | null {
    const { maxPerSecond, precision } = this.#settings;
    const held = this.#held;
    const missed = this.#missed;
    if (missed === null) {
      return held === null || held >= maxPerSecond ? null : Math.min(held * 2, maxPerSecond);
    }
    if (held === null) {
      return missed <= this.#lowestPerSecond ? null : Math.max(this.#lowestPerSecond, Math.round(missed / DOWN_FACTOR));
    }
    if (missed / held - 1 <= precision) return null;
    const middle = Math.round(Math.sqrt(held * missed));
    return middle > held && middle < missed ? middle : null;
  }
}

/** When the second half alone is beyond the objective, a longer step would miss it: the queue still grows. */
export function believesHeld(judgement: Judgement): boolean {
  return judgement.verdict === 'held' && (judgement.stable || judgement.secondHalfHeld);
}
