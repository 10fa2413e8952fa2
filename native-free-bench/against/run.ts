/** One run of the comparison: starts, warm-up of the Java Routers, and the rounds of every scenario. */

import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Child } from '../harness/children.ts';
import type { Driven } from '../harness/drive.ts';
import { cpuMicros, driveMetered, type Metered } from '../harness/limits.ts';
import { readRssBytes } from '../harness/process-meter.ts';
import { letRunAlone } from '../harness/run-alone.ts';
import { type Backend, startBackend } from './backend.ts';
import { pinProcess, type RunningPeer, type Start, startPeer } from './peers.ts';
import type { Plan } from './plan.ts';
import type { Report } from './report.ts';
import { CEILING_SCENARIO, isJava, type Peer, SCENARIOS, type Scenario } from './scenarios.ts';
import { findJavaCeiling, judge, type Round, type RoundsOfPeers, type ScenarioSummary, summarise } from './summary.ts';

/** Load before the measured time of a round; twice as much in the first round of a scenario. */
const WARMUP_SECONDS = 1.5;
/** A burst of warm-up load, and the pause after it, in which the compiler catches up. */
const BURST_SECONDS = 8;
const BURST_PAUSE_MS = 3_000;
/** A file that the stub has, like every other. */
const ANY_PATH = '/mnt/warehouse/orders/year=2026/month=11/part-m-0000000.orc';

export interface RunContext {
  readonly plan: Plan;
  readonly directory: string;
  readonly env: NodeJS.ProcessEnv;
  /** A line about how far the run is. */
  readonly progress: (line: string) => void;
  readonly onScenario: (summary: ScenarioSummary) => void;
}

export type Measured = Omit<Report, 'machine' | 'plan'>;

export async function runComparison(context: RunContext): Promise<Measured> {
  const { plan } = context;
  context.progress(`NameNode: ${plan.backend}`);
  const backend = await startBackend(plan.backend, plan.toolCores, join(context.directory, 'namenode'), context.env);
  const run = new Run(context, backend);
  const starts = await run.measureStarts();
  await run.startPeers();
  await run.warmUpJvms();
  const scenarios: ScenarioSummary[] = [];
  const verdicts: Report['verdicts'][number][] = [];
  let ceiling: Report['ceiling'] = plan.ceiling > 0 ? { peer: null, callsPerSecond: plan.ceiling } : null;
  for (const scenario of plan.scenarios) {
    if (scenario.ceilingShare > 0) ceiling ??= await run.measureCeiling();
    const rate = Math.round(scenario.ceilingShare * (ceiling?.callsPerSecond ?? 0));
    const rounds = await run.measureScenario(scenario, rate, run.peers);
    if (scenario === CEILING_SCENARIO) ceiling ??= findJavaCeiling(rounds) ?? null;
    const summary = summarise(scenario, rate, rounds, plan.toolCoreCount);
    scenarios.push(summary);
    verdicts.push(...judge(scenario, summary));
    context.onScenario(summary);
  }
  return { starts, ceiling, scenarios, verdicts };
}

class Run {
  readonly #context: RunContext;
  readonly #backend: Backend;
  readonly #path: string;
  peers: RunningPeer[] = [];

  constructor(context: RunContext, backend: Backend) {
    this.#context = context;
    this.#backend = backend;
    this.#path = backend.paths[0] ?? ANY_PATH;
  }

  /** Each peer alone on all cores, several times; before them once more, which fills caches of compiled code and of files. */
  async measureStarts(): Promise<Map<Peer, Start[]>> {
    const { plan, progress } = this.#context;
    const starts = new Map<Peer, Start[]>();
    for (const peer of plan.peers) {
      if (peer === 'direct') continue;
      const own: Start[] = [];
      for (let i = 0; i <= plan.starts; i++) {
        const { running, start } = await this.#start(peer, undefined, `${peer}-start-${i}`);
        await running.child?.stop();
        if (i > 0) own.push(start);
      }
      starts.set(peer, own);
      progress(`start of ${peer}: first call after ${own.map((start) => start.firstCallMs.toFixed(0)).join(', ')} ms`);
    }
    return starts;
  }

  /** Starts the peers for good. The Java Routers may use all cores until they are warm. */
  async startPeers(): Promise<void> {
    const { plan, progress } = this.#context;
    for (const peer of plan.peers) {
      const { running } = await this.#start(peer, isJava(peer) ? undefined : plan.peerCores, peer);
      running.child?.pause();
      this.peers.push(running);
    }
    progress(`peers are up: ${plan.peers.join(', ')}`);
  }

  async #start(peer: Peer, cores: string | undefined, name: string): Promise<{ running: RunningPeer; start: Start }> {
    const { directory, env } = this.#context;
    return startPeer(peer, {
      namenodePort: this.#backend.port,
      directory: join(directory, name),
      cores,
      env,
      path: this.#path,
    });
  }

  /**
   * On one core the compiler of a saturated JVM starves: each Java Router is driven on all cores in bursts with pauses, and only then moved
   * to the core of the peers. A real NameNode is warmed up with them, or alone.
   */
  async warmUpJvms(): Promise<void> {
    const routers = this.peers.filter((running) => isJava(running.peer));
    for (const running of routers) {
      await this.#warmUp(running);
      pinProcess((running.child as Child).pid, this.#context.plan.peerCores);
    }
    if (routers.length === 0 && this.#context.plan.backend === 'rig') {
      await this.#warmUp({ peer: 'direct', port: this.#backend.port, child: undefined });
    }
    pinProcess(this.#backend.child.pid, this.#context.plan.toolCores);
  }

  /** Every closed loop in turn. */
  async #warmUp(running: RunningPeer): Promise<void> {
    const { plan, progress } = this.#context;
    const loads = SCENARIOS.filter((scenario) => scenario.ceilingShare === 0);
    await letRunAlone(running, this.peers);
    const endMs = performance.now() + plan.javaWarmupSeconds * 1000;
    for (let burst = 0; performance.now() < endMs; burst++) {
      const scenario = loads[burst % loads.length] as Scenario;
      const seconds = Math.max(1, Math.min(BURST_SECONDS, Math.round((endMs - performance.now()) / 1000)));
      const { driven } = await this.#drive(running, scenario, 0, seconds, 0);
      progress(`warm-up of ${running.peer}: ${scenario.name} ${describe(driven)}`);
      await sleep(BURST_PAUSE_MS);
    }
  }

  async measureCeiling(): Promise<{ peer: Peer; callsPerSecond: number } | null> {
    const routers = this.peers.filter((running) => isJava(running.peer));
    return findJavaCeiling(await this.measureScenario(CEILING_SCENARIO, 0, routers)) ?? null;
  }

  async measureScenario(scenario: Scenario, rate: number, peers: readonly RunningPeer[]): Promise<RoundsOfPeers> {
    const { plan, progress } = this.#context;
    const rounds = new Map<Peer, Round[]>(peers.map((running) => [running.peer, []]));
    for (let round = 0; round < plan.rounds; round++) {
      // Each round begins with another peer, so that none is always the one after a pause.
      for (let i = 0; i < peers.length; i++) {
        const running = peers[(round + i) % peers.length] as RunningPeer;
        await letRunAlone(running, this.peers);
        const measured = await this.#measureRound(running, scenario, rate, round === 0);
        (rounds.get(running.peer) as Round[]).push(measured);
        progress(`${scenario.name} ${round + 1}/${plan.rounds} ${running.peer}: ${describe(measured.driven)}`);
      }
    }
    return rounds;
  }

  async #measureRound(running: RunningPeer, scenario: Scenario, rate: number, isFirst: boolean): Promise<Round> {
    const { plan } = this.#context;
    const warmupSeconds = isFirst ? WARMUP_SECONDS * 2 : WARMUP_SECONDS;
    await this.#backend.takeConnections();
    const metered = await this.#drive(running, scenario, rate, plan.seconds, warmupSeconds);
    const { driven } = metered;
    if (driven.calls === 0) throw new Error(`${running.peer}: no call was answered: ${driven.firstError}`);
    return {
      ...metered,
      namenodeConnections: (await this.#backend.takeConnections()) ?? null,
      rssBytes: running.child === undefined ? 0 : readRssBytes(running.child.pid),
    };
  }

  #drive(
    running: RunningPeer,
    scenario: Scenario,
    ratePerSecond: number,
    seconds: number,
    warmupSeconds: number,
  ): Promise<Metered> {
    const load = {
      port: running.port,
      connections: scenario.connections,
      inFlight: scenario.inFlight,
      ratePerSecond,
      users: scenario.users,
      seconds,
      warmupSeconds,
      paths: this.#backend.paths,
      watchedPid: running.child?.pid ?? 0,
      cores: this.#context.plan.toolCores,
      env: this.#context.env,
    };
    return driveMetered(load, this.#backend.child.pid, this.#context.plan.peerCores);
  }
}

function describe(driven: Driven): string {
  const cpu =
    driven.cpuSeconds === 0 || driven.calls === 0 ? '' : `, ${cpuMicros(driven).toFixed(2)} µs of CPU per call`;
  const errors = driven.errors === 0 ? '' : `, ${driven.errors} errors: ${driven.firstError}`;
  return `${driven.callsPerSecond.toFixed(0)} calls/s, p50 ${driven.p50.toFixed(0)} µs, p99 ${driven.p99.toFixed(0)} µs${cpu}${errors}`;
}
