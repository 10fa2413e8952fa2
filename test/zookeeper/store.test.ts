import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MountRecords } from '../../src/control/store/mount-records.ts';
import { StateStore } from '../../src/control/store/state-store.ts';
import type { MountEntry } from '../../src/mount/entry.ts';
import { OPEN_ACL } from '../../src/state-store/zookeeper/protocol.ts';
import { ZooKeeperDriver } from '../../src/state-store/zookeeper-driver.ts';
import { recordLog, SETTINGS } from '../support/store-routers.ts';
import { waitUntil } from '../support/wait.ts';
import { ZooKeeperServer } from '../support/zookeeper-server.ts';
import { DEFAULTS, mount } from '../unit/mount-samples.ts';

/** Caches and changes of several routers on one real ZooKeeper. */

let server: ZooKeeperServer;
beforeAll(async () => {
  server = await ZooKeeperServer.start();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

/** A router that hears of changes only by the store's news, or by its tries after a failure. */
class Router implements AsyncDisposable {
  readonly store: StateStore;
  readonly mounts: MountRecords;

  constructor(parentPath: string, routerId: string) {
    const driver = new ZooKeeperDriver({
      servers: [{ host: server.host, port: server.port }],
      chroot: '',
      parentPath,
      timeoutMs: 2_000,
      numRetries: 3,
      retryIntervalMs: 100,
      acl: OPEN_ACL,
      auth: [],
    });
    const settings = { ...SETTINGS, cacheTtlMs: 3_600_000 };
    this.store = new StateStore({ driver, settings, defaults: DEFAULTS, routerId, log: recordLog().log });
    this.mounts = new MountRecords(this.store);
  }

  static async start(parentPath: string, routerId: string): Promise<Router> {
    const router = new Router(parentPath, routerId);
    await router.store.start();
    // Throws with the reason when it could not be read.
    router.mounts.entries();
    return router;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.store.stop();
  }
}

describe('routers on one ZooKeeper', () => {
  it('hear of each other’s mount entries without polling', async () => {
    await using one = await Router.start('/news', 'r1:8888');
    await using other = await Router.start('/news', 'r2:8888');
    expect(await one.mounts.add(mount('/a', ['ns0:/1']))).toEqual({ kind: 'done' });
    await waitUntil(() => other.mounts.find('/a'), 'the entry is known');
    expect(await other.mounts.update('/a', (entry) => entry && { ...entry, mode: 0o700 })).toEqual({ kind: 'done' });
    await waitUntil(() => one.mounts.find('/a')?.mode === 0o700, 'the change is known');
    expect(await one.mounts.add(mount('/a', ['ns0:/2']))).toMatchObject({ kind: 'exists' });
    expect(await one.mounts.remove('/a')).toBe(true);
    await waitUntil(() => other.mounts.find('/a') === null, 'the removal is known');
  });

  it('make all changes of one entry, each to the entry as it is', async () => {
    const routers = await Promise.all(['r1:1', 'r2:1', 'r3:1'].map((id) => Router.start('/updates', id)));
    try {
      await routers[0]?.mounts.add(mount('/a', ['ns0:/first']));
      const updates = routers.flatMap(({ mounts }, i) =>
        Array.from({ length: 20 }, (_, n) => {
          const destination = { nameservice: `ns${i}`, path: `/${n}` };
          const grow = (entry: MountEntry | null): MountEntry | null =>
            entry && { ...entry, destinations: [...entry.destinations, destination] };
          return mounts.update('/a', grow);
        }),
      );
      // An update of a router that has not heard of the entry yet reads the store first.
      expect(new Set((await Promise.all(updates)).map(({ kind }) => kind))).toEqual(new Set(['done']));
      await routers[1]?.store.requireFresh('MountTable');
      const destinations = routers[1]?.mounts.find('/a')?.destinations ?? [];
      expect(new Set(destinations.map(({ nameservice, path }) => nameservice + path)).size).toBe(61);
    } finally {
      for (const router of routers) await router[Symbol.asyncDispose]();
    }
  });

  it('go on with their caches while it is down, and with it when it is back', async () => {
    await using one = await Router.start('/outage', 'r1:1');
    await using other = await Router.start('/outage', 'r2:1');
    await one.mounts.add(mount('/a', ['ns0:/1']));
    await waitUntil(() => other.mounts.find('/a'), 'the entry is known');
    const loadedMs = other.store.lastFullLoadMs;
    await server.kill();
    expect(await other.store.refresh()).toBe(false);
    expect([other.store.lastFullLoadMs, other.mounts.find('/a')?.sourcePath]).toEqual([loadedMs, '/a']);
    await expect(other.mounts.add(mount('/b', ['ns0:/1']))).rejects.toThrow();
    await server.restart();
    await waitUntil(() => other.store.refresh(), 'the store can be read again', 30_000);
    expect(other.store.lastFullLoadMs).not.toBe(loadedMs);
    await waitUntil(
      async () => (await one.store.refresh()) && one.mounts.find('/a') !== null,
      'the other, too',
      30_000,
    );
    await one.mounts.add(mount('/c', ['ns0:/1']));
    await waitUntil(() => other.mounts.find('/c'), 'news are told again');
  });
});
