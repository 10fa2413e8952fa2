import type { Call } from './connection.ts';
import type { JuteReader } from './jute.ts';
import { ErrorCode, ZooKeeperError } from './protocol.ts';

export interface PendingCallOptions {
  readonly operation: number;
  readonly body: Buffer;
  /** How often it may be sent again after a lost connection; 0 for what changes something. */
  readonly retriesLeft: number;
  readonly timeoutMs: number;
  readonly onReply: (reader: JuteReader) => void;
  readonly onError: (error: ZooKeeperError) => void;
  /** Called after the answer, an error or the deadline. */
  readonly onSettled: () => void;
  /** Why there is no connection, for the message of a missed deadline. */
  readonly detail: () => string;
}

/** A request from its making to its answer, error or deadline, over as many connections as it takes. */
export class PendingCall implements Call {
  readonly operation: number;
  readonly body: Buffer;
  readonly #options: PendingCallOptions;
  readonly #timer: NodeJS.Timeout;
  #retriesLeft: number;
  #isSettled = false;

  constructor(options: PendingCallOptions) {
    this.#options = options;
    this.operation = options.operation;
    this.body = options.body;
    this.#retriesLeft = options.retriesLeft;
    this.#timer = setTimeout(() => {
      this.fail(new ZooKeeperError(ErrorCode.OPERATION_TIMEOUT, options.detail()));
    }, options.timeoutMs);
  }

  /** Nobody waits for it any more; an answer that still comes is dropped. */
  get isSettled(): boolean {
    return this.#isSettled;
  }

  answer(error: number, reader: JuteReader): void {
    if (this.#isSettled) return;
    if (error !== ErrorCode.OK) {
      this.fail(new ZooKeeperError(error));
      return;
    }
    this.#options.onReply(reader);
    this.#settle();
  }

  fail(error: ZooKeeperError): void {
    if (this.#isSettled) return;
    this.#options.onError(error);
    this.#settle();
  }

  /** After a lost connection: whether it is to be sent again; if not, it has failed. */
  takeAgain(code: number, reason: string): boolean {
    if (this.#isSettled) return false;
    if (this.#retriesLeft-- > 0) return true;
    this.fail(new ZooKeeperError(code, reason));
    return false;
  }

  #settle(): void {
    this.#isSettled = true;
    clearTimeout(this.#timer);
    this.#options.onSettled();
  }
}
