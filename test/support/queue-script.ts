import { FairCallQueue } from '../../src/admission/queue/fair-call-queue.ts';
import { WeightedRoundRobin } from '../../src/admission/queue/multiplexer.ts';
import { CallCosts } from '../../src/admission/scheduler/cost.ts';
import { DecayScheduler } from '../../src/admission/scheduler/decay-scheduler.ts';
import { type Call, CallPool } from '../../src/call/call.ts';
import type { SchedulerSettings } from '../../src/shared/settings.ts';
import { FOUR_LEVELS } from './scheduler-settings.ts';

/** What a script runs with, for ours and, as configuration keys, for Hadoop's classes. */
export interface ScriptSettings {
  readonly levels: number;
  readonly capacity: number;
  readonly capacityWeights: readonly number[];
  readonly multiplexerWeights: readonly number[];
  readonly scheduler: SchedulerSettings;
}

/**
 * A script in virtual time, one command a line; the same lines drive Hadoop's classes (test/hadoop/rig, QueueScript.java).
 *
 *   call ID USER · queue ID USER LEVEL       a call arrives, at the level of its user or at this one: `ID LEVEL queued`, or why not
 *   take COUNT                               so many calls are let through: their ids, `-` for none
 *   answer ID QUEUE_MS PROCESSING_MS read|write         a call that was let through is answered
 *   done USER LEVEL QUEUE_MS PROCESSING_MS read|write   one that never was in the queue
 *   sweep                                    the end of a period
 *   level USER · refuses · totals · turns COUNT         what is seen
 */
export class QueueScript {
  readonly output: string[] = [];
  readonly #settings: ScriptSettings;
  readonly #pool = new CallPool();
  readonly #scheduler: DecayScheduler;
  readonly #costs: CallCosts;
  readonly #queue: FairCallQueue;
  readonly #ids = new Map<Call, string>();
  readonly #calls = new Map<string, Call>();

  constructor(settings: ScriptSettings) {
    const { capacity, capacityWeights, multiplexerWeights, scheduler } = settings;
    this.#settings = settings;
    this.#scheduler = new DecayScheduler(scheduler);
    this.#costs = new CallCosts(scheduler.weightedCost);
    this.#queue = new FairCallQueue(capacity, capacityWeights, multiplexerWeights, 1);
  }

  run(script: readonly string[]): string[] {
    for (const line of script) this.#run(line.split(' '));
    return this.output;
  }

  #run([command = '', ...words]: string[]): void {
    const [first = '', second = '', third = '', fourth = '', fifth = ''] = words;
    const scheduler = this.#scheduler;
    switch (command) {
      case 'call':
        this.#queueCall(first, second, scheduler.levelOf(scheduler.callerOf(second)));
        break;
      case 'queue':
        this.#queueCall(first, second, Number(third));
        break;
      case 'take':
        this.#take(Number(first));
        break;
      case 'answer':
        this.#answer(this.#calls.get(first) as Call, Number(second), Number(third), fourth);
        break;
      case 'done':
        this.#done(first, Number(second), Number(third), Number(fourth), fifth);
        break;
      case 'sweep':
        scheduler.sweep();
        break;
      case 'level':
        this.#say(String(scheduler.levelOf(scheduler.callerOf(first))));
        break;
      case 'refuses':
        this.#say(['refuses', ...this.#byLevel().filter((level) => scheduler.refuses(level))].join(' '));
        break;
      case 'totals':
        this.#totals();
        break;
      case 'turns': {
        const multiplexer = new WeightedRoundRobin(this.#settings.multiplexerWeights);
        this.#say(Array.from({ length: Number(first) }, () => multiplexer.next()).join(''));
        break;
      }
      default:
        throw new Error(`no such command: ${command}`);
    }
  }

  #queueCall(id: string, user: string, level: number): void {
    const call = this.#pool.take();
    call.level = level;
    call.caller = this.#scheduler.callerOf(user);
    let outcome = 'queued';
    if (this.#queue.put(call)) {
      this.#ids.set(call, id);
      this.#calls.set(id, call);
    } else {
      outcome = level === this.#settings.levels - 1 ? 'Server too busy - disconnecting' : 'Server too busy';
      this.#pool.give(call);
    }
    this.#say(`${id} ${level} ${outcome}`);
  }

  #take(count: number): void {
    for (let i = 0; i < count; i++) {
      const call = this.#queue.take(0);
      this.#say(call === null ? '-' : (this.#ids.get(call) as string));
    }
  }

  #answer(call: Call, queueMs: number, processingMs: number, effect: string): void {
    this.#calls.delete(this.#ids.get(call) as string);
    this.#ids.delete(call);
    this.#done(call.caller?.name ?? '', call.level, queueMs, processingMs, effect);
    this.#pool.give(call);
  }

  #done(user: string, level: number, queueMs: number, processingMs: number, effect: string): void {
    const cost = this.#costs.of(effect === 'write' ? 'write' : 'read', queueMs, processingMs);
    this.#scheduler.book(this.#scheduler.callerOf(user), cost);
    this.#scheduler.noteAnswered(level, queueMs, processingMs);
  }

  #totals(): void {
    const { decayedTotal, rawTotal, serviceDecayedTotal, serviceRawTotal, responses } = this.#scheduler;
    this.#say(`total ${decayedTotal} ${rawTotal} ${serviceDecayedTotal} ${serviceRawTotal}`);
    const callers = Array.from(this.#scheduler.charged(), ({ name, decayed }) => `${name}=${decayed}`);
    this.#say(['callers', ...callers.sort()].join(' '));
    this.#say(['averages', ...Array.from(responses.averagesMs, (each) => each.toFixed(6))].join(' '));
    this.#say(['answered', ...responses.lastAnswered].join(' '));
    this.#say(['sizes', ...this.#byLevel().map((level) => this.#queue.lengthOfLevel(level))].join(' '));
    this.#say(['overflowed', ...this.#byLevel().map((level) => this.#queue.overflowedOf(level))].join(' '));
  }

  #byLevel(): number[] {
    return Array.from({ length: this.#settings.levels }, (_, level) => level);
  }

  #say(line: string): void {
    this.output.push(line);
  }
}

export const FOUR_LEVEL_QUEUE: ScriptSettings = {
  levels: 4,
  capacity: 400,
  capacityWeights: [1, 1, 1, 1],
  multiplexerWeights: [8, 4, 2, 1],
  scheduler: FOUR_LEVELS,
};

/** Time at the NameNode costs, and ten times more for a change. */
export const WEIGHTED_QUEUE: ScriptSettings = {
  ...FOUR_LEVEL_QUEUE,
  scheduler: { ...FOUR_LEVELS, weightedCost: { queue: 0, processing: 0, lockShared: 10, lockExclusive: 100 } },
};

/** The example of Hadoop's guide: whoever makes 90 % of the cost gets 1 % of what is served, as long as others want it. */
export const TWO_LEVEL_QUEUE: ScriptSettings = {
  levels: 2,
  capacity: 400,
  capacityWeights: [1, 1],
  multiplexerWeights: [99, 1],
  scheduler: { ...FOUR_LEVELS, thresholds: [0.9] },
};

/** One user of an arrival script. */
export interface ArrivingUser {
  readonly name: string;
  /** Calls in each ms. */
  readonly perMs: number;
  readonly processingMs: number;
  readonly effect: 'read' | 'write';
}

/** Sum of `processingMs` that is answered in one ms, and how often a period ends. */
export interface ArrivalPlan {
  readonly users: readonly ArrivingUser[];
  readonly servedPerMs: number;
  readonly sweepEveryMs: number;
  readonly lengthMs: number;
}

/**
 * Arrivals at a server that answers so many calls a ms, in their order: those that were let through in one ms are answered in the next one.
 * Which those are the script does not know before it has run, so it is run while it is made; `run` gives the lines of each step's output.
 */
export function runArrivals(
  { users, servedPerMs, sweepEveryMs, lengthMs }: ArrivalPlan,
  run: (lines: string[]) => string[],
): string[] {
  const script: string[] = [];
  const arrived = new Map<string, { user: ArrivingUser; ms: number }>();
  const due = users.map(() => 0);
  let served: string[] = [];
  for (let ms = 0; ms < lengthMs; ms++) {
    const step: string[] = [];
    for (const id of served) {
      const { user, ms: since } = arrived.get(id) as { user: ArrivingUser; ms: number };
      step.push(`answer ${id} ${ms - since} ${user.processingMs} ${user.effect}`);
    }
    if (ms > 0 && ms % sweepEveryMs === 0) step.push('sweep', 'totals');
    users.forEach((user, u) => {
      for (due[u] = (due[u] as number) + user.perMs; (due[u] as number) >= 1; due[u] = (due[u] as number) - 1) {
        const id = `${user.name}-${arrived.size}`;
        arrived.set(id, { user, ms });
        step.push(`call ${id} ${user.name}`);
      }
    });
    run(step);
    const take = [`take ${servedPerMs}`];
    served = run(take).filter((id) => id !== '-');
    script.push(...step, ...take);
  }
  return script;
}

function makeUsers(names: string, perMs: number, processingMs: number, effect: 'read' | 'write'): ArrivingUser[] {
  return Array.from(names, (name) => ({ name, perMs, processingMs, effect }));
}

/** Ten users want half a call each ms, another one 25; 12 are served. */
export const ONE_HEAVY_USER: ArrivalPlan = {
  users: [...makeUsers('abcdefghij', 0.5, 1, 'read'), ...makeUsers('z', 25, 1, 'read')],
  servedPerMs: 12,
  sweepEveryMs: 50,
  lengthMs: 2_000,
};

/** The same, but the ten want little: nine of ten calls served are the eleventh's. */
export const ONE_USER_ALMOST_ALONE: ArrivalPlan = {
  ...ONE_HEAVY_USER,
  users: [...makeUsers('abcdefghij', 0.05, 1, 'read'), ...makeUsers('z', 25, 1, 'read')],
};

/** As many calls of each, but some take longer, or a lock that keeps others out. */
export const MIXED_COSTS: ArrivalPlan = {
  users: [
    ...makeUsers('abcdef', 1.25, 1, 'read'),
    ...makeUsers('wx', 1.25, 1, 'write'),
    ...makeUsers('s', 1.25, 40, 'read'),
  ],
  servedPerMs: 6,
  sweepEveryMs: 50,
  lengthMs: 2_000,
};

/** Of a script's output: who was served how much, in percent. The user is the part of an id before `-`. */
export function sharesOf(output: readonly string[]): Record<string, number> {
  const served = output.filter((line) => /^[a-z]+-[0-9]+$/.test(line)).map((id) => id.slice(0, id.indexOf('-')));
  const shares: Record<string, number> = {};
  for (const user of served.sort()) shares[user] = (shares[user] ?? 0) + 100 / served.length;
  return shares;
}
