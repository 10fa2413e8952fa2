import { canonicalPath } from '../../mount/canonical.ts';
import type { ReplyScan } from '../../wire/reply-scan.ts';
import { textOf } from '../../wire/text.ts';
import { type Call, type Composer, Place } from '../call.ts';
import { Deadline } from '../deadline.ts';
import type { Engine } from '../engine.ts';
import { Failure } from '../failure.ts';
import type { OwnReply } from '../own-reply.ts';
import { copyRequest } from '../rebuild.ts';
import { BY_INODE } from '../resolve.ts';
import { answerInodePath } from './inode-path.ts';

/**
 * A method that a NameNode answers, and whose answer the router completes at and above mount points. `makeReply` gets the client's path in
 * canonical form; what it throws means that the request cannot be read. The reply it makes must also do without a NameNode's answer (an
 * empty range of bytes): a directory that only mount points make visible exists in no nameservice.
 */
export function answerAtMounts(engine: Engine, call: Call, makeReply: (path: string) => OwnReply): void {
  const { resolver } = engine;
  const start = call.start + call.fields.pathStart;
  const end = call.start + call.fields.pathEnd;
  const nameservice = resolver.resolve(call, call.frame, start, end, false);
  if (nameservice === BY_INODE) {
    answerInodePath(engine, call, resolver.nameservicesInUse);
    return;
  }
  const { mountsBelow } = resolver;
  const atMounts = resolver.atMount || mountsBelow;
  if (nameservice < 0 && !(atMounts && resolver.className === Failure.NO_RESOLUTION)) {
    engine.fail(call, resolver.className, resolver.message);
    return;
  }
  call.path = resolver.path;
  call.pathPrefixBytes = resolver.prefixBytes;
  if (!atMounts) {
    call.byPath = true;
    engine.forward(call, nameservice);
    return;
  }
  let reply: OwnReply;
  try {
    reply = makeReply(canonicalPath(textOf(call.frame, start, end)));
  } catch (error) {
    engine.fail(call, Failure.MALFORMED, error instanceof Error ? error.message : String(error));
    return;
  }
  if (nameservice < 0) {
    reply.answerAlone(call);
    engine.free(call);
  } else if (mountsBelow && reply.standsAlone) {
    new DirectoryOfMounts(engine, call, reply).ask(nameservice);
  } else {
    call.byPath = true;
    call.composer = reply;
    engine.forward(call, nameservice);
  }
}

/**
 * A directory with mount points below: its own nameservice is asked, but those below are there whether it answers or not. When no NameNode of
 * it could be asked within `dfs.federation.router.client.mount-status.time-out`, or none has an answer, the mount points are the whole answer.
 * A NameNode that was asked and is slow is waited for: an answer without what it has would be taken for the whole directory.
 */
class DirectoryOfMounts implements Composer {
  readonly ofCall = false;
  over = false;
  readonly #engine: Engine;
  readonly #whole: Call;
  readonly #reply: OwnReply;
  readonly #deadline = new Deadline(() => this.#onDeadline());
  #part: Call | null = null;

  constructor(engine: Engine, whole: Call, reply: OwnReply) {
    this.#engine = engine;
    this.#whole = whole;
    this.#reply = reply;
  }

  ask(nameservice: number): void {
    const engine = this.#engine;
    const whole = this.#whole;
    // The part may outlive the whole: it needs a request of its own.
    const { frame, fields } = copyRequest(whole);
    if (!engine.budget.claim(frame.length)) {
      engine.overloaded(whole);
      return;
    }
    const part = engine.makePart(whole, 0, fields, frame);
    part.path = whole.path;
    part.pathPrefixBytes = whole.pathPrefixBytes;
    part.composer = this;
    part.claimedBytes = frame.length;
    this.#part = part;
    whole.place = Place.COMPOSING;
    engine.wheel.add(this.#deadline, engine.settings.mountStatusTimeoutMs);
    engine.forward(part, nameservice);
  }

  onReply(_part: Call, scan: ReplyScan, buffer: Buffer, start: number, end: number): void {
    if (this.over) return;
    this.#end();
    try {
      this.#reply.onReply(this.#whole, scan, buffer, start, end);
    } catch (error) {
      this.#engine.fail(this.#whole, Failure.IO, error instanceof Error ? error.message : String(error));
      return;
    }
    this.#engine.free(this.#whole);
  }

  onFailure(_part: Call, className: string, message: string): void {
    if (this.over) return;
    if (isUnavailable(className)) {
      this.#answerAlone();
      return;
    }
    this.#end();
    this.#engine.fail(this.#whole, className, message);
  }

  #onDeadline(): void {
    const { attempts, wheel, settings } = this.#engine;
    if (attempts.isUnreached(this.#part as Call)) this.#answerAlone();
    else wheel.add(this.#deadline, settings.mountStatusTimeoutMs);
  }

  #answerAlone(): void {
    this.#end();
    this.#reply.answerAlone(this.#whole);
    this.#engine.free(this.#whole);
  }

  #end(): void {
    this.over = true;
    this.#part = null;
    this.#engine.wheel.remove(this.#deadline);
  }
}

/** Of the failures that are not a NameNode's answer: those that say that none was to be had. */
function isUnavailable(className: string): boolean {
  return className === Failure.STANDBY || className === Failure.RETRIABLE || className === Failure.IO;
}
