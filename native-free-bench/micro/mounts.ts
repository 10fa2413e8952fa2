/** Finding the mount of a path in a snapshot of 10,000. */

import { emptyEntry, type MountEntry } from '../../src/mount/entry.ts';
import { buildSnapshot } from '../../src/mount/radix-build.ts';
import { MountSnapshot, NO_MOUNT } from '../../src/mount/snapshot.ts';
import { expect, type Subject } from './subject.ts';

const MOUNTS = 10_000;
/** Paths looked up in turn: enough of them that the walk is not the same each time. A power of two. */
const PATHS = 1_024;
/** Spreads the paths over the table. */
const STEP = 7_919;

export function mountSubjects(): Subject[] {
  const entries: MountEntry[] = [];
  for (let i = 0; i < MOUNTS; i++) {
    const entry = emptyEntry(sourceOf(i), { routerUser: 'hdfs', superGroup: 'supergroup' });
    entry.destinations.push({ nameservice: `ns${i % 4}`, path: sourceOf(i) });
    entries.push(entry);
  }
  const snapshot = MountSnapshot.from(buildSnapshot(entries, ['ns0', 'ns1', 'ns2', 'ns3'], 1, null));
  const paths: Buffer[] = [];
  for (let i = 0; i < PATHS; i++) paths.push(Buffer.from(`${sourceOf((i * STEP) % MOUNTS)}/year=2026/part-00017.orc`));
  for (const path of paths) expect(snapshot.find(path, 0, path.length) !== NO_MOUNT, `no mount covers ${path}`);
  return [
    {
      name: 'mount find among 10,000',
      run: (times) => {
        let sum = 0;
        for (let i = 0; i < times; i++) {
          const path = paths[i & (PATHS - 1)] as Buffer;
          sum += snapshot.find(path, 0, path.length);
        }
        return sum;
      },
    },
  ];
}

function sourceOf(mount: number): string {
  return `/warehouse/db${String(mount % 100).padStart(3, '0')}.db/table_${String(mount).padStart(6, '0')}`;
}
