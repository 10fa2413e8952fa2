/**
 * The operations that a simulated NameNode answers, by protocol and method. Message types, retry class and coordination come from the
 * method table of the client port (call/methods.ts); HAServiceProtocol, which only NameNodes serve, from its service description.
 */

import { METHODS, PROTOCOLS } from '../call/methods.ts';
import type { RpcMethod } from '../control/rpc-server/call.ts';
import { messageType, serviceType } from '../wire/messages.ts';
import {
  getAclStatus,
  modifyAclEntries,
  removeAcl,
  removeAclEntries,
  removeDefaultAcl,
  setAcl,
} from './acl-operations.ts';
import {
  finalizeUpgrade,
  getMostRecentCheckpointTxId,
  isRollingUpgrade,
  isUpgradeFinalized,
  metaSave,
  refreshNodes,
  restoreFailedStorage,
  rollingUpgrade,
  saveNamespace,
  setBalancerBandwidth,
} from './administration-operations.ts';
import {
  checkAccess,
  getLinkTarget,
  getStoragePolicy,
  satisfyStoragePolicy,
  setOwner,
  setPermission,
  setReplication,
  setStoragePolicy,
  setTimes,
  unsetStoragePolicy,
} from './attribute-operations.ts';
import {
  abandonBlock,
  addBlock,
  getAdditionalDatanode,
  listCorruptFileBlocks,
  reportBadBlocks,
  updateBlockForPipeline,
  updatePipeline,
} from './block-operations.ts';
import {
  addCacheDirective,
  addCachePool,
  listCacheDirectives,
  listCachePools,
  modifyCacheDirective,
  modifyCachePool,
  removeCacheDirective,
  removeCachePool,
} from './cache-operations.ts';
import {
  getBlockKeys,
  getBlocks,
  getDatanodeReport,
  getDatanodeStorageReport,
  getFsECBlockGroupStats,
  getFsReplicatedBlockStats,
  getFsStats,
  getSlowDatanodeReport,
} from './datanode-operations.ts';
import { deletePath, mkdirs } from './directory-operations.ts';
import {
  createEncryptionZone,
  getEnclosingRoot,
  getEZForPath,
  listEncryptionZones,
  listReencryptionStatus,
  reencryptEncryptionZone,
} from './encryption-operations.ts';
import {
  addErasureCodingPolicies,
  disableErasureCodingPolicy,
  enableErasureCodingPolicy,
  getECTopologyResult,
  getErasureCodingCodecs,
  getErasureCodingPolicies,
  getErasureCodingPolicy,
  removeErasureCodingPolicy,
  setErasureCodingPolicy,
  unsetErasureCodingPolicy,
} from './erasure-coding-operations.ts';
import {
  append,
  complete,
  concat,
  create,
  fsync,
  getBlockLocations,
  getPreferredBlockSize,
  isFileClosed,
  recoverLease,
  renewLease,
  truncate,
} from './file-operations.ts';
import { getBatchedListing, getFileInfo, getListing, getLocatedFileInfo, listOpenFiles } from './listing-operations.ts';
import type { Category, Operation } from './operation.ts';
import { getContentSummary, getQuotaUsage, setQuota } from './quota-operations.ts';
import { rename, rename2 } from './rename-operations.ts';
import {
  always,
  getCurrentEditLogTxid,
  getGroupsForUser,
  getHAServiceState,
  getServerDefaults,
  getServiceStatus,
  getStoragePolicies,
  getTransactionId,
  protocolVersions,
  rollEdits,
  setSafeMode,
  transitionTo,
  unsupported,
  versionRequest,
} from './service-operations.ts';
import {
  allowSnapshot,
  createSnapshot,
  deleteSnapshot,
  disallowSnapshot,
  getSnapshotDiffReport,
  getSnapshotDiffReportListing,
  getSnapshotListing,
  getSnapshottableDirListing,
  renameSnapshot,
} from './snapshot-operations.ts';
import { getXAttrs, listXAttrs, removeXAttr, setXAttr } from './xattr-operations.ts';

export const CLIENT_PROTOCOL = 'org.apache.hadoop.hdfs.protocol.ClientProtocol';
export const HA_PROTOCOL = 'org.apache.hadoop.ha.HAServiceProtocol';
/** A method as the server needs it. */
export interface ServedMethod extends Operation, RpcMethod {
  /** Observers and standbys make it wait until they have caught up with the caller's state id. */
  readonly coordinated: boolean;
  /** Executed once for one client id and call id: the retry cache keeps its answer. */
  readonly atMostOnce: boolean;
}

type Run = Operation['run'];
type Table = Readonly<Record<string, readonly [Category, Run]>>;

const NOTHING = always({});
const SYMLINKS = unsupported('Symlinks not supported');

const CLIENT_OPERATIONS: Table = {
  // the namespace
  mkdirs: ['WRITE', mkdirs],
  delete: ['WRITE', deletePath],
  rename: ['WRITE', rename],
  rename2: ['WRITE', rename2],
  getFileInfo: ['READ', getFileInfo],
  getFileLinkInfo: ['READ', getFileInfo],
  getLocatedFileInfo: ['READ', getLocatedFileInfo],
  getListing: ['READ', getListing],
  getBatchedListing: ['READ', getBatchedListing],
  getContentSummary: ['READ', getContentSummary],
  getQuotaUsage: ['READ', getQuotaUsage],
  setQuota: ['WRITE', setQuota],
  createSymlink: ['WRITE', SYMLINKS],
  getLinkTarget: ['READ', getLinkTarget],

  // files
  create: ['WRITE', create],
  append: ['WRITE', append],
  complete: ['WRITE', complete],
  fsync: ['WRITE', fsync],
  addBlock: ['WRITE', addBlock],
  abandonBlock: ['WRITE', abandonBlock],
  getAdditionalDatanode: ['WRITE', getAdditionalDatanode],
  updateBlockForPipeline: ['WRITE', updateBlockForPipeline],
  updatePipeline: ['WRITE', updatePipeline],
  reportBadBlocks: ['WRITE', reportBadBlocks],
  recoverLease: ['WRITE', recoverLease],
  renewLease: ['WRITE', renewLease],
  truncate: ['WRITE', truncate],
  concat: ['WRITE', concat],
  getBlockLocations: ['READ', getBlockLocations],
  isFileClosed: ['READ', isFileClosed],
  getPreferredBlockSize: ['READ', getPreferredBlockSize],
  listOpenFiles: ['READ', listOpenFiles],
  listCorruptFileBlocks: ['READ', listCorruptFileBlocks],

  // attributes
  setPermission: ['WRITE', setPermission],
  setOwner: ['WRITE', setOwner],
  setTimes: ['WRITE', setTimes],
  setReplication: ['WRITE', setReplication],
  checkAccess: ['READ', checkAccess],
  modifyAclEntries: ['WRITE', modifyAclEntries],
  removeAclEntries: ['WRITE', removeAclEntries],
  removeDefaultAcl: ['WRITE', removeDefaultAcl],
  removeAcl: ['WRITE', removeAcl],
  setAcl: ['WRITE', setAcl],
  getAclStatus: ['READ', getAclStatus],
  setStoragePolicy: ['WRITE', setStoragePolicy],
  unsetStoragePolicy: ['WRITE', unsetStoragePolicy],
  getStoragePolicy: ['READ', getStoragePolicy],
  getStoragePolicies: ['READ', getStoragePolicies],
  satisfyStoragePolicy: ['WRITE', satisfyStoragePolicy],
  setXAttr: ['WRITE', setXAttr],
  removeXAttr: ['WRITE', removeXAttr],
  getXAttrs: ['READ', getXAttrs],
  listXAttrs: ['READ', listXAttrs],

  // erasure coding, encryption, snapshots, caches
  getErasureCodingPolicy: ['READ', getErasureCodingPolicy],
  setErasureCodingPolicy: ['WRITE', setErasureCodingPolicy],
  unsetErasureCodingPolicy: ['WRITE', unsetErasureCodingPolicy],
  getErasureCodingPolicies: ['READ', getErasureCodingPolicies],
  addErasureCodingPolicies: ['WRITE', addErasureCodingPolicies],
  removeErasureCodingPolicy: ['WRITE', removeErasureCodingPolicy],
  enableErasureCodingPolicy: ['WRITE', enableErasureCodingPolicy],
  disableErasureCodingPolicy: ['WRITE', disableErasureCodingPolicy],
  getErasureCodingCodecs: ['READ', getErasureCodingCodecs],
  getECTopologyResultForPolicies: ['UNCHECKED', getECTopologyResult],
  createEncryptionZone: ['WRITE', createEncryptionZone],
  getEZForPath: ['READ', getEZForPath],
  getEnclosingRoot: ['READ', getEnclosingRoot],
  listEncryptionZones: ['READ', listEncryptionZones],
  reencryptEncryptionZone: ['WRITE', reencryptEncryptionZone],
  listReencryptionStatus: ['READ', listReencryptionStatus],
  allowSnapshot: ['WRITE', allowSnapshot],
  disallowSnapshot: ['WRITE', disallowSnapshot],
  createSnapshot: ['WRITE', createSnapshot],
  deleteSnapshot: ['WRITE', deleteSnapshot],
  renameSnapshot: ['WRITE', renameSnapshot],
  getSnapshottableDirListing: ['READ', getSnapshottableDirListing],
  getSnapshotListing: ['READ', getSnapshotListing],
  getSnapshotDiffReport: ['READ', getSnapshotDiffReport],
  getSnapshotDiffReportListing: ['READ', getSnapshotDiffReportListing],
  addCachePool: ['WRITE', addCachePool],
  modifyCachePool: ['WRITE', modifyCachePool],
  removeCachePool: ['WRITE', removeCachePool],
  listCachePools: ['READ', listCachePools],
  addCacheDirective: ['WRITE', addCacheDirective],
  modifyCacheDirective: ['WRITE', modifyCacheDirective],
  removeCacheDirective: ['WRITE', removeCacheDirective],
  listCacheDirectives: ['READ', listCacheDirectives],

  // the NameNode
  getServerDefaults: ['READ', getServerDefaults],
  getFsStats: ['READ', getFsStats],
  getFsReplicatedBlockStats: ['READ', getFsReplicatedBlockStats],
  getFsECBlockGroupStats: ['READ', getFsECBlockGroupStats],
  getDatanodeReport: ['UNCHECKED', getDatanodeReport],
  getDatanodeStorageReport: ['UNCHECKED', getDatanodeStorageReport],
  getSlowDatanodeReport: ['UNCHECKED', getSlowDatanodeReport],
  setSafeMode: ['UNCHECKED', setSafeMode],
  saveNamespace: ['UNCHECKED', saveNamespace],
  rollEdits: ['JOURNAL', rollEdits],
  restoreFailedStorage: ['UNCHECKED', restoreFailedStorage],
  refreshNodes: ['UNCHECKED', refreshNodes],
  finalizeUpgrade: ['UNCHECKED', finalizeUpgrade],
  upgradeStatus: ['UNCHECKED', always({ upgradeFinalized: true })],
  rollingUpgrade: ['READ', rollingUpgrade],
  metaSave: ['READ', metaSave],
  setBalancerBandwidth: ['WRITE', setBalancerBandwidth],
  getCurrentEditLogTxid: ['READ', getCurrentEditLogTxid],
  getHAServiceState: ['UNCHECKED', getHAServiceState],
  msync: ['WRITE', NOTHING],
  // without Kerberos there are no tokens
  getDelegationToken: ['WRITE', NOTHING],
  getDataEncryptionKey: ['UNCHECKED', NOTHING],
};

const NAMENODE_OPERATIONS: Table = {
  versionRequest: ['UNCHECKED', versionRequest],
  getTransactionId: ['UNCHECKED', getTransactionId],
  getMostRecentCheckpointTxId: ['UNCHECKED', getMostRecentCheckpointTxId],
  getBlocks: ['READ', getBlocks],
  getBlockKeys: ['UNCHECKED', getBlockKeys],
  isUpgradeFinalized: ['UNCHECKED', isUpgradeFinalized],
  isRollingUpgrade: ['UNCHECKED', isRollingUpgrade],
};

// Groups and proxy users are looked up for every call, so there is nothing to read again; any user may ask for it.
const USER_OPERATIONS: Table = {
  refreshUserToGroupsMappings: ['UNCHECKED', NOTHING],
  refreshSuperUserGroupsConfiguration: ['UNCHECKED', NOTHING],
  getGroupsForUser: ['UNCHECKED', getGroupsForUser],
};

const META_OPERATIONS: Table = {
  getProtocolVersions: ['UNCHECKED', protocolVersions((name) => SERVED.has(name))],
};

const HA_OPERATIONS: Table = {
  monitorHealth: ['UNCHECKED', NOTHING],
  getServiceStatus: ['UNCHECKED', getServiceStatus],
  transitionToActive: ['UNCHECKED', transitionTo('active')],
  transitionToStandby: ['UNCHECKED', transitionTo('standby')],
  transitionToObserver: ['UNCHECKED', transitionTo('observer')],
};

const TABLES: Readonly<Record<string, Table>> = {
  ClientProtocol: CLIENT_OPERATIONS,
  NamenodeProtocol: NAMENODE_OPERATIONS,
  RefreshUserMappingsProtocol: USER_OPERATIONS,
  GetUserMappingsProtocol: USER_OPERATIONS,
  ProtocolMetaInfoPB: META_OPERATIONS,
};

const SERVED: ReadonlyMap<string, ReadonlyMap<string, ServedMethod>> = buildServed();

/** Methods of a protocol by name; undefined for a protocol that NameNodes do not serve. */
export function methodsOf(protocol: string): ReadonlyMap<string, ServedMethod> | undefined {
  return SERVED.get(protocol);
}

function buildServed(): Map<string, Map<string, ServedMethod>> {
  const served = new Map<string, Map<string, ServedMethod>>();
  for (const { name } of PROTOCOLS) {
    served.set(name, new Map());
  }
  for (const method of METHODS) {
    const protocol = PROTOCOLS[method.protocol];
    if (protocol === undefined) {
      continue;
    }
    const [category, run] = TABLES[protocol.simpleName]?.[method.name] ?? notSimulated(method.name, method.effect);
    served.get(protocol.name)?.set(method.name, {
      protocol: protocol.name,
      name: method.name,
      category,
      run,
      coordinated: method.coordinated,
      atMostOnce: method.retry === 'AtMostOnce',
      request: messageType(method.request),
      response: messageType(method.response),
    });
  }
  served.set(HA_PROTOCOL, new Map(Object.entries(HA_OPERATIONS).map(([name, entry]) => [name, haMethod(name, entry)])));
  return served;
}

function haMethod(name: string, [category, run]: readonly [Category, Run]): ServedMethod {
  const method = serviceType('hadoop.common.HAServiceProtocolService').methods[name];
  if (method === undefined) {
    throw new Error(`HAServiceProtocolService has no method ${name}`);
  }
  return {
    protocol: HA_PROTOCOL,
    name,
    category,
    run,
    coordinated: false,
    atMostOnce: false,
    request: messageType(`hadoop.common.${method.requestType}`),
    response: messageType(`hadoop.common.${method.responseType}`),
  };
}

/** Methods of real NameNodes that the simulator has no use for say so. */
function notSimulated(name: string, effect: 'read' | 'write'): readonly [Category, Run] {
  return [effect === 'read' ? 'READ' : 'WRITE', unsupported(`Operation "${name}" is not simulated`)];
}
