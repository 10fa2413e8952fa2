import { bodyOf, requireAll, tellingFailure } from '../answer.ts';
import type { Composition, Outcome, Target } from '../composition.ts';
import type { Located } from '../locate.ts';
import { Refused } from '../refused.ts';
import type { StrayTrash } from '../trash.ts';
import { failoverWaitMs } from '../waiting.ts';
import { countDivergence } from './answers.ts';
import { deletePath, NOT_EMPTY } from './delete-path.ts';
import { exists, failuresOf, survey } from './survey.ts';

/**
 * delete of the caller's home directory, some of whose trash may be in other nameservices: that is a part of it. The directory goes first, for
 * its NameNode may refuse; who has trash that cannot be asked refuses before anything is deleted.
 */
export async function deleteHome(c: Composition, located: Located, stray: StrayTrash): Promise<Outcome> {
  const holders = await findTrash(c, stray);
  if (holders.length === 0) return await deleteOwn(c, located);
  if (c.request()['recursive'] !== true) {
    throw new Refused(NOT_EMPTY, `\`${located.path} is non empty': Directory is not empty`);
  }
  const options = { unreachedMs: failoverWaitMs(c.engine) };
  const own = await deleteOwn(c, located);
  const body = Buffer.isBuffer(own) ? own : bodyOf(await c.ask(c.own, own, options));
  const answers = await c.askAll(c.other(c.method, { src: stray.path, recursive: true }), holders, options);
  const failure = tellingFailure(answers);
  if (failure !== null) {
    const where = answers.flatMap(({ ok, nameservice }) => (ok ? [] : [c.engine.nameserviceName(nameservice)]));
    const [first = '', ...others] = failure.message.split('\n');
    countDivergence(c, located.path, `it was deleted, but not the trash in ${where.join(', ')} (${first})`);
    const text = `${located.path} is deleted, but not what of ${stray.path} is in ${where.join(', ')} (delete that again): ${first}`;
    throw new Refused(failure.className, [text, ...others].join('\n'), failure.detail);
  }
  const result = c.read(body)['result'] === true || answers.some((each) => c.read(bodyOf(each))['result'] === true);
  return c.write({ result });
}

async function deleteOwn(c: Composition, located: Located): Promise<Outcome> {
  const [only] = located.targets;
  return only !== undefined && located.targets.length === 1 ? only : await deletePath(c, located);
}

/**
 * Where the trash of a home directory is besides the directory's own locations. What its caller may not look at is not part of what it sees
 * there. Throws Refused when one cannot be asked.
 */
export async function findTrash(c: Composition, { path, elsewhere }: StrayTrash): Promise<Target[]> {
  const options = { unreachedMs: failoverWaitMs(c.engine) };
  const [standings = []] = await survey(c, [{ path, targets: elsewhere }], options);
  requireAll(failuresOf(standings).filter(({ unavailable }) => unavailable));
  return standings.filter(exists).map(({ target }) => target);
}
