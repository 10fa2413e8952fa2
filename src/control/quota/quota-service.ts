import type { MountEntry, StorageType } from '../../mount/entry.ts';
import { MAX_USED_MOUNTS, type UsageData } from '../../mount/given-usage.ts';
import type { MountUsage, QuotaUsage } from '../../mount/quota.ts';
import type { Log } from '../log.ts';
import { NamenodeCalls, type NamenodeCallsOptions } from './namenode-calls.ts';
import {
  atEach,
  differenceOf,
  type LimitChange,
  type PlaceUsage,
  readUsage,
  reportNew,
  setLimits,
} from './place-quotas.ts';
import { MAX_COUNTED_PLACES, type Place, type QuotaPlan, QuotaTable } from './quota-table.ts';

/** Pause before mount points that have got limits are counted, so that one count serves many of them. */
const COUNT_NEW_AFTER_MS = 2_000;
/** What some nameservices have said is shown so long after, when others have not. */
const SHOW_PART_AFTER_MS = 1_000;

export interface QuotaServiceOptions {
  /** The mount table; throws when there is none yet. */
  readonly entries: () => readonly MountEntry[];
  /** Reads the mount table anew; false when that failed. */
  readonly reload: () => Promise<boolean>;
  readonly namenodes: NamenodeCallsOptions;
  /** Pause between two counts of everything. */
  readonly intervalMs: number;
  /** Usage has changed; for the threads with an engine. */
  readonly onUsage: (usage: UsageData) => void;
  readonly log: Log;
}

/**
 * Counts what is used under mount points with limits, again and again, and puts limits of NameNodes right that are not those of the mount
 * table. A place that cannot be counted keeps its last figures; without any it is left out, and the usage is at least the rest.
 */
export class QuotaService implements QuotaUsage {
  readonly #options: QuotaServiceOptions;
  readonly #log: Log;
  /** By key; those of the last plan only. */
  #places: ReadonlyMap<string, PlaceUsage> = new Map();
  #usages: ReadonlyMap<string, MountUsage> = new Map();
  #data: UsageData = [];
  #failures: ReadonlyMap<string, string> = new Map();
  #unset: ReadonlyMap<string, string> = new Map();
  #saidTable = '';
  #saidLeftOut = 0;
  /** Counts run one after the other. */
  #last: Promise<void> = Promise.resolve();
  #queued: Promise<void> | null = null;
  #calls: NamenodeCalls | null = null;
  #timer: NodeJS.Timeout | null = null;
  #newTimer: NodeJS.Timeout | null = null;
  #stopped = false;

  constructor(options: QuotaServiceOptions) {
    this.#options = options;
    this.#log = options.log;
  }

  /** Null for a mount point without limits, and for one of which nothing could be counted yet. */
  usageOf(mountPath: string): MountUsage | null {
    return this.#usages.get(mountPath) ?? null;
  }

  /** What threads that start are to be given. */
  get usage(): UsageData {
    return this.#data;
  }

  /** What could not be counted or set last time, with the reasons. */
  get problems(): readonly (readonly [what: string, reason: string])[] {
    return [...this.#failures, ...this.#unset];
  }

  /** Begins to count; resolves after the first time. */
  async start(): Promise<void> {
    await this.refresh();
    if (this.#stopped) return;
    this.#timer = setTimeout(() => void this.start(), this.#options.intervalMs);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#newTimer !== null) clearTimeout(this.#newTimer);
    this.#calls?.[Symbol.dispose]();
    await this.#last;
  }

  /** Counts everything from now on; never rejects. */
  refresh(): Promise<void> {
    this.#queued ??= this.#enqueue(() => {
      this.#queued = null;
      return this.#count(false);
    });
    return this.#queued;
  }

  /** The mount table has changed: what has no figures yet is counted soon. */
  onMounts(): void {
    if (this.#stopped || this.#newTimer !== null) return;
    this.#newTimer = setTimeout(() => {
      this.#newTimer = null;
      void this.#enqueue(() => this.#count(true));
    }, COUNT_NEW_AFTER_MS);
    this.#newTimer.unref();
  }

  #enqueue(count: () => Promise<void>): Promise<void> {
    this.#last = this.#last.then(count).catch((error: unknown) => {
      this.#log.error({ err: error }, 'the usage of mount points was not counted');
    });
    return this.#last;
  }

  async #count(newOnly: boolean): Promise<void> {
    const table = this.#stopped ? null : this.#readTable();
    if (table === null) return;
    const plan = await table.plan();
    this.#tellLeftOut(plan.leftOut);
    using calls = new NamenodeCalls(this.#options.namenodes);
    this.#calls = calls;
    if (this.#stopped) return;
    const asked = await this.#readPlaces(plan, calls, newOnly);
    if (this.#stopped) return;
    const unset = await this.#repair(table, asked, calls);
    if (unset === null || this.#stopped) return;
    reportNew(unset, this.#unset, (what, reason) => this.#log.warn({ what, reason }, 'quotas: limits were not set'));
    this.#unset = newOnly ? new Map([...this.#unset, ...unset]) : unset;
  }

  #readTable(): QuotaTable | null {
    try {
      const table = new QuotaTable(this.#options.entries());
      this.#saidTable = '';
      return table;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (reason !== this.#saidTable) this.#log.warn({ reason }, 'quotas: there is no mount table to count for');
      this.#saidTable = reason;
      return null;
    }
  }

  /** The places whose figures are new. */
  async #readPlaces(plan: QuotaPlan, calls: NamenodeCalls, newOnly: boolean): Promise<Asked[]> {
    const before = this.#places;
    const places = new Map<string, PlaceUsage>();
    const toAsk: { readonly place: Place }[] = [];
    for (const place of plan.places.values()) {
      const known = before.get(place.key);
      if (known !== undefined) places.set(place.key, known);
      if (!(newOnly && known !== undefined) && !calls.isDisabled(place.nameservice)) toAsk.push({ place });
    }
    const asked: Asked[] = [];
    this.#places = places;
    const ask = async ({ place }: { readonly place: Place }): Promise<void> => {
      const usage = await readUsage(calls, place);
      places.set(place.key, usage);
      asked.push({ place, usage });
    };
    // What one nameservice says does not wait for another that hangs.
    let timer: NodeJS.Timeout | undefined;
    const failures = await atEach(toAsk, ask, () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        this.#addUp(plan);
      }, SHOW_PART_AFTER_MS).unref();
    });
    clearTimeout(timer);
    if (this.#stopped) return asked;
    this.#addUp(plan);
    reportNew(failures, this.#failures, (what, reason) =>
      this.#log.warn({ what, reason }, 'quotas: usage that cannot be had; the last figures stay'),
    );
    this.#failures = newOnly ? new Map([...this.#failures, ...failures]) : failures;
    return asked;
  }

  #addUp({ mounts }: QuotaPlan): void {
    if (this.#stopped) return;
    const usages = new Map<string, MountUsage>();
    for (const { path, placeKeys } of mounts) {
      if (usages.size >= MAX_USED_MOUNTS) break;
      const usage = sumOf(placeKeys.map((key) => this.#places.get(key)).filter((place) => place !== undefined));
      if (usage !== null) usages.set(path, usage);
    }
    const isSame =
      usages.size === this.#usages.size && [...usages].every(([path, usage]) => isEqual(usage, this.#usages.get(path)));
    if (isSame) return;
    this.#usages = usages;
    this.#data = Array.from(usages, ([mountPath, usage]) => ({ mountPath, ...usage }));
    this.#options.onUsage(this.#data);
  }

  /**
   * What differs is compared again with the mount table as it is in the store now: an administrator may have changed both. The failures come
   * back, null when the mount table could not be had.
   */
  async #repair(
    table: QuotaTable,
    asked: readonly Asked[],
    calls: NamenodeCalls,
  ): Promise<ReadonlyMap<string, string> | null> {
    if (changesOf(table, asked).length === 0) return new Map();
    if (!(await this.#options.reload()) || this.#stopped) return null;
    const fresh = this.#readTable();
    if (fresh === null) return null;
    const { places } = await fresh.plan();
    const still: Asked[] = [];
    for (const { place, usage } of asked) {
      const now = places.get(place.key);
      if (now !== undefined) still.push({ place: now, usage });
    }
    return await atEach(changesOf(fresh, still), async ({ place, change }) => {
      await setLimits(calls, place, change);
      const { nameservice, path, mountPath } = place;
      this.#log.info({ nameservice, path, mount: mountPath }, 'quotas: limits of a directory were put right');
    });
  }

  #tellLeftOut(mounts: number): void {
    if (mounts !== this.#saidLeftOut && mounts > 0) {
      this.#log.warn(
        `quotas: ${mounts} mount points are not counted: those with limits lead to more than ${MAX_COUNTED_PLACES} places; set limits on fewer of them`,
      );
    }
    this.#saidLeftOut = mounts;
  }
}

interface Asked {
  readonly place: Place;
  readonly usage: PlaceUsage;
}

function changesOf(table: QuotaTable, asked: readonly Asked[]): { place: Place; change: LimitChange }[] {
  return asked.flatMap(({ place, usage }) => {
    if (usage.limits === null) return [];
    const change = differenceOf(place, usage.limits, table.limitsAt(place.mountPath));
    return change === null ? [] : [{ place, change }];
  });
}

/** Null for nothing at all. */
function sumOf(places: readonly PlaceUsage[]): MountUsage | null {
  if (places.length === 0) return null;
  let files = 0n;
  let bytes = 0n;
  const types: Partial<Record<StorageType, bigint>> = {};
  for (const place of places) {
    files += place.files;
    bytes += place.bytes;
    for (const [type, consumed] of place.types) types[type] = (types[type] ?? 0n) + consumed;
  }
  return { files, bytes, types };
}

function isEqual(one: MountUsage, other: MountUsage | undefined): boolean {
  if (other === undefined || one.files !== other.files || one.bytes !== other.bytes) return false;
  const types = Object.entries(one.types);
  return (
    types.length === Object.keys(other.types).length &&
    types.every(([type, bytes]) => other.types[type as StorageType] === bytes)
  );
}
