import { type Answer, requireAll, type Success } from '../answer.ts';
import type { Composition, Outcome, Target } from '../composition.ts';
import type { Located } from '../locate.ts';
import { failoverWaitMs } from '../waiting.ts';
import { answerOf, failureOf } from './answers.ts';

/**
 * One location after the other, until an answer matches. A location that refuses or cannot be asked is passed over; when exactly one could not
 * be asked and no other has a matching answer, the call is that one's and waits for it. Else a failure is told, if there was one: what
 * another said of its own part of the mount is no answer then.
 */
export async function searchLocations(c: Composition, located: Located): Promise<Outcome> {
  const { targets } = located;
  const answers: Answer[] = [];
  const unasked: Target[] = [];
  for (const target of targets) {
    const answer = await c.ask(c.own, target);
    if (answer.ok && matches(c, answer.body)) return answerOf(c, located, answer, target);
    if (!answer.ok && answer.unavailable) unasked.push(target);
    answers.push(answer);
  }
  const [silent] = unasked;
  if (silent !== undefined && unasked.length === 1) {
    if (c.hasOwnIds(silent)) return silent;
    const answer = await c.ask(c.own, silent, { unreachedMs: failoverWaitMs(c.engine) });
    return answerOf(c, located, requireAll([answer])[0] as Success, silent);
  }
  const failure = failureOf(answers);
  if (failure !== null) throw failure;
  const at = answers.findIndex((answer) => answer.ok);
  return answerOf(c, located, answers[at] as Answer & { ok: true }, targets[at] as Target);
}

/** Whether the answer ends the search, by the method's `match`. */
export function matches(c: Composition, body: Buffer): boolean {
  switch (c.method.match) {
    case 'any':
      return true;
    case 'present':
      return body.length > 0;
    case 'true':
      return c.read(body)['result'] === true;
  }
}
