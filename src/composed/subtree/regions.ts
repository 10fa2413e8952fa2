import type { Engine } from '../../call/engine.ts';
import { Failure } from '../../call/failure.ts';
import { isAllOrder, ORDERS } from '../../mount/entry.ts';
import type { MountSnapshot } from '../../mount/snapshot.ts';
import { textOf } from '../../wire/text.ts';
import type { Target } from '../composition.ts';
import type { Located } from '../locate.ts';
import { Refused } from '../refused.ts';
import type { StrayTrash } from '../trash.ts';

/** A directory (or file) of a nameservice, its path in canonical form. */
export interface Place {
  readonly nameservice: number;
  readonly path: string;
  /** Bytes of the mount's own target at the front of the path. */
  readonly prefixBytes: number;
}

/** One location of a region. */
export interface RegionPlace extends Place {
  /** What of it mount points hide: one for each of the region's `hidden`. */
  readonly shadows: readonly Place[];
}

/** A part of what a client sees below a path: up to the next mount points it comes from one path in one or several nameservices. */
export interface Region {
  /** The client's path of its top: the path asked for, or a mount point. */
  readonly clientPath: string;
  /** Empty when no nameservice covers it. */
  readonly places: readonly RegionPlace[];
  /** Directories exist in all of its places. */
  readonly everywhere: boolean;
  /** Mount points that are the next below it. */
  readonly hidden: readonly string[];
  /** Directories that mount points below need, between its top and them, by their clients' paths; each may exist or not. */
  readonly between: readonly string[];
  /** It is the caller's trash, no mount point: nothing is there unless a place has it. */
  readonly isTrash: boolean;
}

/** Requests that one call may need at most, about: they are found in one turn of the thread. A mount table that needs more is refused. */
export const MAX_SUBTREE_PLACES = 10_000;

interface Draft {
  clientPath: string;
  places: Place[];
  everywhere: boolean;
  hidden: string[];
  between: Set<string>;
  isTrash: boolean;
}

/**
 * The regions of a path: its own first, then that of each mount point below it, and that of the trash in the caller's home directory. Plain data, to be kept over an `await`. Throws Refused when
 * there are more places than MAX_SUBTREE_PLACES.
 */
export function regionsOf(engine: Engine, located: Located, trash: StrayTrash | null = null): Region[] {
  const snapshot = engine.resolver.snapshot as MountSnapshot;
  const own: Draft = {
    clientPath: located.path,
    places: located.targets.map((target) => placeOf(target, located.path)),
    // What trash directories of several nameservices hold differs.
    everywhere: located.everywhere && located.trash === null,
    hidden: [],
    between: new Set(),
    isTrash: false,
  };
  const drafts = [own];
  if (located.mountsBelow) addMounts(engine, snapshot, drafts);
  if (trash !== null) addTrash(drafts, trash);
  let places = 0;
  for (const { places: own, hidden, between } of drafts) places += own.length * (1 + hidden.length + between.size);
  if (places > MAX_SUBTREE_PLACES) throw tooMany(located.path);
  return drafts.map(finish);
}

function placeOf({ nameservice, path, prefixBytes }: Target, clientPath: string): Place {
  return { nameservice, path: path === null ? clientPath : textOf(path, 0, path.length), prefixBytes };
}

/** In place of what the locations of the home directory have of it, for these are among its own. */
function addTrash(drafts: Draft[], { path, targets }: StrayTrash): void {
  let parent = drafts[0] as Draft;
  for (const draft of drafts) {
    const isNearer = draft.clientPath.length > parent.clientPath.length;
    if (isNearer && isBelow(path, draft.clientPath)) parent = draft;
  }
  // Without a home directory clients see no trash in it.
  if (parent.places.length === 0) return;
  parent.hidden.push(path);
  drafts.push({
    clientPath: path,
    places: targets.map((target) => placeOf(target, path)),
    everywhere: false,
    hidden: [],
    between: new Set(),
    isTrash: true,
  });
}

function tooMany(path: string): Refused {
  const message = `The mount points below ${path} lead to more than ${MAX_SUBTREE_PLACES} places, which is too much for one call; ask for directories below it`;
  return new Refused(Failure.IO, message);
}

/** Mounts come in slash-first order: those above one stand on the stack. */
function addMounts(engine: Engine, snapshot: MountSnapshot, drafts: Draft[]): void {
  const above = [drafts[0] as Draft];
  const asked = (drafts[0] as Draft).clientPath;
  const mounts = snapshot.mountsUnder(asked);
  if (mounts.length > MAX_SUBTREE_PLACES) throw tooMany(asked);
  for (const mount of mounts) {
    const source = snapshot.sourceOf(mount);
    if (source === asked) continue;
    while (!isBelow(source, (above.at(-1) as Draft).clientPath)) above.pop();
    const parent = above.at(-1) as Draft;
    parent.hidden.push(source);
    const top = parent.clientPath === '/' ? 0 : parent.clientPath.length;
    for (let end = source.indexOf('/', top + 1); end > 0; end = source.indexOf('/', end + 1)) {
      parent.between.add(source.slice(0, end));
    }
    const draft: Draft = {
      clientPath: source,
      places: destinationsOf(engine, snapshot, mount),
      everywhere: isAllOrder(ORDERS[snapshot.orderOf(mount)] ?? 'HASH'),
      hidden: [],
      between: new Set(),
      isTrash: false,
    };
    drafts.push(draft);
    above.push(draft);
  }
}

function destinationsOf({ block }: Engine, snapshot: MountSnapshot, mount: number): Place[] {
  const places: Place[] = [];
  for (let i = 0; i < snapshot.destinationCount(mount); i++) {
    const nameservice = snapshot.destinationNameservice(mount, i);
    if (block.anyDisabled && block.isDisabled(nameservice)) continue;
    const start = snapshot.destinationStart(mount, i);
    const end = snapshot.destinationEnd(mount, i);
    const path = start === end ? '/' : textOf(snapshot.bytes, start, end);
    if (places.some((other) => other.nameservice === nameservice && other.path === path)) continue;
    places.push({ nameservice, path, prefixBytes: Math.max(1, end - start) });
  }
  return places;
}

function finish({ clientPath, places, everywhere, hidden, between, isTrash }: Draft): Region {
  return {
    clientPath,
    places: places.map((place) => ({ ...place, shadows: hidden.map((path) => placeAt(place, clientPath, path)) })),
    everywhere: everywhere && places.length > 1,
    hidden,
    between: [...between],
    isTrash,
  };
}

/** Where a client's path below a region's top lies in one of its places. */
export function placeAt(place: Place, top: string, clientPath: string): Place {
  const rest = top === '/' ? clientPath : clientPath.slice(top.length);
  const path = place.path === '/' ? rest : place.path + rest;
  return { nameservice: place.nameservice, path, prefixBytes: place.prefixBytes };
}

function isBelow(path: string, directory: string): boolean {
  return directory === '/' ? path !== '/' : path.startsWith(`${directory}/`);
}
