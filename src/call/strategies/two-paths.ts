import { answerMove } from '../../composed/moves/index.ts';
import { acrossNameservices } from '../../composed/moves/pairs.ts';
import { textOf } from '../../wire/text.ts';
import type { Call } from '../call.ts';
import type { Engine } from '../engine.ts';
import type { Method } from '../method.ts';
import { SEVERAL } from '../resolve.ts';
import { resolvePath } from './one-path.ts';

/** rename, rename2, createSymlink: both paths must lie in one nameservice. */
export function answerTwoPaths(engine: Engine, call: Call): void {
  const source = resolvePath(engine, call);
  if (source === SEVERAL) answerMove(engine, call);
  if (source < 0) return;
  const { resolver } = engine;
  const fields = call.fields;
  const method = call.method as Method;
  if (resolver.atHome && method.name.startsWith('rename')) {
    // Some of its trash may be in other nameservices.
    answerMove(engine, call);
    return;
  }
  const start = call.start + fields.path2Start;
  const end = call.start + fields.path2End;
  const target = resolver.resolve(call, call.frame, start, end, method.mountCheck2);
  if (target === SEVERAL) {
    answerMove(engine, call);
    return;
  }
  if (target < 0) {
    engine.fail(call, resolver.className, resolver.message);
    return;
  }
  if ((resolver.atMount || resolver.mountsBelow) && method.name.startsWith('rename')) {
    // Mount points make a directory of it, of which the NameNode need not know.
    answerMove(engine, call);
    return;
  }
  if (source !== target) {
    const from = textOf(call.frame, call.start + fields.pathStart, call.start + fields.pathEnd);
    const to = textOf(call.frame, start, end);
    const refused = acrossNameservices(engine, method, from, to, [source], [target]);
    engine.fail(call, refused.className, refused.message);
    return;
  }
  call.path2 = resolver.path;
  call.path2PrefixBytes = resolver.prefixBytes;
  engine.forward(call, source);
}
