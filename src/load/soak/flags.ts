/** Flags of `load soak`. */
import { type parseFlags, UsageError } from '../../commands/usage.ts';
import { type CeilingSettings, readCeilingSettings, refuseSearchedFlags, SEARCH_FLAGS } from '../ceiling/flags.ts';
import { LOAD_FLAGS, type PlanFlags, readPlan } from '../plan/flags.ts';
import type { LoadPlan } from '../plan/plan.ts';
import { parseRate, parseShare } from '../plan/values.ts';
import { type Reporting, readReporting } from '../result/reporting.ts';
import { type DriftExpectation, splitExpectations } from './drift-expect.ts';
import { LEAST_SOAK_MS } from './windows.ts';

export const SOAK_FLAGS = {
  ...LOAD_FLAGS,
  ...SEARCH_FLAGS,
  at: { type: 'string' },
  ceiling: { type: 'string' },
} as const;

export type SoakFlags = ReturnType<typeof parseFlags<typeof SOAK_FLAGS>>;

export interface SoakSettings {
  /** Share of the ceiling, more than 0. */
  readonly atShare: number;
  /** Calls per second, or the search that finds them. */
  readonly ceiling: number | CeilingSettings;
  readonly drifts: readonly DriftExpectation[];
}

const DEFAULT_AT_SHARE = 0.8;
const MIN_AT_SHARE = 0.001;
const MAX_AT_SHARE = 2;
const DEFAULT_DURATION = '30m';

/** The checked flags; the rate of the plan is that of the soak, or of the first step of the search before it. Throws UsageError. */
export function readSoak(flags: SoakFlags): { settings: SoakSettings; plan: LoadPlan; reporting: Reporting } {
  refuseSearchedFlags(flags, ['rate', 'closed', 'calls']);
  const atShare = parseShare('--at', flags.at, { otherwise: DEFAULT_AT_SHARE, min: MIN_AT_SHARE, max: MAX_AT_SHARE });
  const ceiling = readCeiling(flags);
  const { drifts, plain } = splitExpectations(flags.expect ?? '');
  const callsPerSecond = typeof ceiling === 'number' ? ceiling * atShare : ceiling.search.startPerSecond;
  const planFlags: PlanFlags = { ...flags, duration: flags.duration ?? DEFAULT_DURATION };
  const plan = readPlan(planFlags, { loop: { kind: 'open', callsPerSecond, rampMs: 0 } });
  refuseUnknowable(drifts, plan);
  const { expect: _all, ...outputs } = flags;
  const reporting = readReporting(plain === null || plain === '' ? outputs : { ...outputs, expect: plain }, plan);
  return { settings: { atShare, ceiling, drifts }, plan, reporting };
}

function readCeiling(flags: SoakFlags): number | CeilingSettings {
  if (flags.ceiling === undefined) {
    if (flags.p99 === undefined) {
      throw new UsageError('give --ceiling R (calls per second), or --p99 T to find the ceiling that holds it first');
    }
    return readCeilingSettings(flags);
  }
  for (const name of Object.keys(SEARCH_FLAGS) as (keyof typeof SEARCH_FLAGS)[]) {
    if (flags[name] !== undefined) {
      throw new UsageError(`--${name} is of the search for a ceiling, and --ceiling gives it: leave one of them out`);
    }
  }
  return parseRate('--ceiling', flags.ceiling);
}

/** An expectation that can only be missed is a mistake in the command line. */
function refuseUnknowable(drifts: readonly DriftExpectation[], { durationMs, watchedPid }: LoadPlan): void {
  for (const { text, metric } of drifts) {
    if (metric !== 'p99' && watchedPid === null) {
      throw new UsageError(`--expect ${text}: ${metric} of the server is unknown; name its process with --pid`);
    }
    if (durationMs !== null && durationMs < LEAST_SOAK_MS) {
      throw new UsageError(
        `--expect ${text}: no drift is seen in ${durationMs / 1000} s; give a --duration of at least ${LEAST_SOAK_MS / 1000}s`,
      );
    }
  }
}
