import type { Call } from '../../call/call.ts';
import type { Method } from '../../call/method.ts';
import type { SchedulerSettings } from '../../shared/settings.ts';
import type { Caller } from './caller.ts';
import { CallCosts } from './cost.ts';
import { DecayScheduler } from './decay-scheduler.ts';
import type { Booked, FromScheduler, SchedulerState, ToScheduler } from './exchanged.ts';
import { Identities } from './identity.ts';

const NONE = -1;

/**
 * The scheduler as one worker sees it: what it charges counts here at once, and for the others when it was reported; what they have charged
 * comes with `merge`, and levels with `adopt`. There is no sweep here: the main thread makes it, for all workers (exchanged.ts).
 */
export class WorkerScheduler {
  readonly decay: DecayScheduler;
  /** Of the last state; NONE before the first. */
  #generation = NONE;
  readonly #identities: Identities;
  readonly #costs: CallCosts;
  /** Callers charged since the last report. */
  #toReport: Caller[] = [];

  constructor(settings: SchedulerSettings) {
    this.decay = new DecayScheduler(settings);
    this.#identities = new Identities(this.decay, settings.identity);
    this.#costs = new CallCosts(settings.weightedCost);
  }

  /** Sets whom the call costs and its level, for as long as it is here. */
  assign(call: Call): void {
    const caller = this.#identities.callerOf(call);
    call.caller = caller;
    call.level = this.decay.levelOf(caller);
  }

  /** Calls of this level are to be refused because of response times. */
  refuses(level: number): boolean {
    return this.decay.refuses(level);
  }

  /** A call that has a caller was answered by a NameNode; one that was not costs nothing. */
  settle(call: Call, queueMs: number, processingMs: number): void {
    this.book(call.caller as Caller, this.#costs.of((call.method as Method).effect, queueMs, processingMs));
    this.decay.noteAnswered(call.level, queueMs, processingMs);
  }

  book(caller: Caller, cost: number): void {
    const charged = this.decay.book(caller, cost);
    charged.unreported += cost;
    if (charged.inReport) return;
    charged.inReport = true;
    this.#toReport.push(charged);
  }

  /** What was charged here since the last report. */
  report(): Booked {
    const { responses } = this.decay;
    const booked = {
      names: this.#toReport.map(({ name }) => name),
      costs: Float64Array.from(this.#toReport, ({ unreported }) => unreported),
      answered: responses.answered.slice(),
      queueMs: responses.queueMs.slice(),
      processingMs: responses.processingMs.slice(),
    };
    responses.clearWindow();
    this.#takeUnreported();
    return booked;
  }

  /** What other workers have charged. */
  merge(booked: readonly Booked[]): void {
    for (const each of booked) {
      for (let i = 0; i < each.names.length; i++) {
        this.decay.book(this.decay.callerOf(each.names[i] as string), each.costs[i] as number);
      }
    }
  }

  /** Takes over what the main thread knows; what it was not told yet counts here all the same. */
  adopt(state: SchedulerState): void {
    const callers = this.#toReport;
    const costs = callers.map(({ unreported }) => unreported);
    this.#takeUnreported();
    this.decay.restore(state);
    for (let i = 0; i < callers.length; i++) this.book(callers[i] as Caller, costs[i] as number);
  }

  /** What the main thread says; the answer, if there is one. */
  tell(message: ToScheduler): FromScheduler | null {
    switch (message.kind) {
      case 'admission-collect':
        return { kind: 'admission-booked', generation: this.#generation, booked: this.report() };
      case 'admission-merge':
        if (message.generation === this.#generation) this.merge(message.booked);
        return null;
      case 'admission-state':
        this.#generation = message.generation;
        this.adopt(message.state);
        return null;
    }
  }

  #takeUnreported(): void {
    for (const caller of this.#toReport) {
      caller.inReport = false;
      caller.unreported = 0;
    }
    this.#toReport = [];
  }
}
