import { describe, expect } from 'vitest';
import type { Plain } from '../../src/wire/messages.ts';
import type { MethodClient } from '../support/method-cluster.ts';
import { prove } from '../support/prove.ts';
import { createRequest, mkdirsRequest, refusal, severalMount } from '../support/several-mounts.ts';

const ZONES = 'ClientProtocol.listEncryptionZones';
const STATUSES = 'ClientProtocol.listReencryptionStatus';
const REENCRYPT = 'ClientProtocol.reencryptEncryptionZone';
const SNAPSHOTTABLE = 'ClientProtocol.getSnapshottableDirListing';
const MOUNTS = { mounts: ['/a=ns0:/x', '/b=ns1:/y', '/b/in=ns0:/in'], simulator: { listingLimit: 2 } };

async function makeZones(client: MethodClient, paths: readonly string[]): Promise<void> {
  for (const src of paths) {
    await client.call('ClientProtocol.mkdirs', mkdirsRequest(src));
    await client.call('ClientProtocol.createEncryptionZone', { src, keyName: 'key' });
  }
}

/** All pages, as Hadoop's iterators ask for them. */
async function allOf(client: MethodClient, method: string, field: string): Promise<Plain[]> {
  const found: Plain[] = [];
  for (let id: Plain['id'] = 0; ; ) {
    const page = await client.call(method, { id });
    const entries = page[field] as Plain[];
    found.push(...entries);
    const last = entries.at(-1);
    if (page['hasMore'] !== true || last === undefined) return found;
    id = last['id'] as bigint;
  }
}

const pathsOf = (entries: readonly Plain[]): string[] => entries.map(({ path }) => String(path)).sort();

describe('encryption zones', () => {
  prove(ZONES, 'of all nameservices, with client paths', MOUNTS, async (cluster) => {
    const [client, ns0, ns1] = [await cluster.connect(), await cluster.direct('ns0'), await cluster.direct('ns1')];
    await makeZones(ns0, ['/x/1', '/hidden', '/x/2', '/x/3', '/in']);
    await makeZones(ns1, ['/y/1', '/y/in', '/y/2']);
    const zones = await allOf(client, ZONES, 'zones');
    expect(pathsOf(zones)).toEqual(['/a/1', '/a/2', '/a/3', '/b/1', '/b/2', '/b/in']);
    expect(new Set(zones.map(({ id }) => String(id))).size).toBe(zones.length);
    expect(zones[0]).toMatchObject({ keyName: 'key', suite: 'AES_CTR_NOPADDING' });
  });

  prove(ZONES, 'for superusers', MOUNTS, async (cluster) => {
    const alice = await cluster.connect('alice');
    expect(await refusal(alice.call(ZONES, { id: 0 }))).toMatch(/^AccessControlException: /);
  });

  prove(REENCRYPT, 'by the path of the zone', MOUNTS, async (cluster) => {
    const [client, ns1] = [await cluster.connect(), await cluster.direct('ns1')];
    // Mount points below do not matter.
    await makeZones(ns1, ['/y']);
    await client.call(REENCRYPT, { action: 'START_REENCRYPT', zone: '/b' });
    expect(pathsOf(await allOf(ns1, STATUSES, 'statuses'))).toEqual(['/y']);
    await ns1.call('ClientProtocol.mkdirs', mkdirsRequest('/y/d'));
    expect(await refusal(client.call(REENCRYPT, { action: 'START_REENCRYPT', zone: '/b/d' }))).toBe(
      'IOException: Path /b/d is not the root of an encryption zone.',
    );
  });

  prove(REENCRYPT, 'in all locations', { mounts: [severalMount()] }, async (cluster) => {
    const [client, ns0, ns1] = [await cluster.connect(), await cluster.direct('ns0'), await cluster.direct('ns1')];
    await makeZones(ns0, ['/m0/z']);
    await makeZones(ns1, ['/m1/z']);
    await client.call(REENCRYPT, { action: 'START_REENCRYPT', zone: '/m/z' });
    expect(pathsOf(await allOf(ns0, STATUSES, 'statuses'))).toEqual(['/m0/z']);
    expect(pathsOf(await allOf(ns1, STATUSES, 'statuses'))).toEqual(['/m1/z']);
  });

  prove(STATUSES, 'of all nameservices, with client paths', MOUNTS, async (cluster) => {
    const [client, ns0, ns1] = [await cluster.connect(), await cluster.direct('ns0'), await cluster.direct('ns1')];
    await makeZones(ns0, ['/x/1', '/x/2', '/x/3', '/hidden']);
    await makeZones(ns1, ['/y/1', '/y/2']);
    for (const zone of ['/x/1', '/x/2', '/x/3', '/hidden'])
      await ns0.call(REENCRYPT, { action: 'START_REENCRYPT', zone });
    await ns1.call(REENCRYPT, { action: 'START_REENCRYPT', zone: '/y/2' });
    const statuses = await allOf(client, STATUSES, 'statuses');
    expect(pathsOf(statuses)).toEqual(['/a/1', '/a/2', '/a/3', '/b/2']);
    expect(statuses[0]).toMatchObject({ ezKeyVersionName: expect.any(String), canceled: false });
  });

  prove(
    'ClientProtocol.getEZForPath',
    'a zone that begins above the mount begins at the mount point',
    { mounts: ['/m=ns0:/zone/sub', '/n=ns0:/plain'] },
    async (cluster) => {
      const [client, ns0] = [await cluster.connect(), await cluster.direct('ns0')];
      await makeZones(ns0, ['/zone', '/plain/z']);
      for (const path of ['/zone/sub/d', '/plain/z/d']) await ns0.call('ClientProtocol.mkdirs', mkdirsRequest(path));
      const zoneOf = async (src: string): Promise<unknown> =>
        ((await client.call('ClientProtocol.getEZForPath', { src }))['zone'] as Plain | undefined)?.['path'];
      expect(await zoneOf('/m')).toBe('/m');
      expect(await zoneOf('/m/d')).toBe('/m');
      expect(await zoneOf('/n/z/d')).toBe('/n/z');
      expect(await zoneOf('/n')).toBeUndefined();
      // Its root is not shown, so it cannot be worked with.
      expect(pathsOf(await allOf(client, ZONES, 'zones'))).toEqual(['/n/z']);
    },
  );

  for (const order of ['HASH_ALL', 'HASH']) {
    prove(
      'ClientProtocol.getEZForPath',
      `${order}: that of the location that has the path, also when it begins above the mount`,
      {
        mounts: [
          {
            srcPath: '/m',
            destinations: [
              { nameserviceId: 'ns0', path: '/zone/m0' },
              { nameserviceId: 'ns1', path: '/m1' },
            ],
            destOrder: order,
          },
        ],
      },
      async (cluster) => {
        const [client, ns0, ns1] = [await cluster.connect(), await cluster.direct('ns0'), await cluster.direct('ns1')];
        await makeZones(ns0, ['/zone']);
        await ns0.call('ClientProtocol.mkdirs', mkdirsRequest('/zone/m0/d'));
        await ns1.call('ClientProtocol.mkdirs', mkdirsRequest('/m1/e'));
        await makeZones(ns1, ['/m1/e/z']);
        const zoneOf = async (src: string): Promise<unknown> =>
          ((await client.call('ClientProtocol.getEZForPath', { src }))['zone'] as Plain | undefined)?.['path'];
        expect(await zoneOf('/m/d')).toBe('/m');
        // ns0 would say of each path that it would be in its zone.
        expect(await zoneOf('/m/e')).toBeUndefined();
        expect(await zoneOf('/m/e/z')).toBe('/m/e/z');
        // A path that is nowhere is where it would be made, as far as that can be told.
        expect(await zoneOf('/m/none')).toBe('/m');
        await ns1.call('ClientProtocol.create', createRequest('/m1/e/z/f'));
        expect(await zoneOf('/m/e/z/f')).toBe('/m/e/z');
      },
    );
  }

  prove(
    'ClientProtocol.getEZForPath',
    'above mount points a zone that begins above the mount begins at the mount point',
    { mounts: ['/m=ns0:/zone/sub', '/m/in=ns1:/in', '/none=ns0:/missing', '/none/in=ns1:/in'] },
    async (cluster) => {
      const [client, ns0] = [await cluster.connect(), await cluster.direct('ns0')];
      await makeZones(ns0, ['/zone']);
      const zoneOf = async (src: string): Promise<unknown> =>
        ((await client.call('ClientProtocol.getEZForPath', { src }))['zone'] as Plain | undefined)?.['path'];
      await ns0.call('ClientProtocol.mkdirs', mkdirsRequest('/zone/sub'));
      expect(await zoneOf('/m')).toBe('/m');
      expect(await zoneOf('/none')).toBeUndefined();
    },
  );
});

describe('snapshottable directories', () => {
  const allow = async (client: MethodClient, paths: readonly string[]): Promise<void> => {
    for (const path of paths) {
      await client.call('ClientProtocol.mkdirs', mkdirsRequest(path));
      await client.call('ClientProtocol.allowSnapshot', { snapshotRoot: path });
    }
  };
  const listed = async (client: MethodClient): Promise<string[] | null> => {
    const { snapshottableDirList: list } = await client.call(SNAPSHOTTABLE);
    if (list === undefined) return null;
    return ((list as Plain)['snapshottableDirListing'] as Plain[]).map(
      ({ parent_fullpath: parent, dirStatus }) => `${String(parent)} ${String((dirStatus as Plain)['path'])}`,
    );
  };

  prove(SNAPSHOTTABLE, 'of all nameservices, with client paths', MOUNTS, async (cluster) => {
    const [client, ns0, ns1] = [await cluster.connect(), await cluster.direct('ns0'), await cluster.direct('ns1')];
    expect(await listed(client)).toBeNull();
    await allow(ns1, ['/y']);
    await allow(ns0, ['/x/d', '/hidden', '/in']);
    expect(await listed(client)).toEqual(['/a d', '/ b', '/b in']);
    await ns1.call('ClientProtocol.disallowSnapshot', { snapshotRoot: '/y' });
    await allow(ns1, ['/y/z/s', '/y/in']);
    expect(await listed(client)).toEqual(['/a d', '/b in', '/b/z s']);
  });

  prove(SNAPSHOTTABLE, 'each path once', { mounts: [severalMount()] }, async (cluster) => {
    const [client, ns0, ns1] = [await cluster.connect(), await cluster.direct('ns0'), await cluster.direct('ns1')];
    await allow(ns0, ['/m0/d', '/m0/e']);
    await allow(ns1, ['/m1/d', '/m1/c']);
    expect(await listed(client)).toEqual(['/m c', '/m d', '/m e']);
  });

  prove(SNAPSHOTTABLE, 'a mounted root', { mounts: ['/=ns0:/', '/r=ns1:/'] }, async (cluster) => {
    const [client, ns0, ns1] = [await cluster.connect(), await cluster.direct('ns0'), await cluster.direct('ns1')];
    for (const ns of [ns0, ns1]) await ns.call('ClientProtocol.allowSnapshot', { snapshotRoot: '/' });
    expect(await listed(client)).toEqual([' ', '/ r']);
  });
});

describe('snapshots below a mount point', () => {
  prove('ClientProtocol.getSnapshotListing', 'with client paths', MOUNTS, async (cluster) => {
    const client = await cluster.connect();
    const snapshotRoot = '/a/d';
    await client.call('ClientProtocol.mkdirs', mkdirsRequest(snapshotRoot));
    await client.call('ClientProtocol.allowSnapshot', { snapshotRoot });
    const { snapshotPath } = await client.call('ClientProtocol.createSnapshot', { snapshotRoot, snapshotName: 's' });
    expect(snapshotPath).toBe('/a/d/.snapshot/s');
    const { snapshotList } = await client.call('ClientProtocol.getSnapshotListing', { snapshotRoot });
    const [entry] = (snapshotList as Plain)['snapshotListing'] as Plain[];
    expect(String(entry?.['parent_fullpath'])).toMatch(/^\/a\/d/);
    expect(await refusal(client.call('ClientProtocol.getSnapshotListing', { snapshotRoot: '/a' }))).toMatch(
      /^AccessControlException: .* is a mount point$/,
    );
  });

  prove('ClientProtocol.getSnapshotDiffReport', 'with the root as the client wrote it', MOUNTS, async (cluster) => {
    const client = await cluster.connect();
    const snapshotRoot = '/a/d';
    await client.call('ClientProtocol.mkdirs', mkdirsRequest(snapshotRoot));
    await client.call('ClientProtocol.allowSnapshot', { snapshotRoot });
    await client.call('ClientProtocol.createSnapshot', { snapshotRoot, snapshotName: 's' });
    await client.call('ClientProtocol.mkdirs', mkdirsRequest('/a/d/new'));
    const request = { snapshotRoot, fromSnapshot: 's', toSnapshot: '' };
    const { diffReport } = await client.call('ClientProtocol.getSnapshotDiffReport', request);
    expect(diffReport).toMatchObject({ snapshotRoot, fromSnapshot: 's' });
    const entries = (diffReport as Plain)['diffReportEntries'] as Plain[];
    expect(entries.map(({ fullpath }) => String(fullpath))).toContain('new');
  });
});
