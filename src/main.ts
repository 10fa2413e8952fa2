#!/usr/bin/env node
import module from 'node:module';
import { join } from 'node:path';
import process from 'node:process';
import { refuseOldNode } from './commands/node-version.ts';
import type { CommandName } from './commands/table.ts';

/** The code of each command. */
const LOAD: Readonly<Record<CommandName, () => Promise<{ run: (args: string[]) => Promise<number> }>>> = {
  start: () => import('./commands/start.ts'),
  admin: () => import('./commands/admin.ts'),
  quickstart: () => import('./commands/quickstart.ts'),
  simulate: () => import('./commands/simulate.ts'),
  load: () => import('./commands/load.ts'),
  'check-config': () => import('./commands/check-config.ts'),
  help: () => import('./commands/help.ts'),
  version: () => import('./commands/version.ts'),
};

/** Errors that the person at the command line can put right; their messages say how. */
const USAGE_ERRORS: ReadonlySet<string> = new Set(['UsageError', 'ConfigError', 'MountError', 'ListenError']);

const complaint = refuseOldNode(process.versions.node);
if (complaint !== null) {
  process.stderr.write(`${complaint}\n`);
  process.exit(2);
}
enableCompileCache();
// A reader that has seen enough, such as `head`, is no failure.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}
const exitCode = await main(process.argv.slice(2));
await Promise.all([writtenOut(process.stdout), writtenOut(process.stderr)]);
process.exit(exitCode);

/** Runs one command; resolves with the exit code. */
async function main(argv: readonly string[]): Promise<number> {
  const { COMMANDS, findCommand } = await import('./commands/table.ts');
  const { ExitCode, nearestWord } = await import('./commands/usage.ts');
  const [given = '', ...args] = argv;
  const name =
    given === '--help' || given === '-h' ? 'help' : given === '--version' || given === '-V' ? 'version' : given;
  const command = findCommand(name);
  if (command === null) {
    const near = nearestWord(
      name,
      COMMANDS.map((candidate) => candidate.name),
    );
    const hint = near === null ? 'switchyard help lists the commands' : `did you mean '${near}'?`;
    process.stderr.write(
      name === '' ? `switchyard: no command; ${hint}\n` : `switchyard: unknown command '${name}'; ${hint}\n`,
    );
    return ExitCode.USAGE;
  }
  try {
    const asksForHelp = command.name !== 'help' && args.some((argument) => argument === '--help' || argument === '-h');
    const { run } = await LOAD[asksForHelp ? 'help' : command.name]();
    return await run(asksForHelp ? [command.name] : args);
  } catch (error) {
    const isUsage = isUsageError(error);
    for (const line of describeError(error, isUsage)) process.stderr.write(`switchyard ${command.name}: ${line}\n`);
    return isUsage ? ExitCode.USAGE : ExitCode.FAILED;
  }
}

function isUsageError(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(isUsageError);
  return error instanceof Error && USAGE_ERRORS.has(error.name);
}

/** Message alone for errors that people can act on and for those of the operating system, the whole stack for faults of this program. */
function describeError(error: unknown, isUsage: boolean): string[] {
  if (error instanceof AggregateError && isUsage) return error.errors.flatMap((each) => describeError(each, true));
  if (!(error instanceof Error)) return [String(error)];
  const isFault =
    !isUsage &&
    (error.name === 'Error' || error.name === 'TypeError' || error.name === 'RangeError') &&
    !('code' in error);
  return [isFault ? (error.stack ?? error.message) : error.message];
}

/** Resolves when everything written to the stream has left this process, or never will. */
function writtenOut(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    stream.write('', () => resolve());
  });
}

/** Keeps compiled code in the user's cache directory; threads and child processes use it through the environment. */
function enableCompileCache(): void {
  const {
    NODE_COMPILE_CACHE: chosen,
    NODE_DISABLE_COMPILE_CACHE: off,
    XDG_CACHE_HOME: cache,
    HOME: home,
  } = process.env;
  if (chosen !== undefined || off !== undefined) return;
  const base =
    cache !== undefined && cache !== '' ? cache : home !== undefined && home !== '' ? join(home, '.cache') : null;
  if (base === null) return;
  const directory = join(base, 'switchyard', 'compiled');
  module.enableCompileCache(directory);
  process.env['NODE_COMPILE_CACHE'] = directory;
}
