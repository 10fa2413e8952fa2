import type { ListedNamenode } from '../../../control/membership/election.ts';
import { type Bean, classBean, ROUTER } from '../bean.ts';
import { javaDateText } from '../dates.ts';
import type { Scrape } from '../scrape.ts';
import type { Attributes } from '../values.ts';

export const RBF_METRICS = 'org.apache.hadoop.hdfs.server.federation.metrics.RBFMetrics';

/** What of the bean has no counterpart here, as a Java router without it has it. */
export const ROUTER_NOTHING = {
  RouterFederationRenameCount: 0,
  SchedulerJobCount: 0,
  TopTokenRealOwners: '',
  CurrentTokensCount: -1,
} as const;

/** Who this router is and how it is: the same in several beans. */
export function identityOf(scrape: Scrape): Attributes {
  const { version, settings } = scrape.sources;
  return {
    Version: version.version,
    RouterId: settings.routerId,
    SecurityEnabled: false,
    CompileInfo: version.compileInfo,
    ClusterId: setText(scrape.lists, ({ record }) => record.clusterId),
    BlockPoolId: setText(scrape.lists, ({ record }) => record.blockPoolId),
  };
}

export function stateOf(scrape: Scrape): Attributes {
  const { version } = scrape.sources;
  return {
    HostAndPort: `${scrape.hostName}:${scrape.rpcPort}`,
    RouterStarted: javaDateText(version.startedMs),
    CompiledDate: 'N/A',
    RouterStatus: scrape.status,
  };
}

/** Text of safe mode; '' when it is off. */
export function safeModeText({ sources }: Scrape): string {
  return sources.isInSafeMode()
    ? 'Safe mode is ON. It was turned on manually. Use "hdfs dfsrouteradmin -safemode leave" to turn safe mode off.'
    : '';
}

export const routerBean: Bean = classBean(`${ROUTER}Router`, RBF_METRICS, (scrape) => ({
  ...identityOf(scrape),
  Safemode: safeModeText(scrape),
  ...stateOf(scrape),
  ...ROUTER_NOTHING,
}));

/** As Java prints a set: `[a, b]`. */
function setText(
  lists: ReadonlyMap<string, readonly ListedNamenode[]>,
  of: (listed: ListedNamenode) => string,
): string {
  const values = new Set([...lists.values()].flat().map(of));
  values.delete('');
  return `[${[...values].sort().join(', ')}]`;
}
