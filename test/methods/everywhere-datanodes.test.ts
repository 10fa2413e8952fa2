import { describe, expect } from 'vitest';
import type { SimulatedDataNode } from '../../src/simulator/datanodes.ts';
import type { Plain } from '../../src/wire/messages.ts';
import { executionsOf } from '../support/calls-by-namenode.ts';
import type { MethodClient } from '../support/method-cluster.ts';
import { prove } from '../support/prove.ts';
import { createRequest, refusal } from '../support/several-mounts.ts';

/** DataNodes of all nameservices in one report, and what depends on which nameservice a DataNode serves. */

const DATANODES: SimulatedDataNode[] = [
  {
    uuid: 'u-shared',
    ip: '10.0.0.1',
    rack: '/r1',
    isSlow: true,
    figures: { ns0: { lastUpdateMs: 1000, blocks: 1 }, ns1: { lastUpdateMs: 2000, blocks: 2 } },
  },
  { uuid: 'u-one', ip: '10.0.0.2', rack: '/r2', nameservices: ['ns0'], adminState: 'DECOMMISSION_INPROGRESS' },
  { uuid: 'u-two', ip: '10.0.0.2', xferPort: 9999, rack: '/r2', nameservices: ['ns1'], isSlow: true },
  { uuid: 'u-gone', ip: '10.0.0.4', nameservices: ['ns1'], isLive: false },
];

/** `ip:port rack` of the nodes of a report, sorted. */
function nodesOf(infos: readonly Plain[]): string[] {
  return infos.map(({ id, location }) => `${(id as Plain)['ipAddr']}:${(id as Plain)['xferPort']} ${location}`).sort();
}

async function report(client: MethodClient, type: string): Promise<Plain[]> {
  const { di } = await client.call('ClientProtocol.getDatanodeReport', { type });
  return di as Plain[];
}

describe('getDatanodeReport', () => {
  prove(
    'ClientProtocol.getDatanodeReport',
    'each DataNode once as it was heard of last, its rack below the nameservice',
    { simulator: { datanodes: DATANODES } },
    async (cluster) => {
      const client = await cluster.connect();
      const all = await report(client, 'ALL');
      expect(nodesOf(all)).toEqual([
        '10.0.0.1:9866 /ns1/r1',
        '10.0.0.2:9866 /ns0/r2',
        '10.0.0.2:9999 /ns1/r2',
        '10.0.0.4:9866 /ns1/default-rack',
      ]);
      expect(all.find(({ location }) => location === '/ns1/r1')).toMatchObject({ numBlocks: 2, lastUpdate: 2000 });
      expect(nodesOf(await report(client, 'DEAD'))).toEqual(['10.0.0.4:9866 /ns1/default-rack']);
      expect(nodesOf(await report(client, 'DECOMMISSIONING'))).toEqual(['10.0.0.2:9866 /ns0/r2']);
      // All else is as the NameNode wrote it.
      const { di } = await (await cluster.direct('ns0')).call<{ di: Plain[] }>('ClientProtocol.getDatanodeReport', {
        type: 'DECOMMISSIONING',
      });
      expect(await report(client, 'DECOMMISSIONING')).toEqual([{ ...di[0], location: '/ns0/r2' }]);
    },
  );

  prove(
    'ClientProtocol.getDatanodeReport',
    'calls of one user at one time share one answer, those of another get their own',
    { simulator: { datanodes: DATANODES } },
    async (cluster) => {
      const clients = await Promise.all(Array.from({ length: 8 }, () => cluster.connect()));
      const reports = await Promise.all(clients.map((client) => report(client, 'ALL')));
      for (const each of reports) expect(each).toEqual(reports[0]);
      expect(await executionsOf(cluster, 'getDatanodeReport')).toEqual({ 'ns0 nn0': 1, 'ns1 nn0': 1 });
      const alice = await cluster.connect('alice');
      expect(await refusal(report(alice, 'ALL'))).toBe(
        'AccessControlException: Access denied for user alice. Superuser privilege is required for operation datanodeReport',
      );
    },
  );

  prove(
    'ClientProtocol.getDatanodeReport',
    'with one nameservice the racks are below it as well',
    { nameservices: ['ns0'], simulator: { datanodes: DATANODES } },
    async (cluster) => {
      const client = await cluster.connect();
      expect(nodesOf(await report(client, 'LIVE'))).toEqual(['10.0.0.1:9866 /ns0/r1', '10.0.0.2:9866 /ns0/r2']);
    },
  );
});

prove(
  'ClientProtocol.getSlowDatanodeReport',
  'as getDatanodeReport',
  { simulator: { datanodes: DATANODES } },
  async (cluster) => {
    const client = await cluster.connect();
    const { datanodeInfoProto } = await client.call('ClientProtocol.getSlowDatanodeReport');
    expect(nodesOf(datanodeInfoProto as Plain[])).toEqual(['10.0.0.1:9866 /ns1/r1', '10.0.0.2:9999 /ns1/r2']);
  },
);

prove(
  'ClientProtocol.getDatanodeStorageReport',
  'each DataNode once with its storages, the rack as it is',
  { simulator: { datanodes: DATANODES } },
  async (cluster) => {
    const client = await cluster.connect();
    const { datanodeStorageReports } = await client.call<{ datanodeStorageReports: Plain[] }>(
      'ClientProtocol.getDatanodeStorageReport',
      { type: 'LIVE' },
    );
    expect(nodesOf(datanodeStorageReports.map(({ datanodeInfo }) => datanodeInfo as Plain))).toEqual([
      '10.0.0.1:9866 /r1',
      '10.0.0.2:9866 /r2',
      '10.0.0.2:9999 /r2',
    ]);
    for (const { storageReports, datanodeInfo } of datanodeStorageReports) {
      const { datanodeUuid } = (datanodeInfo as Plain)['id'] as Plain;
      expect(storageReports).toMatchObject([{ storageUuid: `DS-${datanodeUuid}` }]);
    }
  },
);

describe('getBlocks', () => {
  const blocksOf = (uuid: string): Plain => ({
    datanode: {
      ipAddr: '10.0.0.2',
      hostName: 'localhost',
      datanodeUuid: uuid,
      xferPort: 9999,
      infoPort: 9864,
      ipcPort: 9867,
    },
    size: 1_000_000,
    minBlockSize: 1,
  });

  prove(
    'NamenodeProtocol.getBlocks',
    'by the nameservice that knows the DataNode',
    { mounts: ['/a=ns0:/', '/b=ns1:/'], simulator: { datanodes: DATANODES } },
    async (cluster) => {
      const client = await cluster.connect();
      const path = '/b/file';
      await client.call('ClientProtocol.create', createRequest(path, { replication: 2 }));
      const { block } = await client.call<{ block: Plain }>('ClientProtocol.addBlock', {
        src: path,
        clientName: 'writer',
      });
      const last: Plain = { ...(block['b'] as Plain), numBytes: 10 };
      await client.call('ClientProtocol.complete', { src: path, clientName: 'writer', last });
      const { blocks } = await client.call<{ blocks: Plain }>('NamenodeProtocol.getBlocks', blocksOf('u-two'));
      expect(blocks['blocks']).toMatchObject([{ block: { blockId: last['blockId'] } }]);
      expect(await executionsOf(cluster, 'getBlocks')).toEqual({ 'ns1 nn0': 1 });
      await client.call('NamenodeProtocol.getBlocks', blocksOf('u-one'));
      expect(await executionsOf(cluster, 'getBlocks')).toEqual({ 'ns0 nn0': 1, 'ns1 nn0': 1 });
    },
  );

  prove(
    'NamenodeProtocol.getBlocks',
    'of a DataNode that none knows: an error that says so, after a second look',
    { simulator: { datanodes: DATANODES } },
    async (cluster) => {
      const client = await cluster.connect();
      const message =
        'HadoopIllegalArgumentException: Datanode 10.0.0.2:9999 (localhost, nobody) not found in ns0, ns1.';
      for (const looks of [1, 2]) {
        expect(await refusal(client.call('NamenodeProtocol.getBlocks', blocksOf('nobody')))).toBe(message);
        const expected = { 'ns0 nn0': looks, 'ns1 nn0': looks };
        expect(await executionsOf(cluster, 'getDatanodeReport')).toEqual(expected);
      }
      expect(await executionsOf(cluster, 'getBlocks')).toEqual({});
    },
  );
});
