import { describe, expect } from 'vitest';
import type { MethodClient, MethodCluster } from '../support/method-cluster.ts';
import { prove } from '../support/prove.ts';
import { createRequest, mkdirsRequest, refusal, severalMount } from '../support/several-mounts.ts';

/**
 * Paths below a file, which NameNodes refuse in several ways: a superuser's status is that of nothing, names are not made below what is no
 * directory, all else may not enter it. `/m` is ns0:/m0 and ns1:/m1, each file is in ns1.
 */

const USERS = ['hdfs', 'alice'];
const SEVERAL = { mounts: [severalMount()] };
/** The targets of the mount points are below a file, or have one in place of a directory above them. */
const IN_THE_WAY = { mounts: ['/one=ns1:/file/x', '/file/two=ns0:/two', '/all=ns0:/all'], keys: defaultIs('ns1') };
const NOT_ENTERED = 'AccessControlException: /m/d/file (is not a directory)';
const NO_PARENT = 'ParentNotDirectoryException: /m/d/file (is not a directory)';

function defaultIs(nameservice: string): Record<string, string> {
  return { 'dfs.federation.router.default.nameserviceId': nameservice };
}

async function makeFile(client: MethodClient, src: string): Promise<void> {
  await client.call('ClientProtocol.create', createRequest(src));
}

/** `/m/d` with `file` in ns1 and `other` in ns0, open to all. */
async function makeFiles(cluster: MethodCluster): Promise<void> {
  await makeFile(await cluster.direct('ns0'), '/m0/d/other');
  await makeFile(await cluster.direct('ns1'), '/m1/d/file');
  for (const [ns, src] of [
    ['ns0', '/m0/d'],
    ['ns1', '/m1/d'],
  ] as const) {
    const client = await cluster.direct(ns);
    await client.call('ClientProtocol.setPermission', { src, permission: { perm: 0o777 } });
  }
}

describe('rename below a file of another nameservice', () => {
  for (const method of ['ClientProtocol.rename', 'ClientProtocol.rename2']) {
    const proveRename = (title: string, run: Parameters<typeof prove>[3]) => prove(method, title, SEVERAL, run);
    proveRename('is refused, for superusers too, and nothing moves', async (cluster) => {
      await makeFiles(cluster);
      for (const user of USERS) {
        const router = await cluster.connect(user);
        const rename = (src: string, dst: string): Promise<object> =>
          router.call(method, { src, dst, ...(method.endsWith('2') ? { overwriteDest: false } : {}) });
        for (const dst of ['/m/d/file/x', '/m/d/file/x/y/z']) {
          expect(await refusal(rename('/m/d/other', dst))).toBe(NO_PARENT);
          // A NameNode looks at the way to both names first.
          expect(await refusal(rename('/m/d/none', dst))).toBe(NO_PARENT);
        }
        expect(await refusal(rename('/m/d/file/x', '/m/d/new'))).toBe(NOT_ENTERED);
      }
      const router = await cluster.connect();
      const { dirList } = await router.call<{ dirList: { partialListing: { path: Buffer }[] } }>(
        'ClientProtocol.getListing',
        { src: '/m/d', startAfter: Buffer.alloc(0), needLocation: false },
      );
      expect(dirList.partialListing.map(({ path }) => String(path))).toEqual(['file', 'other']);
    });
  }

  prove('ClientProtocol.rename', 'of a directory is refused as well', SEVERAL, async (cluster) => {
    await makeFiles(cluster);
    const router = await cluster.connect();
    await router.call('ClientProtocol.mkdirs', mkdirsRequest('/m/e'));
    for (const user of USERS) {
      const client = await cluster.connect(user);
      for (const dst of ['/m/d/file/x', '/m/d/file/x/y']) {
        expect(await refusal(client.call('ClientProtocol.rename', { src: '/m/e', dst }))).toBe(NO_PARENT);
      }
    }
  });
});

describe('nothing is made below a file of another nameservice', () => {
  for (const [method, requestOf] of [
    ['ClientProtocol.mkdirs', mkdirsRequest],
    ['ClientProtocol.create', (src: string, createParent: boolean) => createRequest(src, { createParent })],
  ] as const) {
    prove(method, 'with missing parents or without', SEVERAL, async (cluster) => {
      await makeFiles(cluster);
      for (const user of USERS) {
        const router = await cluster.connect(user);
        for (const createParent of [true, false]) {
          for (const path of ['/m/d/file/x', '/m/d/file/x/y', '/m/d/file/x/y/z']) {
            expect(await refusal(router.call(method, requestOf(path, createParent)))).toBe(NO_PARENT);
          }
        }
      }
    });
  }
});

describe('what is below a file of one of several nameservices', () => {
  prove('ClientProtocol.delete', 'is refused and nothing has become unlike', SEVERAL, async (cluster) => {
    await makeFiles(cluster);
    for (const user of USERS) {
      const router = await cluster.connect(user);
      for (const recursive of [true, false]) {
        const request = { src: '/m/d/file/x', recursive };
        expect(await refusal(router.call('ClientProtocol.delete', request))).toMatch(/^AccessControlException: .*file/);
      }
    }
    expect(cluster.router.count('divergences')).toBe(0);
  });

  prove('ClientProtocol.getContentSummary', 'has no summary', SEVERAL, async (cluster) => {
    await makeFiles(cluster);
    for (const user of USERS) {
      const router = await cluster.connect(user);
      const asked = router.call('ClientProtocol.getContentSummary', { path: '/m/d/file/x' });
      expect(await refusal(asked)).toMatch(/^AccessControlException: .*\(is not a directory\)/);
    }
  });

  prove('ClientProtocol.getFileInfo', 'is not there, or may not be looked at', SEVERAL, async (cluster) => {
    await makeFiles(cluster);
    const [hdfs, alice] = [await cluster.connect(), await cluster.connect('alice')];
    expect(await hdfs.call('ClientProtocol.getFileInfo', { src: '/m/d/file/x' })).toEqual({});
    expect(await refusal(alice.call('ClientProtocol.getFileInfo', { src: '/m/d/file/x' }))).toMatch(
      /^AccessControlException: .*\(is not a directory\)/,
    );
  });
});

describe('mount points are directories whatever file is in their way', () => {
  const proveAll = (method: string, run: (client: MethodClient, path: string) => Promise<void>) =>
    [method, run] as const;
  for (const [method, run] of [
    proveAll('ClientProtocol.getFileInfo', async (client, src) => {
      expect((await client.call('ClientProtocol.getFileInfo', { src }))['fs']).toMatchObject({ fileType: 'IS_DIR' });
    }),
    proveAll('ClientProtocol.getListing', async (client, src) => {
      const request = { src, startAfter: Buffer.alloc(0), needLocation: false };
      expect((await client.call('ClientProtocol.getListing', request))['dirList']).toBeDefined();
    }),
    proveAll('ClientProtocol.getContentSummary', async (client, path) => {
      const { summary } = await client.call<{ summary: object }>('ClientProtocol.getContentSummary', { path });
      expect(summary).toMatchObject({ fileCount: 0, directoryCount: path === '/file' ? 2 : 1 });
    }),
    proveAll('ClientProtocol.getAclStatus', async (client, src) => {
      expect((await client.call('ClientProtocol.getAclStatus', { src }))['result']).toMatchObject({ entries: [] });
    }),
  ]) {
    prove(method, 'a file in the way', IN_THE_WAY, async (cluster) => {
      await makeFile(await cluster.direct('ns1'), '/file');
      for (const user of USERS) {
        const client = await cluster.connect(user);
        for (const path of ['/one', '/file', '/file/two']) await run(client, path);
      }
    });
  }
});
