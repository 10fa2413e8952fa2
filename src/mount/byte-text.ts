const SYMBOLS = ['K', 'M', 'G', 'T', 'P', 'E'] as const;
const STEP_BITS = 10n;
const NEXT_UNIT = '1024.00';

/**
 * A number of bytes as Java prints it in quota exceptions: `512 B`, `1 KB`, `1.50 KB`. Binary units, two decimals where the unit does not
 * divide the number.
 */
export function byteText(bytes: bigint): string {
  const sign = bytes < 0n ? '-' : '';
  const size = bytes < 0n ? -bytes : bytes;
  let unit = -1;
  while (unit + 1 < SYMBOLS.length && size >> (STEP_BITS * BigInt(unit + 2)) > 0n) unit++;
  if (unit < 0) return `${sign}${size} B`;
  const shift = STEP_BITS * BigInt(unit + 1);
  if ((size & ((1n << shift) - 1n)) === 0n) return `${sign}${size >> shift} ${SYMBOLS[unit]}B`;
  const rounded = (Number(size) / Number(1n << shift)).toFixed(2);
  if (rounded === NEXT_UNIT && unit + 1 < SYMBOLS.length) return `${sign}1.00 ${SYMBOLS[unit + 1]}B`;
  return `${sign}${rounded} ${SYMBOLS[unit]}B`;
}
