import type { LoadConnection } from './connection.ts';

/** Connections being opened at once: more overrun the queue of a listening port. */
export const MAX_CONNECTING = 64;
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 2_000;

/**
 * Opens connections, a bounded number at once; those that failed again after a pause that doubles. A connection is in one place: `#waiting`,
 * being opened, or with a timer.
 */
export class Dialer {
  readonly #host: string;
  readonly #port: number;
  /** Where the first one got to: the others need no name resolution. */
  #address = '';
  readonly #waiting: LoadConnection[] = [];
  #opening = 0;
  readonly #timers = new Set<NodeJS.Timeout>();
  #isEnded = false;

  constructor(host: string, port: number) {
    this.#host = host;
    this.#port = port;
  }

  openAll(connections: readonly LoadConnection[]): void {
    for (let i = connections.length - 1; i >= 0; i--) this.#waiting.push(connections[i]!);
    this.#openNext();
  }

  onOpen(connection: LoadConnection): void {
    if (this.#address === '') this.#address = connection.remoteAddress;
    this.#opening--;
    this.#openNext();
  }

  /** `wasOpen` false: opening it failed. */
  reopen(connection: LoadConnection, wasOpen: boolean): void {
    if (!wasOpen) this.#opening--;
    if (this.#isEnded) return;
    const pauseMs = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(connection.failures++, 10));
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#waiting.push(connection);
      this.#openNext();
    }, pauseMs);
    this.#timers.add(timer);
    this.#openNext();
  }

  end(): void {
    this.#isEnded = true;
    this.#waiting.length = 0;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }

  #openNext(): void {
    const most = this.#address === '' ? 1 : MAX_CONNECTING;
    while (this.#opening < most) {
      const connection = this.#waiting.pop();
      if (connection === undefined) return;
      this.#opening++;
      connection.open(this.#address === '' ? this.#host : this.#address, this.#port);
    }
  }
}
