import { copyFields } from '../call/call.ts';
import type { Method } from '../call/method.ts';
import { METHODS, methodIndex, PROTOCOLS } from '../call/methods.ts';
import { CallFields } from '../handoff/link.ts';
import { CallScan, SCAN_OK, scanBody, scanHeader, scanRequestHeader } from '../wire/call-scan.ts';
import { encode, encodeDelimited, messageType } from '../wire/messages.ts';

/** A request of the router itself, as if a client had sent it. */
export interface OwnRequest {
  readonly method: Method;
  /** One frame without its length prefix. */
  readonly frame: Buffer;
  readonly fields: CallFields;
}

/** A method of ClientProtocol. Made once for each worker. */
export function makeOwnRequest(name: string, message: object, clientId: Buffer): OwnRequest {
  const method = METHODS[methodIndex(0, name)] as Method;
  const { name: protocol, version } = PROTOCOLS[method.protocol] as (typeof PROTOCOLS)[number];
  const frame = Buffer.concat([
    encodeDelimited(messageType('hadoop.common.RpcRequestHeaderProto'), {
      rpcKind: 'RPC_PROTOCOL_BUFFER',
      rpcOp: 'RPC_FINAL_PACKET',
      callId: 0,
      clientId,
      retryCount: 0,
    }),
    encodeDelimited(messageType('hadoop.common.RequestHeaderProto'), {
      methodName: name,
      declaringClassProtocolName: protocol,
      clientProtocolVersion: version,
    }),
    delimited(encode(messageType(method.request), message)),
  ]);
  const scan = new CallScan();
  const code =
    scanHeader(frame, 0, frame.length, scan) ||
    scanRequestHeader(frame, 0, frame.length, scan) ||
    scanBody(frame, 0, scan, method.pathField, method.path2Field);
  if (code !== SCAN_OK) throw new Error(`a request for ${name} does not scan: ${code}`);
  const fields = new CallFields();
  copyFields(scan, fields);
  fields.method = method.index;
  return { method, frame, fields };
}

/** Messages shorter than 128 bytes. */
function delimited(message: Buffer): Buffer {
  return Buffer.concat([Buffer.of(message.length), message]);
}
