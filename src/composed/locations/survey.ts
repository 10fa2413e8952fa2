import type { Plain } from '../../wire/messages.ts';
import type { Failed } from '../answer.ts';
import type { AskOptions, Composition, Target } from '../composition.ts';
import type { Located } from '../locate.ts';
import { clientMethod, type Request } from '../request.ts';
import { failoverWaitMs } from '../waiting.ts';

const GET_FILE_INFO = clientMethod('getFileInfo');
const MKDIRS = clientMethod('mkdirs');
/** With the sticky bit. */
const PERMISSION_MASK = 0o1777;
const SLASH = 0x2f;

/** Directories above a path that are looked at when its parent does not exist; those further up count as there. */
export const MAX_SURVEYED_LEVELS = 64;
/** So many of them at one time. */
const LEVELS_AT_ONCE = 8;

/** A path and where it lies. */
export interface Spot {
  /** The client's, in canonical form. */
  readonly path: string;
  readonly targets: readonly Target[];
}

/** What one location says of a path. */
export interface Standing {
  /** Number of the location: the same for all spots on the way up from one path. */
  readonly location: number;
  readonly target: Target;
  /** `unknown`: see `failed`. */
  readonly kind: 'nothing' | 'file' | 'directory' | 'unknown';
  /** HdfsFileStatusProto of a file or directory. */
  readonly status: Plain;
  readonly failed: Failed | null;
}

/**
 * How long locations are waited for before something is made in them. Fault tolerant mounts go on without a nameservice that is known to be
 * down, and without one that was reached but does not answer, after the time that a failover takes.
 */
export function patienceOf(c: Composition, { faultTolerant }: Located): AskOptions {
  const waitMs = failoverWaitMs(c.engine);
  return faultTolerant ? { unansweredMs: waitMs } : { unreachedMs: waitMs };
}

/** The spot without the locations that could not be asked, as `standings` say: these are not waited for again. */
export function narrowToReached(spot: Spot, standings: readonly Standing[]): Spot {
  return { path: spot.path, targets: spot.targets.filter((_, i) => isReachable(standings[i] as Standing)) };
}

/** The parent, at the same locations; null when the path is the root of the mount's targets. */
export function spotAbove(spot: Spot): Spot | null {
  const end = spot.path.lastIndexOf('/');
  if (spot.path === '/' || spot.targets.length === 0) return null;
  const targets: Target[] = [];
  for (const target of spot.targets) {
    const { path, prefixBytes } = target;
    if (path === null || isTargetRoot(target)) return null;
    const slash = path.lastIndexOf(SLASH);
    const bytes = Math.max(slash, 1);
    if (bytes < prefixBytes) return null;
    targets.push({ ...target, path: path.subarray(0, bytes) });
  }
  return { path: spot.path.slice(0, end) || '/', targets };
}

/** Status of each of the spots at all its locations, all at once. */
export async function survey(c: Composition, spots: readonly Spot[], options: AskOptions = {}): Promise<Standing[][]> {
  const asked: { request: Request; target: Target }[] = [];
  for (const { path, targets } of spots) {
    const request = c.other(GET_FILE_INFO, { src: path });
    for (const target of targets) asked.push({ request, target });
  }
  const answers = await c.askEach(asked, options);
  let next = 0;
  return spots.map(({ targets }) =>
    targets.map((target, location): Standing => {
      const answer = answers[next++] as (typeof answers)[number];
      if (!answer.ok) return { location, target, kind: 'unknown', status: {}, failed: answer };
      const status = c.read(answer.body, GET_FILE_INFO)['fs'] as Plain | undefined;
      if (status === undefined) return { location, target, kind: 'nothing', status: {}, failed: null };
      const kind = status['fileType'] === 'IS_DIR' ? 'directory' : 'file';
      return { location, target, kind, status, failed: null };
    }),
  );
}

/**
 * The lowest directory (or file) above the spot's parent that any location has: what all locations say of it. Null when there is none. `end`:
 * with the roots of the mount's targets or without them.
 */
export async function findNearestAbove(
  c: Composition,
  parent: Spot,
  options: AskOptions,
  end: 'root' | 'below the root' = 'root',
): Promise<Standing[] | null> {
  const isAsked = (spot: Spot | null): spot is Spot => spot !== null && !(end === 'below the root' && isRoot(spot));
  let at = spotAbove(parent);
  for (let looked = 0; isAsked(at) && looked < MAX_SURVEYED_LEVELS; ) {
    const spots: Spot[] = [];
    for (; isAsked(at) && spots.length < LEVELS_AT_ONCE; at = spotAbove(at)) spots.push(at);
    looked += spots.length;
    const found = (await survey(c, spots, options)).find((standings) => standings.some(exists));
    if (found !== undefined) return found;
  }
  return null;
}

/**
 * Makes the directories at and above the spot, as far as some of its locations have them, in the others, with the permission that they have: what
 * is made below them would else make them on its way with another one. What fails here fails again for what is made below.
 */
export async function copyDirectories(c: Composition, spot: Spot, options: AskOptions): Promise<void> {
  const levels: { readonly path: string; readonly standings: readonly Standing[] }[] = [];
  const isWhole = (standings: readonly Standing[] | undefined): boolean => standings?.every(isDirectory) === true;
  for (let at: Spot | null = spot; at !== null && levels.length < MAX_SURVEYED_LEVELS; ) {
    const spots: Spot[] = [];
    for (; at !== null && spots.length < LEVELS_AT_ONCE; at = spotAbove(at)) spots.push(at);
    for (const [i, standings] of (await survey(c, spots, options)).entries())
      levels.push({ path: (spots[i] as Spot).path, standings });
    if (isWhole(levels.at(-1)?.standings)) break;
  }
  for (const { path, standings } of levels.reverse()) {
    const holder = standings.find(isDirectory);
    const lacking = standings.filter(({ kind }) => kind === 'nothing').map(({ target }) => target);
    if (holder === undefined || lacking.length === 0) continue;
    const request = c.other(MKDIRS, { src: path, masked: { perm: permissionOf(holder) }, createParent: true });
    await c.askAll(request, lacking, options);
  }
}

/** Mode bits of what stands there. */
export function permissionOf({ status }: Standing): number {
  return ((status['permission'] as Plain)['perm'] as number) & PERMISSION_MASK;
}

export function isDirectory({ kind }: Standing): boolean {
  return kind === 'directory';
}

/** The mount's own target: it has no directory above it that belongs to the mount. */
export function isTargetRoot({ path, prefixBytes }: Target): boolean {
  return path === null || path.length <= Math.max(prefixBytes, 1);
}

function isRoot({ targets }: Spot): boolean {
  return targets.some(isTargetRoot);
}

export function exists({ kind }: Standing): boolean {
  return kind === 'file' || kind === 'directory';
}

/** It could be asked. */
export function isReachable({ failed }: Standing): boolean {
  return failed === null || !failed.unavailable;
}

/** The caller may not look there, or the location has a file in the way: what it says to the change itself counts. */
export function refuses({ failed }: Standing): boolean {
  return failed !== null && !failed.unavailable;
}

export function failuresOf(standings: readonly Standing[]): Failed[] {
  return standings.flatMap(({ failed }) => (failed === null ? [] : [failed]));
}
