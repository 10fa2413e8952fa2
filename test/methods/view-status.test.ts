import { describe, expect } from 'vitest';
import type { Plain } from '../../src/wire/messages.ts';
import type { MethodCluster } from '../support/method-cluster.ts';
import { prove } from '../support/prove.ts';
import { createRequest, mkdirsRequest, refusal, severalMount } from '../support/several-mounts.ts';

/** What a path is, at and above mount points and over several nameservices. */

const DEFAULT_NS0 = { 'dfs.federation.router.default.nameserviceId': 'ns0' };
const TOP = ['/top/one=ns0:/one', '/top/two/deep=ns1:/deep'];
/** As mount points make it: no nameservice knows /top/two; /top/one is missing in ns0. */
const VIRTUAL = { fileType: 'IS_DIR', path: Buffer.alloc(0), owner: 'router', fileId: 0, length: 0 };

async function clientsOf(cluster: MethodCluster) {
  const [router, ns0, ns1] = await Promise.all([cluster.connect(), cluster.direct('ns0'), cluster.direct('ns1')]);
  return { router, ns0, ns1, both: [ns0, ns1] };
}

describe('the status of a path', () => {
  for (const method of [
    'ClientProtocol.getFileInfo',
    'ClientProtocol.getFileLinkInfo',
    'ClientProtocol.getLocatedFileInfo',
  ]) {
    const proveStatus = (title: string, options: Parameters<typeof prove>[2], run: Parameters<typeof prove>[3]) =>
      prove(method, title, options, run);

    proveStatus(
      'directories that mount points make, without a default nameservice',
      { mounts: TOP },
      async (cluster) => {
        const { router, ns0 } = await clientsOf(cluster);
        const statusOf = async (src: string): Promise<unknown> => (await router.call(method, { src }))['fs'];
        expect(await statusOf('/')).toMatchObject({ ...VIRTUAL, permission: { perm: 0o777 }, childrenNum: 1 });
        expect(await statusOf('/top')).toMatchObject({ ...VIRTUAL, permission: { perm: 0o777 }, childrenNum: 2 });
        // A mount point whose target is missing.
        expect(await statusOf('/top/one')).toMatchObject({ ...VIRTUAL, permission: { perm: 0o755 }, childrenNum: 0 });
        expect(await statusOf('/top/one/x')).toBeUndefined();
        await ns0.call('ClientProtocol.mkdirs', mkdirsRequest('/one', true, 0o711));
        expect(await statusOf('/top/one')).toMatchObject({ owner: 'hdfs', permission: { perm: 0o711 } });
      },
    );

    proveStatus(
      'a real directory above mount points is what its nameservice says',
      { mounts: TOP, keys: DEFAULT_NS0 },
      async (cluster) => {
        const { router, ns0 } = await clientsOf(cluster);
        await ns0.call('ClientProtocol.mkdirs', mkdirsRequest('/top'));
        const { fs } = await router.call<{ fs: Plain }>(method, { src: '/top' });
        expect(fs).toEqual((await ns0.call(method, { src: '/top' }))['fs']);
        expect((await router.call(method, { src: '/top/two' }))['fs']).toMatchObject({ ...VIRTUAL, childrenNum: 1 });
      },
    );

    proveStatus(
      'over several nameservices: the file, or the directory with the children of all',
      { mounts: [severalMount()] },
      async (cluster) => {
        const { router, ns0, ns1 } = await clientsOf(cluster);
        const statusOf = async (src: string): Promise<unknown> => (await router.call(method, { src }))['fs'];
        for (const [i, ns] of [ns0, ns1].entries()) {
          await ns.call('ClientProtocol.mkdirs', mkdirsRequest(`/m${i}/d`));
          for (let n = 0; n <= i; n++) await ns.call('ClientProtocol.create', createRequest(`/m${i}/d/${i}${n}`));
        }
        expect(await statusOf('/m/d')).toMatchObject({ fileType: 'IS_DIR', childrenNum: 3 });
        for (const name of ['00', '10', '11'])
          expect(await statusOf(`/m/d/${name}`)).toMatchObject({ fileType: 'IS_FILE' });
        expect(await statusOf('/m/d/none')).toBeUndefined();
      },
    );

    proveStatus(
      'over several nameservices in turn: the first that has it',
      { mounts: [severalMount('HASH')] },
      async (cluster) => {
        const { router, ns0, ns1 } = await clientsOf(cluster);
        await ns0.call('ClientProtocol.mkdirs', mkdirsRequest('/m0/d', true, 0o700));
        await ns1.call('ClientProtocol.mkdirs', mkdirsRequest('/m1/e', true, 0o701));
        const modes = ['/m/d', '/m/e', '/m/none'].map(async (src) => {
          const { fs } = await router.call<{ fs?: { permission: Plain } }>(method, { src });
          return fs?.permission['perm'];
        });
        expect(await Promise.all(modes)).toEqual([0o700, 0o701, undefined]);
      },
    );
  }
  // For the table of proofs, which reads names.
  prove('ClientProtocol.getFileInfo', 'of the root alone', { mounts: [] }, async (cluster) => {
    const { router } = await clientsOf(cluster);
    expect(await refusal(router.call('ClientProtocol.getFileInfo', { src: '/' }))).toContain('RouterResolveException');
  });
  prove('ClientProtocol.getFileLinkInfo', 'below a mount point', { mounts: ['/a=ns1:/b'] }, async (cluster) => {
    const { router, ns1 } = await clientsOf(cluster);
    await ns1.call('ClientProtocol.create', createRequest('/b/f'));
    const { fs } = await router.call('ClientProtocol.getFileLinkInfo', { src: '/a/f' });
    expect(fs).toMatchObject({ fileType: 'IS_FILE' });
  });
  prove('ClientProtocol.getLocatedFileInfo', 'below a mount point', { mounts: ['/a=ns1:/b'] }, async (cluster) => {
    const { router, ns1 } = await clientsOf(cluster);
    await ns1.call('ClientProtocol.create', createRequest('/b/f'));
    const { fs } = await router.call('ClientProtocol.getLocatedFileInfo', { src: '/a/f' });
    expect(fs).toMatchObject({ fileType: 'IS_FILE', locations: { fileLength: 0 } });
  });
});

describe('a directory that mount points make answers as a plain one', () => {
  const NO_DEFAULT = {
    mounts: [
      ...TOP,
      {
        srcPath: '/own',
        destinations: [{ nameserviceId: 'ns1', path: '/missing' }],
        ownerName: 'alice',
        groupName: 'staff',
        mode: '1750',
      },
    ],
  };

  prove('ClientProtocol.checkAccess', 'by its permission', NO_DEFAULT, async (cluster) => {
    const alice = await cluster.connect('alice');
    const bob = await cluster.connect('bob');
    const check = (client: typeof alice, path: string, mode: string) =>
      client.call('ClientProtocol.checkAccess', { path, mode });
    expect(await check(bob, '/top', 'PERM_ALL')).toEqual({});
    expect(await check(alice, '/own', 'PERM_ALL')).toEqual({});
    expect(await refusal(check(bob, '/own', 'READ'))).toBe(
      'AccessControlException: Permission denied: user=bob, access=READ, inode="/own":alice:staff:drwxr-x--T',
    );
    expect(await check(bob, '/top/one', 'READ_EXECUTE')).toEqual({});
    expect(await refusal(check(bob, '/top/one', 'WRITE'))).toContain('drwxr-xr-x');
  });

  prove('ClientProtocol.getAclStatus', 'without entries', NO_DEFAULT, async (cluster) => {
    const router = await cluster.connect();
    expect(await router.call('ClientProtocol.getAclStatus', { src: '/own' })).toEqual({
      result: { owner: 'alice', group: 'staff', sticky: true, entries: [], permission: { perm: 0o1750 } },
    });
    expect(await router.call('ClientProtocol.getAclStatus', { src: '/top' })).toMatchObject({
      result: { owner: 'router' },
    });
  });

  prove('ClientProtocol.getXAttrs', 'none', NO_DEFAULT, async (cluster) => {
    const router = await cluster.connect();
    expect(await router.call('ClientProtocol.getXAttrs', { src: '/top', xAttrs: [] })).toEqual({ xAttrs: [] });
  });

  prove('ClientProtocol.listXAttrs', 'none', NO_DEFAULT, async (cluster) => {
    const router = await cluster.connect();
    expect(await router.call('ClientProtocol.listXAttrs', { src: '/top/one' })).toEqual({ xAttrs: [] });
  });

  prove('ClientProtocol.getStoragePolicy', 'the default one, as a NameNode has it', NO_DEFAULT, async (cluster) => {
    const { router, ns1 } = await clientsOf(cluster);
    await ns1.call('ClientProtocol.mkdirs', mkdirsRequest('/plain'));
    const plain = (await ns1.call('ClientProtocol.getStoragePolicy', { path: '/plain' }))['storagePolicy'];
    const { storagePolicy } = await router.call('ClientProtocol.getStoragePolicy', { path: '/top/two' });
    const { policyId, name, creationPolicy, replicationFallbackPolicy } = plain as Plain;
    expect(storagePolicy).toMatchObject({ policyId, name, creationPolicy, replicationFallbackPolicy });
  });

  prove('ClientProtocol.getErasureCodingPolicy', 'none', NO_DEFAULT, async (cluster) => {
    const router = await cluster.connect();
    expect(await router.call('ClientProtocol.getErasureCodingPolicy', { src: '/top' })).toEqual({});
  });

  prove('ClientProtocol.getEZForPath', 'no zone', NO_DEFAULT, async (cluster) => {
    const router = await cluster.connect();
    expect(await router.call('ClientProtocol.getEZForPath', { src: '/top' })).toEqual({});
    expect(await router.call('ClientProtocol.getEZForPath', { src: '/own' })).toEqual({});
  });

  prove('ClientProtocol.isFileClosed', 'it is no file', NO_DEFAULT, async (cluster) => {
    const { router, ns1 } = await clientsOf(cluster);
    const text = 'FileNotFoundException: Path is not a file:';
    expect(await refusal(router.call('ClientProtocol.isFileClosed', { src: '/top' }))).toBe(`${text} /top`);
    await ns1.call('ClientProtocol.mkdirs', mkdirsRequest('/deep'));
    expect(await refusal(router.call('ClientProtocol.isFileClosed', { src: '/top/two/deep' }))).toBe(
      `${text} /top/two/deep`,
    );
    await ns1.call('ClientProtocol.create', createRequest('/deep/f'));
    expect(await router.call('ClientProtocol.isFileClosed', { src: '/top/two/deep/f' })).toEqual({ result: false });
  });

  prove(
    'ClientProtocol.getPreferredBlockSize',
    'it is no file',
    { ...NO_DEFAULT, keys: DEFAULT_NS0 },
    async (cluster) => {
      const { router, ns0 } = await clientsOf(cluster);
      const text = 'FileNotFoundException: Path is not a file:';
      expect(await refusal(router.call('ClientProtocol.getPreferredBlockSize', { filename: '/top' }))).toBe(
        `${text} /top`,
      );
      await ns0.call('ClientProtocol.create', createRequest('/f', { blockSize: 2048 }));
      expect(await router.call('ClientProtocol.getPreferredBlockSize', { filename: '/f' })).toEqual({ bsize: 2048 });
    },
  );

  prove('ClientProtocol.getBlockLocations', 'it is no file', NO_DEFAULT, async (cluster) => {
    const router = await cluster.connect();
    expect(await refusal(router.call('ClientProtocol.getBlockLocations', { src: '/top', offset: 0, length: 1 }))).toBe(
      'FileNotFoundException: Path is not a file: /top',
    );
  });

  prove('ClientProtocol.getLinkTarget', 'it is no symbolic link', NO_DEFAULT, async (cluster) => {
    const { router, ns0 } = await clientsOf(cluster);
    const text = 'is not a symbolic link';
    expect(await refusal(router.call('ClientProtocol.getLinkTarget', { path: '/top' }))).toBe(
      `IOException: Path /top ${text}`,
    );
    await ns0.call('ClientProtocol.create', createRequest('/one/f'));
    expect(await refusal(router.call('ClientProtocol.getLinkTarget', { path: '/top/one/f' }))).toBe(
      `IOException: Path /top/one/f ${text}`,
    );
  });
});

describe('the root that encloses a path', () => {
  prove(
    'ClientProtocol.getEnclosingRoot',
    'over several nameservices',
    { mounts: [severalMount()] },
    async (cluster) => {
      const { router, both } = await clientsOf(cluster);
      for (const [i, ns] of both.entries()) await ns.call('ClientProtocol.mkdirs', mkdirsRequest(`/m${i}/d`));
      expect(await router.call('ClientProtocol.getEnclosingRoot', { filename: '/m/d/x' })).toEqual({
        enclosingRootPath: '/m',
      });
    },
  );
});

describe('a mount point of several nameservices', () => {
  prove(
    'ClientProtocol.getAclStatus',
    'has that of its target, else that of its record',
    { mounts: [severalMount('HASH_ALL', { ownerName: 'keeper' }), '/m/in=ns0:/in'] },
    async (cluster) => {
      const { router, ns1 } = await clientsOf(cluster);
      const owner = async (): Promise<unknown> => {
        const { result } = await router.call<{ result: Plain }>('ClientProtocol.getAclStatus', { src: '/m' });
        return result['owner'];
      };
      expect(await owner()).toBe('keeper');
      await ns1.call('ClientProtocol.mkdirs', mkdirsRequest('/m1'));
      expect(await owner()).toBe('hdfs');
    },
  );

  prove(
    'ClientProtocol.listXAttrs',
    'those of the location that has it',
    { mounts: [severalMount()] },
    async (cluster) => {
      const { router, ns1 } = await clientsOf(cluster);
      expect(await router.call('ClientProtocol.listXAttrs', { src: '/m' })).toEqual({ xAttrs: [] });
      await ns1.call('ClientProtocol.mkdirs', mkdirsRequest('/m1'));
      const xAttr = { namespace: 'USER', name: 'a', value: Buffer.from('1') };
      await ns1.call('ClientProtocol.setXAttr', { src: '/m1', xAttr, flag: 1 });
      expect(await router.call('ClientProtocol.listXAttrs', { src: '/m' })).toMatchObject({ xAttrs: [{ name: 'a' }] });
    },
  );
});
