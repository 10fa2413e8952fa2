/** Numbers, rates and durations of the command line. Whatever is out of bounds is a UsageError that names the flag and the bounds. */
import { UsageError } from '../../commands/usage.ts';

export interface Bounds {
  /** When the flag is not given. */
  readonly otherwise: number;
  readonly min?: number;
  readonly max: number;
}

const UNIT_MS: Readonly<Record<string, number>> = { us: 0.001, µs: 0.001, ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** A whole number; at least 1 unless the bounds say otherwise. */
export function parseCount(flag: string, text: string | undefined, { otherwise, min = 1, max }: Bounds): number {
  if (text === undefined) return otherwise;
  const value = /^[0-9]{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new UsageError(`${flag} ${text}: give a whole number from ${min} to ${max}`);
}

/** Most calls per second that can be asked for. */
export const MAX_RATE = 10_000_000;

/** Calls per second, greater than 0; `20k` is 20000. */
export function parseRate(flag: string, text: string): number {
  const value = readRate(text);
  if (value !== null && value > 0 && value <= MAX_RATE) return value;
  throw new UsageError(
    `${flag} ${text}: give calls per second, more than 0 and at most ${MAX_RATE}, for instance 5000 or 5k`,
  );
}

/** Calls per second of `5000` or `5k`; null when it is none. */
export function readRate(text: string): number | null {
  const [, digits, kilo] = /^([0-9]{1,12}(?:\.[0-9]{1,9})?)(k?)$/i.exec(text) ?? [];
  return digits === undefined ? null : Number(digits) * (kilo === '' ? 1 : 1000);
}

/** A share such as `0.01%`, or `0.0001`; 0 … 1. */
export function parseShare(flag: string, text: string | undefined, { otherwise, min = 0, max }: Bounds): number {
  if (text === undefined) return otherwise;
  const share = readPercent(text) ?? (/^[0-9]{1,6}(?:\.[0-9]{1,9})?$/.test(text) ? Number(text) : Number.NaN);
  if (share >= min && share <= max) return share;
  throw new UsageError(`${flag} ${text}: give a share from ${min * 100}% to ${max * 100}%`);
}

/** Share of `0.01%`; null when it is none. */
export function readPercent(text: string): number | null {
  const [, digits] = /^([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*%$/.exec(text) ?? [];
  return digits === undefined ? null : Number(digits) / 100;
}

/** Milliseconds of `500ms`, `60s`, `5m`, `1h`. A number alone is refused, but for 0. */
export function parseDuration(flag: string, text: string | undefined, { otherwise, min = 0, max }: Bounds): number {
  if (text === undefined) return otherwise;
  const value = readDurationMs(text);
  if (value === null)
    throw new UsageError(`${flag} ${text}: give a time with its unit, for instance 500ms, 60s, 5m or 1h`);
  if (value >= min && value <= max) return value;
  throw new UsageError(`${flag} ${text}: give a time from ${formatBound(min)} to ${formatBound(max)}`);
}

/** Milliseconds of a number with a unit (us, ms, s, m, h); null when it is none. */
export function readDurationMs(text: string): number | null {
  const [, digits, unit] = /^([0-9]{1,12}(?:\.[0-9]{1,9})?)(us|µs|ms|s|m|h)$/.exec(text.trim()) ?? [];
  if (digits === undefined || unit === undefined) return text.trim() === '0' ? 0 : null;
  return Number(digits) * (UNIT_MS[unit] as number);
}

function formatBound(ms: number): string {
  if (ms === 0) return '0s';
  for (const unit of ['h', 'm', 's'] as const) {
    const size = UNIT_MS[unit] as number;
    if (ms >= size && ms % size === 0) return `${ms / size}${unit}`;
  }
  return `${ms}ms`;
}
