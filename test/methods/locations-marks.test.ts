import { describe, expect } from 'vitest';
import type { Plain } from '../../src/wire/messages.ts';
import type { MethodClient, MethodCluster } from '../support/method-cluster.ts';
import { prove } from '../support/prove.ts';
import { createRequest, mkdirsRequest, refusal, severalMount } from '../support/several-mounts.ts';

/** What directories are marked with (ACLs, erasure coding, encryption, snapshots), on a mount whose directories exist in both nameservices. */

const MOUNTS = { mounts: [severalMount()] };
const POLICY = 'RS-6-3-1024k';
/** Answers name the policies that every NameNode has by number only. */
const POLICY_ID = 1;

interface Sides {
  readonly router: MethodClient;
  /** The directory of `/m/d` in ns0 and in ns1. */
  readonly parts: readonly { readonly ns: MethodClient; readonly src: string }[];
}

async function furnish(cluster: MethodCluster): Promise<Sides> {
  const router = await cluster.connect();
  await router.call('ClientProtocol.mkdirs', mkdirsRequest('/m/d'));
  const parts = [
    { ns: await cluster.direct('ns0'), src: '/m0/d' },
    { ns: await cluster.direct('ns1'), src: '/m1/d' },
  ];
  return { router, parts };
}

/** The same call to each nameservice, about its part of the directory. */
async function both({ parts }: Sides, method: string, more: object = {}, field = 'src'): Promise<Plain[]> {
  return await Promise.all(parts.map(({ ns, src }) => ns.call(method, { [field]: src, ...more })));
}

describe('ACLs', () => {
  const user = (name: string, scope = 'ACCESS'): Plain => ({ type: 'USER', scope, permissions: 'READ', name });
  const named = async (sides: Sides): Promise<string[][]> => {
    const answers = await both(sides, 'ClientProtocol.getAclStatus');
    return answers.map(({ result }) =>
      ((result as Plain)['entries'] as Plain[]).flatMap(({ name, scope }) => (name ? [`${scope}:${name}`] : [])),
    );
  };
  const modify = (sides: Sides, ...aclSpec: Plain[]) =>
    sides.router.call('ClientProtocol.modifyAclEntries', { src: '/m/d', aclSpec });

  prove('ClientProtocol.modifyAclEntries', 'in all locations', MOUNTS, async (cluster) => {
    const sides = await furnish(cluster);
    await modify(sides, user('a'), user('b', 'DEFAULT'));
    expect(await named(sides)).toEqual([
      ['ACCESS:a', 'DEFAULT:b'],
      ['ACCESS:a', 'DEFAULT:b'],
    ]);
  });

  prove('ClientProtocol.removeAclEntries', 'in all locations', MOUNTS, async (cluster) => {
    const sides = await furnish(cluster);
    await modify(sides, user('a'), user('b'));
    await sides.router.call('ClientProtocol.removeAclEntries', { src: '/m/d', aclSpec: [user('a')] });
    expect(await named(sides)).toEqual([['ACCESS:b'], ['ACCESS:b']]);
  });

  prove('ClientProtocol.removeDefaultAcl', 'in all locations', MOUNTS, async (cluster) => {
    const sides = await furnish(cluster);
    await modify(sides, user('a'), user('b', 'DEFAULT'));
    await sides.router.call('ClientProtocol.removeDefaultAcl', { src: '/m/d' });
    expect(await named(sides)).toEqual([['ACCESS:a'], ['ACCESS:a']]);
  });

  prove('ClientProtocol.removeAcl', 'in all locations', MOUNTS, async (cluster) => {
    const sides = await furnish(cluster);
    await modify(sides, user('a'));
    await sides.router.call('ClientProtocol.removeAcl', { src: '/m/d' });
    expect(await named(sides)).toEqual([[], []]);
  });

  prove('ClientProtocol.setAcl', 'in all locations', MOUNTS, async (cluster) => {
    const sides = await furnish(cluster);
    const base = ['USER', 'GROUP', 'OTHER'].map((type) => ({ type, scope: 'ACCESS', permissions: 'READ_EXECUTE' }));
    await sides.router.call('ClientProtocol.setAcl', { src: '/m/d', aclSpec: [...base, user('a')] });
    expect(await named(sides)).toEqual([['ACCESS:a'], ['ACCESS:a']]);
  });
});

describe('erasure coding', () => {
  const policies = async (sides: Sides): Promise<unknown[]> =>
    (await both(sides, 'ClientProtocol.getErasureCodingPolicy')).map(
      ({ ecPolicy }) => (ecPolicy as Plain | undefined)?.['id'],
    );
  const setPolicy = async (sides: Sides): Promise<void> => {
    for (const { ns } of sides.parts)
      await ns.call('ClientProtocol.enableErasureCodingPolicy', { ecPolicyName: POLICY });
    await sides.router.call('ClientProtocol.setErasureCodingPolicy', { src: '/m/d', ecPolicyName: POLICY });
  };

  prove('ClientProtocol.setErasureCodingPolicy', 'in all locations', MOUNTS, async (cluster) => {
    const sides = await furnish(cluster);
    await setPolicy(sides);
    expect(await policies(sides)).toEqual([POLICY_ID, POLICY_ID]);
  });

  prove('ClientProtocol.unsetErasureCodingPolicy', 'in all locations', MOUNTS, async (cluster) => {
    const sides = await furnish(cluster);
    await setPolicy(sides);
    await sides.router.call('ClientProtocol.unsetErasureCodingPolicy', { src: '/m/d' });
    expect(await policies(sides)).toEqual([undefined, undefined]);
  });
});

describe('storage policies', () => {
  prove('ClientProtocol.satisfyStoragePolicy', 'asked of all locations', MOUNTS, async (cluster) => {
    const { router } = await furnish(cluster);
    expect(await refusal(router.call('ClientProtocol.satisfyStoragePolicy', { src: '/m/d' }))).toContain(
      'Cannot request to satisfy storage policy',
    );
    const calls = await cluster.simulator.control({ op: 'calls', method: 'satisfyStoragePolicy' });
    expect(calls.map(({ nameservice, path }) => `${nameservice}:${path}`).sort()).toEqual(['ns0:/m0/d', 'ns1:/m1/d']);
  });
});

describe('encryption', () => {
  prove(
    'ClientProtocol.createEncryptionZone',
    'in all locations, or in none when one of them has files there',
    MOUNTS,
    async (cluster) => {
      const sides = await furnish(cluster);
      const zones = async () =>
        (await both(sides, 'ClientProtocol.getEZForPath')).map(({ zone }) => zone !== undefined);
      const make = () => sides.router.call('ClientProtocol.createEncryptionZone', { src: '/m/d', keyName: 'key' });
      for (const { ns, src } of sides.parts) {
        await ns.call('ClientProtocol.create', createRequest(`${src}/file`));
        expect(await refusal(make())).toBe(
          'IOException: Attempt to create an encryption zone for a non-empty directory.',
        );
        expect(await zones()).toEqual([false, false]);
        await ns.call('ClientProtocol.delete', { src: `${src}/file`, recursive: false });
      }
      await make();
      expect(await zones()).toEqual([true, true]);
    },
  );
});

describe('snapshots', () => {
  const snapshots = async (sides: Sides): Promise<string[][]> => {
    const answers = await both(sides, 'ClientProtocol.getSnapshotListing', {}, 'snapshotRoot');
    return answers.map(({ snapshotList }) =>
      ((snapshotList as Plain)['snapshotListing'] as Plain[]).map(({ dirStatus }) =>
        String((dirStatus as Plain)['path']),
      ),
    );
  };
  const onRoot = (sides: Sides, method: string, more: object = {}) =>
    sides.router.call(`ClientProtocol.${method}`, { snapshotRoot: '/m/d', ...more });
  const prepare = async (cluster: MethodCluster): Promise<Sides> => {
    const sides = await furnish(cluster);
    await onRoot(sides, 'allowSnapshot');
    await onRoot(sides, 'createSnapshot', { snapshotName: 's1' });
    return sides;
  };

  prove('ClientProtocol.allowSnapshot', 'in all locations', MOUNTS, async (cluster) => {
    const sides = await furnish(cluster);
    expect(await onRoot(sides, 'allowSnapshot')).toEqual({});
    expect(await snapshots(sides)).toEqual([[], []]);
  });

  prove('ClientProtocol.createSnapshot', 'in all locations under one name', MOUNTS, async (cluster) => {
    const sides = await prepare(cluster);
    const { snapshotPath } = await onRoot(sides, 'createSnapshot');
    expect(snapshotPath).toMatch(/^\/m\/d\/\.snapshot\/s\d{8}-\d{6}\.\d{3}$/);
    const [first, second] = await snapshots(sides);
    expect(first).toHaveLength(2);
    expect(second).toEqual(first);
  });

  prove('ClientProtocol.renameSnapshot', 'in all locations', MOUNTS, async (cluster) => {
    const sides = await prepare(cluster);
    await onRoot(sides, 'renameSnapshot', { snapshotOldName: 's1', snapshotNewName: 's2' });
    expect(await snapshots(sides)).toEqual([['s2'], ['s2']]);
  });

  prove('ClientProtocol.deleteSnapshot', 'in all locations', MOUNTS, async (cluster) => {
    const sides = await prepare(cluster);
    await onRoot(sides, 'deleteSnapshot', { snapshotName: 's1' });
    expect(await snapshots(sides)).toEqual([[], []]);
  });

  prove('ClientProtocol.disallowSnapshot', 'in all locations', MOUNTS, async (cluster) => {
    const sides = await furnish(cluster);
    await onRoot(sides, 'allowSnapshot');
    await onRoot(sides, 'disallowSnapshot');
    for (const { ns, src } of sides.parts) {
      expect(await refusal(ns.call('ClientProtocol.createSnapshot', { snapshotRoot: src }))).toContain(
        'Directory is not a snapshottable directory',
      );
    }
  });

  prove('ClientProtocol.getSnapshotListing', 'with the paths of the client', MOUNTS, async (cluster) => {
    const sides = await prepare(cluster);
    const { snapshotList } = await onRoot(sides, 'getSnapshotListing');
    const [only, ...more] = (snapshotList as Plain)['snapshotListing'] as Plain[];
    expect(more).toEqual([]);
    expect(String(only?.['parent_fullpath'])).toBe('/m/d');
  });

  prove('ClientProtocol.getSnapshotDiffReport', 'what differs in any location', MOUNTS, async (cluster) => {
    const sides = await prepare(cluster);
    for (const [i, { ns, src }] of sides.parts.entries())
      await ns.call('ClientProtocol.create', createRequest(`${src}/f${i}`));
    const { diffReport } = await onRoot(sides, 'getSnapshotDiffReport', { fromSnapshot: 's1', toSnapshot: '' });
    const { snapshotRoot, diffReportEntries } = diffReport as Plain;
    expect(snapshotRoot).toBe('/m/d');
    const lines = (diffReportEntries as Plain[]).map(
      ({ fullpath, modificationLabel }) => `${modificationLabel} ${fullpath}`,
    );
    expect(lines.sort()).toEqual(['+ f0', '+ f1', 'M ']);
  });

  prove(
    'ClientProtocol.getSnapshotDiffReportListing',
    'one location: its pages; several: clients ask for the whole report',
    {
      mounts: [severalMount(), '/one=ns0:/one'],
    },
    async (cluster) => {
      const sides = await prepare(cluster);
      const between = { fromSnapshot: 's1', toSnapshot: '' };
      expect(await refusal(onRoot(sides, 'getSnapshotDiffReportListing', between))).toMatch(
        /^RpcNoSuchMethodException: .*use getSnapshotDiffReport$/,
      );
      await sides.router.call('ClientProtocol.mkdirs', mkdirsRequest('/one/d'));
      const one = { snapshotRoot: '/one/d' };
      await sides.router.call('ClientProtocol.allowSnapshot', one);
      await sides.router.call('ClientProtocol.createSnapshot', { ...one, snapshotName: 's1' });
      const page = await sides.router.call('ClientProtocol.getSnapshotDiffReportListing', { ...one, ...between });
      expect(page).toHaveProperty('diffReport');
    },
  );
});
