import { describe, expect } from 'vitest';
import type { Plain } from '../../src/wire/messages.ts';
import type { MethodClient, MethodCluster } from '../support/method-cluster.ts';
import { prove } from '../support/prove.ts';
import { createRequest, mkdirsRequest, refusal, severalMount, statusOf } from '../support/several-mounts.ts';

/**
 * Changes of a directory that both nameservices of a mount have although its order keeps directories in one: with LOCAL each client makes its
 * own, with HASH a rename brings it there. Clients see one directory, so a change of it is one of both.
 */

interface Sides {
  readonly router: MethodClient;
  readonly parts: readonly { readonly ns: MethodClient; readonly top: string }[];
}

/** `/m/d` in both. */
async function furnish(cluster: MethodCluster): Promise<Sides> {
  const parts = [
    { ns: await cluster.direct('ns0'), top: '/m0' },
    { ns: await cluster.direct('ns1'), top: '/m1' },
  ];
  for (const { ns, top } of parts) await ns.call('ClientProtocol.mkdirs', mkdirsRequest(`${top}/d`));
  return { router: await cluster.connect(), parts };
}

async function statuses({ parts }: Sides, name = '/d'): Promise<(Plain | null)[]> {
  return await Promise.all(parts.map(({ ns, top }) => statusOf(ns, `${top}${name}`)));
}

async function both({ parts }: Sides, method: string, more: object = {}, field = 'src'): Promise<Plain[]> {
  return await Promise.all(parts.map(({ ns, top }) => ns.call(method, { [field]: `${top}/d`, ...more })));
}

/** Names of the snapshots of the directory, in each nameservice. */
async function snapshots(sides: Sides): Promise<string[][]> {
  const answers = await both(sides, 'ClientProtocol.getSnapshotListing', {}, 'snapshotRoot');
  return answers.map(({ snapshotList }) =>
    ((snapshotList as Plain)['snapshotListing'] as Plain[]).map(({ dirStatus }) =>
      String((dirStatus as Plain)['path']),
    ),
  );
}

for (const order of ['HASH', 'LOCAL']) {
  const mounts = { mounts: [severalMount(order)] };

  describe(order, () => {
    prove('ClientProtocol.setPermission', `${order}: a directory in all that have it`, mounts, async (cluster) => {
      const sides = await furnish(cluster);
      await sides.router.call('ClientProtocol.setPermission', { src: '/m/d', permission: { perm: 0o701 } });
      for (const each of await statuses(sides)) expect(each).toMatchObject({ permission: { perm: 0o701 } });
      expect(cluster.router.count('divergences')).toBe(0);
    });

    prove(
      'ClientProtocol.setPermission',
      `${order}: what is a file to clients, there alone`,
      mounts,
      async (cluster) => {
        const sides = await furnish(cluster);
        const { router, parts } = sides;
        await router.call('ClientProtocol.create', createRequest('/m/f'));
        const at = (await statuses(sides, '/f')).findIndex((status) => status !== null);
        const other = parts[1 - at] as (typeof parts)[number];
        await other.ns.call('ClientProtocol.mkdirs', mkdirsRequest(`${other.top}/f`));
        await router.call('ClientProtocol.setPermission', { src: '/m/f', permission: { perm: 0o600 } });
        const after = await statuses(sides, '/f');
        expect(after[at]).toMatchObject({ fileType: 'IS_FILE', permission: { perm: 0o600 } });
        expect(after[1 - at]).toMatchObject({ fileType: 'IS_DIR', permission: { perm: 0o755 } });
      },
    );

    prove('ClientProtocol.setPermission', `${order}: in one that has it alone, or in none`, mounts, async (cluster) => {
      const sides = await furnish(cluster);
      const { router, parts } = sides;
      for (const [i, { ns, top }] of parts.entries()) {
        await ns.call('ClientProtocol.mkdirs', mkdirsRequest(`${top}/only${i}`));
        await router.call('ClientProtocol.setPermission', { src: `/m/only${i}`, permission: { perm: 0o700 } });
        const found = await statuses(sides, `/only${i}`);
        expect(found[i]).toMatchObject({ permission: { perm: 0o700 } });
        expect(found[1 - i]).toBeNull();
      }
      const none = router.call('ClientProtocol.setPermission', { src: '/m/none', permission: { perm: 0o700 } });
      expect(await refusal(none)).toMatch(/^FileNotFoundException: .*\/m\/none/);
    });

    prove('ClientProtocol.setOwner', `${order}: a directory in all that have it`, mounts, async (cluster) => {
      const sides = await furnish(cluster);
      await sides.router.call('ClientProtocol.setOwner', { src: '/m/d', username: 'alice', groupname: 'staff' });
      for (const each of await statuses(sides)) expect(each).toMatchObject({ owner: 'alice', group: 'staff' });
    });

    prove('ClientProtocol.setTimes', `${order}: a directory in all that have it`, mounts, async (cluster) => {
      const sides = await furnish(cluster);
      await sides.router.call('ClientProtocol.setTimes', { src: '/m/d', mtime: 1000, atime: 2000 });
      for (const each of await statuses(sides)) expect(each).toMatchObject({ modification_time: 1000 });
    });

    prove('ClientProtocol.setXAttr', `${order}: a directory in all that have it`, mounts, async (cluster) => {
      const sides = await furnish(cluster);
      const xAttrs = [{ namespace: 'USER', name: 'n', value: Buffer.from('v') }];
      await sides.router.call('ClientProtocol.setXAttr', { src: '/m/d', xAttr: xAttrs[0], flag: 1 });
      const answers = await both(sides, 'ClientProtocol.getXAttrs', { xAttrs: [] });
      expect(answers).toEqual([{ xAttrs }, { xAttrs }]);
    });

    prove('ClientProtocol.setStoragePolicy', `${order}: a directory in all that have it`, mounts, async (cluster) => {
      const sides = await furnish(cluster);
      await sides.router.call('ClientProtocol.setStoragePolicy', { src: '/m/d', policyName: 'COLD' });
      for (const each of await statuses(sides)) expect(each).toMatchObject({ storagePolicy: 2 });
    });

    prove('ClientProtocol.setAcl', `${order}: a directory in all that have it`, mounts, async (cluster) => {
      const sides = await furnish(cluster);
      const base = ['USER', 'GROUP', 'OTHER'].map((type) => ({ type, scope: 'ACCESS', permissions: 'READ' }));
      const aclSpec = [...base, { type: 'USER', scope: 'ACCESS', permissions: 'READ', name: 'a' }];
      await sides.router.call('ClientProtocol.setAcl', { src: '/m/d', aclSpec });
      for (const { result } of await both(sides, 'ClientProtocol.getAclStatus')) {
        expect((result as Plain)['entries']).toContainEqual(expect.objectContaining({ name: 'a' }));
      }
    });

    prove(
      'ClientProtocol.createEncryptionZone',
      `${order}: a directory in all that have it`,
      mounts,
      async (cluster) => {
        const sides = await furnish(cluster);
        await sides.router.call('ClientProtocol.createEncryptionZone', { src: '/m/d', keyName: 'key' });
        const zones = await both(sides, 'ClientProtocol.getEZForPath');
        expect(zones.map(({ zone }) => (zone as Plain)['path'])).toEqual(['/m0/d', '/m1/d']);
      },
    );

    prove('ClientProtocol.createSnapshot', `${order}: a directory in all that have it`, mounts, async (cluster) => {
      const sides = await furnish(cluster);
      const onRoot = (method: string, more: object = {}) =>
        sides.router.call(`ClientProtocol.${method}`, { snapshotRoot: '/m/d', ...more });
      await onRoot('allowSnapshot');
      await onRoot('createSnapshot', { snapshotName: 's1' });
      expect(await snapshots(sides)).toEqual([['s1'], ['s1']]);
      for (const [i, { ns, top }] of sides.parts.entries())
        await ns.call('ClientProtocol.create', createRequest(`${top}/d/f${i}`));
      const { diffReport } = await onRoot('getSnapshotDiffReport', { fromSnapshot: 's1', toSnapshot: '' });
      const names = ((diffReport as Plain)['diffReportEntries'] as Plain[]).map(({ fullpath }) => String(fullpath));
      expect(names.sort()).toEqual(['', 'f0', 'f1']);
      await onRoot('deleteSnapshot', { snapshotName: 's1' });
      expect(await snapshots(sides)).toEqual([[], []]);
      await onRoot('disallowSnapshot');
      expect(cluster.router.count('divergences')).toBe(0);
    });
  });
}
