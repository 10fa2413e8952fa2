import { describe, expect, it } from 'vitest';
import { CallQueue } from '../../src/simulator/call-queue.ts';
import { completeOptions } from '../../src/simulator/options.ts';
import { parseServiceTime, sampleServiceMs, seededRandom } from '../../src/simulator/service-time.ts';
import { waitUntil } from '../support/wait.ts';

describe('service time', () => {
  it.each([
    ['0.2ms', { kind: 'constant', ms: 0.2 }],
    ['300us', { kind: 'constant', ms: 0.3 }],
    ['2s', { kind: 'constant', ms: 2000 }],
    ['5', { kind: 'constant', ms: 5 }],
    ['exp:1ms', { kind: 'exponential', meanMs: 1 }],
    ['lognormal:2ms', { kind: 'lognormal', medianMs: 2, sigma: 1 }],
    ['lognormal:2ms,0.5', { kind: 'lognormal', medianMs: 2, sigma: 0.5 }],
  ])('reads %s', (text, expected) => {
    expect(parseServiceTime(text)).toEqual(expected);
  });

  it.each(['', 'fast', '-1ms', 'exp:', 'exp:1ms,2', 'normal:1ms', 'lognormal:1ms,', 'lognormal:1ms,-1', '2h', '2e9s'])(
    'refuses %j',
    (text) => {
      expect(() => parseServiceTime(text)).toThrow('allowed are 0.2ms, exp:1ms (mean)');
    },
  );

  it('is drawn with the mean or median that was asked for, the same for the same seed', () => {
    const draw = (text: string): number[] => {
      const random = seededRandom(42);
      return Array.from({ length: 20_000 }, () => sampleServiceMs(parseServiceTime(text), random));
    };
    const exponential = draw('exp:3ms');
    expect(exponential.reduce((sum, ms) => sum + ms, 0) / exponential.length).toBeCloseTo(3, 0);
    const lognormal = draw('lognormal:3ms,0.5').sort((a, b) => a - b);
    expect(lognormal[10_000]).toBeCloseTo(3, 0);
    expect(lognormal[16_827]! / 3).toBeCloseTo(Math.exp(0.5), 1);
    expect(draw('exp:3ms')).toEqual(exponential);
  });
});

describe('call queue', () => {
  interface Harness {
    readonly queue: CallQueue<number, number>;
    readonly started: number[];
    readonly finished: { call: number; atMs: number }[];
    readonly most: () => number;
  }

  function harness(options: {
    handlers?: number;
    capacity?: number;
    callsPerSecond?: number;
    serviceMs?: number;
  }): Harness {
    const started: number[] = [];
    const finished: { call: number; atMs: number }[] = [];
    let busy = 0;
    let most = 0;
    const queue = new CallQueue<number, number>(
      {
        handlers: options.handlers ?? 4,
        capacity: options.capacity ?? 1000,
        callsPerSecond: options.callsPerSecond ?? 0,
      },
      {
        start: (call) => {
          started.push(call);
          most = Math.max(most, ++busy);
          return { serviceMs: options.serviceMs ?? 0, result: call };
        },
        finish: (call) => {
          busy--;
          finished.push({ call, atMs: performance.now() });
        },
      },
    );
    return { queue, started, finished, most: () => most };
  }

  it('serves in order, at most as many at a time as there are handlers', async () => {
    const { queue, started, finished, most } = harness({ handlers: 3, serviceMs: 2 });
    for (let call = 0; call < 20; call++) queue.take(call);
    await waitUntil(() => finished.length === 20, 'all calls are served');
    expect(started).toEqual(Array.from({ length: 20 }, (_, call) => call));
    expect(most()).toBe(3);
  });

  it('keeps service times below a millisecond', async () => {
    const { queue, finished } = harness({ handlers: 1, serviceMs: 0.2 });
    const startMs = performance.now();
    for (let call = 0; call < 100; call++) queue.take(call);
    await waitUntil(() => finished.length === 100, 'all calls are served');
    expect(finished.at(-1)!.atMs - startMs).toBeGreaterThanOrEqual(20);
  });

  it('keeps the cap on calls per second', async () => {
    const { queue, finished } = harness({ callsPerSecond: 1000 });
    const startMs = performance.now();
    for (let call = 0; call < 101; call++) queue.take(call);
    await waitUntil(() => finished.length === 101, 'all calls are served');
    // 100 intervals of 1 ms, less the slack of 10 ms.
    expect(finished.at(-1)!.atMs - startMs).toBeGreaterThanOrEqual(89);
  });

  it('refuses what it has no room for', () => {
    const { queue } = harness({ capacity: 2 });
    queue.hold();
    expect([queue.take(1), queue.take(2), queue.take(3)]).toEqual([true, true, false]);
    queue.clear();
    expect(queue.length).toBe(0);
  });

  it('parks calls until it is woken', async () => {
    let ready = false;
    const finished: number[] = [];
    const queue = new CallQueue<number, null>(
      { handlers: 1, capacity: 10, callsPerSecond: 0 },
      {
        start: (call) => (call === 1 && !ready ? 'parked' : { serviceMs: 0, result: null }),
        finish: (call) => finished.push(call),
      },
    );
    queue.take(1);
    queue.take(2);
    await waitUntil(() => finished.length === 1, 'the second call is served');
    expect(finished).toEqual([2]);
    expect(queue.parked).toBe(1);
    ready = true;
    queue.wake();
    await waitUntil(() => finished.length === 2, 'the first call is served');
  });

  it('puts parked calls behind those that wait, and counts no rate for them', async () => {
    let ready = false;
    const finished: number[] = [];
    const queue = new CallQueue<number, null>(
      { handlers: 1, capacity: 10, callsPerSecond: 1 },
      {
        start: (call) => (call < 3 && !ready ? 'parked' : { serviceMs: 0, result: null }),
        finish: (call) => finished.push(call),
      },
    );
    for (const call of [1, 2, 3]) queue.take(call);
    // With one call a second, the third would come after two seconds if the others counted.
    const startMs = performance.now();
    await waitUntil(() => finished.length === 1, 'the third call is served');
    expect(performance.now() - startMs).toBeLessThan(1000);
    expect([queue.requeued, queue.evictParked(), queue.parked]).toEqual([2, 1, 1]);
    queue.options = { ...queue.options, callsPerSecond: 0 };
    queue.hold();
    ready = true;
    queue.take(4);
    queue.wake();
    queue.release();
    await waitUntil(() => finished.length === 3, 'the others are served');
    expect(finished).toEqual([3, 4, 2]);
    expect(queue.evictParked()).toBeUndefined();
  });
});

describe('options', () => {
  it.each([
    [{ nameservices: [] }, 'nameservices: 0 of them'],
    [{ nameservices: ['a', 'a'] }, 'name each only once'],
    [{ nameservices: ['a b'] }, 'nameservice "a b": use letters'],
    [{ namenodes: 0 }, 'namenodes 0: a whole number from 1 to 16'],
    [{ observers: 15 }, 'observers 15: a whole number from 0 to 14'],
    [{ portBase: 65_535 }, 'port base 65535'],
    [{ callsPerSecond: -1 }, 'calls per second -1'],
    [{ handlers: 1.5 }, 'handlers 1.5'],
    [{ observerSettings: { callsPerSecond: -2 } }, 'calls per second -2'],
    [{ reorderAnswers: -1 }, 'reordered answers -1'],
    [{ accessTimePrecisionMs: 0.5 }, 'access time precision 0.5'],
  ])('refuses %j', (options, message) => {
    expect(() => completeOptions(options)).toThrow(message);
  });
});
