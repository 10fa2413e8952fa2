import type { Plain } from '../../wire/messages.ts';
import { type Answer, successesOf } from '../answer.ts';
import type { Composition, Outcome, Target } from '../composition.ts';
import { locate, requireTargets } from '../locate.ts';
import { noteDivergence } from '../locations/answers.ts';
import { Refused } from '../refused.ts';
import { otherRequest } from '../request.ts';
import { FAILOVER_WAIT_MS } from '../waiting.ts';

/**
 * addCacheDirective for a path with several locations: each nameservice caches what it has of it. The id in the answer is that of the first
 * nameservice by name that took it.
 */
export async function addDirective(c: Composition): Promise<Outcome> {
  const { engine, call, method } = c;
  const request = c.request();
  const info = request['info'] as Plain;
  const located = locate(engine, call, Buffer.from(info['path'] as string), method.mountCheck);
  const targets = [...requireTargets(located)].sort((a, b) => compareNames(c, a, b));
  const asked = targets.map(({ nameservice, path }) => {
    const there = path === null ? located.path : path.toString();
    return {
      request: otherRequest(call, method, { ...request, info: { ...info, path: there } }),
      target: { nameservice, path: null, prefixBytes: 0 },
    };
  });
  const answers = (await c.askEach(asked, { unreachedMs: FAILOVER_WAIT_MS })).map((answer, i) =>
    withClientPath(answer, targets[i] as Target, located.path),
  );
  const [first] = successesOf(answers);
  noteDivergence(c, located.path, answers);
  return (first as { body: Buffer }).body;
}

function withClientPath(answer: Answer, { path }: Target, mounted: string): Answer {
  if (answer.ok || path === null) return answer;
  const { className, message, detail } = answer.refused;
  return { ...answer, refused: new Refused(className, message.replaceAll(path.toString(), mounted), detail) };
}

function compareNames({ engine }: Composition, a: Target, b: Target): number {
  return engine.nameserviceName(a.nameservice) < engine.nameserviceName(b.nameservice) ? -1 : 1;
}
