import { describe, expect } from 'vitest';
import type { Plain } from '../../src/wire/messages.ts';
import { executionsOf } from '../support/calls-by-namenode.ts';
import type { MethodClient, MethodCluster } from '../support/method-cluster.ts';
import { prove } from '../support/prove.ts';
import { mkdirsRequest, refusal } from '../support/several-mounts.ts';

/** What administrators do, done in all nameservices. */

const ONCE_EACH = { 'ns0 nn0': 1, 'ns1 nn0': 1 };
const EVERY_NAMENODE = { 'ns0 nn0': 1, 'ns0 nn1': 1, 'ns1 nn0': 1, 'ns1 nn1': 1 };
const TWO_NAMENODES = { simulator: { namenodes: 2 } };

const safeMode = async (client: MethodClient, action: string, checked = false): Promise<boolean> => {
  const { result } = await client.call('ClientProtocol.setSafeMode', { action: `SAFEMODE_${action}`, checked });
  return result as boolean;
};

async function safeModes(cluster: MethodCluster): Promise<boolean[]> {
  return (await cluster.simulator.control({ op: 'status' })).map((status) => status.safeMode);
}

describe('setSafeMode', () => {
  prove('ClientProtocol.setSafeMode', 'unchecked, of every NameNode', TWO_NAMENODES, async (cluster) => {
    const client = await cluster.connect();
    expect(await safeMode(client, 'ENTER')).toBe(true);
    expect(await safeModes(cluster)).toEqual([true, true, true, true]);
    expect(await safeMode(client, 'GET')).toBe(true);
    expect(await safeMode(client, 'LEAVE')).toBe(false);
    expect(await safeModes(cluster)).toEqual([false, false, false, false]);
    // What a standby answers does not make it the active one.
    for (const nameservice of [0, 1]) expect(cluster.router.block.activeOf(nameservice)).not.toBe(1);
  });

  prove(
    'ClientProtocol.setSafeMode',
    'checked, of active NameNodes; true only where all are',
    TWO_NAMENODES,
    async (cluster) => {
      const [client, ns0] = await Promise.all([cluster.connect(), cluster.direct('ns0')]);
      await safeMode(ns0, 'ENTER');
      expect(await safeMode(client, 'GET', true)).toBe(false);
      expect(await safeMode(client, 'ENTER', true)).toBe(true);
      expect(await safeModes(cluster)).toEqual([true, false, true, false]);
      expect(await safeMode(client, 'GET', true)).toBe(true);
    },
  );
});

describe('once in each nameservice', () => {
  prove('ClientProtocol.saveNamespace', 'true when all have saved', {}, async (cluster) => {
    const client = await cluster.connect();
    await safeMode(client, 'ENTER');
    expect(await client.call('ClientProtocol.saveNamespace')).toEqual({ saved: true });
    expect(await executionsOf(cluster, 'saveNamespace')).toEqual(ONCE_EACH);
    // ns0 has a new image, ns1 may keep the one it has.
    await safeMode(client, 'LEAVE');
    await (await cluster.direct('ns0')).call('ClientProtocol.mkdirs', mkdirsRequest('/new'));
    await safeMode(client, 'ENTER');
    expect(await client.call('ClientProtocol.saveNamespace', { timeWindow: 3600, txGap: 0 })).toEqual({ saved: false });
  });

  prove('ClientProtocol.saveNamespace', 'a failure in one tells where it was done', {}, async (cluster) => {
    const [client, ns0] = await Promise.all([cluster.connect(), cluster.direct('ns0')]);
    await safeMode(ns0, 'ENTER');
    expect(await refusal(client.call('ClientProtocol.saveNamespace'))).toBe(
      'IOException: Safe mode should be turned ON in order to create namespace image. [failed: ns1; done: ns0]',
    );
  });

  prove('ClientProtocol.restoreFailedStorage', 'true where all say so', {}, async (cluster) => {
    const [client, ns0] = await Promise.all([cluster.connect(), cluster.direct('ns0')]);
    const restore = (who: MethodClient, arg: string) => who.call('ClientProtocol.restoreFailedStorage', { arg });
    expect(await restore(ns0, 'true')).toEqual({ result: true });
    expect(await restore(client, 'check')).toEqual({ result: false });
    expect(await restore(client, 'true')).toEqual({ result: true });
    expect(await restore(client, 'check')).toEqual({ result: true });
  });

  prove('ClientProtocol.rollEdits', 'the highest transaction', {}, async (cluster) => {
    const [client, ns1] = await Promise.all([cluster.connect(), cluster.direct('ns1')]);
    for (const path of ['/a', '/b', '/c']) await ns1.call('ClientProtocol.mkdirs', mkdirsRequest(path));
    const { newSegmentTxId } = await client.call('ClientProtocol.rollEdits');
    expect(await ns1.call('ClientProtocol.getCurrentEditLogTxid')).toEqual({ txid: newSegmentTxId });
    expect(await executionsOf(cluster, 'rollEdits')).toEqual(ONCE_EACH);
  });

  prove('ClientProtocol.getCurrentEditLogTxid', 'the highest of all', {}, async (cluster) => {
    const [client, ns1] = await Promise.all([cluster.connect(), cluster.direct('ns1')]);
    for (const path of ['/a', '/b', '/c']) await ns1.call('ClientProtocol.mkdirs', mkdirsRequest(path));
    const expected = await ns1.call('ClientProtocol.getCurrentEditLogTxid');
    expect(await client.call('ClientProtocol.getCurrentEditLogTxid')).toEqual(expected);
  });

  prove('ClientProtocol.finalizeUpgrade', 'of each', {}, async (cluster) => {
    const client = await cluster.connect();
    expect(await client.call('ClientProtocol.finalizeUpgrade')).toEqual({});
    expect(await executionsOf(cluster, 'finalizeUpgrade')).toEqual(ONCE_EACH);
    const alice = await cluster.connect('alice');
    expect(await refusal(alice.call('ClientProtocol.finalizeUpgrade'))).toMatch(
      /^AccessControlException: .*finalizeUpgrade \[failed: ns0, ns1; done: nowhere\]$/,
    );
  });

  prove('ClientProtocol.metaSave', 'of each', {}, async (cluster) => {
    const client = await cluster.connect();
    expect(await client.call('ClientProtocol.metaSave', { filename: 'meta.txt' })).toEqual({});
    expect(await executionsOf(cluster, 'metaSave')).toEqual(ONCE_EACH);
  });

  prove('ClientProtocol.setBalancerBandwidth', 'of each', {}, async (cluster) => {
    const client = await cluster.connect();
    expect(await client.call('ClientProtocol.setBalancerBandwidth', { bandwidth: 1_000_000 })).toEqual({});
    expect(await executionsOf(cluster, 'setBalancerBandwidth')).toEqual(ONCE_EACH);
  });
});

describe('upgrades', () => {
  prove('ClientProtocol.rollingUpgrade', 'of each; the answer is an upgrade that is still on', {}, async (cluster) => {
    const [client, ns0, ns1] = await Promise.all([cluster.connect(), cluster.direct('ns0'), cluster.direct('ns1')]);
    const upgrade = (who: MethodClient, action: string) => who.call('ClientProtocol.rollingUpgrade', { action });
    expect(await upgrade(client, 'QUERY')).toEqual({});
    await upgrade(client, 'START');
    expect(await client.call('NamenodeProtocol.isRollingUpgrade')).toEqual({ isRollingUpgrade: true });
    await upgrade(ns0, 'FINALIZE');
    expect(await upgrade(client, 'QUERY')).toEqual(await upgrade(ns1, 'QUERY'));
    await upgrade(client, 'FINALIZE');
    for (const ns of [ns0, ns1]) {
      expect(await upgrade(ns, 'QUERY')).toMatchObject({ rollingUpgradeInfo: { status: { finalized: true } } });
    }
  });

  prove('NamenodeProtocol.isRollingUpgrade', 'true where one nameservice upgrades', {}, async (cluster) => {
    const [client, ns1] = await Promise.all([cluster.connect(), cluster.direct('ns1')]);
    expect(await client.call('NamenodeProtocol.isRollingUpgrade')).toEqual({ isRollingUpgrade: false });
    await ns1.call('ClientProtocol.rollingUpgrade', { action: 'START' });
    expect(await client.call('NamenodeProtocol.isRollingUpgrade')).toEqual({ isRollingUpgrade: true });
  });

  prove('NamenodeProtocol.isUpgradeFinalized', 'asked of each', {}, async (cluster) => {
    const client = await cluster.connect();
    expect(await client.call('NamenodeProtocol.isUpgradeFinalized')).toEqual({ isUpgradeFinalized: true });
    expect(await executionsOf(cluster, 'isUpgradeFinalized')).toEqual(ONCE_EACH);
  });

  prove('ClientProtocol.upgradeStatus', 'asked of each', {}, async (cluster) => {
    const client = await cluster.connect();
    expect(await client.call('ClientProtocol.upgradeStatus')).toEqual({ upgradeFinalized: true });
    expect(await executionsOf(cluster, 'upgradeStatus')).toEqual(ONCE_EACH);
  });
});

describe('refreshes, of every NameNode', () => {
  prove('ClientProtocol.refreshNodes', 'standbys too', TWO_NAMENODES, async (cluster) => {
    const client = await cluster.connect();
    expect(await client.call('ClientProtocol.refreshNodes')).toEqual({});
    expect(await executionsOf(cluster, 'refreshNodes')).toEqual(EVERY_NAMENODE);
  });

  prove('ClientProtocol.refreshNodes', 'a report that was shared before is not used after it', {}, async (cluster) => {
    const client = await cluster.connect();
    const report = () => client.call('ClientProtocol.getDatanodeReport', { type: 'ALL' });
    await report();
    await client.call('ClientProtocol.refreshNodes');
    await report();
    expect(await executionsOf(cluster, 'getDatanodeReport')).toEqual({ 'ns0 nn0': 2, 'ns1 nn0': 2 });
  });

  prove('RefreshUserMappingsProtocol.refreshUserToGroupsMappings', 'standbys too', TWO_NAMENODES, async (cluster) => {
    const client = await cluster.connect();
    expect(await client.call('RefreshUserMappingsProtocol.refreshUserToGroupsMappings')).toEqual({});
    expect(await executionsOf(cluster, 'refreshUserToGroupsMappings')).toEqual(EVERY_NAMENODE);
  });

  prove(
    'RefreshUserMappingsProtocol.refreshSuperUserGroupsConfiguration',
    'standbys too',
    TWO_NAMENODES,
    async (cluster) => {
      const client = await cluster.connect();
      expect(await client.call('RefreshUserMappingsProtocol.refreshSuperUserGroupsConfiguration')).toEqual({});
      expect(await executionsOf(cluster, 'refreshSuperUserGroupsConfiguration')).toEqual(EVERY_NAMENODE);
    },
  );
});

prove(
  'GetUserMappingsProtocol.getGroupsForUser',
  'the groups of all nameservices, each once',
  { simulator: { groups: { alice: ['staff', 'users'] } } },
  async (cluster) => {
    const client = await cluster.connect();
    const groups = await client.call('GetUserMappingsProtocol.getGroupsForUser', { user: 'alice' });
    expect(groups).toEqual({ groups: ['staff', 'users'] });
    expect(await executionsOf(cluster, 'getGroupsForUser')).toEqual(ONCE_EACH);
  },
);

prove(
  'ClientProtocol.getECTopologyResultForPolicies',
  'asked of each; the first verdict against the policies is the answer',
  {},
  async (cluster) => {
    const [client, ns0] = await Promise.all([cluster.connect(), cluster.direct('ns0')]);
    const ask = (who: MethodClient): Promise<Plain> =>
      who.call('ClientProtocol.getECTopologyResultForPolicies', { policies: ['RS-6-3-1024k'] });
    expect(await ask(client)).toEqual(await ask(ns0));
    expect(await ask(client)).toMatchObject({ response: { isSupported: false } });
  },
);

describe('getDataEncryptionKey', () => {
  prove(
    'ClientProtocol.getDataEncryptionKey',
    'where there is one nameservice',
    { nameservices: ['ns0'] },
    async (cluster) => {
      const client = await cluster.connect('alice');
      expect(await client.call('ClientProtocol.getDataEncryptionKey')).toEqual({});
      expect(await executionsOf(cluster, 'getDataEncryptionKey')).toEqual({ 'ns0 nn0': 1 });
    },
  );

  prove(
    'ClientProtocol.getDataEncryptionKey',
    'refused where it could be the key of another block pool',
    {},
    async (cluster) => {
      const client = await cluster.connect('alice');
      expect(await refusal(client.call('ClientProtocol.getDataEncryptionKey'))).toBe(
        'UnsupportedOperationException: Operation "getDataEncryptionKey" is not supported',
      );
    },
  );
});
