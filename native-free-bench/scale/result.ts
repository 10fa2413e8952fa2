/** What `npm run bench:scale` writes with --json, and the sums in it. Times in µs, memory in bytes. */

import { median } from '../harness/table.ts';
import type { Sample } from './measure.ts';
import {
  CPU_TERMS,
  type CpuCoefficients,
  cpuFeatures,
  type Fit,
  fitTerms,
  MEMORY_TERMS,
  type MemoryCoefficients,
  type ModelError,
  measureError,
  memoryFeatures,
  predictTerms,
  relativeError,
} from './model.ts';
import type { Axis, MemoryPoint, Point } from './points.ts';
import type { ThreadShares } from './router-watch.ts';

export const SCALE_VERSION = 1;

export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly kernel: string;
  readonly node: string;
}

export interface PointResult {
  readonly point: Point;
  readonly cpuMicrosPerCall: number;
  /** CPU per call divided by that of the axis' reference in the same round: median. 1 for the reference itself. */
  readonly ratio: number;
  readonly ratioOfRounds: readonly number[];
  readonly callsPerSecond: number;
  readonly p99Micros: number;
  readonly routerBusy: number;
  readonly loaderBusy: number;
  readonly stubBusy: number;
  readonly toolsWereTheLimit: boolean;
  readonly namenodeConnections: number;
  readonly shares: ThreadShares;
  readonly errors: number;
  readonly firstError: string;
}

export interface AxisResult {
  readonly axis: string;
  readonly meaning: string;
  readonly reference: string;
  readonly points: readonly PointResult[];
}

export interface HeldOutResult extends PointResult {
  /** Null without a model. */
  readonly predictedMicrosPerCall: number | null;
  /** 0.1: the model says 10 % more than was measured. */
  readonly error: number | null;
}

export interface MemoryResult {
  readonly point: MemoryPoint;
  readonly rssBytes: number;
  readonly predictedBytes: number | null;
  readonly error: number | null;
}

export interface CapacityModel {
  readonly cpu: CpuCoefficients;
  readonly cpuFitError: ModelError;
  readonly cpuHeldOutError: ModelError;
  readonly memory: MemoryCoefficients;
  readonly memoryFitError: ModelError;
  readonly memoryHeldOutError: ModelError;
  /** Calls a second that one connection to a NameNode has carried; router or load were the limit, so it may be more. */
  readonly callsPerNamenodeConnection: number;
  /** At the base point. */
  readonly shares: ThreadShares;
}

export interface ScaleResult {
  readonly version: typeof SCALE_VERSION;
  readonly machine: Machine;
  readonly handoff: 'ring' | 'inline';
  readonly rounds: number;
  readonly seconds: number;
  readonly axes: readonly AxisResult[];
  /** CPU per call of the base point at the end of each round, as a ratio to its beginning: what the machine does to a ratio by itself. */
  readonly repeated: readonly number[];
  readonly heldOut: readonly HeldOutResult[];
  readonly memory: readonly MemoryResult[];
  readonly memoryHeldOut: readonly MemoryResult[];
  /** Null when too little was measured to fit it; `modelMissing` says why. */
  readonly model: CapacityModel | null;
  readonly modelMissing: string;
}

/** `rounds` of one point, in order, beside those of the reference of its axis. */
export function summarisePoint(point: Point, rounds: readonly Sample[], reference: readonly Sample[]): PointResult {
  const ratios = rounds.map((sample, round) => sample.cpuMicrosPerCall / (reference[round] as Sample).cpuMicrosPerCall);
  const middle = (read: (sample: Sample) => number): number => median(rounds.map(read));
  return {
    point,
    cpuMicrosPerCall: middle((sample) => sample.cpuMicrosPerCall),
    ratio: median(ratios),
    ratioOfRounds: ratios,
    callsPerSecond: middle((sample) => sample.callsPerSecond),
    p99Micros: middle((sample) => sample.p99Micros),
    routerBusy: middle((sample) => sample.routerBusy),
    loaderBusy: middle((sample) => sample.loaderBusy),
    stubBusy: middle((sample) => sample.stubBusy),
    toolsWereTheLimit: rounds.filter((sample) => sample.toolsWereTheLimit).length * 2 > rounds.length,
    namenodeConnections: Math.max(...rounds.map((sample) => sample.namenodeConnections)),
    shares: {
      acceptor: middle((sample) => sample.shares.acceptor),
      worker: middle((sample) => sample.shares.worker),
      other: middle((sample) => sample.shares.other),
    },
    errors: rounds.reduce((sum, sample) => sum + sample.errors, 0),
    firstError: rounds.find((sample) => sample.firstError !== '')?.firstError ?? '',
  };
}

export interface Measured {
  readonly axes: readonly { readonly axis: Axis; readonly result: AxisResult }[];
  readonly heldOut: readonly PointResult[];
  readonly memory: readonly { readonly point: MemoryPoint; readonly rssBytes: number }[];
  readonly memoryHeldOut: readonly { readonly point: MemoryPoint; readonly rssBytes: number }[];
  readonly shares: ThreadShares;
}

export type Modelled = Pick<ScaleResult, 'heldOut' | 'memory' | 'memoryHeldOut' | 'model' | 'modelMissing'>;

/** Fits the model on the axes and the memory points and holds it against the points that were kept apart. */
export function modelOf(measured: Measured): Modelled {
  const cpuRows = measured.axes
    .filter(({ axis }) => axis.fitted)
    .flatMap(({ result }) => result.points)
    .map((result) => ({ features: cpuFeatures(result.point), value: result.cpuMicrosPerCall }));
  const memoryRows = measured.memory.map(rowOfMemory);
  let cpu: Fit<(typeof CPU_TERMS)[number]>;
  let memory: Fit<(typeof MEMORY_TERMS)[number]>;
  try {
    cpu = fitTerms(CPU_TERMS, cpuRows);
    memory = fitTerms(MEMORY_TERMS, memoryRows);
  } catch (error) {
    return {
      heldOut: measured.heldOut.map((result) => ({ ...result, predictedMicrosPerCall: null, error: null })),
      memory: measured.memory.map(unpredicted),
      memoryHeldOut: measured.memoryHeldOut.map(unpredicted),
      model: null,
      modelMissing: error instanceof Error ? error.message : String(error),
    };
  }
  const predictMemory = ({ point, rssBytes }: { point: MemoryPoint; rssBytes: number }): MemoryResult => {
    const predictedBytes = predictTerms(MEMORY_TERMS, memory.coefficients, memoryFeatures(point));
    return { point, rssBytes, predictedBytes, error: relativeError(predictedBytes, rssBytes) };
  };
  const heldOut = measured.heldOut.map((result) => {
    const predictedMicrosPerCall = predictTerms(CPU_TERMS, cpu.coefficients, cpuFeatures(result.point));
    return { ...result, predictedMicrosPerCall, error: relativeError(predictedMicrosPerCall, result.cpuMicrosPerCall) };
  });
  const heldOutRows = measured.heldOut.map((result) => ({
    features: cpuFeatures(result.point),
    value: result.cpuMicrosPerCall,
  }));
  return {
    heldOut,
    memory: measured.memory.map(predictMemory),
    memoryHeldOut: measured.memoryHeldOut.map(predictMemory),
    modelMissing: '',
    model: {
      cpu: cpu.coefficients,
      cpuFitError: cpu.fitError,
      cpuHeldOutError: measureError(CPU_TERMS, cpu.coefficients, heldOutRows),
      memory: memory.coefficients,
      memoryFitError: memory.fitError,
      memoryHeldOutError: measureError(MEMORY_TERMS, memory.coefficients, measured.memoryHeldOut.map(rowOfMemory)),
      callsPerNamenodeConnection: callsPerNamenodeConnection(measured.axes.flatMap(({ result }) => result.points)),
      shares: measured.shares,
    },
  };
}

function unpredicted(measured: { readonly point: MemoryPoint; readonly rssBytes: number }): MemoryResult {
  return { ...measured, predictedBytes: null, error: null };
}

function rowOfMemory({ point, rssBytes }: { point: MemoryPoint; rssBytes: number }): {
  features: number[];
  value: number;
} {
  return { features: memoryFeatures(point), value: rssBytes };
}

/** The most that a single connection to the NameNode has carried in any point. */
export function callsPerNamenodeConnection(points: readonly PointResult[]): number {
  return Math.max(0, ...points.map((result) => result.callsPerSecond / Math.max(1, result.namenodeConnections)));
}
