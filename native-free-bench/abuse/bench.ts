/**
 * Bench of abuse: what callers see while another client does something unreasonable. Pairs of a leg without and one with it, in turn with the
 * other routers; all of them have Hadoop's fair call queue.
 *
 *   npm run bench:abuse -- [--cases greedy-user,storm,never-reads,big-frames,half-open] [--peers direct,ring,inline,java,java-fair] [--pairs N]
 *     [--seconds S] [--rate CALLS_PER_SECOND] [--sockets N] [--java-warmup S] [--quick] [--json FILE] [--markdown FILE]
 *
 * It reports and does not judge: exit 1 only when it cannot measure. ../README.md says what each number means.
 */

import { setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { readArguments, readNames, readNumber, readWhole } from '../harness/arguments.ts';
import { Child, pinThisProcess, stopAll } from '../harness/children.ts';
import { type Driven, drive } from '../harness/drive.ts';
import { readDescriptorLimit } from '../harness/process-meter.ts';
import { makeRunDirectory } from '../harness/run-directory.ts';
import { startStub } from '../harness/running-stub.ts';
import { SimulatedNamenodes } from '../pressure/namenodes.ts';
import { DIRECT, type RunningPeer, startPeers, takeAlone } from '../pressure/peers.ts';
import { COMMON_OPTIONS, describePlan, progress, readCommonPlan, writeResults } from '../pressure/plan.ts';
import { readState, settle, Watch } from '../pressure/state.ts';
import { ATTACKS, type Attack, type Done } from './attacks.ts';
import { type Figures, type Leg, type Pair, summarise } from './figures.ts';
import { markdownReport, printReport } from './report.ts';

const ATTACKER = fileURLToPath(new URL('./attacker.ts', import.meta.url));
const NAMESERVICES = 2;
/** Served by the stub NameNode: what abusers ask must not be the others' NameNodes' trouble. */
const ABUSED = 'abused';
const SHARED = 'ns0';
const ABUSED_REPLY_BYTES = 64 * 1024;
const USERS = 8;
/** The greedy user's rate beside that of each of the others. */
const GREED = 50;
const CONNECTIONS = 32;
const WARMUP_SECONDS = 1;
/** The scheduler of Hadoop's fair queue looks at who asks how much each 5 s. */
const GREEDY_WARMUP_SECONDS = 6;
/** Most calls a second of each NameNode while one user is greedy, as a share of what is asked. */
const GREEDY_CAP = 0.5;
/** Descriptors of attacker and router besides the sockets of an attack. */
const OTHER_DESCRIPTORS = 500;
const SOCKETS = 10_000;
/** Of what abusers call: it must not slow down the load that measures. */
const LEAST_PRIORITY = 19;
const READY_MS = 30_000;
const SETTLE_MS = 15_000;
const LOOK_MS = 250;

const values = readArguments({
  ...COMMON_OPTIONS,
  cases: { type: 'string' },
  pairs: { type: 'string' },
  seconds: { type: 'string' },
  rate: { type: 'string' },
  sockets: { type: 'string' },
});
const plan = readCommonPlan(values, true);
const attacks = readNames(values, 'cases', ATTACKS);
const pairs = readWhole(values, 'pairs', 1, 1_000, plan.quick ? 1 : 9);
const seconds = readNumber(values, 'seconds', 1, 3_600, plan.quick ? 2 : 5);
const rate = readWhole(values, 'rate', USERS, 100_000, 400);
const mostSockets = readDescriptorLimit() - OTHER_DESCRIPTORS;
const sockets = Math.min(mostSockets, readWhole(values, 'sockets', 1, 60_000, plan.quick ? 1_000 : SOCKETS));
const greedyRate = (GREED * rate) / USERS;
const directory = makeRunDirectory('abuse');
pinThisProcess(plan.cores.toolCores);

await using namenodes = await SimulatedNamenodes.start(NAMESERVICES);
try {
  const conditions =
    `${describePlan(plan)}; ${NAMESERVICES} nameservices, calls take 1 ms; the others: ${USERS} users, together ${rate} calls/s over ` +
    `${CONNECTIONS} connections; the greedy one ${greedyRate} calls/s to NameNodes that do ${capOf()}; ${sockets} sockets; median of ${pairs} ` +
    `interleaved pairs of legs of ${seconds} s`;
  process.stdout.write(`${conditions}\n\n`);
  const stub = await startStub(plan.cores.toolCores, directory.env);
  await stub.child.ask(JSON.stringify({ delayMs: 0, replyBytes: ABUSED_REPLY_BYTES }));
  setPriority(stub.child.pid, LEAST_PRIORITY);
  namenodes.add(ABUSED, stub.port);
  const routers = await startPeers({ ...plan, namenodes, directory, isFair: true, progress });
  const direct: RunningPeer = { peer: DIRECT, port: namenodes.portOf(SHARED), http: '', child: undefined };
  const peers: RunningPeer[] = [...(plan.hasDirect ? [direct] : []), ...routers];
  for (const peer of peers) await measure(null, peer, peers);
  const figures: Figures[] = [];
  for (const attack of attacks) figures.push(...(await measureAttack(attack, peers)));
  process.stdout.write(`${printReport(figures)}\n`);
  writeResults(values, plan, { pairs, seconds, rate, sockets, figures }, markdownReport(conditions, figures));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  await stopAll();
}

async function measureAttack(attack: Attack, peers: readonly RunningPeer[]): Promise<Figures[]> {
  const measured = new Map<RunningPeer, Pair[]>(peers.map((peer) => [peer, []]));
  await namenodes.setCap(attack === 'greedy-user' ? capOf() : 0);
  for (let i = 0; i < pairs; i++) {
    for (const peer of peers) {
      const first = await measure(attack, peer, peers, i % 2 === 1);
      const second = await measure(attack, peer, peers, i % 2 === 0);
      const pair = i % 2 === 0 ? { calm: first, attacked: second } : { calm: second, attacked: first };
      measured.get(peer)?.push(pair);
      progress(
        `${attack} ${i + 1}/${pairs} ${peer.peer}: p99 ${pair.calm.p99Ms.toFixed(2)} and ${pair.attacked.p99Ms.toFixed(2)} ms`,
      );
    }
  }
  await namenodes.setCap(0);
  return [...measured].map(([peer, own]) => summarise(attack, peer.peer, own));
}

/** `attack` tells how the others call; whether it is made, `isMade`. */
async function measure(
  attack: Attack | null,
  peer: RunningPeer,
  peers: readonly RunningPeer[],
  isMade = false,
): Promise<Leg> {
  await takeAlone(peer, peers, namenodes);
  const before = await readState(peer);
  const attacker = attack !== null && isMade ? await startAttacker(attack, peer) : null;
  const watch = new Watch(peer, LOOK_MS);
  const driven = await watch.during(driveOthers(attack, peer));
  const done = attacker === null ? null : ((await attacker.ask('end')) as Done);
  await attacker?.stop();
  return {
    p50Ms: driven.p50 / 1_000,
    p99Ms: driven.p99 / 1_000,
    throughput: driven.callsPerSecond * (1 - driven.errors / Math.max(1, driven.calls)),
    errors: driven.errors,
    firstError: driven.firstError,
    loaderWasTheLimit: driven.loaderWasTheLimit,
    before,
    after: isMade ? await settle(peer, before, SETTLE_MS) : await readState(peer),
    mostRssBytes: watch.mostRssBytes,
    fullest: watch.fullest,
    done,
  };
}

function driveOthers(attack: Attack | null, peer: RunningPeer): Promise<Driven> {
  const isGreed = attack === 'greedy-user';
  return drive({
    port: peer.port,
    connections: CONNECTIONS,
    inFlight: 1,
    ratePerSecond: rate,
    users: USERS,
    seconds,
    warmupSeconds: isGreed ? GREEDY_WARMUP_SECONDS : WARMUP_SECONDS,
    // The greedy user calls where the others do.
    paths: namenodes.pathsOf(isGreed || peer.child === undefined ? [SHARED] : namenodes.ids),
    watchedPid: 0,
    cores: plan.cores.toolCores,
    env: directory.env,
  });
}

/** Without a router what is abused is the NameNode itself. */
async function startAttacker(attack: Attack, peer: RunningPeer): Promise<Child> {
  const target = attack === 'greedy-user' ? SHARED : ABUSED;
  const port = peer.child === undefined && target === ABUSED ? namenodes.portOf(ABUSED) : peer.port;
  const child = new Child({
    name: `attacker (${attack})`,
    command: process.execPath,
    args: [
      ...[
        ATTACKER,
        '--attack',
        attack,
        '--port',
        String(port),
        '--path',
        `/${attack === 'greedy-user' ? SHARED : ABUSED}/f0`,
      ],
      ...['--connections', String(sockets), '--rate', String(greedyRate)],
    ],
    cores: plan.cores.toolCores,
    env: directory.env,
    channel: true,
  });
  await child.waitFor((line) => line['ready'] === true, READY_MS);
  return child;
}

function capOf(): number {
  return Math.round((greedyRate + rate) * GREEDY_CAP);
}
