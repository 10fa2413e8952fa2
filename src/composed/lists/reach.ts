import type { Call } from '../../call/call.ts';
import type { Engine } from '../../call/engine.ts';
import { Failure } from '../../call/failure.ts';
import type { MountSnapshot } from '../../mount/snapshot.ts';
import { textOf } from '../../wire/text.ts';
import type { Target } from '../composition.ts';
import { NO_NAMESERVICE } from '../everywhere/fan-out.ts';
import { enabledNameservices } from '../everywhere/nameservices.ts';
import { type Located, locate, requireTargets } from '../locate.ts';
import { Refused } from '../refused.ts';
import { type ClientPaths, isAtOrBelow, joinPath } from './client-path.ts';

/** With more mount points below a path the nameservices are asked for all they have. */
export const MAX_NARROWED_MOUNTS = 4_096;

/**
 * Which nameservices have a part in a list of what lies at and below a path, and where it lies there. What is found in `directories` may be more
 * than a client sees: `clientPathOf` decides.
 */
export class Reach {
  /** The client's, in canonical form. */
  readonly path: string;
  /** By nameservice a directory that has all of it; `/` for the whole nameservice. */
  readonly directories: ReadonlyMap<number, string>;
  readonly #paths: ClientPaths;
  /** Places that the index of mount points does not know: directories of the caller's trash. */
  readonly #trash: readonly Target[];

  constructor(
    path: string,
    directories: ReadonlyMap<number, string>,
    paths: ClientPaths,
    trash: readonly Target[] = [],
  ) {
    this.path = path;
    this.directories = directories;
    this.#paths = paths;
    this.#trash = trash;
  }

  /** The client's path of what a nameservice named; null when it is not at or below the path, or no path shows it. */
  clientPathOf(nameservice: number, path: string): string | null {
    const found = this.#paths.clientPathOf(nameservice, path, this.path);
    if (found !== null) return found;
    for (const target of this.#trash) {
      const top = target.path === null ? this.path : textOf(target.path, 0, target.path.length);
      if (target.nameservice !== nameservice || !isAtOrBelow(path, top)) continue;
      return path === top ? this.path : joinPath(this.path, path.slice(top === '/' ? 1 : top.length + 1));
    }
    return null;
  }

  /** The request for a nameservice takes its directory in place of the client's path. */
  targetOf(nameservice: number): Target {
    const directory = this.directories.get(nameservice) ?? '/';
    const isSame = directory === this.path;
    const path = isSame ? null : Buffer.from(directory);
    return { nameservice, path, prefixBytes: path === null ? 0 : path.length };
  }
}

/** Of everything: the nameservices that mount points lead to, and the default one. Throws Refused when there is none. */
export function reachOfAll(engine: Engine, paths: ClientPaths): Reach {
  const enabled = new Set(enabledNameservices(engine));
  const inUse = engine.resolver.nameservicesInUse.filter((nameservice) => enabled.has(nameservice));
  if (inUse.length === 0) throw new Refused(Failure.IO, NO_NAMESERVICE);
  return new Reach('/', new Map(inUse.map((nameservice) => [nameservice, '/'])), paths);
}

/** Of what lies at and below the path; an empty one is the root. Throws Refused. */
export function reachOf(engine: Engine, call: Call, spelled: Buffer, paths: ClientPaths): Reach {
  if (/^\/*$/.test(textOf(spelled, 0, spelled.length))) return reachOfAll(engine, paths);
  const located = locate(engine, call, spelled, false);
  const inTrash = engine.resolver.inTrash || located.trash !== null;
  if (!located.mountsBelow) requireTargets(located);
  const directories = new Map<number, string>();
  for (const { nameservice, path } of located.targets) {
    addDirectory(directories, nameservice, path === null ? located.path : textOf(path, 0, path.length));
  }
  if (located.mountsBelow) addMountsBelow(engine, located, directories);
  return new Reach(located.path, directories, paths, inTrash ? located.targets : []);
}

function addMountsBelow(engine: Engine, { path }: Located, directories: Map<number, string>): void {
  const snapshot = engine.resolver.snapshot as MountSnapshot;
  const enabled = new Set(enabledNameservices(engine));
  const mounts = snapshot.mountsUnder(path);
  if (mounts.length > MAX_NARROWED_MOUNTS) {
    for (const nameservice of engine.resolver.nameservicesInUse) {
      if (enabled.has(nameservice)) directories.set(nameservice, '/');
    }
    return;
  }
  for (const mount of mounts) {
    for (let i = 0; i < snapshot.destinationCount(mount); i++) {
      const nameservice = snapshot.destinationNameservice(mount, i);
      if (!enabled.has(nameservice)) continue;
      const start = snapshot.destinationStart(mount, i);
      const end = snapshot.destinationEnd(mount, i);
      addDirectory(directories, nameservice, textOf(snapshot.bytes, start, end) || '/');
    }
  }
}

function addDirectory(directories: Map<number, string>, nameservice: number, path: string): void {
  const other = directories.get(nameservice);
  directories.set(nameservice, other === undefined ? path : commonDirectory(other, path));
}

/** The deepest directory that is both paths or above them. */
export function commonDirectory(a: string, b: string): string {
  let top = a;
  while (!isAtOrBelow(b, top)) top = top.slice(0, top.lastIndexOf('/')) || '/';
  return top;
}
