import { describe, expect } from 'vitest';
import type { Plain } from '../../src/wire/messages.ts';
import { executionsOf } from '../support/calls-by-namenode.ts';
import type { MethodCluster } from '../support/method-cluster.ts';
import { prove } from '../support/prove.ts';
import { createRequest, refusal } from '../support/several-mounts.ts';
import { waitUntil } from '../support/wait.ts';

/** Calls that one nameservice answers for all, that go where the client says, and that the router answers itself. */

const DEFAULT_NS1 = { keys: { 'dfs.federation.router.default.nameserviceId': 'ns1' } };
const MOUNTS = { mounts: ['/a=ns0:/', '/b=ns1:/'] };

/** As the default nameservice answers; as the other while no NameNode of the default one is there. */
async function expectAnyAnswer(cluster: MethodCluster, method: string, request: object = {}): Promise<void> {
  const [client, ns0, ns1] = await Promise.all([cluster.connect(), cluster.direct('ns0'), cluster.direct('ns1')]);
  const name = method.slice(method.indexOf('.') + 1);
  const expected = await ns1.call(method, request);
  await cluster.simulator.control({ op: 'clear' });
  expect(await client.call(method, request)).toEqual(expected);
  expect(await executionsOf(cluster, name)).toEqual({ 'ns1 nn0': 1 });
  await cluster.simulator.control({ op: 'stop', nameservice: 'ns1', namenode: 'nn0' });
  expect(await client.call(method, request)).toEqual(await ns0.call(method, request));
}

describe('any nameservice, the default one first', () => {
  const title = 'by another while the default nameservice is down';
  prove('ClientProtocol.getServerDefaults', title, DEFAULT_NS1, async (cluster) => {
    await cluster.simulator.control({ op: 'stop', nameservice: 'ns1', namenode: 'nn0' });
    const [client, ns0] = await Promise.all([cluster.connect(), cluster.direct('ns0')]);
    const expected = await ns0.call('ClientProtocol.getServerDefaults');
    expect(await client.call('ClientProtocol.getServerDefaults')).toEqual(expected);
  });
  prove('ClientProtocol.getStoragePolicies', title, DEFAULT_NS1, async (cluster) => {
    await expectAnyAnswer(cluster, 'ClientProtocol.getStoragePolicies');
  });
  prove('NamenodeProtocol.getBlockKeys', title, DEFAULT_NS1, async (cluster) => {
    await expectAnyAnswer(cluster, 'NamenodeProtocol.getBlockKeys');
  });
  prove('NamenodeProtocol.getTransactionId', title, DEFAULT_NS1, async (cluster) => {
    await expectAnyAnswer(cluster, 'NamenodeProtocol.getTransactionId');
  });
  prove('NamenodeProtocol.getMostRecentCheckpointTxId', title, DEFAULT_NS1, async (cluster) => {
    await expectAnyAnswer(cluster, 'NamenodeProtocol.getMostRecentCheckpointTxId');
  });
  prove('NamenodeProtocol.versionRequest', title, DEFAULT_NS1, async (cluster) => {
    await expectAnyAnswer(cluster, 'NamenodeProtocol.versionRequest');
  });
});

prove(
  'ClientProtocol.renewLease',
  'to the nameservices that the client names, to all when it names none',
  MOUNTS,
  async (cluster) => {
    const client = await cluster.connect();
    const { fs } = await client.call<{ fs: Plain }>('ClientProtocol.create', createRequest('/b/file'));
    const renew = (namespaces: readonly string[]) =>
      client.call('ClientProtocol.renewLease', { clientName: 'writer', namespaces });
    expect(await renew([String(fs['namespace'])])).toEqual({});
    expect(await executionsOf(cluster, 'renewLease')).toEqual({ 'ns1 nn0': 1 });
    expect(await renew([])).toEqual({});
    const both = async (): Promise<boolean> => Object.keys(await executionsOf(cluster, 'renewLease')).length === 2;
    await waitUntil(both, 'both have the renewal');
  },
);

describe('the router itself', () => {
  prove('ClientProtocol.msync', 'without a call to a NameNode', {}, async (cluster) => {
    const client = await cluster.connect();
    expect(await client.call('ClientProtocol.msync')).toEqual({});
    expect(await executionsOf(cluster, 'msync')).toEqual({});
  });

  prove('ClientProtocol.getHAServiceState', 'active, whatever the NameNodes are', {}, async (cluster) => {
    await cluster.simulator.control({ op: 'transition', nameservice: 'ns0', namenode: 'nn0', to: 'standby' });
    const client = await cluster.connect();
    expect(await client.call('ClientProtocol.getHAServiceState')).toEqual({ state: 'ACTIVE' });
  });

  prove('ClientProtocol.getDelegationToken', 'none without Kerberos', {}, async (cluster) => {
    const client = await cluster.connect();
    expect(await client.call('ClientProtocol.getDelegationToken', { renewer: 'hdfs' })).toEqual({});
  });

  const token = { identifier: Buffer.alloc(0), password: Buffer.alloc(0), kind: 'K', service: 's' };
  const noToken = 'IOException: Delegation tokens are issued only with Kerberos authentication';
  prove('ClientProtocol.renewDelegationToken', 'there is none to renew', {}, async (cluster) => {
    const client = await cluster.connect();
    expect(await refusal(client.call('ClientProtocol.renewDelegationToken', { token }))).toBe(noToken);
  });
  prove('ClientProtocol.cancelDelegationToken', 'there is none to cancel', {}, async (cluster) => {
    const client = await cluster.connect();
    expect(await refusal(client.call('ClientProtocol.cancelDelegationToken', { token }))).toBe(noToken);
  });

  prove('ProtocolMetaInfoPB.getProtocolVersions', 'of the protocols that it serves', {}, async (cluster) => {
    const client = await cluster.connect();
    const ask = (protocol: string) => client.call('ProtocolMetaInfoPB.getProtocolVersions', { protocol });
    expect(await ask('org.apache.hadoop.hdfs.protocol.ClientProtocol')).toEqual({
      protocolVersions: [{ rpcKind: 'RPC_PROTOCOL_BUFFER', versions: [1] }],
    });
    expect(await ask('org.example.Other')).toEqual({ protocolVersions: [] });
  });

  prove('ProtocolMetaInfoPB.getProtocolSignature', 'refused', {}, async (cluster) => {
    const client = await cluster.connect();
    const request = { protocol: 'org.apache.hadoop.hdfs.protocol.ClientProtocol', rpcKind: 'RPC_PROTOCOL_BUFFER' };
    expect(await refusal(client.call('ProtocolMetaInfoPB.getProtocolSignature', request))).toBe(
      'UnsupportedOperationException: Operation "getProtocolSignature" is not supported',
    );
  });
});

describe('refused, without a call to a NameNode', () => {
  const title = 'it is for one NameNode';
  const expectRefused = async (cluster: MethodCluster, method: string, request: object = {}): Promise<void> => {
    const client = await cluster.connect();
    const name = method.slice(method.indexOf('.') + 1);
    expect(await refusal(client.call(method, request))).toBe(
      `UnsupportedOperationException: Operation "${name}" is not supported`,
    );
    expect(await executionsOf(cluster, name)).toEqual({});
  };
  const storageInfo = { layoutVersion: -67, namespceID: 1, clusterID: 'CID', cTime: 0 };
  const registration = { rpcAddress: 'h:1', httpAddress: 'h:2', storageInfo, role: 'BACKUP' };
  const signature = {
    blockPoolId: 'BP',
    mostRecentCheckpointTxId: 0,
    curSegmentTxId: 1,
    storageInfo,
  };

  prove('ClientProtocol.getEditsFromTxid', title, {}, async (cluster) => {
    await expectRefused(cluster, 'ClientProtocol.getEditsFromTxid', { txid: 1 });
  });
  prove('NamenodeProtocol.rollEditLog', title, {}, async (cluster) => {
    await expectRefused(cluster, 'NamenodeProtocol.rollEditLog');
  });
  prove('NamenodeProtocol.errorReport', title, {}, async (cluster) => {
    await expectRefused(cluster, 'NamenodeProtocol.errorReport', { registration, errorCode: 1, msg: 'm' });
  });
  prove('NamenodeProtocol.registerSubordinateNamenode', title, {}, async (cluster) => {
    await expectRefused(cluster, 'NamenodeProtocol.registerSubordinateNamenode', { registration });
  });
  prove('NamenodeProtocol.startCheckpoint', title, {}, async (cluster) => {
    await expectRefused(cluster, 'NamenodeProtocol.startCheckpoint', { registration });
  });
  prove('NamenodeProtocol.endCheckpoint', title, {}, async (cluster) => {
    await expectRefused(cluster, 'NamenodeProtocol.endCheckpoint', { registration, signature });
  });
  prove('NamenodeProtocol.getEditLogManifest', title, {}, async (cluster) => {
    await expectRefused(cluster, 'NamenodeProtocol.getEditLogManifest', { sinceTxId: 1 });
  });
  prove('NamenodeProtocol.getNextSPSPath', title, {}, async (cluster) => {
    await expectRefused(cluster, 'NamenodeProtocol.getNextSPSPath');
  });
});
