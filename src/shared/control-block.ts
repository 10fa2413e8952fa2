/**
 * The control block: one SharedArrayBuffer of Int32 words that every thread of the process sees.
 *
 *   [0 … HEADER)                       process-wide words, each with a single writer (named below)
 *   [HEADER … +nameservices)           active NameNode of each nameservice, index into its list or UNKNOWN; any worker, compare-exchange
 *   [… +nameservices × MAX_NAMENODES)  HA state last proved for each NameNode (NameNodeState); any thread, last writer wins
 *
 * Allowed race: two workers may disagree for a moment about the active NameNode; the loser's call is answered with StandbyException by
 * the NameNode and moves on.
 */
export const MAX_NAMENODES = 16;
export const UNKNOWN = -1;

const Word = {
  /** 1 while the process drains; writer: main. */
  DRAINING: 0,
  /** Budget in use, KiB; any thread, atomic add. */
  BUDGET_KIB: 1,
  HEADER: 16,
} as const;

export const NameNodeState = { UNKNOWN: 0, ACTIVE: 1, STANDBY: 2, OBSERVER: 3, UNAVAILABLE: 4 } as const;

export function createControlBlock(nameservices: number): SharedArrayBuffer {
  const words = Word.HEADER + nameservices * (1 + MAX_NAMENODES);
  const shared = new SharedArrayBuffer(words * 4);
  const block = new Int32Array(shared);
  block.fill(UNKNOWN, Word.HEADER, Word.HEADER + nameservices);
  return shared;
}

export class ControlBlock {
  readonly #words: Int32Array;
  readonly #actives: number;
  readonly #states: number;

  constructor(shared: SharedArrayBuffer, nameservices: number) {
    this.#words = new Int32Array(shared);
    this.#actives = Word.HEADER;
    this.#states = this.#actives + nameservices;
  }

  get draining(): boolean {
    return Atomics.load(this.#words, Word.DRAINING) === 1;
  }

  setDraining(): void {
    Atomics.store(this.#words, Word.DRAINING, 1);
  }

  /** Index of the NameNode last proved active, or UNKNOWN. */
  activeOf(nameservice: number): number {
    return Atomics.load(this.#words, this.#actives + nameservice);
  }

  /** True when this call changed the word. */
  setActive(nameservice: number, namenode: number): boolean {
    return Atomics.exchange(this.#words, this.#actives + nameservice, namenode) !== namenode;
  }

  /** Forgets `namenode` as the active one, unless another took its place meanwhile. */
  clearActive(nameservice: number, namenode: number): void {
    Atomics.compareExchange(this.#words, this.#actives + nameservice, namenode, UNKNOWN);
  }

  stateOf(nameservice: number, namenode: number): number {
    return Atomics.load(this.#words, this.#states + nameservice * MAX_NAMENODES + namenode);
  }

  setState(nameservice: number, namenode: number, state: number): void {
    Atomics.store(this.#words, this.#states + nameservice * MAX_NAMENODES + namenode, state);
  }

  /** Adds to the process-wide budget unless that exceeds `limitKib`; false: nothing was added. */
  claimKib(kib: number, limitKib: number): boolean {
    if (Atomics.add(this.#words, Word.BUDGET_KIB, kib) + kib <= limitKib) return true;
    Atomics.sub(this.#words, Word.BUDGET_KIB, kib);
    return false;
  }

  releaseKib(kib: number): void {
    Atomics.sub(this.#words, Word.BUDGET_KIB, kib);
  }

  get usedKib(): number {
    return Atomics.load(this.#words, Word.BUDGET_KIB);
  }
}
