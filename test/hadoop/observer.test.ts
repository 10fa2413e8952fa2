import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLIENT_KINDS, type ClientKind } from './java-clients.ts';
import type { CallsByRole } from './observer-cluster.ts';
import { defineFallbackTests } from './observer-fallback.ts';
import { defineHeaderTests } from './observer-headers.ts';
import { defineHistoryTests } from './observer-history.ts';
import { ObserverStage } from './observer-stage.ts';
import { StatefulClient } from './stateful-client.ts';
import { ENDPOINT, FULL } from './support.ts';

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

/** Calls by that name that the active, the standby and the observers answered. */
function of({ active, standby, observer }: CallsByRole, name: string): number[] {
  return [active[name] ?? 0, standby[name] ?? 0, observer[name] ?? 0];
}

// Without a router there is nothing to look at.
describe.skipIf(ENDPOINT === 'namenode')('reads from observers', () => {
  let stage: ObserverStage;

  beforeAll(async () => {
    stage = await ObserverStage.start();
  });

  afterAll(async () => await stage?.[Symbol.asyncDispose]());

  defineHeaderTests(() => stage);

  describe('a client with state', () => {
    it('gets from observers only what they may answer', async () => {
      const { cluster, routers } = stage;
      const read = { method: 'getFileInfo', request: { src: '/d0' } };
      using client = await StatefulClient.connect(routers, stage.user);
      for (let i = 0; i < FIRST_READS; i++) await client.result(read);
      const calls = await cluster.callsDuring('ns0', async () => {
        await client.result({ method: 'getFsStats', request: {} });
        await client.result({ method: 'setPermission', request: { src: '/d0', permission: { perm: 0o777 } } });
        await client.result({ method: 'msync', request: {} });
        await cluster.settled('ns0');
        await client.result(read);
      });
      expect(of(calls, 'getFsStats')).toEqual([1, 0, 0]);
      expect(of(calls, 'setPermission')).toEqual([1, 0, 0]);
      expect(of(calls, 'msync')).toEqual([1, 0, 0]);
      expect(of(calls, 'getFileInfo')).toEqual([0, 0, 1]);
    });
  });

  describe('a Java client', () => {
    it.each(KINDS)('%s: its reads and changes reach whom they should', async (kind) => {
      const { cluster, clients, routers } = stage;
      const byReader = (reads: number): number[] => (kind === 'plain' ? [reads, 0, 0] : [0, 0, reads]);
      await using client = await clients.open(kind, routers);
      await cluster.settled('ns0');
      let served: number[] = [];
      for (let i = 0; i < FIRST_READS; i++) {
        served = of(await cluster.callsDuring('ns0', () => client.run('status', '/d0')), 'getFileInfo');
      }
      expect(served).toEqual(byReader(1));

      const calls = await cluster.callsDuring('ns0', async () => {
        for (let i = 0; i < WRITES; i++) {
          await client.run('mkdirs', `/d0/${client.name}-${i}`);
          await cluster.settled('ns0');
          for (let r = 0; r < READS_AFTER_WRITE; r++) {
            expect(await client.status(`/d0/${client.name}-${i}`)).toMatchObject({ directory: true });
          }
        }
      });
      console.log(
        `${kind}, calls of active, standby, observers: ${WRITES} mkdirs ${of(calls, 'mkdirs')}; ` +
          `${WRITES * READS_AFTER_WRITE} getFileInfo ${of(calls, 'getFileInfo')}`,
      );
      expect(of(calls, 'mkdirs')).toEqual([WRITES, 0, 0]);
      expect(of(calls, 'getFileInfo')).toEqual(byReader(WRITES * READS_AFTER_WRITE));
      // Nobody asked an observer for a change in vain.
      expect(of(calls, 'observerRetryOnActiveException')).toEqual([0, 0, 0]);
    });

    it.each(CHANGING_KINDS)(
      '%s: reads its own writes through another router while no observer has them',
      async (kind) => {
        const { cluster, clients, routers } = stage;
        await using ending = new AsyncDisposableStack();
        const first = ending.use(await stage.anotherRouter());
        await using client = await clients.open(kind, [first, routers[0]]);
        for (let i = 0; i < FIRST_READS; i++) await client.run('status', '/d0');
        await cluster.rig.ctl({ op: 'pauseTailing', ns: 'ns0' });
        try {
          const dir = `/d0/${client.name}-unseen`;
          await client.run('mkdirs', dir);
          await ending.disposeAsync();
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

  defineHistoryTests(() => stage);

  // The last: observers come back from it with holds and probes.
  defineFallbackTests(() => stage);
});
