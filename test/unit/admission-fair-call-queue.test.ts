import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FairCallQueue } from '../../src/admission/queue/fair-call-queue.ts';
import { WeightedRoundRobin } from '../../src/admission/queue/multiplexer.ts';
import { type Call, CallPool } from '../../src/call/call.ts';

/** Vectors of the real WeightedRoundRobinMultiplexer and FairCallQueue; test/hadoop/fair-call-queue.test.ts asks these again. */

const pool = new CallPool();

function makeCall(level: number, lane = 0): Call {
  const call = pool.take();
  call.level = level;
  call.lane = lane;
  return call;
}

function makeQueue(capacity: number, levels: number, lanes = 1): FairCallQueue {
  const ones = new Array<number>(levels).fill(1);
  return new FairCallQueue(
    capacity,
    ones,
    Array.from({ length: levels }, (_, i) => 2 ** (levels - 1 - i)),
    lanes,
  );
}

function fill(queue: FairCallQueue, level: number, calls: number): number {
  let taken = 0;
  for (let i = 0; i < calls; i++) if (queue.put(makeCall(level))) taken++;
  return taken;
}

/** Levels of the calls of lane 0 in the order in which they are taken. */
function drain(queue: FairCallQueue, calls = Number.POSITIVE_INFINITY): string {
  let levels = '';
  while (levels.length < calls) {
    const call = queue.take(0);
    if (call === null) break;
    levels += call.level;
  }
  return levels;
}

describe('turns', () => {
  it.each([
    [[8, 4, 2, 1], '0000000011112230000000011112230000000011'],
    [[4, 2, 1], '0000112000011200001120000112000011200001'],
    [[2, 1], '0010010010010010010010010010010010010010'],
    [[4, 2, 1, 1], '0000112300001123000011230000112300001123'],
    [[1], '0000000000000000000000000000000000000000'],
  ])('of weights %j', (weights, expected) => {
    const multiplexer = new WeightedRoundRobin(weights);
    expect(Array.from({ length: 40 }, () => multiplexer.next()).join('')).toBe(expected);
  });

  it.each([[[3, 0, 1]], [[0]], [[1, -1]], [[1.5]], [[Number.NaN]]])('%j are no weights', (weights) => {
    expect(() => new WeightedRoundRobin(weights)).toThrow(`not ${weights.join(',')}`);
  });
});

describe('levels', () => {
  it('are served by turns, and a turn of an empty one goes to the best that is not', () => {
    const queue = makeQueue(40, 4);
    for (let level = 0; level < 4; level++) expect(fill(queue, level, 10)).toBe(10);
    expect(drain(queue)).toBe('0000000011112230011111122222232233333333');
  });

  it('a call of a better level comes first even when it came late', () => {
    const queue = makeQueue(40, 4);
    fill(queue, 3, 3);
    fill(queue, 1, 2);
    expect(drain(queue, 3)).toBe('113');
    fill(queue, 0, 1);
    expect(drain(queue)).toBe('033');
  });

  it('divide the capacity by their weights; the first has what is left over', () => {
    const queue = makeQueue(43, 4);
    expect(fill(queue, 0, 43)).toBe(43);
    expect([0, 1, 2, 3].map((level) => queue.lengthOfLevel(level))).toEqual([13, 10, 10, 10]);
    expect(queue.put(makeCall(0))).toBe(false);
    expect([0, 1, 2, 3].map((level) => queue.overflowedOf(level))).toEqual([31, 21, 11, 1]);
    expect(queue.put(makeCall(3))).toBe(false);
    expect([0, 1, 2, 3].map((level) => queue.overflowedOf(level))).toEqual([31, 21, 11, 2]);
    expect(queue.length).toBe(43);

    const weighted = new FairCallQueue(100, [5, 3, 1], [4, 2, 1], 1);
    expect([0, 1, 2].map((level) => fill(weighted, level, 100))).toEqual([100, 0, 0]);
    expect([0, 1, 2].map((level) => weighted.lengthOfLevel(level))).toEqual([56, 33, 11]);
  });

  it('take calls of lower levels than they have at the last one', () => {
    const queue = makeQueue(4, 2);
    fill(queue, 7, 2);
    expect(queue.lengthOfLevel(1)).toBe(2);
    expect(queue.put(makeCall(7))).toBe(false);
  });

  it('a call leaves the list that it is in, also when that is not its own level’s', () => {
    const queue = makeQueue(2, 2);
    const own = makeCall(0);
    const spilled = makeCall(0);
    queue.put(own);
    queue.put(spilled);
    expect([spilled.level, spilled.queuedLevel]).toEqual([0, 1]);
    queue.remove(spilled);
    expect([queue.length, queue.lengthOfLevel(0), queue.lengthOfLevel(1)]).toEqual([1, 1, 0]);
    expect(queue.take(0)).toBe(own);
    expect(queue.take(0)).toBeNull();
  });

  it('one is first come, first served', () => {
    const queue = makeQueue(5, 1);
    const calls = Array.from({ length: 5 }, () => makeCall(0));
    for (const call of calls) expect(queue.put(call)).toBe(true);
    expect(queue.put(makeCall(0))).toBe(false);
    expect(calls.map(() => queue.take(0))).toEqual(calls);
  });

  it.each([
    [3, [1, 1, 1, 1], [8, 4, 2, 1], 'a queue of 3 calls'],
    [40, [], [], 'a queue of 40 calls'],
    [40, [1, 1], [1], '2 capacity weights and 1 multiplexer weights'],
  ])('%i calls for %j and %j are no queue', (capacity, capacityWeights, weights, message) => {
    expect(() => new FairCallQueue(capacity, capacityWeights, weights, 1)).toThrow(message);
  });
});

describe('lanes', () => {
  it('have turns of their own, and share the places of a level', () => {
    const queue = makeQueue(4, 2, 2);
    for (const lane of [0, 1]) for (const level of [0, 1]) queue.put(makeCall(level, lane));
    expect([queue.lengthOf(0), queue.lengthOf(1), queue.length]).toEqual([2, 2, 4]);
    expect(queue.put(makeCall(0, 0))).toBe(false);
    expect(drain(queue)).toBe('01');
    expect(queue.take(0)).toBeNull();
    expect([queue.take(1)?.level, queue.take(1)?.level, queue.take(1)]).toEqual([0, 1, null]);
  });

  it('an empty one uses up no turn', () => {
    const queue = makeQueue(40, 2);
    expect(queue.take(0)).toBeNull();
    expect(queue.take(0)).toBeNull();
    fill(queue, 0, 3);
    fill(queue, 1, 3);
    expect(drain(queue)).toBe('001011');
  });
});

describe('a call that comes back', () => {
  it('goes before those of its lane and level, behind those that came back before, and takes nobody’s place', () => {
    const queue = makeQueue(4, 2);
    const waiting = [makeCall(1), makeCall(1)];
    for (const call of waiting) queue.put(call);
    const back = [makeCall(1), makeCall(1)];
    for (const call of back) queue.putBack(call);
    expect(queue.length).toBe(4);
    expect(fill(queue, 0, 3)).toBe(2);
    expect(drain(queue, 2)).toBe('00');
    expect(Array.from({ length: 4 }, () => queue.take(0))).toEqual([...back, ...waiting]);
    queue.put(back[0] as Call);
    queue.putBack(back[1] as Call);
    queue.remove(back[1] as Call);
    queue.remove(back[0] as Call);
    expect([queue.length, queue.lengthOf(0), queue.lengthOfLevel(1)]).toEqual([0, 0, 0]);
    expect(fill(queue, 1, 3)).toBe(2);
  });
});

it('finds whoever has waited for too long, wherever it waits', () => {
  const queue = makeQueue(40, 2, 2);
  const calls: Call[] = [];
  for (const [queuedMs, level, lane] of [
    [30, 0, 0],
    [10, 1, 1],
    [20, 0, 1],
  ] as const) {
    const call = makeCall(level, lane);
    call.queuedMs = queuedMs;
    queue.put(call);
    calls.push(call);
  }
  const back = makeCall(1, 1);
  back.queuedMs = 40;
  queue.putBack(back);
  expect(queue.oldest(9)).toBeNull();
  expect(queue.oldest(10)).toBe(calls[1]);
  queue.remove(calls[1] as Call);
  expect(queue.oldest(19)).toBeNull();
  expect(queue.oldest(20)).toBe(calls[2]);
  queue.remove(calls[2] as Call);
  queue.remove(calls[0] as Call);
  expect(queue.oldest(39)).toBeNull();
  expect(queue.oldest(40)).toBe(back);
});

it('never loses a call, and never gives one twice', () => {
  const level = fc.nat(3);
  const lane = fc.nat(2);
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ put: level, lane }) },
    { weight: 1, arbitrary: fc.record({ putBack: level, lane }) },
    { weight: 3, arbitrary: fc.record({ take: lane }) },
    { weight: 1, arbitrary: fc.record({ remove: fc.nat() }) },
    {
      weight: 1,
      arbitrary: fc.record({ levels: fc.integer({ min: 1, max: 4 }), capacity: fc.integer({ min: 4, max: 30 }) }),
    },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const capacities = new CapacityModel(20, 4);
      let queue = makeQueue(20, 4, 3);
      const inside = new Set<Call>();
      for (const each of steps) {
        if ('put' in each) {
          const call = makeCall(each.put, each.lane);
          if (queue.put(call)) inside.add(call);
          else expect(capacities.isFull(queue, each.put)).toBe(true);
        } else if ('putBack' in each) {
          const call = makeCall(each.putBack, each.lane);
          queue.putBack(call);
          inside.add(call);
        } else if ('take' in each) {
          const call = queue.take(each.take);
          expect(call === null).toBe(!Array.from(inside).some((one) => one.lane === each.take));
          if (call !== null) {
            expect(call.lane).toBe(each.take);
            expect(inside.delete(call)).toBe(true);
          }
        } else if ('remove' in each) {
          const call = Array.from(inside)[each.remove % Math.max(1, inside.size)];
          if (call !== undefined) {
            queue.remove(call);
            inside.delete(call);
          }
        } else {
          const next = makeQueue(each.capacity, each.levels, 3);
          queue.drainTo((call) => {
            expect(inside.has(call)).toBe(true);
            if (!next.put(call)) inside.delete(call);
          });
          expect(queue.length).toBe(0);
          queue = next;
          capacities.set(each.capacity, each.levels);
        }
        expect(queue.length).toBe(inside.size);
        const sum = (of: (i: number) => number, count: number): number =>
          Array.from({ length: count }, (_, i) => of(i)).reduce((a, b) => a + b, 0);
        expect(sum((i) => queue.lengthOf(i), 3)).toBe(inside.size);
        expect(sum((i) => queue.lengthOfLevel(i), queue.levels)).toBe(inside.size);
      }
      for (const ofLane of [0, 1, 2]) {
        for (let call = queue.take(ofLane); call !== null; call = queue.take(ofLane)) {
          expect(inside.delete(call)).toBe(true);
        }
      }
      expect([inside.size, queue.length]).toEqual([0, 0]);
    }),
    { seed: 8, numRuns: 500, interruptAfterTimeLimit: 5_000, markInterruptAsFailure: false },
  );
});

/** How much a queue of equal weights holds. */
class CapacityModel {
  #capacity: number;
  #levels: number;

  constructor(capacity: number, levels: number) {
    this.#capacity = capacity;
    this.#levels = levels;
  }

  set(capacity: number, levels: number): void {
    this.#capacity = capacity;
    this.#levels = levels;
  }

  /** A call of this level may be refused: this level and all below hold at least what they may. */
  isFull(queue: FairCallQueue, ofLevel: number): boolean {
    const each = Math.floor(this.#capacity / this.#levels);
    for (let level = Math.min(ofLevel, this.#levels - 1); level < this.#levels; level++) {
      const capacity = level === 0 ? each + (this.#capacity % this.#levels) : each;
      if (queue.lengthOfLevel(level) < capacity) return false;
    }
    return true;
  }
}
