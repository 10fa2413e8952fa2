import { describe, expect, it } from 'vitest';
import type { Driven } from '../harness/drive.ts';
import type { Sample } from './measure.ts';
import {
  CPU_TERMS,
  type CpuCoefficients,
  countGroups,
  cpuFeatures,
  fitCpu,
  MEMORY_TERMS,
  marginOf,
  measureCpuError,
  memoryFeatures,
  predictCpu,
  predictCpuMicros,
  predictTerms,
} from './model.ts';
import {
  AXES,
  BASE,
  HELD_OUT,
  MEMORY_HELD_OUT,
  MEMORY_POINTS,
  makeMounts,
  makePaths,
  PLANNED_LOAD,
  type Point,
  pointKey,
  setupKey,
} from './points.ts';
import { nameLimit } from './report.ts';
import { modelOf, type PointResult, summarisePoint } from './result.ts';
import { type Look, shareTicks, sumUse, THREAD_KINDS } from './router-watch.ts';

/** Threads of each kind have terms of their own. */
const CPU: CpuCoefficients = {
  acceptor: { call: 2, client: 3, namenode: 0, wake: 6, cold: 0.5, spread: 0, table: 0, reply: 0.15, large: 0.5 },
  worker: { call: 2, client: 0, namenode: 2, wake: 3, cold: 0, spread: 5, table: 0.1, reply: 0.1, large: 0.15 },
  other: { call: 0.1, client: 0, namenode: 0, wake: 1, cold: 0, spread: 1, table: 0, reply: 0, large: 0.1 },
};
const MEMORY = { base: 90e6, connection: 9_000, inFlight: 600, mount: 400, thread: 20e6 };
/** Calls at once in the open loops. */
const TOGETHER = 7;

const DRIVEN: Driven = {
  calls: 80_000,
  seconds: 1,
  callsPerSecond: 80_000,
  p50: 500,
  p99: 900,
  p999: 1_000,
  serviceP50: 500,
  serviceP99: 900,
  serviceP999: 1_000,
  errors: 0,
  firstError: '',
  cpuSeconds: 0.97,
  contextSwitches: 0,
  rssBytes: 1e8,
  loaderBusy: 0.5,
  loaderWasTheLimit: false,
};

function sampleOf(point: Point, factor = 1): Sample {
  const features = cpuFeatures(point, TOGETHER);
  const micros = predictCpuMicros(CPU, features);
  const { acceptor, worker, other } = predictCpu(CPU, features);
  return {
    driven: DRIVEN,
    namenodeBusy: 0.2,
    othersBusy: 0,
    ratePerSecond: point.loadShare * 80_000,
    cpuMicrosPerCall: micros * factor,
    routerBusy: 0.97,
    callsTogether: TOGETHER,
    namenodeConnections: 4,
    shares: { acceptor: acceptor / micros, worker: worker / micros, other: other / micros },
  };
}

function resultOf(point: Point, factor = 1): PointResult {
  const samples = [sampleOf(point, factor)];
  return summarisePoint(point, samples, samples, 1);
}

const axes = AXES.map((axis) => ({
  axis,
  result: {
    axis: axis.name,
    meaning: axis.meaning,
    reference: axis.reference,
    points: axis.points.map((point) => resultOf(point)),
  },
}));
const memoryOf = (points: typeof MEMORY_POINTS): { point: (typeof MEMORY_POINTS)[number]; rssBytes: number }[] =>
  points.map((point) => ({ point, rssBytes: predictTerms(MEMORY_TERMS, MEMORY, memoryFeatures(point, 2)) }));

describe('capacity model', () => {
  it('is determined by the axes and the memory points: a known router is found again', () => {
    const { model } = modelOf({
      axes,
      heldOut: HELD_OUT.map((point) => resultOf(point)),
      memory: memoryOf(MEMORY_POINTS),
      memoryHeldOut: memoryOf(MEMORY_HELD_OUT),
      handoff: 'ring',
    });
    for (const kind of THREAD_KINDS) {
      for (const term of CPU_TERMS) expect(model?.cpu[kind][term], `${kind} ${term}`).toBeCloseTo(CPU[kind][term], 6);
    }
    expect(model?.together).toBe(TOGETHER);
    expect(model?.cpuMargin).toBeCloseTo(1, 6);
    for (const term of MEMORY_TERMS) expect((model?.memory[term] ?? 0) / MEMORY[term]).toBeCloseTo(1, 6);
    expect(model?.cpuHeldOutError.largest).toBeLessThan(1e-6);
    expect(model?.cpuHeldOutError.points).toBe(HELD_OUT.length);
  });

  it('measures its error on points that it was not fitted on', () => {
    const { model, heldOut, memoryHeldOut } = modelOf({
      axes,
      heldOut: HELD_OUT.map((point, index) => resultOf(point, index === 0 ? 2 : 1.25)),
      memory: memoryOf(MEMORY_POINTS),
      memoryHeldOut: memoryOf(MEMORY_HELD_OUT).map(({ point, rssBytes }) => ({ point, rssBytes: rssBytes / 2 })),
      handoff: 'ring',
    });
    expect(model?.cpuFitError.largest).toBeLessThan(1e-6);
    expect(heldOut[0]?.error).toBeCloseTo(-0.5, 6);
    expect(model?.cpuHeldOutError.median).toBeCloseTo(0.2, 6);
    expect(model?.cpuHeldOutError.largest).toBeCloseTo(0.5, 6);
    expect(memoryHeldOut[0]?.error).toBeCloseTo(1, 6);
    // The model says 4 / 5 of what was measured.
    expect(model?.cpuHeldOutError.signedMedian).toBeCloseTo(-0.2, 6);
    expect(model?.cpuMargin).toBeCloseTo(1.25, 6);
  });

  it('says why there is none when an axis is missing', () => {
    const { model, modelMissing } = modelOf({
      axes: axes.filter(({ axis }) => axis.name === 'mounts'),
      heldOut: [],
      memory: memoryOf(MEMORY_POINTS),
      memoryHeldOut: [],
      handoff: 'ring',
    });
    expect(model).toBeNull();
    expect(modelMissing).toMatch(/measure/);
  });

  it('leaves axes that are not fitted out', () => {
    const fitted = new Map(
      AXES.filter((axis) => axis.fitted)
        .flatMap((axis) => axis.points)
        .map((point) => [pointKey(point), point]),
    );
    const rows = [...fitted.values()].map((point) => ({
      features: cpuFeatures(point, TOGETHER),
      cpuMicrosPerCall: sampleOf(point).cpuMicrosPerCall,
      shares: sampleOf(point).shares,
    }));
    const spoilt = axes.map(({ axis, result }) => ({
      axis,
      result: axis.fitted
        ? result
        : { ...result, points: axis.points.map((point) => resultOf(point, fitted.has(pointKey(point)) ? 1 : 100)) },
    }));
    const measured = { heldOut: [], memory: memoryOf(MEMORY_POINTS), memoryHeldOut: [], handoff: 'ring' as const };
    const { model } = modelOf({ axes: spoilt, ...measured });
    expect(model?.cpu).toEqual(fitCpu(rows).coefficients);
    // A point of several axes counts once.
    expect(model?.cpuFitError.points).toBe(fitted.size);
    expect(measureCpuError(CPU, []).points).toBe(0);
  });
});

describe('margin', () => {
  it('is what the model says too little in the median, never less than nothing', () => {
    const error = { points: 3, median: 0.5, largest: 0.5, signedOfPoints: [] };
    expect(marginOf({ ...error, signedMedian: -0.5 })).toBe(2);
    expect(marginOf({ ...error, signedMedian: 0.5 })).toBe(1);
    expect(marginOf({ ...error, signedMedian: -1 })).toBeLessThan(100);
  });
});

describe('hand-offs', () => {
  it('inline has one thread where the ring has two, and no CPU of workers', () => {
    const inline = modelOf({
      axes: axes.map(({ axis, result }) => ({
        axis,
        result: {
          ...result,
          points: result.points.map((point) => ({ ...point, shares: { acceptor: 0.9, worker: 0, other: 0.1 } })),
        },
      })),
      heldOut: [],
      memory: memoryOf(MEMORY_POINTS),
      memoryHeldOut: [],
      handoff: 'inline',
    }).model;
    expect(inline?.threadsPerPair).toBe(1);
    expect((inline?.memory.thread ?? 0) / MEMORY.thread).toBeCloseTo(2, 6);
    for (const term of CPU_TERMS) expect(inline?.cpu.worker[term]).toBeCloseTo(0, 9);
  });
});

describe('pairs of user and nameservice', () => {
  it.each([
    [{}, 1],
    [{ inFlight: 16, namenodeConnections: 64 }, 1],
    [{ connections: 1000, users: 100 }, 100],
    [{ connections: 10, users: 1000 }, 10],
    [{ nameservices: 64, users: 2 }, 64],
    [{ nameservices: 16, users: 2 }, 32],
  ])('%j: %i', (changes, connections) => {
    const point = { ...BASE, ...changes };
    expect(countGroups(point, point.connections * point.inFlight)).toBe(connections);
  });
});

describe('points', () => {
  it('have a reference in each axis, names that differ, and held-out points that are in no axis', () => {
    const keyOf = (point: Point): string => JSON.stringify({ ...point, name: '' });
    const inAxes = new Set(AXES.flatMap((axis) => axis.points).map(keyOf));
    for (const axis of AXES) {
      const names = axis.points.map((point) => point.name);
      expect(names).toContain(axis.reference);
      expect(new Set(names).size).toBe(names.length);
    }
    for (const point of HELD_OUT) expect(inAxes.has(keyOf(point)), point.name).toBe(false);
    expect(setupKey({ ...BASE, users: 7 } as Point)).toBe(setupKey(BASE));
    expect(setupKey({ ...BASE, mounts: 7 })).not.toBe(setupKey(BASE));
    expect(pointKey({ ...BASE, loadShare: PLANNED_LOAD })).not.toBe(pointKey(BASE));
    expect(pointKey({ ...BASE, name: 'other' })).toBe(pointKey(BASE));
  });

  it.each([
    [1, 1],
    [1, 64],
    [100, 16],
    [100_000, 1],
    [10_000, 8],
  ])(
    '%i mounts, %i nameservices: as many mounts, and paths below them that meet every nameservice',
    (mounts, nameservices) => {
      const setup = { ...BASE, mounts, nameservices };
      const table = makeMounts(setup) as { srcPath: string; destinations: [{ nameserviceId: string }] }[];
      const nameserviceOf = new Map(table.map((mount) => [mount.srcPath, mount.destinations[0].nameserviceId]));
      expect(nameserviceOf.size).toBe(Math.max(mounts, nameservices));
      const met = makePaths(setup).map((path) => nameserviceOf.get(path.slice(0, path.lastIndexOf('/warehouse/'))));
      expect(new Set(met).size).toBe(nameservices);
      expect(met).not.toContain(undefined);
    },
  );
});

describe('samples', () => {
  it('are divided within each round', () => {
    const reference = [1, 2, 4].map((factor) => sampleOf(BASE, factor));
    const own = [2, 2, 2].map((factor) => sampleOf(BASE, factor));
    expect(summarisePoint(BASE, own, reference, 1)).toMatchObject({ ratioOfRounds: [2, 1, 0.5], ratio: 1 });
  });

  it.each([
    [{}, ''],
    [{ othersBusy: 0.5 }, /disturbed/],
    [{ driven: { ...DRIVEN, cpuSeconds: 0.5, loaderBusy: 0.9 } }, /tools were the limit/],
    [{ driven: { ...DRIVEN, cpuSeconds: 0.5 }, namenodeBusy: 0.1 }, /neither end/],
  ])('%j: what the limit was', (changes, limit) => {
    const samples = [{ ...sampleOf(BASE), ...changes }];
    expect(summarisePoint(BASE, samples, samples, 1).limit).toMatch(limit === '' ? /^$/ : limit);
  });

  it.each([
    ['', 0, 100, 'router'],
    ['', 100, 100, 'rate'],
    ['', 100, 90, 'router'],
    ['disturbed: other processes used 50 % of its core', 0, 1, 'disturbed'],
    ['neither end was saturated: load and NameNode were busy 50 %', 0, 1, 'neither'],
    ['peer and tools were both full: load and NameNode were busy 99 %', 0, 1, 'both'],
    ['the loader was the limit', 0, 1, 'tools'],
  ])('%s, %i calls/s asked: %i', (limit, ratePerSecond, callsPerSecond, name) => {
    expect(nameLimit({ limit, ratePerSecond, callsPerSecond })).toBe(name);
  });

  it('are what was used in the measured time, not before and after', () => {
    const lookAt = (atMs: number, tenths: number, rssBytes: number): Look => ({
      atMs,
      rssBytes,
      ticks: new Map([
        [1, 0],
        [2, tenths * 6],
        [3, tenths * 4],
      ]),
      acceptorSleeps: tenths * 100,
      routerSeconds: tenths / 10,
      coreSeconds: (tenths / 10) * 1.25,
      stubSeconds: tenths / 20,
    });
    const looks = [lookAt(0, 0, 1e9), lookAt(1_000, 50, 1e8), lookAt(2_000, 54, 2e8), lookAt(3_000, 58, 3e8)];
    const kinds = { acceptors: 1, workers: 1, cores: [1] };
    const use = sumUse([...looks, lookAt(9_000, 900, 1e9)], { fromMs: 900, toMs: 3_100 }, [2, 3], kinds);
    expect(use).toMatchObject({ rssBytes: 2e8, shares: { acceptor: 0.6, worker: 0.4, other: 0 } });
    expect(use.acceptorSleepsPerSecond).toBeCloseTo(400, 6);
    expect(use.stubBusy).toBeCloseTo(0.2, 6);
    expect(use.othersBusy).toBeCloseTo(0.1, 6);
    expect(() => sumUse(looks, { fromMs: 1_900, toMs: 2_100 }, [2, 3], kinds)).toThrow(/measure longer/);
  });

  it('give the shares of acceptors, workers and the rest, from the first look to the last', () => {
    const first = new Map([
      [10, 100],
      [12, 50],
      [13, 50],
    ]);
    const last = new Map([
      [10, 110],
      [12, 110],
      [13, 80],
      [14, 0],
    ]);
    const shares = shareTicks(first, last, [12, 13], { acceptors: 1, workers: 1 });
    expect(shares).toEqual({ acceptor: 0.6, worker: 0.3, other: 0.1 });
    expect(shareTicks(first, first, [12, 13], { acceptors: 1, workers: 1 }).other).toBe(1);
  });
});
