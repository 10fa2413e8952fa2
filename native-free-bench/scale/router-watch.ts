/**
 * What router and stub NameNode use in the measured time of a load: memory, the CPU time of the router by kind of thread, how often its acceptors
 * went to sleep, and what else was busy. Looks are taken all along; which of them lie in the measured time is known at the end.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { readCoreBusySeconds, readCpuSeconds, readRssBytes } from '../harness/process-meter.ts';
import { median } from '../harness/table.ts';

export const THREAD_KINDS = ['acceptor', 'worker', 'other'] as const;
export type ThreadKind = (typeof THREAD_KINDS)[number];

/**
 * Of the CPU time of the whole process; they add up to 1. With the inline hand-off all of both stands under `acceptor`. `other`: main thread,
 * garbage collection, compilers.
 */
export type ThreadShares = Readonly<Record<ThreadKind, number>>;

export interface RouterUse {
  /** Median of the looks. */
  readonly rssBytes: number;
  readonly shares: ThreadShares;
  /** How often a second the acceptor threads went to sleep, together. */
  readonly acceptorSleepsPerSecond: number;
  /** Share of a core. */
  readonly stubBusy: number;
  /** Share of the router's cores that went to others. */
  readonly othersBusy: number;
}

export interface Watched {
  readonly routerPid: number;
  readonly stubPid: number;
  /** Cores of the router. */
  readonly cores: readonly number[];
  readonly acceptors: number;
  /** 0 with the inline hand-off. */
  readonly workers: number;
  /** Time between two looks. */
  readonly everyMs: number;
}

/** Epoch times. */
export interface Window {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface Look {
  readonly atMs: number;
  readonly rssBytes: number;
  /** Of each thread of the router, by its id. */
  readonly ticks: Ticks;
  readonly acceptorSleeps: number;
  readonly routerSeconds: number;
  readonly coreSeconds: number;
  readonly stubSeconds: number;
}

type Ticks = ReadonlyMap<number, number>;

/** Name that Node gives a worker thread; the router starts its acceptors first, then its workers. */
const THREAD_NAME = 'WorkerThread';
/** /proc/PID/task/TID/stat: utime and stime are the 14th and 15th fields, the 3rd is the first after the name. */
const UTIME = 11;
const STIME = 12;

/** Watches until `ended`; `windowOf` tells the measured time from its result. Throws when one of the processes ends before. */
export async function watchLoad<Result>(
  watched: Watched,
  ended: Promise<Result>,
  windowOf: (result: Result) => Window,
): Promise<readonly [Result, RouterUse]> {
  const threads = findThreads(watched.routerPid);
  const looks: Look[] = [];
  let failure: unknown;
  const timer = setInterval(() => {
    if (failure !== undefined) return;
    try {
      looks.push(look(watched, threads));
    } catch (error) {
      failure = error;
    }
  }, watched.everyMs);
  try {
    const result = await ended;
    if (failure !== undefined) throw failure;
    return [result, sumUse(looks, windowOf(result), threads, watched)];
  } finally {
    clearInterval(timer);
  }
}

/** What was used from the first look within the window to the last. */
export function sumUse(
  looks: readonly Look[],
  window: Window,
  threads: readonly number[],
  kinds: Pick<Watched, 'acceptors' | 'workers' | 'cores'>,
): RouterUse {
  const within = looks.filter(({ atMs }) => atMs >= window.fromMs && atMs <= window.toMs);
  const [first] = within;
  const last = within.at(-1);
  if (first === undefined || last === undefined || first === last) {
    throw new Error('the router was not looked at twice in the measured time: measure longer (--seconds)');
  }
  const seconds = (last.atMs - first.atMs) / 1000;
  const others = last.coreSeconds - first.coreSeconds - (last.routerSeconds - first.routerSeconds);
  return {
    rssBytes: median(within.map(({ rssBytes }) => rssBytes)),
    shares: shareTicks(first.ticks, last.ticks, threads, kinds),
    acceptorSleepsPerSecond: (last.acceptorSleeps - first.acceptorSleeps) / seconds,
    stubBusy: (last.stubSeconds - first.stubSeconds) / seconds,
    // The kernel counts cores and processes apart, in ticks.
    othersBusy: Math.max(0, others / seconds / kinds.cores.length),
  };
}

/** `workerThreads`: ids of the threads with their own event loop, oldest first. */
export function shareTicks(
  first: Ticks,
  last: Ticks,
  workerThreads: readonly number[],
  threads: { readonly acceptors: number; readonly workers: number },
): ThreadShares {
  let all = 0;
  let acceptor = 0;
  let worker = 0;
  for (const [thread, ticks] of last) {
    const used = ticks - (first.get(thread) ?? 0);
    const at = workerThreads.indexOf(thread);
    all += used;
    if (at >= 0 && at < threads.acceptors) acceptor += used;
    else if (at >= 0 && at < threads.acceptors + threads.workers) worker += used;
  }
  if (all === 0) return { acceptor: 0, worker: 0, other: 1 };
  return { acceptor: acceptor / all, worker: worker / all, other: (all - acceptor - worker) / all };
}

function look(watched: Watched, threads: readonly number[]): Look {
  const { routerPid, stubPid, cores, acceptors } = watched;
  return {
    atMs: performance.timeOrigin + performance.now(),
    rssBytes: readRssBytes(routerPid),
    ticks: readTicks(routerPid),
    acceptorSleeps: threads.slice(0, acceptors).reduce((sum, thread) => sum + readSleeps(routerPid, thread), 0),
    routerSeconds: readCpuSeconds(routerPid),
    coreSeconds: cores.reduce((sum, core) => sum + readCoreBusySeconds(core), 0),
    stubSeconds: readCpuSeconds(stubPid),
  };
}

function findThreads(pid: number): number[] {
  return listThreads(pid).filter((thread) => readTask(pid, thread, 'comm').trim() === THREAD_NAME);
}

function readTicks(pid: number): Ticks {
  return new Map(
    listThreads(pid).map((thread) => {
      const stat = readTask(pid, thread, 'stat');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return [thread, stat === '' ? 0 : Number(fields[UTIME]) + Number(fields[STIME])];
    }),
  );
}

function readSleeps(pid: number, thread: number): number {
  return Number(/^voluntary_ctxt_switches:\s+(\d+)$/m.exec(readTask(pid, thread, 'status'))?.[1] ?? 0);
}

function listThreads(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`)
    .map(Number)
    .sort((a, b) => a - b);
}

/** '' for a thread that has ended since it was listed. */
function readTask(pid: number, thread: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/task/${thread}/${file}`, 'latin1');
  } catch {
    return '';
  }
}
