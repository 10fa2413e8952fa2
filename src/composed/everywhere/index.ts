import type { StrategyHandler } from '../../call/strategies/index.ts';
import type { Handlers } from '../handlers.ts';
import { answerBlocks } from './blocks.ts';
import { answerDataNodeReport, answerStorageReport, forgetReports } from './datanode-reports.ts';
import { answerEncryptionKey } from './encryption-key.ts';
import { everywhere, type Rule } from './fan-out.ts';
import { answerFsStats } from './fs-stats.ts';
import { addUp, allTrue, anyTrue, largest, leastAdvancedUpgrade, strictestTopology, union } from './merges.ts';
import { answerMsync } from './msync.ts';
import { answerSafeMode } from './safe-mode.ts';

/**
 * Calls whose answer is one merge of the answers of all nameservices. What changes the configuration of NameNodes goes to each of them, so that
 * a standby does not bring the old one back when it becomes active.
 */
const RULES: Readonly<Record<string, Rule>> = {
  'ClientProtocol.getFsReplicatedBlockStats': { asks: 'nameservice', needs: 'all', merge: addUp },
  'ClientProtocol.getFsECBlockGroupStats': { asks: 'nameservice', needs: 'all', merge: addUp },
  'ClientProtocol.getECTopologyResultForPolicies': { asks: 'nameservice', needs: 'all', merge: strictestTopology },
  'ClientProtocol.getCurrentEditLogTxid': { asks: 'nameservice', needs: 'all', merge: largest('txid') },
  'ClientProtocol.saveNamespace': { asks: 'nameservice', needs: 'all', merge: allTrue('saved') },
  'ClientProtocol.restoreFailedStorage': { asks: 'nameservice', needs: 'all', merge: allTrue('result') },
  'ClientProtocol.rollEdits': { asks: 'nameservice', needs: 'all', merge: largest('newSegmentTxId') },
  'ClientProtocol.finalizeUpgrade': { asks: 'nameservice', needs: 'all', merge: null },
  'ClientProtocol.upgradeStatus': { asks: 'nameservice', needs: 'all', merge: allTrue('upgradeFinalized') },
  'ClientProtocol.rollingUpgrade': { asks: 'nameservice', needs: 'all', merge: leastAdvancedUpgrade },
  'ClientProtocol.metaSave': { asks: 'nameservice', needs: 'all', merge: null },
  'ClientProtocol.setBalancerBandwidth': { asks: 'nameservice', needs: 'all', merge: null },
  'NamenodeProtocol.isUpgradeFinalized': { asks: 'nameservice', needs: 'all', merge: allTrue('isUpgradeFinalized') },
  'NamenodeProtocol.isRollingUpgrade': { asks: 'nameservice', needs: 'all', merge: anyTrue('isRollingUpgrade') },
  'RefreshUserMappingsProtocol.refreshUserToGroupsMappings': { asks: 'namenode', needs: 'all', merge: null },
  'RefreshUserMappingsProtocol.refreshSuperUserGroupsConfiguration': { asks: 'namenode', needs: 'all', merge: null },
  'GetUserMappingsProtocol.getGroupsForUser': { asks: 'nameservice', needs: 'one', merge: union('groups') },
};

const refreshNodes = everywhere({ asks: 'namenode', needs: 'all', merge: null });

const answerRefreshNodes: StrategyHandler = (engine, call) => {
  forgetReports(engine);
  refreshNodes(engine, call);
};

export const EVERYWHERE_HANDLERS: Handlers = {
  ...Object.fromEntries(Object.entries(RULES).map(([name, rule]) => [name, everywhere(rule)])),
  'ClientProtocol.refreshNodes': answerRefreshNodes,
  'ClientProtocol.getFsStats': answerFsStats,
  'ClientProtocol.getDatanodeReport': answerDataNodeReport,
  'ClientProtocol.getSlowDatanodeReport': answerDataNodeReport,
  'ClientProtocol.getDatanodeStorageReport': answerStorageReport,
  'ClientProtocol.setSafeMode': answerSafeMode,
  'ClientProtocol.msync': answerMsync,
  'ClientProtocol.getDataEncryptionKey': answerEncryptionKey,
  'NamenodeProtocol.getBlocks': answerBlocks,
};
