import type { LoadPlan } from '../../src/load/plan/plan.ts';
import type { Group, Latency, LoadResult, Percentiles, SeriesPoint, Watched } from '../../src/load/result/result.ts';
import { RESULT_VERSION, SATURATED_SHARE } from '../../src/load/result/result.ts';

/** What a made-up result is to look like. All of it is computed from these, so that the same options give the same result. */
export interface ResultOptions {
  readonly seed?: number;
  readonly seconds?: number;
  readonly warmupSeconds?: number;
  readonly callsPerSecond?: number;
  /** Answered through asked. */
  readonly achievedShare?: number;
  readonly closed?: boolean;
  /** Median latency. */
  readonly medianMicros?: number;
  readonly errors?: number;
  readonly mounts?: readonly string[];
  readonly users?: readonly string[];
  readonly errorMessage?: string;
  readonly errorClass?: string;
  readonly command?: string;
  readonly isWatched?: boolean;
  readonly loaderReason?: string;
  readonly connections?: number;
}

/** Standard normal deviates of the percentiles that results have. */
const DEVIATES = {
  p50: 0,
  p75: 0.674,
  p90: 1.282,
  p95: 1.645,
  p99: 2.326,
  p999: 3.09,
  p9999: 3.719,
  max: 4.4,
} as const;

const MIX = [
  ['getFileInfo', 70, 1],
  ['getListing', 15, 2.2],
  ['getBlockLocations', 10, 1.3],
  ['mkdirs', 3, 3.5],
  ['rename', 1, 4],
  ['delete', 1, 3.8],
] as const;

/** The result of a run against a server with log-normal latencies, a slow start and a pause now and then. */
export function makeLoadResult(options: ResultOptions = {}): LoadResult {
  const {
    seconds = 60,
    warmupSeconds = 5,
    callsPerSecond = 5000,
    achievedShare = 0.9996,
    closed = false,
    medianMicros = 640,
    errors = 0,
    mounts = ['/data', '/user', '/tmp/projects'],
    errorClass = 'org.apache.hadoop.ipc.StandbyException',
    errorMessage = 'Operation category READ is not supported in state standby',
    loaderReason = '',
  } = options;
  const random = makeRandom(options.seed ?? 1);
  const plan = makePlan(options, seconds, warmupSeconds, callsPerSecond, closed, mounts);
  const answered = callsPerSecond * achievedShare;
  const calls = Math.round(answered * seconds);
  const series = makeSeries(random, seconds, warmupSeconds, answered, medianMicros, errors, closed, achievedShare);
  const worst = Math.max(...series.filter((point) => point.measured).map((point) => point.corrected.max));
  const latency = makeLatency(calls, medianMicros, worst, closed);
  return {
    version: RESULT_VERSION,
    tool: 'switchyard 0.1.0',
    startedAt: '2026-03-01T10:15:00.000Z',
    plan,
    measuredMs: seconds * 1000,
    calls,
    callsPerSecond: answered,
    askedPerSecond: closed ? null : callsPerSecond,
    achievedShare: closed ? null : achievedShare,
    saturated: !closed && achievedShare < SATURATED_SHARE,
    lateForSlots: achievedShare < SATURATED_SHARE ? Math.round(calls / 3) : 0,
    lateForLoader: 12,
    unanswered: 0,
    successes: calls - errors,
    unsent: closed ? 0 : Math.round(callsPerSecond * seconds - calls),
    substituted: 3,
    errors,
    errorShare: calls === 0 ? 0 : errors / calls,
    errorClasses:
      errors === 0
        ? []
        : [
            { class: errorClass, count: errors - 1, firstMessage: errorMessage },
            { class: 'timeout', count: 1, firstMessage: 'no reply within 10 s' },
          ],
    latency,
    operations: MIX.map(([name, weight, factor]) =>
      makeGroup(
        name,
        Math.round((calls * weight) / 100),
        name === 'getFileInfo' ? errors : 0,
        medianMicros * factor,
        worst,
        closed,
      ),
    ),
    targets: mounts.map((name, index) =>
      makeGroup(
        name,
        Math.round(calls / mounts.length),
        index === 0 ? errors : 0,
        medianMicros * (1 + index * 0.05),
        worst,
        closed,
      ),
    ),
    series,
    curve: {
      corrected: makeCurve(latency.corrected),
      service: makeCurve(latency.service),
    },
    histogram: { corrected: 'HISTFAAAAB14nJNpmSzMwMDAzAABzFCaEUzOmNZg/wEiwAIAUBoFJg==', service: '' },
    loader: {
      sendDelay: closed ? null : { p50: 510, p99: 1020 },
      utilization: loaderReason === '' ? 0.41 : 0.99,
      cpuShare: 0.46,
      loopDelayP50Ms: 1.06,
      loopDelayP99Ms: 1.9,
      loopDelayMaxMs: 9.4,
      gcCount: 48,
      gcTotalMs: 61,
      gcMaxMs: 3.7,
      wasTheLimit: loaderReason !== '',
      reason: loaderReason,
    },
    watched: (options.isWatched ?? true) ? makeWatched(random, options, seconds, calls) : null,
  };
}

function makePlan(
  options: ResultOptions,
  seconds: number,
  warmupSeconds: number,
  callsPerSecond: number,
  closed: boolean,
  mounts: readonly string[],
): LoadPlan {
  return {
    host: 'router.example.com',
    port: 8888,
    loop: closed ? { kind: 'closed' } : { kind: 'open', callsPerSecond, rampMs: 3000 },
    connections: options.connections ?? 64,
    inFlight: closed ? 1 : 1024,
    users: options.users ?? ['alice', 'bob'],
    mix: MIX.map(([operation, weight]) => ({ operation, weight })),
    targets: mounts.map((name) => ({ name, directory: name, own: `${name}/switchyard-load-0a1b2c3d` })),
    paths: [],
    distribution: { kind: 'zipf', exponent: 1.1 },
    filesPerTarget: 1000,
    warmupMs: warmupSeconds * 1000,
    durationMs: seconds * 1000,
    calls: null,
    timeoutMs: 10_000,
    threads: 1,
    observerReads: false,
    watchedPid: (options.isWatched ?? true) ? 4242 : null,
    seed: 7,
  };
}

function makeSeries(
  random: () => number,
  seconds: number,
  warmupSeconds: number,
  answered: number,
  medianMicros: number,
  errors: number,
  closed: boolean,
  achievedShare: number,
): SeriesPoint[] {
  return Array.from({ length: seconds + warmupSeconds }, (_, second): SeriesPoint => {
    const cold = 1 + 3 * Math.exp(-second / 2);
    const paused = random() < 0.03 ? 8 + random() * 30 : 1;
    const backlog = 1 + Math.max(0, SATURATED_SHARE - achievedShare) * second * 4;
    const median = medianMicros * cold * (0.95 + random() * 0.1) * backlog;
    const make = (stretch: number) => ({
      p50: Math.round(median),
      p99: Math.round(median * Math.exp(0.5 * DEVIATES.p99) * (0.9 + random() * 0.2) * Math.sqrt(stretch)),
      p999: Math.round(median * Math.exp(0.5 * DEVIATES.p999) * (0.9 + random() * 0.5) * stretch),
      max: Math.round(median * Math.exp(0.5 * DEVIATES.max) * (1 + random()) * stretch),
    });
    const service = make(Math.sqrt(paused));
    const rate =
      answered * (closed ? 0.96 + random() * 0.08 : Math.min(1, (second + 0.5) / 3)) * (0.995 + random() * 0.01);
    return {
      second,
      measured: second >= warmupSeconds,
      callsPerSecond: Math.round(rate),
      errors: second === warmupSeconds + (seconds >> 1) ? errors : 0,
      waiting: Math.round((paused - 1) * 8 + (backlog - 1) * 900),
      inFlight: Math.round(closed ? 64 : (rate * median) / 1e6 + paused),
      corrected: closed ? service : make(paused),
      service,
    };
  });
}

function makeLatency(count: number, medianMicros: number, maxMicros: number, closed: boolean): Latency {
  const service = makePercentiles(count, medianMicros, closed ? maxMicros : maxMicros / 3);
  return { corrected: closed ? service : makePercentiles(count, medianMicros * 1.02, maxMicros), service };
}

function makePercentiles(count: number, medianMicros: number, maxMicros: number): Percentiles {
  const at = (deviate: number): number => Math.round(Math.min(maxMicros, medianMicros * Math.exp(0.5 * deviate)));
  return {
    count,
    min: at(-4),
    mean: Math.round(medianMicros * 1.13),
    stdev: Math.round(medianMicros * 0.6),
    p50: at(DEVIATES.p50),
    p75: at(DEVIATES.p75),
    p90: at(DEVIATES.p90),
    p95: at(DEVIATES.p95),
    p99: at(DEVIATES.p99),
    p999: at(DEVIATES.p999 * 1.25),
    p9999: at(DEVIATES.p9999 * 1.5),
    max: Math.round(maxMicros),
  };
}

function makeGroup(
  name: string,
  calls: number,
  errors: number,
  medianMicros: number,
  maxMicros: number,
  closed: boolean,
): Group {
  return { name, calls, errors, ...makeLatency(calls, medianMicros, maxMicros * 0.9, closed) };
}

/** As HdrHistogram iterates: five points to each halving of what is left. */
function makeCurve(percentiles: Percentiles): [number, number][] {
  const known: [number, number][] = [
    [0, percentiles.min],
    [50, percentiles.p50],
    [75, percentiles.p75],
    [90, percentiles.p90],
    [95, percentiles.p95],
    [99, percentiles.p99],
    [99.9, percentiles.p999],
    [99.99, percentiles.p9999],
  ];
  const depth = (percentile: number): number => -Math.log2(1 - percentile / 100);
  known.push([100 - 100 / Math.max(2, percentiles.count), percentiles.max]);
  const points: [number, number][] = [];
  for (let step = 0; step <= 5 * Math.log2(Math.max(2, percentiles.count)); step++) {
    const percentile = 100 - 100 / 2 ** (step / 5);
    const next = Math.max(
      1,
      known.findIndex(([at]) => at >= percentile),
    );
    const [left, low] = known[next - 1] ?? [0, 1];
    const [right, high] = known[next] ?? [100, percentiles.max];
    const share = (depth(percentile) - depth(left)) / (depth(right) - depth(left));
    points.push([percentile, Math.round(low + (high - low) * share ** 1.3)]);
  }
  points.push([100, percentiles.max]);
  return points;
}

function makeWatched(random: () => number, options: ResultOptions, seconds: number, calls: number): Watched {
  const cpuMicrosPerCall = 19.4;
  const cpuSeconds = (calls * cpuMicrosPerCall) / 1e6;
  const samples = Array.from({ length: seconds + 1 }, (_, second): [number, number, number, number] => {
    const rss = 118e6 + 34e6 * (1 - Math.exp(-second / 20)) + random() * 4e6;
    return [
      second + 0.003,
      Math.round(rss),
      132 + (second > 4 ? 2 : 0),
      (second * cpuSeconds) / seconds + random() * 0.004,
    ];
  });
  const rss = samples.map((sample) => sample[1]);
  return {
    pid: 4242,
    command: options.command ?? 'node src/main.ts start --config-dir /etc/hadoop/conf',
    cpuSeconds,
    cpuMicrosPerCall,
    rssStartBytes: rss[0] ?? 0,
    rssEndBytes: rss.at(-1) ?? 0,
    rssMaxBytes: Math.max(...rss),
    descriptorsStart: 171,
    descriptorsEnd: 173,
    socketsStart: 132,
    socketsEnd: 134,
    voluntarySwitches: Math.round(calls * 0.8),
    involuntarySwitches: Math.round(calls * 0.01),
    threads: 14,
    samples,
  };
}

/** Park and Miller's generator, in [0, 1). */
function makeRandom(seed: number): () => number {
  let state = seed % 2_147_483_647 || 1;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return (state - 1) / 2_147_483_646;
  };
}
