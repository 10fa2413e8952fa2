/**
 * Calls that the scan is not sure about. Cold: no client that is known to us sends them.
 *
 * The three messages of the frame are decoded whole and written again in the one form that the scan accepts: every field once and in
 * order, numbers in their shortest form, fields of embedded messages merged. Fields that our definitions do not know are kept (of the
 * request message; of the header nothing but its known fields goes to NameNodes anyway), except groups and fields whose wire type
 * contradicts the definition: a decoder ignores both.
 */
import protobuf from 'protobufjs';
import { decode, messageType } from './messages.ts';
import { ErrorDetail, type ErrorReply, NO_RETRY_COUNT, Status } from './reply-head.ts';
import {
  copyBytes,
  readVarint64,
  skipValueLoosely,
  VARINT_TRUNCATED,
  Wide,
  WireType,
  writeVarint32,
} from './varint.ts';

const CONNECTION_LEVEL_CALL_ID = -1;

/** The frame is no call. `error` is what the client gets; after a FATAL the connection is closed. */
export class RecodeFailure {
  readonly error: ErrorReply;

  constructor(error: ErrorReply) {
    this.error = error;
  }
}

interface DecodedHeader {
  readonly callId: number;
  readonly clientId: Buffer;
  readonly retryCount: number;
}

/**
 * The frame[start, end) (without its length prefix) in a form that scans as SCAN_OK, in a buffer of its own, without a length prefix. `requestTypeOf`
 * gives the full protobuf name of the request of a method, null for a method that is not known: its request is then kept as it is.
 */
export function recodeFrame(
  frame: Buffer,
  start: number,
  end: number,
  requestTypeOf: (protocol: string, method: string) => string | null,
): Buffer | RecodeFailure {
  const position = { at: start };
  let header: protobuf.Message;
  try {
    header = decodeDelimited(messageType('hadoop.common.RpcRequestHeaderProto'), frame, position, end);
    dropUnknown(header);
  } catch (error) {
    return new RecodeFailure({
      callId: CONNECTION_LEVEL_CALL_ID,
      status: Status.FATAL,
      detail: ErrorDetail.FATAL_DESERIALIZING_REQUEST,
      className: 'org.apache.hadoop.ipc.RpcServerException',
      message: `Error decoding RpcRequestHeaderProto: ${textOf(error)}`,
    });
  }

  try {
    const requestHeader = decodeDelimited(messageType('hadoop.common.RequestHeaderProto'), frame, position, end);
    const { methodName, declaringClassProtocolName } = requestHeader as unknown as Record<string, string>;
    const typeName = requestTypeOf(declaringClassProtocolName ?? '', methodName ?? '');
    const writer = protobuf.Writer.create();
    writeDelimited(writer, header);
    writeDelimited(writer, requestHeader);
    if (typeName === null) writer.bytes(takeDelimited(frame, position, end));
    else writeDelimited(writer, decodeDelimited(messageType(typeName), frame, position, end));
    return writer.finish() as Buffer;
  } catch (error) {
    const { callId, clientId, retryCount } = header as unknown as DecodedHeader;
    return new RecodeFailure({
      callId,
      status: Status.ERROR,
      detail: ErrorDetail.ERROR_APPLICATION,
      className: 'org.apache.hadoop.thirdparty.protobuf.InvalidProtocolBufferException',
      message: textOf(error),
      clientId: Buffer.from(clientId),
      retryCount: retryCount ?? NO_RETRY_COUNT,
    });
  }
}

interface Position {
  at: number;
}

const wide = new Wide();

/** The next delimited message, not decoded. */
function takeDelimited(frame: Buffer, position: Position, end: number): Buffer {
  const start = readVarint64(frame, position.at, end, wide);
  if (start === VARINT_TRUNCATED) throw new Error('the request ends before its message');
  if (start < 0 || wide.low < 0) throw new Error('the length of a message is not valid');
  if (start + wide.low > end)
    throw new Error(`a message of ${wide.low} bytes does not fit the ${end - start} bytes left`);
  position.at = start + wide.low;
  return frame.subarray(start, position.at);
}

function decodeDelimited(type: protobuf.Type, frame: Buffer, position: Position, end: number): protobuf.Message {
  const bytes = takeDelimited(frame, position, end);
  const message = decode(type, bytes);
  tidyUnknown(type, message);
  return message;
}

/**
 * Unknown fields in the form that the scan steps over: tag and length in their shortest form. Groups and fields that the scan would take
 * for a known one are dropped.
 */
function tidyUnknown(type: protobuf.Type, message: protobuf.Message): void {
  const { $unknowns: unknowns } = message;
  if (unknowns === undefined) return;
  const kept: Buffer[] = [];
  for (const raw of unknowns) {
    const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.length);
    const at = readVarint64(bytes, 0, bytes.length, wide);
    const tag = wide.low;
    const isGroup = (tag & 7) === WireType.GROUP_START || (tag & 7) === WireType.GROUP_END;
    if (at < 0 || isGroup || type.fieldsById[tag >>> 3] !== undefined) continue;
    // protobufjs steps over numbers of any length, Java refuses more than ten bytes.
    if (skipValueLoosely(bytes, at, bytes.length, tag) < 0) throw new Error(`field ${tag >>> 3} is not valid`);
    const out = Buffer.alloc(bytes.length);
    let next = writeVarint32(out, 0, tag);
    let from = at;
    if ((tag & 7) === WireType.BYTES) {
      from = readVarint64(bytes, at, bytes.length, wide);
      next = writeVarint32(out, next, wide.low);
    }
    kept.push(out.subarray(0, copyBytes(out, next, bytes, from, bytes.length)));
  }
  message.$unknowns = kept;
}

/** Of the header nothing unknown goes on, nor of what is embedded in it. */
function dropUnknown(header: protobuf.Message): void {
  const { traceInfo, callerContext } = header as unknown as Record<string, protobuf.Message | null | undefined>;
  for (const message of [header, traceInfo, callerContext]) {
    if (message?.$unknowns !== undefined) message.$unknowns = [];
  }
}

function writeDelimited(writer: protobuf.Writer, message: protobuf.Message): void {
  message.$type.encode(message, writer.fork()).ldelim();
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
