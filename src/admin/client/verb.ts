import type { AdminContext } from './context.ts';

/** One thing that `switchyard admin` does. */
export interface Verb {
  readonly name: string;
  /** Other names, those of `hdfs dfsrouteradmin` among them. */
  readonly aliases: readonly string[];
  /** Name and arguments. */
  readonly usage: string;
  readonly summary: string;
  /** `args`: all but the common flags, which `context` reads when it is asked. Resolves with the exit code. */
  run(args: readonly string[], context: () => AdminContext): Promise<number>;
}
