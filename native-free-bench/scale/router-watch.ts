/** What the process of a router uses while a load runs: resident memory, and how its CPU time is divided among its threads. */

import { readdirSync, readFileSync } from 'node:fs';
import { readRssBytes } from '../harness/process-meter.ts';
import { median } from '../harness/table.ts';

export interface ThreadShares {
  /** Of the CPU time of the whole process; they add up to 1. With the inline hand-off all of both stands under `acceptor`. */
  readonly acceptor: number;
  readonly worker: number;
  /** Main thread, garbage collection, compilers. */
  readonly other: number;
}

export interface RouterUse {
  /** Median of the last quarter of the samples. */
  readonly rssBytes: number;
  readonly shares: ThreadShares;
}

/** Name that Node gives a worker thread; the router starts its acceptors first, then its workers. */
const THREAD_NAME = 'WorkerThread';
const SAMPLE_MS = 200;
/** /proc/PID/task/TID/stat: utime and stime are the 14th and 15th fields, the 3rd is the first after the name. */
const UTIME = 11;
const STIME = 12;

type Ticks = ReadonlyMap<number, number>;

/**
 * Watches until `ended`, from `afterMs` on. `threads` is the number of acceptors, and of workers; 0 workers with the inline hand-off.
 * Throws when the process ends before.
 */
export async function watchRouter<Result>(
  pid: number,
  threads: { readonly acceptors: number; readonly workers: number },
  afterMs: number,
  ended: Promise<Result>,
): Promise<readonly [Result, RouterUse]> {
  const rssSamples: number[] = [];
  let first: Ticks | undefined;
  let last: Ticks | undefined;
  let failure: unknown;
  const startMs = performance.now();
  const timer = setInterval(() => {
    if (performance.now() - startMs < afterMs || failure !== undefined) return;
    try {
      rssSamples.push(readRssBytes(pid));
      last = readTicks(pid);
      first ??= last;
    } catch (error) {
      failure = error;
    }
  }, SAMPLE_MS);
  try {
    const result = await ended;
    if (failure !== undefined) throw failure;
    if (rssSamples.length === 0) rssSamples.push(readRssBytes(pid));
    const shares = shareTicks(first ?? new Map(), last ?? readTicks(pid), findThreads(pid), threads);
    return [result, { rssBytes: median(rssSamples.slice(-Math.ceil(rssSamples.length / 4))), shares }];
  } finally {
    clearInterval(timer);
  }
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
