import { Failure } from '../../call/failure.ts';
import { type Answer, PARENT_NOT_DIRECTORY, requireAll, type Success, tellingFailure } from '../answer.ts';
import type { Composition, Outcome, Target } from '../composition.ts';
import { type Located, locate, path2Of, pathOf, requireTargets } from '../locate.ts';
import { countDivergence, failureOf } from '../locations/answers.ts';
import { findTrash } from '../locations/delete-home.ts';
import type { Spot } from '../locations/survey.ts';
import { Refused } from '../refused.ts';
import { clientMethod } from '../request.ts';
import { type StrayTrash, strayTrashOfHome } from '../trash.ts';
import { failoverWaitMs } from '../waiting.ts';
import { findFileAbove, notDirectory } from './file-above.ts';
import { type Landing, planLanding, spotsOf } from './landing.ts';
import {
  acrossNameservices,
  isWhole,
  nameserviceOf,
  namesOf,
  type Pair,
  pairUp,
  placeOf,
  sharePlace,
  sortPairs,
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

/**
 * rename and rename2 with several locations on a side. A file moves within the nameservice that has it, a directory in every one that has it,
 * as if both paths were in one tree: what can be known beforehand (a location without a counterpart, a name that is taken anywhere) refuses
 * the whole before anything moves.
 *
 * A repeated call finds its source gone: every nameservice is asked then, for one of them knows the call by its ids.
 */
export async function move(c: Composition): Promise<Outcome> {
  const { engine, call, method } = c;
  const source = locate(engine, call, pathOf(call), method.mountCheck);
  // What is in the trash lies where it was deleted, and in no other place.
  const isNeededEverywhere = source.everywhere && source.trash === null && !engine.resolver.inTrash;
  const destination = locate(engine, call, path2Of(call), method.mountCheck2);
  const sources = requireTargets(source);
  const targets = requireTargets(destination);
  const pairs = pairUp(sources, targets);
  const whole = pairs.filter(isWhole);
  const refuseAcross = (where: readonly Target[]): Refused =>
    acrossNameservices(
      engine,
      method,
      source.path,
      destination.path,
      where.map(nameserviceOf),
      targets.map(nameserviceOf),
    );
  if (whole.length === 0) throw refuseAcross(sources);

  const stray = strayTrashOfHome(engine, call, source.path);
  if (stray !== null) {
    const holders = await findTrash(c, stray);
    if (holders.length > 0) throw leavesTrash(c, source, destination, stray, holders);
    const [only] = whole;
    // As without a trash elsewhere: one nameservice answers.
    const isAlone = sources.length === 1 && targets.length === 1 && !destination.atMount && !destination.mountsBelow;
    if (only !== undefined && isAlone) return placeOf(only);
  }
  const spots = spotsOf(c, destination);
  const [statuses = NO_STATUSES, ...seen] = await findSource(c, [source, ...spots]);
  if (statuses.found.length === 0) {
    if (statuses.failure !== null) throw statuses.failure;
    await refuseBelowFile(c, source, destination, spots[1].isVirtual, seen[1]);
    return await askOfGone(c, whole);
  }
  const file = statuses.found.find((each) => !isDirectoryThere(each));
  const isDirectory = file === undefined;
  const moving = isDirectory
    ? await pairsOfDirectory(c, source, destination, pairs, statuses, isNeededEverywhere)
    : pairs.filter((pair) => pair.source === file.target).filter(isWhole);
  const [first] = moving;
  if (first === undefined) throw refuseAcross(statuses.found.map(({ target }) => target));
  // Onto itself or into itself: the NameNode's own words, and of those first that a file is above the new path, which one of them may not know.
  if (destination.path === source.path || destination.path.startsWith(`${source.path}/`)) {
    const above = spots[1].isVirtual ? null : await findFileAbove(c, destination, seen[1]);
    if (above !== null) throw new Refused(PARENT_NOT_DIRECTORY, notDirectory(above));
    return placeOf(first);
  }

  const gone = whole.filter((pair) => !statuses.found.some(({ target }) => target === pair.source));
  const known = call.fields.retryCount > 0 ? await findKnown(c, gone) : undefined;
  // A file is moved once: what has its old name now is another file.
  if (known !== undefined && !isDirectory) return known.body;
  if (known !== undefined) {
    // What is at the new path is the call's own work: it goes on where it was.
    return await execute(c, destination, { refusal: null, pairs: moving, request: null, replaced: [] });
  }
  const landing = await planLanding(c, { source, destination, pairs: moving, isDirectory }, spots, seen);
  if (landing.refusal === null) return await execute(c, destination, landing);
  if (typeof landing.refusal === 'boolean') return c.write({ result: landing.refusal });
  throw landing.refusal;
}

/** A home directory that would go without what was deleted in other nameservices: nobody could find that again. */
function leavesTrash(
  { engine }: Composition,
  { path: from }: Located,
  { path: to }: Located,
  { path }: StrayTrash,
  holders: readonly Target[],
): Refused {
  return new Refused(
    Failure.IO,
    `Rename of ${from} to ${to} is not allowed: ${path} is also in ${namesOf(engine, holders.map(nameserviceOf))}, and would stay there; delete or empty the trash first`,
  );
}

/** Statuses of the source, which come first, and of the other spots. Who may have the source although it could not be asked is waited for. */
async function findSource(c: Composition, spots: readonly Spot[]): Promise<Statuses[]> {
  const statuses = await findStatuses(c, spots);
  const [source = NO_STATUSES] = statuses;
  if (source.found.length > 0 || source.failure === null || source.refusal !== null) return statuses;
  return await findStatuses(c, spots, { unreachedMs: failoverWaitMs(c.engine) });
}

/**
 * Where the directory is; throws when a location that has it, or is to have all directories, has no counterpart, as the Java Router does.
 * Without any counterpart: none.
 */
async function pairsOfDirectory(
  c: Composition,
  source: Located,
  destination: Located,
  pairs: readonly Pair[],
  statuses: Statuses,
  isNeededEverywhere: boolean,
): Promise<WholePair[]> {
  const found = await requireStatuses(c, source, statuses);
  const having = pairs.filter((pair) => found.some(({ target }) => target === pair.source));
  const whole = having.filter(isWhole);
  if (whole.length === 0 && !isNeededEverywhere) return [];
  if (!(isNeededEverywhere ? pairs : having).every(isWhole) || sharePlace(whole)) {
    throw unequalLocations(c.engine, source, destination);
  }
  return whole;
}

/** The answer of a nameservice that has the source no more, if one says that it has moved it for this call. */
async function findKnown(c: Composition, gone: readonly WholePair[]): Promise<Success | undefined> {
  const answers = await c.askEach(sortPairs(gone).map((pair) => ({ request: c.own, target: placeOf(pair) })));
  return answers.filter((answer) => answer.ok).find((answer) => isDone(c, answer));
}

/** Sends it, and takes away what it replaces elsewhere. */
async function execute(c: Composition, destination: Located, { pairs, request, replaced }: Landing): Promise<Outcome> {
  const [only] = pairs;
  const isAlone = pairs.length === 1 && request === null && replaced.length === 0;
  if (only !== undefined && isAlone && c.hasOwnIds(only.source)) return placeOf(only);
  const sent = sortPairs(pairs);
  const asked = sent.map((pair) => ({ request: request ?? c.own, target: placeOf(pair) }));
  const answers = await c.askEach(asked, { unreachedMs: failoverWaitMs(c.engine) });
  const done = answers.filter((answer) => isDone(c, answer));
  const body = bodyOfAll(answers, done);
  if (done.length > 0 && done.length < answers.length) {
    const left = sent.filter((_, i) => !isDone(c, answers[i] as Answer)).map((pair) => pair.source);
    countDivergence(
      c,
      pathTextOf(c),
      `it moved nothing in ${namesOf(c.engine, left.map(nameserviceOf))}: ${tellingFailure(answers)?.message ?? 'no reason given'}`,
    );
  }
  if (done.length > 0 && replaced.length > 0) {
    const remove = c.other(clientMethod('delete'), { src: destination.path, recursive: false });
    const failure = tellingFailure(await c.askAll(remove, replaced, { unreachedMs: failoverWaitMs(c.engine) }));
    if (failure !== null) countDivergence(c, pathTextOf(c), `the file it replaces is still there: ${failure.message}`);
  }
  return body;
}

/** Nothing has moved, and nothing could, by this call or another: a file is above one of its paths. Throws what a NameNode says then. */
async function refuseBelowFile(
  c: Composition,
  source: Located,
  destination: Located,
  isParentVirtual: boolean,
  seenAbove: Statuses | undefined,
): Promise<void> {
  const aboveSource = await findFileAbove(c, source);
  if (aboveSource !== null) throw new Refused(Failure.ACCESS_CONTROL, notDirectory(aboveSource));
  const aboveDestination = isParentVirtual ? null : await findFileAbove(c, destination, seenAbove);
  if (aboveDestination !== null) throw new Refused(PARENT_NOT_DIRECTORY, notDirectory(aboveDestination));
}

/** The source is nowhere: whoever has moved it before says so, and else any of them says that it is missing. */
async function askOfGone(c: Composition, pairs: readonly WholePair[]): Promise<Outcome> {
  const [only] = pairs;
  if (only !== undefined && pairs.length === 1 && c.hasOwnIds(only.source)) return placeOf(only);
  const asked = sortPairs(pairs).map((pair) => ({ request: c.own, target: placeOf(pair) }));
  const answers = await c.askEach(asked, { unreachedMs: failoverWaitMs(c.engine) });
  const done = answers.filter((answer) => isDone(c, answer));
  if (done.length === 0) requireReached(answers);
  return bodyOfAll(answers, done);
}

/** As the Java Router answers: one that moved is enough; else the failure that tells most, else that nothing moved. */
function bodyOfAll(answers: readonly Answer[], done: readonly Answer[]): Buffer {
  for (const answer of done) if (answer.ok) return answer.body;
  const failure = failureOf(answers);
  if (failure !== null) throw failure;
  return (requireAll(answers)[0] as { body: Buffer }).body;
}

function requireReached(answers: readonly Answer[]): void {
  for (const answer of answers) if (!answer.ok && answer.unavailable) throw answer.refused;
}

function isDone(c: Composition, answer: Answer): boolean {
  return answer.ok && (c.method.name !== 'rename' || c.read(answer.body)['result'] === true);
}

function pathTextOf(c: Composition): string {
  return pathOf(c.call).toString();
}
