import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Block, copyBlock, LastBlock } from '../../src/wire/block.ts';

const EDGE = 0xee;

/** Bytes that look like all kinds of numbers: NaNs, sign bits, zeros. */
function patternOf(length: number, seed: number): Buffer {
  return Buffer.from(Array.from({ length }, (_, i) => ((i + seed) % 7 < 3 ? 0xff : (i * 37 + seed) & 0xff)));
}

describe('copyBlock', () => {
  const lengths = [0, 1, 7, 8, 9, 15, 16, 17, 31, 100, 160, 505, 511, 512, 513, 1000];

  it.each(lengths)('copies %i bytes from and to any place, and no other', (length) => {
    for (let shift = 0; shift < 9; shift++) {
      const source = patternOf(length + 32, shift);
      const from = new Block(Buffer.concat([Buffer.alloc(3), source]).subarray(3));
      const out = new Block(Buffer.alloc(length + 40, EDGE).subarray(2));
      const after = copyBlock(out, 5, from, shift, shift + length);
      expect(after).toBe(5 + length);
      expect(out.bytes.subarray(5, after)).toEqual(source.subarray(shift, shift + length));
      expect(out.bytes.subarray(0, 5).every((byte) => byte === EDGE)).toBe(true);
      expect(out.bytes.subarray(after).every((byte) => byte === EDGE)).toBe(true);
    }
  });

  it('copies between ordinary and shared memory', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), fc.nat(16), (bytes, at) => {
        const shared = new Block(Buffer.from(new SharedArrayBuffer(640)));
        const end = copyBlock(shared, at, new Block(Buffer.from(bytes)), 0, bytes.length);
        const back = new Block(Buffer.alloc(600));
        expect(copyBlock(back, 0, shared, at, end)).toBe(bytes.length);
        expect(back.bytes.subarray(0, bytes.length)).toEqual(Buffer.from(bytes));
      }),
    );
  });
});

describe('LastBlock', () => {
  it('has a block for a buffer that comes again, and only then', () => {
    const last = new LastBlock();
    const [one, two] = [Buffer.alloc(10), Buffer.alloc(10)];
    expect(last.of(one)).toBeNull();
    const block = last.of(one);
    expect(block?.bytes).toBe(one);
    expect(last.of(one)).toBe(block);
    expect(last.of(two)).toBeNull();
    expect(last.of(one)).toBeNull();
    expect(last.of(one)?.bytes).toBe(one);
  });

  it('does not keep large memory', () => {
    const last = new LastBlock();
    const large = Buffer.alloc(2 * 1024 * 1024 + 1);
    for (let i = 0; i < 3; i++) expect(last.of(large)).toBeNull();
  });
});
