import type { AnswerField } from '../call/answer.ts';
import type { Call } from '../call/call.ts';
import type { Topology } from '../shared/settings.ts';
import { Block } from '../wire/block.ts';
import {
  MAX_STATE_BYTES,
  MAX_STATE_ENTRIES,
  makeNamePart,
  readStateEntry,
  StateEntry,
  stateEntryBytes,
  stateFieldBytes,
  writeStateEntry,
  writeStateFieldStart,
} from '../wire/federated-state.ts';
import { NameIndex } from '../wire/name-index.ts';
import type { ObserverReads } from './observer-reads.ts';
import { NO_TXID, State } from './rules.ts';
import { txidOf } from './shared/state-words.ts';

/** Tag and length before the entries. */
const START_BYTES = 6;

/**
 * The state ids in an answer: of the nameservices that answered the call, whatever their number, then of those that its client named, up to
 * the limit of the configuration. The field is there even when nothing is known, so that clients know that they talk to a router.
 */
export class StateField implements AnswerField {
  readonly bytes: Buffer;
  start = 0;
  end = 0;
  readonly #observers: ObserverReads;
  readonly #block: Block;
  readonly #nameParts: readonly Block[];
  readonly #index: NameIndex;
  readonly #state = new State();
  readonly #entry = new StateEntry();
  /** By nameservice: the answer in which it was written last. */
  readonly #written: Uint32Array;
  #answer = 0;
  #entries = 0;

  constructor(observers: ObserverReads, { nameservices }: Topology) {
    this.#observers = observers;
    this.#nameParts = nameservices.map(({ id }) => makeNamePart(Buffer.from(id)));
    this.#index = new NameIndex(nameservices.map(({ id }) => id));
    this.#written = new Uint32Array(nameservices.length);
    let bytes = START_BYTES;
    for (const part of this.#nameParts) bytes += stateEntryBytes(part, Number.MAX_SAFE_INTEGER);
    this.bytes = Buffer.allocUnsafeSlow(bytes);
    this.#block = new Block(this.bytes);
  }

  /** Makes the field for the answer to this call; returns its length in bytes. */
  write(call: Call): number {
    this.#answer = (this.#answer + 1) >>> 0;
    this.#entries = 0;
    this.end = START_BYTES;
    if (call.seenNameservice >= 0) {
      this.#add(call.seenNameservice, call.seenTxid);
      if (call.seenMore !== null) for (const [nameservice, txid] of call.seenMore) this.#add(nameservice, txid);
    } else if (call.nameservice >= 0) {
      this.#add(call.nameservice, this.#known(call.nameservice));
    }
    const { federatedStart, federatedEnd } = call.fields;
    if (federatedEnd > federatedStart && !bringsNoOther(call)) {
      this.#addNamed(call.frame, call.start + federatedStart, call.start + federatedEnd);
    }
    const entriesBytes = this.end - START_BYTES;
    this.start = this.end - stateFieldBytes(entriesBytes);
    writeStateFieldStart(this.bytes, this.start, entriesBytes);
    return this.end - this.start;
  }

  /** What the client brought for others, as far as the router can confirm it: a client that forgot it would keep what it has. */
  #addNamed(frame: Buffer, start: number, end: number): void {
    const entry = this.#entry;
    if (end - start > MAX_STATE_BYTES) return;
    let read = 0;
    for (let at = start; at < end && this.#entries < this.#observers.settings.maxStateIds; ) {
      at = readStateEntry(frame, at, end, entry);
      if (at < 0 || ++read > MAX_STATE_ENTRIES) return;
      if (!entry.isEntry) continue;
      const nameservice = this.#index.find(frame, entry.nameStart, entry.nameEnd);
      if (nameservice < 0 || this.#written[nameservice] === this.#answer) continue;
      const txid = txidOf(entry.high, entry.low);
      if (txid !== NO_TXID) this.#add(nameservice, Math.min(txid, this.#known(nameservice)));
    }
  }

  #known(nameservice: number): number {
    return this.#observers.shared.read(nameservice, this.#state).txid;
  }

  #add(nameservice: number, txid: number): void {
    if (this.#observers.settings.enabled[nameservice] !== true || this.#written[nameservice] === this.#answer) return;
    this.#written[nameservice] = this.#answer;
    // One that did not answer, which the client's own value must not hide.
    if (txid === NO_TXID) return;
    this.#entries++;
    this.end = writeStateEntry(this.#block, this.end, this.#nameParts[nameservice] as Block, txid);
  }
}

/** The client brought one entry, and that was found to be of the call's own nameservice. */
function bringsNoOther({ floor, frame, start, fields }: Call): boolean {
  const entryAt = start + fields.federatedStart;
  return floor !== NO_TXID && (frame[entryAt + 1] as number) === start + fields.federatedEnd - entryAt - 2;
}
