import { METHODS } from '../../../call/methods.ts';
import { type Bean, metricsBean } from '../bean.ts';
import type { Value } from '../values.ts';

/** Methods that the Java Router sends to several nameservices at once, as its bean has them. */
const CONCURRENT = new Set(
  `delete finalizeUpgrade getContentSummary getCurrentEditLogTxid getDatanodeReport getFileInfo getListing getQuotaUsage
  getReplicatedBlockStats getSlowDatanodeReport getStats listCorruptFileBlocks metaSave mkdirs modifyAclEntries refreshNodes
  removeAclEntries removeAcl removeDefaultAcl removeXAttr rename2 rename renewLease restoreFailedStorage rollEdits rollingUpgrade
  saveNamespace setAcl setBalancerBandwidth setOwner setPermission setQuota setReplication setSafeMode setXAttr`.split(
    /\s+/,
  ),
);

/** Methods that its bean has; the others are counted as `other`. */
const COUNTED = new Set(
  `abandonBlock addBlock addCacheDirective addCachePool addErasureCodingPolicies allowSnapshot append checkAccess complete concat
  createEncryptionZone create createSnapshot createSymlink delete deleteSnapshot disableErasureCodingPolicy disallowSnapshot
  enableErasureCodingPolicy finalizeUpgrade fsync getAclStatus getAdditionalDatanode getBatchedListing getBlockLocations
  getContentSummary getCurrentEditLogTxid getDataEncryptionKey getDatanodeReport getDatanodeStorageReport getECBlockGroupStats
  getECTopologyResultForPolicies getEZForPath getEditsFromTxid getErasureCodingCodecs getErasureCodingPolicies
  getErasureCodingPolicy getFileInfo getFileLinkInfo getHAServiceState getLinkTarget getListing getLocatedFileInfo
  getPreferredBlockSize getQuotaUsage getReplicatedBlockStats getServerDefaults getSlowDatanodeReport
  getSnapshotDiffReportListing getSnapshotDiffReport getSnapshotListing getSnapshottableDirListing getStats getStoragePolicies
  getStoragePolicy getXAttrs isFileClosed listCacheDirectives listCachePools listCorruptFileBlocks listEncryptionZones
  listOpenFiles listReencryptionStatus listXAttrs metaSave mkdirs modifyAclEntries modifyCacheDirective modifyCachePool msync
  recoverLease reencryptEncryptionZone refreshNodes removeAclEntries removeAcl removeCacheDirective removeCachePool
  removeDefaultAcl removeErasureCodingPolicy removeXAttrs rename2 rename renameSnapshot renewLease reportBadBlocks
  restoreFailedStorage rollEdits rollingUpgrade satisfyStoragePolicy saveNamespace setAcl setBalancerBandwidth
  setErasureCodingPolicy setOwner setPermission setQuota setReplication setSafeMode setStoragePolicy setTimes setXAttr truncate
  unsetErasureCodingPolicy unsetStoragePolicy updateBlockForPipeline updatePipeline upgradeStatus`.split(/\s+/),
);

/** Names on the wire that differ from those of the Java methods. */
const JAVA_NAMES: Readonly<Record<string, string>> = {
  getFsStats: 'getStats',
  getFsReplicatedBlockStats: 'getReplicatedBlockStats',
  getFsECBlockGroupStats: 'getECBlockGroupStats',
  removeXAttr: 'removeXAttrs',
};

const javaNameOf = (name: string): string => JAVA_NAMES[name] ?? name;
const attributeOf = (name: string): string => `${name.charAt(0).toUpperCase()}${name.slice(1)}Ops`;

/** Requests to NameNodes by method, and how often several were sent at once. */
export const clientActivityBean: Bean = metricsBean(
  'RouterClientActivity',
  { ProcessName: 'Router', SessionId: null, Context: 'dfs' },
  ({ methods }) => {
    const counts: Record<string, number> = { OtherOps: 0, ConcurrentOtherOps: 0 };
    for (const name of COUNTED) counts[attributeOf(name)] = 0;
    for (const name of CONCURRENT) counts[`Concurrent${attributeOf(name)}`] = 0;
    const add = (attribute: string, count: number): void => {
      counts[attribute] = (counts[attribute] ?? 0) + count;
    };
    for (const { index, name, protocol } of METHODS) {
      const java = protocol === 0 ? javaNameOf(name) : name;
      add(COUNTED.has(java) ? attributeOf(java) : 'OtherOps', methods.requests[index] as number);
      const concurrent = java === 'removeXAttrs' ? 'removeXAttr' : java;
      const isOwn = CONCURRENT.has(concurrent);
      add(`Concurrent${isOwn ? attributeOf(concurrent) : 'OtherOps'}`, methods.fanOuts[index] as number);
    }
    const sorted: Record<string, Value> = {};
    for (const attribute of Object.keys(counts).sort()) sorted[attribute] = counts[attribute] as number;
    return sorted;
  },
);
