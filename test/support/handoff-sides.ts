/** Both sides of a hand-off as tests want them: they write down what happens, and a test waits for it. */

import {
  type AcceptorLink,
  type AcceptorSide,
  CallFields,
  type ClientIdentity,
  type WorkerLink,
  type WorkerSide,
} from '../../src/handoff/link.ts';
import { within } from './wait.ts';

/** Lets a test wait until something recorded is true, checked after each event. */
class Watch {
  private waiters: Array<{ test: () => boolean; resolve: () => void }> = [];

  /** Resolves when `test` is true; rejects with `what` after the usual limit. */
  until(test: () => boolean, what: string): Promise<void> {
    if (test()) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.waiters.push({ test, resolve });
    return within(promise, what);
  }

  protected changed(): void {
    for (const waiter of this.waiters.filter(({ test }) => test())) {
      this.waiters.splice(this.waiters.indexOf(waiter), 1);
      waiter.resolve();
    }
  }
}

export interface SeenReply {
  readonly connection: number;
  readonly generation: number;
  readonly slot: number;
  readonly flags: number;
  readonly owned: boolean;
  /** Copy of the frame; the memory itself when it is owned. */
  readonly bytes: Buffer;
}

export class RecordingAcceptor extends Watch implements AcceptorSide {
  replies: SeenReply[] = [];
  spaces = 0;
  drains = 0;
  /** Called for each reply after it was written down. */
  alsoOnReply: (link: WorkerLink, reply: SeenReply) => void = () => {};
  alsoOnSpace: (link: WorkerLink) => void = () => {};

  onReply(
    link: WorkerLink,
    connection: number,
    generation: number,
    slot: number,
    flags: number,
    buffer: Buffer,
    start: number,
    end: number,
    owned: boolean,
  ): void {
    const bytes = owned ? buffer.subarray(start, end) : Buffer.from(buffer.subarray(start, end));
    const reply = { connection, generation, slot, flags, owned, bytes };
    this.replies.push(reply);
    this.alsoOnReply(link, reply);
    this.changed();
  }

  onSpace(link: WorkerLink): void {
    this.spaces++;
    this.alsoOnSpace(link);
    this.changed();
  }

  onDrained(): void {
    this.drains++;
    this.changed();
  }
}

export interface SeenCall {
  readonly fields: CallFields;
  /** Copy of the frame; the memory itself when it is owned. */
  readonly frame: Buffer;
  readonly owned: boolean;
}

export class RecordingWorker extends Watch implements WorkerSide {
  /** `open 3.1`, `call 3.1 slot`, `close 3.1` in order of arrival. */
  events: string[] = [];
  identities: ClientIdentity[] = [];
  calls: SeenCall[] = [];
  spaces = 0;
  drains = 0;
  alsoOnCall: (link: AcceptorLink, call: SeenCall) => void = () => {};
  alsoOnSpace: (link: AcceptorLink) => void = () => {};

  onOpen(_link: AcceptorLink, connection: number, generation: number, identity: ClientIdentity): void {
    this.events.push(`open ${connection}.${generation}`);
    this.identities.push(identity);
    this.changed();
  }

  onClose(_link: AcceptorLink, connection: number, generation: number): void {
    this.events.push(`close ${connection}.${generation}`);
    this.changed();
  }

  onCall(link: AcceptorLink, fields: CallFields, frame: Buffer, start: number, end: number, owned: boolean): void {
    const bytes = frame.subarray(start, end);
    const call = {
      fields: Object.assign(new CallFields(), fields),
      frame: owned ? bytes : Buffer.from(bytes),
      owned,
    };
    this.events.push(`call ${fields.connection}.${fields.generation} ${fields.slot}`);
    this.calls.push(call);
    this.alsoOnCall(link, call);
    this.changed();
  }

  onReplySpace(link: AcceptorLink): void {
    this.spaces++;
    this.alsoOnSpace(link);
    this.changed();
  }

  /** Flushes, as a worker does at the end of a turn. */
  onDrained(link: AcceptorLink): void {
    this.drains++;
    link.flush();
    this.changed();
  }
}

export const IDENTITY: ClientIdentity = { user: 'alice', realUser: '', address: '192.0.2.7', port: 50123 };

const NOTHING = Buffer.alloc(0);

/** One call of connection `connection`, generation 1. */
export function sendCall(link: WorkerLink, connection: number, slot: number, frame: Buffer, owned = false): boolean {
  const fields = new CallFields();
  fields.connection = connection;
  fields.generation = 1;
  fields.slot = slot;
  return link.call(fields, frame, 0, frame.length, owned);
}

/** One reply for connection 1, generation 1. */
export function sendReply(link: AcceptorLink, slot: number, frame: Buffer): boolean {
  return link.reply(1, 1, slot, 0, frame, 0, frame.length, NOTHING, 0, 0);
}

/** `length` bytes that differ from place to place and with `seed`. */
export function patternBytes(length: number, seed: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  let state = seed | 1;
  for (let at = 0; at < length; at++) {
    state = (Math.imul(state, 1103515245) + 12345) | 0;
    bytes[at] = state >>> 16;
  }
  return bytes;
}

/** After the events that are pending now. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
