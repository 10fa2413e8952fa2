/** From the reports of the loader threads to the result. */
import { readVersion } from '../../commands/version.ts';
import { encodeHistogram } from '../histogram/hdr-files.ts';
import {
  addCounts,
  countRecords,
  drawCurve,
  findUsualMicros,
  quantileMicros,
  summarizeCounts,
} from '../histogram/latency.ts';
import { OPERATION_NAMES } from '../plan/operations.ts';
import type { BucketCounts, CellReport, FinalReport, LoadPlan } from '../plan/plan.ts';
import { findLimit, findNearLimit } from './loader-limit.ts';
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

export function collectResult(collected: Collected): LoadResult {
  const { plan, finals, series, startedAt, watch, endedEarly } = collected;
  const cells = finals.flatMap(({ cells: own }) => own);
  const all = mergeCells('all', cells);
  const measuredMs = findMeasuredMs(finals);
  const replies = sum(finals, (final) => final.replies);
  const keptUp = sum(finals, (final) => final.keptUp);
  const due = sum(finals, (final) => final.due);
  const usualMs = findUsualMicros(mergeCounts(finals.map(({ early }) => early)), all.service) / 1000;
  const scheduledMs = collected.scheduledMs ?? 0;
  const gaveUp = finals.some((final) => final.gaveUp);
  const isCut = endedEarly || gaveUp;
  const pace = findPace(plan, { replies, keptUp, due, measuredMs, usualMs, isCut, scheduledMs });
  const lateForLoader = sum(finals, (final) => final.lateForLoader);
  return {
    version: RESULT_VERSION,
    tool: `switchyard ${readVersion()}`,
    startedAt: startedAt.toISOString(),
    plan,
    measuredMs,
    ...(endedEarly ? { endedEarly } : {}),
    ...(gaveUp ? { gaveUp } : {}),
    calls: all.group.calls,
    ...pace,
    lateForSlots: sum(finals, (final) => final.lateForSlots),
    lateForLoader,
    unsent: sum(finals, (final) => final.unsent),
    unanswered: sum(finals, (final) => final.unanswered),
    substituted: sum(finals, (final) => final.substituted),
    nothingFound: sum(finals, (final) => final.nothingFound),
    successes: sum(cells, (cell) => cell.successes),
    errors: all.group.errors,
    errorShare: all.group.calls === 0 ? 0 : all.group.errors / all.group.calls,
    errorClasses: all.errorClasses,
    latency: { corrected: all.group.corrected, service: all.group.service },
    operations: groupByOperation(cells),
    targets: groupByTarget(plan, cells),
    series,
    curve: {
      corrected: drawCurve(all.corrected, all.group.corrected.max),
      service: drawCurve(all.service, all.group.service.max),
    },
    histogram: { corrected: encodeHistogram(all.corrected), service: encodeHistogram(all.service) },
    loader: judgeLoader(plan, finals, {
      measuredMs,
      cpuShare: collected.cpuShare,
      lateShare: due === 0 ? 0 : lateForLoader / due,
      saturated: pace.saturated,
      p99Ms: all.group.corrected.p99 / 1000,
    }),
    watched: watch?.report(replies) ?? null,
  };
}

/** From the first measured call of any thread to the last reply of any; threads that measured nothing say nothing. */
function findMeasuredMs(finals: readonly FinalReport[]): number {
  const measured = finals.filter(({ measuredFromMs, measuredToMs }) => measuredToMs > measuredFromMs);
  if (measured.length === 0) return 0;
  const from = measured.reduce(
    (least, { measuredFromMs }) => Math.min(least, measuredFromMs),
    Number.POSITIVE_INFINITY,
  );
  return measured.reduce((most, { measuredToMs }) => Math.max(most, measuredToMs), 0) - from;
}

type Pace = Pick<LoadResult, 'callsPerSecond' | 'askedPerSecond' | 'achievedShare' | 'saturated'>;

/** `usualMs`: what a call usually takes; of a counted run it is the wait after the last call. */
function findPace(
  { loop, durationMs }: LoadPlan,
  run: {
    replies: number;
    keptUp: number;
    due: number;
    measuredMs: number;
    usualMs: number;
    /** It did not make all of its calls. */
    isCut: boolean;
    scheduledMs: number;
  },
): Pace {
  const { replies, keptUp, due, measuredMs, usualMs, isCut, scheduledMs } = run;
  const callsPerSecond = measuredMs === 0 ? 0 : (replies * 1000) / measuredMs;
  if (loop.kind === 'closed' || measuredMs === 0) {
    return { callsPerSecond, askedPerSecond: null, achievedShare: null, saturated: false };
  }
  if (loop.kind === 'replay' && scheduledMs >= MIN_JUDGED_REPLAY_MS && !isCut) {
    const share = Math.min(1, scheduledMs / Math.max(1e-3, measuredMs - usualMs));
    const askedPerSecond = (due * 1000) / scheduledMs;
    return { callsPerSecond, askedPerSecond, achievedShare: share, saturated: share < SATURATED_SHARE };
  }
  if (loop.kind === 'replay' || durationMs !== null || isCut) {
    const askedPerSecond = loop.kind === 'open' ? loop.callsPerSecond : (due * 1000) / measuredMs;
    const share = due === 0 ? 1 : keptUp / due;
    return { callsPerSecond, askedPerSecond, achievedShare: share, saturated: share < SATURATED_SHARE };
  }
  const dueMs = (due * 1000) / loop.callsPerSecond;
  const share = Math.min(1, dueMs / Math.max(1e-3, measuredMs - usualMs));
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
  let correctedMaxMs = 0;
  let serviceMaxMs = 0;
  const classes = new Map<string, { count: number; firstMessage: string }>();
  for (const cell of cells) {
    correctedMaxMs = Math.max(correctedMaxMs, cell.correctedMaxMs);
    serviceMaxMs = Math.max(serviceMaxMs, cell.serviceMaxMs);
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
  const latency = summarizeCounts(corrected, correctedMaxMs * 1000);
  return {
    group: {
      name,
      calls: latency.count,
      errors: sum(errorClasses, ({ count }) => count),
      corrected: latency,
      service: summarizeCounts(service, serviceMaxMs * 1000),
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
  { loop, spin }: LoadPlan,
  finals: readonly FinalReport[],
  run: { measuredMs: number; cpuShare: number; lateShare: number; saturated: boolean; p99Ms: number },
): LoaderHealth {
  const selves = finals.map(({ self }) => self);
  const most = (read: (self: FinalReport['self']) => number) => Math.max(0, ...selves.map(read));
  const health = {
    sendDelay: summarizeSendDelay(finals),
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
  const strain = { ...health, ...run, gcShare, isClosed: loop.kind === 'closed', isSpinning: spin === true };
  const reason = findLimit(strain);
  const nearLimit = findNearLimit(strain);
  return { ...health, wasTheLimit: reason !== '', reason, ...(nearLimit === '' ? {} : { nearLimit }) };
}

function summarizeSendDelay(finals: readonly FinalReport[]): LoaderHealth['sendDelay'] {
  const counts = mergeCounts(finals.map(({ sendDelay }) => sendDelay));
  if (countRecords(counts) === 0) return null;
  const [p50 = 0, p99 = 0] = quantileMicros(counts, [0.5, 0.99]);
  return { p50, p99 };
}

function mergeCounts(parts: readonly BucketCounts[]): BucketCounts {
  let counts: BucketCounts = new Uint32Array(0);
  for (const part of parts) if (part.length > 0) counts = addCounts(counts, part);
  return counts;
}

function sum<T>(items: readonly T[], read: (item: T) => number): number {
  return items.reduce((total, item) => total + read(item), 0);
}
