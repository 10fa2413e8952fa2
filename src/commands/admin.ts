import { takeCommonFlags } from '../admin/client/arguments.ts';
import { readContext, warn } from '../admin/client/context.ts';
import { reasonOf } from '../admin/client/text.ts';
import { findVerb, nearestVerb, VERBS } from '../admin/client/verbs.ts';
import { RemoteError } from '../control/rpc-client.ts';
import { JAVA } from '../control/rpc-server/remote-exception.ts';
import { ExitCode, UsageError } from './usage.ts';

/** Answers of a port that is not an admin port. */
const WRONG_PORT: ReadonlySet<string> = new Set([JAVA.NO_SUCH_PROTOCOL, JAVA.NO_SUCH_METHOD, JAVA.RPC_SERVER]);

/** `switchyard admin VERB …`: resolves with the exit code. */
export async function run(args: string[]): Promise<number> {
  const { flags, rest } = takeCommonFlags(args);
  const [word = '', ...others] = rest;
  const verb = findVerb(word);
  if (verb === null) throw new UsageError(describeUnknown(word));
  try {
    return await verb.run(others, () => readContext(flags));
  } catch (error) {
    if (!(error instanceof RemoteError)) throw error;
    const hint = WRONG_PORT.has(error.className) ? '; is it the admin port of a router?' : '';
    warn(`${verb.name}: the router refuses: ${reasonOf(error)}${hint}`);
    return ExitCode.FAILED;
  }
}

function describeUnknown(word: string): string {
  if (word === '') return `no verb; there are ${VERBS.map(({ name }) => name).join(', ')}`;
  const near = nearestVerb(word);
  return `there is no verb '${word}'; ${near === null ? 'switchyard help admin lists them' : `did you mean ${near}?`}`;
}
