/** Numbers for people: a few digits, a unit, thousands with commas. */
import type { Loop } from '../plan/plan.ts';

const WHOLE = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const TENTHS = new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 });

export function formatCount(count: number): string {
  return WHOLE.format(count);
}

/** Calls per second: whole numbers but for slow ones. */
export function formatRate(callsPerSecond: number): string {
  return (callsPerSecond < 100 ? TENTHS : WHOLE).format(callsPerSecond);
}

/** Three digits of µs, ms or s. */
export function formatMicros(micros: number): string {
  if (micros < 999.5) return `${digits(micros)} µs`;
  if (micros < 999_500) return `${digits(micros / 1000)} ms`;
  return `${digits(micros / 1e6)} s`;
}

/** A length of time as it is given on the command line: 500ms, 90s. */
export function formatMs(ms: number): string {
  return ms < 1000 ? `${digits(ms)} ms` : `${TENTHS.format(ms / 1000)} s`;
}

/** How calls came about, in a few words. */
export function describeLoop(loop: Loop): string {
  switch (loop.kind) {
    case 'open':
      return `open loop, ${formatRate(loop.callsPerSecond)} calls/s asked`;
    case 'closed':
      return 'closed loop';
    case 'replay':
      return `replay of a log at ${loop.speed} times its speed`;
  }
}

/** A share from 0 to 1, in %; small ones keep a digit that counts. */
export function formatShare(share: number): string {
  const percent = share * 100;
  if (percent === 0) return '0 %';
  return `${percent >= 1 ? percent.toFixed(1) : percent.toPrecision(2)} %`;
}

/** A share of what was asked, in %. Rounded down: what is less than 98 % does not look like 98.0 %. */
export function formatAchieved(share: number): string {
  // The product may be a little below what it stands for.
  return `${(Math.floor(share * 1000 + 1e-9) / 10).toFixed(1)} %`;
}

/** Bytes in MB, 10^6. */
export function formatBytes(bytes: number): string {
  return `${TENTHS.format(bytes / 1e6)} MB`;
}

function digits(value: number): string {
  return value >= 99.95 ? value.toFixed(0) : value >= 9.995 ? value.toFixed(1) : value.toFixed(2);
}

/** Columns: the first to the left, numbers to the right. Rows begin with `indent`. */
export function alignRows(rows: readonly (readonly string[])[], indent = '  '): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, cell.length);
  }
  return rows.map((row) => {
    const cells = row.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
    );
    return `${indent}${cells.join('  ')}`.trimEnd();
  });
}

/** Text of a server without what moves the cursor or colours the terminal, on one line, cut. */
export function plainText(text: string, maxCharacters: number): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is to be taken out
  const plain = text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ').trim();
  return plain.length <= maxCharacters ? plain : `${plain.slice(0, maxCharacters - 1)}…`;
}
