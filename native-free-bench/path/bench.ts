/**
 * Bench of the whole path: clients → proxy on one core → NameNode, every variant of the proxy in every round.
 *
 *   npm run bench -- [--only NAME,…] [--variants haproxy,ring,inline,direct] [--rounds N] [--seconds S] [--quick]
 *     [--router FILE] [--json FILE] [--markdown FILE]
 *
 * --router names another entry file of the router, such as dist/main.js.
 *
 * It reports and does not judge: exit 1 only when calls failed. README.md says what each number means.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readArguments, readNames, readNumber, readWhole, refuse } from '../harness/arguments.ts';
import { stopAll } from '../harness/children.ts';
import { driveMetered } from '../harness/limits.ts';
import {
  type CoreSplit,
  checkDescriptors,
  describeMachine,
  readMachine,
  splitCores,
  toJson,
} from '../harness/machine.ts';
import {
  haproxyVersion,
  ROUTER_SOURCES,
  type RunningProxy,
  startProxy,
  VARIANTS,
  type Variant,
} from '../harness/proxies.ts';
import { letRunAlone } from '../harness/run-alone.ts';
import { makeRunDirectory } from '../harness/run-directory.ts';
import { type RunningStub, startStub } from '../harness/running-stub.ts';
import { markdownReport, printScenario, type Round, type ScenarioSummary, summarise } from './report.ts';
import { SCENARIOS, type Scenario } from './scenarios.ts';

/** Load before the measured time of each round; once more before the first round, in which nothing is compiled yet. */
const WARMUP_SECONDS = 1;

interface Plan extends CoreSplit {
  readonly scenarios: readonly Scenario[];
  readonly variants: readonly Variant[];
  readonly rounds: number;
  readonly seconds: number;
  readonly json: string | undefined;
  readonly markdown: string | undefined;
  readonly routerMain: string;
}

const plan = readPlan();
const directory = makeRunDirectory('bench');
const machine = readMachine();
try {
  const peer = plan.variants.includes('haproxy') ? haproxyVersion() : '';
  if (peer instanceof Error) refuse(peer.message);
  const conditions =
    `${describeMachine(machine)}${peer === '' ? '' : `, ${peer}`}; ` +
    `proxy on core ${plan.peerCores}, load and NameNode on core ${plan.toolCores}; ` +
    `median of ${plan.rounds} interleaved rounds of ${plan.seconds} s`;
  process.stdout.write(`${conditions}\n\n`);
  const scenarios: ScenarioSummary[] = [];
  for (const scenario of plan.scenarios) {
    const summary = await runScenario(scenario);
    scenarios.push(summary);
    process.stdout.write(`${printScenario(summary)}\n`);
  }
  const { rounds, seconds } = plan;
  if (plan.json !== undefined) writeFileSync(plan.json, toJson({ ...machine, peer, rounds, seconds, scenarios }));
  if (plan.markdown !== undefined) writeFileSync(plan.markdown, markdownReport(conditions, scenarios));
  process.exitCode = scenarios.some((summary) => summary.variants.some((variant) => variant.errors > 0)) ? 1 : 0;
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  await stopAll();
}

async function runScenario(scenario: Scenario): Promise<ScenarioSummary> {
  const stub = await startStub(plan.toolCores, directory.env);
  const proxies = new Map<Variant, RunningProxy>();
  const rounds = new Map<Variant, Round[]>();
  for (const variant of plan.variants) {
    rounds.set(variant, []);
    const proxy = await startProxy(variant, {
      namenodePort: stub.port,
      cores: plan.peerCores,
      directory: join(directory.path, `${scenario.name}-${variant}`),
      env: directory.env,
      routerMain: plan.routerMain,
    });
    proxy.child?.pause();
    proxies.set(variant, proxy);
  }
  for (let round = 0; round < plan.rounds; round++) {
    // Each round begins with another variant, so that none is always the one after a pause.
    for (let i = 0; i < plan.variants.length; i++) {
      const variant = plan.variants[(round + i) % plan.variants.length] as Variant;
      const proxy = proxies.get(variant) as RunningProxy;
      await letRunAlone(proxy, proxies.values());
      const measured = await runRound(scenario, proxy, stub, round === 0 ? WARMUP_SECONDS * 2 : WARMUP_SECONDS);
      (rounds.get(variant) as Round[]).push(measured);
    }
  }
  for (const proxy of proxies.values()) await proxy.child?.stop();
  await stub.child.stop();
  return summarise(scenario, rounds, plan.toolCoreCount);
}

async function runRound(
  scenario: Scenario,
  proxy: RunningProxy,
  stub: RunningStub,
  warmupSeconds: number,
): Promise<Round> {
  await stub.takeStats();
  const load = {
    port: proxy.port,
    connections: scenario.clients,
    inFlight: scenario.depth,
    ratePerSecond: scenario.ratePerSecond,
    users: scenario.users,
    seconds: plan.seconds,
    warmupSeconds,
    paths: [],
    watchedPid: proxy.child?.pid ?? 0,
    cores: plan.toolCores,
    env: directory.env,
  };
  const metered = await driveMetered(load, stub.child.pid, plan.peerCores);
  const { connections } = await stub.takeStats();
  if (metered.driven.calls === 0) {
    throw new Error(`${scenario.name}, port ${proxy.port}: no call was answered: ${metered.driven.firstError}`);
  }
  return { ...metered, namenodeConnections: connections };
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
    markdown: { type: 'string' },
  });
  const names = SCENARIOS.map((scenario) => scenario.name);
  const only = readNames(values, 'only', names);
  const quick = values['quick'] === true;
  const cores = splitCores();
  checkDescriptors();
  return {
    scenarios: SCENARIOS.filter((scenario) => only.includes(scenario.name)),
    variants: readNames(values, 'variants', VARIANTS),
    rounds: readWhole(values, 'rounds', 1, 1000, quick ? 1 : 5),
    seconds: readNumber(values, 'seconds', 0.1, 3600, quick ? 1 : 4),
    routerMain: String(values['router']),
    json: values['json'] as string | undefined,
    markdown: values['markdown'] as string | undefined,
    ...cores,
  };
}
