/** Copies of some hundred bytes, which nearly all calls and replies are. */
import { copyBytes } from './varint.ts';

/** Memory, and the view of it through which it is copied in words of eight bytes. */
export class Block {
  readonly bytes: Buffer;
  readonly view: DataView;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }
}

const WORD_BYTES = 8;
/** From here on Buffer.copy is faster, for all that it pays to leave JavaScript. */
const MOST_WORDS_BYTES = 512;

/**
 * Copies from[start, end) to out[at…], which must not overlap. Returns the position after it. The words go as little-endian BigInts: the
 * compiler keeps those in registers, on all usual machines as they lie in memory.
 */
export function copyBlock(out: Block, at: number, from: Block, start: number, end: number): number {
  const after = at + end - start;
  if (end - start < WORD_BYTES || end - start > MOST_WORDS_BYTES) {
    return copyBytes(out.bytes, at, from.bytes, start, end);
  }
  const target = out.view;
  const source = from.view;
  const last = end - WORD_BYTES;
  let next = at;
  for (let i = start; i < last; i += WORD_BYTES, next += WORD_BYTES) {
    target.setBigInt64(next, source.getBigInt64(i, true), true);
  }
  // The last word ends where the bytes end, and may overlap the one before.
  target.setBigInt64(after - WORD_BYTES, source.getBigInt64(last, true), true);
  return after;
}

/** Whether a[at, at + 16) is b[from, from + 16): a client id. */
export function equal16(a: Block, at: number, b: Block, from: number): boolean {
  return (
    a.view.getBigInt64(at, true) === b.view.getBigInt64(from, true) &&
    a.view.getBigInt64(at + WORD_BYTES, true) === b.view.getBigInt64(from + WORD_BYTES, true)
  );
}

/** Moves block[start, end), 24 to 32 bytes, by so many bytes to the right; the two places may overlap. */
export function moveRight(block: Block, start: number, end: number, by: number): void {
  const { view } = block;
  const last = end - WORD_BYTES;
  const first = view.getBigInt64(start, true);
  const second = view.getBigInt64(start + WORD_BYTES, true);
  const third = view.getBigInt64(start + 2 * WORD_BYTES, true);
  const fourth = view.getBigInt64(last, true);
  view.setBigInt64(start + by, first, true);
  view.setBigInt64(start + by + WORD_BYTES, second, true);
  view.setBigInt64(start + by + 2 * WORD_BYTES, third, true);
  view.setBigInt64(last + by, fourth, true);
}

/** Longest buffer that is remembered, and with it its memory: those that sockets read into, and usual rings. */
const MOST_REMEMBERED_BYTES = 2 * 1024 * 1024;

/**
 * The block of the buffer that comes again and again: what sockets read into, or a ring. A buffer has one from its second time in a row on;
 * those that come once (frames that arrived in pieces) are not worth a view.
 */
export class LastBlock {
  #bytes: Buffer | null = null;
  #block: Block | null = null;

  of(bytes: Buffer): Block | null {
    if (bytes === this.#bytes) {
      if (this.#block === null) this.#block = new Block(bytes);
      return this.#block;
    }
    this.#bytes = bytes.length <= MOST_REMEMBERED_BYTES ? bytes : null;
    this.#block = null;
    return null;
  }
}
