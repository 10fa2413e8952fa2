import { answerDeepPaths } from '../../composed/moves/index.ts';
import { decode, encode, messageType } from '../../wire/messages.ts';
import type { Call, DeepPath } from '../call.ts';
import { type Fields, visitDotted } from '../dotted.ts';
import type { Engine } from '../engine.ts';
import { Failure } from '../failure.ts';
import type { Method } from '../method.ts';
import { replaceRequest } from '../rebuild.ts';
import { SEVERAL } from '../resolve.ts';

/**
 * Paths in lists or embedded messages (concat): decoded whole; all of them must lie in one nameservice. The rebuilt
 * request takes the place of the client's, which is kept: when the mount table changes before it is sent, it is resolved from that anew.
 */
export function answerByDeepPaths(engine: Engine, call: Call): void {
  const method = call.method as Method;
  const type = messageType(method.request);
  const { resolver } = engine;
  const found = new Set<number>();
  const replaced: DeepPath[] = [];
  let refused = false;
  let several = false;
  const resolve = (value: string | Buffer): string | undefined => {
    if (refused) return undefined;
    const path = Buffer.from(value);
    const nameservice = resolver.resolve(call, path, 0, path.length, method.mountCheck);
    if (nameservice === SEVERAL) {
      several = true;
      return undefined;
    }
    if (nameservice < 0) {
      refused = true;
      return undefined;
    }
    found.add(nameservice);
    const target = resolver.path;
    if (target === null) return undefined;
    replaced.push({ target, prefixBytes: resolver.prefixBytes, mounted: path });
    return target.toString();
  };
  let body: Buffer;
  try {
    const message = decode(type, call.frame, call.start + call.fields.bodyStart, call.start + call.fields.bodyEnd);
    if (method.pathField > 0)
      visitDotted(message as unknown as Fields, (type.fieldsById[method.pathField] as { name: string }).name, resolve);
    for (const dotted of method.deepPaths) visitDotted(message as unknown as Fields, dotted, resolve);
    body = replaced.length > 0 ? encode(type, message) : Buffer.alloc(0);
  } catch (error) {
    engine.fail(call, Failure.MALFORMED, error instanceof Error ? error.message : String(error));
    return;
  }
  if (refused) {
    engine.fail(call, resolver.className, resolver.message);
    return;
  }
  if (several && answerDeepPaths(engine, call)) return;
  const [only] = found;
  if (only === undefined || several || found.size > 1) {
    engine.fail(
      call,
      Failure.IO,
      `Operation "${method.name}" needs all its paths in one nameservice; they lie in ${[...found].map((n) => engine.nameserviceName(n)).join(', ')}`,
    );
    return;
  }
  call.byPath = true;
  if (replaced.length > 0) {
    replaceRequest(call, body);
    call.deepPaths = replaced;
  }
  engine.forward(call, only);
}
