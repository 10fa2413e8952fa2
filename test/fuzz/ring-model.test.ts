import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createRing, RECORD_HEADER_BYTES, RingIndex, RingReader, RingWriter, Want } from '../../src/handoff/ring.ts';

const CAPACITY = 4096;
const SEED = 7;
const TIME_LIMIT_MS = 2000;

type Step = { readonly write: number } | { readonly read: number } | 'publish';

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ write: fc.integer({ min: RECORD_HEADER_BYTES, max: CAPACITY / 8 }) }) },
  { weight: 2, arbitrary: fc.record({ read: fc.integer({ min: 1, max: 12 }) }) },
  { weight: 1, arbitrary: fc.constant<Step>('publish') },
);

it('behaves as a queue with a byte limit, from any position', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -(2 ** 28), max: 2 ** 28 - 1 }),
      fc.array(step, { maxLength: 200 }),
      (start, steps) => {
        const memory = createRing(CAPACITY);
        const words = new Int32Array(memory);
        words[RingIndex.PRODUCED] = start * 8;
        words[RingIndex.CONSUMED] = start * 8;
        const writer = new RingWriter(memory);
        const reader = new RingReader(memory);
        const queue: { bytes: number; fill: number }[] = [];
        let count = 0;
        const readOne = (): void => {
          const expected = queue.shift();
          const at = reader.next();
          if (expected === undefined) {
            expect(at).toBe(-1);
            return;
          }
          expect(reader.length).toBe(expected.bytes);
          const from = at + RECORD_HEADER_BYTES;
          const content = Buffer.alloc(expected.bytes - RECORD_HEADER_BYTES, expected.fill);
          expect(content.compare(reader.bytes, from, at + expected.bytes)).toBe(0);
          reader.release();
        };
        for (const one of steps) {
          if (one === 'publish') {
            reader.publish();
          } else if ('read' in one) {
            for (let times = 0; times < one.read; times++) readOne();
          } else {
            const at = writer.reserve(one.write);
            const used = ((words[RingIndex.PRODUCED] as number) - (words[RingIndex.CONSUMED] as number)) | 0;
            expect(used).toBeGreaterThanOrEqual(0);
            expect(used).toBeLessThanOrEqual(CAPACITY);
            if (at === -1) {
              // Only a ring with less than a quarter free may refuse, and it says what it waits for.
              expect(CAPACITY - used).toBeLessThan(CAPACITY / 4);
              expect(words[RingIndex.WANT_SPACE]).toBe(Want.RING);
              continue;
            }
            const fill = count++ & 255;
            writer.words[(at >> 2) + 1] = 1;
            writer.bytes.fill(fill, at + RECORD_HEADER_BYTES, at + one.write);
            writer.commit();
            queue.push({ bytes: one.write, fill });
          }
        }
        while (queue.length > 0) readOne();
        readOne();
      },
    ),
    { seed: SEED, numRuns: 5000, interruptAfterTimeLimit: TIME_LIMIT_MS, markInterruptAsFailure: false },
  );
});
