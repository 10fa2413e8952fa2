/**
 * One leg of a pair: calls of all clients for some seconds, to a nameservice that is well or sick and to the others, and what the others saw.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { type Driven, drive } from '../harness/drive.ts';
import { Caller, type CallKind, getFileInfo, getListing, type Tally } from '../pressure/caller.ts';
import { ALL_MOUNT, type Fault, type Namenodes } from '../pressure/namenodes.ts';
import { type RunningPeer, takeAlone } from '../pressure/peers.ts';
import { readState, type Stages, type State, settle, Watch } from '../pressure/state.ts';

export interface LegOptions {
  readonly namenodes: Namenodes;
  /** The one that gets sick. */
  readonly sick: string;
  readonly seconds: number;
  readonly warmupSeconds: number;
  /** Of the others' load, an open loop; 0: closed. */
  readonly ratePerSecond: number;
  readonly connections: number;
  /** To the sick one in the measured time, half of them fan out. */
  readonly sickCalls: number;
  readonly toolCores: string;
  readonly env: NodeJS.ProcessEnv;
}

/** What the others saw, and what became of the calls to the one nameservice. */
export interface Leg {
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Answered with success, a second. */
  readonly throughput: number;
  readonly errors: number;
  readonly firstError: string;
  readonly loaderWasTheLimit: boolean;
  /** Calls to the one nameservice alone. */
  readonly ownP99Ms: number;
  readonly sick: Tally;
  readonly before: State;
  readonly after: State;
  readonly fullest: Stages;
}

export interface SickLeg extends Leg {
  /** From the end of the fault until calls to the nameservice take what they took before; null: longer than RECOVERY_MS. */
  readonly recoveryMs: number | null;
}

export const RECOVERY_MS = 60_000;
/** What is asked after a fault: so many calls a second, until so many in a row are as quick as before. */
const PROBES_PER_SECOND = 50;
const PROBES_IN_A_ROW = 20;
const PROBE_LOOK_MS = 20;
/** A call is as quick as before when it takes at most this many times the p99 of before, or this long. */
const QUICK_RATIO = 2;
const QUICK_MS = 20;
const SICK_FILES = 8;
const SICK_CONNECTIONS = 50;
const SICK_IN_FLIGHT = 1_024;
/** Calls that a fault kept have so long for their answers after it. */
const ANSWERS_MS = 60_000;
const SETTLE_MS = 15_000;
const LOOK_MS = 500;

export async function measureWell(options: LegOptions, peer: RunningPeer, all: readonly RunningPeer[]): Promise<Leg> {
  await takeAlone(peer, all, options.namenodes);
  const before = await readState(peer);
  const { caller, ...measured } = await load(options, peer);
  const sick = await caller.stop(ANSWERS_MS);
  return { ...measured, sick, before, after: await readState(peer) };
}

/** `wellP99Ms`: of calls to the nameservice when it is well. */
export async function measureSick(
  options: LegOptions,
  peer: RunningPeer,
  all: readonly RunningPeer[],
  fault: Fault,
  wellP99Ms: number,
): Promise<SickLeg> {
  const { namenodes, sick } = options;
  await takeAlone(peer, all, namenodes);
  const before = await readState(peer);
  await namenodes.makeSick(sick, fault);
  const { caller, ...measured } = await load(options, peer).finally(() => namenodes.heal(sick, fault));
  // The calls of before go on waiting for their answers, as those of clients do.
  const [recoveryMs, tally] = await Promise.all([
    awaitRecovery(peer, sick, Math.max(QUICK_MS, wellP99Ms * QUICK_RATIO)),
    caller.stop(ANSWERS_MS),
  ]);
  return { ...measured, sick: tally, recoveryMs, before, after: await settle(peer, before, SETTLE_MS) };
}

type Loaded = Omit<Leg, 'sick' | 'before' | 'after'> & { readonly caller: Caller };

async function load(options: LegOptions, peer: RunningPeer): Promise<Loaded> {
  const { namenodes, sick, seconds, warmupSeconds, ratePerSecond, connections, sickCalls, toolCores, env } = options;
  const single = Array.from({ length: SICK_FILES }, (_, i) => getFileInfo(`/${sick}/f${i}`));
  const times: number[] = [];
  const caller = await new Caller({
    port: peer.port,
    kinds: single.flatMap((kind) => [kind, getListing(ALL_MOUNT)]),
    connections: SICK_CONNECTIONS,
    users: ['batch'],
    ratePerSecond: sickCalls / seconds,
    inFlight: SICK_IN_FLIGHT,
    onAnswer: (kind: CallKind, sentAtMs, error) => {
      if (error === '' && kind.method === 'getFileInfo') times.push(performance.now() - sentAtMs);
    },
  }).start();
  const watch = new Watch(peer, LOOK_MS);
  const driven: Driven = await watch.during(
    drive({
      port: peer.port,
      connections,
      inFlight: 1,
      ratePerSecond,
      users: 1,
      seconds,
      warmupSeconds,
      paths: namenodes.pathsOf(namenodes.ids.filter((id) => id !== sick)),
      watchedPid: 0,
      cores: toolCores,
      env,
    }),
  );
  return {
    p50Ms: driven.p50 / 1_000,
    p99Ms: driven.p99 / 1_000,
    throughput: driven.callsPerSecond * (1 - driven.errors / Math.max(1, driven.calls)),
    errors: driven.errors,
    firstError: driven.firstError,
    loaderWasTheLimit: driven.loaderWasTheLimit,
    ownP99Ms: quantile(times, 0.99),
    fullest: watch.fullest,
    caller,
  };
}

/** Asks until enough calls in a row, in the order in which they were made, were answered within `quickMs`. */
async function awaitRecovery(peer: RunningPeer, sick: string, quickMs: number): Promise<number | null> {
  const healedAtMs = performance.now();
  const answers: { sentAtMs: number; isGood: boolean }[] = [];
  const prober = await new Caller({
    port: peer.port,
    kinds: [getFileInfo(`/${sick}/f0`)],
    connections: 4,
    users: ['bench'],
    ratePerSecond: PROBES_PER_SECOND,
    inFlight: SICK_IN_FLIGHT,
    onAnswer: (_, sentAtMs, error) => {
      answers.push({ sentAtMs, isGood: error === '' && performance.now() - sentAtMs <= quickMs });
    },
  }).start();
  try {
    while (performance.now() - healedAtMs < RECOVERY_MS) {
      await sleep(PROBE_LOOK_MS);
      const first = firstOfRow(answers, PROBES_IN_A_ROW);
      if (first !== null) return Math.max(0, first - healedAtMs);
    }
    return null;
  } finally {
    await prober.stop(0);
  }
}

/** When the first of `count` good calls in a row was made; the order is that of the calls, not of their answers. */
export function firstOfRow(
  answers: readonly { readonly sentAtMs: number; readonly isGood: boolean }[],
  count: number,
): number | null {
  const inOrder = answers.toSorted((a, b) => a.sentAtMs - b.sentAtMs);
  let row = 0;
  for (const [i, { isGood }] of inOrder.entries()) {
    row = isGood ? row + 1 : 0;
    if (row === count) return inOrder[i - count + 1]?.sentAtMs ?? null;
  }
  return null;
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
