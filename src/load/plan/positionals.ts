import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';

/** Arguments that are neither flags nor values of them, and the others, for parseFlags. */
export function takePositionals(
  args: readonly string[],
  options: ParseArgsOptionsConfig,
): { positionals: string[]; rest: string[] } {
  const { tokens } = parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true });
  const places = new Set(tokens.flatMap(({ kind, index }) => (kind === 'positional' ? [index] : [])));
  return {
    positionals: args.filter((_, index) => places.has(index)),
    rest: args.filter((_, index) => !places.has(index)),
  };
}
