/**
 * Bench of calls whose answer the router makes from those of several nameservices, beside the same call to one NameNode.
 *
 *   npm run bench:merged -- [--only listing,beside,summary,lease] [--variants ring,inline] [--rounds N] [--seconds S] [--entries N]
 *     [--quick] [--json FILE] [--markdown FILE]
 *
 * It reports and does not judge: exit 1 only when calls failed. ../README.md says what each number means.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readArguments, readNames, readNumber, readWhole } from '../harness/arguments.ts';
import { Child, pinThisProcess, stopAll } from '../harness/children.ts';
import { drive } from '../harness/drive.ts';
import { describeMachine, readMachine, splitCores, toJson } from '../harness/machine.ts';
import { readCpuSeconds, readRssBytes } from '../harness/process-meter.ts';
import { ROUTER_SOURCES, startRouter } from '../harness/proxies.ts';
import { letRunAlone } from '../harness/run-alone.ts';
import { makeRunDirectory } from '../harness/run-directory.ts';
import { median } from '../harness/table.ts';
import { Caller, type Closed, listAll, repeatFor } from './calls.ts';
import { type Figures, markdownReport, printReport } from './report.ts';

const PARTS = ['listing', 'beside', 'summary', 'lease'] as const;
const VARIANTS = ['ring', 'inline'] as const;
const NAMESERVICES = 64;
const SUMMARY_NAMESERVICES = 4;
const IN_FLIGHT = 8;
/** Fast calls a second while a listing runs in the same worker, and connections that make them. */
const BESIDE_RATE = 2_000;
const BESIDE_CONNECTIONS = 16;
const READY_MS = 60_000;
const NAMENODE = new URL('./listing-namenode.ts', import.meta.url).pathname;

const values = readArguments({
  only: { type: 'string' },
  variants: { type: 'string' },
  rounds: { type: 'string' },
  seconds: { type: 'string' },
  entries: { type: 'string' },
  quick: { type: 'boolean', default: false },
  json: { type: 'string' },
  markdown: { type: 'string' },
});
const parts = readNames(values, 'only', PARTS);
const variants = readNames(values, 'variants', VARIANTS);
const quick = values['quick'] === true;
const rounds = readWhole(values, 'rounds', 1, 1_000, quick ? 1 : 5);
const seconds = readNumber(values, 'seconds', 0.1, 3_600, quick ? 0.5 : 3);
const entries = readWhole(values, 'entries', 1, 5_000_000, quick ? 10_000 : 100_000);
const cores = splitCores();
const directory = makeRunDirectory('merged');
const machine = readMachine();
// The client that lists is in this process: on the router's core it would be what delays the calls of others.
pinThisProcess(cores.toolCores);

try {
  const conditions =
    `${describeMachine(machine)}; router on core ${cores.peerCores}, load and NameNodes on core ${cores.toolCores}; ` +
    `median of ${rounds} interleaved rounds; directories of ${entries} entries in each nameservice`;
  process.stdout.write(`${conditions}\n\n`);
  const namenode = new Child({
    name: 'listing NameNode',
    command: process.execPath,
    args: [NAMENODE, '--ports', String(NAMESERVICES), '--entries', String(entries)],
    cores: cores.toolCores,
    env: directory.env,
    channel: true,
  });
  const ready = await namenode.waitFor((line) => line['ready'] === true, READY_MS);
  const ports = ready['ports'] as number[];
  const figures = await measure(ports);
  process.stdout.write(`${printReport(figures)}\n`);
  if (typeof values['json'] === 'string')
    writeFileSync(values['json'], toJson({ ...machine, rounds, entries, figures }));
  if (typeof values['markdown'] === 'string') writeFileSync(values['markdown'], markdownReport(conditions, figures));
  process.exitCode = figures.some(({ errors }) => errors > 0) ? 1 : 0;
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  await stopAll();
}

/** One run of a part: what it took, and the CPU seconds and bytes that it cost the router (0 for the direct connection). */
interface Run extends Closed {
  readonly cpuSeconds: number;
  readonly grownBytes: number;
}

interface Target {
  readonly name: string;
  readonly port: number;
  readonly pid: number;
}

async function measure(ports: readonly number[]): Promise<Figures[]> {
  const routers = [];
  for (const variant of variants) {
    const router = await startRouter({
      handoff: variant,
      mounts: ['--mounts', writeMounts()],
      namenodePort: ports[0] as number,
      namenodePorts: ports,
      cores: cores.peerCores,
      directory: join(directory.path, variant),
      env: directory.env,
      routerMain: ROUTER_SOURCES,
    });
    router.child?.pause();
    routers.push({ name: variant, router });
  }
  const runs = new Map<string, Run[]>();
  for (let round = 0; round < rounds; round++) {
    for (const part of parts) {
      // The NameNode itself first: what a client without a router sees in the same minute.
      keep(runs, part, 'direct', await run(part, { name: 'direct', port: ports[0] as number, pid: 0 }));
      for (const { name, router } of routers) {
        await letRunAlone(
          router,
          routers.map((each) => each.router),
        );
        keep(runs, part, name, await run(part, { name, port: router.port, pid: router.child?.pid ?? 0 }));
      }
    }
  }
  return [...runs].map(([key, all]) => summarise(key, all, runs));
}

function keep(runs: Map<string, Run[]>, part: string, name: string, measured: Run): void {
  const key = `${part} ${name}`;
  const all = runs.get(key) ?? [];
  all.push(measured);
  runs.set(key, all);
}

async function run(part: (typeof PARTS)[number], target: Target): Promise<Run> {
  const direct = target.pid === 0;
  using caller = await Caller.connect(target.port);
  switch (part) {
    case 'listing':
      // The direct directory has half as many names: two of them are what the merged one has.
      return await metered(target, async () => {
        const all = await listAll(caller, direct ? '/mnt' : '/merged');
        return direct ? twice(all, await listAll(caller, '/mnt')) : all;
      });
    case 'summary':
      return await metered(target, () =>
        repeatFor(seconds * 1_000, IN_FLIGHT, () => caller.summary(direct ? '/mnt' : '/tree')),
      );
    case 'lease':
      return await metered(target, () => repeatFor(seconds * 1_000, IN_FLIGHT, () => caller.renewLease()));
    case 'beside':
      return await measureBeside(target, caller);
  }
}

/** p99 of fast calls while listings run in the same worker, less their p99 without. The direct connection's is what the load's own core adds. */
async function measureBeside(target: Target, caller: Caller): Promise<Run> {
  const load = {
    port: target.port,
    connections: BESIDE_CONNECTIONS,
    inFlight: 1,
    ratePerSecond: BESIDE_RATE,
    users: 1,
    seconds,
    warmupSeconds: 0.5,
    paths: [],
    watchedPid: target.pid,
    cores: cores.toolCores,
    env: directory.env,
  };
  const alone = await drive(load);
  let ended = false;
  const listings = (async () => {
    let errors = 0;
    while (!ended) errors += (await listAll(caller, target.pid === 0 ? '/mnt' : '/merged')).errors;
    return errors;
  })();
  const beside = await drive(load);
  ended = true;
  const errors = (await listings) + alone.errors + beside.errors;
  return {
    calls: beside.calls,
    errors,
    elapsedMs: beside.seconds * 1_000,
    p50Ms: (beside.serviceP50 - alone.serviceP50) / 1_000,
    p99Ms: (beside.serviceP99 - alone.serviceP99) / 1_000,
    entries: 0,
    cpuSeconds: beside.cpuSeconds,
    grownBytes: 0,
  };
}

async function metered(target: Target, work: () => Promise<Closed>): Promise<Run> {
  if (target.pid === 0) return { ...(await work()), cpuSeconds: 0, grownBytes: 0 };
  const cpu = readCpuSeconds(target.pid);
  const rss = readRssBytes(target.pid);
  const closed = await work();
  return {
    ...closed,
    cpuSeconds: readCpuSeconds(target.pid) - cpu,
    grownBytes: Math.max(0, readRssBytes(target.pid) - rss),
  };
}

function twice(a: Closed, b: Closed): Closed {
  return {
    calls: a.calls + b.calls,
    errors: a.errors + b.errors,
    elapsedMs: a.elapsedMs + b.elapsedMs,
    p50Ms: (a.p50Ms + b.p50Ms) / 2,
    p99Ms: Math.max(a.p99Ms, b.p99Ms),
    entries: a.entries + b.entries,
  };
}

function summarise(key: string, all: readonly Run[], runs: ReadonlyMap<string, readonly Run[]>): Figures {
  const [part = '', name = ''] = key.split(' ');
  const direct = runs.get(`${part} direct`);
  const perCall = (each: Run): number => each.elapsedMs / each.calls;
  return {
    part,
    name,
    calls: median(all.map(({ calls }) => calls)),
    entries: median(all.map((each) => each.entries)),
    callsPerSecond: median(all.map((each) => each.calls / (each.elapsedMs / 1_000))),
    cpuMicrosPerCall: median(all.map((each) => (each.cpuSeconds / each.calls) * 1e6)),
    p50Ms: median(all.map(({ p50Ms }) => p50Ms)),
    p99Ms: median(all.map(({ p99Ms }) => p99Ms)),
    // What the first round compiles and takes for good is not what a further listing needs.
    grownMegabytes: Math.max(...all.slice(all.length > 1 ? 1 : 0).map(({ grownBytes }) => grownBytes / 1e6)),
    timeOfDirect:
      direct === undefined || name === 'direct' || part === 'beside'
        ? null
        : median(
            all.map((each, i) =>
              part === 'listing'
                ? each.elapsedMs / (direct[i] as Run).elapsedMs
                : perCall(each) / perCall(direct[i] as Run),
            ),
          ),
    errors: all.reduce((sum, { errors }) => sum + errors, 0),
  };
}

function writeMounts(): string {
  const file = join(directory.path, 'mounts.json');
  const single = (srcPath: string, nameserviceId: string): object => ({
    srcPath,
    destinations: [{ nameserviceId, path: srcPath }],
  });
  writeFileSync(
    file,
    JSON.stringify([
      single('/mnt', 'ns2'),
      {
        srcPath: '/merged',
        destOrder: 'HASH_ALL',
        destinations: ['ns0', 'ns1'].map((nameserviceId) => ({ nameserviceId, path: '/merged' })),
      },
      ...Array.from({ length: SUMMARY_NAMESERVICES }, (_, i) => single(`/tree/n${i}`, `ns${i}`)),
    ]),
  );
  return file;
}
