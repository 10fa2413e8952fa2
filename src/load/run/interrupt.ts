const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** SIGINT, SIGTERM and SIGHUP of a run: the first ends it early and lets it clean up, the second ends the process at once. */
export class Interrupt implements Disposable {
  readonly #controller = new AbortController();
  readonly #onSignal = () => this.#receive();

  constructor() {
    for (const name of SIGNALS) process.on(name, this.#onSignal);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  [Symbol.dispose](): void {
    for (const name of SIGNALS) process.off(name, this.#onSignal);
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
