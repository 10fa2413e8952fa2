import type { Call } from '../../call/call.ts';
import type { Engine } from '../../call/engine.ts';
import { SEVERAL } from '../../call/resolve.ts';
import { translatePath } from '../../call/strategies/reply-paths.ts';
import type { Plain } from '../../wire/messages.ts';
import { textOf } from '../../wire/text.ts';
import { type Answer, bodyOf, type Failed } from '../answer.ts';
import { type AskOptions, type Composition, compose, type Outcome, type Target } from '../composition.ts';
import { type Located, locate, pathOf, requireTargets } from '../locate.ts';
import { exists, survey } from '../locations/survey.ts';
import { isMissing } from '../view/is-missing.ts';
import { answerWithDirectory } from '../view/made-directory.ts';
import { failureOf } from '../view/status.ts';
import { failoverWaitMs } from '../waiting.ts';
import { isAtOrBelow } from './client-path.ts';

/** getEZForPath: of a path whose NameNode knows it by another one, or of which there may be several, with the client's path of the zone. */
export function answerZoneOfPath(engine: Engine, call: Call): void {
  const { resolver } = engine;
  const { pathStart, pathEnd } = call.fields;
  const nameservice = resolver.resolve(call, call.frame, call.start + pathStart, call.start + pathEnd, false);
  const isRenamed = nameservice >= 0 && resolver.path !== null && resolver.prefixBytes > 0;
  if (isRenamed || nameservice === SEVERAL) compose(engine, call, findZone);
  else answerWithDirectory(engine, call);
}

/**
 * A zone that begins above the mount's target begins, for clients, at the mount point: they put the trash of a zone below its path, and that
 * must be a path of theirs in the same zone. A mount point is in no zone while its target is missing.
 */
async function findZone(c: Composition): Promise<Outcome> {
  const { engine, call, method } = c;
  const located = locate(engine, call, pathOf(call), method.mountCheck);
  const isShown = located.atMount || located.mountsBelow;
  if (isShown && located.unresolved !== null) return c.write({});
  const targets = requireTargets(located);
  const patient: AskOptions = { unreachedMs: failoverWaitMs(engine) };
  const answers = await c.askAll(c.own, targets, targets.length === 1 && !located.mountsBelow ? patient : {});
  const telling = await findTelling(c, located, answers);
  if (telling >= 0) return zoneFor(c, located, bodyOf(answers[telling] as Answer), targets[telling] as Target);
  const failures = answers.filter((answer): answer is Failed => !answer.ok && !(isShown && isMissing(answer, located)));
  const failure = failureOf(failures, located, targets.length);
  if (failure === null) return c.write({});
  const [silent] = failures;
  if (silent?.unavailable !== true || failures.length > 1 || targets.length === 1 || located.mountsBelow) throw failure;
  // Nobody else knows the path.
  const target = targets[answers.indexOf(silent)] as Target;
  return zoneFor(c, located, bodyOf(await c.ask(c.own, target, patient)), target);
}

/**
 * Whose answer counts: -1 for nobody's. A NameNode also says of a path that it does not have in which zone it would be; so where locations say
 * different things it is the one that has the path, else the first that has a zone.
 */
async function findTelling(c: Composition, located: Located, answers: readonly Answer[]): Promise<number> {
  const { path, targets } = located;
  const roots = answers.map((answer, i) =>
    answer.ok ? zoneRoot(c, located, answer.body, targets[i] as Target) : null,
  );
  if (roots.every((root) => root !== null && root === roots[0])) return 0;
  if (answers.length === 1) return -1;
  const [standings = []] = await survey(c, [{ path, targets }]);
  const holder = standings.find(({ kind }) => kind === 'file') ?? standings.find(exists);
  if (holder === undefined) return roots.findIndex((root) => root !== null && root !== '');
  return answers[holder.location]?.ok === true ? holder.location : -1;
}

/** The client's path of the zone's root, '' without a zone. */
function zoneRoot(c: Composition, located: Located, body: Buffer, { path, prefixBytes }: Target): string {
  const zone = c.read(body)['zone'] as Plain | undefined;
  if (zone === undefined) return '';
  const own = zone['path'] as string;
  if (path === null) return own;
  return isAtOrBelow(own, textOf(path, 0, prefixBytes))
    ? translatePath(own, textOf(path, 0, path.length), located.path, prefixBytes)
    : (located.mountPoint ?? own);
}

function zoneFor(c: Composition, located: Located, body: Buffer, target: Target): Buffer {
  const zone = c.read(body)['zone'] as Plain | undefined;
  return zone === undefined ? body : c.write({ zone: { ...zone, path: zoneRoot(c, located, body, target) } });
}
