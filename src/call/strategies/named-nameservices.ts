import { enabledNameservices } from '../../composed/everywhere/nameservices.ts';
import { decodePlain, encode, messageType } from '../../wire/messages.ts';
import { Status } from '../../wire/reply-head.ts';
import type { ReplyScan } from '../../wire/reply-scan.ts';
import { type Call, type Composer, Place } from '../call.ts';
import type { Engine } from '../engine.ts';
import { Failure } from '../failure.ts';
import type { Method } from '../method.ts';
import { rebuildRequest, replaceRequest } from '../rebuild.ts';

/**
 * renewLease: to the nameservices that the client names (it learned them from create and append); to all when it names none or one that
 * is unknown here. Several are asked at once, each with its own time, and the first success is the answer.
 */
export function answerNamedNameservices(engine: Engine, call: Call): void {
  const method = call.method as Method;
  const type = messageType(method.request);
  const enabled = enabledNameservices(engine);
  let body: Buffer;
  let named: number[];
  try {
    const plain = decodePlain(type, call.frame, call.start + call.fields.bodyStart, call.start + call.fields.bodyEnd);
    named = (plain.namespaces as string[]).map(
      (name) => enabled.find((index) => engine.nameserviceName(index) === name) ?? -1,
    );
    // NameNodes do not know the list: it is the router's alone.
    body = encode(type, { clientName: plain.clientName });
  } catch (error) {
    engine.fail(call, Failure.MALFORMED, error instanceof Error ? error.message : String(error));
    return;
  }
  const targets = named.length === 0 || named.includes(-1) ? enabled : [...new Set(named)];
  const only = targets[0];
  if (only === undefined) {
    engine.fail(call, Failure.IO, 'No namespace available.');
    return;
  }
  if (targets.length === 1) {
    replaceRequest(call, body);
    engine.forward(call, only);
    return;
  }
  const rebuilt = rebuildRequest(call, body);
  const whole = new FirstSuccess(engine, call, targets.length);
  for (const [index, nameservice] of targets.entries()) {
    const part = engine.makePart(call, index, rebuilt.fields, rebuilt.frame);
    part.composer = whole;
    engine.forward(part, nameservice);
  }
}

/** Ends the whole call with the first success, or with the most telling failure when every part has failed. */
class FirstSuccess implements Composer {
  readonly ofCall = false;
  /** After the answer, too, every nameservice is to get its renewal. */
  readonly over = false;
  readonly #engine: Engine;
  readonly #whole: Call;
  #left: number;
  #answered = false;
  #className = '';
  #message = '';

  constructor(engine: Engine, whole: Call, parts: number) {
    this.#engine = engine;
    this.#whole = whole;
    this.#left = parts;
    whole.place = Place.COMPOSING;
  }

  onReply(_part: Call, scan: ReplyScan, buffer: Buffer, _start: number, end: number): void {
    if (scan.status !== Status.SUCCESS) {
      // What a NameNode says is worth more than that another could not be reached.
      const { className, message } = this.#engine.errorOf(scan, buffer);
      this.#className = className;
      this.#message = message;
      this.#settled();
      return;
    }
    if (!this.#answered) {
      this.#answered = true;
      this.#engine.succeed(this.#whole, bodyOf(buffer, scan.headerEnd, end));
    }
    this.#settled();
  }

  onFailure(_part: Call, className: string, message: string): void {
    if (this.#className === '') {
      this.#className = className;
      this.#message = message;
    }
    this.#settled();
  }

  #settled(): void {
    if (--this.#left > 0 || this.#answered) return;
    this.#answered = true;
    this.#engine.fail(this.#whole, this.#className, this.#message);
  }
}

/** renewLease answers are empty messages: whatever follows the length byte is kept. */
function bodyOf(buffer: Buffer, start: number, end: number): Buffer {
  return Buffer.from(buffer.subarray(Math.min(start + 1, end), end));
}
