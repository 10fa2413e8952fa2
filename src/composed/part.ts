import { type Call, type Composer, Place } from '../call/call.ts';
import { Deadline } from '../call/deadline.ts';
import type { Engine } from '../call/engine.ts';
import { Failure } from '../call/failure.ts';
import { Status } from '../wire/reply-head.ts';
import type { ReplyScan } from '../wire/reply-scan.ts';
import { readVarint32, varint32Size } from '../wire/varint.ts';
import type { Answer } from './answer.ts';
import { Refused } from './refused.ts';

/** How long one request may take. */
export interface Limits {
  /** A nameservice none of whose NameNodes could be reached by then counts as unavailable; one that was reached and is slow is waited for. */
  readonly unreachedMs: number;
  /** End of all waiting, as a time of the engine's clock. */
  readonly untilMs: number;
}

/** One request of a composed call on its way: gives its answer, or the failure that ends it, exactly once. */
export class Part implements Composer {
  readonly ofCall = false;
  over = false;
  readonly #engine: Engine;
  readonly #nameservice: number;
  readonly #limits: Limits;
  readonly #settle: (answer: Answer) => void;
  readonly #deadline = new Deadline(() => this.#onDeadline());
  #call: Call | null = null;

  constructor(engine: Engine, nameservice: number, limits: Limits, settle: (answer: Answer) => void) {
    this.#engine = engine;
    this.#nameservice = nameservice;
    this.#limits = limits;
    this.#settle = settle;
  }

  send(call: Call): void {
    this.#call = call;
    this.#wait();
    this.#engine.forward(call, this.#nameservice);
  }

  onReply(call: Call, scan: ReplyScan, buffer: Buffer, _start: number, end: number): void {
    if (this.over) return;
    if (scan.status !== Status.SUCCESS) {
      const { className } = this.#engine.errorOf(scan, buffer);
      this.#fail(new Refused(className, this.#engine.answers.errorText(call, scan, buffer), scan.detail), false);
      return;
    }
    const length = readVarint32(buffer, scan.headerEnd, end);
    const bodyStart = scan.headerEnd + (length < 0 ? 0 : varint32Size(length));
    if (length < 0 || bodyStart + length > end) {
      const where = this.#engine.nameserviceName(this.#nameservice);
      this.#fail(
        new Refused(
          Failure.IO,
          `The answer of the NameNode to ${call.method?.name} cannot be read: that of ${where} has no valid length`,
        ),
        false,
      );
      return;
    }
    const body = Buffer.from(buffer.subarray(bodyStart, bodyStart + length));
    this.#end({ ok: true, nameservice: this.#nameservice, body });
  }

  onFailure(_call: Call, className: string, message: string): void {
    const unavailable = className === Failure.STANDBY || className === Failure.RETRIABLE || className === Failure.IO;
    this.#fail(new Refused(className, message), unavailable);
  }

  #onDeadline(): void {
    const { attempts, clock } = this.#engine;
    const call = this.#call;
    if (call === null || this.over) return;
    const name = this.#engine.nameserviceName(this.#nameservice);
    if (clock.nowMs >= this.#limits.untilMs) {
      this.#giveUp(`${name} did not answer ${call.method?.name} in time`);
    } else if (attempts.isUnreached(call)) {
      const trouble = call.lastTrouble === '' ? '' : `; last trouble: ${call.lastTrouble}`;
      this.#giveUp(
        `No namenode available to invoke ${call.method?.name} in ${name} from ${this.#engine.settings.routerId}${trouble}`,
      );
    } else this.#wait();
  }

  /** The call itself ends where it is, as soon as somebody looks at it: it is `over`. */
  #giveUp(message: string): void {
    this.#fail(new Refused(Failure.STANDBY, message), true);
  }

  #fail(refused: Refused, unavailable: boolean): void {
    const call = this.#call;
    // In flight: it is given up while a NameNode has it.
    const uncertain = call !== null && (call.wasLost || (unavailable && call.place === Place.IN_FLIGHT));
    this.#end({ ok: false, nameservice: this.#nameservice, refused, unavailable, uncertain });
  }

  #end(answer: Answer): void {
    if (this.over) return;
    this.over = true;
    this.#call = null;
    this.#engine.wheel.remove(this.#deadline);
    this.#settle(answer);
  }

  #wait(): void {
    const left = this.#limits.untilMs - this.#engine.clock.nowMs;
    this.#engine.wheel.add(this.#deadline, Math.max(0, Math.min(this.#limits.unreachedMs, left)));
  }
}
