import { Status } from '../wire/reply-head.ts';
import type { ReplyScan } from '../wire/reply-scan.ts';
import { readVarint32, varint32Size } from '../wire/varint.ts';
import type { Call, Composer } from './call.ts';
import type { Engine } from './engine.ts';
import { detailOf } from './failure.ts';

/** A call that goes to one NameNode and whose answer is changed on the way back. Errors pass as they are. */
export abstract class OwnReply implements Composer {
  protected readonly engine: Engine;

  constructor(engine: Engine) {
    this.engine = engine;
  }

  onReply(call: Call, scan: ReplyScan, buffer: Buffer, _start: number, end: number): void {
    if (scan.status !== Status.SUCCESS) {
      this.engine.answers.passError(call, scan, buffer);
      return;
    }
    const length = readVarint32(buffer, scan.headerEnd, end);
    const bodyStart = scan.headerEnd + (length < 0 ? 0 : varint32Size(length));
    if (length < 0 || bodyStart + length > end) {
      this.onFailure(call, 'java.io.IOException', `The answer to ${call.method?.name} cannot be read`);
      return;
    }
    this.engine.answers.succeed(call, this.change(call, buffer, bodyStart, bodyStart + length));
  }

  onFailure(call: Call, className: string, message: string): void {
    this.engine.answers.fail(call, className, message, detailOf(className));
  }

  /** The response message to answer with, made from the NameNode's in buffer[start, end). */
  protected abstract change(call: Call, buffer: Buffer, start: number, end: number): Buffer;
}
