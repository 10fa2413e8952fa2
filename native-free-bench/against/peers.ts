/** The peers of a run: each started and timed the same way, paused while another is measured. */

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { Child } from '../harness/children.ts';
import { ROUTER_SOURCES, startProxy } from '../harness/proxies.ts';
import { awaitFirstCall } from './first-call.ts';
import { prepareJavaRouter } from './java-router.ts';
import { isJava, type Peer } from './scenarios.ts';

export interface RunningPeer {
  readonly peer: Peer;
  readonly port: number;
  /** Undefined for the direct connection. */
  readonly child: Child | undefined;
}

export interface Start {
  /** Until the process said that it is ready, or listened. */
  readonly readyMs: number;
  /** Until a first call was answered with success. */
  readonly firstCallMs: number;
}

export interface PeerOptions {
  readonly namenodePort: number;
  /** A new directory for each start. */
  readonly directory: string;
  readonly cores: string | undefined;
  readonly env: NodeJS.ProcessEnv;
  /** A file that exists at the NameNode. */
  readonly path: string;
}

const JAVA_READY_MS = 120_000;
const FIRST_CALL_MS = 60_000;

/** Starts a peer and waits for its first answered call; the times begin with its process. */
export async function startPeer(peer: Peer, options: PeerOptions): Promise<{ running: RunningPeer; start: Start }> {
  const launch = prepareLaunch(peer, options);
  const startMs = performance.now();
  const running = await launch();
  const readyMs = performance.now() - startMs;
  await awaitFirstCall(running.port, options.path, FIRST_CALL_MS);
  return { running, start: { readyMs, firstCallMs: performance.now() - startMs } };
}

/** Does what does not belong to the start itself, and returns the start. */
function prepareLaunch(peer: Peer, options: PeerOptions): () => Promise<RunningPeer> {
  if (isJava(peer)) {
    const command = prepareJavaRouter(peer, options.directory, options.namenodePort, options.env);
    return async () => {
      const child = new Child({ ...command, cores: options.cores });
      const ready = await child.waitFor((line) => typeof line['rpc'] === 'string', JAVA_READY_MS);
      return { peer, port: Number(String(ready['rpc']).replace(/.*:/, '')), child };
    };
  }
  return async () => {
    const proxy = await startProxy(peer, {
      namenodePort: options.namenodePort,
      cores: options.cores,
      directory: join(options.directory, 'conf'),
      env: options.env,
      routerMain: ROUTER_SOURCES,
    });
    return { peer, port: proxy.port, child: proxy.child };
  };
}

/** Moves all threads of a process to `cores`; those that it starts later inherit them. */
export function pinProcess(pid: number, cores: string): void {
  const run = spawnSync('taskset', ['-a', '-c', '-p', cores, String(pid)], { encoding: 'utf8' });
  if (run.status !== 0) throw new Error(`process ${pid} cannot be moved to core ${cores}: ${run.stderr}`);
}
