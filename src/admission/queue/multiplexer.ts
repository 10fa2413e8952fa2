/**
 * Whose turn it is, as Hadoop's WeightedRoundRobinMultiplexer has it: index 0 for weights[0] turns, then index 1 for weights[1], and after
 * the last index 0 again. A turn is used up even when there was nothing to take.
 */
export class WeightedRoundRobin {
  readonly #weights: readonly number[];
  #index = 0;
  #turnsLeft: number;

  /** Throws for a weight below 1: its index would be served for ever (as it is in Java), or never. */
  constructor(weights: readonly number[]) {
    for (const weight of weights) {
      if (!Number.isInteger(weight) || weight < 1) {
        throw new RangeError(`weights of a multiplexer are whole numbers from 1 on, not ${weights.join(',')}`);
      }
    }
    this.#weights = weights;
    this.#turnsLeft = weights[0] ?? 1;
  }

  /** The index that is served now; the next call may give another. */
  next(): number {
    const index = this.#index;
    if (--this.#turnsLeft === 0) {
      this.#index = index + 1 === this.#weights.length ? 0 : index + 1;
      this.#turnsLeft = this.#weights[this.#index] as number;
    }
    return index;
  }
}
