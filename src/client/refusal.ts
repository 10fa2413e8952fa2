import { type CallScan, describeWhy } from '../wire/call-scan.ts';
import { CallId } from '../wire/handshake.ts';
import { ErrorDetail, encodeError, NO_RETRY_COUNT, Status } from '../wire/reply-head.ts';

/** Answers that a Java server gives while it reads a request: message alone, client id present and empty. Cold. */

export const RPC_SERVER_EXCEPTION = 'org.apache.hadoop.ipc.RpcServerException';
export const ACCESS_CONTROL = 'org.apache.hadoop.security.AccessControlException';
export const AUTHORIZATION = 'org.apache.hadoop.security.authorize.AuthorizationException';

export function fatal(
  callId: number,
  detail: number,
  className: string,
  message: string,
  retryCount: number = NO_RETRY_COUNT,
): Buffer {
  return encodeError({ callId, status: Status.FATAL, detail, className, message, retryCount });
}

export function badHeader(scan: CallScan): Buffer {
  return fatal(
    -1,
    ErrorDetail.FATAL_DESERIALIZING_REQUEST,
    RPC_SERVER_EXCEPTION,
    `Error decoding RpcRequestHeaderProto: ${describeWhy(scan.why)}`,
  );
}

export function invalidHeader(scan: CallScan, message: string): Buffer {
  return fatal(scan.callId, ErrorDetail.FATAL_INVALID_RPC_HEADER, RPC_SERVER_EXCEPTION, message, scan.retryCount);
}

export interface CallError {
  readonly className: string;
  readonly detail: number;
  readonly message: string;
}

export function errorTo(frame: Buffer, start: number, scan: CallScan, error: CallError): Buffer {
  return encodeError({
    callId: scan.callId,
    status: Status.ERROR,
    detail: error.detail,
    className: error.className,
    message: error.message,
    clientId: frame.subarray(start + scan.clientIdStart, start + scan.clientIdEnd),
    retryCount: scan.retryCount,
  });
}

export function unknownProtocol(name: string): CallError {
  return {
    className: 'org.apache.hadoop.ipc.RpcNoSuchProtocolException',
    detail: ErrorDetail.ERROR_NO_SUCH_PROTOCOL,
    message: `Unknown protocol: ${name}`,
  };
}

/** `connectionProtocol` is the one of the connection context, as in a Java server's text. */
export function unknownMethod(method: string, connectionProtocol: string): CallError {
  return {
    className: 'org.apache.hadoop.ipc.RpcNoSuchMethodException',
    detail: ErrorDetail.ERROR_NO_SUCH_METHOD,
    message: `Unknown method ${method} called on ${connectionProtocol} protocol.`,
  };
}

export function versionMismatch(protocol: string, client: number, server: number): CallError {
  return {
    className: 'org.apache.hadoop.ipc.RPC$VersionMismatch',
    detail: ErrorDetail.ERROR_RPC_VERSION_MISMATCH,
    message: `Protocol ${protocol} version mismatch. (client = ${client}, server = ${server})`,
  };
}

export function malformed(message: string): CallError {
  return {
    className: 'org.apache.hadoop.thirdparty.protobuf.InvalidProtocolBufferException',
    detail: ErrorDetail.ERROR_APPLICATION,
    message,
  };
}

/** Ends a call whose worker has died: it may or may not have been executed, and its ids are unchanged when the client tries again. */
export function workerDied(callId: number, retryCount: number): Buffer {
  return encodeError({
    callId,
    status: Status.ERROR,
    detail: ErrorDetail.ERROR_APPLICATION,
    className: 'org.apache.hadoop.ipc.RetriableException',
    message: 'The router lost the worker that carried this call; try again',
    retryCount,
  });
}

/** Answers the connection context: clients of several routers go to another one. A Java Router has no such limit, so no words for it. */
export function tooManyConnections(routerId: string, user: string, limit: number): Buffer {
  return fatal(
    CallId.CONNECTION_CONTEXT,
    ErrorDetail.ERROR_RPC_SERVER,
    'org.apache.hadoop.ipc.StandbyException',
    `Router ${routerId} is overloaded: ${user} has ${limit} connections to it, the limit`,
  );
}

/** Answers new calls while the router stops: clients of several routers go to another one. */
export function shuttingDown(routerId: string): CallError {
  return {
    className: 'org.apache.hadoop.ipc.StandbyException',
    detail: ErrorDetail.ERROR_APPLICATION,
    message: `Router ${routerId} is shutting down`,
  };
}
