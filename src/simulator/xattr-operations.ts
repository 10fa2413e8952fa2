/** Extended attributes of what exists. */

import { messageOf, messagesOf, numberOf, textOf } from '../control/rpc-server/fields.ts';
import {
  accessDenied,
  fileNotFound,
  ioException,
  JAVA,
  RemoteException,
} from '../control/rpc-server/remote-exception.ts';
import type { Plain } from '../wire/messages.ts';
import type { Inode, XAttr } from './inodes.ts';
import { existing } from './listing-operations.ts';
import type { Site } from './operation.ts';
import { Access, checkPermission } from './permission-check.ts';

const XATTR_CREATE = 1;
const XATTR_REPLACE = 2;
const MAX_XATTRS = 32;
/** Of a name and its value. */
const MAX_XATTR_BYTES = 16_384;

export function setXAttr(site: Site, request: Plain): Plain {
  const src = textOf(request, 'src');
  site.checkSafeMode(`Cannot set XAttr on ${src}`);
  const wanted = xattrOf(messageOf(request, 'xAttr') ?? {});
  const flags = numberOf(request, 'flag');
  checkNamespace(site, wanted);
  const bytes = Buffer.byteLength(wanted.name) + wanted.value.length;
  if (bytes > MAX_XATTR_BYTES) {
    throw new RemoteException(
      JAVA.HADOOP_ILLEGAL_ARGUMENT,
      'The XAttr is too big. The maximum combined size of the name and value is ' +
        `${MAX_XATTR_BYTES}, but the total size is ${bytes}`,
    );
  }
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
  const wanted = xattrOf(messageOf(request, 'xAttr') ?? {});
  checkNamespace(site, wanted);
  const target = xattrOwner(site, src);
  if (!target.xattrs.delete(keyOf(wanted))) {
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
  const wanted = messagesOf(request, 'xAttrs').map(xattrOf);
  for (const one of wanted) {
    checkNamespace(site, one);
  }
  const path = existing(site, textOf(request, 'src'), 'cannot find');
  checkPermission(site.caller, path, { target: Access.READ });
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
  return [...inode.xattrs.values()].filter((one) => isUsable(site, one.namespace));
}

/** User attributes are everyone's, trusted ones the superuser's; the others are HDFS's own. */
function isUsable(site: Site, namespace: string): boolean {
  return namespace === 'USER' || (namespace === 'TRUSTED' && site.caller.superuser);
}

function checkNamespace(site: Site, { namespace, name }: XAttr): void {
  if (!isUsable(site, namespace)) {
    throw accessDenied(`User doesn't have permission for xattr: ${namespace.toLowerCase()}.${name}`);
  }
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
