import type { SchedulerReport } from '../../admission/scheduler/decay-scheduler.ts';
import type { FromScheduler } from '../../admission/scheduler/exchanged.ts';
import type { AdmissionSettings } from '../../shared/settings.ts';
import { SchedulerExchange, type SchedulerPeer } from './scheduler-exchange.ts';

/** How often workers tell what they have charged, besides the end of each period. */
const EXCHANGE_MS = 1_000;
/** How long a sweep waits for workers' last figures. */
const ANSWER_WITHIN_MS = 250;

/** The exchange of the settings that are in force, and its timers. Without a scheduler in the settings it does nothing. */
export class SharedScheduler {
  #settings: AdmissionSettings;
  #exchange: SchedulerExchange | null;
  /** Number of the settings. */
  #generation = 0;
  readonly #peers = new Map<number, SchedulerPeer>();
  #timers: NodeJS.Timeout[] = [];
  #giveUp: NodeJS.Timeout | null = null;
  #started = false;

  constructor(settings: AdmissionSettings) {
    this.#settings = settings;
    this.#exchange = this.#makeExchange();
  }

  /** Null: nobody's cost is counted. */
  report(): SchedulerReport | null {
    return this.#exchange?.report() ?? null;
  }

  start(): void {
    this.#started = true;
    const scheduler = this.#settings.scheduler;
    if (scheduler === null) return;
    this.#every(scheduler.periodMs, true);
    if (scheduler.periodMs > EXCHANGE_MS) this.#every(EXCHANGE_MS, false);
  }

  stop(): void {
    this.#started = false;
    for (const timer of this.#timers) clearInterval(timer);
    this.#timers = [];
    if (this.#giveUp !== null) clearTimeout(this.#giveUp);
    this.#giveUp = null;
  }

  /** Other settings, which the workers have been told: as in Java, what callers have cost is forgotten. */
  apply(settings: AdmissionSettings): void {
    const started = this.#started;
    this.stop();
    this.#settings = settings;
    this.#generation++;
    this.#exchange = this.#makeExchange();
    if (started) this.start();
  }

  /** A worker has started, with the settings in force. */
  join(peer: SchedulerPeer): void {
    this.#peers.set(peer.index, peer);
    this.#exchange?.join(peer);
  }

  leave(index: number): void {
    this.#peers.delete(index);
    this.#exchange?.leave(index);
  }

  onBooked(index: number, message: FromScheduler): void {
    this.#exchange?.onBooked(index, message);
  }

  #makeExchange(): SchedulerExchange | null {
    const { scheduler } = this.#settings;
    if (scheduler === null) return null;
    const exchange = new SchedulerExchange(scheduler, this.#generation);
    for (const peer of this.#peers.values()) exchange.join(peer);
    return exchange;
  }

  #every(ms: number, sweep: boolean): void {
    this.#timers.push(setInterval(() => this.#collect(sweep), ms).unref());
  }

  #collect(sweep: boolean): void {
    const exchange = this.#exchange;
    if (exchange === null) return;
    const goesOn = exchange.isOpen;
    exchange.collect(sweep);
    // A period may be shorter than what is waited: the round that is open ends when it was to end.
    if (goesOn) return;
    if (this.#giveUp !== null) clearTimeout(this.#giveUp);
    this.#giveUp = exchange.isOpen ? setTimeout(() => exchange.giveUp(), ANSWER_WITHIN_MS).unref() : null;
  }
}
