import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { TimerWheel, WheelEntry } from '../../src/shared/timer-wheel.ts';

const TICK_MS = 10;
/** One revolution. */
const SLOTS = 1024;

/** A clock that stands still until it is moved, and shows the time of its last reading only. */
class TestClock {
  realMs = 0;
  nowMs = 0;

  tick(): number {
    this.nowMs = this.realMs;
    return this.nowMs;
  }
}

class Waiter extends WheelEntry {
  readonly name: string;

  constructor(name: string) {
    super();
    this.name = name;
  }
}

let clock: TestClock;
let wheel: TimerWheel;
let fired: { name: string; atMs: number }[];
let alsoOnDue: (waiter: Waiter) => void;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  clock = new TestClock();
  fired = [];
  alsoOnDue = () => {};
  wheel = new TimerWheel(clock, TICK_MS, (entry) => {
    const waiter = entry as Waiter;
    fired.push({ name: waiter.name, atMs: clock.nowMs });
    alsoOnDue(waiter);
  });
});

afterEach(() => {
  wheel.close();
  vi.useRealTimers();
});

/** Time passes, with a turn of the wheel whenever its timer is due. */
function pass(ms: number): void {
  for (const end = clock.realMs + ms; clock.realMs < end; ) {
    const step = Math.min(TICK_MS, end - clock.realMs);
    clock.realMs += step;
    vi.advanceTimersByTime(step);
  }
}

/** Time passes while the thread does something else: the wheel turns once, at the end. */
function stall(ms: number): void {
  clock.realMs += ms;
  vi.advanceTimersByTime(TICK_MS);
}

function names(): string[] {
  return fired.map(({ name }) => name);
}

describe('an entry', () => {
  it('is due neither early nor more than one tick late', () => {
    for (const delayMs of [1, 5, 10, 11, 15, 99, 100, 101]) wheel.add(new Waiter(String(delayMs)), delayMs);
    pass(200);
    expect(fired.length).toBe(8);
    for (const { name, atMs } of fired) {
      expect(atMs).toBeGreaterThanOrEqual(Number(name));
      expect(atMs).toBeLessThan(Number(name) + 2 * TICK_MS);
    }
    expect(wheel.size).toBe(0);
  });

  it('is due once', () => {
    wheel.add(new Waiter('a'), 30);
    pass(20 * SLOTS);
    expect(names()).toEqual(['a']);
  });

  it('is not due when it was removed, and may be removed twice', () => {
    const a = new Waiter('a');
    const b = new Waiter('b');
    const c = new Waiter('c');
    for (const waiter of [a, b, c]) wheel.add(waiter, 30);
    wheel.remove(b);
    wheel.remove(b);
    expect(wheel.size).toBe(2);
    expect(b.wheelSlot).toBe(-1);
    pass(100);
    expect(names().sort()).toEqual(['a', 'c']);
  });

  it('that is added again waits from then on', () => {
    const a = new Waiter('a');
    wheel.add(a, 30);
    pass(20);
    clock.tick();
    wheel.add(a, 50);
    expect(wheel.size).toBe(1);
    pass(40);
    expect(fired).toEqual([]);
    pass(30);
    expect(fired).toEqual([{ name: 'a', atMs: 70 }]);
  });

  it('beyond one revolution stays until its time has come', () => {
    const beyondMs = SLOTS * TICK_MS + 50;
    wheel.add(new Waiter('far'), beyondMs);
    wheel.add(new Waiter('near'), 50);
    pass(SLOTS * TICK_MS);
    expect(names()).toEqual(['near']);
    pass(100);
    expect(names()).toEqual(['near', 'far']);
    expect(fired[1]?.atMs).toBeGreaterThanOrEqual(beyondMs);
  });

  it('waits by the clock as it was last read', () => {
    clock.realMs = 55;
    wheel.add(new Waiter('a'), 30);
    stall(0);
    expect(names()).toEqual(['a']);
  });
});

describe('the wheel', () => {
  it('makes up for a stall, however long', () => {
    for (const delayMs of [20, 500, 5_000, SLOTS * TICK_MS * 3]) wheel.add(new Waiter(String(delayMs)), delayMs);
    stall(600);
    expect(names().sort()).toEqual(['20', '500']);
    stall(SLOTS * TICK_MS * 4);
    expect(names().length).toBe(4);
    expect(wheel.size).toBe(0);
  });

  it('lets entries be added and removed while others are due', () => {
    const a = new Waiter('a');
    const b = new Waiter('b');
    const again = new Waiter('again');
    for (const waiter of [a, b]) wheel.add(waiter, 30);
    alsoOnDue = (waiter) => {
      if (waiter === a) wheel.remove(b);
      if (waiter === b) wheel.remove(a);
      if (waiter !== again) wheel.add(again, 1);
    };
    pass(100);
    expect(names().length).toBe(2);
    expect(names()[1]).toBe('again');
  });

  it('keeps no timer while nothing waits', () => {
    expect(vi.getTimerCount()).toBe(0);
    wheel.add(new Waiter('a'), 30);
    wheel.add(new Waiter('b'), 30);
    expect(vi.getTimerCount()).toBe(1);
    pass(100);
    expect(vi.getTimerCount()).toBe(0);
    wheel.add(new Waiter('c'), 30);
    pass(100);
    expect(names().length).toBe(3);
  });

  it('is silent once it is closed', () => {
    wheel.add(new Waiter('a'), 30);
    wheel.close();
    pass(100);
    expect(fired).toEqual([]);
  });

  it('does what a list of all entries would do', () => {
    const step = fc.oneof(
      fc.record({ add: fc.nat(20), delayMs: fc.integer({ min: 1, max: 3 * SLOTS * TICK_MS }) }),
      fc.record({ remove: fc.nat(20) }),
      fc.record({ passMs: fc.integer({ min: 1, max: 500 }) }),
      fc.record({ stallMs: fc.integer({ min: 1, max: 4 * SLOTS * TICK_MS }) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        clock = new TestClock();
        const due = new Map<string, number>();
        const early: string[] = [];
        const mine = new TimerWheel(clock, TICK_MS, (entry) => {
          const { name } = entry as Waiter;
          if (clock.nowMs < (due.get(name) ?? Number.POSITIVE_INFINITY)) early.push(name);
          due.delete(name);
        });
        const waiters = Array.from({ length: 21 }, (_, i) => new Waiter(String(i)));
        for (const each of steps) {
          if ('add' in each) {
            clock.tick();
            mine.add(waiters[each.add] as Waiter, each.delayMs);
            due.set(String(each.add), clock.nowMs + each.delayMs);
          } else if ('remove' in each) {
            mine.remove(waiters[each.remove] as Waiter);
            due.delete(String(each.remove));
          } else if ('passMs' in each) pass(each.passMs);
          else stall(each.stallMs);
          expect(mine.size).toBe(due.size);
          for (const at of due.values()) expect(at).toBeGreaterThan(clock.realMs - 2 * TICK_MS);
        }
        mine.close();
        expect(early).toEqual([]);
      }),
      { seed: 3, numRuns: 300, interruptAfterTimeLimit: 2_000, markInterruptAsFailure: false },
    );
  });
});
