/**
 * How many calls of each nameservice each worker has: by that the workers divide the window of the nameservice among themselves. One row of
 * words per thread, written by that thread; nobody waits for anybody.
 */
export class Demand {
  readonly #words: Int32Array;
  readonly #nameservices: number;
  readonly #row: number;

  constructor(shared: SharedArrayBuffer, thread: number, nameservices: number) {
    this.#words = new Int32Array(shared);
    this.#nameservices = nameservices;
    this.#row = thread * nameservices;
  }

  tell(nameservice: number, calls: number): void {
    Atomics.store(this.#words, this.#row + nameservice, calls);
  }

  /** The part of this worker, of `workers`, by what all have told: each counts one call more than it has, so that nobody gets nothing. */
  shareOf(nameservice: number, workers: number): number {
    let all = workers;
    for (let at = nameservice; at < this.#words.length; at += this.#nameservices) all += Atomics.load(this.#words, at);
    return (Atomics.load(this.#words, this.#row + nameservice) + 1) / all;
  }

  /** Its thread is gone. */
  forget(): void {
    for (let n = 0; n < this.#nameservices; n++) this.tell(n, 0);
  }
}

export function demandBytes(threads: number, nameservices: number): number {
  return threads * nameservices * 4;
}
