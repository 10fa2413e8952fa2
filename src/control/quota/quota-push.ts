import { type MountEntry, NO_QUOTA, type StorageType } from '../../mount/entry.ts';
import type { Log } from '../log.ts';
import { NamenodeCalls, type NamenodeCallsOptions } from './namenode-calls.ts';
import { atEach, type LimitChange, reportNew, setLimits } from './place-quotas.ts';
import { hasLimits, type Limits, type Place, placesOf, QuotaTable } from './quota-table.ts';

/** Longest time for all destinations of one change; the administrator waits for it. */
const PUSH_WITHIN_MS = 20_000;
/** Longest wait for one answer. */
const SET_WITHIN_MS = 10_000;
/** Places that one change sets limits at; those beyond are put right by the next count. */
export const MAX_PUSHED_PLACES = 10_000;
const NO_FAILURES: ReadonlyMap<string, string> = new Map();

export interface QuotaPushOptions {
  /** The mount table; throws when there is none yet. */
  readonly entries: () => readonly MountEntry[];
  readonly namenodes: NamenodeCallsOptions;
  readonly log: Log;
}

/** Which limits of a mount point have changed. */
interface Kinds {
  readonly names: boolean;
  readonly bytes: boolean;
  readonly types: Iterable<StorageType>;
}

interface Change {
  readonly place: Place;
  readonly change: LimitChange;
}

/**
 * Sets limits at the destinations of a mount point that an administrator has changed or removed, and of those mount points below it that
 * take over limits of it. Failures are logged; the next count puts right what is left.
 */
export class QuotaPush {
  readonly #options: QuotaPushOptions;

  constructor(options: QuotaPushOptions) {
    this.#options = options;
  }

  /** `types`: storage types whose limits have changed; `whole`: so have the others, or the destinations. Never rejects. */
  async push(entry: MountEntry, whole: boolean, types: readonly StorageType[]): Promise<void> {
    const { sourcePath } = entry;
    await this.#attempt(sourcePath, () => {
      const table = new QuotaTable([...this.#others(entry).filter(isRelatedTo(sourcePath)), entry]);
      const limits = table.limitsAt(sourcePath);
      const changed = whole ? new Set([...types, ...limits.types.keys()]) : new Set(types);
      const kinds = { names: whole, bytes: whole, types: changed };
      const change = changeTo(limits, kinds);
      const own = placesOf(entry).map((place) => ({ place, change }));
      return [...own, ...inheritors(table, sourcePath, kinds)];
    });
  }

  /** The mount point is gone: its destinations have the limits of another one that leads there, or none. Never rejects. */
  async reset(entry: MountEntry): Promise<void> {
    const { sourcePath } = entry;
    await this.#attempt(sourcePath, () => {
      const others = this.#others(entry);
      const before = new QuotaTable([...others.filter(isRelatedTo(sourcePath)), entry]).limitsAt(sourcePath);
      // Limits that nobody set for a mount point are not ours.
      if (before.names < 0n && before.bytes < 0n && before.types.size === 0) return [];
      const table = new QuotaTable(others);
      const kinds = { names: before.names >= 0n, bytes: before.bytes >= 0n, types: [...before.types.keys()] };
      const places = placesOf(entry);
      const owners = table.ownersOf(new Set(places.map(({ key }) => key)));
      const own = places.map((place) => {
        const owner = owners.get(place.key);
        return { place, change: changeTo(owner === undefined ? NO_LIMITS : table.limitsAt(owner), kinds) };
      });
      return hasLimits(entry) ? [...own, ...inheritors(table, sourcePath, kinds)] : own;
    });
  }

  /** The mount table without the entry's path. */
  #others({ sourcePath }: MountEntry): MountEntry[] {
    return this.#options.entries().filter((other) => other.sourcePath !== sourcePath);
  }

  async #attempt(mount: string, plan: () => Change[]): Promise<void> {
    const { namenodes, log } = this.#options;
    using calls = new NamenodeCalls({ ...namenodes, callTimeoutMs: SET_WITHIN_MS });
    const timer = setTimeout(() => calls[Symbol.dispose](), PUSH_WITHIN_MS);
    timer.unref();
    try {
      const changes = plan();
      if (changes.length === 0) return;
      if (changes.length > MAX_PUSHED_PLACES)
        log.warn({ mount }, `quotas: limits are set at ${MAX_PUSHED_PLACES} of ${changes.length} places now`);
      const enabled = changes
        .slice(0, MAX_PUSHED_PLACES)
        .filter(({ place: { nameservice } }) => !calls.isDisabled(nameservice));
      const failures = await atEach(enabled, ({ place, change }) => setLimits(calls, place, change));
      reportNew(failures, NO_FAILURES, (what, reason) =>
        log.warn({ mount, what, reason }, 'quotas: limits were not set; they will be with the next count'),
      );
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      log.warn({ mount, reason }, 'quotas: limits were not set; they will be with the next count');
    } finally {
      clearTimeout(timer);
    }
  }
}

const NO_LIMITS: Limits = { names: NO_QUOTA, bytes: NO_QUOTA, types: new Map() };

/** At, below or above a path. */
function isRelatedTo(path: string): (entry: MountEntry) => boolean {
  return ({ sourcePath }) => isAtOrBelow(sourcePath, path) || isAtOrBelow(path, sourcePath);
}

function isAtOrBelow(path: string, top: string): boolean {
  return path === top || path.startsWith(top === '/' ? '/' : `${top}/`);
}

function changeTo(limits: Limits, { names, bytes, types }: Kinds): LimitChange {
  const changed = new Map<StorageType, bigint>();
  for (const type of types) changed.set(type, limits.types.get(type) ?? NO_QUOTA);
  return { names: names ? limits.names : null, bytes: bytes ? limits.bytes : null, types: changed };
}

/** Destinations of mount points below one that have no limit of their own of some kind that changed. */
function inheritors(table: QuotaTable, sourcePath: string, { names, bytes, types }: Kinds): Change[] {
  const changed = [...types];
  return table.mountsUnder(sourcePath).flatMap((entry): Change[] => {
    if (entry.sourcePath === sourcePath) return [];
    const { quota } = entry;
    const own = new Set(quota.types.filter((type) => type.quota >= 0n).map(({ type }) => type));
    const kinds = {
      names: names && quota.namespaceQuota < 0n,
      bytes: bytes && quota.spaceQuota < 0n,
      types: changed.filter((type) => !own.has(type)),
    };
    if (!kinds.names && !kinds.bytes && kinds.types.length === 0) return [];
    const change = changeTo(table.limitsAt(entry.sourcePath), kinds);
    return placesOf(entry).map((place) => ({ place, change }));
  });
}
