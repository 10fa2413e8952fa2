import { CallFields } from '../handoff/link.ts';
import { varint32Size, writeVarint32 } from '../wire/varint.ts';
import { type Call, copyFields } from './call.ts';

export interface RebuiltRequest {
  readonly frame: Buffer;
  readonly fields: CallFields;
}

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

/** Puts the rebuilt request in the place of the call's own. */
export function replaceRequest(call: Call, body: Buffer): void {
  const rebuilt = rebuildRequest(call, body);
  copyFields(rebuilt.fields, call.fields);
  call.frame = rebuilt.frame;
  call.start = 0;
  call.end = rebuilt.frame.length;
}
