import type { Call } from '../../call/call.ts';
import type { Engine } from '../../call/engine.ts';
import { Failure } from '../../call/failure.ts';
import type { StrategyHandler } from '../../call/strategies/index.ts';
import type { Plain } from '../../wire/messages.ts';
import { type Answer, requireAll, type Success, successesOf, tellingFailure } from '../answer.ts';
import { type AskOptions, type Composition, compose, MAX_PARTS_AT_ONCE, type Target } from '../composition.ts';
import { Refused } from '../refused.ts';
import type { Request } from '../request.ts';
import { readAnswer } from '../unreadable.ts';
import { failoverWaitMs } from '../waiting.ts';
import { everyNameNode, everyNameservice, nameOfTarget } from './nameservices.ts';

/** How a method is answered for all nameservices. */
export interface Rule {
  /** `nameservice`: whichever NameNode can answer, as a rule the active one. `namenode`: each of them. */
  readonly asks: 'nameservice' | 'namenode';
  /** `all` must answer; or the answer is that of those which do, at least `one`. */
  readonly needs: 'all' | 'one';
  /** The response from those of the nameservices, in the topology's order; null: the response has no fields. */
  readonly merge: ((responses: readonly Plain[]) => object) | null;
}

/** Names in the text of an error; further ones are counted. */
const MAX_NAMES = 5;
const EMPTY = Buffer.alloc(0);

export const NO_NAMESERVICE = 'No namespace available.';

export function everywhere(rule: Rule): StrategyHandler {
  return (engine, call) => {
    const targets = rule.asks === 'namenode' ? everyNameNode(engine) : everyNameservice(engine);
    if (!forwardAlone(engine, call, targets)) compose(engine, call, (c) => answerByRule(c, targets, rule));
  };
}

/** As the only nameservice with a single NameNode answers, so is the answer: the call goes there as it is. False when there is more to ask. */
export function forwardAlone(engine: Engine, call: Call, targets: readonly Target[]): boolean {
  const [only] = targets;
  if (only !== undefined && targets.length > 1) return false;
  if (only === undefined) engine.fail(call, Failure.IO, NO_NAMESERVICE);
  else engine.forward(call, only.nameservice);
  return true;
}

export async function answerByRule(c: Composition, targets: readonly Target[], rule: Rule): Promise<Buffer> {
  const successes =
    rule.needs === 'all' ? await askRequired(c, c.own, targets) : successesOf(await c.askAll(c.own, targets));
  return rule.merge === null ? EMPTY : c.write(rule.merge(successes.map((success) => readAnswer(c, success))));
}

/**
 * The answers of all targets, in their order; throws when one is missing. A read ends with the first exception of a NameNode, for no other
 * answer changes it. A write waits for every answer, and its error tells where it was done all the same.
 */
export async function askRequired(
  c: Composition,
  request: Request,
  targets: readonly Target[],
): Promise<readonly Success[]> {
  const options = { unreachedMs: failoverWaitMs(c.engine) };
  if (request.method.effect === 'read') return await readRequired(c, request, targets, options);
  const answers = await c.askAll(request, targets, options);
  const failure = tellingFailure(answers);
  if (failure !== null) throw tellWhere(c.engine, failure, answers, targets);
  return requireAll(answers);
}

async function readRequired(
  c: Composition,
  request: Request,
  targets: readonly Target[],
  options: AskOptions,
): Promise<readonly Success[]> {
  const answers = new Array<Answer>(targets.length);
  let next = 0;
  const askNext = async (): Promise<void> => {
    while (next < targets.length) {
      const at = next++;
      const answer = await c.ask(request, targets[at] as Target, options);
      if (!answer.ok && !answer.unavailable) {
        next = targets.length;
        throw answer.refused;
      }
      answers[at] = answer;
    }
  };
  await Promise.all(Array.from({ length: Math.min(MAX_PARTS_AT_ONCE, targets.length) }, askNext));
  return requireAll(answers);
}

/** Behind the first line, which is the one that tools print. */
function tellWhere(engine: Engine, failure: Refused, answers: readonly Answer[], targets: readonly Target[]): Refused {
  const where = (ok: boolean): string =>
    nameSome(targets.filter((_, at) => answers[at]?.ok === ok).map((target) => nameOfTarget(engine, target)));
  const [line = '', ...others] = failure.message.split('\n');
  const told = `${line} [failed: ${where(false)}; done: ${where(true)}]`;
  return new Refused(failure.className, [told, ...others].join('\n'), failure.detail);
}

function nameSome(names: readonly string[]): string {
  if (names.length === 0) return 'nowhere';
  const more = names.length - MAX_NAMES;
  return more > 0 ? `${names.slice(0, MAX_NAMES).join(', ')} and ${more} more` : names.join(', ');
}
