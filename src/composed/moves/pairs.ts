import type { Engine } from '../../call/engine.ts';
import { Failure } from '../../call/failure.ts';
import type { Method } from '../../call/method.ts';
import type { Target } from '../composition.ts';
import type { Located } from '../locate.ts';
import { Refused } from '../refused.ts';

const EMPTY = Buffer.alloc(0);

/** One location of the first path, and the one of the second that it can move to: in the same nameservice. */
export interface Pair {
  readonly source: Target;
  readonly target: Target | null;
}

export interface WholePair extends Pair {
  readonly target: Target;
}

/**
 * A pair for each location of the first path. Of several locations of the second path in the nameservice the one below the same directory
 * of the mount is taken, else the first.
 */
export function pairUp(sources: readonly Target[], targets: readonly Target[]): Pair[] {
  return sources.map((source) => {
    const inReach = targets.filter(({ nameservice }) => nameservice === source.nameservice);
    return { source, target: inReach.find((target) => isSameRoot(source, target)) ?? inReach[0] ?? null };
  });
}

export function isWhole(pair: Pair): pair is WholePair {
  return pair.target !== null;
}

/** Where the request of both paths goes. */
export function placeOf({ source, target }: WholePair): Target {
  return { ...source, path2: target.path, prefix2Bytes: target.prefixBytes };
}

/** By nameservice and path: a repeated call is to send them in the same order, for its ids to be the same. */
export function sortPairs(pairs: readonly WholePair[]): WholePair[] {
  return [...pairs].sort((a, b) => compareTargets(a.source, b.source) || compareTargets(a.target, b.target));
}

/** Two of them end at one place. */
export function sharePlace(pairs: readonly WholePair[]): boolean {
  const places = new Set(pairs.map(({ target }) => `${target.nameservice}:${target.path?.toString('latin1') ?? ''}`));
  return places.size < pairs.length;
}

/** Nothing of `from` can move to `to`: the Java Router's words, and the nameservices of both. */
export function acrossNameservices(
  engine: Engine,
  method: Method,
  from: string,
  to: string,
  sources: readonly number[],
  targets: readonly number[],
): Refused {
  const what = method.name.startsWith('rename')
    ? `Rename of ${from} to ${to} is not allowed, no eligible destination in the same namespace was found`
    : `${method.name} of ${from} and ${to} is not allowed`;
  return new Refused(
    Failure.IO,
    `${what}: ${from} is in ${namesOf(engine, sources)}, ${to} in ${namesOf(engine, targets)}`,
  );
}

/** A directory would be torn apart: a part of it has nowhere to go. The Java Router's words, and the nameservices of both. */
export function unequalLocations(engine: Engine, from: Located, to: Located): Refused {
  const where = ({ path, targets }: Located): string => `${path} is in ${namesOf(engine, targets.map(nameserviceOf))}`;
  return new Refused(
    Failure.IO,
    `Rename of ${from.path} to ${to.path} is not allowed. The number of remote locations for both source and target should be same. (${where(from)}; ${where(to)})`,
  );
}

/** `nameservice ns0` or `the nameservices ns0, ns1`. */
export function namesOf(engine: Engine, nameservices: readonly number[]): string {
  const names = [...new Set(nameservices)].map((each) => engine.nameserviceName(each)).sort();
  return names.length === 1 ? `nameservice ${names[0]}` : `the nameservices ${names.join(', ')}`;
}

export function nameserviceOf({ nameservice }: Target): number {
  return nameservice;
}

/** Both lie below the same directory that the mount leads to. */
export function isSameRoot(a: Target, b: Target): boolean {
  return (
    a.path !== null &&
    b.path !== null &&
    a.prefixBytes === b.prefixBytes &&
    a.path.subarray(0, a.prefixBytes).equals(b.path.subarray(0, b.prefixBytes))
  );
}

function compareTargets(a: Target, b: Target): number {
  return a.nameservice - b.nameservice || Buffer.compare(a.path ?? EMPTY, b.path ?? EMPTY);
}
