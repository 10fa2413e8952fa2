import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLIENT_KINDS, type ClientKind } from './java-clients.ts';
import { defineFallbackTests } from './observer-fallback.ts';
import { defineHeaderTests } from './observer-headers.ts';
import { defineHistoryTests } from './observer-history.ts';
import { ObserverStage } from './observer-stage.ts';
import { StatefulClient } from './stateful-client.ts';
import { FULL } from './support.ts';

/** Reads from observers through routers, over real NameNodes and with Hadoop's own clients. */

/** Reads by which a client has to have come to the observers. */
const FIRST_READS = 3;
const WRITES = 2;
const READS_AFTER_WRITE = 3;
const KINDS = (Object.keys(CLIENT_KINDS) as ClientKind[]).filter((kind) => FULL || kind !== 'msyncEachTime');
/** Those that can be told of several routers, and so change from one to the next. */
const CHANGING_KINDS = KINDS.filter((kind) =>
  FULL
    ? !['plain', 'RouterObserverReadProxyProvider'].includes(kind)
    : kind === 'RouterObserverReadConfiguredFailoverProxyProvider',
);

let stage: ObserverStage;

beforeAll(async () => {
  stage = await ObserverStage.start();
});

afterAll(async () => await stage?.[Symbol.asyncDispose]());

defineHeaderTests(() => stage);

describe('a Java client', () => {
  it.each(KINDS)('%s: its reads and changes reach whom they should', async (kind) => {
    const { cluster, clients, routers } = stage;
    const readsFromObservers = kind !== 'plain';
    const readers = (calls: { active: number; observer: number }): object =>
      readsFromObservers
        ? { active: 0, observer: calls.observer + calls.active }
        : { active: calls.observer + calls.active, observer: 0 };
    await using client = await clients.open(kind, routers);
    await cluster.settled('ns0');
    let last = { active: 0, observer: 0 };
    for (let i = 0; i < FIRST_READS; i++) {
      const { active, observer } = await cluster.callsDuring('ns0', async () => {
        await client.run('status', '/d0');
      });
      last = { active: active['getFileInfo'] ?? 0, observer: observer['getFileInfo'] ?? 0 };
    }
    expect(last).toEqual(readers({ active: 0, observer: 1 }));

    const calls = await cluster.callsDuring('ns0', async () => {
      for (let i = 0; i < WRITES; i++) {
        await client.run('mkdirs', `/d0/${client.name}-${i}`);
        await cluster.settled('ns0');
        for (let r = 0; r < READS_AFTER_WRITE; r++) {
          expect(await client.status(`/d0/${client.name}-${i}`)).toMatchObject({ directory: true });
        }
      }
    });
    console.log(`${kind}: ${JSON.stringify(calls)}`);
    expect(calls.active['mkdirs']).toBe(WRITES);
    expect(calls.observer['mkdirs'] ?? 0).toBe(0);
    expect(calls.observer['observerRetryOnActiveException'] ?? 0).toBe(0);
    const reads = { active: calls.active['getFileInfo'] ?? 0, observer: calls.observer['getFileInfo'] ?? 0 };
    expect(reads).toEqual(readers({ active: 0, observer: WRITES * READS_AFTER_WRITE }));
  });

  it.each(CHANGING_KINDS)(
    '%s: reads its own writes through another router while no observer has them',
    async (kind) => {
      const { cluster, clients, routers } = stage;
      await using first = await stage.anotherRouter();
      await using client = await clients.open(kind, [first, routers[0]]);
      for (let i = 0; i < FIRST_READS; i++) await client.run('status', '/d0');
      await cluster.rig.ctl({ op: 'pauseTailing', ns: 'ns0' });
      try {
        const dir = `/d0/${client.name}-unseen`;
        await client.run('mkdirs', dir);
        await first[Symbol.asyncDispose]();
        expect(await client.status(dir)).toMatchObject({ directory: true });
        await client.run('write', `${dir}/file`, { text: 'of its own' });
        expect(await client.run('list', dir)).toEqual(['file']);
        expect(await client.run('read', `${dir}/file`)).toBe('of its own');
        await client.run('setMode', dir, { mode: 0o711 });
        expect(await client.status(dir)).toMatchObject({ mode: 0o711 });
        await client.run('delete', dir);
        expect((await client.attempt('status', dir)).error).toMatch(/FileNotFoundException/);
      } finally {
        await cluster.rig.ctl({ op: 'resumeTailing', ns: 'ns0' });
      }
    },
  );
});

describe('a client with state', () => {
  it('gets from observers only what they may answer', async () => {
    const { cluster, routers } = stage;
    using client = await StatefulClient.connect(routers, stage.user);
    for (let i = 0; i < FIRST_READS; i++) await client.result({ method: 'getFileInfo', request: { src: '/d0' } });
    await cluster.settled('ns0');
    const calls = await cluster.callsDuring('ns0', async () => {
      await client.result({ method: 'getFsStats', request: {} });
      await client.result({ method: 'getDatanodeReport', request: { type: 'LIVE' } });
      await client.result({ method: 'msync', request: {} });
      await client.result({ method: 'setPermission', request: { src: '/d0', permission: { perm: 0o777 } } });
    });
    for (const method of ['getFsStats', 'msync', 'setPermission']) {
      expect([method, calls.active[method], calls.observer[method] ?? 0]).toEqual([method, 1, 0]);
    }
  });
});

defineHistoryTests(() => stage);

// The last: observers come back from it with holds and probes.
defineFallbackTests(() => stage);
