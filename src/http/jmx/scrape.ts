import type { AdminPortFigures } from '../../admin/admin-port.ts';
import type { SchedulerReport } from '../../admission/scheduler/decay-scheduler.ts';
import { BUCKETS, boundOf, type Sums } from '../../admission/shared/figures.ts';
import { parseAddress } from '../../config/address.ts';
import type { ListedNamenode } from '../../control/membership/election.ts';
import type { RouterServices, RouterVersion } from '../../control/router-types.ts';
import type { CounterName, MethodCountName } from '../../shared/counters.ts';
import type { Settings, Topology } from '../../shared/settings.ts';
import type { RouterRecord, RouterStatus } from '../../state-store/records.ts';
import type { HttpFigures } from '../http-figures.ts';
import type { DatanodeReader } from './datanode-reader.ts';
import type { MountText } from './mount-text.ts';
import type { Rates, Sum } from './rates.ts';
import { addUp, type Totals } from './totals.ts';

/** What beans are made of. */
export interface JmxSources {
  readonly settings: Settings;
  readonly topology: Topology;
  readonly version: RouterVersion;
  /** A fairness policy shares handlers among nameservices. */
  readonly hasFairness: boolean;
  readonly services: Pick<
    RouterServices,
    | 'federation'
    | 'counters'
    | 'methodCounts'
    | 'admission'
    | 'scheduler'
    | 'admissionLevels'
    | 'observerReads'
    | 'threads'
    | 'rpcAddress'
    | 'isDraining'
  >;
  readonly adminPort: number;
  /** Null: there is none. */
  adminFigures(): AdminPortFigures | null;
  isInSafeMode(): boolean;
  readonly datanodes: DatanodeReader;
  readonly mountText: MountText;
  readonly rates: Rates;
  readonly http: HttpFigures;
  httpPort(): number;
}

/** Calls to one nameservice, or to all, since the start. */
export interface ProxySums {
  /** Answers of NameNodes. */
  readonly proxy: Sum;
  /** Waits of calls that had to. */
  readonly queue: Sum;
  readonly admitted: number;
  readonly refused: number;
}

const MIDDLE = Float64Array.from({ length: BUCKETS }, (_, bucket) =>
  bucket === 0 ? boundOf(0) / 2 : (boundOf(bucket - 1) + boundOf(bucket)) / 2,
);

/** One look at the router: what several beans need is read once, and only if one of them asks for it. */
export class Scrape {
  readonly sources: JmxSources;
  readonly nowMs = Date.now();
  readonly hostName: string;
  #counters: Record<CounterName, number> | null = null;
  #methods: Record<MethodCountName, Float64Array> | null = null;
  #admission: readonly Sums[] | null = null;
  #proxies: readonly ProxySums[] | null = null;
  #lists: ReadonlyMap<string, readonly ListedNamenode[]> | null = null;
  #totals: Totals | null = null;
  #scheduler: SchedulerReport | null | undefined;
  #observerReads: number | null = null;

  constructor(sources: JmxSources) {
    this.sources = sources;
    this.hostName = parseAddress(sources.settings.routerId, 0).host;
  }

  get counters(): Readonly<Record<CounterName, number>> {
    this.#counters ??= this.sources.services.counters();
    return this.#counters;
  }

  get methods(): Readonly<Record<MethodCountName, Float64Array>> {
    this.#methods ??= this.sources.services.methodCounts();
    return this.#methods;
  }

  /** By nameservice. */
  get admission(): readonly Sums[] {
    this.#admission ??= this.sources.services.admission();
    return this.#admission;
  }

  /** By nameservice. */
  get proxies(): readonly ProxySums[] {
    this.#proxies ??= this.admission.map(proxySumsOf);
    return this.#proxies;
  }

  /** What callers cost; null: nobody's cost is counted. */
  get scheduler(): SchedulerReport | null {
    if (this.#scheduler === undefined) this.#scheduler = this.sources.services.scheduler();
    return this.#scheduler;
  }

  /** NameNodes of the enabled nameservices, in the order to ask. */
  get lists(): ReadonlyMap<string, readonly ListedNamenode[]> {
    this.#lists ??= this.sources.services.federation.membership.feed.listAll();
    return this.#lists;
  }

  get totals(): Totals {
    this.#totals ??= addUp(this.lists, this.sources.datanodes.known);
    return this.#totals;
  }

  /** Reads that observers have answered. */
  get observerReads(): number {
    const { observerReads } = this.sources.services;
    this.#observerReads ??= (observerReads?.figures() ?? []).reduce((sum, figures) => sum + figures.observerReads, 0);
    return this.#observerReads;
  }

  get rpcPort(): number {
    const { services, settings } = this.sources;
    const address = services.rpcAddress();
    return address === '' ? settings.rpcPort : parseAddress(address, 0).port;
  }

  get status(): RouterStatus {
    return statusOf(this.sources.services);
  }

  /** Records of all routers; this one alone without a State Store, and none while that has not been read. */
  get routers(): readonly RouterRecord[] {
    const { services, settings, version } = this.sources;
    const { stored } = services.federation;
    if (stored !== null) return stored.store.isLoaded('RouterState') ? stored.routers.all() : [];
    return [
      {
        address: settings.routerId,
        status: this.status,
        version: version.version,
        compileInfo: version.compileInfo,
        adminAddress: '',
        dateStarted: version.startedMs,
        dateCreated: version.startedMs,
        dateModified: this.nowMs,
        membershipVersion: -1,
        mountTableVersion: -1,
      },
    ];
  }

  /** Sums over all nameservices. */
  sumOf(of: (sums: ProxySums) => number): number {
    return this.proxies.reduce((sum, each) => sum + of(each), 0);
  }
}

/** As the router's record says, with what it says only when the store takes it. */
export function statusOf({
  federation,
  isDraining,
  rpcAddress,
}: Pick<RouterServices, 'federation' | 'isDraining' | 'rpcAddress'>): RouterStatus {
  if (isDraining()) return 'SHUTDOWN';
  if (rpcAddress() === '') return 'INITIALIZING';
  return federation.stored?.routers.status ?? 'RUNNING';
}

export function proxySumsOf({ figures, histograms }: Sums): ProxySums {
  return {
    proxy: sumOfHistogram(histograms.processingTime),
    queue: sumOfHistogram(histograms.queueTime),
    admitted: figures.passed + figures.waited,
    refused: figures.refusedFull + figures.refusedSlow + figures.refusedLate,
  };
}

/** The time of a call is that of the middle of its bucket, whose bounds are an eighth apart. */
function sumOfHistogram(buckets: Float64Array): Sum {
  let count = 0;
  let ms = 0;
  for (let i = 0; i < buckets.length; i++) {
    const calls = buckets[i] as number;
    if (calls === 0) continue;
    count += calls;
    ms += calls * (MIDDLE[i] as number);
  }
  return { count, ms };
}
