import { readVarint64, skipValueLoosely, Wide } from './varint.ts';

const BYTES = 2;

const wide = new Wide();

/**
 * A string or bytes field inside an embedded message of a message, found without decoding either:
 *
 *   message  … · tag(field, 2) length { … · tag(inner, 2) length bytes · … } · …
 *
 * As a decoder merges them, the last of several counts. Reused from message to message.
 */
export class EmbeddedField {
  /** The bytes are buffer[start, end). */
  start = 0;
  end = 0;

  /** Whether the message buffer[start, end) has it. False also for what is not well-formed. */
  find(buffer: Buffer, start: number, end: number, field: number, inner: number): boolean {
    this.start = 0;
    this.end = 0;
    return this.#scan(buffer, start, end, field, inner) && this.start > 0;
  }

  /** Whether the bytes found are these. */
  equals(buffer: Buffer, wanted: Buffer): boolean {
    return (
      this.end - this.start === wanted.length && buffer.compare(wanted, 0, wanted.length, this.start, this.end) === 0
    );
  }

  /** `inner` 0: the field itself is what is looked for. */
  #scan(buffer: Buffer, start: number, end: number, field: number, inner: number): boolean {
    let at = start;
    while (at < end) {
      at = readVarint64(buffer, at, end, wide);
      if (at < 0) return false;
      const tag = wide.low;
      if (tag >>> 3 !== field || (tag & 7) !== BYTES) {
        at = skipValueLoosely(buffer, at, end, tag);
        if (at < 0) return false;
        continue;
      }
      at = readVarint64(buffer, at, end, wide);
      const to = at + wide.low;
      if (at < 0 || wide.low < 0 || wide.high !== 0 || to > end) return false;
      if (inner === 0) {
        this.start = at;
        this.end = to;
      } else if (!this.#scan(buffer, at, to, inner, 0)) return false;
      at = to;
    }
    return true;
  }
}
