/** Snapshots: which directories may have them, taking and dropping them, what they show. */

import { messageOf, numberOf, textOf } from '../control/rpc-server/fields.ts';
import { fileNotFound, ioException, JAVA, RemoteException } from '../control/rpc-server/remote-exception.ts';
import type { Plain } from '../wire/messages.ts';
import { statusOf } from './file-status.ts';
import { Directory } from './inodes.ts';
import type { Site } from './operation.ts';
import { checkPathLength, compareNames } from './paths.ts';
import { Access, checkPermission, checkSuperuser } from './permission-check.ts';
import type { ResolvedPath } from './resolved-path.ts';
import type { Entry } from './snapshot-diff.ts';
import { compareTrees, reportLines } from './snapshot-diff.ts';
import type { Snapshot } from './snapshots.ts';
import { MAX_SNAPSHOTS, SNAPSHOT_DIRECTORY, Snapshots, snapshotException } from './snapshots.ts';

export function allowSnapshot(site: Site, request: Plain): Plain {
  checkSuperuser(site.caller, 'allowSnapshot');
  const src = textOf(request, 'snapshotRoot');
  site.checkSafeMode(`Cannot allow snapshot for ${src}`);
  const directory = directoryAt(site.namespace.resolve(site.caller, src, 'administer'));
  if (directory.snapshots === null) {
    checkNotNested(site, directory);
    directory.snapshots = new Snapshots();
    site.namespace.snapshottables.add(directory);
  }
  site.namespace.logEdit();
  return {};
}

function checkNotNested(site: Site, directory: Directory): void {
  const path = directory.path();
  for (const other of site.namespace.snapshottables) {
    const kind = isBelow(other, directory) ? 'subdirectory' : isBelow(directory, other) ? 'ancestor' : '';
    if (kind !== '') {
      throw snapshotException(
        `Nested snapshottable directories not allowed: path=${path}, the ${kind} ${other.path()} ` +
          'is already a snapshottable directory.',
      );
    }
  }
}

function isBelow(directory: Directory, above: Directory): boolean {
  for (let at = directory.parent; at !== null; at = at.parent) {
    if (at === above) {
      return true;
    }
  }
  return false;
}

export function disallowSnapshot(site: Site, request: Plain): Plain {
  checkSuperuser(site.caller, 'disallowSnapshot');
  const src = textOf(request, 'snapshotRoot');
  site.checkSafeMode(`Cannot disallow snapshot for ${src}`);
  const directory = directoryAt(site.namespace.resolve(site.caller, src, 'administer'));
  if (directory.snapshots !== null && directory.snapshots.size > 0) {
    throw snapshotException(
      `The directory ${directory.path()} has snapshot(s). Please redo the operation after removing all the snapshots.`,
    );
  }
  directory.snapshots = null;
  site.namespace.snapshottables.delete(directory);
  site.namespace.logEdit();
  return {};
}

export function createSnapshot(site: Site, request: Plain): Plain {
  const src = textOf(request, 'snapshotRoot');
  checkPathLength('createSnapshot', src);
  site.checkSafeMode(`Cannot create snapshot for ${src}`);
  const { namespace } = site;
  const { directory, snapshots } = ownSnapshots(site, src);
  const name = textOf(request, 'snapshotName') || defaultName(namespace.nowMs);
  if (name === '.' || name === '..' || name.includes(':')) {
    throw new RemoteException(JAVA.INVALID_PATH, `Invalid snapshot name: ${name}`);
  }
  checkSnapshotName(site, name, src);
  if (snapshots.size >= MAX_SNAPSHOTS) {
    throw snapshotException(
      `Failed to create snapshot: there are already ${snapshots.size} snapshot(s) and the per directory snapshot limit ` +
        `is ${MAX_SNAPSHOTS}`,
    );
  }
  if (snapshots.get(name) !== undefined) {
    throw snapshotException(`Failed to add snapshot: there is already a snapshot with the same name "${name}".`);
  }
  snapshots.add(namespace.takeSnapshotId(), name, directory);
  directory.mtimeMs = namespace.nowMs;
  namespace.logEdit();
  return { snapshotPath: snapshotPath(directory, name) };
}

export function deleteSnapshot(site: Site, request: Plain): Plain {
  const src = textOf(request, 'snapshotRoot');
  const name = textOf(request, 'snapshotName');
  if (name === '') {
    throw ioException('The snapshot name is null or empty.');
  }
  site.checkSafeMode(`Cannot delete snapshot for ${src}`);
  const { directory, snapshots } = ownSnapshots(site, src);
  if (!snapshots.remove(name)) {
    throw snapshotException(
      `Cannot delete snapshot ${name} from path ${directory.path()}: the snapshot does not exist.`,
    );
  }
  directory.mtimeMs = site.namespace.nowMs;
  site.namespace.logEdit();
  return {};
}

export function renameSnapshot(site: Site, request: Plain): Plain {
  const src = textOf(request, 'snapshotRoot');
  const from = textOf(request, 'snapshotOldName');
  const to = textOf(request, 'snapshotNewName');
  if (to === '') {
    throw ioException('The new snapshot name is null or empty.');
  }
  site.checkSafeMode(`Cannot rename snapshot for ${src}`);
  const { directory, snapshots } = ownSnapshots(site, src);
  checkSnapshotName(site, to, src);
  const snapshot = snapshots.get(from);
  if (snapshot === undefined) {
    throw snapshotException(`The snapshot ${from} does not exist for directory ${directory.path()}`);
  }
  if (to !== from && snapshots.get(to) !== undefined) {
    throw snapshotException(`The snapshot ${to} already exists for directory ${directory.path()}`);
  }
  snapshots.rename(snapshot, to);
  directory.mtimeMs = site.namespace.nowMs;
  site.namespace.logEdit();
  return {};
}

/** Snapshots are taken and dropped by the owner of the directory. */
function ownSnapshots(site: Site, src: string): { directory: Directory; snapshots: Snapshots } {
  const path = site.namespace.resolve(site.caller, src, 'write');
  checkPermission(site.caller, path, { owner: true });
  return snapshotsAt(path);
}

function snapshotsAt(path: ResolvedPath): { directory: Directory; snapshots: Snapshots } {
  const directory = directoryAt(path);
  const { snapshots } = directory;
  if (snapshots === null) {
    throw snapshotException(`Directory is not a snapshottable directory: ${path.text}`);
  }
  return { directory, snapshots };
}

function directoryAt({ target, text }: ResolvedPath): Directory {
  if (target === null) {
    throw fileNotFound(`Directory does not exist: ${text}`);
  }
  if (!(target instanceof Directory)) {
    throw new RemoteException(JAVA.PATH_IS_NOT_DIRECTORY, `\`${text}': Is not a directory`);
  }
  return target;
}

function checkSnapshotName(site: Site, name: string, src: string): void {
  if (name.includes('/')) {
    throw new RemoteException(JAVA.HADOOP_ILLEGAL_ARGUMENT, 'Snapshot name cannot contain "/"');
  }
  site.namespace.verifyName(src, name);
}

/** `s20240131-235959.123`, in UTC. */
function defaultName(nowMs: number): string {
  const digits = new Date(nowMs).toISOString().replace(/[-:]/g, '');
  return `s${digits.slice(0, 8)}-${digits.slice(9, 19)}`;
}

function snapshotPath(directory: Directory, name: string): string {
  const path = directory.path();
  return `${path === '/' ? '' : path}/${SNAPSHOT_DIRECTORY}/${name}`;
}

/** All snapshottable directories for the superuser, one's own for others; no list at all when there are none. */
export function getSnapshottableDirListing(site: Site): Plain {
  const { snapshottables } = site.namespace;
  if (snapshottables.size === 0) {
    return {};
  }
  const { caller } = site;
  const own = [...snapshottables].filter((one) => caller.superuser || one.owner === caller.user);
  return {
    snapshottableDirList: {
      snapshottableDirListing: own
        .sort((a, b) => compareNames(a.path(), b.path()))
        .map((directory) => ({
          dirStatus: statusOf(directory, directory.name),
          snapshot_quota: MAX_SNAPSHOTS,
          snapshot_number: directory.snapshots?.size ?? 0,
          parent_fullpath: Buffer.from(directory.parent?.path() ?? ''),
        })),
    },
  };
}

export function getSnapshotListing(site: Site, request: Plain): Plain {
  const path = site.namespace.resolve(site.caller, textOf(request, 'snapshotRoot'), 'read');
  checkPermission(site.caller, path, { target: Access.READ });
  const { directory, snapshots } = snapshotsAt(path);
  return {
    snapshotList: {
      snapshotListing: snapshots.all().map(({ id, name, root }) => ({
        dirStatus: statusOf(root, name),
        snapshotID: id,
        parent_fullpath: Buffer.from(directory.path()),
        isDeleted: false,
      })),
    },
  };
}

/** Two states to compare of a snapshottable directory or of one below it; `earlier` was taken first. */
interface Comparison {
  readonly from: Directory;
  readonly to: Directory;
  readonly isFromEarlier: boolean;
}

/** Null when both are the same. */
function statesOf(site: Site, request: Plain): Comparison | null {
  const path = site.namespace.resolve(site.caller, textOf(request, 'snapshotRoot'), 'read');
  checkPermission(site.caller, path, { target: Access.READ });
  const current = directoryAt(path);
  let root: Directory | null = current;
  while (root !== null && root.snapshots === null) {
    root = root.parent;
  }
  if (root?.snapshots == null) {
    throw snapshotException(`The path ${path.text} is neither snapshottable nor under a snapshot root!`);
  }
  const names = [textOf(request, 'fromSnapshot'), textOf(request, 'toSnapshot')] as const;
  if (names[0] === names[1]) {
    return null;
  }
  const [from, to] = names.map((name) => stateNamed(root, current, name)) as [State, State];
  return { from: from.directory, to: to.directory, isFromEarlier: from.order < to.order };
}

interface State {
  readonly directory: Directory;
  readonly order: number;
}

/** '' is the directory as it is now. */
function stateNamed(root: Directory, current: Directory, name: string): State {
  if (name === '') {
    return { directory: current, order: Number.POSITIVE_INFINITY };
  }
  const snapshot: Snapshot | undefined = root.snapshots?.get(name);
  if (snapshot === undefined) {
    throw snapshotException(`Cannot find the snapshot of directory ${root.path()} with name ${name}`);
  }
  return { directory: findDirectory(snapshot.root, current.id) ?? emptyLike(current), order: snapshot.id };
}

function findDirectory(root: Directory, id: number): Directory | null {
  if (root.id === id) {
    return root;
  }
  for (const child of root.children()) {
    const found = child instanceof Directory ? findDirectory(child, id) : null;
    if (found !== null) {
      return found;
    }
  }
  return null;
}

/** A directory that was not there yet had nothing in it. */
function emptyLike(directory: Directory): Directory {
  return new Directory(directory);
}

export function getSnapshotDiffReport(site: Site, request: Plain): Plain {
  const states = statesOf(site, request);
  const lines = states === null ? [] : reportLines(compareTrees(states.from, states.to));
  return {
    diffReport: {
      snapshotRoot: textOf(request, 'snapshotRoot'),
      fromSnapshot: textOf(request, 'fromSnapshot'),
      toSnapshot: textOf(request, 'toSnapshot'),
      diffReportEntries: lines.map(({ label, path, target }) => ({
        fullpath: Buffer.from(path),
        modificationLabel: label,
        ...(target === null ? {} : { targetPath: Buffer.from(target) }),
      })),
    },
  };
}

type Kind = 'modifiedEntries' | 'createdEntries' | 'deletedEntries';

/**
 * The differences from the earlier state to the later one, in pages; the reader turns them round when it asked the other way. The cursor
 * names a changed directory, and how many of the names in it that came or went were listed already.
 */
export function getSnapshotDiffReportListing(site: Site, request: Plain): Plain {
  const states = statesOf(site, request);
  const page: Record<Kind, Plain[]> = { modifiedEntries: [], createdEntries: [], deletedEntries: [] };
  if (states === null) {
    return { diffReport: { ...page, isFromEarlier: true, cursor: END } };
  }
  const { from, to, isFromEarlier } = states;
  const diff = isFromEarlier ? compareTrees(from, to) : compareTrees(to, from);
  const all: { startPath: string; index: number; kind: Kind; entry: Plain }[] = [];
  for (const { path, directory, created, deleted } of diff.directories) {
    const own = { path, inode: directory, directoryId: directory.id, otherPath: null };
    all.push({ startPath: path, index: -1, kind: 'modifiedEntries', entry: listingEntry(own) });
    const inside = [
      ...created.map((entry) => ({ kind: 'createdEntries' as const, entry })),
      ...deleted.map((entry) => ({ kind: 'deletedEntries' as const, entry })),
    ];
    for (const [index, { kind, entry }] of inside.entries()) {
      all.push({ startPath: path, index, kind, entry: listingEntry(entry) });
    }
  }
  for (const entry of diff.files) {
    all.push({ startPath: entry.path, index: -1, kind: 'modifiedEntries', entry: listingEntry(entry) });
  }
  const start = startOf(all, messageOf(request, 'cursor'));
  const end = Math.min(all.length, start + site.settings.listingLimit);
  for (const { kind, entry } of all.slice(start, end)) {
    page[kind].push(entry);
  }
  const next = all[end];
  const cursor = next === undefined ? END : { startPath: Buffer.from(next.startPath), index: next.index + 1 };
  return { diffReport: { ...page, isFromEarlier, cursor } };
}

/** The cursor behind the last page. */
const END: Plain = { startPath: Buffer.alloc(0), index: -1 };

function startOf(all: readonly { startPath: string; index: number }[], cursor: Plain | undefined): number {
  const index = cursor === undefined ? -1 : numberOf(cursor, 'index', -1);
  if (cursor === undefined || index < 0) {
    return 0;
  }
  const path = (cursor['startPath'] as Buffer).toString();
  const at = all.findIndex((one) => one.startPath === path && one.index + 1 === index);
  return at < 0 ? all.length : at;
}

/** SnapshotDiffReportListingEntryProto. */
function listingEntry({ path, inode, directoryId, otherPath }: Entry): Plain {
  return {
    fullpath: Buffer.from(path),
    dirId: directoryId,
    isReference: otherPath !== null,
    ...(otherPath === null ? {} : { targetPath: Buffer.from(otherPath) }),
    fileId: inode.id,
  };
}
