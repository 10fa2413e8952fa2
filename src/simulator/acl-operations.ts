/** Access control lists of what exists. The owner changes them, and the superuser. */

import { messagesOf, textOf } from '../control/rpc-server/fields.ts';
import { fileNotFound } from '../control/rpc-server/remote-exception.ts';
import type { Plain } from '../wire/messages.ts';
import type { AclEntry, StoredAcl } from './acl.ts';
import {
  aclEntryMessage,
  aclEntryOf,
  aclException,
  filterAcl,
  filterDefaultAcl,
  logicalAcl,
  mergeAcl,
  replaceAcl,
  storeAcl,
} from './acl.ts';
import type { Inode } from './inodes.ts';
import { Directory } from './inodes.ts';
import { existing } from './listing-operations.ts';
import type { Site } from './operation.ts';
import { checkPermission } from './permission-check.ts';

type Change = (existing: readonly AclEntry[], spec: readonly AclEntry[]) => AclEntry[];

export const modifyAclEntries = changeAcl('modify ACL entries on', mergeAcl);
export const removeAclEntries = changeAcl('remove ACL entries on', filterAcl);
export const removeDefaultAcl = changeAcl('remove default ACL entries on', filterDefaultAcl);
export const setAcl = changeAcl('set ACL on', (before, spec) =>
  spec.length === 0 ? minimalOf(before) : replaceAcl(before, spec),
);
export const removeAcl = changeAcl('remove ACL on', minimalOf);

/** Without an ACL the owning group has what its entry said, not the mask. */
function minimalOf(acl: readonly AclEntry[]): AclEntry[] {
  return acl.filter((entry) => entry.scope === 'ACCESS' && entry.name === '' && entry.type !== 'MASK');
}

function changeAcl(what: string, change: Change): (site: Site, request: Plain) => Plain {
  return (site, request) => {
    const src = textOf(request, 'src');
    site.checkSafeMode(`Cannot ${what} ${src}`);
    const path = site.namespace.resolve(site.caller, src, 'write');
    checkPermission(site.caller, path, { owner: true });
    const { target } = path;
    if (target === null) {
      throw fileNotFound(`cannot find ${path.text}`);
    }
    const before = logicalAcl({ entries: target.acl, mode: target.mode });
    applyAcl(target, storeAcl(change(before, messagesOf(request, 'aclSpec').map(aclEntryOf)), target.mode));
    site.namespace.logEdit();
    return {};
  };
}

function applyAcl(inode: Inode, { entries, mode }: StoredAcl): void {
  if (!(inode instanceof Directory) && entries.some((entry) => entry.scope === 'DEFAULT')) {
    throw aclException(`Invalid ACL: only directories may have a default ACL. Path: ${inode.path()}`);
  }
  inode.acl = entries;
  inode.mode = mode;
}

export function getAclStatus(site: Site, request: Plain): Plain {
  const src = textOf(request, 'src');
  if (site.namespace.resolve(site.caller, src, 'read').snapshotList !== null) {
    return { result: { owner: '', group: '', sticky: false, entries: [] } };
  }
  const { target } = existing(site, src, 'cannot find');
  return {
    result: {
      owner: target.owner,
      group: target.group,
      sticky: target.isSticky(),
      entries: target.acl.map(aclEntryMessage),
      permission: { perm: target.mode },
    },
  };
}
