import type { StoreSettings } from '../../config/store-settings.ts';
import type { MountDefaults } from '../../mount/entry.ts';
import { type PutOptions, reasonOf, type StoreDriver } from '../../state-store/driver.ts';
import type { RecordType } from '../../state-store/records.ts';
import type { Log } from '../log.ts';
import { Expiry, type ExpiryChange } from './expiry.ts';
import type { CacheProblem, Judge, RecordCache } from './record-cache.ts';
import { type StoreClock, SYSTEM_CLOCK } from './store-clock.ts';
import { StoreUnavailableError, withDeadline } from './store-error.ts';
import { type Stored, type StoreRecords, UNKNOWN_VERSION } from './stored.ts';
import { TypeLoader } from './type-loader.ts';

/** A write that takes longer is given up; whether it was made shows the next load. */
export const WRITE_DEADLINE_MS = 10_000;
/** Writes under way; what is beyond is refused. */
export const MAX_WRITES = 1024;
/** Longest wait for a driver to start or to end. */
const DRIVER_DEADLINE_MS = 10_000;
/** Pause after a load that failed, when that is shorter than the usual one. */
const RETRY_MS = 5_000;
/** Marks of age that one load tells the store; the next load tells the others. */
const MAX_EXPIRY_CHANGES = 256;

export interface StateStoreOptions {
  readonly driver: StoreDriver;
  readonly settings: StoreSettings;
  readonly defaults: MountDefaults;
  /** host:port, as in this router's records. */
  readonly routerId: string;
  readonly log: Log;
  readonly clock?: StoreClock;
}

/** What has happened since the start. */
export interface StoreFigures {
  readonly loads: number;
  readonly failedLoads: number;
  readonly abandonedReads: number;
  readonly expired: number;
  readonly deleted: number;
  /** Records put and removed, and the ms that it took, summed; and how many times either failed. */
  readonly writes: number;
  readonly writeMs: number;
  readonly removes: number;
  readonly removeMs: number;
  readonly failedWrites: number;
}

/** Loads of one type: how many, the ms that they took, and the records that count now. */
export interface LoadFigures {
  readonly loads: number;
  readonly loadMs: number;
  readonly records: number;
}

/**
 * The State Store as one router sees it: the records of all types, loaded every `cacheTtlMs` and at once when the driver has news, and
 * writes, which show here as soon as they are made. Errors of the store do not leave the loads: they are logged and seen as age.
 */
export class StateStore {
  readonly driver: StoreDriver;
  readonly clock: StoreClock;
  readonly #settings: StoreSettings;
  readonly #log: Log;
  readonly #loaders: { readonly [K in RecordType]: TypeLoader<K> };
  readonly #fullLoadListeners = new Set<() => void>();
  #expired = 0;
  #deleted = 0;
  #lastFullLoadMs: number | null = null;
  #driverStart: Promise<void> | null = null;
  #driverStarted = false;
  #driverReason = '';
  #writes = 0;
  readonly #done = { writes: 0, writeMs: 0, removes: 0, removeMs: 0, failedWrites: 0 };
  #timer: NodeJS.Timeout | null = null;
  #isStopped = false;

  constructor({ driver, settings, defaults, routerId, log, clock = SYSTEM_CLOCK }: StateStoreOptions) {
    this.driver = driver;
    this.clock = clock;
    this.#settings = settings;
    this.#log = log;
    const { membership, router } = settings;
    const memberships = new Expiry('MembershipState', membership, (record) => record.routerId === routerId, clock);
    const routers = new Expiry('RouterState', router, (record) => record.address === routerId, clock);
    const loader = <K extends RecordType>(
      type: K,
      judge: Judge<StoreRecords[K]> | null = null,
      onLoaded: () => void = () => {},
    ): TypeLoader<K> => new TypeLoader({ type, driver, defaults, judge, onLoaded, log, clock });
    this.#loaders = {
      MembershipState: loader('MembershipState', memberships.judge, () => this.#tellExpiry(memberships.endLoad())),
      MountTable: loader('MountTable'),
      RouterState: loader('RouterState', routers.judge, () => this.#tellExpiry(routers.endLoad())),
      DisabledNameservice: loader('DisabledNameservice'),
    };
  }

  /** All caches were loaded at least once. */
  get ready(): boolean {
    return this.#all.every(({ cache }) => cache.isLoaded);
  }

  get hasMountTable(): boolean {
    return this.isLoaded('MountTable');
  }

  /** When all caches were last loaded together, on the steady clock; null: never yet. */
  get lastFullLoadMs(): number | null {
    return this.#lastFullLoadMs;
  }

  get figures(): StoreFigures {
    const sum = (of: 'loads' | 'failedLoads' | 'abandonedReads'): number =>
      this.#all.reduce((total, loader) => total + loader[of], 0);
    return {
      loads: sum('loads'),
      failedLoads: sum('failedLoads'),
      abandonedReads: sum('abandonedReads'),
      expired: this.#expired,
      deleted: this.#deleted,
      ...this.#done,
    };
  }

  loadFigures(type: RecordType): LoadFigures {
    const { loads, loadMs, cache } = this.#loaders[type];
    return { loads, loadMs, records: cache.records.size };
  }

  /** Records that were left out or taken with a remark. */
  get problems(): CacheProblem[] {
    return this.#all.flatMap(({ cache }) => cache.problems);
  }

  isLoaded(type: RecordType): boolean {
    return this.#loaders[type].cache.isLoaded;
  }

  /** The cached records of a type by key. Throws StoreUnavailableError until they were loaded once. */
  records<K extends RecordType>(type: K): ReadonlyMap<string, Stored<StoreRecords[K]>> {
    return this.cache(type).records;
  }

  /** As `records`, with everything else that is known of the type. */
  cache<K extends RecordType>(type: K): RecordCache<K> {
    const loader: TypeLoader<K> = this.#loaders[type];
    if (loader.cache.isLoaded) return loader.cache;
    throw new StoreUnavailableError(
      `Cached State Store not initialized, ${type} records not valid: ${this.#loaders[type].reason}`,
    );
  }

  /** `listener` is told when records of the type have changed; call the result to end that. */
  onChange(type: RecordType, listener: () => void): () => void {
    return this.#loaders[type].onChange(listener);
  }

  /** `listener` is told when all types were loaded; call the result to end that. */
  onFullLoad(listener: () => void): () => void {
    this.#fullLoadListeners.add(listener);
    return () => this.#fullLoadListeners.delete(listener);
  }

  /** Begins to load; resolves after the first load of everything, successful or not. */
  async start(): Promise<void> {
    this.driver.onChange = (type) => this.#loaders[type].loadSoon();
    await this.#runOnce();
  }

  /** Ends the loads and closes the driver. */
  async stop(): Promise<void> {
    if (this.#isStopped) return;
    this.#isStopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    for (const loader of this.#all) loader.stop();
    this.driver.onChange = () => {};
    try {
      await withDeadline(this.driver.close(), DRIVER_DEADLINE_MS, 'its driver does not end');
    } catch (error) {
      this.#log.warn({ reason: reasonOf(error) }, 'State Store: not closed');
    }
  }

  /** Loads everything anew; false when something could not be loaded. */
  async refresh(): Promise<boolean> {
    const loaded = await Promise.all(this.#all.map((loader) => loader.load(true)));
    if (this.#isStopped || loaded.includes(false)) return false;
    this.#lastFullLoadMs = this.clock.steadyMs();
    for (const listener of this.#fullLoadListeners) {
      try {
        listener();
      } catch (error) {
        this.#log.error({ reason: reasonOf(error) }, 'State Store: a listener failed');
      }
    }
    return true;
  }

  /**
   * Loads one type; false when it could not be loaded. `mustBeFresh`: with what is in the store now; else a load under way or just ended
   * will do.
   */
  async load(type: RecordType, mustBeFresh: boolean): Promise<boolean> {
    return await this.#loaders[type].load(mustBeFresh);
  }

  /** As `load` of what is in the store now. Throws StoreUnavailableError when that cannot be had. */
  async requireFresh(type: RecordType): Promise<void> {
    const loader = this.#loaders[type];
    if (await loader.load(true)) return;
    throw new StoreUnavailableError(`the State Store cannot be read: ${loader.reason || 'this router stops'}`);
  }

  /**
   * Writes one record; see StoreDriver.put. Throws StoreUnavailableError without an answer in time, then it is not known whether the
   * record was written, and what the driver throws.
   */
  async put(type: RecordType, name: string, bytes: Buffer, options: PutOptions): Promise<boolean> {
    if (!(await this.#write(type, 'write', () => this.driver.put(type, name, bytes, options)))) return false;
    let version = UNKNOWN_VERSION;
    if (options.version !== undefined) version = options.version + 1;
    else if (!options.update && options.errorIfExists) version = 0;
    const loader = this.#loaders[type];
    loader.cache.put({ name, place: name, bytes, version, createdMs: null, modifiedMs: null });
    loader.tellChange();
    return true;
  }

  /** Removes the record of this name in the store; false when there was none. Throws as `put`. */
  async remove(type: RecordType, name: string): Promise<boolean> {
    const isRemoved = await this.#write(type, 'remove', () => this.driver.remove(type, name));
    const loader = this.#loaders[type];
    loader.cache.remove(name);
    loader.tellChange();
    return isRemoved;
  }

  get #all(): readonly TypeLoader<RecordType>[] {
    return Object.values(this.#loaders) as unknown as readonly TypeLoader<RecordType>[];
  }

  async #runOnce(): Promise<void> {
    await this.#startDriver();
    const isLoaded = await this.refresh();
    if (this.#isStopped) return;
    const { cacheTtlMs, connectionTestMs } = this.#settings;
    const retryMs = this.#driverStarted ? RETRY_MS : Math.min(connectionTestMs, RETRY_MS);
    this.#timer = setTimeout(() => void this.#runOnce(), isLoaded ? cacheTtlMs : Math.min(cacheTtlMs, retryMs));
    this.#timer.unref();
  }

  /** A driver that could not start is tried again before each load; one that hangs is not waited for. */
  async #startDriver(): Promise<void> {
    if (this.#driverStarted) return;
    this.#driverStart ??= this.driver.start().then(
      () => {
        this.#driverStarted = true;
        this.#driverReason = '';
      },
      (error: unknown) => {
        this.#driverStart = null;
        throw error;
      },
    );
    try {
      await withDeadline(this.#driverStart, DRIVER_DEADLINE_MS, `no answer within ${DRIVER_DEADLINE_MS} ms`);
    } catch (error) {
      const reason = reasonOf(error);
      if (reason !== this.#driverReason) this.#log.warn({ reason }, 'State Store: its driver cannot start yet');
      this.#driverReason = reason;
    }
  }

  async #write(type: RecordType, kind: 'write' | 'remove', write: () => Promise<boolean>): Promise<boolean> {
    if (this.#writes >= MAX_WRITES) {
      throw new StoreUnavailableError(`${MAX_WRITES} writes to the State Store are under way; try again later`);
    }
    this.#writes++;
    const sinceMs = this.clock.steadyMs();
    const work = write().finally(() => {
      this.#writes--;
    });
    try {
      const what = `the State Store has not answered within ${WRITE_DEADLINE_MS} ms; whether the record was changed shows when it answers again`;
      const isDone = await withDeadline(work, WRITE_DEADLINE_MS, what);
      this.#done[`${kind}s`]++;
      this.#done[`${kind}Ms`] += this.clock.steadyMs() - sinceMs;
      return isDone;
    } catch (error) {
      this.#done.failedWrites++;
      // It may have been made all the same.
      this.#loaders[type].loadSoon();
      throw error;
    }
  }

  #tellExpiry(changes: readonly ExpiryChange[]): void {
    void this.#writeExpiry(changes);
  }

  /** One after the other: nothing waits for it. Never rejects; what fails is judged again by the next load. */
  async #writeExpiry(changes: readonly ExpiryChange[]): Promise<void> {
    for (const change of changes.slice(0, MAX_EXPIRY_CHANGES)) {
      const { type, name } = change;
      if (this.#isStopped) return;
      // What cannot be read is left as it is.
      if (this.#loaders[type].cache.unreadableReason(name) !== null) continue;
      try {
        await this.#writeAge(change);
      } catch (error) {
        this.#log.debug({ type, name, reason: reasonOf(error) }, 'State Store: the age of a record was not written');
        return;
      }
    }
  }

  async #writeAge({ type, name, version, bytes }: ExpiryChange): Promise<void> {
    const { driver } = this;
    if (bytes === null) {
      if (!(await this.#write(type, 'remove', () => driver.remove(type, name)))) return;
      this.#deleted++;
      this.#log.info({ type, name }, 'State Store: an expired record was removed');
      return;
    }
    const options: PutOptions = { update: true, errorIfExists: false, version };
    if (!(await this.#write(type, 'write', () => driver.put(type, name, bytes, options)))) return;
    this.#expired++;
    this.#log.info({ type, name }, 'State Store: a record has expired');
  }
}
