import { describe, expect, it } from 'vitest';
import type { Sample } from './measure.ts';
import {
  CPU_TERMS,
  countGroups,
  cpuFeatures,
  fitTerms,
  MEMORY_TERMS,
  measureError,
  memoryFeatures,
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
  type Point,
  setupKey,
} from './points.ts';
import { modelOf, type PointResult, summarisePoint } from './result.ts';
import { shareTicks } from './router-watch.ts';

const CPU = { call: 4, client: 3, namenode: 2, wake: 10, cold: 0.5, spread: 6, table: 0.1, reply: 0.25, large: 0.75 };
const MEMORY = { base: 90e6, connection: 9_000, inFlight: 600, mount: 400, thread: 20e6 };
const SHARES = { acceptor: 0.5, worker: 0.4, other: 0.1 };

function sampleOf(point: Point, factor = 1): Sample {
  return {
    cpuMicrosPerCall: predictTerms(CPU_TERMS, CPU, cpuFeatures(point)) * factor,
    callsPerSecond: 80_000,
    p99Micros: 900,
    routerBusy: 0.97,
    loaderBusy: 0.5,
    stubBusy: 0.2,
    toolsWereTheLimit: false,
    namenodeConnections: countGroups(point),
    shares: SHARES,
    errors: 0,
    firstError: '',
  };
}

function resultOf(point: Point, factor = 1): PointResult {
  const samples = [sampleOf(point, factor)];
  return summarisePoint(point, samples, samples);
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
  points.map((point) => ({ point, rssBytes: predictTerms(MEMORY_TERMS, MEMORY, memoryFeatures(point)) }));

describe('capacity model', () => {
  it('is determined by the axes and the memory points: a known router is found again', () => {
    const { model } = modelOf({
      axes,
      heldOut: HELD_OUT.map((point) => resultOf(point)),
      memory: memoryOf(MEMORY_POINTS),
      memoryHeldOut: memoryOf(MEMORY_HELD_OUT),
      shares: SHARES,
    });
    for (const term of CPU_TERMS) expect(model?.cpu[term]).toBeCloseTo(CPU[term], 6);
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
      shares: SHARES,
    });
    expect(model?.cpuFitError.largest).toBeLessThan(1e-6);
    expect(heldOut[0]?.error).toBeCloseTo(-0.5, 6);
    expect(model?.cpuHeldOutError.median).toBeCloseTo(0.2, 6);
    expect(model?.cpuHeldOutError.largest).toBeCloseTo(0.5, 6);
    expect(memoryHeldOut[0]?.error).toBeCloseTo(1, 6);
  });

  it('says why there is none when an axis is missing', () => {
    const { model, modelMissing } = modelOf({
      axes: axes.filter(({ axis }) => axis.name === 'mounts'),
      heldOut: [],
      memory: memoryOf(MEMORY_POINTS),
      memoryHeldOut: [],
      shares: SHARES,
    });
    expect(model).toBeNull();
    expect(modelMissing).toMatch(/measure/);
  });

  it('leaves axes that are not fitted out', () => {
    const rows = AXES.filter((axis) => axis.fitted)
      .flatMap((axis) => axis.points)
      .map((point) => ({ features: cpuFeatures(point), value: sampleOf(point).cpuMicrosPerCall }));
    const spoilt = axes.map(({ axis, result }) => ({
      axis,
      result: axis.fitted ? result : { ...result, points: axis.points.map((point) => resultOf(point, 100)) },
    }));
    const measured = { heldOut: [], memory: memoryOf(MEMORY_POINTS), memoryHeldOut: [], shares: SHARES };
    expect(modelOf({ axes: spoilt, ...measured }).model?.cpu).toEqual(fitTerms(CPU_TERMS, rows).coefficients);
    expect(measureError(CPU_TERMS, CPU, [])).toEqual({ points: 0, median: 0, largest: 0 });
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
    expect(countGroups({ ...BASE, ...changes })).toBe(connections);
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
    expect(summarisePoint(BASE, own, reference)).toMatchObject({ ratioOfRounds: [2, 1, 0.5], ratio: 1 });
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
