/** What a NameNode says about itself and its nameservice, its states, and who asks. */

import { flagOf, textOf } from '../control/rpc-server/fields.ts';
import { JAVA, RemoteException } from '../control/rpc-server/remote-exception.ts';
import type { Plain } from '../wire/messages.ts';
import type { HaState, SafeModeAction, Site } from './operation.ts';
import { checkSuperuser } from './permission-check.ts';
import { DEFAULT_POLICY_ID, policyMessages } from './storage-policies.ts';

const BYTES_PER_CHECKSUM = 512;
const WRITE_PACKET_BYTES = 65_536;
const FILE_BUFFER_BYTES = 4096;
/** Layout of the namespace of Hadoop 3.4. */
const LAYOUT_VERSION = -67;
/** What the simulator claims to be: a NameNode whose protocol it speaks. */
const SOFTWARE_VERSION = '3.4.1';

export function getServerDefaults(site: Site): Plain {
  return {
    serverDefaults: {
      blockSize: site.settings.blockSizeBytes,
      bytesPerChecksum: BYTES_PER_CHECKSUM,
      writePacketSize: WRITE_PACKET_BYTES,
      replication: site.settings.replication,
      fileBufferSize: FILE_BUFFER_BYTES,
      encryptDataTransfer: false,
      trashInterval: 0,
      checksumType: 'CHECKSUM_CRC32C',
      keyProviderUri: '',
      policyId: DEFAULT_POLICY_ID,
      snapshotTrashRootEnabled: false,
    },
  };
}

export function getStoragePolicies(): Plain {
  return { policies: policyMessages() };
}

/** Always the same answer. */
export function always(answer: Plain): () => Plain {
  return () => answer;
}

export function unsupported(message: string): () => Plain {
  return () => {
    throw new RemoteException(JAVA.UNSUPPORTED, message);
  };
}

export function setSafeMode(site: Site, request: Plain): Plain {
  const action = SAFE_MODE_ACTIONS[textOf(request, 'action')] ?? 'get';
  if (flagOf(request, 'checked')) {
    site.checkCategory('READ');
  }
  if (action !== 'get') {
    checkSuperuser(site.caller, textOf(request, 'action').toLowerCase());
  }
  return { result: site.namenode.setSafeMode(action) };
}

const SAFE_MODE_ACTIONS: Readonly<Record<string, SafeModeAction>> = {
  SAFEMODE_ENTER: 'enter',
  SAFEMODE_LEAVE: 'leave',
  SAFEMODE_FORCE_EXIT: 'leave',
  SAFEMODE_GET: 'get',
};

/** A new edit log segment starts with the next edit. */
export function rollEdits(site: Site): Plain {
  checkSuperuser(site.caller, 'rollEditLog');
  site.namespace.logEdit();
  return { newSegmentTxId: site.namespace.txid };
}

export function getHAServiceState(site: Site): Plain {
  return { state: site.namenode.state.toUpperCase() };
}

export function getServiceStatus({ namenode }: Site): Plain {
  const state = namenode.state.toUpperCase();
  if (namenode.state === 'observer') {
    return { state, readyToBecomeActive: false, notReadyReason: 'State is observer' };
  }
  return namenode.state === 'standby' && namenode.safeMode
    ? { state, readyToBecomeActive: false, notReadyReason: `The NameNode is in safemode. ${namenode.safeModeTip}` }
    : { state, readyToBecomeActive: true };
}

/** Between active and observer a NameNode has to be standby. */
export function transitionTo(state: HaState): (site: Site) => Plain {
  return ({ caller, namenode }) => {
    checkSuperuser(caller, `transitionTo${state.slice(0, 1).toUpperCase()}${state.slice(1)}`);
    if (state !== 'standby' && namenode.state !== 'standby' && namenode.state !== state) {
      throw new RemoteException(JAVA.SERVICE_FAILED, `Cannot transition from '${namenode.state}' to '${state}'`);
    }
    namenode.transition(state);
    return {};
  };
}

export function versionRequest(site: Site): Plain {
  const { namenode } = site;
  return {
    info: {
      buildVersion: 'simulator',
      unused: 0,
      blockPoolID: namenode.blockPoolId,
      storageInfo: {
        layoutVersion: LAYOUT_VERSION,
        namespceID: namenode.namespaceId,
        clusterID: namenode.clusterId,
        cTime: namenode.createdMs,
      },
      softwareVersion: SOFTWARE_VERSION,
      capabilities: 1,
      state: namenode.state.toUpperCase(),
    },
  };
}

export function getTransactionId(site: Site): Plain {
  return { txId: site.namenode.lastTxId };
}

export function getCurrentEditLogTxid(site: Site): Plain {
  return { txid: site.namenode.lastTxId };
}

export function getGroupsForUser(site: Site, request: Plain): Plain {
  return { groups: [...site.namenode.groupsOf(textOf(request, 'user'))] };
}

/** Versions of a protocol, for PROTOCOL_BUFFER calls; none for a protocol that is not served here. */
export function protocolVersions(served: (name: string) => boolean): (site: Site, request: Plain) => Plain {
  return (_site, request) => ({
    protocolVersions: served(textOf(request, 'protocol')) ? [{ rpcKind: 'RPC_PROTOCOL_BUFFER', versions: [1] }] : [],
  });
}
