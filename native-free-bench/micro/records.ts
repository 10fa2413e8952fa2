/** One record through the ring, both ends in one thread: what the hand-off costs besides waking the other thread. */

import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads';
import { CallFields } from '../../src/handoff/link.ts';
import { CALL_HEAD_BYTES, Kind, readCallFields, writeCallFields } from '../../src/handoff/records.ts';
import { createRing, RingReader, RingWriter } from '../../src/handoff/ring.ts';
import { Block, copyBlock } from '../../src/wire/block.ts';
import { expect, type OpenSubjects, type Subject } from './subject.ts';

const RING_BYTES = 1 << 20;
const FRAME_BYTES = 160;

export function recordSubjects(): OpenSubjects {
  const frame = Buffer.alloc(FRAME_BYTES, 0x5a);
  const { port1, port2 } = new MessageChannel();
  const viaRing = makeRingPass(frame);
  const viaPort = (slot: number): number => {
    const sent = new ArrayBuffer(CALL_HEAD_BYTES + FRAME_BYTES);
    fields.slot = slot;
    writeCallFields(new Int32Array(sent, 0, CALL_HEAD_BYTES >> 2), 0, fields);
    frame.copy(Buffer.from(sent), CALL_HEAD_BYTES);
    port1.postMessage(sent);
    const { message } = receiveMessageOnPort(port2) as { message: ArrayBuffer };
    readCallFields(new Int32Array(message, 0, CALL_HEAD_BYTES >> 2), 0, fields);
    const bytes = Buffer.from(message);
    return fields.slot === slot ? (bytes[bytes.length - 1] as number) : -1;
  };
  const fields = new CallFields();
  expect(viaRing(7) === 0x5a, 'a record does not come through the ring');
  expect(viaPort(7) === 0x5a, 'a record does not come through the port');
  const subject: Subject = {
    name: 'ring record of 160 bytes, in and out',
    run: (times) => repeat(times, viaRing),
    alternative: {
      name: 'postMessage of the same bytes, in and out',
      run: (times) => repeat(times, viaPort),
    },
  };
  return {
    subjects: [subject],
    [Symbol.asyncDispose]: async () => port1.close(),
  };
}

function makeRingPass(frame: Buffer): (slot: number) => number {
  const memory = createRing(RING_BYTES);
  const writer = new RingWriter(memory);
  const reader = new RingReader(memory);
  const sent = new CallFields();
  const received = new CallFields();
  const block = new Block(frame);
  return (slot) => {
    sent.slot = slot;
    const to = writer.reserve(CALL_HEAD_BYTES + FRAME_BYTES);
    if (to < 0) return -1;
    writer.words[(to >> 2) + 1] = Kind.CALL;
    writeCallFields(writer.words, to >> 2, sent);
    copyBlock(writer.block, to + CALL_HEAD_BYTES, block, 0, FRAME_BYTES);
    writer.commit();
    const from = reader.next();
    if (from < 0) return -1;
    readCallFields(reader.words, from >> 2, received);
    const last = reader.bytes[from + reader.length - 1] as number;
    reader.release();
    return received.slot === slot ? last : -1;
  };
}

function repeat(times: number, pass: (slot: number) => number): number {
  let sum = 0;
  for (let i = 0; i < times; i++) {
    const last = pass(i);
    if (last < 0) throw new Error('micro bench: a record was lost');
    sum += last;
  }
  return sum;
}
