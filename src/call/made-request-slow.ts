import { CallFields } from '../handoff/link.ts';
import { CallScan, SCAN_OK, scanBody, scanHeader, scanRequestHeader } from '../wire/call-scan.ts';
import { encodeDelimited, messageType } from '../wire/messages.ts';
import { copyFields } from './call.ts';
import type { Method } from './method.ts';
import { PROTOCOLS } from './methods.ts';

/** A request that the router has made, in a buffer of its own, as if a client had sent it. */
export interface Request {
  readonly method: Method;
  /** One frame without its length prefix. */
  readonly frame: Buffer;
  readonly fields: CallFields;
}

/** RequestHeaderProto of the method, with its length. */
export function encodeRequestHeader({ name, protocol }: Method): Buffer {
  const { name: declaringClassProtocolName, version } = PROTOCOLS[protocol] as (typeof PROTOCOLS)[number];
  return encodeDelimited(messageType('hadoop.common.RequestHeaderProto'), {
    methodName: name,
    declaringClassProtocolName,
    clientProtocolVersion: version,
  });
}

/** `frame` with what an acceptor would have told of it. */
export function scanned(method: Method, frame: Buffer): Request {
  const scan = new CallScan();
  const code =
    scanHeader(frame, 0, frame.length, scan) ||
    scanRequestHeader(frame, 0, frame.length, scan) ||
    scanBody(frame, 0, scan, method.pathField, method.path2Field);
  if (code !== SCAN_OK) throw new Error(`a request for ${method.name} does not scan: ${code}`);
  const fields = new CallFields();
  copyFields(scan, fields);
  fields.method = method.index;
  return { method, frame, fields };
}
