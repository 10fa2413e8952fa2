/** State ids by nameservice as a client with observer reads keeps them: what replies tell, merged by maximum, goes into the calls that follow. */
import { MAX_STATE_BYTES, MAX_STATE_ENTRIES, readStateEntry, StateEntry } from '../../wire/federated-state.ts';
import { encode, messageType } from '../../wire/messages.ts';

const NOTHING = Buffer.alloc(0);

export class FederatedState {
  /** A later reply told something new since `encode` was called last. */
  changed = false;
  /** The last one that was merged: replies that tell the same are passed over. */
  #last: Buffer = NOTHING;
  /** At most as many as a router takes; those of further nameservices are left out. */
  readonly #stateIds = new Map<string, number>();
  readonly #entry = new StateEntry();

  /** Merges the state buffer[start, end) of a reply, as far as it can be read. */
  merge(buffer: Buffer, start: number, end: number): void {
    const bytes = end - start;
    if (bytes === 0 || bytes > MAX_STATE_BYTES) return;
    if (bytes === this.#last.length && buffer.compare(this.#last, 0, bytes, start, end) === 0) return;
    this.#last = Buffer.from(buffer.subarray(start, end));
    for (let at = start; at < end; ) {
      at = readStateEntry(buffer, at, end, this.#entry);
      if (at < 0) return;
      if (this.#entry.isEntry) this.#mergeEntry(buffer, this.#entry);
    }
  }

  /** RouterFederatedStateProto as bytes; empty before the first state. */
  encode(): Buffer {
    this.changed = false;
    if (this.#stateIds.size === 0) return NOTHING;
    const type = messageType('hadoop.hdfs.RouterFederatedStateProto');
    return encode(type, { namespaceStateIds: Object.fromEntries(this.#stateIds) });
  }

  #mergeEntry(buffer: Buffer, { nameStart, nameEnd, high, low }: StateEntry): void {
    const nameservice = buffer.toString('utf8', nameStart, nameEnd);
    const stateId = (high | 0) * 2 ** 32 + (low >>> 0);
    const known = this.#stateIds.get(nameservice);
    // Negative ones mean "unknown"; transactions of a real NameNode stay far below 2^53.
    if (nameservice === '' || stateId < 0 || !Number.isSafeInteger(stateId) || stateId <= (known ?? -1)) return;
    if (known === undefined && this.#stateIds.size >= MAX_STATE_ENTRIES) return;
    this.#stateIds.set(nameservice, stateId);
    this.changed = true;
  }
}
