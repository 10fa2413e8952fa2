import type { Answer } from '../answer.ts';
import { requireAll } from '../answer.ts';
import type { Composition, Outcome } from '../composition.ts';
import type { Located } from '../locate.ts';
import { FAILOVER_WAIT_MS } from '../waiting.ts';
import { failureOf, noteDivergence } from './answers.ts';
import { searchLocations } from './search-locations.ts';
import { failuresOf, isReachable, refuses, type Standing, survey } from './survey.ts';

const NOT_EMPTY = 'org.apache.hadoop.fs.PathIsNotEmptyDirectoryException';

/**
 * delete. Where directories exist everywhere it is deleted in all locations, and without `recursive` only when it is empty in all of them;
 * else in the first location that has it.
 */
export async function deletePath(c: Composition, located: Located): Promise<Outcome> {
  const { targets } = located;
  if (!located.everywhere) return await searchLocations(c, located);
  const options = { unreachedMs: FAILOVER_WAIT_MS };
  const answers: Answer[] = [];
  let rest = targets;
  if (c.request()['recursive'] !== true) {
    const [standings = []] = await survey(c, [{ path: located.path, targets }], options);
    const unknown = failuresOf(standings).filter(({ unavailable }) => unavailable);
    // A file is in one location only. Of a directory nobody knows what the nameservices have that could not be asked.
    if (!standings.some(({ kind }) => kind === 'file')) requireAll(unknown);
    answers.push(...unknown);
    // Whoever will refuse goes first: nothing has been deleted yet then.
    for (const { target } of standings.filter(mayRefuse)) {
      const answer = await c.ask(c.own, target, options);
      requireAll([answer]);
      answers.push(answer);
    }
    rest = standings.filter((each) => isReachable(each) && !mayRefuse(each)).map(({ target }) => target);
  }
  answers.push(...(await c.askAll(c.own, rest, options)));
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

/** There is something in the directory, or the caller may not look. */
function mayRefuse(standing: Standing): boolean {
  const { kind, status } = standing;
  return refuses(standing) || (kind === 'directory' && Number(status['childrenNum'] ?? 0) > 0);
}
