import { readdir, readFile } from 'node:fs/promises';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8';
import type { ThreadView } from '../../control/router-types.ts';
import type { HttpPart } from '../http-server.ts';
import { page } from './page.ts';

const TASKS = '/proc/self/task';
/** Threads of the process that are listed. */
const MAX_TASKS = 256;
const DELAY_RESOLUTION_MS = 20;
const NS_PER_MS = 1e6;
const MIB = 1024 * 1024;
/** States of /proc/PID/task/TID/stat, in Java's words. */
const STATES: Readonly<Record<string, string>> = { R: 'RUNNABLE', S: 'WAITING', D: 'BLOCKED', Z: 'TERMINATED' };

/** `/stacks`: the threads of the process and how busy they are, the delay of the main thread's event loop, what it waits for, its heap. */
export function stacks(threads: () => readonly ThreadView[]): HttpPart {
  return (app) => {
    const delay = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS });
    delay.enable();
    app.addHook('onClose', async () => void delay.disable());
    page(app, '/stacks', async (_, reply) => {
      reply.header('content-type', 'text/plain; charset=utf-8');
      return [
        'Process Thread Dump:',
        ...ownThreads(threads()),
        ...(await systemThreads()),
        ...eventLoop(delay),
        ...pending(),
        ...heap(),
        '',
      ].join('\n');
    });
  };
}

function ownThreads(threads: readonly ThreadView[]): string[] {
  const lines = threads.map(
    ({ name, ready, deaths }) =>
      `  ${name}: ${ready ? 'running' : 'not running'}${deaths > 0 ? `, died ${deaths} times within the last minute` : ''}`,
  );
  return [`${threads.length + 1} threads of the router`, '  main: running', ...lines];
}

/** Those of the operating system, with the processor time of each; nothing where it does not tell. */
async function systemThreads(): Promise<string[]> {
  let ids: string[];
  try {
    ids = await readdir(TASKS);
  } catch {
    return [];
  }
  const lines = await Promise.all(ids.slice(0, MAX_TASKS).map(readTask));
  return ['', `${ids.length} threads of the process`, ...lines.filter((line) => line !== '')];
}

/** '' for one that has ended meanwhile. */
async function readTask(id: string): Promise<string> {
  try {
    const stat = await readFile(`${TASKS}/${id}/stat`, 'latin1');
    const end = stat.lastIndexOf(')');
    const name = stat.slice(stat.indexOf('(') + 1, end);
    const fields = stat.slice(end + 2).split(' ');
    const state = fields[0] ?? '';
    // In hundredths of a second: user and system.
    const seconds = (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / 100;
    return `Thread ${id} (${name}):\n  State: ${STATES[state] ?? state}\n  Processor time: ${seconds} s`;
  } catch {
    return '';
  }
}

function eventLoop(delay: ReturnType<typeof monitorEventLoopDelay>): string[] {
  const ms = (ns: number): string => (Number.isFinite(ns) ? (ns / NS_PER_MS).toFixed(1) : '0.0');
  const { utilization } = performance.eventLoopUtilization();
  return [
    '',
    'Event loop of the main thread since the start',
    `  busy ${(utilization * 100).toFixed(1)} % of the time`,
    `  delay ms: mean ${ms(delay.mean)}, p50 ${ms(delay.percentile(50))}, p99 ${ms(delay.percentile(99))}, max ${ms(delay.max)} (measured every ${DELAY_RESOLUTION_MS} ms, which are in it)`,
  ];
}

/** What keeps the main thread's loop alive, by kind. */
function pending(): string[] {
  const kinds = Map.groupBy(process.getActiveResourcesInfo(), (kind) => kind);
  const lines = [...kinds].map(([kind, all]) => `  ${kind}: ${all.length}`).sort();
  return ['', 'The main thread waits for', ...lines];
}

function heap(): string[] {
  const { used_heap_size: used, total_heap_size: committed, heap_size_limit: limit } = getHeapStatistics();
  const mib = (bytes: number): string => (bytes / MIB).toFixed(1);
  const spaces = getHeapSpaceStatistics().map(
    ({ space_name: name, space_used_size: size }) => `  ${name}: ${mib(size)} MiB`,
  );
  return [
    '',
    `Heap of the main thread: ${mib(used)} MiB used, ${mib(committed)} MiB committed, at most ${mib(limit)} MiB`,
    ...spaces,
    `Resident memory of the process: ${mib(process.memoryUsage.rss())} MiB`,
  ];
}
