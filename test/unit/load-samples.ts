import { quantileMicros } from '../../src/load/histogram/latency.ts';
import { bucketOfMs, createCounts } from '../../src/load/histogram/latency-buckets.ts';
import type { BucketCounts, CellReport, FinalReport, LoadPlan, ThreadSelf } from '../../src/load/plan/plan.ts';

/** A plan that would run; tests change what they are about. */
export function samplePlan(changes: Partial<LoadPlan> = {}): LoadPlan {
  return {
    host: '127.0.0.1',
    port: 8020,
    loop: { kind: 'open', callsPerSecond: 1000, rampMs: 0 },
    connections: 8,
    inFlight: 4,
    users: ['alice'],
    mix: [
      { operation: 'getFileInfo', weight: 3 },
      { operation: 'mkdirs', weight: 1 },
    ],
    targets: [
      { name: 'data', directory: '/data', own: '/data/switchyard-load-00000001' },
      { name: 'logs', directory: '/logs', own: '/logs/switchyard-load-00000001' },
    ],
    paths: [],
    distribution: { kind: 'uniform' },
    filesPerTarget: 10,
    warmupMs: 1000,
    durationMs: 10_000,
    calls: null,
    timeoutMs: 1000,
    threads: 1,
    observerReads: false,
    watchedPid: null,
    seed: 1,
    ...changes,
  };
}

/** Counts of latencies: [ms, how many] each. */
export function countsOf(...latencies: readonly (readonly [number, number])[]): BucketCounts {
  const counts = createCounts();
  for (const [ms, records] of latencies) {
    const bucket = bucketOfMs(ms);
    counts[bucket] = (counts[bucket] as number) + records;
  }
  return counts;
}

export const IDLE_SELF: ThreadSelf = {
  utilization: 0.1,
  loopDelayP50Ms: 0.1,
  loopDelayP99Ms: 1,
  loopDelayMaxMs: 2,
  gcCount: 3,
  gcTotalMs: 4,
  gcMaxMs: 2,
};

export function sampleCell(changes: Partial<CellReport> = {}): CellReport {
  return {
    operation: 'getFileInfo',
    target: 0,
    corrected: countsOf([1, 100]),
    service: countsOf([1, 100]),
    correctedMaxMs: longestMs(changes.corrected),
    serviceMaxMs: longestMs(changes.service),
    successes: 100,
    errors: {},
    ...changes,
  };
}

/** The middle of the highest bucket, 1 ms without counts. */
function longestMs(counts: BucketCounts | undefined): number {
  return counts === undefined ? 1 : (quantileMicros(counts, [1])[0] ?? 0) / 1000;
}

export function sampleFinal(changes: Partial<FinalReport> = {}): FinalReport {
  return {
    kind: 'final',
    replies: 10_000,
    keptUp: changes.replies ?? 10_000,
    early: new Uint32Array(0),
    nothingFound: 0,
    measuredFromMs: 1000,
    measuredToMs: 11_000,
    due: 10_000,
    lateForSlots: 0,
    lateForLoader: 0,
    unsent: 0,
    unanswered: 0,
    gaveUp: false,
    sendDelay: countsOf([0.5, 9000], [1, 1000]),
    substituted: 0,
    cells: [sampleCell()],
    self: IDLE_SELF,
    ...changes,
  };
}
