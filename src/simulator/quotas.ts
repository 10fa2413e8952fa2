/** Quotas of space: what files below a directory take up, and whether it may take more. */

import { JAVA, RemoteException } from '../control/rpc-server/remote-exception.ts';
import type { Plain } from '../wire/messages.ts';
import { spaceOf, spaceOfBlock, typeSpace } from './blocks.ts';
import type { Inode } from './inodes.ts';
import { Directory, File, NO_QUOTA } from './inodes.ts';
import { QUOTA_TYPES } from './storage-policies.ts';

const PREFIXES = ['', 'K', 'M', 'G', 'T', 'P', 'E'] as const;

/** Bytes on all DataNodes, and those of them that count for the quota of a storage type. */
export interface Space {
  bytes: number;
  readonly types: Map<string, number>;
}

export function noSpace(): Space {
  return { bytes: 0, types: new Map() };
}

/** Of one file, or of all files at or below a directory. */
export function spaceBelow(inode: Inode): Space {
  const space = noSpace();
  const pending: Inode[] = [inode];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (next instanceof File) {
      addFileSpace(space, next);
    } else {
      pending.push(...next.children());
    }
  }
  return space;
}

export function addFileSpace(space: Space, file: File): void {
  space.bytes += spaceOf(file);
  const perReplica = spaceOf(file) / file.replication;
  addTypes(space.types, typeSpace(file.effectivePolicy(), file.replication, perReplica));
}

function addTypes(to: Map<string, number>, from: ReadonlyMap<string, number>): void {
  for (const [type, bytes] of from) {
    to.set(type, (to.get(type) ?? 0) + bytes);
  }
}

/** What another block of a file would take; blocks are taken as full. */
export function spaceOfNewBlock(file: File): Space {
  const bytes = spaceOfBlock(file.blockSize, file.replication, file.erasureCodingPolicy);
  return { bytes, types: typeSpace(file.effectivePolicy(), file.replication, bytes / file.replication) };
}

/**
 * Throws the exception of the first directory from `parent` upwards, up to one that holds `from`, whose quota does not allow for more.
 * `measure` is asked for the additional space only when there is a quota.
 */
export function verifySpace(parent: Directory | null, measure: () => Space, from: Directory | null = null): void {
  const holding = new Set<Directory>();
  for (let at = from; at !== null; at = at.parent) {
    holding.add(at);
  }
  let more: Space | null = null;
  for (let at = parent; at !== null && !holding.has(at); at = at.parent) {
    if (at.spaceQuota === NO_QUOTA && at.typeQuotas.size === 0) {
      continue;
    }
    const used = spaceBelow(at);
    more ??= measure();
    if (isViolated(at.spaceQuota, used.bytes, more.bytes)) {
      const consumed = used.bytes + more.bytes;
      throw new RemoteException(
        JAVA.DS_QUOTA,
        `The DiskSpace quota of ${at.path()} is exceeded: quota = ${at.spaceQuota} B = ${formatBytes(Number(at.spaceQuota))}` +
          ` but diskspace consumed = ${consumed} B = ${formatBytes(consumed)}`,
      );
    }
    for (const [type, quota] of at.typeQuotas) {
      const before = used.types.get(type) ?? 0;
      const added = more.types.get(type) ?? 0;
      if (isViolated(quota, before, added)) {
        throw new RemoteException(
          JAVA.TYPE_QUOTA,
          `Quota by storage type : ${type} on path : ${at.path()} is exceeded. ` +
            `quota = ${formatBytes(Number(quota))} but space consumed = ${formatBytes(before + added)}`,
        );
      }
    }
  }
}

function isViolated(quota: number | bigint, used: number, more: number): boolean {
  return quota >= 0 && more > 0 && used + more > quota;
}

/** `1 KB`, `1.50 MB` */
function formatBytes(bytes: number): string {
  let at = 0;
  while (at + 1 < PREFIXES.length && bytes >= 1024 ** (at + 1)) {
    at++;
  }
  const value = bytes / 1024 ** at;
  return `${Number.isInteger(value) ? value : value.toFixed(2)} ${PREFIXES[at]}B`;
}

/** StorageTypeQuotaInfosProto as field `typeQuotaInfos`; left out where no type has a quota or takes up space. */
export function typeQuotaInfos(inode: Inode, space: Space): Plain {
  const quotas = inode instanceof Directory ? inode.typeQuotas : new Map<string, number | bigint>();
  if (quotas.size === 0 && [...space.types.values()].every((bytes) => bytes === 0)) {
    return {};
  }
  return {
    typeQuotaInfos: {
      typeQuotaInfo: QUOTA_TYPES.map((type) => ({
        type,
        quota: quotas.get(type) ?? NO_QUOTA,
        consumed: space.types.get(type) ?? 0,
      })),
    },
  };
}
