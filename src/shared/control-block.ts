/**
 * The control block: one SharedArrayBuffer of Int32 words that every thread of the process sees.
 *
 *   [0 … HEADER)                       process-wide words, each with a single writer (named below)
 *   [HEADER … +nameservices)           active NameNode of each nameservice, index into its list or UNKNOWN; any worker, compare-exchange
 *   [… +nameservices × MAX_NAMENODES)  HA state last proved for each NameNode (NameNodeState); any thread, last writer wins
 *   [… +nameservices)                  1 for a disabled nameservice; writer: main
 *   [… +nameservices × MAX_NAMENODES)  as 64 bits, at the next multiple of 8 bytes: when a call's answer last told the state of each
 *                                      NameNode, ms since 1970, 0 for never; any worker, last writer wins
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
  /** Router safe mode (SafeModeLevel); writer: main. */
  SAFE_MODE: 2,
  /** Number of disabled nameservices; writer: main, after the words of the nameservices. */
  DISABLED: 3,
  HEADER: 16,
} as const;

/**
 * What router safe mode stops: nothing; calls of category WRITE; those of category READ too, for which the State Store's caches, never loaded
 * yet, would be needed.
 */
export const SafeModeLevel = { OFF: 0, WRITES: 1, READS_TOO: 2 } as const;
export type SafeModeLevel = (typeof SafeModeLevel)[keyof typeof SafeModeLevel];

export const NameNodeState = { UNKNOWN: 0, ACTIVE: 1, STANDBY: 2, OBSERVER: 3, UNAVAILABLE: 4 } as const;

export function createControlBlock(nameservices: number): SharedArrayBuffer {
  const shared = new SharedArrayBuffer(proofsAt(nameservices) + nameservices * MAX_NAMENODES * 8);
  const block = new Int32Array(shared);
  block.fill(UNKNOWN, Word.HEADER, Word.HEADER + nameservices);
  return shared;
}

/** Offset in bytes. */
function proofsAt(nameservices: number): number {
  const words = Word.HEADER + nameservices * (2 + MAX_NAMENODES);
  return (words + (words % 2)) * 4;
}

export class ControlBlock {
  readonly #words: Int32Array;
  readonly #proofs: BigInt64Array;
  readonly #actives: number;
  readonly #states: number;
  readonly #disabled: number;

  constructor(shared: SharedArrayBuffer, nameservices: number) {
    this.#words = new Int32Array(shared);
    this.#proofs = new BigInt64Array(shared, proofsAt(nameservices));
    this.#actives = Word.HEADER;
    this.#states = this.#actives + nameservices;
    this.#disabled = this.#states + nameservices * MAX_NAMENODES;
  }

  get draining(): boolean {
    return Atomics.load(this.#words, Word.DRAINING) === 1;
  }

  setDraining(): void {
    Atomics.store(this.#words, Word.DRAINING, 1);
  }

  /** A SafeModeLevel. */
  get safeMode(): number {
    return Atomics.load(this.#words, Word.SAFE_MODE);
  }

  setSafeMode(level: SafeModeLevel): void {
    Atomics.store(this.#words, Word.SAFE_MODE, level);
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

  /** A plain read: one word, for which nothing waits, and an atomic one takes ten times as long. */
  stateOf(nameservice: number, namenode: number): number {
    return this.#words[this.#states + nameservice * MAX_NAMENODES + namenode] as number;
  }

  setState(nameservice: number, namenode: number, state: number): void {
    Atomics.store(this.#words, this.#states + nameservice * MAX_NAMENODES + namenode, state);
  }

  /** As `setState`, by the answer to a call, which no report from before may undo. */
  proveState(nameservice: number, namenode: number, state: number): void {
    this.setState(nameservice, namenode, state);
    // biome-ignore lint/plugin/hot-path: only when a NameNode turns out to be in another state than it was taken for
    Atomics.store(this.#proofs, nameservice * MAX_NAMENODES + namenode, BigInt(Date.now()));
  }

  /** When the answer to a call last told the state of this NameNode: ms since 1970, 0 for never. */
  provedAtMs(nameservice: number, namenode: number): number {
    return Number(Atomics.load(this.#proofs, nameservice * MAX_NAMENODES + namenode));
  }

  /** Whether any nameservice is disabled. */
  get anyDisabled(): boolean {
    return Atomics.load(this.#words, Word.DISABLED) !== 0;
  }

  /** False for an index beyond the topology. */
  isDisabled(nameservice: number): boolean {
    if (nameservice >= this.#states - this.#actives) return false;
    return Atomics.load(this.#words, this.#disabled + nameservice) === 1;
  }

  /** These nameservices, and no others, are disabled from now on. */
  setDisabled(nameservices: ReadonlySet<number>): void {
    for (let n = 0; n < this.#states - this.#actives; n++) {
      Atomics.store(this.#words, this.#disabled + n, nameservices.has(n) ? 1 : 0);
    }
    Atomics.store(this.#words, Word.DISABLED, nameservices.size);
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
