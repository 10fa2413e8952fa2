/** What administrators do with a NameNode. */

import { integerOf, numberOf, textOf } from '../control/rpc-server/fields.ts';
import { ioException, JAVA, RemoteException } from '../control/rpc-server/remote-exception.ts';
import type { Plain } from '../wire/messages.ts';
import type { RollingUpgrade } from './namespace.ts';
import type { Site } from './operation.ts';
import { checkSuperuser } from './permission-check.ts';

const MAX_BANDWIDTH_BYTES = 1_099_511_627_776;

/** False when the image is recent enough for the caller. */
export function saveNamespace(site: Site, request: Plain): Plain {
  checkSuperuser(site.caller, 'saveNamespace');
  const { namenode, namespace } = site;
  if (!namenode.safeMode) {
    throw ioException('Safe mode should be turned ON in order to create namespace image.');
  }
  const { administration } = namenode;
  const windowMs = numberOf(request, 'timeWindow') * 1000;
  const gap = numberOf(request, 'txGap');
  const ageMs = namespace.nowMs - administration.checkpointMs;
  if ((windowMs > 0 || gap > 0) && ageMs <= windowMs && administration.checkpointTxId >= namespace.txid - gap) {
    return { saved: false };
  }
  administration.checkpointTxId = namespace.txid;
  administration.checkpointMs = namespace.nowMs;
  return { saved: true };
}

export function getMostRecentCheckpointTxId(site: Site): Plain {
  checkSuperuser(site.caller, 'getMostRecentCheckpointTxId');
  return { txId: site.namenode.administration.checkpointTxId };
}

/** `true` and `false` switch it, `check` asks. */
export function restoreFailedStorage(site: Site, request: Plain): Plain {
  const arg = textOf(request, 'arg');
  const command = arg === 'check' ? 'check' : arg === 'true' ? 'enable' : 'disable';
  checkSuperuser(site.caller, `${command}RestoreFailedStorage`);
  const { administration } = site.namenode;
  administration.restoresStorage = arg === 'check' ? administration.restoresStorage : arg === 'true';
  return { result: administration.restoresStorage };
}

/** For the superuser; a NameNode without configuration files and old layouts has nothing to do then. */
function forSuperuser(operation: string): (site: Site) => Plain {
  return (site) => {
    checkSuperuser(site.caller, operation);
    return {};
  };
}

export const refreshNodes = forSuperuser('refreshNodes');
export const finalizeUpgrade = forSuperuser('finalizeUpgrade');
export const metaSave = forSuperuser('metaSave');

export function setBalancerBandwidth(site: Site, request: Plain): Plain {
  if (integerOf(request, 'bandwidth', 0) > MAX_BANDWIDTH_BYTES) {
    throw new RemoteException(
      JAVA.ILLEGAL_ARGUMENT,
      `Bandwidth should not exceed maximum limit ${MAX_BANDWIDTH_BYTES} bytes per second`,
    );
  }
  checkSuperuser(site.caller, 'setBalancerBandwidth');
  return {};
}

/** Queries, starts or finalizes; nothing at all when there is none to tell of. */
export function rollingUpgrade(site: Site, request: Plain): Plain {
  const action = textOf(request, 'action');
  const { namespace } = site;
  if (action === 'QUERY') {
    checkSuperuser(site.caller, 'queryRollingUpgrade');
    return upgradeAnswer(site);
  }
  site.checkCategory('WRITE');
  const running = namespace.rollingUpgrade?.finalizedMs === 0 ? namespace.rollingUpgrade : null;
  if (action === 'START') {
    checkSuperuser(site.caller, 'startRollingUpgrade');
    if (running !== null) {
      throw new RemoteException(
        JAVA.ROLLING_UPGRADE,
        'Failed to start rolling upgrade since a rolling upgrade is already in progress. ' +
          `Existing rolling upgrade info:\n${describeUpgrade(site, running)}`,
      );
    }
    site.checkSafeMode('Failed to start rolling upgrade');
    namespace.rollingUpgrade = { startedMs: namespace.nowMs, finalizedMs: 0 };
  } else {
    checkSuperuser(site.caller, 'finalizeRollingUpgrade');
    if (running === null) {
      return {};
    }
    site.checkSafeMode('Failed to finalize rolling upgrade');
    namespace.rollingUpgrade = { ...running, finalizedMs: namespace.nowMs };
  }
  namespace.logEdit();
  return upgradeAnswer(site);
}

function upgradeAnswer(site: Site): Plain {
  const upgrade = site.namespace.rollingUpgrade;
  if (upgrade === null) {
    return {};
  }
  return {
    rollingUpgradeInfo: {
      status: { blockPoolId: site.namenode.blockPoolId, finalized: upgrade.finalizedMs > 0 },
      startTime: upgrade.startedMs,
      finalizeTime: upgrade.finalizedMs,
      createdRollbackImages: false,
    },
  };
}

function describeUpgrade(site: Site, { startedMs }: RollingUpgrade): string {
  return (
    ` Block Pool ID: ${site.namenode.blockPoolId}\n     Start Time: ${new Date(startedMs).toUTCString()} (=${startedMs})\n` +
    '  Finalize Time: <NOT FINALIZED>'
  );
}

export function isRollingUpgrade(site: Site): Plain {
  checkSuperuser(site.caller, 'isRollingUpgrade');
  return { isRollingUpgrade: site.namespace.rollingUpgrade?.finalizedMs === 0 };
}

/** No layout of an older version is kept, so there is never anything to finalize. */
export function isUpgradeFinalized(site: Site): Plain {
  checkSuperuser(site.caller, 'isUpgradeFinalized');
  return { isUpgradeFinalized: true };
}
