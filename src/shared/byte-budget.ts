import type { ByteBudget } from '../wire/frame.ts';
import type { ControlBlock } from './control-block.ts';
import { Counter, type Counters } from './counters.ts';

/**
 * The process-wide budget for partial frames, queued and retained requests and outboxes (`switchyard.memory.limit`). Counted in whole KiB
 * per claim, so `release` must be given the very number that was claimed. What one thread holds stands in its counters: see `reclaim`.
 */
export class SharedBudget implements ByteBudget {
  readonly #block: ControlBlock;
  readonly #counters: Counters;
  readonly #limitKib: number;

  constructor(block: ControlBlock, counters: Counters, limitBytes: number) {
    this.#block = block;
    this.#counters = counters;
    this.#limitKib = Math.max(1, Math.floor(limitBytes / 1024));
  }

  /** More than half of it is in use, by all threads together. */
  get isShort(): boolean {
    return this.#block.usedKib > this.#limitKib / 2;
  }

  claim(bytes: number): boolean {
    const kib = (bytes + 1023) >>> 10;
    if (!this.#block.claimKib(kib, this.#limitKib)) return false;
    this.#counters.add(Counter.budgetKib, kib);
    return true;
  }

  release(bytes: number): void {
    const kib = (bytes + 1023) >>> 10;
    this.#block.releaseKib(kib);
    this.#counters.add(Counter.budgetKib, -kib);
  }
}

/** Gives back what a thread held that has died; `counters` are its own. */
export function reclaim(block: ControlBlock, counters: Counters): void {
  const kib = counters.get(Counter.budgetKib);
  block.releaseKib(kib);
  counters.add(Counter.budgetKib, -kib);
}
