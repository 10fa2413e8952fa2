/**
 * State ids by nameservice as a client with observer reads keeps them: what replies tell, merged by maximum, goes into the calls that follow.
 *
 *   RouterFederatedStateProto  { 0a entryBytes { 0a nameservice · 10 stateId } }
 */
import { encode, messageType } from '../../wire/messages.ts';
import { readVarint64, skipValueLoosely, Wide } from '../../wire/varint.ts';

/** As a router's own bound for what it takes; further nameservices are left out. */
export const MAX_NAMESERVICES = 1024;
/** Longer states are not looked at. */
export const MAX_STATE_BYTES: number = 64 * 1024;

const ENTRY_TAG = 0x0a;
const KEY_TAG = 0x0a;
const VALUE_TAG = 0x10;
const NOTHING = Buffer.alloc(0);
const wide = new Wide();

export class FederatedState {
  /** A later reply told something new since `encode` was called last. */
  changed = false;
  /** The last one that was merged: replies that tell the same are passed over. */
  #last: Buffer = NOTHING;
  readonly #stateIds = new Map<string, number>();

  /** Merges the state buffer[start, end) of a reply. A state that cannot be read changes nothing. */
  merge(buffer: Buffer, start: number, end: number): void {
    const bytes = end - start;
    if (bytes === 0 || bytes > MAX_STATE_BYTES) return;
    if (bytes === this.#last.length && buffer.compare(this.#last, 0, bytes, start, end) === 0) return;
    this.#last = Buffer.from(buffer.subarray(start, end));
    let at = start;
    while (at < end) {
      const tag = buffer[at]!;
      const after = skipValueLoosely(buffer, at + 1, end, tag);
      if (after < 0) return;
      if (tag === ENTRY_TAG) this.#mergeEntry(buffer, readVarint64(buffer, at + 1, end, wide), after);
      at = after;
    }
  }

  /** RouterFederatedStateProto as bytes; empty before the first state. */
  encode(): Buffer {
    this.changed = false;
    if (this.#stateIds.size === 0) return NOTHING;
    const type = messageType('hadoop.hdfs.RouterFederatedStateProto');
    return encode(type, { namespaceStateIds: Object.fromEntries(this.#stateIds) });
  }

  #mergeEntry(buffer: Buffer, start: number, end: number): void {
    let nameservice = '';
    let stateId = -1;
    let at = start;
    while (at < end) {
      const tag = buffer[at]!;
      const after = skipValueLoosely(buffer, at + 1, end, tag);
      if (after < 0) return;
      const valueAt = readVarint64(buffer, at + 1, end, wide);
      if (tag === KEY_TAG) nameservice = buffer.toString('utf8', valueAt, after);
      else if (tag === VALUE_TAG) stateId = (wide.high | 0) * 2 ** 32 + (wide.low >>> 0);
      at = after;
    }
    const known = this.#stateIds.get(nameservice);
    // Negative ones mean "unknown"; transactions of a real NameNode stay far below 2^53.
    if (nameservice === '' || stateId < 0 || !Number.isSafeInteger(stateId) || stateId <= (known ?? -1)) return;
    if (known === undefined && this.#stateIds.size >= MAX_NAMESERVICES) return;
    this.#stateIds.set(nameservice, stateId);
    this.changed = true;
  }
}
