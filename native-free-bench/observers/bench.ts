/**
 * Bench of reads from observers: one active NameNode and two observers, each with a cap of calls a second, behind two routers that differ in
 * `dfs.federation.router.observer.read.default` alone. A closed loop of reads and 10 % writes finds what they carry.
 *
 *   npm run bench:observers -- [--rounds N] [--seconds S] [--cap CALLS_PER_SECOND] [--lag TIME] [--connections N] [--quick] [--json FILE]
 *     [--markdown FILE]
 *
 * It reports and does not judge: exit 1 only when calls failed. ../README.md says what each number means.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LoadResult } from '../../src/load/result/result.ts';
import { writeConfigFiles } from '../../src/simulator/config-files.ts';
import { completeOptions } from '../../src/simulator/options.ts';
import { parseServiceTime } from '../../src/simulator/service-time.ts';
import { type Simulator, startSimulator } from '../../src/simulator/simulator.ts';
import { readArguments, readNumber, readWhole } from '../harness/arguments.ts';
import { Child, stopAll } from '../harness/children.ts';
import { describeMachine, readMachine, splitCores, toJson } from '../harness/machine.ts';
import { ROUTER_SOURCES } from '../harness/proxies.ts';
import { makeRunDirectory } from '../harness/run-directory.ts';
import { markdownReport, printReport, type Run } from './report.ts';

const OBSERVERS = 2;
const READS_PERCENT = 90;
const READY_MS = 60_000;
/** Time of the load tool besides the measured one. */
const SLACK_MS = 60_000;
const WARMUP_SECONDS = 1;

const values = readArguments({
  rounds: { type: 'string' },
  seconds: { type: 'string' },
  cap: { type: 'string' },
  lag: { type: 'string' },
  connections: { type: 'string' },
  quick: { type: 'boolean', default: false },
  json: { type: 'string' },
  markdown: { type: 'string' },
});
const quick = values['quick'] === true;
const rounds = readWhole(values, 'rounds', 1, 1_000, quick ? 1 : 5);
const seconds = readNumber(values, 'seconds', 0.5, 3_600, quick ? 2 : 5);
const cap = readWhole(values, 'cap', 10, 100_000, 1_000);
const lag = typeof values['lag'] === 'string' ? values['lag'] : 'exp:20ms';
const connections = readWhole(values, 'connections', 1, 1_000, 256);
const cores = splitCores();
const directory = makeRunDirectory('observers');
const machine = readMachine();
const options = completeOptions({
  nameservices: ['ns0'],
  namenodes: 1,
  observers: OBSERVERS,
  callsPerSecond: cap,
  observerLag: parseServiceTime(lag),
});

await using simulator = await startSimulator(options);
try {
  const conditions =
    `${describeMachine(machine)}; ${connections} clients of one call each, ${READS_PERCENT} % getFileInfo, the others mkdirs; each NameNode at most ` +
    `${cap} calls/s, observers behind by ${lag}; median of ${rounds} interleaved rounds of ${seconds} s`;
  process.stdout.write(`${conditions}\n\n`);
  const configuration = join(directory.path, 'conf');
  writeConfigFiles(configuration, simulator.nameservices, options);
  const routers = [
    { name: 'active', port: await startRouter(configuration, false) },
    { name: 'observers', port: await startRouter(configuration, true) },
  ] as const;
  const runs: Run[] = [];
  for (let round = 0; round < rounds; round++) {
    for (const { name, port } of routers) runs.push(await run(name, port, simulator));
  }
  process.stdout.write(`${printReport(runs)}\n`);
  if (typeof values['json'] === 'string') writeFileSync(values['json'], toJson({ ...machine, rounds, cap, lag, runs }));
  if (typeof values['markdown'] === 'string') writeFileSync(values['markdown'], markdownReport(conditions, runs));
  process.exitCode = runs.some(({ errors }) => errors > 0) ? 1 : 0;
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  await stopAll();
}

async function startRouter(configuration: string, observerReads: boolean): Promise<number> {
  const settings = {
    'dfs.federation.router.observer.read.default': String(observerReads),
    'dfs.federation.router.http-address': '127.0.0.1:0',
  };
  const child = new Child({
    name: observerReads ? 'router with observers' : 'router',
    command: process.execPath,
    args: [
      ROUTER_SOURCES,
      'start',
      '--config-dir',
      configuration,
      '--mount',
      '/data=ns0:/',
      '--rpc',
      '127.0.0.1:0',
      ...Object.entries(settings).flatMap(([key, value]) => ['--set', `${key}=${value}`]),
    ],
    cores: cores.peerCores,
    env: directory.env,
  });
  const ready = await child.waitFor((line) => line['ready'] === true, READY_MS);
  return Number(String(ready['rpc']).replace(/.*:/, ''));
}

async function run(name: Run['name'], port: number, namenodes: Simulator): Promise<Run> {
  const file = join(directory.path, `${name}.json`);
  await namenodes.control({ op: 'clear' });
  const load = new Child({
    name: `load (${name})`,
    command: process.execPath,
    args: [
      ...[
        ROUTER_SOURCES,
        'load',
        '--fs',
        `hdfs://127.0.0.1:${port}`,
        '--mounts',
        '/data',
        '--closed',
        '--observer-reads',
      ],
      ...['--mix', `getFileInfo=${READS_PERCENT},mkdirs=${100 - READS_PERCENT}`, '--connections', String(connections)],
      ...['--duration', `${seconds}s`, '--warmup', `${WARMUP_SECONDS}s`, '--json', file],
    ],
    cores: cores.toolCores,
    env: directory.env,
  });
  const { code, words } = await load.finish((seconds + WARMUP_SECONDS) * 1_000 + SLACK_MS);
  if (code !== 0) throw new Error(`${load.name} ended with code ${code}: ${words}`);
  const result = JSON.parse(readFileSync(file, 'utf8')) as LoadResult;
  const group = (operation: string) => result.operations.find((each) => each.name === operation);
  const reads = group('getFileInfo');
  const perSecond = (calls: number): number => calls / (result.measuredMs / 1_000);
  const calls = await namenodes.control({ op: 'calls' });
  return {
    name,
    readsPerSecond: perSecond(reads?.calls ?? 0),
    writesPerSecond: perSecond(group('mkdirs')?.calls ?? 0),
    p50Ms: (reads?.service.p50 ?? 0) / 1_000,
    p99Ms: (reads?.service.p99 ?? 0) / 1_000,
    errors: result.errors,
    executed: Array.from(
      { length: 1 + OBSERVERS },
      (_, i) => calls.filter(({ namenode, executed }) => executed && namenode === `nn${i}`).length,
    ),
    msyncs: calls.filter(({ method }) => method === 'msync').length,
  };
}
