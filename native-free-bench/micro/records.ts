/** One record through the ring, both ends in one thread: what the hand-off costs besides waking the other thread. */

import { CallFields } from '../../src/handoff/link.ts';
import { CALL_HEAD_BYTES, Kind, readCallFields, writeCallFields } from '../../src/handoff/records.ts';
import { createRing, RingReader, RingWriter } from '../../src/handoff/ring.ts';
import { expect, type Subject } from './subject.ts';

const RING_BYTES = 1 << 20;
const FRAME_BYTES = 160;

export function recordSubjects(): Subject[] {
  const memory = createRing(RING_BYTES);
  const writer = new RingWriter(memory);
  const reader = new RingReader(memory);
  const frame = Buffer.alloc(FRAME_BYTES, 0x5a);
  const sent = new CallFields();
  const received = new CallFields();
  const pass = (slot: number): number => {
    sent.slot = slot;
    const to = writer.reserve(CALL_HEAD_BYTES + FRAME_BYTES);
    if (to < 0) return -1;
    writer.words[(to >> 2) + 1] = Kind.CALL;
    writeCallFields(writer.words, to >> 2, sent);
    frame.copy(writer.bytes, to + CALL_HEAD_BYTES, 0, FRAME_BYTES);
    writer.commit();
    const from = reader.next();
    if (from < 0) return -1;
    readCallFields(reader.words, from >> 2, received);
    const last = reader.bytes[from + reader.length - 1] as number;
    reader.release();
    return received.slot === slot ? last : -1;
  };
  expect(pass(7) === 0x5a, 'a record does not come through the ring');
  return [
    {
      name: 'ring record of 160 bytes, in and out',
      run: (times) => {
        let sum = 0;
        for (let i = 0; i < times; i++) {
          const last = pass(i);
          if (last < 0) return last;
          sum += last;
        }
        return sum;
      },
    },
  ];
}
