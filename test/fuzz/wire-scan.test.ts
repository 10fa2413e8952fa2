import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CallFlag } from '../../src/handoff/link.ts';
import {
  CallScan,
  SCAN_BAD,
  SCAN_OK,
  SCAN_UNSURE,
  scanBody,
  scanHeader,
  scanRequestHeader,
} from '../../src/wire/call-scan.ts';
import { decode, messageType } from '../../src/wire/messages.ts';
import { RecodeFailure, recodeFrame } from '../../src/wire/recode.ts';
import { ReplyScan, scanReply } from '../../src/wire/reply-scan.ts';
import { readVarint64, Wide } from '../../src/wire/varint.ts';
import { delimited } from '../wire/vectors.ts';
import { damaged, FUZZ, field, message } from './wire-messages.ts';

/** The scan against protobufjs: what it is sure of, the decoder reads alike; what it calls bad, the decoder cannot read. */

const HEADER = messageType('hadoop.common.RpcRequestHeaderProto');
const REQUEST_HEADER = messageType('hadoop.common.RequestHeaderProto');
const CONTEXT = messageType('hadoop.common.RPCCallerContextProto');
const RESPONSE_HEADER = messageType('hadoop.common.RpcResponseHeaderProto');
const RENAME = messageType('hadoop.hdfs.Rename2RequestProto');

const bytes = fc.uint8Array({ maxLength: 20 });
const contextField = field({ 1: 2, 2: 2 }, bytes);
const traceField = field({ 1: 0, 2: 0, 3: 2 }, bytes);
const headerValue = fc.oneof(
  { weight: 2, arbitrary: bytes },
  { weight: 3, arbitrary: message(contextField) },
  { weight: 1, arbitrary: message(traceField) },
);
const required = Buffer.from([0x08, 2, 0x10, 0, 0x18, 10, 0x22, 2, 0x69, 0x64]);
const headerMessage = fc.oneof(
  { weight: 1, arbitrary: message(field({ 1: 0, 2: 0, 3: 0, 4: 2, 5: 0, 6: 2, 7: 2, 8: 0, 9: 2 }, headerValue)) },
  {
    weight: 4,
    arbitrary: message(field({ 5: 0, 6: 2, 7: 2, 8: 0, 9: 2 }, headerValue)).map((rest) =>
      Buffer.concat([required, rest]),
    ),
  },
);
const requestHeaderMessage = message(field({ 1: 2, 2: 2, 3: 0 }, bytes));
const bodyMessage = message(field({ 1: 2, 2: 2, 3: 0, 4: 0 }, bytes));

interface Decoded {
  readonly [name: string]: unknown;
}

/** What a decoder reads of buffer[start, end), null when it cannot. */
function decoded(type: typeof HEADER, buffer: Buffer, start: number, end: number): (Decoded & object) | null {
  try {
    return decode(type, buffer, start, end) as unknown as Decoded & object;
  } catch {
    return null;
  }
}

/** The delimited message at `at`: [start, end), or null when there is none. */
function delimitedAt(buffer: Buffer, at: number): [number, number] | null {
  const wide = new Wide();
  const start = readVarint64(buffer, at, buffer.length, wide);
  return start < 0 || wide.low < 0 || start + wide.low > buffer.length ? null : [start, start + wide.low];
}

/** protobufjs steps over numbers of any length; Java and the scan take no more than ten bytes. */
function hasLongNumber(frame: Buffer): boolean {
  let run = 0;
  for (const byte of frame) {
    run = byte < 0x80 ? 0 : run + 1;
    if (run === 10) return true;
  }
  return false;
}

const counts = { ok: 0, unsure: 0, bad: 0, appendable: 0, stateful: 0 };

function count(code: number): void {
  if (code === SCAN_OK) counts.ok++;
  else if (code === SCAN_UNSURE) counts.unsure++;
  else counts.bad++;
}

function resetCounts(): void {
  Object.assign(counts, { ok: 0, unsure: 0, bad: 0, appendable: 0, stateful: 0 });
}

function expectEachOften(): void {
  for (const often of [counts.ok, counts.unsure, counts.bad]) expect(often).toBeGreaterThan(20);
}

describe('call scan', () => {
  it('agrees with a decoder about headers', () => {
    resetCounts();
    const scan = new CallScan();
    fc.assert(
      fc.property(damaged(headerMessage.map(delimited)), (frame) => {
        const code = scanHeader(frame, 0, frame.length, scan);
        count(code);
        const place = delimitedAt(frame, 0);
        const seen = place === null ? null : decoded(HEADER, frame, place[0], place[1]);
        if (code === SCAN_BAD && !hasLongNumber(frame)) expect(seen).toBe(null);
        if (code !== SCAN_OK) return;
        expect([scan.headerStart, scan.headerEnd]).toEqual(place);
        const has = (name: string) => Object.hasOwn(seen!, name);
        const { clientId, callerContext, stateId, routerFederatedState } = seen as Record<string, never>;
        expect(scan.callId).toBe(seen!['callId']);
        expect(frame.subarray(scan.clientIdStart, scan.clientIdEnd)).toEqual(clientId);
        expect(scan.retryCount).toBe(has('retryCount') ? seen!['retryCount'] : -1);
        expect(scan.rpcKind).toBe(has('rpcKind') ? seen!['rpcKind'] : -1);
        expect(scan.rpcOp).toBe(has('rpcOp') ? seen!['rpcOp'] : -1);
        expect(scan.contextStart > 0).toBe(has('callerContext'));
        if (scan.contextStart > 0)
          expect(decoded(CONTEXT, frame, scan.contextStart, scan.contextEnd)).toEqual(callerContext);
        expect(scan.hasStateId).toBe(has('stateId'));
        if (scan.hasStateId) expect(stateId).toMatchObject({ high: scan.stateIdHigh, low: scan.stateIdLow });
        expect(scan.federatedStart > 0).toBe(has('routerFederatedState'));
        if (scan.federatedStart > 0) {
          expect(frame.subarray(scan.federatedStart, scan.federatedEnd)).toEqual(routerFederatedState);
        }
        if ((scan.flags & CallFlag.APPENDABLE) !== 0) {
          counts.appendable++;
          // Up to there no field is another than it was, and nothing but state ids is left out.
          const first = decoded(HEADER, frame, scan.headerStart, scan.statelessEnd)!;
          const { stateId: _, routerFederatedState: __, ...others } = seen as Record<string, unknown>;
          expect({ ...first }).toEqual({ ...others });
          expect(has('traceInfo')).toBe(false);
          if (has('stateId') || has('routerFederatedState')) counts.stateful++;
          // Only enum values that are not known, of rpcKind and rpcOp.
          for (const raw of (seen as { $unknowns?: Uint8Array[] }).$unknowns ?? [])
            expect([0x08, 0x10]).toContain(raw[0]);
        }
      }),
      FUZZ,
    );
    expectEachOften();
    expect(counts.appendable).toBeGreaterThan(20);
    expect(counts.stateful).toBeGreaterThan(5);
  });

  it('agrees with a decoder about request headers and messages', () => {
    resetCounts();
    const scan = new CallScan();
    const start = Buffer.from([0]);
    const frames = fc.tuple(
      fc.oneof(
        { weight: 1, arbitrary: requestHeaderMessage },
        { weight: 3, arbitrary: fc.constant(Buffer.from('0a016d12017018ff01', 'hex')) },
      ),
      bodyMessage,
    );
    const all = damaged(frames.map(([head, body]) => Buffer.concat([start, delimited(head), delimited(body)])));
    fc.assert(
      fc.property(all, (frame) => {
        scan.headerEnd = 1;
        scan.frameEnd = frame.length;
        scan.flags = 0;
        const code = scanRequestHeader(frame, 0, frame.length, scan);
        const place = delimitedAt(frame, 1);
        const seen = place === null ? null : decoded(REQUEST_HEADER, frame, place[0], place[1]);
        if (code === SCAN_BAD && !hasLongNumber(frame)) expect(seen).toBe(null);
        if (code !== SCAN_OK) return;
        expect(frame.toString('utf8', scan.methodStart, scan.methodEnd)).toBe(seen!['methodName']);
        expect(frame.toString('utf8', scan.protocolStart, scan.protocolEnd)).toBe(seen!['declaringClassProtocolName']);
        const { low, high } = seen!['clientProtocolVersion'] as { low: number; high: number };
        expect(scan.clientProtocolVersion).toBe(Number((BigInt(high >>> 0) << 32n) | BigInt(low >>> 0)));

        const bodyCode = scanBody(frame, 0, scan, 1, 2);
        count(bodyCode);
        const body = delimitedAt(frame, place![1]);
        const request = body === null ? null : decoded(RENAME, frame, body[0], body[1]);
        if (bodyCode === SCAN_BAD && !hasLongNumber(frame)) expect(request).toBe(null);
        if (bodyCode !== SCAN_OK) expect([scan.pathStart, scan.path2Start]).toEqual([0, 0]);
        else if (request !== null) {
          expect([scan.bodyStart, scan.bodyEnd]).toEqual(body);
          expect(frame.toString('utf8', scan.pathStart, scan.pathEnd)).toBe(request['src']);
          expect(frame.toString('utf8', scan.path2Start, scan.path2End)).toBe(request['dst']);
        }
      }),
      FUZZ,
    );
    expectEachOften();
  });

  it('never fails on bytes that are no call, and what recoding makes of them is sure', () => {
    const scan = new CallScan();
    let recoded = 0;
    const call = fc
      .tuple(headerMessage, fc.constant(Buffer.from('0a016d12017018ff01', 'hex')), bodyMessage)
      .map(([head, request, body]) => Buffer.concat([delimited(head), delimited(request), delimited(body)]));
    fc.assert(
      fc.property(fc.oneof({ weight: 5, arbitrary: damaged(call) }, { weight: 1, arbitrary: bytes }), (some) => {
        const frame = Buffer.from(some);
        const made = recodeFrame(frame, 0, frame.length, () => 'hadoop.hdfs.Rename2RequestProto');
        if (made instanceof RecodeFailure) {
          expect(made.error.message).not.toBe('');
          return;
        }
        recoded++;
        expect(scanHeader(made, 0, made.length, scan)).toBe(SCAN_OK);
        expect(scanRequestHeader(made, 0, made.length, scan)).toBe(SCAN_OK);
        expect(scanBody(made, 0, scan, 1, 2)).toBe(SCAN_OK);
        expect(scan.pathStart > 0 && scan.path2Start > 0).toBe(true);
      }),
      FUZZ,
    );
    expect(recoded).toBeGreaterThan(20);
  });
});

describe('reply scan', () => {
  it('agrees with a decoder, whatever form the header has', () => {
    resetCounts();
    const scan = new ReplyScan();
    const start = Buffer.from([0x08, 5, 0x10, 1]);
    const types = { 1: 0, 2: 0, 3: 0, 4: 2, 5: 2, 6: 0, 7: 2, 8: 0, 9: 0, 10: 2 };
    const replies = damaged(message(field(types, bytes)).map((rest) => delimited(Buffer.concat([start, rest]))));
    fc.assert(
      fc.property(replies, (frame) => {
        const code = scanReply(frame, 0, frame.length, scan);
        count(code);
        const place = delimitedAt(frame, 0);
        const seen = place === null ? null : decoded(RESPONSE_HEADER, frame, place[0], place[1]);
        // This scan is the more tolerant one: protobufjs refuses tags and lengths of more than five bytes.
        if (code === SCAN_BAD && !hasLongNumber(frame)) expect(seen).toBe(null);
        if (seen === null || code === SCAN_BAD) return;
        expect(scan.headerEnd).toBe(place![1]);
        const has = (name: string) => Object.hasOwn(seen, name);
        expect(scan.callId).toBe((seen['callId'] as number) | 0);
        expect(scan.status).toBe(seen['status']);
        expect(frame.toString('utf8', scan.classStart, scan.classEnd)).toBe(seen['exceptionClassName'] ?? '');
        expect(frame.toString('utf8', scan.messageStart, scan.messageEnd)).toBe(seen['errorMsg'] ?? '');
        expect(frame.toString('hex', scan.clientIdStart, scan.clientIdEnd)).toBe(
          Buffer.from((seen['clientId'] as Uint8Array) ?? []).toString('hex'),
        );
        expect(scan.hasRetryCount).toBe(has('retryCount'));
        expect(scan.retryCount).toBe(has('retryCount') ? seen['retryCount'] : -1);
        expect(scan.hasStateId).toBe(has('stateId'));
        if (scan.hasStateId) expect(seen['stateId']).toMatchObject({ high: scan.stateIdHigh, low: scan.stateIdLow });
        if (has('errorDetail')) expect(scan.detail).toBe(seen['errorDetail']);
      }),
      FUZZ,
    );
    for (const often of [counts.ok, counts.bad]) expect(often).toBeGreaterThan(20);
  });
});
