import { describe, expect } from 'vitest';
import type { MethodClient, MethodCluster } from '../support/method-cluster.ts';
import { prove } from '../support/prove.ts';
import { RawClient } from '../support/raw-client.ts';
import { createRequest, mkdirsRequest, refusal, severalMount, statusOf, typesOf } from '../support/several-mounts.ts';

/** rename and rename2 where a path has several locations: `/m` is ns0:/m0 and ns1:/m1, `/one` is ns0:/one, the rest is ns0's. */

const DEFAULT_NS0 = { 'dfs.federation.router.default.nameserviceId': 'ns0' };
const OPTIONS = { mounts: [severalMount(), '/one=ns0:/one', '/top/two=ns1:/two'], keys: DEFAULT_NS0 };
const HASH = { ...OPTIONS, mounts: [severalMount('HASH')] };

interface Sides {
  readonly router: MethodClient;
  readonly ns0: MethodClient;
  readonly ns1: MethodClient;
}

async function sidesOf(cluster: MethodCluster): Promise<Sides> {
  return { router: await cluster.connect(), ns0: await cluster.direct('ns0'), ns1: await cluster.direct('ns1') };
}

async function makeFile(ns: MethodClient, src: string): Promise<void> {
  await ns.call('ClientProtocol.create', createRequest(src));
}

async function makeDirectory(ns: MethodClient, src: string, perm = 0o755): Promise<void> {
  await ns.call('ClientProtocol.mkdirs', mkdirsRequest(src, true, perm));
}

async function exists(ns: MethodClient, ...paths: string[]): Promise<boolean[]> {
  return await Promise.all(paths.map(async (path) => (await statusOf(ns, path)) !== null));
}

const rename = async ({ router }: Sides, src: string, dst: string): Promise<unknown> =>
  (await router.call('ClientProtocol.rename', { src, dst }))['result'];

const rename2 = ({ router }: Sides, src: string, dst: string, overwriteDest = false): Promise<object> =>
  router.call('ClientProtocol.rename2', { src, dst, overwriteDest });

describe('a directory into itself', () => {
  prove('ClientProtocol.rename', 'below a file of one nameservice: that is told', OPTIONS, async (cluster) => {
    const sides = await sidesOf(cluster);
    // Whichever nameservice comes first for the name.
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) {
      await makeDirectory(sides.router, `/m/${name}`);
      await makeFile(sides.ns1, `/m1/${name}/file`);
      for (const below of ['/x', '/x/y']) {
        expect(await refusal(rename(sides, `/m/${name}`, `/m/${name}/file${below}`))).toBe(
          `ParentNotDirectoryException: /m/${name}/file (is not a directory)`,
        );
      }
      expect(await rename(sides, `/m/${name}`, `/m/${name}/x`)).toBe(false);
    }
  });
});

describe('a file', () => {
  prove('ClientProtocol.rename', 'moves in the nameservice that has it', OPTIONS, async (cluster) => {
    const sides = await sidesOf(cluster);
    await makeFile(sides.ns0, '/m0/a');
    await makeFile(sides.ns1, '/m1/b');
    expect(await rename(sides, '/m/a', '/m/a2')).toBe(true);
    expect(await rename(sides, '/m/b', '/m/b2')).toBe(true);
    expect(await exists(sides.ns0, '/m0/a', '/m0/a2')).toEqual([false, true]);
    expect(await exists(sides.ns1, '/m1/b', '/m1/b2')).toEqual([false, true]);
    expect(await rename(sides, '/m/none', '/m/c')).toBe(false);
    expect(await rename(sides, '/m/a2', '/m/a2')).toBe(true);
    expect(cluster.router.count('divergences')).toBe(0);
  });

  prove('ClientProtocol.rename2', 'takes no name that is taken in another nameservice', OPTIONS, async (cluster) => {
    const sides = await sidesOf(cluster);
    await makeFile(sides.ns0, '/m0/a');
    await makeFile(sides.ns1, '/m1/b');
    expect(await refusal(rename2(sides, '/m/a', '/m/b'))).toBe(
      'FileAlreadyExistsException: rename destination /m/b already exists',
    );
    expect(await exists(sides.ns0, '/m0/a', '/m0/b')).toEqual([true, false]);
    expect(await refusal(rename2(sides, '/m/none', '/m/b'))).toMatch(/^FileNotFoundException: .*\/m\/none/);
    expect(await rename2(sides, '/m/a', '/m/b', true)).toEqual({});
    expect(await exists(sides.ns0, '/m0/a', '/m0/b')).toEqual([false, true]);
    expect(await exists(sides.ns1, '/m1/b')).toEqual([false]);
  });

  prove('ClientProtocol.rename', 'takes no name that is taken in another nameservice', OPTIONS, async (cluster) => {
    const sides = await sidesOf(cluster);
    await makeFile(sides.ns0, '/m0/a');
    await makeFile(sides.ns1, '/m1/b');
    await makeFile(sides.ns1, '/m1/d/a');
    expect(await rename(sides, '/m/a', '/m/b')).toBe(false);
    // Into the directory, where a file of that name is.
    expect(await rename(sides, '/m/a', '/m/d')).toBe(false);
    expect(await exists(sides.ns0, '/m0/a')).toEqual([true]);
    expect(await rename(sides, '/m/d/a', '/m/d')).toBe(true);
  });

  prove('ClientProtocol.rename', 'goes into a directory that only the other has', OPTIONS, async (cluster) => {
    const sides = await sidesOf(cluster);
    await makeFile(sides.ns0, '/m0/a');
    await makeDirectory(sides.ns1, '/m1/d', 0o750);
    expect(await rename(sides, '/m/a', '/m/d')).toBe(true);
    expect(await exists(sides.ns0, '/m0/a', '/m0/d/a')).toEqual([false, true]);
    expect(await statusOf(sides.ns0, '/m0/d')).toMatchObject({ permission: { perm: 0o750 } });
  });

  prove('ClientProtocol.rename2', 'has the options that the client gave', OPTIONS, async (cluster) => {
    const sides = await sidesOf(cluster);
    await makeFile(sides.ns1, '/m1/a');
    await makeFile(sides.ns1, '/m1/b');
    await makeDirectory(sides.ns1, '/m1/d');
    expect(await rename2(sides, '/m/a', '/m/b', true)).toEqual({});
    expect(await exists(sides.ns1, '/m1/a', '/m1/b')).toEqual([false, true]);
    expect(await refusal(rename2(sides, '/m/b', '/m/d', true))).toBe(
      'IOException: Source /m/b and destination /m/d must both be directories',
    );
    expect(await refusal(rename2(sides, '/m/b', '/m/b'))).toMatch(/^FileAlreadyExistsException: .*\/m\/b/);
    await makeFile(sides.ns0, '/m0/c');
    expect(await refusal(rename2(sides, '/m/c', '/', true))).toBe('IOException: rename destination cannot be the root');
  });

  prove('ClientProtocol.rename', 'stays in its nameservice, and both are named', OPTIONS, async (cluster) => {
    const sides = await sidesOf(cluster);
    await makeDirectory(sides.ns0, '/one');
    await makeFile(sides.ns0, '/m0/a');
    await makeFile(sides.ns1, '/m1/b');
    expect(await rename(sides, '/m/a', '/one/a')).toBe(true);
    expect(await refusal(rename(sides, '/m/b', '/one/b'))).toBe(
      'IOException: Rename of /m/b to /one/b is not allowed, no eligible destination in the same namespace was found: /m/b is in nameservice ns1, /one/b in nameservice ns0',
    );
    expect(await rename(sides, '/one/a', '/m/a')).toBe(true);
    expect(await exists(sides.ns0, '/m0/a')).toEqual([true]);
  });
});

describe('a directory', () => {
  prove('ClientProtocol.rename2', 'moves wherever it is', OPTIONS, async (cluster) => {
    const sides = await sidesOf(cluster);
    await makeFile(sides.ns0, '/m0/d/a');
    await makeFile(sides.ns1, '/m1/d/b');
    await rename2(sides, '/m/d', '/m/e');
    expect(await exists(sides.ns0, '/m0/d', '/m0/e/a')).toEqual([false, true]);
    expect(await exists(sides.ns1, '/m1/d', '/m1/e/b')).toEqual([false, true]);
    expect(await refusal(rename2(sides, '/m/e', '/m/e/x'))).toMatch(/^IOException: .*\/m\/e\/x/);
  });

  prove('ClientProtocol.rename2', 'is not torn apart by a name that one has', OPTIONS, async (cluster) => {
    const sides = await sidesOf(cluster);
    await makeFile(sides.ns0, '/m0/d/a');
    await makeFile(sides.ns1, '/m1/d/b');
    await makeFile(sides.ns1, '/m1/e/c');
    const taken = 'FileAlreadyExistsException: rename destination /m/e already exists';
    expect(await refusal(rename2(sides, '/m/d', '/m/e'))).toBe(taken);
    expect(await refusal(rename2(sides, '/m/d', '/m/e', true))).toBe(
      'IOException: rename destination directory is not empty: /m/e',
    );
    expect(await typesOf([sides.ns0, sides.ns1], ['/m0/d', '/m1/d'])).toEqual(['IS_DIR', 'IS_DIR']);
    await sides.ns1.call('ClientProtocol.delete', { src: '/m1/e/c', recursive: false });
    await rename2(sides, '/m/d', '/m/e', true);
    expect(await exists(sides.ns0, '/m0/d', '/m0/e/a')).toEqual([false, true]);
    expect(await exists(sides.ns1, '/m1/d', '/m1/e/b')).toEqual([false, true]);
  });

  prove('ClientProtocol.rename', 'moves into another in every nameservice', OPTIONS, async (cluster) => {
    const sides = await sidesOf(cluster);
    await makeFile(sides.ns0, '/m0/d/a');
    await makeFile(sides.ns1, '/m1/d/b');
    await makeDirectory(sides.ns0, '/m0/e');
    expect(await rename(sides, '/m/d', '/m/e')).toBe(true);
    expect(await exists(sides.ns0, '/m0/d', '/m0/e/d/a')).toEqual([false, true]);
    expect(await exists(sides.ns1, '/m1/d', '/m1/e/d/b')).toEqual([false, true]);
  });

  prove('ClientProtocol.rename', 'to fewer locations is refused before anything moves', OPTIONS, async (cluster) => {
    const sides = await sidesOf(cluster);
    await makeDirectory(sides.ns0, '/one');
    await makeFile(sides.ns0, '/m0/d/a');
    const refused =
      'IOException: Rename of /m/d to /one/d is not allowed. The number of remote locations for both source and target should be same. (/m/d is in the nameservices ns0, ns1; /one/d is in nameservice ns0)';
    expect(await refusal(rename(sides, '/m/d', '/one/d'))).toBe(refused);
    await makeFile(sides.ns1, '/m1/d/b');
    expect(await refusal(rename(sides, '/m/d', '/one/d'))).toBe(refused);
    expect(await exists(sides.ns0, '/m0/d/a', '/one/d')).toEqual([true, false]);
  });

  prove('ClientProtocol.rename', 'of a HASH mount moves whole, and its parent is made', HASH, async (cluster) => {
    const sides = await sidesOf(cluster);
    await makeFile(sides.ns0, '/m0/d/a');
    await makeFile(sides.ns1, '/m1/d/b');
    await makeDirectory(sides.ns1, '/m1/p');
    expect(await rename(sides, '/m/d', '/m/p/e')).toBe(true);
    expect(await exists(sides.ns0, '/m0/d', '/m0/p/e/a')).toEqual([false, true]);
    expect(await exists(sides.ns1, '/m1/d', '/m1/p/e/b')).toEqual([false, true]);
    expect(await rename(sides, '/m/p', '/m/none/p')).toBe(false);
  });

  const twice = [
    { nameserviceId: 'ns0', path: '/n0' },
    { nameserviceId: 'ns0', path: '/n1' },
  ];
  const NESTED = { mounts: [{ srcPath: '/n', destinations: twice, destOrder: 'HASH_ALL' }, '/one=ns0:/one'] };
  prove('ClientProtocol.rename', 'that is twice in one nameservice moves twice', NESTED, async (cluster) => {
    const sides = await sidesOf(cluster);
    await makeFile(sides.ns0, '/n0/d/a');
    await makeFile(sides.ns0, '/n1/d/b');
    expect(await rename(sides, '/n/d', '/n/e')).toBe(true);
    expect(await exists(sides.ns0, '/n0/e/a', '/n1/e/b', '/n0/d', '/n1/d')).toEqual([true, true, false, false]);
    await makeDirectory(sides.ns0, '/one');
    // Both would become one.
    expect(await refusal(rename(sides, '/n/e', '/one/e'))).toMatch(
      /^IOException: .* should be same\. \(\/n\/e is in nameservice ns0; \/one\/e is in nameservice ns0\)$/,
    );
    expect(await exists(sides.ns0, '/n0/e/a', '/n1/e/b', '/one/e')).toEqual([true, true, false]);
  });
});

describe('onto a directory of mount points', () => {
  prove('ClientProtocol.rename', 'is into it', OPTIONS, async (cluster) => {
    const sides = await sidesOf(cluster);
    await makeFile(sides.ns0, '/f');
    await makeFile(sides.ns0, '/two');
    expect(await rename(sides, '/f', '/top')).toBe(true);
    expect(await exists(sides.ns0, '/f', '/top/f')).toEqual([false, true]);
    // A mount point has that name.
    expect(await rename(sides, '/two', '/top')).toBe(false);
    expect(await exists(sides.ns0, '/two')).toEqual([true]);
  });

  prove('ClientProtocol.rename2', 'is refused: it is there', OPTIONS, async (cluster) => {
    const sides = await sidesOf(cluster);
    await makeFile(sides.ns0, '/f');
    await makeDirectory(sides.ns0, '/d');
    expect(await refusal(rename2(sides, '/f', '/top'))).toMatch(/must both be directories$/);
    expect(await refusal(rename2(sides, '/d', '/top'))).toMatch(/^FileAlreadyExistsException: /);
    expect(await refusal(rename2(sides, '/d', '/top', true))).toMatch(/is not empty: \/top$/);
    expect(await exists(sides.ns0, '/f', '/d', '/top')).toEqual([true, true, false]);
  });
});

describe('a call that comes again', () => {
  prove('ClientProtocol.rename2', 'is known by its nameservice', OPTIONS, async (cluster) => {
    const sides = await sidesOf(cluster);
    await makeFile(sides.ns1, '/m1/a');
    await makeFile(sides.ns0, '/m0/d/x');
    await makeFile(sides.ns1, '/m1/d/y');
    await rename2(sides, '/m/a', '/m/a0');
    using client = await RawClient.connect(cluster.router, { user: 'hdfs' });
    for (const [src, dst, callId] of [
      ['/m/a0', '/m/b', 7],
      ['/m/d', '/m/e', 8],
    ] as const) {
      const call = { method: 'rename2', request: { src, dst, overwriteDest: false }, callId };
      expect(await client.call(call)).toMatchObject({ status: 'SUCCESS' });
      expect(await client.call({ ...call, retryCount: 1 })).toMatchObject({ status: 'SUCCESS' });
      expect((await client.call({ ...call, callId: callId + 10 })).exception).toMatch(/FileNotFoundException$/);
    }
    // In one nameservice it was done, in the other the source is still there.
    await makeFile(sides.ns1, '/m1/d/z');
    const half = { method: 'rename2', request: { src: '/m/d', dst: '/m/e', overwriteDest: false } };
    expect((await client.call({ ...half, callId: 20 })).exception).toMatch(/FileAlreadyExistsException$/);
    await sides.ns1.call('ClientProtocol.delete', { src: '/m1/e', recursive: true });
    expect((await client.call({ ...half, callId: 8, retryCount: 1 })).status).toBe('SUCCESS');
  });
});
