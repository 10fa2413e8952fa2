import type { Configuration } from '../../config/configuration.ts';
import { namesOfThisHost } from '../../config/topology.ts';
import type { MountOrder } from '../../mount/entry.ts';
import type { FigureData } from '../../mount/order/figures.ts';
import type { ControlBlock } from '../../shared/control-block.ts';
import type { Settings, Topology } from '../../shared/settings.ts';
import { escapeKey, membershipKey } from '../../state-store/record-names.ts';
import { encodeMembership, type MembershipRecord } from '../../state-store/records.ts';
import type { Log } from '../log.ts';
import type { StateStore } from '../store/state-store.ts';
import { type MonitoredNamenode, readMonitored } from './addresses.ts';
import { MembershipFeed } from './feed.ts';
import { FiguresGatherer } from './figures.ts';
import { Heartbeats } from './heartbeats.ts';
import type { NamenodeStats } from './jmx.ts';
import { readMembershipSettings } from './settings.ts';

/** Each report that is written changes the cache: what follows within this time is taken in together. */
const COALESCE_MS = 200;

export interface MembershipOptions {
  readonly configuration: Configuration;
  readonly settings: Settings;
  readonly topology: Topology;
  readonly block: ControlBlock;
  readonly log: Log;
  /** Null without a State Store: then NameNodes are asked whatever the keys say, for nobody else does. */
  readonly store: StateStore | null;
  readonly onBlockPool: (pool: string, nameservice: number) => void;
  readonly onFigures: (figures: FigureData) => void;
  /** ms since 1970. */
  readonly now?: () => number;
}

/** What this router knows about NameNodes: heartbeats, the reports of all routers, and what of both the data plane gets. */
export class Membership {
  readonly feed: MembershipFeed;
  readonly namenodes: readonly MonitoredNamenode[];
  readonly #store: StateStore | null;
  readonly #heartbeats: Heartbeats | null;
  readonly #figures: FiguresGatherer;
  readonly #forget: (() => void)[] = [];
  /** Without a State Store: this router's own reports, by key. */
  readonly #own = new Map<string, MembershipRecord>();
  #timer: NodeJS.Timeout | null = null;

  /** Throws ConfigError. */
  constructor(options: MembershipOptions) {
    const { configuration, settings, topology, block, log, store, now = Date.now } = options;
    this.#store = store;
    this.feed = new MembershipFeed(topology, block, log, options.onBlockPool, now);
    this.namenodes = readMonitored(configuration, topology);
    const { enabled, heartbeats, figuresPeriodMs } = readMembershipSettings(configuration, settings);
    const events = {
      onReport: this.feed.onReport.bind(this.feed),
      write: (record: MembershipRecord) => (store === null ? this.#keep(record) : writeReport(store, record)),
    };
    const isAsking = enabled || store === null;
    this.#heartbeats = isAsking ? new Heartbeats(this.namenodes, { ...heartbeats, now }, events, log) : null;
    this.#figures = new FiguresGatherer(
      {
        user: settings.routerUser,
        connectTimeoutMs: settings.connectTimeoutMs,
        periodMs: figuresPeriodMs,
        localAddresses: namesOfThisHost(),
      },
      {
        namenodes: this.namenodes,
        block,
        availableBytes: () => this.#availableBytes(),
        onFigures: options.onFigures,
      },
      log,
    );
  }

  /** The figures that this router itself last read of each NameNode. */
  get stats(): ReadonlyMap<MonitoredNamenode, NamenodeStats> {
    return this.#heartbeats?.stats ?? new Map();
  }

  /** Begins to ask and to listen; resolves when every NameNode has answered once or has run out of time. */
  async start(): Promise<void> {
    const store = this.#store;
    if (store !== null) {
      this.#forget.push(
        store.onChange('DisabledNameservice', () => this.#takeDisabled(store)),
        store.onChange('MembershipState', () => this.#takeRecordsSoon()),
      );
      this.#takeDisabled(store);
      this.#takeRecords();
    }
    await this.#heartbeats?.start();
  }

  /** The orders of the mount points with several destinations, after each change of the mount table. */
  useOrders(orders: ReadonlySet<MountOrder>): void {
    this.#figures.useOrders(orders);
  }

  async stop(): Promise<void> {
    for (const forget of this.#forget.splice(0)) forget();
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#figures.stop();
    await this.#heartbeats?.stop();
  }

  #takeDisabled(store: StateStore): void {
    if (store.isLoaded('DisabledNameservice')) this.feed.onDisabled(store.records('DisabledNameservice').keys());
  }

  /** A promise for its signature alone: nothing is waited for. */
  async #keep(record: MembershipRecord): Promise<void> {
    this.#own.set(membershipKey(record), record);
    this.#takeRecordsSoon();
  }

  #takeRecordsSoon(): void {
    if (this.#timer !== null) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#takeRecords();
    }, COALESCE_MS);
    this.#timer.unref();
  }

  #takeRecords(): void {
    const store = this.#store;
    if (store === null) this.feed.onRecords([...this.#own.values()]);
    else if (store.isLoaded('MembershipState'))
      this.feed.onRecords(Array.from(store.records('MembershipState').values(), ({ record }) => record));
  }

  /** Own figures where there are no reports with any. */
  #availableBytes(): FigureData['available'] {
    const own = [...this.stats].map(([{ nameserviceId }, stats]) => [nameserviceId, availableOf(stats)] as const);
    return [...own.filter(([, bytes]) => bytes >= 0), ...this.feed.availableBytes];
  }
}

function availableOf(stats: NamenodeStats): number {
  return Number(stats['availableSpace'] ?? -1);
}

async function writeReport(store: StateStore, record: MembershipRecord): Promise<void> {
  const name = escapeKey(membershipKey(record));
  const isWritten = await store.put('MembershipState', name, encodeMembership(record), {
    update: true,
    errorIfExists: false,
  });
  if (!isWritten) throw new Error('the State Store did not take the record');
}
