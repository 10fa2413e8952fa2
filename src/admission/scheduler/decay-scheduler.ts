import type { SchedulerSettings } from '../../shared/settings.ts';
import { Caller, NOT_CACHED } from './caller.ts';
import type { SchedulerState } from './exchanged.ts';
import { ResponseTimes } from './response-times.ts';

/** Callers that are told apart; those that come beyond are one together, `OTHERS`. */
export const MAX_CALLERS = 16_384;
export const OTHERS = '(others)';

export interface TopCaller {
  readonly name: string;
  /** What it has cost since it was last unknown. */
  readonly volume: number;
  readonly level: number;
}

/** What operators see; the names of Hadoop's metrics are in comments. */
export interface SchedulerReport {
  /** UniqueCallers */
  readonly callers: number;
  /** DecayedCallVolume, CallVolume */
  readonly decayedVolume: number;
  readonly volume: number;
  /** ServiceUserDecayedCallVolume, ServiceUserCallVolume */
  readonly serviceDecayedVolume: number;
  readonly serviceVolume: number;
  /** By level, of the last period: Priority.N.CompletedCallVolume, Priority.N.AvgResponseTime */
  readonly completed: readonly number[];
  readonly responseMs: readonly number[];
  /** Caller(NAME).Volume, Caller(NAME).Priority; the largest first. */
  readonly top: readonly TopCaller[];
}

/**
 * Hadoop's DecayRpcScheduler: a caller's level follows from its share of all cost. Cost is counted when a call was answered; at each sweep it
 * loses a part, and the levels are computed and kept until the next one. Callers that are new since then are judged by what they cost now.
 */
export class DecayScheduler {
  /** Also with a queue that has one: then they say alone whose calls are refused because of response times. */
  readonly levels: number;
  readonly settings: SchedulerSettings;
  readonly responses: ResponseTimes;
  /** Sums of all callers but the service users, and of these. */
  decayedTotal = 0;
  rawTotal = 0;
  serviceDecayedTotal = 0;
  serviceRawTotal = 0;
  readonly #serviceUsers: ReadonlySet<string>;
  #callers = new Map<string, Caller>();
  readonly #others: Caller;

  constructor(settings: SchedulerSettings) {
    this.settings = settings;
    this.levels = settings.thresholds.length + 1;
    this.responses = new ResponseTimes(this.levels);
    this.#serviceUsers = new Set(settings.serviceUsers);
    this.#others = new Caller(OTHERS, false, this);
  }

  /** The caller of this name; it is known from now on, until a sweep finds that it has cost nothing that counts still. */
  callerOf(name: string): Caller {
    const known = this.#callers.get(name);
    if (known !== undefined) return known;
    if (this.#callers.size >= MAX_CALLERS || name === OTHERS) return this.#others;
    const caller = new Caller(name, this.#serviceUsers.has(name), this);
    this.#callers.set(name, caller);
    return caller;
  }

  /** 0 is best. */
  levelOf(caller: Caller): number {
    const { cachedLevel, listedIn } = caller;
    if (listedIn !== this) return this.levelOf(this.callerOf(caller.name));
    return cachedLevel === NOT_CACHED ? this.#compute(caller) : cachedLevel;
  }

  /** Charges a caller; returns the one that stands in the table for it. */
  book(caller: Caller, cost: number): Caller {
    if (caller.listedIn !== this) return this.book(this.callerOf(caller.name), cost);
    caller.booked = true;
    caller.raw += cost;
    caller.decayed += cost;
    if (caller.serviceUser) {
      this.serviceDecayedTotal += cost;
      this.serviceRawTotal += cost;
    } else {
      this.decayedTotal += cost;
      this.rawTotal += cost;
    }
    return caller;
  }

  noteAnswered(level: number, queueMs: number, processingMs: number): void {
    // A call that came before the settings were changed may have had a level that there is not any more.
    if (level < this.levels) this.responses.note(level, queueMs, processingMs);
  }

  /** Calls of this level are to be refused because of response times. */
  refuses(level: number): boolean {
    const limitsMs = this.settings.responseTimesMs;
    return limitsMs !== null && this.responses.exceeds(limitsMs, level);
  }

  /** The end of a period. */
  sweep(): void {
    this.#clearTotals();
    for (const caller of this.#callers.values()) {
      this.#decay(caller);
      if (caller.decayed === 0) this.#forget(caller);
    }
    this.#decay(this.#others);
    if (this.#others.decayed === 0) this.#others.clear();
    for (const caller of this.#callers.values()) caller.cachedLevel = this.#compute(caller);
    if (this.#others.booked) this.#others.cachedLevel = this.#compute(this.#others);
    this.responses.roll(this.settings.factor);
  }

  /** Callers that have been charged, the one for all others last. */
  *charged(): Generator<Caller> {
    for (const caller of this.#callers.values()) if (caller.booked) yield caller;
    if (this.#others.booked) yield this.#others;
  }

  /** All that `restore` needs for the same decisions in another thread. */
  state(): SchedulerState {
    const callers = Array.from(this.charged());
    return {
      names: callers.map(({ name }) => name),
      decayed: Float64Array.from(callers, ({ decayed }) => decayed),
      raw: Float64Array.from(callers, ({ raw }) => raw),
      cachedLevels: Uint8Array.from(callers, ({ cachedLevel }) => cachedLevel),
      rawTotal: this.rawTotal,
      serviceRawTotal: this.serviceRawTotal,
      averagesMs: this.responses.averagesMs,
      lastAnswered: this.responses.lastAnswered,
    };
  }

  /** Takes the place of all that was known, but for the response times of the open window. */
  restore(state: SchedulerState): void {
    const before = this.#callers;
    this.#callers = new Map();
    this.#clearTotals();
    this.#others.clear();
    for (let i = 0; i < state.names.length; i++) {
      const name = state.names[i] as string;
      const known = before.get(name);
      if (known !== undefined) {
        before.delete(name);
        this.#callers.set(name, known);
      }
      this.#set(known ?? this.callerOf(name), state, i);
    }
    for (const caller of before.values()) {
      caller.clear();
      caller.listedIn = null;
    }
    // More than the sums of what is there: callers count once more when they are forgotten.
    this.rawTotal = state.rawTotal;
    this.serviceRawTotal = state.serviceRawTotal;
    this.responses.averagesMs.set(state.averagesMs);
    this.responses.lastAnswered.set(state.lastAnswered);
  }

  report(): SchedulerReport {
    const charged = Array.from(this.charged());
    const top = charged
      .filter(({ raw }) => raw > 0)
      .sort((a, b) => b.raw - a.raw || (a.name < b.name ? -1 : 1))
      .slice(0, this.settings.topUsers);
    return {
      callers: charged.length,
      decayedVolume: this.decayedTotal,
      volume: this.rawTotal,
      serviceDecayedVolume: this.serviceDecayedTotal,
      serviceVolume: this.serviceRawTotal,
      completed: Array.from(this.responses.lastAnswered),
      responseMs: Array.from(this.responses.averagesMs),
      top: top.map((caller) => ({ name: caller.name, volume: caller.raw, level: this.levelOf(caller) })),
    };
  }

  #compute(caller: Caller): number {
    if (caller.serviceUser) return 0;
    const share = this.decayedTotal > 0 ? caller.decayed / this.decayedTotal : 0;
    const { thresholds } = this.settings;
    for (let level = this.levels - 1; level > 0; level--) {
      if (share >= (thresholds[level - 1] as number)) return level;
    }
    return 0;
  }

  #decay(caller: Caller): void {
    caller.decayed = Math.trunc(caller.decayed * this.settings.factor);
    if (caller.serviceUser) {
      this.serviceDecayedTotal += caller.decayed;
      this.serviceRawTotal += caller.raw;
    } else {
      this.decayedTotal += caller.decayed;
      this.rawTotal += caller.raw;
    }
  }

  #set(caller: Caller, state: SchedulerState, i: number): void {
    caller.booked = true;
    caller.decayed = state.decayed[i] as number;
    caller.raw = state.raw[i] as number;
    caller.cachedLevel = state.cachedLevels[i] as number;
    if (caller.serviceUser) this.serviceDecayedTotal += caller.decayed;
    else this.decayedTotal += caller.decayed;
  }

  #forget(caller: Caller): void {
    this.#callers.delete(caller.name);
    caller.clear();
    caller.listedIn = null;
  }

  #clearTotals(): void {
    this.decayedTotal = 0;
    this.rawTotal = 0;
    this.serviceDecayedTotal = 0;
    this.serviceRawTotal = 0;
  }
}
