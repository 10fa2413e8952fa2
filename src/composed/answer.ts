import { Failure } from '../call/failure.ts';
import { Refused } from './refused.ts';

/** What came of one request of a composed call. */
export type Answer = Success | Failed;

export interface Success {
  readonly ok: true;
  readonly nameservice: number;
  /** The response message, without length prefix; a copy. */
  readonly body: Buffer;
}

export interface Failed {
  readonly ok: false;
  readonly nameservice: number;
  readonly refused: Refused;
  /** No NameNode could be asked, or none answered in time: this says nothing about the path. */
  readonly unavailable: boolean;
  /** A NameNode may have executed the request all the same. */
  readonly uncertain?: boolean;
}

export const FILE_NOT_FOUND = 'java.io.FileNotFoundException';

export const PARENT_NOT_DIRECTORY = 'org.apache.hadoop.fs.ParentNotDirectoryException';

/**
 * A NameNode says that something above the path is a file: so to those who make names, to others that they may not enter it. To a superuser
 * who asks for a status it only says that nothing is there.
 */
export function tellsOfFileAbove({
  className,
  message,
}: {
  readonly className: string;
  readonly message: string;
}): boolean {
  if (className === PARENT_NOT_DIRECTORY) return true;
  return className === Failure.ACCESS_CONTROL && message.startsWith('/') && message.includes(' (is not a directory)');
}

export function isBelowFile(answer: Answer): boolean {
  return !answer.ok && tellsOfFileAbove(answer.refused);
}

export function isNotFound(answer: Answer): boolean {
  return !answer.ok && answer.refused.className === FILE_NOT_FOUND;
}

/** The failure to tell the client of several: one that names a nameservice that could not be asked, else the first. Null without failures. */
export function tellingFailure(answers: readonly Answer[]): Refused | null {
  let first: Refused | null = null;
  for (const answer of answers) {
    if (answer.ok) continue;
    if (answer.unavailable) return answer.refused;
    first ??= answer.refused;
  }
  return first;
}

/** The body of an answer; throws what it failed with. */
export function bodyOf(answer: Answer): Buffer {
  if (!answer.ok) throw answer.refused;
  return answer.body;
}

/** The successes, in the order of the requests; throws the telling failure when there is none. */
export function successesOf(answers: readonly Answer[]): Success[] {
  const successes = answers.filter((answer) => answer.ok);
  if (successes.length > 0) return successes;
  const failure = tellingFailure(answers);
  throw failure ?? new Refused('java.io.IOException', 'No remote locations available');
}

/** The successes of answers that must all be there; throws the telling failure otherwise. */
export function requireAll(answers: readonly Answer[]): Success[] {
  const failure = tellingFailure(answers);
  if (failure !== null) throw failure;
  return answers.filter((answer) => answer.ok);
}
