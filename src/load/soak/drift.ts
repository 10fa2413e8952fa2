/**
 * Drift of a number over time: Theil–Sen slope, its confidence interval after Sen, and the Mann–Kendall test for a trend. All three use only
 * the order of the values, so that a few stalls or a sawtooth of the collector do not make a trend.
 */

/** One value of a series: time since any origin. */
export interface Sample {
  readonly atMs: number;
  readonly value: number;
}

export interface Drift {
  /** Number of samples that the trend rests on. */
  readonly samples: number;
  /** Median of all samples, in their own unit. */
  readonly level: number;
  /** Slope in the unit of the samples, per hour. */
  readonly perHour: number;
  /** Slope as a share of `level`, per hour; null when the level is 0. */
  readonly sharePerHour: number | null;
  /** Ends of the 95 % confidence interval of `sharePerHour`; null when it is, or with fewer than LEAST_SAMPLES samples. */
  readonly interval: { readonly low: number; readonly high: number } | null;
  /** Two-sided p-value of the Mann–Kendall test: how likely as clear a trend is when there is none. 1 with fewer than LEAST_SAMPLES samples. */
  readonly pValue: number;
  /** `unknown`: too few samples. `none`: no trend at the level of SIGNIFICANCE. */
  readonly trend: 'rising' | 'falling' | 'none' | 'unknown';
  /** Medians of the first and the last quarter, and their difference as a share of the first; null when the first is 0. */
  readonly firstQuarter: number;
  readonly lastQuarter: number;
  readonly quarterShare: number | null;
}

/** The normal approximation of the test is good from here on. */
export const LEAST_SAMPLES = 8;
/** The slope looks at each pair of samples, and so at half the square of this. */
export const MOST_SAMPLES = 1000;
export const SIGNIFICANCE = 0.05;
/** Quantile of the standard normal distribution for a two-sided 95 %. */
const Z_95 = 1.959964;
const HOUR_MS = 3_600_000;

/** Drift of samples in the order of their time. Throws RangeError for more than MOST_SAMPLES. */
export function measureDrift(samples: readonly Sample[]): Drift {
  if (samples.length > MOST_SAMPLES) throw new RangeError(`${samples.length} samples, at most ${MOST_SAMPLES}`);
  const values = samples.map((sample) => sample.value);
  const level = median(values);
  const slopes = pairSlopes(samples);
  const perHour = median(slopes);
  const enough = samples.length >= LEAST_SAMPLES;
  const { s, variance } = mannKendall(values);
  const pValue = enough ? twoSidedPValue(s, variance) : 1;
  const quarter = Math.max(1, Math.floor(values.length / 4));
  const firstQuarter = median(values.slice(0, quarter));
  const lastQuarter = median(values.slice(-quarter));
  return {
    samples: samples.length,
    level,
    perHour,
    sharePerHour: level === 0 ? null : perHour / level,
    interval: enough && level !== 0 ? slopeInterval(slopes, variance, level) : null,
    pValue,
    trend: !enough ? 'unknown' : pValue >= SIGNIFICANCE || s === 0 ? 'none' : s > 0 ? 'rising' : 'falling',
    firstQuarter,
    lastQuarter,
    quarterShare: firstQuarter === 0 ? null : lastQuarter / firstQuarter - 1,
  };
}

/** Middle value, the mean of the two middle ones for an even number, 0 for none. */
export function median(values: readonly number[]): number {
  if (values.length === 0) return 0;
  const sorted = Float64Array.from(values).sort();
  const middle = sorted.length >> 1;
  const upper = sorted[middle] as number;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] as number) + upper) / 2;
}

/** Slopes per hour of all pairs with different times, in ascending order. */
function pairSlopes(samples: readonly Sample[]): number[] {
  const slopes: number[] = [];
  for (const [at, later] of samples.entries()) {
    for (const earlier of samples.slice(0, at)) {
      const spanMs = later.atMs - earlier.atMs;
      if (spanMs > 0) slopes.push(((later.value - earlier.value) / spanMs) * HOUR_MS);
    }
  }
  return slopes.sort((a, b) => a - b);
}

/** Mann–Kendall statistic: rising pairs less falling pairs, and its variance without a trend, corrected for equal values. */
function mannKendall(values: readonly number[]): { s: number; variance: number } {
  let s = 0;
  const sizes = new Map<number, number>();
  for (const [at, later] of values.entries()) {
    for (const earlier of values.slice(0, at)) s += Math.sign(later - earlier);
    sizes.set(later, (sizes.get(later) ?? 0) + 1);
  }
  const term = (n: number): number => n * (n - 1) * (2 * n + 5);
  let variance = term(values.length);
  for (const size of sizes.values()) variance -= term(size);
  return { s, variance: variance / 18 };
}

function twoSidedPValue(s: number, variance: number): number {
  if (variance <= 0) return 1;
  const z = Math.max(0, Math.abs(s) - 1) / Math.sqrt(variance);
  return Math.min(1, 2 * normalTail(z));
}

/** After Sen: the slopes whose ranks lie half a confidence width of the statistic below and above the middle. */
function slopeInterval(slopes: readonly number[], variance: number, level: number): { low: number; high: number } {
  const half = (Z_95 * Math.sqrt(Math.max(0, variance))) / 2;
  const last = slopes.length - 1;
  const low = slopes[Math.max(0, Math.floor(last / 2 - half))] as number;
  const high = slopes[Math.min(last, Math.ceil(last / 2 + half))] as number;
  return { low: low / level, high: high / level };
}

/** Share of the standard normal distribution above z >= 0; error below 1e-7 (Abramowitz and Stegun 26.2.17). */
function normalTail(z: number): number {
  const t = 1 / (1 + 0.2316419 * z);
  const series = t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  return (Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI)) * series;
}
