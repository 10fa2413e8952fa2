/** Files and directories of the simulated namespace. Files have no blocks: their length is always zero. */
import type { Plain } from '../wire/messages.ts';
import { compareNames } from './paths.ts';

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
}

export class Directory extends InodeBase {
  /** Number of inodes below and including this one: what the quota of names counts. */
  names = 1;
  namespaceQuota: number | bigint = NO_QUOTA;
  spaceQuota: number | bigint = NO_QUOTA;
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

export class File extends InodeBase {
  replication: number;
  readonly blockSize: number;
  /** Null once the file is closed. */
  writer: Writer | null;

  constructor(attributes: InodeAttributes, replication: number, blockSize: number, writer: Writer) {
    super(attributes);
    this.replication = replication;
    this.blockSize = blockSize;
    this.writer = writer;
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

/**
 * HdfsFileStatusProto of an inode; `localName` is empty when the caller asked for this very path. With `located` files carry their
 * (empty) list of blocks.
 */
export function statusOf(inode: Inode, localName: string, located: boolean): Plain {
  const status: Plain = {
    fileType: inode instanceof Directory ? 'IS_DIR' : 'IS_FILE',
    path: Buffer.from(localName),
    length: 0,
    permission: { perm: inode.mode },
    owner: inode.owner,
    group: inode.group,
    modification_time: inode.mtimeMs,
    access_time: inode.atimeMs,
    block_replication: inode instanceof File ? inode.replication : 0,
    blocksize: inode instanceof File ? inode.blockSize : 0,
    fileId: inode.id,
    childrenNum: inode instanceof Directory ? inode.childCount : 0,
    storagePolicy: inode.effectivePolicy(),
    flags: 0,
  };
  if (located && inode instanceof File) {
    status['locations'] = locatedBlocksOf(inode);
  }
  return status;
}

/** LocatedBlocksProto of a file without blocks. */
export function locatedBlocksOf(file: File): Plain {
  return { fileLength: 0, blocks: [], underConstruction: file.writer !== null, isLastBlockComplete: false };
}
