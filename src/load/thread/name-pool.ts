import type { Random } from './random.ts';

/** Names of one pool at most; those that are made beyond it stay in the namespace and are not changed any more. */
export const MAX_POOL_NAMES = 65_536;
/** The same for all pools of a thread, as long as each may have a few. */
export const MAX_POOLED_NAMES = 1 << 22;
const FIRST_NAMES = 8;

/** Names that each of so many pools may hold. */
export function limitPools(pools: number): number {
  return Math.max(FIRST_NAMES, Math.min(MAX_POOL_NAMES, Math.floor(MAX_POOLED_NAMES / pools)));
}

/**
 * Names that one user of this thread has made below one target and may change, each a group and a number (see `scratchPath`). A name that a call uses is
 * not in the pool until the reply puts it back: two calls never race for one name.
 */
export class NamePool {
  count = 0;
  /** Of the name that `take` took last. */
  takenGroup = 0;
  takenNumber = 0;
  readonly #limit: number;
  #groups = new Int32Array(FIRST_NAMES);
  #numbers = new Int32Array(FIRST_NAMES);

  constructor(limit: number) {
    this.#limit = limit;
  }

  put(group: number, number: number): void {
    if (this.count >= this.#limit) return;
    if (this.count === this.#groups.length) {
      this.#groups = grow(this.#groups);
      this.#numbers = grow(this.#numbers);
    }
    this.#groups[this.count] = group;
    this.#numbers[this.count++] = number;
  }

  /** Any of them; false: there is none. */
  take(random: Random): boolean {
    if (this.count === 0) return false;
    const at = random.nextBelow(this.count);
    this.takenGroup = this.#groups[at]!;
    this.takenNumber = this.#numbers[at]!;
    this.count--;
    this.#groups[at] = this.#groups[this.count]!;
    this.#numbers[at] = this.#numbers[this.count]!;
    return true;
  }
}

function grow(from: Int32Array): Int32Array<ArrayBuffer> {
  const grown = new Int32Array(from.length * 2);
  grown.set(from);
  return grown;
}
