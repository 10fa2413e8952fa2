import { Failure } from '../../call/failure.ts';
import type { Plain } from '../../wire/messages.ts';
import { PARENT_NOT_DIRECTORY, requireAll } from '../answer.ts';
import type { Composition, Target } from '../composition.ts';
import { type Located, locate, requireTargets } from '../locate.ts';
import type { Spot, Standing } from '../locations/survey.ts';
import { Refused } from '../refused.ts';
import { clientMethod, type Request } from '../request.ts';
import { failoverWaitMs } from '../waiting.ts';
import { findFileAbove, notDirectory } from './file-above.ts';
import {
  acrossNameservices,
  isWhole,
  nameserviceOf,
  pairUp,
  sharePlace,
  unequalLocations,
  type WholePair,
} from './pairs.ts';
import {
  findStatuses,
  isDirectory as isDirectoryThere,
  NO_STATUSES,
  requireStatuses,
  type Statuses,
} from './status.ts';

/** What is to move. */
export interface Moving {
  readonly source: Located;
  readonly destination: Located;
  readonly pairs: readonly WholePair[];
  readonly isDirectory: boolean;
}

/** How it comes down at its new path. */
export interface Landing {
  /** Why it does not: an exception, or the answer of a rename that does nothing. Null when nothing is in its way. */
  readonly refusal: Refused | boolean | null;
  readonly pairs: readonly WholePair[];
  /** What to send; null for the client's own request. */
  readonly request: Request | null;
  /** Files in other locations, in whose place it comes. */
  readonly replaced: readonly Target[];
}

const FILE_ALREADY_EXISTS = 'org.apache.hadoop.fs.FileAlreadyExistsException';
const DEFAULT_PERMISSION: Plain = { perm: 0o755 };

/** The directory above a new path, in its locations. */
interface Above extends Spot {
  /** By the location of the new path; the root of a mount's target has none. */
  readonly of: ReadonlyMap<Target, Target>;
  /** Mount points make it visible, whoever has it. */
  readonly isVirtual: boolean;
}

/** What is to be known of a new path: of itself and of the directory above it. */
export function spotsOf(c: Composition, destination: Located): readonly [Spot, Above] {
  return [destination, aboveOf(c, destination)];
}

/**
 * Looks at the new path in all of its locations, as a NameNode looks at it in its one tree, and makes the directory above it where the
 * others of its locations have it. Nothing has moved yet when this refuses. `spots` and `seen` are of the new path.
 */
export async function planLanding(
  c: Composition,
  moving: Moving,
  [spot, above]: readonly [Spot, Above],
  [seen = NO_STATUSES, seenAbove = NO_STATUSES]: readonly Statuses[],
): Promise<Landing> {
  const { destination, isDirectory, pairs } = moving;
  const found = await lookAt(c, spot, seen, pairs);
  const isTaken = found.length > 0 || isMadeByMounts(destination);
  const isTakenByDirectory = isTaken && found.every(isDirectoryThere);
  if (!isTaken) {
    if (seen.refusal !== null) throw seen.refusal;
    const file = above.isVirtual ? null : await findFileAbove(c, destination, seenAbove);
    if (file !== null) throw new Refused(PARENT_NOT_DIRECTORY, notDirectory(file));
    await makeParents(c, above, seenAbove, pairs);
    return { refusal: null, pairs, request: null, replaced: [] };
  }
  if (c.method.name === 'rename') {
    return isTakenByDirectory ? await landInside(c, moving) : { refusal: false, pairs, request: null, replaced: [] };
  }
  const refusal = refuseOverwrite(c, moving, found, isTakenByDirectory);
  const replaced = isDirectory ? [] : found.map(({ target }) => target).filter((at) => !isTargetOf(pairs, at));
  if (refusal === null) await makeParents(c, above, seenAbove, pairs);
  return { refusal, pairs, request: null, replaced };
}

/** Who has something there. What moves in several parts must know it of all of them; one file does not wait for who could not be asked. */
async function lookAt(
  c: Composition,
  spot: Spot,
  seen: Statuses,
  pairs: readonly WholePair[],
): Promise<readonly Standing[]> {
  return pairs.length > 1 ? await requireStatuses(c, spot, seen) : seen.found;
}

/** rename2 onto something, with the NameNode's checks in its order. */
function refuseOverwrite(
  c: Composition,
  { source, destination, isDirectory }: Moving,
  found: readonly Standing[],
  isTakenByDirectory: boolean,
): Refused | null {
  const { path } = destination;
  if (path === '/') return new Refused(Failure.IO, 'rename destination cannot be the root');
  if (isDirectory !== isTakenByDirectory) {
    return new Refused(Failure.IO, `Source ${source.path} and destination ${path} must both be directories`);
  }
  if (c.request()['overwriteDest'] !== true) {
    return new Refused(FILE_ALREADY_EXISTS, `rename destination ${path} already exists`);
  }
  const isEmpty = !destination.mountsBelow && found.every(({ status }) => Number(status['childrenNum'] ?? 0) <= 0);
  if (isDirectory && !isEmpty) return new Refused(Failure.IO, `rename destination directory is not empty: ${path}`);
  return null;
}

/** The old rename onto a directory: into it, under the old name. */
async function landInside(c: Composition, { source, destination, pairs, isDirectory }: Moving): Promise<Landing> {
  const name = source.path.slice(source.path.lastIndexOf('/') + 1);
  const final = `${destination.path === '/' ? '' : destination.path}/${name}`;
  if (final === source.path) return { refusal: true, pairs, request: null, replaced: [] };
  const located = locate(c.engine, c.call, Buffer.from(final), false);
  if (isMadeByMounts(located)) return { refusal: false, pairs, request: null, replaced: [] };
  const targets = requireTargets(located);
  const sources = pairs.map((pair) => pair.source);
  const within = pairUp(sources, targets).filter(isWhole);
  if (within.length < pairs.length || sharePlace(within)) {
    throw isDirectory
      ? unequalLocations(c.engine, source, located)
      : acrossNameservices(
          c.engine,
          c.method,
          source.path,
          final,
          sources.map(nameserviceOf),
          targets.map(nameserviceOf),
        );
  }
  const request = c.other(c.method, { src: source.path, dst: final });
  const [spot, above] = spotsOf(c, located);
  const [seen = NO_STATUSES, seenAbove = NO_STATUSES] = await findStatuses(c, [spot, above]);
  const found = await lookAt(c, spot, seen, pairs);
  if (found.length > 0) return { refusal: false, pairs: within, request, replaced: [] };
  await makeParents(c, above, seenAbove, within);
  return { refusal: null, pairs: within, request, replaced: [] };
}

function aboveOf(c: Composition, { path, targets }: Located): Above {
  const parent = path.slice(0, path.lastIndexOf('/')) || '/';
  const { resolver } = c.engine;
  const bytes = Buffer.from(parent);
  resolver.resolve(c.call, bytes, 0, bytes.length, false);
  const isVirtual = isMadeByMounts(resolver);
  const of = new Map<Target, Target>();
  // One location alone has all that there is.
  if (targets.length > 1 || isVirtual) {
    for (const target of targets) {
      const above = parentOf(target, path);
      if (above !== null) of.set(target, above);
    }
  }
  return { path: parent, targets: [...of.values()], of, isVirtual };
}

/** Makes it in each location that is to take something and lacks it while another location has it. */
async function makeParents(
  c: Composition,
  { path, of, isVirtual }: Above,
  { found }: Statuses,
  pairs: readonly WholePair[],
): Promise<void> {
  const model = found.find(isDirectoryThere);
  if (model === undefined && !isVirtual) return;
  const missing: Target[] = [];
  for (const pair of pairs) {
    const above = of.get(pair.target);
    if (above !== undefined && !found.some(({ target }) => target === above)) missing.push(above);
  }
  if (missing.length === 0) return;
  const request = c.other(clientMethod('mkdirs'), {
    src: path,
    masked: model?.status['permission'] ?? DEFAULT_PERMISSION,
    createParent: true,
  });
  requireAll(await c.askAll(request, missing, { unreachedMs: failoverWaitMs(c.engine) }));
}

/** The directory above the target; null above the mount's own target. */
function parentOf({ nameservice, path, prefixBytes }: Target, spelled: string): Target | null {
  const whole = path ?? Buffer.from(spelled);
  const slash = whole.lastIndexOf(SLASH);
  const end = Math.max(slash, 1);
  if (end < prefixBytes || slash < 0 || whole.length === 1) return null;
  return { nameservice, path: whole.subarray(0, end), prefixBytes };
}

function isMadeByMounts({
  atMount,
  mountsBelow,
}: {
  readonly atMount: boolean;
  readonly mountsBelow: boolean;
}): boolean {
  return atMount || mountsBelow;
}

function isTargetOf(pairs: readonly WholePair[], at: Target): boolean {
  return pairs.some(({ target }) => target === at);
}

const SLASH = 0x2f;
