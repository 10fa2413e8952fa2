/**
 * In place of the radix search in shared memory: what a router without it would do for each call.
 *
 *   1. the read lock of the mount table is taken: compare-and-swap on a shared word, as a read-write lock does for a reader
 *   2. the path becomes a string
 *   3. the path and then each of its parents is looked up in a Map of mounts by path, until one is found; a Set of all parents of mounts
 *      says whether there are mounts below
 *   4. the destinations of the mount are copied, because the table may change once the lock is released
 *   5. the lock is released
 *
 * Each thread has a table and a lock word of its own, so that no thread ever waits for another: less than the real price of a lock. What
 * is asked of a mount that was found comes from the snapshot, as before.
 */

import { MountSnapshot as RadixSnapshot } from '../../../src/mount/snapshot.ts';
import type { SharedBytes } from '../../../src/shared/epochs.ts';

export * from '../../../src/mount/snapshot.ts';

const NO_MOUNT = -1;
const SLASH = 0x2f;

interface Destination {
  readonly nameservice: number;
  readonly path: string;
}

interface Mount {
  readonly number: number;
  /** Of its path; 0 for `/`. */
  readonly sourceBytes: number;
  readonly destinations: readonly Destination[];
}

export type MountSnapshot = RadixSnapshot;

export const MountSnapshot = {
  from(buffer: SharedBytes): RadixSnapshot {
    const snapshot = RadixSnapshot.from(buffer);
    const table = new MountMap(snapshot);
    snapshot.find = (path, start, end) => table.find(path, start, end);
    return snapshot;
  },
};

class MountMap {
  /** What the last lookup found, as its caller would be given it. */
  located: Destination[] = [];
  readonly #snapshot: RadixSnapshot;
  readonly #mounts = new Map<string, Mount>();
  /** Paths that have mounts below them. */
  readonly #parents = new Set<string>();
  /** Number of readers. */
  readonly #lock = new Int32Array(new SharedArrayBuffer(4));

  constructor(snapshot: RadixSnapshot) {
    this.#snapshot = snapshot;
    for (let number = 0; number < snapshot.mountCount; number++) this.#add(number);
  }

  /** As `find` of the snapshot, whose fields it sets. */
  find(path: Buffer, start: number, end: number): number {
    const snapshot = this.#snapshot;
    snapshot.matchedEnd = start;
    snapshot.atMount = false;
    snapshot.mountsBelow = false;
    if (start >= end || path[start] !== SLASH) return NO_MOUNT;
    this.#lockForReading();
    try {
      const text = path.toString('utf8', start, end);
      snapshot.mountsBelow = this.#parents.has(text);
      const mount = this.#findDeepest(text);
      if (mount === undefined) return NO_MOUNT;
      this.located = mount.destinations.map((destination) => ({ ...destination }));
      snapshot.atMount = mount.sourceBytes === end - start || (mount.sourceBytes === 0 && end - start === 1);
      snapshot.matchedEnd = snapshot.atMount ? end : start + mount.sourceBytes;
      return mount.number;
    } finally {
      Atomics.sub(this.#lock, 0, 1);
    }
  }

  #findDeepest(path: string): Mount | undefined {
    let prefix = path;
    for (;;) {
      const mount = this.#mounts.get(prefix);
      if (mount !== undefined) return mount;
      if (prefix === '/') return undefined;
      const slash = prefix.lastIndexOf('/');
      prefix = slash <= 0 ? '/' : prefix.slice(0, slash);
    }
  }

  #lockForReading(): void {
    for (;;) {
      const readers = Atomics.load(this.#lock, 0);
      if (Atomics.compareExchange(this.#lock, 0, readers, readers + 1) === readers) return;
    }
  }

  #add(number: number): void {
    const snapshot = this.#snapshot;
    const { sourcePath, destinations } = snapshot.entryOf(number);
    this.#mounts.set(sourcePath, {
      number,
      sourceBytes: sourcePath === '/' ? 0 : Buffer.byteLength(sourcePath),
      destinations: destinations.map(({ path }, i) => ({
        nameservice: snapshot.destinationNameservice(number, i),
        path,
      })),
    });
    for (let at = sourcePath.lastIndexOf('/'); at > 0; at = sourcePath.lastIndexOf('/', at - 1)) {
      this.#parents.add(sourcePath.slice(0, at));
    }
    if (sourcePath !== '/') this.#parents.add('/');
  }
}
