import type { Call } from '../../call/call.ts';
import { type Client, shortNameOf } from '../../call/client.ts';
import type { SchedulerSettings } from '../../shared/settings.ts';
import { textOf } from '../../wire/text.ts';
import { readVarint32, varint32Size } from '../../wire/varint.ts';
import type { Caller } from './caller.ts';
import type { DecayScheduler } from './decay-scheduler.ts';

/** Longer caller contexts are told apart by their first bytes. */
export const MAX_CONTEXT_BYTES = 256;
/** Tag of RPCCallerContextProto's context, a string. */
const CONTEXT = 0x0a;

/** Callers of calls: by the short name of the user, remembered with the client; or by the context that the client gave, which becomes text for each call. */
export class Identities {
  readonly #scheduler: DecayScheduler;
  readonly #byContext: boolean;

  constructor(scheduler: DecayScheduler, identity: SchedulerSettings['identity']) {
    this.#scheduler = scheduler;
    this.#byContext = identity === 'caller-context';
  }

  /** A part of a composed call costs whom the whole costs, also where the router asks in its own name. */
  callerOf(call: Call): Caller {
    const whole = call.whole ?? call;
    const client = whole.client as Client;
    if (this.#byContext) {
      const { contextStart, contextEnd } = whole.fields;
      if (contextEnd > contextStart) {
        const found = this.#ofContext(whole.frame, whole.start + contextStart, whole.start + contextEnd);
        if (found !== null) return found;
      }
    }
    const known = client.caller;
    if (known !== null && known.listedIn === this.#scheduler) return known;
    const caller = this.#scheduler.callerOf(shortNameOf(client.identity.user));
    client.caller = caller;
    return caller;
  }

  /** buffer[start, end) is an RPCCallerContextProto; null: its context is empty. */
  #ofContext(buffer: Buffer, start: number, end: number): Caller | null {
    let at = start;
    while (at < end) {
      const tag = buffer[at++] as number;
      const bytes = readVarint32(buffer, at, end);
      if (bytes < 0) return null;
      at += varint32Size(bytes);
      if (at + bytes > end) return null;
      if (tag === CONTEXT) {
        if (bytes === 0) return null;
        return this.#scheduler.callerOf(textOf(buffer, at, at + Math.min(bytes, MAX_CONTEXT_BYTES)));
      }
      at += bytes;
    }
    return null;
  }
}
