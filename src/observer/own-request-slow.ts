import { encodeRequestHeader, type Request, scanned } from '../call/made-request-slow.ts';
import type { Method } from '../call/method.ts';
import { METHODS, methodIndex } from '../call/methods.ts';
import { encodeDelimited, messageType } from '../wire/messages.ts';

/** A request of the router itself for a method of ClientProtocol. Made once for each worker. */
export function makeOwnRequest(name: string, message: object, clientId: Buffer): Request {
  const method = METHODS[methodIndex(0, name)] as Method;
  const header = encodeDelimited(messageType('hadoop.common.RpcRequestHeaderProto'), {
    rpcKind: 'RPC_PROTOCOL_BUFFER',
    rpcOp: 'RPC_FINAL_PACKET',
    callId: 0,
    clientId,
    retryCount: 0,
  });
  const body = encodeDelimited(messageType(method.request), message);
  return scanned(method, Buffer.concat([header, encodeRequestHeader(method), body]));
}
