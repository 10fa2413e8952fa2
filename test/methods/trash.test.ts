import { describe, expect } from 'vitest';
import type { Plain } from '../../src/wire/messages.ts';
import type { MethodClient, MethodCluster } from '../support/method-cluster.ts';
import { prove } from '../support/prove.ts';
import { createRequest, mkdirsRequest, refusal, severalMount, statusOf } from '../support/several-mounts.ts';

/**
 * The trash of a user whose files are in several nameservices: what the shell's -rm and -expunge send, and what the trash shows of it. `/one`
 * and `/top/two` are ns1's, `/m` is in both, the rest is ns0's.
 */

const DEFAULT_NS0 = { 'dfs.federation.router.default.nameserviceId': 'ns0' };
const MOUNTS = ['/one=ns1:/one', '/top/two=ns1:/deep/two', severalMount('HASH')];
const OPTIONS = { mounts: MOUNTS, keys: DEFAULT_NS0 };
const TRASH = '/user/alice/.Trash';
const CURRENT = `${TRASH}/Current`;
const CHECKPOINT = `${TRASH}/261130221500`;

interface Sides {
  readonly alice: MethodClient;
  /** ns0 and ns1. */
  readonly both: readonly [MethodClient, MethodClient];
}

/** Alice may write where the mounts lead, and in her home directories. */
async function furnish(cluster: MethodCluster, homes = ['ns0', 'ns1']): Promise<Sides> {
  for (const [ns, paths] of [
    ['ns0', ['/top', '/m0', '/own']],
    ['ns1', ['/one', '/deep/two', '/m1']],
  ] as const) {
    const direct = await cluster.direct(ns);
    for (const src of [...paths, ...(homes.includes(ns) ? ['/user/alice'] : [])]) {
      await direct.call('ClientProtocol.mkdirs', mkdirsRequest(src));
      await direct.call('ClientProtocol.setOwner', { src, username: 'alice', groupname: 'users' });
    }
  }
  return {
    alice: await cluster.connect('alice'),
    both: [await cluster.direct('ns0', 'alice'), await cluster.direct('ns1', 'alice')],
  };
}

async function makeFile(client: MethodClient, src: string): Promise<void> {
  await client.call('ClientProtocol.create', createRequest(src));
}

/** As the shell: the directory in the trash, then the move. */
async function remove({ alice }: Sides, src: string): Promise<void> {
  const dst = `${CURRENT}${src}`;
  await alice.call('ClientProtocol.mkdirs', mkdirsRequest(dst.slice(0, dst.lastIndexOf('/')), true, 0o700));
  expect(await statusOf(alice, dst)).toBeNull();
  await alice.call('ClientProtocol.rename2', { src, dst, overwriteDest: false, moveToTrash: true });
}

/** Names in a directory; null when there is none. */
async function namesIn(client: MethodClient, src: string): Promise<string[] | null> {
  const { dirList } = await client.call('ClientProtocol.getListing', {
    src,
    startAfter: Buffer.alloc(0),
    needLocation: false,
  });
  if (dirList === null || dirList === undefined) return null;
  return ((dirList as Plain)['partialListing'] as Plain[]).map(({ path }) => String(path));
}

/** Every path below a directory as a client sees it that walks it, and each must have a status. */
async function walk(client: MethodClient, path: string): Promise<string[]> {
  const found: string[] = [];
  for (const name of (await namesIn(client, path)) ?? []) {
    const child = `${path}/${name}`;
    const status = await statusOf(client, child);
    expect(status, child).not.toBeNull();
    found.push(child.slice(TRASH.length + 1));
    if (status?.['fileType'] === 'IS_DIR') found.push(...(await walk(client, child)));
  }
  return found;
}

/** Files of all three kinds of places, in the trash. */
async function removeSome(sides: Sides): Promise<void> {
  await makeFile(sides.alice, '/one/a');
  await makeFile(sides.alice, '/top/two/b');
  await makeFile(sides.alice, '/top/c');
  await makeFile(sides.both[0], '/m0/d');
  await makeFile(sides.both[1], '/m1/e');
  for (const path of ['/one/a', '/top/two/b', '/top/c', '/m/d', '/m/e']) await remove(sides, path);
}

const EVERYTHING = [
  'Current',
  'Current/m',
  'Current/m/d',
  'Current/m/e',
  'Current/one',
  'Current/one/a',
  'Current/top',
  'Current/top/c',
  'Current/top/two',
  'Current/top/two/b',
];

describe('what is deleted', () => {
  prove(
    'ClientProtocol.rename2',
    'goes to the trash of its nameservice, and is shown there',
    OPTIONS,
    async (cluster) => {
      const sides = await furnish(cluster);
      await removeSome(sides);
      const [ns0, ns1] = sides.both;
      expect(await namesIn(ns1, `${CURRENT}/one`)).toEqual(['a']);
      expect(await namesIn(ns1, `${CURRENT}/top`)).toEqual(['two']);
      expect(await namesIn(ns0, `${CURRENT}/top`)).toEqual(['c']);
      expect(await namesIn(ns0, `${CURRENT}/m`)).toEqual(['d']);
      expect(await namesIn(ns1, `${CURRENT}/m`)).toEqual(['e']);
      expect(await walk(sides.alice, TRASH)).toEqual(EVERYTHING);
    },
  );

  prove('ClientProtocol.rename', 'can be taken out again', OPTIONS, async (cluster) => {
    const sides = await furnish(cluster);
    await removeSome(sides);
    for (const path of ['/one/a', '/top/two/b', '/top/c', '/m/d', '/m/e']) {
      const { result } = await sides.alice.call('ClientProtocol.rename', { src: `${CURRENT}${path}`, dst: path });
      expect(result, path).toBe(true);
    }
    expect(await namesIn(sides.both[1], '/m1')).toEqual(['e']);
    expect(await namesIn(sides.both[0], '/m0')).toEqual(['d']);
    // A directory that only its own nameservice has moves there; one that two have stays.
    await sides.both[0].call('ClientProtocol.mkdirs', mkdirsRequest(`${CURRENT}/own/x`));
    await sides.alice.call('ClientProtocol.rename2', { src: `${CURRENT}/own`, dst: '/own/back', overwriteDest: false });
    expect(await namesIn(sides.both[0], '/own/back')).toEqual(['x']);
    expect(
      await refusal(
        sides.alice.call('ClientProtocol.rename2', { src: `${CURRENT}/top`, dst: '/own/top', overwriteDest: false }),
      ),
    ).toMatch(/^IOException: Rename of .* is not allowed/);
  });

  prove('ClientProtocol.getListing', 'is all that the trash shows', OPTIONS, async (cluster) => {
    const { alice, both } = await furnish(cluster);
    expect(await statusOf(alice, CURRENT)).toBeNull();
    expect(await namesIn(alice, TRASH)).toBeNull();
    await both[1].call('ClientProtocol.mkdirs', mkdirsRequest(`${CURRENT}/one`));
    expect(await walk(alice, TRASH)).toEqual(['Current', 'Current/one']);
    // What clients of ns1 itself have deleted there lies on no path of the router's.
    await both[1].call('ClientProtocol.mkdirs', mkdirsRequest(`${CURRENT}/foreign`));
    await both[1].call('ClientProtocol.mkdirs', mkdirsRequest(`${TRASH}/other`));
    await both[0].call('ClientProtocol.mkdirs', mkdirsRequest(`${CURRENT}/one`));
    await both[0].call('ClientProtocol.mkdirs', mkdirsRequest(`${TRASH}/mine`));
    expect(await walk(alice, TRASH)).toEqual(['Current', 'Current/one', 'mine']);
  });

  prove('ClientProtocol.mkdirs', 'needs a home directory there, and the refusal says so', OPTIONS, async (cluster) => {
    const sides = await furnish(cluster, ['ns0']);
    await makeFile(sides.alice, '/one/a');
    expect(await refusal(remove(sides, '/one/a'))).toMatch(
      /^AccessControlException: Permission denied: user=alice.*\(what is deleted here goes to the trash in nameservice ns1, where the user needs the directory \/user\/alice\)$/,
    );
    await makeFile(sides.alice, '/own/b');
    await remove(sides, '/own/b');
    expect(await walk(sides.alice, TRASH)).toEqual(['Current', 'Current/own', 'Current/own/b']);
  });
});

describe('the trash is emptied', () => {
  prove('ClientProtocol.delete', 'from Current, in every nameservice', OPTIONS, async (cluster) => {
    const sides = await furnish(cluster);
    await removeSome(sides);
    expect(await sides.alice.call('ClientProtocol.delete', { src: `${CURRENT}/top`, recursive: true })).toEqual({
      result: true,
    });
    expect(await walk(sides.alice, TRASH)).toEqual(EVERYTHING.filter((path) => !path.startsWith('Current/top')));
    expect(await sides.alice.call('ClientProtocol.delete', { src: CURRENT, recursive: true })).toEqual({
      result: true,
    });
    expect(await walk(sides.alice, TRASH)).toEqual([]);
    for (const ns of sides.both) expect(await namesIn(ns, TRASH)).toEqual([]);
    expect(await sides.alice.call('ClientProtocol.delete', { src: CURRENT, recursive: true })).toEqual({
      result: false,
    });
  });

  prove('ClientProtocol.rename2', 'by a checkpoint that is deleted later', OPTIONS, async (cluster) => {
    const sides = await furnish(cluster);
    await removeSome(sides);
    const rename = { src: CURRENT, dst: CHECKPOINT, overwriteDest: false };
    await sides.alice.call('ClientProtocol.rename2', rename);
    const name = CHECKPOINT.slice(TRASH.length + 1);
    expect(await walk(sides.alice, TRASH)).toEqual(EVERYTHING.map((path) => path.replace('Current', name)));
    await makeFile(sides.alice, '/one/a');
    await remove(sides, '/one/a');
    // Taken in one nameservice is taken: the next checkpoint gets another name.
    await sides.both[1].call('ClientProtocol.delete', { src: CHECKPOINT, recursive: true });
    expect(await refusal(sides.alice.call('ClientProtocol.rename2', rename))).toMatch(/^FileAlreadyExistsException: /);
    await sides.alice.call('ClientProtocol.rename2', { ...rename, dst: `${CHECKPOINT}-1` });
    expect(await namesIn(sides.alice, TRASH)).toEqual([name, `${name}-1`]);
    for (const src of [CHECKPOINT, `${CHECKPOINT}-1`]) {
      await sides.alice.call('ClientProtocol.delete', { src, recursive: true });
    }
    expect(await namesIn(sides.alice, TRASH)).toEqual([]);
  });
});

describe('where the home directory is on a mount', () => {
  const HOME = { mounts: ['/user=ns0:/home', '/one=ns1:/one'] };
  prove('ClientProtocol.getListing', 'the trash is that of all nameservices', HOME, async (cluster) => {
    const sides = await furnish(cluster);
    await makeFile(sides.alice, '/one/a');
    await remove(sides, '/one/a');
    expect(await walk(sides.alice, TRASH)).toEqual(['Current', 'Current/one', 'Current/one/a']);
    expect(await statusOf(sides.alice, TRASH)).toMatchObject({ fileType: 'IS_DIR' });
    await sides.alice.call('ClientProtocol.delete', { src: TRASH, recursive: true });
    expect(await statusOf(sides.alice, TRASH)).toBeNull();
  });
});
