import { describe, expect } from 'vitest';
import type { Plain } from '../../src/wire/messages.ts';
import type { MethodCluster } from '../support/method-cluster.ts';
import { prove } from '../support/prove.ts';
import { createRequest, refusal } from '../support/several-mounts.ts';

/** Calls that name blocks and no path: the block pool tells the nameservice. */

const OPTIONS = {
  mounts: ['/a=ns0:/a', '/b=ns1:/b'],
  simulator: { datanodes: [{ uuid: 'dn-0', host: 'dn0.test', ip: '10.0.0.1' }] },
};

interface Written {
  readonly fileId: number;
  readonly block: Plain;
}

/** A file that is being written in ns0 and one in ns1, each with one block. */
async function openFiles(cluster: MethodCluster): Promise<Written[]> {
  const client = await cluster.connect();
  const written: Written[] = [];
  for (const src of ['/a/f', '/b/f']) {
    const { fs } = await client.call('ClientProtocol.create', createRequest(src));
    const fileId = Number((fs as Plain)['fileId']);
    const { block } = await client.call('ClientProtocol.addBlock', { src, fileId, clientName: 'writer' });
    written.push({ fileId, block: block as Plain });
  }
  return written;
}

async function arrivals(cluster: MethodCluster, wanted: string): Promise<string[]> {
  const calls = await cluster.simulator.control({ op: 'calls' });
  return calls.filter(({ method }) => method === wanted).map(({ nameservice }) => nameservice);
}

const inPool = (block: Plain, poolId: string): Plain => ({ ...block, b: { ...(block['b'] as Plain), poolId } });

describe('reportBadBlocks', () => {
  prove('ClientProtocol.reportBadBlocks', 'goes to the nameservice of each block', OPTIONS, async (cluster) => {
    const client = await cluster.connect();
    const [first, second] = (await openFiles(cluster)).map(({ block }) => block) as [Plain, Plain];
    await client.call('ClientProtocol.reportBadBlocks', { blocks: [first, second, first] });
    expect((await arrivals(cluster, 'reportBadBlocks')).sort()).toEqual(['ns0', 'ns1']);
    await client.call('ClientProtocol.reportBadBlocks', { blocks: [second] });
    await client.call('ClientProtocol.reportBadBlocks', { blocks: [] });
    expect((await arrivals(cluster, 'reportBadBlocks')).length).toBe(3);
  });

  prove('ClientProtocol.reportBadBlocks', 'is not sent at all with an unknown pool', OPTIONS, async (cluster) => {
    const client = await cluster.connect();
    const [first, second] = (await openFiles(cluster)).map(({ block }) => block) as [Plain, Plain];
    const blocks = [first, inPool(second, 'BP-elsewhere')];
    expect(await refusal(client.call('ClientProtocol.reportBadBlocks', { blocks }))).toBe(
      'IOException: Cannot locate a registered namenode for BP-elsewhere from router:8888',
    );
    expect(await arrivals(cluster, 'reportBadBlocks')).toEqual([]);
  });

  prove('ClientProtocol.reportBadBlocks', 'fails when a nameservice refuses', OPTIONS, async (cluster) => {
    const client = await cluster.connect();
    const [first, second] = (await openFiles(cluster)).map(({ block }) => block) as [Plain, Plain];
    const strange = (second['locs'] as Plain[]).map((info) => ({
      ...info,
      id: { ...(info['id'] as Plain), datanodeUuid: 'nobody' },
    }));
    const blocks = [first, { ...second, locs: strange }];
    expect(await refusal(client.call('ClientProtocol.reportBadBlocks', { blocks }))).toMatch(/does not exist$/);
    expect((await arrivals(cluster, 'reportBadBlocks')).sort()).toEqual(['ns0', 'ns1']);
  });
});

describe('a pipeline', () => {
  prove('ClientProtocol.updateBlockForPipeline', 'is renewed by the block pool', OPTIONS, async (cluster) => {
    const client = await cluster.connect();
    for (const { block } of await openFiles(cluster)) {
      const b = block['b'] as Plain;
      const { block: renewed } = await client.call('ClientProtocol.updateBlockForPipeline', {
        block: b,
        clientName: 'writer',
      });
      expect((renewed as Plain)['b']).toMatchObject({ poolId: b['poolId'], blockId: b['blockId'] });
    }
    expect(await arrivals(cluster, 'updateBlockForPipeline')).toEqual(['ns0', 'ns1']);
  });

  prove('ClientProtocol.updatePipeline', 'goes on by the block pool of the old block', OPTIONS, async (cluster) => {
    const client = await cluster.connect();
    for (const { block } of await openFiles(cluster)) {
      const oldBlock = block['b'] as Plain;
      const newBlock = { ...oldBlock, generationStamp: Number(oldBlock['generationStamp']) + 1 };
      const newNodes = (block['locs'] as Plain[]).map((info) => info['id']);
      await client.call('ClientProtocol.updatePipeline', {
        clientName: 'writer',
        oldBlock,
        newBlock,
        newNodes,
        storageIDs: block['storageIDs'],
      });
    }
    expect(await arrivals(cluster, 'updatePipeline')).toEqual(['ns0', 'ns1']);
  });
});
