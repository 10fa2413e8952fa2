import type { Settings } from '../shared/settings.ts';
import { ContextPrefix, callerContextBound, writeCallerContext } from '../wire/context.ts';
import { RequestSplice, spliceBound, splicedBytes } from '../wire/splice.ts';
import type { Call } from './call.ts';
import type { Client } from './client.ts';

/** Frames that are this much shorter than the limit are not measured unless the paths put in are long: addresses, a real user, ids. */
const USUAL_GROWTH_BYTES = 64 * 1024;
/** The tag is not known before the call is written; all tags take as many bytes as this one. */
const ANY_TAG = 0x7fff_ffff;

/** What changes in a call on its way out: tag, caller context, paths. One per worker, its splice is reused. */
export class Outgoing {
  readonly #maxBytes: number;
  readonly #separator: string;
  readonly #splice = new RequestSplice();

  constructor(settings: Settings) {
    this.#maxBytes = settings.maxRequestBytes;
    this.#separator = settings.callerContextSeparator;
  }

  /** Valid until the next call of it. */
  prepare(call: Call): RequestSplice {
    const splice = this.#splice;
    const fields = call.fields;
    const client = call.client as Client;
    splice.tag = call.tag;
    let prefix = client.context;
    if (prefix === null) {
      const { address, port, realUser } = client.identity;
      prefix = new ContextPrefix(address, port, realUser, this.#separator);
      client.context = prefix;
    }
    if (fields.contextEnd === fields.contextStart) {
      splice.prefix = prefix;
      splice.callId = fields.callId;
    } else {
      splice.prefix = null;
      this.#composeContext(splice, call, prefix);
    }
    splice.stateIdPresent = call.asObserver;
    if (call.asObserver) {
      splice.stateIdHigh = Math.floor(call.floor / 2 ** 32);
      splice.stateIdLow = call.floor | 0;
    }
    splice.path = call.path;
    splice.pathFrom = 0;
    splice.pathTo = call.path === null ? 0 : call.path.length;
    splice.path2 = call.path2;
    splice.path2From = 0;
    splice.path2To = call.path2 === null ? 0 : call.path2.length;
    return splice;
  }

  /** Length of the frame that a NameNode would get, when that is above `ipc.maximum.data.length`; else 0. */
  excessiveBytes(call: Call): number {
    const frameBytes = call.end - call.start;
    const pathBytes = (call.path === null ? 0 : call.path.length) + (call.path2 === null ? 0 : call.path2.length);
    if (frameBytes + pathBytes + USUAL_GROWTH_BYTES <= this.#maxBytes) return 0;
    const splice = this.prepare(call);
    if (spliceBound(call.fields, frameBytes, splice) <= this.#maxBytes) return 0;
    splice.tag = ANY_TAG;
    const bytes = splicedBytes(call.frame, call.start, call.end, call.fields, splice);
    return bytes > this.#maxBytes ? bytes : 0;
  }

  /** Ours, and what the client's own context may keep. */
  #composeContext(splice: RequestSplice, call: Call, prefix: ContextPrefix): void {
    const fields = call.fields;
    const bound = callerContextBound(prefix, fields.contextEnd - fields.contextStart);
    if (bound > splice.context.length) splice.context = Buffer.allocUnsafeSlow(bound);
    splice.contextStart = 0;
    splice.contextEnd = writeCallerContext(
      splice.context,
      0,
      prefix,
      call.frame,
      call.start + fields.clientIdStart,
      call.start + fields.clientIdEnd,
      fields.callId,
      call.frame,
      call.start + fields.contextStart,
      call.start + fields.contextEnd,
    );
  }
}
