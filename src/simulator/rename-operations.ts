/**
 * The two renames. The old one answers false to most that it cannot do and moves into an existing directory; rename2 explains with an
 * exception, never moves into a directory, and may overwrite.
 */

import { flagOf, textOf } from '../control/rpc-server/fields.ts';
import { fileNotFound, ioException, JAVA, RemoteException } from '../control/rpc-server/remote-exception.ts';
import type { Plain } from '../wire/messages.ts';
import { checkSameZone } from './encryption-operations.ts';
import type { Inode } from './inodes.ts';
import { Directory, namesIn } from './inodes.ts';
import type { Site } from './operation.ts';
import { checkPathLength, isValidName } from './paths.ts';
import { Access, checkPermission } from './permission-check.ts';
import { spaceBelow, verifySpace } from './quotas.ts';
import type { ResolvedPath } from './resolved-path.ts';
import { checkNoSnapshots } from './snapshots.ts';

export function rename(site: Site, request: Plain): Plain {
  const { source, destination } = resolveBoth(site, request);
  // A directory as destination means: into it, under the old name.
  const final =
    destination.target instanceof Directory ? site.namespace.locate(`${destination.text}/${source.name}`) : destination;
  checkAccess(site, source, final);
  return { result: moveUnless(site, source, final) };
}

/** False for everything that the NameNode only logs. */
function moveUnless(site: Site, source: ResolvedPath, destination: ResolvedPath): boolean {
  const inode = source.target;
  if (inode === null || inode === site.namespace.root) {
    return false;
  }
  if (destination.text === source.text) {
    return true;
  }
  if (isBelow(destination, source) || destination.target !== null || destination.parent === null) {
    return false;
  }
  checkSameZone(source, destination);
  move(site, inode, destination.parent, destination.name);
  return true;
}

export function rename2(site: Site, request: Plain): Plain {
  const { source, destination } = resolveBoth(site, request);
  checkAccess(site, source, destination);
  const inode = source.target;
  if (inode === null) {
    throw fileNotFound(`rename source ${source.text} is not found.`);
  }
  if (inode === site.namespace.root) {
    throw ioException('rename source cannot be the root');
  }
  if (destination.text === source.text) {
    throw new RemoteException(
      JAVA.FILE_EXISTS,
      `The source ${source.text} and destination ${destination.text} are the same`,
    );
  }
  if (isBelow(destination, source)) {
    throw ioException(`Rename destination ${destination.text} is a directory or file under source ${source.text}`);
  }
  if (destination.target === site.namespace.root) {
    throw ioException('rename destination cannot be the root');
  }
  if (destination.target !== null) {
    checkOverwrite(source, inode, destination, destination.target, flagOf(request, 'overwriteDest'));
  }
  if (destination.parent === null) {
    throw fileNotFound(`rename destination parent ${destination.text} not found.`);
  }
  checkSameZone(source, destination);
  move(site, inode, destination.parent, destination.name, destination.target);
  return {};
}

function checkOverwrite(
  source: ResolvedPath,
  from: Inode,
  destination: ResolvedPath,
  onto: Inode,
  overwrite: boolean,
): void {
  if (from instanceof Directory !== onto instanceof Directory) {
    throw ioException(`Source ${source.text} and destination ${destination.text} must both be directories`);
  }
  if (!overwrite) {
    throw new RemoteException(JAVA.FILE_EXISTS, `rename destination ${destination.text} already exists`);
  }
  if (onto instanceof Directory && onto.childCount > 0) {
    throw ioException(`rename destination directory is not empty: ${destination.text}`);
  }
}

function resolveBoth(site: Site, request: Plain): { source: ResolvedPath; destination: ResolvedPath } {
  const src = textOf(request, 'src');
  const dst = textOf(request, 'dst');
  checkPathLength('rename', dst);
  site.checkSafeMode(`Cannot rename ${src}`);
  if (!isValidName(dst)) {
    throw new RemoteException(JAVA.INVALID_PATH, `Invalid path name Invalid file name: ${dst}`);
  }
  const source = site.namespace.resolve(site.caller, src, 'write');
  return { source, destination: site.namespace.resolve(site.caller, dst, 'create') };
}

function checkAccess(site: Site, source: ResolvedPath, destination: ResolvedPath): void {
  checkPermission(site.caller, source, { parent: Access.WRITE });
  checkPermission(site.caller, destination, { ancestor: Access.WRITE });
}

function isBelow(destination: ResolvedPath, source: ResolvedPath): boolean {
  return destination.text.startsWith(`${source.text}/`);
}

function move(site: Site, inode: Inode, parent: Directory, name: string, overwritten: Inode | null = null): void {
  const { namespace } = site;
  const replaced = overwritten === null ? 0 : namesIn(overwritten);
  namespace.verifyName(parent.path(), name);
  namespace.verifyRoom(parent, namesIn(inode) - replaced, inode.parent);
  checkNoSnapshots(namespace.snapshottables, inode);
  verifySpace(parent, () => spaceBelow(inode), inode.parent);
  if (overwritten !== null) {
    checkNoSnapshots(namespace.snapshottables, overwritten);
    namespace.remove(overwritten);
  }
  namespace.move(inode, parent, name);
  namespace.logEdit();
}
