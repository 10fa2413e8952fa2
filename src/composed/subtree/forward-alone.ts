import type { Call } from '../../call/call.ts';
import type { Engine } from '../../call/engine.ts';
import { BY_INODE, SEVERAL } from '../../call/resolve.ts';
import { answerInodePath } from '../../call/strategies/inode-path.ts';
import { canonicalPath } from '../../mount/canonical.ts';
import { textOf } from '../../wire/text.ts';
import { strayTrashBelow } from '../trash.ts';

/**
 * Brings a call on its way whose path is in one nameservice and below its mount point, and calls that are refused. False when more than one
 * place may have a part in the answer, or the path is a directory because of mount points, whether a nameservice has it or not.
 */
export function forwardAlone(engine: Engine, call: Call): boolean {
  const { resolver } = engine;
  const { pathStart, pathEnd } = call.fields;
  const nameservice = resolver.resolve(call, call.frame, call.start + pathStart, call.start + pathEnd, false);
  if (nameservice === SEVERAL || resolver.mountsBelow || resolver.atMount) return false;
  const { path, prefixBytes, className, message } = resolver;
  if (nameservice >= 0 && hasStrayTrash(engine, call)) return false;
  if (nameservice === BY_INODE) {
    answerInodePath(engine, call, resolver.nameservicesInUse);
    return true;
  }
  if (nameservice < 0) {
    engine.fail(call, className, message);
    return true;
  }
  call.byPath = true;
  call.path = path;
  call.pathPrefixBytes = prefixBytes;
  engine.forward(call, nameservice);
  return true;
}

/** `/`, `/user` or the caller's home directory, with trash in other nameservices than its own. */
function hasStrayTrash(engine: Engine, call: Call): boolean {
  const { pathStart, pathEnd } = call.fields;
  const spelled = textOf(call.frame, call.start + pathStart, call.start + pathEnd);
  return strayTrashBelow(engine, call, canonicalPath(spelled)) !== null;
}
