/** What the resolution of a path tells the operations. */
import type { Directory, Inode } from './inodes.ts';

/** A path and what exists of it. */
export interface ResolvedPath {
  /** Canonical text: no repeated or trailing slashes, inode paths translated. */
  readonly text: string;
  /** Last component, '' for the root. */
  readonly name: string;
  /** Existing inodes above the last component, from the root down; a file among them is the last. */
  readonly above: readonly Inode[];
  /** The inode itself, null when it does not exist. */
  readonly target: Inode | null;
  /** The directory that holds or would hold the last component; null when it does not exist and for the root. */
  readonly parent: Directory | null;
  /** The nearest existing inode above the last component, null for the root. */
  readonly ancestor: Inode | null;
  /** Components below the ancestor, the last one included. */
  readonly missing: readonly string[];
  /** The path leads into a snapshot, where nothing can be changed. */
  readonly isSnapshot: boolean;
  /** The directory of a path `DIRECTORY/.snapshot`, which lists its snapshots; else null. */
  readonly snapshotList: Directory | null;
}

/**
 * What an operation is about to do with a path: names that are made must be valid, and refusals differ. `administer` writes, and tells of a
 * parent that is a file as `create` does.
 */
export type Intent = 'read' | 'write' | 'create' | 'administer';
