import { type Answer, requireAll } from '../answer.ts';
import type { AskOptions, Composition, Outcome, Target } from '../composition.ts';
import type { Located } from '../locate.ts';
import { clientMethod } from '../request.ts';
import { answerOf, failureOf } from './answers.ts';
import { findPlaceOfNew } from './beside-parent.ts';
import {
  copyDirectories,
  exists,
  failuresOf,
  findNearestAbove,
  isReachable,
  narrowToReached,
  patienceOf,
  permissionOf,
  refuses,
  type Spot,
  type Standing,
  spotAbove,
  survey,
} from './survey.ts';

const MKDIRS = clientMethod('mkdirs');
const PERMISSION_MASK = 0o777;
/** Of directories whose targets are missing: as mount points and directories of the root usually have. */
const UNKNOWN_PERMISSION = 0o755;
/** A directory that is made on the way can be entered and written by its owner. */
const OWNER_WRITE_EXECUTE = 0o300;

/**
 * create. A file is in one location: in the one that has it (a retry finds it there again). A new one goes where directories exist
 * everywhere to the first location that can be asked, after a missing parent is made in all of them, as a single NameNode makes it: with the
 * permission of the directory that it comes to lie in. Without fault tolerance all must answer, for any of them may have the file. Else it
 * goes where its parent is.
 */
export async function createFile(c: Composition, located: Located): Promise<Outcome> {
  if (!located.everywhere) return await findPlaceOfNew(c, located, 'file');
  const { targets } = located;
  const spot: Spot = { path: located.path, targets };
  const above = spotAbove(spot);
  const options = patienceOf(c, located);
  const [itself = [], parent = null] = await survey(c, above === null ? [spot] : [spot, above], options);
  const holder = itself.find((each) => exists(each) || refuses(each)) ?? parent?.find(({ kind }) => kind === 'file');
  // It says itself what it has against the call.
  if (holder !== undefined) return targets[holder.location] as Target;
  const reachable = itself.filter(isReachable).map(({ target }) => target);
  const aboveReachable = above === null ? null : narrowToReached(above, itself);
  if (!located.faultTolerant || reachable.length === 0) requireAll(failuresOf(itself));
  const request = c.request();
  const hasNoParent = parent?.some(exists) === false;
  if (request['createParent'] !== true && hasNoParent && aboveReachable !== null) {
    const blocked = (await findNearestAbove(c, aboveReachable, options))?.find(({ kind }) => kind === 'file');
    if (blocked !== undefined) return reachable[blocked.location] as Target;
  } else if (request['createParent'] !== true && parent !== null) {
    const hasParent = (target: Target): boolean => parent[targets.indexOf(target)]?.kind === 'directory';
    reachable.sort((a, b) => Number(hasParent(b)) - Number(hasParent(a)));
  } else if (aboveReachable !== null && parent !== null) {
    const blocked = await makeParents(c, aboveReachable, parent, options);
    if (blocked !== null) return reachable[blocked.location] as Target;
  }
  return located.faultTolerant ? await createSomewhere(c, located, reachable) : (reachable[0] as Target);
}

/**
 * The parent, in all reachable locations that lack it. What a location says where a file stands in its way is returned. One that refuses says so again
 * when the file is created there.
 */
async function makeParents(
  c: Composition,
  above: Spot,
  parent: readonly Standing[],
  options: AskOptions,
): Promise<Standing | null> {
  const lacking = parent.filter(({ kind }) => kind === 'nothing').map(({ target }) => target);
  if (lacking.length === 0) return null;
  const found = parent.some(exists) ? parent : await findNearestAbove(c, above, options);
  const blocked = found?.find(({ kind }) => kind === 'file');
  if (blocked !== undefined) return blocked;
  if (found?.some(({ kind }) => kind === 'nothing') === true) await copyDirectories(c, above, options);
  if (parent.some(exists)) return null;
  const holder = found?.find(exists);
  const permission = holder === undefined ? UNKNOWN_PERMISSION : permissionOf(holder);
  const perm = (permission & PERMISSION_MASK) | OWNER_WRITE_EXECUTE;
  const message = { src: above.path, masked: { perm }, createParent: true };
  await c.askAll(c.other(MKDIRS, message), lacking, options);
  return null;
}

/** In the first location that can be reached. One that may have made the file although it does not answer any more is the last to be asked. */
async function createSomewhere(c: Composition, located: Located, targets: readonly Target[]): Promise<Outcome> {
  const answers: Answer[] = [];
  for (const target of targets) {
    const answer = await c.ask(c.own, target);
    if (answer.ok) return answerOf(c, located, answer, target);
    if (!answer.unavailable || answer.uncertain === true) throw answer.refused;
    answers.push(answer);
  }
  throw failureOf(answers);
}
