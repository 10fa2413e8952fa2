import type { Client } from '../../call/client.ts';
import type { Answer } from '../answer.ts';
import { PARENT_NOT_DIRECTORY, requireAll, successesOf } from '../answer.ts';
import type { Composition, Outcome, Target } from '../composition.ts';
import type { Located } from '../locate.ts';
import { failoverWaitMs } from '../waiting.ts';
import { failureOf, noteDivergence } from './answers.ts';
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

/** What a NameNode says when a file stands where a directory is to be. */
const IN_THE_WAY: ReadonlySet<string> = new Set([
  'org.apache.hadoop.fs.FileAlreadyExistsException',
  PARENT_NOT_DIRECTORY,
]);

/**
 * mkdirs. Where directories exist everywhere it is made in all locations, unless a file of one of them stands in the way; one that some have
 * stays as it is, and so do those above it: the others get them with the permission that they have. Else it is made where it, or else the
 * nearest directory above it, is already.
 */
export async function makeDirectory(c: Composition, located: Located): Promise<Outcome> {
  if (!located.everywhere) return await findPlaceOfNew(c, located, 'directory');
  const { targets } = located;
  const first = targets[0] as Target;
  const spot: Spot = { path: located.path, targets };
  const above = spotAbove(spot);
  const options = patienceOf(c, located);
  const [itself = [], parent = null] = await survey(c, above === null ? [spot] : [spot, above], options);
  const standing = itself.find(({ kind }) => kind === 'file') ?? parent?.find(({ kind }) => kind === 'file');
  if (standing !== undefined) return targets[standing.location] as Target;
  const createsParent = c.request()['createParent'] === true;
  const reachable = itself.filter(isReachable);
  if (reachable.length === 0) throw failureOf(failuresOf(itself));
  if (reachable.length === targets.length && itself.every(exists)) return first;
  const there = itself.find(exists);
  // Somebody else's: a copy of it would be the caller's.
  if (there !== undefined && there.status['owner'] !== (c.call.client as Client).identity.user) return there.target;
  if (above !== null && parent !== null) {
    const aboveReached = narrowToReached(above, itself);
    let nearest: readonly Standing[] | null = parent;
    if (there === undefined && !parent.some(exists)) {
      nearest = await findNearestAbove(c, aboveReached, options);
      const blocked = nearest?.find(({ kind }) => kind === 'file');
      if (blocked !== undefined) return (reachable[blocked.location] as Standing).target;
      if (!createsParent) return (reachable[0] as Standing).target;
    }
    if (nearest?.some(exists) === true && nearest.some(({ kind }) => kind === 'nothing'))
      await copyDirectories(c, aboveReached, options);
  }
  return await makeEverywhere(c, located, itself, createsParent);
}

async function makeEverywhere(
  c: Composition,
  located: Located,
  itself: readonly Standing[],
  createsParent: boolean,
): Promise<Buffer> {
  // The parent is there, in one location at least: where it is missing it is made as well.
  const there = itself.find(exists);
  const masked = there === undefined ? {} : { masked: { perm: permissionOf(there) }, unmasked: null };
  const isOwn = createsParent && there === undefined;
  const request = isOwn ? c.own : c.other(c.method, { ...c.request(), ...masked, createParent: true });
  const options = { unreachedMs: failoverWaitMs(c.engine) };
  const answers: Answer[] = failuresOf(itself).filter(({ unavailable }) => unavailable);
  // Whoever may refuse goes first: nothing has been made yet then.
  for (const { target } of itself.filter(refuses)) {
    const answer = await c.ask(request, target, options);
    requireAll([answer]);
    answers.push(answer);
  }
  const others: Target[] = itself.filter((each) => isReachable(each) && !refuses(each)).map(({ target }) => target);
  answers.push(...(await c.askAll(request, others, options)));
  const blocked = answers.find((each) => !each.ok && IN_THE_WAY.has(each.refused.className));
  if (blocked !== undefined) requireAll([blocked]);
  const successes = successesOf(answers);
  noteDivergence(c, located.path, answers);
  return c.write({ result: successes.some(({ body }) => c.read(body)['result'] === true) });
}
