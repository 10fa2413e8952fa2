import { describe, expect, it } from 'vitest';
import {
  type ByteBudget,
  FRAME_BAD_LENGTH,
  FRAME_NO_MEMORY,
  FRAMES_HELD,
  FRAMES_OK,
  FrameAssembler,
  type FrameSink,
  MOST_DOUBLED_BYTES,
} from '../../src/wire/frame.ts';
import { framed, REPLIES, REQUESTS, vector } from './vectors.ts';

class Budget implements ByteBudget {
  left: number;
  readonly claims: number[] = [];
  constructor(left = 1 << 30) {
    this.left = left;
  }
  claim(bytes: number): boolean {
    if (bytes > this.left) return false;
    this.left -= bytes;
    this.claims.push(bytes);
    return true;
  }
  release(bytes: number): void {
    const at = this.claims.indexOf(bytes);
    if (at < 0) throw new Error(`${bytes} bytes were never claimed`);
    this.claims.splice(at, 1);
    this.left += bytes;
  }
}

class Collector implements FrameSink {
  readonly frames: string[] = [];
  readonly sources: Buffer[] = [];
  refuse = false;
  onFrame(buffer: Buffer, start: number, end: number): boolean {
    if (this.refuse) return false;
    this.frames.push(buffer.toString('hex', start, end));
    this.sources.push(buffer);
    return true;
  }
}

const LIMIT = 1 << 20;

function make(limit = LIMIT, budgetBytes?: number) {
  const sink = new Collector();
  const budget = new Budget(budgetBytes);
  return { sink, budget, assembler: new FrameAssembler(sink, limit, budget) };
}

const names = [...REQUESTS, ...REPLIES];
const contents = names.map((name) => vector(name).toString('hex', 4));

describe('recorded frames', () => {
  it.each(names)('%s comes out whole, byte by byte, and between two others', (name) => {
    const bytes = vector(name);
    const content = bytes.toString('hex', 4);

    const whole = make();
    expect(whole.assembler.feed(bytes, 0, bytes.length)).toBe(FRAMES_OK);
    expect(whole.sink.frames).toEqual([content]);
    expect(whole.budget.claims).toEqual([]);

    const slow = make();
    for (let at = 0; at < bytes.length; at++) {
      expect(slow.sink.frames).toEqual([]);
      expect(slow.assembler.feed(bytes, at, at + 1)).toBe(FRAMES_OK);
    }
    expect(slow.sink.frames).toEqual([content]);
    expect(slow.budget.claims).toEqual([]);
    expect(slow.assembler.heldBytes).toBe(0);

    const ping = vector('22-ping');
    const coalesced = make();
    const chunk = Buffer.concat([ping, bytes, ping]);
    expect(coalesced.assembler.feed(chunk, 0, chunk.length)).toBe(FRAMES_OK);
    expect(coalesced.sink.frames).toEqual([ping.toString('hex', 4), content, ping.toString('hex', 4)]);
    expect(coalesced.sink.sources.every((source) => source === chunk)).toBe(true);
  });

  it('come out of one stream however it is cut in two', () => {
    const stream = Buffer.concat(names.map(vector));
    const small = Buffer.concat(REQUESTS.map(vector));
    for (let cut = 0; cut <= small.length; cut++) {
      const { assembler, sink, budget } = make();
      assembler.feed(stream, 0, cut);
      assembler.feed(stream, cut, stream.length);
      expect(sink.frames).toEqual(contents);
      expect(budget.claims).toEqual([]);
    }
  });
});

describe('lengths', () => {
  it('hands an empty frame over, also when its length comes byte by byte', () => {
    const { assembler, sink } = make();
    const zeros = Buffer.alloc(12);
    expect(assembler.feed(zeros, 0, 4)).toBe(FRAMES_OK);
    for (let at = 4; at < 12; at++) assembler.feed(zeros, at, at + 1);
    expect(sink.frames).toEqual(['', '', '']);
  });

  it.each([
    ['negative', 'ffffffff', -1],
    ['above the limit', '00100001', LIMIT + 1],
  ])('refuses a length that is %s before taking a byte of it', (_, hex, length) => {
    const bytes = Buffer.from(`${hex}0011`, 'hex');
    const whole = make();
    expect(whole.assembler.feed(bytes, 0, bytes.length)).toBe(FRAME_BAD_LENGTH);
    expect(whole.assembler.badLength).toBe(length);
    const slow = make();
    for (let at = 0; at < 3; at++) slow.assembler.feed(bytes, at, at + 1);
    expect(slow.assembler.feed(bytes, 3, 4)).toBe(FRAME_BAD_LENGTH);
    expect(slow.assembler.badLength).toBe(length);
    expect(slow.assembler.feed(bytes, 4, 5)).toBe(FRAME_BAD_LENGTH);
    expect(slow.assembler.resume()).toBe(FRAME_BAD_LENGTH);
  });

  it('takes a frame of exactly the limit and gives all memory back', () => {
    const frame = framed(Buffer.alloc(LIMIT, 7));
    const { assembler, sink, budget } = make();
    for (let at = 0; at < frame.length; at += 1000) assembler.feed(frame, at, Math.min(at + 1000, frame.length));
    expect(sink.frames[0]?.length).toBe(2 * LIMIT);
    expect(budget.claims).toEqual([]);
  });
});

describe('memory', () => {
  it('never claims what was only announced', () => {
    const { assembler, budget } = make();
    assembler.feed(Buffer.from('00100000aa', 'hex'), 0, 5);
    expect(assembler.heldBytes).toBeLessThanOrEqual(1024);
    assembler.feed(Buffer.alloc(3000), 0, 3000);
    expect(assembler.heldBytes).toBeLessThanOrEqual(6002);
    expect(budget.claims).toEqual([assembler.heldBytes]);
    assembler.release();
    expect(budget.claims).toEqual([]);
    expect(assembler.heldBytes).toBe(0);
  });

  it('claims nothing for a length prefix that is not complete or without a byte behind it', () => {
    const { assembler, budget } = make();
    assembler.feed(Buffer.from('000000', 'hex'), 0, 3);
    expect(budget.claims).toEqual([]);
    assembler.feed(Buffer.from('09', 'hex'), 0, 1);
    expect(budget.claims).toEqual([]);
  });

  it('says so when the budget is used up, for a partial frame and for held frames', () => {
    const partial = make(LIMIT, 2000);
    expect(partial.assembler.feed(Buffer.from('00010000aa', 'hex'), 0, 5)).toBe(FRAMES_OK);
    expect(partial.assembler.feed(Buffer.alloc(3000), 0, 3000)).toBe(FRAME_NO_MEMORY);
    expect(partial.budget.claims).toEqual([]);
    expect(partial.assembler.feed(Buffer.alloc(1), 0, 1)).toBe(FRAME_NO_MEMORY);

    const held = make(LIMIT, 50);
    held.sink.refuse = true;
    const bytes = framed(Buffer.alloc(100));
    expect(held.assembler.feed(bytes, 0, bytes.length)).toBe(FRAME_NO_MEMORY);
    expect(held.budget.claims).toEqual([]);
  });

  it('moves what has come of a long frame only while that is little, and claims no more for it than before', () => {
    const FRAME_BYTES = 64 << 20;
    const CHUNK_BYTES = 64 << 10;
    const { assembler, budget } = make(FRAME_BYTES);
    const prefix = Buffer.alloc(4);
    prefix.writeInt32BE(FRAME_BYTES);
    assembler.feed(prefix, 0, prefix.length);
    const chunk = Buffer.alloc(CHUNK_BYTES);
    let partial: Buffer | null = null;
    let mostMoved = 0;
    for (let fed = CHUNK_BYTES; fed < FRAME_BYTES; fed += CHUNK_BYTES) {
      expect(assembler.feed(chunk, 0, CHUNK_BYTES)).toBe(FRAMES_OK);
      if (partial !== null && assembler.partial !== partial) mostMoved = fed - CHUNK_BYTES;
      partial = assembler.partial;
      expect(assembler.heldBytes).toBeLessThanOrEqual(2 * fed);
    }
    expect(mostMoved).toBeGreaterThan(0);
    expect(mostMoved).toBeLessThanOrEqual(MOST_DOUBLED_BYTES);
    expect(budget.claims).toEqual([assembler.heldBytes]);
    assembler.release();
    expect(budget.claims).toEqual([]);
  });

  it('may be kept or given away by the sink when a frame has it for itself', () => {
    const budget = new Budget();
    const kept: { buffer: Buffer; owned: boolean; text: string }[] = [];
    const assembler: FrameAssembler = new FrameAssembler(
      {
        onFrame: (buffer, start, end) => {
          const owned = assembler.owns(buffer);
          kept.push({ buffer, owned, text: buffer.toString('latin1', start, end) });
          if (owned && kept.length === 3) structuredClone(buffer, { transfer: [buffer.buffer as ArrayBuffer] });
          return true;
        },
      },
      LIMIT,
      budget,
    );
    const frames = ['a'.repeat(20), 'b'.repeat(100_000), 'c'.repeat(3 << 18), 'd'.repeat(3 << 18)].map((text) =>
      framed(Buffer.from(text)),
    );
    for (const frame of frames) {
      assembler.feed(frame, 0, 10);
      assembler.feed(frame, 10, frame.length);
    }
    const whole = framed(Buffer.alloc(10_000, 'e'));
    assembler.feed(whole, 0, whole.length);
    // The first one lies in memory that Node shares out, the last one in the chunk.
    expect(kept.map(({ owned }) => owned)).toEqual([false, true, true, true, false]);
    expect(kept.map(({ text }) => `${text[0]}${text.length}`)).toEqual([
      'a20',
      'b100000',
      'c786432',
      'd786432',
      'e10000',
    ]);
    expect(kept[1]?.buffer.toString('latin1')).toBe(kept[1]?.text);
    expect(kept[2]?.buffer.length).toBe(0);
    expect(budget.claims).toEqual([]);
  });

  it('starts a new stream after release', () => {
    const { assembler, sink } = make();
    assembler.feed(Buffer.from('7fffffff', 'hex'), 0, 4);
    assembler.release();
    assembler.feed(Buffer.from('00000001aa', 'hex'), 0, 5);
    expect(sink.frames).toEqual(['aa']);
  });
});

describe('a sink that refuses', () => {
  const bytes = Buffer.concat([framed(Buffer.from('aa')), framed(Buffer.from('bbbb')), Buffer.from('000000', 'hex')]);

  it('gets the refused frame and all that came after it on resume, once', () => {
    const { assembler, sink, budget } = make();
    sink.refuse = true;
    expect(assembler.feed(bytes, 0, bytes.length)).toBe(FRAMES_HELD);
    expect(() => assembler.feed(bytes, 0, 1)).toThrow('resume');
    expect(assembler.resume()).toBe(FRAMES_HELD);
    sink.refuse = false;
    expect(assembler.resume()).toBe(FRAMES_OK);
    expect(assembler.resume()).toBe(FRAMES_OK);
    expect(sink.frames).toEqual(['6161', '62626262']);
    expect(budget.claims).toEqual([]);
    assembler.feed(Buffer.from('01cc', 'hex'), 0, 2);
    expect(sink.frames[2]).toBe('cc');
  });

  it('may refuse a frame that was put together of pieces, and an empty one at the end', () => {
    const { assembler, sink, budget } = make();
    sink.refuse = true;
    assembler.feed(bytes, 0, 5);
    expect(assembler.feed(bytes, 5, 6)).toBe(FRAMES_HELD);
    expect(assembler.resume()).toBe(FRAMES_HELD);
    sink.refuse = false;
    expect(assembler.resume()).toBe(FRAMES_OK);
    expect(sink.frames).toEqual(['6161']);
    expect(budget.claims).toEqual([]);

    sink.refuse = true;
    assembler.feed(Buffer.alloc(4), 0, 3);
    expect(assembler.feed(Buffer.alloc(4), 0, 1)).toBe(FRAMES_HELD);
    sink.refuse = false;
    expect(assembler.resume()).toBe(FRAMES_OK);
    expect(sink.frames).toEqual(['6161', '']);
  });

  it('may release the assembler inside onFrame', () => {
    for (const taken of [true, false]) {
      for (const whole of [true, false]) {
        const budget = new Budget();
        let calls = 0;
        const assembler: FrameAssembler = new FrameAssembler(
          {
            onFrame() {
              calls++;
              assembler.release();
              return taken;
            },
          },
          LIMIT,
          budget,
        );
        if (whole) expect(assembler.feed(bytes, 0, bytes.length)).toBe(FRAMES_OK);
        else {
          assembler.feed(bytes, 0, 5);
          expect(assembler.feed(bytes, 5, bytes.length)).toBe(FRAMES_OK);
        }
        expect(calls).toBe(1);
        expect(budget.claims).toEqual([]);
        expect(assembler.heldBytes).toBe(0);
        expect(assembler.resume()).toBe(FRAMES_OK);
      }
    }
  });

  it('may release the assembler inside onFrame of a resume', () => {
    const budget = new Budget();
    let round = 0;
    const assembler: FrameAssembler = new FrameAssembler(
      {
        onFrame() {
          if (round++ > 0) assembler.release();
          return false;
        },
      },
      LIMIT,
      budget,
    );
    expect(assembler.feed(bytes, 0, bytes.length)).toBe(FRAMES_HELD);
    expect(assembler.resume()).toBe(FRAMES_OK);
    expect(round).toBe(2);
    expect(budget.claims).toEqual([]);
  });
});
