import { Failure } from '../../call/failure.ts';
import type { Plain } from '../../wire/messages.ts';
import { requireAll } from '../answer.ts';
import type { Composition, Target } from '../composition.ts';
import { type Located, locate, requireTargets } from '../locate.ts';
import type { Standing } from '../locations/survey.ts';
import { Refused } from '../refused.ts';
import { clientMethod, otherRequest, type Request } from '../request.ts';
import { FAILOVER_WAIT_MS } from '../waiting.ts';
import {
  acrossNameservices,
  isWhole,
  nameserviceOf,
  pairUp,
  sharePlace,
  unequalLocations,
  type WholePair,
} from './pairs.ts';
import { findStatuses, isDirectory as isDirectoryThere, requireStatuses } from './status.ts';

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

/**
 * Looks at the new path in all of its locations, as a NameNode looks at it in its one tree, and makes the directory above it where the
 * others of its locations have it. Nothing has moved yet when this refuses.
 */
export async function planLanding(c: Composition, moving: Moving): Promise<Landing> {
  const { destination, isDirectory, pairs } = moving;
  const found = await lookAt(c, destination, pairs);
  const isTaken = found.length > 0 || isMadeByMounts(destination);
  const isTakenByDirectory = isTaken && found.every(isDirectoryThere);
  if (!isTaken) {
    await makeParents(c, destination, pairs);
    return { refusal: null, pairs, request: null, replaced: [] };
  }
  if (c.method.name === 'rename') {
    return isTakenByDirectory ? await landInside(c, moving) : { refusal: false, pairs, request: null, replaced: [] };
  }
  const refusal = refuseOverwrite(c, moving, found, isTakenByDirectory);
  const replaced = isDirectory ? [] : found.map(({ target }) => target).filter((at) => !isTargetOf(pairs, at));
  if (refusal === null) await makeParents(c, destination, pairs);
  return { refusal, pairs, request: null, replaced };
}

/** Who has something there. What moves in several parts must know it of all of them; one file does not wait for who could not be asked. */
async function lookAt(
  c: Composition,
  { path, targets }: Located,
  pairs: readonly WholePair[],
): Promise<readonly Standing[]> {
  if (pairs.length > 1) return await requireStatuses(c, path, targets);
  return (await findStatuses(c, path, targets)).found;
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
      ? unequalLocations(source, located)
      : acrossNameservices(
          c.engine,
          c.method,
          source.path,
          final,
          sources.map(nameserviceOf),
          targets.map(nameserviceOf),
        );
  }
  const request = otherRequest(c.call, c.method, { src: source.path, dst: final });
  const found = await lookAt(c, located, pairs);
  if (found.length > 0) return { refusal: false, pairs: within, request, replaced: [] };
  await makeParents(c, located, within);
  return { refusal: null, pairs: within, request, replaced: [] };
}

/** The directory above the new path, in each location that is to take something and lacks it while another location has it. */
async function makeParents(c: Composition, destination: Located, pairs: readonly WholePair[]): Promise<void> {
  const parent = destination.path.slice(0, destination.path.lastIndexOf('/')) || '/';
  const isVirtual = isMadeByMounts(locate(c.engine, c.call, Buffer.from(parent), false));
  // One location alone has all that there is.
  if (destination.targets.length === 1 && !isVirtual) return;
  const parents = new Map<Target, Target>();
  for (const target of destination.targets) {
    const above = parentOf(target, destination.path);
    if (above !== null) parents.set(target, above);
  }
  const { found } = await findStatuses(c, parent, [...parents.values()]);
  const model = found.find(isDirectoryThere);
  if (model === undefined && !isVirtual) return;
  const missing = pairs
    .map(({ target }) => parents.get(target))
    .filter((above) => above !== undefined && !found.some(({ target }) => target === above)) as Target[];
  if (missing.length === 0) return;
  const request = otherRequest(c.call, clientMethod('mkdirs'), {
    src: parent,
    masked: model?.status['permission'] ?? DEFAULT_PERMISSION,
    createParent: true,
  });
  requireAll(await c.askAll(request, missing, { unreachedMs: FAILOVER_WAIT_MS }));
}

/** The directory above the target; null above the mount's own target. */
function parentOf({ nameservice, path, prefixBytes }: Target, spelled: string): Target | null {
  const whole = path ?? Buffer.from(spelled);
  const slash = whole.lastIndexOf(SLASH);
  const end = Math.max(slash, 1);
  if (end < prefixBytes || slash < 0 || whole.length === 1) return null;
  return { nameservice, path: whole.subarray(0, end), prefixBytes };
}

function isMadeByMounts({ atMount, mountsBelow }: Located): boolean {
  return atMount || mountsBelow;
}

function isTargetOf(pairs: readonly WholePair[], at: Target): boolean {
  return pairs.some(({ target }) => target === at);
}

const SLASH = 0x2f;
