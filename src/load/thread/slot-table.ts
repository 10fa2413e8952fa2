import { END_CALL_ID, FIRST_CALL_ID } from './call-frames.ts';

const FIRST_SLOTS = 8;
/** No call. Ids of calls are positive. */
const FREE = 0;

/**
 * Calls of one connection that have no reply. A call sits in slot `callId & mask`: ids rise by one, and an id whose slot is taken is passed
 * over. At most half of the slots are taken, so that is rare. The table doubles as it fills, up to `limit` calls.
 */
export class SlotTable {
  count = 0;
  readonly limit: number;
  #mask = FIRST_SLOTS - 1;
  #nextId: number;
  callIds: Int32Array = new Int32Array(FIRST_SLOTS);
  /** Ms, performance.now: when the call was due, and when it was written (0: it waits for the flush). */
  dueAt: Float64Array = new Float64Array(FIRST_SLOTS);
  sentAt: Float64Array = new Float64Array(FIRST_SLOTS);
  /** Where its result is recorded (see Recorder), and whether. */
  cells: Int32Array = new Int32Array(FIRST_SLOTS);
  measured: Uint8Array = new Uint8Array(FIRST_SLOTS);
  /** Arguments of CallFrames.write. */
  requests: Uint8Array = new Uint8Array(FIRST_SLOTS);
  sources: Int32Array = new Int32Array(FIRST_SLOTS);
  groups: Int32Array = new Int32Array(FIRST_SLOTS);
  numbers: Int32Array = new Int32Array(FIRST_SLOTS);
  destinations: Int32Array = new Int32Array(FIRST_SLOTS);

  constructor(limit: number, firstId: number = FIRST_CALL_ID) {
    this.limit = limit;
    this.#nextId = firstId;
  }

  get size(): number {
    return this.callIds.length;
  }

  /** Takes a slot for a new call and returns it; there must be fewer calls than `limit`. The fields of the slot are the caller's to fill. */
  take(): number {
    if (this.count * 2 >= this.callIds.length) this.#grow();
    let callId = this.#nextId;
    while (this.callIds[callId & this.#mask] !== FREE) callId = callId + 1 < END_CALL_ID ? callId + 1 : FIRST_CALL_ID;
    this.#nextId = callId + 1 < END_CALL_ID ? callId + 1 : FIRST_CALL_ID;
    const slot = callId & this.#mask;
    this.callIds[slot] = callId;
    this.count++;
    return slot;
  }

  /** Slot of the call with this id; -1: no such call waits. */
  find(callId: number): number {
    const slot = callId & this.#mask;
    return callId >= FIRST_CALL_ID && this.callIds[slot] === callId ? slot : -1;
  }

  isTaken(slot: number): boolean {
    return this.callIds[slot] !== FREE;
  }

  free(slot: number): void {
    this.callIds[slot] = FREE;
    this.count--;
  }

  #grow(): void {
    const old = this.callIds;
    const { dueAt, sentAt, cells, measured, requests, sources, groups, numbers, destinations } = this;
    const size = old.length * 2;
    this.#mask = size - 1;
    this.callIds = new Int32Array(size);
    this.dueAt = new Float64Array(size);
    this.sentAt = new Float64Array(size);
    this.cells = new Int32Array(size);
    this.measured = new Uint8Array(size);
    this.requests = new Uint8Array(size);
    this.sources = new Int32Array(size);
    this.groups = new Int32Array(size);
    this.numbers = new Int32Array(size);
    this.destinations = new Int32Array(size);
    // Ids with different slots before have different ones now.
    for (let from = 0; from < old.length; from++) {
      const callId = old[from]!;
      if (callId === FREE) continue;
      const to = callId & this.#mask;
      this.callIds[to] = callId;
      this.dueAt[to] = dueAt[from]!;
      this.sentAt[to] = sentAt[from]!;
      this.cells[to] = cells[from]!;
      this.measured[to] = measured[from]!;
      this.requests[to] = requests[from]!;
      this.sources[to] = sources[from]!;
      this.groups[to] = groups[from]!;
      this.numbers[to] = numbers[from]!;
      this.destinations[to] = destinations[from]!;
    }
  }
}
