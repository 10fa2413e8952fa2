/** Starts the stub NameNode and asks it what it has seen. */

import { fileURLToPath } from 'node:url';
import { Child } from './children.ts';
import type { StubStats } from './stub-namenode.ts';

const STUB: string = fileURLToPath(new URL('./stub-namenode.ts', import.meta.url));
const READY_MS = 30_000;

export interface RunningStub {
  readonly child: Child;
  readonly port: number;
  /** Calls, and connections that carried any, since the last time. */
  takeStats(): Promise<StubStats>;
}

/** `cores` as taskset takes them; undefined: anywhere. */
export async function startStub(cores: string | undefined, env: NodeJS.ProcessEnv): Promise<RunningStub> {
  const child = new Child({
    name: 'stub NameNode',
    command: process.execPath,
    args: [STUB],
    cores,
    env,
    channel: true,
  });
  const ready = await child.waitFor((line) => line['ready'] === true, READY_MS);
  return {
    child,
    port: (ready['ports'] as [number])[0],
    takeStats: async () => (await child.ask('stats')) as StubStats,
  };
}
