import { requireAll, type Success } from '../answer.ts';
import type { Composition, Outcome, Target } from '../composition.ts';
import type { Located } from '../locate.ts';
import type { Request } from '../request.ts';
import { failoverWaitMs } from '../waiting.ts';
import { answerOf, failureOf, noteDivergence } from './answers.ts';
import { matches } from './search-locations.ts';

/**
 * All locations at once. Reads need all of them. A change has succeeded where it could be made: a directory is in all locations, a file in
 * one, and the others do not know it. The answer is that of the first location in the order of nameservices and paths that matches.
 */
export async function askEverywhere(c: Composition, located: Located, request: Request = c.own): Promise<Outcome> {
  const targets = inAnswerOrder(c, located.targets);
  const answers = await c.askAll(request, targets, { unreachedMs: failoverWaitMs(c.engine) });
  const successes = c.method.effect === 'read' ? requireAll(answers) : answers.filter((answer) => answer.ok);
  let best: Success | undefined = successes.find(({ body }) => matches(c, body));
  if (best === undefined) {
    const failure = failureOf(answers);
    if (failure !== null) throw failure;
    best = successes[0] as Success;
  }
  noteDivergence(c, located.path, answers);
  return answerOf(c, located, best, targets[answers.indexOf(best)] as Target);
}

/** Whose answer counts first does not depend on the client or the path. */
export function inAnswerOrder(c: Composition, targets: readonly Target[]): Target[] {
  const nameOf = (target: Target): string => c.engine.nameserviceName(target.nameservice);
  const pathOf = (target: Target): string => target.path?.toString() ?? '';
  return targets.toSorted((a, b) => compare(nameOf(a), nameOf(b)) || compare(pathOf(a), pathOf(b)));
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
