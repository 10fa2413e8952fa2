/**
 * A ring of records between exactly two threads, one that produces and one that consumes, in one SharedArrayBuffer.
 *
 *   0        128       256       384       512                          512 + capacity
 *   │PRODUCED│CONSUMED │SLEEPING │WANT     │ record │ record │ … │ pad   │
 *   │        │BESIDE_  │         │_SPACE   │
 *   │        │ TAKEN   │         │         │      (two cache lines each, so that no thread writes on a line the other one polls)
 *
 *   record = int32 length (bytes of this record, not rounded)  int32 kind  int32 words…  bytes…  zero to seven bytes unused
 *   pad    = int32 length (bytes up to the end of the ring)    int32 0
 *
 * Records start at multiples of 8 and never wrap: one that does not fit before the end is preceded by a pad and starts at the front.
 * Positions are running byte counts modulo 2^32; the capacity is a power of two, so the offset is `position & mask` and
 * `produced - consumed | 0` is the number of bytes in use, across the wrap of the counter too.
 *
 * Races that are allowed: the consumer may see an old PRODUCED (it takes the record a little later) and the producer an old CONSUMED (it
 * believes the ring fuller than it is; before it reports "full" it looks again). Nothing else is shared without a publishing store.
 */

import { Block } from '../wire/block.ts';

/** Index of each shared word in the ring's Int32Array, and who writes it. */
export const RingIndex = {
  /** Producer. Published bytes; stored last, it makes a record visible. */
  PRODUCED: 0,
  /** Consumer. Released bytes; stored after the record's memory has been read for the last time. */
  CONSUMED: 32,
  /** Consumer. Bytes taken of those that travelled beside the ring (beside.ts). */
  BESIDE_TAKEN: 33,
  /** Consumer writes 1 (asleep) and 0 (awake); the producer takes 1 to 0 by compare-exchange when it rings (doorbell.ts). */
  SLEEPING: 64,
  /** Producer writes a Want; the consumer takes it to 0 by compare-exchange when it rings the space bell (doorbell.ts). */
  WANT_SPACE: 96,
} as const;

/** What a producer that was refused waits for. */
export const Want = { NOTHING: 0, RING: 1, BESIDE: 2 } as const;

/** Bytes before the first record. */
export const RECORDS_AT = 512;
/** Bytes of length and kind. */
export const RECORD_HEADER_BYTES = 8;
/** Kind of the filler before the end of the ring; all other kinds are the user's. */
export const PAD = 0;

const MIN_RING_BYTES = 4096;
/** In-use counts must stay positive as int32. */
const MAX_RING_BYTES = 1 << 30;
/** A record is at most this part of the ring, so that with a quarter free every record fits, its pad included. */
const LARGEST_PART = 8;
/** The consumer publishes its position when this part of the ring has been released, and at the end of a drain. */
const PUBLISH_PART = 16;

/** Allocates an empty ring with room for at least `bytes` bytes of records (rounded up to a power of two). Its consumer counts as asleep. */
export function createRing(bytes: number): SharedArrayBuffer {
  if (!(bytes > 0 && bytes <= MAX_RING_BYTES))
    throw new RangeError(`ring of ${bytes} bytes: give 1 to ${MAX_RING_BYTES}`);
  let capacity = MIN_RING_BYTES;
  while (capacity < bytes) capacity *= 2;
  const memory = new SharedArrayBuffer(RECORDS_AT + capacity);
  Atomics.store(new Int32Array(memory), RingIndex.SLEEPING, 1);
  return memory;
}

/** Bytes of records that wait in a ring, for whoever looks at it from outside. */
export function bytesWaitingIn(memory: SharedArrayBuffer): number {
  const words = new Int32Array(memory, 0, RECORDS_AT / 4);
  return (Atomics.load(words, RingIndex.PRODUCED) - Atomics.load(words, RingIndex.CONSUMED)) | 0;
}

/** Bytes for records in `memory`; throws when it was not made by `createRing`. */
function capacityOf(memory: SharedArrayBuffer): number {
  const capacity = memory.byteLength - RECORDS_AT;
  if (capacity < MIN_RING_BYTES || capacity > MAX_RING_BYTES || (capacity & (capacity - 1)) !== 0) {
    throw new RangeError(`not a ring: ${memory.byteLength} bytes of shared memory; make it with createRing`);
  }
  return capacity;
}

/** The producer's end. `reserve`, fill the record through `words` and `bytes`, `commit`. */
export class RingWriter {
  readonly words: Int32Array;
  readonly bytes: Buffer;
  readonly block: Block;
  readonly capacity: number;
  /** Largest record, header included, that `reserve` takes. */
  readonly largestBytes: number;
  private mask: number;
  private produced: number;
  private reserved: number;
  private consumedSeen: number;

  constructor(memory: SharedArrayBuffer) {
    this.capacity = capacityOf(memory);
    this.largestBytes = this.capacity / LARGEST_PART;
    this.words = new Int32Array(memory);
    this.bytes = Buffer.from(memory);
    this.block = new Block(this.bytes);
    this.mask = this.capacity - 1;
    this.produced = Atomics.load(this.words, RingIndex.PRODUCED);
    this.reserved = this.produced;
    this.consumedSeen = Atomics.load(this.words, RingIndex.CONSUMED);
  }

  /**
   * Finds room for a record of `bytes` bytes, header included, and writes its length; the caller writes kind, words and bytes.
   * Returns the byte offset of the record in `bytes` (its word index is offset >> 2), or -1 when the ring is full: then WANT_SPACE is set
   * and the consumer will ring. A reservation that is not committed is forgotten by the next one.
   */
  reserve(bytes: number): number {
    if (bytes < RECORD_HEADER_BYTES || bytes > this.largestBytes) this.refuseSize(bytes);
    const need = (bytes + 7) & ~7;
    const offset = this.produced & this.mask;
    const tail = this.capacity - offset;
    const total = need <= tail ? need : tail + need;
    if (this.capacity - ((this.produced - this.consumedSeen) | 0) < total && !this.findRoom(total)) return -1;
    let at = RECORDS_AT + offset;
    if (need > tail) {
      this.words[at >> 2] = tail;
      this.words[(at >> 2) + 1] = PAD;
      at = RECORDS_AT;
    }
    this.words[at >> 2] = bytes;
    this.reserved = (this.produced + total) | 0;
    return at;
  }

  /** Publishes the reserved record, and its pad, with one store. */
  commit(): void {
    this.produced = this.reserved;
    Atomics.store(this.words, RingIndex.PRODUCED, this.produced);
  }

  private findRoom(total: number): boolean {
    if (this.hasRoom(total)) return true;
    // First the flag, then the look at CONSUMED; the consumer stores CONSUMED, then looks at the flag: one of the two sees the other.
    Atomics.store(this.words, RingIndex.WANT_SPACE, Want.RING);
    if (!this.hasRoom(total)) return false;
    // If the consumer was faster its bell is on the way; whoever hears it finds that nobody waits.
    Atomics.compareExchange(this.words, RingIndex.WANT_SPACE, Want.RING, Want.NOTHING);
    return true;
  }

  private hasRoom(total: number): boolean {
    this.consumedSeen = Atomics.load(this.words, RingIndex.CONSUMED);
    return this.capacity - ((this.produced - this.consumedSeen) | 0) >= total;
  }

  private refuseSize(bytes: number): never {
    throw new RangeError(
      `record of ${bytes} bytes: this ring takes ${RECORD_HEADER_BYTES} to ${this.largestBytes}; send it beside the ring`,
    );
  }
}

/** The consumer's end. `next`, read the record through `words` and `bytes`, `release`; `publish` when done for now. */
export class RingReader {
  readonly words: Int32Array;
  readonly bytes: Buffer;
  readonly capacity: number;
  /** Bytes of the record that `next` returned, header included. */
  length = 0;
  private mask: number;
  private position: number;
  private end: number;
  private published: number;
  private producedSeen: number;
  private publishBytes: number;

  constructor(memory: SharedArrayBuffer) {
    this.capacity = capacityOf(memory);
    this.words = new Int32Array(memory);
    this.bytes = Buffer.from(memory);
    this.mask = this.capacity - 1;
    this.position = Atomics.load(this.words, RingIndex.CONSUMED);
    this.end = this.position;
    this.published = this.position;
    this.producedSeen = this.position;
    this.publishBytes = this.capacity / PUBLISH_PART;
  }

  /** Byte offset of the next record in `bytes`, or -1 when there is none. The same record again until `release`. */
  next(): number {
    for (;;) {
      if (this.position === this.producedSeen) {
        this.producedSeen = Atomics.load(this.words, RingIndex.PRODUCED);
        if (this.position === this.producedSeen) return -1;
      }
      const at = RECORDS_AT + (this.position & this.mask);
      const length = this.words[at >> 2] as number;
      if (length < RECORD_HEADER_BYTES || length > ((this.producedSeen - this.position) | 0)) this.refuseLength(length);
      this.end = (this.position + ((length + 7) & ~7)) | 0;
      if (this.words[(at >> 2) + 1] !== PAD) {
        this.length = length;
        return at;
      }
      this.position = this.end;
    }
  }

  /**
   * Gives the record that `next` returned back; without one it does nothing. True when the position was published on this occasion, which
   * is the time to look whether the producer wants space.
   */
  release(): boolean {
    this.position = this.end;
    if (((this.position - this.published) | 0) < this.publishBytes) return false;
    this.publish();
    return true;
  }

  /** Lets the producer have all released memory. */
  publish(): void {
    if (this.published === this.position) return;
    this.published = this.position;
    Atomics.store(this.words, RingIndex.CONSUMED, this.position);
  }

  /** Whether at least a quarter of the ring is free for the producer: room for any record. */
  quarterFree(): boolean {
    const used = (Atomics.load(this.words, RingIndex.PRODUCED) - this.published) | 0;
    return this.capacity - used >= this.capacity / 4;
  }

  private refuseLength(length: number): never {
    throw new Error(
      `hand-off ring is damaged: record of ${length} bytes at position ${this.position}; restart the worker of this ring`,
    );
  }
}
