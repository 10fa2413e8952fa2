/** Permission, owner, times, replication, storage policy and extended attributes of what exists. */
import type { Plain } from '../wire/messages.ts';
import { messageOf, messagesOf, numberOf, textOf } from './fields.ts';
import { checkReplication } from './file-operations.ts';
import type { Inode, XAttr } from './inodes.ts';
import { File, PERMISSION_MASK, POLICY_UNSPECIFIED } from './inodes.ts';
import type { ResolvedPath } from './namespace.ts';
import type { Site } from './operation.ts';
import { Access, checkPermission } from './permission-check.ts';
import { accessDenied, fileNotFound, ioException, JAVA, RemoteException } from './remote-exception.ts';
import { DEFAULT_POLICY_ID, policyId, policyMessage } from './storage-policies.ts';

const XATTR_CREATE = 1;
const XATTR_REPLACE = 2;
const MAX_XATTRS = 32;
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
  path.target.replication = replication;
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

/** There are no ACLs: only the permission itself. */
export function getAclStatus(site: Site, request: Plain): Plain {
  const { target } = existing(site, textOf(request, 'src'), 'cannot find');
  return {
    result: {
      owner: target.owner,
      group: target.group,
      sticky: target.isSticky(),
      entries: [],
      permission: { perm: target.mode },
    },
  };
}

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

export function getErasureCodingPolicy(site: Site, request: Plain): Plain {
  existing(site, textOf(request, 'src'), 'Path not found:');
  return {};
}

export function getLinkTarget(site: Site, request: Plain): Plain {
  const { text } = existing(site, textOf(request, 'path'), 'File does not exist:');
  throw ioException(`Path ${text} is not a symbolic link`);
}

export function setXAttr(site: Site, request: Plain): Plain {
  const src = textOf(request, 'src');
  site.checkSafeMode(`Cannot set XAttr on ${src}`);
  const wanted = xattrOf(messageOf(request, 'xAttr') ?? {});
  const flags = numberOf(request, 'flag');
  const target = xattrOwner(site, src);
  const key = keyOf(wanted);
  if (target.xattrs.has(key)) {
    if ((flags & XATTR_REPLACE) === 0) {
      throw ioException(`XAttr: ${wanted.name} already exists. The REPLACE flag must be specified.`);
    }
  } else if ((flags & XATTR_CREATE) === 0) {
    throw ioException(`XAttr: ${wanted.name} does not exist. The CREATE flag must be specified.`);
  } else if (target.xattrs.size >= MAX_XATTRS) {
    throw ioException(`Cannot add additional XAttr to inode, would exceed limit of ${MAX_XATTRS}`);
  }
  target.xattrs.set(key, wanted);
  site.namespace.logEdit();
  return {};
}

export function removeXAttr(site: Site, request: Plain): Plain {
  const src = textOf(request, 'src');
  site.checkSafeMode(`Cannot remove XAttr entry on ${src}`);
  const target = xattrOwner(site, src);
  if (!target.xattrs.delete(keyOf(xattrOf(messageOf(request, 'xAttr') ?? {})))) {
    throw ioException('No matching attributes found for remove operation');
  }
  site.namespace.logEdit();
  return {};
}

function xattrOwner(site: Site, src: string): Inode {
  const path = site.namespace.resolve(site.caller, src, 'write');
  checkPermission(site.caller, path, { target: Access.WRITE });
  if (path.target === null) {
    throw fileNotFound(`cannot find ${path.text}`);
  }
  return path.target;
}

/** All attributes that the caller may see, or exactly those that it names. */
export function getXAttrs(site: Site, request: Plain): Plain {
  const path = existing(site, textOf(request, 'src'), 'cannot find');
  checkPermission(site.caller, path, { target: Access.READ });
  const wanted = messagesOf(request, 'xAttrs').map(xattrOf);
  const visible = visibleXAttrs(site, path.target);
  if (wanted.length === 0) {
    return { xAttrs: visible.map((one) => ({ ...one })) };
  }
  const found = wanted.map((one) => visible.find((other) => keyOf(other) === keyOf(one)));
  if (found.includes(undefined)) {
    throw new RemoteException(JAVA.XATTR_NOT_FOUND, 'At least one of the attributes provided was not found.');
  }
  return { xAttrs: found.map((one) => ({ ...(one as XAttr) })) };
}

/** Names only. */
export function listXAttrs(site: Site, request: Plain): Plain {
  const { target } = existing(site, textOf(request, 'src'), 'cannot find');
  return { xAttrs: visibleXAttrs(site, target).map(({ namespace, name }) => ({ namespace, name })) };
}

function visibleXAttrs(site: Site, inode: Inode): XAttr[] {
  return [...inode.xattrs.values()].filter((one) => site.caller.superuser || one.namespace === 'USER');
}

function xattrOf(message: Plain): XAttr {
  const value = message['value'];
  return {
    namespace: textOf(message, 'namespace'),
    name: textOf(message, 'name'),
    // Decoded bytes are views of the request's frame: what stays is copied.
    value: Buffer.isBuffer(value) ? Buffer.from(value) : Buffer.alloc(0),
  };
}

function keyOf(one: XAttr): string {
  return `${one.namespace}.${one.name}`;
}

function existing(site: Site, src: string, problem: string): ResolvedPath & { readonly target: Inode } {
  const path = site.namespace.resolve(site.caller, src, 'read');
  const { target } = path;
  if (target === null) {
    throw fileNotFound(`${problem} ${src}`);
  }
  return { ...path, target };
}
