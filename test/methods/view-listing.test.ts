import { describe, expect } from 'vitest';
import type { Plain } from '../../src/wire/messages.ts';
import type { MethodClient, MethodCluster } from '../support/method-cluster.ts';
import { prove } from '../support/prove.ts';
import { createRequest, mkdirsRequest, severalMount } from '../support/several-mounts.ts';

/** Listings at, above and below mount points: every name once, in byte order, whatever the pages. */

const TWO_A_PAGE = { listingLimit: 2 };
const STARTS = ['a', 'b', '-', '.', 'é', '\u{ffee}', '\u{1f600}'] as const;
const DEFAULT_NS0 = { 'dfs.federation.router.default.nameserviceId': 'ns0' };

interface Page {
  readonly names: string[];
  readonly remaining: number;
  readonly entries: Plain[];
}

async function pageOf(client: MethodClient, src: string, startAfter = '', needLocation = false): Promise<Page | null> {
  const request = { src, startAfter: Buffer.from(startAfter), needLocation };
  const { dirList } = await client.call<{ dirList?: { partialListing: Plain[]; remainingEntries: number } }>(
    'ClientProtocol.getListing',
    request,
  );
  if (dirList === undefined) return null;
  const entries = dirList.partialListing;
  return { names: entries.map(({ path }) => String(path)), remaining: dirList.remainingEntries, entries };
}

/** All pages, as a client reads them. */
async function listAll(client: MethodClient, src: string): Promise<{ names: string[]; entries: Plain[] }> {
  const entries: Plain[] = [];
  for (let last = ''; ; ) {
    const page = (await pageOf(client, src, last)) as Page;
    entries.push(...page.entries);
    if (page.remaining === 0) return { names: entries.map(({ path }) => String(path)), entries };
    expect(page.names.length, `names after ${last}`).toBeGreaterThan(0);
    last = page.names.at(-1) as string;
  }
}

async function put(
  client: MethodClient,
  directory: string,
  files: readonly string[],
  directories: readonly string[] = [],
) {
  await client.call('ClientProtocol.mkdirs', mkdirsRequest(directory));
  for (const name of files) await client.call('ClientProtocol.create', createRequest(`${directory}/${name}`));
  for (const name of directories) await client.call('ClientProtocol.mkdirs', mkdirsRequest(`${directory}/${name}`));
}

async function clientsOf(cluster: MethodCluster) {
  const [router, ns0, ns1] = await Promise.all([cluster.connect(), cluster.direct('ns0'), cluster.direct('ns1')]);
  return { router, ns0, ns1 };
}

describe('a directory in several nameservices', () => {
  prove(
    'ClientProtocol.getListing',
    'every name once and in order, two a page',
    { mounts: [severalMount()], simulator: TWO_A_PAGE },
    async (cluster) => {
      const { router, ns0, ns1 } = await clientsOf(cluster);
      await put(ns0, '/m0', ['a', 'c', 'e', 'y'], ['both', 'only0']);
      await put(ns1, '/m1', ['b', 'd', 'f', 'zz'], ['both']);
      await put(ns0, '/m0/both', ['p', 'q']);
      await put(ns1, '/m1/both', ['r']);
      const { names, entries } = await listAll(router, '/m');
      expect(names).toEqual(['a', 'b', 'both', 'c', 'd', 'e', 'f', 'only0', 'y', 'zz']);
      // The children of a directory in both are those of both.
      expect(entries.filter(({ fileType }) => fileType === 'IS_DIR').map(({ childrenNum }) => childrenNum)).toEqual([
        3, 0,
      ]);
      expect((await listAll(router, '/m/both')).names).toEqual(['p', 'q', 'r']);
    },
  );

  prove(
    'ClientProtocol.getListing',
    'mount points below take their places among the names of the pages',
    { mounts: [severalMount(), '/m/b1=ns1:/b1', '/m/z1=ns1:/z1', '/m/only0=ns1:/o'], simulator: TWO_A_PAGE },
    async (cluster) => {
      const { router, ns0, ns1 } = await clientsOf(cluster);
      await put(ns0, '/m0', ['a', 'c', 'e', 'y'], ['only0']);
      await put(ns1, '/m1', ['a1', 'b', 'd', 'zz']);
      expect((await listAll(router, '/m')).names).toEqual([
        'a',
        'a1',
        'b',
        'b1',
        'c',
        'd',
        'e',
        'only0',
        'y',
        'z1',
        'zz',
      ]);
      // A cursor is a name, whether that still exists or not.
      expect((await pageOf(router, '/m', 'b0'))?.names[0]).toBe('b1');
      expect(await pageOf(router, '/m', 'zz')).toMatchObject({ names: [], remaining: 0 });
    },
  );

  prove(
    'ClientProtocol.getListing',
    'as a NameNode where there is no such path, a file, or no place to go on from',
    { mounts: [severalMount()] },
    async (cluster) => {
      const { router, ns1 } = await clientsOf(cluster);
      expect(await pageOf(router, '/m/none')).toBeNull();
      await put(ns1, '/m1', ['file']);
      expect(await pageOf(router, '/m/file')).toMatchObject({ names: [''], remaining: 0 });
      await expect(pageOf(router, '/m', '/.reserved/.inodes/16386')).rejects.toMatchObject({
        className: 'java.lang.UnsupportedOperationException',
        text: 'A listing of /m, which is made of several places, goes on after a name, not after an inode: /.reserved/.inodes/16386',
      });
    },
  );

  prove(
    'ClientProtocol.getListing',
    'a file and a directory of one name are what their status says',
    { mounts: [severalMount()] },
    async (cluster) => {
      const { router, ns0, ns1 } = await clientsOf(cluster);
      await put(ns0, '/m0', ['x'], ['y']);
      await put(ns1, '/m1', ['y'], ['x']);
      const { entries } = await listAll(router, '/m');
      for (const { path, fileType } of entries) {
        const { fs } = await router.call<{ fs: Plain }>('ClientProtocol.getFileInfo', { src: `/m/${path}` });
        expect([String(path), fileType, fs['fileType']]).toEqual([String(path), 'IS_FILE', 'IS_FILE']);
      }
      expect(entries.length).toBe(2);
    },
  );

  prove(
    'ClientProtocol.getListing',
    'with locations',
    { mounts: [severalMount(), '/m/link=ns0:/file'] },
    async (cluster) => {
      const { router, ns0, ns1 } = await clientsOf(cluster);
      await ns0.call('ClientProtocol.create', createRequest('/file'));
      await put(ns1, '/m1', ['b']);
      const page = (await pageOf(router, '/m', '', true)) as Page;
      expect(
        page.entries.map(({ path, fileType, locations }) => [String(path), fileType, locations !== undefined]),
      ).toEqual([
        ['b', 'IS_FILE', true],
        ['link', 'IS_FILE', true],
      ]);
    },
  );
});

describe('the trash', () => {
  prove(
    'ClientProtocol.getListing',
    'shows what exists and can be reached, however many names cannot',
    { mounts: ['/a=ns0:/a', '/b=ns1:/b', '/b/c=ns0:/c'], simulator: { listingLimit: 1 } },
    async (cluster) => {
      const { router, ns0, ns1 } = await clientsOf(cluster);
      const current = '/user/hdfs/.Trash/Current';
      await put(ns0, current, [], ['a', 'b', 'h1', 'h2', 'h3', 'h4']);
      await put(ns0, `${current}/b`, ['lost'], ['c']);
      await put(ns1, current, [], ['a1', 'b', 'h0']);
      await put(ns1, `${current}/b`, ['f']);
      expect((await listAll(router, current)).names).toEqual(['a', 'b']);
      // Of /b what was deleted in ns1, and the directory that what was deleted under /b/c lies in.
      expect((await listAll(router, `${current}/b`)).names).toEqual(['c', 'f']);
    },
  );
});

describe('mount points in a listing', () => {
  prove(
    'ClientProtocol.getListing',
    'are what their targets are, as their status is',
    {
      mounts: [
        '/a/dir=ns1:/dir',
        '/a/file=ns1:/file',
        '/a/gone=ns1:/gone',
        '/a/b/c=ns1:/dir',
        severalMount('HASH_ALL', { srcPath: '/a/m' }),
      ],
      keys: DEFAULT_NS0,
    },
    async (cluster) => {
      const { router, ns0, ns1 } = await clientsOf(cluster);
      await put(ns1, '/dir', ['1', '2', '3']);
      await ns1.call('ClientProtocol.create', createRequest('/file'));
      await put(ns0, '/m0', ['x']);
      await put(ns1, '/m1', ['y']);
      // A real name that a mount point hides, an ancestor that is really there, and a name of its own.
      await put(ns0, '/a', ['dir', 'own'], ['b']);
      const { names, entries } = await listAll(router, '/a');
      expect(names).toEqual(['b', 'dir', 'file', 'gone', 'm', 'own']);
      for (const entry of entries) {
        const { fs } = await router.call<{ fs: Plain }>('ClientProtocol.getFileInfo', { src: `/a/${entry['path']}` });
        expect({ ...fs, path: entry['path'] }).toEqual(entry);
      }
      expect(entries.map(({ fileType }) => fileType)).toEqual([
        'IS_DIR',
        'IS_DIR',
        'IS_FILE',
        'IS_DIR',
        'IS_DIR',
        'IS_FILE',
      ]);
      expect(entries[1]).toMatchObject({ childrenNum: 3 });
      expect(entries[4]).toMatchObject({ childrenNum: 2 });
      expect(entries[3]).toMatchObject({ owner: 'router', permission: { perm: 0o755 }, fileId: 0 });
    },
  );

  prove(
    'ClientProtocol.getListing',
    'of an ancestor under another mount it is not the root of that mount that is shown',
    { mounts: ['/top=ns0:/t', '/top/p/q=ns1:/q'] },
    async (cluster) => {
      const { router, ns0 } = await clientsOf(cluster);
      await put(ns0, '/t', []);
      await ns0.call('ClientProtocol.setPermission', { src: '/t', permission: { perm: 0o700 } });
      const [p] = (await listAll(router, '/top')).entries;
      expect(p).toMatchObject({ permission: { perm: 0o777 }, owner: 'router', childrenNum: 1 });
      expect((await listAll(router, '/top/p')).names).toEqual(['q']);
    },
  );

  prove(
    'ClientProtocol.getListing',
    'many of them come in several pages, the whole table of a missing target too',
    { mounts: Array.from({ length: 700 }, (_, i) => `/d/m${String(i).padStart(3, '0')}=ns1:/x${i}`) },
    async (cluster) => {
      const router = await cluster.connect();
      const first = (await pageOf(router, '/d')) as Page;
      expect([first.names.length, first.remaining > 0]).toEqual([256, true]);
      const { names } = await listAll(router, '/d');
      expect(names).toEqual(Array.from({ length: 700 }, (_, i) => `m${String(i).padStart(3, '0')}`));
    },
  );

  prove(
    'ClientProtocol.getListing',
    'of a file in the way of mount points nothing is seen',
    { mounts: ['/f/m=ns1:/m'], keys: DEFAULT_NS0 },
    async (cluster) => {
      const { router, ns0 } = await clientsOf(cluster);
      await ns0.call('ClientProtocol.create', createRequest('/f'));
      expect((await listAll(router, '/f')).names).toEqual(['m']);
      const [f] = (await listAll(router, '/')).entries;
      expect(f).toMatchObject({ path: Buffer.from('f'), fileType: 'IS_DIR' });
      const { fs } = await router.call<{ fs: Plain }>('ClientProtocol.getFileInfo', { src: '/f' });
      expect(fs).toMatchObject({ fileType: 'IS_DIR', path: Buffer.alloc(0) });
    },
  );
});

describe('random trees and mount tables', () => {
  /** A small generator: the same trees in every run. */
  function* randoms(seed: number): Generator<number, never> {
    for (let state = seed; ; ) {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      yield state / 2 ** 32;
    }
  }

  for (const seed of [1, 2, 3]) {
    const random = randoms(seed);
    const pick = (most: number): number => Math.floor(random.next().value * most);
    const some = (): string[] => [
      ...new Set(Array.from({ length: pick(9) }, () => STARTS[pick(STARTS.length)] + String(pick(40)))),
    ];
    const mountNames = some();
    const order = ['HASH', 'HASH_ALL'][pick(2)] as string;
    prove(
      'ClientProtocol.getListing',
      `are listed as one plain directory (seed ${seed})`,
      {
        mounts: [severalMount(order), ...mountNames.map((name) => `/m/${name}=ns0:/elsewhere`)],
        simulator: { listingLimit: 1 + pick(3) },
      },
      async (cluster) => {
        const { router, ns0, ns1 } = await clientsOf(cluster);
        const sets = [some(), some(), some(), some()] as const;
        await put(
          ns0,
          '/m0',
          sets[0],
          sets[1].filter((name) => !sets[0].includes(name)),
        );
        await put(
          ns1,
          '/m1',
          sets[2],
          sets[3].filter((name) => !sets[2].includes(name)),
        );
        const all = [...new Set([...sets.flat(), ...mountNames])].map((name) => Buffer.from(name));
        const expected = all.sort(Buffer.compare).map(String);
        expect((await listAll(router, '/m')).names).toEqual(expected);
        for (const [i, name] of expected.entries()) {
          const page = (await pageOf(router, '/m', name)) as Page;
          expect(page.names).toEqual(expected.slice(i + 1, i + 1 + page.names.length));
          expect(page.remaining > 0).toBe(i + 1 + page.names.length < expected.length);
        }
      },
    );
  }
});
