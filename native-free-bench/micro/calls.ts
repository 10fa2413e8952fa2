/** What every call goes through: scan, context, splice, reply scan and reply head; and what protobufjs takes for the same bytes. */

import { METHODS } from '../../src/call/methods.ts';
import { CallScan, SCAN_OK, scanBody, scanHeader, scanRequestHeader } from '../../src/wire/call-scan.ts';
import { ContextPrefix, callerContextBound, writeCallerContext } from '../../src/wire/context.ts';
import { messageType } from '../../src/wire/messages.ts';
import { NameIndex } from '../../src/wire/name-index.ts';
import { writeSuccessHead } from '../../src/wire/reply-head.ts';
import { ReplyScan, scanReply } from '../../src/wire/reply-scan.ts';
import { RequestSplice, spliceBound, spliceRequest } from '../../src/wire/splice.ts';
import { bytesField, CallId, encodeCall } from '../harness/frames.ts';
import { REPLY_BOUND_BYTES, RequestFields, readRequest, writeReply } from '../harness/namenode-replies.ts';
import { expect, type Subject } from './subject.ts';

const FRAME_PREFIX_BYTES = 4;
const GET_FILE_INFO_PATH_FIELD = 1;

export function callSubjects(): Subject[] {
  const clientId = Buffer.from('00112233445566778899aabbccddeeff', 'hex');
  const path = '/mnt/warehouse/orders/year=2026/month=11/part-m-0000001.orc';
  const call = encodeCall('getFileInfo', bytesField(1, path), clientId, CallId.FIRST);
  const start = FRAME_PREFIX_BYTES;
  const names = new NameIndex(METHODS.map((method) => method.name));
  const scan = new CallScan();
  const scanCall = (): number => {
    if (scanHeader(call, start, call.length, scan) !== SCAN_OK) return -1;
    if (scanRequestHeader(call, start, call.length, scan) !== SCAN_OK) return -1;
    const method = names.find(call, start + scan.methodStart, start + scan.methodEnd);
    return scanBody(call, start, scan, GET_FILE_INFO_PATH_FIELD, 0) === SCAN_OK ? method : -1;
  };
  expect(METHODS[scanCall()]?.name === 'getFileInfo', 'the scan does not find the method');
  expect(
    call.toString('latin1', start + scan.pathStart, start + scan.pathEnd) === path,
    'the scan does not find the path',
  );

  const prefix = new ContextPrefix('10.20.30.40', 45678);
  const context = Buffer.alloc(callerContextBound(prefix, 0));
  const writeContext = (): number =>
    writeCallerContext(context, 0, prefix, clientId, 0, clientId.length, scan.callId, call, 0, 0);
  const contextEnd = writeContext();
  expect(contextEnd > 0, 'the caller context is empty');
  const target = Buffer.from('/warehouse-east/orders/year=2026/month=11/part-m-0000001.orc');
  const splice = new RequestSplice();
  splice.tag = 123_456;
  splice.context = context;
  splice.contextEnd = contextEnd;
  const replacing = new RequestSplice();
  Object.assign(replacing, splice, { path: target, pathTo: target.length });
  const out = Buffer.alloc(spliceBound(scan, call.length, replacing));
  expect(spliceRequest(out, 0, call, start, call.length, scan, splice) > call.length, 'the splice adds nothing');

  const request = new RequestFields();
  readRequest(call, start, call.length, request);
  const reply = Buffer.alloc(REPLY_BOUND_BYTES);
  const replyEnd = writeReply(reply, 0, call, request);
  const replyScan = new ReplyScan();
  expect(scanReply(reply, start, replyEnd, replyScan) === SCAN_OK, 'the reply cannot be scanned');
  const bodyBytes = replyEnd - replyScan.headerEnd;

  return [
    {
      name: 'call scan: header, method, path',
      run: (times) => {
        let sum = 0;
        for (let i = 0; i < times; i++) sum += scanCall();
        return sum;
      },
    },
    {
      name: 'caller context of the call',
      run: (times) => {
        let sum = 0;
        for (let i = 0; i < times; i++) sum += writeContext();
        return sum;
      },
    },
    {
      name: 'call splice: tag and caller context',
      run: (times) => {
        let sum = 0;
        for (let i = 0; i < times; i++) {
          splice.tag = i;
          sum += spliceRequest(out, 0, call, start, call.length, scan, splice);
        }
        return sum;
      },
    },
    {
      name: 'call splice: tag, caller context, path',
      run: (times) => {
        let sum = 0;
        for (let i = 0; i < times; i++) {
          replacing.tag = i;
          sum += spliceRequest(out, 0, call, start, call.length, scan, replacing);
        }
        return sum;
      },
    },
    {
      name: 'reply scan',
      run: (times) => {
        let sum = 0;
        for (let i = 0; i < times; i++) sum += scanReply(reply, start, replyEnd, replyScan) + replyScan.headerEnd;
        return sum;
      },
    },
    {
      name: 'reply head',
      run: (times) => {
        let sum = 0;
        for (let i = 0; i < times; i++) sum += writeSuccessHead(out, 0, bodyBytes, i, clientId, 0, clientId.length, 0);
        return sum;
      },
    },
    protobufSubject(call, start),
  ];
}

/** The three messages of the same call, decoded whole. */
function protobufSubject(call: Buffer, start: number): Subject {
  const header = messageType('hadoop.common.RpcRequestHeaderProto');
  const requestHeader = messageType('hadoop.common.RequestHeaderProto');
  const request = messageType('hadoop.hdfs.GetFileInfoRequestProto');
  // Lengths below 128 take one byte.
  const headerAt = start + 1;
  const requestHeaderAt = headerAt + (call[start] as number) + 1;
  const requestAt = requestHeaderAt + (call[requestHeaderAt - 1] as number) + 1;
  const parts: [number, number][] = [
    [headerAt, requestHeaderAt - 1],
    [requestHeaderAt, requestAt - 1],
    [requestAt, call.length],
  ];
  const views = parts.map(([from, to]) => call.subarray(from, to)) as [Buffer, Buffer, Buffer];
  const decoded = requestHeader.decode(views[1]) as unknown as { methodName: string };
  expect(decoded.methodName === 'getFileInfo', 'protobufjs does not find the method');
  return {
    name: 'for comparison: protobufjs decodes the three messages',
    run: (times) => {
      let sum = 0;
      for (let i = 0; i < times; i++) {
        const first = header.decode(views[0]) as unknown as { callId: number };
        const second = requestHeader.decode(views[1]) as unknown as { methodName: string };
        const third = request.decode(views[2]) as unknown as { src: string };
        sum += first.callId + second.methodName.length + third.src.length;
      }
      return sum;
    },
  };
}
