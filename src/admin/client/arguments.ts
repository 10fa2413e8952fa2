/** The words of `switchyard admin`: flags of one verb, in its own spelling or that of `hdfs dfsrouteradmin`. */
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { parseFlags, UsageError } from '../../commands/usage.ts';

/** Spellings of `hdfs dfsrouteradmin` begin with one dash and have capitals: `-nsQuota`. */
const JAVA_FLAG = /^-([A-Za-z]{2,})$/;

/** Each verb takes these. */
export const COMMON_FLAGS = {
  admin: { type: 'string', multiple: true },
  'config-dir': { type: 'string' },
  set: { type: 'string', multiple: true },
  user: { type: 'string' },
  timeout: { type: 'string' },
  json: { type: 'boolean' },
} as const;

/** Flags without value are booleans; `multiple` ones are arrays. */
export type FlagValues = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

export interface ReadArguments {
  readonly positionals: readonly string[];
  readonly flags: FlagValues;
}

/** Takes the common flags out of the arguments; the others stay as they are and where they are. */
export function takeCommonFlags(args: readonly string[]): { flags: FlagValues; rest: string[] } {
  const options: ParseArgsOptionsConfig = COMMON_FLAGS;
  const { tokens } = parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true });
  const places = new Set<number>();
  for (const token of tokens) {
    if (token.kind !== 'option' || !Object.hasOwn(options, token.name)) continue;
    places.add(token.index);
    if (token.value !== undefined && token.inlineValue === false) places.add(token.index + 1);
  }
  const flags = parseFlags(
    args.filter((_, index) => places.has(index)),
    options,
  );
  return { flags: flags as FlagValues, rest: args.filter((_, index) => !places.has(index)) };
}

/** Splits the arguments of a verb. Throws UsageError for unknown flags and missing values. */
export function readArguments(args: readonly string[], options: ParseArgsOptionsConfig): ReadArguments {
  const spelt = args.map((argument) => respell(argument, options));
  const { tokens } = parseArgs({ args: spelt, options, strict: false, allowPositionals: true, tokens: true });
  const places = new Set(tokens.flatMap(({ kind, index }) => (kind === 'positional' ? [index] : [])));
  const flags = parseFlags(
    spelt.filter((_, index) => !places.has(index)),
    options,
  );
  return { positionals: spelt.filter((_, index) => places.has(index)), flags: flags as FlagValues };
}

export function textFlag(flags: FlagValues, name: string): string | undefined {
  const value = flags[name];
  return typeof value === 'string' ? value : undefined;
}

export function isGiven(flags: FlagValues, name: string): boolean {
  return flags[name] === true;
}

/** Throws UsageError unless there are as many positionals as the words of `usage` ask for. */
export function requireCount(positionals: readonly string[], least: number, most: number, usage: string): void {
  if (positionals.length < least) throw new UsageError(`something is missing; write: switchyard admin ${usage}`);
  const extra = positionals[most];
  if (extra !== undefined) throw new UsageError(`unexpected argument '${extra}'; write: switchyard admin ${usage}`);
}

/** `-nsQuota` as the flag `--ns-quota` that means the same; other arguments as they are. */
function respell(argument: string, options: ParseArgsOptionsConfig): string {
  const word = JAVA_FLAG.exec(argument)?.[1]?.toLowerCase();
  if (word === undefined) return argument;
  const name = Object.keys(options).find((candidate) => candidate.replaceAll('-', '') === word);
  return name === undefined ? argument : `--${name}`;
}
