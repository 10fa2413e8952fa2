/** What every call goes through: scan, context, splice; and what protobufjs takes for the same bytes. */

import protobuf from 'protobufjs';
import { METHODS } from '../../src/call/methods.ts';
import { Block } from '../../src/wire/block.ts';
import { CallScan, SCAN_OK, scanBody, scanHeader, scanRequestHeader } from '../../src/wire/call-scan.ts';
import { ContextPrefix, callerContextBound, writeCallerContext } from '../../src/wire/context.ts';
import { messageType } from '../../src/wire/messages.ts';
import { NameIndex } from '../../src/wire/name-index.ts';
import { RequestSplice, spliceBound, spliceRequest } from '../../src/wire/splice.ts';
import { bytesField, CallId, encodeCall } from '../harness/frames.ts';
import { expect, type Subject } from './subject.ts';

const FRAME_PREFIX_BYTES = 4;
const GET_FILE_INFO_PATH_FIELD = 1;
const CLIENT_ID = Buffer.from('00112233445566778899aabbccddeeff', 'hex');
const PATH = '/mnt/warehouse/orders/year=2026/month=11/part-m-0000001.orc';
const TARGET = '/warehouse-east/orders/year=2026/month=11/part-m-0000001.orc';

export function callSubjects(): Subject[] {
  const call = encodeCall('getFileInfo', bytesField(1, PATH), CLIENT_ID, CallId.FIRST);
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
    call.toString('latin1', start + scan.pathStart, start + scan.pathEnd) === PATH,
    'the scan does not find the path',
  );

  const prefix = new ContextPrefix('10.20.30.40', 45678);
  const context = Buffer.alloc(callerContextBound(prefix, 0));
  const writeContext = (): number =>
    writeCallerContext(context, 0, prefix, CLIENT_ID, 0, CLIENT_ID.length, scan.callId, call, 0, 0);
  const contextEnd = writeContext();
  expect(contextEnd > 0, 'the caller context is empty');
  const target = Buffer.from(TARGET);
  const splice = new RequestSplice();
  splice.tag = 123_456;
  splice.prefix = prefix;
  splice.callId = scan.callId;
  const replacing = new RequestSplice();
  Object.assign(replacing, splice, { path: target, pathTo: target.length });
  const out = Buffer.alloc(spliceBound(scan, call.length, replacing));
  const outBlock = new Block(out);
  const callBlock = new Block(call);
  const recoder = new CallRecoder(call, start, context.toString('latin1', 0, contextEnd));
  for (const [each, path] of [
    [splice, PATH],
    [replacing, TARGET],
  ] as const) {
    const end = spliceRequest(out, 0, call, start, call.length, scan, each, outBlock, callBlock);
    const spliced = new CallRecoder(out.subarray(0, end), FRAME_PREFIX_BYTES, '').decode();
    expect(spliced.request.src === path && spliced.header.retryCount === 123_456, 'the splice writes another call');
    expect(recoder.recode(123_456, path).length + 4 <= end, 'protobufjs writes more than the splice');
  }

  return [
    {
      name: 'call scan: header, method, path',
      run: (times) => {
        let sum = 0;
        for (let i = 0; i < times; i++) sum += scanCall();
        return sum;
      },
      alternative: {
        name: 'protobufjs decodes the three messages',
        run: (times) => {
          let sum = 0;
          for (let i = 0; i < times; i++) {
            const { header, requestHeader, request } = recoder.decode();
            sum += header.callId + requestHeader.methodName.length + request.src.length;
          }
          return sum;
        },
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
          sum += spliceRequest(out, 0, call, start, call.length, scan, splice, outBlock, callBlock);
        }
        return sum;
      },
      alternative: {
        name: 'protobufjs decodes and encodes the three messages',
        run: (times) => {
          let sum = 0;
          for (let i = 0; i < times; i++) sum += recoder.recode(i, PATH).length;
          return sum;
        },
      },
    },
    {
      name: 'call splice: tag, caller context, path',
      run: (times) => {
        let sum = 0;
        for (let i = 0; i < times; i++) {
          replacing.tag = i;
          sum += spliceRequest(out, 0, call, start, call.length, scan, replacing, outBlock, callBlock);
        }
        return sum;
      },
      alternative: {
        name: 'protobufjs decodes and encodes the three messages, with another path',
        run: (times) => {
          let sum = 0;
          for (let i = 0; i < times; i++) sum += recoder.recode(i, TARGET).length;
          return sum;
        },
      },
    },
  ];
}

interface DecodedCall {
  readonly header: { callId: number; retryCount: number; callerContext: { context: string } };
  readonly requestHeader: { methodName: string };
  readonly request: { src: string };
}

/** A getFileInfo call by way of protobufjs: decoded whole, changed, encoded. */
class CallRecoder {
  readonly #header = messageType('hadoop.common.RpcRequestHeaderProto');
  readonly #requestHeader = messageType('hadoop.common.RequestHeaderProto');
  readonly #request = messageType('hadoop.hdfs.GetFileInfoRequestProto');
  readonly #frame: Buffer;
  readonly #start: number;
  readonly #context: string;

  constructor(frame: Buffer, start: number, context: string) {
    this.#frame = frame;
    this.#start = start;
    this.#context = context;
  }

  decode(): DecodedCall {
    const reader = protobuf.Reader.create(this.#frame);
    reader.pos = this.#start;
    const header = this.#header.decodeDelimited(reader);
    const requestHeader = this.#requestHeader.decodeDelimited(reader);
    const request = this.#request.decodeDelimited(reader);
    return { header, requestHeader, request } as unknown as DecodedCall;
  }

  recode(retryCount: number, path: string): Uint8Array {
    const { header, requestHeader, request } = this.decode();
    header.retryCount = retryCount;
    header.callerContext = { context: this.#context };
    request.src = path;
    const writer = protobuf.Writer.create();
    this.#header.encode(header, writer.fork()).ldelim();
    this.#requestHeader.encode(requestHeader, writer.fork()).ldelim();
    this.#request.encode(request, writer.fork()).ldelim();
    return writer.finish();
  }
}
