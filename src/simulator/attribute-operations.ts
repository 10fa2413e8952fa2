/** Permission, owner, times, replication and storage policy of what exists. */

import { messageOf, numberOf, textOf } from '../control/rpc-server/fields.ts';
import {
  accessDenied,
  fileNotFound,
  ioException,
  JAVA,
  RemoteException,
} from '../control/rpc-server/remote-exception.ts';
import type { Plain } from '../wire/messages.ts';
import { spaceOf, typeSpace } from './blocks.ts';
import { checkReplication } from './file-operations.ts';
import type { Inode } from './inodes.ts';
import { File, PERMISSION_MASK, POLICY_UNSPECIFIED } from './inodes.ts';
import { existing } from './listing-operations.ts';
import type { Site } from './operation.ts';
import { Access, checkPermission } from './permission-check.ts';
import { verifySpace } from './quotas.ts';
import { DEFAULT_POLICY_ID, policyId, policyMessage } from './storage-policies.ts';

/** A time that is not to be changed. */
const KEEP_TIME = -1;

export function setPermission(site: Site, request: Plain): Plain {
  const src = textOf(request, 'src');
  site.checkSafeMode(`Cannot set permission for ${src}`);
  const inode = ownedInode(site, src);
  inode.mode = numberOf(messageOf(request, 'permission') ?? {}, 'perm') & PERMISSION_MASK;
  site.namespace.logEdit();
  return {};
}

export function setOwner(site: Site, request: Plain): Plain {
  const src = textOf(request, 'src');
  const owner = textOf(request, 'username');
  const group = textOf(request, 'groupname');
  const { caller } = site;
  site.checkSafeMode(`Cannot set owner for ${src}`);
  const inode = ownedInode(site, src);
  if (!caller.superuser) {
    if (owner !== '' && owner !== caller.user) {
      throw accessDenied(`User ${caller.user} is not a super user (non-super user cannot change owner).`);
    }
    if (group !== '' && !caller.groups.includes(group)) {
      throw accessDenied(`User ${caller.user} does not belong to ${group}`);
    }
  }
  inode.owner = owner === '' ? inode.owner : owner;
  inode.group = group === '' ? inode.group : group;
  site.namespace.logEdit();
  return {};
}

function ownedInode(site: Site, src: string): Inode {
  const path = site.namespace.resolve(site.caller, src, 'write');
  checkPermission(site.caller, path, { owner: true });
  if (path.target === null) {
    throw fileNotFound(`Directory/File does not exist ${path.text}`);
  }
  return path.target;
}

export function setTimes(site: Site, request: Plain): Plain {
  const src = textOf(request, 'src');
  site.checkSafeMode(`Cannot set times ${src}`);
  const path = site.namespace.resolve(site.caller, src, 'write');
  checkPermission(site.caller, path, { target: Access.WRITE });
  const { target } = path;
  if (target === null) {
    throw fileNotFound(`File/Directory ${src} does not exist.`);
  }
  const mtimeMs = numberOf(request, 'mtime');
  const atimeMs = numberOf(request, 'atime');
  target.mtimeMs = mtimeMs === KEEP_TIME ? target.mtimeMs : mtimeMs;
  target.atimeMs = atimeMs === KEEP_TIME ? target.atimeMs : atimeMs;
  site.namespace.logEdit();
  return {};
}

/** False for what is not a file. */
export function setReplication(site: Site, request: Plain): Plain {
  const src = textOf(request, 'src');
  const replication = numberOf(request, 'replication');
  site.checkSafeMode(`Cannot set replication for ${src}`);
  checkReplication(replication, src);
  const path = site.namespace.resolve(site.caller, src, 'write');
  checkPermission(site.caller, path, { target: Access.WRITE });
  if (!(path.target instanceof File)) {
    return { result: false };
  }
  const file = path.target;
  if (file.erasureCodingPolicy === null) {
    verifySpace(file.parent, () => {
      const more = (spaceOf(file) / file.replication) * (replication - file.replication);
      return { bytes: more, types: typeSpace(file.effectivePolicy(), 1, more) };
    });
    file.replication = replication;
  }
  site.namespace.logEdit();
  return { result: true };
}

/** AccessControlException when the caller lacks the access; what does not exist is FileNotFoundException. */
export function checkAccess(site: Site, request: Plain): Plain {
  const path = existing(site, textOf(request, 'path'), 'Path not found:');
  const access = textOf(request, 'mode') as keyof typeof ACCESS_OF_ACTION;
  checkPermission(site.caller, path, { target: ACCESS_OF_ACTION[access] ?? Access.NONE });
  return {};
}

/** AclEntryProto.FsActionProto by name. */
const ACCESS_OF_ACTION = {
  NONE: Access.NONE,
  EXECUTE: Access.EXECUTE,
  WRITE: Access.WRITE,
  WRITE_EXECUTE: Access.WRITE_EXECUTE,
  READ: Access.READ,
  READ_EXECUTE: Access.READ_EXECUTE,
  READ_WRITE: Access.READ_WRITE,
  PERM_ALL: Access.ALL,
} as const;

export function setStoragePolicy(site: Site, request: Plain): Plain {
  const src = textOf(request, 'src');
  site.checkSafeMode(`Cannot set storage policy for ${src}`);
  return changePolicy(site, src, policyId(textOf(request, 'policyName')));
}

export function unsetStoragePolicy(site: Site, request: Plain): Plain {
  const src = textOf(request, 'src');
  site.checkSafeMode(`Cannot unset storage policy for ${src}`);
  return changePolicy(site, src, POLICY_UNSPECIFIED);
}

function changePolicy(site: Site, src: string, policy: number): Plain {
  const path = site.namespace.resolve(site.caller, src, 'write');
  checkPermission(site.caller, path, { target: Access.WRITE });
  if (path.target === null) {
    throw fileNotFound(`File/Directory does not exist: ${path.text}`);
  }
  path.target.storagePolicy = policy;
  site.namespace.logEdit();
  return {};
}

export function getStoragePolicy(site: Site, request: Plain): Plain {
  const { target } = existing(site, textOf(request, 'path'), 'File/Directory does not exist:');
  const policy = target.effectivePolicy();
  return { storagePolicy: policyMessage(policy === POLICY_UNSPECIFIED ? DEFAULT_POLICY_ID : policy) };
}

export function getLinkTarget(site: Site, request: Plain): Plain {
  const src = textOf(request, 'path');
  // It looks at the status, of which a superuser is told that there is none below a file.
  if (site.caller.superuser && site.namespace.locate(src).target === null) {
    throw fileNotFound(`File does not exist: ${src}`);
  }
  const { text } = existing(site, src, 'File does not exist:');
  throw ioException(`Path ${text} is not a symbolic link`);
}

/** The satisfier of storage policies is off in every NameNode that is not told otherwise. */
export function satisfyStoragePolicy(): Plain {
  throw new RemoteException(
    JAVA.UNSUPPORTED_ACTION,
    'Cannot request to satisfy storage policy when storage policy satisfier feature has been disabled by admin. ' +
      'Seek for an admin help to enable it or use Mover tool.',
  );
}
