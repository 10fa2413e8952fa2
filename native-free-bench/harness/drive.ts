/** One measured load of a bench: `switchyard load` in a process of its own. The only place that knows how the load is made. */

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LoadResult } from '../../src/load/result/result.ts';
import { Child } from './children.ts';
import { ROUTER_SOURCES } from './proxies.ts';

/** Time for the load tool to start, connect, wait for the last replies and report, besides its warm-up and measured time. */
const SLACK_MS = 60_000;
/** Calls without a reply that one connection may have in an open loop. */
const OPEN_LOOP_IN_FLIGHT = 1024;
/** And all connections together: below what the load tool takes. */
const MOST_OPEN_LOOP_CALLS = 1 << 20;
/** Paths that are read when a bench names none. */
const PATH_COUNT = 1024;
/** Another router stands where ours does; the load itself is always made by this tree. */
const LOAD_TOOL = ROUTER_SOURCES;

export interface Drive {
  readonly port: number;
  readonly connections: number;
  /** Calls in flight of each connection in a closed loop. */
  readonly inFlight: number;
  /** Calls a second of all connections in an open loop; 0: closed loop. */
  readonly ratePerSecond: number;
  /** Users among whom the connections are divided. */
  readonly users: number;
  readonly seconds: number;
  readonly warmupSeconds: number;
  /** Paths that are read at random; empty: `benchPaths()`, below /mnt. */
  readonly paths: readonly string[];
  /** Process whose CPU and memory are wanted; 0: none. */
  readonly watchedPid: number;
  readonly cores: string | undefined;
  readonly env: NodeJS.ProcessEnv;
  /** Ends the load after so many calls instead of `seconds`. */
  readonly calls?: number;
}

/** Times in µs. */
export interface Driven {
  readonly calls: number;
  readonly seconds: number;
  readonly callsPerSecond: number;
  /** From the due time in an open loop, from the write in a closed one. */
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  /** From the write. */
  readonly serviceP50: number;
  readonly serviceP99: number;
  readonly serviceP999: number;
  readonly errors: number;
  readonly firstError: string;
  /** Of the watched process, in the measured time. */
  readonly cpuSeconds: number;
  /** Voluntary and involuntary context switches of all its threads. */
  readonly contextSwitches: number;
  readonly rssBytes: number;
  /** CPU seconds of the loader per second. */
  readonly loaderBusy: number;
  readonly loaderWasTheLimit: boolean;
}

/** Drives one load to its end. Throws when the load tool ends without a result. */
export async function drive(options: Drive): Promise<Driven> {
  return summarise(await driveLoad(options));
}

/** The same with all that the load tool says. */
export async function driveLoad(options: Drive): Promise<LoadResult> {
  const directory = mkdtempSync(join(tmpdir(), 'switchyard-load-'));
  try {
    const pathFile = join(directory, 'paths.txt');
    const resultFile = join(directory, 'result.json');
    writeFileSync(pathFile, `${(options.paths.length > 0 ? options.paths : benchPaths()).join('\n')}\n`);
    const loader = new Child({
      name: `load on port ${options.port}`,
      command: process.execPath,
      args: [LOAD_TOOL, 'load', ...flagsOf(options), '--paths', `@${pathFile}`, '--json', resultFile],
      cores: options.cores,
      env: options.env,
    });
    const limitMs = (options.seconds + options.warmupSeconds) * 1000 + SLACK_MS;
    const { code, words } = await loader.finish(options.calls === undefined ? limitMs : limitMs * 10);
    const text = existsSync(resultFile) ? readFileSync(resultFile, 'utf8') : '';
    if (text === '') throw new Error(`${loader.name} ended with code ${code} and no result: ${words.trim()}`);
    return JSON.parse(text) as LoadResult;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function flagsOf(options: Drive): string[] {
  const { ratePerSecond, calls, users, watchedPid } = options;
  return [
    ...['--fs', `hdfs://127.0.0.1:${options.port}`, '--user', 'bench', '--mix', 'getFileInfo=1'],
    ...['--connections', String(options.connections)],
    ...['--in-flight', String(ratePerSecond > 0 ? openLoopInFlight(options.connections) : options.inFlight)],
    ...(ratePerSecond > 0 ? ['--rate', String(ratePerSecond)] : ['--closed']),
    ...(calls === undefined ? ['--duration', milliseconds(options.seconds)] : ['--calls', String(calls)]),
    ...['--warmup', milliseconds(options.warmupSeconds)],
    ...(users > 1 ? ['--users', String(users)] : []),
    ...(watchedPid > 0 ? ['--pid', String(watchedPid)] : []),
  ];
}

function openLoopInFlight(connections: number): number {
  return Math.min(OPEN_LOOP_IN_FLIGHT, Math.floor(MOST_OPEN_LOOP_CALLS / connections));
}

function milliseconds(seconds: number): string {
  return `${Math.round(seconds * 1000)}ms`;
}

/** Paths of such a length that a call of getFileInfo takes 160 bytes. */
export function benchPaths(count: number = PATH_COUNT): string[] {
  return Array.from(
    { length: count },
    (_, i) => `/mnt/warehouse/orders/year=2026/month=11/part-m-${String(i).padStart(7, '0')}.orc`,
  );
}

export function summarise(result: LoadResult): Driven {
  const { corrected, service } = result.latency;
  const { watched, loader } = result;
  const [firstError] = result.errorClasses;
  return {
    calls: result.calls,
    seconds: result.measuredMs / 1000,
    callsPerSecond: result.callsPerSecond,
    p50: corrected.p50,
    p99: corrected.p99,
    p999: corrected.p999,
    serviceP50: service.p50,
    serviceP99: service.p99,
    serviceP999: service.p999,
    errors: result.errors,
    firstError: firstError === undefined ? '' : `${firstError.class}: ${firstError.firstMessage}`,
    cpuSeconds: watched?.cpuSeconds ?? 0,
    contextSwitches: watched === null ? 0 : watched.voluntarySwitches + watched.involuntarySwitches,
    rssBytes: watched?.rssEndBytes ?? 0,
    loaderBusy: loader.cpuShare,
    loaderWasTheLimit: loader.wasTheLimit,
  };
}
