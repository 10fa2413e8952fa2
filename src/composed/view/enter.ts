import type { Call } from '../../call/call.ts';
import type { Engine } from '../../call/engine.ts';
import { Failure } from '../../call/failure.ts';
import type { Method } from '../../call/method.ts';
import { OwnReply } from '../../call/own-reply.ts';
import { BY_INODE, SEVERAL } from '../../call/resolve.ts';
import { answerInodePath } from '../../call/strategies/inode-path.ts';
import { translateReplyPaths } from '../../call/strategies/reply-paths.ts';
import { canonicalPath } from '../../mount/canonical.ts';
import type { MountSnapshot } from '../../mount/snapshot.ts';
import { textOf } from '../../wire/text.ts';
import { type SyntheticStatus, syntheticStatus } from './synthetic.ts';

export const Entered = {
  /** On its way, or answered. */
  DONE: 0,
  /** A mount point of one nameservice without mount points below it. */
  AT_MOUNT: 1,
  /** Mount points lie below the path. */
  ABOVE_MOUNTS: 2,
  /** Several nameservices have a part of it, and no mount points lie below. */
  SEVERAL: 3,
} as const;

/**
 * Resolves the call's path. What no mount point touches, the usual case, is forwarded at once with nothing decoded, and so is a mount point
 * when `absent` is given (see MountPointReply); the rest is the caller's.
 */
export function enterView(engine: Engine, call: Call, absent: ((status: SyntheticStatus) => Buffer) | null): number {
  const { resolver } = engine;
  const { fields } = call;
  const nameservice = resolver.resolve(
    call,
    call.frame,
    call.start + fields.pathStart,
    call.start + fields.pathEnd,
    (call.method as Method).mountCheck,
  );
  const { atMount, mountsBelow } = resolver;
  if (nameservice >= 0 && !mountsBelow) {
    if (atMount && absent === null) return Entered.AT_MOUNT;
    call.path = resolver.path;
    call.pathPrefixBytes = resolver.prefixBytes;
    call.byPath = true;
    if (atMount && absent !== null) call.composer = new MountPointReply(engine, call, absent);
    else if (call.path !== null && (call.method as Method).replyPaths.length > 0) translateReplyPaths(engine, call);
    engine.forward(call, nameservice);
    return Entered.DONE;
  }
  if (nameservice === BY_INODE) {
    answerInodePath(engine, call, resolver.nameservicesInUse);
    return Entered.DONE;
  }
  if (mountsBelow && (nameservice >= 0 || nameservice === SEVERAL || resolver.className === Failure.NO_RESOLUTION)) {
    return Entered.ABOVE_MOUNTS;
  }
  if (nameservice === SEVERAL) return Entered.SEVERAL;
  engine.fail(call, resolver.className, resolver.message);
  return Entered.DONE;
}

/** A mount point whose nameservice answers; where its target is missing, the mount point is there nevertheless. */
class MountPointReply extends OwnReply {
  readonly #path: string;
  readonly #absent: (status: SyntheticStatus) => Buffer;

  /** `absent` makes the response message where the NameNode's is empty, from the status of the mount point. */
  constructor(engine: Engine, call: Call, absent: (status: SyntheticStatus) => Buffer) {
    super(engine);
    const { pathStart, pathEnd } = call.fields;
    this.#path = canonicalPath(textOf(call.frame, call.start + pathStart, call.start + pathEnd));
    this.#absent = absent;
  }

  protected change(_call: Call, buffer: Buffer, start: number, end: number): Buffer {
    if (end > start) return buffer.subarray(start, end);
    const snapshot = this.engine.resolver.snapshot as MountSnapshot;
    return this.#absent(syntheticStatus(snapshot, this.engine.settings, this.#path, ''));
  }
}
