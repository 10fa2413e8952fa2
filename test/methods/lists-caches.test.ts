import { describe, expect } from 'vitest';
import type { Plain } from '../../src/wire/messages.ts';
import type { MethodClient, MethodCluster } from '../support/method-cluster.ts';
import { prove } from '../support/prove.ts';
import { refusal, severalMount } from '../support/several-mounts.ts';

const LIST = 'ClientProtocol.listCacheDirectives';
const ADD = 'ClientProtocol.addCacheDirective';
const MODIFY = 'ClientProtocol.modifyCacheDirective';
const REMOVE = 'ClientProtocol.removeCacheDirective';
const LIST_POOLS = 'ClientProtocol.listCachePools';
const ADD_POOL = 'ClientProtocol.addCachePool';
const MODIFY_POOL = 'ClientProtocol.modifyCachePool';
const REMOVE_POOL = 'ClientProtocol.removeCachePool';

const SEVERAL = { mounts: [severalMount()] };
const TWO_MOUNTS = { mounts: ['/a=ns0:/x', '/b=ns1:/y'], simulator: { listingLimit: 2 } };

interface Clients {
  readonly client: MethodClient;
  readonly ns0: MethodClient;
  readonly ns1: MethodClient;
}

/** With pool `p` in both nameservices. */
async function clientsOf(cluster: MethodCluster): Promise<Clients> {
  const [client, ns0, ns1] = [await cluster.connect(), await cluster.direct('ns0'), await cluster.direct('ns1')];
  for (const ns of [ns0, ns1]) await ns.call(ADD_POOL, { info: { poolName: 'p' } });
  return { client, ns0, ns1 };
}

async function add(client: MethodClient, path: string, more: object = {}): Promise<bigint> {
  const { id } = await client.call(ADD, { info: { path, pool: 'p', ...more } });
  return BigInt(id as bigint);
}

/** All pages, as Hadoop's iterator asks for them. */
async function listed(client: MethodClient, filter: object = {}): Promise<(readonly [id: bigint, path: string])[]> {
  const found: (readonly [bigint, string])[] = [];
  let prevId = 0n;
  for (;;) {
    const { elements, hasMore } = await client.call<{ elements: { info: Plain }[]; hasMore: boolean }>(LIST, {
      prevId,
      filter,
    });
    for (const { info } of elements) found.push([BigInt(info['id'] as bigint), String(info['path'])]);
    const last = found.at(-1);
    if (!hasMore || elements.length === 0 || last === undefined) return found;
    prevId = last[0];
  }
}

const sorted = (pairs: (readonly [bigint, string])[]) => pairs.toSorted(([, a], [, b]) => (a < b ? -1 : 1));

describe('cache directives', () => {
  prove(LIST, 'of all nameservices, page by page, with ids of their own', TWO_MOUNTS, async (cluster) => {
    const { client, ns0, ns1 } = await clientsOf(cluster);
    const paths = ['/a/1', '/a/2', '/a/3', '/b/1', '/b/2', '/b/3', '/b/4', '/b/5'];
    const added: (readonly [bigint, string])[] = [];
    for (const path of paths) added.push([await add(client, path), path]);
    expect(sorted(await listed(client))).toEqual(added);
    expect((await listed(ns0)).map(([id, path]) => `${id} ${path}`)).toEqual(['1 /x/1', '2 /x/2', '3 /x/3']);
    // What no mount point shows.
    await add(ns1, '/hidden');
    expect(sorted(await listed(client))).toEqual(added);
  });

  prove(LIST, 'filtered by path, pool and id', TWO_MOUNTS, async (cluster) => {
    const { client, ns0, ns1 } = await clientsOf(cluster);
    const a = await add(client, '/a/1');
    const b = await add(client, '/b/1');
    expect(await listed(client, { path: '/b/1' })).toEqual([[b, '/b/1']]);
    expect(await listed(client, { path: '/b/2' })).toEqual([]);
    expect(await listed(client, { pool: 'p', path: '/a/1' })).toEqual([[a, '/a/1']]);
    expect(await listed(client, { id: a })).toEqual([[a, '/a/1']]);
    expect(await listed(client, { id: b })).toEqual([[b, '/b/1']]);
    expect(await refusal(listed(client, { id: 1 }))).toBe('InvalidRequestException: Did not find requested id 1');
    expect(await refusal(listed(client, { id: b + 7n }))).toBe(
      `InvalidRequestException: Did not find requested id ${b + 7n}`,
    );
    await ns0.call(ADD_POOL, { info: { poolName: 'q' } });
    await ns1.call(ADD_POOL, { info: { poolName: 'q' } });
    expect(await listed(client, { pool: 'q' })).toEqual([]);
    expect(await refusal(listed(client, { path: '/a' }))).toMatch(/^AccessControlException: .* is a mount point$/);
  });

  prove(REMOVE, 'in the nameservice of the id, and in no other', TWO_MOUNTS, async (cluster) => {
    const { client, ns0, ns1 } = await clientsOf(cluster);
    const a = await add(client, '/a/1');
    const b = await add(client, '/b/1');
    await client.call(REMOVE, { id: b });
    expect(await listed(ns0)).toEqual([[1n, '/x/1']]);
    expect(await listed(ns1)).toEqual([]);
    expect(await refusal(client.call(REMOVE, { id: b }))).toBe(
      `InvalidRequestException: No directive with ID ${b} found.`,
    );
    // Both nameservices may have it.
    expect(await refusal(client.call(REMOVE, { id: 1 }))).toBe(
      'InvalidRequestException: No directive with ID 1 found: ids name their nameservice here, as hdfs cacheadmin -listDirectives shows them.',
    );
    await client.call(REMOVE, { id: a });
    expect(await listed(client)).toEqual([]);
  });

  prove(MODIFY, 'in the nameservice of the id', TWO_MOUNTS, async (cluster) => {
    const { client, ns0, ns1 } = await clientsOf(cluster);
    const a = await add(client, '/a/1');
    const b = await add(client, '/b/1');
    await client.call(MODIFY, { info: { id: b, path: '/b/2', replication: 2 } });
    expect(await listed(client)).toEqual(expect.arrayContaining([[b, '/b/2']]));
    await client.call(MODIFY, { info: { id: a, replication: 3 } });
    const replicationOf = async (ns: MethodClient): Promise<unknown> => {
      const { elements } = await ns.call<{ elements: { info: Plain }[] }>(LIST, { prevId: 0, filter: {} });
      return elements.map(({ info }) => info['replication']);
    };
    expect([await replicationOf(ns0), await replicationOf(ns1)]).toEqual([[3], [2]]);
    expect(await refusal(client.call(MODIFY, { info: { id: a, path: '/b/2' } }))).toBe(
      `InvalidRequestException: Cache directive ${a} is in ns0, where /b/2 is not: remove it and add another`,
    );
    expect(await refusal(client.call(MODIFY, { info: { path: '/b/2' } }))).toBe(
      'InvalidRequestException: Must supply an ID.',
    );
    expect(await refusal(client.call(MODIFY, { info: { id: 2, replication: 1 } }))).toMatch(/No directive with ID 2/);
  });

  prove(ADD, 'goes to every location, each with its path', SEVERAL, async (cluster) => {
    const [client, ns0, ns1] = [await cluster.connect(), await cluster.direct('ns0'), await cluster.direct('ns1')];
    expect(await refusal(add(client, '/m/d'))).toMatch(/p/);
    for (const ns of [ns0, ns1]) await ns.call(ADD_POOL, { info: { poolName: 'p' } });
    await add(ns1, '/other');
    const id = await add(client, '/m/d');
    expect(await listed(ns0)).toEqual([[1n, '/m0/d']]);
    expect(await listed(ns1)).toEqual([
      [1n, '/other'],
      [2n, '/m1/d'],
    ]);
    // One directive in each, both of the same path; the id is that of ns0's.
    expect((await listed(client)).map(([, path]) => path)).toEqual(['/m/d', '/m/d']);
    expect(await listed(client, { path: '/m/d' })).toEqual(await listed(client));
    expect(await listed(client, { id })).toEqual([[id, '/m/d']]);
    await client.call(REMOVE, { id });
    expect(await listed(ns0)).toEqual([]);
    // One that takes it is enough; that the other did not is counted.
    await ns0.call(ADD_POOL, { info: { poolName: 'q' } });
    await client.call(ADD, { info: { path: '/m/e', pool: 'q' } });
    expect(cluster.router.count('divergences')).toBe(1);
    expect(await refusal(add(client, '/m'))).toMatch(/^AccessControlException: .* is a mount point$/);
  });

  prove(
    REMOVE,
    'all of a path in several nameservices, as hdfs cacheadmin -removeDirectives does',
    SEVERAL,
    async (cluster) => {
      const { client, ns0, ns1 } = await clientsOf(cluster);
      const id = await add(client, '/m/d');
      const kept = await add(client, '/m/e');
      expect(await listed(client, { path: '/m/d' })).toContainEqual([id, '/m/d']);
      for (const [each] of await listed(client, { path: '/m/d' })) await client.call(REMOVE, { id: each });
      expect(await listed(client, { path: '/m/d' })).toEqual([]);
      expect([(await listed(ns0)).map(([, path]) => path), (await listed(ns1)).map(([, path]) => path)]).toEqual([
        ['/m0/e'],
        ['/m1/e'],
      ]);
      expect(await listed(client, { path: '/m/e' })).toContainEqual([kept, '/m/e']);
    },
  );

  prove(MODIFY, 'in several nameservices: each by its own id, to a path that both have', SEVERAL, async (cluster) => {
    const { client, ns0, ns1 } = await clientsOf(cluster);
    await add(client, '/m/d');
    const ids = (await listed(client, { path: '/m/d' })).map(([id]) => id);
    expect(ids).toHaveLength(2);
    for (const id of ids) await client.call(MODIFY, { info: { id, path: '/m/new' } });
    expect((await listed(ns0)).map(([, path]) => path)).toEqual(['/m0/new']);
    expect((await listed(ns1)).map(([, path]) => path)).toEqual(['/m1/new']);
    expect((await listed(client)).map(([, path]) => path)).toEqual(['/m/new', '/m/new']);
  });

  prove(ADD, 'needs a path', TWO_MOUNTS, async (cluster) => {
    const { client } = await clientsOf(cluster);
    expect(await refusal(client.call(ADD, { info: { pool: 'p' } }))).toBe(
      'InvalidRequestException: No path specified.',
    );
  });
});

interface Pools {
  readonly entries: { readonly info: Plain; readonly stats: Plain }[];
  readonly hasMore: boolean;
}

async function poolsOf(client: MethodClient): Promise<Pools['entries']> {
  const found: Pools['entries'] = [];
  for (let prevPoolName = ''; ; ) {
    const { entries, hasMore } = await client.call<Pools>(LIST_POOLS, { prevPoolName });
    found.push(...entries);
    const last = entries.at(-1);
    if (!hasMore || last === undefined) return found;
    prevPoolName = String(last.info['poolName']);
  }
}

const namesOf = async (client: MethodClient) => (await poolsOf(client)).map(({ info }) => info['poolName']);

describe('cache pools', () => {
  prove(LIST_POOLS, 'of all nameservices, each once, page by page', TWO_MOUNTS, async (cluster) => {
    const [client, ns0, ns1] = [await cluster.connect(), await cluster.direct('ns0'), await cluster.direct('ns1')];
    for (const poolName of ['d', 'a', 'b', 'g', 'h']) await ns0.call(ADD_POOL, { info: { poolName } });
    for (const poolName of ['c', 'b', 'e', 'f', 'd', 'x']) await ns1.call(ADD_POOL, { info: { poolName } });
    expect(await namesOf(client)).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'x']);
  });

  prove(ADD_POOL, 'in all nameservices', {}, async (cluster) => {
    const [client, ns0, ns1] = [await cluster.connect(), await cluster.direct('ns0'), await cluster.direct('ns1')];
    await client.call(ADD_POOL, { info: { poolName: 'new', limit: 5 } });
    for (const ns of [ns0, ns1]) expect(await namesOf(ns)).toEqual(['new']);
    await ns1.call(ADD_POOL, { info: { poolName: 'half' } });
    expect(await refusal(client.call(ADD_POOL, { info: { poolName: 'half' } }))).toMatch(
      /half.*\[failed: ns1; done: ns0\]$/,
    );
  });

  prove(MODIFY_POOL, 'in all nameservices', {}, async (cluster) => {
    const { client, ns0, ns1 } = await clientsOf(cluster);
    await client.call(MODIFY_POOL, { info: { poolName: 'p', limit: 77 } });
    for (const ns of [ns0, ns1, client]) expect((await poolsOf(ns))[0]?.info['limit']).toBe(77);
  });

  prove(REMOVE_POOL, 'in all nameservices', {}, async (cluster) => {
    const { client, ns0, ns1 } = await clientsOf(cluster);
    await client.call(REMOVE_POOL, { poolName: 'p' });
    for (const ns of [ns0, ns1]) expect(await namesOf(ns)).toEqual([]);
  });
});
