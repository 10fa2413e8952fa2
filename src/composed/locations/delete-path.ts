import { requireAll } from '../answer.ts';
import type { Composition, Outcome } from '../composition.ts';
import type { Located } from '../locate.ts';
import { FAILOVER_WAIT_MS } from '../waiting.ts';
import { failureOf, noteDivergence } from './answers.ts';
import { askWhenEmpty } from './ask-empty.ts';
import { searchLocations } from './search-locations.ts';

const NOT_EMPTY = 'org.apache.hadoop.fs.PathIsNotEmptyDirectoryException';

/**
 * delete. Where directories exist everywhere it is deleted in all locations, and without `recursive` only when it is empty in all of them;
 * else in the first location that has it.
 */
export async function deletePath(c: Composition, located: Located): Promise<Outcome> {
  if (!located.everywhere) return await searchLocations(c, located);
  const answers =
    c.request()['recursive'] === true
      ? await c.askAll(c.own, located.targets, { unreachedMs: FAILOVER_WAIT_MS })
      : await askWhenEmpty(c, located);
  const filled = answers.find((each) => !each.ok && each.refused.className === NOT_EMPTY);
  if (filled !== undefined) requireAll([filled]);
  const result = answers.some((each) => each.ok && c.read(each.body)['result'] === true);
  if (!result) {
    const failure = failureOf(answers);
    if (failure !== null) throw failure;
  }
  noteDivergence(c, located.path, answers);
  return c.write({ result });
}
