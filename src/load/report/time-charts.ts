/** Charts over time: what happened in each second of the load, and to the watched process. */
import { isDeepStrictEqual } from 'node:util';
import type { SeriesPoint } from '../result/result.ts';
import type { Basis, ChartLine, ChartSpec, Unit } from './chart-spec.ts';
import type { Run } from './runs.ts';

const BASES: readonly Basis[] = ['corrected', 'service'];

const LATENCIES = [
  ['p50', 'p50'],
  ['p99', 'p99'],
  ['p999', 'p99.9'],
  ['max', 'max'],
] as const;

/** The x of charts over time. */
interface TimeScale {
  readonly x: readonly number[];
  readonly shaded: readonly (readonly [number, number])[];
}

interface Wanted {
  readonly id: string;
  readonly unit: Unit;
  readonly lines: readonly (Omit<ChartLine, 'values'> & { readonly points: ReadonlyMap<number, number> })[];
}

/** One chart with all percentiles for one run; for two, a chart for each percentile in which the runs can be told apart. */
export function makeLatencyCharts(runs: readonly Run[]): ChartSpec[] {
  const scale = measureTime(runs);
  const [only] = runs;
  if (only !== undefined && runs.length === 1) {
    const lines = LATENCIES.flatMap(([key, label], index) => latencyLines(only, key, label, index + 1));
    return [makeChart({ id: 'latency', unit: 'micros', lines }, scale, { log: true, tall: true })];
  }
  return LATENCIES.map(([key, label]) => {
    const lines = runs.flatMap((run, index) => latencyLines(run, key, `${run.letter} ${label}`, index + 1));
    return makeChart({ id: `latency-${key}`, unit: 'micros', lines }, scale, { log: true, tall: false });
  });
}

function latencyLines(run: Run, key: (typeof LATENCIES)[number][0], label: string, colour: number): Wanted['lines'] {
  // In a closed loop the two are one.
  const bases = run.result.plan.loop.kind === 'closed' ? BASES.slice(0, 1) : BASES;
  return bases.map((basis) => ({
    label,
    colour,
    dashed: false,
    basis: bases.length === 1 ? null : basis,
    // A log scale has no zero; a call takes at least a microsecond.
    points: pick(run, (point) => (point[basis].max > 0 ? Math.max(1, point[basis][key]) : null)),
  }));
}

export function makeRateChart(runs: readonly Run[]): ChartSpec {
  const lines = runs.flatMap((run, index) => {
    const colour = index + 1;
    const until = findRateEnd(run);
    const points = pick(run, ({ second, callsPerSecond }) => (second < until ? callsPerSecond : null));
    const achieved = { label: label(run, 'answered'), colour, dashed: false, basis: null, points };
    const { loop } = run.result.plan;
    if (loop.kind !== 'open') return [achieved];
    const before = runs[index - 1]?.result.plan.loop;
    // Two runs were asked for the same in most comparisons: one line then is enough.
    if (before !== undefined && isDeepStrictEqual(before, loop)) return [achieved];
    const isShared = runs.length > 1 && runs.every(({ result }) => isDeepStrictEqual(result.plan.loop, loop));
    const { callsPerSecond, rampMs } = loop;
    // The middle of a second stands for it.
    const asked = pick(run, ({ second }) =>
      second < until ? callsPerSecond * Math.min(1, ((second + 0.5) * 1000) / Math.max(1, rampMs)) : null,
    );
    return [
      achieved,
      { label: isShared ? 'asked' : label(run, 'asked'), colour: 0, dashed: true, basis: null, points: asked },
    ];
  });
  return makeChart({ id: 'rate', unit: 'perSecond', lines }, measureTime(runs), { log: false, tall: false });
}

export function makeErrorChart(runs: readonly Run[]): ChartSpec {
  return makeCounts(runs, 'errors', [['errors', ({ errors }) => errors]]);
}

export function makeBacklogChart(runs: readonly Run[]): ChartSpec {
  return makeCounts(runs, 'backlog', [
    ['waiting', ({ waiting }) => waiting],
    ['in flight', ({ inFlight }) => inFlight],
  ]);
}

function makeCounts(
  runs: readonly Run[],
  id: string,
  wanted: readonly (readonly [string, (point: SeriesPoint) => number])[],
): ChartSpec {
  const lines = runs.flatMap((run, index) =>
    wanted.map(([name, read], which) => ({
      label: label(run, name),
      colour: runs.length === 1 ? which + 1 : index + 1,
      dashed: runs.length > 1 && which > 0,
      basis: null,
      points: pick(run, read),
    })),
  );
  return makeChart({ id, unit: 'count', lines }, measureTime(runs), { log: false, tall: false });
}

/** Memory, CPU and sockets of the watched processes; none when no run has one. */
export function makeProcessCharts(runs: readonly Run[]): ChartSpec[] {
  const watched = runs.filter(({ result }) => (result.watched?.samples.length ?? 0) > 0);
  if (watched.length === 0) return [];
  const scale = measureSamples(runs);
  const make = (id: string, unit: Unit, name: string, read: (run: Run) => ReadonlyMap<number, number>) => {
    const lines = watched.map((run) => ({
      label: label(run, name),
      colour: run.letter === 'B' ? 2 : 1,
      dashed: false,
      basis: null,
      points: read(run),
    }));
    return makeChart({ id, unit, lines }, scale, { log: false, tall: false });
  };
  return [
    make('rss', 'bytes', 'resident', (run) => pickSamples(run, 1)),
    make('cpu', 'cores', 'cores in use', pickCores),
    make('sockets', 'count', 'sockets', (run) => pickSamples(run, 2)),
  ];
}

function pickSamples(run: Run, field: 1 | 2): ReadonlyMap<number, number> {
  const points = new Map<number, number>();
  let last: number | null = null;
  for (const sample of run.result.watched?.samples ?? []) {
    // What was not counted in this second is as it was when it was counted.
    last = sample[field] ?? last;
    if (last !== null) points.set(secondOf(run, sample), last);
  }
  return points;
}

/** CPU seconds per second between two samples. */
function pickCores(run: Run): ReadonlyMap<number, number> {
  const samples = run.result.watched?.samples ?? [];
  const cores = new Map<number, number>();
  samples.forEach((sample, index) => {
    const [second, , , cpuSeconds] = sample;
    const before = samples[index - 1];
    if (before === undefined || second <= before[0]) return;
    cores.set(secondOf(run, sample), Number(Math.max(0, (cpuSeconds - before[3]) / (second - before[0])).toFixed(4)));
  });
  return cores;
}

function pick(run: Run, read: (point: SeriesPoint) => number | null): ReadonlyMap<number, number> {
  const points = new Map<number, number>();
  for (const point of run.result.series) {
    const value = read(point);
    if (value !== null) points.set(point.second, value);
  }
  return points;
}

/** After the last measured second no calls are made, and the last replies are no rate. All of it when nothing was measured. */
function findRateEnd({ result }: Run): number {
  const last = result.series.findLast(({ measured }) => measured);
  return last === undefined ? Number.POSITIVE_INFINITY : last.second + 1;
}

function label({ letter }: Run, name: string): string {
  return letter === '' ? name : `${letter} ${name}`;
}

/** Every second that a run has; shaded are those that no run measured. */
function measureTime(runs: readonly Run[]): TimeScale {
  const points = runs.flatMap(({ result }) => result.series);
  const x = sortUnique(points.map(({ second }) => second));
  const measured = new Set(points.filter((point) => point.measured).map(({ second }) => second));
  return { x, shaded: joinSeconds(x.filter((second) => !measured.has(second))) };
}

/** Seconds in which watched processes were sampled. */
function measureSamples(runs: readonly Run[]): TimeScale {
  const seconds = runs.flatMap((run) => run.result.watched?.samples.map((sample) => secondOf(run, sample)) ?? []);
  return { x: sortUnique(seconds), shaded: measureTime(runs).shaded };
}

/** Whole second of a sample in the time of the charts. Samples count from the start of the measured time and come a little late. */
function secondOf({ result }: Run, [second]: readonly [number, ...unknown[]]): number {
  return Math.round(second) + (result.series.find(({ measured }) => measured)?.second ?? 0);
}

function sortUnique(numbers: readonly number[]): number[] {
  return [...new Set(numbers)].sort((left, right) => left - right);
}

/** Ranges [from, to) of these seconds, which rise. */
function joinSeconds(seconds: readonly number[]): [number, number][] {
  const ranges: [number, number][] = [];
  for (const second of seconds) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === second) last[1] = second + 1;
    else ranges.push([second, second + 1]);
  }
  return ranges;
}

function makeChart({ id, unit, lines }: Wanted, scale: TimeScale, look: { log: boolean; tall: boolean }): ChartSpec {
  return {
    id,
    kind: 'time',
    unit,
    ...look,
    ...scale,
    lines: lines.map(({ points, ...line }) => ({
      ...line,
      values: scale.x.map((second) => points.get(second) ?? null),
    })),
  };
}
