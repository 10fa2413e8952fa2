import { describe, expect, it } from 'vitest';
import { RemoteError } from '../../src/control/rpc-client.ts';
import type { Plain } from '../../src/wire/messages.ts';
import { type MethodClient, MethodCluster } from '../support/method-cluster.ts';

const MOUNTS = [
  '/a=ns0:/a',
  '/b=ns1:/b',
  '/b/inner=ns0:/inner',
  {
    srcPath: '/both',
    destOrder: 'HASH_ALL',
    destinations: [
      { nameserviceId: 'ns0', path: '/both' },
      { nameserviceId: 'ns1', path: '/both' },
    ],
  },
  { srcPath: '/leaf', destinations: [{ nameserviceId: 'ns1', path: '/leaf' }] },
];
const NO_LOCATION = 'org.apache.hadoop.hdfs.server.federation.router.NoLocationException';
const MODE = { perm: 0o755 };

async function start(keys: Readonly<Record<string, string>> = {}): Promise<MethodCluster> {
  const cluster = await MethodCluster.start({ mounts: MOUNTS, keys });
  for (const ns of ['ns0', 'ns1']) {
    const direct = await cluster.direct(ns);
    for (const src of ['/a/x', '/b/x', '/both/x', '/leaf/x', '/inner/x', `/own-${ns}`]) await mkdirs(direct, src);
  }
  return cluster;
}

async function mkdirs(client: MethodClient, src: string): Promise<boolean> {
  const { result } = await client.call<{ result: boolean }>('ClientProtocol.mkdirs', {
    src,
    masked: MODE,
    createParent: true,
  });
  return result;
}

async function status(client: MethodClient, src: string): Promise<Plain | undefined> {
  return (await client.call<{ fs?: Plain }>('ClientProtocol.getFileInfo', { src })).fs;
}

async function names(client: MethodClient, src: string): Promise<string[]> {
  const { dirList } = await client.call<{ dirList: { partialListing: { path: Buffer }[] } }>(
    'ClientProtocol.getListing',
    { src, startAfter: Buffer.alloc(0), needLocation: false },
  );
  return dirList.partialListing.map(({ path }) => path.toString());
}

async function errorOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
  } catch (error) {
    if (error instanceof RemoteError) return error.message;
    throw error;
  }
  return 'no error';
}

describe('a disabled nameservice', () => {
  it('answers no call for a path of it, until it is enabled again', async () => {
    await using cluster = await start();
    const client = await cluster.connect();
    const { block } = cluster.router;
    block.setDisabled(new Set([1]));
    const refusal = (path: string): string => `${NO_LOCATION}: Cannot find locations for ${path} in MountTableResolver`;
    expect(await errorOf(status(client, '/b/x'))).toBe(refusal('/b/x'));
    expect(await errorOf(mkdirs(client, '/leaf/y'))).toBe(refusal('/leaf/y'));
    expect(await errorOf(client.call('ClientProtocol.delete', { src: '/b/x', recursive: true }))).toBe(refusal('/b/x'));
    expect(await errorOf(client.call('ClientProtocol.rename', { src: '/b/x', dst: '/a/y' }))).toContain(NO_LOCATION);
    expect(await errorOf(client.call('ClientProtocol.rename', { src: '/a/x', dst: '/b/y' }))).toContain(NO_LOCATION);
    expect(await status(client, '/a/x')).toBeDefined();
    expect(await status(client, '/b/inner/x')).toBeDefined();
    block.setDisabled(new Set());
    expect(await status(client, '/b/x')).toBeDefined();
  });

  it('keeps its mount points visible', async () => {
    await using cluster = await start();
    const client = await cluster.connect();
    cluster.router.block.setDisabled(new Set([1]));
    expect(await status(client, '/leaf')).toMatchObject({ fileType: 'IS_DIR' });
    expect(await names(client, '/leaf')).toEqual([]);
    expect(await names(client, '/b')).toEqual(['inner']);
    expect(await status(client, '/b')).toMatchObject({ fileType: 'IS_DIR' });
    expect(await names(client, '/')).toEqual(['a', 'b', 'both', 'leaf']);
  });

  it('is left out of a mount with several destinations', async () => {
    await using cluster = await start();
    const client = await cluster.connect();
    const direct = await cluster.direct('ns1');
    cluster.router.block.setDisabled(new Set([1]));
    for (let i = 0; i < 10; i++) expect(await mkdirs(client, `/both/new${i}`)).toBe(true);
    expect(await names(client, '/both')).toContain('new9');
    expect(await names(direct, '/both')).toEqual(['x']);
    const { summary } = await client.call<{ summary: { directoryCount: number } }>('ClientProtocol.getContentSummary', {
      path: '/both',
    });
    expect(summary.directoryCount).toBe(12);
    cluster.router.block.setDisabled(new Set([0, 1]));
    expect(await errorOf(status(client, '/both/x'))).toContain(NO_LOCATION);
    expect(await status(client, '/both')).toMatchObject({ fileType: 'IS_DIR' });
  });

  it('is left out of what goes to all nameservices, or to any', async () => {
    await using cluster = await start();
    const client = await cluster.connect();
    const direct = await cluster.direct('ns0');
    const { block } = cluster.router;
    const free = async (from: MethodClient): Promise<unknown> =>
      (await from.call('ClientProtocol.getFsStats'))['capacity'];
    block.setDisabled(new Set([1]));
    expect(await free(client)).toEqual(await free(direct));
    await client.call('ClientProtocol.renewLease', { clientName: 'c', namespaces: ['ns1'] });
    expect(await client.call('ClientProtocol.getServerDefaults')).toBeDefined();
    block.setDisabled(new Set([0, 1]));
    expect(await errorOf(client.call('ClientProtocol.getStoragePolicies'))).toContain('No namespace available');
  });

  it('is the default one: its paths lead nowhere', async () => {
    await using cluster = await start({
      'dfs.federation.router.default.nameserviceId': 'ns1',
      'dfs.federation.router.file.resolver.client.class':
        'org.apache.hadoop.hdfs.server.federation.resolver.MultipleDestinationMountTableResolver',
    });
    const client = await cluster.connect();
    expect(await status(client, '/own-ns1')).toBeDefined();
    cluster.router.block.setDisabled(new Set([1]));
    expect(await errorOf(status(client, '/own-ns1'))).toBe(
      `${NO_LOCATION}: Cannot find locations for /own-ns1 in MultipleDestinationMountTableResolver`,
    );
    expect(await names(client, '/')).toEqual(['a', 'b', 'both', 'leaf']);
  });

  it('serves block pool calls all the same', async () => {
    await using cluster = await start();
    const client = await cluster.connect();
    const pool = [...cluster.router.engine.blockPools].find(([, nameservice]) => nameservice === 1)?.[0] ?? '';
    cluster.router.block.setDisabled(new Set([1]));
    const answer = await errorOf(
      client.call('ClientProtocol.updateBlockForPipeline', {
        block: { poolId: pool, blockId: 1, generationStamp: 1 },
        clientName: 'c',
      }),
    );
    // It is the NameNode that does not know the block.
    expect(answer).not.toContain(NO_LOCATION);
    expect(answer).not.toBe('no error');
  });
});
