import { setImmediate as nextTurn } from 'node:timers/promises';
import { canonicalPath } from '../../mount/canonical.ts';
import { type MountEntry, NO_QUOTA, type StorageType, unusableReason } from '../../mount/entry.ts';

/** Places that are added up in one round, over all mount points; what is beyond is not counted. */
export const MAX_COUNTED_PLACES = 1_000_000;
/** Mount points planned before other events have their turn. */
const MOUNTS_PER_TURN = 256;

/** Limits that hold somewhere; `NO_QUOTA` for none, as for a type that is not there. */
export interface Limits {
  readonly names: bigint;
  readonly bytes: bigint;
  readonly types: ReadonlyMap<StorageType, bigint>;
}

/** A destination of a mount point. */
export interface Place {
  /** Sorts a place directly before those below it. */
  readonly key: string;
  readonly nameservice: string;
  readonly path: string;
  /** Of several mount points that lead here the first one. */
  readonly mountPath: string;
}

/** What one round counts. */
export interface QuotaPlan {
  /** Mount points with limits, and the keys of the places that make up their usage. */
  readonly mounts: readonly { readonly path: string; readonly placeKeys: readonly string[] }[];
  /** All of these places by their keys. */
  readonly places: ReadonlyMap<string, Place>;
  /** Mount points that MAX_COUNTED_PLACES left out. */
  readonly leftOut: number;
}

interface Row {
  readonly key: string;
  readonly entry: MountEntry;
  destinationsBefore: number;
}

/** A mount table as quotas see it: whose limits hold where, and what counts for whom. Entries that no call can use are left out. */
export class QuotaTable {
  /** Sorted: mount points below one follow it. */
  readonly #rows: readonly Row[];
  readonly #byPath: ReadonlyMap<string, MountEntry>;

  constructor(entries: readonly MountEntry[]) {
    const rows: Row[] = [];
    for (const entry of entries) {
      if (unusableReason(entry) === null) rows.push({ key: keyOf(entry.sourcePath), entry, destinationsBefore: 0 });
    }
    rows.sort(byKey);
    let destinations = 0;
    for (const row of rows) {
      row.destinationsBefore = destinations;
      destinations += row.entry.destinations.length;
    }
    this.#rows = rows;
    this.#byPath = new Map(rows.map(({ entry }) => [entry.sourcePath, entry]));
  }

  /** The mount points at and below a path, those above others first. */
  mountsUnder(path: string): MountEntry[] {
    const key = keyOf(path);
    return this.#rows.slice(this.#find(key, false), this.#find(key, true)).map(({ entry }) => entry);
  }

  /** Of each kind the limit of the nearest mount point, from the path upwards, that has one. */
  limitsAt(path: string): Limits {
    let names = NO_QUOTA;
    let bytes = NO_QUOTA;
    const types = new Map<StorageType, bigint>();
    for (let at: string | null = path; at !== null; at = parentOf(at)) {
      const quota = this.#byPath.get(at)?.quota;
      if (quota === undefined) continue;
      if (names < 0n) names = quota.namespaceQuota;
      if (bytes < 0n) bytes = quota.spaceQuota;
      for (const type of quota.types) if (type.quota >= 0n && !types.has(type.type)) types.set(type.type, type.quota);
    }
    return { names: atLeastNone(names), bytes: atLeastNone(bytes), types };
  }

  /** The first mount point that leads to each of these places; those to which none leads are left out. */
  ownersOf(keys: ReadonlySet<string>): Map<string, string> {
    const owners = new Map<string, string>();
    for (const { entry } of this.#rows) {
      for (const { key } of placesOf(entry)) if (keys.has(key) && !owners.has(key)) owners.set(key, entry.sourcePath);
    }
    return owners;
  }

  /** What counts for each mount point with limits: its destinations and those of the mount points below it, each place once. */
  async plan(maxPlaces = MAX_COUNTED_PLACES): Promise<QuotaPlan> {
    const mounts: { path: string; placeKeys: string[] }[] = [];
    const places = new Map<string, Place>();
    let counted = 0;
    let leftOut = 0;
    for (const [i, { key, entry, destinationsBefore }] of this.#rows.entries()) {
      if (i % MOUNTS_PER_TURN === MOUNTS_PER_TURN - 1) await nextTurn();
      if (!hasLimits(entry)) continue;
      const end = this.#find(key, true);
      const last = this.#rows[end - 1] as Row;
      const candidateCount = last.destinationsBefore + last.entry.destinations.length - destinationsBefore;
      if (counted + candidateCount > maxPlaces) {
        leftOut++;
        continue;
      }
      counted += candidateCount;
      const candidates = this.#rows.slice(i, end).flatMap((row) => placesOf(row.entry));
      const tops = topsOf(candidates);
      for (const place of tops) if (!places.has(place.key)) places.set(place.key, place);
      mounts.push({ path: entry.sourcePath, placeKeys: tops.map(({ key }) => key) });
    }
    return { mounts, places, leftOut };
  }

  /** The first row at or below a key, or the first one behind those. */
  #find(key: string, behind: boolean): number {
    let from = 0;
    let to = this.#rows.length;
    while (from < to) {
      const middle = (from + to) >>> 1;
      const other = (this.#rows[middle] as Row).key;
      if (other < key || (behind && other.startsWith(key))) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}

export function hasLimits({ quota }: MountEntry): boolean {
  return quota.namespaceQuota >= 0n || quota.spaceQuota >= 0n || quota.types.some((type) => type.quota >= 0n);
}

/** The destinations of a mount point. */
export function placesOf({ sourcePath, destinations }: MountEntry): Place[] {
  return destinations.map(({ nameservice, path }) => {
    const canonical = canonicalPath(path);
    return { key: `${nameservice}\0${keyOf(canonical)}`, nameservice, path: canonical, mountPath: sourcePath };
  });
}

/** Without those at or below another one, which counts them. Of equal ones the first stays. */
export function topsOf(places: readonly Place[]): Place[] {
  const sorted = places.toSorted(byKey);
  const tops: Place[] = [];
  for (const place of sorted) {
    const last = tops.at(-1);
    if (last === undefined || !place.key.startsWith(last.key)) tops.push(place);
  }
  return tops;
}

/** Ends behind every component with a character below all others. */
function keyOf(path: string): string {
  return path === '/' ? '\0' : `${path.replaceAll('/', '\0')}\0`;
}

function byKey(a: { readonly key: string }, b: { readonly key: string }): number {
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
}

function parentOf(path: string): string | null {
  if (path === '/') return null;
  return path.slice(0, path.lastIndexOf('/')) || '/';
}

/** Records may hold any negative number. */
function atLeastNone(limit: bigint): bigint {
  return limit < 0n ? NO_QUOTA : limit;
}
