/** Cutting a stream into frames, per frame: chunks of 64 KiB with 400 calls, of which the first and the last are cut in two. */

import { FRAMES_OK, FrameAssembler } from '../../src/wire/frame.ts';
import { bytesField, CallId, encodeCall } from '../harness/frames.ts';
import { expect, type Subject } from './subject.ts';

const MAX_FRAME_BYTES = 1 << 20;
const FRAMES_PER_CHUNK = 400;
/** Of the first frame, at the end of the chunk before. */
const CUT_BYTES = 77;
const PREFIX_BYTES = 4;

export function frameSubjects(): Subject[] {
  const path = '/mnt/warehouse/orders/year=2026/month=11/part-m-0000001.orc';
  const frame = encodeCall('getFileInfo', bytesField(1, path), Buffer.alloc(16, 7), CallId.FIRST);
  const stream = Buffer.concat(Array.from({ length: FRAMES_PER_CHUNK + 1 }, () => frame));
  // Fed again and again it is an endless stream of whole frames.
  const chunk = stream.subarray(CUT_BYTES, CUT_BYTES + FRAMES_PER_CHUNK * frame.length);
  const head = stream.subarray(0, CUT_BYTES);

  let assembled = 0;
  const sink = {
    onFrame: (_buffer: Buffer, start: number, end: number) => {
      assembled += end - start;
      return true;
    },
  };
  const assembler = new FrameAssembler(sink, MAX_FRAME_BYTES, { claim: () => true, release: () => {} });
  const joiner = new FrameJoiner();
  expect(assembler.feed(head, 0, head.length) === FRAMES_OK && assembled === 0, 'a frame came before its end');
  joiner.feed(head);
  assembler.feed(chunk, 0, chunk.length);
  joiner.feed(chunk);
  const frameBytes = FRAMES_PER_CHUNK * (frame.length - PREFIX_BYTES);
  expect(assembled === frameBytes && joiner.bytes === frameBytes, 'frames are lost');
  return [
    {
      name: 'frame assembly, per frame',
      batch: FRAMES_PER_CHUNK * 25,
      run: (times) => {
        for (let i = 0; i < times; i += FRAMES_PER_CHUNK) assembler.feed(chunk, 0, chunk.length);
        return assembled;
      },
      alternative: {
        name: 'Buffer.concat and subarray',
        batch: FRAMES_PER_CHUNK * 25,
        run: (times) => {
          for (let i = 0; i < times; i += FRAMES_PER_CHUNK) joiner.feed(chunk);
          return joiner.bytes;
        },
      },
    },
  ];
}

/** What is often written: all that has come is joined, whole frames are taken off its front. */
class FrameJoiner {
  bytes = 0;
  #held: Buffer = Buffer.alloc(0);

  feed(chunk: Buffer): void {
    let rest = Buffer.concat([this.#held, chunk]);
    while (rest.length >= PREFIX_BYTES) {
      const frameEnd = PREFIX_BYTES + rest.readUInt32BE(0);
      if (rest.length < frameEnd) break;
      this.bytes += rest.subarray(PREFIX_BYTES, frameEnd).length;
      rest = rest.subarray(frameEnd);
    }
    this.#held = rest;
  }
}
