import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { connect } from 'node:net';
import type { Plain } from '../../src/wire/messages.ts';
import { decodePlain, encodeDelimited, messageType, serviceType } from '../../src/wire/messages.ts';
import { WAIT_MS, within } from './wait.ts';

const PROTOCOL = 'org.apache.hadoop.hdfs.protocol.ClientProtocol';
const SERVICE = 'hadoop.hdfs.ClientNamenodeProtocol';
/** "hrpc", version 9, service class 0, auth method SIMPLE. */
const PREAMBLE = Buffer.from('hrpc\x09\x00\x00', 'latin1');
const CONTEXT_CALL_ID = -3;

export interface RawCall {
  readonly method: string;
  /** Fields of the request message. */
  readonly request: object;
  /** Taken from the client when left out. */
  readonly callId?: number;
  readonly retryCount?: number;
  readonly clientId?: Buffer;
  /** Further fields of RpcRequestHeaderProto. */
  readonly header?: object;
}

export interface RawReply {
  readonly callId: number;
  readonly status: string;
  readonly retryCount: number;
  readonly clientId: Buffer;
  /** '' on success. */
  readonly exception: string;
  readonly message: string;
  readonly header: Plain;
  /** The response message's bytes. */
  readonly body: Buffer;
}

/**
 * A client of the HDFS client protocol that says exactly what a test wants: call ids, client ids and retry counts are free, and replies
 * are handed out in the order of their arrival, whatever ids they carry.
 */
export class RawClient implements Disposable {
  readonly socket: Socket;
  readonly clientId: Buffer;
  /** Why the connection ended; '' while it is open. */
  ended = '';
  #nextCallId = 0;
  #pending: Buffer = Buffer.alloc(0);
  readonly #replies: RawReply[] = [];
  readonly #readers: { resolve(reply: RawReply): void; reject(error: Error): void }[] = [];

  private constructor(socket: Socket, clientId: Buffer) {
    this.socket = socket;
    this.clientId = clientId;
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('error', (error) => this.#end(error.message));
    socket.on('close', () => this.#end('closed by the server'));
  }

  static async connect(
    server: { readonly host: string; readonly port: number },
    { user, realUser, clientId = randomBytes(16) }: { user?: string; realUser?: string; clientId?: Buffer } = {},
  ): Promise<RawClient> {
    const socket = connect({ host: server.host, port: server.port, noDelay: true });
    const client = new RawClient(socket, clientId);
    await within(once(socket, 'connect'), `connection to ${server.host}:${server.port}`);
    socket.write(PREAMBLE);
    const context = encodeDelimited(messageType('hadoop.common.IpcConnectionContextProto'), {
      protocol: PROTOCOL,
      userInfo: { effectiveUser: user, realUser },
    });
    client.#send(header({ callId: CONTEXT_CALL_ID, retryCount: -1, clientId }), context);
    return client;
  }

  /** Sends one call without waiting; its call id. */
  send(call: RawCall): number {
    const callId = call.callId ?? this.#nextCallId++;
    const method = serviceType(SERVICE).methods[call.method];
    if (method === undefined) throw new Error(`${SERVICE} has no method ${call.method}`);
    const methodHeader = encodeDelimited(messageType('hadoop.common.RequestHeaderProto'), {
      methodName: call.method,
      declaringClassProtocolName: PROTOCOL,
      clientProtocolVersion: 1,
    });
    this.#send(
      header({
        callId,
        retryCount: call.retryCount ?? 0,
        clientId: call.clientId ?? this.clientId,
        ...call.header,
      }),
      methodHeader,
      encodeDelimited(messageType(`hadoop.hdfs.${method.requestType}`), call.request),
    );
    return callId;
  }

  /** Sends bytes as they are: a frame with its length, or what is none. */
  sendBytes(bytes: Buffer): void {
    this.socket.write(bytes);
  }

  /** The next reply that arrives. Rejects when the connection has ended. */
  async receive(limitMs: number = WAIT_MS): Promise<RawReply> {
    const reply = this.#replies.shift();
    if (reply !== undefined) return reply;
    if (this.ended !== '') throw new Error(`no reply: ${this.ended}`);
    const next = new Promise<RawReply>((resolve, reject) => this.#readers.push({ resolve, reject }));
    return await within(next, 'a reply', limitMs);
  }

  /** Sends one call and takes the next reply, which must be its own. */
  async call(call: RawCall, limitMs: number = WAIT_MS): Promise<RawReply> {
    const callId = this.send(call);
    const reply = await this.receive(limitMs);
    if (reply.callId !== callId) throw new Error(`call ${callId} was answered with call id ${reply.callId}`);
    return reply;
  }

  /** As `call`; the response message, or an error with class and text of the server's. */
  async result(call: RawCall, limitMs: number = WAIT_MS): Promise<Plain> {
    const reply = await this.call(call, limitMs);
    if (reply.exception !== '') throw new Error(`${call.method}: ${reply.exception}: ${reply.message}`);
    return decodeResponse(call.method, reply.body);
  }

  /** Sends `count` calls, at most `depth` of them unanswered at any time; all must succeed. */
  async pipeline(count: number, depth: number, make: (index: number) => RawCall): Promise<void> {
    let sent = 0;
    for (let answered = 0; answered < count; answered++) {
      while (sent < count && sent - answered < depth) this.send(make(sent++));
      const reply = await this.receive(60_000);
      if (reply.status !== 'SUCCESS') throw new Error(`call ${reply.callId}: ${reply.exception}: ${reply.message}`);
    }
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }

  #send(...parts: Buffer[]): void {
    const frame = Buffer.concat([Buffer.alloc(4), ...parts]);
    frame.writeInt32BE(frame.length - 4, 0);
    this.socket.write(frame);
  }

  #take(chunk: Buffer): void {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    let at = 0;
    while (this.#pending.length - at >= 4) {
      const length = this.#pending.readInt32BE(at);
      if (this.#pending.length - at - 4 < length) break;
      const reply = decodeReply(this.#pending, at + 4, at + 4 + length);
      at += 4 + length;
      const reader = this.#readers.shift();
      if (reader === undefined) this.#replies.push(reply);
      else reader.resolve(reply);
    }
    this.#pending = this.#pending.subarray(at);
  }

  #end(why: string): void {
    if (this.ended !== '') return;
    this.ended = why;
    for (const { reject } of this.#readers.splice(0)) reject(new Error(`no reply: ${why}`));
  }
}

/** The response message of a method of the client protocol. */
export function decodeResponse(method: string, body: Buffer): Plain {
  const responseType = serviceType(SERVICE).methods[method]?.responseType;
  const [end, start] = delimited(body, 0);
  return decodePlain(messageType(`hadoop.hdfs.${responseType}`), body, start, end);
}

function header(fields: object): Buffer {
  return encodeDelimited(messageType('hadoop.common.RpcRequestHeaderProto'), {
    rpcKind: 'RPC_PROTOCOL_BUFFER',
    rpcOp: 'RPC_FINAL_PACKET',
    ...fields,
  });
}

/** A reply in buffer[start, end), without the length of its frame. */
export function decodeReply(buffer: Buffer, start: number, end: number): RawReply {
  const [headerEnd, headerStart] = delimited(buffer, start);
  const plain = decodePlain(messageType('hadoop.common.RpcResponseHeaderProto'), buffer, headerStart, headerEnd);
  return {
    callId: plain['callId'] as number,
    status: plain['status'] as string,
    retryCount: (plain['retryCount'] as number | undefined) ?? -1,
    clientId: Buffer.from((plain['clientId'] as Buffer | undefined) ?? []),
    exception: (plain['exceptionClassName'] as string | undefined) ?? '',
    message: ((plain['errorMsg'] as string | undefined) ?? '').split('\n')[0] ?? '',
    header: plain,
    body: Buffer.from(buffer.subarray(headerEnd, end)),
  };
}

/** End and start of the message that a varint length precedes at `at`. */
function delimited(buffer: Buffer, at: number): [end: number, start: number] {
  let length = 0;
  let start = at;
  for (let shift = 0; shift < 35; shift += 7) {
    const byte = buffer[start++] ?? 0;
    length += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) break;
  }
  return [start + length, start];
}
