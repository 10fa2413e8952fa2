import { connect, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { nextEvent } from './wait.ts';

const HOST = '127.0.0.1';
/** A connection to this machine that is not there after so long is held off by a full backlog. */
const FULL_AFTER_MS = 300;
/** The kernel may round the backlog of 1 up; beyond this something else is wrong. */
const MAX_FILL = 64;

/** A port on which connecting takes for ever: it listens, its backlog is full, and nobody accepts. */
export class DeafListener implements AsyncDisposable {
  readonly #worker: Worker;
  readonly #wake: Int32Array;
  readonly #fill: Socket[] = [];

  private constructor(port: number) {
    this.#wake = new Int32Array(new SharedArrayBuffer(4));
    this.#worker = new Worker(new URL('./deaf-listener-thread.ts', import.meta.url), {
      workerData: { host: HOST, port, wake: this.#wake },
    });
  }

  static async listen(port: number): Promise<DeafListener> {
    const listener = new DeafListener(port);
    await nextEvent(listener.#worker, 'message', `a deaf listener on port ${port}`);
    while (await listener.#connects(port)) {
      if (listener.#fill.length === MAX_FILL) throw new Error('the backlog of a listening socket does not fill');
    }
    return listener;
  }

  async #connects(port: number): Promise<boolean> {
    const socket = connect({ host: HOST, port });
    socket.on('error', () => {});
    this.#fill.push(socket);
    try {
      await nextEvent(socket, 'connect', 'a connection that fills the backlog', FULL_AFTER_MS);
      return true;
    } catch {
      return false;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#fill) socket.destroy();
    const ended = nextEvent(this.#worker, 'exit', 'the deaf listener ends');
    Atomics.store(this.#wake, 0, 1);
    Atomics.notify(this.#wake, 0);
    await ended;
  }
}
