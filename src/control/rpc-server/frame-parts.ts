import { MessageError, type Plain } from '../../wire/messages.ts';
import { textOf } from './fields.ts';

/** Longest varint of 32 bits. */
const VARINT_BYTES = 5;

/** '' when the header says how to read what follows it. */
export function headerProblem(header: Plain): string {
  const kind = textOf(header, 'rpcKind');
  if (header['rpcOp'] === undefined) {
    return 'IPC Server: No rpc op in rpcRequestHeader';
  }
  if (textOf(header, 'rpcOp') !== 'RPC_FINAL_PACKET') {
    return `IPC Server does not implement rpc header operation${textOf(header, 'rpcOp')}`;
  }
  if (header['rpcKind'] === undefined) {
    return 'IPC Server: No rpc kind in rpcRequestHeader';
  }
  return kind === 'RPC_PROTOCOL_BUFFER' ? '' : `Unknown rpc kind in rpc header ${kind}`;
}

/** Range of a message whose length stands before it as a varint. Throws MessageError when it does not end inside the frame. */
export function delimited(bytes: Buffer, start: number, end: number): { from: number; to: number } {
  let length = 0;
  for (let at = start; at < Math.min(end, start + VARINT_BYTES); at++) {
    const byte = bytes.readUInt8(at);
    length += (byte & 0x7f) * 2 ** (7 * (at - start));
    if (byte < 0x80) {
      if (at + 1 + length > end) {
        break;
      }
      return { from: at + 1, to: at + 1 + length };
    }
  }
  throw new MessageError('While parsing a protocol message, the input ended unexpectedly in the middle of a field.');
}

/** Text of a MessageError; anything else is thrown on. */
export function messageText(error: unknown): string {
  if (error instanceof MessageError) {
    return error.message;
  }
  throw error;
}
