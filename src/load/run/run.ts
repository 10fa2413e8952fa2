import { MarkerRenewal } from '../namespace/marker-renewal.ts';
import { type PrepareOptions, prepareNamespace } from '../namespace/namespace.ts';
import { removeNamespace } from '../namespace/removal.ts';
import { needsNamespace } from '../plan/needs.ts';
import type { LoadPlan, ReplayCall } from '../plan/plan.ts';
import { warmupMs } from '../plan/warmup.ts';
import { collectResult } from '../result/collect.ts';
import type { LoadResult, SeriesPoint } from '../result/result.ts';
import { LoadError } from './load-error.ts';
import { LoaderThreads } from './loader-threads.ts';
import { ProcessMeter } from './process-meter.ts';
import { type SecondCounts, SecondsMerge } from './seconds.ts';
import { ProcessWatch } from './watch.ts';

export { warmupMs } from '../plan/warmup.ts';
export { LoadError } from './load-error.ts';

export interface RunOptions {
  /** Calls of a replay, by time; for a plan with the loop `replay`. */
  readonly replay?: readonly ReplayCall[];
  /** Each second when all threads have reported it, in order; the counts are valid during the call. */
  readonly onSecond?: (point: SeriesPoint, counts: SecondCounts) => void;
  /** Ends the run early; what was measured until then is the result. */
  readonly signal?: AbortSignal;
}

/** Time for the message `begin` to reach all threads. */
const BEGIN_DELAY_MS = 50;

/** Points that a result keeps: more than two days. What comes later still goes to onSecond. */
const MAX_SERIES_POINTS = 200_000;

/**
 * The own directories of the plan are there while `use` runs, and removed when it has ended, well or not. The signal ends the preparation
 * early; what it ends in `use` is the caller's business. Nothing is made when the plan only reads paths that are there. Rejects with LoadError; an
 * error of the removal does not hide one of `use`.
 */
export async function withNamespace<T>(
  plan: LoadPlan,
  use: () => Promise<T>,
  signal?: AbortSignal,
  more: Omit<PrepareOptions, 'signal'> = {},
): Promise<T> {
  if (!needsNamespace(plan)) return await use();
  await prepareNamespace(plan, signal === undefined ? more : { ...more, signal });
  let result: T;
  try {
    using _renewal = new MarkerRenewal(plan, more.user);
    result = await use();
  } catch (error) {
    await removeNamespace(plan, more).catch((later: unknown) => {
      throw new LoadError(`${describe(error)}; besides, its own directories could not be removed: ${describe(later)}`, {
        cause: error,
      });
    });
    throw error;
  }
  await removeNamespace(plan, more);
  return result;
}

/** Runs the load of a plan whose own directories are there. Rejects with LoadError. */
export async function runLoad(plan: LoadPlan, options: RunOptions = {}): Promise<LoadResult> {
  const { replay = [], onSecond, signal } = options;
  refuseStopped(signal);
  using watch = plan.watchedPid === null ? null : new ProcessWatch(plan.watchedPid);
  using meter = new ProcessMeter();
  await using threads = new LoaderThreads(plan, replay);
  const onAbort = () => threads.stop();
  signal?.addEventListener('abort', onAbort);
  try {
    await threads.connected;
    refuseStopped(signal);
    const startedAt = new Date();
    const series: SeriesPoint[] = [];
    const broken = Promise.withResolvers<never>();
    const seconds = new SecondsMerge(plan.threads, (point, counts) => {
      if (series.length < MAX_SERIES_POINTS) series.push(point);
      // Runs in the handler of a message: what it throws would end the process and leave the directories behind.
      try {
        onSecond?.(point, counts);
      } catch (error) {
        broken.reject(error);
      }
    });
    threads.onSecond = (thread, report) => seconds.add(thread, report);
    threads.onFinal = (thread) => seconds.end(thread);
    const startAtEpochMs = performance.timeOrigin + performance.now() + BEGIN_DELAY_MS;
    threads.begin(startAtEpochMs);
    measureFrom(BEGIN_DELAY_MS + warmupMs(plan), plan.durationMs, [meter, ...(watch === null ? [] : [watch])]);
    const finals = await Promise.race([threads.finals, broken.promise]);
    meter.end();
    watch?.end();
    return collectResult({
      plan,
      finals,
      series,
      startedAt,
      cpuShare: meter.cpuShare(),
      watch,
      endedEarly: signal?.aborted === true,
      scheduledMs: plan.loop.kind === 'replay' ? (replay.at(-1)?.atMs ?? 0) / plan.loop.speed : 0,
    });
  } finally {
    signal?.removeEventListener('abort', onAbort);
  }
}

/** Something that measures between begin and end; both may come late or twice. */
interface Meter {
  readonly timers: NodeJS.Timeout[];
  begin(): void;
  end(): void;
}

function measureFrom(beginMs: number, durationMs: number | null, meters: readonly Meter[]): void {
  for (const meter of meters) {
    meter.timers.push(setTimeout(() => meter.begin(), beginMs));
    if (durationMs !== null) meter.timers.push(setTimeout(() => meter.end(), beginMs + durationMs));
  }
}

function refuseStopped(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw new LoadError('ended before anything was measured');
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
