import { requireAll } from '../answer.ts';
import type { Composition, Outcome, Target } from '../composition.ts';
import type { Located } from '../locate.ts';
import { failoverWaitMs } from '../waiting.ts';
import { failureOf, noteDivergence } from './answers.ts';
import { askWhenEmpty } from './ask-empty.ts';
import { searchLocations } from './search-locations.ts';
import { exists, survey } from './survey.ts';

export const NOT_EMPTY = 'org.apache.hadoop.fs.PathIsNotEmptyDirectoryException';

/**
 * delete. Where directories exist everywhere it is deleted in all locations, and without `recursive` only when it is empty in all of them.
 * Else in the first location that has it; a directory that is scattered over several, in those.
 */
export async function deletePath(c: Composition, located: Located): Promise<Outcome> {
  if (located.everywhere) return await deleteInAll(c, located);
  const targets = located.scattered ? await findHolders(c, located) : [];
  return targets.length > 1 ? await deleteInAll(c, { ...located, targets }) : await searchLocations(c, located);
}

/** Locations that have it, of those that can be asked. */
async function findHolders(c: Composition, { path, targets }: Located): Promise<readonly Target[]> {
  const [standings = []] = await survey(c, [{ path, targets }]);
  return standings.filter(exists).map(({ target }) => target);
}

async function deleteInAll(c: Composition, located: Located): Promise<Buffer> {
  const answers =
    c.request()['recursive'] === true
      ? await c.askAll(c.own, located.targets, { unreachedMs: failoverWaitMs(c.engine) })
      : await askWhenEmpty(c, located);
  const result = answers.some((each) => each.ok && c.read(each.body)['result'] === true);
  if (result) noteDivergence(c, located.path, answers);
  const filled = answers.find((each) => !each.ok && each.refused.className === NOT_EMPTY);
  if (filled !== undefined) requireAll([filled]);
  if (!result) {
    const failure = failureOf(answers);
    if (failure !== null) throw failure;
  }
  return c.write({ result });
}
