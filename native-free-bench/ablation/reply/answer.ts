/**
 * In place of the partial reply: the response message of a SUCCESS is decoded whole, and header and message are encoded anew. Answers of
 * create and append, which the router changes, and errors stay as they are.
 */

import protobuf from 'protobufjs';
import { Answers as PartialAnswers } from '../../../src/call/answer.ts';
import type { Call } from '../../../src/call/call.ts';
import type { Client } from '../../../src/call/client.ts';
import type { Method } from '../../../src/call/method.ts';
import { METHODS } from '../../../src/call/methods.ts';
import { messageType } from '../../../src/wire/messages.ts';
import { IPC_VERSION, Status } from '../../../src/wire/reply-head.ts';
import type { ReplyScan } from '../../../src/wire/reply-scan.ts';
import { readVarint32, varint32Size, writeInt32 } from '../../../src/wire/varint.ts';

export * from '../../../src/call/answer.ts';

const HEADER = messageType('hadoop.common.RpcResponseHeaderProto');
/** Response message of each method, looked up when the method is first answered. */
const RESPONSES: (protobuf.Type | undefined)[] = new Array(METHODS.length);
const LENGTH_BYTES = 4;

export class Answers extends PartialAnswers {
  readonly #length = Buffer.alloc(LENGTH_BYTES);

  override passSuccess(call: Call, scan: ReplyScan, buffer: Buffer, start: number, end: number, owned: boolean): void {
    const bytes = readVarint32(buffer, scan.headerEnd, end);
    const at = scan.headerEnd + (bytes < 0 ? 0 : varint32Size(bytes));
    if (bytes < 0 || at + bytes > end) {
      super.passSuccess(call, scan, buffer, start, end, owned);
      return;
    }
    const message = buffer.subarray(at, at + bytes);
    const client = call.client as Client;
    const { fields } = call;
    let reply: Buffer;
    try {
      reply = recodeReply(call, message);
    } catch {
      // A client may know more fields than this decoder.
      super.passSuccess(call, scan, buffer, start, end, owned);
      return;
    }
    writeInt32(this.#length, 0, reply.length);
    const { connection, generation, link } = client;
    if (link.reply(connection, generation, fields.slot, 0, this.#length, 0, LENGTH_BYTES, reply, 0, reply.length)) {
      return;
    }
    // No room: it waits in line with the others.
    this.succeed(call, message);
  }
}

/** Header and response message, each with its length in front. Throws when the message cannot be decoded. */
function recodeReply(call: Call, message: Buffer): Buffer {
  const { fields, frame, start } = call;
  const type = responseOf(call.method as Method);
  const reader = protobuf.Reader.create(message);
  reader.discardUnknown = false;
  const response = type.decode(reader);
  const header = HEADER.create({
    callId: fields.callId,
    status: Status.SUCCESS,
    serverIpcVersionNum: IPC_VERSION,
    clientId: frame.subarray(start + fields.clientIdStart, start + fields.clientIdEnd),
    retryCount: fields.retryCount,
  });
  const writer = protobuf.Writer.create();
  HEADER.encode(header, writer.fork()).ldelim();
  type.encode(response, writer.fork()).ldelim();
  return writer.finish() as Buffer;
}

function responseOf(method: Method): protobuf.Type {
  let type = RESPONSES[method.index];
  if (type === undefined) {
    type = messageType(method.response);
    RESPONSES[method.index] = type;
  }
  return type;
}
