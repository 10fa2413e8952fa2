import type { Call } from '../../call/call.ts';
import type { Engine } from '../../call/engine.ts';
import { translatePath } from '../../call/strategies/reply-paths.ts';
import type { Plain } from '../../wire/messages.ts';
import { textOf } from '../../wire/text.ts';
import { bodyOf } from '../answer.ts';
import { type Composition, compose, type Outcome } from '../composition.ts';
import { locate, pathOf, requireTargets } from '../locate.ts';
import { isMissing } from '../view/is-missing.ts';
import { answerWithDirectory } from '../view/made-directory.ts';
import { failoverWaitMs } from '../waiting.ts';
import { isAtOrBelow } from './client-path.ts';

/** getEZForPath: of a path whose NameNode knows it by another one, with the client's path of the zone. */
export function answerZoneOfPath(engine: Engine, call: Call): void {
  const { resolver } = engine;
  const { pathStart, pathEnd } = call.fields;
  const nameservice = resolver.resolve(call, call.frame, call.start + pathStart, call.start + pathEnd, false);
  const isRenamed = nameservice >= 0 && resolver.path !== null && resolver.prefixBytes > 0;
  if (isRenamed && !resolver.mountsBelow) compose(engine, call, findZone);
  else answerWithDirectory(engine, call);
}

/**
 * A zone that begins above the mount's target begins, for clients, at the mount point: they put the trash of a zone below its path, and that
 * must be a path of theirs in the same zone.
 */
async function findZone(c: Composition): Promise<Outcome> {
  const { engine, call, method } = c;
  const located = locate(engine, call, pathOf(call), method.mountCheck);
  const [target] = requireTargets(located);
  if (target === undefined || target.path === null) throw new Error(`${located.path} has no target of its own`);
  const answer = await c.ask(c.own, target, { unreachedMs: failoverWaitMs(engine) });
  if (located.atMount && isMissing(answer, located)) return c.write({});
  const body = bodyOf(answer);
  const zone = c.read(body)['zone'] as Plain | undefined;
  if (zone === undefined) return body;
  const own = zone['path'] as string;
  const path = textOf(target.path, 0, target.path.length);
  const top = textOf(target.path, 0, target.prefixBytes);
  const shown = isAtOrBelow(own, top)
    ? translatePath(own, path, located.path, target.prefixBytes)
    : (located.mountPoint ?? own);
  return c.write({ zone: { ...zone, path: shown } });
}
