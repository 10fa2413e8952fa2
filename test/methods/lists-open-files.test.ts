import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_NARROWED_MOUNTS } from '../../src/composed/lists/reach.ts';
import type { Plain } from '../../src/wire/messages.ts';
import type { MountRecord } from '../support/inline-router.ts';
import { makeTree } from '../support/make-tree.ts';
import { type MethodClient, MethodCluster } from '../support/method-cluster.ts';
import { prove } from '../support/prove.ts';
import { refusal, severalMount } from '../support/several-mounts.ts';

const LIST = 'ClientProtocol.listOpenFiles';
const PAGES_OF_2 = { simulator: { listingLimit: 2 } };
const DEFAULT_NS0 = { keys: { 'dfs.federation.router.default.nameserviceId': 'ns0' } };
const NAMES_OF_20 = Array.from({ length: 20 }, (_, i) => `n${i}`);
const MOUNTS = ['/m=ns1:/target', '/m/in=ns0:/inner', '/z=ns1:/target/z'];

interface OpenFiles {
  readonly entries: Plain[];
  readonly hasMore: boolean;
  readonly types: string[];
}

/** All pages, as Hadoop's iterator asks for them: behind the last entry's id, until there is no more or a page is empty. */
async function pagesOf(client: MethodClient, request: Plain = {}): Promise<Plain[][]> {
  const pages: Plain[][] = [];
  let id: Plain['id'] = 0;
  for (;;) {
    const page: OpenFiles = await client.call<OpenFiles>(LIST, {
      types: ['ALL_OPEN_FILES'],
      path: '/',
      ...request,
      id,
    });
    pages.push(page.entries);
    const last = page.entries.at(-1);
    if (!page.hasMore || last === undefined) return pages;
    id = last['id'] as bigint;
  }
}

async function pathsOf(client: MethodClient, path = '/'): Promise<string[]> {
  const entries = (await pagesOf(client, { path })).flat();
  expect(new Set(entries.map(({ id }) => String(id))).size).toBe(entries.length);
  return entries.map((entry) => String(entry['path'])).sort();
}

describe('open files', () => {
  prove(
    LIST,
    'of all nameservices, each once under its client path',
    { mounts: MOUNTS, ...DEFAULT_NS0, ...PAGES_OF_2 },
    async (cluster) => {
      const [client, ns0, ns1] = [await cluster.connect(), await cluster.direct('ns0'), await cluster.direct('ns1')];
      // Both give out the same inode numbers.
      await makeTree(ns0, ['/a', '/b', '/c', '/m/hidden', '/inner/i', '/d']);
      await makeTree(ns1, ['/unseen', '/target/a', '/target/z/f', '/target/in/hidden', '/targetnot', '/target/b']);
      const expected = ['/a', '/b', '/c', '/d', '/m/a', '/m/b', '/m/in/i', '/z/f'];
      expect(await pathsOf(client)).toEqual(expected);
      const pages = await pagesOf(client);
      expect(pages.length).toBeGreaterThan(3);
      expect(pages.every((page) => page.length > 0)).toBe(true);
      const ids = pages.flat().map(({ id }) => BigInt(id as bigint));
      expect(ids).toEqual(ids.toSorted((a, b) => (a < b ? -1 : 1)));
      expect(await pathsOf(client, '')).toEqual(expected);
    },
  );

  prove(LIST, 'below a path', { mounts: MOUNTS, ...DEFAULT_NS0, ...PAGES_OF_2 }, async (cluster) => {
    const [client, ns0, ns1] = [await cluster.connect(), await cluster.direct('ns0'), await cluster.direct('ns1')];
    await makeTree(ns0, ['/a', '/inner/i', '/innernot']);
    await makeTree(ns1, ['/target/a', '/target/z/f', '/target/z/g', '/target/in/hidden', '/targetnot/f']);
    expect(await pathsOf(client, '/m')).toEqual(['/m/a', '/m/in/i', '/m/z/f', '/m/z/g']);
    expect(await pathsOf(client, '/m/')).toEqual(['/m/a', '/m/in/i', '/m/z/f', '/m/z/g']);
    expect(await pathsOf(client, '/z')).toEqual(['/z/f', '/z/g']);
    expect(await pathsOf(client, '/m/z/f')).toEqual(['/m/z/f']);
    expect(await pathsOf(client, '/m/in')).toEqual(['/m/in/i']);
    expect(await pathsOf(client, '/nothing')).toEqual([]);
  });

  prove(LIST, 'with several locations', { mounts: [severalMount()], ...PAGES_OF_2 }, async (cluster) => {
    const [client, ns0, ns1] = [await cluster.connect(), await cluster.direct('ns0'), await cluster.direct('ns1')];
    await makeTree(ns0, ['/m0/a', '/m0/d/b', '/m0/c']);
    await makeTree(ns1, ['/m1/d/e', '/m1/f', '/m1/g', '/m0/no']);
    expect(await pathsOf(client, '/m')).toEqual(['/m/a', '/m/c', '/m/d/b', '/m/d/e', '/m/f', '/m/g']);
    expect(await pathsOf(client, '/m/d')).toEqual(['/m/d/b', '/m/d/e']);
    expect(await pathsOf(client)).toContain('/m/d/e');
  });

  prove(LIST, 'who has them open, and what was asked for', { mounts: MOUNTS }, async (cluster) => {
    const [client, ns1] = [await cluster.connect(), await cluster.direct('ns1')];
    await makeTree(ns1, ['/target/a']);
    const { entries, types, hasMore } = await client.call<OpenFiles>(LIST, {
      id: 0,
      types: ['ALL_OPEN_FILES'],
      path: '/m',
    });
    expect(entries).toMatchObject([{ path: '/m/a', clientName: 'tree', clientMachine: '127.0.0.1' }]);
    expect([types, hasMore]).toEqual([['ALL_OPEN_FILES'], false]);
    expect(await pagesOf(client, { types: ['BLOCKING_DECOMMISSION'] })).toEqual([[]]);
  });

  prove(
    LIST,
    'of very many nameservices',
    { nameservices: NAMES_OF_20, mounts: NAMES_OF_20.map((name) => `/m/${name}=${name}:/t`), ...PAGES_OF_2 },
    async (cluster) => {
      const expected: string[] = [];
      for (const name of NAMES_OF_20) {
        const files = name === 'n7' || name === 'n12' ? ['f', 'g', 'h', 'i'] : ['f'];
        const direct = await cluster.direct(name);
        await makeTree(
          direct,
          files.map((each) => `/t/${each}`),
        );
        expected.push(...files.map((each) => `/m/${name}/${each}`));
      }
      expect(await pathsOf(await cluster.connect())).toEqual(expected.sort());
    },
  );

  prove(LIST, "in the caller's trash", { mounts: MOUNTS, ...DEFAULT_NS0, ...PAGES_OF_2 }, async (cluster) => {
    const [client, ns0, ns1] = [await cluster.connect(), await cluster.direct('ns0'), await cluster.direct('ns1')];
    const trash = '/user/hdfs/.Trash/Current';
    await makeTree(ns0, [`${trash}/a`, '/b']);
    await makeTree(ns1, [`${trash}/m/a`, `${trash}/m/b`, '/target/f']);
    expect(await pathsOf(client, '/user/hdfs/.Trash')).toEqual([`${trash}/a`, `${trash}/m/a`, `${trash}/m/b`]);
    expect(await pathsOf(client, `${trash}/m`)).toEqual([`${trash}/m/a`, `${trash}/m/b`]);
  });

  prove(LIST, 'for superusers', { mounts: MOUNTS }, async (cluster) => {
    const alice = await cluster.connect('alice');
    expect(await refusal(alice.call(LIST, { id: 0, types: [], path: '/' }))).toMatch(/^AccessControlException: /);
  });

  prove(
    LIST,
    'ids of one nameservice stay as they are',
    { nameservices: ['ns0'], mounts: ['/m=ns0:/t'], ...DEFAULT_NS0 },
    async (cluster) => {
      const [client, ns0] = [await cluster.connect(), await cluster.direct('ns0')];
      await makeTree(ns0, ['/t/a', '/b']);
      const { entries } = await ns0.call<OpenFiles>(LIST, { id: 0, types: [], path: '/' });
      expect((await pagesOf(client)).flat().map(({ id }) => id)).toEqual(entries.map(({ id }) => id));
      expect(await pathsOf(client)).toEqual(['/b', '/m/a']);
    },
  );

  prove(
    LIST,
    'without a default nameservice, and below a directory of mount points',
    {
      mounts: ['/top/one=ns0:/one', '/top/two=ns1:/two'],
      ...PAGES_OF_2,
    },
    async (cluster) => {
      const [client, ns0, ns1] = [await cluster.connect(), await cluster.direct('ns0'), await cluster.direct('ns1')];
      await makeTree(ns0, ['/one/a', '/one/b', '/one/c', '/elsewhere']);
      await makeTree(ns1, ['/two/a']);
      const expected = ['/top/one/a', '/top/one/b', '/top/one/c', '/top/two/a'];
      expect(await pathsOf(client)).toEqual(expected);
      expect(await pathsOf(client, '/top')).toEqual(expected);
      expect(await refusal(client.call(LIST, { id: 0, types: [], path: '/none' }))).toMatch(
        /^RouterResolveException: /,
      );
    },
  );
});

describe('open files below very many mount points', () => {
  const MANY = MAX_NARROWED_MOUNTS + 1;
  const many = (target: string): string[] => Array.from({ length: MANY }, (_, i) => `/many/${i}=ns1:${target}/${i}`);

  prove(LIST, 'of the whole nameservice', { mounts: many('/t') }, async (cluster) => {
    const [client, ns1] = [await cluster.connect(), await cluster.direct('ns1')];
    await makeTree(ns1, ['/t/0/f', `/t/${MANY - 1}/f`, '/unseen', '/u/1/f']);
    const listed = pathsOf(client, '/many');
    // The table changes while the way back is made from it.
    for (let turn = 0; turn < 3; turn++) await nextTurn();
    cluster.router.swapMounts(many('/u'));
    await listed;
    expect(await pathsOf(client, '/many')).toEqual(['/many/1/f']);
    cluster.router.swapMounts(many('/t'));
    expect(await pathsOf(client, '/many')).toEqual(['/many/0/f', `/many/${MANY - 1}/f`]);
  });
});

describe('open files of random trees', () => {
  const NAMESERVICES = ['ns0', 'ns1', 'ns2'];
  const RUNS = 15;
  const TIME_LIMIT_MS = 10_000;
  const directory = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 3 }).map((names) => `/${names.join('/')}`);
  const file = fc.tuple(directory, fc.constantFrom('f', 'g')).map(([parent, name]) => join(parent, name));
  const trees = fc.array(fc.uniqueArray(file, { maxLength: 7 }), { minLength: 3, maxLength: 3 });
  const destination = fc.record({ nameserviceId: fc.constantFrom(...NAMESERVICES), path: directory });
  const table = fc.uniqueArray(
    fc.record({ srcPath: directory, destinations: fc.tuple(destination).map((one) => [...one]) }),
    { selector: ({ srcPath }) => srcPath, maxLength: 5 },
  );

  function join(parent: string, name: string): string {
    return parent === '/' ? `/${name}` : `${parent}/${name}`;
  }

  function isBelow(path: string, top: string): boolean {
    return top === '/' || path === top || path.startsWith(`${top}/`);
  }

  /** Where a client's path leads, by trying all mounts. */
  function placeOf(mounts: readonly MountRecord[], path: string): string {
    const covering = mounts.filter(({ srcPath }) => isBelow(path, srcPath));
    const deepest = covering.toSorted((a, b) => b.srcPath.length - a.srcPath.length)[0];
    const [to] = deepest?.destinations ?? [{ nameserviceId: 'ns0', path: '/' }];
    const top = deepest?.srcPath ?? '/';
    const rest = top === '/' ? path.slice(1) : path.slice(top.length + 1);
    return `${to?.nameserviceId}:${rest === '' ? to?.path : join(to?.path ?? '/', rest)}`;
  }

  it('are all that can be seen below a path, each once', async () => {
    await fc.assert(
      fc.asyncProperty(
        trees,
        fc.array(table, { minLength: 1, maxLength: 5 }),
        directory,
        async (files, tables, below) => {
          await using cluster = await MethodCluster.start({
            nameservices: NAMESERVICES,
            keys: { 'dfs.federation.router.default.nameserviceId': 'ns0' },
            ...PAGES_OF_2,
          });
          const client = await cluster.connect();
          const open = new Set<string>();
          for (const [i, paths] of files.entries()) {
            const name = NAMESERVICES[i] as string;
            const direct = await cluster.direct(name);
            await makeTree(direct, paths);
            for (const path of paths) open.add(`${name}:${path}`);
            expect((await pathsOf(direct)).length).toBe(paths.length);
          }
          for (const mounts of tables) {
            cluster.router.swapMounts(mounts);
            for (const top of ['/', below]) {
              const listed = (await pagesOf(client, { path: top })).flat().map(({ path }) => String(path));
              for (const path of listed) expect(isBelow(path, top), `${path} below ${top}`).toBe(true);
              const places = listed.map((path) => placeOf(mounts, path));
              // Every client path of a file is a mount point, or the root, and the rest of the file's path behind a destination.
              const seen = [...open].filter((place) =>
                clientPaths(mounts, place).some((path) => isBelow(path, top) && placeOf(mounts, path) === place),
              );
              expect(places.toSorted()).toEqual(seen.toSorted());
            }
          }
        },
      ),
      { numRuns: RUNS, interruptAfterTimeLimit: TIME_LIMIT_MS },
    );
  });

  function clientPaths(mounts: readonly MountRecord[], place: string): string[] {
    const [name, path = ''] = place.split(':');
    const all = [...mounts, { srcPath: '/', destinations: [{ nameserviceId: 'ns0', path: '/' }] }];
    return all.flatMap(({ srcPath, destinations }) =>
      destinations
        .filter((to) => to.nameserviceId === name && isBelow(path, to.path))
        .map((to) => {
          const rest = to.path === '/' ? path.slice(1) : path.slice(to.path.length + 1);
          return rest === '' ? srcPath : join(srcPath, rest);
        }),
    );
  }
});
