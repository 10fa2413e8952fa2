/** SIGINT and SIGTERM of a run: the first ends it early and lets it clean up, the second ends the process at once. */
export class Interrupt implements Disposable {
  readonly #controller = new AbortController();
  readonly #onSignal = () => this.#receive();

  constructor() {
    process.on('SIGINT', this.#onSignal);
    process.on('SIGTERM', this.#onSignal);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  [Symbol.dispose](): void {
    process.off('SIGINT', this.#onSignal);
    process.off('SIGTERM', this.#onSignal);
  }

  #receive(): void {
    if (this.signal.aborted) {
      process.stderr.write('\nended at once; `switchyard load clean` removes what is left behind\n', () =>
        process.exit(1),
      );
      return;
    }
    process.stderr.write(
      '\nending early and cleaning up; a second signal ends at once and leaves the directories behind\n',
    );
    this.#controller.abort();
  }
}
