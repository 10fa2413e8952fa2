import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Configuration } from '../../src/config/configuration.ts';
import { readStoreSettings } from '../../src/config/store-settings.ts';
import { type CacheAge, SafeMode } from '../../src/control/safe-mode.ts';
import { ControlBlock, createControlBlock, SafeModeLevel } from '../../src/shared/control-block.ts';
import { MemoryStore } from '../support/memory-store.ts';
import { recordLog, StoreRouter, useFakeTime } from '../support/store-routers.ts';

const SETTINGS = { extensionMs: 30_000, expirationMs: 180_000, checkPeriodMs: 5_000 };

let time: Disposable;
let block: ControlBlock;
let changes: boolean[];
let safeMode: SafeMode;
beforeEach(() => {
  time = useFakeTime();
  const shared = createControlBlock(1);
  block = new ControlBlock(shared, 1);
  changes = [];
});
afterEach(() => {
  safeMode.stop();
  time[Symbol.dispose]();
});

function start(caches: CacheAge): void {
  const { log } = recordLog();
  safeMode = new SafeMode({ settings: SETTINGS, block, caches, log, onChange: (isOn) => changes.push(isOn) });
  safeMode.start();
}

/** Caches that are loaded as long as `fresh` is true. */
function makeCaches(): { fresh: boolean; lastFullLoadMs: number | null; hasMountTable: boolean } {
  let loadedMs: number | null = null;
  return {
    fresh: true,
    hasMountTable: true,
    get lastFullLoadMs(): number | null {
      if (this.fresh) loadedMs = performance.now();
      return loadedMs;
    },
  };
}

describe('router safe mode', () => {
  it('lasts from the start for a while, however fresh the caches are', async () => {
    start(makeCaches());
    expect([safeMode.isOn, block.safeMode]).toEqual([true, SafeModeLevel.WRITES]);
    await vi.advanceTimersByTimeAsync(29_999);
    expect(safeMode.isOn).toBe(true);
    await vi.advanceTimersByTimeAsync(1);
    expect([safeMode.isOn, block.safeMode, changes]).toEqual([false, SafeModeLevel.OFF, [true, false]]);
    expect(safeMode.lastDurationMs).toBe(30_000);
  });

  it('goes on while the caches were never loaded, and stops reads too while there is no mount table', async () => {
    const caches = { lastFullLoadMs: null as number | null, hasMountTable: false };
    start(caches);
    expect(block.safeMode).toBe(SafeModeLevel.READS_TOO);
    await vi.advanceTimersByTimeAsync(600_000);
    expect([safeMode.isOn, block.safeMode]).toEqual([true, SafeModeLevel.READS_TOO]);
    caches.hasMountTable = true;
    safeMode.check();
    expect([safeMode.isOn, block.safeMode]).toEqual([true, SafeModeLevel.WRITES]);
    caches.lastFullLoadMs = performance.now();
    safeMode.check();
    expect([safeMode.isOn, block.safeMode]).toEqual([false, SafeModeLevel.OFF]);
  });

  it('begins when the last full load is too old, and ends with the next one', async () => {
    const caches = makeCaches();
    start(caches);
    await vi.advanceTimersByTimeAsync(60_000);
    caches.fresh = false;
    await vi.advanceTimersByTimeAsync(180_000);
    expect(safeMode.isOn).toBe(false);
    await vi.advanceTimersByTimeAsync(5_000);
    expect([safeMode.isOn, block.safeMode, changes]).toEqual([true, SafeModeLevel.WRITES, [true, false, true]]);
    caches.fresh = true;
    await vi.advanceTimersByTimeAsync(5_000);
    expect([safeMode.isOn, changes]).toEqual([false, [true, false, true, false]]);
  });

  it('of an administrator ends only by an administrator', async () => {
    start(makeCaches());
    await vi.advanceTimersByTimeAsync(60_000);
    safeMode.enter();
    expect([safeMode.isOn, safeMode.byAdministrator, block.safeMode]).toEqual([true, true, SafeModeLevel.WRITES]);
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(safeMode.isOn).toBe(true);
    safeMode.leave();
    expect([safeMode.isOn, safeMode.byAdministrator, block.safeMode]).toEqual([false, false, SafeModeLevel.OFF]);
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect([safeMode.isOn, changes]).toEqual([false, [true, false, true, false]]);
  });

  it('entered by an administrator during another goes on when that would end', async () => {
    start(makeCaches());
    safeMode.enter();
    await vi.advanceTimersByTimeAsync(60_000);
    expect([safeMode.isOn, changes]).toEqual([true, [true]]);
  });

  it('left by an administrator begins again at the next check while the caches are old', async () => {
    const caches = makeCaches();
    caches.fresh = false;
    start(caches);
    await vi.advanceTimersByTimeAsync(10_000);
    safeMode.leave();
    // Until the time after the start is over nothing is looked at.
    await vi.advanceTimersByTimeAsync(15_000);
    expect(safeMode.isOn).toBe(false);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(safeMode.isOn).toBe(true);
    safeMode.leave();
    expect(safeMode.isOn).toBe(false);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(safeMode.isOn).toBe(true);
  });

  it('left by an administrator before there is a mount table still lets nothing be routed', async () => {
    start({ lastFullLoadMs: null, hasMountTable: false });
    safeMode.leave();
    expect([safeMode.isOn, block.safeMode]).toEqual([false, SafeModeLevel.READS_TOO]);
  });

  it('is not checked any more after the stop', async () => {
    const caches = makeCaches();
    start(caches);
    await vi.advanceTimersByTimeAsync(60_000);
    safeMode.stop();
    caches.fresh = false;
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(safeMode.isOn).toBe(false);
  });
});

describe('safe mode over a State Store', () => {
  it('begins when the store is silent, whether it refuses or hangs, and ends when it is back', async () => {
    await using router = new StoreRouter(new MemoryStore());
    const { store, driver } = router;
    start(store);
    expect(block.safeMode).toBe(SafeModeLevel.READS_TOO);
    await store.start();
    await vi.advanceTimersByTimeAsync(30_000);
    expect([safeMode.isOn, block.safeMode]).toEqual([false, SafeModeLevel.OFF]);
    const cuts = [
      (isCut: boolean) => {
        driver.failure = isCut ? 'gone' : null;
      },
      (isCut: boolean) => (isCut ? driver.reads.shut() : driver.reads.open()),
    ];
    for (const setCut of cuts) {
      setCut(true);
      await vi.advanceTimersByTimeAsync(SETTINGS.expirationMs + 60_000 + 10_000);
      expect([safeMode.isOn, block.safeMode]).toEqual([true, SafeModeLevel.WRITES]);
      setCut(false);
      await vi.advanceTimersByTimeAsync(15_000);
      expect([safeMode.isOn, block.safeMode]).toEqual([false, SafeModeLevel.OFF]);
    }
  });

  it('is not begun by records that cannot be read, nor by a wall clock that jumps', async () => {
    const memory = new MemoryStore();
    for (let i = 0; i < 20; i++) memory.write('MountTable', `bad${i}`, Buffer.from('garbage'));
    await using router = new StoreRouter(memory);
    start(router.store);
    await router.store.start();
    await vi.advanceTimersByTimeAsync(60_000);
    vi.setSystemTime(Date.now() + 86_400_000);
    await vi.advanceTimersByTimeAsync(600_000);
    vi.setSystemTime(Date.now() - 2 * 86_400_000);
    await vi.advanceTimersByTimeAsync(600_000);
    expect(changes).toEqual([true, false]);
  });
});

describe('settings of the State Store', () => {
  const prefix = 'dfs.federation.router';
  function read(keys: Record<string, string>): ReturnType<typeof readStoreSettings> {
    const overrides = Object.entries(keys).map(([key, value]) => ({ key: `${prefix}.${key}`, value, origin: '--set' }));
    return readStoreSettings(new Configuration({ directory: null, overrides }));
  }

  it('are those of Hadoop where nothing is said', () => {
    start(makeCaches());
    expect(read({})).toEqual({
      cacheTtlMs: 60_000,
      connectionTestMs: 60_000,
      membership: { expirationMs: 300_000, deletionMs: -1 },
      router: { expirationMs: 300_000, deletionMs: -1 },
      heartbeatEnabled: true,
      heartbeatMs: 5_000,
      safeMode: SETTINGS,
    });
  });

  it('follow the keys', () => {
    expect(
      read({
        'cache.ttl': '5s',
        'store.connection.test': '7000',
        'store.membership.expiration': '20000',
        'store.membership.expiration.deletion': '30s',
        'store.router.expiration': '1m',
        'store.router.expiration.deletion': '2m',
        'heartbeat.enable': 'false',
        'heartbeat-state.interval': '1s',
        'safemode.enable': 'false',
      }),
    ).toEqual({
      cacheTtlMs: 5_000,
      connectionTestMs: 7_000,
      membership: { expirationMs: 20_000, deletionMs: 30_000 },
      router: { expirationMs: 60_000, deletionMs: 120_000 },
      heartbeatEnabled: false,
      heartbeatMs: 1_000,
      safeMode: null,
    });
    expect(
      read({ 'safemode.extension': '0', 'safemode.expiration': '10s', 'safemode.checkperiod': '500ms' }).safeMode,
    ).toEqual({ extensionMs: 0, expirationMs: 10_000, checkPeriodMs: 500 });
  });

  it.each([
    'cache.ttl',
    'heartbeat-state.interval',
    'safemode.checkperiod',
    'safemode.expiration',
    'store.connection.test',
  ])('%s of 0 is refused by name', (key) => {
    expect(() => read({ [key]: '0' })).toThrow(new RegExp(`${key.replaceAll('.', '\\.')}.*too short`, 's'));
  });
});
