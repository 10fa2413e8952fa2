/**
 * Memory and start of the router: resident size under a million calls, per idle client connection, and time from start to ready.
 *
 *   npm run bench:memory -- [--only calls,idle,start] [--handoff ring|inline] [--calls N] [--connections N] [--mounts N]
 *     [--router FILE] [--json FILE] [--markdown FILE]
 *
 * --router names another entry file of the router, such as dist/main.js.
 *
 * It reports and does not judge: exit 1 only when calls failed.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { LoadResult } from '../../src/load/result/result.ts';
import { readArguments, readNames, readWhole, refuse } from '../harness/arguments.ts';
import { Child, stopAll } from '../harness/children.ts';
import { driveLoad } from '../harness/drive.ts';
import { describeMachine, readMachine } from '../harness/machine.ts';
import { readDescriptorLimit, readRssBytes } from '../harness/process-meter.ts';
import { ROUTER_SOURCES, type RunningProxy, startRouter } from '../harness/proxies.ts';
import { makeRunDirectory } from '../harness/run-directory.ts';
import { startStub } from '../harness/running-stub.ts';
import { markdownTable, median, printBeside } from '../harness/table.ts';

const HOLDER: string = fileURLToPath(new URL('../harness/hold.ts', import.meta.url));
const PARTS = ['calls', 'idle', 'start'] as const;
const HANDOFFS = ['ring', 'inline'] as const;
const KB = 1_000;
const MB = 1_000 * KB;

const TARGET_RSS_BYTES = 250 * MB;
const TARGET_IDLE_BYTES = 12 * KB;
const TARGET_START_MS = 1_000;

const LOADED_CLIENTS = 1_000;
/** Calls before idle connections are counted, so that compiled code and the first growth of the heap are not booked on them. */
const WARMUP_CLIENTS = 64;
const WARMUP_CALLS = 64_000;
/** Share of the idle connections that the first of the two loaders opens: the second gives the cost without all beginnings. */
const FIRST_SHARE = 0.2;
/** Descriptors of the router beside its clients. */
const OWN_DESCRIPTORS = 100;
/** Resident size counts as settled when it keeps within this share of itself for that many looks. */
const SETTLED_SHARE = 0.005;
const SETTLED_LOOKS = 4;
const LOOK_MS = 500;
const MAX_LOOKS = 40;
const STARTS = 5;
const LOAD_MS = 600_000;

const values = readArguments({
  only: { type: 'string' },
  handoff: { type: 'string', default: 'ring' },
  calls: { type: 'string' },
  connections: { type: 'string' },
  mounts: { type: 'string' },
  router: { type: 'string', default: ROUTER_SOURCES },
  json: { type: 'string' },
  markdown: { type: 'string' },
});
const parts = readNames(values, 'only', PARTS);
const [handoff = 'ring', ...others] = readNames(values, 'handoff', HANDOFFS);
if (others.length > 0) refuse(`--handoff ${values['handoff']}: one of ${HANDOFFS.join(', ')} is wanted`);
const callCount = readWhole(values, 'calls', LOADED_CLIENTS, 1e9, 1_000_000);
const connectionCount = readWhole(values, 'connections', 10, 60_000, 10_000);
const mountCount = readWhole(values, 'mounts', 1, 1_000_000, 10_000);
if (parts.includes('idle') && readDescriptorLimit() < connectionCount + OWN_DESCRIPTORS) {
  refuse(
    `--connections ${connectionCount}: the limit of open files is ${readDescriptorLimit()}; ` +
      'raise it (ulimit -n) or measure with fewer connections',
  );
}

const { path: directory, env } = makeRunDirectory('memory');
const machine = readMachine();
const conditions = `${describeMachine(machine)}; hand-off ${handoff}`;
/** Rows of the Markdown table: figure, target, measured, result. */
const rows: string[][] = [];
try {
  print(`${conditions}\n`);
  const report: Record<string, unknown> = { ...machine, handoff };
  const { port } = await startStub(undefined, env);
  if (parts.includes('calls')) report['calls'] = await measureCalls(port);
  if (parts.includes('idle')) report['idle'] = await measureIdle(port);
  if (parts.includes('start')) report['start'] = await measureStart(port);
  if (typeof values['json'] === 'string') writeFileSync(values['json'], `${JSON.stringify(report, null, 2)}\n`);
  if (typeof values['markdown'] === 'string') {
    const table = markdownTable(['figure', 'target', 'measured', 'result'], rows);
    writeFileSync(values['markdown'], `# Memory and start of the router\n\n${conditions}\n\n${table}\n`);
  }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  await stopAll();
}

async function measureCalls(namenodePort: number): Promise<object> {
  print(`${callCount.toLocaleString('en-US')} calls from ${LOADED_CLIENTS} connections (${handoff})`);
  const router = await start(namenodePort, 'calls', ['--mount', '/mnt=ns0:/mnt']);
  const pid = pidOf(router);
  const rssBytes = readRssBytes(pid);
  const { watched } = await makeCalls(router, LOADED_CLIENTS, callCount);
  if (watched === null) throw new Error('the router has ended');
  const samples = [{ second: 0, rssBytes }, ...watched.samples.map(([second, bytes]) => ({ second, rssBytes: bytes }))];
  for (const sample of samples) print(`  ${sample.second.toFixed(1).padStart(8)} s  ${megabytes(sample.rssBytes)} MB`);
  const last = samples.at(-1) as (typeof samples)[number];
  const middle = samples[samples.length >> 1] as (typeof samples)[number];
  const growth = last.rssBytes / middle.rssBytes - 1;
  print(
    `  at the end ${megabytes(last.rssBytes)} MB, target ≤ ${megabytes(TARGET_RSS_BYTES)} MB; ${percent(growth)} since half-time\n`,
  );
  await router.child?.stop();
  const what = `resident after ${callCount.toLocaleString('en-US')} calls from ${LOADED_CLIENTS} connections, MB`;
  addRow(what, last.rssBytes / MB, TARGET_RSS_BYTES / MB);
  addRow('growth since half-time, %', growth * 100, null);
  return { calls: callCount, connections: LOADED_CLIENTS, samples, growthSinceHalfTime: growth };
}

async function measureIdle(namenodePort: number): Promise<object> {
  print(`${connectionCount.toLocaleString('en-US')} idle connections (${handoff}), each after one call`);
  const router = await start(namenodePort, 'idle', ['--mount', '/mnt=ns0:/mnt']);
  const pid = pidOf(router);
  await makeCalls(router, WARMUP_CLIENTS, WARMUP_CALLS);
  const before = await settledRssBytes(pid);
  const firstCount = Math.floor(connectionCount * FIRST_SHARE);
  const first = await hold(router, firstCount);
  const between = await settledRssBytes(pid);
  const second = await hold(router, connectionCount - firstCount);
  const after = await settledRssBytes(pid);
  const perConnection = (after - before) / connectionCount;
  const perFurtherConnection = (after - between) / (connectionCount - firstCount);
  print(
    `  without ${megabytes(before)} MB, with ${firstCount} ${megabytes(between)} MB, with ${connectionCount} ${megabytes(after)} MB`,
  );
  print(
    `  per connection ${kilobytes(perConnection)} KB, target ≤ ${kilobytes(TARGET_IDLE_BYTES)} KB; ` +
      `each of the last ${connectionCount - firstCount}: ${kilobytes(perFurtherConnection)} KB\n`,
  );
  for (const holder of [first, second]) await holder.stop();
  await router.child?.stop();
  addRow(`each of ${connectionCount} idle connections, KB`, perConnection / KB, TARGET_IDLE_BYTES / KB);
  addRow(`each of the last ${connectionCount - firstCount}, KB`, perFurtherConnection / KB, null);
  return { connections: connectionCount, before, firstCount, between, after, perConnection, perFurtherConnection };
}

async function measureStart(namenodePort: number): Promise<object> {
  print(`start to ready with ${mountCount.toLocaleString('en-US')} mounts (${handoff}, warm compile cache)`);
  const file = join(directory, 'mounts.json');
  writeFileSync(file, JSON.stringify(makeMounts(mountCount)));
  const elapsedMs: number[] = [];
  // The first start fills the compile cache and shows that the table works; it does not count.
  for (let i = 0; i <= STARTS; i++) {
    const startMs = performance.now();
    const router = await start(namenodePort, `start-${i}`, ['--mounts', file]);
    if (i > 0) elapsedMs.push(Math.round(performance.now() - startMs));
    else await (await hold(router, 1)).stop();
    await router.child?.stop();
  }
  print(`  median ${median(elapsedMs)} ms of ${elapsedMs.join(', ')}; target ≤ ${TARGET_START_MS} ms\n`);
  const what = `start to ready with ${mountCount.toLocaleString('en-US')} mounts, ms`;
  addRow(what, median(elapsedMs), TARGET_START_MS);
  return { mounts: mountCount, medianMs: median(elapsedMs), elapsedMs };
}

/** Mount records as --mounts reads them: /mnt, where the load goes, and a warehouse of databases with tables. */
function makeMounts(count: number): object[] {
  const mounts = [{ srcPath: '/mnt', destinations: [{ nameserviceId: 'ns0', path: '/mnt' }] }];
  for (let i = 1; i < count; i++) {
    const path = `/warehouse/db${String(i % 100).padStart(3, '0')}.db/table_${String(i).padStart(6, '0')}`;
    mounts.push({ srcPath: path, destinations: [{ nameserviceId: 'ns0', path: `/data${path}` }] });
  }
  return mounts;
}

function start(namenodePort: number, name: string, mounts: readonly string[]): Promise<RunningProxy> {
  return startRouter({
    handoff,
    mounts,
    namenodePort,
    cores: undefined,
    directory: join(directory, name),
    env,
    routerMain: String(values['router']),
  });
}

async function makeCalls(router: RunningProxy, connections: number, calls: number): Promise<LoadResult> {
  const result = await driveLoad({
    port: router.port,
    connections,
    inFlight: 1,
    ratePerSecond: 0,
    users: 1,
    seconds: 0,
    calls,
    warmupSeconds: 0,
    paths: [],
    watchedPid: pidOf(router),
    cores: undefined,
    env,
  });
  if (result.errors > 0) throw new Error(`errors: ${JSON.stringify(result.errorClasses)}`);
  return result;
}

/** Connections that have each made one call and stay open until the returned process is stopped. */
async function hold(router: RunningProxy, connections: number): Promise<Child> {
  const holder = new Child({
    name: `${connections} connections`,
    command: process.execPath,
    args: [HOLDER, '--port', String(router.port), '--connections', String(connections)],
    env,
    channel: true,
  });
  await holder.waitFor((line) => line['held'] === connections, LOAD_MS);
  return holder;
}

async function settledRssBytes(pid: number): Promise<number> {
  let rssBytes = readRssBytes(pid);
  let looks = 0;
  for (let i = 0; i < MAX_LOOKS && looks < SETTLED_LOOKS; i++) {
    await sleep(LOOK_MS);
    const now = readRssBytes(pid);
    looks = Math.abs(now - rssBytes) <= rssBytes * SETTLED_SHARE ? looks + 1 : 0;
    rssBytes = now;
  }
  return rssBytes;
}

function pidOf(router: RunningProxy): number {
  return (router.child as Child).pid;
}

function megabytes(bytes: number): string {
  return (bytes / MB).toFixed(1);
}

function kilobytes(bytes: number): string {
  return (bytes / KB).toFixed(1);
}

function percent(share: number): string {
  return `${share >= 0 ? '+' : ''}${(share * 100).toFixed(1)} %`;
}

/** A figure with the most that is aimed at; null: none. */
function addRow(figure: string, value: number, target: number | null): void {
  const judged = target === null ? ['', ''] : [`≤ ${target}`, value <= target ? 'reached' : 'missed'];
  rows.push([figure, judged[0] as string, printBeside(value, target ?? value, 1), judged[1] as string]);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
