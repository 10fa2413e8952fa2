/**
 * Bench of the whole path: clients → proxy on one core → NameNode, every variant of the proxy in every round.
 *
 *   npm run bench -- [--only NAME,…] [--variants haproxy,ring,inline,direct] [--rounds N] [--seconds S] [--quick]
 *     [--router FILE] [--json FILE]
 *
 * --router names another entry file of the router, such as dist/main.js.
 *
 * It reports and does not judge: exit 1 only when calls failed. README.md says what each number means.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readArguments, readNames, readNumber, readWhole, refuse } from '../harness/arguments.ts';
import { Child, stopAll } from '../harness/children.ts';
import { drive } from '../harness/drive.ts';
import { readAllowedCores, readDescriptorLimit } from '../harness/process-meter.ts';
import {
  haproxyVersion,
  ROUTER_SOURCES,
  type RunningProxy,
  startProxy,
  VARIANTS,
  type Variant,
} from '../harness/proxies.ts';
import type { StubStats } from '../harness/stub-namenode.ts';
import { printScenario, type Round, type ScenarioSummary, summarise } from './report.ts';
import { SCENARIOS, type Scenario } from './scenarios.ts';

const STUB: string = fileURLToPath(new URL('../harness/stub-namenode.ts', import.meta.url));
const STUB_READY_MS = 30_000;
/** Load before the measured time of each round; once more before the first round, in which nothing is compiled yet. */
const WARMUP_SECONDS = 1;
/** Between two rounds. */
const PAUSE_MS = 300;
/** Sockets of 1,000 clients and as many server connections, in one process. */
const MIN_DESCRIPTORS = 4_096;

interface Plan {
  readonly scenarios: readonly Scenario[];
  readonly variants: readonly Variant[];
  readonly rounds: number;
  readonly seconds: number;
  readonly json: string | undefined;
  readonly routerMain: string;
  readonly proxyCores: string;
  readonly loadCores: string;
}

interface Context extends Plan {
  readonly directory: string;
  readonly env: NodeJS.ProcessEnv;
}

const plan = readPlan();
const directory = mkdtempSync(join(tmpdir(), 'switchyard-bench-'));
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
const context: Context = {
  ...plan,
  directory,
  env: { ...process.env, NODE_COMPILE_CACHE: join(directory, 'compile-cache') },
};
try {
  const peer = plan.variants.includes('haproxy') ? haproxyVersion() : '';
  if (peer instanceof Error) refuse(peer.message);
  process.stdout.write(
    `${cpus()[0]?.model ?? 'unknown processor'}, Linux ${release()}, Node ${process.version}${peer === '' ? '' : `, ${peer}`}; ` +
      `proxy on core ${plan.proxyCores}, load and NameNode on core ${plan.loadCores}; ` +
      `median of ${plan.rounds} interleaved rounds of ${plan.seconds} s\n\n`,
  );
  const summaries: ScenarioSummary[] = [];
  for (const scenario of plan.scenarios) {
    const summary = await runScenario(scenario, context);
    summaries.push(summary);
    process.stdout.write(`${printScenario(summary)}\n`);
  }
  if (plan.json !== undefined) writeFileSync(plan.json, toJson(summaries, peer));
  process.exitCode = summaries.some((summary) => summary.variants.some((variant) => variant.errors > 0)) ? 1 : 0;
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  await stopAll();
}

async function runScenario(scenario: Scenario, context: Context): Promise<ScenarioSummary> {
  const stub = new Child({
    name: 'stub NameNode',
    command: process.execPath,
    args: [STUB],
    cores: context.loadCores,
    env: context.env,
    channel: true,
  });
  const ready = await stub.waitFor((line) => line['ready'] === true, STUB_READY_MS);
  const [namenodePort] = ready['ports'] as [number];
  const proxies = new Map<Variant, RunningProxy>();
  const rounds = new Map<Variant, Round[]>();
  for (const variant of context.variants) {
    rounds.set(variant, []);
    proxies.set(
      variant,
      await startProxy(variant, {
        namenodePort,
        cores: context.proxyCores,
        directory: join(context.directory, `${scenario.name}-${variant}`),
        env: context.env,
        routerMain: context.routerMain,
      }),
    );
  }
  for (let round = 0; round < context.rounds; round++) {
    // Each round begins with another variant, so that none is always the one after a pause.
    for (let i = 0; i < context.variants.length; i++) {
      const variant = context.variants[(round + i) % context.variants.length] as Variant;
      const warmupSeconds = round === 0 ? WARMUP_SECONDS * 2 : WARMUP_SECONDS;
      const measured = await runRound(scenario, context, proxies.get(variant) as RunningProxy, stub, warmupSeconds);
      (rounds.get(variant) as Round[]).push(measured);
    }
  }
  for (const proxy of proxies.values()) await proxy.child?.stop();
  await stub.stop();
  return summarise(scenario, rounds);
}

async function runRound(
  scenario: Scenario,
  context: Context,
  proxy: RunningProxy,
  stub: Child,
  warmupSeconds: number,
): Promise<Round> {
  // What the round before has left on its way is not this round's.
  await sleep(PAUSE_MS);
  await stub.ask('stats');
  const load = await drive({
    port: proxy.port,
    connections: scenario.clients,
    inFlight: scenario.depth,
    ratePerSecond: scenario.ratePerSecond,
    users: scenario.users,
    seconds: context.seconds,
    warmupSeconds,
    paths: [],
    watchedPid: proxy.child?.pid ?? 0,
    cores: context.loadCores,
    env: context.env,
  });
  const stats = (await stub.ask('stats')) as StubStats;
  if (load.calls === 0) {
    throw new Error(`${scenario.name}, port ${proxy.port}: no call was answered: ${load.firstError}`);
  }
  return { load, namenodeConnections: stats.connections };
}

function toJson(summaries: readonly ScenarioSummary[], peer: string): string {
  const report = {
    processor: cpus()[0]?.model,
    cores: cpus().length,
    kernel: release(),
    node: process.version,
    peer,
    rounds: plan.rounds,
    seconds: plan.seconds,
    scenarios: summaries,
  };
  return `${JSON.stringify(report, (_, value) => (typeof value === 'number' ? Number(value.toPrecision(5)) : value), 2)}\n`;
}

function readPlan(): Plan {
  const values = readArguments({
    only: { type: 'string' },
    variants: { type: 'string', default: 'haproxy,ring,inline' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    router: { type: 'string', default: ROUTER_SOURCES },
    quick: { type: 'boolean', default: false },
    json: { type: 'string' },
  });
  const names = SCENARIOS.map((scenario) => scenario.name);
  const only = readNames(values, 'only', names);
  const quick = values['quick'] === true;
  const cores = readAllowedCores();
  if (cores.length < 2) refuse('two processor cores are needed: one for the proxy alone, another for the load');
  if (readDescriptorLimit() < MIN_DESCRIPTORS) {
    refuse(
      `the limit of open files is ${readDescriptorLimit()}, at least ${MIN_DESCRIPTORS} are needed: raise it (ulimit -n)`,
    );
  }
  return {
    scenarios: SCENARIOS.filter((scenario) => only.includes(scenario.name)),
    variants: readNames(values, 'variants', VARIANTS),
    rounds: readWhole(values, 'rounds', 1, 1000, quick ? 1 : 5),
    seconds: readNumber(values, 'seconds', 0.1, 3600, quick ? 1 : 4),
    routerMain: String(values['router']),
    json: values['json'] as string | undefined,
    // The kernel likes to serve interrupts on the first core: the load gets it.
    proxyCores: String(cores.at(-1)),
    loadCores: cores.slice(0, -1).join(','),
  };
}
