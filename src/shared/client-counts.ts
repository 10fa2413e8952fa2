import { randomInt } from 'node:crypto';
import type { Settings } from './settings.ts';

/**
 * How many connections each client address and each user has at this router, over all its acceptors.
 *
 *   SEED                                                        chosen when the memory is made
 *   [acceptor 0] [acceptor 1] …                                 each: by address, by user
 *   by address, by user                                         each: ROWS × CELLS counts
 *
 * A name counts in one cell of each row, which a hash with the secret seed chooses. The count of a name is the smallest of its rows' sums over the
 * acceptors: never less than the true one, and more only when other names share all its cells, which among 1,000 names happens to one in 270.
 * Exact counts would need the names in shared memory.
 *
 * The cells of an acceptor have that acceptor as their single writer. Allowed race: acceptors that accept at the same moment do not see each
 * other's new connection, so a limit may be exceeded by the number of acceptors less one.
 */
export const CountOf = { ADDRESS: 0, USER: 1 } as const;
export type CountOf = (typeof CountOf)[keyof typeof CountOf];

type CountedSettings = Pick<Settings, 'acceptors' | 'protection'>;

const SEED = 0;
const HEADER = 1;
const ROWS = 2;
/** A power of two, so that 16 bits of a hash choose a cell. */
const CELLS = 16_384;
const WORDS_PER_COUNT = ROWS * CELLS;
const WORDS_PER_ACCEPTOR = 2 * WORDS_PER_COUNT;
const BITS_PER_ROW = 16;

/** Zeroed counts, 256 KiB for each acceptor; null when nothing is limited. */
export function createClientCounts({ acceptors, protection }: CountedSettings): SharedArrayBuffer | null {
  if (protection.connectionsPerAddress === 0 && protection.connectionsPerUser === 0) return null;
  const shared = new SharedArrayBuffer((HEADER + acceptors * WORDS_PER_ACCEPTOR) * Int32Array.BYTES_PER_ELEMENT);
  new Int32Array(shared)[SEED] = randomInt(0x7fff_ffff);
  return shared;
}

export class ClientCounts {
  readonly #words: Int32Array;
  readonly #own: number;

  /** For one acceptor, which has no connections: it starts, or takes the place of one that died. */
  constructor(shared: SharedArrayBuffer, acceptor: number) {
    this.#words = new Int32Array(shared);
    this.#own = HEADER + acceptor * WORDS_PER_ACCEPTOR;
    this.#words.fill(0, this.#own, this.#own + WORDS_PER_ACCEPTOR);
  }

  /** Counts one more connection of `name`; false, and nothing is counted, when there are `limit` already. */
  add(of: CountOf, name: string, limit: number): boolean {
    const hash = this.#hash(name);
    if (this.#count(of, hash) >= limit) return false;
    this.#change(of, hash, 1);
    return true;
  }

  /** One that `add` counted is gone. */
  remove(of: CountOf, name: string): void {
    this.#change(of, this.#hash(name), -1);
  }

  #count(of: CountOf, hash: number): number {
    let least = Number.POSITIVE_INFINITY;
    for (let row = 0; row < ROWS; row++) {
      let sum = 0;
      for (let at = HEADER + cellOf(of, row, hash); at < this.#words.length; at += WORDS_PER_ACCEPTOR) {
        sum += Atomics.load(this.#words, at);
      }
      least = Math.min(least, sum);
    }
    return least;
  }

  #change(of: CountOf, hash: number, by: number): void {
    for (let row = 0; row < ROWS; row++) Atomics.add(this.#words, this.#own + cellOf(of, row, hash), by);
  }

  /** FNV-1a over the UTF-16 units, and the finishing steps of MurmurHash3: each bit of the name reaches each bit of both rows. */
  #hash(name: string): number {
    let hash = 0x811c_9dc5 ^ (this.#words[SEED] as number);
    for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x0100_0193);
    hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35);
    return hash ^ (hash >>> 16);
  }
}

function cellOf(of: CountOf, row: number, hash: number): number {
  return of * WORDS_PER_COUNT + row * CELLS + ((hash >>> (row * BITS_PER_ROW)) & (CELLS - 1));
}
