import { describe, expect } from 'vitest';
import type { Plain } from '../../src/wire/messages.ts';
import type { MethodClient, MethodCluster } from '../support/method-cluster.ts';
import { prove } from '../support/prove.ts';
import { createRequest, mkdirsRequest, refusal, severalMount, statusOf } from '../support/several-mounts.ts';

/**
 * A home directory whose trash is in several nameservices: it shows, counts, deletes and keeps what was deleted, wherever that is. `/one` and
 * `/top/two` are ns1's, `/m` is in both.
 */

const HOME = '/user/alice';
const TRASH = `${HOME}/.Trash`;
const REMOVED = ['/one/a', '/top/two/b', '/m/c', '/m/d', `${HOME}/own/f`];
const MOUNTS = ['/one=ns1:/one', '/top/two=ns1:/deep/two', severalMount('HASH_ALL')];
const DEFAULT_NS0 = { 'dfs.federation.router.default.nameserviceId': 'ns0' };
const OPTIONS = { mounts: MOUNTS, keys: DEFAULT_NS0 };
const NO_DEFAULT = { 'dfs.federation.router.default.nameservice.enable': 'false' };
/** Where `/user` is: by default, on a mount, on one that leads to another path, and in two nameservices. */
const PLACES = [
  ['of the default nameservice', OPTIONS],
  ['on a mount', { mounts: [...MOUNTS, '/user=ns0:/user'], keys: NO_DEFAULT }],
  ['on a mount to another path', { mounts: [...MOUNTS, '/user=ns0:/homes'], keys: NO_DEFAULT }],
  [
    'in two nameservices',
    {
      mounts: [
        ...MOUNTS,
        {
          srcPath: '/user',
          destinations: [
            { nameserviceId: 'ns0', path: '/user' },
            { nameserviceId: 'ns1', path: '/homes' },
          ],
          destOrder: 'HASH_ALL',
        },
      ],
      keys: NO_DEFAULT,
    },
  ],
] as const;

interface Sides {
  readonly alice: MethodClient;
  readonly both: readonly [MethodClient, MethodClient];
}

/** Alice may do what she likes in all directories that the mounts lead to, and with her home. */
async function furnish(cluster: MethodCluster): Promise<Sides> {
  for (const ns of ['ns0', 'ns1']) {
    const direct = await cluster.direct(ns);
    for (const path of [
      '/one',
      '/deep/two',
      '/m0',
      '/m1',
      '/user',
      '/homes',
      HOME,
      '/homes/alice',
      `${HOME}/own`,
      '/homes/alice/own',
    ]) {
      await direct.call('ClientProtocol.mkdirs', mkdirsRequest(path));
      await direct.call('ClientProtocol.setOwner', { src: path, username: 'alice', groupname: 'users' });
    }
  }
  return {
    alice: await cluster.connect('alice'),
    both: [await cluster.direct('ns0', 'alice'), await cluster.direct('ns1', 'alice')],
  };
}

/** As the shell: the directory in the trash, then the move. */
async function remove(alice: MethodClient, src: string): Promise<void> {
  const dst = `${TRASH}/Current${src}`;
  await alice.call('ClientProtocol.create', createRequest(src));
  await alice.call('ClientProtocol.mkdirs', mkdirsRequest(dst.slice(0, dst.lastIndexOf('/')), true, 0o700));
  await alice.call('ClientProtocol.rename2', { src, dst, overwriteDest: false, moveToTrash: true });
}

interface Walked {
  readonly files: string[];
  readonly directories: string[];
}

/** Every path at and below a directory, as a client sees it that walks it. */
async function walk(
  client: MethodClient,
  path: string,
  walked: Walked = { files: [], directories: [] },
): Promise<Walked> {
  walked.directories.push(path);
  const { dirList } = await client.call('ClientProtocol.getListing', {
    src: path,
    startAfter: Buffer.alloc(0),
    needLocation: false,
  });
  for (const entry of ((dirList as Plain | undefined)?.['partialListing'] ?? []) as Plain[]) {
    const child = `${path === '/' ? '' : path}/${String(entry['path'])}`;
    if (entry['fileType'] === 'IS_DIR') await walk(client, child, walked);
    else walked.files.push(child);
  }
  return walked;
}

async function isThere(client: MethodClient, path: string): Promise<boolean> {
  return (await statusOf(client, path)) !== null;
}

for (const [where, options] of PLACES) {
  describe(`a home directory ${where}`, () => {
    prove('ClientProtocol.getListing', 'shows the trash of all nameservices once', options, async (cluster) => {
      const { alice } = await furnish(cluster);
      expect((await walk(alice, HOME)).directories).toEqual([HOME, `${HOME}/own`]);
      for (const path of REMOVED) await remove(alice, path);
      const { files, directories } = await walk(alice, HOME);
      expect(files.toSorted()).toEqual(REMOVED.map((path) => `${TRASH}/Current${path}`).toSorted());
      expect(directories.filter((path) => path === TRASH)).toHaveLength(1);
      const after = { src: HOME, startAfter: Buffer.from('.Trash'), needLocation: false };
      const { dirList } = await alice.call('ClientProtocol.getListing', after);
      expect(((dirList as Plain)['partialListing'] as Plain[]).map(({ path }) => String(path))).toEqual(['own']);
    });

    prove('ClientProtocol.getContentSummary', 'counts each file of the trash once', options, async (cluster) => {
      const { alice } = await furnish(cluster);
      for (const path of REMOVED) await remove(alice, path);
      for (const path of [TRASH, HOME, '/user', '/']) {
        const { files, directories } = await walk(alice, path);
        const { summary } = await alice.call('ClientProtocol.getContentSummary', { path });
        expect(summary, path).toMatchObject({ fileCount: files.length, directoryCount: directories.length });
      }
    });

    prove('ClientProtocol.getQuotaUsage', 'counts as the summary does', options, async (cluster) => {
      const { alice } = await furnish(cluster);
      for (const path of REMOVED) await remove(alice, path);
      const { files, directories } = await walk(alice, HOME);
      const { usage } = await alice.call('ClientProtocol.getQuotaUsage', { path: HOME });
      expect(usage).toMatchObject({ fileAndDirectoryCount: files.length + directories.length });
    });

    prove('ClientProtocol.delete', 'goes with the trash of all nameservices', options, async (cluster) => {
      const { alice, both } = await furnish(cluster);
      for (const path of REMOVED) await remove(alice, path);
      await alice.call('ClientProtocol.delete', { src: `${HOME}/own`, recursive: true });
      expect(await refusal(alice.call('ClientProtocol.delete', { src: HOME, recursive: false }))).toBe(
        `PathIsNotEmptyDirectoryException: \`${HOME} is non empty': Directory is not empty`,
      );
      expect((await walk(alice, HOME)).files).toHaveLength(REMOVED.length);
      expect(await alice.call('ClientProtocol.delete', { src: HOME, recursive: true })).toEqual({ result: true });
      for (const path of [HOME, TRASH]) expect(await isThere(alice, path), path).toBe(false);
      for (const ns of both) expect(await isThere(ns, TRASH)).toBe(false);
    });
  });
}

describe('a home directory with trash elsewhere', () => {
  const to = '/user/other';
  const refused = `IOException: Rename of ${HOME} to ${to} is not allowed: ${TRASH} is also in nameservice ns1, and would stay there; delete or empty the trash first`;
  async function proveStays({ alice }: Sides, move: () => Promise<Plain>): Promise<void> {
    await remove(alice, '/one/a');
    expect(await refusal(move())).toBe(refused);
    expect(await isThere(alice, HOME)).toBe(true);
    await alice.call('ClientProtocol.delete', { src: TRASH, recursive: true });
    await move();
    expect(await isThere(alice, HOME)).toBe(false);
    expect(await isThere(alice, `${to}/own`)).toBe(true);
  }

  prove('ClientProtocol.rename', 'is not renamed', OPTIONS, async (cluster) => {
    const sides = await furnish(cluster);
    await proveStays(sides, () => sides.alice.call('ClientProtocol.rename', { src: HOME, dst: to }));
  });

  prove('ClientProtocol.rename2', 'is not renamed', OPTIONS, async (cluster) => {
    const sides = await furnish(cluster);
    const request = { src: HOME, dst: to, overwriteDest: false };
    await proveStays(sides, () => sides.alice.call('ClientProtocol.rename2', request));
  });

  prove('ClientProtocol.getBatchedListing', 'shows it among other paths', OPTIONS, async (cluster) => {
    const { alice } = await furnish(cluster);
    await remove(alice, '/one/a');
    const request = { paths: ['/one', HOME], startAfter: Buffer.alloc(0), needLocation: false };
    const { listings } = await alice.call('ClientProtocol.getBatchedListing', request);
    const names = (listings as Plain[]).map(({ partialListing }) =>
      (partialListing as Plain[]).map(({ path }) => String(path)),
    );
    expect(names).toEqual([[], ['.Trash', 'own']]);
  });
});
