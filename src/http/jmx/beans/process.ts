import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { type Bean, classBean, metricsBean } from '../bean.ts';
import type { Scrape } from '../scrape.ts';
import { type Floating, float32, floating } from '../values.ts';

const MIB = 1024 * 1024;

const mib = (bytes: number): Floating => floating(float32(bytes / MIB));

/** Collections of garbage in the main thread, from the start of the observation. */
const garbage = { count: 0, ms: 0 };

/** Counts collections of the main thread from now on; ends with the function that is returned. */
export function observeGarbage(): () => void {
  const observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) {
      garbage.count++;
      garbage.ms += duration;
    }
  });
  observer.observe({ entryTypes: ['gc'] });
  return () => observer.disconnect();
}

export const JVM_NOTHING = {
  GcNumWarnThresholdExceeded: 0,
  GcNumInfoThresholdExceeded: 0,
  GcTotalExtraSleepTime: 0,
  ThreadsNew: 0,
  ThreadsBlocked: 0,
  ThreadsTimedWaiting: 0,
  ThreadsTerminated: 0,
} as const;

/** The heap is that of the main thread; what is outside of it, and the threads' own, counts as not heap. */
function memory(): {
  readonly heapUsed: number;
  readonly heapCommitted: number;
  readonly heapMax: number;
  readonly otherUsed: number;
} {
  const heap = getHeapStatistics();
  return {
    heapUsed: heap.used_heap_size,
    heapCommitted: heap.total_heap_size,
    heapMax: heap.heap_size_limit,
    otherUsed: Math.max(0, process.memoryUsage.rss() - heap.total_heap_size),
  };
}

function threadsOf({ sources }: Scrape): { readonly running: number; readonly waiting: number } {
  const threads = sources.services.threads();
  const running = threads.filter(({ ready }) => ready).length + 1;
  return { running, waiting: threads.length + 1 - running };
}

const jvmMetricsBean = metricsBean(
  'JvmMetrics',
  { Context: 'jvm', ProcessName: 'Router', SessionId: null },
  (scrape) => {
    const { heapUsed, heapCommitted, heapMax, otherUsed } = memory();
    const { running, waiting } = threadsOf(scrape);
    return {
      MemNonHeapUsedM: mib(otherUsed),
      MemNonHeapCommittedM: mib(otherUsed),
      MemNonHeapMaxM: floating(-1),
      MemHeapUsedM: mib(heapUsed),
      MemHeapCommittedM: mib(heapCommitted),
      MemHeapMaxM: mib(heapMax),
      MemMaxM: mib(heapMax),
      GcCount: garbage.count,
      GcTimeMillis: Math.round(garbage.ms),
      ThreadsRunnable: running,
      ThreadsWaiting: waiting,
      ...JVM_NOTHING,
    };
  },
);

/** Beans of the Java platform, with the attributes that have a counterpart. */
const platformBeans: readonly Bean[] = [
  classBean('java.lang:type=Memory', 'sun.management.MemoryImpl', () => {
    const { heapUsed, heapCommitted, heapMax, otherUsed } = memory();
    return {
      ObjectPendingFinalizationCount: 0,
      HeapMemoryUsage: { committed: heapCommitted, init: 0, max: heapMax, used: heapUsed },
      NonHeapMemoryUsage: { committed: otherUsed, init: 0, max: -1, used: otherUsed },
      Verbose: false,
    };
  }),
  classBean('java.lang:type=Runtime', 'sun.management.RuntimeImpl', ({ sources, nowMs, hostName }) => ({
    Name: `${process.pid}@${hostName}`,
    Pid: process.pid,
    StartTime: sources.version.startedMs,
    Uptime: nowMs - sources.version.startedMs,
    VmName: 'node',
    VmVersion: process.versions.node,
    VmVendor: 'Node.js',
  })),
  classBean('java.lang:type=Threading', 'sun.management.ThreadImpl', (scrape) => {
    const { running, waiting } = threadsOf(scrape);
    return { ThreadCount: running + waiting, DaemonThreadCount: 0 };
  }),
];

export const METRICS_SYSTEM_NOTHING = {
  NumActiveSinks: 0,
  NumAllSinks: 0,
  DroppedPubAll: 0,
  PublishNumOps: 0,
  PublishAvgTime: floating(0),
  SnapshotNumOps: 0,
  SnapshotAvgTime: floating(0),
} as const;

export const UGI_NOTHING = {
  GetGroupsNumOps: 0,
  GetGroupsAvgTime: floating(0),
  LoginFailureNumOps: 0,
  LoginFailureAvgTime: floating(0),
  LoginSuccessNumOps: 0,
  LoginSuccessAvgTime: floating(0),
  RenewalFailures: 0,
  RenewalFailuresTotal: 0,
} as const;

/** `sources`: how many beans of metrics there are. */
export function processBeans(sources: number): readonly Bean[] {
  return [
    jvmMetricsBean,
    metricsBean('UgiMetrics', { Context: 'ugi' }, () => UGI_NOTHING),
    metricsBean('MetricsSystem,sub=Stats', { Context: 'metricssystem' }, () => ({
      NumActiveSources: sources,
      NumAllSources: sources,
      ...METRICS_SYSTEM_NOTHING,
    })),
    classBean(
      'Hadoop:service=Router,name=MetricsSystem,sub=Control',
      'org.apache.hadoop.metrics2.impl.MetricsSystemImpl',
      () => ({}),
    ),
    metricsBean(
      'RouterActivity',
      { ProcessName: 'Router', SessionId: null, Context: 'dfs' },
      ({ sources: { services } }) => ({
        SafeModeTime: Math.round(services.federation.stored?.safeMode?.lastDurationMs ?? 0),
      }),
    ),
    ...platformBeans,
  ];
}
