import { canonicalPath } from './canonical.ts';

/** Destination orders; the position is the number in the State Store. LEADER_FOLLOWER exists from Hadoop 3.5 on. */
export const ORDERS = ['HASH', 'LOCAL', 'RANDOM', 'HASH_ALL', 'SPACE', 'LEADER_FOLLOWER'] as const;
export type MountOrder = (typeof ORDERS)[number];

/** Storage types; the position plus one is the number in the State Store. */
export const STORAGE_TYPES = ['DISK', 'SSD', 'ARCHIVE', 'RAM_DISK', 'PROVIDED', 'NVDIMM'] as const;
export type StorageType = (typeof STORAGE_TYPES)[number];

export const DEFAULT_MODE = 0o755;
/** A limit that is not set. */
export const NO_QUOTA = -1n;

/** Longest source or destination path: HDFS stops at 8,000 UTF-16 units, at most 3 bytes each. */
export const MAX_PATH_BYTES = 24_000;
export const MAX_DESTINATIONS = 1_024;

/** One nameservice and the path in it that a mount point leads to. */
export interface MountDestination {
  nameservice: string;
  path: string;
}

/** Limits are `NO_QUOTA` when not set. Counts are what the last writer of the record knew, not live usage. 64-bit values. */
export interface MountQuota {
  fileAndDirectoryCount: bigint;
  namespaceQuota: bigint;
  /** Bytes. */
  spaceConsumed: bigint;
  /** Bytes. */
  spaceQuota: bigint;
  types: { type: StorageType; quota: bigint; consumed: bigint }[];
}

export const MOUNT_MARKS = ['readOnly', 'faultTolerant'] as const;
export type MountMark = (typeof MOUNT_MARKS)[number];

/** One record of the mount table with all fields of the State Store, defaults filled in. Dates are ms since 1970, 0 when absent. */
export interface MountEntry {
  sourcePath: string;
  destinations: MountDestination[];
  order: MountOrder;
  readOnly: boolean;
  faultTolerant: boolean;
  /** Marks that the record holds although they are false; left out: none. Java routers write what an administrator has named. */
  falseMarks?: readonly MountMark[];
  owner: string;
  group: string;
  /** Permission bits, e.g. 0o755. */
  mode: number;
  dateCreated: number;
  dateModified: number;
  quota: MountQuota;
}

/** Who owns a mount point whose record names nobody; `Settings` has both fields. */
export interface MountDefaults {
  readonly routerUser: string;
  readonly superGroup: string;
}

/** A mount table, or one entry of it, that cannot be used; the message names the place and the remedy. */
export class MountError extends Error {
  override readonly name = 'MountError';
}

/** A record that says nothing beyond its source path; destinations and dates are to be filled in. */
export function emptyEntry(sourcePath: string, defaults: MountDefaults): MountEntry {
  return {
    sourcePath,
    destinations: [],
    order: 'HASH',
    readOnly: false,
    faultTolerant: false,
    owner: defaults.routerUser,
    group: defaults.superGroup,
    mode: DEFAULT_MODE,
    dateCreated: 0,
    dateModified: 0,
    quota: { fileAndDirectoryCount: 0n, namespaceQuota: NO_QUOTA, spaceConsumed: 0n, spaceQuota: NO_QUOTA, types: [] },
  };
}

/** Whether directories under a mount of this order exist in all of its nameservices. */
export function isAllOrder(order: MountOrder): boolean {
  return order === 'HASH_ALL' || order === 'RANDOM' || order === 'SPACE' || order === 'LEADER_FOLLOWER';
}

/**
 * Why no call can be routed by this entry, null when calls can. This is all that is asked of records read from the State Store:
 * Java routers check the rest when a record is written, never when it is read.
 */
export function unusableReason(entry: MountEntry): string | null {
  const { sourcePath, destinations } = entry;
  if (sourcePath === '') return 'no source path; give the path clients use, e.g. /data';
  if (!sourcePath.startsWith('/')) return `source path '${sourcePath}' is not absolute; write '/${sourcePath}'`;
  const canonical = canonicalPath(sourcePath);
  if (canonical !== sourcePath) {
    return `source path '${sourcePath}' has a double or trailing slash, no client's path ever matches it; write '${canonical}'`;
  }
  if (!sourcePath.isWellFormed()) return `source path '${sourcePath}' is no valid Unicode; write it in UTF-8`;
  if (Buffer.byteLength(sourcePath) > MAX_PATH_BYTES)
    return `the source path is longer than ${MAX_PATH_BYTES} bytes; HDFS takes no such path`;
  if (destinations.length === 0)
    return `mount '${sourcePath}' has no destination; give at least one nameservice and path`;
  if (destinations.length > MAX_DESTINATIONS) {
    return `mount '${sourcePath}' has ${destinations.length} destinations, at most ${MAX_DESTINATIONS} are possible; split it`;
  }
  for (const { nameservice, path } of destinations) {
    if (nameservice === '') return `mount '${sourcePath}' has a destination without a nameservice; name one`;
    if (path === '')
      return `mount '${sourcePath}' has a destination without a path in nameservice '${nameservice}'; give one, e.g. '/'`;
    if (!path.startsWith('/'))
      return `mount '${sourcePath}': destination path '${path}' is not absolute; write '/${path}'`;
    if (Buffer.byteLength(path) > MAX_PATH_BYTES) {
      return `mount '${sourcePath}': a destination path is longer than ${MAX_PATH_BYTES} bytes; HDFS takes no such path`;
    }
  }
  return null;
}

/** Why this entry may not be written or configured, null when it may: `unusableReason` and the rules of a router's admin calls. */
export function invalidReason(entry: MountEntry): string | null {
  const unusable = unusableReason(entry);
  if (unusable !== null) return unusable;
  const mount = `mount '${entry.sourcePath}'`;
  if (entry.faultTolerant && entry.destinations.length < 2) {
    return `${mount} is fault tolerant with a single destination; add a destination or drop faultTolerant`;
  }
  if (entry.faultTolerant && !isAllOrder(entry.order)) {
    return `${mount} is fault tolerant with order ${entry.order}; use HASH_ALL, RANDOM, SPACE or LEADER_FOLLOWER, or drop faultTolerant`;
  }
  if (!(entry.mode >= 0 && entry.mode <= 0o1777))
    return `${mount}: mode ${entry.mode} is no permission; use octal 0000 to 1777`;
  if (entry.dateCreated <= 0 || entry.dateModified <= 0)
    return `${mount}: dates must be positive (milliseconds since 1970)`;
  return null;
}

/**
 * Why a mount given to this router makes no sense, null when it does: `invalidReason`, and what Java routers would store although no call
 * can ever use it. Records of a State Store are not asked that.
 */
export function senselessReason(entry: MountEntry): string | null {
  const invalid = invalidReason(entry);
  if (invalid !== null) return invalid;
  const { sourcePath, destinations, quota } = entry;
  const mount = `mount '${sourcePath}'`;
  if (isReserved(sourcePath))
    return `${mount}: /.reserved is HDFS's own, no mount is looked up there; take another path`;
  const source = impossibleName(sourcePath);
  if (source !== null) return `${mount}: the source path has ${source}; HDFS takes no such path`;
  const seen = new Set<string>();
  for (const { nameservice, path } of destinations) {
    const impossible = impossibleName(path);
    if (impossible !== null) return `${mount}: a destination path has ${impossible}; HDFS takes no such path`;
    const destination = `${nameservice}:${canonicalPath(path)}`;
    if (seen.has(destination)) return `${mount} has the destination ${destination} twice; remove one`;
    seen.add(destination);
  }
  const limits = [quota.namespaceQuota, quota.spaceQuota, ...quota.types.map((type) => type.quota)];
  const low = limits.find((limit) => limit < NO_QUOTA);
  return low === undefined ? null : `${mount}: ${low} is no quota; use ${NO_QUOTA} for none, else 0 or more`;
}

function isReserved(path: string): boolean {
  return path === '/.reserved' || path.startsWith('/.reserved/');
}

/** What in an absolute path HDFS refuses in every call, null for nothing. */
function impossibleName(path: string): string | null {
  if (path.includes('\0')) return 'a NUL character';
  const component = path.split('/').find((name) => name === '.' || name === '..');
  return component === undefined ? null : `a component '${component}'`;
}
