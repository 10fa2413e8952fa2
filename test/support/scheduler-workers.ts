import type { FromScheduler, ToScheduler } from '../../src/admission/scheduler/exchanged.ts';
import { WorkerScheduler } from '../../src/admission/scheduler/worker-scheduler.ts';
import { SchedulerExchange, type SchedulerPeer } from '../../src/control/admission/scheduler-exchange.ts';
import type { SchedulerSettings } from '../../src/shared/settings.ts';

/** One worker's side of the exchange, with its line to the main thread: messages are copied, and come when the test lets them. */
export class SchedulerWorker implements SchedulerPeer {
  readonly index: number;
  readonly scheduler: WorkerScheduler;
  readonly #exchange: SchedulerExchange;
  readonly #inbox: ToScheduler[] = [];
  readonly #outbox: FromScheduler[] = [];

  constructor(index: number, exchange: SchedulerExchange, scheduler: WorkerScheduler) {
    this.index = index;
    this.#exchange = exchange;
    this.scheduler = scheduler;
  }

  tell(message: ToScheduler): void {
    this.#inbox.push(structuredClone(message));
  }

  get waiting(): readonly ToScheduler['kind'][] {
    return this.#inbox.map(({ kind }) => kind);
  }

  /** It takes what it was told; its answers are on their way. */
  read(): void {
    for (const message of this.#inbox.splice(0)) {
      const answer = this.scheduler.tell(message);
      if (answer !== null) this.#outbox.push(structuredClone(answer));
    }
  }

  /** Its answers arrive. */
  deliver(): void {
    for (const answer of this.#outbox.splice(0)) this.#exchange.onBooked(this.index, answer);
  }

  book(costs: Readonly<Record<string, number>>, times = 1): void {
    for (const [name, cost] of Object.entries(costs)) {
      for (let i = 0; i < times; i++) this.scheduler.book(this.scheduler.decay.callerOf(name), cost);
    }
  }

  /** Levels of callers with names of one letter. */
  levels(names: string): string {
    const { decay } = this.scheduler;
    return Array.from(names, (name) => decay.levelOf(decay.callerOf(name))).join('');
  }

  get decayed(): Record<string, number> {
    return Object.fromEntries(Array.from(this.scheduler.decay.charged(), ({ name, decayed }) => [name, decayed]));
  }
}

/** A router's main thread and its workers. */
export class SchedulerWorkers {
  readonly exchange: SchedulerExchange;
  readonly workers: SchedulerWorker[] = [];
  readonly #settings: SchedulerSettings;

  constructor(settings: SchedulerSettings, workers: number) {
    this.exchange = new SchedulerExchange(settings, 0);
    this.#settings = settings;
    for (let i = 0; i < workers; i++) this.start(i);
  }

  /** Another worker takes this place. */
  start(index: number): SchedulerWorker {
    const worker = new SchedulerWorker(index, this.exchange, new WorkerScheduler(this.#settings));
    this.workers[index] = worker;
    this.exchange.join(worker);
    return worker;
  }

  of(index: number): SchedulerWorker {
    return this.workers[index] as SchedulerWorker;
  }

  /** All messages arrive until there are none. */
  settle(but: readonly number[] = []): void {
    const awake = this.workers.filter(({ index }) => !but.includes(index));
    while (awake.some(({ waiting }) => waiting.length > 0)) {
      for (const worker of awake) {
        worker.read();
        worker.deliver();
      }
    }
  }

  /** Everybody hears of what was charged. */
  exchangeNow(): void {
    this.exchange.collect(false);
    this.settle();
  }

  sweep(): void {
    this.exchange.collect(true);
    this.settle();
  }
}
