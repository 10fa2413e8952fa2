import { describe, expect } from 'vitest';
import type { MountUsage } from '../../src/mount/quota.ts';
import type { Plain } from '../../src/wire/messages.ts';
import { makeTree } from '../support/make-tree.ts';
import type { MethodCluster } from '../support/method-cluster.ts';
import { prove } from '../support/prove.ts';

const USAGE = 'ClientProtocol.getQuotaUsage';
const SET = 'ClientProtocol.setQuota';
const UNCHANGED = 2n ** 63n - 1n;
const DEFAULT_NS0 = { 'dfs.federation.router.default.nameserviceId': 'ns0' };
const QUOTAS_ON = { ...DEFAULT_NS0, 'dfs.federation.router.quota.enable': 'true' };
const NAMES = 'org.apache.hadoop.hdfs.protocol.NSQuotaExceededException';
const BYTES = 'org.apache.hadoop.hdfs.protocol.DSQuotaExceededException';

async function usageOf(cluster: MethodCluster, path: string): Promise<Plain> {
  return (await (await cluster.connect()).call<{ usage: Plain }>(USAGE, { path })).usage;
}

async function setQuota(cluster: MethodCluster, path: string, namespaceQuota: number, user?: string): Promise<void> {
  const client = await cluster.connect(user);
  await client.call(SET, { path, namespaceQuota, storagespaceQuota: UNCHANGED });
}

const record = (srcPath: string, more: object, ...destinations: [string, string][]) => ({
  srcPath,
  destinations: destinations.map(([nameserviceId, path]) => ({ nameserviceId, path })),
  ...more,
});

describe('quota usage', () => {
  prove(
    USAGE,
    'is that of the path, and of all nameservices with mount points below it',
    { mounts: ['/a=ns1:/x', '/a/b=ns0:/y'], keys: DEFAULT_NS0 },
    async (cluster) => {
      await makeTree(await cluster.direct('ns0'), ['/y/f', '/y/g', '/d/f']);
      await makeTree(await cluster.direct('ns1'), ['/x/f', '/x/b/hidden']);
      expect(await usageOf(cluster, '/d')).toMatchObject({ fileAndDirectoryCount: 2, quota: -1 });
      expect(await usageOf(cluster, '/a/b')).toMatchObject({ fileAndDirectoryCount: 3 });
      expect(await usageOf(cluster, '/a')).toMatchObject({ fileAndDirectoryCount: 5, quota: -1, spaceQuota: -1 });
      await expect(usageOf(cluster, '/none')).rejects.toMatchObject({ className: 'java.io.FileNotFoundException' });
    },
  );

  prove(
    USAGE,
    'counts directories of several locations once; a limit is one when all have it',
    {
      mounts: [record('/m', { destOrder: 'HASH_ALL' }, ['ns0', '/m'], ['ns1', '/m'])],
      keys: DEFAULT_NS0,
    },
    async (cluster) => {
      await makeTree(await cluster.direct('ns0'), ['/m/d/f']);
      await makeTree(await cluster.direct('ns1'), ['/m/d/g']);
      expect(await usageOf(cluster, '/m')).toMatchObject({ fileAndDirectoryCount: 4, quota: -1 });
      await setQuota(cluster, '/m', 9);
      expect(await usageOf(cluster, '/m')).toMatchObject({ fileAndDirectoryCount: 4, quota: 9 });
    },
  );

  prove(
    USAGE,
    'shows the limits of mount records while the quotas of the router are on',
    {
      mounts: [
        record('/a', { quota: { quota: 50, spaceQuota: 7 } }, ['ns1', '/x']),
        record('/a/b', { quota: { quota: 5, typeQuotaInfos: [{ type: 'SSD', quota: 8 }] } }, ['ns0', '/y']),
      ],
      keys: QUOTAS_ON,
    },
    async (cluster) => {
      await makeTree(await cluster.direct('ns0'), ['/y/f']);
      await makeTree(await cluster.direct('ns1'), ['/x/d/f']);
      const usage = await usageOf(cluster, '/a/b');
      expect(usage).toMatchObject({ fileAndDirectoryCount: 2, quota: 5, spaceQuota: 7 });
      expect((usage['typeQuotaInfos'] as Plain)['typeQuotaInfo']).toContainEqual({
        type: 'SSD',
        quota: 8,
        consumed: 0,
      });
      expect(await usageOf(cluster, '/a')).toMatchObject({ fileAndDirectoryCount: 5, quota: 50 });
      expect(await usageOf(cluster, '/a/d')).toMatchObject({ fileAndDirectoryCount: 2, quota: -1 });
    },
  );
});

describe('setting quotas', () => {
  prove(
    SET,
    'goes to the nameservice of the path, also with the quotas of the router off (the Java Router refuses)',
    { mounts: ['/a=ns1:/x', '/same=ns0:/same'], keys: DEFAULT_NS0 },
    async (cluster) => {
      await makeTree(await cluster.direct('ns0'), ['/same/']);
      await makeTree(await cluster.direct('ns1'), ['/x/d/']);
      await setQuota(cluster, '/a/d', 7);
      await setQuota(cluster, '/a', 8);
      expect(await usageOf(cluster, '/a/d')).toMatchObject({ quota: 7 });
      expect(await usageOf(cluster, '/a')).toMatchObject({ quota: 8 });
      const direct = await cluster.direct('ns1');
      expect((await direct.call<{ usage: Plain }>(USAGE, { path: '/x' })).usage).toMatchObject({ quota: 8 });
      await expect(setQuota(cluster, '/a', 9, 'alice')).rejects.toMatchObject({
        className: 'org.apache.hadoop.security.AccessControlException',
      });
    },
  );

  prove(
    SET,
    'is refused above mount points that lead elsewhere, for it would limit only a part',
    { mounts: ['/a/b=ns1:/x', '/d/e=ns0:/d/e'], keys: DEFAULT_NS0 },
    async (cluster) => {
      await makeTree(await cluster.direct('ns0'), ['/a/', '/d/e/']);
      await expect(setQuota(cluster, '/a', 7)).rejects.toMatchObject({
        className: 'java.lang.UnsupportedOperationException',
        message: expect.stringContaining(
          'The quota of /a cannot be set: mount points below it lead to other directories',
        ),
      });
      await setQuota(cluster, '/d', 7);
      expect(await usageOf(cluster, '/d')).toMatchObject({ quota: 7, fileAndDirectoryCount: 2 });
    },
  );

  prove(
    SET,
    'is refused for mount points while the quotas of the router are on',
    { mounts: ['/a=ns1:/x'], keys: QUOTAS_ON },
    async (cluster) => {
      await makeTree(await cluster.direct('ns1'), ['/x/d/']);
      await expect(setQuota(cluster, '/a', 7)).rejects.toMatchObject({
        className: 'org.apache.hadoop.security.AccessControlException',
        text: 'Permission denied: hdfs (auth:SIMPLE) is not allowed to change quota of /a',
      });
      await setQuota(cluster, '/a/d', 7);
      expect(await usageOf(cluster, '/a/d')).toMatchObject({ quota: 7 });
    },
  );
});

describe('writes under a mount point with limits', () => {
  const used = (files: bigint, bytes: bigint): MountUsage => ({ files, bytes, types: {} });
  const create = (src: string): object => ({
    src,
    masked: { perm: 0o644 },
    clientName: 'writer',
    createFlag: 1,
    createParent: true,
    replication: 1,
    blockSize: 1 << 20,
  });
  const mkdirs = (src: string): object => ({ src, masked: { perm: 0o755 }, createParent: true });

  prove(
    'ClientProtocol.create',
    'are stopped by what is used, and only there',
    {
      mounts: [
        record('/a', { quota: { quota: 10, spaceQuota: 2048 } }, ['ns1', '/a']),
        record('/m', { destOrder: 'HASH_ALL', quota: { quota: 10 } }, ['ns0', '/m'], ['ns1', '/m']),
      ],
      keys: QUOTAS_ON,
    },
    async (cluster) => {
      const client = await cluster.connect();
      const usages: Record<string, MountUsage> = { '/a': used(9n, 0n), '/m': used(9n, 0n) };
      cluster.router.engine.quotaUsage = { usageOf: (path) => usages[path] ?? null };
      await client.call('ClientProtocol.create', create('/a/f'));
      await client.call('ClientProtocol.create', create('/m/f'));
      cluster.router.engine.quotaUsage = { usageOf: () => used(10n, 0n) };
      const refusal = {
        className: NAMES,
        text: 'The NameSpace quota (directories and files) is exceeded: quota=10 file count=11',
      };
      await expect(client.call('ClientProtocol.create', create('/a/g'))).rejects.toMatchObject(refusal);
      await expect(client.call('ClientProtocol.create', create('/m/g'))).rejects.toMatchObject(refusal);
      await client.call('ClientProtocol.create', create('/elsewhere'));
      await client.call('ClientProtocol.mkdirs', mkdirs('/a'));
      cluster.router.engine.quotaUsage = { usageOf: () => used(11n, 4096n) };
      await expect(client.call('ClientProtocol.mkdirs', mkdirs('/a/d'))).rejects.toMatchObject({ className: NAMES });
      await client.call('ClientProtocol.delete', { src: '/a/f', recursive: false });
      await client.call('ClientProtocol.mkdirs', mkdirs('/user/hdfs/.Trash/Current/a'));
    },
  );

  prove(
    'ClientProtocol.addBlock',
    'are stopped by disk space; files can still be closed',
    { mounts: [record('/a', { quota: { spaceQuota: 2048 } }, ['ns1', '/a'])], keys: QUOTAS_ON },
    async (cluster) => {
      const client = await cluster.connect();
      const usages = used(1n, 2048n);
      await client.call('ClientProtocol.create', create('/a/f'));
      cluster.router.engine.quotaUsage = { usageOf: () => usages };
      await expect(client.call('ClientProtocol.addBlock', { src: '/a/f', clientName: 'writer' })).rejects.toMatchObject(
        {
          className: BYTES,
          text: 'The DiskSpace quota is exceeded: quota = 2048 B = 2 KB but diskspace consumed = 2048 B = 2 KB',
        },
      );
      expect(await client.call('ClientProtocol.complete', { src: '/a/f', clientName: 'writer' })).toEqual({
        result: true,
      });
    },
  );
});
