/** Snapshots of directories: copies of the tree as it was, found under `PATH/.snapshot/NAME`. */

import { JAVA, RemoteException } from '../control/rpc-server/remote-exception.ts';
import type { Inode } from './inodes.ts';
import { Directory, File } from './inodes.ts';
import { compareNames } from './paths.ts';

export const SNAPSHOT_DIRECTORY = '.snapshot';
/** Of one directory, `dfs.namenode.snapshot.max.limit`. */
export const MAX_SNAPSHOTS = 65_536;

export interface Snapshot {
  readonly id: number;
  name: string;
  readonly root: Directory;
}

/** The snapshots of one snapshottable directory. */
export class Snapshots {
  readonly #byName = new Map<string, Snapshot>();

  get size(): number {
    return this.#byName.size;
  }

  get(name: string): Snapshot | undefined {
    return this.#byName.get(name);
  }

  /** In the order of their names. */
  all(): Snapshot[] {
    return [...this.#byName.values()].sort((a, b) => compareNames(a.name, b.name));
  }

  add(id: number, name: string, directory: Directory): void {
    const root = copyDirectory(directory);
    // The directory stays where it is, and its snapshots with it.
    root.parent = directory;
    root.name = `${SNAPSHOT_DIRECTORY}/${name}`;
    this.#byName.set(name, { id, name, root });
  }

  remove(name: string): boolean {
    return this.#byName.delete(name);
  }

  rename(snapshot: Snapshot, name: string): void {
    this.#byName.delete(snapshot.name);
    snapshot.name = name;
    snapshot.root.name = `${SNAPSHOT_DIRECTORY}/${name}`;
    this.#byName.set(name, snapshot);
  }
}

export function snapshotException(message: string): RemoteException {
  return new RemoteException(JAVA.SNAPSHOT, message);
}

/** Snapshots hold directories back from being deleted or moved, wherever below they are. */
export function checkNoSnapshots(snapshottables: Iterable<Directory>, inode: Inode): void {
  for (const directory of snapshottables) {
    if (directory.snapshots !== null && directory.snapshots.size > 0 && isAtOrBelow(directory, inode)) {
      const path = directory.path();
      throw snapshotException(
        `The directory ${path} cannot be deleted since ${path} is snapshottable and already has snapshots`,
      );
    }
  }
}

function isAtOrBelow(directory: Directory, inode: Inode): boolean {
  for (let at: Inode | null = directory; at !== null; at = at.parent) {
    if (at === inode) {
      return true;
    }
  }
  return false;
}

function copyDirectory(from: Directory): Directory {
  const copy = new Directory(from);
  copyAttributes(from, copy);
  copy.namespaceQuota = from.namespaceQuota;
  copy.spaceQuota = from.spaceQuota;
  copy.erasureCoding = from.erasureCoding;
  copy.zone = from.zone;
  for (const child of from.children()) {
    copy.add(child instanceof Directory ? copyDirectory(child) : copyFile(child));
  }
  return copy;
}

function copyFile(from: File): File {
  const copy = new File(from, from.replication, from.blockSize, null);
  copyAttributes(from, copy);
  copy.blocks = from.blocks.map((block) => ({ ...block }));
  copy.erasureCodingPolicy = from.erasureCodingPolicy;
  copy.encryption = from.encryption;
  return copy;
}

function copyAttributes(from: Inode, to: Inode): void {
  to.storagePolicy = from.storagePolicy;
  to.acl = from.acl;
  for (const [key, attribute] of from.xattrs) {
    to.xattrs.set(key, attribute);
  }
}
