import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DecayScheduler, MAX_CALLERS } from '../../src/admission/scheduler/decay-scheduler.ts';
import type { ToScheduler } from '../../src/admission/scheduler/exchanged.ts';
import { SharedScheduler } from '../../src/control/admission/shared-scheduler.ts';
import type { AdmissionSettings } from '../../src/shared/settings.ts';
import { FOUR_LEVELS } from '../support/scheduler-settings.ts';
import { SchedulerWorkers } from '../support/scheduler-workers.ts';

describe('one worker', () => {
  it('decides as the real class does', () => {
    const router = new SchedulerWorkers(FOUR_LEVELS, 1);
    const worker = router.of(0);
    worker.book({ a: 1 });
    expect(worker.levels('ab')).toBe('30');
    worker.book({ b: 1 });
    expect(worker.levels('ab')).toBe('33');
    worker.book({ a: 1 }, 6);
    expect(worker.levels('ab')).toBe('31');
    router.exchangeNow();
    expect(worker.levels('ab')).toBe('31');
    router.sweep();
    expect([worker.decayed, worker.levels('ab')]).toEqual([{ a: 3 }, '30']);
    worker.book({ c: 1 }, 10);
    expect([worker.scheduler.decay.decayedTotal, worker.levels('abc')]).toEqual([13, '303']);
    router.sweep();
    expect([worker.decayed, worker.levels('ac')]).toEqual([{ a: 1, c: 5 }, '13']);
    worker.book({ b: 1 }, 40);
    router.exchangeNow();
    expect([worker.scheduler.decay.decayedTotal, worker.levels('acb')]).toEqual([46, '133']);
    router.sweep();
    expect([worker.decayed, worker.levels('bc')]).toEqual([{ b: 20, c: 2 }, '30']);
    router.sweep();
    expect([worker.decayed, worker.levels('bc')]).toEqual([{ b: 10, c: 1 }, '30']);
    for (const left of [5, 2, 1]) {
      router.sweep();
      expect([worker.decayed, worker.levels('b')]).toEqual([{ b: left }, '3']);
    }
    router.sweep();
    expect([worker.decayed, worker.levels('b')]).toEqual([{}, '0']);
  });

  it('costs, service users and response times as well', () => {
    const router = new SchedulerWorkers({ ...FOUR_LEVELS, serviceUsers: ['s'], responseTimesMs: [10, 20, 30, 40] }, 1);
    const worker = router.of(0);
    worker.book({ a: 125, b: 250, c: 500, d: 124, e: 1, s: 5000 });
    for (let level = 0; level < 4; level++) worker.scheduler.decay.noteAnswered(level, 5, 20);
    expect(worker.levels('abcdes')).toBe('123000');
    const refused = () => [0, 1, 2, 3].filter((level) => worker.scheduler.refuses(level)).join('');
    expect(refused()).toBe('');
    router.sweep();
    expect([worker.levels('abcds'), worker.scheduler.decay.decayedTotal]).toEqual(['02300', 499]);
    expect(refused()).toBe('0123');
    router.exchangeNow();
    router.sweep();
    expect(refused()).toBe('0123');
    for (let i = 0; i < 3; i++) worker.scheduler.decay.noteAnswered(1, 2, 4);
    router.exchangeNow();
    router.sweep();
    expect(refused()).toBe('');
    expect(router.exchange.report()).toMatchObject({
      responseMs: [6.25, 12.25, 6.25, 6.25],
      completed: [0, 3, 0, 0],
      serviceDecayedVolume: 625,
    });
  });

  it('is a DecayRpcScheduler, whatever happens in whatever order', () => {
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.record({ book: fc.constantFrom('a', 'b', 'c', 's'), cost: fc.nat(50) }) },
      { weight: 2, arbitrary: fc.record({ answered: fc.nat(3), ms: fc.nat(60) }) },
      { weight: 1, arbitrary: fc.constantFrom('exchange' as const, 'sweep' as const) },
    );
    const settings = { ...FOUR_LEVELS, serviceUsers: ['s'], responseTimesMs: [10, 20, 30, 40] };
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const alone = new DecayScheduler(settings);
        const router = new SchedulerWorkers(settings, 1);
        router.settle();
        const worker = router.of(0);
        for (const each of steps) {
          if (each === 'exchange') router.exchangeNow();
          else if (each === 'sweep') {
            router.sweep();
            alone.sweep();
            expect(router.exchange.report()).toEqual(alone.report());
          } else if ('book' in each) {
            worker.book({ [each.book]: each.cost });
            alone.book(alone.callerOf(each.book), each.cost);
          } else {
            worker.scheduler.decay.noteAnswered(each.answered, 0, each.ms);
            alone.noteAnswered(each.answered, 0, each.ms);
          }
          expect(worker.levels('abcsz')).toBe(
            Array.from('abcsz', (name) => alone.levelOf(alone.callerOf(name))).join(''),
          );
          for (let level = 0; level < 4; level++) expect(worker.scheduler.refuses(level)).toBe(alone.refuses(level));
        }
      }),
      { seed: 4, numRuns: 300, interruptAfterTimeLimit: 5_000, markInterruptAsFailure: false },
    );
  });
});

describe('two workers', () => {
  it('have the same levels after a sweep, and hear of each other within a period', () => {
    const router = new SchedulerWorkers(FOUR_LEVELS, 2);
    const [first, second] = [router.of(0), router.of(1)];
    first.book({ a: 6 });
    second.book({ b: 2 });
    // Each knows its own at once.
    expect([first.levels('ab'), second.levels('ab')]).toEqual(['30', '03']);
    router.exchangeNow();
    expect([first.levels('ab'), second.levels('ab')]).toEqual(['32', '32']);
    router.exchangeNow();
    expect([first.decayed, second.decayed]).toEqual([
      { a: 6, b: 2 },
      { a: 6, b: 2 },
    ]);
    first.book({ b: 2 });
    second.book({ c: 30 });
    router.sweep();
    for (const worker of [first, second]) {
      expect([worker.decayed, worker.levels('abc')]).toEqual([{ a: 3, b: 2, c: 15 }, '103']);
    }
    expect(router.exchange.report()).toMatchObject({ callers: 3, volume: 40, decayedVolume: 20 });
  });

  it('what one charges between its answer and the sweep counts after it', () => {
    const router = new SchedulerWorkers(FOUR_LEVELS, 2);
    router.settle();
    const [first, second] = [router.of(0), router.of(1)];
    first.book({ a: 8 });
    router.exchange.collect(true);
    first.read();
    first.deliver();
    first.book({ b: 4 });
    second.read();
    second.deliver();
    router.settle();
    expect([first.decayed, second.decayed]).toEqual([{ a: 4, b: 4 }, { a: 4 }]);
    router.exchangeNow();
    expect(second.decayed).toEqual({ a: 4, b: 4 });
    router.sweep();
    expect([first.decayed, second.decayed]).toEqual([
      { a: 2, b: 2 },
      { a: 2, b: 2 },
    ]);
  });

  it('one that stands still holds up nobody; its figures count when they come, in all', () => {
    const router = new SchedulerWorkers(FOUR_LEVELS, 2);
    router.settle();
    const [first, second] = [router.of(0), router.of(1)];
    first.book({ a: 8 });
    second.book({ b: 40 });
    router.exchange.collect(true);
    router.settle([1]);
    expect([router.exchange.isOpen, first.decayed]).toEqual([true, { a: 8 }]);
    router.exchange.giveUp();
    router.settle([1]);
    expect([router.exchange.isOpen, first.decayed, first.levels('a')]).toEqual([false, { a: 4 }, '3']);
    // It is not asked again, nor waited for.
    for (let i = 0; i < 5; i++) router.exchange.collect(false);
    router.exchange.collect(true);
    router.settle([1]);
    expect([router.exchange.isOpen, first.decayed]).toEqual([false, { a: 2 }]);
    expect(second.waiting).toEqual(['admission-collect', 'admission-state', 'admission-state']);
    router.settle();
    expect(second.decayed).toEqual({ a: 2 });
    router.exchangeNow();
    for (const worker of [first, second]) {
      expect([worker.decayed, worker.levels('ab')]).toEqual([{ a: 2, b: 40 }, '33']);
    }
    router.sweep();
    for (const worker of [first, second]) {
      expect([worker.decayed, worker.levels('ab')]).toEqual([{ a: 1, b: 20 }, '03']);
    }
  });

  it('one that died is not waited for, and the one in its place knows all at once', () => {
    const router = new SchedulerWorkers(FOUR_LEVELS, 2);
    router.settle();
    const first = router.of(0);
    first.book({ a: 8 });
    router.of(1).book({ b: 24 });
    router.sweep();
    router.exchange.collect(true);
    router.settle([1]);
    expect(router.exchange.isOpen).toBe(true);
    router.exchange.leave(1);
    router.settle([1]);
    expect([router.exchange.isOpen, first.decayed]).toEqual([false, { a: 2, b: 6 }]);
    first.book({ c: 1 });
    router.exchange.collect(false);
    first.read();
    first.deliver();
    const next = router.start(1);
    router.settle();
    for (const worker of [first, next]) {
      expect([worker.decayed, worker.levels('abc')]).toEqual([{ a: 2, b: 6, c: 1 }, '230']);
    }
  });

  it('a sweep that falls into an open round is made at its end', () => {
    const router = new SchedulerWorkers(FOUR_LEVELS, 2);
    router.settle();
    router.of(0).book({ a: 8 });
    router.exchange.collect(false);
    router.exchange.collect(true);
    router.settle();
    expect(router.of(1).decayed).toEqual({ a: 4 });
    router.exchange.collect(false);
    router.settle();
    expect(router.of(1).decayed).toEqual({ a: 4 });
  });

  it('answers for other settings count nowhere, but are answers', () => {
    const router = new SchedulerWorkers(FOUR_LEVELS, 1);
    router.settle();
    router.exchange.collect(false);
    const booked = { names: ['a'], costs: Float64Array.of(7) };
    const none = new Float64Array(4);
    router.exchange.onBooked(0, {
      kind: 'admission-booked',
      generation: 5,
      booked: { ...booked, answered: none, queueMs: none, processingMs: none },
    });
    expect([router.exchange.isOpen, router.exchange.report().callers]).toEqual([false, 0]);
    router.settle();
    router.of(0).book({ a: 1 });
    router.of(0).tell({ kind: 'admission-merge', generation: 5, booked: [] });
    router.settle();
    expect(router.of(0).decayed).toEqual({ a: 1 });
  });

  it('agree after every sweep, whatever each has charged and whoever was late', () => {
    const step = fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({ worker: fc.nat(2), name: fc.constantFrom('a', 'b', 'c'), cost: fc.nat(50) }),
      },
      { weight: 1, arbitrary: fc.record({ collect: fc.boolean() }) },
      { weight: 3, arbitrary: fc.record({ read: fc.nat(2) }) },
      { weight: 3, arbitrary: fc.record({ deliver: fc.nat(2) }) },
      { weight: 1, arbitrary: fc.constant('give up' as const) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), fc.boolean(), (steps, sweeps) => {
        const router = new SchedulerWorkers({ ...FOUR_LEVELS, factor: 0.999 }, 3);
        let cost = 0;
        for (const each of steps) {
          if (each === 'give up') router.exchange.giveUp();
          else if ('worker' in each) {
            router.of(each.worker).book({ [each.name]: each.cost });
            cost += each.cost;
          } else if ('collect' in each) router.exchange.collect(sweeps && each.collect);
          else if ('read' in each) router.of(each.read).read();
          else router.of(each.deliver).deliver();
        }
        router.settle();
        for (const worker of router.workers) worker.deliver();
        router.exchangeNow();
        router.exchangeNow();
        for (const { scheduler } of router.workers) {
          expect(scheduler.decay.rawTotal).toBe(router.exchange.report().volume);
          // Nothing is lost, and nothing counts twice; with sweeps, what is forgotten does not count any more.
          if (!sweeps) expect(scheduler.decay.rawTotal).toBe(cost);
        }
        router.sweep();
        const seen = router.workers.map((worker) => [worker.decayed, worker.levels('abc')]);
        expect(seen[1]).toEqual(seen[0]);
        expect(seen[2]).toEqual(seen[0]);
      }),
      { seed: 5, numRuns: 400, interruptAfterTimeLimit: 5_000, markInterruptAsFailure: false },
    );
  });

  it('tell of no more callers than the table has', () => {
    const router = new SchedulerWorkers(FOUR_LEVELS, 2);
    router.settle();
    for (const worker of router.workers) {
      for (let i = 0; i < MAX_CALLERS + 10; i++) worker.book({ [`${worker.index}-${i}`]: 2 });
      expect(worker.scheduler.report().names).toHaveLength(MAX_CALLERS + 1);
      worker.book({ x: 1 });
    }
    for (const worker of router.workers) {
      for (let i = 0; i < MAX_CALLERS + 10; i++) worker.book({ [`${worker.index}-${i}`]: 2 });
    }
    router.sweep();
    expect(router.exchange.report().callers).toBe(MAX_CALLERS + 1);
    for (const worker of router.workers) {
      expect(Array.from(worker.scheduler.decay.charged())).toHaveLength(MAX_CALLERS + 1);
    }
  });
});

describe('the main thread', () => {
  const ADMISSION: AdmissionSettings = {
    capacity: 400,
    levels: 4,
    capacityWeights: [1, 1, 1, 1],
    multiplexerWeights: [8, 4, 2, 1],
    scheduler: FOUR_LEVELS,
    backoff: false,
    overflowFailover: false,
    coalesceReads: false,
    timeLimitMs: 30_000,
    windows: [],
  };
  const told: ToScheduler[] = [];
  const peer = { index: 0, tell: (message: ToScheduler) => told.push(message) };
  const take = (): string[] => told.splice(0).map(({ kind, generation }) => `${kind} ${generation}`);
  let shared: SharedScheduler;

  function answer(names: readonly string[] = [], generation = 0): void {
    const none = new Float64Array(4);
    const booked = { names, costs: new Float64Array(names.length).fill(8), answered: none, queueMs: none };
    shared.onBooked(0, { kind: 'admission-booked', generation, booked: { ...booked, processingMs: none } });
  }

  beforeEach(() => {
    vi.useFakeTimers();
    told.length = 0;
    shared = new SharedScheduler(ADMISSION);
    shared.start();
    shared.join(peer);
  });

  afterEach(() => {
    shared.stop();
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });

  it('with periods shorter than what it waits, does not wait for a silent worker for ever', () => {
    shared.stop();
    shared = new SharedScheduler({ ...ADMISSION, scheduler: { ...FOUR_LEVELS, periodMs: 100 } });
    shared.start();
    shared.join(peer);
    take();
    vi.advanceTimersByTime(349);
    expect(take()).toEqual(['admission-collect 0']);
    vi.advanceTimersByTime(1);
    expect(take()).toEqual(['admission-state 0']);
  });

  it('asks each second, and sweeps at the end of each period', () => {
    expect(take()).toEqual(['admission-state 0']);
    for (let second = 1; second < 5; second++) {
      vi.advanceTimersByTime(1000);
      expect(take()).toEqual(['admission-collect 0']);
      answer(['a']);
      expect(take()).toEqual([]);
    }
    expect(shared.report()).toMatchObject({ volume: 32, decayedVolume: 32 });
    vi.advanceTimersByTime(1000);
    expect(take()).toEqual(['admission-collect 0']);
    answer();
    expect(take()).toEqual(['admission-state 0']);
    expect(shared.report()).toMatchObject({ volume: 32, decayedVolume: 16 });
  });

  it('waits for a worker a little, and not twice', () => {
    for (let second = 1; second < 5; second++) {
      vi.advanceTimersByTime(1000);
      answer(second === 1 ? ['a'] : []);
    }
    take();
    vi.advanceTimersByTime(1000);
    expect(shared.report()).toMatchObject({ decayedVolume: 8 });
    vi.advanceTimersByTime(300);
    expect(shared.report()).toMatchObject({ decayedVolume: 4 });
    expect(take()).toEqual(['admission-collect 0', 'admission-state 0']);
    vi.advanceTimersByTime(4700);
    expect(shared.report()).toMatchObject({ decayedVolume: 2 });
    expect(take()).toEqual(['admission-state 0']);
  });

  it('begins anew with other settings, which may know no scheduler', () => {
    vi.advanceTimersByTime(1000);
    answer(['a']);
    take();
    shared.apply({ ...ADMISSION, scheduler: { ...FOUR_LEVELS, periodMs: 100 } });
    expect(take()).toEqual(['admission-state 1']);
    expect(shared.report()).toMatchObject({ volume: 0 });
    vi.advanceTimersByTime(100);
    expect(take()).toEqual(['admission-collect 1']);
    answer(['a'], 0);
    expect(shared.report()).toMatchObject({ volume: 0 });
    shared.apply({ ...ADMISSION, levels: 1, scheduler: null });
    expect(shared.report()).toBeNull();
    answer(['a'], 1);
    vi.advanceTimersByTime(10_000);
    expect(take()).toEqual(['admission-state 1']);
    shared.apply(ADMISSION);
    expect(take()).toEqual(['admission-state 3']);
    shared.leave(0);
    vi.advanceTimersByTime(10_000);
    expect(take()).toEqual([]);
  });
});
