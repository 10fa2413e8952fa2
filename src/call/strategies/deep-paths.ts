import { decode, encode, messageType } from '../../wire/messages.ts';
import type { Call } from '../call.ts';
import { type Fields, visitDotted } from '../dotted.ts';
import type { Engine } from '../engine.ts';
import { Failure } from '../failure.ts';
import type { Method } from '../method.ts';
import { replaceRequest } from '../rebuild.ts';
import { refuseLater } from './refused.ts';

/** Paths in lists or embedded messages (concat, cache directives): decoded whole; all of them must lie in one nameservice. */
export function answerByDeepPaths(engine: Engine, call: Call): void {
  const method = call.method as Method;
  const type = messageType(method.request);
  const { resolver } = engine;
  const found = new Set<number>();
  let refused = false;
  let replaced = false;
  const resolve = (value: string | Buffer): string | undefined => {
    if (refused) return undefined;
    const path = Buffer.from(value);
    const nameservice = resolver.resolve(call, path, 0, path.length, method.mountCheck);
    if (nameservice < 0) {
      refused = true;
      return undefined;
    }
    found.add(nameservice);
    if (resolver.path === null) return undefined;
    replaced = true;
    return resolver.path.toString();
  };
  let body: Buffer;
  try {
    const message = decode(type, call.frame, call.start + call.fields.bodyStart, call.start + call.fields.bodyEnd);
    if (method.pathField > 0)
      visitDotted(message as unknown as Fields, (type.fieldsById[method.pathField] as { name: string }).name, resolve);
    for (const dotted of method.deepPaths) visitDotted(message as unknown as Fields, dotted, resolve);
    body = replaced ? encode(type, message) : Buffer.alloc(0);
  } catch (error) {
    engine.fail(call, Failure.MALFORMED, error instanceof Error ? error.message : String(error));
    return;
  }
  if (refused) {
    engine.fail(call, resolver.className, resolver.message);
    return;
  }
  const [only] = found;
  if (only === undefined) {
    refuseLater(engine, call);
    return;
  }
  if (found.size > 1) {
    engine.fail(
      call,
      Failure.IO,
      `Operation "${method.name}" needs all its paths in one nameservice; they lie in ${[...found].map((n) => engine.nameserviceName(n)).join(', ')}`,
    );
    return;
  }
  if (replaced) replaceRequest(call, body);
  engine.forward(call, only);
}
