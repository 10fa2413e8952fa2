/** Random choices of a loader thread: the same seed gives the same choices. */

const STEP = 0x9e3779b9;
const UNIT = 2 ** -32;

/** sfc32: 128 bits of state, uniform 32-bit numbers. */
export class Random {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  /** `stream` tells apart the users of one seed, such as threads. */
  constructor(seed: number, stream: number) {
    this.#a = seed | 0;
    this.#b = Math.floor(seed * UNIT) | 0;
    this.#c = Math.imul(stream + 1, STEP);
    for (let i = 0; i < 16; i++) this.nextBits();
  }

  /** 0 … 2^32 - 1. */
  nextBits(): number {
    const bits = (this.#a + this.#b + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + bits;
    this.#c |= 0;
    return bits >>> 0;
  }

  /** 0 … 1, without 1. */
  nextShare(): number {
    return this.nextBits() * UNIT;
  }

  /** 0 … below - 1; `below` at most 2^31. */
  nextBelow(below: number): number {
    return (this.nextBits() * UNIT * below) | 0;
  }
}

/** Picks indexes in proportion to weights, in constant time (Vose's alias method). */
export class AliasTable {
  readonly size: number;
  /** Column i stands for i with this share, else for its alias. */
  readonly #shares: Float64Array;
  readonly #aliases: Uint32Array;

  /** Weights are at least 0, their sum is greater. */
  constructor(weights: ArrayLike<number>) {
    const size = weights.length;
    let sum = 0;
    for (let i = 0; i < size; i++) sum += weights[i]!;
    if (!(sum > 0)) throw new RangeError('weights must have a sum greater than 0');
    this.size = size;
    this.#shares = new Float64Array(size);
    this.#aliases = new Uint32Array(size);
    // One array holds both lists: columns with too little grow from the left, those with too much from the right.
    const lists = new Uint32Array(size);
    let small = 0;
    let large = size;
    for (let i = 0; i < size; i++) {
      this.#shares[i] = (weights[i]! * size) / sum;
      this.#aliases[i] = i;
      if (this.#shares[i]! < 1) lists[small++] = i;
      else lists[--large] = i;
    }
    while (small > 0 && large < size) {
      const needs = lists[--small]!;
      const gives = lists[large]!;
      this.#aliases[needs] = gives;
      this.#shares[gives] = this.#shares[gives]! + this.#shares[needs]! - 1;
      if (this.#shares[gives]! < 1) {
        large++;
        lists[small++] = gives;
      }
    }
    // What is left on either list has a whole column but for rounding.
    for (let i = 0; i < small; i++) this.#shares[lists[i]!] = 1;
    for (let i = large; i < size; i++) this.#shares[lists[i]!] = 1;
  }

  pick(random: Random): number {
    const column = random.nextBelow(this.size);
    return random.nextShare() < this.#shares[column]! ? column : this.#aliases[column]!;
  }
}

/** Weights 1/1^s, 1/2^s, 1/3^s …: the first is the most popular. */
export function zipfWeights(size: number, exponent: number): Float64Array {
  const weights = new Float64Array(size);
  for (let rank = 0; rank < size; rank++) weights[rank] = (rank + 1) ** -exponent;
  return weights;
}
