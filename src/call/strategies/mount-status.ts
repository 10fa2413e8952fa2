import { canonicalPath } from '../../mount/canonical.ts';
import type { MountSnapshot } from '../../mount/snapshot.ts';
import { encode, messageType } from '../../wire/messages.ts';
import { textOf } from '../../wire/text.ts';
import type { Call } from '../call.ts';
import type { Engine } from '../engine.ts';
import { Failure } from '../failure.ts';
import type { Method } from '../method.ts';
import { OwnReply } from '../own-reply.ts';
import { BY_INODE } from '../resolve.ts';
import { syntheticStatus } from '../synthetic.ts';
import { answerInodePath } from './inode-path.ts';

/** getFileInfo: what a NameNode says of the path; a directory that only mount points make visible has a status of its own. */
export function answerStatus(engine: Engine, call: Call): void {
  const { resolver } = engine;
  const fields = call.fields;
  const start = call.start + fields.pathStart;
  const end = call.start + fields.pathEnd;
  const nameservice = resolver.resolve(call, call.frame, start, end, false);
  if (nameservice === BY_INODE) {
    answerInodePath(engine, call, resolver.nameservicesInUse);
    return;
  }
  const atMounts = resolver.atMount || resolver.mountsBelow;
  if (nameservice < 0) {
    if (atMounts && resolver.className === Failure.NO_RESOLUTION)
      engine.succeed(call, statusOf(engine, call, canonicalPath(textOf(call.frame, start, end))));
    else engine.fail(call, resolver.className, resolver.message);
    return;
  }
  call.byPath = true;
  call.path = resolver.path;
  call.pathPrefixBytes = resolver.prefixBytes;
  if (atMounts) call.composer = new StatusAtMount(engine, canonicalPath(textOf(call.frame, start, end)));
  engine.forward(call, nameservice);
}

class StatusAtMount extends OwnReply {
  readonly #path: string;

  constructor(engine: Engine, path: string) {
    super(engine);
    this.#path = path;
  }

  protected change(call: Call, buffer: Buffer, start: number, end: number): Buffer {
    // An empty answer: the NameNode does not know the path.
    return end > start ? Buffer.from(buffer.subarray(start, end)) : statusOf(this.engine, call, this.#path);
  }
}

function statusOf(engine: Engine, call: Call, path: string): Buffer {
  const fs = syntheticStatus(engine.resolver.snapshot as MountSnapshot, engine.settings, path, '');
  return encode(messageType((call.method as Method).response), { fs });
}
