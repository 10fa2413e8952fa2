import { describe, expect } from 'vitest';
import type { Plain } from '../../src/wire/messages.ts';
import type { MethodClient, MethodCluster } from '../support/method-cluster.ts';
import { prove } from '../support/prove.ts';
import { createRequest, mkdirsRequest, refusal, severalMount, statusOf } from '../support/several-mounts.ts';

/** Attributes under a mount whose directories exist in both nameservices: a directory has them in both, a file in the one that it is in. */

const MOUNTS = { mounts: [severalMount()] };

interface Sides {
  readonly router: MethodClient;
  /** ns0 and ns1. */
  readonly both: readonly MethodClient[];
}

/** `/m/d` in both, `/m/f0` in ns0 only, `/m/f1` in ns1 only. */
async function furnish(cluster: MethodCluster): Promise<Sides> {
  const router = await cluster.connect();
  const both = [await cluster.direct('ns0'), await cluster.direct('ns1')];
  await router.call('ClientProtocol.mkdirs', mkdirsRequest('/m/d'));
  for (const [i, ns] of both.entries()) await ns.call('ClientProtocol.create', createRequest(`/m${i}/f${i}`));
  return { router, both };
}

/** What ns0 and ns1 say of the directory, then what the holders of the files say of these. */
async function statuses({ both }: Sides): Promise<Plain[]> {
  const found = await Promise.all([
    ...both.map((ns, i) => statusOf(ns, `/m${i}/d`)),
    ...both.map((ns, i) => statusOf(ns, `/m${i}/f${i}`)),
  ]);
  return found.map((each) => each ?? {});
}

const PATHS = ['/m/d', '/m/f0', '/m/f1'];
const NO_FILE = /^FileNotFoundException: .*\/m\/none/;

/** The change is made of the directory and of both files; a path that is nowhere is refused. */
async function changeAll(sides: Sides, method: string, more: object, field = 'src'): Promise<void> {
  for (const path of PATHS) await sides.router.call(method, { [field]: path, ...more });
  expect(await refusal(sides.router.call(method, { [field]: '/m/none', ...more }))).toMatch(NO_FILE);
}

describe('changes', () => {
  prove('ClientProtocol.setPermission', 'everywhere', MOUNTS, async (cluster) => {
    const sides = await furnish(cluster);
    await changeAll(sides, 'ClientProtocol.setPermission', { permission: { perm: 0o701 } });
    for (const each of await statuses(sides)) expect(each).toMatchObject({ permission: { perm: 0o701 } });
    expect(cluster.router.count('divergences')).toBe(0);
  });

  prove(
    'ClientProtocol.setPermission',
    'at a mount point of any order in all its locations',
    {
      mounts: [severalMount('HASH')],
    },
    async (cluster) => {
      const { router, both } = await furnish(cluster);
      for (const [i, ns] of both.entries()) await ns.call('ClientProtocol.mkdirs', mkdirsRequest(`/m${i}`));
      await router.call('ClientProtocol.setPermission', { src: '/m', permission: { perm: 0o711 } });
      for (const [i, ns] of both.entries())
        expect(await statusOf(ns, `/m${i}`)).toMatchObject({ permission: { perm: 0o711 } });
    },
  );

  prove('ClientProtocol.setOwner', 'everywhere', MOUNTS, async (cluster) => {
    const sides = await furnish(cluster);
    await changeAll(sides, 'ClientProtocol.setOwner', { username: 'alice', groupname: 'staff' });
    for (const each of await statuses(sides)) expect(each).toMatchObject({ owner: 'alice', group: 'staff' });
  });

  prove('ClientProtocol.setTimes', 'everywhere', MOUNTS, async (cluster) => {
    const sides = await furnish(cluster);
    await changeAll(sides, 'ClientProtocol.setTimes', { mtime: 1000, atime: 2000 });
    for (const each of await statuses(sides)) expect(each).toMatchObject({ modification_time: 1000 });
  });

  prove(
    'ClientProtocol.setReplication',
    'true for a file in any location, false for what is none',
    MOUNTS,
    async (cluster) => {
      const sides = await furnish(cluster);
      const set = (src: string) => sides.router.call('ClientProtocol.setReplication', { src, replication: 2 });
      expect(await set('/m/f0')).toEqual({ result: true });
      expect(await set('/m/f1')).toEqual({ result: true });
      expect(await set('/m/d')).toEqual({ result: false });
      expect(await set('/m/none')).toEqual({ result: false });
      for (const file of (await statuses(sides)).slice(2)) expect(file).toMatchObject({ block_replication: 2 });
    },
  );

  prove('ClientProtocol.setStoragePolicy', 'everywhere', MOUNTS, async (cluster) => {
    const sides = await furnish(cluster);
    await changeAll(sides, 'ClientProtocol.setStoragePolicy', { policyName: 'COLD' });
    for (const each of await statuses(sides)) expect(each).toMatchObject({ storagePolicy: 2 });
  });

  prove('ClientProtocol.unsetStoragePolicy', 'everywhere', MOUNTS, async (cluster) => {
    const sides = await furnish(cluster);
    await changeAll(sides, 'ClientProtocol.setStoragePolicy', { policyName: 'COLD' });
    await changeAll(sides, 'ClientProtocol.unsetStoragePolicy', {});
    for (const each of await statuses(sides)) expect(each).toMatchObject({ storagePolicy: 0 });
  });

  const XATTR = { namespace: 'USER', name: 'n', value: Buffer.from('v') };

  prove('ClientProtocol.setXAttr', 'everywhere', MOUNTS, async (cluster) => {
    const sides = await furnish(cluster);
    await changeAll(sides, 'ClientProtocol.setXAttr', { xAttr: XATTR, flag: 1 });
    const xAttrs = [{ namespace: 'USER', name: 'n', value: Buffer.from('v') }];
    for (const [i, ns] of sides.both.entries()) {
      for (const src of [`/m${i}/d`, `/m${i}/f${i}`]) {
        expect(await ns.call('ClientProtocol.getXAttrs', { src, xAttrs: [] })).toEqual({ xAttrs });
      }
    }
  });

  prove('ClientProtocol.removeXAttr', 'everywhere', MOUNTS, async (cluster) => {
    const sides = await furnish(cluster);
    await changeAll(sides, 'ClientProtocol.setXAttr', { xAttr: XATTR, flag: 1 });
    await changeAll(sides, 'ClientProtocol.removeXAttr', { xAttr: { namespace: 'USER', name: 'n' } });
    for (const [i, ns] of sides.both.entries()) {
      expect(await ns.call('ClientProtocol.listXAttrs', { src: `/m${i}/d` })).toEqual({ xAttrs: [] });
    }
  });
});

describe('what one nameservice refuses', () => {
  prove(
    'ClientProtocol.setPermission',
    'is success where it could be done, counted and noted',
    MOUNTS,
    async (cluster) => {
      const sides = await furnish(cluster);
      await sides.router.call('ClientProtocol.setOwner', { src: '/m/d', username: 'alice' });
      await sides.both[1]?.call('ClientProtocol.setOwner', { src: '/m1/d', username: 'bob' });
      const alice = await cluster.connect('alice');
      await alice.call('ClientProtocol.setPermission', { src: '/m/d', permission: { perm: 0o700 } });
      const [first, second] = await statuses(sides);
      expect(first).toMatchObject({ permission: { perm: 0o700 } });
      expect(second).toMatchObject({ permission: { perm: 0o755 } });
      expect(cluster.router.count('divergences')).toBe(1);
    },
  );
});

describe('reads', () => {
  prove('ClientProtocol.getStoragePolicy', 'where the path is', MOUNTS, async (cluster) => {
    const sides = await furnish(cluster);
    await changeAll(sides, 'ClientProtocol.setStoragePolicy', { policyName: 'COLD' });
    for (const path of PATHS) {
      expect(await sides.router.call('ClientProtocol.getStoragePolicy', { path })).toMatchObject({
        storagePolicy: { name: 'COLD' },
      });
    }
    expect(await refusal(sides.router.call('ClientProtocol.getStoragePolicy', { path: '/m/none' }))).toMatch(NO_FILE);
  });

  prove('ClientProtocol.checkAccess', 'who knows the path decides, not who does not', MOUNTS, async (cluster) => {
    const sides = await furnish(cluster);
    await sides.router.call('ClientProtocol.setPermission', { src: '/m/f1', permission: { perm: 0o600 } });
    await sides.router.call('ClientProtocol.setPermission', { src: '/m/f0', permission: { perm: 0o600 } });
    const alice = await cluster.connect('alice');
    for (const path of ['/m/f0', '/m/f1']) {
      expect(await sides.router.call('ClientProtocol.checkAccess', { path, mode: 'READ' })).toEqual({});
      expect(await refusal(alice.call('ClientProtocol.checkAccess', { path, mode: 'READ' }))).toMatch(
        /^AccessControlException/,
      );
    }
    expect(await refusal(alice.call('ClientProtocol.checkAccess', { path: '/m/none', mode: 'READ' }))).toMatch(NO_FILE);
  });
});
