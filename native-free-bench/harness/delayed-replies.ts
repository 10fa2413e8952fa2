/**
 * Requests that the stub NameNode answers later: one queue for all connections, in the order in which they came. What a reply needs of its
 * request is copied into arrays, so a waiting call costs no object and no timer.
 */

import { MAX_CLIENT_ID_BYTES, type RequestFields } from './namenode-replies.ts';

/** Most requests that may wait; further ones are refused. */
export const MAX_DELAYED = 1 << 18;
const FIRST_SLOTS = 1024;

export class DelayedReplies<Peer> {
  /** Waiting requests are those from `#head` on, `count` of them, modulo the number of slots (a power of two). */
  #head = 0;
  count = 0;
  readonly #most: number;
  #peers: (Peer | undefined)[];
  #dueMs: Float64Array<ArrayBuffer>;
  #callIds: Int32Array<ArrayBuffer>;
  #retryCounts: Int32Array<ArrayBuffer>;
  #clientIdBytes: Uint8Array<ArrayBuffer>;
  #clientIds: Buffer;

  /** `most`: waiting requests at which further ones are refused; a power of two. */
  constructor(most: number = MAX_DELAYED) {
    this.#most = most;
    const slots = Math.min(FIRST_SLOTS, most);
    this.#peers = new Array(slots).fill(undefined);
    this.#dueMs = new Float64Array(slots);
    this.#callIds = new Int32Array(slots);
    this.#retryCounts = new Int32Array(slots);
    this.#clientIdBytes = new Uint8Array(slots);
    this.#clientIds = Buffer.allocUnsafeSlow(slots * MAX_CLIENT_ID_BYTES);
  }

  /** Takes the request in `frame`, to be answered at `dueMs` and not before those that came earlier. False: as many wait as may. */
  push(peer: Peer, frame: Buffer, fields: RequestFields, dueMs: number): boolean {
    if (this.count === this.#peers.length && !this.#grow()) return false;
    const mask = this.#peers.length - 1;
    const slot = (this.#head + this.count) & mask;
    const before = this.count === 0 ? 0 : (this.#dueMs[(slot - 1) & mask] as number);
    this.#peers[slot] = peer;
    this.#dueMs[slot] = Math.max(dueMs, before);
    this.#callIds[slot] = fields.callId;
    this.#retryCounts[slot] = fields.retryCount;
    this.#clientIdBytes[slot] = fields.clientIdEnd - fields.clientIdStart;
    frame.copy(this.#clientIds, slot * MAX_CLIENT_ID_BYTES, fields.clientIdStart, fields.clientIdEnd);
    this.count++;
    return true;
  }

  /** When the next one is due; Infinity when none waits. */
  nextDueMs(): number {
    return this.count === 0 ? Number.POSITIVE_INFINITY : (this.#dueMs[this.#head] as number);
  }

  /** Takes out the next one: its ids stand in `fields`, with the client id in the returned peer's `clientIds` buffer. */
  shift(fields: RequestFields): Peer {
    const slot = this.#head;
    fields.callId = this.#callIds[slot] as number;
    fields.retryCount = this.#retryCounts[slot] as number;
    fields.clientIdStart = slot * MAX_CLIENT_ID_BYTES;
    fields.clientIdEnd = fields.clientIdStart + (this.#clientIdBytes[slot] as number);
    fields.methodStart = fields.methodEnd = 0;
    const peer = this.#peers[slot] as Peer;
    this.#peers[slot] = undefined;
    this.#head = (slot + 1) & (this.#peers.length - 1);
    this.count--;
    return peer;
  }

  /** Where the client id of the request that was shifted last lies; valid until the next push. */
  get clientIds(): Buffer {
    return this.#clientIds;
  }

  /** Doubles the slots and lays the waiting requests out from the first on. */
  #grow(): boolean {
    const slots = this.#peers.length;
    if (slots >= this.#most) return false;
    const head = this.#head;
    const tail = slots - head;
    const peers = new Array<Peer | undefined>(slots * 2).fill(undefined);
    const clientIds = Buffer.allocUnsafeSlow(slots * 2 * MAX_CLIENT_ID_BYTES);
    for (let i = 0; i < slots; i++) peers[i] = this.#peers[(head + i) & (slots - 1)];
    this.#clientIds.copy(clientIds, 0, head * MAX_CLIENT_ID_BYTES);
    this.#clientIds.copy(clientIds, tail * MAX_CLIENT_ID_BYTES, 0, head * MAX_CLIENT_ID_BYTES);
    this.#peers = peers;
    this.#clientIds = clientIds;
    this.#dueMs = unrolled(this.#dueMs, new Float64Array(slots * 2), head);
    this.#callIds = unrolled(this.#callIds, new Int32Array(slots * 2), head);
    this.#retryCounts = unrolled(this.#retryCounts, new Int32Array(slots * 2), head);
    this.#clientIdBytes = unrolled(this.#clientIdBytes, new Uint8Array(slots * 2), head);
    this.#head = 0;
    return true;
  }
}

type Numbers = Float64Array<ArrayBuffer> | Int32Array<ArrayBuffer> | Uint8Array<ArrayBuffer>;

/** `to`, filled with the ring `from` as it runs from `head` on. */
function unrolled<Kind extends Numbers>(from: Kind, to: Kind, head: number): Kind {
  to.set(from.subarray(head), 0);
  to.set(from.subarray(0, head), from.length - head);
  return to;
}
