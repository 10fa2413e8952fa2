import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Plain } from '../../src/wire/messages.ts';
import type { MountRecord } from '../support/inline-router.ts';
import { makeTree } from '../support/make-tree.ts';
import { type MethodClient, MethodCluster } from '../support/method-cluster.ts';
import { join, PlainView } from '../support/plain-view.ts';

/**
 * Content summaries and quota usage of random trees under random mount tables, against counts of the tree as a client sees it. Destinations lie wherever
 * they like: inside one another, on the same directory, nowhere; mounts hide real directories.
 */

const NAMESERVICES = ['ns0', 'ns1', 'ns2', 'home'];
/** Where destinations of random mounts lie. */
const OTHERS = ['ns0', 'ns1', 'ns2'];
const RUNS = 150;
const TABLES_PER_RUN = 6;
const TIME_LIMIT_MS = 90_000;
const DIRECTORY_NAMES = ['a', 'b', 'c'];
const FILE_NAMES = ['f', 'g'];
const SUMMARY = 'ClientProtocol.getContentSummary';
const ORDERS = ['HASH', 'HASH_ALL', 'RANDOM', 'LOCAL'];

const directory = fc.array(fc.constantFrom(...DIRECTORY_NAMES), { maxLength: 3 }).map((names) => `/${names.join('/')}`);
const file = fc.tuple(directory, fc.constantFrom(...FILE_NAMES)).map(([parent, name]) => join(parent, name));
const tree = fc.uniqueArray(fc.oneof(file, directory), { minLength: 1, maxLength: 8 });
const destination = fc.record({ nameserviceId: fc.constantFrom(...OTHERS), path: directory });
const singleMounts = fc.uniqueArray(
  fc.record({ srcPath: directory, destinations: fc.tuple(destination).map((one) => [...one]) }),
  { selector: ({ srcPath }) => srcPath, maxLength: 5 },
);

/** Destinations of their own for each mount: what is one directory of several locations can then be told by its client's path. */
const severalMounts = fc
  .uniqueArray(
    fc.record({ srcPath: directory, destOrder: fc.constantFrom(...ORDERS), count: fc.integer({ min: 1, max: 3 }) }),
    { selector: ({ srcPath }) => srcPath, minLength: 1, maxLength: 4 },
  )
  .map((mounts) =>
    mounts.map(({ srcPath, destOrder, count }, i) => ({
      srcPath,
      destOrder,
      destinations: OTHERS.slice(0, count).map((nameserviceId) => ({ nameserviceId, path: `/to${i}` })),
    })),
  );

async function summaryOf(client: MethodClient, path: string): Promise<{ files: number; directories: number } | null> {
  try {
    const { summary } = await client.call<{ summary: Plain }>(SUMMARY, { path });
    return { files: summary['fileCount'] as number, directories: summary['directoryCount'] as number };
  } catch (error) {
    expect(error).toMatchObject({ className: 'java.io.FileNotFoundException' });
    return null;
  }
}

/** Compares every path that the table or the trees know, and what is above it. */
async function compareAll(client: MethodClient, view: PlainView, paths: Iterable<string>): Promise<void> {
  for (const path of paths) {
    const expected = view.count(path);
    expect({ path, ...(await summaryOf(client, path)) }).toEqual({ path, ...expected });
    if (expected === null) continue;
    const { usage } = await client.call<{ usage: Plain }>('ClientProtocol.getQuotaUsage', { path });
    expect({ path, names: usage['fileAndDirectoryCount'] }).toEqual({
      path,
      names: expected.files + expected.directories,
    });
  }
}

async function withCluster(
  defaultNameservice: string,
  trees: readonly (readonly string[])[],
  run: (cluster: MethodCluster, client: MethodClient) => Promise<void>,
): Promise<void> {
  await using cluster = await MethodCluster.start({
    nameservices: NAMESERVICES,
    keys: { 'dfs.federation.router.default.nameserviceId': defaultNameservice },
  });
  for (const [i, paths] of trees.entries()) {
    const client = await cluster.direct(NAMESERVICES[i] as string);
    await makeTree(
      client,
      paths.map((path) => (isFile(path) || path === '/' ? path : `${path}/`)),
    );
  }
  await run(cluster, await cluster.connect());
}

function isFile(path: string): boolean {
  return FILE_NAMES.some((name) => path.endsWith(`/${name}`));
}

const allDirectories = (): string[] => {
  const found = ['/'];
  for (let from = 0, depth = 0; depth < 2; depth++) {
    const level = found.slice(from);
    from = found.length;
    for (const parent of level) found.push(...DIRECTORY_NAMES.map((name) => join(parent, name)));
  }
  return found;
};

describe('content summary of random trees', () => {
  it('is that of one plain tree, whatever the nesting of mounts', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.tuple(tree, tree, tree),
        fc.array(singleMounts, { minLength: 1, maxLength: TABLES_PER_RUN }),
        async (trees, tables) => {
          await withCluster('ns0', trees, async (cluster, client) => {
            for (const mounts of tables) {
              cluster.router.swapMounts(mounts);
              const view = new PlainView(NAMESERVICES, trees, mounts, 'ns0', isFile);
              await compareAll(client, view, [...allDirectories(), ...trees.flat()]);
            }
          });
        },
      ),
      { numRuns: RUNS, interruptAfterTimeLimit: TIME_LIMIT_MS },
    );
  });

  it('counts a directory of several locations once', async () => {
    await fc.assert(
      fc.asyncProperty(
        severalMounts,
        fc.array(tree, { minLength: 4, maxLength: 4 }),
        tree,
        async (mounts, below, own) => {
          const trees = placeBelow(mounts, below, own);
          await withCluster('home', trees, async (cluster, client) => {
            cluster.router.swapMounts(mounts);
            const view = new PlainView(NAMESERVICES, trees, mounts, 'home', isFile);
            await compareAll(client, view, [...allDirectories(), ...mounts.map(({ srcPath }) => srcPath)]);
          });
        },
      ),
      { numRuns: RUNS, interruptAfterTimeLimit: TIME_LIMIT_MS },
    );
  });
});

/** As routers make them: a file in one location, directories in all where the order says so, else each top-level name in one. */
function placeBelow(mounts: readonly MountRecord[], below: readonly string[][], own: readonly string[]): string[][] {
  const trees: string[][] = NAMESERVICES.map((name) => (name === 'home' ? [...own] : []));
  for (const [i, { destinations, destOrder }] of mounts.entries()) {
    const everywhere = destOrder === 'HASH_ALL' || destOrder === 'RANDOM';
    for (const path of new Set(below[i])) {
      const top = path.split('/', 2)[1] ?? '';
      const at =
        (everywhere ? path.length * 7 + path.charCodeAt(path.length - 1) : top.charCodeAt(0) || 0) %
        destinations.length;
      const parent = isFile(path) ? path.slice(0, path.lastIndexOf('/')) || '/' : path;
      for (const [k, { path: target }] of destinations.entries()) {
        if (k === at) (trees[k] as string[]).push(join(target, path.slice(1)));
        else if (everywhere) (trees[k] as string[]).push(join(target, parent.slice(1)));
      }
    }
  }
  return trees.map((paths) => [...new Set(paths)]);
}
