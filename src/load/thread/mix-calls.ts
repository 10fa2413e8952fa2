import { countScratchGroups, fileDirectory, filePath, groupOfName } from '../plan/layout.ts';
import { isChanging, OPERATION_NAMES, OPERATIONS } from '../plan/operations.ts';
import type { LoadPlan } from '../plan/plan.ts';
import { LoadError } from '../run/load-error.ts';
import { scratchOf, targetOf } from './call-frames.ts';
import { type CallSource, GIVEN_PATHS } from './call-source.ts';
import { limitPools, NamePool } from './name-pool.ts';
import type { PathTable } from './path-table.ts';
import { AliasTable, Random, zipfWeights } from './random.ts';

const MKDIRS = OPERATION_NAMES.indexOf('mkdirs');
const RENAME = OPERATION_NAMES.indexOf('rename');
/** Tells the choices from the pools apart from those of operations and paths; more than there are threads. */
const POOL_STREAM = 1 << 16;

/** Random calls of a mix: operation by weight, target uniformly, path by the distribution. Changing ones name only scratch paths. */
export class MixCalls implements CallSource {
  operation = 0;
  target = GIVEN_PATHS;
  source = 0;
  group = 0;
  number = 0;
  destination = 0;
  substituted = false;
  readonly #random: Random;
  /** What the pools have depends on the replies: their choices have a generator of their own, so that operations and paths do not depend on them. */
  readonly #poolRandom: Random;
  readonly #operations: readonly number[];
  readonly #operationTable: AliasTable;
  readonly #targets: number;
  readonly #files: number;
  /** Null: uniform. */
  readonly #fileTable: AliasTable | null;
  readonly #hasGivenPaths: boolean;
  /** First file of each target in the path table; and the directory of each file, as an index in the same table. */
  readonly #directories: Int32Array;
  /** What a user has made at a target, by target · users + user: some changes are the owner's alone. */
  readonly #pools = new Map<number, NamePool>();
  readonly #users: number;
  readonly #poolLimit: number;
  /** Of each target. */
  readonly #groups: number;
  /** Number of the next name at each target. */
  readonly #made: Int32Array;

  constructor(plan: LoadPlan, thread: number, paths: PathTable) {
    checkMix(plan);
    this.#random = new Random(plan.seed, thread);
    this.#poolRandom = new Random(plan.seed, POOL_STREAM + thread);
    this.#operations = plan.mix.map(({ operation }) => OPERATION_NAMES.indexOf(operation));
    this.#operationTable = new AliasTable(plan.mix.map(({ weight }) => weight));
    this.#targets = plan.targets.length;
    this.#hasGivenPaths = plan.paths.length > 0;
    this.#files = this.#hasGivenPaths ? plan.paths.length : plan.filesPerTarget;
    this.#directories = addPaths(plan, paths);
    const { distribution } = plan;
    this.#fileTable =
      distribution.kind === 'zipf' && this.#files > 0
        ? new AliasTable(zipfWeights(this.#files, distribution.exponent))
        : null;
    this.#users = plan.users.length;
    this.#poolLimit = limitPools(this.#targets * this.#users);
    this.#groups = countScratchGroups(plan);
    this.#made = new Int32Array(this.#targets).fill(plan.firstName ?? 0);
  }

  choose(_call: number, user: number): void {
    const random = this.#random;
    const operation = this.#operations.length === 1 ? 0 : this.#operationTable.pick(random);
    this.operation = this.#operations[operation]!;
    this.substituted = false;
    const use = USES[this.operation]!;
    if (use === EXISTING || use === DIRECTORY) {
      const file = this.#fileTable === null ? random.nextBelow(this.#files) : this.#fileTable.pick(random);
      this.target = this.#hasGivenPaths ? GIVEN_PATHS : this.#targets === 1 ? 0 : random.nextBelow(this.#targets);
      const path = this.target <= 0 ? file : this.target * this.#files + file;
      this.source = use === EXISTING ? path : this.#directories[path]!;
      return;
    }
    this.target = this.#targets === 1 ? 0 : random.nextBelow(this.#targets);
    this.source = scratchOf(this.target);
    if (use === NEW) {
      this.#makeName();
      return;
    }
    const pool = this.#pools.get(this.target * this.#users + user);
    if (pool === undefined || !pool.take(this.#poolRandom)) {
      this.operation = MKDIRS;
      this.substituted = true;
      this.#makeName();
      return;
    }
    this.group = pool.takenGroup;
    this.number = pool.takenNumber;
    // A rename stays in its directory, which is there.
    if (this.operation === RENAME) this.destination = this.#nextNumber();
  }

  settleSuccess(
    operation: number,
    user: number,
    source: number,
    group: number,
    number: number,
    destination: number,
  ): void {
    const kept = KEEPS[operation]!;
    if (source >= 0 || kept === KEEPS_NOTHING) return;
    this.#poolOf(source, user).put(group, kept === KEEPS_NAME ? number : destination);
  }

  settleUnchanged(operation: number, user: number, source: number, group: number, number: number): void {
    if (source < 0 && USES[operation] === OWN) this.#poolOf(source, user).put(group, number);
  }

  #poolOf(source: number, user: number): NamePool {
    const index = targetOf(source) * this.#users + user;
    let pool = this.#pools.get(index);
    if (pool === undefined) {
      pool = new NamePool(this.#poolLimit);
      this.#pools.set(index, pool);
    }
    return pool;
  }

  #makeName(): void {
    this.number = this.#nextNumber();
    this.group = groupOfName(this.number, this.#groups);
  }

  #nextNumber(): number {
    const number = this.#made[this.target]!;
    this.#made[this.target] = number + 1;
    return number;
  }
}

const EXISTING = 0;
const DIRECTORY = 1;
const NEW = 2;
const OWN = 3;
/** PathUse of each operation as a number; a rename is one of the own. */
const USES: readonly number[] = OPERATION_NAMES.map((name) => {
  const use = OPERATIONS[name];
  return use === 'existing' ? EXISTING : use === 'directory' ? DIRECTORY : use === 'new' ? NEW : OWN;
});

const KEEPS_NOTHING = 0;
const KEEPS_NAME = 1;
const KEEPS_DESTINATION = 2;
/** What goes into the pool after a success. */
const KEEPS: readonly number[] = OPERATION_NAMES.map((name) => {
  if (name === 'rename') return KEEPS_DESTINATION;
  return isChanging(name) && name !== 'delete' ? KEEPS_NAME : KEEPS_NOTHING;
});

/** Paths of files go in first, so that file f of target t has the index t · files + f. Returns the index of the directory of each. */
function addPaths(plan: LoadPlan, paths: PathTable): Int32Array {
  const isGiven = plan.paths.length > 0;
  const needsFiles = plan.mix.some(({ operation }) => !isChanging(operation));
  const files = isGiven ? plan.paths : [];
  for (const path of files) paths.add(path);
  if (!isGiven && needsFiles) {
    for (const target of plan.targets) {
      for (let file = 0; file < plan.filesPerTarget; file++) paths.add(filePath(target, file));
    }
  }
  const directories = new Int32Array(paths.count);
  const known = new Map<string, number>();
  for (let path = 0; path < directories.length; path++) {
    const directory = isGiven
      ? parentOf(files[path]!)
      : fileDirectory(plan.targets[Math.floor(path / plan.filesPerTarget)]!, path % plan.filesPerTarget);
    const index = known.get(directory) ?? paths.add(directory);
    known.set(directory, index);
    directories[path] = index;
  }
  return directories;
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(1, path.lastIndexOf('/')));
}

function checkMix(plan: LoadPlan): void {
  for (const { operation } of plan.mix) {
    if (isChanging(operation) && plan.targets.length === 0) {
      throw new LoadError(`${operation} changes the namespace and needs a directory to work in: give --mounts`);
    }
    if (!isChanging(operation) && plan.paths.length === 0 && plan.targets.length * plan.filesPerTarget === 0) {
      throw new LoadError(`${operation} needs paths to read: give --paths, or --mounts with --files of at least 1`);
    }
  }
}
