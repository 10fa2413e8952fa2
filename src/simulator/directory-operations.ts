/** Directories: making and deleting. */

import { flagOf, messageOf, numberOf, textOf } from '../control/rpc-server/fields.ts';
import { fileNotFound, JAVA, RemoteException } from '../control/rpc-server/remote-exception.ts';
import type { Plain } from '../wire/messages.ts';
import { inheritAcl } from './acl.ts';
import type { Inode } from './inodes.ts';
import { Directory, File } from './inodes.ts';
import type { Site } from './operation.ts';
import { checkPathLength } from './paths.ts';
import { Access, checkPermission } from './permission-check.ts';
import type { ResolvedPath } from './resolved-path.ts';
import { checkNoSnapshots } from './snapshots.ts';

const OWNER_WRITE_EXECUTE = 0o300;

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
  addDirectory(site, parent, path.name, mode, unmaskedMode(request, mode));
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

function addDirectory(site: Site, parent: Directory, name: string, mode: number, unmasked = mode): Directory {
  const { namespace, caller } = site;
  const directory = new Directory(namespace.newAttributes(parent, name, caller.user, mode, 0));
  inheritFromParent(parent, directory, unmasked);
  namespace.link(parent, directory);
  namespace.logEdit();
  return directory;
}

/** The mode before the client's umask, where the client says it: default entries of an ACL replace the umask. */
export function unmaskedMode(request: Plain, masked: number): number {
  const unmasked = messageOf(request, 'unmasked');
  return unmasked === undefined ? masked : numberOf(unmasked, 'perm');
}

/** Gives a new inode what the default entries of its parent's ACL say. */
export function inheritFromParent(parent: Directory, inode: Inode, unmasked: number): void {
  const inherited = inheritAcl(parent.acl, unmasked, inode instanceof Directory);
  if (inherited !== null) {
    inode.acl = inherited.entries;
    inode.mode = inherited.mode;
  }
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
  checkNoSnapshots(namespace.snapshottables, target);
  namespace.remove(target);
  namespace.logEdit();
  return { result: true };
}
