import type protobuf from 'protobufjs';
import type { Plain } from '../../wire/messages.ts';

/** All protocols of NameNodes and routers have this version. */
export const PROTOCOL_VERSION = 1;

/** A method that a server answers, with the types of its messages. */
export interface RpcMethod {
  /** Full name, as in request headers. */
  readonly protocol: string;
  readonly name: string;
  readonly request: protobuf.Type;
  readonly response: protobuf.Type;
}

/** A call as it came out of its frame. */
export interface RpcCall<Method extends RpcMethod, Caller> {
  readonly method: Method;
  readonly request: Plain;
  /** Bytes of the request: what `request` leaves out, fields unknown to this build, is in them. */
  readonly message: Buffer;
  readonly caller: Caller;
  readonly realUser: string;
  /** Address of the connection's far end. */
  readonly machine: string;
  readonly clientPort: number;
  readonly clientId: Buffer;
  readonly callId: number;
  readonly retryCount: number;
  readonly callerContext: string;
  readonly callerSignature: string;
  /** Null when the header has none. */
  readonly stateId: bigint | null;
}
