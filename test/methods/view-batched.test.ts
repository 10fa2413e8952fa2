import { describe, expect } from 'vitest';
import type { Plain } from '../../src/wire/messages.ts';
import type { MethodClient, MethodCluster } from '../support/method-cluster.ts';
import { prove } from '../support/prove.ts';
import { createRequest, mkdirsRequest, refusal, severalMount } from '../support/several-mounts.ts';

interface Batch {
  readonly listings: { partialListing: Plain[]; parentIdx: number; exception?: Plain }[];
  readonly hasMore: boolean;
  readonly startAfter: Buffer;
}

const NOTHING: Buffer = Buffer.alloc(0);

async function batchOf(client: MethodClient, paths: readonly string[], startAfter = NOTHING): Promise<Batch> {
  return await client.call<Batch>('ClientProtocol.getBatchedListing', { paths, startAfter, needLocation: false });
}

const shown = ({ listings }: Batch) =>
  listings.map(({ partialListing, parentIdx, exception }) => [
    parentIdx,
    exception === undefined
      ? partialListing.map(({ path }) => String(path))
      : `${exception['className']}: ${exception['message']}`,
  ]);

async function fill(
  cluster: MethodCluster,
  nameservice: string,
  directory: string,
  files: readonly string[],
): Promise<void> {
  const client = await cluster.direct(nameservice);
  await client.call('ClientProtocol.mkdirs', mkdirsRequest(directory));
  await Promise.all(files.map((name) => client.call('ClientProtocol.create', createRequest(`${directory}/${name}`))));
}

describe('getBatchedListing', () => {
  prove(
    'ClientProtocol.getBatchedListing',
    'directories of several nameservices, files, mount points, and what is not there',
    { mounts: ['/a=ns0:/a', '/b=ns1:/b', '/top/x=ns1:/x', severalMount()] },
    async (cluster) => {
      await fill(cluster, 'ns0', '/a', ['1', '2']);
      await fill(cluster, 'ns1', '/b', ['3']);
      await fill(cluster, 'ns0', '/m0', ['p', 'r']);
      await fill(cluster, 'ns1', '/m1', ['q']);
      const router = await cluster.connect();
      const batch = await batchOf(router, ['/a', '/b', '/none', '/a/none', '/a/1', '/top', '/m', '/b']);
      expect(shown(batch)).toEqual([
        [0, ['1', '2']],
        [1, ['3']],
        [
          2,
          'org.apache.hadoop.hdfs.server.federation.resolver.RouterResolveException: Cannot find locations for /none, because the default nameservice is disabled to read or write',
        ],
        [3, 'java.io.FileNotFoundException: Path /a/none does not exist'],
        [4, ['']],
        [5, ['x']],
        [6, ['p', 'q', 'r']],
        [7, ['3']],
      ]);
      expect([batch.hasMore, batch.startAfter.length]).toEqual([false, 0]);
    },
  );

  prove(
    'ClientProtocol.getBatchedListing',
    'goes on where it stopped, with the same paths alone',
    { mounts: ['/a=ns0:/a', severalMount()], simulator: { listingLimit: 2 } },
    async (cluster) => {
      await fill(cluster, 'ns0', '/a', ['1', '2', '3', '4', '5']);
      await fill(cluster, 'ns0', '/m0', ['p', 'r', 't']);
      await fill(cluster, 'ns1', '/m1', ['q', 's', 'u']);
      const router = await cluster.connect();
      const paths = ['/a/5', '/a', '/m', '/a'];
      const seen: string[][] = paths.map(() => []);
      let pages = 0;
      for (let startAfter: Buffer = NOTHING, more = true; more; pages++) {
        const batch = await batchOf(router, paths, startAfter);
        for (const { parentIdx, partialListing } of batch.listings) {
          seen[parentIdx]?.push(...partialListing.map(({ path }) => String(path)));
        }
        more = batch.hasMore;
        startAfter = batch.startAfter;
        if (more) {
          expect(await refusal(batchOf(router, ['/a'], startAfter))).toBe(
            'IllegalArgumentException: startAfter is that of a listing of other paths',
          );
        }
      }
      expect(seen).toEqual([
        [''],
        ['1', '2', '3', '4', '5'],
        ['p', 'q', 'r', 's', 't', 'u'],
        ['1', '2', '3', '4', '5'],
      ]);
      expect(pages).toBeGreaterThan(4);
    },
  );

  prove(
    'ClientProtocol.getBatchedListing',
    'refuses too many paths, and a cursor of its own',
    { mounts: ['/a=ns0:/a'] },
    async (cluster) => {
      const router = await cluster.connect();
      const many = Array.from({ length: 101 }, () => '/a');
      expect(await refusal(batchOf(router, many))).toBe('IllegalArgumentException: Too many source paths (101 > 100)');
      expect((await batchOf(router, many.slice(1))).listings.length).toBe(100);
      expect(await refusal(batchOf(router, ['/a'], Buffer.from('nonsense')))).toBe(
        'IllegalArgumentException: startAfter is not that of a batched listing',
      );
      expect(await batchOf(router, [])).toEqual({ listings: [], hasMore: false, startAfter: NOTHING });
    },
  );
});
