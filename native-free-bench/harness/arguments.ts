/** Command lines of the bench programs: a wrong one ends the program with exit 2 and says what is wanted. */

import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';

export type Arguments = Readonly<Record<string, string | boolean | undefined>>;

export function readArguments(options: ParseArgsOptionsConfig): Arguments {
  try {
    return parseArgs({ options }).values as Arguments;
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
}

/** The number given for --name, or `otherwise` when none is given. */
export function readNumber(values: Arguments, name: string, low: number, high: number, otherwise: number): number {
  const text = values[name];
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (text === '' || !(value >= low && value <= high)) {
    refuse(`--${name} ${text}: a number from ${low} to ${high} is wanted`);
  }
  return value;
}

/** As readNumber, for numbers that count something. */
export function readWhole(values: Arguments, name: string, low: number, high: number, otherwise: number): number {
  const value = readNumber(values, name, low, high, otherwise);
  if (!Number.isInteger(value)) refuse(`--${name} ${values[name]}: a whole number is wanted`);
  return value;
}

/** The names given for --name, separated by commas; all allowed ones when none is given. */
export function readNames<Name extends string>(values: Arguments, name: string, allowed: readonly Name[]): Name[] {
  const text = values[name];
  if (text === undefined) return [...allowed];
  return String(text)
    .split(',')
    .map(
      (part) =>
        allowed.find((candidate) => candidate === part) ??
        refuse(`--${name} ${part}: one or more of ${allowed.join(', ')} are wanted, separated by commas`),
    );
}

export function refuse(reason: string): never {
  process.stderr.write(`${reason}\n`);
  process.exit(2);
}
