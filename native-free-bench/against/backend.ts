/** The NameNode behind all peers: the stub, which answers at once, or a real one of the rig with files at the paths that are read. */

import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Child } from '../harness/children.ts';
import { startStub } from '../harness/running-stub.ts';
import { askRig, rigCommand, rigEnv } from './java-router.ts';

export const BACKENDS = ['stub', 'rig'] as const;
export type BackendName = (typeof BACKENDS)[number];

export interface Backend {
  readonly port: number;
  readonly child: Child;
  /** What is read; empty: the load's own choice, the stub has every file. */
  readonly paths: readonly string[];
  /** Connections that carried calls since the last time; undefined where it is not known. */
  takeConnections(): Promise<number | undefined>;
}

const RIG_READY_MS = 180_000;
const COMMAND_MS = 60_000;
const LOOK_MS = 100;
const FILES = 64;
const DIRECTORY = '/mnt/warehouse/orders/year=2026/month=11';

export function startBackend(
  name: BackendName,
  cores: string,
  directory: string,
  env: NodeJS.ProcessEnv,
): Promise<Backend> {
  return name === 'stub' ? startStubBackend(cores, env) : startRig(directory, env);
}

async function startStubBackend(cores: string, env: NodeJS.ProcessEnv): Promise<Backend> {
  const stub = await startStub(cores, env);
  return {
    port: stub.port,
    child: stub.child,
    paths: [],
    takeConnections: async () => (await stub.takeStats()).connections,
  };
}

/** Not pinned: its JVM has to be warmed up too. */
async function startRig(directory: string, env: NodeJS.ProcessEnv): Promise<Backend> {
  mkdirSync(directory, { recursive: true });
  const ownEnv = rigEnv(directory, env);
  const queue = 'ipc.callqueue.impl=java.util.concurrent.LinkedBlockingQueue';
  const command = askRig(
    ['up', '--print', '--nameservices', '1', '--datanodes', '1', '--no-audit', '--conf', queue],
    ownEnv,
  );
  const child = new Child({ name: 'Hadoop rig', env: ownEnv, ...command });
  const port = await awaitRig(child, join(directory, 'rig', 'rig.json'));
  const paths = Array.from({ length: FILES }, (_, i) => `${DIRECTORY}/part-m-${String(i).padStart(7, '0')}.orc`);
  const fs = ['dfs', '--fs', `hdfs://127.0.0.1:${port}`];
  await runOnRig([...fs, '-mkdir', '-p', DIRECTORY], ownEnv);
  await runOnRig([...fs, '-touchz', ...paths], ownEnv);
  return { port, child, paths, takeConnections: async () => undefined };
}

async function runOnRig(args: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const child = new Child({ name: 'a command of the Hadoop rig', ...rigCommand(args), env });
  const { code, words } = await child.finish(COMMAND_MS);
  if (code !== 0) throw new Error(`${child.name} (${args.slice(0, 5).join(' ')}) ended with code ${code}: ${words}`);
}

/** Port of the active NameNode, once the rig has written what it runs. */
async function awaitRig(child: Child, file: string): Promise<number> {
  let failure: Error | undefined;
  child
    .waitFor(() => false, RIG_READY_MS)
    .catch((error: Error) => {
      failure = error;
    });
  while (!existsSync(file)) {
    if (failure !== undefined) throw failure;
    await sleep(LOOK_MS);
  }
  const { namenodes } = JSON.parse(readFileSync(file, 'utf8')) as { namenodes: { role: string; rpc: string }[] };
  const active = namenodes.find((namenode) => namenode.role === 'active');
  if (active === undefined) throw new Error(`${child.name}: none of its NameNodes is active`);
  return Number(active.rpc.replace(/.*:/, ''));
}
