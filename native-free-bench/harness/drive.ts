/** One measured load of a bench: starts the loader in a process of its own and returns its numbers. The only place that knows the loader. */

import { fileURLToPath } from 'node:url';
import { Child } from './children.ts';
import type { LoadResult } from './loader.ts';

const LOADER: string = fileURLToPath(new URL('./loader.ts', import.meta.url));
/** Time for a loader to start, connect and report, besides its warm-up and measured time. */
const LOADER_SLACK_MS = 60_000;

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
  /** Paths that are read in turn, beneath the mount; empty: a path for each connection below /mnt. */
  readonly paths: readonly string[];
  /** Process whose CPU and memory are wanted; 0: none. */
  readonly watchedPid: number;
  readonly cores: string | undefined;
  readonly env: NodeJS.ProcessEnv;
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

/** Drives one load to its end. Throws when the loader ends without a result. */
export async function drive(options: Drive): Promise<Driven> {
  const loop = options.ratePerSecond > 0 ? ['--rate', options.ratePerSecond] : ['--depth', options.inFlight];
  const loader = new Child({
    name: `loader on port ${options.port}`,
    command: process.execPath,
    args: [
      LOADER,
      ...['--port', options.port, '--clients', options.connections, ...loop].map(String),
      ...['--seconds', options.seconds, '--warmup', options.warmupSeconds].map(String),
      ...['--cpu-of', String(options.watchedPid)],
    ],
    cores: options.cores,
    env: options.env,
    channel: true,
  });
  const timeoutMs = (options.seconds + options.warmupSeconds) * 1000 + LOADER_SLACK_MS;
  const line = await loader.waitFor((candidate) => candidate['event'] === 'result', timeoutMs);
  await loader.stop();
  const load = line as unknown as LoadResult;
  const loaderBusy = load.loaderCpuSeconds / load.seconds;
  return {
    calls: load.calls,
    seconds: load.seconds,
    callsPerSecond: load.callsPerSecond,
    p50: load.p50,
    p99: load.p99,
    p999: load.p999,
    serviceP50: load.sentP50,
    serviceP99: load.sentP99,
    serviceP999: load.sentP99,
    errors: load.errors,
    firstError: load.firstError,
    cpuSeconds: load.cpuSeconds,
    contextSwitches: 0,
    rssBytes: 0,
    loaderBusy,
    loaderWasTheLimit: loaderBusy > 0.95,
  };
}
