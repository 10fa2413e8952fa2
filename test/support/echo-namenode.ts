import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';
import { createServer } from 'node:net';
import { METHODS, methodIndex, PROTOCOLS } from '../../src/call/methods.ts';
import { encodeDelimited, messageType, type Plain, readDelimited } from '../../src/wire/messages.ts';
import { WAIT_MS, within } from './wait.ts';

const PREAMBLE_BYTES = 7;
const REQUEST_HEADER = messageType('hadoop.common.RpcRequestHeaderProto');
const METHOD_HEADER = messageType('hadoop.common.RequestHeaderProto');
const RESPONSE_HEADER = messageType('hadoop.common.RpcResponseHeaderProto');
const CONTEXT = messageType('hadoop.common.IpcConnectionContextProto');

export interface EchoCall {
  readonly method: string;
  readonly user: string;
  /** Value of the method's path field, '' when it has none. */
  readonly path: string;
  readonly request: Plain;
  /** Number of the connection, from 1. */
  readonly connection: number;
}

/** Response message of a method; null: the call is never answered. What it throws is the text of an IOException. */
export type Answer = (call: EchoCall) => object | null;

/**
 * The least NameNode that a router can work with: a call is answered at once, or when `release` is called. getFileInfo tells what has
 * arrived: the path stands in `owner`, the name of this NameNode in `group`.
 */
export class EchoNameNode implements AsyncDisposable {
  readonly calls: EchoCall[] = [];
  /** Connections accepted so far. */
  connections = 0;
  /** By method; those without one fail. */
  readonly answers: Record<string, Answer> = {};
  readonly #name: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #held: (() => void)[] | null = null;
  #watchers: (() => void)[] = [];

  private constructor(name: string) {
    this.#name = name;
    this.#server = createServer({ noDelay: true }, (socket) => this.#accept(socket));
    this.answers = {
      getFileInfo: ({ path }) => ({ fs: directory(path, this.#name) }),
      getHAServiceState: () => ({ state: 'ACTIVE' }),
      versionRequest: () => ({ info: VERSION }),
      mkdirs: () => ({ result: true }),
    };
  }

  static async start(name = 'echo'): Promise<EchoNameNode> {
    const namenode = new EchoNameNode(name);
    namenode.#server.listen(0, '127.0.0.1');
    await once(namenode.#server, 'listening');
    return namenode;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Client calls from now on wait for `release`. Heartbeats go on. */
  hold(): void {
    this.#held ??= [];
  }

  get held(): number {
    return this.#held?.length ?? 0;
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = null;
    for (const answer of held) answer();
  }

  /** Calls of one method, in the order of their arrival. */
  callsOf(method: string): EchoCall[] {
    return this.calls.filter((call) => call.method === method);
  }

  /** Resolves when `test` is true; looked at whenever a call has arrived. */
  async until(test: () => boolean, what: string, limitMs: number = WAIT_MS): Promise<void> {
    if (test()) return;
    const seen = Promise.withResolvers<void>();
    const watch = (): void => {
      if (test()) seen.resolve();
    };
    this.#watchers.push(watch);
    await within(seen.promise, what, limitMs);
    this.#watchers = this.#watchers.filter((each) => each !== watch);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    const closed = once(this.#server, 'close');
    this.#server.close();
    await closed;
  }

  #accept(socket: Socket): void {
    const connection = ++this.connections;
    this.#sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => this.#sockets.delete(socket));
    let pending: Buffer = Buffer.alloc(0);
    let skip = PREAMBLE_BYTES;
    let user = '';
    socket.on('data', (chunk: Buffer) => {
      pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
      let at = 0;
      if (skip > 0) {
        if (pending.length < skip) return;
        at = skip;
        skip = 0;
      }
      while (pending.length - at >= 4) {
        const end = at + 4 + pending.readInt32BE(at);
        if (pending.length < end) break;
        const header = readDelimited(REQUEST_HEADER, pending, at + 4, end);
        const callId = header.message['callId'] as number;
        if (callId >= 0) this.#onCall(socket, connection, user, header.message, pending, header.next, end);
        else if (callId === -3) {
          const { userInfo } = readDelimited(CONTEXT, pending, header.next, end).message;
          user = (userInfo as Plain)['effectiveUser'] as string;
        }
        at = end;
      }
      pending = pending.subarray(at);
      for (const watch of this.#watchers) watch();
    });
  }

  #onCall(
    socket: Socket,
    connection: number,
    user: string,
    header: Plain,
    bytes: Buffer,
    at: number,
    end: number,
  ): void {
    const { message: names, next } = readDelimited(METHOD_HEADER, bytes, at, end);
    const name = names['methodName'] as string;
    const protocol = PROTOCOLS.findIndex((each) => each.name === names['declaringClassProtocolName']);
    const method = METHODS[methodIndex(protocol, name)];
    if (method === undefined) throw new Error(`no method ${name}`);
    const { callId, clientId, retryCount } = header;
    const ids = { callId, serverIpcVersionNum: 9, clientId, retryCount };
    let reply: Buffer;
    try {
      const type = messageType(method.request);
      const request = readDelimited(type, bytes, next, end).message;
      const field = type.fieldsById[method.pathField]?.name;
      const path = field === undefined ? '' : String(request[field]);
      const call: EchoCall = { method: name, user, path, request, connection };
      this.calls.push(call);
      const answer = this.answers[name];
      if (answer === undefined) throw new Error(`no answer to ${name}`);
      const body = answer(call);
      if (body === null) return;
      const response = encodeDelimited(messageType(method.response), body);
      reply = frame(encodeDelimited(RESPONSE_HEADER, { ...ids, status: 'SUCCESS' }), response);
    } catch (error) {
      const failure = { status: 'ERROR', exceptionClassName: 'java.io.IOException', errorMsg: String(error) };
      reply = frame(encodeDelimited(RESPONSE_HEADER, { ...ids, ...failure }));
    }
    const write = (): void => void socket.write(reply);
    if (this.#held === null || name === 'getHAServiceState' || name === 'versionRequest') write();
    else this.#held.push(write);
  }
}

/** HdfsFileStatusProto of a directory. */
export function directory(owner: string, group: string, name = ''): object {
  return {
    fileType: 'IS_DIR',
    path: Buffer.from(name),
    length: 0,
    permission: { perm: 0o755 },
    owner,
    group,
    modification_time: 1_000,
    access_time: 0,
    childrenNum: 0,
    fileId: 16_385,
  };
}

const VERSION = {
  buildVersion: '1',
  unused: 0,
  blockPoolID: 'BP-1',
  storageInfo: { layoutVersion: 1, namespceID: 1, clusterID: 'c', cTime: 0 },
  softwareVersion: '3.4.1',
};

function frame(...parts: Buffer[]): Buffer {
  const out = Buffer.concat([Buffer.alloc(4), ...parts]);
  out.writeInt32BE(out.length - 4, 0);
  return out;
}
