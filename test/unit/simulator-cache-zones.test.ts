import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Plain } from '../../src/wire/messages.ts';
import { type Answer, DENIED, IO, NOT_FOUND, SimulatorCaller } from './simulator-caller.ts';

const REQUEST = 'org.apache.hadoop.fs.InvalidRequestException';
let nn: SimulatorCaller;

beforeAll(async () => {
  nn = await SimulatorCaller.start({ listingLimit: 2, datanodes: [{ uuid: 'd0' }] });
});

afterAll(async () => {
  await nn.checkStandby();
  await nn[Symbol.asyncDispose]();
});

describe('cache pools', () => {
  const add = (info: object, user?: string): Promise<Answer> => nn.ask('addCachePool', { info }, user);
  const list = (prevPoolName: string, user?: string): Promise<Answer> =>
    nn.ask('listCachePools', { prevPoolName }, user);

  it('are the superuser’s', async () => {
    expect(await add({ poolName: 'p1' }, 'bob')).toContain(DENIED);
    expect(await add({ poolName: 'p1', mode: 0o700 })).toEqual({});
    expect(await add({ poolName: 'p1' })).toBe(`${REQUEST}: Cache pool p1 already exists.`);
    expect(await add({ poolName: '' })).toBe(`${IO}: invalid empty cache pool name`);
    expect(await add({ poolName: 'x', limit: -1 })).toBe(`${REQUEST}: Limit is negative.`);
    await add({ poolName: 'p3', ownerName: 'bob', groupName: 'staff', limit: 25 });
    await add({ poolName: 'p2' });
    expect(await list('')).toMatchObject({
      entries: [{ info: { poolName: 'p1' } }, { info: { poolName: 'p2' } }],
      hasMore: true,
    });
    const second = await list('p2');
    expect(second).toMatchObject({
      entries: [{ info: { poolName: 'p3', ownerName: 'bob', groupName: 'staff', mode: 0o755, limit: 25 } }],
      hasMore: false,
    });
    const [hidden] = ((await list('', 'bob')) as Plain)['entries'] as Plain[];
    expect(hidden!['info']).toEqual({ poolName: 'p1' });
    expect(await nn.ask('modifyCachePool', { info: { poolName: 'p1', ownerName: 'amy' } })).toEqual({});
    expect(await list('')).toMatchObject({ entries: [{ info: { ownerName: 'amy', mode: 0o700 } }, {}] });
    expect(await nn.ask('modifyCachePool', { info: { poolName: 'p9' } })).toBe(
      `${REQUEST}: Cache pool p9 does not exist.`,
    );
    expect(await nn.ask('removeCachePool', { poolName: 'p9' })).toBe(
      `${REQUEST}: Cannot remove non-existent cache pool p9`,
    );
  });
});

describe('cache directives', () => {
  const add = (info: object, user?: string, cacheFlags = 0): Promise<Answer> =>
    nn.ask('addCacheDirective', { info, cacheFlags }, user);
  const list = async (
    prevId: number,
    filter: object = {},
    user?: string,
  ): Promise<{ ids: unknown[]; hasMore: unknown }> => {
    const answer = (await nn.ask('listCacheDirectives', { prevId, filter }, user)) as Plain;
    const ids = (answer['elements'] as Plain[]).map((one) => (one['info'] as Plain)['id']);
    return { ids, hasMore: answer['hasMore'] };
  };

  it('are added to pools, changed, listed and removed', async () => {
    await nn.write('/c/f', [10, 10]);
    expect(await add({ path: '/c/f', pool: 'p2' }, 'bob')).toBe(
      `${DENIED}: Permission denied while accessing pool p2: user bob does not have WRITE permissions.`,
    );
    expect(await add({ path: '/c/f', pool: 'p2', replication: 2 })).toEqual({ id: 1 });
    expect(await add({ path: '/c', pool: 'p3' }, 'bob')).toEqual({ id: 2 });
    expect(await add({ path: '/c', pool: 'p3' }, 'bob')).toBe(
      `${REQUEST}: Caching path /c of size 20 bytes at replication 1 would exceed pool p3's remaining capacity of 5 bytes.`,
    );
    expect(await add({ path: '/c', pool: 'p3' }, 'bob', 1)).toEqual({ id: 3 });
    expect(await list(0)).toEqual({ ids: [1, 2], hasMore: true });
    expect(await list(2)).toEqual({ ids: [3], hasMore: false });
    expect(await list(0, { path: '/c/f' })).toEqual({ ids: [1], hasMore: false });
    expect(await list(0, { pool: 'p3' })).toEqual({ ids: [2, 3], hasMore: false });
    expect(await list(0, { id: 2 })).toEqual({ ids: [2], hasMore: false });
    const { elements } = (await nn.ask('listCacheDirectives', { prevId: 0, filter: { id: 1 } })) as {
      elements: Plain[];
    };
    expect(elements[0]).toMatchObject({
      info: { path: '/c/f', replication: 2, pool: 'p2', expiration: { isRelative: false } },
      stats: { bytesNeeded: 40, filesNeeded: 1, hasExpired: false },
    });
    expect(
      await nn.ask('modifyCacheDirective', { info: { id: 1, pool: 'p3', replication: 1 }, cacheFlags: 1 }),
    ).toEqual({});
    expect(await list(0, { pool: 'p2' })).toEqual({ ids: [], hasMore: false });
    expect(await nn.ask('removeCacheDirective', { id: 1 }, 'amy')).toContain(DENIED);
    expect(await nn.ask('removeCacheDirective', { id: 1 }, 'bob')).toEqual({});
    await nn.ask('removeCachePool', { poolName: 'p3' });
    expect(await list(0)).toEqual({ ids: [], hasMore: false });
  });

  it.each([
    [{ path: '/c' }, 'No pool specified.'],
    [{ path: '/c', pool: '' }, 'Invalid empty pool name.'],
    [{ path: '/c', pool: 'none' }, 'Unknown pool none'],
    [{ pool: 'p2' }, 'No path specified.'],
    [{ path: 'c', pool: 'p2' }, "Invalid path 'c'."],
    [{ path: '/c', pool: 'p2', replication: 0 }, 'Invalid replication factor 0 <= 0'],
    [{ path: '/c', pool: 'p2', expiration: { millis: -1, isRelative: true } }, 'Cannot set a negative expiration: -1'],
  ])('refuse %j', async (info, message) => {
    expect(await add(info)).toBe(`${REQUEST}: ${message}`);
  });

  it('live no longer than their pool lets them', async () => {
    await nn.ask('addCachePool', { info: { poolName: 'short', maxRelativeExpiry: 1000 } });
    const directive = { path: '/c', pool: 'short' };
    expect(await add({ ...directive, expiration: { millis: 2n ** 62n, isRelative: true } })).toBe(
      `${REQUEST}: Expiration 4611686018427387904 is too far in the future!`,
    );
    expect(await add({ ...directive, expiration: { millis: 1001, isRelative: true } })).toBe(
      `${REQUEST}: Expiration 1001 exceeds the max relative expiration time of 1000 ms.`,
    );
    const { id } = (await add({ ...directive, expiration: { millis: 1, isRelative: false } })) as Plain;
    const answer = (await nn.ask('listCacheDirectives', { prevId: 0, filter: { id } })) as { elements: Plain[] };
    expect(answer.elements[0]).toMatchObject({ stats: { hasExpired: true, bytesNeeded: 0 } });
    await nn.ask('removeCacheDirective', { id });
  });

  it('refuse ids that are not there', async () => {
    expect(await nn.ask('removeCacheDirective', { id: 77 })).toBe(`${REQUEST}: No directive with ID 77 found.`);
    expect(await nn.ask('removeCacheDirective', { id: -1 })).toBe(`${REQUEST}: Invalid negative ID.`);
    expect(await nn.ask('modifyCacheDirective', { info: { path: '/c' } })).toBe(`${REQUEST}: Must supply an ID.`);
    expect(await nn.ask('listCacheDirectives', { prevId: 0, filter: { id: 77 } })).toBe(
      `${REQUEST}: Did not find requested id 77`,
    );
  });
});

describe('encryption zones', () => {
  const create = (src: string, keyName: string, user?: string): Promise<Answer> =>
    nn.ask('createEncryptionZone', { src, keyName }, user);
  const zoneOf = async (src: string): Promise<unknown> => {
    const zone = ((await nn.ask('getEZForPath', { src })) as Plain)['zone'] as Plain | undefined;
    return zone === undefined ? undefined : `${zone['path']} ${zone['keyName']}`;
  };
  const idOf = async (path: string): Promise<number> => (await nn.info(path))!['fileId'] as number;

  it('are made of empty directories', async () => {
    for (const path of ['/z/a', '/z/b', '/z/c', '/z/full/x']) await nn.mkdirs(path);
    await nn.write('/z/file');
    expect(await create('/z/a', 'k', 'bob')).toContain(DENIED);
    expect(await create('/z/a', '')).toBe(`${IO}: Must specify a key name when creating an encryption zone`);
    expect(await create('/z/a', 'ka')).toEqual({});
    expect(await create('/z/a', 'ka')).toBe(`${IO}: Directory /z/a is already an encryption zone.`);
    expect(await create('/z/full', 'k')).toBe(`${IO}: Attempt to create an encryption zone for a non-empty directory.`);
    expect(await create('/z/file', 'k')).toBe(`${IO}: Attempt to create an encryption zone for a file.`);
    expect(await create('/z/none', 'k')).toBe(`${NOT_FOUND}: cannot find /z/none`);
    await create('/z/b', 'kb');
    await create('/z/c', 'kc');
    const first = (await nn.ask('listEncryptionZones', { id: 0 })) as Plain;
    expect(first).toMatchObject({ zones: [{ path: '/z/a' }, { path: '/z/b', keyName: 'kb' }], hasMore: true });
    expect(await nn.ask('listEncryptionZones', { id: await idOf('/z/b') })).toMatchObject({
      zones: [{ path: '/z/c', suite: 'AES_CTR_NOPADDING' }],
      hasMore: false,
    });
    expect(await nn.ask('listEncryptionZones', { id: 0 }, 'bob')).toContain(DENIED);
  });

  it('hold what is below them', async () => {
    await nn.mkdirs('/z/a/sub');
    await nn.write('/z/a/sub/f', [5]);
    expect(await zoneOf('/z/a/sub/f')).toBe('/z/a ka');
    expect(await zoneOf('/z/a/not/there')).toBe('/z/a ka');
    expect(await zoneOf('/z')).toBeUndefined();
    expect(await nn.info('/z/a/sub/f')).toMatchObject({
      flags: 2,
      fileEncryptionInfo: { keyName: 'ka', ezKeyVersionName: 'ka@0' },
    });
    expect(await nn.ask('getEnclosingRoot', { filename: '/z/a/sub' })).toEqual({ enclosingRootPath: '/z/a' });
    expect(await nn.ask('getEnclosingRoot', { filename: '/z' })).toEqual({ enclosingRootPath: '/' });
    const rename = (src: string, dst: string): Promise<Answer> => nn.ask('rename2', { src, dst, overwriteDest: false });
    expect(await rename('/z/a/sub', '/z/out')).toBe(`${IO}: /z/a/sub can't be moved from an encryption zone.`);
    expect(await rename('/z/file', '/z/a/file')).toBe(`${IO}: /z/file can't be moved into an encryption zone.`);
    expect(await rename('/z/a/sub', '/z/b/sub')).toBe(
      `${IO}: /z/a/sub can't be moved from encryption zone /z/a to encryption zone /z/b.`,
    );
    expect(await rename('/z/a/sub', '/z/a/renamed')).toEqual({});
  });

  it('are encrypted again', async () => {
    const reencrypt = (zone: string, action = 'START_REENCRYPT', user?: string): Promise<Answer> =>
      nn.ask('reencryptEncryptionZone', { zone, action }, user);
    expect(await nn.ask('listReencryptionStatus', { id: 0 })).toEqual({ statuses: [], hasMore: false });
    expect(await reencrypt('/z')).toBe(`${IO}: Path /z is not the root of an encryption zone.`);
    expect(await reencrypt('/z/b', 'CANCEL_REENCRYPT')).toBe(`${IO}: Zone /z/b is not under re-encryption`);
    expect(await reencrypt('/z/a')).toEqual({});
    expect(await nn.ask('listReencryptionStatus', { id: 0 })).toMatchObject({
      statuses: [{ id: await idOf('/z/a'), path: '/z/a', ezKeyVersionName: 'ka@0', canceled: false }],
    });
    expect(await reencrypt('/z/b')).toEqual({});
    expect(await nn.ask('listReencryptionStatus', { id: await idOf('/z/a') })).toMatchObject({
      statuses: [{ path: '/z/b' }],
    });
    expect(await reencrypt('/z/a', 'START_REENCRYPT', 'bob')).toContain(DENIED);
  });
});
