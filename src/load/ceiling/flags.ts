/** Flags of `load ceiling`, which `load soak` understands too. */
import { UsageError } from '../../commands/usage.ts';
import { PLAN_FLAGS } from '../plan/flags.ts';
import { MAX_RATE, parseDuration, parseRate, parseShare } from '../plan/values.ts';
import type { Objective, SearchSettings } from './search.ts';

export const SEARCH_FLAGS = {
  p99: { type: 'string' },
  errors: { type: 'string' },
  start: { type: 'string' },
  step: { type: 'string' },
  precision: { type: 'string' },
  'max-rate': { type: 'string' },
} as const;

export const CEILING_FLAGS = {
  ...PLAN_FLAGS,
  ...SEARCH_FLAGS,
  json: { type: 'string' },
  html: { type: 'string' },
} as const;

export type SearchFlags = { readonly [Name in keyof typeof SEARCH_FLAGS]?: string | undefined };

export interface CeilingSettings {
  readonly objective: Objective;
  readonly search: SearchSettings;
  /** Measured time of a step; null: by the rate, see chooseStepMs. */
  readonly stepMs: number | null;
}

/** A step is judged by as many calls beyond its p99, unless it gets too long: their share of all calls is then 1 % ± 0.03 %. */
export const CALLS_BEYOND_P99 = 1000;
export const DEFAULT_STEP_MS = 10_000;
/** Measured time of a step with few calls per second. */
export const LONGEST_STEP_MS = 120_000;
/** Shorter steps than this are called rough. */
export const SHORTEST_STABLE_MS = 5_000;

const DEFAULT_START = 1_000;
const DEFAULT_ERROR_SHARE = 0.0001;
const DEFAULT_PRECISION = 0.05;
const MIN_STEP_MS = 1_000;
const MAX_STEP_MS = 3_600_000;
const MAX_OBJECTIVE_MS = 60_000;
const MIN_PRECISION = 0.001;

/** The checked settings of a search. Throws UsageError. */
export function readCeilingSettings(flags: SearchFlags): CeilingSettings {
  if (flags.p99 === undefined) throw new UsageError('give --p99 T, the latency to hold, for instance --p99 10ms');
  const p99Ms = parseDuration('--p99', flags.p99, { otherwise: 0, min: 0.01, max: MAX_OBJECTIVE_MS });
  const maxPerSecond = parseRate('--max-rate', flags['max-rate'] ?? String(MAX_RATE));
  const startPerSecond = parseRate('--start', flags.start ?? String(Math.min(DEFAULT_START, maxPerSecond)));
  if (startPerSecond > maxPerSecond) {
    throw new UsageError(`--start ${startPerSecond} is beyond --max-rate ${maxPerSecond}; give a lower first rate`);
  }
  return {
    objective: { p99Ms, errorShare: parseShare('--errors', flags.errors, { otherwise: DEFAULT_ERROR_SHARE, max: 1 }) },
    search: {
      startPerSecond,
      maxPerSecond,
      precision: parseShare('--precision', flags.precision, {
        otherwise: DEFAULT_PRECISION,
        min: MIN_PRECISION,
        max: 1,
      }),
    },
    stepMs:
      flags.step === undefined
        ? null
        : parseDuration('--step', flags.step, { otherwise: 0, min: MIN_STEP_MS, max: MAX_STEP_MS }),
  };
}

/** Flags of a plan that a search sets itself. Throws UsageError for one that is given. */
export function refuseSearchedFlags(flags: { readonly [name: string]: unknown }, names: readonly string[]): void {
  for (const name of names) {
    if (flags[name] === undefined) continue;
    const remedy = name === 'duration' || name === 'calls' ? 'its steps last --step' : 'it chooses the rates itself';
    throw new UsageError(`--${name} has no meaning here: leave it out, ${remedy}`);
  }
}

/** Measured time of a step: as asked, else long enough for CALLS_BEYOND_P99 within its bounds. */
export function chooseStepMs(stepMs: number | null, callsPerSecond: number): number {
  if (stepMs !== null) return stepMs;
  const needMs = (CALLS_BEYOND_P99 * 100 * 1000) / callsPerSecond;
  return Math.round(Math.min(LONGEST_STEP_MS, Math.max(DEFAULT_STEP_MS, needMs)));
}
