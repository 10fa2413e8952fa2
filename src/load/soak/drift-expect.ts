/**
 * Expectations of drift, in one list with those of a plain run:
 *
 *   list   = item *( "," item )
 *   item   = metric ".drift" ( "<" | "<=" ) number "%/h" / anything that expect.ts understands
 *   metric = "p99" / "rss" / "sockets" / "descriptors"
 */
import { UsageError } from '../../commands/usage.ts';
import { formatCount, formatShare } from '../result/format.ts';
import type { Drift } from './drift.ts';
import { DRIFT_METRICS, type DriftMetric } from './windows.ts';

export interface DriftExpectation {
  /** As it was given. */
  readonly text: string;
  readonly metric: DriftMetric;
  readonly op: '<' | '<=';
  /** Share of the level per hour. */
  readonly limit: number;
}

export interface CheckedDrift {
  readonly text: string;
  readonly held: boolean;
  /** For people: the value and how sure it is. */
  readonly value: string;
}

/** Takes the expectations of drift out of a list. `plain` is the rest, null when nothing is left. Throws UsageError. */
export function splitExpectations(text: string): { drifts: DriftExpectation[]; plain: string | null } {
  const drifts: DriftExpectation[] = [];
  const plain: string[] = [];
  for (const item of text.split(',')) {
    if (/\.drift\b/.test(item)) drifts.push(parseDriftExpectation(item.trim()));
    else plain.push(item);
  }
  return { drifts, plain: plain.length === 0 ? null : plain.join(',') };
}

function parseDriftExpectation(text: string): DriftExpectation {
  const [, name, op, digits] =
    /^([a-z0-9.]+)\.drift\s*(<=?)\s*([0-9]{1,6}(?:\.[0-9]{1,6})?)\s*%\s*\/\s*h$/.exec(text) ?? [];
  const metric = DRIFT_METRICS.find((one) => one === name);
  if (metric === undefined || digits === undefined) {
    throw new UsageError(
      `--expect ${text}: write METRIC.drift<N%/h, for instance p99.drift<20%/h; METRIC is one of ${DRIFT_METRICS.join(', ')}`,
    );
  }
  return { text, metric, op: op === '<=' ? '<=' : '<', limit: Number(digits) / 100 };
}

/**
 * A trend counts only when the test sees one: noise has a slope too. Without a trend the drift is 0. Drift downwards holds every limit.
 * What cannot be said (too few windows, process gone) is missed.
 */
export function checkDrift(expectation: DriftExpectation, drift: Drift | null): CheckedDrift {
  const { text, metric, op, limit } = expectation;
  if (drift === null) {
    const value = metric === 'p99' ? 'unknown: too many calls were due and not sent' : 'unknown: could not be measured';
    return { text, held: false, value };
  }
  if (drift.trend === 'unknown') {
    return { text, held: false, value: `unknown: ${drift.samples} windows are too few; give a longer --duration` };
  }
  if (drift.sharePerHour === null) {
    // A level of 0 that something rises from has no share.
    const value = drift.trend === 'rising' ? 'rises from 0' : 'no trend';
    return { text, held: drift.trend !== 'rising', value };
  }
  const counted = drift.trend === 'none' ? 0 : drift.sharePerHour;
  const held = op === '<' ? counted < limit : counted <= limit;
  const mayBeMore = held && drift.interval !== null && drift.interval.high > limit;
  const value = `${describeTrend(drift)}${mayBeMore ? '; more than that is not excluded, a longer --duration says more' : ''}`;
  return { text, held, value };
}

/** `+12 %/h (95 %: +3 % … +20 %; p = 0.004)`, or `no trend (…)`. */
export function describeTrend(drift: Drift): string {
  const { trend, sharePerHour, interval, pValue } = drift;
  if (trend === 'unknown') return 'unknown: too few windows';
  if (sharePerHour === null) return trend === 'none' ? 'no trend' : `${trend} from 0`;
  const p = pValue < 0.001 ? 'p < 0.001' : `p = ${pValue.toPrecision(2)}`;
  const range = interval === null ? '' : `95 %: ${signed(interval.low)} … ${signed(interval.high)}; `;
  return `${trend === 'none' ? 'no trend' : `${signed(sharePerHour)}/h`} (${range}${p})`;
}

/** A share with its sign. */
export function signed(share: number): string {
  const size = Math.abs(share) < 1 ? formatShare(Math.abs(share)) : `${formatCount(Math.abs(share) * 100)} %`;
  return share > 0 ? `+${size}` : share < 0 ? `-${size}` : size;
}
