import { describe, expect, it } from 'vitest';
import { CallFlag } from '../../src/handoff/link.ts';
import { Block } from '../../src/wire/block.ts';
import {
  CallScan,
  describeWhy,
  SCAN_BAD,
  SCAN_OK,
  SCAN_UNSURE,
  ScanWhy,
  scanBody,
  scanHeader,
  scanRequestHeader,
} from '../../src/wire/call-scan.ts';
import { ContextPrefix, callerContextBound, writeCallerContext } from '../../src/wire/context.ts';
import { decodePlain, encode, messageType } from '../../src/wire/messages.ts';
import { RequestSplice, spliceBound, splicedBytes, spliceRequest } from '../../src/wire/splice.ts';
import { callFrame, delimited, splitFrame, vector } from './vectors.ts';

const HEADER = messageType('hadoop.common.RpcRequestHeaderProto');
const REQUEST_HEADER = messageType('hadoop.common.RequestHeaderProto');
const RENAME = messageType('hadoop.hdfs.RenameRequestProto');
const CLIENT_PROTOCOL = 'org.apache.hadoop.hdfs.protocol.ClientProtocol';
const CLIENT_ID = Buffer.from('abb53d07b2ac4da79ed9b80d7118666a', 'hex');

/** Scans frame bytes that lie at an odd place of a larger buffer, so that a mixed-up offset shows. */
const SHIFT = 13;

function scanAll(frame: Buffer, pathField = 0, path2Field = 0) {
  const buffer = Buffer.concat([Buffer.alloc(SHIFT, 0xee), frame, Buffer.alloc(5, 0xee)]);
  const end = SHIFT + frame.length;
  const scan = new CallScan();
  const codes = [scanHeader(buffer, SHIFT, end, scan)];
  if (codes[0] === SCAN_OK) codes.push(scanRequestHeader(buffer, SHIFT, end, scan));
  if (codes[1] === SCAN_OK) codes.push(scanBody(buffer, SHIFT, scan, pathField, path2Field));
  const text = (start: number, to: number) => frame.toString('latin1', start, to);
  return { buffer, end, scan, codes, text };
}

function header(fields: object): Buffer {
  return encode(HEADER, { rpcKind: 2, rpcOp: 0, callId: 7, clientId: CLIENT_ID, retryCount: 0, ...fields });
}

const requestHeader = encode(REQUEST_HEADER, {
  methodName: 'rename',
  declaringClassProtocolName: CLIENT_PROTOCOL,
  clientProtocolVersion: 1,
});
const rename = encode(RENAME, { src: '/a/b', dst: '/c' });

describe('scan of recorded calls', () => {
  it.each([
    ['03-getFileInfo-request', 'getFileInfo', '/data', 5],
    ['05-mkdirs-request', 'mkdirs', '/data/d1', 6],
    ['07-getBlockLocations-request', 'getBlockLocations', '/data/none', 7],
  ])('%s', (name, method, path, callId) => {
    const { scan, codes, text } = scanAll(vector(name).subarray(4), 1);
    expect(codes).toEqual([SCAN_OK, SCAN_OK, SCAN_OK]);
    expect(text(scan.methodStart, scan.methodEnd)).toBe(method);
    expect(text(scan.protocolStart, scan.protocolEnd)).toBe(CLIENT_PROTOCOL);
    expect(text(scan.pathStart, scan.pathEnd)).toBe(path);
    expect(text(scan.clientIdStart, scan.clientIdEnd)).toBe(CLIENT_ID.toString('latin1'));
    expect(scan).toMatchObject({
      callId,
      retryCount: 0,
      rpcKind: 2,
      rpcOp: 0,
      clientProtocolVersion: 1,
      hasStateId: false,
    });
    expect(scan.flags).toBe(CallFlag.APPENDABLE);
    expect(scan.bodyEnd).toBe(scan.frameEnd);
  });

  it('23, which has a caller context and the state id Long.MIN_VALUE', () => {
    const { scan, codes, text } = scanAll(vector('23-router-to-namenode-mkdirs-request').subarray(4), 1);
    expect(codes).toEqual([SCAN_OK, SCAN_OK, SCAN_OK]);
    expect(text(scan.contextStart + 2, scan.contextEnd)).toMatch(/^clientIp:127\.0\.0\.1,.*,clientCallId:100$/);
    expect(scan).toMatchObject({ hasStateId: true, stateIdHigh: -0x8000_0000, stateIdLow: 0 });
    expect(scan).toMatchObject({ flags: CallFlag.APPENDABLE, statelessEnd: scan.contextEnd });
    expect(text(scan.pathStart, scan.pathEnd)).toBe('/dest/x');
  });

  it.each([
    ['02-connection-context', -3, -1],
    ['22-ping', -4, -1],
    ['20-sasl-negotiate-request', -33, -1],
  ])('header of %s', (name, callId, retryCount) => {
    const frame = vector(name).subarray(4);
    const scan = new CallScan();
    expect(scanHeader(frame, 0, frame.length, scan)).toBe(SCAN_OK);
    expect(scan).toMatchObject({ callId, retryCount, flags: CallFlag.APPENDABLE });
  });

  it('every prefix of a call is bad, none is unsure', () => {
    const frame = vector('05-mkdirs-request').subarray(4);
    for (let bytes = 0; bytes < frame.length; bytes++) {
      const { codes, scan } = scanAll(frame.subarray(0, bytes), 1);
      expect(codes.at(-1)).toBe(SCAN_BAD);
      expect(scan.why).toBe(ScanWhy.TRUNCATED);
    }
  });
});

describe('scan of headers', () => {
  const bad = (why: number) => ({ code: SCAN_BAD, why });
  const unsure = (why: number) => ({ code: SCAN_UNSURE, why });
  const basic = '0802100018102200';
  it.each([
    ['a repeated field', `${basic}1812`, unsure(ScanWhy.REPEATED)],
    ['a repeated caller context', `${basic}3a020a003a020a00`, unsure(ScanWhy.REPEATED)],
    ['a call id of another wire type', '0802100018101a00', unsure(ScanWhy.REPEATED)],
    ['a kind of another wire type', '0a00100018102200', unsure(ScanWhy.WIRE_TYPE)],
    ['a call id longer than needed', '080210001890002200', unsure(ScanWhy.NOT_SHORTEST)],
    ['a call id of more than 32 bits', '0802100018ffffffff1f2200', unsure(ScanWhy.NOT_SHORTEST)],
    ['a call id of 11 bytes', '0802100018ffffffffffffffffffff012200', bad(ScanWhy.MALFORMED)],
    ['a tag longer than needed', '0802100018102200a80000', unsure(ScanWhy.NOT_SHORTEST)],
    ['a group', `${basic}5b5c`, unsure(ScanWhy.GROUP)],
    ['field number 0', `${basic}0000`, bad(ScanWhy.MALFORMED)],
    ['wire type 7', `${basic}57`, bad(ScanWhy.MALFORMED)],
    ['no call id', '080210002200', unsure(ScanWhy.MISSING)],
    ['no client id', '080210001810', unsure(ScanWhy.MISSING)],
    ['nothing at all', '', unsure(ScanWhy.MISSING)],
    ['a client id that runs out of the header', '0802100018102205aa', bad(ScanWhy.TRUNCATED)],
    ['a caller context without a context', `${basic}3a021200`, unsure(ScanWhy.EMBEDDED)],
    ['a caller context of garbage', `${basic}3a020a05`, unsure(ScanWhy.EMBEDDED)],
    ['a trace of garbage', `${basic}32020a00`, unsure(ScanWhy.EMBEDDED)],
  ])('%s', (_, hex, expected) => {
    const { scan, codes } = scanAll(delimited(Buffer.from(hex, 'hex')));
    expect({ code: codes[0], why: scan.why }).toEqual(expected);
    expect((scan.flags & CallFlag.UNSURE) !== 0).toBe(expected.code === SCAN_UNSURE);
    expect(describeWhy(scan.why)).toMatch(/^[a-z ]{10,}$/);
  });

  it('takes absent and unknown enum values for absent, and a missing retryCount for -1', () => {
    const { scan, codes } = scanAll(delimited(Buffer.from('080918102200', 'hex')));
    expect(codes[0]).toBe(SCAN_OK);
    expect(scan).toMatchObject({ rpcKind: -1, rpcOp: -1, retryCount: -1, callId: 8 });
  });

  it('may be appended to only with the fields 1 to 5 and 7', () => {
    const flagsOf = (fields: object) => scanAll(callFrame(header(fields), requestHeader, rename)).scan.flags;
    expect(flagsOf({})).toBe(CallFlag.APPENDABLE);
    expect(flagsOf({ callerContext: { context: 'CLI', signature: Buffer.from('s') } })).toBe(CallFlag.APPENDABLE);
    expect(flagsOf({ traceInfo: { traceId: -1, parentId: 2, spanContext: Buffer.from('x') } })).toBe(0);
    expect(flagsOf({ stateId: 5, traceInfo: { traceId: 1 } })).toBe(0);
  });

  const ids = '0802100018102210abb53d07b2ac4da79ed9b80d7118666a2800';
  const appendable = (to: number, states: object) => ({ flags: CallFlag.APPENDABLE, statelessEnd: 1 + to, ...states });
  const stateless = { hasStateId: false, federatedStart: 0, federatedEnd: 0 };
  const state = (high: number, low: number) => ({ hasStateId: true, stateIdHigh: high, stateIdLow: low });
  const federated = (from: number, to: number) => ({ federatedStart: 1 + from, federatedEnd: 1 + to });
  it.each([
    ['nothing behind the ids', ids, appendable(26, stateless)],
    ['a state id', `${ids}4005`, appendable(26, { ...stateless, ...state(0, 5) })],
    ['a negative state id', `${ids}4080808080808080808001`, appendable(26, state(-0x8000_0000, 0))],
    ['a federated state', `${ids}4a03616263`, appendable(26, { ...stateless, ...federated(28, 31) })],
    ['an empty federated state', `${ids}4a00`, appendable(26, { ...stateless, ...federated(28, 28) })],
    ['both', `${ids}40054a03616263`, appendable(26, { ...state(0, 5), ...federated(30, 33) })],
    ['both, in the other order', `${ids}4a036162634005`, appendable(26, { ...state(0, 5), ...federated(28, 31) })],
    ['both after a retryCount of two bytes', `${ids.slice(0, -2)}80014a036162634005`, appendable(27, state(0, 5))],
    ['both after a context', `${ids}3a020a0040054a0161`, appendable(30, { ...state(0, 5), ...federated(34, 35) })],
    ['a state id, then a context', `${ids}40053a020a00`, { flags: 0, ...state(0, 5) }],
    ['a federated state between the ids', `0802100018104a0161${ids.slice(12)}`, { flags: 0, ...federated(8, 9) }],
    ['a state id, then an unknown field', `${ids}40055200`, { flags: 0, ...state(0, 5) }],
  ])('with %s', (_, hex, expected) => {
    const { scan, codes } = scanAll(delimited(Buffer.from(hex, 'hex')));
    expect(codes[0]).toBe(SCAN_OK);
    expect(scan).toMatchObject({ callId: 8, ...expected });
    expect(scan.retryCount).toBe(hex.includes('8001') && !hex.includes('4080') ? 64 : 0);
  });

  it.each([
    ['a repeated state id', `${ids}40004001`, unsure(ScanWhy.REPEATED)],
    ['a repeated federated state', `${ids}4a004a00`, unsure(ScanWhy.REPEATED)],
    ['a state id of another wire type', `${ids}4200`, unsure(ScanWhy.WIRE_TYPE)],
    ['a federated state of another wire type', `${ids}4800`, unsure(ScanWhy.WIRE_TYPE)],
    ['a federated state with a length longer than needed', `${ids}4a810061`, unsure(ScanWhy.NOT_SHORTEST)],
    ['a state id without a value', `${ids}40`, bad(ScanWhy.TRUNCATED)],
    ['a state id of 11 bytes', `${ids}40ffffffffffffffffffff01`, bad(ScanWhy.MALFORMED)],
    ['a federated state without a length', `${ids}40004a`, bad(ScanWhy.TRUNCATED)],
    ['a federated state that runs out of the header', `${ids}4a0461`, bad(ScanWhy.TRUNCATED)],
  ])('with %s', (_, hex, expected) => {
    const { scan, codes } = scanAll(delimited(Buffer.from(hex, 'hex')));
    expect({ code: codes[0], why: scan.why }).toEqual(expected);
  });

  it('forgets the call before', () => {
    const scan = new CallScan();
    const full = callFrame(
      header({ callerContext: { context: 'x' }, stateId: 1, routerFederatedState: Buffer.from('f') }),
      requestHeader,
      rename,
    );
    scanHeader(full, 0, full.length, scan);
    expect(full.toString('latin1', scan.federatedStart, scan.federatedEnd)).toBe('f');
    const plain = vector('22-ping').subarray(4);
    scanHeader(plain, 0, plain.length, scan);
    expect(scan).toMatchObject({
      contextStart: 0,
      contextEnd: 0,
      federatedStart: 0,
      federatedEnd: 0,
      hasStateId: false,
    });
  });
});

describe('scan of request headers and messages', () => {
  const scanRequest = (request: Buffer, message: Buffer) => {
    const { scan, codes, text } = scanAll(callFrame(header({}), request, message), 1, 2);
    const paths = [text(scan.pathStart, scan.pathEnd), text(scan.path2Start, scan.path2End)];
    return { code: codes.at(-1), steps: codes.length, why: scan.why, paths, scan };
  };

  it('finds both paths in either order, and empty ones', () => {
    expect(scanRequest(requestHeader, rename).paths).toEqual(['/a/b', '/c']);
    expect(scanRequest(requestHeader, Buffer.from('12022f6308010a022f61', 'hex'))).toMatchObject({
      steps: 3,
      code: SCAN_UNSURE,
      why: ScanWhy.WIRE_TYPE,
    });
    expect(scanRequest(requestHeader, Buffer.from('12022f6318010a022f61', 'hex')).paths).toEqual(['/a', '/c']);
    const empty = scanRequest(requestHeader, Buffer.from('0a001200', 'hex'));
    expect(empty.code).toBe(SCAN_OK);
    expect(empty.scan.pathStart).toBeGreaterThan(0);
    expect(empty.scan.pathEnd).toBe(empty.scan.pathStart);
    const absent = scanRequest(requestHeader, Buffer.from('1800', 'hex'));
    expect(absent).toMatchObject({ code: SCAN_OK, scan: { pathStart: 0, pathEnd: 0, path2Start: 0, path2End: 0 } });
  });

  it.each([
    ['a repeated path', '0a012f0a012f', SCAN_UNSURE, ScanWhy.REPEATED],
    ['a repeated second path', '0a012f12012f12012f', SCAN_UNSURE, ScanWhy.REPEATED],
    ['a path length longer than needed', '0a81002f', SCAN_UNSURE, ScanWhy.NOT_SHORTEST],
    ['a group', '1b1c0a012f', SCAN_UNSURE, ScanWhy.GROUP],
    ['a path that runs out of the message', '0a052f', SCAN_BAD, ScanWhy.TRUNCATED],
    ['another field that runs out of the message', '0a012f1a05', SCAN_BAD, ScanWhy.TRUNCATED],
    ['field number 0', '0a012f0200', SCAN_BAD, ScanWhy.MALFORMED],
  ])('%s', (_, hex, code, why) => {
    const found = scanRequest(requestHeader, Buffer.from(hex, 'hex'));
    expect(found).toMatchObject({ steps: 3, code, why, scan: { pathStart: 0, path2Start: 0 } });
  });

  it('drops what stands behind the message', () => {
    const frame = Buffer.concat([callFrame(header({}), requestHeader, rename), Buffer.from('junk')]);
    const { scan, codes } = scanAll(frame, 1, 2);
    expect(codes).toEqual([SCAN_OK, SCAN_OK, SCAN_OK]);
    expect(scan.frameEnd - scan.bodyEnd).toBe(4);
  });

  it.each([
    ['no method', '12017018 01', SCAN_UNSURE, ScanWhy.MISSING],
    ['two methods', '0a016d0a016d12017018 01', SCAN_UNSURE, ScanWhy.REPEATED],
    ['a version of another wire type', '0a016d1201701a00', SCAN_UNSURE, ScanWhy.WIRE_TYPE],
    ['a method that runs out', '0a096d', SCAN_BAD, ScanWhy.TRUNCATED],
  ])('%s', (_, hex, code, why) => {
    const found = scanRequest(Buffer.from(hex.replaceAll(' ', ''), 'hex'), rename);
    expect(found).toMatchObject({ steps: 2, code, why });
  });

  it('reads a version of 64 bits', () => {
    const request = Buffer.from('0a016d12017018ffffffffffffffffff01', 'hex');
    expect(scanRequest(request, rename).scan.clientProtocolVersion).toBe(2 ** 64);
  });
});

describe('splice', () => {
  const splice = (frame: Buffer, change: Partial<RequestSplice>) => {
    const { scan, codes, buffer, end } = scanAll(frame, 1, 2);
    expect(codes).toEqual([SCAN_OK, SCAN_OK, SCAN_OK]);
    const context = Buffer.from('..clientIp:1.2.3.4..');
    const request = Object.assign(new RequestSplice(), { tag: 77, context, contextStart: 2, contextEnd: 18 }, change);
    const bound = spliceBound(scan, frame.length, request);
    const out = Buffer.alloc(bound + 8, 0xee);
    const next = spliceRequest(out, 3, buffer, SHIFT, end, scan, request);
    expect(next - 3).toBeLessThanOrEqual(bound);
    expect(out[next]).toBe(0xee);
    const inWords = new Block(Buffer.alloc(bound + 8, 0xee));
    const again = spliceRequest(inWords.bytes, 3, buffer, SHIFT, end, scan, request, inWords, new Block(buffer));
    expect(again).toBe(next);
    expect(inWords.bytes).toEqual(out);
    expect(out.readInt32BE(3)).toBe(next - 7);
    const parts = splitFrame(out.subarray(7, next));
    expect(parts.length).toBe(3);
    expect(parts[1]).toEqual(requestHeader);
    return {
      header: decodePlain(HEADER, parts[0]!),
      message: decodePlain(RENAME, parts[2]!),
      bytes: out.subarray(3, next),
    };
  };

  const own = { callerContext: { context: 'CLI', signature: Buffer.from('signed') } };
  const observer = { stateIdPresent: true, stateIdHigh: 0, stateIdLow: 123_456_789 };

  it('appends tag and context, keeps ids and signature', () => {
    const { header: spliced, message } = splice(
      callFrame(header({ ...own, retryCount: 3 }), requestHeader, rename),
      {},
    );
    expect(spliced).toEqual({
      rpcKind: 'RPC_PROTOCOL_BUFFER',
      rpcOp: 'RPC_FINAL_PACKET',
      callId: 7,
      clientId: CLIENT_ID,
      retryCount: 77,
      callerContext: { context: 'clientIp:1.2.3.4', signature: Buffer.from('signed') },
    });
    expect(message).toEqual({ src: '/a/b', dst: '/c' });
  });

  const federated = { routerFederatedState: Buffer.from('0a090a036e733010959aef3a', 'hex') };
  it.each([
    ['of a usual header', {}, { prefix: new ContextPrefix('1.2.3.4', 5), callId: 7 }],
    ['of a usual header, for an observer', {}, { prefix: new ContextPrefix('1.2.3.4', 5), callId: 7, ...observer }],
    ['of a header without a prefix', {}, {}],
    ['of a header with a context', own, {}],
    ['of a header with a context, for an observer', own, observer],
    ['of a header with a retryCount of two bytes', { retryCount: 64 }, observer],
  ])('leaves out the state ids at the end %s, and nothing else', (_, fields, change) => {
    const written = (states: object) =>
      splice(callFrame(header({ ...fields, ...states }), requestHeader, rename), change).bytes.toString('hex');
    const without = written({});
    expect(written(federated)).toBe(without);
    expect(written({ stateId: 3 })).toBe(without);
    expect(written({ stateId: -1, ...federated })).toBe(without);
  });

  it.each([
    [0, 0],
    [0, -1],
    [7, 3],
    [0x7fff_ffff, -1],
  ])('writes the state id %i·2^32 + %i last into a usual header', (stateIdHigh, stateIdLow) => {
    const prefix = new ContextPrefix('1.2.3.4', 5);
    const stateId = { stateIdPresent: true, stateIdHigh, stateIdLow };
    const { header: spliced } = splice(callFrame(header(federated), requestHeader, rename), {
      prefix,
      callId: 7,
      ...stateId,
    });
    const { stateId: written, ...others } = spliced;
    expect(BigInt(written as number)).toBe((BigInt(stateIdHigh) << 32n) | BigInt(stateIdLow >>> 0));
    expect(others).toEqual({
      rpcKind: 'RPC_PROTOCOL_BUFFER',
      rpcOp: 'RPC_FINAL_PACKET',
      callId: 7,
      clientId: CLIENT_ID,
      retryCount: 77,
      callerContext: { context: `clientIp:1.2.3.4,clientPort:5,clientId:${CLIENT_ID.toString('hex')},clientCallId:7` },
    });
  });

  it('keeps only fields 1, 2, 3, 4, 6 and 7 of a header with a state', () => {
    const traceInfo = { traceId: 5, parentId: -5, spanContext: Buffer.from('span') };
    const fields = { ...own, traceInfo, stateId: 99, routerFederatedState: Buffer.from('fed') };
    const unknown = Buffer.concat([header(fields), Buffer.from('5203616263820101ff', 'hex')]);
    const { header: spliced } = splice(callFrame(unknown, requestHeader, rename), {});
    expect(spliced).toEqual({
      rpcKind: 'RPC_PROTOCOL_BUFFER',
      rpcOp: 'RPC_FINAL_PACKET',
      callId: 7,
      clientId: CLIENT_ID,
      retryCount: 77,
      traceInfo,
      callerContext: { context: 'clientIp:1.2.3.4', signature: Buffer.from('signed') },
    });
  });

  it.each([
    [0, 0],
    [0, 1],
    [0, -1],
    [7, 3],
    [8, 0],
    [0x7fff_ffff, -1],
    [-0x8000_0000, 0],
    [-1, -1],
  ])('writes the state id %i·2^32 + %i', (stateIdHigh, stateIdLow) => {
    const frame = callFrame(header({ stateId: 99 }), requestHeader, rename);
    const { header: spliced } = splice(frame, { stateIdPresent: true, stateIdHigh, stateIdLow });
    expect(BigInt(spliced['stateId'] as number)).toBe((BigInt(stateIdHigh) << 32n) | BigInt(stateIdLow >>> 0));
  });

  it('replaces either path or both, in either order, across a change of length bytes', () => {
    const long = Buffer.from(`xx/${'long'.repeat(50)}`);
    const first = { path: long, pathFrom: 2, pathTo: long.length };
    const second = { path2: Buffer.from('/new'), path2From: 0, path2To: 4 };
    const reversed = Buffer.concat([delimitedField(2, '/c'), delimitedField(9, 'keep'), delimitedField(1, '/a/b')]);
    for (const message of [rename, reversed]) {
      const frame = callFrame(header({}), requestHeader, message);
      expect(splice(frame, first).message).toEqual({ src: long.toString('utf8', 2), dst: '/c' });
      expect(splice(frame, second).message).toEqual({ src: '/a/b', dst: '/new' });
      expect(splice(frame, { ...first, ...second }).message).toEqual({ src: long.toString('utf8', 2), dst: '/new' });
    }
    expect(splice(callFrame(header({}), requestHeader, reversed), first).bytes.includes('keep')).toBe(true);
    const back = callFrame(header({}), requestHeader, encode(RENAME, { src: long.toString('utf8', 2), dst: '' }));
    expect(splice(back, second).message['dst']).toBe('/new');
    expect(splice(back, { path: Buffer.alloc(0), pathFrom: 0, pathTo: 0 }).message).toEqual({ src: '', dst: '' });
  });

  it('drops bytes behind the message and adds no path that is not there', () => {
    const frame = Buffer.concat([
      callFrame(header({}), requestHeader, Buffer.from('1800', 'hex')),
      Buffer.from('junk'),
    ]);
    const { scan, buffer, end } = scanAll(frame, 1, 2);
    const change = Object.assign(new RequestSplice(), { path: Buffer.from('/x'), pathTo: 2 });
    const out = Buffer.alloc(spliceBound(scan, frame.length, change));
    const next = spliceRequest(out, 0, buffer, SHIFT, end, scan, change);
    expect(out.toString('hex', next - 3, next)).toBe('021800');
  });

  it('of 05 what the Java router sends, but with our tag and the client’s id', () => {
    const { scan, buffer, end } = scanAll(vector('05-mkdirs-request').subarray(4), 1);
    const path = Buffer.from('/dest/x');
    const java = vector('23-router-to-namenode-mkdirs-request');
    const theirs = scanAll(java.subarray(4), 1);
    const request = Object.assign(new RequestSplice(), {
      tag: 0,
      context: java,
      contextStart: 4 + theirs.scan.contextStart + 2,
      contextEnd: 4 + theirs.scan.contextEnd,
      path,
      pathTo: path.length,
      stateIdPresent: true,
      stateIdHigh: -0x8000_0000,
    });
    const out = Buffer.alloc(1000);
    const next = spliceRequest(out, 0, buffer, SHIFT, end, scan, request);
    const ours = headerOf(out.subarray(4, next));
    expect(ours).toEqual({ ...headerOf(java.subarray(4)), callId: 6, clientId: CLIENT_ID });
  });
});

function headerOf(frame: Buffer) {
  return decodePlain(HEADER, splitFrame(frame)[0]!);
}

function delimitedField(field: number, text: string): Buffer {
  return Buffer.concat([Buffer.from([(field << 3) | 2]), delimited(Buffer.from(text))]);
}

describe('caller context', () => {
  const write = (prefix: ContextPrefix, own: string | null, clientId = CLIENT_ID, callId = 100) => {
    const type = messageType('hadoop.common.RPCCallerContextProto');
    const original = own === null ? Buffer.alloc(0) : encode(type, { context: own, signature: Buffer.from('sig') });
    const bound = callerContextBound(prefix, original.length);
    const out = Buffer.alloc(bound + 4, 0xee);
    const next = writeCallerContext(out, 2, prefix, clientId, 0, clientId.length, callId, original, 0, original.length);
    expect(next - 2).toBeLessThanOrEqual(bound);
    return out.toString('utf8', 2, next);
  };
  const base = 'clientIp:127.0.0.1,clientPort:42930,clientId:abb53d07b2ac4da79ed9b80d7118666a,clientCallId:100';

  it('has the form that NameNodes parse', () => {
    const prefix = new ContextPrefix('127.0.0.1', 42930);
    expect(write(prefix, null)).toBe(base);
    expect(write(prefix, null, Buffer.alloc(0))).toBe('clientIp:127.0.0.1,clientPort:42930,clientCallId:100');
    expect(write(prefix, 'CLI', Buffer.from('00ff', 'hex'))).toBe(
      'clientIp:127.0.0.1,clientPort:42930,clientId:00ff,clientCallId:100,CLI',
    );
    expect(write(prefix, null)).toBe(base);
    expect(write(prefix, '')).toBe(base);
    expect(write(prefix, null, Buffer.alloc(65))).not.toContain('clientId:');
    expect(write(new ContextPrefix('127.0.0.1', 42930, 'joe'), 'CLI')).toBe(`${base},realUser:joe,CLI`);
  });

  it.each([0, 9, 10, 99, 2147483647, -1, -2147483648])('writes call id %i', (callId) => {
    expect(write(new ContextPrefix('::1', 1), null, Buffer.alloc(0), callId)).toBe(
      `clientIp:::1,clientPort:1,clientCallId:${callId}`,
    );
  });

  it.each([
    ['CLI,clientIp:6.6.6.6,foo:bar,clientId:zz,baz', ',CLI,foo:bar,baz'],
    ['clientIp:6.6.6.6', ''],
    ['xclientIp:6.6.6.6,Id:1', ',Id:1'],
    ['a,realUser:root', ',a'],
    ['realUser:root,,b', ',,b'],
    ['foo:bar,,clientPort:1,', ',foo:bar,,'],
    ['clientCallId:1,clientCallId:2,x:y', ',x:y'],
    ['ClientIp:1.1.1.1,clientip:2', ',ClientIp:1.1.1.1,clientip:2'],
    ['clientIp :6.6.6.6', ',clientIp :6.6.6.6'],
  ])('of %s keeps %s', (own, kept) => {
    expect(write(new ContextPrefix('127.0.0.1', 42930), own)).toBe(base + kept);
  });

  it('drops forged keys under other separators too', () => {
    const prefix = new ContextPrefix('1.1.1.1', 1, 'joe', '##');
    const expected = 'clientIp:1.1.1.1##clientPort:1##clientCallId:100##realUser:joe##a##b,c';
    expect(write(prefix, 'a##x,clientIp:2##b,c', Buffer.alloc(0))).toBe(expected);
    // Here `clientId` and `evil` are two parts that the separator would join to a key.
    const odd = new ContextPrefix('1.1.1.1', 1, '', ':');
    expect(write(odd, 'clientId:evil', Buffer.alloc(0))).toBe('clientIp:1.1.1.1:clientPort:1:clientCallId:100');
    expect(write(odd, 'fine', Buffer.alloc(0))).toBe('clientIp:1.1.1.1:clientPort:1:clientCallId:100:fine');
    const letters = new ContextPrefix('1.1.1.1', 1, '', 'I');
    expect(write(letters, 'a', Buffer.alloc(0))).toMatch(/clientCallId:100Ia$/);
    expect(write(letters, 'clientId:evil', Buffer.alloc(0))).toMatch(/clientCallId:100$/);
  });

  it('is right in every call of a client, whatever id comes after which', () => {
    const prefix = new ContextPrefix('127.0.0.1', 42930, 'joe');
    const other = Buffer.alloc(16, 5);
    const ids = [-2, -1, 0, 1, 8, 9, 10, 11, 11, 98, 99, 100, 101, 5, 6, 0x7fff_fffe, 0x7fff_ffff];
    for (const [clientId, callId] of ids.flatMap((id) =>
      [CLIENT_ID, CLIENT_ID, other].map((c, i) => [c, id + i] as const),
    )) {
      if (callId > 0x7fff_ffff) continue;
      const frame = callFrame(header({ callId, clientId, retryCount: 9 }), requestHeader, rename);
      const { scan, buffer, end } = scanAll(frame, 1, 2);
      const change = Object.assign(new RequestSplice(), { prefix, callId, tag: 77 });
      const out = Buffer.alloc(spliceBound(scan, frame.length, change));
      const next = spliceRequest(out, 0, buffer, SHIFT, end, scan, change);
      const context = `clientIp:127.0.0.1,clientPort:42930,clientId:${clientId.toString('hex')},clientCallId:${callId},realUser:joe`;
      expect(headerOf(out.subarray(4, next))).toEqual({
        rpcKind: 'RPC_PROTOCOL_BUFFER',
        rpcOp: 'RPC_FINAL_PACKET',
        callId,
        clientId,
        retryCount: 77,
        callerContext: { context },
      });
    }
  });

  it('does not name a real user that would break the form', () => {
    for (const name of ['a,b', 'x,clientId:00', 'clientId:00']) {
      expect(write(new ContextPrefix('127.0.0.1', 42930, name), null)).toBe(base);
    }
  });

  it('decodes as the context of a spliced header', () => {
    const prefix = new ContextPrefix('127.0.0.1', 42930);
    const frame = callFrame(header({ callerContext: { context: 'CLI,clientIp:9' } }), requestHeader, rename);
    const { scan, buffer, end } = scanAll(frame, 1, 2);
    const context = Buffer.alloc(400);
    const change = new RequestSplice();
    change.context = context;
    change.contextEnd = writeCallerContext(
      context,
      0,
      prefix,
      buffer,
      SHIFT + scan.clientIdStart,
      SHIFT + scan.clientIdEnd,
      scan.callId,
      buffer,
      SHIFT + scan.contextStart,
      SHIFT + scan.contextEnd,
    );
    const out = Buffer.alloc(1000);
    const next = spliceRequest(out, 0, buffer, SHIFT, end, scan, change);
    expect(headerOf(out.subarray(4, next))).toMatchObject({
      callerContext: { context: `${base.replace('100', '7')},CLI` },
    });
  });

  it.each([0, 9, 10, 12345, 0x7fff_ffff, -1])('is the same when the splice writes it itself, call id %i', (callId) => {
    for (const clientId of [CLIENT_ID, Buffer.alloc(0), Buffer.alloc(64, 1), Buffer.alloc(65, 1)]) {
      const prefix = new ContextPrefix('127.0.0.1', 42930, 'joe');
      const frame = callFrame(header({ callId, clientId }), requestHeader, rename);
      const { scan, buffer, end } = scanAll(frame, 1, 2);
      const composed = new RequestSplice();
      composed.context = Buffer.from(write(prefix, null, clientId, callId));
      composed.contextEnd = composed.context.length;
      const direct = Object.assign(new RequestSplice(), {
        prefix: new ContextPrefix('127.0.0.1', 42930, 'joe'),
        callId,
      });
      const [one, two] = [composed, direct].map((change) => {
        const bound = spliceBound(scan, frame.length, change);
        const out = Buffer.alloc(bound);
        const next = spliceRequest(out, 0, buffer, SHIFT, end, scan, change);
        expect(next - 4).toBe(splicedBytes(buffer, SHIFT, end, scan, change));
        const [spliced, ...rest] = splitFrame(out.subarray(4, next));
        return { header: decodePlain(HEADER, spliced as Buffer), rest };
      });
      expect(two).toEqual(one);
    }
  });
});
