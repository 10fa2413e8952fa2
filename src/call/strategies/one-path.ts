import { answerAtLocations } from '../../composed/locations/at-locations.ts';
import { encode, messageType } from '../../wire/messages.ts';
import type { Call } from '../call.ts';
import type { Engine } from '../engine.ts';
import type { Method } from '../method.ts';
import { BY_INODE, SEVERAL } from '../resolve.ts';
import { answerInodePath } from './inode-path.ts';
import { translateReplyPaths } from './reply-paths.ts';
import { explainMissingHome } from './trash-home.ts';

/** By the nameservice of its path. The usual case, and the fast path: nothing here allocates unless the path is replaced. */
export function answerOnePath(engine: Engine, call: Call): void {
  const nameservice = resolvePath(engine, call);
  const method = call.method as Method;
  // Of the caller's home directory some of the trash may be in other nameservices.
  const isHome = engine.resolver.atHome && nameservice >= 0 && method.name === 'delete';
  if (nameservice === SEVERAL || isHome) {
    answerAtLocations(engine, call);
    return;
  }
  if (nameservice < 0) return;
  if (call.path !== null && method.replyPaths.length > 0) translateReplyPaths(engine, call);
  else if (engine.resolver.inTrash && method.name === 'mkdirs') explainMissingHome(engine, call, nameservice);
  engine.forward(call, nameservice);
}

/** Resolves the call's (first) path into the call; a negative answer other than SEVERAL means that it is refused, or on its way already. */
export function resolvePath(engine: Engine, call: Call): number {
  const resolver = engine.resolver;
  const fields = call.fields;
  const nameservice = resolver.resolve(
    call,
    call.frame,
    call.start + fields.pathStart,
    call.start + fields.pathEnd,
    (call.method as Method).mountCheck,
  );
  if (nameservice === BY_INODE && (call.method as Method).strategy === 'one-path') {
    answerInodePath(engine, call, resolver.nameservicesInUse);
    return nameservice;
  }
  if (nameservice === SEVERAL) return nameservice;
  if (nameservice < 0 && resolver.mountsBelow && resolver.isUnresolved && (call.method as Method).name === 'mkdirs') {
    // Mount points make a directory of it: it is there.
    engine.succeed(call, encode(messageType((call.method as Method).response), { result: true }));
    return nameservice;
  }
  if (nameservice < 0) {
    engine.fail(call, resolver.className, resolver.message);
    return nameservice;
  }
  call.byPath = true;
  call.path = resolver.path;
  call.pathPrefixBytes = resolver.prefixBytes;
  return nameservice;
}
