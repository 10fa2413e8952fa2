/**
 * Bench of identical reads that share a call (`switchyard.coalesce.reads`): a NameNode with a cap of calls a second, more calls than it carries,
 * with sharing and without in turns. What decides is how often which path is read, by how many users, and how many calls wait.
 *
 *   node native-free-bench/coalescing/bench.ts [--rounds N] [--seconds S] [--cap CALLS_PER_SECOND] [--load FACTOR] [--queue CALLS] [--workers N]
 *     [--distributions uniform,zipf:1.0,zipf:1.2] [--users 1,8,64] [--mix OP=WEIGHT,…] [--json FILE]
 *
 * It reports and does not judge: exit 1 only when a run failed. ../README.md says what each number means.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HdfsClient } from '../../src/control/hdfs-client.ts';
import type { QueueView } from '../../src/http/api/parts.ts';
import type { LoadResult } from '../../src/load/result/result.ts';
import { writeConfigFiles } from '../../src/simulator/config-files.ts';
import { completeOptions } from '../../src/simulator/options.ts';
import { type Simulator, startSimulator } from '../../src/simulator/simulator.ts';
import { readArguments, readNames, readNumber, readWhole } from '../harness/arguments.ts';
import { Child, stopAll } from '../harness/children.ts';
import { describeMachine, readMachine, splitCores, toJson } from '../harness/machine.ts';
import { ROUTER_SOURCES } from '../harness/proxies.ts';
import { makeRunDirectory } from '../harness/run-directory.ts';
import { grouped, markdownTable, median } from '../harness/table.ts';

const PATHS = 10_000;
const DIRECTORY_PATHS = 100;
const CONNECTIONS = 128;
const READY_MS = 60_000;
/** Time of the load tool besides the measured one. */
const SLACK_MS = 120_000;
const DISTRIBUTIONS = ['uniform', 'zipf:1.0', 'zipf:1.2'] as const;
const USERS = ['1', '8', '64'] as const;
/** The queue fills in `queue / (cap × (load − 1))` seconds; this much longer is not measured. */
const SETTLE_SECONDS = 3;

interface Run {
  readonly distribution: string;
  readonly users: string;
  readonly shares: boolean;
  /** Successful answers a second. */
  readonly goodPerSecond: number;
  /** Of all calls since the start of the run. */
  readonly sharedShare: number;
  readonly refusedShare: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const values = readArguments({
  rounds: { type: 'string' },
  seconds: { type: 'string' },
  cap: { type: 'string' },
  load: { type: 'string' },
  queue: { type: 'string' },
  workers: { type: 'string' },
  distributions: { type: 'string' },
  users: { type: 'string' },
  mix: { type: 'string' },
  json: { type: 'string' },
});
const rounds = readWhole(values, 'rounds', 1, 1_000, 3);
const seconds = readWhole(values, 'seconds', 1, 3_600, 6);
const cap = readWhole(values, 'cap', 10, 100_000, 1_000);
const load = readNumber(values, 'load', 0.1, 100, 2);
const queue = readWhole(values, 'queue', 1, 30_000, 5_000);
const workers = readWhole(values, 'workers', 1, 64, 1);
const distributions = readNames(values, 'distributions', DISTRIBUTIONS);
const users = readNames(values, 'users', USERS);
const mix = typeof values['mix'] === 'string' ? values['mix'] : 'getFileInfo';
const warmupSeconds = Math.ceil(load > 1 ? queue / (cap * (load - 1)) : 0) + SETTLE_SECONDS;
const cores = splitCores();
const directory = makeRunDirectory('coalescing');
const machine = readMachine();
const options = completeOptions({ nameservices: ['ns0'], namenodes: 1, queueCapacity: 100_000 });
const pathsFile = join(directory.path, 'paths');
const configuration = join(directory.path, 'conf');

await using simulator = await startSimulator(options);
try {
  process.stdout.write(
    `${describeMachine(machine)}; a NameNode of ${cap} calls/s, ${load} times as many calls (${mix}), ${PATHS} paths, a queue of ${queue}, ` +
      `${workers} workers; median of ${rounds} interleaved rounds of ${seconds} s\n\n`,
  );
  await makePaths(simulator);
  writeConfigFiles(configuration, simulator.nameservices, options);
  const runs: Run[] = [];
  for (let round = 0; round < rounds; round++) {
    for (const distribution of distributions) {
      for (const count of users) {
        const order = round % 2 === 0 ? [false, true] : [true, false];
        for (const shares of order) runs.push(await run(distribution, count, shares));
      }
    }
  }
  process.stdout.write(`${report(runs)}\n`);
  if (typeof values['json'] === 'string') {
    writeFileSync(values['json'], toJson({ ...machine, rounds, cap, load, queue, workers, mix, runs }));
  }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  await stopAll();
}

/** Directories that the load reads, in an order that has nothing to do with where they lie: the first ones are those that are read most. */
async function makePaths({ nameservices }: Simulator): Promise<void> {
  const [namenode] = nameservices[0]?.namenodes ?? [];
  if (namenode === undefined) throw new Error('the simulator has no NameNode');
  using client = await HdfsClient.connect({ host: namenode.host, port: namenode.port, user: options.superuser });
  const names: string[] = [];
  for (let i = 0; i < PATHS; i++) {
    // 7,919 is prime to the number of paths: each comes once.
    const number = (i * 7_919) % PATHS;
    const group = String(Math.floor(number / DIRECTORY_PATHS)).padStart(3, '0');
    names.push(`/warehouse/d${group}/part-${String(number).padStart(6, '0')}`);
  }
  for (let i = 0; i < PATHS; i += DIRECTORY_PATHS) {
    await Promise.all(names.slice(i, i + DIRECTORY_PATHS).map((name) => client.mkdirs(name)));
  }
  writeFileSync(pathsFile, `${names.map((name) => `/data${name}`).join('\n')}\n`);
}

/** One router and one load; both begin with empty queues. */
async function run(distribution: string, count: string, shares: boolean): Promise<Run> {
  const router = new Child({
    name: 'router',
    command: process.execPath,
    args: [
      ...[ROUTER_SOURCES, 'start', '--config-dir', configuration, '--mount', '/data=ns0:/', '--rpc', '127.0.0.1:0'],
      ...[
        'dfs.federation.router.http-address=127.0.0.1:0',
        `dfs.federation.router.handler.count=${queue}`,
        'dfs.federation.router.handler.queue.size=1',
        `switchyard.workers=${workers}`,
        `switchyard.coalesce.reads=${shares}`,
      ].flatMap((setting) => ['--set', setting]),
    ],
    cores: cores.peerCores,
    env: directory.env,
  });
  try {
    const ready = await router.waitFor((line) => line['ready'] === true, READY_MS);
    await simulator.control({ op: 'settings', settings: { callsPerSecond: cap } });
    const result = await drive(String(ready['rpc']), distribution, count);
    const answer = await fetch(`http://${String(ready['http']).replace(/^https?:\/\//, '')}/api/v1/queues`);
    const [view] = ((await answer.json()) as { nameservices: QueueView[] }).nameservices;
    if (view === undefined) throw new Error('the router has no nameservice');
    const refused = view.refused.full + view.refused.late;
    const calls = view.passed + view.waited + view.shared + refused;
    const measured = result.series.filter((point) => point.measured);
    const good = measured.reduce((sum, point) => sum + point.callsPerSecond - point.errors, 0);
    return {
      distribution,
      users: count,
      shares,
      goodPerSecond: good / measured.length,
      sharedShare: view.shared / calls,
      refusedShare: refused / calls,
      p50Ms: result.latency.service.p50 / 1_000,
      p99Ms: result.latency.service.p99 / 1_000,
    };
  } finally {
    await router.stop();
    await simulator.control({ op: 'settings', settings: { callsPerSecond: 0 } });
  }
}

async function drive(rpc: string, distribution: string, count: string): Promise<LoadResult> {
  const file = join(directory.path, 'result.json');
  const child = new Child({
    name: 'load',
    command: process.execPath,
    args: [
      ...[ROUTER_SOURCES, 'load', '--fs', `hdfs://${rpc}`, '--paths', `@${pathsFile}`, '--mix', mix],
      ...['--rate', String(Math.round(cap * load)), '--path-distribution', distribution, '--users', count],
      ...['--connections', String(CONNECTIONS), '--warmup', `${warmupSeconds}s`, '--duration', `${seconds}s`],
      ...['--timeout', '60s', '--json', file],
    ],
    cores: cores.toolCores,
    env: directory.env,
  });
  const { code, words } = await child.finish((warmupSeconds + seconds) * 1_000 + SLACK_MS);
  // Refused calls are errors of a load that succeeds otherwise.
  if (code !== 0) throw new Error(`the load ended with code ${code}: ${words}`);
  return JSON.parse(readFileSync(file, 'utf8')) as LoadResult;
}

function report(runs: readonly Run[]): string {
  const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;
  const rows: string[][] = [];
  for (const distribution of distributions) {
    for (const count of users) {
      for (const shares of [false, true]) {
        const of = runs.filter(
          (each) => each.distribution === distribution && each.users === count && each.shares === shares,
        );
        const middle = (value: (each: Run) => number): number => median(of.map(value));
        rows.push([
          distribution,
          count,
          shares ? 'on' : 'off',
          grouped(middle((each) => each.goodPerSecond)),
          percent(middle((each) => each.sharedShare)),
          percent(middle((each) => each.refusedShare)),
          grouped(middle((each) => each.p50Ms)),
          grouped(middle((each) => each.p99Ms)),
        ]);
      }
    }
  }
  return markdownTable(['paths', 'users', 'sharing', 'answers/s', 'shared', 'refused', 'p50 ms', 'p99 ms'], rows);
}
