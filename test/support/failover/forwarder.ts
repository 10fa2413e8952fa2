import { connect, createServer, type Server, type Socket } from 'node:net';
import { nextEvent } from '../wait.ts';

/** A port of another loopback address that leads to the same port of 127.0.0.1: the place where a NameNode was before it moved. */
export class Forwarder implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(port: number) {
    this.#server = createServer({ noDelay: true }, (near) => {
      const far = connect({ host: '127.0.0.1', port, noDelay: true });
      for (const [socket, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(socket);
        socket.on('error', () => {});
        socket.on('close', () => {
          this.#sockets.delete(socket);
          other.destroy();
        });
        socket.pipe(other);
      }
    });
  }

  static async listen(host: string, port: number): Promise<Forwarder> {
    const forwarder = new Forwarder(port);
    forwarder.#server.listen(port, host);
    await nextEvent(forwarder.#server, 'listening', `a forwarder on ${host}:${port}`);
    return forwarder;
  }

  /** Connections are cut, new ones refused. */
  async [Symbol.asyncDispose](): Promise<void> {
    const closed = nextEvent(this.#server, 'close', 'the forwarder is closed');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}
