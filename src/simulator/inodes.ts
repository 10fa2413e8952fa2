/** Files and directories of the simulated namespace. */
import type { AclEntry } from './acl.ts';
import type { Block } from './blocks.ts';
import type { EncryptionZone } from './encryption-zones.ts';
import type { ErasureCodingPolicy } from './erasure-coding-policies.ts';
import { compareNames } from './paths.ts';
import type { Snapshots } from './snapshots.ts';

export const ROOT_INODE_ID = 16385;
/** Answers "no quota"; the root's quota of names is the largest long instead. */
export const NO_QUOTA = -1;
/** Storage policy of an inode that has none of its own and takes its parent's. */
export const POLICY_UNSPECIFIED = 0;
export const PERMISSION_MASK = 0o1777;
const STICKY = 0o1000;
const SYMBOLS = ['---', '--x', '-w-', '-wx', 'r--', 'r-x', 'rw-', 'rwx'] as const;

export interface XAttr {
  readonly namespace: string;
  readonly name: string;
  readonly value: Buffer;
}

/** What a new inode is made of. */
export interface InodeAttributes {
  readonly id: number;
  readonly name: string;
  readonly owner: string;
  readonly group: string;
  readonly mode: number;
  readonly mtimeMs: number;
  readonly atimeMs: number;
}

abstract class InodeBase {
  readonly id: number;
  name: string;
  parent: Directory | null = null;
  owner: string;
  group: string;
  /** Nine permission bits and the sticky bit. */
  mode: number;
  mtimeMs: number;
  atimeMs: number;
  storagePolicy = POLICY_UNSPECIFIED;
  readonly xattrs = new Map<string, XAttr>();
  /** Entries that the mode does not say, ordered. */
  acl: readonly AclEntry[] = [];

  constructor(attributes: InodeAttributes) {
    this.id = attributes.id;
    this.name = attributes.name;
    this.owner = attributes.owner;
    this.group = attributes.group;
    this.mode = attributes.mode & PERMISSION_MASK;
    this.mtimeMs = attributes.mtimeMs;
    this.atimeMs = attributes.atimeMs;
  }

  isSticky(): boolean {
    return (this.mode & STICKY) !== 0;
  }

  /** Absolute path, `/` for the root. */
  path(): string {
    const names: string[] = [];
    for (let at: InodeBase = this; at.parent !== null; at = at.parent) {
      names.push(at.name);
    }
    return `/${names.reverse().join('/')}`;
  }

  /** Own storage policy, else the nearest one above, else POLICY_UNSPECIFIED. */
  effectivePolicy(): number {
    for (let at: InodeBase | null = this; at !== null; at = at.parent) {
      if (at.storagePolicy !== POLICY_UNSPECIFIED) {
        return at.storagePolicy;
      }
    }
    return POLICY_UNSPECIFIED;
  }

  /** The nearest directory from here upwards that is the root of an encryption zone. */
  zoneRoot(): Directory | null {
    for (let at: InodeBase | null = this; at !== null; at = at.parent) {
      if (at instanceof Directory && at.zone !== null) {
        return at;
      }
    }
    return null;
  }
}

export class Directory extends InodeBase {
  /** Number of inodes below and including this one: what the quota of names counts. */
  names = 1;
  namespaceQuota: number | bigint = NO_QUOTA;
  spaceQuota: number | bigint = NO_QUOTA;
  /** Quotas of space by storage type. */
  readonly typeQuotas = new Map<string, number | bigint>();
  /** Policy of files that are made below, unless a directory further down has one; 'replication' ends what comes from above. */
  erasureCoding: ErasureCodingPolicy | 'replication' | null = null;
  zone: EncryptionZone | null = null;
  /** Null: not snapshottable. */
  snapshots: Snapshots | null = null;
  readonly #children = new Map<string, Inode>();
  /** Names in listing order; null when children came or went since it was sorted. */
  #sorted: string[] | null = null;

  child(name: string): Inode | undefined {
    return this.#children.get(name);
  }

  get childCount(): number {
    return this.#children.size;
  }

  /** Names in listing order. */
  sortedNames(): readonly string[] {
    this.#sorted ??= [...this.#children.keys()].sort(compareNames);
    return this.#sorted;
  }

  /** Children in listing order. */
  *children(): Generator<Inode> {
    for (const name of this.sortedNames()) {
      const child = this.#children.get(name);
      if (child !== undefined) {
        yield child;
      }
    }
  }

  /** Position in listing order of the first name greater than `name`. */
  positionAfter(name: string): number {
    const names = this.sortedNames();
    let low = 0;
    let high = names.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareNames(names[middle] as string, name) <= 0) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  /** The erasure coding policy of files that are made here. */
  effectiveErasureCoding(): ErasureCodingPolicy | null {
    for (let at: Directory | null = this; at !== null; at = at.parent) {
      if (at.erasureCoding !== null) {
        return at.erasureCoding === 'replication' ? null : at.erasureCoding;
      }
    }
    return null;
  }

  add(child: Inode): void {
    child.parent = this;
    this.#children.set(child.name, child);
    this.#sorted = null;
    this.#count(namesIn(child));
  }

  remove(child: Inode): void {
    this.#children.delete(child.name);
    this.#sorted = null;
    this.#count(-namesIn(child));
    child.parent = null;
  }

  #count(delta: number): void {
    for (let at: Directory | null = this; at !== null; at = at.parent) {
      at.names += delta;
    }
  }
}

/** Who has a file open for writing. */
export interface Writer {
  /** Name of the HDFS client, the lease holder. */
  readonly holder: string;
  /** Address of the client. */
  readonly machine: string;
}

/** What a file in an encryption zone was encrypted with. */
export interface FileEncryption {
  readonly keyName: string;
  readonly keyVersion: string;
  readonly key: Buffer;
  readonly iv: Buffer;
}

export class File extends InodeBase {
  replication: number;
  readonly blockSize: number;
  /** Null once the file is closed. */
  writer: Writer | null;
  blocks: Block[] = [];
  /** Null: replicas. */
  erasureCodingPolicy: ErasureCodingPolicy | null = null;
  encryption: FileEncryption | null = null;

  constructor(attributes: InodeAttributes, replication: number, blockSize: number, writer: Writer | null) {
    super(attributes);
    this.replication = replication;
    this.blockSize = blockSize;
    this.writer = writer;
  }

  get length(): number {
    let length = 0;
    for (const block of this.blocks) {
      length += block.bytes;
    }
    return length;
  }
}

export type Inode = Directory | File;

export function namesIn(inode: Inode): number {
  return inode instanceof Directory ? inode.names : 1;
}

/** `rwxr-x--t` */
export function formatMode(mode: number): string {
  const text = `${SYMBOLS[(mode >> 6) & 7]}${SYMBOLS[(mode >> 3) & 7]}${SYMBOLS[mode & 7]}`;
  return (mode & STICKY) === 0 ? text : text.slice(0, 8) + (text.endsWith('x') ? 't' : 'T');
}
