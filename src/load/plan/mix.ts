/** The mix of operations and the distribution of paths, as the command line gives them. */
import { nearestWord, UsageError } from '../../commands/usage.ts';
import { isChanging, OPERATION_NAMES, type OperationName } from './operations.ts';
import type { Distribution, MixShare, Target } from './plan.ts';

/** What a cluster's clients do, roughly: mostly reads of metadata. */
export const DEFAULT_MIX: readonly MixShare[] = [
  { operation: 'getFileInfo', weight: 70 },
  { operation: 'getListing', weight: 15 },
  { operation: 'getBlockLocations', weight: 10 },
  { operation: 'mkdirs', weight: 3 },
  { operation: 'rename', weight: 1 },
  { operation: 'delete', weight: 1 },
];

/** Of paths that may be files or directories, with no directory of its own. */
export const READ_PATHS_MIX: readonly MixShare[] = [{ operation: 'getFileInfo', weight: 1 }];

const MAX_WEIGHT = 1_000_000;
const MAX_EXPONENT = 10;

/** `NAME=WEIGHT,NAME=WEIGHT`; a name alone has weight 1. */
export function parseMix(text: string): MixShare[] {
  const shares: MixShare[] = [];
  for (const part of text.split(',')) {
    const [name = '', digits, ...rest] = part.trim().split('=');
    const operation = findOperation(name, text);
    const weight = digits === undefined ? 1 : readWeight(digits);
    if (rest.length > 0 || weight === null) {
      throw new UsageError(`--mix ${part.trim()}: write NAME=WEIGHT, a weight more than 0 and at most ${MAX_WEIGHT}`);
    }
    if (shares.some((share) => share.operation === operation)) throw new UsageError(`--mix: ${name} is given twice`);
    shares.push({ operation, weight });
  }
  return shares;
}

function findOperation(name: string, text: string): OperationName {
  const found = OPERATION_NAMES.find((operation) => operation === name);
  if (found !== undefined) return found;
  if (name === '') throw new UsageError(`--mix ${text}: write NAME=WEIGHT,NAME=WEIGHT`);
  const near = nearestWord(name, OPERATION_NAMES);
  throw new UsageError(
    `--mix: there is no operation ${name}${near === null ? '; it' : `; did you mean ${near}? It`} can make ${OPERATION_NAMES.join(', ')}`,
  );
}

function readWeight(digits: string): number | null {
  if (!/^[0-9]{1,7}(\.[0-9]{1,6})?$/.test(digits)) return null;
  const weight = Number(digits);
  return weight > 0 && weight <= MAX_WEIGHT ? weight : null;
}

/** `uniform`, or `zipf:S` with an exponent S. */
export function parseDistribution(text: string | undefined): Distribution {
  if (text === undefined || text === 'uniform') return { kind: 'uniform' };
  const [, digits] = /^zipf:([0-9]{1,2}(?:\.[0-9]{1,6})?)$/.exec(text) ?? [];
  const exponent = Number(digits ?? Number.NaN);
  if (exponent > 0 && exponent <= MAX_EXPONENT) return { kind: 'zipf', exponent };
  throw new UsageError(
    `--path-distribution ${text}: write uniform, or zipf:S with S more than 0 and at most ${MAX_EXPONENT}, for instance zipf:0.99`,
  );
}

/** Operations that change something, or need files, have only a directory of their own to do it in. */
export function refuseUnplaced(mix: readonly MixShare[], targets: readonly Target[], paths: readonly string[]): void {
  if (targets.length > 0) return;
  const remedy = 'give --mounts /DIRECTORY, where it makes a directory of its own and removes it in the end';
  if (paths.length === 0) throw new UsageError(`there is nothing to call: ${remedy}, or --paths to read`);
  const unplaced = mix.filter(({ operation }) => isChanging(operation)).map(({ operation }) => operation);
  if (unplaced.length === 0) return;
  throw new UsageError(`--mix: ${unplaced.join(', ')} would change what is there; ${remedy}`);
}
