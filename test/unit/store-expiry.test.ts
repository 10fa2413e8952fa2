import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  decodeMembership,
  decodeRouter,
  encodeMembership,
  encodeRouter,
  type MembershipRecord,
  type RouterRecord,
} from '../../src/state-store/records.ts';
import { MemoryStore } from '../support/memory-store.ts';
import { StoreRouter, useFakeTime } from '../support/store-routers.ts';

const TTL_MS = 60_000;
const EXPIRATION_MS = 300_000;
const MINUTES_MS = 60_000;
const NAME = 'nn1-ns0-r2_8888';

let time: Disposable;
beforeEach(() => {
  time = useFakeTime();
});
afterEach(() => time[Symbol.dispose]());

/** A report of router r2, by a clock that is `skewMs` ahead. */
function report(changes: Partial<MembershipRecord> = {}, skewMs = 0): MembershipRecord {
  const nowMs = Date.now() + skewMs;
  return {
    dateCreated: nowMs,
    dateModified: nowMs,
    lastContact: nowMs,
    routerId: 'r2:8888',
    nameserviceId: 'ns0',
    namenodeId: 'nn1',
    clusterId: 'CID-1',
    blockPoolId: 'BP-1',
    webAddress: 'h:9870',
    rpcAddress: 'h:8020',
    serviceAddress: 'h:8020',
    lifelineAddress: 'h:8020',
    webScheme: 'http',
    state: 'ACTIVE',
    safeMode: false,
    stats: null,
    ...changes,
  };
}

function row(address: string, changes: Partial<RouterRecord> = {}): RouterRecord {
  const nowMs = Date.now();
  return {
    dateCreated: nowMs,
    dateModified: nowMs,
    address,
    status: 'RUNNING',
    membershipVersion: -1,
    mountTableVersion: -1,
    version: '3.4.1',
    compileInfo: '',
    dateStarted: 1,
    adminAddress: '',
    ...changes,
  };
}

function states({ store }: StoreRouter): string[] {
  return Array.from(
    store.records('MembershipState').values(),
    ({ record }) => `${record.routerId} ${record.state}`,
  ).sort();
}

function storedState(memory: MemoryStore, name = NAME): string | undefined {
  const raw = memory.records('MembershipState').get(name);
  return raw === undefined ? undefined : decodeMembership(raw.bytes).record.state;
}

describe('a report that nobody renews', () => {
  it.each([true, false])(
    'is expired, marked in the store, and later deleted (store with versions: %s)',
    async (isVersioned) => {
      const memory = new MemoryStore({ isVersioned });
      memory.write('MembershipState', NAME, encodeMembership(report()));
      const writtenMs = Date.now();
      const membership = { expirationMs: EXPIRATION_MS, deletionMs: 2 * MINUTES_MS };
      await using router = new StoreRouter(memory, 'r1:8888', { membership });
      await router.store.start();
      await vi.advanceTimersByTimeAsync(EXPIRATION_MS);
      expect([states(router), storedState(memory)]).toEqual([['r2:8888 ACTIVE'], 'ACTIVE']);
      await vi.advanceTimersByTimeAsync(TTL_MS);
      expect([states(router), storedState(memory)]).toEqual([['r2:8888 EXPIRED'], 'EXPIRED']);
      // The date is that of the last report, not of the mark; nobody writes the mark again.
      const marked = memory.records('MembershipState').get(NAME);
      expect(decodeMembership(marked?.bytes as Buffer).record.dateModified).toBe(writtenMs);
      await vi.advanceTimersByTimeAsync(TTL_MS);
      expect([states(router), memory.records('MembershipState').get(NAME)]).toEqual([['r2:8888 EXPIRED'], marked]);
      await vi.advanceTimersByTimeAsync(TTL_MS);
      expect([states(router), memory.names('MembershipState')]).toEqual([[], []]);
      expect(router.store.figures).toMatchObject({ expired: 1, deleted: 1 });
    },
  );

  it('comes back with its next report', async () => {
    const memory = new MemoryStore();
    memory.write('MembershipState', NAME, encodeMembership(report()));
    await using router = new StoreRouter(memory);
    await router.store.start();
    await vi.advanceTimersByTimeAsync(EXPIRATION_MS + TTL_MS);
    expect(states(router)).toEqual(['r2:8888 EXPIRED']);
    memory.write('MembershipState', NAME, encodeMembership(report({ state: 'STANDBY' })));
    await vi.advanceTimersByTimeAsync(TTL_MS);
    expect([states(router), storedState(memory)]).toEqual([['r2:8888 STANDBY'], 'STANDBY']);
  });

  it('is never deleted, and never expires, where the keys say so', async () => {
    const memory = new MemoryStore();
    memory.write('MembershipState', NAME, encodeMembership(report()));
    await using marking = new StoreRouter(memory, 'r1:8888');
    await using trusting = new StoreRouter(memory, 'r3:8888', { membership: { expirationMs: 0, deletionMs: -1 } });
    await trusting.store.start();
    await vi.advanceTimersByTimeAsync(10 * EXPIRATION_MS);
    expect([states(trusting), storedState(memory)]).toEqual([['r2:8888 ACTIVE'], 'ACTIVE']);
    await marking.store.start();
    await vi.advanceTimersByTimeAsync(10 * EXPIRATION_MS);
    expect([states(marking), storedState(memory)]).toEqual([['r2:8888 EXPIRED'], 'EXPIRED']);
  });

  it('keeps its unknown fields when it is marked', async () => {
    const memory = new MemoryStore();
    const unknown = Buffer.from('aa0603616263', 'hex');
    memory.write('MembershipState', NAME, Buffer.concat([encodeMembership(report()), unknown]));
    await using router = new StoreRouter(memory);
    await router.store.start();
    await vi.advanceTimersByTimeAsync(EXPIRATION_MS + 2 * TTL_MS);
    expect(storedState(memory)).toBe('EXPIRED');
    expect(memory.records('MembershipState').get(NAME)?.bytes.includes(unknown)).toBe(true);
  });

  it('is not marked over a newer one that came meanwhile', async () => {
    const memory = new MemoryStore();
    memory.write('MembershipState', NAME, encodeMembership(report()));
    await using router = new StoreRouter(memory);
    await router.store.start();
    await vi.advanceTimersByTimeAsync(EXPIRATION_MS);
    router.driver.writes.shut();
    await vi.advanceTimersByTimeAsync(TTL_MS);
    expect(states(router)).toEqual(['r2:8888 EXPIRED']);
    memory.write('MembershipState', NAME, encodeMembership(report()));
    router.driver.writes.open();
    await vi.advanceTimersByTimeAsync(TTL_MS);
    expect([states(router), storedState(memory), router.store.figures.expired]).toEqual([
      ['r2:8888 ACTIVE'],
      'ACTIVE',
      0,
    ]);
  });

  it('stays as it is in the store when the mark cannot be written', async () => {
    const memory = new MemoryStore();
    memory.write('RouterState', 'r2_8888', encodeRouter(row('r2:8888')));
    await using router = new StoreRouter(memory);
    const put = vi.spyOn(router.driver, 'put').mockRejectedValue(new Error('read-only'));
    await router.store.start();
    await vi.advanceTimersByTimeAsync(EXPIRATION_MS + 3 * TTL_MS);
    expect(put).toHaveBeenCalled();
    expect(router.store.records('RouterState').get('r2:8888')?.record.status).toBe('EXPIRED');
    expect(router.warnings).toEqual([]);
    put.mockRestore();
    await vi.advanceTimersByTimeAsync(TTL_MS);
    expect(decodeRouter(memory.records('RouterState').get('r2_8888')?.bytes as Buffer).record.status).toBe('EXPIRED');
  });
});

describe('with clocks minutes apart', () => {
  /** Reports of r2 every minute; the states that each load of the router saw. */
  async function watchReports(memory: MemoryStore, router: StoreRouter, skewMs: number): Promise<string[][]> {
    const seen: string[][] = [];
    for (let i = 0; i < 8; i++) {
      await vi.advanceTimersByTimeAsync(TTL_MS - 1_000);
      memory.write('MembershipState', NAME, encodeMembership(report({}, skewMs)));
      await vi.advanceTimersByTimeAsync(1_000);
      seen.push(states(router));
    }
    return seen;
  }

  it.each([
    ['the reporter is 6 minutes behind, dates are its own', -6 * MINUTES_MS, 0, false],
    ['this router is 6 minutes ahead of everybody, dates are the store’s', 0, 6 * MINUTES_MS, true],
    ['this router is 6 minutes behind', 0, -6 * MINUTES_MS, true],
  ])(
    'reports that go on coming count, and none is overwritten: %s',
    async (_, reporterSkewMs, ownSkewMs, isVersioned) => {
      const memory = new MemoryStore({ isVersioned });
      memory.write('MembershipState', NAME, encodeMembership(report({}, reporterSkewMs)));
      await using router = new StoreRouter(memory, 'r1:8888', {}, ownSkewMs);
      const put = vi.spyOn(router.driver, 'put');
      await router.store.start();
      const seen = await watchReports(memory, router, reporterSkewMs);
      expect(seen).toEqual(Array.from({ length: 8 }, () => ['r2:8888 ACTIVE']));
      expect(put).not.toHaveBeenCalled();
      // And when they end, the report does, too.
      await vi.advanceTimersByTimeAsync(EXPIRATION_MS + 6 * MINUTES_MS + 2 * TTL_MS);
      expect([states(router), storedState(memory)]).toEqual([['r2:8888 EXPIRED'], 'EXPIRED']);
    },
  );

  it('a mark by another router is no sign of life', async () => {
    const memory = new MemoryStore();
    memory.write('MembershipState', NAME, encodeMembership(report()));
    const membership = { expirationMs: EXPIRATION_MS, deletionMs: 4 * MINUTES_MS };
    await using router = new StoreRouter(memory, 'r1:8888', { membership });
    const dead = report();
    await router.store.start();
    await vi.advanceTimersByTimeAsync(EXPIRATION_MS + TTL_MS);
    for (let i = 0; i < 5; i++) {
      // As Java routers do at each of their loads.
      memory.write('MembershipState', NAME, encodeMembership({ ...dead, state: 'EXPIRED' }));
      await vi.advanceTimersByTimeAsync(TTL_MS);
    }
    expect(memory.names('MembershipState')).toEqual([]);
  });

  it('a router’s own records never expire for itself', async () => {
    const memory = new MemoryStore({ isVersioned: false });
    memory.write('MembershipState', 'own', encodeMembership(report({ routerId: 'r1:8888' })));
    memory.write('RouterState', 'r1_8888', encodeRouter(row('r1:8888')));
    await using router = new StoreRouter(memory, 'r1:8888', {}, 10 * MINUTES_MS);
    await router.store.start();
    await vi.advanceTimersByTimeAsync(3 * EXPIRATION_MS);
    expect([states(router), storedState(memory, 'own')]).toEqual([['r1:8888 ACTIVE'], 'ACTIVE']);
    expect(router.store.records('RouterState').get('r1:8888')?.record.status).toBe('RUNNING');
  });

  it('what looks old at the first sight does not count until it has changed, and is left alone in the store', async () => {
    const memory = new MemoryStore();
    memory.write('MembershipState', NAME, encodeMembership(report()));
    await using router = new StoreRouter(memory, 'r1:8888', {}, 6 * MINUTES_MS);
    await router.store.start();
    expect([states(router), storedState(memory)]).toEqual([['r2:8888 EXPIRED'], 'ACTIVE']);
    memory.write('MembershipState', NAME, encodeMembership(report({ state: 'STANDBY' })));
    await vi.advanceTimersByTimeAsync(TTL_MS);
    expect([states(router), storedState(memory)]).toEqual([['r2:8888 STANDBY'], 'STANDBY']);
  });
});
