/** What every reply goes through: scan of its header, our head in its place; and what protobufjs takes to decode and encode it. */

import protobuf from 'protobufjs';
import { SCAN_OK } from '../../src/wire/call-scan.ts';
import { messageType } from '../../src/wire/messages.ts';
import { SUCCESS_HEAD_BYTES, writeSuccessHead } from '../../src/wire/reply-head.ts';
import { ReplyScan, scanReply } from '../../src/wire/reply-scan.ts';
import { bytesField, CallId, encodeCall } from '../harness/frames.ts';
import { REPLY_BOUND_BYTES, RequestFields, readRequest, writeReply } from '../harness/namenode-replies.ts';
import { expect, type Subject } from './subject.ts';

const FRAME_PREFIX_BYTES = 4;
const CLIENT_ID = Buffer.from('00112233445566778899aabbccddeeff', 'hex');
const RETRY_COUNT = 0;

export function replySubjects(): Subject[] {
  const call = encodeCall('getFileInfo', bytesField(1, '/mnt/a'), CLIENT_ID, CallId.FIRST);
  const request = new RequestFields();
  readRequest(call, FRAME_PREFIX_BYTES, call.length, request);
  const reply = Buffer.alloc(REPLY_BOUND_BYTES);
  const start = FRAME_PREFIX_BYTES;
  const end = writeReply(reply, 0, call, request);
  const scan = new ReplyScan();
  expect(scanReply(reply, start, end, scan) === SCAN_OK, 'the reply cannot be scanned');
  const bodyBytes = end - scan.headerEnd;
  const out = Buffer.alloc(SUCCESS_HEAD_BYTES + CLIENT_ID.length);
  const writeHead = (callId: number): number =>
    writeSuccessHead(out, 0, bodyBytes, callId, CLIENT_ID, 0, CLIENT_ID.length, RETRY_COUNT);

  const headerType = messageType('hadoop.common.RpcResponseHeaderProto');
  const responseType = messageType('hadoop.hdfs.GetFileInfoResponseProto');
  const recode = (callId: number): Uint8Array => {
    const reader = protobuf.Reader.create(reply);
    reader.pos = start;
    reader.len = end;
    const header = headerType.decodeDelimited(reader) as unknown as Record<string, unknown>;
    const response = responseType.decodeDelimited(reader);
    header['callId'] = callId;
    header['clientId'] = CLIENT_ID;
    header['retryCount'] = RETRY_COUNT;
    const writer = protobuf.Writer.create();
    headerType.encode(header, writer.fork()).ldelim();
    responseType.encode(response, writer.fork()).ldelim();
    return writer.finish();
  };
  const settled = Buffer.concat([out.subarray(0, writeHead(77)), reply.subarray(scan.headerEnd, end)]);
  expect(settled.subarray(FRAME_PREFIX_BYTES).equals(recode(77)), 'protobufjs writes another reply');

  return [
    {
      name: 'reply scan',
      run: (times) => {
        let sum = 0;
        for (let i = 0; i < times; i++) sum += scanReply(reply, start, end, scan) + scan.headerEnd;
        return sum;
      },
    },
    {
      name: 'reply head',
      run: (times) => {
        let sum = 0;
        for (let i = 0; i < times; i++) sum += writeHead(i);
        return sum;
      },
    },
    {
      name: 'reply settle: scan and head',
      run: (times) => {
        let sum = 0;
        for (let i = 0; i < times; i++) sum += scanReply(reply, start, end, scan) + writeHead(i);
        return sum;
      },
      alternative: {
        name: 'protobufjs decodes and encodes header and message',
        run: (times) => {
          let sum = 0;
          for (let i = 0; i < times; i++) sum += recode(i).length;
          return sum;
        },
      },
    },
  ];
}
