import { CallFields } from '../handoff/link.ts';
import { varint32Size, writeVarint32 } from '../wire/varint.ts';
import { type Call, copyFields, type RebuiltRequest } from './call.ts';

/** The call's request with another message in place of its own: headers byte for byte, no path offsets. */
export function rebuildRequest(call: Call, body: Buffer): RebuiltRequest {
  const fields = new CallFields();
  copyFields(call.fields, fields);
  const headBytes = fields.bodyStart - varint32Size(fields.bodyEnd - fields.bodyStart);
  const frame = Buffer.allocUnsafe(headBytes + 5 + body.length);
  call.frame.copy(frame, 0, call.start, call.start + headBytes);
  const bodyStart = writeVarint32(frame, headBytes, body.length);
  const bodyEnd = bodyStart + body.copy(frame, bodyStart);
  fields.bodyStart = bodyStart;
  fields.bodyEnd = bodyEnd;
  fields.pathStart = 0;
  fields.pathEnd = 0;
  fields.path2Start = 0;
  fields.path2End = 0;
  return { frame: frame.subarray(0, bodyEnd), fields };
}

/** The call's request as it is, in a buffer of its own. */
export function copyRequest(call: Call): RebuiltRequest {
  const fields = new CallFields();
  copyFields(call.fields, fields);
  return { frame: Buffer.from(call.frame.subarray(call.start, call.end)), fields };
}

/** Puts the rebuilt request in the place of the call's own, which `restoreRequest` brings back. */
export function replaceRequest(call: Call, body: Buffer): void {
  const rebuilt = rebuildRequest(call, body);
  const fields = new CallFields();
  copyFields(call.fields, fields);
  call.received ??= { frame: call.frame.subarray(call.start, call.end), fields };
  putRequest(call, rebuilt);
}

/** The request as the client sent it. */
export function restoreRequest(call: Call): void {
  if (call.received === null) return;
  putRequest(call, call.received);
  call.received = null;
}

function putRequest(call: Call, { frame, fields }: RebuiltRequest): void {
  copyFields(fields, call.fields);
  call.frame = frame;
  call.start = 0;
  call.end = frame.length;
}
