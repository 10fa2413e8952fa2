import { Failure } from '../../call/failure.ts';
import { translateAnswer } from '../../call/strategies/reply-paths.ts';
import { Counter } from '../../shared/counters.ts';
import { decode, encode, messageType } from '../../wire/messages.ts';
import { textOf } from '../../wire/text.ts';
import { type Answer, isNotFound, type Success, tellingFailure } from '../answer.ts';
import type { Composition, Target } from '../composition.ts';
import type { Located } from '../locate.ts';
import { Refused } from '../refused.ts';

/** Why nothing came of a call: who could not be asked, else who knows the path and refuses, else that it is not there. Null without failures. */
export function failureOf(answers: readonly Answer[]): Refused | null {
  return tellingFailure([...answers.filter((each) => !isNotFound(each)), ...answers.filter(isNotFound)]);
}

/** The answer of one location as the client gets it: with its own paths, and with the nameservice's name where the method has one. */
export function answerOf(c: Composition, located: Located, success: Success, target: Target): Buffer {
  const { method, engine } = c;
  let { body } = success;
  try {
    if (method.namespaceIn !== '') body = withNamespace(c, body, engine.nameserviceName(success.nameservice));
    if (target.path === null) return body;
    return translateAnswer(method, body, textOf(target.path, 0, target.path.length), located.path, target.prefixBytes);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Refused(Failure.IO, `The answer of the NameNode to ${method.name} cannot be read: ${why}`);
  }
}

/** Counts and notes a change that some nameservices made and others did not. That some do not know the path is none: files live in one. */
export function noteDivergence(c: Composition, path: string, answers: readonly Answer[]): void {
  const failed = answers.filter((each) => !each.ok && !isNotFound(each));
  if (failed.length === 0 || failed.length === answers.length) return;
  const names = (some: readonly Answer[]): string =>
    some.map(({ nameservice }) => c.engine.nameserviceName(nameservice)).join(', ');
  const done = names(answers.filter((each) => each.ok));
  const why = failureOf(failed)?.message.split('\n', 1)[0];
  countDivergence(c, path, `it was done in ${done}, but not in ${names(failed)} (${why}): repeat it there`);
}

/** Counts and notes that the call has left the locations of a path unlike each other. */
export function countDivergence(c: Composition, path: string, what: string): void {
  c.engine.counters.add(Counter.divergences);
  c.engine.note(`${c.method.name} of ${path} has left its locations unlike each other: ${what}`);
}

function withNamespace(c: Composition, body: Buffer, nameservice: string): Buffer {
  const type = messageType(c.method.response);
  const message = decode(type, body) as unknown as Record<string, { namespace?: string } | null>;
  const status = Object.hasOwn(message, c.method.namespaceIn) ? message[c.method.namespaceIn] : null;
  if (status === null || status === undefined) return body;
  status.namespace = nameservice;
  return encode(type, message);
}
