import { describe, expect } from 'vitest';
import type { MethodClient, MethodCluster } from '../support/method-cluster.ts';
import { prove } from '../support/prove.ts';
import { createRequest, mkdirsRequest, refusal, severalMount, statusOf, typesOf } from '../support/several-mounts.ts';

/** Directories under a mount with several destinations. */

const NONE = ['', ''];
const DIRECTORY = ['IS_DIR', 'IS_DIR'];
const ORDERS = ['HASH_ALL', 'RANDOM', 'SPACE'];

async function clientsOf(cluster: MethodCluster) {
  const [router, ns0, ns1] = await Promise.all([cluster.connect(), cluster.direct('ns0'), cluster.direct('ns1')]);
  const typesAt = async (path: string) => await typesOf([ns0, ns1], [`/m0${path}`, `/m1${path}`]);
  return { router, ns0, ns1, typesAt };
}

describe('mkdirs', () => {
  for (const order of ORDERS) {
    prove(
      'ClientProtocol.mkdirs',
      `${order}: everywhere, missing parents and the mount's targets included`,
      {
        mounts: [severalMount(order)],
      },
      async (cluster) => {
        const { router, typesAt } = await clientsOf(cluster);
        expect(await router.call('ClientProtocol.mkdirs', mkdirsRequest('/m/a/b/c'))).toEqual({ result: true });
        expect(await typesAt('/a/b/c')).toEqual(DIRECTORY);
        expect(await router.call('ClientProtocol.mkdirs', mkdirsRequest('/m/a/b/c'))).toEqual({ result: true });
        expect(cluster.router.count('divergences')).toBe(0);
      },
    );
  }

  prove(
    'ClientProtocol.mkdirs',
    'over a file it is refused as by one NameNode, and nothing is made anywhere',
    {
      mounts: [severalMount()],
    },
    async (cluster) => {
      const { router, ns0, ns1, typesAt } = await clientsOf(cluster);
      await router.call('ClientProtocol.mkdirs', mkdirsRequest('/m/d'));
      for (const [i, ns] of [ns0, ns1].entries()) {
        await ns.call('ClientProtocol.create', createRequest(`/m${i}/d/file${i}`));
        const path = `/d/file${i}`;
        const before = await typesAt(path);
        const make = (below: string) =>
          refusal(router.call('ClientProtocol.mkdirs', mkdirsRequest(`/m${path}${below}`)));
        expect(await make('')).toBe(`FileAlreadyExistsException: Path is not a directory: /m${path}`);
        for (const below of ['/x', '/x/y', '/x/y/z']) {
          expect(await make(below)).toBe(`ParentNotDirectoryException: /m${path} (is not a directory)`);
        }
        expect(await typesAt(path)).toEqual(before);
      }
    },
  );

  prove(
    'ClientProtocol.mkdirs',
    'a caller who may not look is refused before anything is made',
    {
      mounts: [severalMount()],
    },
    async (cluster) => {
      const { router, ns1, typesAt } = await clientsOf(cluster);
      await router.call('ClientProtocol.mkdirs', mkdirsRequest('/m/open', true, 0o777));
      await ns1.call('ClientProtocol.setPermission', { src: '/m1/open', permission: { perm: 0o700 } });
      const alice = await cluster.connect('alice');
      expect(await refusal(alice.call('ClientProtocol.mkdirs', mkdirsRequest('/m/open/new')))).toContain(
        'AccessControlException',
      );
      expect(await typesAt('/open/new')).toEqual(NONE);
    },
  );

  prove(
    'ClientProtocol.mkdirs',
    'without createParent the parent must be somewhere',
    {
      mounts: [severalMount()],
    },
    async (cluster) => {
      const { router, ns1, typesAt } = await clientsOf(cluster);
      const make = mkdirsRequest('/m/d/e', false);
      expect(await refusal(router.call('ClientProtocol.mkdirs', make))).toContain('FileNotFoundException');
      expect(await typesAt('/d')).toEqual(NONE);
      await ns1.call('ClientProtocol.mkdirs', mkdirsRequest('/m1/d'));
      await router.call('ClientProtocol.mkdirs', make);
      expect(await typesAt('/d/e')).toEqual(DIRECTORY);
    },
  );

  for (const [owner, made] of [
    ['hdfs', DIRECTORY],
    ['alice', ['IS_DIR', '']],
  ] as const) {
    prove(
      'ClientProtocol.mkdirs',
      `a directory of ${owner} that one location has stays as it is; the others get it when it is the caller's own`,
      { mounts: [severalMount()] },
      async (cluster) => {
        const { router, ns0, typesAt } = await clientsOf(cluster);
        // Whichever location comes first for the name.
        for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) {
          await ns0.call('ClientProtocol.mkdirs', mkdirsRequest(`/m0/${name}`, true, 0o700));
          await ns0.call('ClientProtocol.setOwner', { src: `/m0/${name}`, username: owner });
          expect(await router.call('ClientProtocol.mkdirs', mkdirsRequest(`/m/${name}`))).toEqual({ result: true });
          expect(await statusOf(router, `/m/${name}`)).toMatchObject({ owner, permission: { perm: 0o700 } });
          expect(await typesAt(`/${name}`)).toEqual(made);
        }
      },
    );
  }

  for (const [method, make] of [
    ['mkdirs', (router: MethodClient, path: string) => router.call('ClientProtocol.mkdirs', mkdirsRequest(path))],
    ['create', (router: MethodClient, path: string) => router.call('ClientProtocol.create', createRequest(path))],
  ] as const) {
    prove(
      'ClientProtocol.mkdirs',
      `${method}: the directories above that one location has get their own permission in the others`,
      { mounts: [severalMount()] },
      async (cluster) => {
        const { router, ns0, ns1 } = await clientsOf(cluster);
        await router.call('ClientProtocol.mkdirs', mkdirsRequest('/m/top'));
        for (const below of ['/1', '/1/2/3', '/1/2/3/4/5']) {
          await ns1.call('ClientProtocol.mkdirs', mkdirsRequest('/m1/top/x/y', true, 0o755));
          await ns1.call('ClientProtocol.setPermission', { src: '/m1/top/x', permission: { perm: 0o711 } });
          await ns1.call('ClientProtocol.setPermission', { src: '/m1/top/x/y', permission: { perm: 0o1770 } });
          await make(router, `/m/top/x/y${below}`);
          for (const [path, perm] of [
            ['/top/x', 0o711],
            ['/top/x/y', 0o1770],
          ] as const) {
            for (const [i, ns] of [ns0, ns1].entries())
              expect(await statusOf(ns, `/m${i}${path}`)).toMatchObject({ permission: { perm } });
          }
          await router.call('ClientProtocol.delete', { src: '/m/top/x', recursive: true });
        }
      },
    );
  }

  prove(
    'ClientProtocol.mkdirs',
    'HASH: where it is already, else in the first location',
    {
      mounts: [severalMount('HASH')],
    },
    async (cluster) => {
      const { router, ns0, ns1, typesAt } = await clientsOf(cluster);
      for (const name of ['a', 'b', 'c']) {
        expect(await router.call('ClientProtocol.mkdirs', mkdirsRequest(`/m/${name}/x`))).toEqual({ result: true });
        expect((await typesAt(`/${name}/x`)).toSorted()).toEqual(['', 'IS_DIR']);
      }
      for (const [i, ns] of [ns0, ns1].entries()) {
        await ns.call('ClientProtocol.mkdirs', mkdirsRequest(`/m${i}/there${i}`));
        const before = await typesAt(`/there${i}`);
        expect(await router.call('ClientProtocol.mkdirs', mkdirsRequest(`/m/there${i}`))).toEqual({ result: true });
        expect(await typesAt(`/there${i}`)).toEqual(before);
      }
    },
  );

  for (const order of ['HASH', 'LOCAL']) {
    prove(
      'ClientProtocol.mkdirs',
      `${order}: below a directory, where that is; the targets of the mount do not count`,
      { mounts: [severalMount(order)] },
      async (cluster) => {
        const { router, ns0, ns1, typesAt } = await clientsOf(cluster);
        await ns0.call('ClientProtocol.mkdirs', mkdirsRequest('/m0'));
        await router.call('ClientProtocol.mkdirs', mkdirsRequest('/m/hashed/x'));
        const hashed = await typesAt('/hashed/x');
        await router.call('ClientProtocol.delete', { src: '/m/hashed', recursive: true });
        const [owner, other] = hashed[0] === '' ? [1, 0] : [0, 1];
        for (const at of [owner, other]) {
          const ns = [ns0, ns1][at];
          await ns?.call('ClientProtocol.mkdirs', mkdirsRequest(`/m${at}/hashed`));
          for (const below of ['/hashed/y', '/hashed/y/z/z']) {
            await router.call('ClientProtocol.mkdirs', mkdirsRequest(`/m${below}`));
            expect(await typesAt(below)).toEqual(at === 0 ? ['IS_DIR', ''] : ['', 'IS_DIR']);
          }
          await router.call('ClientProtocol.delete', { src: '/m/hashed', recursive: true });
          // Without a directory the order says where.
          await router.call('ClientProtocol.mkdirs', mkdirsRequest('/m/hashed/x'));
          expect(await typesAt('/hashed/x')).toEqual(hashed);
          await router.call('ClientProtocol.delete', { src: '/m/hashed', recursive: true });
        }
      },
    );
  }

  prove(
    'ClientProtocol.mkdirs',
    'HASH: a file far above is in the way, in whichever nameservice',
    { mounts: [severalMount('HASH')] },
    async (cluster) => {
      const { router, ns0, ns1, typesAt } = await clientsOf(cluster);
      for (const [i, ns] of [ns0, ns1].entries()) {
        await ns.call('ClientProtocol.mkdirs', mkdirsRequest(`/m${i}`));
        await ns.call('ClientProtocol.create', createRequest(`/m${i}/file${i}`));
        for (const below of ['x', 'x/y', 'x/y/z']) {
          const path = `/m/file${i}/${below}`;
          const expected = `ParentNotDirectoryException: /m/file${i} (is not a directory)`;
          expect(await refusal(router.call('ClientProtocol.mkdirs', mkdirsRequest(path)))).toBe(expected);
          expect(await refusal(router.call('ClientProtocol.create', createRequest(path)))).toBe(expected);
        }
        expect((await typesAt(`/file${i}`)).toSorted()).toEqual(['', 'IS_FILE']);
      }
    },
  );
});

describe('delete', () => {
  prove(
    'ClientProtocol.delete',
    'a directory goes everywhere, a file where it is',
    {
      mounts: [severalMount()],
    },
    async (cluster) => {
      const { router, ns0, typesAt } = await clientsOf(cluster);
      await router.call('ClientProtocol.create', createRequest('/m/d/file'));
      await router.call('ClientProtocol.create', createRequest('/m/d/e/file'));
      const remove = (src: string, recursive: boolean) => router.call('ClientProtocol.delete', { src, recursive });
      expect(await remove('/m/d/file', false)).toEqual({ result: true });
      expect(await typesAt('/d/file')).toEqual(NONE);
      expect(await remove('/m/d/file', false)).toEqual({ result: false });
      expect(await remove('/m/d', true)).toEqual({ result: true });
      expect(await typesAt('/d')).toEqual(NONE);
      await ns0.call('ClientProtocol.mkdirs', mkdirsRequest('/m0/half'));
      expect(await remove('/m/half', false)).toEqual({ result: true });
      expect(cluster.router.count('divergences')).toBe(0);
    },
  );

  prove(
    'ClientProtocol.delete',
    'not recursive: refused when any location has something in the directory',
    {
      mounts: [severalMount()],
    },
    async (cluster) => {
      const { router, ns0, ns1, typesAt } = await clientsOf(cluster);
      for (const [i, ns] of [ns0, ns1].entries()) {
        await router.call('ClientProtocol.mkdirs', mkdirsRequest(`/m/d${i}`));
        await ns.call('ClientProtocol.create', createRequest(`/m${i}/d${i}/file`));
        expect(await refusal(router.call('ClientProtocol.delete', { src: `/m/d${i}`, recursive: false }))).toBe(
          `PathIsNotEmptyDirectoryException: \`/m/d${i} is non empty': Directory is not empty`,
        );
        expect(await typesAt(`/d${i}`)).toEqual(DIRECTORY);
        await ns.call('ClientProtocol.delete', { src: `/m${i}/d${i}/file`, recursive: false });
        expect(await router.call('ClientProtocol.delete', { src: `/m/d${i}`, recursive: false })).toEqual({
          result: true,
        });
        expect(await typesAt(`/d${i}`)).toEqual(NONE);
      }
    },
  );

  prove(
    'ClientProtocol.delete',
    'HASH: the first location that has it',
    {
      mounts: [severalMount('HASH')],
    },
    async (cluster) => {
      const { router, ns0, ns1, typesAt } = await clientsOf(cluster);
      for (const [i, ns] of [ns0, ns1].entries()) await ns.call('ClientProtocol.mkdirs', mkdirsRequest(`/m${i}/d${i}`));
      for (const i of [0, 1]) {
        const request = { src: `/m/d${i}`, recursive: false };
        expect(await router.call('ClientProtocol.delete', request)).toEqual({ result: true });
        expect(await typesAt(`/d${i}`)).toEqual(NONE);
        expect(await router.call('ClientProtocol.delete', request)).toEqual({ result: false });
      }
    },
  );

  for (const order of ['LOCAL', 'HASH']) {
    prove(
      'ClientProtocol.delete',
      `${order}: a directory that several have is gone, and is kept when one has something in it`,
      {
        mounts: [severalMount(order)],
      },
      async (cluster) => {
        const { router, ns0, ns1, typesAt } = await clientsOf(cluster);
        await ns0.call('ClientProtocol.mkdirs', mkdirsRequest('/m0/d'));
        await ns1.call('ClientProtocol.create', createRequest('/m1/d/file'));
        const remove = (recursive: boolean) => router.call('ClientProtocol.delete', { src: '/m/d', recursive });
        expect(await refusal(remove(false))).toContain("`/m/d is non empty'");
        expect(await typesAt('/d')).toEqual(DIRECTORY);
        expect(await remove(true)).toEqual({ result: true });
        expect(await typesAt('/d')).toEqual(NONE);
        expect(await remove(true)).toEqual({ result: false });
      },
    );
  }

  prove('ClientProtocol.delete', 'the mount point itself is refused', { mounts: [severalMount()] }, async (cluster) => {
    const { router } = await clientsOf(cluster);
    expect(await refusal(router.call('ClientProtocol.delete', { src: '/m', recursive: true }))).toContain(
      'AccessControlException: The operation is not allowed because the path: /m is a mount point',
    );
  });
});

describe('above mount points', () => {
  const options = {
    mounts: ['/top/a/b=ns1:/b'],
    keys: { 'dfs.federation.router.default.nameservice.enable': 'false' },
  };
  prove('ClientProtocol.mkdirs', 'without a default nameservice the directory is there', options, async (cluster) => {
    const { router } = await clientsOf(cluster);
    for (const path of ['/', '/top', '/top/a', '/top//a/']) {
      expect(await router.call('ClientProtocol.mkdirs', mkdirsRequest(path)), path).toEqual({ result: true });
    }
    expect(await refusal(router.call('ClientProtocol.mkdirs', mkdirsRequest('/top/c')))).toMatch(
      /^RouterResolveException: Cannot find locations for \/top\/c/,
    );
  });
});
