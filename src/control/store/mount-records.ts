import {
  emptyEntry,
  invalidReason,
  type MountDefaults,
  type MountEntry,
  MountError,
  unusableReason,
} from '../../mount/entry.ts';
import { escapeKey } from '../../state-store/record-names.ts';
import { encodeMount, type MountRecord } from '../../state-store/records.ts';
import { ChangeQueue } from './change-queue.ts';
import type { RecordCache } from './record-cache.ts';
import type { StateStore } from './state-store.ts';
import { StoreUnavailableError } from './store-error.ts';
import { type Stored, UNKNOWN_VERSION } from './stored.ts';

/** Longest time for one change, with all its attempts. */
export const CHANGE_DEADLINE_MS = 20_000;
/** Longest pause before a change that lost a race is tried again; the first ones are shorter. */
const MAX_PAUSE_MS = 64;
/** Where a mount entry leads whose record cannot be read: refusals show it. */
export const UNREADABLE = '(mount record that cannot be read)';
/** Changes of one batch that are under way at once. */
const BATCH_CHANGES = 32;

/**
 * How a change of a mount entry ended.
 *
 * - done: it is in the store
 * - exists: there is an entry of this path already
 * - collides: the store has the name of this path for another record; Java routers would overwrite that
 * - refused: the change does not apply to the entry as it is now
 * - lost: others changed the entry again and again
 */
export type ChangeResult =
  | { readonly kind: 'done' }
  | { readonly kind: 'exists' | 'collides' | 'refused' | 'lost'; readonly message: string };

/** The entry as it shall be, made from what is in the store (null: nothing); null: the change does not apply any more. */
export type MountChange = (current: MountEntry | null) => MountEntry | null;

const DONE: ChangeResult = { kind: 'done' };

/**
 * Mount entries in the State Store: reads from the cache, changes record by record. Where the store compares versions, a change is made to
 * exactly the entry it was computed from, or computed again. Throws StoreUnavailableError when the store has not been read or does not
 * answer, StateStoreError when it cannot be written, MountError for an entry that may not be stored.
 */
export class MountRecords {
  readonly #store: StateStore;
  readonly #queue = new ChangeQueue();
  #lostRaces = 0;

  constructor(store: StateStore) {
    this.#store = store;
  }

  /** Changes that met a change of another router and were computed again. */
  get lostRaces(): number {
    return this.#lostRaces;
  }

  /** The cached entries by source path, in no order. */
  entries(): MountEntry[] {
    return Array.from(this.#store.records('MountTable').values(), ({ record }) => record.entry);
  }

  /**
   * What stands for mount entries whose records could never be read, so that no call for their paths is sent to a nameservice above them: an
   * entry for each that leads to no nameservice. Their paths are those of their names in the store.
   */
  standIns(defaults: MountDefaults): MountEntry[] {
    return this.#cache.unknownNames.flatMap((name) => {
      const sourcePath = name.replaceAll('0SLASH0', '/');
      const path = sourcePath;
      const entry = { ...emptyEntry(sourcePath, defaults), destinations: [{ nameservice: UNREADABLE, path }] };
      const isPath = unusableReason(entry) === null && escapeKey(sourcePath) === name;
      return isPath && this.#cache.namesOf(sourcePath).length === 0 ? [entry] : [];
    });
  }

  /** The cached entry of exactly this source path. */
  find(sourcePath: string): MountEntry | null {
    return this.#store.records('MountTable').get(sourcePath)?.record.entry ?? null;
  }

  /** Stores an entry whose path has none yet. */
  async add(entry: MountEntry): Promise<ChangeResult> {
    requireValid(entry);
    return await this.#queue.run(escapeKey(entry.sourcePath), () => this.#add(entry));
  }

  /** As `add` for each; the results are in the order of the entries. Entries that cannot be written for a reason of the store reject. */
  async addAll(entries: readonly MountEntry[]): Promise<ChangeResult[]> {
    for (const entry of entries) requireValid(entry);
    const results: ChangeResult[] = [];
    for (let at = 0; at < entries.length; at += BATCH_CHANGES) {
      const batch = entries.slice(at, at + BATCH_CHANGES).map((entry) => this.add(entry));
      const settled = await Promise.allSettled(batch);
      for (const each of settled) {
        if (each.status === 'rejected') throw each.reason;
        results.push(each.value);
      }
    }
    return results;
  }

  /**
   * Replaces the entry of a path by what `change` makes of it. Fields that this build does not know stay; the modification date is set,
   * the creation date stays.
   */
  async update(sourcePath: string, change: MountChange): Promise<ChangeResult> {
    return await this.#queue.run(escapeKey(sourcePath), () => this.#update(sourcePath, change));
  }

  /** Removes the entry of exactly this path, whatever name it is stored under; false when there is none. */
  async remove(sourcePath: string): Promise<boolean> {
    return await this.#queue.run(escapeKey(sourcePath), () => this.#remove(sourcePath));
  }

  get #cache(): RecordCache<'MountTable'> {
    return this.#store.cache('MountTable');
  }

  async #add(entry: MountEntry): Promise<ChangeResult> {
    const { sourcePath } = entry;
    const name = escapeKey(sourcePath);
    const names = this.#cache.namesOf(sourcePath);
    // A record of the path under another name does not stand in the way of the write.
    if (names.length > 0 && !names.includes(name)) await this.#store.requireFresh('MountTable');
    if (this.#cache.namesOf(sourcePath).some((other) => other !== name)) return existsAlready(sourcePath);
    const bytes = encodeMount(entry);
    const untilMs = this.#store.clock.steadyMs() + CHANGE_DEADLINE_MS;
    for (let attempt = 0; ; attempt++) {
      if (await this.#store.put('MountTable', name, bytes, { update: false, errorIfExists: true })) return DONE;
      await this.#store.requireFresh('MountTable');
      const obstacle = this.#obstacleOf(sourcePath, name);
      // It has been removed since.
      if (obstacle !== null) return obstacle;
      if (!(await this.#mayTryAgain(attempt, untilMs))) return lost(sourcePath);
    }
  }

  async #update(sourcePath: string, change: MountChange): Promise<ChangeResult> {
    const untilMs = this.#store.clock.steadyMs() + CHANGE_DEADLINE_MS;
    for (let attempt = 0; ; attempt++) {
      if (attempt > 0 || !this.#knowsVersion(sourcePath)) await this.#store.requireFresh('MountTable');
      const current = this.#cache.records.get(sourcePath) ?? null;
      // A copy: what the change does to it must not show before it is stored.
      const changed = change(current === null ? null : structuredClone(current.record.entry));
      if (changed === null) {
        const message = `mount '${sourcePath}': the change does not apply to the entry as it is now`;
        return { kind: 'refused', message };
      }
      if (changed.sourcePath !== sourcePath)
        throw new MountError(`mount '${sourcePath}': an update keeps the source path`);
      const nowMs = this.#store.clock.wallMs();
      const dateCreated = current?.record.entry.dateCreated || changed.dateCreated || nowMs;
      const entry = { ...changed, dateCreated, dateModified: nowMs };
      requireValid(entry);
      if (await this.#replace(current, entry)) return DONE;
      if (current === null) {
        await this.#store.requireFresh('MountTable');
        const obstacle = this.#obstacleOf(sourcePath, escapeKey(sourcePath));
        if (obstacle?.kind === 'collides') return obstacle;
      }
      if (!(await this.#mayTryAgain(attempt, untilMs))) return lost(sourcePath);
    }
  }

  /** False when the store has another version by now, or an entry where there was none. */
  async #replace(current: Stored<MountRecord> | null, entry: MountEntry): Promise<boolean> {
    const { isVersioned } = this.#store.driver;
    if (current === null) {
      const name = escapeKey(entry.sourcePath);
      return await this.#store.put('MountTable', name, encodeMount(entry), { update: false, errorIfExists: true });
    }
    const bytes = encodeMount(entry, current.record);
    const { name, version } = current.raw;
    const options = { update: true, errorIfExists: false };
    // What cannot be read has no version that is known, and nothing in it can be lost.
    if (isVersioned && this.#cache.unreadableReason(name) === null) {
      if (version === UNKNOWN_VERSION) return false;
      return await this.#store.put('MountTable', name, bytes, { ...options, version });
    }
    if (await this.#store.put('MountTable', name, bytes, options)) return true;
    throw new StoreUnavailableError(`mount '${entry.sourcePath}': the State Store did not take the record`);
  }

  async #remove(sourcePath: string): Promise<boolean> {
    if (!this.#store.driver.isVersioned || this.#cache.namesOf(sourcePath).length === 0) {
      await this.#store.requireFresh('MountTable');
    }
    const names = this.#cache.namesOf(sourcePath);
    const name = escapeKey(sourcePath);
    // What cannot be read stands where the entry would: removing the path is the way to get rid of it.
    if (names.length === 0 && this.#cache.unreadableReason(name) !== null) names.push(name);
    let isRemoved = false;
    for (const each of names) if (await this.#store.remove('MountTable', each)) isRemoved = true;
    return isRemoved;
  }

  /** What stands where an entry of this path would be stored; null: nothing any more. */
  #obstacleOf(sourcePath: string, name: string): ChangeResult | null {
    const cache = this.#cache;
    if (cache.namesOf(sourcePath).length > 0) return existsAlready(sourcePath);
    const other = cache.named(name);
    const unreadable = cache.unreadableReason(name);
    if (other !== null) {
      const message = `mount '${sourcePath}' would be stored as ${name}, where mount '${other.key}' is stored; remove that one or take another path`;
      return { kind: 'collides', message };
    }
    if (unreadable === null) return null;
    const message = `mount '${sourcePath}' would be stored as ${name}, where a record stands that cannot be read (${unreadable}); remove the mount first`;
    return { kind: 'collides', message };
  }

  /** Whether the cached version is one that can be compared, so that the store need not be read first. */
  #knowsVersion(sourcePath: string): boolean {
    if (!this.#store.driver.isVersioned) return false;
    const stored = this.#cache.records.get(sourcePath);
    return stored !== undefined && stored.raw.version !== UNKNOWN_VERSION;
  }

  async #mayTryAgain(attempt: number, untilMs: number): Promise<boolean> {
    this.#lostRaces++;
    if (this.#store.clock.steadyMs() >= untilMs) return false;
    const pauseMs = Math.random() * Math.min(MAX_PAUSE_MS, 2 ** attempt);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    return true;
  }
}

function requireValid(entry: MountEntry): void {
  const reason = invalidReason(entry);
  if (reason !== null) throw new MountError(reason);
}

function existsAlready(sourcePath: string): ChangeResult {
  return { kind: 'exists', message: `mount '${sourcePath}' exists already` };
}

function lost(sourcePath: string): ChangeResult {
  return { kind: 'lost', message: `mount '${sourcePath}' was changed by others again and again; try again later` };
}
