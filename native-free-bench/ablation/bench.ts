/**
 * Ablation bench: the router as it is, and without each of its optimisations, every variant in every round.
 *
 *   npm run bench:ablation -- [--only NAME,…] [--rounds N] [--seconds S] [--quick] [--json FILE] [--markdown FILE]
 *
 * It reports and does not judge: exit 1 when calls failed or a module was not replaced. README.md says what each number means.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readArguments, readNames, readNumber, readWhole, refuse } from '../harness/arguments.ts';
import { Child, stopAll } from '../harness/children.ts';
import { type Driven, drive } from '../harness/drive.ts';
import { readAllowedCores } from '../harness/process-meter.ts';
import { ROUTER_SOURCES, type RunningProxy } from '../harness/proxies.ts';
import { printTable } from '../harness/table.ts';
import { listPaths, MOUNTS, writeMountTable } from './mount-table.ts';
import { startReplacedRouter } from './replaced-router.ts';
import {
  GAIN_NOTES,
  gainTable,
  type LoadPoint,
  type LoadSummary,
  markdownReport,
  printLoad,
  summariseLoad,
} from './report.ts';
import { FULL, VARIANT_NAMES, VARIANTS, type Variant } from './variants.ts';

const STUB: string = fileURLToPath(new URL('../harness/stub-namenode.ts', import.meta.url));
const STUB_READY_MS = 30_000;
/** Load before the measured time: of a router that has just started, and of each round. */
const FIRST_WARMUP_SECONDS = 4;
const WARMUP_SECONDS = 1;
/** Between two loads: what the one before has left on its way is not the next one's. */
const PAUSE_MS = 300;
/** The fixed rate, as a share of what the slowest variant can do with the same connections. */
const RATE_SHARE = 0.6;
const RATE_STEP = 100;

const CLOSED_LOADS: readonly LoadPoint[] = [
  { name: '64x1', meaning: '64 clients, 1 call in flight each', connections: 64, inFlight: 1, ratePerSecond: 0 },
  { name: '8x64', meaning: '8 clients, 64 calls in flight each', connections: 8, inFlight: 64, ratePerSecond: 0 },
];

interface Plan {
  readonly variants: readonly Variant[];
  readonly rounds: number;
  readonly seconds: number;
  readonly quick: boolean;
  readonly json: string | undefined;
  readonly markdown: string | undefined;
  readonly proxyCores: string;
  readonly loadCores: string;
}

const plan = readPlan();
const directory = mkdtempSync(join(tmpdir(), 'switchyard-ablation-'));
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
const env: NodeJS.ProcessEnv = { ...process.env, NODE_COMPILE_CACHE: join(directory, 'compile-cache') };
const paths = listPaths();
const title =
  `${cpus()[0]?.model ?? 'unknown processor'}, Linux ${release()}, Node ${process.version}; ` +
  `router on core ${plan.proxyCores}, load and NameNode on core ${plan.loadCores}; ` +
  `${MOUNTS.toLocaleString('en-US')} mounts; median of ${plan.rounds} interleaved rounds of ${plan.seconds} s`;
try {
  process.stdout.write(`${title}\n\n`);
  const loads = await measureAll();
  const { headings, rows } = gainTable(plan.variants, loads);
  process.stdout.write(`${printTable(headings, rows)}\n\n${GAIN_NOTES.join('\n')}\n`);
  if (plan.json !== undefined) writeFileSync(plan.json, toJson(loads));
  if (plan.markdown !== undefined) {
    writeFileSync(plan.markdown, markdownReport('Ablation', plan.variants, loads).replace('\n\n', `\n\n${title}.\n\n`));
  }
  process.exitCode = loads.some((load) => load.variants.some((variant) => variant.errors > 0)) ? 1 : 0;
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  await stopAll();
}

/** The closed loads, then the fixed rate that follows from the first of them. */
async function measureAll(): Promise<LoadSummary[]> {
  const stub = new Child({
    name: 'stub NameNode',
    command: process.execPath,
    args: [STUB],
    cores: plan.loadCores,
    env,
    channel: true,
  });
  const ready = await stub.waitFor((line) => line['ready'] === true, STUB_READY_MS);
  const [namenodePort] = ready['ports'] as [number];
  const mountsFile = join(directory, 'mounts.json');
  writeMountTable(mountsFile, 'ns0');
  const routers = new Map<string, RunningProxy>();
  for (const variant of [FULL, ...plan.variants]) {
    const router = await startReplacedRouter(variant, {
      namenodePort,
      cores: plan.proxyCores,
      directory: join(directory, variant.name),
      env,
      routerMain: ROUTER_SOURCES,
      mounts: ['--mounts', mountsFile],
    });
    routers.set(variant.name, router);
  }
  const loads: LoadSummary[] = [];
  for (const load of CLOSED_LOADS) loads.push(await measureLoad(load, routers));
  loads.push(await measureLoad(fixedRate(loads[0] as LoadSummary), routers));
  return loads;
}

function fixedRate(closed: LoadSummary): LoadPoint {
  const slowest = Math.min(...closed.variants.map((variant) => variant.callsPerSecond));
  const ratePerSecond = Math.max(RATE_STEP, Math.round((slowest * RATE_SHARE) / RATE_STEP) * RATE_STEP);
  return {
    name: `${closed.load.connections}@${ratePerSecond}`,
    meaning: `${closed.load.connections} clients, together ${ratePerSecond.toLocaleString('en-US')} calls a second (open loop): ${RATE_SHARE * 100} % of what the slowest variant can do`,
    connections: closed.load.connections,
    inFlight: 0,
    ratePerSecond,
  };
}

/** All rounds of one load; each begins with another variant, so that none is always the one after the pause. */
async function measureLoad(load: LoadPoint, routers: ReadonlyMap<string, RunningProxy>): Promise<LoadSummary> {
  const names = [...routers.keys()];
  const rounds = new Map<string, Driven[]>(names.map((name) => [name, []]));
  for (let round = 0; round < plan.rounds; round++) {
    for (let i = 0; i < names.length; i++) {
      const name = names[(round + i) % names.length] as string;
      const router = routers.get(name) as RunningProxy;
      await sleep(PAUSE_MS);
      const driven = await drive({
        port: router.port,
        connections: load.connections,
        inFlight: load.inFlight,
        ratePerSecond: load.ratePerSecond,
        users: 1,
        seconds: plan.seconds,
        warmupSeconds: round === 0 && !plan.quick ? FIRST_WARMUP_SECONDS : WARMUP_SECONDS,
        paths,
        watchedPid: router.child?.pid ?? 0,
        cores: plan.loadCores,
        env,
      });
      if (driven.calls === 0) throw new Error(`${name}, ${load.name}: no call was answered: ${driven.firstError}`);
      (rounds.get(name) as Driven[]).push(driven);
    }
  }
  const summary = summariseLoad(load, rounds);
  process.stdout.write(`${printLoad(summary)}\n`);
  return summary;
}

function toJson(loads: readonly LoadSummary[]): string {
  const report = {
    processor: cpus()[0]?.model,
    cores: cpus().length,
    kernel: release(),
    node: process.version,
    rounds: plan.rounds,
    seconds: plan.seconds,
    mounts: MOUNTS,
    variants: plan.variants.map(({ name, optimisation, instead, handoff, replacements, published }) => ({
      name,
      optimisation,
      instead,
      handoff,
      replaced: replacements.map(({ module }) => module),
      published,
    })),
    loads,
  };
  return `${JSON.stringify(report, (_, value) => (typeof value === 'number' ? Number(value.toPrecision(5)) : value), 2)}\n`;
}

function readPlan(): Plan {
  const values = readArguments({
    only: { type: 'string' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    quick: { type: 'boolean', default: false },
    json: { type: 'string' },
    markdown: { type: 'string' },
  });
  const only = readNames(values, 'only', VARIANT_NAMES);
  const quick = values['quick'] === true;
  const cores = readAllowedCores();
  if (cores.length < 2) refuse('two processor cores are needed: one for the router alone, another for the load');
  return {
    variants: VARIANTS.filter((variant) => only.includes(variant.name)),
    rounds: readWhole(values, 'rounds', 1, 1000, quick ? 1 : 5),
    seconds: readNumber(values, 'seconds', 0.1, 3600, quick ? 1 : 4),
    quick,
    json: values['json'] as string | undefined,
    markdown: values['markdown'] as string | undefined,
    // The kernel likes to serve interrupts on the first core: the load gets it.
    proxyCores: String(cores.at(-1)),
    loadCores: cores.slice(0, -1).join(','),
  };
}
