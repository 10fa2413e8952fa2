import { JAVA, RemoteException } from '../control/rpc-server/remote-exception.ts';
import type { ChangeResult, MountChange } from '../control/store/mount-records.ts';
import { StoreUnavailableError } from '../control/store/store-error.ts';
import { type MountEntry, MountError, type MountQuota, type StorageType } from '../mount/entry.ts';
import { Action, type AdminCaller, isAllowed, requireAllowed, requirePlace } from './access.ts';
import { isAtOrBelow, requireShortComponents, requireValid, sortByPath } from './mount-rules.ts';
import type { Location, MountAdmin, PathLookup, QuotaPush, UsageFigures } from './parts.ts';

export interface MountVerbsOptions {
  /** Null: this router has no State Store. */
  readonly mounts: MountAdmin | null;
  /** What is shown then: mount points of the command line. Left out: nothing can be shown. */
  readonly given?: readonly MountEntry[];
  /** Reads the mount table anew; false when that failed. */
  reload(): Promise<boolean>;
  readonly maxComponentBytes: number;
  /** Where destinations of new and changed entries must exist; null: they need not. */
  readonly mountCheck: PathLookup | null;
  readonly usage: UsageFigures;
  /** Null: quotas are off. */
  readonly quotas: QuotaPush | null;
  /** Tells the other routers that mount entries have changed. Never rejects. */
  refreshRouters(): Promise<void>;
}

/** Longest list of nameservices or paths that a refusal names. */
const MAX_NAMED = 20;
/** Destinations that are looked up at a time. */
const MAX_LOOK_UPS = 16;

/**
 * What administrators do to mount entries, with its rules and permissions: behind the admin port and the HTTP interface alike. Refusals are
 * RemoteException. `tell` false leaves the other routers to the caller, who tells them once for a batch (`refreshRouters`).
 */
export class MountVerbs {
  readonly #options: MountVerbsOptions;

  constructor(options: MountVerbsOptions) {
    this.#options = options;
  }

  /** False when there is an entry of the path. */
  async add(caller: AdminCaller, entry: MountEntry, tell = true): Promise<boolean> {
    const mounts = this.#mounts();
    this.#requireWritable(entry, true);
    requirePlace(caller, entry.sourcePath, this.#find);
    await this.#requireDestinations(caller, [entry]);
    const result = await asStoreError(mounts.add(entry));
    if (result.kind === 'exists') return false;
    requireDone(result);
    if (tell) await this.refreshRouters();
    return true;
  }

  /** Nothing is added when one of them may not be. Source paths of those that were not added, with the reason. */
  async addAll(caller: AdminCaller, entries: readonly MountEntry[], tell = true): Promise<ReadonlyMap<string, string>> {
    const mounts = this.#mounts();
    if (entries.length === 0) throw new RemoteException(JAVA.ILLEGAL_ARGUMENT, 'no mount entries are given');
    for (const entry of entries) this.#requireWritable(entry, true);
    for (const { sourcePath } of entries) requirePlace(caller, sourcePath, this.#find);
    await this.#requireDestinations(caller, entries);
    const results = await asStoreError(mounts.addAll(entries));
    const failed = new Map<string, string>();
    for (const [i, result] of results.entries()) {
      if (result.kind !== 'done') failed.set((entries[i] as MountEntry).sourcePath, result.message);
    }
    if (results.some(({ kind }) => kind === 'done') && tell) await this.refreshRouters();
    return failed;
  }

  /** Writes the entry in place of the one of its path; one that is not there is added. */
  async update(caller: AdminCaller, entry: MountEntry, tell = true): Promise<void> {
    // As a Java router: what is wrong with the entry is said before who may write it.
    this.#requireWritable(entry, this.#find(entry.sourcePath) === null);
    await this.change(caller, entry.sourcePath, () => entry, tell);
  }

  /**
   * Writes what `make` makes of the entry of a path as it is (null: there is none). It is made anew when another changes the entry at the same
   * time. Null from `make`: nothing is written. Resolves with what was written, null for nothing.
   */
  async change(caller: AdminCaller, sourcePath: string, make: MountChange, tell = true): Promise<MountEntry | null> {
    const mounts = this.#mounts();
    let before: MountEntry | null = null;
    let after: MountEntry | null = null;
    const makeAllowed = (current: MountEntry | null): MountEntry | null => {
      if (current !== null) requireAllowed(caller, current, Action.WRITE);
      before = current;
      after = make(current);
      if (after === null) return null;
      if (current === null) requirePlace(caller, sourcePath, this.#find);
      this.#requireWritable(after, current === null);
      return after;
    };
    let planned = makeAllowed(this.#find(sourcePath));
    if (planned === null) {
      // Another router may have added it since the table was read.
      await this.reload();
      planned = makeAllowed(this.#find(sourcePath));
    }
    if (planned === null) return null;
    await this.#requireDestinations(caller, [planned]);
    // Who may do it is asked again of the entry that is really replaced.
    const result = await asStoreError(mounts.update(sourcePath, makeAllowed));
    if (result.kind === 'refused') return null;
    requireDone(result);
    await this.#pushQuota(before, after ?? planned);
    if (tell) await this.refreshRouters();
    return this.#withUse(this.#find(sourcePath) ?? planned);
  }

  /** False when there is no such entry. */
  async remove(caller: AdminCaller, sourcePath: string, tell = true): Promise<boolean> {
    const mounts = this.#mounts();
    const before = this.#find(sourcePath);
    // A record that cannot be read has no owner: it is the superuser's.
    if (before !== null) requireAllowed(caller, before, Action.WRITE);
    else if (!caller.superuser) return false;
    const removed = await asStoreError(mounts.remove(sourcePath));
    if (removed && before !== null) await this.#options.quotas?.reset(before);
    if (removed && tell) await this.refreshRouters();
    return removed;
  }

  /** Entries at and below a path ('' and `/`: all) that the caller may read, by path, with the use of their quotas. */
  list(caller: AdminCaller, sourcePath: string): MountEntry[] {
    const root = sourcePath === '' ? '/' : sourcePath;
    const found = this.#shown().filter(
      (entry) => isAtOrBelow(entry.sourcePath, root) && isAllowed(caller, entry, Action.READ),
    );
    return sortByPath(found).map((entry) => this.#withUse(entry));
  }

  /** The entry of exactly this path, with the use of its quotas; null when there is none that the caller may read. */
  get(caller: AdminCaller, sourcePath: string): MountEntry | null {
    const { mounts, given } = this.#options;
    const isGiven = mounts === null && given !== undefined;
    const entry = isGiven ? given.find((each) => each.sourcePath === sourcePath) : this.#find(sourcePath);
    return entry !== undefined && entry !== null && isAllowed(caller, entry, Action.READ) ? this.#withUse(entry) : null;
  }

  /** Reads the mount table anew; false when that failed. */
  reload(): Promise<boolean> {
    this.#mounts();
    return asStoreError(this.#options.reload());
  }

  refreshRouters(): Promise<void> {
    return this.#options.refreshRouters();
  }

  #shown(): readonly MountEntry[] {
    const { mounts, given } = this.#options;
    return mounts === null && given !== undefined ? given : byStore(() => this.#mounts().entries());
  }

  #mounts(): MountAdmin {
    const { mounts } = this.#options;
    if (mounts !== null) return mounts;
    throw new RemoteException(
      JAVA.STATE_STORE_UNAVAILABLE,
      'this router has no State Store, its mount table cannot be changed; see dfs.federation.router.store.driver.class',
    );
  }

  readonly #find = (sourcePath: string): MountEntry | null => byStore(() => this.#mounts().find(sourcePath));

  #requireWritable(entry: MountEntry, isNew: boolean): void {
    requireShortComponents(entry, this.#options.maxComponentBytes);
    requireValid(entry, isNew);
  }

  async #requireDestinations(caller: AdminCaller, entries: readonly MountEntry[]): Promise<void> {
    const lookup = this.#options.mountCheck;
    if (lookup === null) return;
    const missing = new Set<string>();
    const open = entries.flatMap(({ destinations }) => destinations);
    const lookUp = async (): Promise<void> => {
      for (let next = open.pop(); next !== undefined; next = open.pop()) {
        if (!(await exists(lookup, next, caller))) missing.add(next.nameservice);
      }
    };
    await Promise.all(Array.from({ length: Math.min(MAX_LOOK_UPS, open.length) }, lookUp));
    if (missing.size === 0) return;
    const names = [...missing].sort().slice(0, MAX_NAMED).join(', ');
    throw new RemoteException(JAVA.ILLEGAL_ARGUMENT, `File not found in downstream nameservices: ${names}`);
  }

  /** With what the quota service counts, where it does, in place of what is stored. */
  #withUse(entry: MountEntry): MountEntry {
    const { quota } = entry;
    const used = this.#options.usage.usageOf(entry.sourcePath);
    if (used === null) return entry;
    const types = quota.types.map((type) => ({ ...type, consumed: used.types[type.type] ?? type.consumed }));
    return { ...entry, quota: { ...quota, fileAndDirectoryCount: used.files, spaceConsumed: used.bytes, types } };
  }

  async #pushQuota(before: MountEntry | null, after: MountEntry): Promise<void> {
    const { quotas } = this.#options;
    if (quotas === null) return;
    const types = changedTypes(before?.quota ?? null, after.quota);
    const whole =
      before === null ||
      before.quota.namespaceQuota !== after.quota.namespaceQuota ||
      before.quota.spaceQuota !== after.quota.spaceQuota ||
      !haveSameDestinations(before, after);
    if (whole || types.length > 0) await quotas.push(after, whole, types);
  }
}

function changedTypes(before: MountQuota | null, after: MountQuota): StorageType[] {
  const limits = (quota: MountQuota | null): Map<StorageType, bigint> =>
    new Map((quota?.types ?? []).map(({ type, quota: limit }) => [type, limit]));
  const old = limits(before);
  const now = limits(after);
  const all = new Set([...old.keys(), ...now.keys()]);
  return [...all].filter((type) => (old.get(type) ?? -1n) !== (now.get(type) ?? -1n));
}

function haveSameDestinations(one: MountEntry, other: MountEntry): boolean {
  const text = ({ destinations }: MountEntry): string =>
    JSON.stringify(destinations.map(({ nameservice, path }) => [nameservice, path]).sort());
  return text(one) === text(other);
}

async function exists(lookup: PathLookup, location: Location, caller: AdminCaller): Promise<boolean> {
  try {
    return await lookup.exists(location, caller);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const message = `whether ${location.path} is in nameservice ${location.nameservice} cannot be told: ${why}`;
    throw new RemoteException(JAVA.IO, message);
  }
}

/** Throws for a change that was not made, whatever the reason. */
function requireDone(result: ChangeResult): void {
  if (result.kind !== 'done') throw new RemoteException(JAVA.IO, result.message);
}

/** Failures of the State Store as a Java router tells them. */
async function asStoreError<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw storeError(error);
  }
}

function byStore<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw storeError(error);
  }
}

export function storeError(error: unknown): RemoteException {
  if (error instanceof RemoteException) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof MountError) return new RemoteException(JAVA.ILLEGAL_ARGUMENT, message);
  return new RemoteException(error instanceof StoreUnavailableError ? JAVA.STATE_STORE_UNAVAILABLE : JAVA.IO, message);
}
