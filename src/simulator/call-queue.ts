/**
 * The calls of one simulated NameNode between reading and answering: a bounded queue, a number of handlers each of which is busy for a
 * call's service time, and a cap on calls per second. Execution happens when a handler takes the call, the answer leaves when its
 * service time is over. Times below the millisecond are kept by watching the clock between events, which costs processor time while
 * such calls are in service.
 */
import { performance } from 'node:perf_hooks';

export interface CallQueueOptions {
  readonly handlers: number;
  /** Calls that may wait; `take` is refused beyond. */
  readonly capacity: number;
  /** 0: no cap. */
  readonly callsPerSecond: number;
}

/**
 * A handler that serves a call; returns the milliseconds that it is busy with it. `parked`: the call goes back to the end of the queue and
 * waits for `wake`. (A NameNode's handlers take such a call again and again; here they look at it when something has changed.)
 */
export interface CallWorker<Call, Result> {
  start(call: Call): { readonly serviceMs: number; readonly result: Result } | 'parked';
  finish(call: Call, result: Result): void;
}

/** How far a capped NameNode may catch up after a pause, in milliseconds of its rate. */
const RATE_SLACK_MS = 10;
/** Delays below this are waited for by watching the clock: timers are no finer. */
const TIMER_MS = 1;

interface Running<Call, Result> {
  readonly call: Call;
  readonly result: Result;
  readonly dueMs: number;
}

export class CallQueue<Call, Result> {
  options: CallQueueOptions;
  readonly #worker: CallWorker<Call, Result>;
  #waiting: Call[] = [];
  #head = 0;
  #parked: Call[] = [];
  #running: Running<Call, Result>[] = [];
  #nextStartMs = 0;
  #requeued = 0;
  #held = false;
  #scheduled = false;
  #timer: NodeJS.Timeout | null = null;

  constructor(options: CallQueueOptions, worker: CallWorker<Call, Result>) {
    this.options = options;
    this.#worker = worker;
  }

  get length(): number {
    return this.#waiting.length - this.#head + this.#parked.length;
  }

  get running(): number {
    return this.#running.length;
  }

  /** False: the queue is full, the call was not taken. */
  take(call: Call): boolean {
    if (this.length >= this.options.capacity) {
      return false;
    }
    this.#waiting.push(call);
    this.#schedule();
    return true;
  }

  /** Parked calls get another chance, after those that wait already. */
  wake(): void {
    if (this.#parked.length > 0) {
      this.#waiting.push(...this.#parked);
      this.#parked = [];
      this.#schedule();
    }
  }

  get parked(): number {
    return this.#parked.length;
  }

  /** How often a call was put back. */
  get requeued(): number {
    return this.#requeued;
  }

  /** Takes out the call that was parked first; undefined when none is. */
  evictParked(): Call | undefined {
    return this.#parked.shift();
  }

  /** Nothing starts and nothing is answered until `release`. */
  hold(): void {
    this.#held = true;
  }

  release(): void {
    this.#held = false;
    this.#schedule();
  }

  /** Forgets everything, without answers. */
  clear(): void {
    this.#waiting = [];
    this.#head = 0;
    this.#parked = [];
    this.#running = [];
    this.#held = false;
    this.#stopTimer();
  }

  /** Runs once in this turn of the event loop. */
  #schedule(): void {
    if (!this.#scheduled) {
      this.#scheduled = true;
      setImmediate(() => {
        this.#scheduled = false;
        this.#run();
      });
    }
  }

  #run(): void {
    if (this.#held) {
      return;
    }
    const nowMs = performance.now();
    this.#finishDue(nowMs);
    this.#startWaiting(nowMs);
    this.#setTimer(nowMs);
  }

  #finishDue(nowMs: number): void {
    if (this.#running.length === 0) {
      return;
    }
    const due = this.#running.filter((one) => one.dueMs <= nowMs).sort((a, b) => a.dueMs - b.dueMs);
    if (due.length > 0) {
      this.#running = this.#running.filter((one) => one.dueMs > nowMs);
      for (const { call, result } of due) {
        this.#worker.finish(call, result);
      }
    }
  }

  #startWaiting(nowMs: number): void {
    const { handlers, callsPerSecond } = this.options;
    while (this.#head < this.#waiting.length && this.#running.length < handlers) {
      if (callsPerSecond > 0 && this.#nextStartMs > nowMs) {
        break;
      }
      const call = this.#waiting[this.#head++] as Call;
      const started = this.#worker.start(call);
      if (started === 'parked') {
        this.#requeued++;
        this.#parked.push(call);
        continue;
      }
      if (callsPerSecond > 0) {
        this.#nextStartMs = Math.max(this.#nextStartMs, nowMs - RATE_SLACK_MS) + 1000 / callsPerSecond;
      }
      if (started.serviceMs <= 0) {
        this.#worker.finish(call, started.result);
      } else {
        this.#running.push({ call, result: started.result, dueMs: nowMs + started.serviceMs });
      }
    }
    if (this.#head === this.#waiting.length) {
      this.#waiting = [];
      this.#head = 0;
    } else if (this.#head > 1024) {
      this.#waiting = this.#waiting.slice(this.#head);
      this.#head = 0;
    }
  }

  #setTimer(nowMs: number): void {
    this.#stopTimer();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const one of this.#running) {
      nextMs = Math.min(nextMs, one.dueMs);
    }
    if (this.#head < this.#waiting.length && this.#running.length < this.options.handlers) {
      nextMs = Math.min(nextMs, this.#nextStartMs);
    }
    if (nextMs === Number.POSITIVE_INFINITY) {
      return;
    }
    if (nextMs - nowMs < TIMER_MS) {
      this.#schedule();
    } else {
      this.#timer = setTimeout(() => this.#run(), Math.floor(nextMs - nowMs));
    }
  }

  #stopTimer(): void {
    if (this.#timer !== null) {
      clearTimeout(this.#timer);
      this.#timer = null;
    }
  }
}
