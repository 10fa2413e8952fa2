import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MountRecords } from '../../src/control/store/mount-records.ts';
import { StateStore } from '../../src/control/store/state-store.ts';
import { StoreUnavailableError } from '../../src/control/store/store-error.ts';
import { type MountEntry, MountError } from '../../src/mount/entry.ts';
import { FileDriver } from '../../src/state-store/file-driver.ts';
import { decodeMount, encodeMount } from '../../src/state-store/records.ts';
import { MemoryStore } from '../support/memory-store.ts';
import { recordLog, SETTINGS, StoreRouter } from '../support/store-routers.ts';
import { DEFAULTS, mount } from './mount-samples.ts';

async function startRouter(memory: MemoryStore, id = 'r1:8888'): Promise<StoreRouter & { mounts: MountRecords }> {
  const router = new StoreRouter(memory, id);
  await router.store.start();
  return Object.assign(router, { mounts: new MountRecords(router.store) });
}

function withMode(mode: number): (entry: MountEntry | null) => MountEntry | null {
  return (entry) => (entry === null ? null : { ...entry, mode });
}

function stored(memory: MemoryStore, name: string): MountEntry {
  return decodeMount(memory.records('MountTable').get(name)?.bytes as Buffer, DEFAULTS).record.entry;
}

describe.each([
  ['a store with versions', true],
  ['a store without', false],
])('mount entries in %s', (_, isVersioned) => {
  it('are added once, found, changed and removed', async () => {
    const memory = new MemoryStore({ isVersioned });
    await using router = await startRouter(memory);
    const { mounts } = router;
    const entry = mount('/data/logs', ['ns0:/logs'], { owner: 'alice', group: 'staff', mode: 0o700 });
    expect(await mounts.add(entry)).toEqual({ kind: 'done' });
    expect(memory.names('MountTable')).toEqual(['0SLASH0data0SLASH0logs']);
    expect(memory.records('MountTable').get('0SLASH0data0SLASH0logs')?.bytes).toEqual(encodeMount(entry));
    expect(mounts.find('/data/logs')).toEqual(entry);
    expect(await mounts.add(entry)).toMatchObject({ kind: 'exists' });
    expect(await mounts.update('/data/logs', withMode(0o755))).toEqual({ kind: 'done' });
    const changed = stored(memory, '0SLASH0data0SLASH0logs');
    expect({ ...changed, dateModified: 0, dateCreated: 0 }).toEqual({
      ...entry,
      mode: 0o755,
      dateModified: 0,
      dateCreated: 0,
    });
    expect(changed.dateModified).toBeGreaterThan(entry.dateModified);
    expect(mounts.entries().map(({ sourcePath, mode }) => [sourcePath, mode])).toEqual([['/data/logs', 0o755]]);
    expect(await mounts.remove('/data')).toBe(false);
    expect(await mounts.remove('/data/logs')).toBe(true);
    expect([await mounts.remove('/data/logs'), mounts.entries(), memory.names('MountTable')]).toEqual([false, [], []]);
  });

  it('of one path, added by many at once, are added by one', async () => {
    const memory = new MemoryStore({ isVersioned });
    await using one = await startRouter(memory, 'r1:8888');
    await using other = await startRouter(memory, 'r2:8888');
    const adds = Array.from({ length: 40 }, (_each, i) =>
      (i % 2 === 0 ? one : other).mounts.add(mount('/a', [`ns0:/${i}`])),
    );
    const results = await Promise.all(adds);
    const done = results.flatMap(({ kind }, i) => (kind === 'done' ? [i] : []));
    expect(done).toHaveLength(1);
    expect(new Set(results.map(({ kind }) => kind))).toEqual(new Set(['done', 'exists']));
    expect(stored(memory, '0SLASH0a').destinations[0]?.path).toBe(`/${done[0]}`);
  });

  it('whose path shares its name with another do not overwrite that one', async () => {
    const memory = new MemoryStore({ isVersioned });
    await using router = await startRouter(memory);
    const { mounts } = router;
    await mounts.add(mount('/a_b', ['ns0:/1']));
    const result = await mounts.add(mount('/a:b', ['ns0:/2']));
    expect(result).toMatchObject({ kind: 'collides' });
    expect(result.kind !== 'done' && result.message).toMatch(
      /'\/a:b' would be stored as 0SLASH0a_b, where mount '\/a_b'/,
    );
    expect(await mounts.update('/a:b', () => mount('/a:b', ['ns0:/2']))).toMatchObject({ kind: 'collides' });
    expect(await mounts.remove('/a:b')).toBe(false);
    expect(mounts.entries().map(({ sourcePath }) => sourcePath)).toEqual(['/a_b']);
    expect(stored(memory, '0SLASH0a_b').destinations[0]?.path).toBe('/1');
  });

  it('under another name than theirs are found, changed where they are, and removed', async () => {
    const memory = new MemoryStore({ isVersioned });
    memory.write('MountTable', 'wrong', encodeMount(mount('/a', ['ns0:/1'])));
    await using router = await startRouter(memory);
    const { mounts } = router;
    expect(await mounts.add(mount('/a', ['ns0:/2']))).toMatchObject({ kind: 'exists' });
    expect(await mounts.update('/a', withMode(0o700))).toEqual({ kind: 'done' });
    expect([memory.names('MountTable'), stored(memory, 'wrong').mode]).toEqual([['wrong'], 0o700]);
    // As a Java router would have updated it.
    memory.write('MountTable', '0SLASH0a', encodeMount(mount('/a', ['ns0:/3'])));
    await router.store.refresh();
    expect(await mounts.remove('/a')).toBe(true);
    expect([memory.names('MountTable'), mounts.entries()]).toEqual([[], []]);
  });

  it('that cannot be read stand in the way of an add, and can be removed', async () => {
    const memory = new MemoryStore({ isVersioned });
    memory.write('MountTable', '0SLASH0a', Buffer.from('garbage'));
    await using router = await startRouter(memory);
    const { mounts } = router;
    const result = await mounts.add(mount('/a', ['ns0:/1']));
    expect(result.kind !== 'done' && result.message).toMatch(/cannot be read .*; remove the mount first/);
    expect(await mounts.remove('/a')).toBe(true);
    expect(await mounts.add(mount('/a', ['ns0:/1']))).toEqual({ kind: 'done' });
  });

  it('that turned into garbage are written anew by an update', async () => {
    const memory = new MemoryStore({ isVersioned });
    await using router = await startRouter(memory);
    const { mounts } = router;
    await mounts.add(mount('/a', ['ns0:/1']));
    memory.write('MountTable', '0SLASH0a', Buffer.from('garbage'));
    await router.store.refresh();
    expect(await mounts.update('/a', withMode(0o700))).toEqual({ kind: 'done' });
    expect(stored(memory, '0SLASH0a')).toMatchObject({ mode: 0o700, destinations: [{ path: '/1' }] });
    expect(router.store.problems).toEqual([]);
  });

  it('keep what this build does not know when they are changed', async () => {
    const memory = new MemoryStore({ isVersioned });
    const unknown = Buffer.from('c23e03616263', 'hex');
    memory.write('MountTable', '0SLASH0a', Buffer.concat([encodeMount(mount('/a', ['ns0:/1'])), unknown]));
    await using router = await startRouter(memory);
    await router.mounts.update('/a', withMode(0o700));
    expect(stored(memory, '0SLASH0a').mode).toBe(0o700);
    expect(memory.records('MountTable').get('0SLASH0a')?.bytes.includes(unknown)).toBe(true);
  });

  it('are changed by what is in the store now, not by what was cached', async () => {
    const memory = new MemoryStore({ isVersioned });
    await using one = await startRouter(memory, 'r1:8888');
    await using other = await startRouter(memory, 'r2:8888');
    await one.mounts.add(mount('/a', ['ns0:/1'], { mode: 0 }));
    await other.store.refresh();
    other.driver.tellsNews = false;
    one.driver.tellsNews = false;
    await one.mounts.update('/a', (entry) => entry && { ...entry, owner: 'alice' });
    await other.mounts.update('/a', (entry) => entry && { ...entry, group: 'staff' });
    expect(stored(memory, '0SLASH0a')).toMatchObject({ owner: 'alice', group: 'staff' });
  });

  it('an update of a missing entry asks the change what to do', async () => {
    const memory = new MemoryStore({ isVersioned });
    await using router = await startRouter(memory);
    const { mounts } = router;
    expect(await mounts.update('/a', withMode(0o700))).toMatchObject({ kind: 'refused' });
    expect(await mounts.update('/a', (entry) => entry ?? mount('/a', ['ns0:/1']))).toEqual({ kind: 'done' });
    expect(stored(memory, '0SLASH0a').destinations[0]?.path).toBe('/1');
    await expect(mounts.update('/a', () => mount('/b', ['ns0:/1']))).rejects.toThrow(/keeps the source path/);
  });

  it('that are not valid are refused, one or many', async () => {
    const memory = new MemoryStore({ isVersioned });
    await using router = await startRouter(memory);
    const { mounts } = router;
    await expect(mounts.add(mount('/a/', ['ns0:/1']))).rejects.toThrow(MountError);
    await expect(mounts.update('/a', () => mount('/a', []))).rejects.toThrow(MountError);
    await expect(mounts.addAll([mount('/ok', ['ns0:/1']), mount('/bad', [])])).rejects.toThrow(
      /'\/bad' has no destination/,
    );
    expect(memory.names('MountTable')).toEqual([]);
  });

  it('of a batch are all added but those that exist or collide', async () => {
    const memory = new MemoryStore({ isVersioned });
    await using router = await startRouter(memory);
    const { mounts } = router;
    await mounts.add(mount('/m7', ['ns0:/old']));
    const batch = Array.from({ length: 100 }, (_each, i) => mount(`/m${i}`, ['ns0:/new']));
    const results = await mounts.addAll([...batch, mount('/x_y', ['ns0:/1']), mount('/x:y', ['ns0:/2'])]);
    const others = results.flatMap(({ kind }, i) => (kind === 'done' ? [] : [[i, kind]]));
    expect(others).toEqual([
      [7, 'exists'],
      [101, 'collides'],
    ]);
    expect(memory.names('MountTable')).toHaveLength(101);
    expect(stored(memory, '0SLASH0m7').destinations[0]?.path).toBe('/old');
  });
});

describe('updates by several routers of a store with versions', () => {
  it('are all made: none overwrites another', async () => {
    const memory = new MemoryStore();
    const routers = await Promise.all(['r1:1', 'r2:1', 'r3:1', 'r4:1'].map((id) => startRouter(memory, id)));
    await routers[0]?.mounts.add(mount('/a', ['ns0:/first']));
    const updates: Promise<unknown>[] = [];
    for (const [i, { mounts }] of routers.entries()) {
      for (let n = 0; n < 25; n++) {
        const destination = { nameservice: `ns${i}`, path: `/${n}` };
        const grow = (entry: MountEntry | null): MountEntry =>
          entry === null
            ? mount('/a', ['ns0:/first', `ns${i}:/${n}`])
            : { ...entry, destinations: [...entry.destinations, destination] };
        updates.push(mounts.update('/a', grow));
      }
    }
    const results = await Promise.all(updates);
    expect(new Set(results.map((result) => (result as { kind: string }).kind))).toEqual(new Set(['done']));
    const { destinations } = stored(memory, '0SLASH0a');
    expect(destinations).toHaveLength(101);
    expect(new Set(destinations.map(({ nameservice, path }) => nameservice + path)).size).toBe(101);
    expect(routers.reduce((sum, { mounts }) => sum + mounts.lostRaces, 0)).toBeGreaterThan(0);
    for (const router of routers) await router[Symbol.asyncDispose]();
  });

  it('are refused after a lost race when they do not apply any more', async () => {
    const memory = new MemoryStore();
    await using router = await startRouter(memory);
    const { mounts } = router;
    await mounts.add(mount('/a', ['ns0:/1'], { mode: 0o700 }));
    router.driver.tellsNews = false;
    memory.write('MountTable', '0SLASH0a', encodeMount(mount('/a', ['ns0:/1'], { readOnly: true })));
    const unlessReadOnly = (entry: MountEntry | null): MountEntry | null =>
      entry === null || entry.readOnly ? null : { ...entry, mode: 0o777 };
    expect(await mounts.update('/a', unlessReadOnly)).toMatchObject({ kind: 'refused' });
    expect(stored(memory, '0SLASH0a')).toMatchObject({ readOnly: true, mode: 0o755 });
  });

  it('do not insert an entry again that was removed', async () => {
    const memory = new MemoryStore();
    await using router = await startRouter(memory);
    const { mounts } = router;
    await mounts.add(mount('/a', ['ns0:/1']));
    router.driver.tellsNews = false;
    memory.erase('MountTable', '0SLASH0a');
    expect(await mounts.update('/a', withMode(0o700))).toMatchObject({ kind: 'refused' });
    expect(memory.names('MountTable')).toEqual([]);
  });
});

describe('without the store', () => {
  it('changes end with an error that says why', async () => {
    const memory = new MemoryStore();
    await using router = new StoreRouter(memory);
    const mounts = new MountRecords(router.store);
    await expect(mounts.add(mount('/a', ['ns0:/1']))).rejects.toThrow(StoreUnavailableError);
    router.driver.failure = 'State Store, /x: read-only file system';
    await router.store.start();
    await expect(mounts.update('/a', withMode(0))).rejects.toThrow(StoreUnavailableError);
    router.driver.failure = null;
    await router.store.refresh();
    await mounts.add(mount('/a', ['ns0:/1']));
    router.driver.failure = 'State Store, /x: read-only file system';
    await expect(mounts.add(mount('/b', ['ns0:/1']))).rejects.toThrow(/read-only file system/);
    await expect(mounts.update('/a', withMode(0))).rejects.toThrow(/read-only file system/);
    await expect(mounts.remove('/a')).rejects.toThrow(/read-only file system/);
    expect(mounts.find('/a')).toMatchObject({ mode: 0o755 });
  });
});

describe('in a directory of the file driver', () => {
  it('two routers see each other’s changes', async () => {
    const root = await mkdtemp(join(tmpdir(), 'store-mounts-'));
    const { log } = recordLog();
    const stores = ['r1:1', 'r2:1'].map(
      (routerId) =>
        new StateStore({ driver: new FileDriver(root), settings: SETTINGS, defaults: DEFAULTS, routerId, log }),
    );
    try {
      for (const store of stores) await store.start();
      const [one, other] = stores.map((store) => new MountRecords(store)) as [MountRecords, MountRecords];
      const adds = await Promise.all([one, other, one, other].map((mounts) => mounts.add(mount('/a', ['ns0:/1']))));
      expect(adds.filter(({ kind }) => kind === 'done')).toHaveLength(1);
      await one.update('/a', (entry) => entry && { ...entry, owner: 'alice' });
      await other.update('/a', (entry) => entry && { ...entry, group: 'staff' });
      await stores[0]?.refresh();
      expect(one.find('/a')).toMatchObject({ owner: 'alice', group: 'staff' });
      expect(await readdir(join(root, 'MountTable'))).toEqual(['0SLASH0a']);
      expect(await one.remove('/a')).toBe(true);
      expect(await other.remove('/a')).toBe(false);
    } finally {
      for (const store of stores) await store.stop();
      await rm(root, { recursive: true });
    }
  });
});
