/**
 * The capacity model: CPU per call and memory of a router as sums of a few terms, fitted by least squares on measured points and tested on
 * others.
 *
 *   CPU µs per call = call + client / M + namenode · min(1, G / N) + wake / N + cold · log10(max(1, C / 64))
 *                     + spread · log10(max(1, G / 64))
 *                     + table · log10(mounts) + reply · KB + large · max(0, KB - 16)
 *     C connections, M calls in flight of each, N = C · M together, G pairs of user and nameservice that they belong to
 *   resident bytes  = base + connection · C + inFlight · calls + mount · mounts + thread · threads
 *
 * 1/M and G/N are shares of a read and a write that a call has for itself: what comes together is read and written together.
 */

import { median } from '../harness/table.ts';
import { fitRelative, type Observation, predict } from './least-squares.ts';
import { type MemoryPoint, memoryCalls, type Point } from './points.ts';

export const CPU_TERMS = ['call', 'client', 'namenode', 'wake', 'cold', 'spread', 'table', 'reply', 'large'] as const;
export const MEMORY_TERMS = ['base', 'connection', 'inFlight', 'mount', 'thread'] as const;

export type Coefficients<Term extends string> = Readonly<Record<Term, number>>;
export type CpuCoefficients = Coefficients<(typeof CPU_TERMS)[number]>;
export type MemoryCoefficients = Coefficients<(typeof MEMORY_TERMS)[number]>;

/** Relative errors, 0.1 for 10 %, without sign. */
export interface ModelError {
  readonly points: number;
  readonly median: number;
  readonly largest: number;
}

/** Connections up to which the caches hold what belongs to a connection. */
const WARM_CONNECTIONS = 64;
const KB = 1_000;
/** Replies beyond this size do not go out from one of the router's slabs. */
const SLAB_BYTES = 16_000;

/** Pairs of user and nameservice among which the calls in flight are spread: the calls of a pair that come together leave in one write. */
export function countGroups(point: Point): number {
  return Math.min(point.connections * point.inFlight, point.nameservices * Math.min(point.users, point.connections));
}

export function cpuFeatures(point: Point): number[] {
  const calls = point.connections * point.inFlight;
  return cpuFeaturesOf({
    connections: point.connections,
    inFlight: point.inFlight,
    together: calls,
    namenodeShare: countGroups(point) / calls,
    groups: countGroups(point),
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
    Math.max(0, load.replyBytes - SLAB_BYTES) / KB,
  ];
}

/** In the order of MEMORY_TERMS. */
export function memoryFeatures(point: MemoryPoint): number[] {
  return [1, point.connections, memoryCalls(point), point.mounts, point.threads * 2];
}

export interface Fit<Term extends string> {
  readonly coefficients: Coefficients<Term>;
  /** On the points that it was fitted on. */
  readonly fitError: ModelError;
}

/** Throws when the rows do not determine the coefficients. */
export function fitTerms<Term extends string>(terms: readonly Term[], rows: readonly Observation[]): Fit<Term> {
  const solution = fitRelative(rows, terms);
  const coefficients = Object.fromEntries(terms.map((term, index) => [term, solution[index] as number])) as Record<
    Term,
    number
  >;
  return { coefficients, fitError: measureError(terms, coefficients, rows) };
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
  const errors = rows.map(({ features, value }) =>
    Math.abs(relativeError(predictTerms(terms, coefficients, features), value)),
  );
  if (errors.length === 0) return { points: 0, median: 0, largest: 0 };
  return { points: errors.length, median: median(errors), largest: Math.max(...errors) };
}
