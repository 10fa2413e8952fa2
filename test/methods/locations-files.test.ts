import { describe, expect } from 'vitest';
import type { Plain } from '../../src/wire/messages.ts';
import type { MethodCluster } from '../support/method-cluster.ts';
import { prove } from '../support/prove.ts';
import {
  createRequest,
  mkdirsRequest,
  OVERWRITE,
  refusal,
  severalMount,
  statusOf,
  typesOf,
} from '../support/several-mounts.ts';

/** Files under a mount with several destinations: each lives in one location, and every call about it finds it there. */

const MANY = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
const ONE_FILE = ['', 'IS_FILE'];

async function clientsOf(cluster: MethodCluster) {
  const [router, ns0, ns1] = await Promise.all([cluster.connect(), cluster.direct('ns0'), cluster.direct('ns1')]);
  return { router, both: [ns0, ns1], ns0, ns1 };
}

/** A file that only one of the locations has: `first` is where the order of the mount looks first. */
async function placeFile(cluster: MethodCluster, name: string, at: 'first' | 'last', holder: string): Promise<void> {
  const { router, both } = await clientsOf(cluster);
  await router.call('ClientProtocol.create', createRequest(`/m/${name}`, { clientName: holder }));
  const first = (await typesOf(both, [`/m0/${name}`, `/m1/${name}`])).indexOf('IS_FILE');
  if (at === 'first') return;
  for (const ns of both) await ns.call('ClientProtocol.mkdirs', mkdirsRequest(ns === both[0] ? '/m0' : '/m1'));
  await both[first]?.call('ClientProtocol.delete', { src: `/m${first}/${name}`, recursive: false });
  await both[1 - first]?.call('ClientProtocol.create', createRequest(`/m${1 - first}/${name}`, { clientName: holder }));
}

describe('create', () => {
  prove(
    'ClientProtocol.create',
    'each file in one location, by its hash, and its nameservice in the answer',
    {
      mounts: [severalMount()],
    },
    async (cluster) => {
      const { router, both } = await clientsOf(cluster);
      const places = new Set<string>();
      for (const name of MANY) {
        const { fs } = await router.call('ClientProtocol.create', createRequest(`/m/${name}`));
        const types = await typesOf(both, [`/m0/${name}`, `/m1/${name}`]);
        expect(types.toSorted()).toEqual(ONE_FILE);
        const nameservice = `ns${types.indexOf('IS_FILE')}`;
        expect((fs as Plain)['namespace']).toBe(nameservice);
        places.add(nameservice);
      }
      expect([...places].sort()).toEqual(['ns0', 'ns1']);
    },
  );

  prove(
    'ClientProtocol.create',
    'makes missing parents everywhere, with the permission that they inherit',
    {
      mounts: [severalMount()],
    },
    async (cluster) => {
      const { router, both } = await clientsOf(cluster);
      await router.call('ClientProtocol.mkdirs', mkdirsRequest('/m/d', true, 0o750));
      await router.call('ClientProtocol.create', createRequest('/m/d/x/y/file', { masked: { perm: 0o600 } }));
      for (const [i, ns] of both.entries()) {
        for (const below of ['x', 'x/y']) {
          expect(await statusOf(ns, `/m${i}/d/${below}`)).toMatchObject({
            fileType: 'IS_DIR',
            permission: { perm: 0o750 },
          });
        }
      }
    },
  );

  prove(
    'ClientProtocol.create',
    'without createParent a missing parent is refused, one that some location has is used',
    {
      mounts: [severalMount('HASH')],
    },
    async (cluster) => {
      const { router, both, ns0, ns1 } = await clientsOf(cluster);
      const request = createRequest('/m/d/file', { createParent: false });
      expect(await refusal(router.call('ClientProtocol.create', request))).toContain('FileNotFoundException: Parent');
      for (const [i, ns] of [ns0, ns1].entries()) {
        await ns.call('ClientProtocol.mkdirs', mkdirsRequest(`/m${i}/d${i}`));
        await router.call('ClientProtocol.create', createRequest(`/m/d${i}/file`, { createParent: false }));
      }
      expect(await typesOf(both, ['/m0/d0/file', '/m1/d1/file'])).toEqual(['IS_FILE', 'IS_FILE']);
    },
  );

  for (const order of ['HASH', 'LOCAL']) {
    prove(
      'ClientProtocol.create',
      `${order}: where its directory is, or the nearest above it`,
      { mounts: [severalMount(order)] },
      async (cluster) => {
        const { router, both } = await clientsOf(cluster);
        for (const [i, ns] of both.entries()) {
          for (const name of MANY) {
            await ns.call('ClientProtocol.mkdirs', mkdirsRequest(`/m${i}/${name}${i}`));
            for (const below of [`${name}${i}/file`, `${name}${i}/x/y/file`]) {
              await router.call('ClientProtocol.create', createRequest(`/m/${below}`));
              const types = await typesOf(both, [`/m0/${below}`, `/m1/${below}`]);
              expect(types).toEqual(i === 0 ? ['IS_FILE', ''] : ['', 'IS_FILE']);
            }
          }
        }
      },
    );
  }

  prove(
    'ClientProtocol.create',
    'a file that exists is overwritten, or refused, where it is',
    {
      mounts: [severalMount()],
    },
    async (cluster) => {
      const { router, both } = await clientsOf(cluster);
      for (const name of MANY.slice(0, 4)) {
        await placeFile(cluster, name, 'last', `w-${name}`);
        const before = await typesOf(both, [`/m0/${name}`, `/m1/${name}`]);
        const again = createRequest(`/m/${name}`, { clientName: `w-${name}` });
        expect(await refusal(router.call('ClientProtocol.create', again))).toMatch(/^(FileAlready|AlreadyBeing)/);
        await router.call('ClientProtocol.create', { ...again, createFlag: 1 | OVERWRITE });
        expect(await typesOf(both, [`/m0/${name}`, `/m1/${name}`])).toEqual(before);
      }
    },
  );

  prove(
    'ClientProtocol.create',
    'a directory or a file in the way is refused as by one NameNode, and nothing is made',
    {
      mounts: [severalMount()],
    },
    async (cluster) => {
      const { router, both } = await clientsOf(cluster);
      await router.call('ClientProtocol.create', createRequest('/m/file'));
      await router.call('ClientProtocol.mkdirs', mkdirsRequest('/m/dir'));
      const create = (path: string) => refusal(router.call('ClientProtocol.create', createRequest(path)));
      expect(await create('/m/dir')).toBe('FileAlreadyExistsException: /m/dir already exists as a directory');
      for (const below of ['x', 'x/y', 'x/y/z']) {
        expect(await create(`/m/file/${below}`)).toBe('ParentNotDirectoryException: /m/file (is not a directory)');
      }
      expect((await typesOf(both, ['/m0/file', '/m1/file'])).toSorted()).toEqual(ONE_FILE);
    },
  );

  prove(
    'ClientProtocol.create',
    'over a mount of / the parent is /',
    {
      mounts: [{ ...severalMount(), srcPath: '/' }],
    },
    async (cluster) => {
      const { router, both } = await clientsOf(cluster);
      await router.call('ClientProtocol.create', createRequest('/file'));
      expect((await typesOf(both, ['/m0/file', '/m1/file'])).toSorted()).toEqual(ONE_FILE);
      expect(await typesOf(both, ['/m0', '/m1'])).toEqual(['IS_DIR', 'IS_DIR']);
    },
  );
});

describe('calls that look for the file', () => {
  prove(
    'ClientProtocol.append',
    'where the file is, with its nameservice',
    { mounts: [severalMount()] },
    async (cluster) => {
      const { router, both } = await clientsOf(cluster);
      for (const name of MANY.slice(0, 4)) {
        await placeFile(cluster, name, 'last', 'writer');
        const at = (await typesOf(both, [`/m0/${name}`, `/m1/${name}`])).indexOf('IS_FILE');
        await router.call('ClientProtocol.complete', { src: `/m/${name}`, clientName: 'writer' });
        const { stat } = await router.call('ClientProtocol.append', {
          src: `/m/${name}`,
          clientName: 'writer',
          flag: 4,
        });
        expect((stat as Plain)['namespace']).toBe(`ns${at}`);
      }
      expect(
        await refusal(router.call('ClientProtocol.append', { src: '/m/none', clientName: 'w', flag: 4 })),
      ).toContain('FileNotFoundException: Failed to append to non-existent file /m/none');
    },
  );

  prove(
    'ClientProtocol.getBlockLocations',
    'the location that has it',
    { mounts: [severalMount()] },
    async (cluster) => {
      const { router } = await clientsOf(cluster);
      await placeFile(cluster, 'a', 'last', 'w');
      const request = { src: '/m/a', offset: 0, length: 1 };
      expect((await router.call('ClientProtocol.getBlockLocations', request))['locations']).toMatchObject({
        fileLength: 0,
      });
      expect(await refusal(router.call('ClientProtocol.getBlockLocations', { ...request, src: '/m/none' }))).toBe(
        'FileNotFoundException: File does not exist: /m/none',
      );
    },
  );

  prove('ClientProtocol.isFileClosed', 'false is an answer as well', { mounts: [severalMount()] }, async (cluster) => {
    const { router } = await clientsOf(cluster);
    await placeFile(cluster, 'a', 'last', 'w');
    expect(await router.call('ClientProtocol.isFileClosed', { src: '/m/a' })).toEqual({ result: false });
    await router.call('ClientProtocol.complete', { src: '/m/a', clientName: 'w' });
    expect(await router.call('ClientProtocol.isFileClosed', { src: '/m/a' })).toEqual({ result: true });
  });

  prove('ClientProtocol.recoverLease', 'where the file is', { mounts: [severalMount()] }, async (cluster) => {
    const { router } = await clientsOf(cluster);
    await placeFile(cluster, 'a', 'last', 'w');
    expect(await router.call('ClientProtocol.recoverLease', { src: '/m/a', clientName: 'x' })).toEqual({
      result: true,
    });
    expect(await router.call('ClientProtocol.isFileClosed', { src: '/m/a' })).toEqual({ result: true });
  });

  prove('ClientProtocol.truncate', 'where the file is', { mounts: [severalMount()] }, async (cluster) => {
    const { router } = await clientsOf(cluster);
    await placeFile(cluster, 'a', 'last', 'w');
    await router.call('ClientProtocol.complete', { src: '/m/a', clientName: 'w' });
    const request = { src: '/m/a', newLength: 0, clientName: 'w' };
    expect(await router.call('ClientProtocol.truncate', request)).toEqual({ result: true });
    expect(await refusal(router.call('ClientProtocol.truncate', { ...request, src: '/m/none' }))).toBe(
      'FileNotFoundException: File does not exist: /m/none',
    );
  });

  prove('ClientProtocol.getPreferredBlockSize', 'where the file is', { mounts: [severalMount()] }, async (cluster) => {
    const { router } = await clientsOf(cluster);
    await placeFile(cluster, 'a', 'last', 'w');
    expect(await router.call('ClientProtocol.getPreferredBlockSize', { filename: '/m/a' })).toEqual({ bsize: 1024 });
  });
});
