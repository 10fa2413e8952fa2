/** Finding the mount of a path in snapshots of different sizes, against a Map in which the path and its parents are looked up. */

import { emptyEntry, type MountEntry } from '../../src/mount/entry.ts';
import { buildSnapshot } from '../../src/mount/radix-build.ts';
import { MountSnapshot, NO_MOUNT } from '../../src/mount/snapshot.ts';
import { expect, type Subject } from './subject.ts';

const SIZES = [10, 1_000, 10_000, 100_000];
/** Paths looked up in turn: enough of them that the walk is not the same each time. A power of two. */
const PATHS = 1_024;
/** Spreads the paths over the table. */
const STEP = 7_919;

export function mountSubjects(): Subject[] {
  return SIZES.map(mountSubject);
}

function mountSubject(mounts: number): Subject {
  const entries: MountEntry[] = [];
  for (let i = 0; i < mounts; i++) {
    const entry = emptyEntry(sourceOf(i), { routerUser: 'hdfs', superGroup: 'supergroup' });
    entry.destinations.push({ nameservice: `ns${i % 4}`, path: sourceOf(i) });
    entries.push(entry);
  }
  const snapshot = MountSnapshot.from(buildSnapshot(entries, ['ns0', 'ns1', 'ns2', 'ns3'], 1, null));
  const map = new Map<string, number>();
  for (let mount = 0; mount < snapshot.mountCount; mount++) map.set(snapshot.entryOf(mount).sourcePath, mount);
  const paths: Buffer[] = [];
  for (let i = 0; i < PATHS; i++) paths.push(Buffer.from(`${sourceOf((i * STEP) % mounts)}/year=2026/part-00017.orc`));
  for (const path of paths) {
    const found = snapshot.find(path, 0, path.length);
    expect(found !== NO_MOUNT, `no mount covers ${path}`);
    expect(found === walk(map, path), `the Map has another mount for ${path}`);
  }
  const size = mounts.toLocaleString('en-US');
  return {
    name: `mount find among ${size}`,
    run: (times) => {
      let sum = 0;
      for (let i = 0; i < times; i++) {
        const path = paths[i & (PATHS - 1)] as Buffer;
        sum += snapshot.find(path, 0, path.length);
      }
      return sum;
    },
    alternative: {
      name: `walk of a Map of ${size}`,
      run: (times) => {
        let sum = 0;
        for (let i = 0; i < times; i++) sum += walk(map, paths[i & (PATHS - 1)] as Buffer);
        return sum;
      },
    },
  };
}

/** The mount of the path or of its nearest parent that has one. */
function walk(map: ReadonlyMap<string, number>, path: Buffer): number {
  let prefix = path.toString();
  while (prefix !== '') {
    const mount = map.get(prefix);
    if (mount !== undefined) return mount;
    prefix = prefix.slice(0, prefix.lastIndexOf('/'));
  }
  return map.get('/') ?? NO_MOUNT;
}

function sourceOf(mount: number): string {
  return `/warehouse/db${String(mount % 100).padStart(3, '0')}.db/table_${String(mount).padStart(6, '0')}`;
}
