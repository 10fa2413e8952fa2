/**
 * HDFS's permission model: owner, access control list, group, others; sticky directories; a superuser for whom nothing is checked. The order of
 * the checks decides which of several refusals a caller sees, so it follows the NameNode's.
 */

import { accessDenied, JAVA, RemoteException } from '../control/rpc-server/remote-exception.ts';
import type { Inode } from './inodes.ts';
import { Directory, File, formatMode } from './inodes.ts';
import type { ResolvedPath } from './resolved-path.ts';

/** Bits of an access; the name of a combination stands in refusals. */
export const Access = {
  NONE: 0,
  EXECUTE: 1,
  WRITE: 2,
  WRITE_EXECUTE: 3,
  READ: 4,
  READ_EXECUTE: 5,
  READ_WRITE: 6,
  ALL: 7,
} as const;
const ACCESS_NAMES = Object.keys(Access);

export interface Caller {
  readonly user: string;
  readonly groups: readonly string[];
  readonly superuser: boolean;
}

/** Which accesses an operation needs; left out means none. */
export interface Needs {
  /** To the nearest existing ancestor of the path. */
  readonly ancestor?: number;
  readonly parent?: number;
  readonly target?: number;
  /** To every directory at or below the path. */
  readonly subtree?: number;
  /** Empty directories of the subtree need nothing. */
  readonly ignoreEmpty?: boolean;
  /** The caller must own the target. */
  readonly owner?: boolean;
}

export function checkPermission(caller: Caller, path: ResolvedPath, needs: Needs): void {
  if (caller.superuser) {
    return;
  }
  checkTraverse(caller, path);
  const { target, parent, ancestor } = path;
  if (needs.parent !== undefined && (needs.parent & Access.WRITE) !== 0 && parent !== null && target !== null) {
    checkStickyBit(caller, parent, target);
  }
  if (needs.ancestor !== undefined && ancestor !== null) {
    checkAccess(caller, ancestor, needs.ancestor);
  }
  if (needs.parent !== undefined && parent !== null) {
    checkAccess(caller, parent, needs.parent);
  }
  if (needs.target !== undefined && target !== null) {
    checkAccess(caller, target, needs.target);
  }
  if (needs.subtree !== undefined && target instanceof Directory) {
    checkSubtree(caller, target, needs.subtree, needs.ignoreEmpty === true);
  }
  if (needs.owner === true && target?.owner !== caller.user) {
    throw accessDenied(`Permission denied. user=${caller.user} is not the owner of inode=${path.text}`);
  }
}

/** Every existing component above the last one must be a directory; a caller other than the superuser must be able to enter it. */
export function checkTraverse(caller: Caller, path: ResolvedPath): void {
  for (const inode of path.above) {
    if (inode instanceof File) {
      throw new RemoteException(JAVA.PARENT_NOT_DIRECTORY, `${inode.path()} (is not a directory)`);
    }
    if (!caller.superuser && !isAllowed(caller, inode, Access.EXECUTE)) {
      throw denied(caller, inode, Access.EXECUTE);
    }
  }
}

/** `operation` is the NameNode's name for what only the superuser may do. */
export function checkSuperuser(caller: Caller, operation: string): void {
  if (!caller.superuser) {
    throw accessDenied(
      `Access denied for user ${caller.user}. Superuser privilege is required for operation ${operation}`,
    );
  }
}

/** One access to one inode. */
export function checkInode(caller: Caller, inode: Inode, access: number): void {
  if (!caller.superuser) {
    checkAccess(caller, inode, access);
  }
}

function checkSubtree(caller: Caller, directory: Directory, access: number, ignoreEmpty: boolean): void {
  const pending = [directory];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (next.childCount > 0 || !ignoreEmpty) {
      checkAccess(caller, next, access);
    }
    for (const child of next.children()) {
      if ((access & Access.WRITE) !== 0) {
        checkStickyBit(caller, next, child);
      }
      if (child instanceof Directory) {
        pending.push(child);
      }
    }
  }
}

function checkStickyBit(caller: Caller, parent: Directory, inode: Inode): void {
  if (!parent.isSticky() || parent.owner === caller.user || inode.owner === caller.user) {
    return;
  }
  throw accessDenied(
    `Permission denied by sticky bit: user=${caller.user}, path=${describe(inode)}, parent=${describe(parent)}`,
  );
}

function checkAccess(caller: Caller, inode: Inode, access: number): void {
  if (!isAllowed(caller, inode, access)) {
    throw denied(caller, inode, access);
  }
}

function isAllowed(caller: Caller, inode: Inode, access: number): boolean {
  const { mode } = inode;
  if (inode.owner === caller.user) {
    return ((mode >> 6) & access) === access;
  }
  if (inode.acl[0]?.scope === 'ACCESS') {
    return isAllowedByAcl(caller, inode, access);
  }
  const shift = caller.groups.includes(inode.group) ? 3 : 0;
  return ((mode >> shift) & access) === access;
}

/** The group bits of the mode limit every entry; others count only for those whom no entry is about. */
function isAllowedByAcl(caller: Caller, inode: Inode, access: number): boolean {
  const mask = (inode.mode >> 3) & 7;
  let isNamed = false;
  for (const { scope, type, name, permission } of inode.acl) {
    if (scope === 'DEFAULT') {
      break;
    }
    const isUser = type === 'USER' && name === caller.user;
    if (isUser || (type === 'GROUP' && caller.groups.includes(name === '' ? inode.group : name))) {
      if ((permission & mask & access) === access) {
        return true;
      }
      isNamed = true;
      if (isUser) {
        break;
      }
    }
  }
  return !isNamed && (inode.mode & access) === access;
}

function denied(caller: Caller, inode: Inode, access: number): RemoteException {
  return accessDenied(
    `Permission denied: user=${caller.user}, access=${ACCESS_NAMES[access] ?? access}, inode=${describe(inode)}`,
  );
}

/** `"/a":owner:group:drwxr-xr-x` */
function describe(inode: Inode): string {
  const type = inode instanceof Directory ? 'd' : '-';
  return `"${inode.path()}":${inode.owner}:${inode.group}:${type}${formatMode(inode.mode)}${inode.acl.length > 0 ? '+' : ''}`;
}
