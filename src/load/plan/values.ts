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

/** Calls per second, greater than 0; `20k` is 20000. */
export function parseRate(flag: string, text: string, max: number): number {
  const [, digits, kilo] = /^([0-9]{1,12}(?:\.[0-9]{1,9})?)(k?)$/i.exec(text) ?? [];
  const value = digits === undefined ? Number.NaN : Number(digits) * (kilo === '' ? 1 : 1000);
  if (value > 0 && value <= max) return value;
  throw new UsageError(
    `${flag} ${text}: give calls per second, more than 0 and at most ${max}, for instance 5000 or 5k`,
  );
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
