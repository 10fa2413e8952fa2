/** A protobufjs reader that also notes where the fields of the outermost message lie: what is decoded whole can still be handed on by offset. */

import protobuf from 'protobufjs';
import { varint32Size } from '../../../src/wire/varint.ts';

/** Fields with greater numbers are only noted as seen (bit 31). */
const LAST_NOTED_FIELD = 30;
const OTHER_FIELDS = 1 << 31;
const LENGTH_DELIMITED = 2;

/** One for each place where messages are decoded; reused. */
export class OffsetReader extends protobuf.BufferReader {
  /** Bits of the numbers of the fields that were there. */
  seen = 0;
  /** A field stood twice, or a length was longer than it needs to be: offsets do not describe the message. */
  unusual = false;
  /** Value bytes of the length-delimited fields that were seen, offsets in the buffer. */
  readonly starts = new Int32Array(LAST_NOTED_FIELD + 1);
  readonly ends = new Int32Array(LAST_NOTED_FIELD + 1);
  #field = 0;
  /** Everything before it belongs to an embedded message. */
  #embeddedEnd = 0;

  /** Decodes buffer[start, end) as one message; throws as protobufjs does. */
  decodeMessage(type: protobuf.Type, buffer: Buffer, start: number, end: number): protobuf.Message {
    this.buf = buffer;
    this.pos = start;
    this.len = end;
    this.discardUnknown = false;
    this.seen = 0;
    this.unusual = false;
    this.#field = 0;
    this.#embeddedEnd = start;
    return type.decode(this);
  }

  override tag(): number {
    const isOutermost = this.pos >= this.#embeddedEnd;
    const tag = super.tag();
    if (!isOutermost) return tag;
    const field = tag >>> 3;
    const bit = field > LAST_NOTED_FIELD ? OTHER_FIELDS : 1 << field;
    if ((this.seen & bit) !== 0 && bit !== OTHER_FIELDS) this.unusual = true;
    this.seen |= bit;
    this.#field = (tag & 7) === LENGTH_DELIMITED && field <= LAST_NOTED_FIELD ? field : 0;
    return tag;
  }

  override size(): number {
    const at = this.pos;
    const bytes = super.size();
    if (this.#field === 0) return bytes;
    if (this.pos - at !== varint32Size(bytes)) this.unusual = true;
    this.starts[this.#field] = this.pos;
    this.ends[this.#field] = this.pos + bytes;
    this.#embeddedEnd = this.pos + bytes;
    this.#field = 0;
    return bytes;
  }
}
