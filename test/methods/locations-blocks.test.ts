import { describe, expect } from 'vitest';
import type { Plain } from '../../src/wire/messages.ts';
import type { MethodClient, MethodCluster } from '../support/method-cluster.ts';
import { prove } from '../support/prove.ts';
import { createRequest, mkdirsRequest, refusal, severalMount, statusOf } from '../support/several-mounts.ts';

/**
 * Calls on a file that is being written. NameNodes find it by its inode number, and give these out from the same start: files of one number
 * in both nameservices are the rule here.
 */

interface OpenFile {
  readonly src: string;
  readonly fileId: number;
  readonly pool: string;
}

const BLOCK_CALLS = ['addBlock', 'complete', 'abandonBlock', 'getAdditionalDatanode', 'fsync'];

/** The same client has `/m/ns0` open in ns0 and `/m/ns1` in ns1, under the same inode number. */
async function openTwins(cluster: MethodCluster): Promise<OpenFile[]> {
  const files: OpenFile[] = [];
  for (const [i, id] of ['ns0', 'ns1'].entries()) {
    const direct = await cluster.direct(id);
    await direct.call('ClientProtocol.mkdirs', mkdirsRequest(`/m${i}`));
    await direct.call('ClientProtocol.create', createRequest(`/m${i}/${id}`));
    const { info } = await direct.call('NamenodeProtocol.versionRequest');
    const fileId = Number((await statusOf(direct, `/m${i}/${id}`))?.['fileId']);
    files.push({ src: `/m/${id}`, fileId, pool: String((info as Plain)['blockPoolID']) });
  }
  expect(files[0]?.fileId).toBe(files[1]?.fileId);
  return files;
}

/** Where the block calls went since call number `after`, with the path that they carried. */
async function arrivals(cluster: MethodCluster, after: number): Promise<string[]> {
  const calls = await cluster.simulator.control({ op: 'calls', after });
  return calls
    .filter(({ method }) => BLOCK_CALLS.includes(method))
    .map(({ nameservice, path }) => `${nameservice}:${path}`);
}

async function lastSequence(cluster: MethodCluster): Promise<number> {
  return (await cluster.simulator.control({ op: 'calls' })).at(-1)?.sequence ?? 0;
}

async function tell(client: MethodClient, method: string, request: object): Promise<string> {
  try {
    return JSON.stringify(await client.call(method, request));
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const block = (poolId: string): Plain => ({ poolId, blockId: 1, generationStamp: 1 });

describe('with a block pool', () => {
  const REQUESTS: Readonly<Record<string, (file: OpenFile, pool: string) => Plain>> = {
    addBlock: ({ src, fileId }, pool) => ({ src, fileId, clientName: 'writer', previous: block(pool) }),
    complete: ({ src, fileId }, pool) => ({ src, fileId, clientName: 'writer', last: block(pool) }),
    abandonBlock: ({ src, fileId }, pool) => ({ src, fileId, holder: 'writer', b: block(pool) }),
    getAdditionalDatanode: ({ src, fileId }, pool) => ({
      src,
      fileId,
      clientName: 'writer',
      blk: block(pool),
      numAdditionalNodes: 1,
    }),
  };

  /** The pool of each file leads to its nameservice, with the path that it has there. */
  async function provePool(cluster: MethodCluster, method: string): Promise<void> {
    const client = await cluster.connect();
    const request = REQUESTS[method] as (file: OpenFile, pool: string) => Plain;
    for (const [i, file] of (await openTwins(cluster)).entries()) {
      const before = await lastSequence(cluster);
      await tell(client, `ClientProtocol.${method}`, request(file, file.pool));
      expect(await arrivals(cluster, before)).toEqual([`ns${i}:/m${i}/ns${i}`]);
    }
  }

  const RANDOM = { mounts: [severalMount('RANDOM')] };
  prove('ClientProtocol.addBlock', 'to the nameservice of the pool', RANDOM, (cluster) =>
    provePool(cluster, 'addBlock'),
  );
  prove('ClientProtocol.complete', 'to the nameservice of the pool', RANDOM, (cluster) =>
    provePool(cluster, 'complete'),
  );
  prove('ClientProtocol.abandonBlock', 'to the nameservice of the pool', RANDOM, (cluster) =>
    provePool(cluster, 'abandonBlock'),
  );
  prove('ClientProtocol.getAdditionalDatanode', 'to the nameservice of the pool', RANDOM, (cluster) =>
    provePool(cluster, 'getAdditionalDatanode'),
  );

  prove(
    'ClientProtocol.abandonBlock',
    'a mount point that leads elsewhere since the file was opened',
    {
      mounts: ['/m=ns0:/m0'],
    },
    async (cluster) => {
      const client = await cluster.connect();
      const [inNs0, inNs1] = (await openTwins(cluster)) as [OpenFile, OpenFile];
      const abandon = (file: OpenFile) =>
        client.call(
          'ClientProtocol.abandonBlock',
          (REQUESTS['abandonBlock'] as (file: OpenFile, pool: string) => Plain)(file, file.pool),
        );
      const before = await lastSequence(cluster);
      expect(await abandon(inNs0)).toEqual({});
      expect(await abandon(inNs1)).toEqual({});
      cluster.router.swapMounts(['/m=ns1:/elsewhere']);
      expect(await abandon(inNs0)).toEqual({});
      expect(await abandon({ ...inNs1, src: '/m/x' })).toEqual({});
      expect(await arrivals(cluster, before)).toEqual(['ns0:/m0/ns0', 'ns1:/m/ns1', 'ns0:/m/ns0', 'ns1:/elsewhere/x']);
    },
  );

  prove(
    'ClientProtocol.complete',
    'a pool of a nameservice where the mount has no location',
    {
      mounts: [severalMount('RANDOM')],
      nameservices: ['ns0', 'ns1', 'ns2'],
    },
    async (cluster) => {
      const client = await cluster.connect();
      const direct = await cluster.direct('ns2');
      await direct.call('ClientProtocol.create', createRequest('/moved'));
      const fileId = Number((await statusOf(direct, '/moved'))?.['fileId']);
      const { info } = await direct.call('NamenodeProtocol.versionRequest');
      const pool = String((info as Plain)['blockPoolID']);
      const before = await lastSequence(cluster);
      const request = { src: '/m/file', fileId, clientName: 'writer', last: block(pool) };
      await tell(client, 'ClientProtocol.complete', request);
      expect(await arrivals(cluster, before)).toEqual(['ns2:/m/file']);
    },
  );
});

describe('a file from the first byte to the last', () => {
  prove(
    'ClientProtocol.addBlock',
    'two files of one client at a time, one in each nameservice, block by block',
    {
      mounts: [severalMount('RANDOM')],
      simulator: { datanodes: [{ uuid: 'dn-0', host: 'dn0.test', ip: '10.0.0.1' }] },
    },
    async (cluster) => {
      const client = await cluster.connect();
      const files = await openTwins(cluster);
      const last: (Plain | undefined)[] = files.map(() => undefined);
      for (let round = 0; round < 3; round++) {
        for (const [i, { src, fileId, pool }] of files.entries()) {
          const previous = last[i];
          const request = { src, fileId, clientName: 'writer', ...(previous === undefined ? {} : { previous }) };
          const { block: located } = await client.call('ClientProtocol.addBlock', request);
          const added = (located as Plain)['b'] as Plain;
          expect(added['poolId']).toBe(pool);
          last[i] = { ...added, numBytes: 1024 };
        }
      }
      for (const [i, { src, fileId }] of files.entries()) {
        const request = { src, fileId, clientName: 'writer', last: last[i] };
        expect(await client.call('ClientProtocol.complete', request)).toEqual({ result: true });
      }
      for (const i of [0, 1]) {
        expect(await statusOf(await cluster.direct(`ns${i}`), `/m${i}/ns${i}`)).toMatchObject({ length: 3 * 1024 });
      }
    },
  );
});

describe('without a block pool', () => {
  prove(
    'ClientProtocol.addBlock',
    'to the file of the path, not to another one of its number',
    {
      mounts: [severalMount('RANDOM')],
    },
    async (cluster) => {
      const client = await cluster.connect();
      const files = await openTwins(cluster);
      for (let round = 0; round < 8; round++) {
        for (const [i, { src, fileId }] of files.entries()) {
          const before = await lastSequence(cluster);
          await tell(client, 'ClientProtocol.addBlock', { src, fileId, clientName: 'writer' });
          expect(await arrivals(cluster, before)).toEqual([`ns${i}:/m${i}/ns${i}`]);
        }
      }
    },
  );

  prove(
    'ClientProtocol.fsync',
    'to the file of the path, not to another one of its number',
    {
      mounts: [severalMount('RANDOM')],
    },
    async (cluster) => {
      const client = await cluster.connect();
      const files = await openTwins(cluster);
      for (let round = 0; round < 8; round++) {
        for (const [i, { src, fileId }] of files.entries()) {
          const before = await lastSequence(cluster);
          expect(await client.call('ClientProtocol.fsync', { src, fileId, client: 'writer' })).toEqual({});
          expect(await arrivals(cluster, before)).toEqual([`ns${i}:/m${i}/ns${i}`]);
        }
      }
    },
  );

  prove(
    'ClientProtocol.complete',
    'an empty file, also after it was renamed',
    {
      mounts: [severalMount('RANDOM')],
    },
    async (cluster) => {
      const client = await cluster.connect();
      const [, file] = (await openTwins(cluster)) as [OpenFile, OpenFile];
      const [ns0, ns1] = [await cluster.direct('ns0'), await cluster.direct('ns1')];
      await ns0.call('ClientProtocol.delete', { src: '/m0/ns0', recursive: false });
      await ns1.call('ClientProtocol.rename', { src: '/m1/ns1', dst: '/m1/renamed' });
      const request = { src: file.src, fileId: file.fileId, clientName: 'writer' };
      expect(await client.call('ClientProtocol.complete', request)).toEqual({ result: true });
      expect(await ns1.call('ClientProtocol.isFileClosed', { src: '/m1/renamed' })).toEqual({ result: true });
    },
  );

  prove('ClientProtocol.complete', 'a file that is gone', { mounts: [severalMount('RANDOM')] }, async (cluster) => {
    const client = await cluster.connect();
    const request = { src: '/m/none', fileId: 99_999, clientName: 'writer' };
    expect(await refusal(client.call('ClientProtocol.complete', request))).toMatch(
      /^FileNotFoundException: File does not exist: \/m\/none \(inode 99999\)/,
    );
  });
});
