import type { RecordType } from '../../../state-store/records.ts';
import { type Bean, classBean, metricsBean, ROUTER } from '../bean.ts';
import type { Scrape } from '../scrape.ts';
import { type Attributes, floating, type Value } from '../values.ts';

const TYPES: readonly RecordType[] = ['MembershipState', 'MountTable', 'RouterState', 'DisabledNameservice'];
const KINDS = { Read: 'reads', Write: 'writes', Remove: 'removes', Failure: 'failures' } as const;

/** Of the last period, totals are those of StateStoreActivity. */
export const stateStoreBean: Bean = classBean(
  `${ROUTER}StateStore`,
  'org.apache.hadoop.hdfs.server.federation.metrics.StateStoreMetrics',
  ({ sources }) => {
    const attributes: Record<string, Value> = {};
    for (const [name, kind] of Object.entries(KINDS)) {
      const { count, averageMs } = sources.rates.of(`store ${kind}`);
      attributes[`${name}Ops`] = count;
      attributes[`${name}Avg`] = floating(averageMs);
    }
    return attributes;
  },
);

/** The cache of paths that are resolved already: there is none here, each lookup takes less than a microsecond. */
export const STATE_STORE_NOTHING = { locationCacheMissed: 0, locationCacheAccessed: 0 } as const;

export const stateStoreActivityBean: Bean = metricsBean(
  'StateStoreActivity',
  { SessionId: 'RouterSession', ProcessName: 'Router', Context: 'dfs' },
  (scrape) => ({ ...totals(scrape), ...loads(scrape), ...STATE_STORE_NOTHING }),
);

function totals({ sources }: Scrape): Attributes {
  const figures = sources.services.federation.stored?.store.figures;
  const counts = {
    Failure: (figures?.failedLoads ?? 0) + (figures?.failedWrites ?? 0),
    Read: figures?.loads ?? 0,
    Remove: figures?.removes ?? 0,
    Write: figures?.writes ?? 0,
  } as const;
  const attributes: Record<string, Value> = {};
  for (const [name, count] of Object.entries(counts)) {
    const { averageMs } = sources.rates.of(`store ${KINDS[name as keyof typeof KINDS]}`);
    attributes[`${name}sNumOps`] = count;
    attributes[`${name}sAvgTime`] = floating(averageMs);
  }
  return attributes;
}

function loads({ sources }: Scrape): Attributes {
  const store = sources.services.federation.stored?.store;
  const attributes: Record<string, Value> = {};
  for (const type of TYPES) {
    const figures = store?.loadFigures(type);
    attributes[`Cache${type}LoadNumOps`] = figures?.loads ?? 0;
    attributes[`Cache${type}LoadAvgTime`] = floating(sources.rates.of(`load ${type}`).averageMs);
    attributes[`Cache${type}Size`] = figures?.records ?? 0;
  }
  return attributes;
}
