import { successesOf } from '../../composed/answer.ts';
import { type Composition, compose, type Outcome, type Target } from '../../composed/composition.ts';
import { locate, pathOf, requireTargets } from '../../composed/locate.ts';
import { canonicalPath } from '../../mount/canonical.ts';
import type { MountSnapshot } from '../../mount/snapshot.ts';
import { decodePlain, encode, messageType } from '../../wire/messages.ts';
import { textOf } from '../../wire/text.ts';
import type { Call } from '../call.ts';
import type { Engine } from '../engine.ts';
import type { Method } from '../method.ts';
import { OwnReply } from '../own-reply.ts';
import { SEVERAL } from '../resolve.ts';
import { resolvePath } from './one-path.ts';
import { translatePath } from './reply-paths.ts';

/**
 * getEnclosingRoot: the deepest directory above which a rename from the path cannot go. A NameNode knows encryption zones; the mount point is
 * such a root too, and hides whatever the NameNode names above it.
 */
export function answerEnclosingRoot(engine: Engine, call: Call): void {
  const nameservice = resolvePath(engine, call);
  if (nameservice === SEVERAL) compose(engine, call, searchEnclosingRoot);
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
    return encode(type, { enclosingRootPath: notAbove(this.#mountPoint, root) });
  }
}

function notAbove(mountPoint: string, root: string): string {
  return root === mountPoint || root.startsWith(mountPoint === '/' ? '/' : `${mountPoint}/`) ? root : mountPoint;
}

/** Over several locations: the deepest root that one of them names, for a rename that crosses it fails there. */
async function searchEnclosingRoot(c: Composition): Promise<Outcome> {
  const located = locate(c.engine, c.call, pathOf(c.call), false);
  const targets = requireTargets(located);
  const answers = await c.askAll(c.own, targets);
  successesOf(answers);
  let deepest = located.mountPoint ?? '/';
  for (const [i, answer] of answers.entries()) {
    if (!answer.ok) continue;
    const { path, prefixBytes } = targets[i] as Target;
    const { enclosingRootPath } = c.read(answer.body);
    const target = path === null ? located.path : textOf(path, 0, path.length);
    const root = translatePath(String(enclosingRootPath ?? '/'), target, located.path, prefixBytes);
    const shown = notAbove(located.mountPoint ?? '/', root);
    if (shown.length > deepest.length) deepest = shown;
  }
  return c.write({ enclosingRootPath: deepest });
}
