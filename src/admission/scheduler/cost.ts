import type { TimeWeights } from '../../shared/settings.ts';

const NS_PER_MS = 1e6;

/**
 * What a call costs its caller: 1, or with weights the ns of each part of its time multiplied by them, as Hadoop's WeightedTimeCostProvider
 * counts. A router knows nothing of a NameNode's locks: the whole time there counts as under the lock that the method takes, shared or exclusive.
 */
export class CallCosts {
  readonly #queue: number;
  readonly #read: number;
  readonly #write: number;
  readonly #weighted: boolean;

  constructor(weights: TimeWeights | null) {
    this.#weighted = weights !== null;
    this.#queue = weights?.queue ?? 0;
    this.#read = (weights?.processing ?? 0) + (weights?.lockShared ?? 0);
    this.#write = (weights?.processing ?? 0) + (weights?.lockExclusive ?? 0);
  }

  /** A whole number. */
  of(effect: 'read' | 'write', queueMs: number, processingMs: number): number {
    if (!this.#weighted) return 1;
    const weight = effect === 'write' ? this.#write : this.#read;
    return Math.trunc(queueMs * NS_PER_MS) * this.#queue + Math.trunc(processingMs * NS_PER_MS) * weight;
  }
}
