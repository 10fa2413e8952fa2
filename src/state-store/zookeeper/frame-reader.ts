/** Longest frame that is taken from a server: the names of a million nodes. */
export const MAX_FRAME_BYTES = 64 * 1024 * 1024;

const LENGTH_BYTES = 4;
const MIN_HELD_BYTES = 4096;
const NOTHING = Buffer.alloc(0);

/**
 * Splits what a socket delivers into frames (int length, bytes). Belongs to one connection: what a cut connection leaves behind must not
 * meet the next one's bytes. Memory grows with what has come, never with what a length announces.
 */
export class FrameReader {
  /** Begins with an unfinished frame of #end bytes. */
  #held = NOTHING;
  #end = 0;

  /** Calls `onFrame` for each whole frame. Returns a length that is out of bounds, or null: after such a length nothing can be read. */
  push(chunk: Buffer, onFrame: (frame: Buffer) => void): number | null {
    const bytes = this.#append(chunk);
    let at = 0;
    while (bytes.length - at >= LENGTH_BYTES) {
      const length = bytes.readInt32BE(at);
      if (length < 0 || length > MAX_FRAME_BYTES) return length;
      const end = at + LENGTH_BYTES + length;
      if (end > bytes.length) break;
      onFrame(bytes.subarray(at + LENGTH_BYTES, end));
      at = end;
    }
    this.#keep(bytes, at);
    return null;
  }

  #append(chunk: Buffer): Buffer {
    const { length } = chunk;
    if (this.#end === 0) return chunk;
    if (this.#end + length > this.#held.length) {
      const larger = Buffer.allocUnsafe(2 * (this.#end + length));
      larger.set(this.#held.subarray(0, this.#end));
      this.#held = larger;
    }
    this.#held.set(chunk, this.#end);
    this.#end += length;
    return this.#held.subarray(0, this.#end);
  }

  /** What follows `at` goes into memory of its own when frames before it were handed out: those may be held on to. */
  #keep(bytes: Buffer, at: number): void {
    const left = bytes.length - at;
    if (at === 0 && this.#end > 0) return;
    this.#end = left;
    if (left === 0) this.#held = NOTHING;
    else {
      this.#held = Buffer.allocUnsafe(Math.max(MIN_HELD_BYTES, 2 * left));
      this.#held.set(bytes.subarray(at));
    }
  }
}
