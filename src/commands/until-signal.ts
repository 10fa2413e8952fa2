/** Waits for SIGINT or SIGTERM. Until then both are kept from ending the process. */
export class SignalWait implements Disposable {
  readonly signalled: Promise<NodeJS.Signals>;
  readonly #onSignal: (signal: NodeJS.Signals) => void;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
    this.signalled = promise;
    this.#onSignal = resolve;
    process.on('SIGINT', this.#onSignal);
    process.on('SIGTERM', this.#onSignal);
  }

  [Symbol.dispose](): void {
    process.off('SIGINT', this.#onSignal);
    process.off('SIGTERM', this.#onSignal);
  }
}
