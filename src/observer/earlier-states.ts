import { NO_TXID, type State } from './rules.ts';

/**
 * What a worker knew of each nameservice at most a refresh period ago: clients are told it with the answers of observers, so that whoever reads
 * on and on comes no further behind than that.
 */
export class EarlierStates {
  readonly #periodMs: number;
  readonly #txids: Float64Array;
  readonly #epochs: Int32Array;
  readonly #atMs: Float64Array;

  /** Of an unlimited period (negative) there is nothing to tell. */
  constructor(nameservices: number, periodMs: number) {
    this.#periodMs = periodMs;
    this.#txids = new Float64Array(nameservices).fill(NO_TXID);
    this.#epochs = new Int32Array(nameservices).fill(-1);
    this.#atMs = new Float64Array(nameservices);
  }

  /** `now`: what is known by now, of which nothing is told before its time. */
  of(nameservice: number, now: State, nowMs: number): number {
    const periodMs = this.#periodMs;
    if (periodMs < 0) return NO_TXID;
    if (this.#epochs[nameservice] !== now.epoch || nowMs - (this.#atMs[nameservice] as number) >= periodMs) {
      this.#epochs[nameservice] = now.epoch;
      this.#atMs[nameservice] = nowMs;
      this.#txids[nameservice] = now.txid;
    }
    return this.#txids[nameservice] as number;
  }
}
