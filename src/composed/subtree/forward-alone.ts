import type { Call } from '../../call/call.ts';
import type { Engine } from '../../call/engine.ts';
import { BY_INODE, SEVERAL } from '../../call/resolve.ts';
import { answerInodePath } from '../../call/strategies/inode-path.ts';

/**
 * Brings a call on its way whose path is in one nameservice and below its mount point, and calls that are refused. False when more than one
 * place may have a part in the answer, or the path is a directory because of mount points, whether a nameservice has it or not.
 */
export function forwardAlone(engine: Engine, call: Call): boolean {
  const { resolver } = engine;
  const { pathStart, pathEnd } = call.fields;
  const nameservice = resolver.resolve(call, call.frame, call.start + pathStart, call.start + pathEnd, false);
  if (nameservice === SEVERAL || resolver.mountsBelow || resolver.atMount) return false;
  if (nameservice === BY_INODE) {
    answerInodePath(engine, call, resolver.nameservicesInUse);
    return true;
  }
  if (nameservice < 0) {
    engine.fail(call, resolver.className, resolver.message);
    return true;
  }
  call.byPath = true;
  call.path = resolver.path;
  call.pathPrefixBytes = resolver.prefixBytes;
  engine.forward(call, nameservice);
  return true;
}
