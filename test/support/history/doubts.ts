import type { Doubt, History } from './history.ts';

/** What is in doubt while two NameNodes act as the active one, for an operation of that time. */
export const Level = {
  NOTHING: 0,
  /** Whether it saw what others had written, or, by a client without state, anything: the fenced one answers what nobody can compare. */
  OTHERS: 1,
  /** Also what its client had seen: the fenced one's state ids say that it has seen more. */
  ALL: 2,
} as const;

/** Tells for each operation, in the order of events, whether it overlaps a time of doubt. */
export class Doubts {
  readonly #history: History;
  readonly #waiting: Doubt[];
  /** By nameservice: the last event of those that have begun, of each level. */
  readonly #until: Float64Array;
  readonly #allUntil: Float64Array;

  constructor(history: History) {
    this.#history = history;
    this.#waiting = [...history.doubts];
    this.#until = new Float64Array(history.nameservices.length);
    this.#allUntil = new Float64Array(history.nameservices.length);
  }

  /** The event is the next one. */
  advance(event: number): void {
    for (let next = this.#waiting[0]; next !== undefined && next.from < event; next = this.#waiting[0]) {
      this.#waiting.shift();
      const { nameservice, to, countsUnwritten } = next;
      this.#until[nameservice] = Math.max(this.#until[nameservice]!, to);
      if (countsUnwritten) this.#allUntil[nameservice] = Math.max(this.#allUntil[nameservice]!, to);
    }
  }

  /** The Level of an operation that returns with this event, or goes on. */
  levelOf(row: number, nameservice: number): number {
    const invokedAt = this.#history.invokedAt[row]!;
    if (this.#allUntil[nameservice]! >= invokedAt) return Level.ALL;
    return this.#until[nameservice]! >= invokedAt ? Level.OTHERS : Level.NOTHING;
  }
}
