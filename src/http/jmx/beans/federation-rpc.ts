import { type Bean, classBean, metricsBean, ROUTER } from '../bean.ts';
import type { ProxySums, Scrape } from '../scrape.ts';
import { type Attributes, floating, jsonText, type Value } from '../values.ts';

const CLASS = 'org.apache.hadoop.hdfs.server.federation.metrics.FederationRPCMetrics';

export const FEDERATION_RPC_NOTHING = {
  RouterFailureLockedOps: 0,
  RpcClientConnections: '{}',
  AsyncCallerPool: '{"active":0,"total":0,"max":0}',
} as const;

/** What both beans have. */
function shared(scrape: Scrape): Record<string, Value> {
  const { counters } = scrape;
  const { namenodeConnections: open, namenodeConnectionsBusy: busy } = counters;
  return {
    ProxyOpFailureStandby: counters.standbyAnswers,
    ProxyOpFailureCommunicate: counters.namenodeConnectFailures + counters.namenodeConnectionsLost,
    ProxyOpFailureClientOverloaded: scrape.admission.reduce((sum, { figures }) => sum + figures.refusedFull, 0),
    ProxyOpNotImplemented: counters.callsUnsupported,
    ProxyOpRetries: counters.callsResent,
    ProxyOpNoNamenodes: counters.callsUnreached,
    ProxyOpPermitRejected: scrape.sumOf(({ refused }) => refused),
    RpcServerCallQueue: waitingOf(scrape),
    RpcServerNumOpenConnections: counters.clientsOpen,
    RpcClientNumConnections: open,
    RpcClientNumActiveConnections: busy,
    RpcClientNumIdleConnections: Math.max(0, open - busy - counters.namenodeConnectionsOpening),
    RpcClientNumActiveConnectionsRecently: busy,
    RpcClientNumCreatingConnections: counters.namenodeConnectionsOpening,
    RpcClientNumConnectionPools: counters.namenodePools,
  };
}

/** Calls that wait in the queues. */
export function waitingOf({ admission }: Scrape): number {
  return admission.reduce((sum, { figures }) => sum + figures.waiting, 0);
}

/** As the Java Router: a change below a read-only mount counts as both. */
function failures({ counters }: Scrape): { stateStore: number; safeMode: number; readOnly: number } {
  const { callsReadOnly: readOnly, callsUnresolved, callsInSafeMode: safeMode } = counters;
  return { stateStore: callsUnresolved + readOnly, safeMode, readOnly };
}

function averages({ sources }: Scrape): { proxy: Value; processing: Value } {
  const { rates } = sources;
  return { proxy: floating(rates.of('proxy').averageMs), processing: floating(rates.of('processing').averageMs) };
}

function answersOf(scrape: Scrape): number {
  return scrape.sumOf(({ proxy }) => proxy.count);
}

function perNameservice({ proxies, sources }: Scrape, of: (sums: ProxySums) => number): string {
  const { nameservices } = sources.topology;
  const counts = proxies.map((sums, n) => [nameservices[n]?.id ?? '', of(sums)] as const);
  return jsonText(Object.fromEntries(counts.filter(([, count]) => count > 0)));
}

/** Room in the windows; without a fairness policy the Java Router has no such shares. */
function freeByNameservice({ admission, sources }: Scrape): string {
  if (!sources.hasFairness) return 'N/A';
  const { nameservices } = sources.topology;
  const free = admission.map(({ figures }, n) => [
    nameservices[n]?.id ?? '',
    Math.max(0, figures.window - figures.inFlight),
  ]);
  return jsonText(Object.fromEntries(free) as object);
}

export const federationRpcBean: Bean = classBean(`${ROUTER}FederationRPC`, CLASS, (scrape): Attributes => {
  const { stateStore, safeMode, readOnly } = failures(scrape);
  const { proxy, processing } = averages(scrape);
  const answers = answersOf(scrape);
  return {
    ...shared(scrape),
    RouterFailureStateStoreOps: stateStore,
    RouterFailureSafemodeOps: safeMode,
    RouterFailureReadOnlyOps: readOnly,
    ...FEDERATION_RPC_NOTHING,
    AvailableHandlerOnPerNs: freeByNameservice(scrape),
    ProxyAvg: proxy,
    ProxyOps: answers,
    ActiveProxyOps: answers - scrape.observerReads,
    ObserverProxyOps: scrape.observerReads,
    ProcessingAvg: processing,
    ProcessingOps: scrape.sumOf(({ admitted }) => admitted),
    ProxyOpPermitRejectedPerNs: perNameservice(scrape, ({ refused }) => refused),
    ProxyOpPermitAcceptedPerNs: perNameservice(scrape, ({ admitted }) => admitted),
  };
});

export const federationRpcMetricsBean: Bean = metricsBean(
  CLASS,
  { SessionId: 'RouterRPCSession', ProcessName: 'Router', Context: 'dfs' },
  (scrape) => {
    const { stateStore, safeMode, readOnly } = failures(scrape);
    const { proxy, processing } = averages(scrape);
    const answers = answersOf(scrape);
    const processed = scrape.sumOf(({ admitted }) => admitted);
    return {
      ...shared(scrape),
      ActiveProxyOp: answers - scrape.observerReads,
      ObserverProxyOp: scrape.observerReads,
      ProcessingNumOps: processed,
      ProcessingAvgTime: processing,
      ProcessingOp: processed,
      ProxyNumOps: answers,
      ProxyAvgTime: proxy,
      ProxyOp: answers,
      RouterFailureLocked: FEDERATION_RPC_NOTHING.RouterFailureLockedOps,
      RouterFailureReadOnly: readOnly,
      RouterFailureSafemode: safeMode,
      RouterFailureStateStore: stateStore,
    };
  },
);

export const NAMESERVICE_NOTHING = {
  ProxyOpFailureCommunicate: 0,
  ProxyOpFailureStandby: 0,
  ProxyOpNoNamenodes: 0,
} as const;

/** One nameservice; the Java Router counts what goes to several at once as one more, `concurrent`. */
export function nameserviceBeans(ids: readonly string[]): Bean[] {
  const bean = (id: string, read: (scrape: Scrape) => Attributes): Bean =>
    metricsBean(`NameserviceActivity-${id}`, { ns: id, Context: 'dfs' }, read);
  const own = ids.map((id, n) =>
    bean(id, (scrape) => {
      const { proxy, admitted, refused } = scrape.proxies[n] as ProxySums;
      return {
        ProxyNumOps: proxy.count,
        ProxyAvgTime: floating(scrape.sources.rates.of(`proxy ${id}`).averageMs),
        ProxyOp: proxy.count,
        ...NAMESERVICE_NOTHING,
        ProxyOpPermitAccepted: admitted,
        ProxyOpPermitRejected: refused,
      };
    }),
  );
  const concurrent = bean('concurrent', ({ methods }) => {
    const fanOuts = methods.fanOuts.reduce((sum, count) => sum + count, 0);
    return {
      ProxyNumOps: fanOuts,
      ProxyAvgTime: floating(0),
      ProxyOp: fanOuts,
      ...NAMESERVICE_NOTHING,
      ProxyOpPermitAccepted: fanOuts,
      ProxyOpPermitRejected: 0,
    };
  });
  return [...own, concurrent];
}
