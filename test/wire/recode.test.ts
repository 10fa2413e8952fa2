import { describe, expect, it } from 'vitest';
import { CallScan, SCAN_OK, scanBody, scanHeader, scanRequestHeader } from '../../src/wire/call-scan.ts';
import { decodePlain, encode, messageType, type Plain } from '../../src/wire/messages.ts';
import { RecodeFailure, recodeFrame } from '../../src/wire/recode.ts';
import { ErrorDetail, encodeError, Status } from '../../src/wire/reply-head.ts';
import { callFrame, delimited, splitFrame } from './vectors.ts';

const HEADER = messageType('hadoop.common.RpcRequestHeaderProto');
const REQUEST_HEADER = messageType('hadoop.common.RequestHeaderProto');
const MKDIRS = messageType('hadoop.hdfs.MkdirsRequestProto');

const header = encode(HEADER, { rpcKind: 2, rpcOp: 0, callId: 7, clientId: Buffer.from('id'), retryCount: 2 });
const requestHeader = encode(REQUEST_HEADER, {
  methodName: 'mkdirs',
  declaringClassProtocolName: 'P',
  clientProtocolVersion: 1,
});
const mkdirs = encode(MKDIRS, { src: '/a', masked: { perm: 0o755 }, createParent: true });

const typeOf = (protocol: string, method: string) =>
  protocol === 'P' && method === 'mkdirs' ? 'hadoop.hdfs.MkdirsRequestProto' : null;

const hex = (...pieces: string[]) => Buffer.from(pieces.join(''), 'hex');

/** Recodes, checks that the scan is sure of the result, and decodes it. */
function recode(frame: Buffer) {
  const padded = Buffer.concat([Buffer.alloc(9, 0xee), frame, Buffer.alloc(9, 0xee)]);
  const made = recodeFrame(padded, 9, 9 + frame.length, typeOf);
  if (made instanceof RecodeFailure) throw new Error(`not recoded: ${made.error.message}`);
  const scan = new CallScan();
  expect(scanHeader(made, 0, made.length, scan)).toBe(SCAN_OK);
  expect(scanRequestHeader(made, 0, made.length, scan)).toBe(SCAN_OK);
  expect(scanBody(made, 0, scan, 1, 0)).toBe(SCAN_OK);
  expect(scan.bodyEnd).toBe(made.length);
  const [head, request, message] = splitFrame(made);
  return {
    scan,
    path: made.toString('utf8', scan.pathStart, scan.pathEnd),
    header: decodePlain(HEADER, head!),
    requestHeader: decodePlain(REQUEST_HEADER, request!),
    message: message!,
  };
}

function failure(frame: Buffer) {
  const made = recodeFrame(frame, 0, frame.length, typeOf);
  if (!(made instanceof RecodeFailure)) throw new Error('recoded');
  return made.error;
}

describe('recodeFrame', () => {
  it('takes the last of a repeated path and of header fields', () => {
    const twice = Buffer.concat([mkdirs, hex('0a022f62')]);
    const { path, header: head } = recode(
      callFrame(Buffer.concat([header, hex('1810', '2801')]), requestHeader, twice),
    );
    expect(path).toBe('/b');
    expect(head).toMatchObject({ callId: 8, retryCount: -1, clientId: Buffer.from('id') });
  });

  it('merges embedded messages', () => {
    const contexts = hex('3a030a0141', '3a0312017a', '3a030a0142');
    const { header: head, message } = recode(
      callFrame(
        Buffer.concat([header, contexts]),
        requestHeader,
        Buffer.concat([mkdirs, hex('12001207', '08ed8380808000')]),
      ),
    );
    expect(head['callerContext']).toEqual({ context: 'B', signature: Buffer.from('z') });
    expect((decodePlain(MKDIRS, message)['masked'] as Plain)['perm']).toBe(0o755);
  });

  it('shortens numbers, also the lengths of the three messages', () => {
    const long = (bytes: Buffer) => Buffer.concat([Buffer.from([bytes.length | 0x80, 0]), bytes]);
    const body = hex('0a82002f61', '1203', '08ed03', '1881808080808080808000');
    const { path, message } = recode(Buffer.concat([long(header), long(requestHeader), long(body)]));
    expect(path).toBe('/a');
    expect(message).toEqual(mkdirs);
  });

  it('ignores groups and fields of another wire type, keeps unknown fields', () => {
    const odd = hex('0805', '9b0f08059c0f', 'fa0703616263', '1a0161');
    const { path, message } = recode(callFrame(header, requestHeader, Buffer.concat([mkdirs, odd])));
    expect(path).toBe('/a');
    expect(message).toEqual(Buffer.concat([mkdirs, hex('fa0703616263')]));
  });

  it('drops what it does not know of the header, enum values too', () => {
    const odd = hex('5203616263', '0809', '9b0f9c0f', '3a060a01411a0158', '32031a0173');
    const { header: head, scan } = recode(callFrame(Buffer.concat([header, odd]), requestHeader, mkdirs));
    expect(head).toEqual({
      rpcKind: 'RPC_PROTOCOL_BUFFER',
      rpcOp: 'RPC_FINAL_PACKET',
      callId: 7,
      clientId: Buffer.from('id'),
      retryCount: 2,
      callerContext: { context: 'A' },
      traceInfo: { spanContext: Buffer.from('s') },
    });
    expect(scan.rpcKind).toBe(2);
  });

  it('keeps the message of a method that is not known, and drops bytes behind it', () => {
    const request = encode(REQUEST_HEADER, {
      methodName: 'm',
      declaringClassProtocolName: 'P',
      clientProtocolVersion: 3,
    });
    const body = hex('1a00');
    const frame = Buffer.concat([callFrame(Buffer.concat([header, hex('1810')]), request, body), Buffer.from('junk')]);
    const { message, requestHeader: seen } = recode(frame);
    expect(message).toEqual(body);
    expect(seen).toMatchObject({ methodName: 'm', clientProtocolVersion: 3 });
  });

  it('answers a bad header with a FATAL that belongs to no call', () => {
    for (const bytes of [hex(''), hex('05'), hex('020800'), delimited(hex('1810')), hex('ffffffffffffffffffff01')]) {
      const error = failure(bytes);
      expect(error).toMatchObject({
        callId: -1,
        status: Status.FATAL,
        detail: ErrorDetail.FATAL_DESERIALIZING_REQUEST,
        className: 'org.apache.hadoop.ipc.RpcServerException',
      });
      expect(error.message).toMatch(/^Error decoding RpcRequestHeaderProto: ./);
      expect(encodeError(error).length).toBeGreaterThan(60);
    }
  });

  it.each([
    ['no request header', delimited(header)],
    ['a request header without a method', Buffer.concat([delimited(header), hex('00'), delimited(mkdirs)])],
    ['no message', Buffer.concat([delimited(header), delimited(requestHeader)])],
    ['a message that is cut off', callFrame(header, requestHeader, mkdirs).subarray(0, -1)],
    ['a message without its path', callFrame(header, requestHeader, hex('120308ed031801'))],
    ['a message of garbage', callFrame(header, requestHeader, hex('0affff'))],
    ['an embedded message of garbage', callFrame(header, requestHeader, hex('0a012f12020a051801'))],
  ])('answers %s with an error of the call', (_, frame) => {
    const error = failure(frame);
    expect(error).toMatchObject({
      callId: 7,
      status: Status.ERROR,
      detail: ErrorDetail.ERROR_APPLICATION,
      className: 'org.apache.hadoop.thirdparty.protobuf.InvalidProtocolBufferException',
      clientId: Buffer.from('id'),
      retryCount: 2,
    });
    expect(error.message).not.toBe('');
  });

  it('says -1 for the retry count of a call that has none', () => {
    const bare = encode(HEADER, { callId: 7, clientId: Buffer.alloc(0) });
    expect(failure(delimited(bare))).toMatchObject({ retryCount: -1, clientId: Buffer.alloc(0) });
  });
});
