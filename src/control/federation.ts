import type { Configuration } from '../config/configuration.ts';
import { readStoreSettings } from '../config/store-settings.ts';
import type { MountEntry } from '../mount/entry.ts';
import type { FigureData } from '../mount/order/figures.ts';
import type { StateWords } from '../observer/shared/state-words.ts';
import { type ControlBlock, SafeModeLevel } from '../shared/control-block.ts';
import type { EpochWords } from '../shared/epochs.ts';
import type { Settings, Topology } from '../shared/settings.ts';
import type { StoreDriver } from '../state-store/driver.ts';
import type { ToThread } from '../threads/messages.ts';
import type { Log } from './log.ts';
import { Membership } from './membership/membership.ts';
import { readMembershipSettings } from './membership/settings.ts';
import { LiveMounts } from './mounts/live-mounts.ts';
import { MountPublisher } from './mounts/mount-publisher.ts';
import { ObserverLags } from './observers/observer-lags.ts';
import { openQuotas, type Quotas } from './quota/quotas.ts';
import type { RouterVersion } from './router-types.ts';
import { type CacheAge, SafeMode } from './safe-mode.ts';
import { DisabledNameservices } from './store/disabled.ts';
import { MountRecords } from './store/mount-records.ts';
import { RouterRecords } from './store/router-records.ts';
import { StateStore } from './store/state-store.ts';

/** Longest wait at start for the first load of the State Store; what it has comes later then. */
const FIRST_LOAD_MS = 3_000;
/** Longest wait at start for the NameNodes' first answers; calls find their NameNode by asking, if need be. */
const FIRST_HEARTBEATS_MS = 300;
/** Mount points that change one after the other are looked at together for what depends on all of them. */
const COALESCE_MS = 500;
/** Mount points that one line of the log names. */
const MAX_NAMED_MOUNTS = 20;

export interface FederationOptions {
  readonly settings: Settings;
  readonly topology: Topology;
  readonly configuration: Configuration;
  /** Mount points of the command line. */
  readonly given: readonly MountEntry[];
  /** Null: there is no State Store. */
  readonly driver: StoreDriver | null;
  readonly block: ControlBlock;
  readonly epochs: EpochWords;
  /** Null when no nameservice takes part in reads from observers. */
  readonly observers: StateWords | null;
  readonly version: RouterVersion;
  readonly log: Log;
  /** To every thread that resolves paths. */
  readonly tell: (message: ToThread) => void;
}

/** The State Store and what is kept in it. */
export interface Stored {
  readonly store: StateStore;
  readonly mounts: MountRecords;
  readonly disabled: DisabledNameservices;
  readonly routers: RouterRecords;
  /** Null: switched off. */
  readonly safeMode: SafeMode | null;
}

/**
 * What this router shares with the other routers of its deployment (mount table, membership, routers, disabled nameservices), and what of it
 * the threads of the data path get. Without a State Store: the mount points of the command line, and this router's own heartbeats.
 */
export class Federation {
  readonly stored: Stored | null;
  readonly membership: Membership;
  readonly live: LiveMounts;
  readonly publisher: MountPublisher;
  /** Null: quotas of mount points are off. */
  /** Null when no nameservice takes part in reads from observers. */
  readonly observerLags: ObserverLags | null;
  readonly quotas: Quotas | null;
  readonly #options: FederationOptions;
  readonly #forget: (() => void)[] = [];
  #figures: FigureData | null = null;
  #unknown = '';
  /** host:port; '' without an admin port. */
  #adminAddress = '';
  #writesRecord = false;
  /** Where the store's mount table is on its way to the threads that resolve paths. */
  #table: 'unread' | 'underWay' | 'inForce' = 'unread';
  #mountsTimer: NodeJS.Timeout | null = null;
  /** The first table was built. */
  #isStarted = false;
  #isStopped = false;

  /** Throws ConfigError. */
  constructor(options: FederationOptions) {
    this.#options = options;
    const { settings, topology, configuration, block, log, tell } = options;
    this.stored = options.driver === null ? null : this.#openStore(options.driver);
    this.publisher = new MountPublisher(
      options.epochs,
      topology.nameservices.map(({ id }) => id),
    );
    this.live = new LiveMounts({
      publisher: this.publisher,
      given: options.given,
      tell: (buffer) => tell({ kind: 'snapshot', buffer }),
      log,
    });
    this.membership = new Membership({
      configuration,
      settings,
      topology,
      block,
      log,
      store: this.stored?.store ?? null,
      onBlockPool: (pool, nameservice) => tell({ kind: 'block-pools', pools: [[pool, nameservice]] }),
      onFigures: (data) => {
        this.#figures = data;
        tell({ kind: 'order-figures', data });
      },
    });
    this.observerLags = this.#openLags();
    this.quotas = openQuotas({
      configuration,
      settings,
      namenodes: this.membership.namenodes,
      block,
      entries: () => this.entries,
      reload: () => this.stored?.store.load('MountTable', true) ?? Promise.resolve(true),
      onUsage: (usage) => tell({ kind: 'quota-usage', usage }),
      log,
    });
  }

  /** The mount points as they are now, in force or about to be. */
  get entries(): readonly MountEntry[] {
    const { stored } = this;
    const given = new Set(this.#options.given.map(({ sourcePath }) => sourcePath));
    const entries = stored?.store.hasMountTable === true ? stored.mounts.entries() : [];
    return [...entries.filter(({ sourcePath }) => !given.has(sourcePath)), ...this.#options.given];
  }

  /** Resolves when there is a mount table for the threads, be it only that of the command line while the store does not answer. */
  async start(): Promise<void> {
    const { stored, live, membership } = this;
    const { block } = this.#options;
    if (stored !== null) {
      // Until the table was read once, no path may be resolved: other routers have it.
      block.setSafeMode(SafeModeLevel.READS_TOO);
      stored.safeMode?.start();
      this.#forget.push(
        stored.store.onChange('MountTable', () => this.#takeMounts(stored)),
        stored.store.onFullLoad(() => this.#onFullLoad(stored)),
      );
      await within(stored.store.start(), FIRST_LOAD_MS);
    }
    const isRead = stored?.store.hasMountTable === true;
    await live.start(isRead ? this.#tableOf(stored) : []);
    if (this.#isStopped) return;
    this.#isStarted = true;
    // Threads are given this table before they are given calls.
    if (isRead) this.#putInForce(stored);
    else if (stored !== null) void this.#awaitTable(stored);
    this.#onMounts();
    await within(membership.start(), FIRST_HEARTBEATS_MS);
    if (this.#isStopped) return;
    this.observerLags?.start();
    // Its first round may take long; limits are not checked before.
    void this.quotas?.service.start();
  }

  /** Clients are served: the other routers may know. `adminAddress` is '' without an admin port. */
  serve(adminAddress: string): void {
    this.#adminAddress = adminAddress;
    const { stored } = this;
    if (stored === null) return;
    if (this.#writesRecord) stored.routers.start();
    this.#tellStatus(stored);
  }

  /** What a thread must know that resolves paths from now on. */
  tellAll(tell: (message: ToThread) => void): void {
    const { buffer } = this.publisher;
    if (buffer !== null) tell({ kind: 'snapshot', buffer });
    tell({ kind: 'block-pools', pools: this.membership.feed.blockPools });
    if (this.#figures !== null) tell({ kind: 'order-figures', data: this.#figures });
    if (this.quotas !== null) tell({ kind: 'quota-usage', usage: this.quotas.service.usage });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const forget of this.#forget.splice(0)) forget();
    if (this.#mountsTimer !== null) clearTimeout(this.#mountsTimer);
    this.live.stop();
    // These may wait for the store, and end at the latest when it has been closed.
    const ended = Promise.allSettled([this.quotas?.service.stop(), this.membership.stop(), this.observerLags?.stop()]);
    const { stored } = this;
    if (stored !== null) {
      stored.safeMode?.stop();
      await stored.routers.stop();
      await stored.store.stop();
    }
    await Promise.all([ended, this.publisher.close()]);
  }

  #openLags(): ObserverLags | null {
    const { settings, configuration, observers, block, log } = this.#options;
    if (observers === null) return null;
    const { namenodes } = this.membership;
    const { heartbeats } = readMembershipSettings(configuration, settings);
    const { intervalMs } = heartbeats;
    return new ObserverLags({ namenodes, settings: settings.observers, block, words: observers, intervalMs }, log);
  }

  #openStore(driver: StoreDriver): Stored {
    const { settings, configuration, block, log, version } = this.#options;
    const storeSettings = readStoreSettings(configuration);
    this.#writesRecord = storeSettings.heartbeatEnabled;
    const store = new StateStore({
      driver,
      settings: storeSettings,
      defaults: settings,
      routerId: settings.routerId,
      log,
    });
    const adminAddress = (): string => this.#adminAddress;
    const identity = {
      address: settings.routerId,
      version: version.version,
      compileInfo: version.compileInfo,
      startedMs: version.startedMs,
      get adminAddress(): string {
        return adminAddress();
      },
    };
    const routers = new RouterRecords(store, identity, storeSettings.heartbeatMs, log);
    const safeMode =
      storeSettings.safeMode === null
        ? null
        : new SafeMode({
            settings: storeSettings.safeMode,
            block,
            caches: this.#cacheAge(store),
            log,
            onChange: () => {
              if (this.stored !== null) this.#tellStatus(this.stored);
            },
          });
    return { store, routers, safeMode, mounts: new MountRecords(store), disabled: new DisabledNameservices(store) };
  }

  /** Without the store's mount table calls are refused as in safe mode, even where that is off: others must not count on this router. */
  #tellStatus({ routers, safeMode }: Stored): void {
    routers.setStatus(safeMode?.isOn === true || this.#table !== 'inForce' ? 'SAFEMODE' : 'RUNNING');
  }

  #cacheAge(store: StateStore): CacheAge {
    const isInForce = (): boolean => this.#table === 'inForce';
    return {
      get lastFullLoadMs(): number | null {
        return store.lastFullLoadMs;
      },
      get hasMountTable(): boolean {
        return isInForce();
      },
    };
  }

  #takeMounts(stored: Stored): void {
    this.live.set(() => this.#tableOf(stored));
    void this.#awaitTable(stored);
    this.#mountsTimer ??= setTimeout(() => {
      this.#mountsTimer = null;
      this.#onMounts();
    }, COALESCE_MS).unref();
  }

  /** What is routed by. */
  #tableOf({ mounts }: Stored): readonly MountEntry[] {
    return [...mounts.entries(), ...mounts.standIns(this.#options.settings)];
  }

  #onFullLoad(stored: Stored): void {
    if (stored.safeMode !== null) stored.safeMode.check();
    void this.#awaitTable(stored);
  }

  /**
   * The store's table was read for the first time, after calls were let in: paths are resolved only when all threads are on it, for the
   * one that they have does not know its mount points. Never rejects.
   */
  async #awaitTable(stored: Stored): Promise<void> {
    if (this.#table !== 'unread' || !this.#isStarted || !stored.store.hasMountTable) return;
    this.#table = 'underWay';
    // False: it could not be built, and is built again.
    while (!(await this.live.everywhere(null))) if (this.#isStopped) return;
    if (!this.#isStopped) this.#putInForce(stored);
  }

  #putInForce(stored: Stored): void {
    const { safeMode } = stored;
    this.#table = 'inForce';
    if (safeMode !== null) safeMode.check();
    // Without safe mode only a table that was never read keeps calls away.
    else this.#options.block.setSafeMode(SafeModeLevel.OFF);
    this.#tellStatus(stored);
  }

  #onMounts(): void {
    const { entries } = this;
    const several = entries.filter(({ destinations }) => destinations.length > 1);
    this.membership.useOrders(new Set(several.map(({ order }) => order)));
    this.quotas?.service.onMounts();
    this.#nameUnknown(entries);
  }

  /** Each set of mount points that lead to nameservices which this router does not know, once. */
  #nameUnknown(entries: readonly MountEntry[]): void {
    const { topology, log } = this.#options;
    const known = new Set(topology.nameservices.map(({ id }) => id));
    const unknown = entries
      .filter(({ destinations }) => destinations.some(({ nameservice }) => !known.has(nameservice)))
      .map(({ sourcePath }) => sourcePath);
    const said = unknown.join('\n');
    if (said === this.#unknown) return;
    this.#unknown = said;
    if (unknown.length === 0) return;
    log.warn(
      { count: unknown.length, mounts: unknown.slice(0, MAX_NAMED_MOUNTS) },
      'mount points lead to nameservices that are not behind this router',
    );
  }
}

/** Settles as `work` does, or resolves when that takes longer; then it goes on by itself. */
async function within(work: Promise<void>, limitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
