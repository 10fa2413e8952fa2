import { type Bean, classBean, metricsBean, ROUTER } from '../bean.ts';
import { dateText } from '../dates.ts';
import { reportsText, sortReports } from '../reports.ts';
import type { Scrape } from '../scrape.ts';
import { type Attributes, jsonText, type Value } from '../values.ts';
import { identityOf, RBF_METRICS, ROUTER_NOTHING, stateOf } from './router.ts';

/** Counts that the nameservices report: attribute, and the field of the report. */
const COUNTS = {
  NumFiles: 'numOfFiles',
  NumBlocks: 'numOfBlocks',
  NumOfBlocksPendingReplication: 'numOfBlocksPendingReplication',
  NumOfBlocksUnderReplicated: 'numOfBlocksUnderReplicated',
  NumOfBlocksPendingDeletion: 'numOfBlocksPendingDeletion',
  NumOfMissingBlocks: 'numOfBlocksMissing',
} as const;
const MORE_COUNTS = {
  CorruptFilesCount: 'corruptFilesCount',
  ScheduledReplicationBlocks: 'scheduledReplicationBlocks',
  NumberOfMissingBlocksWithReplicationFactorOne: 'numberOfMissingBlocksWithReplicationFactorOne',
  HighestPriorityLowRedundancyReplicatedBlocks: 'highestPriorityLowRedundancyReplicatedBlocks',
  HighestPriorityLowRedundancyECBlocks: 'HighestPriorityLowRedundancyECBlocks',
  PendingSPSPaths: 'pendingSPSPaths',
} as const;

function countsOf({ totals }: Scrape, fields: Readonly<Record<string, string>>): Record<string, Value> {
  return Object.fromEntries(Object.entries(fields).map(([attribute, field]) => [attribute, totals.count(field)]));
}

function nodeCountsOf({ totals }: Scrape): Attributes {
  return {
    NumInMaintenanceLiveDataNodes: totals.inMaintenanceLive,
    NumInMaintenanceDeadDataNodes: totals.inMaintenanceDead,
    NumEnteringMaintenanceDataNodes: totals.enteringMaintenance,
    NumLiveNodes: totals.live,
    NumDeadNodes: totals.dead,
    NumStaleNodes: totals.stale,
    NumDecomLiveNodes: totals.decommissionedLive,
    NumDecomDeadNodes: totals.decommissionedDead,
    NumDecommissioningNodes: totals.decommissioning,
  };
}

function routersText({ routers, nowMs }: Scrape): string {
  const views = routers.map(({ address, ...record }) => {
    const { membershipVersion, mountTableVersion, dateModified } = record;
    return [
      address,
      {
        address,
        ...record,
        lastHeartbeat: Math.trunc((nowMs - dateModified) / 1000),
        lastMembershipUpdate: dateText(membershipVersion),
        lastMountTableUpdate: dateText(mountTableVersion),
      },
    ];
  });
  return jsonText(Object.fromEntries(views) as object);
}

export const federationStateBean: Bean = classBean(`${ROUTER}FederationState`, RBF_METRICS, (scrape) => {
  const { totals, lists, nowMs, sources } = scrape;
  const { membership } = sources.services.federation;
  const { records, elected } = membership.feed;
  const used = totals.capacity - totals.remaining;
  const reports = sortReports(elected);
  const firsts = [...lists.values()].flatMap((list) => list.slice(0, 1));
  return {
    ...identityOf(scrape),
    ...stateOf(scrape),
    ...countsOf(scrape, COUNTS),
    ...countsOf(scrape, MORE_COUNTS),
    ...nodeCountsOf(scrape),
    TotalCapacity: totals.capacity,
    UsedCapacity: used,
    RemainingCapacity: totals.remaining,
    TotalCapacityBigInt: totals.capacity,
    UsedCapacityBigInt: used,
    RemainingCapacityBigInt: totals.remaining,
    ProvidedSpace: totals.provided,
    NumNameservices: lists.size,
    NumNamenodes: reports.length,
    NumExpiredNamenodes: records.filter(({ state }) => state === 'EXPIRED').length,
    CurrentTokensCount: ROUTER_NOTHING.CurrentTokensCount,
    NodeUsage: sources.datanodes.texts.usage,
    Namenodes: reportsText(
      reports.map((record) => ({ record, state: record.state })),
      nowMs,
    ),
    Nameservices: reportsText(firsts, nowMs),
    Routers: routersText(scrape),
    MountTable: sources.mountText.look(),
  };
});

export const rbfMetricsBean: Bean = metricsBean(RBF_METRICS, { ProcessName: 'Router', Context: 'dfs' }, (scrape) => ({
  ...countsOf(scrape, COUNTS),
  ...nodeCountsOf(scrape),
  RouterFederationRenameCount: ROUTER_NOTHING.RouterFederationRenameCount,
  SchedulerJobCount: ROUTER_NOTHING.SchedulerJobCount,
  CurrentTokensCount: ROUTER_NOTHING.CurrentTokensCount,
}));
