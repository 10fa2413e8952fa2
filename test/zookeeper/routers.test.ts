import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HdfsClient } from '../../src/control/hdfs-client.ts';
import { RemoteError } from '../../src/control/rpc-client.ts';
import { administer, Deployment, entryOf, namesIn } from '../support/deployment.ts';
import type { RouterProcess } from '../support/router-process.ts';
import { waitUntil } from '../support/wait.ts';
import { ZooKeeperServer } from '../support/zookeeper-server.ts';

/** Whole routers that share a real ZooKeeper. */

const FOREVER = '1h';
const LONG_MS = 30_000;

let server: ZooKeeperServer;
beforeAll(async () => {
  server = await ZooKeeperServer.start();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

function storeAt(parent: string): Record<string, string> {
  return {
    'hadoop.zk.address': `${server.host}:${server.port}`,
    'hadoop.zk.timeout-ms': '2000',
    'dfs.federation.router.store.driver.zk.parent-path': parent,
  };
}

async function mkdirs(router: RouterProcess, path: string): Promise<string> {
  using client = await HdfsClient.connect({ host: router.host, port: router.port, user: 'hdfs' });
  try {
    return String(await client.mkdirs(path));
  } catch (error) {
    if (error instanceof RemoteError) return error.className;
    throw error;
  }
}

describe('routers of one deployment', () => {
  it('go by a mount entry that was added through one of them, at once and without polling', async () => {
    await using deployment = await Deployment.start(storeAt('/adding'), 0);
    const one = await deployment.add({ 'dfs.federation.router.cache.ttl': FOREVER });
    const other = await deployment.add({ 'dfs.federation.router.cache.ttl': FOREVER });
    // Without a mount point and a default nameservice there is no root.
    expect(await namesIn(one, '/')).toBeNull();
    expect(await administer(one, 'addMountTableEntry', { entry: entryOf('/a', 'ns0', '/in-ns0') })).toEqual({
      status: true,
    });
    // The answer came when this router's threads went by it.
    expect(await namesIn(one, '/')).toEqual(['a']);
    await waitUntil(async () => (await namesIn(other, '/'))?.includes('a'), 'the other router shows it');
    expect(await mkdirs(other, '/a/made')).toBe('true');
    expect(await namesIn(one, '/a')).toEqual(['made']);
    expect(await administer(other, 'removeMountTableEntry', { srcPath: '/a' })).toEqual({ status: true });
    await waitUntil(async () => (await namesIn(one, '/')) === null, 'it is gone at the first router');
  });

  it('leave changes to other routers while ZooKeeper is away, go on with what they know, and recover by themselves', async () => {
    await using deployment = await Deployment.start(storeAt('/away'), 0);
    const router = await deployment.add({ 'dfs.federation.router.safemode.expiration': '3s' });
    await administer(router, 'addMountTableEntry', { entry: entryOf('/a', 'ns0', '/in-ns0') });
    await waitUntil(
      async () => (await mkdirs(router, '/a/before')) === 'true',
      'safe mode of the start is left',
      LONG_MS,
    );
    await server.kill();
    await waitUntil(
      async () => (await mkdirs(router, '/a/during')) === 'org.apache.hadoop.ipc.StandbyException',
      'safe mode begins',
      LONG_MS,
    );
    expect(await namesIn(router, '/a')).toContain('before');
    expect(await administer(router, 'getSafeMode')).toEqual({ isInSafeMode: true });
    await server.restart();
    await waitUntil(async () => (await mkdirs(router, '/a/after')) === 'true', 'safe mode is left', LONG_MS);
    expect(await namesIn(router, '/a')).toContain('after');
  }, 90_000);

  it('start without ZooKeeper: no path is resolved until the mount table was read', async () => {
    await using own = await ZooKeeperServer.start();
    const store = { ...storeAt('/late'), 'hadoop.zk.address': `${own.host}:${own.port}` };
    await own.kill();
    await using deployment = await Deployment.start(store, 1);
    const [router] = deployment.routers as [RouterProcess];
    const entry = entryOf('/a', 'ns1', '/in-ns1');
    const add = async (): Promise<boolean> => {
      try {
        return (await administer(router, 'addMountTableEntry', { entry }))['status'] === true;
      } catch (error) {
        if (error instanceof RemoteError && error.className.endsWith('StateStoreUnavailableException')) return false;
        throw error;
      }
    };
    expect(await add()).toBe(false);
    expect(await mkdirs(router, '/a/x')).toBe('org.apache.hadoop.ipc.StandbyException');
    await own.restart();
    await waitUntil(add, 'the State Store can be written', LONG_MS);
    await waitUntil(async () => (await namesIn(router, '/'))?.[0] === 'a', 'paths are resolved');
    await waitUntil(async () => (await mkdirs(router, '/a/x')) === 'true', 'safe mode is left', LONG_MS);
  }, 90_000);

  it('stop asking a nameservice that an administrator has disabled through one of them', async () => {
    await using deployment = await Deployment.start(storeAt('/disabling'), 2);
    const [one, other] = deployment.routers as [RouterProcess, RouterProcess];
    await administer(one, 'addMountTableEntry', { entry: entryOf('/b', 'ns1', '/in-ns1') });
    await waitUntil(async () => (await mkdirs(other, '/b/x')) === 'true', 'the other router serves it', LONG_MS);
    expect(await administer(one, 'disableNameservice', { nameServiceId: 'ns1' })).toEqual({ status: true });
    await waitUntil(
      async () => (await mkdirs(other, '/b/y')).endsWith('NoLocationException'),
      'the other router refuses paths of it',
      LONG_MS,
    );
    expect(await administer(other, 'enableNameservice', { nameServiceId: 'ns1' })).toEqual({ status: true });
    await waitUntil(async () => (await mkdirs(one, '/b/y')) === 'true', 'it is back everywhere', LONG_MS);
  }, 90_000);

  it('end in order and in bounded time while ZooKeeper hangs and administrators wait', async () => {
    await using own = await ZooKeeperServer.start();
    const store = { ...storeAt('/hung'), 'hadoop.zk.address': `${own.host}:${own.port}` };
    await using deployment = await Deployment.start(store, 1);
    const [router] = deployment.routers as [RouterProcess];
    await administer(router, 'addMountTableEntry', { entry: entryOf('/a', 'ns0', '/in-ns0') });
    own.hang();
    try {
      const calls = ['/b', '/c', '/d'].map((path) =>
        administer(router, 'addMountTableEntry', { entry: entryOf(path, 'ns0', '/in-ns0') }),
      );
      const reading = administer(router, 'refreshMountTableEntries');
      const settled = Promise.allSettled([...calls, reading]);
      expect(await namesIn(router, '/')).toEqual(['a']);
      expect(await router.stop()).toBe(0);
      await settled;
    } finally {
      own.resume();
    }
  }, 90_000);

  it('come, change entries and go at the same time, and lose none of them', async () => {
    await using deployment = await Deployment.start(storeAt('/coming-and-going'), 2);
    const [one, other] = deployment.routers as [RouterProcess, RouterProcess];
    const added: string[] = [];
    const addSome = async (router: RouterProcess, stem: string): Promise<void> => {
      for (let i = 0; i < 40; i++) {
        const path = `/${stem}${i}`;
        try {
          const { status } = await administer(router, 'addMountTableEntry', { entry: entryOf(path, 'ns0', '/in-ns0') });
          if (status === true) added.push(path.slice(1));
        } catch {
          // Not answered: it may be there or not.
        }
      }
    };
    const adding = [addSome(one, 'one'), addSome(other, 'other')];
    await waitUntil(() => added.length >= 10, 'some were added', LONG_MS);
    expect(await other.stop()).toBe(0);
    await Promise.all(adding);
    const third = await deployment.add();
    for (const router of [one, third]) {
      await waitUntil(async () => {
        const names = new Set(await namesIn(router, '/'));
        return added.every((name) => names.has(name));
      }, 'every entry whose add was answered is there');
    }
  }, 90_000);
});
