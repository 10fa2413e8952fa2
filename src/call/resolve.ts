import { isCanonicalPath, writeCanonicalPath } from '../mount/canonical.ts';
import { type MountSnapshot, NO_MOUNT } from '../mount/snapshot.ts';
import type { Settings, Topology } from '../shared/settings.ts';
import { textOf } from '../wire/text.ts';
import type { Call } from './call.ts';
import type { Client } from './client.ts';
import { Failure } from './failure.ts';
import type { Method } from './method.ts';

/** `resolve` found no single nameservice: `className` and `message` say why. */
export const REFUSED = -1;
/** The path names a file by its inode, and several nameservices may have that number: `nameservicesInUse`. */
export const BY_INODE = -2;
/** The path lies on a mount with several destinations: `locate` in composed/ names them. */
export const SEVERAL = -3;

const SLASH = 0x2f;
const NO_BYTES = Buffer.alloc(0);
const TRASH = Buffer.from('/.Trash/');
const CURRENT = Buffer.from('Current');
const USER = Buffer.from('/user/');
const INODES = Buffer.from('/.reserved/.inodes/');

/**
 * Finds the nameservice of a path in the mount snapshot, with the checks of the Java Router in its order: mount check, resolution, read-only
 * mount. One per worker; the fields after `resolve` describe the path just resolved.
 */
export class Resolver {
  snapshot: MountSnapshot | null = null;
  /** Mount that covers the path, -1 for none. */
  mount = NO_MOUNT;
  /** What replaces the path towards the NameNode, null when it stays as it is. */
  path: Buffer | null = null;
  /** Bytes of `path` that are the mount's own target. */
  prefixBytes = 0;
  atMount = false;
  mountsBelow = false;
  className = '';
  message = '';
  /** After SEVERAL: the path lies in its caller's trash. */
  inTrash = false;
  /** After SEVERAL: the canonical path, bytes[from, to). */
  #bytes: Buffer = NO_BYTES;
  #from = 0;
  #to = 0;
  readonly #settings: Settings;
  readonly #topology: Topology;
  #inUse: readonly number[] = [];
  #inUseEpoch = 0;

  constructor(settings: Settings, topology: Topology) {
    this.#settings = settings;
    this.#topology = topology;
  }

  get epoch(): number {
    return this.snapshot === null ? 0 : this.snapshot.epoch;
  }

  /** Nameservice of path[start, end) for this call, or REFUSED. `mountCheck`: refuse mount points and what lies above them. */
  resolve(call: Call, path: Buffer, start: number, end: number, mountCheck: boolean): number {
    const snapshot = this.snapshot as MountSnapshot;
    this.path = null;
    this.prefixBytes = 0;
    let bytes = path;
    let from = start;
    let to = end;
    if (!isCanonicalPath(path, start, end)) {
      bytes = Buffer.allocUnsafe(end - start);
      from = 0;
      to = writeCanonicalPath(path, start, end, bytes, 0);
      this.path = bytes.subarray(0, to);
    }
    const trash = this.#trashEnd(call, bytes, from, to);
    const mount =
      trash < 0 ? snapshot.find(bytes, from, to) : trash === to ? NO_MOUNT : snapshot.find(bytes, trash, to);
    this.mount = mount;
    this.atMount = trash < 0 && snapshot.atMount;
    this.mountsBelow = trash < 0 && snapshot.mountsBelow;
    if (mountCheck && (this.atMount || this.mountsBelow)) return this.#refuseAtMounts(bytes, from, to);
    if (mount !== NO_MOUNT && (call.method as Method).effect === 'write' && snapshot.isReadOnly(mount)) {
      return this.refuse(Failure.IO, `${textOf(bytes, from, to)} is in a read only mount point`);
    }
    // A mount of `/` covers the number as little as no mount does: files of all nameservices have one.
    if (
      bytes[from + 1] === 0x2e &&
      (mount === NO_MOUNT || snapshot.matchedEnd === from) &&
      matches(bytes, from, to, INODES) &&
      this.nameservicesInUse.length > 1
    ) {
      this.refuse(
        Failure.UNSUPPORTED,
        `Operation "${(call.method as Method).name}" is not supported on ${textOf(bytes, from, to)}: several nameservices may have an inode of that number`,
      );
      return BY_INODE;
    }
    if (mount === NO_MOUNT) {
      if (this.#settings.defaultNameservice >= 0) return this.#settings.defaultNameservice;
      return this.refuse(
        Failure.NO_RESOLUTION,
        `Cannot find locations for ${textOf(bytes, from, to)}, because the default nameservice is disabled to read or write`,
      );
    }
    if (snapshot.destinationCount(mount) !== 1) {
      this.#bytes = bytes;
      this.#from = from;
      this.#to = to;
      this.inTrash = trash >= 0;
      return SEVERAL;
    }
    const nameservice = snapshot.destinationNameservice(mount, 0);
    if (nameservice >= this.#topology.nameservices.length) {
      return this.refuse(
        Failure.IO,
        `Cannot locate a registered namenode for ${snapshot.nameserviceName(nameservice)} from ${this.#settings.routerId}`,
      );
    }
    if (trash < 0 && !snapshot.sameAsTarget(mount)) this.#replace(snapshot, mount, 0, bytes, to);
    return nameservice;
  }

  /** The default nameservice and those that mount points lead to, as far as they are known here; ascending. */
  get nameservicesInUse(): readonly number[] {
    const snapshot = this.snapshot as MountSnapshot;
    if (this.#inUseEpoch !== snapshot.epoch) {
      const found = new Set<number>();
      if (this.#settings.defaultNameservice >= 0) found.add(this.#settings.defaultNameservice);
      for (let mount = 0; mount < snapshot.mountCount; mount++) {
        for (let i = 0; i < snapshot.destinationCount(mount); i++) found.add(snapshot.destinationNameservice(mount, i));
      }
      this.#inUse = Array.from(found)
        .filter((nameservice) => nameservice < this.#topology.nameservices.length)
        .sort((a, b) => a - b);
      this.#inUseEpoch = snapshot.epoch;
    }
    return this.#inUse;
  }

  refuse(className: string, message: string): number {
    this.className = className;
    this.message = message;
    return REFUSED;
  }

  /**
   * After `resolve` answered SEVERAL, before anything else is resolved: sets `path` and `prefixBytes` for destination `i` of the mount.
   * Inside the caller's trash the path stays as it is in each nameservice.
   */
  useDestination(i: number): void {
    const bytes = this.#bytes;
    this.path = this.#from === 0 && this.#to === bytes.length ? bytes : bytes.subarray(this.#from, this.#to);
    this.prefixBytes = 0;
    if (!this.inTrash) this.#replace(this.snapshot as MountSnapshot, this.mount, i, bytes, this.#to);
  }

  /** The target of the mount, then what of the path lies below the mount. */
  #replace(snapshot: MountSnapshot, mount: number, destination: number, bytes: Buffer, to: number): void {
    const targetStart = snapshot.destinationStart(mount, destination);
    const targetEnd = snapshot.destinationEnd(mount, destination);
    let prefix = targetEnd - targetStart;
    let rest = snapshot.matchedEnd;
    // A mount of `/` matches no byte, a target `/` has none; between target and rest stands one slash.
    if (rest < to && bytes[rest] === SLASH) rest++;
    const restBytes = to - rest;
    const joint = restBytes > 0 || prefix === 0 ? 1 : 0;
    const replaced = Buffer.allocUnsafe(prefix + joint + restBytes);
    snapshot.bytes.copy(replaced, 0, targetStart, targetEnd);
    if (joint === 1) replaced[prefix] = SLASH;
    bytes.copy(replaced, prefix + joint, rest, to);
    if (prefix === 0) prefix = 1;
    this.path = replaced;
    this.prefixBytes = prefix;
  }

  /**
   * A path inside its caller's trash goes, unchanged, where the path that was deleted lived: the end of `/user/NAME/.Trash/Current` or of
   * a checkpoint (digits, maybe `-` digits) when the path starts with it, else -1.
   */
  #trashEnd(call: Call, path: Buffer, start: number, end: number): number {
    // Most paths end here, after two bytes.
    if (path[start + 1] !== 0x75 || path[start + 2] !== 0x73) return -1;
    if (end - start < USER.length + TRASH.length + 2 || !matches(path, start, end, USER)) return -1;
    const name = (call.client as Client).identity.user;
    let at = start + USER.length;
    const nameBytes = Buffer.from(shortNameOf(name));
    if (!matches(path, at, end, nameBytes)) return -1;
    at += nameBytes.length;
    if (!matches(path, at, end, TRASH)) return -1;
    at += TRASH.length;
    const first = at;
    if (matches(path, at, end, CURRENT)) {
      at += CURRENT.length;
    } else {
      while (at < end && isDigit(path[at] as number)) at++;
      if (at === first) return -1;
      if (path[at] === 0x2d) {
        at++;
        while (at < end && isDigit(path[at] as number)) at++;
      }
    }
    return at === end || path[at] === SLASH ? at : -1;
  }

  #refuseAtMounts(bytes: Buffer, from: number, to: number): number {
    const path = textOf(bytes, from, to);
    if (this.mountsBelow) {
      const children = (this.snapshot as MountSnapshot).childrenOf(path) ?? [];
      return this.refuse(
        Failure.ACCESS_CONTROL,
        `The operation is not allowed because there are mount points: ${children.join(',')} under the path: ${path}`,
      );
    }
    return this.refuse(
      Failure.ACCESS_CONTROL,
      `The operation is not allowed because the path: ${path} is a mount point`,
    );
  }
}

function matches(path: Buffer, at: number, end: number, wanted: Buffer): boolean {
  return at + wanted.length <= end && path.compare(wanted, 0, wanted.length, at, at + wanted.length) === 0;
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

/** A principal's first component, as HDFS names its home directory. */
function shortNameOf(user: string): string {
  const at = user.search(/[/@]/);
  return at < 0 ? user : user.slice(0, at);
}
