/** How far a NameNode that is not active stays behind the journal. What is drawn depends on the seed and the number of edits alone. */
import type { Edit } from './journal.ts';
import type { ServiceTime } from './service-time.ts';
import { NO_SERVICE_TIME, sampleServiceMs, seededRandom, seedFor } from './service-time.ts';

export interface Lag {
  /** Nothing is applied. */
  readonly paused: boolean;
  /** The last so many transactions are not applied. */
  readonly lagTransactions: number;
  /** Up to so many more, drawn anew whenever the active writes an edit. */
  readonly randomTransactions: number;
  /** Age at which an edit is applied, drawn for each edit; those after it wait for it. */
  readonly lagTime: ServiceTime;
}

export const NO_LAG: Lag = { paused: false, lagTransactions: 0, randomTransactions: 0, lagTime: NO_SERVICE_TIME };

export class Tailing {
  #lag = NO_LAG;
  /** Transactions behind, with what was drawn for the last edit of the journal. */
  #behind = 0;
  /** Age that was drawn for the next edit to apply. */
  #ageMs = 0;
  /** Edits from before are as old as if they had been written then. */
  #startedMs = 0;
  // Two sources, for nobody knows in which order edits are written here and applied there.
  readonly #randomTransactions: () => number;
  readonly #randomAge: () => number;

  /** `names`: those of the NameNode. */
  constructor(seed: number, ...names: readonly string[]) {
    this.#randomTransactions = seededRandom(seedFor(seed, ...names, 'transactions'));
    this.#randomAge = seededRandom(seedFor(seed, ...names, 'age'));
  }

  get lag(): Lag {
    return this.#lag;
  }

  configure(lag: Lag): void {
    this.#lag = lag;
    this.onEdit();
    this.onApplied();
  }

  /** The NameNode has begun anew, and has to hear of all edits again. */
  restart(nowMs: number): void {
    this.#startedMs = nowMs;
    this.onApplied();
  }

  /** The active has written an edit. */
  onEdit(): void {
    const { lagTransactions, randomTransactions } = this.#lag;
    const more = randomTransactions === 0 ? 0 : Math.floor(this.#randomTransactions() * (randomTransactions + 1));
    this.#behind = lagTransactions + more;
  }

  /** This NameNode has applied one. */
  onApplied(): void {
    this.#ageMs = sampleServiceMs(this.#lag.lagTime, this.#randomAge);
  }

  /** Whether the next edit may be applied now; `lastTxId` is the journal's. */
  isVisible(edit: Edit, lastTxId: number, nowMs: number): boolean {
    return this.msUntilVisible(edit, lastTxId, nowMs) === 0;
  }

  /** After how many milliseconds that will be so, if nothing else happens; Infinity: something else has to happen. */
  msUntilVisible(edit: Edit, lastTxId: number, nowMs: number): number {
    if (this.#lag.paused || edit.txid > lastTxId - this.#behind) {
      return Number.POSITIVE_INFINITY;
    }
    return Math.max(0, Math.max(edit.timeMs, this.#startedMs) + this.#ageMs - nowMs);
  }
}
