/** What differs between two states of a directory: names that came and went, moved inodes, changed attributes and contents. */
import type { Inode } from './inodes.ts';
import { Directory, File } from './inodes.ts';
import { compareNames } from './paths.ts';

/** The changes of one directory that is in both states. Paths are relative to the directory that is compared. */
export interface DirectoryDiff {
  /** Where the earlier state has the directory; '' for the compared directory itself. */
  readonly path: string;
  readonly directory: Directory;
  readonly created: readonly Entry[];
  readonly deleted: readonly Entry[];
}

export interface Entry {
  readonly path: string;
  readonly inode: Inode;
  /** Id of the directory that the entry is in. */
  readonly directoryId: number;
  /** A moved inode: its path in the other state. */
  readonly otherPath: string | null;
}

export interface Diff {
  /** Directories with changes in them, and files that changed: in the order of the paths of the earlier state. */
  readonly directories: readonly DirectoryDiff[];
  readonly files: readonly Entry[];
}

export function compareTrees(from: Directory, to: Directory): Diff {
  const before = indexTree(from);
  const after = indexTree(to);
  const directories: DirectoryDiff[] = [];
  const files: Entry[] = [];
  for (const [id, { inode, path, directoryId }] of before) {
    const now = after.get(id);
    if (now === undefined) {
      continue;
    }
    if (inode instanceof File || now.inode instanceof File) {
      if (isChangedFile(inode, now.inode)) {
        files.push({ path, inode, directoryId, otherPath: null });
      }
      continue;
    }
    const deleted = entriesOf(inode, path, now.inode, after);
    const created = entriesOf(now.inode, now.path, inode, before);
    if (deleted.length + created.length > 0 || isChanged(inode, now.inode)) {
      directories.push({ path, directory: inode, created, deleted });
    }
  }
  return { directories, files };
}

interface Place {
  readonly inode: Inode;
  readonly path: string;
  readonly directoryId: number;
}

/** All inodes of a tree by id, from the top down in the order of paths. */
function indexTree(root: Directory): Map<number, Place> {
  const places = new Map<number, Place>();
  const pending: Place[] = [{ inode: root, path: '', directoryId: root.parent?.id ?? root.id }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { inode, path } = next;
    places.set(inode.id, next);
    if (inode instanceof Directory) {
      for (const child of [...inode.children()].reverse()) {
        pending.push({ inode: child, path: join(path, child.name), directoryId: inode.id });
      }
    }
  }
  return places;
}

/** Children of `here` that `there` does not have under the same name. */
function entriesOf(here: Directory, path: string, there: Directory, elsewhere: ReadonlyMap<number, Place>): Entry[] {
  const entries: Entry[] = [];
  for (const child of here.children()) {
    if (there.child(child.name)?.id !== child.id) {
      const otherPath = elsewhere.get(child.id)?.path ?? null;
      entries.push({ path: join(path, child.name), inode: child, directoryId: here.id, otherPath });
    }
  }
  return entries;
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}/${name}`;
}

function isChanged(before: Inode, after: Inode): boolean {
  return (
    before.mode !== after.mode ||
    before.owner !== after.owner ||
    before.group !== after.group ||
    before.storagePolicy !== after.storagePolicy ||
    before.acl !== after.acl ||
    [...before.xattrs.values()].some(
      (one) => !after.xattrs.get(`${one.namespace}.${one.name}`)?.value.equals(one.value),
    ) ||
    before.xattrs.size !== after.xattrs.size
  );
}

function isChangedFile(before: Inode, after: Inode): boolean {
  return (
    isChanged(before, after) ||
    before.mtimeMs !== after.mtimeMs ||
    (before instanceof File &&
      after instanceof File &&
      (before.length !== after.length || before.replication !== after.replication))
  );
}

/** A line of a report. */
export interface ReportLine {
  readonly label: '+' | '-' | 'M' | 'R';
  readonly path: string;
  readonly target: string | null;
}

/** The lines of a report, in the order of the paths of what was changed; creations before deletions and moves. */
export function reportLines({ directories, files }: Diff): ReportLine[] {
  const changed: { path: string; lines: ReportLine[] }[] = [];
  for (const { path, created, deleted } of directories) {
    const lines: ReportLine[] = [{ label: 'M', path, target: null }];
    for (const entry of created) {
      if (entry.otherPath === null) {
        lines.push({ label: '+', path: entry.path, target: null });
      }
    }
    for (const entry of deleted) {
      lines.push({ label: entry.otherPath === null ? '-' : 'R', path: entry.path, target: entry.otherPath });
    }
    changed.push({ path, lines });
  }
  for (const { path } of files) {
    changed.push({ path, lines: [{ label: 'M', path, target: null }] });
  }
  return changed.sort((a, b) => compareNames(a.path, b.path)).flatMap(({ lines }) => lines);
}
