import { describe, expect, it } from 'vitest';
import { Lane } from '../../src/admission/lanes.ts';
import { Window } from '../../src/admission/window.ts';

const BOUNDS = { floor: 64, ceiling: 1024 };

/** `periods` of 100 ms with ten round trips of `ms` each; `wanted`: calls had to wait. The time at the end. */
function run(window: Window, fromMs: number, periods: number, ms: number, wanted = true): number {
  let now = fromMs;
  for (let period = 0; period < periods; period++) {
    for (let sample = 0; sample < 10; sample++) {
      now += 10;
      if (wanted) window.noteWanted();
      window.sample(ms, now);
    }
  }
  return now;
}

/** As `run`, of a NameNode that does `perMs` calls in a ms: the more are in flight, the longer each takes. */
function runBusy(window: Window, fromMs: number, periods: number, perMs: number): number {
  let now = fromMs;
  for (let period = 0; period < periods; period++) now = run(window, now, 1, Math.max(1, window.limit / perMs));
  return now;
}

describe('the window of a nameservice', () => {
  it('begins between its bounds', () => {
    expect(new Window(BOUNDS).limit).toBe(256);
    expect(new Window({ floor: 8, ceiling: 32 }).limit).toBe(32);
    expect(new Window({ floor: 300, ceiling: 1024 }).limit).toBe(300);
  });

  it('grows to its ceiling while calls wait and cheap reads are as quick as ever', () => {
    const window = new Window(BOUNDS);
    run(window, 0, 30, 1);
    expect(window.limit).toBe(1024);
  });

  it('stays where it is while nobody waits', () => {
    const window = new Window(BOUNDS);
    run(window, 0, 30, 1, false);
    expect(window.limit).toBe(256);
  });

  it('shrinks until a busy NameNode answers as soon as it may, and no further than its floor', () => {
    const window = new Window(BOUNDS);
    let now = run(window, 0, 30, 1);
    now = runBusy(window, now, 60, 10);
    // 11 ms are what cheap reads may take that take 1 ms at best.
    expect(window.limit).toBeGreaterThan(64);
    expect(window.limit).toBeLessThan(160);
    runBusy(window, now, 100, 1);
    expect(window.limit).toBe(64);
  });

  it('takes back what it has given up when that has no effect, tries it again after a while, and loses no more', () => {
    const window = new Window(BOUNDS);
    let now = run(window, 0, 30, 1);
    const limits: number[] = [];
    for (let period = 0; period < 200; period++) {
      now = run(window, now, 1, 50);
      limits.push(window.limit);
    }
    expect(Math.min(...limits)).toBeGreaterThanOrEqual(700);
    expect(limits.filter((limit) => limit < 1024).length).toBeLessThan(10);
  });

  it('comes back within two seconds once they are quick again', () => {
    const window = new Window(BOUNDS);
    let now = run(window, 0, 30, 1);
    now = runBusy(window, now, 100, 1);
    expect(window.limit).toBe(64);
    run(window, now, 20, 1);
    expect(window.limit).toBe(1024);
  });

  it('is not moved by a few slow ones, nor by some milliseconds', () => {
    const window = new Window(BOUNDS);
    const now = run(window, 0, 30, 0.2);
    run(window, now, 30, 8);
    expect(window.limit).toBe(1024);
  });

  it('takes a NameNode that has become slower for good for what it is, after a minute', () => {
    const window = new Window(BOUNDS);
    let now = run(window, 0, 30, 1);
    now = runBusy(window, now, 100, 1);
    expect(window.limit).toBe(64);
    now = run(window, now, 620, 60);
    expect(window.limit).toBe(1024);
  });

  it('does not judge by a handful of calls', () => {
    const window = new Window(BOUNDS);
    const now = run(window, 0, 30, 1);
    for (let i = 1; i <= 7; i++) window.sample(500, now + 100 * i);
    expect(window.limit).toBe(1024);
  });

  it('leaves to each lane what the others cannot take', () => {
    const window = new Window({ floor: 64, ceiling: 64 });
    expect([Lane.READ, Lane.WRITE, Lane.HEAVY].map((lane) => window.laneLimits[lane])).toEqual([56, 48, 16]);
    const narrow = new Window({ floor: 1, ceiling: 1 });
    expect([...narrow.laneLimits]).toEqual([1, 1, 1]);
  });

  it('is divided among workers, each keeping one call at least', () => {
    const window = new Window({ floor: 64, ceiling: 64 });
    window.share = 0.25;
    expect(window.limit).toBe(16);
    window.share = 0.001;
    expect(window.limit).toBe(1);
    window.share = 1;
    expect(window.limit).toBe(64);
  });

  it('takes other bounds without forgetting what it has learned', () => {
    const window = new Window(BOUNDS);
    run(window, 0, 30, 1);
    window.settings = { floor: 16, ceiling: 512 };
    expect(window.limit).toBe(512);
    window.settings = { floor: 700, ceiling: 700 };
    expect(window.limit).toBe(700);
  });
});
