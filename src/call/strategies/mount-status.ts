import type { MountSnapshot } from '../../mount/snapshot.ts';
import { encode, messageType } from '../../wire/messages.ts';
import type { Call } from '../call.ts';
import type { Engine } from '../engine.ts';
import type { Method } from '../method.ts';
import { OwnReply } from '../own-reply.ts';
import { syntheticStatus } from '../synthetic.ts';
import { answerAtMounts } from './at-mounts.ts';

/** getFileInfo: what a NameNode says of the path; a directory that only mount points make visible has a status of its own. */
export function answerStatus(engine: Engine, call: Call): void {
  answerAtMounts(engine, call, (path) => new StatusAtMount(engine, path));
}

class StatusAtMount extends OwnReply {
  readonly #path: string;

  constructor(engine: Engine, path: string) {
    super(engine);
    this.#path = path;
  }

  protected change(call: Call, buffer: Buffer, start: number, end: number): Buffer {
    if (end > start) return Buffer.from(buffer.subarray(start, end));
    // An empty answer: the NameNode does not know the path.
    const { resolver, settings } = this.engine;
    const fs = syntheticStatus(resolver.snapshot as MountSnapshot, settings, this.#path, '');
    return encode(messageType((call.method as Method).response), { fs });
  }
}
