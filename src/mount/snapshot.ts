import type { SharedBytes } from '../shared/epochs.ts';
import {
  type MountEntry,
  MountError,
  type MountOrder,
  type MountQuota,
  ORDERS,
  STORAGE_TYPES,
  type StorageType,
} from './entry.ts';
import {
  DESTINATION_WORDS,
  DestinationWord,
  HEADER_BYTES,
  Header,
  MOUNT_LONGS,
  MOUNT_WORDS,
  MountFlag,
  MountLong,
  MountWord,
  NAMESERVICE_WORDS,
  NameserviceWord,
  NODE_WORDS,
  NodeWord,
  readText,
  SLASH,
  slashFirst,
  TYPE_LONGS,
} from './layout.ts';
import { verifySnapshot } from './verify.ts';

/** Answer of `find` when no mount covers a path. */
export const NO_MOUNT = -1;

/** Up to this many children are looked through in order, more by bisection. */
const SCANNED_CHILDREN = 8;
const NO_NAME = Buffer.alloc(0);

/**
 * The mount table at one epoch, read in place from shared memory (layout.ts). Immutable; a thread keeps one reference and swaps it.
 * Mounts are numbered from 0 in slash-first order of their source paths; numbers are good for one epoch only.
 *
 * Paths given to it are canonical (canonical.ts). The downstream path of destination i is
 * `bytes[destinationStart, destinationEnd)` followed by `path[matchedEnd, end)`, or `/` when both are empty.
 */
export class MountSnapshot {
  readonly epoch: number;
  readonly mountCount: number;
  /** Names known: those of the topology first, in its order. */
  readonly nameserviceCount: number;
  /** The whole snapshot; all positions are offsets in it. */
  readonly bytes: Buffer;

  /** Of the path last given to `find`: where the remainder below the mount starts (its start when no mount covers it). */
  matchedEnd = 0;
  /** Of the path last given to `find`: it is itself a mount point. */
  atMount = false;
  /** Of the path last given to `find`: there are mount points below it. */
  mountsBelow = false;

  readonly words: Int32Array;
  readonly longs: BigInt64Array;
  /** Word positions of the tables. */
  readonly nodesAt: number;
  readonly mountsAt: number;
  readonly destinationsAt: number;
  readonly nameservicesAt: number;
  /** Byte position. */
  readonly firstBytesAt: number;

  private constructor(buffer: SharedBytes, words: Int32Array) {
    this.words = words;
    this.bytes = Buffer.from(buffer);
    this.epoch = words[Header.EPOCH] as number;
    this.mountCount = words[Header.MOUNTS] as number;
    this.nameserviceCount = words[Header.NAMESERVICES] as number;
    this.longs = new BigInt64Array(buffer, HEADER_BYTES, words[Header.LONGS] as number);
    this.nodesAt = (words[Header.NODES_AT] as number) / 4;
    this.mountsAt = (words[Header.MOUNTS_AT] as number) / 4;
    this.destinationsAt = (words[Header.DESTINATIONS_AT] as number) / 4;
    this.nameservicesAt = (words[Header.NAMESERVICES_AT] as number) / 4;
    this.firstBytesAt = words[Header.FIRST_BYTES_AT] as number;
  }

  /** Checks the whole structure (a few ns a row) and throws MountError when it is no snapshot, of another version or damaged. */
  static from(buffer: SharedBytes): MountSnapshot {
    return new MountSnapshot(buffer, verifySnapshot(buffer));
  }

  /**
   * The deepest mount that covers the canonical path path[start, end), or NO_MOUNT; sets `matchedEnd`, `atMount` and `mountsBelow`.
   * A relative or empty path is covered by none.
   */
  find(path: Buffer, start: number, end: number): number {
    this.matchedEnd = start;
    this.atMount = false;
    this.mountsBelow = false;
    if (start >= end || path[start] !== SLASH) return NO_MOUNT;
    const words = this.words;
    const bytes = this.bytes;
    const firstBytesAt = this.firstBytesAt;
    const keyEnd = end === start + 1 ? start : end;
    let node = this.nodesAt;
    let at = start;
    let mount = NO_MOUNT;
    let mountEnd = start;
    for (;;) {
      const here = words[node + NodeWord.MOUNT] as number;
      if (here >= 0 && (at === keyEnd || path[at] === SLASH)) {
        mount = here;
        mountEnd = at;
      }
      const children = words[node + NodeWord.CHILDREN] as number;
      let child = words[node + NodeWord.FIRST_CHILD] as number;
      if (at === keyEnd) {
        this.mountsBelow = children > 0 && bytes[firstBytesAt + child] === SLASH;
        break;
      }
      const wanted = path[at] as number;
      let last = child + children;
      if (children > SCANNED_CHILDREN) {
        const rank = slashFirst(wanted);
        while (last - child > 1) {
          const middle = (child + last) >>> 1;
          if (slashFirst(bytes[firstBytesAt + middle] as number) <= rank) child = middle;
          else last = middle;
        }
        if (bytes[firstBytesAt + child] !== wanted) break;
      } else {
        while (child < last && bytes[firstBytesAt + child] !== wanted) child++;
        if (child === last) break;
      }
      node = this.nodesAt + child * NODE_WORDS;
      let label = words[node + NodeWord.LABEL_START] as number;
      const labelEnd = words[node + NodeWord.LABEL_END] as number;
      while (label < labelEnd && at < keyEnd && bytes[label] === path[at]) {
        label++;
        at++;
      }
      if (label < labelEnd) {
        this.mountsBelow = at === keyEnd && bytes[label] === SLASH;
        break;
      }
    }
    if (mount === NO_MOUNT) return NO_MOUNT;
    this.atMount = mountEnd === keyEnd;
    this.matchedEnd = this.atMount ? end : mountEnd;
    return mount;
  }

  sourceStart(mount: number): number {
    return this.words[this.mountsAt + mount * MOUNT_WORDS + MountWord.SOURCE_START] as number;
  }

  sourceEnd(mount: number): number {
    return this.words[this.mountsAt + mount * MOUNT_WORDS + MountWord.SOURCE_END] as number;
  }

  destinationCount(mount: number): number {
    return this.words[this.mountsAt + mount * MOUNT_WORDS + MountWord.DESTINATIONS] as number;
  }

  /** Index of the nameservice of destination `i`, in record order. */
  destinationNameservice(mount: number, i: number): number {
    return this.words[this.#destination(mount, i) + DestinationWord.NAMESERVICE] as number;
  }

  destinationStart(mount: number, i: number): number {
    return this.words[this.#destination(mount, i) + DestinationWord.START] as number;
  }

  destinationEnd(mount: number, i: number): number {
    return this.words[this.#destination(mount, i) + DestinationWord.END] as number;
  }

  isReadOnly(mount: number): boolean {
    return (this.#flags(mount) & MountFlag.READ_ONLY) !== 0;
  }

  isFaultTolerant(mount: number): boolean {
    return (this.#flags(mount) & MountFlag.FAULT_TOLERANT) !== 0;
  }

  /** One destination, and its path is the source path: there is nothing to rewrite. */
  sameAsTarget(mount: number): boolean {
    return (this.#flags(mount) & MountFlag.SAME_AS_TARGET) !== 0;
  }

  /** Index into ORDERS. */
  orderOf(mount: number): number {
    return this.words[this.mountsAt + mount * MOUNT_WORDS + MountWord.ORDER] as number;
  }

  // --- slow path: may allocate

  nameserviceName(index: number): string {
    if (!(index >= 0 && index < this.nameserviceCount))
      throw new MountError(`nameservice ${index} is not in the mount snapshot of epoch ${this.epoch}`);
    const row = this.nameservicesAt + index * NAMESERVICE_WORDS;
    return this.#text(row + NameserviceWord.START, row + NameserviceWord.END);
  }

  /** All fields of a mount's record. Destination paths come back canonical. */
  entryOf(mount: number): MountEntry {
    if (!(mount >= 0 && mount < this.mountCount))
      throw new MountError(`mount ${mount} is not in the mount snapshot of epoch ${this.epoch}`);
    const row = this.mountsAt + mount * MOUNT_WORDS;
    const destinations: MountEntry['destinations'] = [];
    for (let i = 0; i < this.destinationCount(mount); i++) {
      const path = readText(this.bytes, this.destinationStart(mount, i), this.destinationEnd(mount, i));
      destinations.push({
        nameservice: this.nameserviceName(this.destinationNameservice(mount, i)),
        path: path === '' ? '/' : path,
      });
    }
    return {
      sourcePath: this.#text(row + MountWord.SOURCE_START, row + MountWord.SOURCE_END),
      destinations,
      order: ORDERS[this.orderOf(mount)] as MountOrder,
      readOnly: this.isReadOnly(mount),
      faultTolerant: this.isFaultTolerant(mount),
      owner: this.#text(row + MountWord.OWNER_START, row + MountWord.OWNER_END),
      group: this.#text(row + MountWord.GROUP_START, row + MountWord.GROUP_END),
      mode: this.words[row + MountWord.MODE] as number,
      dateCreated: Number(this.longs[this.#longs(mount) + MountLong.DATE_CREATED]),
      dateModified: Number(this.longs[this.#longs(mount) + MountLong.DATE_MODIFIED]),
      quota: this.quotaOf(mount),
    };
  }

  /** Source path of a mount. */
  sourceOf(mount: number): string {
    return readText(this.bytes, this.sourceStart(mount), this.sourceEnd(mount));
  }

  /** Whether a mount's record sets any limit. */
  hasLimits(mount: number): boolean {
    const at = this.#longs(mount);
    if ((this.longs[at + MountLong.NAMESPACE_QUOTA] as bigint) >= 0n) return true;
    if ((this.longs[at + MountLong.SPACE_QUOTA] as bigint) >= 0n) return true;
    return (this.words[this.mountsAt + mount * MOUNT_WORDS + MountWord.TYPES] as number) > 0;
  }

  /** A mount and those that cover it, from itself upwards. What the last `find` said of its path stays. */
  mountsAbove(mount: number): number[] {
    const mounts = [mount];
    const start = this.sourceStart(mount);
    const { atMount, matchedEnd, mountsBelow } = this;
    for (let end = this.sourceEnd(mount) - 1; end >= start; end--) {
      if (this.bytes[end] !== SLASH) continue;
      const above = this.find(this.bytes, start, Math.max(end, start + 1));
      if (above === NO_MOUNT) break;
      if (above !== mounts.at(-1)) mounts.push(above);
    }
    this.atMount = atMount;
    this.matchedEnd = matchedEnd;
    this.mountsBelow = mountsBelow;
    return mounts;
  }

  /** First mount behind all mounts below this one. */
  endBelow(mount: number): number {
    const start = this.sourceStart(mount);
    const end = this.sourceEnd(mount);
    return this.#firstBehind(this.bytes.subarray(start, end - start === 1 ? start : end), mount + 1);
  }

  /**
   * What a canonical directory path shows because of mount points: null when it neither is nor contains one, else the next components
   * of the mounts below it (none for a mount without mounts below), distinct, in byte order of UTF-8: those behind the name `after`, at
   * most `most` of them.
   */
  childrenOf(path: string, after: Buffer = NO_NAME, most = Number.MAX_SAFE_INTEGER): string[] | null {
    const key = toKey(path);
    if (key === null) return null;
    const low = this.#firstUnder(key);
    const high = this.#firstBehind(key, low);
    if (low === high) return null;
    const children: string[] = [];
    let mount = after.length === 0 ? low : this.#firstBehind(joinKey(key, after), low);
    while (mount < high && children.length < most) {
      // The component starts behind `path/`; the mount at the path itself ends before.
      const start = this.sourceStart(mount) + key.length + 1;
      const end = this.sourceEnd(mount);
      if (start >= end) {
        mount++;
        continue;
      }
      let componentEnd = start;
      while (componentEnd < end && this.bytes[componentEnd] !== SLASH) componentEnd++;
      children.push(readText(this.bytes, start, componentEnd));
      mount = this.#firstBehind(this.bytes.subarray(this.sourceStart(mount), componentEnd), mount + 1);
    }
    return children;
  }

  /** Mounts at or below a canonical path, component-wise, in ascending order. */
  mountsUnder(path: string): number[] {
    const mounts: number[] = [];
    const key = toKey(path);
    if (key === null) return mounts;
    const low = this.#firstUnder(key);
    const high = this.#firstBehind(key, low);
    for (let mount = low; mount < high; mount++) mounts.push(mount);
    return mounts;
  }

  /** Modification time shown for a directory that mounts make visible: the latest dateModified at or below it, ms; 0 without mounts. */
  latestDateBelow(path: string): number {
    const key = toKey(path);
    if (key === null) return 0;
    const low = this.#firstUnder(key);
    const high = this.#firstBehind(key, low);
    let latest = 0n;
    for (let mount = low; mount < high; mount++) {
      const date = this.longs[this.#longs(mount) + MountLong.DATE_MODIFIED] as bigint;
      if (date > latest) latest = date;
    }
    return Number(latest);
  }

  /** First mount that is at or below the key, or behind where such mounts would be. */
  #firstUnder(key: Buffer): number {
    let low = 0;
    let high = this.mountCount;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#sideOf(middle, key) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** First mount from `from` on that is behind all mounts at or below the key. Most often it is near: steps double. */
  #firstBehind(key: Buffer, from: number): number {
    let low = from;
    let high = this.mountCount;
    for (let step = 1; low + step <= this.mountCount; step *= 2) {
      if (this.#sideOf(low + step - 1, key) > 0) {
        high = low + step - 1;
        break;
      }
      low += step;
    }
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#sideOf(middle, key) <= 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** 0: the mount is at or below the key; else on which side of them it lies in slash-first order. */
  #sideOf(mount: number, key: Buffer): number {
    const bytes = this.bytes;
    let at = this.sourceStart(mount);
    const end = this.sourceEnd(mount);
    let i = 0;
    // The mount `/` is the empty key.
    if (end - at === 1) at = end;
    while (i < key.length && at < end && bytes[at] === key[i]) {
      i++;
      at++;
    }
    if (i === key.length) return at === end || bytes[at] === SLASH ? 0 : 1;
    if (at === end) return -1;
    return slashFirst(bytes[at] as number) - slashFirst(key[i] as number);
  }

  /** Limits of a mount's record, and what its last writer knew of their use. */
  quotaOf(mount: number): MountQuota {
    const longs = this.longs;
    const at = this.#longs(mount);
    const types: MountQuota['types'] = [];
    const count = this.words[this.mountsAt + mount * MOUNT_WORDS + MountWord.TYPES] as number;
    for (let i = 0; i < count; i++) {
      const row = at + MOUNT_LONGS + i * TYPE_LONGS;
      types.push({
        type: STORAGE_TYPES[Number(longs[row])] as StorageType,
        quota: longs[row + 1] as bigint,
        consumed: longs[row + 2] as bigint,
      });
    }
    return {
      fileAndDirectoryCount: longs[at + MountLong.FILE_COUNT] as bigint,
      namespaceQuota: longs[at + MountLong.NAMESPACE_QUOTA] as bigint,
      spaceConsumed: longs[at + MountLong.SPACE_CONSUMED] as bigint,
      spaceQuota: longs[at + MountLong.SPACE_QUOTA] as bigint,
      types,
    };
  }

  #destination(mount: number, i: number): number {
    const first = this.words[this.mountsAt + mount * MOUNT_WORDS + MountWord.FIRST_DESTINATION] as number;
    return this.destinationsAt + (first + i) * DESTINATION_WORDS;
  }

  #flags(mount: number): number {
    return this.words[this.mountsAt + mount * MOUNT_WORDS + MountWord.FLAGS] as number;
  }

  #longs(mount: number): number {
    return this.words[this.mountsAt + mount * MOUNT_WORDS + MountWord.FIRST_LONG] as number;
  }

  /** Text between the positions that two words hold. */
  #text(startWord: number, endWord: number): string {
    return readText(this.bytes, this.words[startWord] as number, this.words[endWord] as number);
  }
}

/** The key of a canonical path: empty for `/`; null for a path that is not absolute. */
function toKey(path: string): Buffer | null {
  if (!path.startsWith('/')) return null;
  return Buffer.from(path === '/' ? '' : path);
}

function joinKey(key: Buffer, name: Buffer): Buffer {
  const joined = Buffer.alloc(key.length + 1 + name.length, SLASH);
  key.copy(joined);
  name.copy(joined, key.length + 1);
  return joined;
}
