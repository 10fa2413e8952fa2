/** What `npm run bench:scale` writes with --json, and the sums in it. Times in µs, memory in bytes. */

import { findLimit } from '../harness/limits.ts';
import type { Machine } from '../harness/machine.ts';
import { median } from '../harness/table.ts';
import type { Sample } from './measure.ts';
import {
  type Coefficients,
  type CpuCoefficients,
  type CpuRow,
  cpuFeatures,
  fitCpu,
  fitTerms,
  MEMORY_TERMS,
  type MemoryCoefficients,
  type ModelError,
  marginOf,
  measureCpuError,
  measureError,
  memoryFeatures,
  predictCpuMicros,
  predictTerms,
  relativeError,
} from './model.ts';
import { type Axis, type MemoryPoint, PLANNED_LOAD, type Point, pointKey } from './points.ts';
import type { ThreadShares } from './router-watch.ts';

export const SCALE_VERSION = 2;

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
  /** Of the router's core, used by others. */
  readonly othersBusy: number;
  /** Why calls/s and latency say nothing about the router; '' when it was the limit, or the asked rate of an open loop. */
  readonly limit: string;
  /** Calls a second that were asked for; 0: closed loop. */
  readonly ratePerSecond: number;
  /** Calls that an acceptor finds at once when it wakes up. */
  readonly callsTogether: number;
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
  /** The CPU of the model is multiplied by it: what it says too little, in the median, of the points that it had not seen. */
  readonly cpuMargin: number;
  /** Most calls a second that one connection to a NameNode has carried. */
  readonly callsPerNamenodeConnection: number;
  /** What kept it from carrying more, as far as known: `limit` of that point. */
  readonly namenodeConnectionLimit: string;
  /** Calls that an acceptor finds at once at `PLANNED_LOAD` of the base point's calls a second. */
  readonly together: number;
  /** Threads of a pair of acceptor and worker: 1 with the inline hand-off. */
  readonly threadsPerPair: number;
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
  /** Points that could not be measured in all rounds, and why. */
  readonly failures: readonly string[];
}

/** `rounds` of one point, in order, beside those of the reference of its axis. */
export function summarisePoint(
  point: Point,
  rounds: readonly Sample[],
  reference: readonly Sample[],
  toolCores: number,
): PointResult {
  const ratios = rounds.map((sample, round) => sample.cpuMicrosPerCall / (reference[round] as Sample).cpuMicrosPerCall);
  const middle = (read: (sample: Sample) => number): number => median(rounds.map(read));
  const ratePerSecond = middle((sample) => sample.ratePerSecond);
  return {
    point,
    cpuMicrosPerCall: middle((sample) => sample.cpuMicrosPerCall),
    ratio: median(ratios),
    ratioOfRounds: ratios,
    callsPerSecond: middle((sample) => sample.driven.callsPerSecond),
    p99Micros: middle((sample) => sample.driven.p99),
    routerBusy: middle((sample) => sample.routerBusy),
    loaderBusy: middle((sample) => sample.driven.loaderBusy),
    stubBusy: middle((sample) => sample.namenodeBusy),
    othersBusy: middle((sample) => sample.othersBusy),
    limit: findLimit(rounds, { ratePerSecond, toolCores, peerCores: 1 }),
    ratePerSecond,
    callsTogether: middle((sample) => sample.callsTogether),
    namenodeConnections: Math.max(...rounds.map((sample) => sample.namenodeConnections)),
    shares: {
      acceptor: middle((sample) => sample.shares.acceptor),
      worker: middle((sample) => sample.shares.worker),
      other: middle((sample) => sample.shares.other),
    },
    errors: rounds.reduce((sum, sample) => sum + sample.driven.errors, 0),
    firstError: rounds.find((sample) => sample.driven.firstError !== '')?.driven.firstError ?? '',
  };
}

export interface Measured {
  readonly axes: readonly { readonly axis: Axis; readonly result: AxisResult }[];
  readonly heldOut: readonly PointResult[];
  readonly memory: readonly MeasuredMemory[];
  readonly memoryHeldOut: readonly MeasuredMemory[];
  readonly handoff: ScaleResult['handoff'];
}

export interface MeasuredMemory {
  readonly point: MemoryPoint;
  readonly rssBytes: number;
}

export type Modelled = Pick<ScaleResult, 'heldOut' | 'memory' | 'memoryHeldOut' | 'model' | 'modelMissing'>;

/** Fits the model on the axes and the memory points and holds it against the points that were kept apart. */
export function modelOf(measured: Measured): Modelled {
  const model = fitModel(measured);
  const isMissing = model instanceof Error;
  const predictMemory = ({ point, rssBytes }: MeasuredMemory): MemoryResult => {
    if (isMissing) return { point, rssBytes, predictedBytes: null, error: null };
    const predictedBytes = predictTerms(MEMORY_TERMS, model.memory, memoryFeatures(point, model.threadsPerPair));
    return { point, rssBytes, predictedBytes, error: relativeError(predictedBytes, rssBytes) };
  };
  return {
    heldOut: measured.heldOut.map((result) => {
      if (isMissing) return { ...result, predictedMicrosPerCall: null, error: null };
      const predictedMicrosPerCall = predictCpuMicros(model.cpu, rowOfCpu(result).features);
      const error = relativeError(predictedMicrosPerCall, result.cpuMicrosPerCall);
      return { ...result, predictedMicrosPerCall, error };
    }),
    memory: measured.memory.map(predictMemory),
    memoryHeldOut: measured.memoryHeldOut.map(predictMemory),
    model: isMissing ? null : model,
    modelMissing: isMissing ? model.message : '',
  };
}

/** An Error that says why there is none. */
function fitModel(measured: Measured): CapacityModel | Error {
  const threadsPerPair = measured.handoff === 'inline' ? 1 : 2;
  const rowOfMemory = ({ point, rssBytes }: MeasuredMemory): { features: number[]; value: number } => ({
    features: memoryFeatures(point, threadsPerPair),
    value: rssBytes,
  });
  // Points that several axes share count once.
  const points = new Map(
    measured.axes.flatMap(({ result }) => result.points).map((result) => [pointKey(result.point), result]),
  );
  const fitted = new Set(
    measured.axes.filter(({ axis }) => axis.fitted).flatMap(({ axis }) => axis.points.map(pointKey)),
  );
  const cpuRows = [...points].filter(([key]) => fitted.has(key)).map(([, result]) => rowOfCpu(result));
  const planned = [...points.values()].find(({ point }) => point.loadShare === PLANNED_LOAD);
  if (planned === undefined) return new Error("the axis 'load' was not measured: it tells how many calls come at once");
  let cpu: ReturnType<typeof fitCpu>;
  let memory: Coefficients<(typeof MEMORY_TERMS)[number]>;
  const memoryRows = measured.memory.map(rowOfMemory);
  try {
    cpu = fitCpu(cpuRows);
    memory = fitTerms(MEMORY_TERMS, memoryRows);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
  const cpuHeldOutError = measureCpuError(cpu.coefficients, measured.heldOut.map(rowOfCpu));
  const busiest = findBusiestConnection([...points.values()]);
  return {
    cpu: cpu.coefficients,
    cpuFitError: cpu.fitError,
    cpuHeldOutError,
    cpuMargin: marginOf(cpuHeldOutError),
    memory,
    memoryFitError: measureError(MEMORY_TERMS, memory, memoryRows),
    memoryHeldOutError: measureError(MEMORY_TERMS, memory, measured.memoryHeldOut.map(rowOfMemory)),
    callsPerNamenodeConnection: busiest.callsPerSecond,
    namenodeConnectionLimit: busiest.limit,
    together: planned.callsTogether,
    threadsPerPair,
  };
}

function rowOfCpu({ point, cpuMicrosPerCall, callsTogether, shares }: PointResult): CpuRow {
  return { features: cpuFeatures(point, callsTogether), cpuMicrosPerCall, shares };
}

/** The most that a single connection to the NameNode has carried in any point. */
export function findBusiestConnection(points: readonly PointResult[]): { callsPerSecond: number; limit: string } {
  let busiest = { callsPerSecond: 0, limit: '' };
  for (const { callsPerSecond, namenodeConnections, limit } of points) {
    const each = callsPerSecond / Math.max(1, namenodeConnections);
    if (each > busiest.callsPerSecond) busiest = { callsPerSecond: each, limit };
  }
  return busiest;
}
