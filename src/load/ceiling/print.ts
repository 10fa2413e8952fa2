/** What `load ceiling` says for people: a line for each step, and the result. */

import { formatAchieved, formatCount, formatMicros, formatMs, formatRate, formatShare } from '../result/format.ts';
import { PERCENTILES } from '../result/percentiles.ts';
import type { LoadResult } from '../result/result.ts';
import type { CeilingStep, FoundCeiling } from './find-ceiling.ts';
import { CALLS_BEYOND_P99, type CeilingSettings, SHORTEST_STABLE_MS } from './flags.ts';
import { LOWEST_DIVISOR } from './search.ts';

/** `12,500/s`. */
export function perSecond(callsPerSecond: number): string {
  return `${formatRate(callsPerSecond)}/s`;
}

export function formatObjective({ objective }: CeilingSettings): string {
  return `p99 at most ${formatMicros(objective.p99Ms * 1000)}, errors at most ${formatShare(objective.errorShare)}`;
}

export const STEP_HEADING = `${'rate'.padStart(12)}  ${'verdict'.padEnd(7)}  ${'achieved'.padStart(8)}  ${'p50'.padStart(9)}  ${'p99'.padStart(9)}  ${'max'.padStart(9)}  ${'errors'.padStart(8)}`;

/** One line of the table below STEP_HEADING. */
export function formatStep(step: CeilingStep): string {
  const { corrected, verdict, held } = step;
  const columns = [
    perSecond(step.rate).padStart(12),
    (held ? 'held' : verdict === 'held' ? 'unsure' : verdict === 'loader' ? 'loader' : 'missed').padEnd(7),
    formatAchieved(step.achievedShare).padStart(8),
    ...[corrected.p50, corrected.p99, corrected.max].map((micros) => formatMicros(micros).padStart(9)),
    formatShare(step.errorShare).padStart(8),
  ];
  const remarks = [step.why, step.repeated ? 'measured once more' : '', describeRoughness(step)];
  return `${columns.join('  ')}  ${remarks.filter((remark) => remark !== '').join('; ')}`.trimEnd();
}

/** What makes a step rough; '' for one that is long enough. */
export function describeRoughness({ measuredMs, corrected }: CeilingStep): string {
  const beyond = Math.floor(corrected.count / 100);
  if (beyond >= CALLS_BEYOND_P99 && measuredMs >= SHORTEST_STABLE_MS) return '';
  return `rough: ${formatMs(measuredMs)}, ${formatCount(beyond)} calls beyond the p99`;
}

/** The outcome in one sentence, with what to do where there is something. */
export function describeCeiling(found: FoundCeiling, settings: CeilingSettings): string {
  const { outcome, heldPerSecond, missedPerSecond } = found.ceiling;
  const held = heldPerSecond === null ? '' : perSecond(heldPerSecond);
  const missed = missedPerSecond === null ? '' : perSecond(missedPerSecond);
  const reason = found.steps.findLast((step) => step.verdict === 'loader')?.why.replace(/^[^:]*: /, '') ?? '';
  switch (outcome) {
    case 'found':
      return `Ceiling: ${held} held, ${missed} missed (${formatObjective(settings)}).`;
    case 'loader':
      return (
        `The loader was the limit at ${missed}: the ceiling is at least ${held}. ` +
        `To find it, give this tool more threads (--threads) and processor cores of its own, or run it on another machine. (${reason})`
      );
    case 'max-rate':
      return `The highest rate allowed was held: the ceiling is at least ${held}. To find it, raise --max-rate.`;
    case 'none':
      return (
        `No ceiling: even ${missed} missed ${formatObjective(settings)}. ` +
        `Give a higher --p99, or a --start below ${perSecond(settings.search.startPerSecond)} (it goes down to a ${LOWEST_DIVISOR}th of that).`
      );
    case 'none-loader':
      return (
        `No ceiling: the loader was the limit even at ${missed}. ` +
        `Give this tool processor cores of its own, or run it on another machine. (${reason})`
      );
    case 'unfinished':
      return held === ''
        ? 'Ended early: no rate was found to hold the objective.'
        : `Ended early: the ceiling is at least ${held}${missed === '' ? '' : ` and below ${missed}`}.`;
  }
}

/** Percentiles at the ceiling, corrected and service side by side. */
export function formatBest({ latency }: LoadResult): string[] {
  return [
    `  ${'at the ceiling'.padEnd(16)}${'corrected'.padStart(11)}${'service'.padStart(11)}`,
    ...PERCENTILES.map(
      ([key, name]) =>
        `  ${name.padEnd(16)}${formatMicros(latency.corrected[key]).padStart(11)}${formatMicros(latency.service[key]).padStart(11)}`,
    ),
  ];
}

export const CEILING_VERSION = 1;

/** What --json writes. Latencies in it are µs but for `objective.p99Ms`. */
export function toCeilingJson(found: FoundCeiling, settings: CeilingSettings): object {
  return {
    version: CEILING_VERSION,
    kind: 'ceiling',
    objective: settings.objective,
    search: { ...settings.search, stepMs: settings.stepMs },
    ceiling: found.ceiling,
    steps: found.steps,
    best: found.best,
  };
}
