import type { MountDefaults } from '../../mount/entry.ts';
import { type RawRecord, reasonOf, type StoreProblem } from '../../state-store/driver.ts';
import type { RecordType } from '../../state-store/records.ts';
import { dateModifiedOf, decodeStored, type Stored, type StoreRecords, UNKNOWN_VERSION } from './stored.ts';

/** A record that was left out of the cache, or taken with a remark. */
export interface CacheProblem extends StoreProblem {
  readonly type: RecordType;
}

/** Decides about the age of a record that was just read: the record as it counts, null when it does not any more. */
export type Judge<T> = (stored: Stored<T>) => Stored<T> | null;

/**
 * The records of one type as they were last read, by key. A record that cannot be read any more counts as it was when it could: without it the
 * paths of a mount point would lead elsewhere. One that never could is left out; the others count. Of several records of one key the one
 * modified last counts.
 */
export class RecordCache<K extends RecordType> {
  readonly type: K;
  readonly #defaults: MountDefaults;
  #isLoaded = false;
  #records = new Map<string, Stored<StoreRecords[K]>>();
  /** Everything that could be read, by the name in the store. */
  #byName = new Map<string, Stored<StoreRecords[K]>>();
  /** Names in the store by key; as `#byName` has them. */
  #names = new Map<string, readonly string[]>();
  #unreadable = new Map<string, StoreProblem>();
  #problems: readonly CacheProblem[] = [];
  /** While a read is under way: what this router wrote since it began, null for removed. At its end it lies over what was read. */
  #writes: Map<string, Stored<StoreRecords[K]> | null> | null = null;

  constructor(type: K, defaults: MountDefaults) {
    this.type = type;
    this.#defaults = defaults;
  }

  /** It was read once. */
  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  /** Live: writes of this router show in it at once. */
  get records(): ReadonlyMap<string, Stored<StoreRecords[K]>> {
    return this.#records;
  }

  get problems(): readonly CacheProblem[] {
    return this.#problems;
  }

  /** The readable record of this name in the store. */
  named(name: string): Stored<StoreRecords[K]> | null {
    return this.#byName.get(name) ?? null;
  }

  /** Why the record of this name cannot be read; null when it can, or there is none. */
  unreadableReason(name: string): string | null {
    return this.#unreadable.get(name)?.reason ?? null;
  }

  /** Names of records that could never be read: nothing is known of what is in them. */
  get unknownNames(): string[] {
    return [...this.#unreadable.keys()].filter((name) => !this.#byName.has(name));
  }

  /** Names in the store of all records of this key. */
  namesOf(key: string): string[] {
    return [...(this.#names.get(key) ?? [])];
  }

  beginRead(): void {
    this.#writes = new Map();
  }

  abandonRead(): void {
    this.#writes = null;
  }

  /**
   * Takes what was read since `beginRead`. `isChanged`: some record has other content than before, or others could never be read; `isOvertaken`: this router wrote
   * meanwhile, so what was read may be older than what is in the store. `judge` null: all records count.
   */
  endRead(
    raws: readonly RawRecord[],
    problems: readonly StoreProblem[],
    judge: Judge<StoreRecords[K]> | null,
  ): { readonly isChanged: boolean; readonly isOvertaken: boolean } {
    if (judge === null && problems.length === 0) {
      const isOvertaken = (this.#writes?.size ?? 0) > 0;
      const isChanged = this.#takeDifference(raws);
      if (isChanged !== null) return { isChanged, isOvertaken };
    }
    const byName = new Map<string, Stored<StoreRecords[K]>>();
    const unreadable = new Map<string, StoreProblem>();
    const remarks: StoreProblem[] = [];
    for (const raw of raws) {
      const before = this.#byName.get(raw.name);
      if (before !== undefined && isSame(before.raw, raw)) {
        byName.set(raw.name, before);
        continue;
      }
      try {
        byName.set(raw.name, decodeStored(this.type, raw, this.#defaults));
      } catch (error) {
        unreadable.set(raw.name, { name: raw.name, place: raw.place, reason: reasonOf(error) });
      }
    }
    for (const problem of problems) {
      if (byName.has(problem.name)) remarks.push(problem);
      else unreadable.set(problem.name, problem);
    }
    for (const [name, problem] of unreadable) {
      const before = this.#byName.get(name);
      if (before === undefined) continue;
      byName.set(name, before);
      unreadable.set(name, { ...problem, reason: `${problem.reason}; the record as it was before is used` });
    }
    const unknownBefore = this.unknownNames.join('\n');
    const writes = this.#writes ?? new Map<string, Stored<StoreRecords[K]> | null>();
    this.#writes = null;
    for (const [name, written] of writes) {
      const read = byName.get(name);
      if (written === null) byName.delete(name);
      else if (read === undefined || isOvertakenBy(read.raw, written.raw)) byName.set(name, written);
      unreadable.delete(name);
    }
    this.#byName = byName;
    this.#unreadable = unreadable;
    this.#isLoaded = true;
    const isChanged = this.#makeView(remarks, judge);
    return { isChanged: isChanged || this.unknownNames.join('\n') !== unknownBefore, isOvertaken: writes.size > 0 };
  }

  /**
   * The usual case, of many records and few changes: takes over what differs from before, when each key has one name and all can be read.
   * Whether anything has; null where that is not so, and nothing is taken.
   */
  #takeDifference(raws: readonly RawRecord[]): boolean | null {
    const byName = this.#byName;
    if (!this.#isLoaded || this.#problems.length > 0 || this.#unreadable.size > 0) return null;
    if (this.#names.size !== byName.size || this.#records.size !== byName.size) return null;
    const different: Stored<StoreRecords[K]>[] = [];
    let found = 0;
    for (const raw of raws) {
      const before = byName.get(raw.name);
      if (before !== undefined) found++;
      if (before !== undefined && isSame(before.raw, raw)) continue;
      const written = this.#writes?.get(raw.name);
      if (written === null || (written !== undefined && isOvertakenBy(raw, written.raw))) continue;
      let stored: Stored<StoreRecords[K]>;
      try {
        stored = decodeStored(this.type, raw, this.#defaults);
      } catch {
        return null;
      }
      // Another name for the key, or another key under the name.
      const names = this.#names.get(stored.key);
      if (stored.remarks.length > 0 || (before?.key ?? stored.key) !== stored.key) return null;
      if (names !== undefined && names[0] !== raw.name) return null;
      different.push(stored);
    }
    const removed: string[] = [];
    if (found < byName.size) {
      const read = new Set(raws.map(({ name }) => name));
      for (const name of byName.keys()) if (!read.has(name) && !this.#writes?.has(name)) removed.push(name);
    }
    if (new Set(different.map(({ key }) => key)).size < different.length) return null;
    this.#writes = null;
    let isChanged = removed.length > 0;
    for (const name of removed) this.remove(name);
    for (const stored of different) {
      const { name, bytes } = stored.raw;
      const before = byName.get(name);
      isChanged ||= before === undefined || !before.raw.bytes.equals(bytes);
      byName.set(name, stored);
      this.#names.set(stored.key, [name]);
      this.#records.set(stored.key, stored);
    }
    return isChanged;
  }

  /** A record that this router has just written. */
  put(raw: RawRecord): void {
    const stored = decodeStored(this.type, raw, this.#defaults);
    this.#writes?.set(raw.name, stored);
    const before = this.#byName.get(raw.name);
    if (before !== undefined) this.#forgetName(before.key, raw.name);
    this.#byName.set(raw.name, stored);
    this.#names.set(stored.key, [...this.namesOf(stored.key), raw.name]);
    this.#forgetProblem(raw.name);
    if (before !== undefined && before.key !== stored.key) this.#records.delete(before.key);
    this.#records.set(stored.key, stored);
  }

  /** The record of this name is gone. */
  remove(name: string): void {
    this.#writes?.set(name, null);
    const before = this.#byName.get(name);
    if (before !== undefined) this.#forgetName(before.key, name);
    this.#byName.delete(name);
    this.#forgetProblem(name);
    if (before !== undefined && this.#records.get(before.key)?.raw.name === name) this.#records.delete(before.key);
  }

  #forgetName(key: string, name: string): void {
    const left = this.namesOf(key).filter((each) => each !== name);
    if (left.length === 0) this.#names.delete(key);
    else this.#names.set(key, left);
  }

  #forgetProblem(name: string): void {
    if (this.#unreadable.delete(name)) this.#problems = this.#problems.filter((problem) => problem.name !== name);
  }

  /** Makes `records` and `problems` of what was read; true when records have other content than before. */
  #makeView(remarks: readonly StoreProblem[], judge: Judge<StoreRecords[K]> | null): boolean {
    const { type } = this;
    const problems = [...this.#unreadable.values(), ...remarks];
    const newest = new Map<string, Stored<StoreRecords[K]>>();
    const names = new Map<string, readonly string[]>();
    for (const stored of this.#byName.values()) {
      const { name, place } = stored.raw;
      names.set(stored.key, newest.has(stored.key) ? [...(names.get(stored.key) ?? []), name] : [name]);
      for (const reason of stored.remarks) problems.push({ name, place, reason });
      const other = newest.get(stored.key);
      const isNewer = other === undefined || dateModifiedOf(type, stored) > dateModifiedOf(type, other);
      if (isNewer) newest.set(stored.key, stored);
      if (other === undefined) continue;
      const [kept, lost] = isNewer ? [stored.raw, other.raw] : [other.raw, stored.raw];
      const reason = `'${stored.key}' is also in ${kept.place}, which is used; remove one of them`;
      problems.push({ name: lost.name, place: lost.place, reason });
    }
    const records = new Map<string, Stored<StoreRecords[K]>>();
    for (const [key, stored] of newest) {
      const judged = judge === null ? stored : judge(stored);
      if (judged !== null) records.set(key, judged);
    }
    const isChanged = !haveSameContent(this.#records, records);
    this.#records = records;
    this.#names = names;
    this.#problems = problems.map((problem) => ({ type, ...problem }));
    return isChanged;
  }
}

function isSame(one: RawRecord, other: RawRecord): boolean {
  if (one === other) return true;
  return (
    one.version === other.version &&
    one.createdMs === other.createdMs &&
    one.modifiedMs === other.modifiedMs &&
    one.bytes.equals(other.bytes)
  );
}

/** Whether `written`, by this router, is to count and not `read`, from a read that had begun before. */
function isOvertakenBy(read: RawRecord, written: RawRecord): boolean {
  return written.version === UNKNOWN_VERSION || read.version <= written.version;
}

function haveSameContent<T>(one: ReadonlyMap<string, Stored<T>>, other: ReadonlyMap<string, Stored<T>>): boolean {
  if (one.size !== other.size) return false;
  for (const [key, stored] of one) {
    const match = other.get(key);
    if (match === undefined || match.isExpired !== stored.isExpired) return false;
    const { bytes } = match.raw;
    if (bytes !== stored.raw.bytes && !bytes.equals(stored.raw.bytes)) return false;
  }
  return true;
}
