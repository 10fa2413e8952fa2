/** From the reports of the loader threads to the result. */
import { readVersion } from '../../commands/version.ts';
import { encodeHistogram } from '../histogram/hdr-files.ts';
import { addCounts, drawCurve, summarizeCounts } from '../histogram/latency.ts';
import { OPERATION_NAMES } from '../plan/operations.ts';
import type { BucketCounts, CellReport, FinalReport, LoadPlan } from '../plan/plan.ts';
import {
  type ErrorClass,
  type Group,
  type LoaderHealth,
  type LoadResult,
  RESULT_VERSION,
  SATURATED_SHARE,
  type SeriesPoint,
  type Watched,
} from './result.ts';

export interface Collected {
  readonly plan: LoadPlan;
  /** In the order of the threads. */
  readonly finals: readonly FinalReport[];
  readonly series: readonly SeriesPoint[];
  readonly startedAt: Date;
  /** CPU seconds per second of this process in the measured time. */
  readonly cpuShare: number;
  readonly watch: { report(calls: number): Watched | null } | null;
  readonly endedEarly: boolean;
  /** From the first to the last call of a replay as they were due. */
  readonly scheduledMs?: number;
}

/** A shorter replay says nothing about a rate: waiting for the last reply is too large a part of it. */
const MIN_JUDGED_REPLAY_MS = 1000;
/** Beyond these the numbers say more about the loader than about the server. */
const MAX_LATE_SHARE = 0.01;
const MAX_LOOP_DELAY_P99_MS = 20;
const MAX_GC_SHARE = 0.1;
const MAX_UTILIZATION = 0.95;
/** A thread that is late and less busy than this does not get the processor when it wants it. */
const BUSY_UTILIZATION = 0.7;

export function collectResult(collected: Collected): LoadResult {
  const { plan, finals, series, startedAt, watch, endedEarly } = collected;
  const cells = finals.flatMap(({ cells: own }) => own);
  const all = mergeCells('all', cells);
  const measuredMs = Math.max(0, ...finals.map((final) => final.measuredMs));
  const calls = sum(finals, (final) => final.replies);
  const due = sum(finals, (final) => final.due);
  const servicePart = all.group.service.p50 / 1000;
  const scheduledMs = collected.scheduledMs ?? 0;
  const pace = findPace(plan, { calls, due, measuredMs, servicePart, endedEarly, scheduledMs });
  const lateForLoader = sum(finals, (final) => final.lateForLoader);
  return {
    version: RESULT_VERSION,
    tool: `switchyard ${readVersion()}`,
    startedAt: startedAt.toISOString(),
    plan,
    measuredMs,
    ...(endedEarly ? { endedEarly } : {}),
    calls,
    ...pace,
    lateForSlots: sum(finals, (final) => final.lateForSlots),
    lateForLoader,
    unsent: sum(finals, (final) => final.unsent),
    substituted: sum(finals, (final) => final.substituted),
    errors: all.group.errors,
    errorShare: all.group.errors === 0 ? 0 : all.group.errors / Math.max(all.group.calls, all.group.errors),
    errorClasses: all.errorClasses,
    latency: { corrected: all.group.corrected, service: all.group.service },
    operations: groupByOperation(cells),
    targets: groupByTarget(plan, cells),
    series,
    curve: { corrected: drawCurve(all.corrected), service: drawCurve(all.service) },
    histogram: { corrected: encodeHistogram(all.corrected), service: encodeHistogram(all.service) },
    loader: judgeLoader(plan, finals, {
      measuredMs,
      cpuShare: collected.cpuShare,
      lateShare: due === 0 ? 0 : lateForLoader / due,
      saturated: pace.saturated,
    }),
    watched: watch?.report(calls) ?? null,
  };
}

type Pace = Pick<LoadResult, 'callsPerSecond' | 'askedPerSecond' | 'achievedShare' | 'saturated'>;

/** `servicePart`: half of the calls are answered within, ms; of a counted run it is the wait after the last call. */
function findPace(
  { loop, durationMs }: LoadPlan,
  run: {
    calls: number;
    due: number;
    measuredMs: number;
    servicePart: number;
    endedEarly: boolean;
    scheduledMs: number;
  },
): Pace {
  const { calls, due, measuredMs, servicePart, endedEarly, scheduledMs } = run;
  const callsPerSecond = measuredMs === 0 ? 0 : (calls * 1000) / measuredMs;
  if (loop.kind === 'closed' || measuredMs === 0) {
    return { callsPerSecond, askedPerSecond: null, achievedShare: null, saturated: false };
  }
  if (loop.kind === 'replay' && scheduledMs >= MIN_JUDGED_REPLAY_MS && !endedEarly) {
    const share = Math.min(1, scheduledMs / Math.max(1e-3, measuredMs - servicePart));
    const askedPerSecond = (due * 1000) / scheduledMs;
    return { callsPerSecond, askedPerSecond, achievedShare: share, saturated: share < SATURATED_SHARE };
  }
  if (loop.kind === 'replay' || durationMs !== null || endedEarly) {
    const askedPerSecond = loop.kind === 'open' ? loop.callsPerSecond : (due * 1000) / measuredMs;
    const share = due === 0 ? 1 : calls / due;
    return { callsPerSecond, askedPerSecond, achievedShare: share, saturated: share < SATURATED_SHARE };
  }
  const dueMs = (due * 1000) / loop.callsPerSecond;
  const share = Math.min(1, dueMs / Math.max(1e-3, measuredMs - servicePart));
  return {
    callsPerSecond,
    askedPerSecond: loop.callsPerSecond,
    achievedShare: share,
    saturated: share < SATURATED_SHARE,
  };
}

interface Merged {
  readonly group: Group;
  readonly corrected: BucketCounts;
  readonly service: BucketCounts;
  readonly errorClasses: readonly ErrorClass[];
}

function mergeCells(name: string, cells: readonly CellReport[]): Merged {
  let corrected: BucketCounts = new Uint32Array(0);
  let service: BucketCounts = new Uint32Array(0);
  const classes = new Map<string, { count: number; firstMessage: string }>();
  for (const cell of cells) {
    corrected = addCounts(corrected, cell.corrected);
    service = addCounts(service, cell.service);
    for (const [name, { count, firstMessage }] of Object.entries(cell.errors)) {
      const known = classes.get(name);
      if (known === undefined) classes.set(name, { count, firstMessage });
      else known.count += count;
    }
  }
  const errorClasses = [...classes]
    .map(([name, { count, firstMessage }]): ErrorClass => ({ class: name, count, firstMessage }))
    .sort((left, right) => right.count - left.count);
  const latency = summarizeCounts(corrected);
  return {
    group: {
      name,
      calls: latency.count,
      errors: sum(errorClasses, ({ count }) => count),
      corrected: latency,
      service: summarizeCounts(service),
    },
    corrected,
    service,
    errorClasses,
  };
}

function groupByOperation(cells: readonly CellReport[]): Group[] {
  return OPERATION_NAMES.flatMap((name) => {
    const own = cells.filter(({ operation }) => operation === name);
    return own.length === 0 ? [] : [mergeCells(name, own).group];
  }).filter(hasCalls);
}

function groupByTarget({ loop, targets }: LoadPlan, cells: readonly CellReport[]): Group[] {
  const names = new Map(targets.map(({ name }, index) => [index, name]));
  names.set(-1, loop.kind === 'replay' ? 'replay' : '--paths');
  return [...names]
    .map(
      ([index, name]) =>
        mergeCells(
          name,
          cells.filter(({ target }) => target === index),
        ).group,
    )
    .filter(hasCalls);
}

function hasCalls({ calls, errors }: Group): boolean {
  return calls > 0 || errors > 0;
}

function judgeLoader(
  { loop }: LoadPlan,
  finals: readonly FinalReport[],
  run: { measuredMs: number; cpuShare: number; lateShare: number; saturated: boolean },
): LoaderHealth {
  const selves = finals.map(({ self }) => self);
  const most = (read: (self: FinalReport['self']) => number) => Math.max(0, ...selves.map(read));
  const health = {
    utilization: most((self) => self.utilization),
    cpuShare: run.cpuShare,
    loopDelayP50Ms: most((self) => self.loopDelayP50Ms),
    loopDelayP99Ms: most((self) => self.loopDelayP99Ms),
    loopDelayMaxMs: most((self) => self.loopDelayMaxMs),
    gcCount: sum(selves, (self) => self.gcCount),
    gcTotalMs: sum(selves, (self) => self.gcTotalMs),
    gcMaxMs: most((self) => self.gcMaxMs),
  };
  // Pauses of different threads do not add up.
  const gcShare = run.measuredMs === 0 ? 0 : most((self) => self.gcTotalMs) / run.measuredMs;
  const reason = findLimit(loop.kind === 'closed', { ...health, ...run, gcShare });
  return { ...health, wasTheLimit: reason !== '', reason };
}

/** Why the loader was the limit; '' when it was not. The one place that decides it. */
export function findLimit(
  isClosed: boolean,
  of: Pick<LoaderHealth, 'utilization' | 'loopDelayP99Ms'> & {
    readonly lateShare: number;
    readonly gcShare: number;
    readonly saturated: boolean;
  },
): string {
  if (of.lateShare > MAX_LATE_SHARE) {
    const remedy =
      of.utilization > BUSY_UTILIZATION
        ? 'use more --threads on free cores'
        : 'others take its core: give it one of its own';
    return `it sent ${percent(of.lateShare)} of the calls late although connections were free; ${remedy}`;
  }
  if (of.utilization > MAX_UTILIZATION && (isClosed || of.saturated)) {
    const loop = isClosed ? 'a closed loop cannot show what the server could do' : 'and the rate was not reached';
    return `a loader thread was busy ${percent(of.utilization)} of the time: ${loop}; use more --threads on free cores`;
  }
  if (of.gcShare > MAX_GC_SHARE) {
    return `garbage collection took ${percent(of.gcShare)} of a loader thread's time; use more --threads or fewer files`;
  }
  if (of.loopDelayP99Ms > MAX_LOOP_DELAY_P99_MS) {
    return `a loader thread had to wait ${of.loopDelayP99Ms.toFixed(0)} ms for its turn (p99); free processor cores for it`;
  }
  return '';
}

function percent(share: number): string {
  return `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;
}

function sum<T>(items: readonly T[], read: (item: T) => number): number {
  return items.reduce((total, item) => total + read(item), 0);
}
