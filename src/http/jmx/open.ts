import type { Administration } from '../../admin/administration.ts';
import type { Configuration } from '../../config/configuration.ts';
import { readFairness } from '../../config/fairness.ts';
import type { Log } from '../../control/log.ts';
import type { RouterServices, RouterVersion } from '../../control/router-types.ts';
import type { Settings, Topology } from '../../shared/settings.ts';
import { RECORD_TYPES, type RecordType } from '../../state-store/records.ts';
import type { HttpFigures } from '../http-figures.ts';
import type { HttpPart } from '../http-server.ts';
import type { Bean } from './bean.ts';
import { observeGarbage } from './beans/process.ts';
import { beansOf } from './beans.ts';
import { DatanodeReader } from './datanode-reader.ts';
import { jmx } from './jmx.ts';
import { MountText } from './mount-text.ts';
import { Rates, type Sum } from './rates.ts';
import { type JmxSources, proxySumsOf, Scrape } from './scrape.ts';

const CACHE_EXPIRE = 'dfs.federation.router.dn-report.cache-expire';
/** DataNodes are not read more often, whatever the key says. */
const LEAST_PAUSE_MS = 1_000;

export interface OpenJmxOptions {
  readonly settings: Settings;
  readonly topology: Topology;
  readonly configuration: Configuration;
  readonly version: RouterVersion;
  readonly services: RouterServices;
  readonly administration: Administration;
  readonly http: HttpFigures;
  /** Of the HTTP server; 0 before it listens. */
  httpPort(): number;
  readonly log: Log;
}

/** `/jmx` of a router, with all that goes on in the background for it; that ends with the server. */
export function openJmx(options: OpenJmxOptions): HttpPart {
  const { settings, topology, configuration, version, services, administration, http, httpPort, log } = options;
  const { federation, block } = services;
  const mountText = new MountText({
    entries: () => federation.entries,
    usage: federation.quotas?.service ?? { usageOf: () => null },
    log,
  });
  const datanodes = new DatanodeReader({
    namenodes: federation.membership.namenodes,
    block,
    user: settings.routerUser,
    connectTimeoutMs: settings.connectTimeoutMs,
    periodMs: Math.max(LEAST_PAUSE_MS, configuration.readDurationMs(CACHE_EXPIRE)),
    log,
  });
  const { nameservices } = topology;
  const sources: JmxSources = {
    settings,
    topology,
    version,
    hasFairness: readFairness(configuration, topology).acquireMs !== null,
    services,
    adminPort: administration.port,
    adminFigures: () => administration.portFigures,
    isInSafeMode: () => administration.router.isInSafeMode,
    datanodes,
    mountText,
    rates: new Rates(() =>
      sums(
        services,
        administration,
        nameservices.map(({ id }) => id),
      ),
    ),
    http,
    httpPort,
  };
  const beans = new CurrentBeans(sources);
  const part = jmx({ beans: () => beans.all, scrape: () => new Scrape(sources) });
  return (app) => {
    const forgetMounts = federation.stored?.store.onChange('MountTable', () => mountText.onChange());
    const stopObserving = observeGarbage();
    mountText.onChange();
    datanodes.look();
    app.addHook('onRequest', async () => datanodes.look());
    app.addHook('onClose', async () => {
      forgetMounts?.();
      stopObserving();
      sources.rates.stop();
      mountText.stop();
      datanodes.stop();
    });
    part(app);
  };
}

/** The beans, made anew when ports or queues are others. */
class CurrentBeans {
  readonly #sources: JmxSources;
  #key = '';
  #beans: readonly Bean[] = [];

  constructor(sources: JmxSources) {
    this.#sources = sources;
  }

  get all(): readonly Bean[] {
    const { services, adminPort, httpPort } = this.#sources;
    const { rpcPort } = new Scrape(this.#sources);
    const levels = services.admissionLevels();
    const hasScheduler = services.scheduler() !== null;
    const key = `${rpcPort} ${levels} ${hasScheduler} ${httpPort()}`;
    if (key !== this.#key) {
      const ids = this.#sources.topology.nameservices.map(({ id }) => id);
      this.#beans = beansOf({ ids, rpcPort, adminPort, httpPort: httpPort(), hasLevels: levels > 1, hasScheduler });
      this.#key = key;
    }
    return this.#beans;
  }
}

/** What averages of periods are made of. */
function* sums(
  services: RouterServices,
  administration: Administration,
  ids: readonly string[],
): Generator<readonly [string, Sum]> {
  const all = { proxy: { count: 0, ms: 0 }, processing: { count: 0, ms: 0 } };
  for (const [n, each] of services.admission().map(proxySumsOf).entries()) {
    yield [`proxy ${ids[n]}`, each.proxy];
    all.proxy.count += each.proxy.count;
    all.proxy.ms += each.proxy.ms;
    all.processing.count += each.admitted;
    all.processing.ms += each.queue.ms;
  }
  yield ['proxy', all.proxy];
  yield ['processing', all.processing];
  const { callsRead, callsRecoded } = services.counters();
  yield ['calls', { count: callsRead + callsRecoded, ms: 0 }];
  const store = services.federation.stored?.store;
  if (store !== undefined) {
    const { failedLoads, writes, writeMs, removes, removeMs, failedWrites } = store.figures;
    const reads = { count: 0, ms: 0 };
    for (const type of Object.keys(RECORD_TYPES) as RecordType[]) {
      const { loads, loadMs } = store.loadFigures(type);
      yield [`load ${type}`, { count: loads, ms: loadMs }];
      reads.count += loads;
      reads.ms += loadMs;
    }
    yield ['store reads', reads];
    yield ['store writes', { count: writes, ms: writeMs }];
    yield ['store removes', { count: removes, ms: removeMs }];
    yield ['store failures', { count: failedLoads + failedWrites, ms: 0 }];
  }
  const admin = { count: 0, ms: 0 };
  for (const [name, { calls, ms }] of administration.portFigures?.answered ?? []) {
    yield [`admin ${name}`, { count: calls, ms }];
    admin.count += calls;
    admin.ms += ms;
  }
  yield ['admin', admin];
}
