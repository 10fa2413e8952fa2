/**
 * The table of RPC methods of the client port. Everything that treats methods differently derives from it: the scan of calls, the
 * strategies, metrics, the manual's page on method coverage (scripts/make-coverage.ts), the load tool.
 *
 * Wire names and numbers are those of proto/; what the Java Router does with a method (category, retry class, mount check) is what the
 * annotations and sources of Hadoop 3.4 say.
 */
import type { Method, Protocol, Strategy } from './method.ts';

export const PROTOCOLS: readonly Protocol[] = [
  {
    name: 'org.apache.hadoop.hdfs.protocol.ClientProtocol',
    version: 1,
    simpleName: 'ClientProtocol',
    service: 'hadoop.hdfs.ClientNamenodeProtocol',
  },
  {
    name: 'org.apache.hadoop.hdfs.server.protocol.NamenodeProtocol',
    version: 1,
    simpleName: 'NamenodeProtocol',
    service: 'hadoop.hdfs.namenode.NamenodeProtocolService',
  },
  {
    name: 'org.apache.hadoop.security.RefreshUserMappingsProtocol',
    version: 1,
    simpleName: 'RefreshUserMappingsProtocol',
    service: 'hadoop.common.RefreshUserMappingsProtocolService',
  },
  {
    name: 'org.apache.hadoop.tools.GetUserMappingsProtocol',
    version: 1,
    simpleName: 'GetUserMappingsProtocol',
    service: 'hadoop.common.GetUserMappingsProtocolService',
  },
  {
    name: 'org.apache.hadoop.ipc.ProtocolMetaInfoPB',
    version: 1,
    simpleName: 'ProtocolMetaInfoPB',
    service: 'hadoop.common.ProtocolInfoService',
  },
];

/**
 * Effect, category and retry class in one word.
 *
 * - aligned: read that an observer answers once it has caught up with the caller's state id (@ReadOnly(isCoordinated))
 * - observed: read that an observer answers as it stands (@ReadOnly)
 * - active: read that only the active NameNode answers (@ReadOnly(activeOnly))
 * - read: read without the annotation
 * - write: may be sent again at any time (@Idempotent)
 * - once: may be sent again where the retry cache recognises it (@AtMostOnce)
 */
type Kind = 'aligned' | 'observed' | 'active' | 'read' | 'write' | 'once';

/** What a row may say beyond name, kind and strategy; the names are those of Method, shortened where every other row uses them. */
interface More {
  path?: number;
  path2?: number;
  deep?: readonly string[];
  pool?: string;
  reply?: readonly string[];
  namespaceIn?: string;
  mountCheck?: boolean;
  mountCheck2?: boolean;
  quotaCheck?: boolean;
  several?: Method['several'];
  match?: Method['match'];
  category?: Method['category'];
  retry?: Method['retry'];
  request?: string;
  response?: string;
  because?: string;
  cost?: Method['cost'];
  note?: string;
}

interface Row {
  readonly name: string;
  readonly kind: Kind;
  readonly strategy: Strategy;
  readonly more: More;
}

const NONE: readonly string[] = [];
const NOTHING: More = {};

function row(name: string, kind: Kind, strategy: Strategy, more: More = NOTHING): Row {
  return { name, kind, strategy, more };
}

const IDS_NOTE = 'ids towards clients name their nameservice';
const SHOWN_NOTE = 'what no mount point shows is left out';
const TOKEN_NOTE = 'without Kerberos the answer holds no token';

const CLIENT_PROTOCOL: readonly Row[] = [
  // Files: blocks and leases
  row('getBlockLocations', 'aligned', 'one-path', { path: 1, match: 'present' }),
  row('create', 'once', 'one-path', { path: 1, mountCheck: true, quotaCheck: true, namespaceIn: 'fs' }),
  row('append', 'once', 'one-path', {
    path: 1,
    mountCheck: true,
    quotaCheck: true,
    namespaceIn: 'stat',
    match: 'present',
  }),
  row('abandonBlock', 'write', 'one-path', { path: 2, pool: 'b.poolId', quotaCheck: true }),
  row('addBlock', 'write', 'one-path', { path: 1, pool: 'previous.poolId', mountCheck: true, quotaCheck: true }),
  row('getAdditionalDatanode', 'read', 'one-path', { path: 1, pool: 'blk.poolId' }),
  row('complete', 'write', 'one-path', { path: 1, pool: 'last.poolId', mountCheck: true, quotaCheck: true }),
  row('fsync', 'write', 'one-path', { path: 1, mountCheck: true }),
  row('recoverLease', 'write', 'one-path', { path: 1, mountCheck: true }),
  row('isFileClosed', 'aligned', 'one-path', { cost: 'cheap', path: 1 }),
  row('truncate', 'write', 'one-path', { path: 1, mountCheck: true, quotaCheck: true }),
  row('updateBlockForPipeline', 'write', 'block-pool', { pool: 'block.poolId' }),
  row('updatePipeline', 'once', 'block-pool', { pool: 'oldBlock.poolId' }),
  row('reportBadBlocks', 'write', 'block-pool', { pool: 'blocks.b.poolId' }),
  row('renewLease', 'write', 'named-nameservices', {
    note: 'nameservices that the client names; all enabled ones when it names none or one that is unknown',
  }),

  // The namespace
  row('rename', 'once', 'two-paths', { path: 1, path2: 2, mountCheck: true }),
  row('rename2', 'once', 'two-paths', { path: 1, path2: 2, mountCheck: true }),
  row('concat', 'once', 'two-paths', { path: 1, deep: ['srcs'], mountCheck: true }),
  row('createSymlink', 'once', 'two-paths', {
    path: 1,
    path2: 2,
    mountCheck: true,
    mountCheck2: true,
    quotaCheck: true,
    note: 'NameNodes refuse symbolic links unless they are switched on',
  }),
  row('delete', 'once', 'one-path', { path: 1, mountCheck: true, match: 'true' }),
  row('mkdirs', 'write', 'one-path', { path: 1, quotaCheck: true }),
  row('getListing', 'aligned', 'mount-view', { path: 1 }),
  row('getBatchedListing', 'aligned', 'mount-view', {
    cost: 'heavy',
    deep: ['paths'],
    category: 'none',
    note: 'the Java Router does not serve it',
  }),
  row('getFileInfo', 'aligned', 'mount-view', { cost: 'cheap', path: 1 }),
  row('getLocatedFileInfo', 'aligned', 'mount-view', { path: 1 }),
  row('getFileLinkInfo', 'aligned', 'mount-view', { cost: 'cheap', path: 1 }),
  row('getLinkTarget', 'aligned', 'one-path', { path: 1, match: 'present' }),
  row('getContentSummary', 'aligned', 'one-path', {
    cost: 'heavy',
    path: 1,
    note: 'with mount points below the path, of all nameservices there; every file once',
  }),
  row('getPreferredBlockSize', 'aligned', 'one-path', { cost: 'cheap', path: 1 }),
  row('getEnclosingRoot', 'aligned', 'one-path', {
    path: 1,
    reply: ['enclosingRootPath'],
    note: 'a root above the mount point is answered as the mount point',
  }),
  row('listCorruptFileBlocks', 'aligned', 'one-path', {
    cost: 'heavy',
    path: 1,
    match: 'present',
    note: `with mount points below the path, of all nameservices there; ${SHOWN_NOTE}`,
  }),
  row('listOpenFiles', 'aligned', 'one-path', {
    cost: 'heavy',
    path: 3,
    note: `of all nameservices at and below the path; ${IDS_NOTE}; ${SHOWN_NOTE}`,
  }),

  // Attributes
  row('setReplication', 'write', 'one-path', {
    path: 1,
    mountCheck: true,
    quotaCheck: true,
    several: 'every',
    match: 'true',
  }),
  row('setPermission', 'write', 'one-path', { path: 1, several: 'every' }),
  row('setOwner', 'write', 'one-path', { path: 1, several: 'every' }),
  row('setTimes', 'write', 'one-path', { path: 1, several: 'every' }),
  row('checkAccess', 'aligned', 'one-path', { cost: 'cheap', path: 1 }),
  row('setStoragePolicy', 'write', 'one-path', { path: 1, several: 'every' }),
  row('unsetStoragePolicy', 'write', 'one-path', { path: 1, several: 'every' }),
  row('getStoragePolicy', 'aligned', 'one-path', { cost: 'cheap', path: 1 }),
  row('satisfyStoragePolicy', 'once', 'one-path', {
    path: 1,
    mountCheck: true,
    category: 'READ',
    several: 'every',
  }),
  row('setQuota', 'write', 'one-path', {
    path: 1,
    several: 'every',
    note: 'refused where mount points below the path lead elsewhere, and for mount points when quotas of the router are on',
  }),
  row('getQuotaUsage', 'active', 'one-path', {
    cost: 'heavy',
    path: 1,
    note: 'with mount points below the path, of all nameservices there',
  }),
  row('modifyAclEntries', 'write', 'one-path', { path: 1, several: 'every' }),
  row('removeAclEntries', 'write', 'one-path', { path: 1, several: 'every' }),
  row('removeDefaultAcl', 'write', 'one-path', { path: 1, several: 'every' }),
  row('removeAcl', 'write', 'one-path', { path: 1, several: 'every' }),
  row('setAcl', 'write', 'one-path', { path: 1, several: 'every' }),
  row('getAclStatus', 'aligned', 'one-path', { path: 1, match: 'present' }),
  row('setXAttr', 'once', 'one-path', { path: 1, several: 'every' }),
  row('getXAttrs', 'aligned', 'one-path', { path: 1 }),
  row('listXAttrs', 'aligned', 'one-path', { path: 1 }),
  row('removeXAttr', 'once', 'one-path', { path: 1, several: 'every' }),

  // Snapshots
  row('createSnapshot', 'once', 'one-path', { path: 1, mountCheck: true, reply: ['snapshotPath'], several: 'every' }),
  row('renameSnapshot', 'once', 'one-path', { path: 1, mountCheck: true, several: 'every' }),
  row('deleteSnapshot', 'once', 'one-path', { path: 1, mountCheck: true, several: 'every' }),
  row('allowSnapshot', 'write', 'one-path', { path: 1, mountCheck: true, several: 'every' }),
  row('disallowSnapshot', 'write', 'one-path', { path: 1, mountCheck: true, several: 'every' }),
  row('getSnapshottableDirListing', 'aligned', 'every-nameservice', { note: SHOWN_NOTE }),
  row('getSnapshotListing', 'aligned', 'one-path', {
    path: 1,
    mountCheck: true,
    reply: ['snapshotList.snapshotListing.parent_fullpath'],
    several: 'every',
    match: 'present',
  }),
  row('getSnapshotDiffReport', 'aligned', 'one-path', {
    cost: 'heavy',
    path: 1,
    mountCheck: true,
    reply: ['diffReport.snapshotRoot'],
    several: 'every',
  }),
  row('getSnapshotDiffReportListing', 'aligned', 'one-path', {
    cost: 'heavy',
    path: 1,
    mountCheck: true,
    several: 'every',
    note: 'where a directory is in several nameservices, clients are sent to getSnapshotDiffReport',
  }),

  // Caching
  row('addCacheDirective', 'once', 'one-path', {
    deep: ['info.path'],
    mountCheck: true,
    note: `in several locations: one directive in each; ${IDS_NOTE}`,
  }),
  row('modifyCacheDirective', 'once', 'one-path', {
    deep: ['info.path'],
    mountCheck: true,
    note: 'in the nameservice that the id names',
  }),
  row('removeCacheDirective', 'once', 'named-nameservices', { note: 'in the nameservice that the id names' }),
  row('listCacheDirectives', 'aligned', 'one-path', {
    deep: ['filter.path'],
    mountCheck: true,
    note: `without a path of all nameservices; ${IDS_NOTE}; ${SHOWN_NOTE}`,
  }),
  row('addCachePool', 'once', 'every-nameservice'),
  row('modifyCachePool', 'once', 'every-nameservice'),
  row('removeCachePool', 'once', 'every-nameservice'),
  row('listCachePools', 'aligned', 'every-nameservice', { note: 'each pool once' }),

  // Encryption and erasure coding
  row('createEncryptionZone', 'once', 'one-path', { path: 1, several: 'every' }),
  row('getEZForPath', 'aligned', 'one-path', { path: 1, reply: ['zone.path'], match: 'present' }),
  row('listEncryptionZones', 'aligned', 'every-nameservice', { note: `${IDS_NOTE}; ${SHOWN_NOTE}` }),
  row('reencryptEncryptionZone', 'once', 'one-path', {
    path: 2,
    several: 'every',
    note: 'the Java Router refuses it',
  }),
  row('listReencryptionStatus', 'aligned', 'every-nameservice', { cost: 'heavy', note: `${IDS_NOTE}; ${SHOWN_NOTE}` }),
  row('getDataEncryptionKey', 'aligned', 'refused', {
    because: 'the key is that of one block pool and the call does not say which',
    note: 'answered where there is one nameservice',
  }),
  row('setErasureCodingPolicy', 'once', 'one-path', { path: 1, several: 'every' }),
  row('unsetErasureCodingPolicy', 'once', 'one-path', { path: 1, several: 'every' }),
  row('getErasureCodingPolicy', 'aligned', 'one-path', { path: 1 }),
  row('getErasureCodingPolicies', 'aligned', 'every-nameservice', { note: 'equal ones once' }),
  row('getErasureCodingCodecs', 'aligned', 'every-nameservice'),
  row('getECTopologyResultForPolicies', 'observed', 'every-nameservice', { category: 'UNCHECKED' }),
  row('addErasureCodingPolicies', 'once', 'every-nameservice'),
  row('removeErasureCodingPolicy', 'once', 'every-nameservice'),
  row('enableErasureCodingPolicy', 'once', 'every-nameservice'),
  row('disableErasureCodingPolicy', 'once', 'every-nameservice'),

  // The cluster
  row('getServerDefaults', 'aligned', 'any-nameservice'),
  row('getStoragePolicies', 'aligned', 'any-nameservice'),
  row('getFsStats', 'observed', 'every-nameservice', {
    request: 'GetFsStatusRequestProto',
    category: 'UNCHECKED',
    note: 'a DataNode of several nameservices counts once',
  }),
  row('getFsReplicatedBlockStats', 'observed', 'every-nameservice'),
  row('getFsECBlockGroupStats', 'observed', 'every-nameservice'),
  row('getDatanodeReport', 'observed', 'every-nameservice', {
    cost: 'heavy',
    category: 'UNCHECKED',
    note: 'a DataNode of several nameservices once, from the newest report, racks below /NAMESERVICE',
  }),
  row('getDatanodeStorageReport', 'observed', 'every-nameservice', { cost: 'heavy', category: 'UNCHECKED' }),
  row('getSlowDatanodeReport', 'observed', 'every-nameservice', {
    cost: 'heavy',
    category: 'UNCHECKED',
    note: 'as getDatanodeReport',
  }),
  row('setSafeMode', 'write', 'every-nameservice', {
    note: 'unchecked (as dfsadmin sends it): every NameNode',
  }),
  row('saveNamespace', 'once', 'every-nameservice', { cost: 'heavy', category: 'UNCHECKED' }),
  row('rollEdits', 'write', 'every-nameservice'),
  row('restoreFailedStorage', 'write', 'every-nameservice', { category: 'UNCHECKED' }),
  row('refreshNodes', 'write', 'every-nameservice', {
    category: 'UNCHECKED',
    note: 'every NameNode',
  }),
  row('finalizeUpgrade', 'write', 'every-nameservice', { category: 'UNCHECKED' }),
  row('upgradeStatus', 'read', 'every-nameservice', {
    category: 'none',
    note: 'finalized when it is everywhere; the Java Router refuses it',
  }),
  row('rollingUpgrade', 'write', 'every-nameservice', {
    category: 'READ',
    note: 'answers with the upgrade that is least far',
  }),
  row('metaSave', 'write', 'every-nameservice', { cost: 'heavy', category: 'UNCHECKED' }),
  row('setBalancerBandwidth', 'write', 'every-nameservice', { category: 'UNCHECKED' }),
  row('getCurrentEditLogTxid', 'aligned', 'every-nameservice'),
  row('getEditsFromTxid', 'aligned', 'refused', { because: 'transaction ids are those of one nameservice' }),

  row('msync', 'active', 'every-nameservice', {
    note: 'asks the nameservices whose observers serve reads; without any it is a success at once',
  }),

  // The router itself
  row('getHAServiceState', 'observed', 'local', {
    request: 'HAServiceStateRequestProto',
    response: 'HAServiceStateResponseProto',
    category: 'none',
    note: 'ACTIVE, in safe mode STANDBY',
  }),
  row('getDelegationToken', 'write', 'local', {
    request: 'hadoop.common.GetDelegationTokenRequestProto',
    response: 'hadoop.common.GetDelegationTokenResponseProto',
    note: TOKEN_NOTE,
  }),
  row('renewDelegationToken', 'write', 'local', {
    request: 'hadoop.common.RenewDelegationTokenRequestProto',
    response: 'hadoop.common.RenewDelegationTokenResponseProto',
  }),
  row('cancelDelegationToken', 'write', 'local', {
    request: 'hadoop.common.CancelDelegationTokenRequestProto',
    response: 'hadoop.common.CancelDelegationTokenResponseProto',
  }),
];

const CHECKPOINT = 'checkpoints and edit logs are those of one NameNode: ask it directly';
const UPGRADE_NOTE = 'finalized when it is everywhere, rolling when it is anywhere; the Java Router refuses it';

const NAMENODE_PROTOCOL: readonly Row[] = [
  row('getBlocks', 'observed', 'every-nameservice', {
    cost: 'heavy',
    note: 'by the nameservice that knows the DataNode',
  }),
  row('getBlockKeys', 'read', 'any-nameservice'),
  row('getTransactionId', 'read', 'any-nameservice'),
  row('getMostRecentCheckpointTxId', 'read', 'any-nameservice'),
  row('versionRequest', 'read', 'any-nameservice', {
    request: 'hadoop.hdfs.VersionRequestProto',
    response: 'hadoop.hdfs.VersionResponseProto',
  }),
  row('rollEditLog', 'write', 'refused', { because: CHECKPOINT }),
  row('errorReport', 'write', 'refused', { because: CHECKPOINT, category: 'UNCHECKED' }),
  row('registerSubordinateNamenode', 'write', 'refused', {
    request: 'RegisterRequestProto',
    response: 'RegisterResponseProto',
    because: CHECKPOINT,
  }),
  row('startCheckpoint', 'once', 'refused', { because: CHECKPOINT }),
  row('endCheckpoint', 'once', 'refused', { because: CHECKPOINT }),
  row('getEditLogManifest', 'read', 'refused', { because: CHECKPOINT }),
  row('isUpgradeFinalized', 'read', 'every-nameservice', { note: UPGRADE_NOTE }),
  row('isRollingUpgrade', 'read', 'every-nameservice', { note: UPGRADE_NOTE }),
  row('getNextSPSPath', 'read', 'refused', {
    because: 'a storage policy satisfier works for one nameservice: it asks its NameNode directly',
    retry: 'AtMostOnce',
  }),
];

const REFRESH_USER_MAPPINGS_PROTOCOL: readonly Row[] = [
  row('refreshUserToGroupsMappings', 'write', 'every-nameservice', {
    category: 'UNCHECKED',
    note: 'every NameNode',
  }),
  row('refreshSuperUserGroupsConfiguration', 'write', 'every-nameservice', {
    category: 'UNCHECKED',
    note: 'every NameNode',
  }),
];

const GET_USER_MAPPINGS_PROTOCOL: readonly Row[] = [
  row('getGroupsForUser', 'read', 'every-nameservice', { category: 'UNCHECKED' }),
];

const PROTOCOL_META_INFO: readonly Row[] = [
  row('getProtocolVersions', 'read', 'local', { category: 'none', retry: 'none' }),
  row('getProtocolSignature', 'read', 'local', { category: 'none', retry: 'none' }),
];

/** Rows of each protocol, in the order of PROTOCOLS. */
const ROWS: readonly (readonly Row[])[] = [
  CLIENT_PROTOCOL,
  NAMENODE_PROTOCOL,
  REFRESH_USER_MAPPINGS_PROTOCOL,
  GET_USER_MAPPINGS_PROTOCOL,
  PROTOCOL_META_INFO,
];

/** All methods of the client port. Their indexes are the method numbers of hand-over records and counters. */
export const METHODS: readonly Method[] = buildMethods();

const INDEXES: readonly ReadonlyMap<string, number>[] = PROTOCOLS.map(indexNames);

/** Index into METHODS of a method by its name on the wire, -1 when the protocol has none of that name. */
export function methodIndex(protocolIndex: number, name: string): number {
  return INDEXES[protocolIndex]?.get(name) ?? -1;
}

/** Index into PROTOCOLS of a protocol by its name on the wire, -1 when the client port does not serve it. */
export function protocolIndex(name: string): number {
  return PROTOCOLS.findIndex((protocol) => protocol.name === name);
}

function buildMethods(): Method[] {
  const methods: Method[] = [];
  for (let protocol = 0; protocol < ROWS.length; protocol++) {
    for (const each of ROWS[protocol]!) {
      methods.push(buildMethod(methods.length, protocol, each));
    }
  }
  return methods;
}

/** The messages are named after the method, in the package of the protocol's service, unless the row says otherwise. */
function buildMethod(index: number, protocol: number, { name, kind, strategy, more }: Row): Method {
  const { service } = PROTOCOLS[protocol]!;
  const inPackage = service.slice(0, service.lastIndexOf('.') + 1);
  const stem = name.charAt(0).toUpperCase() + name.slice(1);
  const request = more.request ?? `${stem}RequestProto`;
  const response = more.response ?? `${stem}ResponseProto`;
  const isWrite = kind === 'write' || kind === 'once';
  return {
    index,
    protocol,
    name,
    request: request.includes('.') ? request : inPackage + request,
    response: response.includes('.') ? response : inPackage + response,
    pathField: more.path ?? 0,
    path2Field: more.path2 ?? 0,
    deepPaths: more.deep ?? NONE,
    effect: isWrite ? 'write' : 'read',
    category: more.category ?? (isWrite ? 'WRITE' : 'READ'),
    coordinated: kind === 'aligned',
    activeOnly: kind === 'active',
    observerReadable: kind === 'aligned' || kind === 'observed',
    retry: more.retry ?? (kind === 'once' ? 'AtMostOnce' : 'Idempotent'),
    mountCheck: more.mountCheck ?? false,
    mountCheck2: more.mountCheck2 ?? false,
    quotaCheck: more.quotaCheck ?? false,
    several: more.several ?? 'first',
    match: more.match ?? 'any',
    strategy,
    blockPool: more.pool ?? '',
    replyPaths: more.reply ?? NONE,
    namespaceIn: more.namespaceIn ?? '',
    refusedBecause: more.because ?? '',
    cost: more.cost ?? 'usual',
    note: more.note ?? '',
  };
}

function indexNames(_protocol: Protocol, index: number): Map<string, number> {
  const names = new Map<string, number>();
  for (const method of METHODS) {
    if (method.protocol === index) {
      names.set(method.name, method.index);
    }
  }
  return names;
}
