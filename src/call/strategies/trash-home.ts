import { canonicalPath } from '../../mount/canonical.ts';
import { Status } from '../../wire/reply-head.ts';
import type { ReplyScan } from '../../wire/reply-scan.ts';
import { textOf } from '../../wire/text.ts';
import type { Call } from '../call.ts';
import type { Engine } from '../engine.ts';
import { Failure } from '../failure.ts';
import { OwnReply } from '../own-reply.ts';

/** What stands before `/.Trash/` in a path. */
const HOME = /^(.*?)\/\.Trash(?:\/|$)/s;

/**
 * mkdirs in the caller's trash, as the shell sends it before it moves what is deleted. The trash is in the nameservice of the deleted files; the
 * home directory of the caller may be in another one only, and a refusal of that NameNode alone would puzzle everybody.
 */
export function explainMissingHome(engine: Engine, call: Call, nameservice: number): void {
  call.composer = new TrashReply(engine, engine.nameserviceName(nameservice));
}

class TrashReply extends OwnReply {
  readonly #nameservice: string;

  constructor(engine: Engine, nameservice: string) {
    super(engine);
    this.#nameservice = nameservice;
  }

  override onReply(call: Call, scan: ReplyScan, buffer: Buffer, start: number, end: number): void {
    if (scan.status === Status.SUCCESS || this.engine.errorOf(scan, buffer).className !== Failure.ACCESS_CONTROL) {
      super.onReply(call, scan, buffer, start, end);
      return;
    }
    const { answers } = this.engine;
    const { pathStart, pathEnd } = call.fields;
    const path = canonicalPath(textOf(call.frame, call.start + pathStart, call.start + pathEnd));
    const home = HOME.exec(path)?.[1] ?? path;
    const [first = '', ...others] = answers.errorText(call, scan, buffer).split('\n');
    const why = `${first} (what is deleted here goes to the trash in nameservice ${this.#nameservice}, where the user needs the directory ${home})`;
    answers.fail(call, Failure.ACCESS_CONTROL, [why, ...others].join('\n'), scan.detail);
  }

  protected change(_call: Call, buffer: Buffer, start: number, end: number): Buffer {
    return buffer.subarray(start, end);
  }
}
