import { byteText } from './byte-text.ts';
import type { MountQuota, StorageType } from './entry.ts';
import type { MountSnapshot } from './snapshot.ts';

/** What is used under a mount point, over all of its locations. 64-bit values. */
export interface MountUsage {
  /** Files and directories. */
  readonly files: bigint;
  /** With replication. */
  readonly bytes: bigint;
  readonly types: Readonly<Partial<Record<StorageType, bigint>>>;
}

/** Usage of mount points by their paths; null for one whose usage is not known. Must not change: new figures are a new object. */
export interface QuotaUsage {
  usageOf(mountPath: string): MountUsage | null;
}

/** Nothing is known: no limit of a mount point is ever reached. */
export const NO_USAGE: QuotaUsage = { usageOf: () => null };

export const NAMESPACE_EXCEEDED = 'org.apache.hadoop.hdfs.protocol.NSQuotaExceededException';
export const SPACE_EXCEEDED = 'org.apache.hadoop.hdfs.protocol.DSQuotaExceededException';

/** Storage types that may have a limit, in the order in which they are checked. Memory of DataNodes has none. */
const LIMITED_TYPES: readonly StorageType[] = ['SSD', 'DISK', 'ARCHIVE', 'PROVIDED', 'NVDIMM'];

/** What a call adds to the place it writes to. */
export type Growth = 'name' | 'bytes' | 'unknown' | 'nothing';

/**
 * Growth by method. `unknown` depends on what is there already (a directory that exists, a replication that is lowered): such calls are
 * stopped above a limit but not at it. `nothing`: what ends a write that was allowed, or gives space back, is never stopped.
 */
const GROWTH: Readonly<Record<string, Growth>> = {
  create: 'name',
  createSymlink: 'name',
  append: 'bytes',
  addBlock: 'bytes',
  mkdirs: 'unknown',
  setReplication: 'unknown',
  complete: 'nothing',
  abandonBlock: 'nothing',
  truncate: 'nothing',
};

export function growthOf(method: string): Growth {
  return GROWTH[method] ?? 'unknown';
}

/** Java class and message of a write that a limit stops. */
export interface QuotaViolation {
  readonly className: string;
  readonly message: string;
}

/**
 * Why a write of this growth is not allowed under one mount point, null when it is. A limit stops what is above it, and what is known to add
 * to it also when it is just reached, as in a NameNode. Names come before bytes, bytes before storage types.
 */
export function violationOf(limits: MountQuota, usage: MountUsage, growth: Growth): QuotaViolation | null {
  if (growth === 'nothing') return null;
  const { namespaceQuota, spaceQuota, types } = limits;
  if (isReached(namespaceQuota, usage.files, growth === 'name')) {
    const count = usage.files > namespaceQuota ? usage.files : usage.files + 1n;
    const message = `The NameSpace quota (directories and files) is exceeded: quota=${namespaceQuota} file count=${count}`;
    return { className: NAMESPACE_EXCEEDED, message };
  }
  if (isReached(spaceQuota, usage.bytes, growth === 'bytes')) return spaceViolation(spaceQuota, usage.bytes);
  for (const type of LIMITED_TYPES) {
    const limit = limitOfType(types, type);
    const consumed = usage.types[type] ?? 0n;
    if (isReached(limit, consumed, growth === 'bytes')) return spaceViolation(limit, consumed);
  }
  return null;
}

function limitOfType(types: MountQuota['types'], type: StorageType): bigint {
  for (const each of types) if (each.type === type) return each.quota;
  return -1n;
}

function isReached(limit: bigint, used: bigint, adds: boolean): boolean {
  return limit >= 0n && (adds ? used >= limit : used > limit);
}

function spaceViolation(limit: bigint, used: bigint): QuotaViolation {
  const quota = `quota = ${limit} B = ${byteText(limit)}`;
  const consumed = `diskspace consumed = ${used} B = ${byteText(used)}`;
  return { className: SPACE_EXCEEDED, message: `The DiskSpace quota is exceeded: ${quota} but ${consumed}` };
}

/** Answer for a mount without limits, here and above. */
const UNLIMITED = 0;
const LIMIT_REACHED = 1;

/**
 * The limits of mount points against their usage: one byte a mount, so that a write asks one word, and nothing at all where no limit is
 * checked. A mount counts as reached when its own limit or that of any mount above it is: usage under a mount includes that of the mounts
 * below it. Bytes are made anew when a write meets another mount table or other figures.
 */
export class MountQuotas {
  /** Limits are checked (`dfs.federation.router.quota.enable`) and there are figures to check them by. */
  active = false;
  readonly #enabled: boolean;
  #usage: QuotaUsage = NO_USAGE;
  #reached = new Uint8Array(0);
  #of: MountSnapshot | null = null;
  #epoch = 0;

  constructor(enabled: boolean) {
    this.#enabled = enabled;
  }

  get usage(): QuotaUsage {
    return this.#usage;
  }

  set usage(usage: QuotaUsage) {
    this.#usage = usage;
    this.active = this.#enabled && usage !== NO_USAGE;
    this.#of = null;
  }

  /** Whether some write under this mount may be stopped; `violation` says which. Only while `active`. */
  isReached(snapshot: MountSnapshot, mount: number): boolean {
    if (this.#of !== snapshot || this.#epoch !== snapshot.epoch) this.#compare(snapshot);
    return this.#reached[mount] === LIMIT_REACHED;
  }

  /** Why a method may not write under this mount, from the mount upwards; null when it may. */
  violation(snapshot: MountSnapshot, mount: number, method: string): QuotaViolation | null {
    const growth = growthOf(method);
    for (const each of snapshot.mountsAbove(mount)) {
      const usage = snapshot.hasLimits(each) ? this.#usage.usageOf(snapshot.sourceOf(each)) : null;
      const violation = usage === null ? null : violationOf(snapshot.quotaOf(each), usage, growth);
      if (violation !== null) return violation;
    }
    return null;
  }

  /** Mounts come in slash-first order: one that is above another comes before it. */
  #compare(snapshot: MountSnapshot): void {
    this.#of = snapshot;
    this.#epoch = snapshot.epoch;
    const reached = new Uint8Array(snapshot.mountCount);
    this.#reached = reached;
    let allBefore = 0;
    for (let mount = 0; mount < snapshot.mountCount; mount++) {
      if (mount < allBefore) {
        reached[mount] = LIMIT_REACHED;
        continue;
      }
      reached[mount] = this.#own(snapshot, mount);
      if (reached[mount] === LIMIT_REACHED) allBefore = snapshot.endBelow(mount);
    }
  }

  #own(snapshot: MountSnapshot, mount: number): number {
    if (!snapshot.hasLimits(mount)) return UNLIMITED;
    const usage = this.#usage.usageOf(snapshot.sourceOf(mount));
    if (usage === null) return UNLIMITED;
    const limits = snapshot.quotaOf(mount);
    const isStopping = violationOf(limits, usage, 'name') !== null || violationOf(limits, usage, 'bytes') !== null;
    return isStopping ? LIMIT_REACHED : UNLIMITED;
  }
}

/** Limits that hold at a mount point: of each kind that of the nearest mount, from it upwards, whose record sets one; -1 for none. */
export function limitsAt(snapshot: MountSnapshot, mount: number): MountQuota {
  const limits: MountQuota = {
    fileAndDirectoryCount: 0n,
    namespaceQuota: -1n,
    spaceConsumed: 0n,
    spaceQuota: -1n,
    types: [],
  };
  for (const each of snapshot.mountsAbove(mount)) {
    const own = snapshot.quotaOf(each);
    if (limits.namespaceQuota < 0n) limits.namespaceQuota = own.namespaceQuota;
    if (limits.spaceQuota < 0n) limits.spaceQuota = own.spaceQuota;
    for (const type of own.types) {
      if (type.quota >= 0n && limitOfType(limits.types, type.type) < 0n) limits.types.push(type);
    }
  }
  return limits;
}
