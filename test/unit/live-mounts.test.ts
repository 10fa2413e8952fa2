import { afterEach, expect, it, vi } from 'vitest';
import type { Log } from '../../src/control/log.ts';
import { BUILD_AGAIN_MS, BUILD_PAUSE_MS, LiveMounts } from '../../src/control/mounts/live-mounts.ts';
import { MountPublisher } from '../../src/control/mounts/mount-publisher.ts';
import type { MountEntry } from '../../src/mount/entry.ts';
import { MountSnapshot } from '../../src/mount/snapshot.ts';
import { allocateEpochWords, announceEpoch, type SharedBytes } from '../../src/shared/epochs.ts';
import { waitUntil } from '../support/wait.ts';
import { mount } from './mount-samples.ts';

/** Stored entries on their way to the threads, with one thread that the test moves. */

const words = allocateEpochWords(1);
const told: SharedBytes[] = [];
const lines: { level: string; msg: string; details: unknown }[] = [];
let publisher: MountPublisher;
let live: LiveMounts;

const record = (level: string) => (details: unknown, msg?: string) => lines.push({ level, msg: msg ?? '', details });
const log = { info: record('info'), warn: record('warn'), error: record('error') } as unknown as Log;

async function start(given: readonly MountEntry[] = [], stored: readonly MountEntry[] = []): Promise<void> {
  announceEpoch(words, 0, 0);
  told.splice(0);
  lines.splice(0);
  publisher = new MountPublisher(words, ['ns0', 'ns1']);
  live = new LiveMounts({ publisher, given, tell: (buffer) => told.push(buffer), log });
  await live.start(stored);
  move();
}

afterEach(async () => {
  live.stop();
  await publisher.close();
});

/** The thread goes to the newest table. */
function move(): void {
  announceEpoch(words, 0, publisher.epoch);
  live.onAnnounced();
}

function paths(): string[] {
  const snapshot = MountSnapshot.from(publisher.buffer as SharedBytes);
  return Array.from({ length: snapshot.mountCount }, (_, i) => snapshot.entryOf(i).sourcePath).sort();
}

const A = mount('/a', ['ns0:/a']);
const B = mount('/b', ['ns1:/b']);

it('publishes changed entries, and says when every thread is on them', async () => {
  await start([], [A]);
  expect(await live.everywhere()).toBe(true);
  live.set(() => [A, B]);
  let isEverywhere = false;
  const everywhere = live.everywhere().then((answer) => {
    isEverywhere = answer;
    return answer;
  });
  await waitUntil(() => told.length === 1, 'the table was given to the thread');
  expect(paths()).toEqual(['/a', '/b']);
  expect(isEverywhere).toBe(false);
  move();
  expect(await everywhere).toBe(true);
});

it('takes changes together that come faster than tables are built', async () => {
  await start();
  const entries: MountEntry[] = [];
  const until = performance.now() + 3 * BUILD_PAUSE_MS;
  let changes = 0;
  while (performance.now() < until) {
    entries.push(mount(`/m/${changes++}`, ['ns0:/m']));
    live.set(() => [...entries]);
    await new Promise((resolve) => setImmediate(resolve));
    move();
  }
  await waitUntil(() => {
    move();
    return paths().length === changes;
  }, 'the last change is in the table');
  expect(changes).toBeGreaterThan(10);
  // One every BUILD_PAUSE_MS and the last one; a slow machine builds fewer.
  expect(told.length).toBeLessThanOrEqual(6);
});

it('keeps the newest entries while no memory is free, and goes on when a thread has moved', async () => {
  await start();
  for (let i = 0; i < 12; i++) {
    live.set(() => [mount(`/m${i}`, ['ns0:/m'])]);
    const before = told.length;
    // The thread does not move: after some tables all memory is in use.
    if (before < 3) await waitUntil(() => told.length > before, 'a table was published');
  }
  const everywhere = live.everywhere();
  await waitUntil(() => {
    move();
    return paths()[0] === '/m11';
  }, 'the newest entries are published');
  move();
  expect(await everywhere).toBe(true);
});

it('leaves out entries that no call can be routed by, names them once, and lets given mounts take the place of stored ones', async () => {
  await start([mount('/a', ['ns1:/given'])], [A, mount('/bad/', ['ns0:/x'])]);
  expect(paths()).toEqual(['/a']);
  expect(MountSnapshot.from(publisher.buffer as SharedBytes).entryOf(0).destinations).toEqual([
    { nameservice: 'ns1', path: '/given' },
  ]);
  live.set(() => [A, B, mount('/bad/', ['ns0:/x'])]);
  await waitUntil(() => paths().length === 2, 'the change is published');
  const warnings = lines.filter(({ level }) => level === 'warn');
  expect(warnings).toHaveLength(1);
  expect(JSON.stringify(warnings[0]?.details)).toContain('/bad/');
});

it('keeps the table before when a new one cannot be built, and goes on with the next change', async () => {
  await start([], [A]);
  const twice = [B, { ...B }];
  live.set(() => twice);
  expect(await live.everywhere()).toBe(false);
  expect(paths()).toEqual(['/a']);
  expect(live.failure).not.toBe('');
  expect(lines.some(({ level }) => level === 'error')).toBe(true);
  live.set(() => [B]);
  await waitUntil(() => paths()[0] === '/b', 'the next change is published');
  expect(live.failure).toBe('');
});

it('tries again what could not be built, and a change in between at once', async () => {
  await start();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  let failure: string | null = 'no memory';
  let epoch = 1;
  const built: string[][] = [];
  const flaky = {
    buffer: new SharedArrayBuffer(8),
    get epoch(): number {
      return epoch;
    },
    isEverywhere: () => true,
    build: (entries: readonly MountEntry[]): Promise<boolean> => {
      if (failure !== null) return Promise.reject(new Error(failure));
      epoch++;
      built.push(entries.map(({ sourcePath }) => sourcePath));
      return Promise.resolve(true);
    },
  };
  const own = new LiveMounts({ publisher: flaky, given: [], tell: () => {}, log });
  try {
    own.set(() => [A]);
    await vi.advanceTimersByTimeAsync(2 * BUILD_AGAIN_MS);
    expect(own.failure).toBe('no memory');
    expect(lines.filter(({ level }) => level === 'error')).toHaveLength(1);
    failure = null;
    await vi.advanceTimersByTimeAsync(BUILD_AGAIN_MS);
    expect([built, own.failure]).toEqual([[['/a']], '']);
    await vi.advanceTimersByTimeAsync(10 * BUILD_AGAIN_MS);
    expect(built).toHaveLength(1);

    failure = 'no memory';
    own.set(() => [A, B]);
    await vi.advanceTimersByTimeAsync(BUILD_PAUSE_MS);
    expect(own.failure).toBe('no memory');
    failure = null;
    own.set(() => [B]);
    await vi.advanceTimersByTimeAsync(BUILD_PAUSE_MS);
    expect(built.at(-1)).toEqual(['/b']);
    await vi.advanceTimersByTimeAsync(10 * BUILD_AGAIN_MS);
    expect(built).toHaveLength(2);
  } finally {
    own.stop();
    vi.useRealTimers();
  }
});

it('tells those who wait when it is stopped, or when a thread does not move in time', async () => {
  await start();
  live.set(() => [A]);
  expect(await live.everywhere(1)).toBe(false);
  const everywhere = live.everywhere();
  live.stop();
  expect(await everywhere).toBe(false);
});
