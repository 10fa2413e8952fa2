import { MAX_NAMENODES } from '../../shared/control-block.ts';
import { type Answer, afterAnswer, MAX_TXID, NO_TXID, State } from '../rules.ts';

/**
 * What all workers know of the state of nameservices, in one SharedArrayBuffer:
 *
 *   nameservices × 64 bits   epoch 11 · active 5 (index + 1) · txid 48 (txid + 1, 0 for none); compare-exchange by any worker, and read
 *                            with a plain load: eight bytes at a multiple of eight come in one piece
 *   nameservices × 4 words   when the active was last proved · when txid was last raised · until when the msync in flight is claimed ·
 *                            until when no other is tried
 *   nameservices × MAX_NAMENODES × 3 words
 *                            until when the NameNode is left alone as an observer · how often in a row it failed · transactions that it was
 *                            behind when the main thread last asked it, -1 unknown
 *
 * The other words are read plainly too where an old value does no harm: an atomic load takes ten times as long, and a call needs many.
 *
 * Times are Clock.stamp, 0 for never. Stamps wrap around within 50 days and words are kept for as long as nothing happens: what would be longer
 * ahead than anything is ever set for lies behind.
 */
const Word = { PROVED: 0, RAISED: 1, CLAIM: 2, COOLING: 3, COUNT: 4 } as const;
const Observer = { HOLD: 0, FAILURES: 1, BEHIND: 2, COUNT: 3 } as const;

/** A value is known to all, and what was sent with knowledge of it tells of it, after this time. */
const SETTLED_MS = 1000;
const TXID_HIGH_MASK = 0xffff;
/** Positions of the lower and the upper half of 64 bits among Int32. */
const LOW = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1 ? 0 : 1;
const HIGH = 1 - LOW;
/** No time is set further ahead. */
const MOST_AHEAD_MS = 600_000;

export function stateBytes(nameservices: number): number {
  return nameservices * (8 + 4 * Word.COUNT + 4 * MAX_NAMENODES * Observer.COUNT);
}

/** A thread's view of it. */
export class StateWords {
  readonly nameservices: number;
  readonly #states: BigInt64Array;
  /** Memory of its own in which words are taken apart and put together: arithmetic with BigInts would allocate. As read, and as it is to be. */
  readonly #whole = new BigInt64Array(2);
  readonly #halves = new Int32Array(this.#whole.buffer);
  readonly #words: Int32Array;
  readonly #observers: Int32Array;
  readonly #next = new State();

  constructor(shared: SharedArrayBuffer, nameservices: number) {
    this.nameservices = nameservices;
    this.#states = new BigInt64Array(shared, 0, nameservices);
    this.#words = new Int32Array(shared, nameservices * 8, nameservices * Word.COUNT);
    this.#observers = new Int32Array(shared, nameservices * (8 + 4 * Word.COUNT));
  }

  /** What is known by now; returns `into`. */
  read(nameservice: number, into: State): State {
    this.#whole[0] = this.#states[nameservice] as bigint;
    const high = this.#halves[HIGH] as number;
    into.epoch = high >>> 21;
    into.active = ((high >>> 16) & 31) - 1;
    into.txid = (high & TXID_HIGH_MASK) * 2 ** 32 + ((this.#halves[LOW] as number) >>> 0) - 1;
    return into;
  }

  /**
   * Merges a successful answer to what was sent at `sentStamp` by the rules; `now` holds the state after it. True: it changed. Sets the
   * answer's sentAfterRaise.
   */
  merge(nameservice: number, answer: Answer, sentStamp: number, stamp: number, now: State): boolean {
    const next = this.#next;
    for (;;) {
      this.read(nameservice, now);
      answer.sentAfterRaise = answer.txid < now.txid && this.isAfterRaise(nameservice, sentStamp);
      if (!afterAnswer(now, answer, next)) return false;
      // Before the state itself: whoever sees a state also sees that it is new.
      const raisedAt = nameservice * Word.COUNT + Word.RAISED;
      if (this.#words[raisedAt] !== stamp) Atomics.store(this.#words, raisedAt, stamp);
      if (!this.#exchange(nameservice, next)) continue;
      now.epoch = next.epoch;
      now.active = next.active;
      now.txid = next.txid;
      return true;
    }
  }

  /** Puts `next` in the place of what was read last; false: that is not there any more. */
  #exchange(nameservice: number, next: State): boolean {
    const { epoch, active, txid } = next;
    this.#halves[2 + HIGH] = (epoch << 21) | ((active + 1) << 16) | Math.floor((txid + 1) / 2 ** 32);
    this.#halves[2 + LOW] = (txid + 1) | 0;
    const expected = this.#whole[0] as bigint;
    return Atomics.compareExchange(this.#states, nameservice, expected, this.#whole[1] as bigint) === expected;
  }

  /** Whether what was sent at this time was sent with everybody's knowledge of the last raise. */
  isAfterRaise(nameservice: number, sentStamp: number): boolean {
    const raised = Atomics.load(this.#words, nameservice * Word.COUNT + Word.RAISED);
    return raised !== 0 && isSince(raised, sentStamp, SETTLED_MS);
  }

  /** The active NameNode answered a change or an msync that was sent at this time. */
  prove(nameservice: number, sentStamp: number): void {
    const at = nameservice * Word.COUNT + Word.PROVED;
    const proved = Atomics.load(this.#words, at);
    if (proved === 0 || isSince(proved, sentStamp, 0)) Atomics.store(this.#words, at, sentStamp);
  }

  /** Ms from the last proof to `stamp`, infinite without one. */
  ageOf(nameservice: number, stamp: number): number {
    const proved = this.#words[nameservice * Word.COUNT + Word.PROVED] as number;
    const age = (stamp - proved) | 0;
    return proved === 0 || age < -MOST_AHEAD_MS ? Number.POSITIVE_INFINITY : age;
  }

  /** Takes the msync of this nameservice for whoever asks first; a claim that nobody gives back ends after `holdMs`. */
  claimRefresh(nameservice: number, stamp: number, holdMs: number): boolean {
    const at = nameservice * Word.COUNT + Word.CLAIM;
    const held = Atomics.load(this.#words, at);
    if (isAhead(held, stamp)) return false;
    return Atomics.compareExchange(this.#words, at, held, (stamp + holdMs) | 0 || 1) === held;
  }

  isClaimed(nameservice: number, stamp: number): boolean {
    return isAhead(Atomics.load(this.#words, nameservice * Word.COUNT + Word.CLAIM), stamp);
  }

  /** An msync failed: no other is tried for so long. */
  cool(nameservice: number, stamp: number, forMs: number): void {
    Atomics.store(this.#words, nameservice * Word.COUNT + Word.COOLING, (stamp + forMs) | 0 || 1);
  }

  isCooling(nameservice: number, stamp: number): boolean {
    return isAhead(Atomics.load(this.#words, nameservice * Word.COUNT + Word.COOLING), stamp);
  }

  releaseRefresh(nameservice: number): void {
    Atomics.store(this.#words, nameservice * Word.COUNT + Word.CLAIM, 0);
  }

  /** An observer failed: it is left alone for a while, longer each time in a row. False: it is already, calls that failed together count once. */
  hold(nameservice: number, namenode: number, stamp: number, firstMs: number, lastMs: number): boolean {
    const at = this.#observerAt(nameservice, namenode);
    const held = Atomics.load(this.#observers, at + Observer.HOLD);
    if (isAhead(held, stamp)) return false;
    const failures = Atomics.add(this.#observers, at + Observer.FAILURES, 1);
    const ms = Math.min(firstMs * 2 ** Math.min(failures, 16), lastMs);
    Atomics.store(this.#observers, at + Observer.HOLD, (stamp + ms) | 0 || 1);
    return true;
  }

  isHeld(nameservice: number, namenode: number, stamp: number): boolean {
    return isAhead(this.#observers[this.#observerAt(nameservice, namenode) + Observer.HOLD] as number, stamp);
  }

  /** It failed last, and nobody has tried it since. */
  isSuspect(nameservice: number, namenode: number): boolean {
    return this.#observers[this.#observerAt(nameservice, namenode) + Observer.HOLD] !== 0;
  }

  /** Takes the probe of an observer that was left alone long enough; others go on leaving it alone for `forMs`. */
  claimProbe(nameservice: number, namenode: number, stamp: number, forMs: number): boolean {
    const at = this.#observerAt(nameservice, namenode) + Observer.HOLD;
    const held = Atomics.load(this.#observers, at);
    if (held === 0 || isAhead(held, stamp)) return false;
    return Atomics.compareExchange(this.#observers, at, held, (stamp + forMs) | 0 || 1) === held;
  }

  /** After a claimed probe failed: its hold, which nobody else can have ended, begins anew. */
  holdAnew(nameservice: number, namenode: number, stamp: number, firstMs: number, lastMs: number): void {
    Atomics.store(this.#observers, this.#observerAt(nameservice, namenode) + Observer.HOLD, 0);
    this.hold(nameservice, namenode, stamp, firstMs, lastMs);
  }

  /** It answers again. */
  letGo(nameservice: number, namenode: number): void {
    const at = this.#observerAt(nameservice, namenode);
    Atomics.store(this.#observers, at + Observer.FAILURES, 0);
    Atomics.store(this.#observers, at + Observer.HOLD, 0);
  }

  /** Transactions that it was behind the active when the main thread last saw both, -1 unknown. */
  behindOf(nameservice: number, namenode: number): number {
    return this.#observers[this.#observerAt(nameservice, namenode) + Observer.BEHIND] as number;
  }

  setBehind(nameservice: number, namenode: number, transactions: number): void {
    const at = this.#observerAt(nameservice, namenode) + Observer.BEHIND;
    Atomics.store(this.#observers, at, Math.min(transactions, 0x7fff_ffff));
  }

  /** Before the main thread has asked any. */
  forgetLags(): void {
    for (let n = 0; n < this.nameservices; n++) for (let i = 0; i < MAX_NAMENODES; i++) this.setBehind(n, i, -1);
  }

  #observerAt(nameservice: number, namenode: number): number {
    return (nameservice * MAX_NAMENODES + namenode) * Observer.COUNT;
  }
}

/** Whether a time that was set ahead has not come yet. */
function isAhead(until: number, stamp: number): boolean {
  const leftMs = (until - stamp) | 0;
  return until !== 0 && leftMs > 0 && leftMs <= MOST_AHEAD_MS;
}

/** Whether `stamp` is later than `since` by more than so long. */
function isSince(since: number, stamp: number, ms: number): boolean {
  const afterMs = (stamp - since) | 0;
  return afterMs > ms || afterMs < -MOST_AHEAD_MS;
}

/** The state id of a header, in halves, as a transaction id; NO_TXID for what is none. */
export function txidOf(high: number, low: number): number {
  const txid = (high | 0) * 2 ** 32 + (low >>> 0);
  return txid < 0 || txid > MAX_TXID ? NO_TXID : txid;
}
