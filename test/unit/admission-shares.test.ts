import { describe, expect, it } from 'vitest';
import { FairCallQueue } from '../../src/admission/queue/fair-call-queue.ts';
import { CallCosts } from '../../src/admission/scheduler/cost.ts';
import { type Call, CallPool } from '../../src/call/call.ts';
import {
  type ArrivalPlan,
  type ArrivingUser,
  FOUR_LEVEL_QUEUE,
  MIXED_COSTS,
  ONE_HEAVY_USER,
  ONE_USER_ALMOST_ALONE,
  type ScriptSettings,
  TWO_LEVEL_QUEUE,
  WEIGHTED_QUEUE,
} from '../support/queue-script.ts';
import { FOUR_LEVELS } from '../support/scheduler-settings.ts';
import { SchedulerWorkers } from '../support/scheduler-workers.ts';

/** Who is served how much and how soon, with one worker and with several that hear of each other five times a period, in virtual time. */

const EXCHANGES_PER_PERIOD = 5;

const FIFO: ScriptSettings = {
  ...FOUR_LEVEL_QUEUE,
  levels: 1,
  capacityWeights: [1],
  multiplexerWeights: [1],
  scheduler: { ...FOUR_LEVELS, thresholds: [] },
};

interface Served {
  calls: number;
  refused: number;
  /** Longest time in the queue, in the second half of the run. */
  longestMs: number;
}

/** `workerOf` says which worker the n-th call of a user arrives at. What all workers serve in a ms is divided by how much waits at each. */
class Simulation {
  readonly #plan: ArrivalPlan;
  readonly #router: SchedulerWorkers;
  readonly #queues: readonly FairCallQueue[];
  readonly #costs: CallCosts;
  readonly #pool = new CallPool();
  readonly #user = new Map<Call, ArrivingUser>();
  readonly #due: number[];
  readonly #arrived: number[];
  readonly served: Record<string, Served> = {};

  constructor(settings: ScriptSettings, plan: ArrivalPlan, workers: number) {
    const { capacity, capacityWeights, multiplexerWeights, scheduler } = settings;
    this.#plan = plan;
    this.#router = new SchedulerWorkers(scheduler, workers);
    this.#router.settle();
    this.#costs = new CallCosts(scheduler.weightedCost);
    this.#queues = this.#router.workers.map(
      () => new FairCallQueue(capacity / workers, capacityWeights, multiplexerWeights, 1),
    );
    this.#due = plan.users.map(() => 0);
    this.#arrived = plan.users.map(() => 0);
    for (const { name } of plan.users) this.served[name] = { calls: 0, refused: 0, longestMs: 0 };
  }

  run(workerOf: (user: number, call: number) => number): this {
    const { lengthMs, sweepEveryMs } = this.#plan;
    let answered: { call: Call; worker: number; ms: number }[] = [];
    for (let ms = 0; ms < lengthMs; ms++) {
      for (const { call, worker, ms: since } of answered) this.#answer(call, worker, since);
      if (ms > 0 && ms % sweepEveryMs === 0) this.#router.sweep();
      else if (ms % (sweepEveryMs / EXCHANGES_PER_PERIOD) === 0) this.#router.exchangeNow();
      this.#arrive(ms, workerOf);
      answered = this.#serve(ms);
    }
    return this;
  }

  /** In percent of all that was served. */
  get shares(): Record<string, number> {
    const all = Object.values(this.served).reduce((sum, { calls }) => sum + calls, 0);
    return Object.fromEntries(Object.entries(this.served).map(([name, { calls }]) => [name, (calls / all) * 100]));
  }

  #arrive(ms: number, workerOf: (user: number, call: number) => number): void {
    const { users } = this.#plan;
    for (let u = 0; u < users.length; u++) {
      const user = users[u] as ArrivingUser;
      for (
        this.#due[u] = (this.#due[u] ?? 0) + user.perMs;
        (this.#due[u] ?? 0) >= 1;
        this.#due[u] = (this.#due[u] ?? 0) - 1
      ) {
        const worker = workerOf(u, this.#arrived[u] ?? 0);
        this.#arrived[u] = (this.#arrived[u] ?? 0) + 1;
        const { decay } = this.#router.of(worker).scheduler;
        const call = this.#pool.take();
        call.caller = decay.callerOf(user.name);
        call.level = decay.levelOf(call.caller);
        call.queuedMs = ms;
        this.#user.set(call, user);
        if (!(this.#queues[worker] as FairCallQueue).put(call)) {
          (this.served[user.name] as Served).refused++;
          this.#pool.give(call);
        }
      }
    }
  }

  #serve(ms: number): { call: Call; worker: number; ms: number }[] {
    const taken: { call: Call; worker: number; ms: number }[] = [];
    const waiting = this.#queues.map(({ length }) => length);
    const all = waiting.reduce((sum, each) => sum + each, 0);
    let left = Math.min(this.#plan.servedPerMs, all);
    for (let worker = 0; worker < waiting.length; worker++) {
      const isLast = worker === waiting.length - 1;
      const part = isLast
        ? left
        : Math.min(left, Math.round((this.#plan.servedPerMs * (waiting[worker] ?? 0)) / all) || 0);
      for (let i = 0; i < part; i++) {
        const call = (this.#queues[worker] as FairCallQueue).take(0);
        if (call === null) break;
        left--;
        const served = this.served[(this.#user.get(call) as ArrivingUser).name] as Served;
        served.calls++;
        if (ms > this.#plan.lengthMs / 2) served.longestMs = Math.max(served.longestMs, ms - call.queuedMs);
        taken.push({ call, worker, ms: ms - call.queuedMs });
      }
    }
    return taken;
  }

  #answer(call: Call, worker: number, queueMs: number): void {
    const { name, effect, processingMs } = this.#user.get(call) as ArrivingUser;
    const { scheduler } = this.#router.of(worker);
    scheduler.book(scheduler.decay.callerOf(name), this.#costs.of(effect, queueMs, processingMs));
    scheduler.decay.noteAnswered(call.level, queueMs, processingMs);
    this.#user.delete(call);
    this.#pool.give(call);
  }
}

const evenly =
  (workers: number) =>
  (_user: number, call: number): number =>
    call % workers;

const pinned =
  (workers: number) =>
  (user: number): number =>
    user % workers;

/** Largest difference of a user's share, in percentage points. */
function deviation(a: Simulation, b: Simulation): number {
  const shares = b.shares;
  return Math.max(...Object.entries(a.shares).map(([name, share]) => Math.abs(share - (shares[name] ?? 0))));
}

function othersWait({ served }: Simulation): number {
  return Math.max(...Object.entries(served).map(([name, { longestMs }]) => (name === 'z' ? 0 : longestMs)));
}

describe('one worker', () => {
  it('serves users without delay beside one who wants far more than there is', () => {
    const fair = new Simulation(FOUR_LEVEL_QUEUE, ONE_HEAVY_USER, 1).run(evenly(1));
    for (const [name, { calls, refused, longestMs }] of Object.entries(fair.served)) {
      if (name !== 'z') expect([name, calls, refused, longestMs]).toEqual([name, 1000, 0, 0]);
    }
    // The rest is the heavy one's: nothing is left idle.
    expect(fair.served['z']?.calls).toBe(14_000);
    expect(othersWait(new Simulation(FIFO, ONE_HEAVY_USER, 1).run(evenly(1)))).toBeGreaterThan(25);
  });

  it('with two levels, as in Hadoop’s guide, keeps who is almost alone out of the way of the others', () => {
    const two = new Simulation(TWO_LEVEL_QUEUE, ONE_USER_ALMOST_ALONE, 1).run(evenly(1));
    expect(othersWait(two)).toBe(0);
    expect(two.shares['z']).toBeGreaterThan(90);
    expect(othersWait(new Simulation(FIFO, ONE_USER_ALMOST_ALONE, 1).run(evenly(1)))).toBeGreaterThan(25);
  });

  it('with two levels, as in Hadoop’s guide, gives the lower one a hundredth while the others want everything', () => {
    const pool = new CallPool();
    const { capacityWeights, multiplexerWeights } = TWO_LEVEL_QUEUE;
    const queue = new FairCallQueue(1000, capacityWeights, multiplexerWeights, 1);
    for (let i = 0; i < 1000; i++) {
      const call = pool.take();
      call.level = i % 2;
      queue.put(call);
    }
    const levels = Array.from({ length: 500 }, () => queue.take(0)?.level);
    expect(levels.filter((level) => level === 1)).toHaveLength(5);
  });
});

describe('two workers share as one does', () => {
  // In percentage points, for users whose calls come to both workers, and for those of whom each is at one of them. With mixed costs
  // some users stand at a threshold, and which of them is above it when is chance.
  it.each([
    ['beside a heavy user', FOUR_LEVEL_QUEUE, ONE_HEAVY_USER, 0.1],
    ['with two levels', TWO_LEVEL_QUEUE, ONE_USER_ALMOST_ALONE, 0.1],
    ['with calls that cost by their time', WEIGHTED_QUEUE, MIXED_COSTS, 2],
  ] as const)('%s', (_name, settings, plan, limit) => {
    const one = new Simulation(settings, plan, 1).run(evenly(1));
    expect(deviation(one, new Simulation(settings, plan, 2).run(evenly(2)))).toBeLessThan(limit);
    expect(deviation(one, new Simulation(settings, plan, 2).run(pinned(2)))).toBeLessThan(limit);
  });

  it('and nobody waits for the heavy one', () => {
    const even = new Simulation(FOUR_LEVEL_QUEUE, ONE_HEAVY_USER, 2).run(evenly(2));
    expect(othersWait(even)).toBeLessThanOrEqual(1);
    const apart = new Simulation(FOUR_LEVEL_QUEUE, ONE_HEAVY_USER, 2).run(pinned(2));
    expect(othersWait(apart)).toBeLessThanOrEqual(8);
  });
});
