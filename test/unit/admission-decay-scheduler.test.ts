import { describe, expect, it } from 'vitest';
import { CallCosts } from '../../src/admission/scheduler/cost.ts';
import { DecayScheduler, MAX_CALLERS, OTHERS } from '../../src/admission/scheduler/decay-scheduler.ts';
import { FOUR_LEVELS } from '../support/scheduler-settings.ts';

/** Vectors of the real DecayRpcScheduler; test/hadoop/fair-call-queue.test.ts asks that one again. */

function book(scheduler: DecayScheduler, costs: Readonly<Record<string, number>>, times = 1): void {
  for (const [name, cost] of Object.entries(costs)) {
    for (let i = 0; i < times; i++) scheduler.book(scheduler.callerOf(name), cost);
  }
}

function levels(scheduler: DecayScheduler, names: string): string {
  return Array.from(names, (name) => scheduler.levelOf(scheduler.callerOf(name))).join('');
}

function decayed(scheduler: DecayScheduler): Record<string, number> {
  return Object.fromEntries(Array.from(scheduler.charged(), (caller) => [caller.name, caller.decayed]));
}

describe('the level of a caller', () => {
  it('follows from its share: as it is now for a new one, as it was at the last sweep for others', () => {
    const scheduler = new DecayScheduler(FOUR_LEVELS);
    book(scheduler, { a: 1 });
    expect([scheduler.decayedTotal, levels(scheduler, 'ab')]).toEqual([1, '30']);
    book(scheduler, { b: 1 });
    expect([scheduler.decayedTotal, levels(scheduler, 'ab')]).toEqual([2, '33']);
    book(scheduler, { a: 1 }, 6);
    expect([scheduler.decayedTotal, levels(scheduler, 'ab')]).toEqual([8, '31']);
    scheduler.sweep();
    expect([scheduler.decayedTotal, decayed(scheduler), levels(scheduler, 'ab')]).toEqual([3, { a: 3 }, '30']);
    book(scheduler, { c: 1 }, 10);
    expect([scheduler.decayedTotal, levels(scheduler, 'abc')]).toEqual([13, '303']);
    scheduler.sweep();
    expect([scheduler.decayedTotal, decayed(scheduler), levels(scheduler, 'ac')]).toEqual([6, { a: 1, c: 5 }, '13']);
    book(scheduler, { b: 1 }, 40);
    expect([scheduler.decayedTotal, levels(scheduler, 'acb')]).toEqual([46, '133']);
    scheduler.sweep();
    expect([scheduler.decayedTotal, decayed(scheduler), levels(scheduler, 'bc')]).toEqual([22, { b: 20, c: 2 }, '30']);
    scheduler.sweep();
    expect([scheduler.decayedTotal, decayed(scheduler), levels(scheduler, 'bc')]).toEqual([11, { b: 10, c: 1 }, '30']);
    for (const left of [5, 2, 1]) {
      scheduler.sweep();
      expect([scheduler.decayedTotal, decayed(scheduler), levels(scheduler, 'b')]).toEqual([left, { b: left }, '3']);
    }
    scheduler.sweep();
    expect([scheduler.decayedTotal, decayed(scheduler), levels(scheduler, 'b')]).toEqual([0, {}, '0']);
  });

  it('is that of the highest threshold it reaches', () => {
    const scheduler = new DecayScheduler(FOUR_LEVELS);
    book(scheduler, { a: 125, b: 250, c: 500, d: 124, e: 1 });
    expect(levels(scheduler, 'abcde')).toBe('12300');
    scheduler.sweep();
    expect(decayed(scheduler)).toEqual({ a: 62, b: 125, c: 250, d: 62 });
    expect([scheduler.decayedTotal, levels(scheduler, 'abcd')]).toEqual([499, '0230']);
  });

  it('is the best for service users, whose cost is nobody’s', () => {
    const scheduler = new DecayScheduler({ ...FOUR_LEVELS, serviceUsers: ['s'] });
    book(scheduler, { s: 1000, x: 1, y: 9 });
    expect([scheduler.decayedTotal, levels(scheduler, 'sy')]).toEqual([10, '03']);
    scheduler.sweep();
    expect(decayed(scheduler)).toEqual({ s: 500, y: 4 });
    expect(levels(scheduler, 'sy')).toBe('03');
    expect(scheduler.report()).toMatchObject({
      callers: 2,
      decayedVolume: 4,
      volume: 10,
      serviceDecayedVolume: 500,
      serviceVolume: 1000,
      top: [
        { name: 's', volume: 1000, level: 0 },
        { name: 'y', volume: 9, level: 3 },
      ],
    });
    // Who was forgotten has cost once more, and not again.
    scheduler.sweep();
    expect(scheduler.report()).toMatchObject({ volume: 9, decayedVolume: 2 });
  });

  it('counts for the caller of that name, whoever still holds one that was forgotten', () => {
    const scheduler = new DecayScheduler(FOUR_LEVELS);
    const old = scheduler.callerOf('a');
    scheduler.sweep();
    book(scheduler, { a: 3, b: 1 });
    expect(scheduler.levelOf(old)).toBe(3);
    expect(scheduler.book(old, 4)).toBe(scheduler.callerOf('a'));
    expect(decayed(scheduler)).toEqual({ a: 7, b: 1 });
    const other = new DecayScheduler(FOUR_LEVELS);
    other.book(scheduler.callerOf('a'), 5);
    expect([decayed(scheduler), decayed(other)]).toEqual([{ a: 7, b: 1 }, { a: 5 }]);
  });

  it('is one for all who find no place in the table, which has places again after a sweep', () => {
    const scheduler = new DecayScheduler(FOUR_LEVELS);
    for (let i = 0; i < MAX_CALLERS; i++) scheduler.book(scheduler.callerOf(`u${i}`), i < 10 ? 2 : 1);
    const beyond = ['x', 'y'].map((name) => scheduler.callerOf(name));
    expect(beyond[0]).toBe(beyond[1]);
    expect([beyond[0]?.name, beyond[0]?.serviceUser]).toEqual([OTHERS, false]);
    scheduler.book(beyond[0] as never, MAX_CALLERS);
    expect(scheduler.levelOf(beyond[1] as never)).toBe(2);
    expect(scheduler.report()).toMatchObject({ callers: MAX_CALLERS + 1, volume: 2 * MAX_CALLERS + 10 });
    scheduler.sweep();
    expect(scheduler.levelOf(beyond[0] as never)).toBe(3);
    expect(scheduler.report().callers).toBe(11);
    expect(scheduler.callerOf('x').name).toBe('x');
    for (let i = 0; i < 20; i++) scheduler.sweep();
    expect(scheduler.report()).toMatchObject({ callers: 0, decayedVolume: 0, volume: 0, top: [] });
  });

  it('the heaviest are reported, as many as were asked for', () => {
    const scheduler = new DecayScheduler({ ...FOUR_LEVELS, topUsers: 2 });
    book(scheduler, { a: 1, b: 3, c: 2, d: 0 });
    expect(scheduler.report().top).toEqual([
      { name: 'b', volume: 3, level: 3 },
      { name: 'c', volume: 2, level: 2 },
    ]);
    expect(scheduler.report().callers).toBe(4);
  });
});

describe('calls are refused for their response times', () => {
  const limits = { ...FOUR_LEVELS, responseTimesMs: [10, 20, 30, 40] };
  const refused = (scheduler: DecayScheduler): string =>
    [0, 1, 2, 3].filter((level) => scheduler.refuses(level)).join('');

  it('when those of their level or a better one took too long', () => {
    const scheduler = new DecayScheduler(limits);
    for (let level = 0; level < 4; level++) scheduler.noteAnswered(level, 5, 20);
    expect(refused(scheduler)).toBe('');
    scheduler.sweep();
    expect(scheduler.report()).toMatchObject({ responseMs: [25, 25, 25, 25], completed: [1, 1, 1, 1] });
    expect(refused(scheduler)).toBe('0123');
    scheduler.sweep();
    expect(scheduler.report()).toMatchObject({ responseMs: [12.5, 12.5, 12.5, 12.5], completed: [0, 0, 0, 0] });
    expect(refused(scheduler)).toBe('0123');
    for (let i = 0; i < 3; i++) scheduler.noteAnswered(1, 2, 4);
    scheduler.sweep();
    expect(scheduler.report()).toMatchObject({ responseMs: [6.25, 12.25, 6.25, 6.25], completed: [0, 3, 0, 0] });
    expect(refused(scheduler)).toBe('');
  });

  it('of a better level alone', () => {
    const scheduler = new DecayScheduler(limits);
    scheduler.noteAnswered(2, 0, 31);
    // Each part is cut to whole ms.
    scheduler.noteAnswered(1, 20.9, 0.9);
    scheduler.sweep();
    expect(refused(scheduler)).toBe('23');
  });

  it('never when there are no limits, and calls of levels that are no more count nowhere', () => {
    const scheduler = new DecayScheduler(FOUR_LEVELS);
    scheduler.noteAnswered(0, 0, 1e6);
    scheduler.noteAnswered(9, 0, 1e6);
    scheduler.sweep();
    expect(refused(scheduler)).toBe('');
    expect(scheduler.report().completed).toEqual([1, 0, 0, 0]);
  });

  it('averages end at zero', () => {
    const scheduler = new DecayScheduler(limits);
    scheduler.noteAnswered(0, 0, 1);
    for (let i = 0; i < 16; i++) scheduler.sweep();
    expect(scheduler.report().responseMs).toEqual([0, 0, 0, 0]);
  });
});

describe('the cost of a call', () => {
  it('is 1', () => {
    expect(new CallCosts(null).of('write', 100, 100)).toBe(1);
  });

  it('is its time, weighed by what it does at the NameNode', () => {
    const costs = new CallCosts({ queue: 0, processing: 0, lockShared: 10, lockExclusive: 100 });
    expect(costs.of('read', 2, 7)).toBe(70e6);
    expect(costs.of('write', 2, 8)).toBe(800e6);
    const all = new CallCosts({ queue: 2, processing: 4, lockShared: 7, lockExclusive: 8 });
    expect(all.of('read', 3, 5)).toBe((2 * 3 + (4 + 7) * 5) * 1e6);
    expect(all.of('write', 3, 5)).toBe((2 * 3 + (4 + 8) * 5) * 1e6);
    expect(all.of('read', 0.0000019, 0)).toBe(2);
  });
});
