import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MAX_WRITES, WRITE_DEADLINE_MS } from '../../src/control/store/state-store.ts';
import { StoreUnavailableError } from '../../src/control/store/store-error.ts';
import { MAX_ABANDONED_READS, NEWS_PAUSE_MS, READ_DEADLINE_MS } from '../../src/control/store/type-loader.ts';
import { encodeDisabledNameservice, encodeMount } from '../../src/state-store/records.ts';
import { MemoryStore } from '../support/memory-store.ts';
import { StoreRouter, useFakeTime } from '../support/store-routers.ts';
import { mount } from './mount-samples.ts';

const TTL_MS = 60_000;
const CREATE = { update: false, errorIfExists: true };
const UPDATE = { update: true, errorIfExists: false };

let time: Disposable;
beforeEach(() => {
  time = useFakeTime();
});
afterEach(() => time[Symbol.dispose]());

function mountBytes(path: string, target = 'ns0:/x'): Buffer {
  return encodeMount(mount(path, [target]));
}

function paths({ store }: StoreRouter): string[] {
  return [...store.records('MountTable').keys()].sort();
}

function targetOf({ store }: StoreRouter, path: string): string | undefined {
  return store.records('MountTable').get(path)?.record.entry.destinations[0]?.path;
}

describe('loads', () => {
  it('fill the caches of all types, again after each pause', async () => {
    const memory = new MemoryStore({ isVersioned: false });
    memory.write('MountTable', '0SLASH0a', mountBytes('/a'));
    await using router = new StoreRouter(memory);
    const { store, driver } = router;
    expect([store.ready, store.lastFullLoadMs]).toEqual([false, null]);
    expect(() => store.records('MountTable')).toThrow(StoreUnavailableError);
    await store.start();
    expect([store.ready, store.lastFullLoadMs]).toEqual([true, performance.now()]);
    expect(paths(router)).toEqual(['/a']);
    memory.write('MountTable', '0SLASH0b', mountBytes('/b'));
    await vi.advanceTimersByTimeAsync(TTL_MS - 1);
    expect(paths(router)).toEqual(['/a']);
    await vi.advanceTimersByTimeAsync(1);
    expect(paths(router)).toEqual(['/a', '/b']);
    expect(Object.values(driver.readCounts)).toEqual([2, 2, 2, 2]);
    await store.stop();
    await vi.advanceTimersByTimeAsync(TTL_MS * 3);
    expect(Object.values(driver.readCounts)).toEqual([2, 2, 2, 2]);
    expect(driver.isClosed).toBe(true);
  });

  it('leave out what cannot be read, name it once, and take the rest', async () => {
    const memory = new MemoryStore();
    memory.write('MountTable', '0SLASH0a', mountBytes('/a'));
    memory.write('MountTable', 'bad1', Buffer.from([0xff, 0xff]));
    memory.write('MountTable', 'bad2', Buffer.alloc(0));
    memory.write('RouterState', 'odd', Buffer.from('22034f4444', 'hex'));
    await using router = new StoreRouter(memory);
    await router.store.start();
    expect(paths(router)).toEqual(['/a']);
    expect(router.store.problems.map(({ type, name }) => `${type}/${name}`).sort()).toEqual([
      'MountTable/bad1',
      'MountTable/bad2',
      'RouterState/odd',
    ]);
    expect(router.warnings).toHaveLength(3);
    expect(router.warnings.join('\n')).toContain("router status 'ODD' is none of");
    await router.store.refresh();
    expect(router.warnings).toHaveLength(3);
    expect(router.store.lastFullLoadMs).not.toBeNull();
    memory.erase('MountTable', 'bad1');
    await router.store.refresh();
    expect(router.store.problems.map(({ name }) => name).sort()).toEqual(['bad2', 'odd']);
  });

  it('keep a record that turns into garbage, until it is readable or gone', async () => {
    const memory = new MemoryStore();
    memory.write('MountTable', '0SLASH0a', mountBytes('/a', 'ns0:/1'));
    await using router = new StoreRouter(memory);
    await router.store.start();
    memory.write('MountTable', '0SLASH0a', Buffer.from('garbage'));
    for (let i = 0; i < 3; i++) await router.store.refresh();
    expect(targetOf(router, '/a')).toBe('/1');
    expect(router.store.problems[0]?.reason).toContain('the record as it was before is used');
    memory.write('MountTable', '0SLASH0a', mountBytes('/a', 'ns0:/2'));
    await router.store.refresh();
    expect([targetOf(router, '/a'), router.store.problems]).toEqual(['/2', []]);
    memory.write('MountTable', '0SLASH0a', Buffer.from('garbage'));
    await router.store.refresh();
    memory.erase('MountTable', '0SLASH0a');
    await router.store.refresh();
    expect([paths(router), router.store.problems]).toEqual([[], []]);
  });

  it('take the newer of two records of one key, wherever it stands', async () => {
    const memory = new MemoryStore({ isVersioned: false });
    memory.write('MountTable', 'anywhere', encodeMount(mount('/a', ['ns0:/new'], { dateModified: 1_700_000_000_009 })));
    memory.write('MountTable', '0SLASH0a', mountBytes('/a', 'ns0:/old'));
    await using router = new StoreRouter(memory);
    await router.store.start();
    expect(targetOf(router, '/a')).toBe('/new');
    expect(router.store.cache('MountTable').namesOf('/a').sort()).toEqual(['0SLASH0a', 'anywhere']);
    expect(router.store.problems).toMatchObject([{ name: '0SLASH0a', type: 'MountTable' }]);
    expect(router.store.problems[0]?.reason).toContain("'/a' is also in memory/MountTable/anywhere");
  });

  it('that fail leave the caches and their age as they were, are tried again soon and told once', async () => {
    const memory = new MemoryStore();
    memory.write('MountTable', '0SLASH0a', mountBytes('/a'));
    await using router = new StoreRouter(memory);
    const { store, driver } = router;
    await store.start();
    const loadedMs = store.lastFullLoadMs;
    driver.failure = 'disk gone';
    await vi.advanceTimersByTimeAsync(TTL_MS);
    expect([store.lastFullLoadMs, paths(router)]).toEqual([loadedMs, ['/a']]);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(store.figures.failedLoads).toBeGreaterThan(4);
    expect(router.warnings.filter((line) => line.includes('disk gone'))).toHaveLength(4);
    driver.failure = null;
    await vi.advanceTimersByTimeAsync(5_000);
    expect(store.lastFullLoadMs).toBeGreaterThan(loadedMs as number);
    expect(router.lines.filter(({ msg }) => msg === 'State Store: can be read again')).toHaveLength(4);
  });

  it('of one type only do not count as a full load', async () => {
    await using router = new StoreRouter(new MemoryStore());
    await router.store.start();
    const loadedMs = router.store.lastFullLoadMs;
    await vi.advanceTimersByTimeAsync(1_000);
    await router.store.load('MountTable', true);
    expect(router.store.lastFullLoadMs).toBe(loadedMs);
  });

  it('just done are not done again unless they must be fresh', async () => {
    await using router = new StoreRouter(new MemoryStore());
    await router.store.start();
    expect(await router.store.load('MountTable', false)).toBe(true);
    expect(router.driver.readCounts.MountTable).toBe(1);
    const [one, other] = [router.store.load('MountTable', true), router.store.load('MountTable', true)];
    await Promise.all([one, other, router.store.load('MountTable', false)]);
    // The second began only after the first had, so it needs a read of its own.
    expect(router.driver.readCounts.MountTable).toBe(3);
  });

  it('that hang are given up, do not pile up, and end safely late', async () => {
    const memory = new MemoryStore();
    await using router = new StoreRouter(memory);
    const { store, driver } = router;
    await store.start();
    const loadedMs = store.lastFullLoadMs;
    driver.reads.shut();
    await vi.advanceTimersByTimeAsync(TTL_MS + READ_DEADLINE_MS);
    expect(store.figures.abandonedReads).toBe(4);
    expect(store.lastFullLoadMs).toBe(loadedMs);
    await vi.advanceTimersByTimeAsync(10 * READ_DEADLINE_MS);
    expect(store.figures.abandonedReads).toBe(4 * MAX_ABANDONED_READS);
    expect(driver.readCounts.MountTable).toBe(1 + MAX_ABANDONED_READS);
    memory.write('MountTable', '0SLASH0a', mountBytes('/a'));
    driver.reads.open();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(paths(router)).toEqual(['/a']);
    expect(store.lastFullLoadMs).toBeGreaterThan(loadedMs as number);
  });

  it('begin when the driver starts at last', async () => {
    await using router = new StoreRouter(new MemoryStore());
    const { store, driver } = router;
    driver.failure = 'no connection';
    await store.start();
    await vi.advanceTimersByTimeAsync(20_000);
    expect([store.ready, driver.starts > 1]).toEqual([false, true]);
    expect(router.warnings.filter((line) => line.includes('cannot start yet'))).toHaveLength(1);
    expect(() => store.records('MountTable')).toThrow(/MountTable records not valid: no connection/);
    driver.failure = null;
    await vi.advanceTimersByTimeAsync(5_000);
    expect(store.ready).toBe(true);
    const { starts } = driver;
    await vi.advanceTimersByTimeAsync(TTL_MS * 2);
    expect(driver.starts).toBe(starts);
  });
});

describe('news of the store', () => {
  it('load a type at once, few times for many changes', async () => {
    const memory = new MemoryStore();
    await using router = new StoreRouter(memory);
    await router.store.start();
    await vi.advanceTimersByTimeAsync(1_000);
    memory.write('MountTable', '0SLASH0a', mountBytes('/a'));
    await vi.advanceTimersByTimeAsync(0);
    expect(paths(router)).toEqual(['/a']);
    const before = router.driver.readCounts.MountTable;
    for (let i = 0; i < 1_000; i++) {
      memory.write('MountTable', `0SLASH0m${i}`, mountBytes(`/m${i}`));
      await vi.advanceTimersByTimeAsync(1);
    }
    await vi.advanceTimersByTimeAsync(100);
    expect(paths(router)).toHaveLength(1_001);
    expect(router.driver.readCounts.MountTable - before).toBeLessThanOrEqual(12);
    expect(router.driver.readCounts.MembershipState).toBe(1);
  });

  it('are told to listeners, but only when content has changed', async () => {
    const memory = new MemoryStore();
    await using router = new StoreRouter(memory);
    await router.store.start();
    const heard: number[] = [];
    const stop = router.store.onChange('MountTable', () => heard.push(router.store.records('MountTable').size));
    router.store.onChange('MountTable', () => {
      throw new Error('a listener that fails');
    });
    memory.write('MountTable', '0SLASH0a', mountBytes('/a'));
    await vi.advanceTimersByTimeAsync(NEWS_PAUSE_MS);
    expect(heard).toEqual([1]);
    // The same again: another version, another date, no other content.
    memory.write('MountTable', '0SLASH0a', mountBytes('/a'));
    await vi.advanceTimersByTimeAsync(1_000);
    await router.store.refresh();
    expect(heard).toEqual([1]);
    expect(router.warnings).toEqual(['State Store: a listener failed: a listener that fails']);
    memory.erase('MountTable', '0SLASH0a');
    await vi.advanceTimersByTimeAsync(NEWS_PAUSE_MS);
    expect(heard).toEqual([1, 0]);
    stop();
    memory.write('MountTable', '0SLASH0a', mountBytes('/a'));
    await vi.advanceTimersByTimeAsync(NEWS_PAUSE_MS);
    expect(heard).toEqual([1, 0]);
  });

  it('that get lost are made good by the next load', async () => {
    const memory = new MemoryStore();
    await using router = new StoreRouter(memory);
    await router.store.start();
    router.driver.tellsNews = false;
    memory.write('MountTable', '0SLASH0a', mountBytes('/a'));
    await vi.advanceTimersByTimeAsync(TTL_MS - 1);
    expect(paths(router)).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(paths(router)).toEqual(['/a']);
  });
});

describe('writes', () => {
  it('show at once here, and by its news in another router', async () => {
    const memory = new MemoryStore();
    await using one = new StoreRouter(memory);
    await using other = new StoreRouter(memory, 'r2:8888');
    await Promise.all([one.store.start(), other.store.start()]);
    expect(await one.store.put('MountTable', '0SLASH0a', mountBytes('/a'), CREATE)).toBe(true);
    expect(paths(one)).toEqual(['/a']);
    expect(await other.store.put('MountTable', '0SLASH0a', mountBytes('/a'), CREATE)).toBe(false);
    await vi.advanceTimersByTimeAsync(200);
    expect(paths(other)).toEqual(['/a']);
    expect(await other.store.remove('MountTable', '0SLASH0a')).toBe(true);
    expect(await other.store.remove('MountTable', '0SLASH0a')).toBe(false);
    expect(paths(other)).toEqual([]);
    await vi.advanceTimersByTimeAsync(200);
    expect(paths(one)).toEqual([]);
  });

  it('made during a load are not undone by what it has read', async () => {
    const memory = new MemoryStore();
    memory.write('MountTable', '0SLASH0gone', mountBytes('/gone'));
    memory.write('MountTable', '0SLASH0old', mountBytes('/old', 'ns0:/1'));
    await using router = new StoreRouter(memory);
    const { store, driver } = router;
    await store.start();
    driver.reads.shut();
    const load = store.load('MountTable', true);
    await store.put('MountTable', '0SLASH0new', mountBytes('/new'), CREATE);
    await store.put('MountTable', '0SLASH0old', mountBytes('/old', 'ns0:/2'), { ...UPDATE, version: 0 });
    await store.remove('MountTable', '0SLASH0gone');
    driver.reads.open();
    await load;
    expect([paths(router), targetOf(router, '/old')]).toEqual([['/new', '/old'], '/2']);
    await vi.advanceTimersByTimeAsync(200);
    expect([paths(router), targetOf(router, '/old')]).toEqual([['/new', '/old'], '/2']);
  });

  it('without an answer are given up, and no more than a number of them wait', async () => {
    const memory = new MemoryStore();
    await using router = new StoreRouter(memory);
    const { store, driver } = router;
    await store.start();
    driver.writes.shut();
    const bytes = encodeDisabledNameservice({ dateCreated: 1, dateModified: 1, nameserviceId: 'ns0' });
    const writes = Array.from({ length: MAX_WRITES }, () => store.put('DisabledNameservice', 'ns0', bytes, UPDATE));
    const settled = Promise.allSettled(writes);
    await expect(store.put('DisabledNameservice', 'ns0', bytes, UPDATE)).rejects.toThrow(/1024 writes .* under way/);
    await vi.advanceTimersByTimeAsync(WRITE_DEADLINE_MS);
    const reasons = new Set((await settled).map((each) => (each.status === 'rejected' ? String(each.reason) : '')));
    expect([...reasons].join()).toMatch(/^StoreUnavailableError: the State Store has not answered within 10000 ms/);
    expect(store.records('DisabledNameservice').size).toBe(0);
    // They are made in the end, which the loads show.
    driver.writes.open();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(store.records('DisabledNameservice').size).toBe(1);
    expect(await store.put('DisabledNameservice', 'ns0', bytes, UPDATE)).toBe(true);
  });
});
