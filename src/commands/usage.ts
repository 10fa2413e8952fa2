import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';

/** Exit codes of every command. */
export const ExitCode = {
  OK: 0,
  /** It ran and failed; check-config: it found something. */
  FAILED: 1,
  /** Wrong command line or configuration: nothing was started. */
  USAGE: 2,
} as const;

/** The command line cannot be understood; the message says what is wrong with which argument. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Parses the flags of a command. Throws UsageError for unknown flags, missing values, and arguments that are no flags. */
export function parseFlags<const T extends ParseArgsOptionsConfig>(
  args: readonly string[],
  options: T,
): ReturnType<typeof parseArgs<{ args: string[]; options: T; strict: true; allowPositionals: false }>>['values'] {
  const { tokens } = parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true });
  const values: Record<string, string | boolean | (string | boolean)[]> = Object.create(null);
  for (const token of tokens) {
    if (token.kind === 'positional') throw new UsageError(`unexpected argument '${token.value}'`);
    if (token.kind !== 'option') continue;
    const { rawName, name, value } = token;
    const option = Object.hasOwn(options, name) ? options[name] : undefined;
    if (option === undefined) {
      const near = nearestWord(rawName.replace(/^-+/, ''), Object.keys(options));
      throw new UsageError(`unknown flag ${rawName}${near === null ? '' : `; did you mean --${near}?`}`);
    }
    if (option.type === 'string' && (value === undefined || (value.startsWith('--') && token.inlineValue === false))) {
      throw new UsageError(`${rawName} needs a value`);
    }
    if (option.type === 'boolean' && value !== undefined) throw new UsageError(`${rawName} takes no value`);
    const earlier = values[name];
    if (option.multiple === true) values[name] = [...(Array.isArray(earlier) ? earlier : []), value ?? true];
    else if (earlier === undefined) values[name] = value ?? true;
    else throw new UsageError(`${rawName} is given twice`);
  }
  // Taken from the tokens: in its strict form parseArgs refuses values such as -1, in words of its own.
  return values as ReturnType<typeof parseFlags<T>>;
}

/** The word that starts like `word`, or has the same letters but for one or two; null when there is none. */
export function nearestWord(word: string, words: readonly string[]): string | null {
  if (word === '') return null;
  const close = words.filter((candidate) => candidate.startsWith(word) || word.startsWith(candidate));
  return (
    close[0] ??
    words.find((candidate) => sharedLetters(word, candidate) >= Math.max(word.length, candidate.length) - 2) ??
    null
  );
}

function sharedLetters(left: string, right: string): number {
  const rest = [...right];
  let shared = 0;
  for (const letter of left) {
    const at = rest.indexOf(letter);
    if (at < 0) continue;
    rest.splice(at, 1);
    shared++;
  }
  return shared > 2 ? shared : 0;
}

/** Writes one line of a result to stdout. */
export function printLine(line: string): void {
  process.stdout.write(`${line}\n`);
}
