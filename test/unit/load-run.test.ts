import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HdfsClient } from '../../src/control/hdfs-client.ts';
import type { LoadPlan } from '../../src/load/plan/plan.ts';
import type { LoadResult, SeriesPoint } from '../../src/load/result/result.ts';
import { LoadError, type RunOptions, runLoad, withNamespace } from '../../src/load/run/run.ts';
import { type Simulator, startSimulator } from '../../src/simulator/simulator.ts';
import { samplePlan } from './load-samples.ts';

const USER = 'hdfs';
let simulator: Simulator;

beforeAll(async () => {
  simulator = await startSimulator({ nameservices: ['ns0'], namenodes: 1, superuser: USER });
  using client = await connect();
  await client.mkdirs('/given');
});

afterAll(async () => {
  await simulator?.close();
});

function address(): { host: string; port: number } {
  const { host, port } = simulator.nameservices[0]!.namenodes[0]!;
  return { host, port };
}

async function connect(): Promise<HdfsClient> {
  return await HdfsClient.connect({ ...address(), user: USER });
}

async function listGiven(): Promise<string[]> {
  using client = await connect();
  return ((await client.list('/given')) ?? []).map((entry) => entry.path.toString());
}

let runs = 0;

function plan(changes: Partial<LoadPlan> = {}): LoadPlan {
  const own = `/given/switchyard-load-${String(++runs).padStart(8, '0')}`;
  return samplePlan({
    ...address(),
    users: [USER],
    targets: [{ name: 'given', directory: '/given', own }],
    filesPerTarget: 5,
    warmupMs: 0,
    durationMs: 1000,
    ...changes,
  });
}

async function runPrepared(of: LoadPlan, options: RunOptions): Promise<LoadResult> {
  return await withNamespace(of, () => runLoad(of, options), options.signal);
}

describe('a run', () => {
  it('merges its threads, second by second, and removes what it has made', async () => {
    const points: SeriesPoint[] = [];
    const result = await runPrepared(
      plan({ threads: 2, durationMs: 2000, loop: { kind: 'open', callsPerSecond: 200, rampMs: 0 } }),
      {
        onSecond: (point) => points.push(point),
      },
    );
    expect(result.latency.corrected.count).toBe(400);
    expect(result.series).toEqual(points);
    expect(points.map(({ second }) => second)).toEqual(points.map((_, index) => index));
    expect(points.length).toBeGreaterThanOrEqual(2);
    expect(result.loader.cpuShare).toBeGreaterThan(0);
    expect(result.measuredMs).toBe(2000);
    expect(result.successes).toBe(400);
    expect(result.endedEarly).toBeUndefined();
    expect(await listGiven()).toEqual([]);
  });

  it('that is ended early has what was measured until then', async () => {
    const controller = new AbortController();
    const long = plan({ durationMs: 3_600_000 });
    const result = await runPrepared(long, { signal: controller.signal, onSecond: () => controller.abort() });
    expect(result.endedEarly).toBe(true);
    expect(result.calls).toBeGreaterThan(0);
    expect(result.measuredMs).toBeLessThan(3_600_000);
    expect(await listGiven()).toEqual([]);
  });

  it('that is ended before it has begun measures nothing', async () => {
    await expect(runLoad(plan(), { signal: AbortSignal.abort() })).rejects.toThrow(/before anything was measured/);
  });

  it('fails with a LoadError when a thread cannot go on', async () => {
    const impossible = plan({ targets: [], paths: [] });
    await expect(runLoad(impossible)).rejects.toThrow(LoadError);
    await expect(runLoad(impossible)).rejects.toThrow(/needs|--mounts/);
  });

  it('fails with a LoadError when nobody listens', async () => {
    await expect(runLoad(plan({ host: '127.0.0.1', port: 1, threads: 2 }))).rejects.toThrow(
      /127\.0\.0\.1:1.*ECONNREFUSED/,
    );
  });

  it('that fails removes what it has made, and its error is the one that is told', async () => {
    const failing = withNamespace(plan(), async () => {
      expect(await listGiven()).toHaveLength(1);
      throw new LoadError('the run failed');
    });
    await expect(failing).rejects.toThrow(/^the run failed$/);
    expect(await listGiven()).toEqual([]);
  });

  it('that only reads given paths makes nothing', async () => {
    const reading = plan({ paths: ['/given'], mix: [{ operation: 'getFileInfo', weight: 1 }] });
    await withNamespace(reading, async () => expect(await listGiven()).toEqual([]));
  });
});
