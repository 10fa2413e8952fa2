/** One router under more calls than its NameNode can take, from beginning to end. */

import { setTimeout as sleep } from 'node:timers/promises';
import { Caller, getFileInfo, type Tally } from '../pressure/caller.ts';
import type { Namenodes } from '../pressure/namenodes.ts';
import { type RunningPeer, type RunningRouter, takeAlone } from '../pressure/peers.ts';
import { readState, type Stages, type State, settle, Watch } from '../pressure/state.ts';

export interface OverloadOptions {
  readonly namenodes: Namenodes;
  readonly nameservice: string;
  /** Calls that are made. */
  readonly ratePerSecond: number;
  readonly seconds: number;
  readonly connections: number;
  readonly users: number;
  readonly inFlight: number;
}

export interface Overload {
  readonly tally: Tally;
  /** Calls answered with success a second, from the end of the first WARMUP_SHARE of the time on. */
  readonly goodput: number;
  /** One for each SAMPLE_MS. */
  readonly rssBytes: readonly number[];
  readonly before: State;
  readonly after: State;
  readonly fullest: Stages;
  /** How long the bench waited for the answers to what was made. */
  readonly drainMs: number;
}

/** Files that are read; each connection keeps a call to each. */
const FILES = 4;
/** In which queues fill, and windows find their size. */
const WARMUP_SHARE = 0.1;
const CAPACITY_SECONDS = 10;
const SAMPLE_MS = 1_000;
/** After the last call: whoever has no answer by then gets none. */
const ANSWERS_MS = 120_000;
const SETTLE_MS = 15_000;

/** Calls a second that the NameNode answers when the same clients call it without a router. */
export async function measureCapacity(options: OverloadOptions): Promise<number> {
  const caller = await callerOf(options, options.namenodes.portOf(options.nameservice)).start();
  const capacity = await countGoodput(caller, Math.min(options.seconds, CAPACITY_SECONDS) * 1_000);
  await caller.stop(0);
  return capacity;
}

export async function measureOverload(
  options: OverloadOptions,
  router: RunningRouter,
  all: readonly RunningPeer[],
): Promise<Overload> {
  const { namenodes, seconds } = options;
  await takeAlone(router, all, namenodes);
  const before = await readState(router);
  const caller = await callerOf(options, router.port).start();
  const watch = new Watch(router, SAMPLE_MS);
  const goodput = await watch.during(countGoodput(caller, seconds * 1_000));
  const endedMs = performance.now();
  const tally = await caller.stop(ANSWERS_MS);
  return {
    tally,
    goodput,
    rssBytes: watch.states.map(({ rssBytes }) => rssBytes),
    before,
    drainMs: performance.now() - endedMs,
    after: await settle(router, before, SETTLE_MS),
    fullest: watch.fullest,
  };
}

function callerOf({ nameservice, connections, users, ratePerSecond, inFlight }: OverloadOptions, port: number): Caller {
  return new Caller({
    port,
    kinds: Array.from({ length: FILES }, (_, i) => getFileInfo(`/${nameservice}/f${i}`)),
    connections,
    users: Array.from({ length: users }, (_, i) => `user-${i}`),
    ratePerSecond,
    inFlight,
  });
}

async function countGoodput(caller: Caller, ms: number): Promise<number> {
  await sleep(ms * WARMUP_SHARE);
  const fromMs = performance.now();
  const already = caller.succeeded;
  await sleep(ms * (1 - WARMUP_SHARE));
  return (caller.succeeded - already) / ((performance.now() - fromMs) / 1_000);
}
