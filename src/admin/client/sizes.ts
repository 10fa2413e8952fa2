/** Limits as people write them: 64-bit, with binary units for bytes. */
import { NO_QUOTA } from '../../mount/entry.ts';

const UNITS = 'kmgtpe';
const MAX_LIMIT = (1n << 63n) - 1n;

/** A whole number, `1000`; null when it is none or not of 64 bits. */
export function parseLimit(text: string): bigint | null {
  if (!/^\d{1,19}$/.test(text)) return null;
  const limit = BigInt(text);
  return limit <= MAX_LIMIT ? limit : null;
}

/** Bytes: `1048576`, `10g`; null when it is neither. */
export function parseByteLimit(text: string): bigint | null {
  const [, digits = '', unit = ''] = /^(\d{1,19})([kmgtpe]?)b?$/i.exec(text) ?? [];
  if (digits === '') return null;
  const power = unit === '' ? 0 : UNITS.indexOf(unit.toLowerCase()) + 1;
  const limit = BigInt(digits) << BigInt(10 * power);
  return limit <= MAX_LIMIT ? limit : null;
}

/** The shortest text that `parseByteLimit` reads as these bytes. */
export function byteLimitText(bytes: bigint): string {
  let rest = bytes;
  let unit = -1;
  while (rest >= 1024n && rest % 1024n === 0n && unit + 1 < UNITS.length) {
    rest /= 1024n;
    unit++;
  }
  return `${rest}${unit < 0 ? '' : UNITS[unit]}`;
}

export function isLimit(limit: bigint): boolean {
  return limit !== NO_QUOTA;
}
