import { readFileSync } from 'node:fs';
import { ExitCode, parseFlags, printLine } from './usage.ts';

/** Version of this package. */
export function readVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  return version;
}

export async function run(args: string[]): Promise<number> {
  parseFlags(args, {});
  printLine(`switchyard ${readVersion()} (node ${process.versions.node}, ${process.platform} ${process.arch})`);
  return ExitCode.OK;
}
