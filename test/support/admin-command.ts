import { run } from '../../src/commands/admin.ts';

/** What a command of `switchyard admin` printed, and its exit code; `error` is what it threw. */
export interface AdminRun {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly error: Error | null;
}

/** Runs it in this process. One at a time: what is printed meanwhile counts as its own. */
export async function runAdmin(args: readonly string[]): Promise<AdminRun> {
  const taken = { stdout: '', stderr: '' };
  const streams = { stdout: process.stdout, stderr: process.stderr } as const;
  const writes = { stdout: process.stdout.write, stderr: process.stderr.write };
  for (const name of ['stdout', 'stderr'] as const) {
    streams[name].write = ((text: string) => {
      taken[name] += text;
      return true;
    }) as typeof process.stdout.write;
  }
  try {
    return { code: await run([...args]), ...take(taken), error: null };
  } catch (error) {
    return { code: null, ...take(taken), error: error instanceof Error ? error : new Error(String(error)) };
  } finally {
    for (const name of ['stdout', 'stderr'] as const) streams[name].write = writes[name];
  }
}

function take({ stdout, stderr }: { stdout: string; stderr: string }): { stdout: string; stderr: string } {
  return { stdout, stderr };
}
