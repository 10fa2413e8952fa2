import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { expect } from 'vitest';
import { type ConnectOptions, RpcClient } from '../../src/control/rpc-client.ts';
import { encodeDelimited, messageType, type Plain, readDelimited } from '../../src/wire/messages.ts';

export const CLIENT_PROTOCOL = 'org.apache.hadoop.hdfs.protocol.ClientProtocol';
/** Client id of the frames in unit/frames that begin with 02 to 18. */
export const CLIENT_ID: Buffer = Buffer.from('abb53d07b2ac4da79ed9b80d7118666a', 'hex');

export function success(request: Request, responseType: string, response: object): Buffer {
  const { callId, clientId, retryCount } = request.header;
  const header = { callId, clientId, retryCount, status: 'SUCCESS', serverIpcVersionNum: 9 };
  const headerBytes = encodeDelimited(messageType('hadoop.common.RpcResponseHeaderProto'), header);
  return framed([headerBytes, encodeDelimited(messageType(responseType), response)]);
}

export function framed(parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const prefix = Buffer.alloc(4);
  prefix.writeUInt32BE(body.length);
  return Buffer.concat([prefix, body]);
}

/** One frame of a client as the scripted server sees it. */
export interface Request {
  readonly frame: Buffer;
  readonly header: Plain;
  /** Name of the method, '' for what is not a call. */
  readonly method: string;
  /** Position of the message after the headers. */
  readonly bodyStart: number;
}

export function readRequest(frame: Buffer): Request {
  const { message: header, next } = readDelimited(messageType('hadoop.common.RpcRequestHeaderProto'), frame, 4);
  if ((header['callId'] as number) < 0) {
    return { frame, header, method: '', bodyStart: next };
  }
  const call = readDelimited(messageType('hadoop.common.RequestHeaderProto'), frame, next);
  return { frame, header, method: call.message['methodName'] as string, bodyStart: call.next };
}

export function bodyOf(request: Request, type: string): Plain {
  return readDelimited(messageType(type), request.frame, request.bodyStart).message;
}

export type Script = (request: Request, socket: Socket) => void;

/** A server that cuts what clients send into frames and leaves the answers to the script. */
export class ScriptedServer implements Disposable {
  readonly server: Server;
  readonly preambles: Buffer[] = [];
  readonly requests: Request[] = [];
  readonly #sockets: Set<Socket>;
  readonly #clients: RpcClient[] = [];

  private constructor(server: Server, sockets: Set<Socket>) {
    this.server = server;
    this.#sockets = sockets;
  }

  static async listen(script: Script): Promise<ScriptedServer> {
    const server = createServer();
    const sockets = new Set<Socket>();
    const scripted = new ScriptedServer(server, sockets);
    server.on('connection', (socket) => {
      sockets.add(socket);
      let bytes = Buffer.alloc(0);
      let greeted = false;
      socket.on('error', () => undefined);
      socket.on('data', (chunk) => {
        bytes = Buffer.concat([bytes, chunk]);
        if (!greeted && bytes.length >= 7) {
          greeted = true;
          scripted.preambles.push(bytes.subarray(0, 7));
          bytes = bytes.subarray(7);
        }
        while (greeted && bytes.length >= 4 && bytes.length >= 4 + bytes.readUInt32BE(0)) {
          const end = 4 + bytes.readUInt32BE(0);
          const request = readRequest(bytes.subarray(0, end));
          bytes = bytes.subarray(end);
          scripted.requests.push(request);
          script(request, socket);
        }
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return scripted;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** A client of it that is closed with it. */
  async connect(options: Partial<ConnectOptions> = {}): Promise<RpcClient> {
    const client = await RpcClient.connect({
      host: '127.0.0.1',
      port: this.port,
      user: 'alice',
      clientId: CLIENT_ID,
      ...options,
    });
    this.#clients.push(client);
    return client;
  }

  [Symbol.dispose](): void {
    for (const client of this.#clients) client.close();
    this.server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** What a promise was rejected with. */
export async function failure(promise: Promise<unknown>): Promise<Error> {
  return promise.then(
    () => expect.unreachable('the promise should have been rejected'),
    (error: unknown) => error as Error,
  );
}

/** An HdfsFileStatusProto of a directory. */
export function statusOf(name: string): object {
  return {
    fileType: 'IS_DIR',
    path: Buffer.from(name),
    length: 0,
    permission: { perm: 0o755 },
    owner: 'root',
    group: 'supergroup',
    modification_time: 1,
    access_time: 0,
  };
}
