/** As Java's metrics: averages are those of the last period. */
export const PERIOD_MS = 10_000;

/** Events and the time that they took together, since the start. */
export interface Sum {
  readonly count: number;
  readonly ms: number;
}

/** A period of one kind of event: how many there were, and their average time in ms; without any, that of the last one that had some. */
export interface Rate {
  readonly count: number;
  readonly averageMs: number;
}

const NONE: Rate = { count: 0, averageMs: 0 };

/** Makes averages of periods out of sums that only grow. */
export class Rates {
  readonly #sums: () => Iterable<readonly [string, Sum]>;
  readonly #before = new Map<string, Sum>();
  readonly #rates = new Map<string, Rate>();
  readonly #timer: NodeJS.Timeout;
  /** Length of a period. */
  readonly seconds: number;

  /** `sums`: by kind; kinds may be added later. */
  constructor(sums: () => Iterable<readonly [string, Sum]>, periodMs = PERIOD_MS) {
    this.#sums = sums;
    this.seconds = periodMs / 1000;
    this.endPeriod();
    this.#timer = setInterval(() => this.endPeriod(), periodMs);
    this.#timer.unref();
  }

  of(kind: string): Rate {
    return this.#rates.get(kind) ?? NONE;
  }

  endPeriod(): void {
    for (const [kind, { count, ms }] of this.#sums()) {
      const before = this.#before.get(kind) ?? { count: 0, ms: 0 };
      const calls = count - before.count;
      const last = this.of(kind).averageMs;
      this.#rates.set(kind, { count: calls, averageMs: calls > 0 ? (ms - before.ms) / calls : last });
      this.#before.set(kind, { count, ms });
    }
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
