import { describe, expect, it } from 'vitest';
import {
  createRing,
  PAD,
  RECORD_HEADER_BYTES,
  RECORDS_AT,
  RingIndex,
  RingReader,
  RingWriter,
  Want,
} from '../../src/handoff/ring.ts';

const CAPACITY = 4096;
const KIND = 7;

function makeEnds(memory = createRing(CAPACITY)): {
  memory: SharedArrayBuffer;
  writer: RingWriter;
  reader: RingReader;
} {
  return { memory, writer: new RingWriter(memory), reader: new RingReader(memory) };
}

/** Writes one record of `bytes` bytes filled with `fill`; false when full. */
function put(writer: RingWriter, bytes: number, fill: number): boolean {
  const at = writer.reserve(bytes);
  if (at === -1) return false;
  writer.words[(at >> 2) + 1] = KIND;
  writer.bytes.fill(fill, at + RECORD_HEADER_BYTES, at + bytes);
  writer.commit();
  return true;
}

/** Checks and releases one record. */
function expectRecord(reader: RingReader, bytes: number, fill: number): void {
  const at = reader.next();
  expect(at).toBeGreaterThanOrEqual(RECORDS_AT);
  expect(at % 8).toBe(0);
  expect(reader.length).toBe(bytes);
  expect(reader.words[(at >> 2) + 1]).toBe(KIND);
  expect(reader.bytes.subarray(at + RECORD_HEADER_BYTES, at + bytes).every((byte) => byte === fill)).toBe(true);
  reader.release();
}

describe('ring', () => {
  it('rounds its size up to a power of two and refuses sizes that it cannot count', () => {
    expect(new RingWriter(createRing(1)).capacity).toBe(4096);
    expect(new RingWriter(createRing(5000)).capacity).toBe(8192);
    for (const bytes of [0, -1, Number.NaN, 2 ** 30 + 1]) expect(() => createRing(bytes)).toThrow(/give 1 to/);
    expect(() => new RingWriter(new SharedArrayBuffer(RECORDS_AT + 5000))).toThrow(/not a ring/);
    expect(() => new RingReader(new SharedArrayBuffer(16))).toThrow(/not a ring/);
  });

  it('passes records of any length in order', () => {
    const { writer, reader } = makeEnds();
    expect(reader.next()).toBe(-1);
    const lengths = [8, 9, 15, 16, 17, 100, 512];
    for (const [index, length] of lengths.entries()) expect(put(writer, length, index)).toBe(true);
    for (const [index, length] of lengths.entries()) expectRecord(reader, length, index);
    expect(reader.next()).toBe(-1);
  });

  it('shows a record only after commit, and forgets a reservation that was not committed', () => {
    const { writer, reader } = makeEnds();
    const first = writer.reserve(40);
    writer.words[(first >> 2) + 1] = KIND;
    expect(reader.next()).toBe(-1);
    expect(writer.reserve(24)).toBe(first);
    writer.words[(first >> 2) + 1] = KIND;
    writer.commit();
    expect(reader.next()).toBe(first);
    expect(reader.length).toBe(24);
    reader.release();
    expect(reader.next()).toBe(-1);
  });

  it('returns the same record until it is released; a second release does nothing', () => {
    const { writer, reader } = makeEnds();
    put(writer, 16, 1);
    put(writer, 24, 2);
    const at = reader.next();
    expect(reader.next()).toBe(at);
    reader.release();
    reader.release();
    expectRecord(reader, 24, 2);
  });

  it('never lets a record wrap: pads the end and starts at the front', () => {
    const { writer, reader } = makeEnds();
    for (let round = 0; round < 8; round++) expect(put(writer, 504, round)).toBe(true);
    for (let round = 0; round < 8; round++) expectRecord(reader, 504, round);
    reader.publish();
    // 64 bytes are left before the end.
    const padAt = RECORDS_AT + 8 * 504;
    const at = writer.reserve(80);
    expect(at).toBe(RECORDS_AT);
    expect(writer.words[padAt >> 2]).toBe(64);
    expect(writer.words[(padAt >> 2) + 1]).toBe(PAD);
    writer.words[(at >> 2) + 1] = KIND;
    writer.bytes.fill(9, at + RECORD_HEADER_BYTES, at + 80);
    writer.commit();
    expectRecord(reader, 80, 9);
    expect(reader.next()).toBe(-1);
  });

  it('uses a remainder that fits exactly without a pad', () => {
    const { writer, reader } = makeEnds();
    for (let round = 0; round < 8; round++) put(writer, 504, round);
    for (let round = 0; round < 8; round++) expectRecord(reader, 504, round);
    reader.publish();
    expect(writer.reserve(64)).toBe(RECORDS_AT + 8 * 504);
    writer.words[(RECORDS_AT + 8 * 504) / 4 + 1] = KIND;
    writer.commit();
    expect(writer.reserve(16)).toBe(RECORDS_AT);
  });

  it('can be filled to the last byte, then says full and asks for space', () => {
    const { memory, writer, reader } = makeEnds();
    const words = new Int32Array(memory);
    for (let round = 0; round < 8; round++) expect(put(writer, 512, round)).toBe(true);
    expect(words[RingIndex.WANT_SPACE]).toBe(Want.NOTHING);
    expect(writer.reserve(8)).toBe(-1);
    expect(words[RingIndex.WANT_SPACE]).toBe(Want.RING);
    expectRecord(reader, 512, 0);
    reader.publish();
    expect(put(writer, 512, 8)).toBe(true);
    for (let round = 1; round < 9; round++) expectRecord(reader, 512, round);
    expect(reader.next()).toBe(-1);
  });

  it('refuses sizes that no ring of its capacity may hold', () => {
    const { writer } = makeEnds();
    expect(writer.largestBytes).toBe(512);
    expect(() => writer.reserve(513)).toThrow(/takes 8 to 512/);
    expect(() => writer.reserve(7)).toThrow(/takes 8 to 512/);
  });

  it('has room for the largest record, its pad included, whenever a quarter is free', () => {
    for (let shift = 0; shift < CAPACITY; shift += 8) {
      const memory = createRing(CAPACITY);
      const words = new Int32Array(memory);
      words[RingIndex.CONSUMED] = shift;
      words[RingIndex.PRODUCED] = shift + (CAPACITY * 3) / 4;
      const { writer, reader } = makeEnds(memory);
      expect(reader.quarterFree()).toBe(true);
      expect(writer.reserve(512)).not.toBe(-1);
    }
  });

  it('keeps counting when the 32-bit positions wrap', () => {
    for (const start of [2 ** 31 - 2048, -2048]) {
      const memory = createRing(CAPACITY);
      const words = new Int32Array(memory);
      words[RingIndex.PRODUCED] = start;
      words[RingIndex.CONSUMED] = start;
      const { writer, reader } = makeEnds(memory);
      let written = 0;
      let read = 0;
      for (let round = 0; round < 50; round++) {
        while (put(writer, 200, written & 255)) written++;
        for (; read < written; read++) expectRecord(reader, 200, read & 255);
        reader.publish();
      }
      expect(written).toBeGreaterThan(500);
    }
  });

  it('publishes what was released in portions, and the rest on demand', () => {
    const { memory, writer, reader } = makeEnds();
    const words = new Int32Array(memory);
    for (let round = 0; round < 8; round++) put(writer, 128, round);
    reader.next();
    expect(reader.release()).toBe(false);
    expect(words[RingIndex.CONSUMED]).toBe(0);
    reader.next();
    expect(reader.release()).toBe(true);
    expect(words[RingIndex.CONSUMED]).toBe(256);
    reader.next();
    reader.release();
    reader.publish();
    expect(words[RingIndex.CONSUMED]).toBe(384);
  });

  it('names a damaged record instead of reading on', () => {
    for (const length of [0, 7, -8, 1000]) {
      const { writer, reader } = makeEnds();
      put(writer, 64, 1);
      writer.words[RECORDS_AT >> 2] = length;
      expect(() => reader.next()).toThrow(/ring is damaged.*restart the worker/);
    }
  });

  it('keeps the positions of producer and consumer on separate cache lines', () => {
    const lineOf = (index: number): number => (index * 4) >> 6;
    expect(lineOf(RingIndex.PRODUCED)).not.toBe(lineOf(RingIndex.CONSUMED));
    expect(lineOf(RingIndex.SLEEPING)).not.toBe(lineOf(RingIndex.PRODUCED));
    expect(lineOf(RingIndex.SLEEPING)).not.toBe(lineOf(RingIndex.CONSUMED));
    expect(lineOf(RingIndex.WANT_SPACE)).not.toBe(lineOf(RingIndex.CONSUMED));
    expect(Math.max(...Object.values(RingIndex)) * 4).toBeLessThan(RECORDS_AT);
  });
});
