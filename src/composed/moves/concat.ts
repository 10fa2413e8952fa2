import { Failure } from '../../call/failure.ts';
import { replaceRequest } from '../../call/rebuild.ts';
import { encode, messageType } from '../../wire/messages.ts';
import type { Composition, Outcome, Target } from '../composition.ts';
import { type Located, locate, requireTargets } from '../locate.ts';
import { exists, isReachable, type Spot, type Standing, survey } from '../locations/survey.ts';
import { Refused } from '../refused.ts';
import { failoverWaitMs } from '../waiting.ts';
import { isSameRoot } from './pairs.ts';

/** Files of one call that are looked for in several nameservices. NameNodes allow no more blocks in a file. */
export const MAX_CONCAT_FILES = 10_000;

/** A file of the call: where it may be and where it is. */
interface Part {
  readonly spelled: string;
  readonly located: Located;
  /** Locations that have it, in order. */
  readonly having: readonly Target[];
}

/**
 * concat with a path that has several locations: each file is located by its status, so an empty one is as good as any. All must be in the
 * nameservice of the target. Sources that are nowhere are taken for sources of that nameservice: a repeated call has joined and removed
 * them before, and the NameNode knows it by its ids.
 */
export async function concatFiles(c: Composition): Promise<Outcome> {
  const { method, engine, call } = c;
  const request = c.request();
  const target = request['trg'] as string;
  const names = [target, ...(request['srcs'] as string[])];
  if (names.length > MAX_CONCAT_FILES) {
    throw new Refused(
      Failure.IO,
      `concat of ${names.length} files, some of them on a mount point with several destinations: at most ${MAX_CONCAT_FILES} are looked for, join them in parts`,
    );
  }
  const located = names.map((name) => locate(engine, call, Buffer.from(name), method.mountCheck));
  const spots: Spot[] = located.map((each) => ({ path: each.path, targets: requireTargets(each) }));
  // One location alone need not be asked.
  const shared = spots.filter(({ targets }) => targets.length > 1);
  const standings = await findFiles(c, shared);
  const parts = spots.map((spot, i): Part => {
    const known = standings.get(spot);
    const having = known === undefined ? spot.targets : known.filter(exists).map((each) => each.target);
    const unknown = known?.find(({ failed }) => failed !== null)?.failed ?? null;
    // It may be in the nameservice that could not say.
    if (having.length === 0 && unknown !== null) throw unknown.refused;
    return { spelled: names[i] as string, located: located[i] as Located, having };
  });
  const [whole, ...sources] = parts as [Part, ...Part[]];
  const home = whole.having[0] ?? homeOf(sources) ?? (whole.located.targets[0] as Target);
  const places = parts.map((part) => placeIn(c, part, home, whole));
  const body = encode(messageType(method.request), {
    ...request,
    trg: textIn(places[0] as Target, names[0] as string),
    srcs: places.slice(1).map((place, i) => textIn(place, names[i + 1] as string)),
  });
  replaceRequest(call, body);
  call.deepPaths = places.flatMap(({ path, prefixBytes }, i) =>
    path === null ? [] : [{ target: path, prefixBytes, mounted: Buffer.from(names[i] as string) }],
  );
  return { nameservice: home.nameservice, path: null, prefixBytes: 0 };
}

/** What the locations say of each file. Who may have one that the others have not, and could not be asked, is waited for. */
async function findFiles(c: Composition, spots: readonly Spot[]): Promise<Map<Spot, readonly Standing[]>> {
  const standings = new Map<Spot, readonly Standing[]>();
  for (const [i, each] of (await survey(c, spots)).entries()) standings.set(spots[i] as Spot, each);
  const missed = spots.filter((spot) => {
    const known = standings.get(spot) ?? [];
    return !known.some(exists) && !known.every(isReachable);
  });
  const again = missed.length === 0 ? [] : await survey(c, missed, { unreachedMs: failoverWaitMs(c.engine) });
  for (const [i, each] of again.entries()) standings.set(missed[i] as Spot, each);
  return standings;
}

/** Where the first of the sources is that is anywhere. */
function homeOf(sources: readonly Part[]): Target | null {
  for (const { having } of sources) if (having[0] !== undefined) return having[0];
  return null;
}

/** The location of the file in the nameservice of the target. Throws when it is only elsewhere. */
function placeIn(c: Composition, part: Part, home: Target, whole: Part): Target {
  const { having, located } = part;
  const isHome = ({ nameservice }: Target): boolean => nameservice === home.nameservice;
  const candidates = (having.length > 0 ? having : located.targets).filter(isHome);
  const place = candidates.find((each) => isSameRoot(each, home)) ?? candidates[0];
  if (place !== undefined) return place;
  const name = (nameservice: number | undefined): string => c.engine.nameserviceName(nameservice ?? -1);
  throw new Refused(
    Failure.IO,
    `Cannot concatenate source file ${part.spelled} to ${whole.spelled}: it is in nameservice ${name((having[0] ?? located.targets[0])?.nameservice)}, not in ${name(home.nameservice)}`,
  );
}

function textIn({ path }: Target, spelled: string): string {
  return path === null ? spelled : path.toString();
}
