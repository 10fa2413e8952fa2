import { canonicalPath } from '../../mount/canonical.ts';
import type { MountSnapshot } from '../../mount/snapshot.ts';
import { decodePlain, encode, messageType } from '../../wire/messages.ts';
import { textOf } from '../../wire/text.ts';
import type { Call } from '../call.ts';
import type { Engine } from '../engine.ts';
import type { Method } from '../method.ts';
import { OwnReply } from '../own-reply.ts';
import { resolvePath } from './one-path.ts';
import { translatePath } from './reply-paths.ts';

/**
 * getEnclosingRoot: the deepest directory above which a rename from the path cannot go. A NameNode knows encryption zones; the mount point is
 * such a root too, and hides whatever the NameNode names above it.
 */
export function answerEnclosingRoot(engine: Engine, call: Call): void {
  const nameservice = resolvePath(engine, call);
  if (nameservice < 0) return;
  const { resolver } = engine;
  const snapshot = resolver.snapshot as MountSnapshot;
  const mount = resolver.mount;
  const mountPoint = mount < 0 ? '/' : textOf(snapshot.bytes, snapshot.sourceStart(mount), snapshot.sourceEnd(mount));
  const mounted = canonicalPath(
    textOf(call.frame, call.start + call.fields.pathStart, call.start + call.fields.pathEnd),
  );
  const target = call.path === null ? mounted : textOf(call.path, 0, call.path.length);
  call.composer = new EnclosingRoot(engine, target, mounted, call.pathPrefixBytes, mountPoint);
  engine.forward(call, nameservice);
}

class EnclosingRoot extends OwnReply {
  readonly #target: string;
  readonly #mounted: string;
  readonly #prefixBytes: number;
  readonly #mountPoint: string;

  constructor(engine: Engine, target: string, mounted: string, prefixBytes: number, mountPoint: string) {
    super(engine);
    this.#target = target;
    this.#mounted = mounted;
    this.#prefixBytes = prefixBytes;
    this.#mountPoint = mountPoint;
  }

  protected change(call: Call, buffer: Buffer, start: number, end: number): Buffer {
    const type = messageType((call.method as Method).response);
    const { enclosingRootPath } = decodePlain(type, buffer, start, end);
    const root = translatePath(String(enclosingRootPath ?? '/'), this.#target, this.#mounted, this.#prefixBytes);
    const isBelow =
      root === this.#mountPoint || root.startsWith(this.#mountPoint === '/' ? '/' : `${this.#mountPoint}/`);
    return encode(type, { enclosingRootPath: isBelow ? root : this.#mountPoint });
  }
}
