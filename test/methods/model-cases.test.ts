import { describe, expect } from 'vitest';
import type { Plain } from '../../src/wire/messages.ts';
import type { MethodClient, MethodCluster } from '../support/method-cluster.ts';
import { prove } from '../support/prove.ts';
import { createRequest, mkdirsRequest, refusal, severalMount, statusOf, typesOf } from '../support/several-mounts.ts';

/** Cases that random sequences (model.test.ts) have come upon. */

/** Names of which HASH puts some in each nameservice. */
const MANY = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
const RANDOM = { mounts: [severalMount('RANDOM')] };
const HASH = { mounts: [severalMount('HASH')] };
const ROOT = [{ srcPath: '/', destinations: [{ nameserviceId: 'ns0', path: '/t' }] }];

describe('one namespace', () => {
  prove(
    'ClientProtocol.mkdirs',
    'the trash of files of the root is where a mount point / leads',
    { mounts: ROOT },
    async (cluster) => {
      const client = await cluster.connect();
      const ns0 = await cluster.direct('ns0');
      await client.call('ClientProtocol.create', createRequest('/f'));
      const current = '/user/hdfs/.Trash/Current';
      expect(await client.call('ClientProtocol.mkdirs', mkdirsRequest(current))).toEqual({ result: true });
      const request = { src: '/f', dst: `${current}/f`, overwriteDest: false, moveToTrash: true };
      await client.call('ClientProtocol.rename2', request);
      expect(await statusOf(client, `${current}/f`)).toMatchObject({ fileType: 'IS_FILE' });
      expect(await statusOf(ns0, `${current}/f`)).toMatchObject({ fileType: 'IS_FILE' });
    },
  );

  prove(
    'ClientProtocol.create',
    'parents do not take the permission of the file where all targets are missing',
    RANDOM,
    async (cluster) => {
      const client = await cluster.connect();
      await client.call('ClientProtocol.create', createRequest('/m/d/f', { masked: { perm: 0o600 } }));
      const { permission } = (await statusOf(client, '/m/d')) as Plain;
      expect(permission).toEqual({ perm: 0o755 });
    },
  );

  prove('ClientProtocol.removeXAttr', 'says what the nameservice says that has the file', RANDOM, async (cluster) => {
    const client = await cluster.connect();
    for (const [i, id] of ['ns0', 'ns1'].entries()) {
      const direct = await cluster.direct(id);
      await direct.call('ClientProtocol.mkdirs', mkdirsRequest(`/m${i}`));
      await direct.call('ClientProtocol.create', createRequest(`/m${i}/f${i}`));
    }
    for (const src of ['/m/f0', '/m/f1']) {
      const call = client.call('ClientProtocol.removeXAttr', { src, xAttr: { namespace: 'USER', name: 'none' } });
      expect(await refusal(call)).toBe('IOException: No matching attributes found for remove operation');
    }
  });

  prove(
    'ClientProtocol.rename',
    'into a mount point whose target is missing',
    {
      mounts: [
        { srcPath: '/a', destinations: [{ nameserviceId: 'ns0', path: '/a' }] },
        { srcPath: '/b', destinations: [{ nameserviceId: 'ns0', path: '/deep/b' }] },
      ],
    },
    async (cluster) => {
      const client = await cluster.connect();
      await client.call('ClientProtocol.create', createRequest('/a/f'));
      expect(await client.call('ClientProtocol.rename', { src: '/a/f', dst: '/b' })).toEqual({ result: true });
      expect(await statusOf(client, '/b')).toMatchObject({ fileType: 'IS_DIR' });
      expect(await statusOf(client, '/b/f')).toMatchObject({ fileType: 'IS_FILE' });
    },
  );

  prove('ClientProtocol.create', 'with HASH, below a directory that was renamed: there', HASH, async (cluster) => {
    await makeBelowRenamed(cluster, async (client, path) => {
      await client.call('ClientProtocol.create', createRequest(path));
    });
  });

  prove('ClientProtocol.mkdirs', 'with HASH, below a directory that was renamed: there', HASH, async (cluster) => {
    await makeBelowRenamed(cluster, async (client, path) => {
      await client.call('ClientProtocol.mkdirs', mkdirsRequest(path));
    });
  });
});

/** A directory that lies elsewhere than its name says stays in one piece: it is counted once, and deleted whole. */
async function makeBelowRenamed(
  cluster: MethodCluster,
  make: (client: MethodClient, path: string) => Promise<void>,
): Promise<void> {
  const client = await cluster.connect();
  const both = [await cluster.direct('ns0'), await cluster.direct('ns1')];
  for (const name of MANY) {
    await client.call('ClientProtocol.mkdirs', mkdirsRequest('/m/old'));
    await client.call('ClientProtocol.rename2', { src: '/m/old', dst: `/m/${name}`, overwriteDest: false });
    const before = await typesOf(both, [`/m0/${name}`, `/m1/${name}`]);
    expect(before.toSorted()).toEqual(['', 'IS_DIR']);
    for (const below of ['x', 'y/z', 'v/w/z']) await make(client, `/m/${name}/${below}`);
    expect(await typesOf(both, [`/m0/${name}`, `/m1/${name}`])).toEqual(before);
    const { summary } = await client.call('ClientProtocol.getContentSummary', { path: `/m/${name}` });
    const { directoryCount, fileCount } = summary as { directoryCount: number; fileCount: number };
    expect(directoryCount + fileCount).toBe(7);
    await client.call('ClientProtocol.delete', { src: `/m/${name}`, recursive: true });
    expect(await statusOf(client, `/m/${name}`)).toBeNull();
  }
}
