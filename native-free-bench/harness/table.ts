/** Numbers and tables that every bench prints: aligned text for a terminal, Markdown for the records. */

/** After the point, of any figure. */
const MOST_DIGITS = 12;

/** `printTable` or `markdownTable`. */
export type PrintTable = (headings: readonly string[], rows: readonly (readonly string[])[]) => string;

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}

/** Rows with the headings first, columns aligned: the first to the left, the others to the right. */
export function printTable(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [headings, ...rows];
  const widths = headings.map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length)));
  return all
    .map((row) =>
      widths
        .map((width, column) => {
          const cell = row[column] ?? '';
          return column === 0 ? cell.padEnd(width) : cell.padStart(width);
        })
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** The same as a Markdown table. */
export function markdownTable(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  const ruler = `|${headings.map((_, column) => (column === 0 ? ' --- ' : ' ---: ')).join('|')}|`;
  return [line(headings), ruler, ...rows.map(line)].join('\n');
}

/** Lowest and highest, '' for less than two values. */
export function rangeOf(values: readonly number[]): string {
  return values.length > 1 ? `${Math.min(...values).toFixed(2)}–${Math.max(...values).toFixed(2)}` : '';
}

export function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`;
}

/** A whole number with its thousands apart. */
export function grouped(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

/** `value` with so many digits after the point, or as many more as tell it from the limit that it is judged by. */
export function printBeside(value: number, limit: number, digits: number): string {
  let more = digits;
  while (more < MOST_DIGITS && value !== limit && Number(value.toFixed(more)) === Number(limit.toFixed(more))) more++;
  return value.toFixed(more);
}
