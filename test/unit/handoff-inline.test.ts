import { beforeEach, describe, expect, it } from 'vitest';
import { makeInlineLinks } from '../../src/handoff/inline-link.ts';
import { type AcceptorLink, CallFields, type WorkerLink } from '../../src/handoff/link.ts';
import {
  IDENTITY,
  nextTurn,
  patternBytes,
  RecordingAcceptor,
  RecordingWorker,
  sendCall,
  sendReply,
} from '../support/handoff-sides.ts';

const FRAME = patternBytes(300, 1);

let acceptor: RecordingAcceptor;
let worker: RecordingWorker;
let workerLink: WorkerLink;
let acceptorLink: AcceptorLink;

beforeEach(() => {
  acceptor = new RecordingAcceptor();
  worker = new RecordingWorker();
  ({ workerLink, acceptorLink } = makeInlineLinks(5, 6, acceptor, worker));
});

describe('inline link', () => {
  it('names its peer', () => {
    expect(workerLink.worker).toBe(5);
    expect(acceptorLink.acceptor).toBe(6);
  });

  it('hands on at once, in order', () => {
    workerLink.openClient(1, 1, IDENTITY);
    for (let slot = 0; slot < 3; slot++) expect(sendCall(workerLink, 1, slot, FRAME)).toBe(true);
    workerLink.closeClient(1, 1);
    expect(worker.events).toEqual(['open 1.1', 'call 1.1 0', 'call 1.1 1', 'call 1.1 2', 'close 1.1']);
    expect(worker.identities).toEqual([IDENTITY]);
    expect(worker.calls[2]?.frame.equals(FRAME)).toBe(true);
  });

  it('says whose the memory of a call is', () => {
    sendCall(workerLink, 1, 0, FRAME, true);
    sendCall(workerLink, 1, 1, FRAME);
    expect(worker.calls.map(({ owned }) => owned)).toEqual([true, false]);
    expect(worker.calls[0]?.frame.buffer).toBe(FRAME.buffer);
  });

  it('gives a large reply in one piece to the acceptor when it is owned', () => {
    const large = patternBytes(70_000, 2);
    acceptorLink.reply(1, 1, 0, 0, FRAME, 0, 0, large, 5, 70_000, true);
    acceptorLink.reply(1, 1, 1, 0, FRAME, 0, 0, large, 5, 70_000);
    acceptorLink.reply(1, 1, 2, 0, FRAME, 0, 0, large, 5, 6_000, true);
    expect(acceptor.replies.map(({ owned }) => owned)).toEqual([true, false, false]);
    expect(acceptor.replies[0]?.bytes.buffer).toBe(large.buffer);
    for (const { bytes } of acceptor.replies) expect(bytes.equals(large.subarray(5, 5 + bytes.length))).toBe(true);
  });

  it('passes the caller’s own fields and frame, valid only during the call', () => {
    const fields = new CallFields();
    const frame = Buffer.from('before');
    const given: unknown[] = [];
    const direct = makeInlineLinks(0, 0, acceptor, {
      onOpen: () => {},
      onClose: () => {},
      onCall: (_link, gotFields, gotFrame) => given.push(gotFields, gotFrame),
      onReplySpace: () => {},
      onDrained: () => {},
    });
    direct.workerLink.call(fields, frame, 1, 3);
    // The same objects: what is written into them after the call is seen by whoever kept them.
    expect(given[0]).toBe(fields);
    expect(given[1]).toBe(frame);
    // The recording worker copied during the call and is not touched by what follows.
    workerLink.call(fields, frame, 0, 6);
    frame.write('after!');
    expect(worker.calls[0]?.frame.toString()).toBe('before');
  });

  it('puts head and body together in reused memory that the acceptor does not own', () => {
    const owned: boolean[] = [];
    const memory: Buffer[] = [];
    const direct = makeInlineLinks(
      0,
      0,
      {
        onReply: (_link, _connection, _generation, _slot, _flags, buffer, start, end, isOwned) => {
          owned.push(isOwned);
          memory.push(buffer.subarray(start, end));
        },
        onSpace: () => {},
        onDrained: () => {},
      },
      worker,
    );
    const reply = (head: string, body: string): boolean =>
      direct.acceptorLink.reply(1, 1, 1, 0, Buffer.from(head), 0, head.length, Buffer.from(body), 0, body.length);
    reply('head ', 'first');
    expect(memory[0]?.toString()).toBe('head first');
    reply('HEAD ', 'other');
    expect(memory[0]?.toString()).toBe('HEAD other');
    reply('', 'only a body');
    expect(memory[2]?.toString()).toBe('only a body');
    expect(owned).toEqual([false, false, false]);
  });

  it('gives the memory of a large reply away instead of having it copied again', () => {
    const body = patternBytes(20 * 1024 * 1024, 3);
    expect(acceptorLink.reply(1, 1, 1, 0, FRAME, 0, 50, body, 10, body.length)).toBe(true);
    const seen = acceptor.replies[0];
    expect(seen?.owned).toBe(true);
    expect(seen?.bytes.length).toBe(50 + body.length - 10);
    expect(seen?.bytes.subarray(50).equals(body.subarray(10))).toBe(true);
  });

  it('is never full', () => {
    for (let slot = 0; slot < 10_000; slot++) {
      expect(sendCall(workerLink, 1, slot, FRAME)).toBe(true);
      expect(sendReply(acceptorLink, slot, FRAME)).toBe(true);
    }
    expect(worker.calls).toHaveLength(10_000);
    expect(acceptor.spaces + worker.spaces).toBe(0);
  });

  it('lets a worker reply within the call', () => {
    worker.alsoOnCall = (link, { fields }) => sendReply(link, fields.slot, FRAME);
    sendCall(workerLink, 1, 3, FRAME);
    expect(acceptor.replies.map(({ slot }) => slot)).toEqual([3]);
  });

  it('does not recurse when each reply brings the next call', async () => {
    const count = 20_000;
    let next = 0;
    let depth = 0;
    let deepest = 0;
    const send = (): void => {
      depth++;
      deepest = Math.max(deepest, depth);
      while (next < count && sendCall(workerLink, 1, next, FRAME)) next++;
      depth--;
    };
    worker.alsoOnCall = (link, { fields }) => sendReply(link, fields.slot, FRAME);
    acceptor.alsoOnReply = send;
    acceptor.alsoOnSpace = send;
    send();
    await acceptor.until(() => acceptor.replies.length === count, 'all replies');
    expect(deepest).toBeLessThanOrEqual(2);
    expect(acceptor.replies.every(({ slot }, index) => slot === index)).toBe(true);
  });

  it('refuses a call made from within a reply, and tells once that it may come again', async () => {
    const accepted: boolean[] = [];
    acceptor.alsoOnReply = () => {
      accepted.push(sendCall(workerLink, 2, 0, FRAME), sendCall(workerLink, 2, 1, FRAME));
    };
    sendReply(acceptorLink, 0, FRAME);
    expect(accepted).toEqual([false, false]);
    expect(worker.calls).toHaveLength(0);
    await acceptor.until(() => acceptor.spaces > 0, 'space');
    await nextTurn();
    expect(acceptor.spaces).toBe(1);
    expect(sendCall(workerLink, 2, 0, FRAME)).toBe(true);
  });

  it('never enters the worker while it is at work: openings and closings wait, before later calls', async () => {
    let isInside = false;
    worker.alsoOnCall = (link, { fields }) => {
      expect(isInside).toBe(false);
      isInside = true;
      if (fields.slot === 0) sendReply(link, 0, FRAME);
      isInside = false;
    };
    acceptor.alsoOnReply = () => {
      workerLink.closeClient(1, 1);
      workerLink.openClient(2, 1, IDENTITY);
    };
    workerLink.openClient(1, 1, IDENTITY);
    sendCall(workerLink, 1, 0, FRAME);
    expect(worker.events).toEqual(['open 1.1', 'call 1.1 0']);
    sendCall(workerLink, 2, 1, FRAME);
    expect(worker.events).toEqual(['open 1.1', 'call 1.1 0', 'close 1.1', 'open 2.1', 'call 2.1 1']);

    acceptor.alsoOnReply = () => workerLink.closeClient(2, 1);
    sendReply(acceptorLink, 1, FRAME);
    expect(worker.events).toHaveLength(5);
    await worker.until(() => worker.events.length === 6, 'the closing at the end of the turn');
  });

  it('closes a client that is closed while its opening is being handed on', () => {
    const events: string[] = [];
    const direct = makeInlineLinks(
      0,
      0,
      { onReply: () => direct.workerLink.closeClient(1, 1), onSpace: () => {}, onDrained: () => {} },
      {
        onOpen: (link) => {
          events.push('open');
          sendReply(link, 0, FRAME);
        },
        onClose: () => events.push('close'),
        onCall: () => {},
        onReplySpace: () => {},
        onDrained: () => {},
      },
    );
    direct.workerLink.openClient(1, 1, IDENTITY);
    direct.workerLink.flush();
    expect(events).toEqual(['open', 'close']);
  });

  it('calls onDrained once a turn without a flush, and at once with one', async () => {
    for (let slot = 0; slot < 5; slot++) sendCall(workerLink, 1, slot, FRAME);
    for (let slot = 0; slot < 5; slot++) sendReply(acceptorLink, slot, FRAME);
    expect([worker.drains, acceptor.drains]).toEqual([0, 0]);
    await nextTurn();
    expect([worker.drains, acceptor.drains]).toEqual([1, 1]);

    sendCall(workerLink, 1, 9, FRAME);
    sendReply(acceptorLink, 9, FRAME);
    workerLink.flush();
    acceptorLink.flush();
    workerLink.flush();
    acceptorLink.flush();
    expect([worker.drains, acceptor.drains]).toEqual([2, 2]);
    await nextTurn();
    expect([worker.drains, acceptor.drains]).toEqual([2, 2]);
  });

  it('can be used again after a throw of the worker', () => {
    worker.alsoOnCall = () => {
      throw new Error('thrown by the worker');
    };
    expect(() => sendCall(workerLink, 1, 0, FRAME)).toThrow('thrown by the worker');
    worker.alsoOnCall = () => {};
    expect(sendCall(workerLink, 1, 1, FRAME)).toBe(true);
  });

  it('hands nothing on once closed', async () => {
    sendCall(workerLink, 1, 0, FRAME);
    workerLink.close();
    expect(sendCall(workerLink, 1, 1, FRAME)).toBe(false);
    workerLink.openClient(2, 1, IDENTITY);
    workerLink.closeClient(1, 1);
    expect(sendReply(acceptorLink, 0, FRAME)).toBe(true);
    workerLink.flush();
    acceptorLink.flush();
    await nextTurn();
    expect(worker.events).toEqual(['call 1.1 0']);
    expect(acceptor.replies).toHaveLength(0);
    expect([worker.drains, acceptor.drains, acceptor.spaces]).toEqual([0, 0, 0]);
  });
});
