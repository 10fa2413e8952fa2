import { expect, it } from 'vitest';
import { MountPublisher } from '../../src/control/mounts/mount-publisher.ts';
import type { MountEntry } from '../../src/mount/entry.ts';
import { MountSnapshot } from '../../src/mount/snapshot.ts';
import { allocateEpochWords, announceEpoch, type SharedBytes } from '../../src/shared/epochs.ts';
import { mount } from './mount-samples.ts';

const TABLES = 60;

/** What is in force, as `path target`. */
function published(publisher: MountPublisher): string[] {
  const snapshot = MountSnapshot.from(publisher.buffer as SharedBytes);
  return Array.from({ length: snapshot.mountCount }, (_, i) => lineOf(snapshot.entryOf(i))).sort();
}

function lineOf({ sourcePath, destinations }: MountEntry): string {
  return `${sourcePath} ${destinations[0]?.path}`;
}

it.each([
  ['that stays', 60_000],
  ['that is a new one each time', 0],
])('publishes each table whole, whatever has changed in it, with a building thread %s', async (_, idleMs) => {
  const words = allocateEpochWords(1);
  const publisher = new MountPublisher(words, ['ns0'], idleMs);
  try {
    const table = new Map<string, MountEntry>();
    for (let n = 0; n < TABLES; n++) {
      for (let i = 0; i < n % 5; i++) {
        const path = `/m${(n * 7 + i * 3) % 20}`;
        if ((n + i) % 3 === 0) table.delete(path);
        else table.set(path, mount(path, [`ns0:/${n}`]));
      }
      const entries = [...table.values()];
      expect(await publisher.build(entries)).toBe(true);
      announceEpoch(words, 0, publisher.epoch);
      expect(published(publisher)).toEqual(entries.map(lineOf).sort());
    }
  } finally {
    await publisher.close();
  }
});

it('goes on after a table that could not be built, with what has changed since the one before', async () => {
  const words = allocateEpochWords(1);
  const publisher = new MountPublisher(words, ['ns0']);
  try {
    const kept = mount('/kept', ['ns0:/kept']);
    await publisher.build([kept, mount('/gone', ['ns0:/gone'])]);
    announceEpoch(words, 0, publisher.epoch);
    await expect(publisher.build([kept, mount('/bad', [])])).rejects.toThrow(/no destination/);
    await expect(publisher.build([kept, kept])).rejects.toThrow(/twice/);
    await publisher.build([kept, mount('/new', ['ns0:/new'])]);
    expect(published(publisher)).toEqual(['/kept /kept', '/new /new']);
  } finally {
    await publisher.close();
  }
});
