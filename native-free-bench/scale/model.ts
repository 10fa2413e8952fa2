/**
 * The capacity model: CPU per call and memory of a router as sums of a few terms, fitted by least squares on measured points and tested on
 * others. CPU has a sum of its own for each kind of thread: acceptors, workers, everything else.
 *
 *   CPU µs per call = call + client / M + namenode · min(1, G / N) + wake / N + cold · log10(max(1, C / 64))
 *                     + spread · log10(max(1, G / 64))
 *                     + table · log10(mounts) + reply · KB + large · KB if KB > 16
 *     C connections, M calls in flight of each, N calls at once (closed loop: C · M, open loop: as measured), G pairs of user and nameservice
 *     that they belong to
 *   resident bytes  = base + connection · C + inFlight · calls + mount · mounts + thread · threads
 *
 * 1/M and G/N are shares of a read and a write that a call has for itself: what comes together is read and written together.
 */

import { median } from '../harness/table.ts';
import { fitRelative, type Observation, predict } from './least-squares.ts';
import { type MemoryPoint, memoryCalls, type Point } from './points.ts';
import { THREAD_KINDS, type ThreadKind } from './router-watch.ts';

export const CPU_TERMS = ['call', 'client', 'namenode', 'wake', 'cold', 'spread', 'table', 'reply', 'large'] as const;
export const MEMORY_TERMS = ['base', 'connection', 'inFlight', 'mount', 'thread'] as const;

export type Coefficients<Term extends string> = Readonly<Record<Term, number>>;
export type CpuCoefficients = Readonly<Record<ThreadKind, Coefficients<(typeof CPU_TERMS)[number]>>>;
export type MemoryCoefficients = Coefficients<(typeof MEMORY_TERMS)[number]>;

/** Relative errors, 0.1 for 10 %: without sign, and with it: below 0 where the model says too little. */
export interface ModelError {
  readonly points: number;
  readonly median: number;
  readonly largest: number;
  readonly signedMedian: number;
  readonly signedOfPoints: readonly number[];
}

/** Connections up to which the caches hold what belongs to a connection. */
const WARM_CONNECTIONS = 64;
const KB = 1_000;
/** Replies beyond this size do not go out from one of the router's slabs. */
const SLAB_BYTES = 16_000;

/** What comes together when it is measured at a point: in a closed loop all that is in flight. */
export function countTogether(point: Point, measured: number): number {
  return point.loadShare > 0 ? measured : point.connections * point.inFlight;
}

/** Pairs of user and nameservice among which `together` calls are spread: the calls of a pair that come together leave in one write. */
export function countGroups(point: Point, together: number): number {
  return Math.min(together, point.nameservices * Math.min(point.users, point.connections));
}

/** `callsTogether`: as measured at the point. */
export function cpuFeatures(point: Point, callsTogether: number): number[] {
  const together = countTogether(point, callsTogether);
  const groups = countGroups(point, together);
  return cpuFeaturesOf({
    connections: point.connections,
    inFlight: point.inFlight,
    together,
    namenodeShare: groups / together,
    groups,
    mounts: point.mounts,
    replyBytes: point.replyBytes,
  });
}

export interface CpuLoad {
  readonly connections: number;
  readonly inFlight: number;
  /** Calls that the router finds at once. */
  readonly together: number;
  /** Share of a write to a NameNode, and of a read, that a call has for itself. */
  readonly namenodeShare: number;
  /** Pairs of user and nameservice with connections of their own. */
  readonly groups: number;
  readonly mounts: number;
  readonly replyBytes: number;
}

/** In the order of CPU_TERMS. */
export function cpuFeaturesOf(load: CpuLoad): number[] {
  return [
    1,
    1 / load.inFlight,
    load.namenodeShare,
    1 / load.together,
    Math.log10(Math.max(1, load.connections / WARM_CONNECTIONS)),
    Math.log10(Math.max(1, load.groups / WARM_CONNECTIONS)),
    Math.log10(load.mounts),
    load.replyBytes / KB,
    load.replyBytes > SLAB_BYTES ? load.replyBytes / KB : 0,
  ];
}

/** In the order of MEMORY_TERMS. `threadsPerPair`: 2 with the ring; with the inline hand-off one thread is both. */
export function memoryFeatures(point: MemoryPoint, threadsPerPair: number): number[] {
  return [1, point.connections, memoryCalls(point), point.mounts, point.threads * threadsPerPair];
}

export interface CpuRow {
  readonly features: readonly number[];
  readonly cpuMicrosPerCall: number;
  readonly shares: Readonly<Record<ThreadKind, number>>;
}

/** Each kind of thread by itself; errors are relative to the CPU of the whole process, so that a kind with next to nothing decides nothing. */
export function fitCpu(rows: readonly CpuRow[]): { coefficients: CpuCoefficients; fitError: ModelError } {
  const fitKind = (kind: ThreadKind): Coefficients<(typeof CPU_TERMS)[number]> =>
    fitTerms(
      CPU_TERMS,
      rows.map(({ features, cpuMicrosPerCall, shares }) => ({
        features,
        value: cpuMicrosPerCall * shares[kind],
        scale: cpuMicrosPerCall,
      })),
    );
  const coefficients = { acceptor: fitKind('acceptor'), worker: fitKind('worker'), other: fitKind('other') };
  return { coefficients, fitError: measureCpuError(coefficients, rows) };
}

/** µs of a call, of each kind of thread. */
export function predictCpu(coefficients: CpuCoefficients, features: readonly number[]): Record<ThreadKind, number> {
  const of = (kind: ThreadKind): number => predictTerms(CPU_TERMS, coefficients[kind], features);
  return { acceptor: of('acceptor'), worker: of('worker'), other: of('other') };
}

export function predictCpuMicros(coefficients: CpuCoefficients, features: readonly number[]): number {
  const parts = predictCpu(coefficients, features);
  return THREAD_KINDS.reduce((sum, kind) => sum + parts[kind], 0);
}

export function measureCpuError(coefficients: CpuCoefficients, rows: readonly CpuRow[]): ModelError {
  return summariseErrors(
    rows.map((row) => relativeError(predictCpuMicros(coefficients, row.features), row.cpuMicrosPerCall)),
  );
}

/** What the CPU of the model is to be multiplied by: more than 1 when it says too little of half of the points that it had not seen. */
export function marginOf(heldOut: ModelError): number {
  return 1 / (1 + Math.max(LEAST_ERROR, Math.min(0, heldOut.signedMedian)));
}

/** A model that is further off is no model. */
const LEAST_ERROR = -0.9;

/** Throws when the rows do not determine the coefficients. */
export function fitTerms<Term extends string>(
  terms: readonly Term[],
  rows: readonly Observation[],
): Coefficients<Term> {
  const solution = fitRelative(rows, terms);
  return Object.fromEntries(terms.map((term, index) => [term, solution[index] as number])) as Record<Term, number>;
}

export function predictTerms<Term extends string>(
  terms: readonly Term[],
  coefficients: Coefficients<Term>,
  features: readonly number[],
): number {
  return predict(
    features,
    terms.map((term) => coefficients[term]),
  );
}

export function relativeError(predicted: number, measured: number): number {
  return (predicted - measured) / measured;
}

export function measureError<Term extends string>(
  terms: readonly Term[],
  coefficients: Coefficients<Term>,
  rows: readonly Observation[],
): ModelError {
  return summariseErrors(
    rows.map(({ features, value }) => relativeError(predictTerms(terms, coefficients, features), value)),
  );
}

function summariseErrors(signed: readonly number[]): ModelError {
  if (signed.length === 0) return { points: 0, median: 0, largest: 0, signedMedian: 0, signedOfPoints: [] };
  const errors = signed.map(Math.abs);
  return {
    points: signed.length,
    median: median(errors),
    largest: Math.max(...errors),
    signedMedian: median(signed),
    signedOfPoints: signed,
  };
}
