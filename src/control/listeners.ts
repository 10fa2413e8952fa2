import type { ToThread } from '../threads/messages.ts';

/** An acceptor's thread, as far as it is told to listen. */
export interface Listener {
  tell(message: ToThread): void;
}

/**
 * Where an acceptor is on its way to clients.
 *
 * - DOWN: its thread does not run, or has no worker to give calls to; leaves by `serve`
 * - WAITING: for the port to be known, or for another attempt
 * - ASKED: told to listen; leaves by `onListening` or `onFailed`
 * - LISTENING: until it dies
 */
const Step = { DOWN: 0, WAITING: 1, ASKED: 2, LISTENING: 3 } as const;

/** Which acceptors listen. The first of them gets the port, the others share it once it is known. */
export class Listeners {
  readonly #steps: Map<Listener, number>;
  readonly #first: Listener | undefined;
  readonly #wantedPort: number;
  readonly #all = Promise.withResolvers<number>();
  #port = 0;

  /** `port` is the configured one, 0 for any that is free. */
  constructor(acceptors: readonly Listener[], port: number) {
    this.#steps = new Map(acceptors.map((acceptor) => [acceptor, Step.DOWN]));
    this.#first = acceptors[0];
    this.#wantedPort = port;
  }

  /** Resolves with the port when all have listened at the same time; rejects by `fail`. */
  get all(): Promise<number> {
    return this.#all.promise;
  }

  /** The acceptor runs and has a worker: it may have clients. */
  serve(acceptor: Listener): void {
    if (this.#steps.get(acceptor) === Step.DOWN) this.#steps.set(acceptor, Step.WAITING);
    this.ask(acceptor);
  }

  /** Tells the acceptor to listen when it waits for that. */
  ask(acceptor: Listener): void {
    if (this.#steps.get(acceptor) !== Step.WAITING) return;
    if (this.#port === 0 && acceptor !== this.#first) return;
    this.#steps.set(acceptor, Step.ASKED);
    acceptor.tell({ kind: 'listen', port: this.#port === 0 ? this.#wantedPort : this.#port });
  }

  onListening(acceptor: Listener, port: number): void {
    this.#steps.set(acceptor, Step.LISTENING);
    this.#port = port;
    let listening = 0;
    for (const [each, step] of this.#steps) {
      if (step === Step.LISTENING) listening++;
      else this.ask(each);
    }
    if (listening === this.#steps.size) this.#all.resolve(port);
  }

  /** It could not; `ask` tries again. */
  onFailed(acceptor: Listener): void {
    this.#steps.set(acceptor, Step.WAITING);
  }

  onDeath(acceptor: Listener): void {
    this.#steps.set(acceptor, Step.DOWN);
  }

  fail(error: Error): void {
    this.#all.reject(error);
  }
}
