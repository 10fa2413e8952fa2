/** Numbers for people, three digits of precision. Used by the page that is written and by the script in it. */

const GROUPED = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

/**
 * Whole numbers as they are, others with three digits, thousands grouped: 0.012, 1.23, 12.3, 1,234.
 * @param {number} value
 * @returns {string}
 */
export function formatNumber(value) {
  const size = Math.abs(value);
  if (Number.isInteger(value) || size >= 99.95) return GROUPED.format(value);
  if (size >= 9.995) return value.toFixed(1);
  if (size >= 0.9995) return value.toFixed(2);
  return size < 1e-6 ? value.toExponential(1) : String(Number(value.toPrecision(2)));
}

/**
 * @param {number} micros
 * @returns {string}
 */
export function formatMicros(micros) {
  const size = Math.abs(micros);
  if (size < 999.5) return `${formatNumber(micros)} µs`;
  if (size < 999_500) return `${formatNumber(micros / 1000)} ms`;
  return `${formatNumber(micros / 1_000_000)} s`;
}

/**
 * Powers of ten: 1 MB is 10^6 bytes.
 * @param {number} bytes
 * @returns {string}
 */
export function formatBytes(bytes) {
  const size = Math.abs(bytes);
  if (size < 1000) return `${formatNumber(bytes)} B`;
  if (size < 1e6) return `${formatNumber(bytes / 1e3)} KB`;
  if (size < 1e9) return `${formatNumber(bytes / 1e6)} MB`;
  return `${formatNumber(bytes / 1e9)} GB`;
}

/**
 * A share of 1 in percent.
 * @param {number} share
 * @returns {string}
 */
export function formatShare(share) {
  const percent = share * 100;
  return `${percent > 99 && percent < 100 ? (Math.floor(percent * 100) / 100).toFixed(2) : formatNumber(percent)} %`;
}

/**
 * Minutes and seconds, hours where there are some.
 * @param {number} seconds
 * @returns {string}
 */
export function formatClock(seconds) {
  const whole = Math.round(seconds);
  const minutes = Math.floor(whole / 60);
  const rest = String(whole % 60).padStart(2, '0');
  if (minutes < 60) return `${minutes}:${rest}`;
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}:${rest}`;
}

/**
 * The percentile that 1 / (1 - p) stands for, with as many nines as it has.
 * @param {number} inverse
 * @returns {string}
 */
export function formatPercentile(inverse) {
  const digits = Math.min(10, Math.max(0, Math.ceil(Math.log10(inverse)) - 1));
  return `${Number((100 - 100 / inverse).toFixed(digits))} %`;
}

/**
 * @param {'micros' | 'perSecond' | 'count' | 'bytes' | 'cores'} unit
 * @param {number} value
 * @returns {string}
 */
export function formatValue(unit, value) {
  if (unit === 'micros') return formatMicros(value);
  if (unit === 'bytes') return formatBytes(value);
  return formatNumber(value);
}
