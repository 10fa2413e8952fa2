import type { Call } from '../../call/call.ts';
import type { Engine } from '../../call/engine.ts';
import { REFUSED, SEVERAL } from '../../call/resolve.ts';
import { type Composition, compose, type Outcome } from '../composition.ts';
import { locate, pathOf, requireTargets } from '../locate.ts';
import { failureOf } from '../locations/answers.ts';
import { answerWithDirectory } from '../view/made-directory.ts';
import { failoverWaitMs } from '../waiting.ts';
import { clientPathsOf } from './client-path.ts';

/** getLinkTarget: at and above mount points is no link. */
export function answerLinkTarget(engine: Engine, call: Call): void {
  const { resolver } = engine;
  const { pathStart, pathEnd } = call.fields;
  const nameservice = resolver.resolve(call, call.frame, call.start + pathStart, call.start + pathEnd, false);
  const isPlace = nameservice >= 0 || nameservice === SEVERAL || nameservice === REFUSED;
  if (isPlace && !resolver.atMount && !resolver.mountsBelow) compose(engine, call, findLinkTarget);
  else answerWithDirectory(engine, call);
}

/**
 * With the path under which clients see what the link leads to, which may be far from the link. A target that no mount point
 * shows, or that is no absolute path, stays as it is: it is what the link says.
 */
async function findLinkTarget(c: Composition): Promise<Outcome> {
  const { engine, call, method } = c;
  const paths = await clientPathsOf(engine);
  const targets = requireTargets(locate(engine, call, pathOf(call), method.mountCheck));
  // Of several locations another one may have the link.
  const options = targets.length > 1 ? {} : { unreachedMs: failoverWaitMs(engine) };
  const answers = await c.askAll(c.own, targets, options);
  for (const answer of answers) {
    if (!answer.ok || answer.body.length === 0) continue;
    const named = c.read(answer.body)['targetPath'] as string;
    return c.write({ targetPath: paths.clientPathOf(answer.nameservice, named) ?? named });
  }
  const failure = failureOf(answers);
  if (failure !== null) throw failure;
  return c.write({});
}
