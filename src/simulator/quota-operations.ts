/** Content summaries and quotas. */

import { integerOf, textOf } from '../control/rpc-server/fields.ts';
import { fileNotFound, JAVA, RemoteException } from '../control/rpc-server/remote-exception.ts';
import type { Plain } from '../wire/messages.ts';
import { typeSpace } from './blocks.ts';
import type { Inode } from './inodes.ts';
import { Directory, File, NO_QUOTA, POLICY_UNSPECIFIED } from './inodes.ts';
import type { Site } from './operation.ts';
import type { Caller } from './permission-check.ts';
import { Access, checkInode, checkPermission, checkSuperuser } from './permission-check.ts';
import type { Space } from './quotas.ts';
import { addFileSpace, noSpace, spaceBelow, typeQuotaInfos } from './quotas.ts';

const QUOTA_DONT_SET = 2n ** 63n - 1n;
const QUOTA_RESET = -1;

interface Sums {
  files: number;
  directories: number;
  bytes: number;
  readonly space: Space;
}

/** ContentSummaryProto; the caller must be able to list every directory below the path. What snapshots hold is not counted. */
export function getContentSummary(site: Site, request: Plain): Plain {
  const src = textOf(request, 'path');
  const { namespace, caller } = site;
  const path = namespace.resolve(caller, src, 'read');
  const { target } = path;
  if (target === null) {
    throw fileNotFound(`File does not exist: ${src}`);
  }
  checkPermission(caller, path, {});
  const sums = sumUp(caller, target);
  return {
    summary: {
      length: sums.bytes,
      fileCount: sums.files,
      directoryCount: sums.directories,
      quota: target instanceof Directory ? target.namespaceQuota : NO_QUOTA,
      spaceConsumed: sums.space.bytes,
      spaceQuota: target instanceof Directory ? target.spaceQuota : NO_QUOTA,
      ...typeQuotaInfos(target, sums.space),
      snapshotLength: 0,
      snapshotFileCount: 0,
      snapshotDirectoryCount: 0,
      snapshotSpaceConsumed: 0,
      erasureCodingPolicy: codingName(target),
    },
  };
}

function codingName(inode: Inode): string {
  return inode instanceof File
    ? (inode.erasureCodingPolicy?.name ?? 'Replicated')
    : (inode.effectiveErasureCoding()?.name ?? '');
}

/** Sums from the top down in listing order; the first directory that the caller may not list ends it. */
function sumUp(caller: Caller, inode: Inode): Sums {
  const sums: Sums = { files: 0, directories: 0, bytes: 0, space: noSpace() };
  const pending: Inode[] = [inode];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (next instanceof File) {
      sums.files++;
      sums.bytes += next.length;
      addSummarySpace(sums.space, next);
      continue;
    }
    sums.directories++;
    checkInode(caller, next, Access.READ_EXECUTE);
    for (const name of next.sortedNames().toReversed()) {
      pending.push(next.child(name) as Inode);
    }
  }
  return sums;
}

/** Summaries count the length of a file once for each replica of a storage type, quotas the space that it takes. */
function addSummarySpace(space: Space, file: File): void {
  const policy = file.effectivePolicy();
  const own = noSpace();
  addFileSpace(own, file);
  space.bytes += own.bytes;
  if (policy === POLICY_UNSPECIFIED) {
    return;
  }
  for (const [type, bytes] of typeSpace(policy, file.replication, file.length)) {
    space.types.set(type, (space.types.get(type) ?? 0) + bytes);
  }
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
  sumUp(caller, target);
  const directory = target instanceof Directory ? target : null;
  const space = spaceBelow(target);
  return {
    usage: {
      fileAndDirectoryCount: directory?.names ?? 1,
      quota: directory?.namespaceQuota ?? NO_QUOTA,
      spaceConsumed: space.bytes,
      spaceQuota: directory?.spaceQuota ?? NO_QUOTA,
      ...typeQuotaInfos(target, space),
    },
  };
}

export function setQuota(site: Site, request: Plain): Plain {
  const src = textOf(request, 'path');
  const names = integerOf(request, 'namespaceQuota', 0);
  const space = integerOf(request, 'storagespaceQuota', 0);
  const type = textOf(request, 'storageType');
  const what = names === QUOTA_DONT_SET ? space : names;
  const subject = names === QUOTA_DONT_SET || space !== QUOTA_DONT_SET ? 'SpaceQuota' : 'Quota';
  checkSuperuser(site.caller, `${what === QUOTA_RESET ? 'clear' : 'set'}${subject}`);
  site.checkSafeMode(`Cannot set quota on ${src}`);
  const { target, text } = site.namespace.resolve(site.caller, src, 'write');
  if (names < QUOTA_RESET || space < QUOTA_RESET) {
    throw new RemoteException(JAVA.ILLEGAL_ARGUMENT, `Illegal value for nsQuota or ssQuota : ${names} and ${space}`);
  }
  if (type !== '' && names !== QUOTA_DONT_SET) {
    throw new RemoteException(
      JAVA.UNSUPPORTED_ACTION,
      'Failed to set quota by storage type because eitherdfs.quota.by.storage.type.enabled is set to true ' +
        `or nsQuota value is illegal ${names}`,
    );
  }
  if (target === null) {
    throw fileNotFound(`Directory does not exist: ${text}`);
  }
  if (target instanceof File) {
    throw new RemoteException(JAVA.PATH_IS_NOT_DIRECTORY, `\`${text}': Is not a directory`);
  }
  if (type !== '') {
    setTypeQuota(target, type, space);
  } else {
    if (names !== QUOTA_DONT_SET) {
      target.namespaceQuota = names === QUOTA_RESET && target === site.namespace.root ? QUOTA_DONT_SET : names;
    }
    if (space !== QUOTA_DONT_SET) {
      target.spaceQuota = space;
    }
  }
  site.namespace.logEdit();
  return {};
}

function setTypeQuota(directory: Directory, type: string, space: number | bigint): void {
  if (space === QUOTA_RESET) {
    directory.typeQuotas.delete(type);
  } else if (space !== QUOTA_DONT_SET) {
    directory.typeQuotas.set(type, space);
  }
}
