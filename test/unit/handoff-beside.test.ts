import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RingIndex } from '../../src/handoff/ring.ts';
import { makeRingPlumbing, type RingPlumbing } from '../../src/handoff/ring-end.ts';
import { RingAcceptorLink, RingWorkerLink } from '../../src/handoff/ring-link.ts';
import {
  IDENTITY,
  nextTurn,
  patternBytes,
  RecordingAcceptor,
  RecordingWorker,
  sendCall,
  sendReply,
} from '../support/handoff-sides.ts';

const RING_BYTES = 4096;
const HUGE_BYTES = 20 * 1024 * 1024;
const LIMIT_BYTES = 10_000;
const FRAME = patternBytes(100, 1);

let plumbing: { acceptorEnd: RingPlumbing; workerEnd: RingPlumbing };
let acceptor: RecordingAcceptor;
let worker: RecordingWorker;
let workerLink: RingWorkerLink;
let acceptorLink: RingAcceptorLink;

function link(besideLimitBytes?: number): void {
  plumbing = makeRingPlumbing(RING_BYTES);
  acceptor = new RecordingAcceptor();
  worker = new RecordingWorker();
  workerLink = new RingWorkerLink(0, plumbing.acceptorEnd, acceptor, besideLimitBytes);
  acceptorLink = new RingAcceptorLink(0, plumbing.workerEnd, worker, besideLimitBytes);
}

beforeEach(() => link());

afterEach(() => {
  workerLink.close();
  acceptorLink.close();
});

describe('rule 4: records above an eighth of the ring pass beside it', () => {
  it('carries 20 MiB both ways', async () => {
    const frame = patternBytes(HUGE_BYTES, 5);
    expect(sendCall(workerLink, 1, 7, frame)).toBe(true);
    workerLink.flush();
    await worker.until(() => worker.calls.length === 1, 'the huge call');
    expect(worker.calls[0]?.fields.slot).toBe(7);
    expect(worker.calls[0]?.frame.equals(frame)).toBe(true);

    const head = FRAME;
    expect(acceptorLink.reply(1, 1, 7, 0, head, 10, 30, frame, 5, HUGE_BYTES - 5)).toBe(true);
    acceptorLink.flush();
    await acceptor.until(() => acceptor.replies.length === 1, 'the huge reply');
    const reply = acceptor.replies[0];
    expect(reply?.owned).toBe(true);
    expect(reply?.bytes.subarray(0, 20).equals(head.subarray(10, 30))).toBe(true);
    expect(reply?.bytes.subarray(20).equals(frame.subarray(5, HUGE_BYTES - 5))).toBe(true);
    // The sender's memory stays its own.
    expect(frame.length).toBe(HUGE_BYTES);
  });

  it('posts the memory of a large call that is owned, and gives it to the worker', async () => {
    const given = Buffer.allocUnsafeSlow(HUGE_BYTES);
    const frame = patternBytes(HUGE_BYTES, 3);
    frame.copy(given);
    expect(sendCall(workerLink, 1, 1, given, true)).toBe(true);
    expect(given.length).toBe(0);
    expect(sendCall(workerLink, 1, 2, FRAME, true)).toBe(true);
    expect(sendCall(workerLink, 1, 3, frame)).toBe(true);
    workerLink.flush();
    await worker.until(() => worker.calls.length === 3, 'the calls');
    expect(worker.calls.map(({ owned }) => owned)).toEqual([true, false, true]);
    expect(worker.calls.map((call) => call.frame.equals(call.fields.slot === 2 ? FRAME : frame))).toEqual([
      true,
      true,
      true,
    ]);
    // Those that were not given are still the sender's.
    expect([FRAME.length, frame.length]).toEqual([100, HUGE_BYTES]);
  });

  it('posts the memory of a large reply that is owned and in one piece', async () => {
    const content = patternBytes(3000, 4);
    const given = Buffer.allocUnsafeSlow(3100);
    content.copy(given, 60);
    expect(acceptorLink.reply(1, 1, 1, 0, FRAME, 0, 0, given, 60, 3060, true)).toBe(true);
    expect(given.length).toBe(0);
    const headed = Buffer.from(content);
    expect(acceptorLink.reply(1, 1, 2, 0, FRAME, 0, 10, headed, 0, 3000, true)).toBe(true);
    const small = Buffer.from(FRAME);
    expect(acceptorLink.reply(1, 1, 3, 0, FRAME, 0, 0, small, 0, 100, true)).toBe(true);
    expect([headed.length, small.length]).toEqual([3000, 100]);
    acceptorLink.flush();
    await acceptor.until(() => acceptor.replies.length === 3, 'the replies');
    expect(acceptor.replies.map(({ owned, bytes }) => [owned, bytes.length])).toEqual([
      [true, 3000],
      [true, 3010],
      [false, 100],
    ]);
    expect(acceptor.replies[0]?.bytes.equals(content)).toBe(true);
    expect(acceptor.replies[1]?.bytes.subarray(10).equals(content)).toBe(true);
  });

  it('leaves an owned call with its sender when it is refused', () => {
    let slot = 0;
    while (sendCall(workerLink, 1, slot, FRAME)) slot++;
    const frame = Buffer.allocUnsafeSlow(3000);
    expect(sendCall(workerLink, 1, slot, frame, true)).toBe(false);
    expect(frame.length).toBe(3000);
  });

  it('lets 64 MiB of a direction be on their way, no more', async () => {
    const part = Buffer.alloc(32 * 1024 * 1024);
    expect(sendCall(workerLink, 1, 0, part)).toBe(true);
    expect(sendCall(workerLink, 1, 1, part)).toBe(true);
    expect(sendCall(workerLink, 1, 2, FRAME.subarray(0, 1))).toBe(true);
    expect(sendCall(workerLink, 1, 3, Buffer.alloc(1000))).toBe(false);
    workerLink.flush();
    await acceptor.until(() => acceptor.spaces === 1, 'space');
    expect(sendCall(workerLink, 1, 3, Buffer.alloc(1000))).toBe(true);
  });

  it('changes over exactly at an eighth of the ring', async () => {
    const eighth = RING_BYTES / 8;
    for (const length of [eighth - 25, eighth - 24, eighth - 23])
      sendReply(acceptorLink, length, patternBytes(length, length));
    acceptorLink.flush();
    await acceptor.until(() => acceptor.replies.length === 3, 'three replies');
    expect(acceptor.replies.map(({ owned }) => owned)).toEqual([false, false, true]);
    for (const { slot, bytes } of acceptor.replies) expect(bytes.equals(patternBytes(slot, slot))).toBe(true);
  });

  it('keeps the order with openings, closings and small calls, although bytes come by another way', async () => {
    const large = patternBytes(3000, 2);
    workerLink.openClient(1, 1, IDENTITY);
    sendCall(workerLink, 1, 0, large);
    sendCall(workerLink, 1, 1, FRAME);
    sendCall(workerLink, 1, 2, large);
    workerLink.closeClient(1, 1);
    // Drained before the event loop could deliver the messages with the bytes.
    acceptorLink.drain();
    expect(worker.events).toEqual(['open 1.1', 'call 1.1 0', 'call 1.1 1', 'call 1.1 2', 'close 1.1']);
    for (const slot of [0, 2]) expect(worker.calls[slot]?.frame.equals(large)).toBe(true);
    // The bell, the bytes and the ring may also be met in the usual order.
    sendCall(workerLink, 1, 3, large);
    workerLink.flush();
    await worker.until(() => worker.calls.length === 4, 'the call after the bell');
  });

  it('gives each record its own bytes when several messages arrive before the ring is read', async () => {
    for (let slot = 0; slot < 6; slot++) sendCall(workerLink, 1, slot, patternBytes(1000 + slot, slot));
    await nextTurn();
    await nextTurn();
    expect(worker.calls).toHaveLength(0);
    workerLink.flush();
    await worker.until(() => worker.calls.length === 6, 'six calls');
    for (const [slot, call] of worker.calls.entries()) {
      expect(call.fields.slot).toBe(slot);
      expect(call.frame.equals(patternBytes(1000 + slot, slot))).toBe(true);
    }
  });

  it('is refused when the ring has no room for the record itself', async () => {
    let slot = 0;
    while (sendCall(workerLink, 1, slot, FRAME)) slot++;
    expect(sendCall(workerLink, 1, slot, patternBytes(3000, 1))).toBe(false);
    workerLink.flush();
    await acceptor.until(() => acceptor.spaces === 1, 'space');
    expect(sendCall(workerLink, 1, slot, patternBytes(3000, 1))).toBe(true);
    workerLink.flush();
    await worker.until(() => worker.calls.length === slot + 1, 'the large call');
  });

  it('hears a space notice that lies before the bytes on the port only after the drain', async () => {
    let slot = 0;
    while (sendCall(workerLink, 1, slot, FRAME)) slot++;
    acceptorLink.drain();
    sendReply(acceptorLink, 0, patternBytes(3000, 1));
    sendReply(acceptorLink, 1, FRAME);
    let isInside = false;
    acceptor.alsoOnReply = () => {
      isInside = true;
      expect(acceptor.spaces).toBe(0);
    };
    acceptor.alsoOnSpace = () => expect(isInside).toBe(false);
    workerLink.drain();
    isInside = false;
    expect(acceptor.replies.map(({ bytes }) => bytes.length)).toEqual([3000, FRAME.length]);
    await acceptor.until(() => acceptor.spaces === 1, 'space');
  });
});

describe('rule 5: bytes beside the ring are bounded', () => {
  beforeEach(() => {
    workerLink.close();
    acceptorLink.close();
    link(LIMIT_BYTES);
  });

  it('refuses calls above the limit, and tells when one has been taken', async () => {
    expect(sendCall(workerLink, 1, 0, patternBytes(4000, 0))).toBe(true);
    expect(sendCall(workerLink, 1, 1, patternBytes(4000, 1))).toBe(true);
    expect(sendCall(workerLink, 1, 2, patternBytes(4000, 2))).toBe(false);
    expect(acceptor.spaces).toBe(0);
    workerLink.flush();
    await acceptor.until(() => acceptor.spaces === 1, 'space');
    expect(worker.calls.length).toBeGreaterThan(0);
    expect(sendCall(workerLink, 1, 2, patternBytes(4000, 2))).toBe(true);
    workerLink.flush();
    await worker.until(() => worker.calls.length === 3, 'the call that was refused');
    await nextTurn();
    expect(acceptor.spaces).toBe(1);
  });

  it('lets one record pass that is above the limit by itself', async () => {
    expect(sendCall(workerLink, 1, 0, patternBytes(LIMIT_BYTES * 3, 0))).toBe(true);
    expect(sendCall(workerLink, 1, 1, patternBytes(1000, 0))).toBe(false);
    workerLink.flush();
    await acceptor.until(() => acceptor.spaces === 1, 'space');
    expect(worker.calls).toHaveLength(1);
  });

  it('bounds replies too, and the worker takes no call meanwhile', async () => {
    let sent = 0;
    while (sendReply(acceptorLink, sent, patternBytes(3000, sent))) sent++;
    expect(sent).toBe(3);
    sendCall(workerLink, 1, 0, FRAME);
    acceptorLink.drain();
    expect(worker.calls).toHaveLength(0);
    acceptorLink.flush();
    await worker.until(() => worker.spaces === 1, 'space');
    await worker.until(() => worker.calls.length === 1, 'the call');
    expect(acceptor.replies.map(({ slot }) => slot)).toEqual([0, 1, 2]);
  });

  it('keeps counting when the 32-bit count of bytes wraps', async () => {
    workerLink.close();
    acceptorLink.close();
    const wrapping = makeRingPlumbing(RING_BYTES);
    new Int32Array(wrapping.acceptorEnd.calls)[RingIndex.BESIDE_TAKEN] = 2 ** 31 - 5000;
    acceptor = new RecordingAcceptor();
    worker = new RecordingWorker();
    workerLink = new RingWorkerLink(0, wrapping.acceptorEnd, acceptor, LIMIT_BYTES);
    acceptorLink = new RingAcceptorLink(0, wrapping.workerEnd, worker, LIMIT_BYTES);
    for (let round = 0; round < 4; round++) {
      expect(sendCall(workerLink, 1, 0, patternBytes(4000, 0))).toBe(true);
      expect(sendCall(workerLink, 1, 1, patternBytes(4000, 0))).toBe(true);
      expect(sendCall(workerLink, 1, 2, patternBytes(4000, 0))).toBe(false);
      workerLink.flush();
      await acceptor.until(() => acceptor.spaces === round + 1, 'space');
      await worker.until(() => worker.calls.length === (round + 1) * 2, 'both calls');
    }
  });
});
