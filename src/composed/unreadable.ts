import { Failure } from '../call/failure.ts';
import type { Method } from '../call/method.ts';
import { decodePlain, MessageError, messageType, type Plain } from '../wire/messages.ts';
import type { Failed, Success } from './answer.ts';
import type { Composition } from './composition.ts';
import { Refused } from './refused.ts';

/** An answer that came and is no message of its type, or not what was asked for: a failure that names its nameservice. */
export function unreadable(c: Composition, { nameservice }: Success, { name }: Method, why: string): Failed {
  const where = c.engine.nameserviceName(nameservice);
  const message = `The answer of the NameNode to ${name} cannot be read: that of ${where} ${why}`;
  return { ok: false, nameservice, refused: new Refused(Failure.IO, message), unavailable: false };
}

/** The response message of an answer to a method (the client's own one when left out). Throws Refused that names the nameservice. */
export function readAnswer(c: Composition, answer: Success, method: Method = c.method): Plain {
  try {
    return decodePlain(messageType(method.response), answer.body);
  } catch (error) {
    if (!(error instanceof MessageError)) throw error;
    throw unreadable(c, answer, method, `is not valid: ${error.message}`).refused;
  }
}
