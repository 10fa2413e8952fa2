import type { ParseArgsOptionsConfig } from 'node:util';
import type { ReadArguments } from './arguments.ts';
import type { AdminContext } from './context.ts';

/** One thing that `switchyard admin` does. */
export interface Verb {
  /** One or two words. */
  readonly name: string;
  /** Other names, those of `hdfs dfsrouteradmin` among them. */
  readonly aliases: readonly string[];
  /** Name and arguments. */
  readonly usage: string;
  readonly summary: string;
  /** Besides COMMON_FLAGS. */
  readonly flags: ParseArgsOptionsConfig;
  /** `context` reads the common flags when it is first asked for. Resolves with the exit code. */
  run(given: ReadArguments, context: () => AdminContext): Promise<number>;
}
