import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { countRecords, summarizeCounts } from '../../src/load/histogram/latency.ts';
import { END_CALL_ID, FIRST_CALL_ID } from '../../src/load/thread/call-frames.ts';
import { FederatedState } from '../../src/load/thread/federated-state.ts';
import { MAX_ERROR_CLASSES, OTHER_CLASS, Recorder } from '../../src/load/thread/recorder.ts';
import { isTrueResult, Reply, ReplyKind, readReply } from '../../src/load/thread/reply.ts';
import { MAX_KEPT_BYTES, MAX_REPLY_BYTES, ReplyCutter } from '../../src/load/thread/reply-cutter.ts';
import { SlotTable } from '../../src/load/thread/slot-table.ts';
import { decodePlain, encode, encodeDelimited, messageType } from '../../src/wire/messages.ts';

const CLIENT_ID = Buffer.from('0123456789abcdef');
const STATE = messageType('hadoop.hdfs.RouterFederatedStateProto');

function framed(payload: Buffer): Buffer {
  const frame = Buffer.alloc(4 + payload.length);
  frame.writeInt32BE(payload.length);
  payload.copy(frame, 4);
  return frame;
}

function header(fields: object): Buffer {
  const plain = { status: 'SUCCESS', serverIpcVersionNum: 9, clientId: CLIENT_ID, retryCount: 0, ...fields };
  return encodeDelimited(messageType('hadoop.common.RpcResponseHeaderProto'), plain);
}

describe('the stream of replies', () => {
  function cut(chunks: readonly Buffer[]): { frames: Buffer[]; good: boolean } {
    const frames: Buffer[] = [];
    const cutter = new ReplyCutter({
      onFrame: (buffer, start, end) => frames.push(Buffer.from(buffer.subarray(start, end))),
    });
    return { good: chunks.every((chunk) => cutter.feed(chunk, chunk.length)), frames };
  }

  test('frames are the same however the stream is divided, also byte by byte', () => {
    const payloads = fc.array(fc.uint8Array({ minLength: 1, maxLength: 300 }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(payloads, fc.array(fc.integer({ min: 1, max: 100 }), { maxLength: 40 }), (each, sizes) => {
        const stream = Buffer.concat(each.map((payload) => framed(Buffer.from(payload))));
        const chunks: Buffer[] = [];
        let at = 0;
        for (const size of sizes) {
          if (at >= stream.length) break;
          chunks.push(stream.subarray(at, at + size));
          at += size;
        }
        chunks.push(stream.subarray(Math.min(at, stream.length)));
        const expected = { good: true, frames: each.map((payload) => Buffer.from(payload)) };
        expect(cut(chunks)).toEqual(expected);
        expect(cut([...stream].map((byte) => Buffer.from([byte])))).toEqual(expected);
      }),
      { numRuns: 50 },
    );
  });

  test('of a long frame in pieces the beginning is kept, and the next frame is found', () => {
    const long = Buffer.alloc(1_000_000, 5);
    const stream = Buffer.concat([framed(long), framed(Buffer.from('next'))]);
    const chunks: Buffer[] = [];
    for (let at = 0; at < stream.length; at += 65_536) chunks.push(stream.subarray(at, at + 65_536));
    const { frames, good } = cut(chunks);
    expect(good).toBe(true);
    expect(frames.map(({ length }) => length)).toEqual([MAX_KEPT_BYTES - 4, 4]);
    expect(frames[0]).toEqual(long.subarray(0, MAX_KEPT_BYTES - 4));
    expect(frames[1]?.toString()).toBe('next');
  });

  test.each([0, -1, MAX_REPLY_BYTES + 1])('a length of %d ends the stream', (length) => {
    const prefix = Buffer.alloc(4);
    prefix.writeInt32BE(length);
    expect(cut([prefix]).good).toBe(false);
    expect(cut([prefix.subarray(0, 2), prefix.subarray(2)]).good).toBe(false);
  });
});

describe('a reply', () => {
  const read = (bytes: Buffer, wantsState = false): { kind: number; reply: Reply } => {
    const reply = new Reply();
    // Not at the start of the buffer, and something behind it.
    const buffer = Buffer.concat([Buffer.alloc(3, 255), bytes, Buffer.alloc(3, 255)]);
    return { kind: readReply(buffer, 3, 3 + bytes.length, CLIENT_ID, wantsState, reply), reply };
  };
  const body = encodeDelimited(messageType('hadoop.hdfs.DeleteResponseProto'), { result: true });

  test('of success, as Java writes it and in other forms', () => {
    for (const callId of [FIRST_CALL_ID, FIRST_CALL_ID + 4711, END_CALL_ID - 1, 0, 5]) {
      for (const fields of [{}, { stateId: 5 }, { clientId: Buffer.alloc(0) }, { exceptionClassName: 'x' }]) {
        const head = header({ callId, ...fields });
        const { kind, reply } = read(Buffer.concat([head, body]));
        expect([kind, reply.callId, reply.bodyStart]).toEqual([ReplyKind.SUCCESS, callId, 3 + head.length]);
      }
    }
  });

  test('of an error has class and message', () => {
    const error = { callId: FIRST_CALL_ID, status: 'ERROR', exceptionClassName: 'java.io.IOException', errorMsg: 'no' };
    const { kind, reply } = read(header(error));
    expect([kind, reply.callId]).toEqual([ReplyKind.FAILURE, FIRST_CALL_ID]);
    expect(reply.scan.classEnd - reply.scan.classStart).toBe(19);
    expect(read(header({ ...error, status: 'FATAL', callId: 0xffff_ffff })).reply.callId).toBe(-1);
  });

  test('to another client, without a body, or unreadable', () => {
    const other = header({ callId: FIRST_CALL_ID, clientId: Buffer.alloc(16, 1) });
    expect(read(Buffer.concat([other, body])).kind).toBe(ReplyKind.FOREIGN);
    expect(read(header({ callId: FIRST_CALL_ID })).kind).toBe(ReplyKind.UNREADABLE);
    expect(read(Buffer.from([50, 1, 2])).kind).toBe(ReplyKind.UNREADABLE);
    expect(read(Buffer.alloc(40, 0xff)).kind).toBe(ReplyKind.UNREADABLE);
  });

  test('the state is found when it is wanted', () => {
    const state = encode(STATE, { namespaceStateIds: { ns0: 50 } });
    const { kind, reply } = read(
      Buffer.concat([header({ callId: FIRST_CALL_ID, routerFederatedState: state }), body]),
      true,
    );
    expect(kind).toBe(ReplyKind.SUCCESS);
    expect(reply.scan.federatedEnd - reply.scan.federatedStart).toBe(state.length);
  });

  test('true is told from false', () => {
    expect(isTrueResult(body, 0, body.length)).toBe(true);
    const no = encodeDelimited(messageType('hadoop.hdfs.DeleteResponseProto'), { result: false });
    expect(isTrueResult(no, 0, no.length)).toBe(false);
    expect(isTrueResult(body, 0, 2)).toBe(false);
  });
});

describe('the federated state', () => {
  const tell = (state: FederatedState, namespaceStateIds: Record<string, number | bigint>): void => {
    const bytes = encode(STATE, { namespaceStateIds });
    state.merge(Buffer.concat([Buffer.from('xx'), bytes]), 2, 2 + bytes.length);
  };
  const read = (state: FederatedState): unknown => decodePlain(STATE, state.encode())['namespaceStateIds'];

  test('keeps the highest id of each nameservice', () => {
    const state = new FederatedState();
    expect(state.encode()).toHaveLength(0);
    tell(state, { ns0: 50, ns1: 7 });
    expect(state.changed).toBe(true);
    tell(state, { ns0: 40, ns2: 2 ** 40 });
    expect(read(state)).toEqual({ ns0: 50, ns1: 7, ns2: 2 ** 40 });
    expect(state.changed).toBe(false);
    tell(state, { ns0: 50 });
    expect(state.changed).toBe(false);
    tell(state, { ns0: 51 });
    expect(read(state)).toEqual({ ns0: 51, ns1: 7, ns2: 2 ** 40 });
  });

  test('leaves out ids that say nothing, and what cannot be read', () => {
    const state = new FederatedState();
    tell(state, { ns0: -(2n ** 63n), ns1: -1, ns2: 2n ** 62n });
    state.merge(Buffer.from([0x0a, 0x20, 1, 2]), 0, 4);
    state.merge(Buffer.from([0xff, 0xff]), 0, 2);
    expect(state.changed).toBe(false);
    expect(state.encode()).toHaveLength(0);
  });
});

describe('the calls of a connection', () => {
  test('ids are never given twice at a time, and each finds its own call whatever comes and goes', () => {
    const steps = fc.array(fc.tuple(fc.boolean(), fc.nat()), { maxLength: 300 });
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 100 }), (each, limit) => {
        const slots = new SlotTable(limit);
        const live = new Map<number, number>();
        let serial = 0;
        for (const [takes, pick] of each) {
          if (takes && slots.count < limit) {
            const slot = slots.take();
            slots.dueAt[slot] = ++serial;
            const callId = slots.callIds[slot] as number;
            expect(live.has(callId)).toBe(false);
            live.set(callId, serial);
          } else if (live.size > 0) {
            const callId = [...live.keys()][pick % live.size] as number;
            const slot = slots.find(callId);
            expect(slots.dueAt[slot]).toBe(live.get(callId));
            slots.free(slot);
            live.delete(callId);
            expect(slots.find(callId)).toBe(-1);
          }
          expect(slots.count).toBe(live.size);
          for (const [callId, marked] of live) expect(slots.dueAt[slots.find(callId)]).toBe(marked);
        }
      }),
      { numRuns: 60 },
    );
  });

  test('ids begin anew when they are used up, past those that are still waiting', () => {
    const slots = new SlotTable(4, END_CALL_ID - 3);
    const waiting = slots.take();
    const ids = Array.from({ length: 4 }, () => {
      const slot = slots.take();
      const callId = slots.callIds[slot] as number;
      slots.free(slot);
      return callId;
    });
    expect(slots.callIds[waiting]).toBe(END_CALL_ID - 3);
    expect(ids).toEqual([END_CALL_ID - 2, END_CALL_ID - 1, FIRST_CALL_ID, FIRST_CALL_ID + 1]);
  });
});

describe('the record', () => {
  test('cells are by operation and target; what is not measured counts in its second only', () => {
    const recorder = new Recorder(2);
    recorder.recordLatency(recorder.cellOf(0, -1), true, 5, 3);
    recorder.recordLatency(recorder.cellOf(0, -1), true, 300_000.25, 2);
    recorder.recordSuccess(recorder.cellOf(0, -1));
    recorder.recordLatency(recorder.cellOf(0, 1), true, 5, 5);
    recorder.recordLatency(recorder.cellOf(4, 0), false, 5, 5);
    recorder.recordError(recorder.cellOf(4, 0), false, 'java.io.IOException', 'x');
    recorder.replies = 3;
    const second = recorder.takeSecond(0, true, 8, 9);
    expect(second).toMatchObject({ replies: 3, errors: 1, waiting: 8, inFlight: 9 });
    expect(countRecords(second.corrected)).toBe(4);
    expect(Object.values(second.measuredCalls ?? {}).map(countRecords)).toEqual([3, 3]);
    recorder.recordLatency(recorder.cellOf(0, 1), true, 5, 5);
    expect(recorder.takeSecond(1, true, 0, 0).measuredCalls).toBeNull();
    // The longest is exact, also when no bucket is so long.
    expect(second).toMatchObject({ correctedMaxMs: 300_000.25, serviceMaxMs: 5 });
    expect(recorder.takeSecond(2, true, 0, 0)).toMatchObject({ correctedMaxMs: 0, serviceMaxMs: 0 });
    expect(recorder.reportCells()[0]).toMatchObject({ correctedMaxMs: 300_000.25, serviceMaxMs: 3, successes: 1 });
    expect(recorder.hasCounts).toBe(false);
    expect(recorder.reportCells().map(({ operation, target }) => [operation, target])).toEqual([
      ['getFileInfo', -1],
      ['getFileInfo', 1],
    ]);
    expect(recorder.operationOf(recorder.cellOf(4, 1))).toBe(4);
    expect([-1, 0, 1].map((target) => recorder.targetOf(recorder.cellOf(4, target)))).toEqual([-1, 0, 1]);
    expect(summarizeCounts(recorder.serviceCounts())).toMatchObject({ p50: expect.closeTo(3000, -2) });
    expect(countRecords(new Recorder(2).serviceCounts())).toBe(0);
  });

  test('error classes are bounded; further ones count together', () => {
    const recorder = new Recorder(0);
    for (let i = 0; i < MAX_ERROR_CLASSES + 5; i++) recorder.recordError(0, true, `class${i}`, `first ${i}\n at Java`);
    recorder.recordError(0, true, 'class0', 'second');
    const [cell] = recorder.reportCells();
    expect(Object.keys(cell?.errors ?? {})).toHaveLength(MAX_ERROR_CLASSES + 1);
    expect(cell?.errors['class0']).toEqual({ count: 2, firstMessage: 'first 0' });
    expect(cell?.errors[OTHER_CLASS]?.count).toBe(5);
  });
});
