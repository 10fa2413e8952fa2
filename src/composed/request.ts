import { createHash } from 'node:crypto';
import { type Call, copyFields } from '../call/call.ts';
import { encodeRequestHeader, type Request, scanned } from '../call/made-request-slow.ts';
import type { Method } from '../call/method.ts';
import { METHODS, methodIndex } from '../call/methods.ts';
import { CallFields } from '../handoff/link.ts';
import { encode, messageType } from '../wire/messages.ts';
import { writeVarint32 } from '../wire/varint.ts';

/** One request of a composed call; the same for all nameservices it goes to. */
export type { Request } from '../call/made-request-slow.ts';

const CLIENT_ID_BYTES = 16;

/** The method of a name in ClientProtocol. */
export function clientMethod(name: string): Method {
  const index = methodIndex(0, name);
  if (index < 0) throw new Error(`no method ${name} in the table`);
  return METHODS[index] as Method;
}

/** The client's request as it is. */
export function ownRequest(call: Call): Request {
  const fields = new CallFields();
  copyFields(call.fields, fields);
  return {
    method: call.method as Method,
    frame: Buffer.from(call.frame.subarray(call.start, call.end)),
    fields,
  };
}

/**
 * Another request in the name of the client's: its header (ids, caller context) with another method and message. Paths in `message` are the
 * client's own: where it is sent, the target's take their place, and in exceptions they come back.
 */
export function otherRequest(call: Call, method: Method, message: object): Request {
  return requestOf(call, method, encode(messageType(method.request), message));
}

/** As `otherRequest`, with the message encoded already. */
export function requestOf(call: Call, method: Method, body: Buffer): Request {
  const requestHeader = encodeRequestHeader(method);
  const headerEnd = call.fields.headerEnd;
  const frame = Buffer.allocUnsafe(headerEnd + requestHeader.length + 5 + body.length);
  call.frame.copy(frame, 0, call.start, call.start + headerEnd);
  requestHeader.copy(frame, headerEnd);
  const bodyStart = writeVarint32(frame, headerEnd + requestHeader.length, body.length);
  const end = bodyStart + body.copy(frame, bodyStart);
  return scanned(method, frame.subarray(0, end));
}

/**
 * The request under an id of its own: a NameNode that gets two requests of one client call would answer the second from its retry cache
 * with the result of the first. A retry of the client's call, through any router, derives the same id.
 */
export function withDerivedId(request: Request, ordinal: number, target: Buffer | null): Request {
  const { fields } = request;
  const { clientIdStart, clientIdEnd } = fields;
  if (clientIdEnd - clientIdStart !== CLIENT_ID_BYTES) return request;
  const hash = createHash('sha256').update(request.frame.subarray(clientIdStart, clientIdEnd));
  hash.update(`${ordinal}:${request.method.name}:`);
  if (target !== null) hash.update(target);
  const frame = Buffer.from(request.frame);
  hash.digest().copy(frame, clientIdStart, 0, CLIENT_ID_BYTES);
  return { method: request.method, frame, fields };
}
