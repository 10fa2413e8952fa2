import { formatAddress } from '../../../config/address.ts';
import { type Bean, classBean, NAMENODE } from '../bean.ts';
import type { Scrape } from '../scrape.ts';
import { type Attributes, float32, floating } from '../values.ts';
import { identityOf, safeModeText } from './router.ts';

const CLASS = 'org.apache.hadoop.hdfs.server.federation.metrics.NamenodeBeanMetrics';

/** A router is no NameNode: what the beans of one have besides, as the Java Router fills it in. */
export const FS_NAMESYSTEM_NOTHING = {
  TotalLoad: -1,
  NumInServiceLiveDataNodes: 0,
  VolumeFailuresTotal: 0,
  EstimatedCapacityLostTotal: 0,
  SnapshotStats: null,
  MaxObjects: 0,
  BlockDeletionStartTime: -1,
  NumStaleStorages: -1,
  TopUserOpCounts: 'N/A',
  FsLockQueueLength: 0,
  TotalSyncCount: 0,
  TotalSyncTimes: '',
  NumEncryptionZones: 0,
  CurrentTokensCount: 0,
  ReconstructionQueuesInitProgress: floating(0),
} as const;
export const NAMENODE_INFO_NOTHING = {
  CacheCapacity: 0,
  CacheUsed: 0,
  RollingUpgradeStatus: null,
  NonDfsUsedSpace: 0,
  BlockPoolUsedSpace: 0,
  PercentBlockPoolUsed: floating(0),
  CorruptFiles: 'N/A',
  NameDirStatuses: 'N/A',
  NodeUsage: 'N/A',
  NameJournalStatus: 'N/A',
  JournalTransactionInfo: 'N/A',
  DistinctVersionCount: 0,
  DistinctVersions: null,
  NumberOfSnapshottableDirs: 0,
  NameDirSize: 'N/A',
  VerifyECWithTopologyResult: null,
} as const;
export const NAMENODE_STATUS_NOTHING = {
  LastHATransitionTime: 0,
  BytesWithFutureGenerationStamps: 0,
  SlowPeersReport: 'N/A',
  SlowDisksReport: 'N/A',
} as const;

function readNamesystem({ totals }: Scrape): Attributes {
  const pending = totals.count('numOfBlocksPendingReplication');
  const low = totals.count('numOfBlocksUnderReplicated');
  return {
    NumInMaintenanceLiveDataNodes: totals.inMaintenanceLive,
    NumInMaintenanceDeadDataNodes: totals.inMaintenanceDead,
    NumEnteringMaintenanceDataNodes: totals.enteringMaintenance,
    ScheduledReplicationBlocks: totals.count('scheduledReplicationBlocks'),
    PendingSPSPaths: totals.count('pendingSPSPaths'),
    PendingDeletionBlocks: totals.count('numOfBlocksPendingDeletion'),
    LowRedundancyBlocks: low,
    PendingReplicationBlocks: pending,
    PendingReconstructionBlocks: pending,
    UnderReplicatedBlocks: low,
    FSState: 'Operational',
    BlocksTotal: totals.count('numOfBlocks'),
    CapacityTotal: totals.capacity,
    CapacityRemaining: totals.remaining,
    CapacityUsed: totals.capacity - totals.remaining,
    ProvidedCapacityTotal: totals.provided,
    FilesTotal: totals.count('numOfFiles'),
    NumLiveDataNodes: totals.live,
    NumDeadDataNodes: totals.dead,
    NumStaleDataNodes: totals.stale,
    NumDecomLiveDataNodes: totals.decommissionedLive,
    NumDecomDeadDataNodes: totals.decommissionedDead,
    NumDecommissioningDataNodes: totals.decommissioning,
    ...FS_NAMESYSTEM_NOTHING,
  };
}

function readInfo(scrape: Scrape): Attributes {
  const { totals, sources } = scrape;
  const { Version, CompileInfo, ClusterId, BlockPoolId } = identityOf(scrape) as Record<string, string>;
  const { texts } = sources.datanodes;
  const { capacity, remaining } = totals;
  const percent = (part: bigint): number => (capacity > 0n ? float32((Number(part) * 100) / Number(capacity)) : 0);
  return {
    Threads: sources.services.threads().length + 1,
    Version: Version ?? '',
    Used: capacity - remaining,
    CompileInfo: CompileInfo ?? '',
    ClusterId: ClusterId ?? '',
    BlockPoolId: BlockPoolId ?? '',
    Safemode: safeModeText(scrape),
    CorruptFilesCount: totals.count('corruptFilesCount'),
    NumberOfMissingBlocksWithReplicationFactorOne: totals.count('numberOfMissingBlocksWithReplicationFactorOne'),
    HighestPriorityLowRedundancyReplicatedBlocks: totals.count('highestPriorityLowRedundancyReplicatedBlocks'),
    HighestPriorityLowRedundancyECBlocks: totals.count('HighestPriorityLowRedundancyECBlocks'),
    UpgradeFinalized: true,
    SoftwareVersion: sources.version.version,
    PercentUsed: floating(percent(capacity - remaining)),
    PercentRemaining: floating(percent(remaining)),
    Total: capacity,
    ProvidedCapacity: totals.provided,
    Free: remaining,
    TotalBlocks: totals.count('numOfBlocks'),
    NumberOfMissingBlocks: totals.count('numOfBlocksMissing'),
    LiveNodes: texts.live,
    DeadNodes: texts.dead,
    DecomNodes: texts.decommissioning,
    EnteringMaintenanceNodes: texts.enteringMaintenance,
    NNStartedTimeInMillis: sources.version.startedMs,
    ...NAMENODE_INFO_NOTHING,
  };
}

/** The router poses as a NameNode: tools that look at one find the whole. */
export const nameNodeBeans: readonly Bean[] = [
  classBean(`${NAMENODE}FSNamesystem`, CLASS, readNamesystem),
  classBean(`${NAMENODE}FSNamesystemState`, CLASS, readNamesystem),
  classBean(`${NAMENODE}NameNodeInfo`, CLASS, readInfo),
  classBean(`${NAMENODE}NameNodeStatus`, CLASS, ({ sources, rpcPort }) => ({
    State: 'active',
    SecurityEnabled: false,
    NNRole: 'NameNode',
    HostAndPort: formatAddress(sources.settings.rpcHost, rpcPort),
    ...NAMENODE_STATUS_NOTHING,
  })),
];
