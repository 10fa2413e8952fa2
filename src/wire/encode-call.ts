import { writeVarint32, zigzag32 } from './varint.ts';

export interface CallToEncode {
  readonly protocol: string;
  readonly version: number;
  readonly method: string;
  readonly callId: number;
  readonly clientId: Buffer;
  /** Encoded request message, without a length prefix. */
  readonly body: Buffer;
  readonly retryCount?: number;
}

/**
 * One whole request frame, for the few calls that the data path makes itself (probe, parts of composed calls):
 * u32 length, delimited RpcRequestHeaderProto, delimited RequestHeaderProto, delimited request message.
 */
export function encodeCall(call: CallToEncode): Buffer {
  const room = 32 + call.clientId.length + call.method.length * 3 + call.protocol.length * 3;
  const head = Buffer.alloc(room);
  let headEnd = field(head, 0, 0x08, 2); // rpcKind = RPC_PROTOCOL_BUFFER
  headEnd = field(head, headEnd, 0x10, 0); // rpcOp = RPC_FINAL_PACKET
  headEnd = field(head, headEnd, 0x18, zigzag32(call.callId));
  headEnd = bytes(head, headEnd, 0x22, call.clientId);
  headEnd = field(head, headEnd, 0x28, zigzag32(call.retryCount ?? 0));
  const request = Buffer.alloc(room);
  let requestEnd = bytes(request, 0, 0x0a, Buffer.from(call.method));
  requestEnd = bytes(request, requestEnd, 0x12, Buffer.from(call.protocol));
  requestEnd = field(request, requestEnd, 0x18, call.version);

  const out = Buffer.alloc(4 + 3 * 5 + headEnd + requestEnd + call.body.length);
  let at = delimited(out, 4, head, headEnd);
  at = delimited(out, at, request, requestEnd);
  at = delimited(out, at, call.body, call.body.length);
  out.writeUInt32BE(at - 4, 0);
  return out.subarray(0, at);
}

function delimited(out: Buffer, at: number, from: Buffer, length: number): number {
  const next = writeVarint32(out, at, length);
  return next + from.copy(out, next, 0, length);
}

function field(out: Buffer, at: number, tag: number, value: number): number {
  out[at] = tag;
  return writeVarint32(out, at + 1, value);
}

function bytes(out: Buffer, at: number, tag: number, value: Buffer): number {
  out[at] = tag;
  const next = writeVarint32(out, at + 1, value.length);
  return next + value.copy(out, next);
}
