/**
 * Ablation bench: the router as it is, and without each of its optimisations, every variant in every round.
 *
 *   npm run bench:ablation -- [--only NAME,…] [--rounds N] [--seconds S] [--quick] [--json FILE] [--markdown FILE]
 *
 * It reports and does not judge: exit 1 when calls failed or a module was not replaced. README.md says what each number means.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readArguments, readNames, readNumber, readWhole } from '../harness/arguments.ts';
import { stopAll } from '../harness/children.ts';
import { driveMetered, type Metered } from '../harness/limits.ts';
import { type CoreSplit, describeMachine, readMachine, splitCores, toJson } from '../harness/machine.ts';
import { ROUTER_SOURCES, type RunningProxy } from '../harness/proxies.ts';
import { letRunAlone } from '../harness/run-alone.ts';
import { makeRunDirectory } from '../harness/run-directory.ts';
import { type RunningStub, startStub } from '../harness/running-stub.ts';
import { grouped, printTable } from '../harness/table.ts';
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

/** Load before the measured time: of a router that has just started, and of each round. */
const FIRST_WARMUP_SECONDS = 4;
const WARMUP_SECONDS = 1;
/** The fixed rate, as a share of what the slowest variant can do with the same connections. */
const RATE_SHARE = 0.6;
const RATE_STEP = 100;

const CLOSED_LOADS: readonly LoadPoint[] = [
  { name: '64x1', meaning: '64 clients, 1 call in flight each', connections: 64, inFlight: 1, ratePerSecond: 0 },
  { name: '8x64', meaning: '8 clients, 64 calls in flight each', connections: 8, inFlight: 64, ratePerSecond: 0 },
];

interface Plan extends CoreSplit {
  readonly variants: readonly Variant[];
  readonly rounds: number;
  readonly seconds: number;
  readonly quick: boolean;
  readonly json: string | undefined;
  readonly markdown: string | undefined;
}

const plan = readPlan();
const { path: directory, env } = makeRunDirectory('ablation');
const machine = readMachine();
const paths = listPaths();
const title =
  `${describeMachine(machine)}; ` +
  `router on core ${plan.peerCores}, load and NameNode on core ${plan.toolCores}; ` +
  `${grouped(MOUNTS)} mounts; median of ${plan.rounds} interleaved rounds of ${plan.seconds} s`;
try {
  process.stdout.write(`${title}\n\n`);
  const loads = await measureAll();
  const { headings, rows } = gainTable(plan.variants, loads);
  process.stdout.write(`${printTable(headings, rows)}\n\n${GAIN_NOTES.join('\n')}\n`);
  if (plan.json !== undefined) writeFileSync(plan.json, reportJson(loads));
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
  const stub = await startStub(plan.toolCores, env);
  const mountsFile = join(directory, 'mounts.json');
  writeMountTable(mountsFile, 'ns0');
  const routers = new Map<string, RunningProxy>();
  for (const variant of [FULL, ...plan.variants]) {
    const router = await startReplacedRouter(variant, {
      namenodePort: stub.port,
      cores: plan.peerCores,
      directory: join(directory, variant.name),
      env,
      routerMain: ROUTER_SOURCES,
      mounts: ['--mounts', mountsFile],
    });
    router.child?.pause();
    routers.set(variant.name, router);
  }
  const loads: LoadSummary[] = [];
  for (const load of CLOSED_LOADS) loads.push(await measureLoad(load, routers, stub));
  loads.push(await measureLoad(fixedRate(loads[0] as LoadSummary), routers, stub));
  return loads;
}

function fixedRate(closed: LoadSummary): LoadPoint {
  const slowest = Math.min(...closed.variants.map((variant) => variant.callsPerSecond));
  const ratePerSecond = Math.max(RATE_STEP, Math.round((slowest * RATE_SHARE) / RATE_STEP) * RATE_STEP);
  return {
    name: `${closed.load.connections}@${ratePerSecond}`,
    meaning: `${closed.load.connections} clients, together ${grouped(ratePerSecond)} calls a second (open loop): ${RATE_SHARE * 100} % of what the slowest variant can do`,
    connections: closed.load.connections,
    inFlight: 0,
    ratePerSecond,
  };
}

/** All rounds of one load; each begins with another variant, so that none is always the one after the pause. */
async function measureLoad(
  load: LoadPoint,
  routers: ReadonlyMap<string, RunningProxy>,
  stub: RunningStub,
): Promise<LoadSummary> {
  const names = [...routers.keys()];
  const rounds = new Map<string, Metered[]>(names.map((name) => [name, []]));
  for (let round = 0; round < plan.rounds; round++) {
    for (let i = 0; i < names.length; i++) {
      const name = names[(round + i) % names.length] as string;
      const router = routers.get(name) as RunningProxy;
      await letRunAlone(router, routers.values());
      const metered = await driveMetered(
        {
          port: router.port,
          connections: load.connections,
          inFlight: load.inFlight,
          ratePerSecond: load.ratePerSecond,
          users: 1,
          seconds: plan.seconds,
          warmupSeconds: round === 0 && !plan.quick ? FIRST_WARMUP_SECONDS : WARMUP_SECONDS,
          paths,
          watchedPid: router.child?.pid ?? 0,
          cores: plan.toolCores,
          env,
        },
        stub.child.pid,
        plan.peerCores,
      );
      const { calls, firstError } = metered.driven;
      if (calls === 0) throw new Error(`${name}, ${load.name}: no call was answered: ${firstError}`);
      (rounds.get(name) as Metered[]).push(metered);
    }
  }
  const summary = summariseLoad(load, rounds, plan.toolCoreCount);
  process.stdout.write(`${printLoad(summary)}\n`);
  return summary;
}

function reportJson(loads: readonly LoadSummary[]): string {
  return toJson({
    ...machine,
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
  });
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
  return {
    variants: VARIANTS.filter((variant) => only.includes(variant.name)),
    rounds: readWhole(values, 'rounds', 1, 1000, quick ? 1 : 5),
    seconds: readNumber(values, 'seconds', 0.1, 3600, quick ? 1 : 4),
    quick,
    json: values['json'] as string | undefined,
    markdown: values['markdown'] as string | undefined,
    ...splitCores(),
  };
}
