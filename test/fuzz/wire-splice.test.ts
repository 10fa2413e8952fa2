import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isCanonicalPath, writeCanonicalPath } from '../../src/mount/canonical.ts';
import { CallScan, SCAN_OK, scanBody, scanHeader, scanRequestHeader } from '../../src/wire/call-scan.ts';
import { ContextPrefix, callerContextBound, writeCallerContext } from '../../src/wire/context.ts';
import { decodePlain, encode, messageType, type Plain } from '../../src/wire/messages.ts';
import { translateBack, translateBackBound } from '../../src/wire/path-bytes.ts';
import {
  RequestSplice,
  restEnd,
  restStart,
  spliceBound,
  splicedBytes,
  spliceHead,
  spliceRequest,
} from '../../src/wire/splice.ts';
import { callFrame, splitFrame } from '../wire/vectors.ts';
import { FUZZ } from './wire-messages.ts';

const HEADER = messageType('hadoop.common.RpcRequestHeaderProto');
const REQUEST_HEADER = messageType('hadoop.common.RequestHeaderProto');
const RENAME = messageType('hadoop.hdfs.Rename2RequestProto');

const int32 = fc.integer({ min: -0x8000_0000, max: 0x7fff_ffff });
const int64 = fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n);
const buffer = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes));
const text = fc.string({ maxLength: 200 });
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });

const headers = fc.record({
  rpcKind: fc.constant('RPC_PROTOCOL_BUFFER'),
  rpcOp: fc.constant('RPC_FINAL_PACKET'),
  callId: int32,
  clientId: fc.oneof(buffer, fc.constant(Buffer.alloc(16, 7))),
  retryCount: optional(int32),
  traceInfo: optional(fc.record({ traceId: optional(int64), spanContext: optional(buffer) })),
  callerContext: optional(fc.record({ context: text, signature: optional(buffer) })),
  stateId: optional(int64),
  routerFederatedState: optional(buffer),
});
const requests = fc.record({ src: text, dst: text, overwriteDest: fc.boolean(), moveToTrash: optional(fc.boolean()) });
const changes = fc.record({
  tag: int32,
  context: text,
  path: optional(text),
  path2: optional(text),
  stateId: optional(int64),
  trailing: buffer,
});

/** Without the fields that are absent, as decodePlain gives it. */
function plain(object: object): Plain {
  const entries = Object.entries(object).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    entries.map(([name, value]) => {
      if (typeof value === 'bigint' && BigInt(Number(value)) === value && Number.isSafeInteger(Number(value))) {
        return [name, Number(value)];
      }
      const nested = typeof value === 'object' && !Buffer.isBuffer(value);
      return [name, nested ? plain(value) : value];
    }),
  );
}

it('a spliced call decodes to the original with exactly what was to change', () => {
  const scan = new CallScan();
  const splice = new RequestSplice();
  let appended = 0;
  fc.assert(
    fc.property(headers, requests, changes, (header, request, change) => {
      const requestHeader = encode(REQUEST_HEADER, {
        methodName: 'rename2',
        declaringClassProtocolName: 'P',
        clientProtocolVersion: 1,
      });
      const call = callFrame(encode(HEADER, header), requestHeader, encode(RENAME, request));
      const start = change.tag & 15;
      const frame = Buffer.concat([Buffer.alloc(start, 0xee), call, change.trailing]);
      expect(scanHeader(frame, start, frame.length, scan)).toBe(SCAN_OK);
      expect(scanRequestHeader(frame, start, frame.length, scan)).toBe(SCAN_OK);
      expect(scanBody(frame, start, scan, 1, 2)).toBe(SCAN_OK);
      if (scan.flags !== 0) appended++;

      const stored = (value: string | undefined) => (value === undefined ? null : Buffer.from(`_${value}_`));
      const context = Buffer.from(change.context);
      const path = stored(change.path);
      const path2 = stored(change.path2);
      Object.assign(splice, { tag: change.tag, context, contextStart: 0, contextEnd: context.length, path, path2 });
      Object.assign(splice, {
        pathFrom: 1,
        pathTo: (path?.length ?? 2) - 1,
        path2From: 1,
        path2To: (path2?.length ?? 2) - 1,
      });
      splice.stateIdPresent = change.stateId !== undefined;
      splice.stateIdHigh = Number(BigInt.asIntN(32, (change.stateId ?? 0n) >> 32n));
      splice.stateIdLow = Number(BigInt.asIntN(32, change.stateId ?? 0n));

      const bound = spliceBound(scan, frame.length - start, splice);
      const out = Buffer.alloc(bound + 1, 0xee);
      const end = spliceRequest(out, 0, frame, start, frame.length, scan, splice);
      expect(end).toBeLessThanOrEqual(bound);
      expect(out.readInt32BE(0)).toBe(end - 4);
      expect(splicedBytes(frame, start, frame.length, scan, splice)).toBe(end - 4);
      const restFrom = restStart(scan, splice);
      const head = Buffer.alloc(spliceBound(scan, restFrom, splice));
      const headEnd = spliceHead(head, 0, frame, start, frame.length, scan, splice);
      expect(headEnd).toBeLessThanOrEqual(head.length);
      const rest = frame.subarray(start + restFrom, restEnd(start, frame.length, scan));
      expect(Buffer.concat([head.subarray(0, headEnd), rest]).equals(out.subarray(0, end))).toBe(true);
      const parts = splitFrame(out.subarray(4, end));
      expect(parts.length).toBe(3);
      const { signature } = header.callerContext ?? {};
      expect(decodePlain(HEADER, parts[0]!)).toEqual(
        plain({
          ...header,
          retryCount: change.tag,
          callerContext: { context: change.context, signature },
          stateId: change.stateId,
          routerFederatedState: undefined,
        }),
      );
      expect(parts[1]).toEqual(requestHeader);
      const moved = { ...request, src: change.path ?? request.src, dst: change.path2 ?? request.dst };
      expect(decodePlain(RENAME, parts[2]!)).toEqual(plain(moved));
    }),
    FUZZ,
  );
  expect(appended).toBeGreaterThan(20);
});

it('a caller context never lets a client’s key be the first of its name', () => {
  const keys = ['clientIp:', 'clientPort:', 'clientId:', 'clientCallId:', 'realUser:'];
  const piece = fc.constantFrom(...keys, 'clientI', 'd:', 'p:', ',', ',', ';', ':', 'x', 'client', '6.6.6.6', 'é', 'I');
  const own = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''));
  const CONTEXT = messageType('hadoop.common.RPCCallerContextProto');
  fc.assert(
    fc.property(own, fc.constantFrom(',', ';', ', ', ':', 'I', 'd:'), fc.boolean(), (theirs, separator, hasId) => {
      const prefix = new ContextPrefix('1.2.3.4', 99, '', separator);
      const original = encode(CONTEXT, { context: theirs });
      const out = Buffer.alloc(callerContextBound(prefix, original.length));
      const clientId = Buffer.alloc(hasId ? 16 : 0, 0xab);
      const end = writeCallerContext(out, 0, prefix, clientId, 0, clientId.length, 5, original, 0, original.length);
      const written = out.toString('utf8', 0, end);
      const mine = [
        'clientIp:1.2.3.4',
        'clientPort:99',
        ...(hasId ? [`clientId:${'ab'.repeat(16)}`] : []),
        'clientCallId:5',
      ].join(separator);
      expect(written.startsWith(mine)).toBe(true);
      const rest = written.slice(mine.length);
      for (const key of keys) expect(rest.includes(key)).toBe(false);
      if (!keys.some((key) => theirs.includes(key)) && !/[a-zA-Z:]/.test(separator)) {
        expect(rest).toBe(theirs === '' ? '' : separator + theirs);
      }
    }),
    FUZZ,
  );
});

it('paths normalise as the definition says', () => {
  const path = fc.array(fc.constantFrom('/', '/', 'a', '.', 'é'), { maxLength: 12 }).map((pieces) => pieces.join(''));
  fc.assert(
    fc.property(path, (given) => {
      const bytes = Buffer.from(given);
      const out = Buffer.alloc(bytes.length);
      const end = writeCanonicalPath(bytes, 0, bytes.length, out, 0);
      const expected = given.replaceAll(/\/+/g, '/').replace(/^(.+)\/$/, '$1');
      expect(out.toString('utf8', 0, end)).toBe(expected);
      expect(isCanonicalPath(bytes, 0, bytes.length)).toBe(given === expected);
    }),
    FUZZ,
  );
});

it('a translated text stays in its bound and changes only where the target or an ancestor stands', () => {
  const name = fc.constantFrom('a', 'b', 'long-name');
  const rest = fc.array(name, { maxLength: 3 });
  const base = fc.array(name, { maxLength: 2 }).map((names) => `/${names.join('/')}`);
  const word = fc.constantFrom('/', '/a', '/a/b', '/b', '/long-name', ' ', '"', '.', 'x', ':', ',', '\n\tat ');
  fc.assert(
    fc.property(base, base, rest, fc.array(word, { maxLength: 20 }), (source, target, names, words) => {
      const join = (mount: string) => (names.length === 0 ? mount : `${mount === '/' ? '' : mount}/${names.join('/')}`);
      const message = Buffer.from(words.join(''));
      const at = Buffer.from(join(target));
      const seen = Buffer.from(join(source));
      const bound = translateBackBound(message.length, at.length, seen.length);
      const out = Buffer.alloc(bound + 1, 0xee);
      const end = translateBack(
        message,
        0,
        message.length,
        at,
        0,
        at.length,
        target.length,
        seen,
        0,
        seen.length,
        out,
        0,
      );
      expect(end).toBeLessThanOrEqual(bound);
      const written = out.toString('utf8', 0, end);
      if (source === target) expect(written).toBe(message.toString());
      if (!message.includes(target)) expect(written).toBe(message.toString());
    }),
    FUZZ,
  );
});
