/** Drives the points of the scale bench: a stub NameNode and a router for each setup, then one load after the other through them. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Child } from '../harness/children.ts';
import { type Driven, driveLoad, summarise } from '../harness/drive.ts';
import { cpuMicros, type Metered, peerBusy } from '../harness/limits.ts';
import { type RunningProxy, startRouter } from '../harness/proxies.ts';
import type { StubStats } from '../harness/stub-namenode.ts';
import { type MemoryPoint, makeMounts, makePaths, type Point, type Setup } from './points.ts';
import { type RouterUse, type ThreadShares, type Watched, watchLoad } from './router-watch.ts';

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
export interface Sample extends Metered {
  /** Calls a second that were asked for; 0: closed loop. */
  readonly ratePerSecond: number;
  /** Of the router, whole process. */
  readonly cpuMicrosPerCall: number;
  /** Share of one core. */
  readonly routerBusy: number;
  /** Calls that an acceptor finds at once when it wakes up, on average. */
  readonly callsTogether: number;
  /** That carried calls. */
  readonly namenodeConnections: number;
  readonly shares: ThreadShares;
}

export interface RunningSetup {
  readonly router: RunningProxy;
  readonly stub: Child;
  readonly setup: Setup;
}

const STUB: string = fileURLToPath(new URL('../harness/stub-namenode.ts', import.meta.url));
const START_MS = 60_000;
/** Before the first point of a setup: compiles what the load needs, through as many calls as go through. */
const SETUP_WARMUP_SECONDS = 1.5;
const WARMUP_SECONDS = 0.7;
/** Thousands of connections, or of users' connections to the NameNode, take longer to open than to be used. */
const LONG_WARMUP_SECONDS = 1.5;
const MANY_CONNECTIONS = 1_000;
/** Longer than an idle connection waits for its turn (see MEMORY_POINTS), so that each has made a call. */
const IDLE_WARMUP_SECONDS = 4.5;
/** Longer than a held call takes. */
const HELD_WARMUP_SECONDS = 3;
const MEMORY_SECONDS = 1;
const LONGER = 5;
/** The load begins so long after its connections stand, and the warm-up with it. */
const LOAD_BEGIN_MS = 50;
const MOST_LOOK_MS = 100;
const LEAST_LOOKS = 10;
/** An acceptor wakes up for calls, and again for their replies. */
const WAKES_OF_CALLS = 2;
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
  let router: RunningProxy | undefined;
  try {
    router = await startRouterOf(bench, setup, directory, stub);
    const running = { router, stub, setup };
    await load(bench, running, { connections: 64, inFlight: 4, users: 1 }, 0, SETUP_WARMUP_SECONDS, 0.2);
    return running;
  } catch (error) {
    await router?.child?.stop();
    await stub.stop();
    throw error;
  }
}

async function startRouterOf(bench: Bench, setup: Setup, directory: string, stub: Child): Promise<RunningProxy> {
  const ready = await stub.waitFor((line) => line['ready'] === true, START_MS);
  const namenodePorts = ready['ports'] as number[];
  const mounts = join(directory, 'mounts.json');
  writeFileSync(mounts, JSON.stringify(makeMounts(setup)));
  return startRouter({
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
}

export async function stopSetup(running: RunningSetup): Promise<void> {
  await running.router.child?.stop();
  await running.stub.stop();
}

/** `ratePerSecond`: calls a second of an open loop; 0: closed loop. */
export async function measurePoint(
  bench: Bench,
  running: RunningSetup,
  point: Point,
  ratePerSecond: number,
): Promise<Sample> {
  const { stub } = running;
  await setStub(stub, point);
  await stub.ask('stats');
  const isLarge = Math.max(point.connections, point.users) >= MANY_CONNECTIONS;
  const warmupSeconds = isLarge ? LONG_WARMUP_SECONDS : WARMUP_SECONDS;
  let [driven, use] = await load(bench, running, point, ratePerSecond, warmupSeconds, bench.seconds);
  // The largest replies can take longer than a short measured time; a router with little to do may not be seen to use the processor.
  if (driven.calls === 0 || driven.cpuSeconds === 0) {
    [driven, use] = await load(bench, running, point, ratePerSecond, warmupSeconds, bench.seconds * LONGER);
  }
  const stats = (await stub.ask('stats')) as StubStats;
  if (driven.calls === 0) throw new Error(`no call was answered: ${driven.firstError}`);
  if (driven.cpuSeconds === 0)
    throw new Error('the router was not seen to use the processor: measure longer (--seconds)');
  const inFlight = point.connections * point.inFlight;
  const together = (WAKES_OF_CALLS * driven.callsPerSecond) / Math.max(1, use.acceptorSleepsPerSecond);
  return {
    ratePerSecond,
    driven,
    namenodeBusy: use.stubBusy,
    othersBusy: use.othersBusy,
    cpuMicrosPerCall: cpuMicros(driven),
    routerBusy: peerBusy(driven),
    callsTogether: Math.max(1, Math.min(inFlight, together)),
    namenodeConnections: stats.connections,
    shares: use.shares,
  };
}

/** Resident bytes of a router of its own under the load of `point`, after the same warm-up as all others. Throws when a call fails. */
export async function measureMemory(bench: Bench, point: MemoryPoint): Promise<number> {
  const running = await startSetup(bench, point);
  try {
    await setStub(running.stub, point);
    const { ratePerSecond } = point;
    const warmupSeconds = ratePerSecond > 0 ? IDLE_WARMUP_SECONDS : HELD_WARMUP_SECONDS;
    const [driven, use] = await load(bench, running, point, ratePerSecond, warmupSeconds, MEMORY_SECONDS);
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
  const { router, stub, setup } = running;
  const routerPid = (router.child as Child).pid;
  const ended = driveLoad({
    port: router.port,
    connections: clients.connections,
    inFlight: clients.inFlight,
    ratePerSecond,
    users: clients.users,
    seconds,
    warmupSeconds,
    paths: makePaths(setup),
    watchedPid: routerPid,
    cores: bench.loadCores,
    env: bench.env,
  });
  const watched: Watched = {
    routerPid,
    stubPid: stub.pid,
    cores: bench.routerCores.split(',').map(Number),
    acceptors: setup.threads,
    workers: bench.handoff === 'inline' ? 0 : setup.threads,
    everyMs: Math.min(MOST_LOOK_MS, (seconds * 1000) / LEAST_LOOKS),
  };
  const [result, use] = await watchLoad(watched, ended, ({ startedAt, measuredMs }) => {
    const fromMs = Date.parse(startedAt) + LOAD_BEGIN_MS + warmupSeconds * 1000;
    return { fromMs, toMs: fromMs + measuredMs };
  });
  return [summarise(result), use];
}

async function setStub(stub: Child, point: Point): Promise<void> {
  await stub.ask(JSON.stringify({ delayMs: point.delayMs, replyBytes: point.replyBytes }));
}
