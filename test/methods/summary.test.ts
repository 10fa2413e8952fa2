import { describe, expect } from 'vitest';
import { MAX_SHARED_PAGES } from '../../src/composed/subtree/shared-directories.ts';
import type { Plain } from '../../src/wire/messages.ts';
import { makeTree } from '../support/make-tree.ts';
import type { MethodClient, MethodCluster } from '../support/method-cluster.ts';
import { prove } from '../support/prove.ts';
import { listAll } from './model/compare.ts';

const SUMMARY = 'ClientProtocol.getContentSummary';
const NO_LIMIT = -1;
const FILE_NOT_FOUND = 'java.io.FileNotFoundException';
const NO_DEFAULT = { 'dfs.federation.router.default.nameservice.enable': 'false' };
const DEFAULT_NS0 = { 'dfs.federation.router.default.nameserviceId': 'ns0' };

async function make(cluster: MethodCluster, trees: Readonly<Record<string, readonly string[]>>): Promise<void> {
  for (const [nameservice, paths] of Object.entries(trees)) await makeTree(await cluster.direct(nameservice), paths);
}

async function summaryOf(cluster: MethodCluster, path: string, user?: string): Promise<Plain> {
  const client = await cluster.connect(user);
  return (await client.call<{ summary: Plain }>(SUMMARY, { path })).summary;
}

async function listed(client: MethodClient, src: string): Promise<string[]> {
  const listing = await listAll(client, src, false);
  return (listing as { entries: Plain[] }).entries.map(({ path }) => String(path));
}

const counts = (fileCount: number, directoryCount: number): object => ({ fileCount, directoryCount });

function several(srcPath: string, destOrder: string, ...destinations: string[]) {
  return {
    srcPath,
    destOrder,
    destinations: destinations.map((each) => {
      const [nameserviceId = '', path = ''] = each.split(':');
      return { nameserviceId, path };
    }),
  };
}

describe('content summary', () => {
  prove(
    SUMMARY,
    'of one nameservice is its own answer',
    { mounts: ['/a=ns1:/x'], keys: DEFAULT_NS0 },
    async (cluster) => {
      await make(cluster, { ns1: ['/x/f', '/x/d/g'] });
      const direct = await cluster.direct('ns1');
      expect(await summaryOf(cluster, '/a/d')).toEqual(
        (await direct.call<{ summary: Plain }>(SUMMARY, { path: '/x/d' })).summary,
      );
      expect(cluster.router.count('partsSent')).toBe(0);
      expect(await summaryOf(cluster, '/a')).toEqual(
        (await direct.call<{ summary: Plain }>(SUMMARY, { path: '/x' })).summary,
      );
    },
  );

  prove(
    SUMMARY,
    'of all nameservices below the path',
    {
      nameservices: ['ns0', 'ns1', 'ns2', 'ns3'],
      mounts: ['/a=ns1:/x', '/a/b=ns2:/y', '/c=ns3:/z'],
      keys: DEFAULT_NS0,
    },
    async (cluster) => {
      await make(cluster, { ns0: ['/f', '/d/'], ns1: ['/x/f', '/x/g'], ns2: ['/y/d/f'], ns3: ['/z/f'] });
      // `/`, `/d`, `/a`, `/a/b`, `/a/b/d`, `/c`
      expect(await summaryOf(cluster, '/')).toMatchObject(counts(5, 6));
      expect(await summaryOf(cluster, '/a')).toMatchObject(counts(3, 3));
    },
  );

  prove(
    SUMMARY,
    'does not count what a mount point hides',
    { mounts: ['/a=ns0:/a', '/a/b=ns1:/b'], keys: NO_DEFAULT },
    async (cluster) => {
      await make(cluster, { ns0: ['/a/f', '/a/b/hidden', '/a/b/d/hidden'], ns1: ['/b/f'] });
      expect(await summaryOf(cluster, '/a')).toMatchObject(counts(2, 2));
      expect(await summaryOf(cluster, '/')).toMatchObject(counts(2, 3));
    },
  );

  prove(
    SUMMARY,
    'counts destinations inside one another once (the Java Router: twice)',
    {
      mounts: ['/all=ns1:/', '/a=ns1:/a', '/a2=ns1:/a', '/b=ns0:/', several('/a/b', 'HASH', 'ns1:/a/b', 'ns0:/a/b')],
      keys: DEFAULT_NS0,
    },
    async (cluster) => {
      await make(cluster, { ns0: ['/f0', '/a/b/g0'], ns1: ['/a/f1', '/a/b/g1'] });
      // ns0: /, /a, /a/b; ns1: /, /a, /a/b, of which one /a/b is the other's; `/a/b` in both is one directory.
      expect(await summaryOf(cluster, '/')).toMatchObject({ fileCount: 4 });
      expect(await summaryOf(cluster, '/a')).toMatchObject(counts(3, 2));
      expect(await summaryOf(cluster, '/all')).toMatchObject(counts(2, 3));
    },
  );

  prove(
    SUMMARY,
    'counts directories of a mount with several destinations once',
    {
      mounts: [several('/m', 'HASH_ALL', 'ns0:/m', 'ns1:/m'), several('/h', 'HASH', 'ns0:/h', 'ns1:/h')],
      keys: DEFAULT_NS0,
    },
    async (cluster) => {
      await make(cluster, { ns0: ['/m/d/e/', '/m/d/f', '/h/d/f'], ns1: ['/m/d/e/g', '/m/h', '/h/e/'] });
      expect(await summaryOf(cluster, '/m')).toMatchObject(counts(3, 3));
      expect(await summaryOf(cluster, '/m/d/f')).toMatchObject(counts(1, 0));
      expect(await summaryOf(cluster, '/h')).toMatchObject(counts(1, 3));
      expect(await summaryOf(cluster, '/h/d')).toMatchObject(counts(1, 1));
      expect(await summaryOf(cluster, '/')).toMatchObject(counts(4, 7));
    },
  );

  prove(
    SUMMARY,
    'counts a directory once that several nameservices have although the order does not put it there',
    {
      mounts: [
        several('/all', 'HASH_ALL', 'ns0:/all', 'ns1:/all'),
        several('/h', 'HASH', 'ns0:/h', 'ns1:/h'),
        several('/l', 'LOCAL', 'ns0:/l', 'ns1:/l'),
        '/l/both/hidden=ns0:/elsewhere',
      ],
      keys: DEFAULT_NS0,
      simulator: { listingLimit: 2 },
    },
    async (cluster) => {
      await make(cluster, {
        ns0: ['/all/d/a/f0', '/all/d/b/', '/h/own/f', '/elsewhere/', '/l/both/x/y/', '/l/both/hidden/z/', '/l/only0/'],
        ns1: ['/all/d/a/f1', '/all/d/b/', '/all/d/c/', '/h/', '/l/both/x/y/f', '/l/both/hidden/z/', '/l/only1/'],
      });
      const router = await cluster.connect();
      await router.call('ClientProtocol.rename', { src: '/all/d', dst: '/h/d' });
      // As a walk finds them: /h, /h/own, /h/d with a, b, c.
      expect(await listed(router, '/h/d')).toEqual(['a', 'b', 'c']);
      expect(await summaryOf(cluster, '/h/d')).toMatchObject(counts(2, 4));
      expect(await summaryOf(cluster, '/h')).toMatchObject(counts(3, 6));
      expect(await summaryOf(cluster, '/l/both/x')).toMatchObject(counts(1, 2));
      // /l, /l/both, /l/both/hidden, /l/both/x, /l/both/x/y, /l/only0, /l/only1
      expect(await summaryOf(cluster, '/l')).toMatchObject(counts(1, 7));
      // Back where directories exist everywhere: what came from elsewhere is in one nameservice, and counts.
      await router.call('ClientProtocol.rename', { src: '/h/own', dst: '/all/own' });
      await make(cluster, { ns1: ['/all/here/too/'] });
      expect(await listed(router, '/all')).toEqual(['here', 'own']);
      expect(await summaryOf(cluster, '/all')).toMatchObject(counts(1, 4));
      await router.call('ClientProtocol.rename', { src: '/all/own', dst: '/h/own' });
      // What is deleted is gone in both.
      await router.call('ClientProtocol.delete', { src: '/h/d', recursive: true });
      expect(await listed(router, '/h')).toEqual(['own']);
      expect(await summaryOf(cluster, '/h')).toMatchObject(counts(1, 2));
    },
  );

  prove(
    SUMMARY,
    'counts directories that several nameservices have twice where it would read too many pages to find them',
    { mounts: [several('/h', 'HASH', 'ns0:/h', 'ns1:/h')], simulator: { listingLimit: 1 } },
    async (cluster) => {
      const each = MAX_SHARED_PAGES / 2 + 100;
      const paths = Array.from({ length: each }, (_, i) => `/h/${i}/`);
      await make(cluster, { ns0: paths, ns1: paths });
      // A page of each nameservice shows one name.
      expect(await summaryOf(cluster, '/h')).toMatchObject(counts(0, 1 + 2 * each - MAX_SHARED_PAGES / 2));
    },
  );

  prove(
    SUMMARY,
    'counts mount points without a directory behind them as directories',
    { mounts: ['/a/b/c=ns1:/missing', '/a/d=ns1:/there', '/x=ns0:/x'], keys: DEFAULT_NS0 },
    async (cluster) => {
      await make(cluster, { ns0: ['/a/f'], ns1: ['/there/f'] });
      // `/`, `/a` of ns0, `/a/b`, `/a/b/c`, `/a/d`, `/x`
      expect(await summaryOf(cluster, '/')).toMatchObject(counts(2, 6));
      expect(await summaryOf(cluster, '/a/b')).toEqual({
        length: 0,
        fileCount: 0,
        directoryCount: 2,
        quota: NO_LIMIT,
        spaceConsumed: 0,
        spaceQuota: NO_LIMIT,
        snapshotLength: 0,
        snapshotFileCount: 0,
        snapshotDirectoryCount: 0,
        snapshotSpaceConsumed: 0,
        erasureCodingPolicy: '',
      });
    },
  );

  prove(
    SUMMARY,
    'has the limits of its own directory',
    { mounts: ['/a=ns1:/a', several('/m', 'HASH_ALL', 'ns0:/m', 'ns1:/m')], keys: DEFAULT_NS0 },
    async (cluster) => {
      await make(cluster, { ns0: ['/m/'], ns1: ['/m/', '/a/'] });
      const set = async (nameservice: string, path: string, namespaceQuota: number): Promise<void> => {
        const client = await cluster.direct(nameservice);
        await client.call('ClientProtocol.setQuota', { path, namespaceQuota, storagespaceQuota: 2n ** 63n - 1n });
      };
      await set('ns0', '/', 100);
      await set('ns1', '/a', 10);
      await set('ns0', '/m', 7);
      expect(await summaryOf(cluster, '/')).toMatchObject({ quota: 100, spaceQuota: NO_LIMIT });
      expect(await summaryOf(cluster, '/m')).toMatchObject({ quota: NO_LIMIT });
      await set('ns1', '/m', 7);
      expect(await summaryOf(cluster, '/m')).toMatchObject({ quota: 7 });
    },
  );

  prove(
    SUMMARY,
    'says what a NameNode says',
    { mounts: ['/a=ns1:/a', '/a/b=ns0:/b'], keys: DEFAULT_NS0 },
    async (cluster) => {
      await make(cluster, { ns1: ['/a/secret/f'] });
      await (await cluster.direct('ns1')).call('ClientProtocol.setPermission', {
        src: '/a/secret',
        permission: { perm: 0o700 },
      });
      await expect(summaryOf(cluster, '/missing')).rejects.toMatchObject({ className: FILE_NOT_FOUND });
      // As in one HDFS, and unlike the Java Router, which leaves out what may not be read.
      await expect(summaryOf(cluster, '/', 'alice')).rejects.toMatchObject({
        className: 'org.apache.hadoop.security.AccessControlException',
        message: expect.stringContaining('inode="/a/secret"'),
      });
    },
  );
});
