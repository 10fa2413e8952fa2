import { describe, expect, it } from 'vitest';
import { MountRecords } from '../../src/control/store/mount-records.ts';
import { escapeKey } from '../../src/state-store/record-names.ts';
import { decodeMount, encodeMount } from '../../src/state-store/records.ts';
import { MemoryStore } from '../support/memory-store.ts';
import { StoreRouter } from '../support/store-routers.ts';
import { waitUntil } from '../support/wait.ts';
import { DEFAULTS, mount } from './mount-samples.ts';

/** Records that come and go while they are read: in the end every router has what is in the store. */

const PATHS = ['/a', '/a/b', '/c', '/d', '/e e', '/f'];
const STEPS = 400;

/** Numbers from 0 up to but not `below`, the same for the same seed. */
function seeded(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function contentOf(memory: MemoryStore): string[] {
  return Array.from(memory.records('MountTable').values(), ({ bytes }) => {
    const { entry } = decodeMount(bytes, DEFAULTS).record;
    return `${entry.sourcePath} ${entry.destinations[0]?.path}`;
  }).sort();
}

function cachedIn(mounts: MountRecords): string[] {
  return mounts
    .entries()
    .map(({ sourcePath, destinations }) => `${sourcePath} ${destinations[0]?.path}`)
    .sort();
}

describe.each([
  ['with versions and news', true],
  ['without', false],
])('in a store %s', (_, isVersioned) => {
  it.each([1, 2, 3, 4, 5])('routers agree with it after many changes by them and by others, seed %i', async (seed) => {
    const random = seeded(seed);
    const memory = new MemoryStore({ isVersioned });
    await using one = new StoreRouter(memory, 'r1:8888');
    await using other = new StoreRouter(memory, 'r2:8888');
    const routers = [one, other];
    const records = routers.map(({ store }) => new MountRecords(store));
    for (const { store } of routers) await store.start();
    const changes: Promise<unknown>[] = [];
    for (let step = 0; step < STEPS; step++) {
      const path = PATHS[random(PATHS.length)] as string;
      const entry = mount(path, [`ns0:/${step}`]);
      const mounts = records[random(2)] as MountRecords;
      const { driver, store } = routers[random(2)] as StoreRouter;
      switch (random(8)) {
        case 0:
          memory.write('MountTable', escapeKey(path), encodeMount(entry));
          break;
        case 1:
          memory.erase('MountTable', escapeKey(path));
          break;
        case 2:
          driver.reads.shut();
          break;
        case 3:
          driver.writes.shut();
          break;
        case 4:
          void store.load('MountTable', random(2) === 0);
          break;
        case 5:
          changes.push(mounts.add(entry));
          break;
        case 6:
          changes.push(mounts.update(path, (current) => (current === null ? null : entry)));
          break;
        default:
          changes.push(mounts.remove(path));
      }
      if (random(3) === 0) for (const each of routers) each.driver.reads.open();
      if (random(3) === 0) for (const each of routers) each.driver.writes.open();
      if (random(2) === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    for (const { driver } of routers) {
      driver.reads.open();
      driver.writes.open();
    }
    expect((await Promise.allSettled(changes)).filter(({ status }) => status === 'rejected')).toEqual([]);
    // Without news a router sees the changes of others with its next load.
    if (!isVersioned) for (const { store } of routers) await store.load('MountTable', true);
    for (const [i, mounts] of records.entries()) {
      await waitUntil(() => String(cachedIn(mounts)) === String(contentOf(memory)), `router ${i} has what is stored`);
      for (const path of PATHS) {
        const names = memory.names('MountTable').filter((name) => name === escapeKey(path));
        expect((routers[i] as StoreRouter).store.cache('MountTable').namesOf(path)).toEqual(names);
      }
    }
  });
});
