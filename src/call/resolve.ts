import { isCanonicalPath, writeCanonicalPath } from '../mount/canonical.ts';
import { nameservicesAtOrBelow } from '../mount/nameservices-below.ts';
import { MountQuotas } from '../mount/quota.ts';
import { type MountSnapshot, NO_MOUNT } from '../mount/snapshot.ts';
import type { ControlBlock } from '../shared/control-block.ts';
import type { Settings, Topology } from '../shared/settings.ts';
import { textOf } from '../wire/text.ts';
import type { Call } from './call.ts';
import { type Client, shortNameOf } from './client.ts';
import { Failure, READ_ONLY } from './failure.ts';
import type { Method } from './method.ts';

/** `resolve` found no single nameservice: `className` and `message` say why. */
export const REFUSED = -1;
/** The path names a file by its inode, and several nameservices may have that number: `nameservicesInUse`. */
export const BY_INODE = -2;
/** The path lies on a mount with several destinations, or is a directory of the trash that several share: `locate` in composed/ names them. */
export const SEVERAL = -3;

const SLASH = 0x2f;
const NO_BYTES = Buffer.alloc(0);
const ROOT = Buffer.from('/');
const TRASH = '/.Trash';
const CURRENT = Buffer.from('Current');
const INODES = Buffer.from('/.reserved/.inodes/');
/** What these make in the trash they make in one nameservice, that of the path. */
const MAKING: ReadonlySet<string> = new Set(['create', 'mkdirs', 'createSymlink']);

/** A place of a path: in a nameservice, what replaces it there (null: it stays), and how many bytes of that are the mount's own target. */
export interface Place {
  readonly nameservice: number;
  readonly path: Buffer | null;
  readonly prefixBytes: number;
}

/** A directory of the caller's trash that several nameservices may have (composed/trash.ts says why). */
export interface SharedTrash {
  /** In canonical form; it is the same in all `nameservices`. */
  readonly path: Buffer;
  /** Own one first. */
  readonly nameservices: readonly number[];
  /** What lived there before it was deleted: the path behind `Current` or the checkpoint; '' for the root of the namespace. */
  readonly below: string;
  /** It is `/user/NAME/.Trash`, which has places of its own besides: those of an ordinary path. */
  readonly isRoot: boolean;
  readonly own: readonly Place[];
}

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
  /** The path lies in its caller's trash, below `Current` or a checkpoint. */
  inTrash = false;
  /** The path is its caller's home directory, `/user/NAME`. */
  atHome = false;
  /** After SEVERAL: the directory of the caller's trash that it is; null for a mount with several destinations. */
  shared: SharedTrash | null = null;
  /** The path is `/user/NAME/.Trash` of its caller. */
  #atTrashRoot = false;
  /** In trash: where in #bytes the part behind `Current` or the checkpoint starts, and whether mount points lie below it. */
  #trash = 0;
  #trashMountsBelow = false;
  /** In or at the trash and after SEVERAL: the canonical path, bytes[from, to). */
  #bytes: Buffer = NO_BYTES;
  #from = 0;
  #to = 0;
  /** Limits of mount points; their use is given to it. */
  readonly quotas: MountQuotas;
  readonly #settings: Settings;
  readonly #topology: Topology;
  /** Knows which nameservices are disabled. */
  readonly #block: ControlBlock | null;
  #inUse: readonly number[] = [];
  #inUseEpoch = 0;

  constructor(settings: Settings, topology: Topology, block: ControlBlock | null = null) {
    this.quotas = new MountQuotas(settings.quotaEnabled);
    this.#settings = settings;
    this.#topology = topology;
    this.#block = block;
  }

  get epoch(): number {
    return this.snapshot === null ? 0 : this.snapshot.epoch;
  }

  /** Nameservice of path[start, end) for this call, or REFUSED. `mountCheck`: refuse mount points and what lies above them. */
  resolve(call: Call, path: Buffer, start: number, end: number, mountCheck: boolean): number {
    const found = this.#resolveOwn(call, path, start, end, mountCheck);
    return this.inTrash || this.#atTrashRoot ? this.#resolveTrash(call, found) : found;
  }

  /** Where the path itself leads. */
  #resolveOwn(call: Call, path: Buffer, start: number, end: number, mountCheck: boolean): number {
    const snapshot = this.snapshot as MountSnapshot;
    this.path = null;
    this.prefixBytes = 0;
    this.shared = null;
    this.#atTrashRoot = false;
    this.atHome = false;
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
    let mount: number;
    if (trash < 0) mount = snapshot.find(bytes, from, to);
    // What lay in the root goes directly into `Current`.
    else mount = trash === to ? snapshot.find(ROOT, 0, ROOT.length) : snapshot.find(bytes, trash, to);
    this.mount = mount;
    this.inTrash = trash >= 0;
    if (this.inTrash || this.#atTrashRoot) {
      this.#bytes = bytes;
      this.#from = from;
      this.#to = to;
      this.#trash = trash;
      this.#trashMountsBelow = trash === to ? snapshot.mountCount > 0 : snapshot.mountsBelow;
    }
    this.atMount = trash < 0 && snapshot.atMount;
    this.mountsBelow = trash < 0 && snapshot.mountsBelow;
    if (mountCheck && (this.atMount || this.mountsBelow)) return this.#refuseAtMounts(bytes, from, to);
    // What was deleted lies beside the mount, not in it: it may go although nothing below the mount may change.
    if (
      mount !== NO_MOUNT &&
      !this.inTrash &&
      (call.method as Method).effect === 'write' &&
      snapshot.isReadOnly(mount)
    ) {
      return this.refuse(Failure.IO, `${textOf(bytes, from, to)} ${READ_ONLY}`);
    }
    if (
      this.quotas.active &&
      mount !== NO_MOUNT &&
      !this.inTrash &&
      (call.method as Method).quotaCheck &&
      this.quotas.isReached(snapshot, mount)
    ) {
      const violation = this.quotas.violation(snapshot, mount, (call.method as Method).name);
      if (violation !== null) return this.refuse(violation.className, violation.message);
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
      const own = this.#settings.defaultNameservice;
      if (own >= 0) return this.#isDisabled(own) ? this.#refuseDisabled(bytes, from, to) : own;
      return this.refuse(
        Failure.NO_RESOLUTION,
        `Cannot find locations for ${textOf(bytes, from, to)}, because the default nameservice is disabled to read or write`,
      );
    }
    if (this.#block?.anyDisabled === true && this.#isDisabledMount(snapshot, mount)) {
      return this.#refuseDisabled(bytes, from, to);
    }
    if (snapshot.destinationCount(mount) !== 1) {
      this.#bytes = bytes;
      this.#from = from;
      this.#to = to;
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

  /** After REFUSED: nothing covers the path, or only disabled nameservices do; mount points may show it nevertheless. */
  get isUnresolved(): boolean {
    return this.className === Failure.NO_RESOLUTION || this.className === Failure.NO_LOCATION;
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

  /** Directly after `#resolveOwn`, of a path at or in the caller's trash: `found`, or what the nameservices that share it make of that. */
  #resolveTrash(call: Call, found: number): number {
    if (found < 0 && found !== SEVERAL && !this.isUnresolved) return found;
    if (MAKING.has((call.method as Method).name)) return found;
    const isRoot = this.#atTrashRoot;
    if (!isRoot && !this.#trashMountsBelow) return found;
    const own = isRoot ? this.#places(found) : [];
    const path = Buffer.from(this.#bytes.subarray(this.#from, this.#to));
    const below = isRoot ? '' : textOf(this.#bytes, this.#trash, this.#to);
    const nameservices = this.#trashNameservices(below);
    const [first] = nameservices;
    if (first === undefined) return found;
    if (nameservices.length === 1 && own.every((place) => isPlace(place, first, path))) {
      // One place; the path stays as it is there.
      if (found === SEVERAL || found < 0) this.path = path;
      return first;
    }
    this.shared = { path, nameservices, below, isRoot, own };
    return SEVERAL;
  }

  #trashNameservices(below: string): readonly number[] {
    const own = this.#settings.defaultNameservice;
    if (below !== '') {
      const known = this.#topology.nameservices.length;
      return nameservicesAtOrBelow(this.snapshot as MountSnapshot, below, own).filter(
        (each) => each < known && !this.#isDisabled(each),
      );
    }
    const all = this.nameservicesInUse.filter((each) => !this.#isDisabled(each));
    return own < 0 || !all.includes(own) ? all : [own].concat(all.filter((each) => each !== own));
  }

  /** Where an ordinary path lies that was just resolved. */
  #places(found: number): Place[] {
    if (found >= 0) return [{ nameservice: found, path: this.path, prefixBytes: this.prefixBytes }];
    const places: Place[] = [];
    if (found !== SEVERAL) return places;
    const snapshot = this.snapshot as MountSnapshot;
    for (let i = 0; i < snapshot.destinationCount(this.mount); i++) {
      const nameservice = snapshot.destinationNameservice(this.mount, i);
      if (this.#isDisabled(nameservice)) continue;
      this.useDestination(i);
      places.push({ nameservice, path: this.path, prefixBytes: this.prefixBytes });
    }
    return places;
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
   * a checkpoint (digits, maybe `-` digits) when the path starts with it, else -1. Sees `/user/NAME/.Trash` itself, too.
   */
  #trashEnd(call: Call, path: Buffer, start: number, end: number): number {
    // Most paths end here, after two bytes.
    if (path[start + 1] !== 0x75 || path[start + 2] !== 0x73) return -1;
    const root = trashRootOf(call.client as Client);
    if (!matches(path, start, end, root)) {
      const home = root.length - TRASH.length;
      this.atHome = end - start === home && path.compare(root, 0, home, start, end) === 0;
      return -1;
    }
    let at = start + root.length;
    if (at === end) this.#atTrashRoot = true;
    if (path[at] !== SLASH || at === end) return -1;
    at++;
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

  #isDisabled(nameservice: number): boolean {
    const block = this.#block;
    return block?.anyDisabled === true && block.isDisabled(nameservice);
  }

  #isDisabledMount(snapshot: MountSnapshot, mount: number): boolean {
    for (let i = 0; i < snapshot.destinationCount(mount); i++) {
      if (!this.#isDisabled(snapshot.destinationNameservice(mount, i))) return false;
    }
    return true;
  }

  #refuseDisabled(bytes: Buffer, from: number, to: number): number {
    const path = textOf(bytes, from, to);
    return this.refuse(Failure.NO_LOCATION, `Cannot find locations for ${path} in ${this.#settings.resolverName}`);
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

/** The path of its trash: `/user/NAME/.Trash`. */
export function trashRootOf(client: Client): Buffer {
  client.trashRoot ??= Buffer.from(`/user/${shortNameOf(client.identity.user)}${TRASH}`);
  return client.trashRoot;
}

function matches(path: Buffer, at: number, end: number, wanted: Buffer): boolean {
  return at + wanted.length <= end && path.compare(wanted, 0, wanted.length, at, at + wanted.length) === 0;
}

function isPlace({ nameservice, path }: Place, expected: number, expectedPath: Buffer): boolean {
  return nameservice === expected && (path === null || path.equals(expectedPath));
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}
