import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ReplayCall, ReplayLinks } from '../../src/load/plan/plan.ts';
import { ClosedPacer } from '../../src/load/thread/closed-pacer.ts';
import { LoadConnection } from '../../src/load/thread/connection.ts';
import { OpenPacer } from '../../src/load/thread/open-pacer.ts';
import { LATE_MS, type Pacer, type Sender } from '../../src/load/thread/pacer.ts';
import { ReplayPacer } from '../../src/load/thread/replay-pacer.ts';
import { createSchedule, RateSchedule, ReplaySchedule } from '../../src/load/thread/schedule.ts';
import { NO_LINKS } from '../support/load-thread-run.ts';
import { countsOf } from './load-samples.ts';

const NOBODY = { onOpen: () => {}, onReply: () => {}, onBroken: () => {}, onDrained: () => {} };

interface Sent {
  readonly connection: number;
  readonly call: number;
  readonly dueMs: number;
  readonly isMeasured: boolean;
}

/** Takes slots as the loader does, and gives them back when a test says so. */
class Bench implements Sender {
  readonly connections: LoadConnection[];
  readonly sent: Sent[] = [];
  wakes = 0;
  readonly #slots: { connection: LoadConnection; slot: number; call: number }[] = [];

  constructor(connections: number, inFlight: number, users = 1) {
    this.connections = Array.from(
      { length: connections },
      (_, index) => new LoadConnection(NOBODY, index, index % users, `user${index % users}`, inFlight),
    );
  }

  get waiting(): number {
    return this.#slots.length;
  }

  open(pacer: Pacer): void {
    for (const connection of this.connections) pacer.onOpen(connection);
  }

  send(connection: LoadConnection, call: number, dueMs: number, isMeasured: boolean): void {
    expect(connection.slots.count).toBeLessThan(connection.slots.limit);
    this.#slots.push({ connection, slot: connection.slots.take(), call });
    this.sent.push({ connection: connection.index, call, dueMs, isMeasured });
  }

  wake(): void {
    this.wakes++;
  }

  /** The oldest call of any, or of one connection, is answered. */
  answer(pacer: Pacer, nowMs: number, of = -1): void {
    const at = this.#slots.findIndex(({ connection }) => of < 0 || connection.index === of);
    const [found] = this.#slots.splice(at, 1);
    if (found === undefined) throw new Error('no call waits');
    found.connection.slots.free(found.slot);
    found.connection.nowMs = nowMs;
    pacer.onCallOver(found.call);
    pacer.onSlotFree(found.connection);
  }
}

describe('the schedule of a rate', () => {
  const rates = fc.double({ min: 0.1, max: 1e6, noNaN: true });
  const ramps = fc.integer({ min: 0, max: 60_000 });
  const phases = fc.double({ min: 0, max: 0.999, noNaN: true });

  test('calls until any time are those that are due before it', () => {
    fc.assert(
      fc.property(rates, ramps, phases, fc.double({ min: 0, max: 120_000, noNaN: true }), (rate, ramp, phase, ms) => {
        const schedule = new RateSchedule(rate, ramp, phase);
        const count = schedule.countBefore(ms);
        expect(schedule.dueMs(count)).toBeGreaterThanOrEqual(ms);
        if (count > 0) expect(schedule.dueMs(count - 1)).toBeLessThan(ms);
      }),
    );
  });

  test('due times rise', () => {
    fc.assert(
      fc.property(rates, ramps, phases, fc.integer({ min: 0, max: 1e6 }), (rate, ramp, phase, call) => {
        const schedule = new RateSchedule(rate, ramp, phase);
        expect(schedule.dueMs(call + 1)).toBeGreaterThanOrEqual(schedule.dueMs(call));
      }),
    );
  });

  test('without a ramp as many calls in each second as were asked for', () => {
    const schedule = new RateSchedule(1000, 0, 0.5);
    for (let second = 1; second < 5; second++) expect(schedule.countBefore(second * 1000)).toBe(second * 1000);
    expect(schedule.dueMs(0)).toBe(0.5);
    expect(schedule.dueMs(1)).toBe(1.5);
  });

  test('over the ramp half of them, and after half of it a quarter of the rate', () => {
    const schedule = new RateSchedule(1000, 10_000, 0.5);
    expect(schedule.countBefore(10_000)).toBe(5000);
    expect(schedule.countBefore(5_000)).toBe(1250);
    expect(schedule.countBefore(11_000)).toBe(6000);
  });

  test('the threads of a run together have its rate, and no two the same moments', () => {
    const shares = [0, 1, 2, 3].map((thread) =>
      createSchedule({ kind: 'open', callsPerSecond: 4000, rampMs: 0 }, 0.25, thread, 4, []),
    );
    const due = shares.flatMap((schedule) => Array.from({ length: 1000 }, (_, call) => schedule.dueMs(call)));
    expect(due.filter((ms) => ms < 1000)).toHaveLength(4000);
    expect(new Set(due.map((ms) => ms.toFixed(6))).size).toBe(4000);
  });

  test('a log keeps its times, divided by the speed', () => {
    const schedule = new ReplaySchedule([replayCall(0), replayCall(100), replayCall(100), replayCall(400)], 2);
    expect([0, 1, 2, 3].map((call) => schedule.dueMs(call))).toEqual([0, 50, 50, 200]);
    expect(schedule.countBefore(50)).toBe(1);
    expect(schedule.countBefore(50.1)).toBe(3);
    expect(() => new ReplaySchedule([replayCall(2), replayCall(1)], 1)).toThrow('earlier');
  });
});

describe('the open loop', () => {
  // 1000 calls a second, due at 0.5, 1.5, 2.5 … ms after 5000.
  const START_MS = 5000;
  const open = (bench: Bench, warmupMs: number, endMs: number, calls: number | null = null): OpenPacer => {
    const schedule = new RateSchedule(1000, 0, 0.5);
    const pacer = new OpenPacer(bench, schedule, START_MS, START_MS + warmupMs, START_MS + endMs, calls);
    bench.open(pacer);
    return pacer;
  };

  test('everything due is sent at once, over all connections in turn, with the time at which it was due', () => {
    const bench = new Bench(3, 4);
    const pacer = open(bench, 2, 100);
    pacer.issue(START_MS + 4);
    expect(bench.sent).toEqual([
      { connection: 0, call: 0, dueMs: 5000.5, isMeasured: false },
      { connection: 1, call: 1, dueMs: 5001.5, isMeasured: false },
      { connection: 2, call: 2, dueMs: 5002.5, isMeasured: true },
      { connection: 0, call: 3, dueMs: 5003.5, isMeasured: true },
    ]);
  });

  test('a connection without a free slot is passed over', () => {
    const bench = new Bench(2, 2);
    const pacer = open(bench, 0, 100);
    pacer.issue(START_MS + 4);
    bench.answer(pacer, START_MS + 4, 1);
    bench.answer(pacer, START_MS + 4, 1);
    pacer.issue(START_MS + 6);
    expect(bench.sent.map(({ connection }) => connection)).toEqual([0, 1, 0, 1, 1, 1]);
  });

  test('without a free slot calls wait and keep their due times; a reply wakes the loop', () => {
    const bench = new Bench(1, 1);
    const pacer = open(bench, 0, 100);
    pacer.issue(START_MS + 20);
    expect(bench.sent).toHaveLength(1);
    expect(pacer.countWaiting(START_MS + 20)).toBe(19);
    expect(bench.wakes).toBe(0);
    bench.answer(pacer, START_MS + 20);
    expect(bench.wakes).toBe(1);
    pacer.issue(START_MS + 20);
    expect(bench.sent[1]).toEqual({ connection: 0, call: 1, dueMs: 5001.5, isMeasured: true });
  });

  test('late calls are told apart: slots were taken, or the loader itself came late', () => {
    const bench = new Bench(1, 4);
    const pacer = open(bench, 0, 100);
    // Due at 0.5, 1.5, 2.5, 3.5: three are more than 5 ms late at 8.
    pacer.issue(START_MS + 8);
    expect([pacer.lateForSlots, pacer.lateForLoader]).toEqual([0, 3]);
    // Those up to 7.5 were waiting for slots when these became free.
    for (let i = 0; i < 4; i++) bench.answer(pacer, START_MS + 20);
    pacer.issue(START_MS + 20);
    expect([pacer.lateForSlots, pacer.lateForLoader]).toEqual([4, 3]);
    expect(LATE_MS).toBe(5);
  });

  test('what is due before the end is sent in the end, the rest is unsent', () => {
    const bench = new Bench(1, 60);
    const pacer = open(bench, 10, 100);
    pacer.issue(START_MS + 40);
    pacer.end(START_MS + 105, false);
    expect(pacer.isOver).toBe(true);
    expect(pacer.due).toBe(90);
    expect(bench.sent).toHaveLength(60);
    expect(pacer.unsent).toBe(40);
    expect(pacer.countWaiting(START_MS + 105)).toBe(0);
  });

  test('an early end cuts what is due', () => {
    const bench = new Bench(1, 1000);
    const pacer = open(bench, 10, 100);
    pacer.end(START_MS + 50, false);
    expect(bench.sent).toHaveLength(50);
    expect([pacer.due, pacer.unsent]).toEqual([40, 0]);
  });

  test('calls of an end before the measured time are not due', () => {
    const pacer = open(new Bench(1, 1), 10, 100);
    pacer.end(START_MS + 5, false);
    expect([pacer.due, pacer.unsent]).toEqual([0, 0]);
  });

  test('a run of so many calls ends with the last of them, however late', () => {
    const bench = new Bench(1, 1);
    const pacer = open(bench, 2, Number.POSITIVE_INFINITY, 3);
    for (let round = 0; round < 5; round++) {
      pacer.issue(START_MS + 1000);
      bench.answer(pacer, START_MS + 1000);
    }
    pacer.issue(START_MS + 1000);
    expect(pacer.isOver).toBe(true);
    expect(bench.sent.filter(({ isMeasured }) => isMeasured)).toHaveLength(3);
    expect(bench.sent).toHaveLength(5);
    expect([pacer.due, pacer.unsent]).toEqual([3, 0]);
  });

  test('giving up leaves all that was to be made unsent, due or not', () => {
    const bench = new Bench(1, 10);
    const pacer = open(bench, 2, Number.POSITIVE_INFINITY, 100);
    pacer.issue(START_MS + 5);
    pacer.onBroken(bench.connections[0] as LoadConnection);
    pacer.end(START_MS + 50, true);
    expect(bench.sent).toHaveLength(5);
    expect([pacer.due, pacer.unsent, pacer.isOver]).toEqual([100, 97, true]);
  });

  test('a full connection gets no calls until it is written; calls that wait for it are late for slots', () => {
    const bench = new Bench(1, 100);
    const [connection] = bench.connections as [LoadConnection];
    const pacer = open(bench, 0, 100);
    pacer.issue(START_MS + 1);
    connection.isFull = true;
    pacer.issue(START_MS + 2);
    expect(bench.sent).toHaveLength(2);
    bench.answer(pacer, START_MS + 2);
    pacer.issue(START_MS + 20);
    expect(bench.sent).toHaveLength(2);
    connection.isFull = false;
    pacer.onWritable(connection);
    pacer.issue(START_MS + 20);
    expect(bench.sent).toHaveLength(20);
    expect([pacer.lateForSlots, pacer.lateForLoader]).toEqual([13, 0]);
  });

  test('the delay of sending is that of calls that found a slot', () => {
    const bench = new Bench(1, 4);
    const pacer = open(bench, 0, 100);
    pacer.issue(START_MS + 4);
    for (let i = 0; i < 4; i++) bench.answer(pacer, START_MS + 4);
    pacer.issue(START_MS + 8);
    // The next ones have to wait for slots.
    pacer.issue(START_MS + 30);
    for (let i = 0; i < 4; i++) bench.answer(pacer, START_MS + 30);
    pacer.issue(START_MS + 30);
    expect(bench.sent).toHaveLength(12);
    expect(pacer.sendDelay).toEqual(countsOf([3.5, 2], [2.5, 2], [1.5, 2], [0.5, 2]));
  });

  test('a broken connection gets no calls until it is open again', () => {
    const bench = new Bench(2, 100);
    const pacer = open(bench, 0, 100);
    pacer.onBroken(bench.connections[0] as LoadConnection);
    pacer.issue(START_MS + 4);
    expect(bench.sent.map(({ connection }) => connection)).toEqual([1, 1, 1, 1]);
    pacer.onOpen(bench.connections[0] as LoadConnection);
    pacer.issue(START_MS + 6);
    expect(
      bench.sent
        .slice(4)
        .map(({ connection }) => connection)
        .toSorted(),
    ).toEqual([0, 1]);
  });
});

describe('the closed loop', () => {
  test('slots are always full until the end; calls sent from the warm-up on are measured', () => {
    const bench = new Bench(2, 3);
    const now = performance.now();
    const pacer = new ClosedPacer(bench, now + 1_000_000, now + 2_000_000, null);
    bench.open(pacer);
    expect(bench.waiting).toBe(6);
    bench.answer(pacer, now + 10);
    expect(bench.waiting).toBe(6);
    expect(pacer.due).toBe(0);
    bench.answer(pacer, now + 1_000_000);
    expect(bench.sent.at(-1)?.isMeasured).toBe(true);
    bench.answer(pacer, now + 2_000_000);
    expect(bench.waiting).toBe(5);
    expect(pacer.due).toBe(1);
  });

  test('giving up leaves the calls unsent that were not made', () => {
    const bench = new Bench(2, 3);
    const pacer = new ClosedPacer(bench, 0, Number.POSITIVE_INFINITY, 10);
    bench.open(pacer);
    pacer.end(5, true);
    expect([pacer.due, pacer.unsent, pacer.isOver]).toEqual([10, 4, true]);
  });

  test('a full connection is filled when it is written', () => {
    const bench = new Bench(1, 3);
    const [connection] = bench.connections as [LoadConnection];
    const pacer = new ClosedPacer(bench, 0, Number.POSITIVE_INFINITY, null);
    connection.isFull = true;
    bench.open(pacer);
    expect(bench.waiting).toBe(0);
    connection.isFull = false;
    pacer.onWritable(connection);
    expect(bench.waiting).toBe(3);
  });

  test('exactly so many calls', () => {
    const bench = new Bench(2, 3);
    const pacer = new ClosedPacer(bench, 0, Number.POSITIVE_INFINITY, 10);
    bench.open(pacer);
    while (bench.waiting > 0) bench.answer(pacer, 1);
    expect(bench.sent).toHaveLength(10);
    expect([pacer.due, pacer.isOver]).toEqual([10, true]);
  });
});

describe('a replay', () => {
  const told: [number, number][] = [];
  const replay = (
    bench: Bench,
    users: number[],
    atMs: number[],
    after: number[][] = [],
    links: ReplayLinks = NO_LINKS,
  ): ReplayPacer => {
    const schedule = new ReplaySchedule(atMs.map(replayCall), 1);
    const before = users.map((_, call) => ({ after: after[call] ?? [] }));
    told.length = 0;
    const announce = (thread: number, number: number) => told.push([thread, number]);
    const pacer = new ReplayPacer(
      bench,
      schedule,
      0,
      bench.connections,
      Int32Array.from(users),
      before,
      links,
      announce,
    );
    pacer.startMs = 100;
    bench.open(pacer);
    return pacer;
  };

  test('a call does not overtake the one that it must not, whoever makes them', () => {
    const bench = new Bench(2, 8, 2);
    // 1 and 3 wait for 0, 4 for 2 and 3; 2 waits for nobody.
    const pacer = replay(bench, [0, 1, 1, 0, 1], [0, 0, 0, 1, 1], [[], [0], [], [0], [2, 3]]);
    const sent = () => bench.sent.map(({ call }) => call);
    pacer.issue(110);
    expect(sent()).toEqual([0, 2]);
    expect([pacer.countWaiting(110), pacer.isOver]).toEqual([3, false]);
    bench.answer(pacer, 111, 1);
    pacer.issue(111);
    expect(sent()).toEqual([0, 2]);
    bench.answer(pacer, 120, 0);
    pacer.issue(120);
    expect(sent().toSorted()).toEqual([0, 1, 2, 3]);
    bench.answer(pacer, 121, 0);
    pacer.issue(121);
    expect(sent().at(-1)).toBe(4);
    expect([pacer.isOver, pacer.due, pacer.unsent]).toEqual([true, 5, 0]);
    // Each still counts from when it was due.
    expect(bench.sent.map(({ dueMs }) => dueMs).toSorted()).toEqual([100, 100, 100, 101, 101]);
  });

  test('a call waits for those of other threads, which are told of what they wait for', () => {
    const bench = new Bench(1, 8, 1);
    // 0 waits for two calls of thread 1, 2 for one of thread 2; threads 1 and 3 wait for 1.
    const links = { foreign: Int32Array.of(1, 1, 2), awaited: Int32Array.of(1, 3, 7, 1, 1, 5) };
    const pacer = replay(bench, [0, 0, 0], [0, 0, 0], [[3, 4], [], [5]], links);
    const sent = () => bench.sent.map(({ call }) => call);
    pacer.issue(110);
    expect([sent(), pacer.countWaiting(110), told]).toEqual([[1], 2, []]);
    bench.answer(pacer, 111);
    expect(told.toSorted()).toEqual([
      [1, 5],
      [3, 7],
    ]);
    pacer.onCallOver(3);
    pacer.issue(112);
    expect(sent()).toEqual([1]);
    pacer.onCallOver(4);
    pacer.issue(113);
    expect(sent()).toEqual([1, 0]);
    // What a thread has not made when it ends is not waited for any longer.
    pacer.onThreadEnded(1);
    pacer.issue(114);
    expect([sent(), pacer.isOver]).toEqual([[1, 0], false]);
    pacer.onThreadEnded(2);
    pacer.issue(115);
    expect([sent(), pacer.isOver, pacer.due, pacer.unsent]).toEqual([[1, 0, 2], true, 3, 0]);
    expect(told).toHaveLength(2);
  });

  test('a call that still waits for another at the end is unsent', () => {
    const bench = new Bench(2, 8, 2);
    const pacer = replay(bench, [0, 1, 1], [0, 0, 50], [[], [0], []]);
    pacer.issue(110);
    pacer.end(120, false);
    expect(bench.sent).toHaveLength(1);
    expect([pacer.isOver, pacer.due, pacer.unsent, pacer.countWaiting(120)]).toEqual([true, 2, 1, 0]);
    bench.answer(pacer, 130);
    pacer.issue(130);
    expect(bench.sent).toHaveLength(1);
  });

  test('each call goes to a connection of its user', () => {
    const bench = new Bench(4, 8, 2);
    const pacer = replay(bench, [0, 1, 1, 0, 0, 1], [0, 0, 1, 2, 3, 4]);
    pacer.issue(110);
    expect(bench.sent.map(({ connection }) => connection)).toEqual([0, 1, 3, 2, 0, 1]);
    expect(bench.sent.map(({ dueMs }) => dueMs)).toEqual([100, 100, 101, 102, 103, 104]);
    expect([pacer.isOver, pacer.due]).toEqual([true, 6]);
  });

  test('a user whose slots are taken waits alone, and in order', () => {
    const bench = new Bench(2, 1, 2);
    const pacer = replay(bench, [0, 0, 0, 1], [0, 1, 2, 3]);
    pacer.issue(110);
    expect(bench.sent.map(({ call }) => call)).toEqual([0, 3]);
    expect(pacer.countWaiting(110)).toBe(2);
    expect(pacer.isOver).toBe(false);
    for (const call of [1, 2]) {
      bench.answer(pacer, 110, 0);
      expect(bench.wakes).toBe(call);
      pacer.issue(110);
      expect(bench.sent.at(-1)).toEqual({ connection: 0, call, dueMs: 100 + call, isMeasured: true });
    }
    expect([pacer.isOver, pacer.unsent, pacer.lateForSlots]).toEqual([true, 0, 2]);
  });

  test('an early end leaves what waits unsent, and what was not due uncounted', () => {
    const bench = new Bench(1, 1);
    const pacer = replay(bench, [0, 0, 0, 0], [0, 1, 2, 1000]);
    pacer.end(150, false);
    expect([pacer.due, pacer.unsent, bench.sent.length]).toEqual([3, 2, 1]);
  });

  test('giving up leaves all that is not made unsent', () => {
    const bench = new Bench(1, 1);
    const pacer = replay(bench, [0, 0, 0, 0], [0, 1, 2, 1000]);
    pacer.issue(150);
    pacer.end(150, true);
    expect([pacer.due, pacer.unsent, bench.sent.length]).toEqual([4, 3, 1]);
  });

  test('a full connection gets no calls until it is written', () => {
    const bench = new Bench(1, 5);
    const [connection] = bench.connections as [LoadConnection];
    const pacer = replay(bench, [0, 0, 0], [0, 1, 2]);
    pacer.issue(100);
    connection.isFull = true;
    bench.answer(pacer, 101);
    pacer.issue(101);
    pacer.issue(102);
    // One goes out before it is seen to be full.
    expect(bench.sent).toHaveLength(2);
    connection.isFull = false;
    pacer.onWritable(connection);
    pacer.issue(102);
    expect(bench.sent).toHaveLength(3);
  });

  test('a user without a connection is refused', () => {
    expect(() => replay(new Bench(2, 1, 2), [0, 1, 2], [0, 0, 0])).toThrow('no connection');
  });
});

function replayCall(atMs: number): ReplayCall {
  return { atMs, operation: 'getFileInfo', user: 'alice', source: '/a', destination: '' };
}
