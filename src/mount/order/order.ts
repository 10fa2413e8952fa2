import { type MountOrder, ORDERS } from '../entry.ts';
import type { MountSnapshot } from '../snapshot.ts';
import type { OrderFigures } from './figures.ts';
import { MAX_RING_POINTS, RingCache } from './hash-ring.ts';
import { uploadOf } from './multipart-uploads.ts';
import { reduceTemporaryName } from './temporary-names.ts';

/** Answer of `firstNameservice` when nothing comes before the order of the record. */
export const RECORD_ORDER = -1;

/** Mounts of one snapshot whose nameservices are remembered; at the limit they are forgotten, and looked up again. */
export const MAX_REMEMBERED_MOUNTS = 4_096;

/** The distinct nameservices of a mount: indexes in the snapshot and names, in the order of names. */
interface MountNameservices {
  readonly indexes: readonly number[];
  readonly names: readonly string[];
}

const rings = new RingCache(MAX_RING_POINTS);
const remembered = new WeakMap<MountSnapshot, Map<number, MountNameservices>>();

/**
 * Index in the snapshot of the nameservice that comes first for a path under a mount, or RECORD_ORDER. It is always one of the mount's own.
 *
 * `rawPath` is the path as the client sent it: Java routers hash it before they clean it of needless slashes, and files must be found under
 * the nameservice where those put them; only the parts of a multipart upload are kept together. `mountSourcePath` is the mount's source path;
 * for a path inside trash it is the path itself.
 * `clientAddress` as in ClientIdentity. `random` gives 0 up to but not 1. `preferencePercent`: how many of 100 files the order SPACE gives to
 * the nameservice with more space.
 */
export function firstNameservice(
  snapshot: MountSnapshot,
  mount: number,
  rawPath: string,
  mountSourcePath: string,
  clientAddress: string,
  figures: OrderFigures,
  random: () => number,
  preferencePercent: number,
): number {
  if (snapshot.destinationCount(mount) < 2) return RECORD_ORDER;
  const order = ORDERS[snapshot.orderOf(mount)] as MountOrder;
  const upload = order === 'HASH' || order === 'LEADER_FOLLOWER' ? null : uploadOf(rawPath);
  if (upload !== null) return hashOwner(snapshot, mount, upload);
  switch (order) {
    case 'HASH':
      return hashOwner(snapshot, mount, cutToChild(rawPath, mountSourcePath));
    case 'HASH_ALL':
      return hashOwner(snapshot, mount, rawPath);
    case 'LOCAL':
      return localNameservice(snapshot, mount, figures.nameserviceOfClient(clientAddress));
    case 'RANDOM': {
      const { indexes } = nameservicesOf(snapshot, mount);
      return indexes[chooseBelow(indexes.length, random)] as number;
    }
    case 'SPACE':
      return chooseBySpace(nameservicesOf(snapshot, mount).indexes, figures, random, preferencePercent);
    case 'LEADER_FOLLOWER':
      return snapshot.destinationNameservice(mount, 0);
  }
}

/**
 * Numbers of the mount's destinations in the order to ask them: those in nameservice `first` before the others. Several in it come in
 * reverse record order, as Java routers ask them; the others keep record order, and with RECORD_ORDER all do.
 */
export function orderDestinations(snapshot: MountSnapshot, mount: number, first: number): number[] {
  const count = snapshot.destinationCount(mount);
  const order: number[] = [];
  for (let i = count - 1; i >= 0; i--) {
    if (snapshot.destinationNameservice(mount, i) === first) order.push(i);
  }
  for (let i = 0; i < count; i++) {
    if (snapshot.destinationNameservice(mount, i) !== first) order.push(i);
  }
  return order;
}

/** What HASH looks at: the mount's source path and the first name below it. A double slash below the mount hides that name, as in Java. */
function cutToChild(rawPath: string, mountSourcePath: string): string {
  if (rawPath.length <= mountSourcePath.length) return mountSourcePath;
  const start = mountSourcePath.length + (rawPath[mountSourcePath.length] === '/' ? 1 : 0);
  const slash = rawPath.indexOf('/', start);
  const child = rawPath.slice(start, slash < 0 ? rawPath.length : slash);
  if (child === '') return mountSourcePath;
  return mountSourcePath.endsWith('/') ? `${mountSourcePath}${child}` : `${mountSourcePath}/${child}`;
}

function hashOwner(snapshot: MountSnapshot, mount: number, path: string): number {
  const { indexes, names } = nameservicesOf(snapshot, mount);
  return indexes[rings.ringOf(names).ownerOf(reduceTemporaryName(path))] as number;
}

function localNameservice(snapshot: MountSnapshot, mount: number, nameservice: number): number {
  if (nameservice < 0) return RECORD_ORDER;
  for (let i = 0; i < snapshot.destinationCount(mount); i++) {
    if (snapshot.destinationNameservice(mount, i) === nameservice) return nameservice;
  }
  return RECORD_ORDER;
}

/**
 * The nameservice with the most space with a chance of `preferencePercent`, else the one with the next most, again with that chance, and so
 * on; the last takes the rest. Of two nameservices that is how Java routers choose; of more, none is likelier than a larger one as long as
 * the preference is 50 or more. Equals share evenly. A nameservice of unknown space is never chosen; when none is known: RECORD_ORDER.
 */
function chooseBySpace(
  indexes: readonly number[],
  figures: OrderFigures,
  random: () => number,
  preferencePercent: number,
): number {
  const known = indexes.filter((nameservice) => figures.availableBytes(nameservice) >= 0);
  if (known.length === 0) return RECORD_ORDER;
  known.sort((a, b) => figures.availableBytes(b) - figures.availableBytes(a));
  let rank = 0;
  while (rank < known.length - 1 && chooseBelow(100, random) >= preferencePercent) rank++;
  const bytes = figures.availableBytes(known[rank] as number);
  let start = rank;
  while (start > 0 && figures.availableBytes(known[start - 1] as number) === bytes) start--;
  let end = rank + 1;
  while (end < known.length && figures.availableBytes(known[end] as number) === bytes) end++;
  return known[start + chooseBelow(end - start, random)] as number;
}

function chooseBelow(below: number, random: () => number): number {
  return Math.floor(random() * below);
}

function nameservicesOf(snapshot: MountSnapshot, mount: number): MountNameservices {
  let mounts = remembered.get(snapshot);
  if (mounts === undefined) {
    mounts = new Map();
    remembered.set(snapshot, mounts);
  }
  let found = mounts.get(mount);
  if (found === undefined) {
    found = readNameservices(snapshot, mount);
    if (mounts.size >= MAX_REMEMBERED_MOUNTS) mounts.clear();
    mounts.set(mount, found);
  }
  return found;
}

function readNameservices(snapshot: MountSnapshot, mount: number): MountNameservices {
  const byName = new Map<string, number>();
  for (let i = 0; i < snapshot.destinationCount(mount); i++) {
    const nameservice = snapshot.destinationNameservice(mount, i);
    byName.set(snapshot.nameserviceName(nameservice), nameservice);
  }
  const names = Array.from(byName.keys()).sort();
  return { names, indexes: names.map((name) => byName.get(name) as number) };
}
