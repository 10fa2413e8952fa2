import { type Call, CallQueue } from '../../call/call.ts';
import { WeightedRoundRobin } from './multiplexer.ts';

/**
 * Calls that wait for a nameservice: Hadoop's FairCallQueue, once for each lane.
 *
 *            level 0    level 1   …
 *   lane 0   ▫▫│▪▪▪     ▪▪▪▪▪▪        each cell: calls that came back │ calls that came, both in the order in which they did
 *   lane 1   ▪          ▫│▪           the owner says in which lane there is room, the lane's multiplexer which level comes next
 *            └─ 13 ─┘   └─ 10 ─┘      places for calls that come; a level's are shared by the lanes
 *
 * A call that finds its level full is put at the next lower one (higher index) that is not. With one level it is first come, first served.
 * It does not touch `call.place`.
 */
export class FairCallQueue {
  readonly levels: number;
  readonly #lanes: number;
  readonly #capacities: readonly number[];
  /** By lane, then level: calls that came, and those that were let through before and came back. */
  readonly #lists: readonly CallQueue[];
  readonly #returned: readonly CallQueue[];
  readonly #multiplexers: readonly WeightedRoundRobin[];
  /** Calls in all lists, in those of each lane, and of each level. */
  #length = 0;
  readonly #lengthOfLane: Int32Array;
  readonly #lengthOfLevel: Int32Array;
  /** By level: of these, calls that came back; they have no place of the capacity. */
  readonly #returnedOfLevel: Int32Array;
  readonly #overflowed: Float64Array;

  /** Both weights have one entry for each level. Throws a RangeError for those that make no queue. */
  constructor(
    capacity: number,
    capacityWeights: readonly number[],
    multiplexerWeights: readonly number[],
    lanes: number,
  ) {
    const levels = capacityWeights.length;
    if (multiplexerWeights.length !== levels) {
      throw new RangeError(
        `${levels} capacity weights and ${multiplexerWeights.length} multiplexer weights: both have one for each level`,
      );
    }
    this.levels = levels;
    this.#lanes = lanes;
    this.#capacities = divideCapacity(capacity, capacityWeights);
    this.#lists = Array.from({ length: lanes * levels }, () => new CallQueue());
    this.#returned = Array.from({ length: lanes * levels }, () => new CallQueue());
    this.#multiplexers = Array.from({ length: lanes }, () => new WeightedRoundRobin(multiplexerWeights));
    this.#lengthOfLane = new Int32Array(lanes);
    this.#lengthOfLevel = new Int32Array(levels);
    this.#returnedOfLevel = new Int32Array(levels);
    this.#overflowed = new Float64Array(levels);
  }

  /** Beyond the capacity only by calls that came back. */
  get length(): number {
    return this.#length;
  }

  lengthOf(lane: number): number {
    return this.#lengthOfLane[lane] as number;
  }

  lengthOfLevel(level: number): number {
    return this.#lengthOfLevel[level] as number;
  }

  /** How often a call found this level full. */
  overflowedOf(level: number): number {
    return this.#overflowed[level] as number;
  }

  /** At the end of its lane's list of its own level, or of a lower one. False: all of them are full, nothing was done. */
  put(call: Call): boolean {
    for (let level = this.#levelOf(call); level < this.levels; level++) {
      if (this.#hasRoom(level)) {
        call.queuedAgain = false;
        (this.#lists[call.lane * this.levels + level] as CallQueue).push(call);
        this.#count(call, level, 1);
        return true;
      }
      this.#overflowed[level] = (this.#overflowed[level] as number) + 1;
    }
    return false;
  }

  /** It was let through before and comes back: before those of its lane and level that were not, whether or not the level is full. */
  putBack(call: Call): void {
    const level = this.#levelOf(call);
    call.queuedAgain = true;
    (this.#returned[call.lane * this.levels + level] as CallQueue).push(call);
    this.#count(call, level, 1);
  }

  /** The call of this lane whose turn it is; null: none waits, and no turn is used up. */
  take(lane: number): Call | null {
    if (this.#lengthOfLane[lane] === 0) return null;
    let call = this.#shift(lane, (this.#multiplexers[lane] as WeightedRoundRobin).next());
    // A turn of a level that has nothing goes to the best one that has.
    for (let level = 0; call === null; level++) call = this.#shift(lane, level);
    return call;
  }

  /** It waits here and leaves in another way than by its turn. */
  remove(call: Call): void {
    const lists = call.queuedAgain ? this.#returned : this.#lists;
    (lists[call.lane * this.levels + call.queuedLevel] as CallQueue).remove(call);
    this.#count(call, call.queuedLevel, -1);
  }

  /** A call that waits since `beforeMs` or longer (`call.queuedMs`), null when there is none. */
  oldest(beforeMs: number): Call | null {
    for (let list = 0; list < this.#lists.length; list++) {
      const { head } = this.#lists[list] as CallQueue;
      if (head !== null && head.queuedMs <= beforeMs) return head;
      const again = (this.#returned[list] as CallQueue).head;
      if (again !== null && again.queuedMs <= beforeMs) return again;
    }
    return null;
  }

  /** Appends all that wait here. */
  listInto(calls: Call[]): void {
    for (let list = 0; list < this.#lists.length; list++) {
      for (let { head: call } = this.#returned[list] as CallQueue; call !== null; call = call.next) calls.push(call);
      for (let { head: call } = this.#lists[list] as CallQueue; call !== null; call = call.next) calls.push(call);
    }
  }

  /** Takes out every call: lane by lane, best level first, each in its order. `take` may put them into another queue. */
  drainTo(take: (call: Call) => void): void {
    for (let lane = 0; lane < this.#lanes; lane++) {
      for (let level = 0; level < this.levels; level++) {
        for (let call = this.#shift(lane, level); call !== null; call = this.#shift(lane, level)) take(call);
      }
    }
  }

  #shift(lane: number, level: number): Call | null {
    const list = lane * this.levels + level;
    const call = (this.#returned[list] as CallQueue).shift() ?? (this.#lists[list] as CallQueue).shift();
    if (call !== null) this.#count(call, level, -1);
    return call;
  }

  #hasRoom(level: number): boolean {
    const taken = (this.#lengthOfLevel[level] as number) - (this.#returnedOfLevel[level] as number);
    return taken < (this.#capacities[level] as number);
  }

  /** Another queue, with more levels, may have given it one. */
  #levelOf(call: Call): number {
    return call.level < this.levels ? call.level : this.levels - 1;
  }

  #count(call: Call, level: number, difference: number): void {
    call.queuedLevel = level;
    this.#length += difference;
    this.#lengthOfLane[call.lane] = (this.#lengthOfLane[call.lane] as number) + difference;
    this.#lengthOfLevel[level] = (this.#lengthOfLevel[level] as number) + difference;
    if (call.queuedAgain) this.#returnedOfLevel[level] = (this.#returnedOfLevel[level] as number) + difference;
  }
}

/** Whole shares; what they leave over is level 0's. */
function divideCapacity(capacity: number, weights: readonly number[]): number[] {
  let sum = 0;
  for (const weight of weights) sum += weight;
  const unit = Math.floor(capacity / sum);
  if (weights.length === 0 || unit < 1) {
    throw new RangeError(
      `a queue of ${capacity} calls cannot be divided among levels of the weights ${weights.join(',')}`,
    );
  }
  const shares = weights.map((weight) => unit * weight);
  shares[0] = (shares[0] as number) + capacity - unit * sum;
  return shares;
}
