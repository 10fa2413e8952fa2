import { ValueError } from './config-error.ts';

/*
 * Texts to values, each exactly as Hadoop's Configuration reads them.
 *
 *   int, long   [+-]digits | [-]0xHEX                 within 32 or 64 bits
 *   bytes       [+-]digits[kmgtpe]                    powers of 1024, within 64 bits
 *   float       Java: 1, .5, 1e3, 0.5f, NaN, Infinity
 *   duration    [+-]digits[ns|us|ms|s|m|h|d]          no space before the suffix, no fraction
 *
 * All may have white space around them; none may be empty.
 */

const MIN_INT = -(2n ** 31n);
const MAX_INT = 2n ** 31n - 1n;
const MIN_LONG = -(2n ** 63n);
const MAX_LONG = 2n ** 63n - 1n;
const BYTE_SUFFIXES = 'kmgtpe';
/** Asked in this order: `ms` before `s` and `m`. */
const DURATION_SUFFIXES = ['ns', 'us', 'ms', 's', 'm', 'h', 'd'] as const;
export type DurationUnit = (typeof DURATION_SUFFIXES)[number];
const NANOSECONDS: Readonly<Record<DurationUnit, bigint>> = {
  ns: 1n,
  us: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
  d: 86_400_000_000_000n,
};

/** A 32-bit whole number. */
export function parseInteger(text: string): number {
  return Number(parseWhole(text, MIN_INT, MAX_INT, 'a whole number of 32 bits, e.g. 100'));
}

/** A 64-bit whole number; beyond 2^53 the nearest that a number can hold. */
export function parseLong(text: string): number {
  return Number(parseWhole(text, MIN_LONG, MAX_LONG, 'a whole number, e.g. 100'));
}

/** Bytes; beyond 2^53 the nearest that a number can hold. */
export function parseBytes(text: string): number {
  const allowed = 'a whole number of bytes with an optional k, m, g, t, p or e, e.g. 64m';
  const trimmed = text.trim();
  const power = BYTE_SUFFIXES.indexOf(trimmed.slice(-1).toLowerCase()) + 1;
  const digits = power > 0 && trimmed !== '' ? trimmed.slice(0, -1) : trimmed;
  if (!/^[+-]?\d+$/.test(digits)) throw new ValueError('not a number of bytes', allowed);
  const value = BigInt(digits.replace('+', '')) << BigInt(10 * (trimmed === '' ? 0 : power));
  if (value < MIN_LONG || value > MAX_LONG) throw new ValueError('does not fit in 64 bits', allowed);
  return Number(value);
}

export function parseFloating(text: string): number {
  const trimmed = text.trim();
  const match = /^([+-]?)(?:(\d+\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?)[fd]?|(NaN|Infinity))$/.exec(
    trimmed.replace(/[EFD]/g, (letter) => letter.toLowerCase()),
  );
  if (match === null) throw new ValueError('not a number', 'a number, e.g. 0.5');
  return Number(`${match[1]}${match[2] ?? match[3]}`);
}

/** null when the text is neither true nor false: the default counts then. */
export function parseBoolean(text: string): boolean | null {
  const word = text.trim().toLowerCase();
  return word === 'true' ? true : word === 'false' ? false : null;
}

/** Milliseconds, fractions cut off; `unit` is that of a number without suffix. Beyond 64 bits the largest possible. */
export function parseDurationMs(text: string, unit: DurationUnit): number {
  const word = text.trim().toLowerCase();
  const suffix = DURATION_SUFFIXES.find((candidate) => word.endsWith(candidate));
  const digits = suffix === undefined ? word : word.slice(0, -suffix.length);
  const allowed = 'a whole number followed at once by ns, us, ms, s, m, h or d, e.g. 30s';
  if (!/^[+-]?\d+$/.test(digits)) throw new ValueError('not a time', allowed);
  const raw = BigInt(digits.replace('+', ''));
  if (raw < MIN_LONG || raw > MAX_LONG) throw new ValueError('does not fit in 64 bits', allowed);
  const ms = (raw * NANOSECONDS[suffix ?? unit]) / NANOSECONDS.ms;
  return Number(ms > MAX_LONG ? MAX_LONG : ms < MIN_LONG ? MIN_LONG : ms);
}

/** Whether a duration carries a unit of its own. */
export function hasDurationSuffix(text: string): boolean {
  return /[a-z]$/i.test(text.trim());
}

/** Items between commas and line breaks, trimmed; empty ones and repetitions dropped, order kept. */
export function parseList(text: string): string[] {
  const items = text.split(/[,\n]/).map((item) => item.trim());
  return [...new Set(items.filter((item) => item !== ''))];
}

/** Items between commas and line breaks, trimmed; repeated ones stay, empty ones too but for those at the end. */
export function parseItems(text: string): string[] {
  const items = text.split(/[,\n]/).map((item) => item.trim());
  while (items.at(-1) === '') items.pop();
  return items;
}

/** The allowed word that the text is, whatever the case of its letters. */
export function parseChoice(text: string, allowed: readonly string[]): string {
  const word = text.trim().toLowerCase();
  const choice = allowed.find((candidate) => candidate.toLowerCase() === word);
  if (choice === undefined) throw new ValueError('not one of the possible values', allowed.join(', '));
  return choice;
}

function parseWhole(text: string, min: bigint, max: bigint, allowed: string): bigint {
  const match = /^(?:([+-]?)(\d+)|(-?)(0[xX][0-9a-fA-F]+))$/.exec(text.trim());
  if (match === null) throw new ValueError('not a whole number', allowed);
  const [, sign, digits, hexSign, hex] = match;
  const size = BigInt(hex ?? digits ?? '');
  const value = sign === '-' || hexSign === '-' ? -size : size;
  if (value < min || value > max) throw new ValueError(`does not fit in ${max === MAX_INT ? 32 : 64} bits`, allowed);
  return value;
}
