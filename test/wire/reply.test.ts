import { describe, expect, it } from 'vitest';
import { Block, equal16 } from '../../src/wire/block.ts';
import { SCAN_BAD, SCAN_OK } from '../../src/wire/call-scan.ts';
import { decodePlain, encode, encodeDelimited, messageType, type Plain } from '../../src/wire/messages.ts';
import { namespaceBound, writeWithNamespace } from '../../src/wire/namespace-field.ts';
import {
  ERROR_HEAD_BYTES,
  ErrorDetail,
  encodeError,
  Status,
  SUCCESS_HEAD_BYTES,
  shortenHead,
  writeErrorHead,
  writeSuccessHead,
} from '../../src/wire/reply-head.ts';
import { ReplyScan, scanReply } from '../../src/wire/reply-scan.ts';
import { delimited, framed, REPLIES, vector, withoutStateId } from './vectors.ts';

const RESPONSE_HEADER = messageType('hadoop.common.RpcResponseHeaderProto');
const SHIFT = 13;

function scanShifted(reply: Buffer) {
  const buffer = Buffer.concat([Buffer.alloc(SHIFT, 0xee), reply, Buffer.alloc(5, 0xee)]);
  const scan = new ReplyScan();
  const code = scanReply(buffer, SHIFT + 4, SHIFT + reply.length, scan);
  return { buffer, scan, code, end: SHIFT + reply.length };
}

const withCall = REPLIES.filter((name) => !name.startsWith('21') && !name.startsWith('30'));

describe('recorded replies', () => {
  it.each(withCall)('%s is read, and written again byte for byte', (name) => {
    const reply = vector(name);
    const { buffer, scan, code, end } = scanShifted(reply);
    expect(code).toBe(SCAN_OK);
    expect(scan.hasRetryCount).toBe(true);
    const out = Buffer.alloc(reply.length + 64, 0xee);
    let next: number;
    if (scan.status === Status.SUCCESS) {
      const bodyBytes = end - scan.headerEnd;
      const { callId, clientIdStart, clientIdEnd, retryCount } = scan;
      next = writeSuccessHead(out, 1, bodyBytes, callId, buffer, clientIdStart, clientIdEnd, retryCount);
      expect(next - 1).toBeLessThanOrEqual(SUCCESS_HEAD_BYTES + clientIdEnd - clientIdStart);
      next += buffer.copy(out, next, scan.headerEnd, end);
    } else {
      expect(scan.headerEnd).toBe(end);
      next = writeErrorHead(
        out,
        1,
        scan.status,
        scan.detail,
        buffer,
        scan.classStart,
        scan.classEnd,
        buffer,
        scan.messageStart,
        scan.messageEnd,
        scan.callId,
        buffer,
        scan.clientIdStart,
        scan.clientIdEnd,
        scan.retryCount,
      );
    }
    expect(out.toString('hex', 1, next)).toBe(withoutStateId(reply).toString('hex'));
  });

  it('04 and 06 carry their state ids', () => {
    expect(scanShifted(vector('04-getFileInfo-response')).scan).toMatchObject({
      callId: 5,
      status: Status.SUCCESS,
      hasStateId: true,
      stateIdHigh: 0,
      stateIdLow: 5,
      retryCount: 0,
    });
    expect(scanShifted(vector('06-mkdirs-response')).scan).toMatchObject({ callId: 6, stateIdLow: 6 });
  });

  it('12, 25 and 17 are what `encodeError` gives', () => {
    const status = Status.FATAL;
    const detail = ErrorDetail.FATAL_UNAUTHORIZED;
    const unknownAuth = { className: 'org.apache.hadoop.ipc.IpcException', message: 'Unknown auth protocol:5' };
    expect(encodeError({ callId: -1, status, detail, ...unknownAuth })).toEqual(
      withoutStateId(vector('12-fatal-unknown-auth')),
    );
    const notEnabled = {
      className: 'org.apache.hadoop.security.AccessControlException',
      message: 'KERBEROS authentication is not enabled.  Available:[TOKEN, SIMPLE]',
    };
    expect(encodeError({ callId: -33, status, detail, ...notEnabled })).toEqual(
      withoutStateId(vector('25-fatal-sasl-method-not-enabled')),
    );
    const noContext = {
      className: 'org.apache.hadoop.ipc.RpcServerException',
      message: 'Connection context not established',
    };
    expect(
      encodeError({ callId: 0, status, detail: ErrorDetail.FATAL_INVALID_RPC_HEADER, ...noContext, retryCount: 0 }),
    ).toEqual(withoutStateId(vector('17-fatal-no-context')));
  });
});

describe('reply scan', () => {
  const scanHeaderBytes = (hex: string) => scanShifted(framed(delimited(Buffer.from(hex, 'hex'))));

  it('reads as a decoder does: last field wins, unknown and mistyped fields are stepped over', () => {
    // Call id 7 then 8 (long form), status 0 then one that is not known; field 11, a call id as bytes, a group.
    const good = scanHeaderBytes(
      ['0807', '1000', '08888000', '100b', '5a02aabb', '0a0101', '9b0f08019c0f', '4003'].join(''),
    );
    expect(good.code).toBe(SCAN_OK);
    expect(good.scan).toMatchObject({ callId: 8, status: 0, retryCount: -2, hasStateId: false });
  });

  it.each([
    ['nothing', ''],
    ['no call id', '1000'],
    ['no status', '0801'],
    ['a status that is not known', '08011009'],
    ['a text that runs out', '080110012205'],
    ['field number 0', '080110000000'],
    ['a group without an end', '080110000b'],
    ['the end of a group without a group', '080110000c'],
    ['wire type 6', '080110006e'],
    ['a number of 11 bytes', '0880808080808080808080001000'],
  ])('refuses %s', (_, hex) => {
    expect(scanHeaderBytes(hex).code).toBe(SCAN_BAD);
  });

  it('refuses every prefix of a reply header', () => {
    const reply = vector('18-error-observer-no-stateid');
    for (let bytes = 0; bytes < reply.length - 4; bytes++) {
      const scan = new ReplyScan();
      expect(scanReply(reply, 4, 4 + bytes, scan)).toBe(SCAN_BAD);
    }
  });

  it('reads negative call ids, 64-bit state ids and federated state', () => {
    const header = encode(RESPONSE_HEADER, {
      callId: -33,
      status: 2,
      stateId: -(2n ** 63n),
      routerFederatedState: Buffer.from('fed'),
    });
    const { scan, buffer } = scanShifted(framed(delimited(header)));
    expect(scan).toMatchObject({ callId: -33, status: 2, stateIdHigh: -0x8000_0000, stateIdLow: 0, retryCount: -1 });
    expect(scan.hasRetryCount).toBe(false);
    expect(buffer.toString('utf8', scan.federatedStart, scan.federatedEnd)).toBe('fed');
  });
});

describe('reply heads', () => {
  it.each([0, -1, -33, 127, 128, 0x7fff_ffff])('of call id %i decode', (callId) => {
    const clientId = Buffer.alloc(200, 9);
    const out = Buffer.alloc(300);
    for (const retryCount of [-1, 0, 63, 64, 0x7fff_ffff, -0x8000_0000]) {
      const next = writeSuccessHead(out, 0, 1000, callId, clientId, 0, clientId.length, retryCount);
      expect(next).toBeLessThanOrEqual(SUCCESS_HEAD_BYTES + clientId.length);
      expect(out.readInt32BE(0)).toBe(next - 4 + 1000);
      expect(decodePlain(RESPONSE_HEADER, out, 6, next)).toEqual({
        callId,
        status: 'SUCCESS',
        serverIpcVersionNum: 9,
        clientId,
        retryCount,
      });
    }
  });

  it('of errors with long texts fit their bound', () => {
    const text = Buffer.alloc(70_000, 'x');
    const out = Buffer.alloc(2 * text.length + 100 + ERROR_HEAD_BYTES);
    const next = writeErrorHead(
      out,
      0,
      1,
      15,
      text,
      0,
      text.length,
      text,
      0,
      text.length,
      -1,
      text,
      0,
      16,
      -0x8000_0000,
    );
    expect(next).toBeLessThanOrEqual(ERROR_HEAD_BYTES + 2 * text.length + 16);
    expect(out.readInt32BE(0)).toBe(next - 4);
    const plain = decodePlain(RESPONSE_HEADER, out, 7, next);
    expect(plain).toMatchObject({ errorDetail: 'FATAL_UNAUTHORIZED', status: 'ERROR', callId: -1 });
    expect(plain['errorMsg']).toBe(text.toString());
  });

  it('leave errorDetail out when it is 0', () => {
    const error = encodeError({ callId: 1, status: Status.ERROR, detail: 0, className: 'c', message: 'é' });
    expect(decodePlain(RESPONSE_HEADER, error, 5)).toEqual({
      callId: 1,
      status: 'ERROR',
      serverIpcVersionNum: 9,
      exceptionClassName: 'c',
      errorMsg: 'é',
      clientId: Buffer.alloc(0),
      retryCount: -1,
    });
  });
});

describe('nameservice in file status', () => {
  const CREATE = messageType('hadoop.hdfs.CreateResponseProto');
  const APPEND = messageType('hadoop.hdfs.AppendResponseProto');
  const status = {
    fileType: 2,
    path: Buffer.from('f'),
    length: 0,
    permission: { perm: 0o644 },
    owner: 'o',
    group: 'g',
    modification_time: 1,
    access_time: 2,
  };

  const add = (body: Buffer, field: number, name = 'ns0') => {
    const buffer = Buffer.concat([Buffer.alloc(SHIFT, 0xee), body, Buffer.alloc(3, 0xee)]);
    const nameservice = Buffer.from(name);
    const bound = namespaceBound(body.length, nameservice.length);
    const out = Buffer.alloc(bound + 4, 0xee);
    const end = SHIFT + body.length;
    const next = writeWithNamespace(out, 2, buffer, SHIFT, end, field, nameservice);
    expect(next - 2).toBeLessThanOrEqual(bound);
    return out.subarray(2, next);
  };
  const undelimited = (bytes: Buffer) => bytes.subarray(bytes[0]! < 0x80 ? 1 : 2);

  it('is added to create and append', () => {
    for (const owner of ['o', 'o'.repeat(100), 'o'.repeat(60)]) {
      const fs = { ...status, owner };
      const created = decodePlain(CREATE, undelimited(add(encodeDelimited(CREATE, { fs }), 1)));
      expect(created['fs']).toMatchObject({ owner, group: 'g', namespace: 'ns0' });
      const appended = decodePlain(APPEND, undelimited(add(encodeDelimited(APPEND, { stat: fs }), 2, 'n'.repeat(130))));
      expect(appended['stat']).toMatchObject({ owner, namespace: 'n'.repeat(130) });
    }
    const named = decodePlain(
      CREATE,
      undelimited(add(encodeDelimited(CREATE, { fs: { ...status, namespace: 'old' } }), 1)),
    );
    expect((named['fs'] as Plain)['namespace']).toBe('ns0');
  });

  it('is not added where there is no file status, or to bytes that are no message', () => {
    const empty = encodeDelimited(APPEND, {});
    expect(add(empty, 2)).toEqual(empty);
    for (const hex of ['', '05', '020a05', '02ff', '030800 0b'.replace(' ', ''), '040a00000c']) {
      const bytes = Buffer.from(hex, 'hex');
      expect(add(bytes, 1)).toEqual(bytes);
    }
    const otherType = Buffer.from('020800', 'hex');
    expect(add(otherType, 1)).toEqual(otherType);
  });
});

describe('a usual SUCCESS whose head is shortened', () => {
  const CLIENT = Buffer.from('abb53d07b2ac4da79ed9b80d7118666a', 'hex');
  const BODY = delimited(Buffer.from('the message of the reply'));

  function replyOf(header: object, body = BODY) {
    const clean = {
      callId: 1,
      status: 0,
      serverIpcVersionNum: 9,
      clientId: CLIENT,
      retryCount: 0x7fff_ffff,
      ...header,
    };
    const reply = Buffer.concat([delimited(encode(RESPONSE_HEADER, clean)), body]);
    const block = new Block(Buffer.concat([Buffer.alloc(SHIFT, 0xee), reply, Buffer.alloc(5, 0xee)]));
    const scan = new ReplyScan();
    const end = SHIFT + reply.length;
    expect(scanReply(block.bytes, SHIFT, end, scan)).toBe(SCAN_OK);
    return { block, scan, end };
  }

  function shorten({ block, scan, end }: ReturnType<typeof replyOf>, retryCount: number): boolean {
    return shortenHead(block, SHIFT, scan.headerEnd, end, scan.clientIdEnd, retryCount);
  }

  it.each([0, 1, 127, 128, 16_383, 16_384, 2_097_151, 268_435_455, 268_435_456, 0x7fff_ffff])(
    'is what is written otherwise, call id %i',
    (callId) => {
      for (const retryCount of [0, -1, 1, 63, -64]) {
        for (const body of [BODY, delimited(Buffer.alloc(0)), delimited(Buffer.alloc(300, 7))]) {
          const reply = replyOf({ callId }, body);
          expect(reply.scan.usual).toBe(true);
          const wanted = Buffer.alloc(SUCCESS_HEAD_BYTES + CLIENT.length);
          const to = writeSuccessHead(wanted, 0, body.length, callId, CLIENT, 0, CLIENT.length, retryCount);
          expect(shorten(reply, retryCount)).toBe(true);
          const { bytes } = reply.block;
          expect(bytes.toString('hex', SHIFT, reply.end)).toBe(
            Buffer.concat([wanted.subarray(0, to), body]).toString('hex'),
          );
          expect(bytes.toString('hex', 0, SHIFT)).toBe('ee'.repeat(SHIFT));
          expect(bytes.toString('hex', reply.end)).toBe('ee'.repeat(5));
        }
      }
    },
  );

  it('stays as it is when the lengths are others', () => {
    const cases = [
      { reply: replyOf({ retryCount: 5 }), retryCount: 0 },
      { reply: replyOf({}), retryCount: 64 },
      { reply: replyOf({}), retryCount: -65 },
    ];
    for (const { reply, retryCount } of cases) {
      const before = Buffer.from(reply.block.bytes);
      expect(shorten(reply, retryCount)).toBe(false);
      expect(reply.block.bytes).toEqual(before);
    }
  });

  it('is not one with other fields, without a client id, or of another status', () => {
    expect(replyOf({ stateId: 7 }).scan.usual).toBe(false);
    expect(replyOf({ routerFederatedState: Buffer.alloc(2) }).scan.usual).toBe(false);
    expect(replyOf({ clientId: Buffer.alloc(0) }).scan.usual).toBe(false);
    expect(replyOf({ status: 1, exceptionClassName: 'E', errorMsg: '' }, Buffer.alloc(0)).scan.usual).toBe(false);
    const scan = replyOf({}).scan;
    const other = replyOf({ stateId: 7 });
    expect(scanReply(other.block.bytes, SHIFT, other.end, scan)).toBe(SCAN_OK);
    expect(scan.usual).toBe(false);
  });

  it('goes to the client whose id it carries', () => {
    const { block, scan } = replyOf({});
    const own = new Block(Buffer.concat([Buffer.alloc(3), CLIENT]));
    expect(equal16(block, scan.clientIdStart, own, 3)).toBe(true);
    for (let i = 0; i < 16; i++) {
      const other = new Block(Buffer.from(own.bytes));
      other.bytes[3 + i] = (other.bytes[3 + i] as number) ^ 0x80;
      expect(equal16(block, scan.clientIdStart, other, 3)).toBe(false);
    }
  });
});
