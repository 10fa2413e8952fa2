import type { ByteBudget } from '../wire/frame.ts';
import type { ControlBlock } from './control-block.ts';

/**
 * The process-wide budget for partial frames, queued and retained requests and outboxes (`switchyard.memory.limit`). Counted in whole KiB
 * per claim, so `release` must be given the very number that was claimed.
 */
export class SharedBudget implements ByteBudget {
  readonly #block: ControlBlock;
  readonly #limitKib: number;

  constructor(block: ControlBlock, limitBytes: number) {
    this.#block = block;
    this.#limitKib = Math.max(1, Math.floor(limitBytes / 1024));
  }

  claim(bytes: number): boolean {
    return this.#block.claimKib((bytes + 1023) >>> 10, this.#limitKib);
  }

  release(bytes: number): void {
    this.#block.releaseKib((bytes + 1023) >>> 10);
  }
}
