import type { Call } from '../call/call.ts';
import type { Client } from '../call/client.ts';
import type { Engine } from '../call/engine.ts';
import { type Place, SEVERAL, trashRootOf } from '../call/resolve.ts';
import { nameservicesAtOrBelow } from '../mount/nameservices-below.ts';
import type { MountSnapshot } from '../mount/snapshot.ts';
import type { Target } from './composition.ts';

/**
 * A directory of the caller's trash that holds what was deleted in several nameservices.
 *
 * What is deleted goes to a trash in its own nameservice, for a file moves only within one: `/mnt/a/f` to `/user/u/.Trash/Current/mnt/a/f`
 * there, whatever nameservice `/user` is in. Below a mount point's path the trash is therefore that of the mount's nameservices (the
 * resolver finds them). The directories above are shared: `Current` and checkpoints by all nameservices that mount points lead to and the
 * default one, `Current/mnt` by its own and by those of the mount points below `/mnt`, and `/user/u/.Trash` is at home where any file of
 * `/user/u` is, and holds the `Current` and the checkpoints of all. Each exists where it exists: what is asked for is asked of all, what is
 * changed is changed everywhere it exists. New ones are made where their own path leads.
 */
export interface TrashDirectory {
  /** Where it may exist; its own nameservice first, if it has one. */
  readonly targets: readonly Target[];
  /**
   * Whether clients can reach the name that a listing of target number `target` holds. A name that they reach elsewhere must not be shown:
   * nobody could open it.
   */
  shows(name: string, target: number): boolean;
  /** Of `/user/NAME/.Trash`: where it may be outside what a listing of the home directory's own locations shows. */
  readonly elsewhere: readonly Target[];
}

/** What the home directory is called in its trash's path. */
const TRASH_END = '/.Trash';

const TRASH_NAME = /^(?:Current|\d+(?:-\d*)?)$/;

/** The shared directory of the caller's trash that the path names; null for every other path, also in the trash. */
export function trashTargets(engine: Engine, call: Call, spelled: Buffer): TrashDirectory | null {
  const { resolver } = engine;
  const found = resolver.resolve(call, spelled, 0, spelled.length, false);
  return found === SEVERAL ? sharedTrash(engine) : null;
}

/** The caller's trash where it is part of what lies below a path, though not all of it is in the nameservices of that path. */
export interface StrayTrash {
  /** `/user/NAME/.Trash` */
  readonly path: string;
  /** All its places, and those that the locations of the home directory do not have. */
  readonly targets: readonly Target[];
  readonly elsewhere: readonly Target[];
}

/** Of the caller's home directory: its trash, when some of it may be outside the locations of the directory. Null for every other path. */
export function strayTrashOfHome(engine: Engine, call: Call, path: string): StrayTrash | null {
  const root = trashRootOf(call.client as Client);
  const trash = root.toString();
  if (path !== trash.slice(0, -TRASH_END.length)) return null;
  const shared = trashTargets(engine, call, root);
  return shared === null || shared.elsewhere.length === 0 ? null : { path: trash, ...shared };
}

/** As `strayTrashOfHome`, also for the directories above: what a walk of them comes to. */
export function strayTrashBelow(engine: Engine, call: Call, path: string): StrayTrash | null {
  const trash = trashRootOf(call.client as Client).toString();
  const home = trash.slice(0, -TRASH_END.length);
  const isAbove = path === '/' || home.startsWith(`${path}/`);
  return isAbove || path === home ? strayTrashOfHome(engine, call, home) : null;
}

/** As `trashTargets`, directly after the resolver answered SEVERAL for the path. */
export function sharedTrash(engine: Engine): TrashDirectory | null {
  const { resolver } = engine;
  const { shared } = resolver;
  if (shared === null) return null;
  const path = shared.path;
  const inTrash: Target[] = shared.nameservices.map((nameservice) => ({ nameservice, path, prefixBytes: 0 }));
  if (!shared.isRoot) {
    return {
      targets: inTrash,
      shows: (name, target) => showsBelow(engine, shared.below, inTrash, name, target),
      elsewhere: [],
    };
  }
  // Own places that are the trash of a nameservice as well are asked once.
  const isOwn = (target: Target): boolean => shared.own.some((own) => isSamePlace(own, target, path));
  const targets = withPlaces([
    ...shared.own.filter((own) => !inTrash.some((target) => isSamePlace(own, target, path))),
    ...inTrash,
  ]);
  const ownOnly = targets.length - inTrash.length;
  return {
    targets,
    elsewhere: targets.slice(targets.length - inTrash.length).filter((target) => !isOwn(target)),
    shows: (name, at) => (TRASH_NAME.test(name) ? at >= ownOnly : at < ownOnly || isOwn(targets[at] as Target)),
  };
}

/** A nameservice that has two of them is to take its requests for two calls. */
function withPlaces(targets: readonly Target[]): Target[] {
  const places = new Map<number, number>();
  return targets.map((target) => {
    const place = places.get(target.nameservice) ?? 0;
    places.set(target.nameservice, place + 1);
    return { ...target, place };
  });
}

/** The first path may be null: it is `path` as well. */
function isSamePlace(own: Place, target: Target, path: Buffer): boolean {
  return own.nameservice === target.nameservice && (own.path === null || own.path.equals(path));
}

/** `below` is the path that the trash directory stands for, '' for the root; the mount table is looked at as it is now. */
function showsBelow(engine: Engine, below: string, targets: readonly Target[], name: string, target: number): boolean {
  const nameservice = (targets[target] as Target).nameservice;
  const snapshot = engine.resolver.snapshot as MountSnapshot;
  return nameservicesAtOrBelow(snapshot, `${below}/${name}`, engine.settings.defaultNameservice).includes(nameservice);
}
