import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DisabledNameservices } from '../../src/control/store/disabled.ts';
import { RouterRecords } from '../../src/control/store/router-records.ts';
import { StoreUnavailableError } from '../../src/control/store/store-error.ts';
import {
  decodeDisabledNameservice,
  decodeRouter,
  encodeMount,
  encodeRouter,
  type RouterRecord,
} from '../../src/state-store/records.ts';
import { MemoryStore } from '../support/memory-store.ts';
import { StoreRouter, useFakeTime } from '../support/store-routers.ts';
import { mount } from './mount-samples.ts';

const HEARTBEAT_MS = 5_000;

let time: Disposable;
beforeEach(() => {
  time = useFakeTime();
});
afterEach(() => time[Symbol.dispose]());

describe('the record of this router', () => {
  function recordsOf(router: StoreRouter): RouterRecords {
    const identity = {
      address: 'r1:8888',
      version: '3.4.1',
      compileInfo: 'now by me from here',
      startedMs: 1_699_999_000_000,
      adminAddress: 'r1:8111',
    };
    return new RouterRecords(router.store, identity, HEARTBEAT_MS, router.log);
  }

  function written(memory: MemoryStore): RouterRecord {
    return decodeRouter(memory.records('RouterState').get('r1_8888')?.bytes as Buffer).record;
  }

  it('says who it is, when, and how new its caches are', async () => {
    const memory = new MemoryStore();
    await using router = new StoreRouter(memory);
    const records = recordsOf(router);
    records.start();
    await vi.advanceTimersByTimeAsync(0);
    expect(written(memory)).toEqual({
      dateCreated: Date.now(),
      dateModified: Date.now(),
      address: 'r1:8888',
      status: 'INITIALIZING',
      membershipVersion: -1,
      mountTableVersion: -1,
      version: '3.4.1',
      compileInfo: 'now by me from here',
      dateStarted: 1_699_999_000_000,
      adminAddress: 'r1:8111',
    });
    memory.write('MountTable', '0SLASH0a', encodeMount(mount('/a', ['ns0:/1'])));
    const mountMs = Date.now();
    await router.store.start();
    await vi.advanceTimersByTimeAsync(HEARTBEAT_MS);
    expect(written(memory)).toMatchObject({
      dateModified: Date.now(),
      mountTableVersion: mountMs,
      membershipVersion: -1,
    });
    await records.stop();
  });

  it('that another router overwrites is told once; one left by an earlier process is not', async () => {
    const memory = new MemoryStore();
    await using router = new StoreRouter(memory);
    const foreign = (): void => {
      const record = { ...written(memory), dateStarted: 1_699_000_000_000, adminAddress: 'r9:8111' };
      memory.write('RouterState', 'r1_8888', encodeRouter(record));
    };
    const records = recordsOf(router);
    await records.heartbeat();
    foreign();
    await router.store.start();
    const restarted = recordsOf(router);
    restarted.start();
    await vi.advanceTimersByTimeAsync(2 * HEARTBEAT_MS);
    expect(router.warnings).toEqual([]);
    for (let i = 0; i < 2; i++) {
      foreign();
      await router.store.load('RouterState', true);
      await vi.advanceTimersByTimeAsync(HEARTBEAT_MS);
    }
    expect(router.warnings).toEqual([expect.stringContaining('another router has the same host name and port')]);
    await restarted.stop();
  });

  it('tells each change of status at once, also one during a write', async () => {
    const memory = new MemoryStore();
    await using router = new StoreRouter(memory);
    const records = recordsOf(router);
    records.setStatus('SAFEMODE');
    expect(memory.names('RouterState')).toEqual([]);
    records.start();
    await vi.advanceTimersByTimeAsync(0);
    expect(written(memory).status).toBe('SAFEMODE');
    router.driver.writes.shut();
    void records.heartbeat();
    records.setStatus('RUNNING');
    router.driver.writes.open();
    await vi.advanceTimersByTimeAsync(1);
    expect(written(memory).status).toBe('RUNNING');
    await records.stop();
    expect(written(memory).status).toBe('SHUTDOWN');
    records.setStatus('RUNNING');
    await vi.advanceTimersByTimeAsync(HEARTBEAT_MS * 3);
    expect(written(memory).status).toBe('SHUTDOWN');
  });

  it('is made good when the store takes it again; the failure is told once', async () => {
    const memory = new MemoryStore();
    await using router = new StoreRouter(memory);
    const records = recordsOf(router);
    router.driver.failure = 'disk full';
    records.start();
    await vi.advanceTimersByTimeAsync(HEARTBEAT_MS * 4);
    const told = router.warnings.filter((line) => line.includes('record of this router'));
    expect(told).toEqual(['State Store: the record of this router was not written: disk full']);
    router.driver.failure = null;
    await vi.advanceTimersByTimeAsync(HEARTBEAT_MS);
    expect(written(memory).dateModified).toBe(Date.now());
    await records.stop();
  });

  it('does not hold up a stop when the store hangs', async () => {
    const memory = new MemoryStore();
    await using router = new StoreRouter(memory);
    const records = recordsOf(router);
    records.start();
    await vi.advanceTimersByTimeAsync(0);
    router.driver.writes.shut();
    const stopped = records.stop();
    await vi.advanceTimersByTimeAsync(2_000);
    await stopped;
    expect(router.warnings).toEqual([
      'State Store: the end of this router is not in its record: the State Store does not answer',
    ]);
    router.driver.writes.open();
  });

  it('stands beside those of the others', async () => {
    const memory = new MemoryStore();
    await using router = new StoreRouter(memory);
    const records = recordsOf(router);
    records.start();
    records.setStatus('RUNNING');
    await vi.advanceTimersByTimeAsync(0);
    const own = written(memory);
    for (const [address, status] of [
      ['r3:8888', 'SAFEMODE'],
      ['r2:8888', 'RUNNING'],
    ] as const) {
      memory.write('RouterState', address.replace(':', '_'), encodeRouter({ ...own, address, status }));
    }
    await router.store.start();
    expect(records.all().map(({ address, status }) => `${address} ${status}`)).toEqual([
      'r1:8888 RUNNING',
      'r2:8888 RUNNING',
      'r3:8888 SAFEMODE',
    ]);
    expect(records.othersServing().map(({ address }) => address)).toEqual(['r2:8888']);
    await records.stop();
  });
});

describe('disabled nameservices', () => {
  it('are disabled and enabled right after each other, by any router', async () => {
    const memory = new MemoryStore({ isVersioned: false });
    await using one = new StoreRouter(memory, 'r1:1');
    await using other = new StoreRouter(memory, 'r2:1');
    await Promise.all([one.store.start(), other.store.start()]);
    const [a, b] = [new DisabledNameservices(one.store), new DisabledNameservices(other.store)];
    expect(await a.disable('ns1')).toBe(true);
    expect(await a.disable('ns0')).toBe(true);
    expect([a.ids(), a.has('ns0'), a.has('ns2')]).toEqual([['ns0', 'ns1'], true, false]);
    expect([b.ids(), await b.disable('ns1'), b.ids()]).toEqual([[], false, ['ns0', 'ns1']]);
    expect(await b.enable('ns1')).toBe(true);
    expect([await a.enable('ns1'), a.ids(), await a.enable('ns2')]).toEqual([false, ['ns0'], false]);
    const raw = memory.records('DisabledNameservice').get('ns0');
    expect(decodeDisabledNameservice(raw?.bytes as Buffer).record).toEqual({
      nameserviceId: 'ns0',
      dateCreated: Date.now(),
      dateModified: Date.now(),
    });
  });

  it('of many who disable one at once, one does', async () => {
    const memory = new MemoryStore();
    await using one = new StoreRouter(memory, 'r1:1');
    await using other = new StoreRouter(memory, 'r2:1');
    await Promise.all([one.store.start(), other.store.start()]);
    const both = [new DisabledNameservices(one.store), new DisabledNameservices(other.store)];
    const done = await Promise.all([...both, ...both].map((each) => each.disable('ns0')));
    expect(done.filter(Boolean)).toHaveLength(1);
  });

  it('are not known, nor changed, without the store', async () => {
    await using router = new StoreRouter(new MemoryStore());
    const disabled = new DisabledNameservices(router.store);
    expect(() => disabled.ids()).toThrow(StoreUnavailableError);
    router.driver.failure = 'gone';
    await router.store.start();
    await expect(disabled.disable('ns0')).rejects.toThrow(/cannot be read: gone/);
    await expect(disabled.enable('ns0')).rejects.toThrow(StoreUnavailableError);
  });
});
