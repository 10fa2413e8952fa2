/** Directories: making, listing, deleting, summing up. */
import type { Plain } from '../wire/messages.ts';
import { bytesAsText, flagOf, integerOf, messageOf, numberOf, textOf } from './fields.ts';
import type { Inode } from './inodes.ts';
import { Directory, File, NO_QUOTA, statusOf } from './inodes.ts';
import type { ResolvedPath } from './namespace.ts';
import type { Site } from './operation.ts';
import { checkPathLength } from './paths.ts';
import type { Caller } from './permission-check.ts';
import { Access, checkInode, checkPermission, checkSuperuser } from './permission-check.ts';
import { fileNotFound, JAVA, RemoteException } from './remote-exception.ts';

/** Entries of one page, `dfs.ls.limit`. */
export const LISTING_LIMIT = 1000;
const OWNER_WRITE_EXECUTE = 0o300;
const INODE_PATH_PREFIX = '/.reserved/.inodes/';
const QUOTA_DONT_SET = 2n ** 63n - 1n;
const QUOTA_RESET = -1;

export function mkdirs(site: Site, request: Plain): Plain {
  const src = textOf(request, 'src');
  checkPathLength('mkdirs', src);
  site.checkSafeMode(`Cannot create directory ${src}`);
  const { namespace, caller } = site;
  const path = namespace.resolve(caller, src, 'create');
  if (path.target instanceof File) {
    throw new RemoteException(JAVA.FILE_EXISTS, `Path is not a directory: ${src}`);
  }
  if (path.target !== null) {
    return { result: true };
  }
  checkPermission(caller, path, { ancestor: Access.WRITE });
  if (!flagOf(request, 'createParent')) {
    checkParentExists(path);
  }
  const mode = numberOf(messageOf(request, 'masked') ?? {}, 'perm');
  const parent = makeMissingParents(site, path, mode | OWNER_WRITE_EXECUTE);
  addDirectory(site, parent, path.name, mode);
  return { result: true };
}

/**
 * Makes the directories above the last component that do not exist; `mode` null: each takes its parent's mode. Owners must be able to
 * enter and write what is made on the way.
 */
export function makeMissingParents(site: Site, path: ResolvedPath, mode: number | null): Directory {
  const { namespace } = site;
  let parent = path.ancestor as Directory;
  // All limits before the first change: an operation that is refused leaves nothing behind.
  let directory = parent.path();
  for (const name of path.missing) {
    namespace.verifyName(directory, name);
    directory = `${directory === '/' ? '' : directory}/${name}`;
  }
  namespace.verifyRoom(parent, path.missing.length);
  for (const name of path.missing.slice(0, -1)) {
    parent = addDirectory(site, parent, name, mode ?? parent.mode | OWNER_WRITE_EXECUTE);
  }
  return parent;
}

function addDirectory(site: Site, parent: Directory, name: string, mode: number): Directory {
  const { namespace, caller } = site;
  const directory = new Directory(namespace.newAttributes(parent, name, caller.user, mode, 0));
  namespace.link(parent, directory);
  namespace.logEdit();
  return directory;
}

export function checkParentExists(path: ResolvedPath): void {
  if (path.parent === null) {
    throw fileNotFound(`Parent directory doesn't exist: ${path.text.slice(0, path.text.lastIndexOf('/'))}`);
  }
}

export function deletePath(site: Site, request: Plain): Plain {
  const src = textOf(request, 'src');
  site.checkSafeMode(`Cannot delete ${src}`);
  const { namespace, caller } = site;
  const path = namespace.resolve(caller, src, 'write');
  checkPermission(caller, path, { parent: Access.WRITE, subtree: Access.ALL, ignoreEmpty: true });
  const { target } = path;
  if (target instanceof Directory && target.childCount > 0 && !flagOf(request, 'recursive')) {
    throw new RemoteException(JAVA.PATH_IS_NOT_EMPTY, `\`${path.text} is non empty': Directory is not empty`);
  }
  if (target === null || target === namespace.root) {
    return { result: false };
  }
  namespace.remove(target);
  namespace.logEdit();
  return { result: true };
}

/** getFileInfo and getFileLinkInfo: there are no symbolic links here, so they are the same. */
export function getFileInfo(site: Site, request: Plain): Plain {
  return statusAnswer(site, request, false);
}

export function getLocatedFileInfo(site: Site, request: Plain): Plain {
  return statusAnswer(site, request, true);
}

function statusAnswer(site: Site, request: Plain, located: boolean): Plain {
  const { namespace, caller } = site;
  const src = textOf(request, 'src');
  const { target } = caller.superuser ? namespace.locate(src) : namespace.resolve(caller, src, 'read');
  return target === null ? {} : { fs: statusOf(target, '', located) };
}

export function getListing(site: Site, request: Plain): Plain {
  const { namespace, caller } = site;
  const path = namespace.resolve(caller, textOf(request, 'src'), 'read');
  const after = nameAfter(site, bytesAsText(request, 'startAfter'));
  const located = flagOf(request, 'needLocation');
  const { target } = path;
  if (target === null) {
    return {};
  }
  if (target instanceof File) {
    return { dirList: { partialListing: [statusOf(target, '', located)], remainingEntries: 0 } };
  }
  checkPermission(caller, path, { target: Access.READ_EXECUTE });
  const names = target.sortedNames();
  const start = after === '' ? 0 : target.positionAfter(after);
  const end = Math.min(names.length, start + site.settings.listingLimit);
  const entries: Plain[] = [];
  for (const name of names.slice(start, end)) {
    entries.push(statusOf(target.child(name) as Inode, name, located));
  }
  return { dirList: { partialListing: entries, remainingEntries: names.length - end } };
}

/** A page may start after an inode path, which names the entry by its id. */
function nameAfter(site: Site, startAfter: string): string {
  if (!startAfter.startsWith('/')) {
    return startAfter;
  }
  const id = startAfter.startsWith(INODE_PATH_PREFIX) ? Number(startAfter.slice(INODE_PATH_PREFIX.length)) : Number.NaN;
  const inode = site.namespace.inode(id);
  if (inode === undefined) {
    throw new RemoteException(JAVA.START_AFTER_NOT_FOUND, `Can't find startAfter ${startAfter}`);
  }
  return inode.name;
}

/** ContentSummaryProto; the caller must be able to list every directory below the path. */
export function getContentSummary(site: Site, request: Plain): Plain {
  const src = textOf(request, 'path');
  const { namespace, caller } = site;
  const path = namespace.resolve(caller, src, 'read');
  const { target } = path;
  if (target === null) {
    throw fileNotFound(`File does not exist: ${src}`);
  }
  checkPermission(caller, path, {});
  const { files, directories } = countNames(caller, target);
  return {
    summary: {
      length: 0,
      fileCount: files,
      directoryCount: directories,
      quota: target instanceof Directory ? target.namespaceQuota : NO_QUOTA,
      spaceConsumed: 0,
      spaceQuota: target instanceof Directory ? target.spaceQuota : NO_QUOTA,
      snapshotLength: 0,
      snapshotFileCount: 0,
      snapshotDirectoryCount: 0,
      snapshotSpaceConsumed: 0,
      erasureCodingPolicy: target instanceof File ? 'Replicated' : '',
    },
  };
}

/** Counts from the top down in listing order; the first directory that the caller may not list ends it. */
function countNames(caller: Caller, inode: Inode): { files: number; directories: number } {
  const count = { files: 0, directories: 0 };
  const pending: Inode[] = [inode];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (next instanceof File) {
      count.files++;
      continue;
    }
    count.directories++;
    checkInode(caller, next, Access.READ_EXECUTE);
    for (const name of next.sortedNames().toReversed()) {
      pending.push(next.child(name) as Inode);
    }
  }
  return count;
}

export function getQuotaUsage(site: Site, request: Plain): Plain {
  const src = textOf(request, 'path');
  const { namespace, caller } = site;
  const path = namespace.resolve(caller, src, 'read');
  const { target } = path;
  if (target === null) {
    throw fileNotFound(`File/Directory does not exist: ${src}`);
  }
  checkPermission(caller, path, {});
  countNames(caller, target);
  const directory = target instanceof Directory ? target : null;
  return {
    usage: {
      fileAndDirectoryCount: directory?.names ?? 1,
      quota: directory?.namespaceQuota ?? NO_QUOTA,
      spaceConsumed: 0,
      spaceQuota: directory?.spaceQuota ?? NO_QUOTA,
    },
  };
}

export function setQuota(site: Site, request: Plain): Plain {
  const src = textOf(request, 'path');
  const names = integerOf(request, 'namespaceQuota', 0);
  const space = integerOf(request, 'storagespaceQuota', 0);
  const what = names === QUOTA_DONT_SET ? space : names;
  const subject = names === QUOTA_DONT_SET || space !== QUOTA_DONT_SET ? 'SpaceQuota' : 'Quota';
  checkSuperuser(site.caller, `${what === QUOTA_RESET ? 'clear' : 'set'}${subject}`);
  site.checkSafeMode(`Cannot set quota on ${src}`);
  if (request['storageType'] !== undefined) {
    throw new RemoteException(JAVA.UNSUPPORTED, 'Quotas by storage type are not simulated: there is no storage');
  }
  const { target, text } = site.namespace.resolve(site.caller, src, 'write');
  if (names < QUOTA_RESET || space < QUOTA_RESET) {
    throw new RemoteException(JAVA.ILLEGAL_ARGUMENT, `Illegal value for nsQuota or ssQuota : ${names} and ${space}`);
  }
  if (target === null) {
    throw fileNotFound(`Directory does not exist: ${text}`);
  }
  if (target instanceof File) {
    throw new RemoteException(JAVA.PATH_IS_NOT_DIRECTORY, `\`${text}': Is not a directory`);
  }
  if (names !== QUOTA_DONT_SET) {
    target.namespaceQuota = names === QUOTA_RESET && target === site.namespace.root ? QUOTA_DONT_SET : names;
  }
  if (space !== QUOTA_DONT_SET) {
    target.spaceQuota = space;
  }
  site.namespace.logEdit();
  return {};
}
