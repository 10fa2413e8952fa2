import fc from 'fast-check';
import { expect, it } from 'vitest';
import { FRAME_BAD_LENGTH, FRAMES_HELD, FRAMES_OK, FrameAssembler } from '../../src/wire/frame.ts';
import { framed } from '../wire/vectors.ts';
import { FUZZ } from './wire-messages.ts';

const MAX_FRAME_BYTES = 5000;

interface Case {
  readonly frames: Uint8Array[];
  readonly cuts: number[];
  /** Whether the sink takes the next frame it is offered; true when used up. */
  readonly answers: boolean[];
  readonly badEnd: boolean;
}

const cases: fc.Arbitrary<Case> = fc.record({
  frames: fc.array(
    fc.oneof(
      { weight: 6, arbitrary: fc.uint8Array({ maxLength: 40 }) },
      { weight: 1, arbitrary: fc.nat(MAX_FRAME_BYTES).map((bytes) => Buffer.alloc(bytes, bytes)) },
    ),
    { maxLength: 12 },
  ),
  cuts: fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 30 }),
  answers: fc.array(fc.boolean(), { maxLength: 20 }),
  badEnd: fc.boolean(),
});

it('frames come out once, in order and whole, however the stream is cut and whatever the sink refuses', () => {
  let refusals = 0;
  fc.assert(
    fc.property(cases, ({ frames, cuts, answers, badEnd }) => {
      const stream = Buffer.concat([
        ...frames.map((bytes) => framed(Buffer.from(bytes))),
        Buffer.alloc(badEnd ? 4 : 0, 0xff),
      ]);
      const out: string[] = [];
      let claimed = 0;
      let asked = 0;
      const budget = {
        claim: (bytes: number) => {
          claimed += bytes;
          return true;
        },
        release: (bytes: number) => {
          claimed -= bytes;
        },
      };
      const sink = {
        onFrame: (buffer: Buffer, start: number, end: number) => {
          if (answers[asked++] === false) {
            refusals++;
            return false;
          }
          out.push(buffer.toString('hex', start, end));
          return true;
        },
      };
      const assembler = new FrameAssembler(sink, MAX_FRAME_BYTES, budget);
      let code: number = FRAMES_OK;
      let fed = 0;
      for (let i = 0; fed < stream.length && code === FRAMES_OK; i++) {
        const bytes = Math.min(cuts[i % cuts.length]! ** (i % 7 === 0 ? 2 : 1), stream.length - fed);
        // A chunk of its own, overwritten afterwards: the assembler must not keep it.
        const chunk = Buffer.from(stream.subarray(fed, fed + bytes));
        code = assembler.feed(chunk, 0, bytes);
        chunk.fill(0xdd);
        fed += bytes;
        while (code === FRAMES_HELD) code = assembler.resume();
        expect(claimed).toBe(assembler.heldBytes);
        expect(claimed).toBeLessThanOrEqual(Math.max(1024, 2 * fed));
      }
      expect(code).toBe(badEnd ? FRAME_BAD_LENGTH : FRAMES_OK);
      expect(out).toEqual(frames.map((bytes) => Buffer.from(bytes).toString('hex')));
      expect(claimed).toBe(0);
    }),
    FUZZ,
  );
  expect(refusals).toBeGreaterThan(20);
});
