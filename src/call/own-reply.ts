import { Status } from '../wire/reply-head.ts';
import type { ReplyScan } from '../wire/reply-scan.ts';
import { readVarint32, varint32Size } from '../wire/varint.ts';
import type { Call, Composer } from './call.ts';
import type { Engine } from './engine.ts';
import { detailOf, Failure } from './failure.ts';

const NOTHING = Buffer.alloc(0);

/** A call that goes to one NameNode and whose answer is changed on the way back. Errors pass as they are. */
export abstract class OwnReply implements Composer {
  readonly ofCall = true;
  readonly over = false;
  /** Whether `answerAlone` gives the client something true by itself. */
  readonly standsAlone: boolean = true;
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
    if (length < 0 || bodyStart + length > end) this.#unreadable(call, 'its length is not valid');
    else this.#answer(call, buffer, bodyStart, bodyStart + length);
  }

  /** The answer when no NameNode has one. */
  answerAlone(call: Call): void {
    this.#answer(call, NOTHING, 0, 0);
  }

  onFailure(call: Call, className: string, message: string): void {
    this.engine.answers.fail(call, className, message, detailOf(className));
  }

  /** The response message to answer with, made from the NameNode's in buffer[start, end). Throws when that cannot be read. */
  protected abstract change(call: Call, buffer: Buffer, start: number, end: number): Buffer;

  #answer(call: Call, buffer: Buffer, start: number, end: number): void {
    let body: Buffer;
    try {
      body = this.change(call, buffer, start, end);
    } catch (error) {
      this.#unreadable(call, error instanceof Error ? error.message : String(error));
      return;
    }
    this.engine.answers.succeed(call, body);
  }

  #unreadable(call: Call, why: string): void {
    this.onFailure(call, Failure.IO, `The answer of the NameNode to ${call.method?.name} cannot be read: ${why}`);
  }
}
