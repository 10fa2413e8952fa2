/** Drives the points of the scale bench: a stub NameNode and a router for each setup, then one load after the other through them. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Child } from '../harness/children.ts';
import { type Driven, drive } from '../harness/drive.ts';
import { readCpuSeconds } from '../harness/process-meter.ts';
import { type RunningProxy, startRouter } from '../harness/proxies.ts';
import type { StubStats } from '../harness/stub-namenode.ts';
import { type MemoryPoint, makeMounts, makePaths, type Point, type Setup } from './points.ts';
import { type RouterUse, type ThreadShares, watchRouter } from './router-watch.ts';

export interface Bench {
  readonly handoff: 'ring' | 'inline';
  readonly routerMain: string;
  readonly routerCores: string;
  readonly loadCores: string;
  readonly seconds: number;
  readonly directory: string;
  readonly env: NodeJS.ProcessEnv;
}

/** One load, once. */
export interface Sample {
  readonly cpuMicrosPerCall: number;
  readonly callsPerSecond: number;
  readonly p99Micros: number;
  /** Shares of one core. */
  readonly routerBusy: number;
  readonly loaderBusy: number;
  readonly stubBusy: number;
  /** Loader and stub NameNode left their core no time: calls/s say more about them. */
  readonly toolsWereTheLimit: boolean;
  readonly namenodeConnections: number;
  readonly shares: ThreadShares;
  readonly errors: number;
  readonly firstError: string;
}

export interface RunningSetup {
  readonly router: RunningProxy;
  readonly stub: Child;
  readonly setup: Setup;
}

const STUB: string = fileURLToPath(new URL('../harness/stub-namenode.ts', import.meta.url));
const START_MS = 60_000;
/** Before the first point of a setup: compiles what the load needs, through as many calls as go through. */
const SETUP_WARMUP_SECONDS = 2;
const WARMUP_SECONDS = 1;
/** Thousands of connections, or of users' connections to the NameNode, take longer to open than to be used. */
const LONG_WARMUP_SECONDS = 2;
const MANY_CONNECTIONS = 1_000;
/** Longer than an idle connection waits for its turn (see MEMORY_POINTS), so that each has made a call. */
const MEMORY_WARMUP_SECONDS = 5;
const MEMORY_SECONDS = 2;
const LONGER = 5;
/** Above this share of their core the tools are the limit, when the router itself has time left. */
const TOOLS_LIMIT = 0.95;
const ROUTER_BUSY = 0.9;
const ROUTER_SETTINGS: Readonly<Record<string, string>> = {
  // Replies of 16 MB for all connections fit in.
  'switchyard.memory.limit': '4g',
  // Thousands of connections are idle on purpose; by default those beyond 4,000 would be closed after 20 s.
  'ipc.client.connection.maxidletime': '600000',
};

let setupCount = 0;

export async function startSetup(bench: Bench, setup: Setup): Promise<RunningSetup> {
  const directory = join(bench.directory, `setup-${setupCount++}`);
  mkdirSync(directory, { recursive: true });
  const stub = new Child({
    name: 'stub NameNode',
    command: process.execPath,
    args: [STUB, '--ports', String(setup.nameservices)],
    cores: bench.loadCores,
    env: bench.env,
    channel: true,
  });
  const ready = await stub.waitFor((line) => line['ready'] === true, START_MS);
  const namenodePorts = ready['ports'] as number[];
  const mounts = join(directory, 'mounts.json');
  writeFileSync(mounts, JSON.stringify(makeMounts(setup)));
  const router = await startRouter({
    handoff: bench.handoff,
    mounts: ['--mounts', mounts],
    namenodePort: namenodePorts[0] as number,
    namenodePorts,
    settings: {
      'dfs.federation.router.connection.pool-size': String(setup.namenodeConnections),
      'switchyard.acceptors': String(setup.threads),
      'switchyard.workers': String(setup.threads),
      ...ROUTER_SETTINGS,
    },
    cores: bench.routerCores,
    directory,
    env: bench.env,
    routerMain: bench.routerMain,
  });
  const running = { router, stub, setup };
  await load(bench, running, { connections: 64, inFlight: 4, users: 1 }, 0, SETUP_WARMUP_SECONDS, 0.1);
  return running;
}

export async function stopSetup(running: RunningSetup): Promise<void> {
  await running.router.child?.stop();
  await running.stub.stop();
}

export async function measurePoint(bench: Bench, running: RunningSetup, point: Point): Promise<Sample> {
  const { stub } = running;
  await setStub(stub, point);
  await stub.ask('stats');
  const stubBefore = readCpuSeconds(stub.pid);
  const startMs = performance.now();
  const isLarge = Math.max(point.connections, point.users) >= MANY_CONNECTIONS;
  const warmupSeconds = isLarge ? LONG_WARMUP_SECONDS : WARMUP_SECONDS;
  let [driven, use] = await load(bench, running, point, 0, warmupSeconds, bench.seconds);
  // The largest replies can take longer than a short measured time; a router with little to do may not be seen to use the processor.
  if (driven.calls === 0 || driven.cpuSeconds === 0) {
    [driven, use] = await load(bench, running, point, 0, warmupSeconds, bench.seconds * LONGER);
  }
  // The stub's share is taken over connecting and warm-up too, when it has less to do: it may be somewhat more.
  const stubBusy = (readCpuSeconds(stub.pid) - stubBefore) / ((performance.now() - startMs) / 1000);
  const stats = (await stub.ask('stats')) as StubStats;
  if (driven.calls === 0) throw new Error(`no call was answered: ${driven.firstError}`);
  if (driven.cpuSeconds === 0)
    throw new Error('the router was not seen to use the processor: measure longer (--seconds)');
  const routerBusy = driven.cpuSeconds / driven.seconds;
  const toolCores = bench.loadCores.split(',').length;
  const toolsBusy = Math.max(driven.loaderBusy, stubBusy, (driven.loaderBusy + stubBusy) / toolCores);
  return {
    cpuMicrosPerCall: (driven.cpuSeconds * 1e6) / driven.calls,
    callsPerSecond: driven.callsPerSecond,
    p99Micros: driven.p99,
    routerBusy,
    loaderBusy: driven.loaderBusy,
    stubBusy,
    toolsWereTheLimit: routerBusy < ROUTER_BUSY && (toolsBusy > TOOLS_LIMIT || driven.loaderWasTheLimit),
    namenodeConnections: stats.connections,
    shares: use.shares,
    errors: driven.errors,
    firstError: driven.firstError,
  };
}

/** Resident bytes of a router of its own under the load of `point`, after the same warm-up as all others. Throws when a call fails. */
export async function measureMemory(bench: Bench, point: MemoryPoint): Promise<number> {
  const running = await startSetup(bench, point);
  try {
    await setStub(running.stub, point);
    const { ratePerSecond } = point;
    const [driven, use] = await load(bench, running, point, ratePerSecond, MEMORY_WARMUP_SECONDS, MEMORY_SECONDS);
    if (driven.errors > 0) throw new Error(`${driven.errors} errors, the first: ${driven.firstError}`);
    return use.rssBytes;
  } finally {
    await stopSetup(running);
  }
}

interface Clients {
  readonly connections: number;
  readonly inFlight: number;
  readonly users: number;
}

async function load(
  bench: Bench,
  running: RunningSetup,
  clients: Clients,
  ratePerSecond: number,
  warmupSeconds: number,
  seconds: number,
): Promise<readonly [Driven, RouterUse]> {
  const { router, setup } = running;
  const pid = (router.child as Child).pid;
  const driven = drive({
    port: router.port,
    connections: clients.connections,
    inFlight: clients.inFlight,
    ratePerSecond,
    users: clients.users,
    seconds,
    warmupSeconds,
    paths: makePaths(setup),
    watchedPid: pid,
    cores: bench.loadCores,
    env: bench.env,
  });
  const workers = bench.handoff === 'inline' ? 0 : setup.threads;
  return watchRouter(pid, { acceptors: setup.threads, workers }, warmupSeconds * 1000, driven);
}

async function setStub(stub: Child, point: Point): Promise<void> {
  await stub.ask(JSON.stringify({ delayMs: point.delayMs, replyBytes: point.replyBytes }));
}
