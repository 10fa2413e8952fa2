import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Notice } from '../../src/handoff/doorbell.ts';
import { CallFields } from '../../src/handoff/link.ts';
import { RingIndex } from '../../src/handoff/ring.ts';
import { DRAIN_RECORDS, makeRingPlumbing, type RingPlumbing } from '../../src/handoff/ring-end.ts';
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
/** Fits the smallest ring a few times, by far below what goes beside it. */
const FRAME = patternBytes(300, 1);

let plumbing: { acceptorEnd: RingPlumbing; workerEnd: RingPlumbing };
let acceptor: RecordingAcceptor;
let worker: RecordingWorker;
let workerLink: RingWorkerLink;
let acceptorLink: RingAcceptorLink;

function link(ringBytes: number): void {
  plumbing = makeRingPlumbing(ringBytes);
  acceptor = new RecordingAcceptor();
  worker = new RecordingWorker();
  workerLink = new RingWorkerLink(5, plumbing.acceptorEnd, acceptor);
  acceptorLink = new RingAcceptorLink(6, plumbing.workerEnd, worker);
}

beforeEach(() => link(RING_BYTES));

afterEach(() => {
  workerLink.close();
  acceptorLink.close();
});

/** Calls 0, 1, … of connection 1 until one is refused; returns the number of the refused one. */
function fillCalls(): number {
  let slot = 0;
  while (sendCall(workerLink, 1, slot, FRAME)) slot++;
  return slot;
}

/** As fillCalls, for replies. */
function fillReplies(): number {
  let slot = 0;
  while (sendReply(acceptorLink, slot, FRAME)) slot++;
  return slot;
}

describe('ring link', () => {
  it('names its peer', () => {
    expect(workerLink.worker).toBe(5);
    expect(acceptorLink.acceptor).toBe(6);
  });

  it('carries every field of a call, and the frame', async () => {
    const fields = new CallFields();
    const record = fields as unknown as Record<string, number>;
    for (const [index, name] of Object.keys(record).entries())
      record[name] = index % 2 === 0 ? 1000 + index : -1 - index;
    const frame = patternBytes(200, 3);
    expect(workerLink.call(fields, frame, 20, 150)).toBe(true);
    fields.slot = 0;
    workerLink.flush();
    await worker.until(() => worker.calls.length === 1, 'the call');
    fields.slot = worker.calls[0]?.fields.slot as number;
    expect(fields.slot).not.toBe(0);
    expect(worker.calls[0]?.fields).toEqual(fields);
    expect(worker.calls[0]?.frame).toEqual(frame.subarray(20, 150));
  });

  it('carries an identity in any script, and empty names', async () => {
    const identity = { user: 'алиса/хост@REALM', realUser: '代理', address: '2001:db8::1', port: 65535 };
    workerLink.openClient(7, 3, identity);
    workerLink.openClient(8, 1, { user: '', realUser: '', address: '', port: 0 });
    workerLink.closeClient(7, 3);
    workerLink.flush();
    await worker.until(() => worker.events.length === 3, 'open and close');
    expect(worker.events).toEqual(['open 7.3', 'open 8.1', 'close 7.3']);
    expect(worker.identities).toEqual([identity, { user: '', realUser: '', address: '', port: 0 }]);
  });

  it('carries an identity that is too long for a record in the ring', async () => {
    const identity = { ...IDENTITY, user: 'ü'.repeat(3000) };
    workerLink.openClient(1, 1, identity);
    expect(sendCall(workerLink, 1, 0, FRAME)).toBe(true);
    workerLink.flush();
    await worker.until(() => worker.events.length === 2, 'open and call');
    expect(worker.events).toEqual(['open 1.1', 'call 1.1 0']);
    expect(worker.identities[0]).toEqual(identity);
  });

  it('puts head and body of a reply together; empty parts are fine', async () => {
    const head = Buffer.from('..head..');
    const body = Buffer.from('--the body--');
    expect(acceptorLink.reply(3, 9, 77, 2, head, 2, 6, body, 2, 10)).toBe(true);
    expect(acceptorLink.reply(3, 9, 78, 1, head, 0, 0, body, 2, 5)).toBe(true);
    expect(acceptorLink.reply(3, 9, 79, 2, head, 0, 0, body, 0, 0)).toBe(true);
    acceptorLink.flush();
    await acceptor.until(() => acceptor.replies.length === 3, 'three replies');
    expect(acceptor.replies.map(({ bytes }) => bytes.toString())).toEqual(['headthe body', 'the', '']);
    expect(acceptor.replies[0]).toMatchObject({ connection: 3, generation: 9, slot: 77, flags: 2, owned: false });
  });

  it('says when all was passed on, once for a batch', async () => {
    for (let slot = 0; slot < 5; slot++) sendCall(workerLink, 1, slot, FRAME);
    workerLink.flush();
    await worker.until(() => worker.drains > 0, 'onDrained');
    expect(worker.calls).toHaveLength(5);
    await nextTurn();
    expect(worker.drains).toBe(1);
  });

  it('is drained by its owner without a bell', () => {
    sendCall(workerLink, 1, 0, FRAME);
    acceptorLink.drain();
    expect(worker.calls).toHaveLength(1);
    expect(worker.drains).toBe(1);
    acceptorLink.drain();
    expect(worker.drains).toBe(1);
  });

  it('hands on a turn’s share at most, then lets other events in', async () => {
    link(1024 * 1024);
    const count = DRAIN_RECORDS * 2 + 1;
    for (let slot = 0; slot < count; slot++) expect(sendCall(workerLink, 1, slot, FRAME)).toBe(true);
    acceptorLink.drain();
    expect(worker.calls).toHaveLength(DRAIN_RECORDS);
    expect(worker.drains).toBe(1);
    await worker.until(() => worker.calls.length === count, 'the rest');
    await nextTurn();
    expect(worker.drains).toBe(3);
    expect(worker.calls.map(({ fields }) => fields.slot)).toEqual(Array.from({ length: count }, (_, slot) => slot));
  });

  it('does not enter the owner twice', () => {
    worker.alsoOnCall = () => acceptorLink.drain();
    for (let slot = 0; slot < 3; slot++) sendCall(workerLink, 1, slot, FRAME);
    acceptorLink.drain();
    expect(worker.events).toEqual(['call 1.1 0', 'call 1.1 1', 'call 1.1 2']);
  });

  it('goes on after a throw of its owner, at the next record', async () => {
    worker.alsoOnCall = (_link, call) => {
      if (call.fields.slot === 1) throw new Error('thrown by the worker');
    };
    for (let slot = 0; slot < 4; slot++) sendCall(workerLink, 1, slot, FRAME);
    expect(() => acceptorLink.drain()).toThrow('thrown by the worker');
    await worker.until(() => worker.drains === 1, 'the drain after the throw');
    expect(worker.calls.map(({ fields }) => fields.slot)).toEqual([0, 1, 2, 3]);
    // And the bell works as before.
    sendCall(workerLink, 1, 4, FRAME);
    workerLink.flush();
    await worker.until(() => worker.calls.length === 5, 'a call after the throw');
  });
});

describe('rule 1: the acceptor drains replies whatever else is full', () => {
  it('takes replies while its calls are refused', async () => {
    const refusedAt = fillCalls();
    acceptorLink.reply(1, 1, 42, 0, FRAME, 0, 0, FRAME, 0, 100);
    acceptorLink.flush();
    await acceptor.until(() => acceptor.replies.length === 1, 'the reply');
    expect(acceptor.spaces).toBe(0);
    expect(sendCall(workerLink, 1, refusedAt, FRAME)).toBe(false);
  });

  it('lets a worker get rid of any number of replies through a small ring while calls are refused', async () => {
    fillCalls();
    const count = 500;
    let sent = 0;
    const send = (): void => {
      while (sent < count && sendReply(acceptorLink, sent, FRAME)) sent++;
      acceptorLink.flush();
    };
    worker.alsoOnSpace = send;
    send();
    expect(sent).toBeLessThan(count);
    await acceptor.until(() => acceptor.replies.length === count, 'all replies');
    expect(acceptor.replies.map(({ slot }) => slot)).toEqual(Array.from({ length: count }, (_, slot) => slot));
  });
});

describe('rule 2: a worker takes a call only when there is room for its answer', () => {
  it('takes nothing more while a reply was refused, and goes on when there is space', async () => {
    const refused: number[] = [];
    const retry = (): void => {
      while (refused.length > 0 && sendReply(acceptorLink, refused[0] as number, FRAME)) refused.shift();
      acceptorLink.flush();
    };
    let mostRefused = 0;
    worker.alsoOnCall = (_link, { fields }) => {
      if (refused.length > 0 || !sendReply(acceptorLink, fields.slot, FRAME)) refused.push(fields.slot);
      mostRefused = Math.max(mostRefused, refused.length);
    };
    worker.alsoOnSpace = retry;
    fillReplies();
    acceptorLink.flush();
    const calls = fillCalls();
    workerLink.flush();
    acceptorLink.drain();
    // The reply ring is full since fillReplies, so nothing is taken before the acceptor has drained it.
    expect(worker.calls).toHaveLength(0);
    await worker.until(() => worker.calls.length === calls, 'all calls');
    expect(mostRefused).toBeLessThanOrEqual(1);
    await acceptor.until(() => acceptor.replies.at(-1)?.slot === calls - 1, 'the last answer');
  });

  it('takes every call at once however long its answer takes', async () => {
    const calls = fillCalls();
    workerLink.flush();
    await worker.until(() => worker.calls.length === calls, 'all calls');
    expect(acceptor.replies).toHaveLength(0);
    expect(fillCalls()).toBe(0);
    await acceptor.until(() => acceptor.spaces === 1, 'space');
    expect(fillCalls()).toBe(calls);
  });
});

describe('rule 3: a full ring refuses, drops nothing, and its consumer rings when there is space', () => {
  it('tells the producer exactly once for each time it was refused', async () => {
    const refusedAt = fillCalls();
    for (let again = 0; again < 10; again++) expect(sendCall(workerLink, 1, refusedAt, FRAME)).toBe(false);
    workerLink.flush();
    await acceptor.until(() => acceptor.spaces > 0, 'space');
    await nextTurn();
    await nextTurn();
    expect(acceptor.spaces).toBe(1);
    expect(worker.calls).toHaveLength(refusedAt);
    fillCalls();
    workerLink.flush();
    await acceptor.until(() => acceptor.spaces === 2, 'space again');
  });

  it('tells a worker exactly once that replies have room', async () => {
    const refusedAt = fillReplies();
    expect(sendReply(acceptorLink, refusedAt, FRAME)).toBe(false);
    acceptorLink.flush();
    await worker.until(() => worker.spaces > 0, 'space');
    await nextTurn();
    await nextTurn();
    expect(worker.spaces).toBe(1);
    expect(acceptor.replies).toHaveLength(refusedAt);
  });

  it('rings before the consumer is through, as soon as a quarter is free', () => {
    const refusedAt = fillCalls();
    worker.alsoOnCall = () => {
      const words = new Int32Array(plumbing.acceptorEnd.calls);
      freeWhenRung ??= words[RingIndex.WANT_SPACE] === 0 ? worker.calls.length : undefined;
    };
    let freeWhenRung: number | undefined;
    acceptorLink.drain();
    expect(freeWhenRung).toBeGreaterThan(1);
    expect(freeWhenRung).toBeLessThan(refusedAt);
  });

  it('does not take an old notice for the one that it waits for', async () => {
    fillCalls();
    // As if the consumer had rung for an earlier refusal, which the producer had overcome by its second look.
    plumbing.workerEnd.port.postMessage(Notice.SPACE);
    await nextTurn();
    await nextTurn();
    expect(acceptor.spaces).toBe(0);
    workerLink.flush();
    await acceptor.until(() => acceptor.spaces === 1, 'space');
  });

  it('tells the producer although every record makes the consumer’s owner throw', async () => {
    const small = patternBytes(20, 1);
    let taken = 0;
    while (sendCall(workerLink, 1, taken, small)) taken++;
    worker.alsoOnCall = () => {
      throw new Error('thrown by the worker');
    };
    for (let record = 0; record < taken; record++) expect(() => acceptorLink.drain()).toThrow('thrown by the worker');
    expect(worker.calls).toHaveLength(taken);
    await acceptor.until(() => acceptor.spaces === 1, 'space');
  });

  it('keeps other workers out of it', async () => {
    const other = makeRingPlumbing(RING_BYTES);
    const otherWorker = new RecordingWorker();
    const otherWorkerLink = new RingWorkerLink(1, other.acceptorEnd, acceptor);
    const otherAcceptorLink = new RingAcceptorLink(0, other.workerEnd, otherWorker);
    fillCalls();
    for (let slot = 0; slot < 100; slot++) {
      expect(sendCall(otherWorkerLink, 2, slot, FRAME)).toBe(true);
      otherAcceptorLink.drain();
    }
    expect(otherWorker.calls).toHaveLength(100);
    otherWorkerLink.close();
    otherAcceptorLink.close();
  });

  it('passes everything in order when both sides are slow', async () => {
    const count = 300;
    let next = 0;
    const send = (): void => {
      // A few at a time, then something else has its turn.
      for (let burst = 0; burst < 7 && next < count; burst++) {
        if (!sendCall(workerLink, 1, next, patternBytes(next, next))) break;
        next++;
      }
      workerLink.flush();
    };
    acceptor.alsoOnSpace = send;
    while (next < count) {
      send();
      await nextTurn();
      if (next % 3 === 0) acceptorLink.drain();
    }
    await worker.until(() => worker.calls.length === count, 'all calls');
    for (const [slot, call] of worker.calls.entries()) {
      expect(call.fields.slot).toBe(slot);
      expect(call.frame.equals(patternBytes(slot, slot))).toBe(true);
    }
  });
});

describe('openings and closings under back-pressure', () => {
  it('wait inside the link and arrive before later calls', async () => {
    workerLink.openClient(1, 1, IDENTITY);
    const refusedAt = fillCalls();
    workerLink.openClient(2, 1, IDENTITY);
    workerLink.closeClient(1, 1);
    workerLink.openClient(1, 2, IDENTITY);
    expect(sendCall(workerLink, 2, 900, FRAME)).toBe(false);
    acceptor.alsoOnSpace = () => {
      expect(sendCall(workerLink, 2, 900, FRAME)).toBe(true);
      workerLink.flush();
    };
    workerLink.flush();
    await worker.until(() => worker.events.at(-1) === 'call 2.1 900', 'the refused call');
    const before = Array.from({ length: refusedAt }, (_, slot) => `call 1.1 ${slot}`);
    expect(worker.events.slice(0, refusedAt + 1)).toEqual(['open 1.1', ...before]);
    const waited = worker.events.slice(refusedAt + 1, -1);
    expect(waited.toSorted()).toEqual(['close 1.1', 'open 1.2', 'open 2.1']);
    expect(waited.indexOf('close 1.1')).toBeLessThan(waited.indexOf('open 1.2'));
    expect(acceptor.spaces).toBe(1);
  });

  it('do not cause onSpace when no call was refused', async () => {
    let opened = 0;
    const words = new Int32Array(plumbing.acceptorEnd.calls);
    while (words[RingIndex.WANT_SPACE] === 0) workerLink.openClient(opened++, 1, IDENTITY);
    for (let more = 0; more < 200; more++) workerLink.openClient(opened++, 1, IDENTITY);
    workerLink.flush();
    await worker.until(() => worker.events.length === opened, 'all openings');
    await nextTurn();
    expect(new Set(worker.events)).toEqual(new Set(Array.from({ length: opened }, (_, index) => `open ${index}.1`)));
    expect(acceptor.spaces).toBe(0);
    expect(sendCall(workerLink, 1, 0, FRAME)).toBe(true);
  });

  it('are bounded however fast clients come and go', async () => {
    workerLink.openClient(1, 0, IDENTITY);
    fillCalls();
    for (let generation = 1; generation < 10_000; generation++) {
      workerLink.closeClient(1, generation - 1);
      workerLink.openClient(1, generation, IDENTITY);
    }
    workerLink.flush();
    await worker.until(() => worker.events.at(-1) === 'open 1.9999', 'the last opening');
    // The worker never heard of the generations in between.
    expect(worker.events.filter((event) => !event.startsWith('call'))).toEqual([
      'open 1.0',
      'close 1.0',
      'open 1.9999',
    ]);
  });
});

describe('closed ring link', () => {
  it('ignores what arrives and what is left, and refuses calls without a promise', async () => {
    sendReply(acceptorLink, 1, FRAME);
    acceptorLink.flush();
    workerLink.close();
    workerLink.close();
    workerLink.drain();
    await nextTurn();
    await nextTurn();
    expect(acceptor.replies).toHaveLength(0);
    expect(sendCall(workerLink, 1, 1, FRAME)).toBe(false);
    workerLink.openClient(1, 1, IDENTITY);
    workerLink.closeClient(1, 1);
    workerLink.flush();
    await nextTurn();
    expect(acceptor.spaces).toBe(0);
    expect(worker.events).toEqual([]);
  });

  it('stops in the middle of a drain when its owner closes it', async () => {
    worker.alsoOnCall = () => acceptorLink.close();
    for (let slot = 0; slot < 3; slot++) sendCall(workerLink, 1, slot, FRAME);
    acceptorLink.drain();
    await nextTurn();
    expect(worker.calls).toHaveLength(1);
    expect(worker.drains).toBe(0);
    // Replies for an acceptor that is not there any more need not be kept.
    expect(sendReply(acceptorLink, 0, FRAME)).toBe(true);
  });

  it('hands on what the other end wrote before it closed without ringing', async () => {
    for (let slot = 0; slot < 3; slot++) sendReply(acceptorLink, slot, FRAME);
    acceptorLink.close();
    await acceptor.until(() => acceptor.replies.length === 3, 'the last replies');
  });
});
