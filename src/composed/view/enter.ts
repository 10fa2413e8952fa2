import type { Call } from '../../call/call.ts';
import type { Engine } from '../../call/engine.ts';
import { Failure } from '../../call/failure.ts';
import type { Method } from '../../call/method.ts';
import { OwnReply } from '../../call/own-reply.ts';
import { BY_INODE, REFUSED, SEVERAL } from '../../call/resolve.ts';
import { answerInodePath } from '../../call/strategies/inode-path.ts';
import { translateAnswer, translateReplyPaths } from '../../call/strategies/reply-paths.ts';
import { canonicalPath } from '../../mount/canonical.ts';
import type { MountSnapshot } from '../../mount/snapshot.ts';
import { Status } from '../../wire/reply-head.ts';
import type { ReplyScan } from '../../wire/reply-scan.ts';
import { textOf } from '../../wire/text.ts';
import { FILE_NOT_FOUND, tellsOfFileAbove } from '../answer.ts';
import { Refused } from '../refused.ts';
import { strayTrashOfHome } from '../trash.ts';
import { type SyntheticStatus, syntheticStatus } from './synthetic.ts';

/** Methods that answer with an empty message when there is no such path. */
const NO_STATUS_MEANS_MISSING: ReadonlySet<string> = new Set([
  'getFileInfo',
  'getFileLinkInfo',
  'getLocatedFileInfo',
  'getListing',
]);

export const Entered = {
  /** On its way, or answered. */
  DONE: 0,
  /** Mount points lie below the path. */
  ABOVE_MOUNTS: 1,
  /** Several nameservices have a part of it (of the caller's home directory its trash), and no mount points lie below. */
  SEVERAL: 2,
} as const;

/** What a directory that only mount points make visible is answered with: the response message, made from its path and status. May throw Refused. */
export type MadeAnswer = (call: Call, path: string, status: SyntheticStatus) => Buffer;

/**
 * Resolves the call's path. What lies in one nameservice is forwarded at once with nothing decoded: the usual case, and mount points, whose
 * answer is `made` where their target is missing. The rest is the caller's.
 */
export function enterView(engine: Engine, call: Call, made: MadeAnswer): number {
  const { resolver } = engine;
  const { fields } = call;
  const resolve = (): number =>
    resolver.resolve(
      call,
      call.frame,
      call.start + fields.pathStart,
      call.start + fields.pathEnd,
      (call.method as Method).mountCheck,
    );
  let nameservice = resolve();
  if (resolver.atHome && nameservice >= 0 && !resolver.mountsBelow && (call.method as Method).name === 'getListing') {
    const path = canonicalPath(textOf(call.frame, call.start + fields.pathStart, call.start + fields.pathEnd));
    if (strayTrashOfHome(engine, call, path) !== null) return Entered.SEVERAL;
    nameservice = resolve();
  }
  const { atMount, mountsBelow } = resolver;
  if (nameservice >= 0 && !mountsBelow) {
    call.path = resolver.path;
    call.pathPrefixBytes = resolver.prefixBytes;
    call.byPath = true;
    if (atMount) call.composer = new MountPointReply(engine, call, made);
    else if (call.path !== null && (call.method as Method).replyPaths.length > 0) translateReplyPaths(engine, call);
    engine.forward(call, nameservice);
    return Entered.DONE;
  }
  if (nameservice === BY_INODE) {
    answerInodePath(engine, call, resolver.nameservicesInUse);
    return Entered.DONE;
  }
  if (mountsBelow && (nameservice >= 0 || nameservice === SEVERAL || resolver.isUnresolved)) {
    return Entered.ABOVE_MOUNTS;
  }
  // A mount point is there also while its nameservices are disabled.
  if (atMount && nameservice === REFUSED && resolver.className === Failure.NO_LOCATION) return Entered.ABOVE_MOUNTS;
  if (nameservice === SEVERAL) return Entered.SEVERAL;
  engine.fail(call, resolver.className, resolver.message);
  return Entered.DONE;
}

/**
 * A mount point whose nameservice answers. Where its target is missing (for a status and a listing an empty answer, else FileNotFoundException; or a file is above it)
 * the mount point is there nevertheless.
 */
class MountPointReply extends OwnReply {
  readonly #path: string;
  readonly #target: Buffer | null;
  readonly #prefixBytes: number;
  readonly #made: MadeAnswer;

  constructor(engine: Engine, call: Call, made: MadeAnswer) {
    super(engine);
    const { pathStart, pathEnd } = call.fields;
    this.#path = canonicalPath(textOf(call.frame, call.start + pathStart, call.start + pathEnd));
    this.#target = call.path;
    this.#prefixBytes = call.pathPrefixBytes;
    this.#made = made;
  }

  override onReply(call: Call, scan: ReplyScan, buffer: Buffer, start: number, end: number): void {
    const { answers } = this.engine;
    if (scan.status === Status.SUCCESS || !this.#isMissing(this.engine.errorOf(scan, buffer))) {
      super.onReply(call, scan, buffer, start, end);
      return;
    }
    try {
      answers.succeed(call, this.#make(call));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      answers.fail(call, error.className, error.message, error.detail);
    }
  }

  protected change(call: Call, buffer: Buffer, start: number, end: number): Buffer {
    const method = call.method as Method;
    const isAbsent = end === start && NO_STATUS_MEANS_MISSING.has(method.name);
    if (isAbsent) return this.#make(call);
    const body = buffer.subarray(start, end);
    const target = this.#target;
    return target === null
      ? body
      : translateAnswer(method, body, textOf(target, 0, target.length), this.#path, this.#prefixBytes);
  }

  /** Below a file nothing can be, also where the caller is told in other words. */
  #isMissing(error: { readonly className: string; readonly message: string }): boolean {
    return error.className === FILE_NOT_FOUND || tellsOfFileAbove(error);
  }

  #make(call: Call): Buffer {
    const snapshot = this.engine.resolver.snapshot as MountSnapshot;
    return this.#made(call, this.#path, syntheticStatus(snapshot, this.engine.settings, this.#path, ''));
  }
}
