import type { Call } from '../../call/call.ts';
import type { Engine } from '../../call/engine.ts';
import type { Method } from '../../call/method.ts';
import { encode, messageType } from '../../wire/messages.ts';
import { type Failed, tellingFailure } from '../answer.ts';
import { type Composition, compose, type Outcome, type Target } from '../composition.ts';
import { type Located, locate, pathOf, requireTargets } from '../locate.ts';
import { Entered, enterView } from './enter.ts';
import { findStatus } from './find-status.ts';
import { isMissing } from './is-missing.ts';
import { type SyntheticStatus, syntheticAt } from './synthetic.ts';

/** getFileInfo, getFileLinkInfo and getLocatedFileInfo: the status of a path, and of directories that only mount points make visible. */
export function answerStatus(engine: Engine, call: Call): void {
  if (enterView(engine, call, madeStatus) !== Entered.DONE) compose(engine, call, (c) => statusOf(c));
}

function madeStatus(call: Call, _path: string, fs: SyntheticStatus): Buffer {
  return encode(messageType((call.method as Method).response), { fs });
}

async function statusOf(c: Composition): Promise<Outcome> {
  const place = locate(c.engine, c.call, pathOf(c.call), false);
  const { mountsBelow, atMount, everywhere, unresolved } = place;
  if (unresolved !== null && (mountsBelow || atMount)) return c.write({ fs: syntheticAt(c.engine, place) });
  const targets = requireTargets(place);
  const { found, failures } = await findStatus(c, c.own, targets, everywhere, (answer) => isMissing(answer, place));
  // Below a file nothing can be: what mount points lie below is a directory.
  if (found !== null && !(mountsBelow && !found.scan.isDirectory(0))) return found.body;
  const failure = failureOf(failures, place, targets.length);
  if (failure !== null) {
    const silent = failures.length === 1 && failures[0]?.unavailable === true && !atMount;
    // Only one could not be asked: what it says is the answer, as soon as one of its NameNodes is active again.
    if (silent && !mountsBelow)
      return targets.find(({ nameservice }) => nameservice === failures[0]?.nameservice) as Target;
    throw failure;
  }
  return c.write({ fs: syntheticAt(c.engine, place) });
}

/**
 * What speaks against saying that no location has the path, null for nothing. With mount points below, the directory is there whoever is
 * down; a fault tolerant mount goes on with what it has.
 */
export function failureOf(
  failures: readonly Failed[],
  { mountsBelow, faultTolerant }: Located,
  asked: number,
): Error | null {
  const first = tellingFailure(failures);
  if (first === null) return null;
  const onlyUnavailable = failures.every(({ unavailable }) => unavailable);
  if (mountsBelow && onlyUnavailable) return null;
  return faultTolerant && onlyUnavailable && failures.length < asked ? null : first;
}
