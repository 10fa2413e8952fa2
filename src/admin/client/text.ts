/** Text for terminals. */

/** Control characters, those that change the direction of text included. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is to be taken out
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
const MAX_CHARACTERS = 10_000;

/** The text on one line, what moves the cursor or colours the terminal written as `\u001b`; cut when it is very long. */
export function plainText(text: string): string {
  const cut = text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text;
  return cut.replace(CONTROL, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Rows as columns to the left, two blanks between them. */
export function alignColumns(rows: readonly (readonly string[])[], indent = ''): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, cell.length);
  }
  return rows.map((row) =>
    `${indent}${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd(),
  );
}

/** `1 mount`, `2 mounts`. */
export function countOf(count: number, noun: string): string {
  const plural = noun.endsWith('y') ? `${noun.slice(0, -1)}ies` : `${noun}s`;
  return `${count} ${count === 1 ? noun : plural}`;
}

/** The first line of an error's text. */
export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const end = text.indexOf('\n');
  return plainText(end < 0 ? text : text.slice(0, end));
}
