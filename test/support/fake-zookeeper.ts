import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { FrameReader } from '../../src/state-store/zookeeper/frame-reader.ts';
import { JuteReader, JuteWriter } from '../../src/state-store/zookeeper/jute.ts';
import { frameOf } from '../../src/state-store/zookeeper/protocol.ts';

/** A request as it came: the first one of a connection is the handshake, with operation 0. */
export interface FakeRequest {
  readonly connection: number;
  readonly xid: number;
  readonly operation: number;
  /** Stands after the header. */
  readonly reader: JuteReader;
}

/** What to send back; null: nothing. Sent as it is. */
export type FakeAnswer = (request: FakeRequest, socket: Socket) => Buffer | null;

/** A server that says what a test wants, right or wrong. */
export class FakeZooKeeper implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly requests: FakeRequest[] = [];
  accepted = 0;

  private constructor(answer: FakeAnswer) {
    this.#server = createServer((socket) => {
      const connection = ++this.accepted;
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => this.#sockets.delete(socket));
      const frames = new FrameReader();
      let isFirst = true;
      socket.on('data', (chunk) => {
        frames.push(chunk, (frame) => {
          const reader = new JuteReader(frame);
          const request: FakeRequest = isFirst
            ? { connection, xid: 0, operation: 0, reader }
            : { connection, xid: reader.int(), operation: reader.int(), reader };
          isFirst = false;
          this.requests.push(request);
          const bytes = answer(request, socket);
          if (bytes !== null) socket.write(bytes);
        });
      });
    });
  }

  static async start(answer: FakeAnswer): Promise<FakeZooKeeper> {
    const fake = new FakeZooKeeper(answer);
    const { promise, resolve } = Promise.withResolvers<void>();
    fake.#server.listen(0, '127.0.0.1', resolve);
    await promise;
    return fake;
  }

  get address(): { readonly host: string; readonly port: number } {
    return { host: '127.0.0.1', port: (this.#server.address() as AddressInfo).port };
  }

  /** Sends to every connection. */
  send(bytes: Buffer): void {
    for (const socket of this.#sockets) socket.write(bytes);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve());
    for (const socket of this.#sockets) socket.destroy();
    await promise;
  }
}

/** The answer to a handshake; time-out 0: the session has expired. */
export function session(timeoutMs: number, id: bigint): Buffer {
  return frameOf(new JuteWriter().int(0).int(timeoutMs).long(id).buffer(Buffer.alloc(16, 7)).bool(false).finish());
}

export function reply(xid: number, zxid: bigint, error: number, body: Uint8Array = Buffer.alloc(0)): Buffer {
  const header = new JuteWriter().int(xid).long(zxid).int(error).finish();
  return frameOf(Buffer.concat([header, body]));
}

/** The record of an answer to getData. */
export function nodeData(text: string): Buffer {
  return Buffer.concat([new JuteWriter().text(text).finish(), Buffer.alloc(68)]);
}
