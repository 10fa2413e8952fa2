import { type Answer, requireAll } from '../answer.ts';
import type { Composition, Outcome } from '../composition.ts';
import type { Located } from '../locate.ts';
import { failoverWaitMs } from '../waiting.ts';
import { noteDivergence } from './answers.ts';
import { searchLocations } from './search-locations.ts';
import { failuresOf, isReachable, refuses, type Standing, survey } from './survey.ts';

/**
 * The client's request at all locations of a directory that must be empty for it, in the order of their being safe to ask: a location that
 * has something in the directory, or that the caller may not look at, is asked before the others, and its refusal ends the call before
 * anything was changed. So does a nameservice that could not be asked, unless the path is a file, which is in one location only.
 */
export async function askWhenEmpty(c: Composition, located: Located): Promise<Answer[]> {
  const options = { unreachedMs: failoverWaitMs(c.engine) };
  const [standings = []] = await survey(c, [{ path: located.path, targets: located.targets }], options);
  const unknown = failuresOf(standings).filter(({ unavailable }) => unavailable);
  if (!standings.some(({ kind }) => kind === 'file')) requireAll(unknown);
  const answers: Answer[] = [...unknown];
  for (const { target } of standings.filter(mayRefuse)) {
    const answer = await c.ask(c.own, target, options);
    requireAll([answer]);
    answers.push(answer);
  }
  const others = standings.filter((each) => isReachable(each) && !mayRefuse(each));
  answers.push(
    ...(await c.askAll(
      c.own,
      others.map(({ target }) => target),
      options,
    )),
  );
  return answers;
}

/**
 * createEncryptionZone: in all locations or in none, as far as that can be known before. A zone in some of them would deceive, for what is
 * written into the others is not encrypted.
 */
export async function createZone(c: Composition, located: Located): Promise<Outcome> {
  if (!located.everywhere && !located.atMount) return await searchLocations(c, located);
  const answers = await askWhenEmpty(c, located);
  noteDivergence(c, located.path, answers);
  requireAll(answers);
  return c.write({});
}

/** There is something in the directory, or the caller may not look. */
function mayRefuse(standing: Standing): boolean {
  const { kind, status } = standing;
  return refuses(standing) || (kind === 'directory' && Number(status['childrenNum'] ?? 0) > 0);
}
