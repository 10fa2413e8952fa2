/**
 * Cuts a stream of replies, each `length:u32be bytes`. A frame that lies whole in a chunk is passed on where it lies. Of one that does not,
 * only the first MAX_KEPT_BYTES are kept: the loader needs the header, and reads past bodies of any length.
 */
import { readInt32 } from '../../wire/varint.ts';

export interface ReplySink {
  /** One reply, buffer[start, end) without its length; valid only during the call. */
  onFrame(buffer: Buffer, start: number, end: number): void;
}

/** As a Java client by default (`ipc.maximum.response.length`). */
export const MAX_REPLY_BYTES: number = 128 * 1024 * 1024;
/** Enough for the longest stack trace in an error. */
export const MAX_KEPT_BYTES: number = 64 * 1024;
const FIRST_KEPT_BYTES = 512;
/** A larger buffer is not kept from one frame to the next: there may be many thousands of connections. */
const MAX_RETAINED_BYTES = 4096;
const LENGTH_BYTES = 4;
const NOTHING = Buffer.alloc(0);

export class ReplyCutter {
  readonly sink: ReplySink;
  #kept: Buffer = NOTHING;
  #keptBytes = 0;
  /** Of the frame that has begun: bytes seen, its length included, and bytes in all once the length is there (else 0). */
  #seenBytes = 0;
  #frameBytes = 0;

  constructor(sink: ReplySink) {
    this.sink = sink;
  }

  /** The stream begins anew. */
  clear(): void {
    this.#keptBytes = 0;
    this.#seenBytes = 0;
    this.#frameBytes = 0;
  }

  /** Takes chunk[0, end). False: a length that no server sends, the stream cannot be followed any more. */
  feed(chunk: Buffer, end: number): boolean {
    let at = 0;
    if (this.#seenBytes > 0) {
      at = this.#goOn(chunk, end);
      if (at < 0) return false;
    }
    while (end - at >= LENGTH_BYTES) {
      const length = readInt32(chunk, at);
      if (length <= 0 || length > MAX_REPLY_BYTES) return false;
      const frameEnd = at + LENGTH_BYTES + length;
      if (frameEnd > end) break;
      this.sink.onFrame(chunk, at + LENGTH_BYTES, frameEnd);
      at = frameEnd;
    }
    return at >= end || this.#goOn(chunk, end, at) === end;
  }

  /** Takes chunk[from, end) into the frame that has begun, up to its end; passes it on when it is whole. Returns where it stopped, or -1. */
  #goOn(chunk: Buffer, end: number, from = 0): number {
    let at = from;
    if (this.#seenBytes < LENGTH_BYTES) {
      const bytes = Math.min(LENGTH_BYTES - this.#seenBytes, end - at);
      this.#keep(chunk, at, bytes);
      at += bytes;
      if (this.#seenBytes < LENGTH_BYTES) return at;
      const length = readInt32(this.#kept, 0);
      if (length <= 0 || length > MAX_REPLY_BYTES) return -1;
      this.#frameBytes = LENGTH_BYTES + length;
    }
    const bytes = Math.min(this.#frameBytes - this.#seenBytes, end - at);
    this.#keep(chunk, at, bytes);
    at += bytes;
    if (this.#seenBytes === this.#frameBytes) {
      const kept = this.#kept;
      const keptEnd = this.#keptBytes;
      this.clear();
      if (kept.length > MAX_RETAINED_BYTES) this.#kept = NOTHING;
      this.sink.onFrame(kept, LENGTH_BYTES, keptEnd);
    }
    return at;
  }

  #keep(chunk: Buffer, at: number, bytes: number): void {
    this.#seenBytes += bytes;
    const keptBytes = Math.min(this.#keptBytes + bytes, MAX_KEPT_BYTES);
    if (keptBytes > this.#kept.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(FIRST_KEPT_BYTES, 1 << (32 - Math.clz32(keptBytes - 1))));
      this.#kept.copy(grown, 0, 0, this.#keptBytes);
      this.#kept = grown;
    }
    chunk.copy(this.#kept, this.#keptBytes, at, at + keptBytes - this.#keptBytes);
    this.#keptBytes = keptBytes;
  }
}
