import { decode, encode, messageType } from '../../wire/messages.ts';
import { textOf } from '../../wire/text.ts';
import type { Call } from '../call.ts';
import { type Fields, visitDotted } from '../dotted.ts';
import type { Engine } from '../engine.ts';
import type { Method } from '../method.ts';
import { OwnReply } from '../own-reply.ts';

/** Paths of the NameNode in the answer become the client's again. */
export function translateReplyPaths(engine: Engine, call: Call): void {
  const fields = call.fields;
  const mounted = textOf(call.frame, call.start + fields.pathStart, call.start + fields.pathEnd);
  call.composer = new TranslatedReply(
    engine,
    call.path === null ? mounted : textOf(call.path, 0, call.path.length),
    mounted,
    call.pathPrefixBytes,
  );
}

class TranslatedReply extends OwnReply {
  readonly #target: string;
  readonly #mounted: string;
  readonly #prefixBytes: number;

  constructor(engine: Engine, target: string, mounted: string, prefixBytes: number) {
    super(engine);
    this.#target = target;
    this.#mounted = mounted;
    this.#prefixBytes = prefixBytes;
  }

  protected change(call: Call, buffer: Buffer, start: number, end: number): Buffer {
    const body = buffer.subarray(start, end);
    return translateAnswer(call.method as Method, body, this.#target, this.#mounted, this.#prefixBytes);
  }
}

/** The response message with the client's paths in place of the NameNode's; as it is for methods without such paths. */
export function translateAnswer(
  method: Method,
  body: Buffer,
  target: string,
  mounted: string,
  prefixBytes: number,
): Buffer {
  if (method.replyPaths.length === 0) return body;
  const type = messageType(method.response);
  const message = decode(type, body);
  for (const dotted of method.replyPaths) {
    visitDotted(message as unknown as Fields, dotted, (value) => {
      const translated = translatePath(value.toString(), target, mounted, prefixBytes);
      return typeof value === 'string' ? translated : Buffer.from(translated);
    });
  }
  return encode(type, message);
}

/**
 * The client's name of a NameNode's path: at or below the call's target its own path takes the place of the target; above it, down to the
 * mount's target, as much is taken off the client's path as lies between. Any other path stays.
 */
export function translatePath(path: string, target: string, mounted: string, prefixBytes: number): string {
  if (path === target || path.startsWith(target === '/' ? '/' : `${target}/`)) {
    const rest = path.slice(target === '/' ? 1 : target.length + 1);
    if (rest === '') return mounted;
    return mounted === '/' ? `/${rest}` : `${mounted}/${rest}`;
  }
  const prefix = Buffer.from(target).subarray(0, prefixBytes).toString();
  const isBetween = target.startsWith(path === '/' ? '/' : `${path}/`) && path.length >= prefix.length;
  if (!isBetween) return path;
  const below = target.slice(path === '/' ? 0 : path.length);
  return mounted.endsWith(below) ? mounted.slice(0, mounted.length - below.length) || '/' : path;
}
