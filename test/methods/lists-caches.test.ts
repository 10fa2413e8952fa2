import { expect } from 'vitest';
import type { Plain } from '../../src/wire/messages.ts';
import type { MethodClient } from '../support/method-cluster.ts';
import { prove } from '../support/prove.ts';
import { refusal, severalMount } from '../support/several-mounts.ts';

const OPTIONS = { mounts: [severalMount()] };

async function directivesOf(client: MethodClient): Promise<(string | number)[][]> {
  const { elements } = await client.call('ClientProtocol.listCacheDirectives', { prevId: 0, filter: {} });
  return (elements as Plain[]).map(({ info }) => {
    const { id, path } = info as Plain;
    return [Number(id), String(path)];
  });
}

prove('ClientProtocol.addCacheDirective', 'goes to every location, each with its path', OPTIONS, async (cluster) => {
  const client = await cluster.connect();
  const [ns0, ns1] = [await cluster.direct('ns0'), await cluster.direct('ns1')];
  const info = { path: '/m/d', pool: 'p' };
  expect(await refusal(client.call('ClientProtocol.addCacheDirective', { info }))).toMatch(/p/);
  for (const ns of [ns0, ns1]) await ns.call('ClientProtocol.addCachePool', { info: { poolName: 'p' } });
  await ns1.call('ClientProtocol.addCacheDirective', { info: { path: '/other', pool: 'p' } });
  const { id } = await client.call('ClientProtocol.addCacheDirective', { info });
  // The id of ns0's.
  expect(Number(id)).toBe(1);
  expect(await directivesOf(ns0)).toEqual([[1, '/m0/d']]);
  expect(await directivesOf(ns1)).toEqual([
    [1, '/other'],
    [2, '/m1/d'],
  ]);
  // One that takes it is enough; that the other did not is counted.
  await ns0.call('ClientProtocol.addCachePool', { info: { poolName: 'q' } });
  await client.call('ClientProtocol.addCacheDirective', { info: { path: '/m/e', pool: 'q' } });
  expect(cluster.router.count('divergences')).toBe(1);
  expect(await refusal(client.call('ClientProtocol.addCacheDirective', { info: { path: '/m', pool: 'p' } }))).toMatch(
    /^AccessControlException: .* is a mount point$/,
  );
});
