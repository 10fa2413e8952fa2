/**
 * Bench of isolation: one of several nameservices gets sick while calls go to it, alone and as part of others. What do callers of the other
 * nameservices see, and how soon is it back? Pairs of a leg with it well and one with it sick, in turn with the other routers.
 *
 *   npm run bench:isolation -- [--cases dead,hung,standby,slow,erroring,flapping] [--peers ring,inline,java,java-fair] [--pairs N] [--seconds S]
 *     [--nameservices N] [--backend simulator|rig] [--rate CALLS_PER_SECOND] [--closed] [--connections N] [--calls N] [--java-warmup S] [--quick] [--json FILE]
 *     [--markdown FILE]
 *
 * It reports and does not judge: exit 1 only when it cannot measure. ../README.md says what each number means.
 */

import { pinProcess } from '../against/peers.ts';
import { readArguments, readNames, readNumber, readWhole } from '../harness/arguments.ts';
import { pinThisProcess, stopAll } from '../harness/children.ts';
import { makeRunDirectory } from '../harness/run-directory.ts';
import { FAULTS, type Fault, SimulatedNamenodes } from '../pressure/namenodes.ts';
import { type RunningRouter, startPeers } from '../pressure/peers.ts';
import { COMMON_OPTIONS, describePlan, progress, readCommonPlan, writeResults } from '../pressure/plan.ts';
import { REAL_FAULTS, RigNamenodes } from '../pressure/rig-namenodes.ts';
import { type Figures, type Pair, summarise } from './figures.ts';
import { type Leg, type LegOptions, measureSick, measureWell } from './leg.ts';
import { markdownReport, printReport } from './report.ts';

const values = readArguments({
  ...COMMON_OPTIONS,
  backend: { type: 'string' },
  cases: { type: 'string' },
  pairs: { type: 'string' },
  seconds: { type: 'string' },
  nameservices: { type: 'string' },
  rate: { type: 'string' },
  closed: { type: 'boolean', default: false },
  connections: { type: 'string' },
  calls: { type: 'string' },
});
const plan = readCommonPlan(values, false);
const [backend] = readNames({ backend: 'simulator', ...values }, 'backend', ['simulator', 'rig']);
const isReal = backend === 'rig';
const faults = readNames<Fault>(values, 'cases', isReal ? REAL_FAULTS : FAULTS);
const pairs = readWhole(values, 'pairs', 1, 1_000, plan.quick ? 1 : 9);
const seconds = readNumber(values, 'seconds', 1, 3_600, plan.quick ? 2 : 5);
const nameservices = readWhole(values, 'nameservices', 2, 32, 4);
const rate = values['closed'] === true ? 0 : readWhole(values, 'rate', 1, 100_000, 2_000);
const connections = readWhole(values, 'connections', 1, 1_000, 32);
const calls = readWhole(values, 'calls', 1, 1_000_000, plan.quick ? 500 : 5_000);
const directory = makeRunDirectory('isolation');
pinThisProcess(plan.cores.toolCores);

await using namenodes = await (isReal
  ? RigNamenodes.start(nameservices, directory)
  : SimulatedNamenodes.start(nameservices));
try {
  const loop =
    rate === 0 ? `closed loop of ${connections} connections` : `${rate} calls/s over ${connections} connections`;
  const conditions =
    `${describePlan(plan)}; ${nameservices} nameservices of two ${isReal ? 'real NameNodes' : 'simulated NameNodes, calls take 1 ms'}; to the others: ${loop}; to the one: ${calls} calls ` +
    `in ${seconds} s, half of them listings over all nameservices; median of ${pairs} interleaved pairs`;
  process.stdout.write(`${conditions}\n\n`);
  const peers = await startPeers({ ...plan, namenodes, directory, isFair: false, areNamenodesCold: isReal, progress });
  // Until here the JVM of real NameNodes had all cores.
  if (namenodes instanceof RigNamenodes) pinProcess(namenodes.child.pid, plan.cores.toolCores);
  const options: LegOptions = {
    namenodes,
    sick: namenodes.ids.at(-1) as string,
    seconds,
    warmupSeconds: 1,
    ratePerSecond: rate,
    connections,
    sickCalls: calls,
    toolCores: plan.cores.toolCores,
    env: directory.env,
  };
  // Connections to NameNodes, and what is compiled and taken for good: not what a fault leaves behind.
  for (const peer of peers) await measureWell(options, peer, peers);
  const figures: Figures[] = [];
  for (const fault of faults) figures.push(...(await measureFault(fault, options, peers)));
  process.stdout.write(`${printReport(figures)}\n`);
  const result = { backend, pairs, seconds, nameservices, rate, connections, calls, figures };
  writeResults(values, plan, result, markdownReport(conditions, figures));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  await stopAll();
}

async function measureFault(fault: Fault, options: LegOptions, peers: readonly RunningRouter[]): Promise<Figures[]> {
  const measured = new Map<RunningRouter, Pair[]>(peers.map((peer) => [peer, []]));
  for (let i = 0; i < pairs; i++) {
    for (const peer of peers) {
      const pair = await measurePair(
        fault,
        options,
        peer,
        peers,
        i % 2 === 1 ? measured.get(peer)?.at(-1)?.well : undefined,
      );
      measured.get(peer)?.push(pair);
      const { well, sick } = pair;
      progress(
        `${fault} ${i + 1}/${pairs} ${peer.peer}: p99 ${well.p99Ms.toFixed(2)} and ${sick.p99Ms.toFixed(2)} ms, ` +
          `${well.throughput.toFixed(0)} and ${sick.throughput.toFixed(0)} calls/s, back after ${sick.recoveryMs?.toFixed(0) ?? 'too many'} ms`,
      );
    }
  }
  return [...measured].map(([peer, own]) => summarise(fault, peer.peer, own));
}

/** `last`: the well leg of the pair before; then the sick leg comes first, and that one says what is usual. */
async function measurePair(
  fault: Fault,
  options: LegOptions,
  peer: RunningRouter,
  all: readonly RunningRouter[],
  last: Leg | undefined,
): Promise<Pair> {
  if (last !== undefined) {
    const sick = await measureSick(options, peer, all, fault, last.ownP99Ms);
    return { sick, well: await measureWell(options, peer, all) };
  }
  const well = await measureWell(options, peer, all);
  return { well, sick: await measureSick(options, peer, all, fault, well.ownP99Ms) };
}
