import type { FinalReport, FromLoader, ReplayCall, ThreadStart } from '../plan/plan.ts';
import { warmupMs } from '../plan/warmup.ts';
import { CallFrames } from './call-frames.ts';
import { ClosedPacer } from './closed-pacer.ts';
import { type ConnectionOwner, LoadConnection } from './connection.ts';
import { Dialer } from './dialer.ts';
import { Exchange } from './exchange.ts';
import { FederatedState } from './federated-state.ts';
import { MixCalls } from './mix-calls.ts';
import { OpenPacer } from './open-pacer.ts';
import type { Pacer } from './pacer.ts';
import { PathTable } from './path-table.ts';
import { CONNECTION_CLASS, Recorder } from './recorder.ts';
import { ReplayCalls } from './replay-calls.ts';
import { ReplayPacer } from './replay-pacer.ts';
import { createSchedule, type Schedule } from './schedule.ts';
import { SelfMeter } from './self-meter.ts';

const TICK_MS = 1;
/** In a closed loop replies make the calls; the tick only looks at the clock. */
const CLOSED_TICK_MS = 5;
/** Looks for calls without a reply. */
const SWEEP_EACH_MS = 250;
/** After an early end replies are awaited this long. */
const STOP_WAIT_MS = 1_000;
/** A run without an end of its own is given up when no connection could be opened for this long. */
const MIN_UNREACHABLE_MS = 10_000;
/** With more connections than this the kernel's table of closed ones would fill up, run after run. */
const MAX_CLOSED_IN_ORDER = 1_000;
const SECOND_MS = 1_000;
/** Of the measured time, or of the calls of a run without an end: they say how long calls usually take. */
const EARLY_SHARE = 0.1;
const NO_COUNTS = new Uint32Array(0);
const TOO_MANY_FILES = ' (the limit of open files: raise it with ulimit -n, or use fewer connections)';

/** The load of one thread, from its connections to its final report. All times are performance.now. */
export class LoadThread implements ConnectionOwner {
  readonly #start: ThreadStart;
  readonly #post: (message: FromLoader) => void;
  readonly #connections: readonly LoadConnection[];
  readonly #dialer: Dialer;
  readonly #schedule: Schedule;
  readonly #recorder: Recorder;
  readonly #exchange: Exchange;
  readonly #self: SelfMeter = new SelfMeter();
  readonly #done = Promise.withResolvers<void>();

  /** Null until the run begins. */
  #pacer: Pacer | null = null;
  #startMs = Number.POSITIVE_INFINITY;
  #measureStartMs = Number.POSITIVE_INFINITY;
  /** Infinity for a run that ends with its calls. */
  #endMs = Number.POSITIVE_INFINITY;
  #isMeasuring = false;
  #isFinished = false;
  /** No reply is awaited beyond this time. */
  #giveUpMs = Number.POSITIVE_INFINITY;
  /** When it was ended early. */
  #stopMs = Number.POSITIVE_INFINITY;
  #gaveUp = false;
  #openCount = 0;
  #lastOpenMs = 0;
  #second = 0;
  #nextSweepMs = 0;
  #tick: NodeJS.Timeout | undefined;
  readonly #replayPacer: ReplayPacer | null;
  /** Calls that are over since this turn began and that other threads wait for: for each thread the numbers there. */
  readonly #announced = new Map<number, number[]>();

  /** Throws LoadError for a plan that cannot be carried out. */
  constructor(start: ThreadStart, post: (message: FromLoader) => void) {
    const { plan, thread, replay, links } = start;
    this.#start = start;
    this.#post = post;
    const paths = new PathTable();
    const calls =
      plan.loop.kind === 'replay' ? new ReplayCalls(plan, replay, paths) : new MixCalls(plan, thread, paths);
    this.#schedule = createSchedule(plan.loop, start.rateShare, thread, plan.threads, replay);
    const frames = new CallFrames(plan.targets, thread, paths, `switchyard-load-${plan.seed}-${thread}`);
    if (plan.observerReads) frames.setZeroState();
    this.#recorder = new Recorder(plan.targets.length);
    const federated = plan.observerReads ? new FederatedState() : null;
    const isClosed = plan.loop.kind === 'closed';
    this.#exchange = new Exchange(calls, frames, this.#recorder, federated, isClosed, plan.timeoutMs);
    this.#dialer = new Dialer(plan.host, plan.port);
    this.#connections = start.connections.map((index) => {
      const user = index % plan.users.length;
      return new LoadConnection(this, index, user, plan.users[user]!, plan.inFlight);
    });
    this.#replayPacer =
      plan.loop.kind === 'replay'
        ? new ReplayPacer(
            this.#exchange,
            this.#schedule,
            warmupMs(plan),
            this.#connections,
            findUsers(plan.users, replay),
            replay,
            links,
            (to, number) => this.#announce(to, number),
          )
        : null;
  }

  /** Resolves when the final report, or a failure, is posted. */
  get done(): Promise<void> {
    return this.#done.promise;
  }

  connect(): void {
    if (this.#connections.length === 0) this.#post({ kind: 'connected' });
    else this.#dialer.openAll(this.#connections);
  }

  begin(startAtEpochMs: number): void {
    if (this.#startMs !== Number.POSITIVE_INFINITY || this.#isFinished) return;
    this.#startMs = startAtEpochMs - performance.timeOrigin;
    setTimeout(() => this.#run(), Math.max(0, this.#startMs - performance.now()));
  }

  /** Ends early: nothing more is sent. Before the run has begun, at once. */
  stop(): void {
    if (this.#isFinished || this.#giveUpMs !== Number.POSITIVE_INFINITY) return;
    const now = performance.now();
    this.#giveUpMs = now + STOP_WAIT_MS;
    if (this.#pacer === null) {
      this.#finish();
      return;
    }
    this.#stopMs = now;
    this.#endMs = Math.min(this.#endMs, now);
    this.#exchange.time = { ...this.#exchange.time, endMs: this.#endMs };
    this.#exchange.issue(now);
  }

  /** Calls of other threads are over, by their numbers here. */
  takeOver(calls: Int32Array): void {
    for (const call of calls) this.#replayPacer?.onCallOver(call);
  }

  onThreadEnded(thread: number): void {
    this.#replayPacer?.onThreadEnded(thread);
  }

  /** Ends without a report: nobody is there to read it. */
  abandon(): void {
    this.#close();
  }

  onOpen(connection: LoadConnection): void {
    this.#dialer.onOpen(connection);
    this.#openCount++;
    if (this.#pacer !== null) {
      this.#pacer.onOpen(connection);
      this.#exchange.wake();
    } else if (this.#openCount === this.#connections.length) this.#post({ kind: 'connected' });
  }

  onReply(connection: LoadConnection, buffer: Buffer, start: number, end: number): void {
    this.#exchange.takeReply(connection, buffer, start, end);
  }

  onDrained(connection: LoadConnection): void {
    this.#exchange.resume(connection);
  }

  onBroken(connection: LoadConnection, reason: string): void {
    const { wasOpen, fatalClass, fatalMessage } = connection;
    const { host, port } = this.#start.plan;
    const said = fatalClass === '' ? '' : ` (${fatalClass}: ${fatalMessage})`;
    const message = `${host}:${port}: ${reason}${said}${reason.includes('EMFILE') ? TOO_MANY_FILES : ''}`;
    if (this.#pacer === null) {
      this.#fail(message);
      return;
    }
    if (wasOpen) {
      this.#openCount--;
      this.#lastOpenMs = performance.now();
    }
    this.#pacer.onBroken(connection);
    this.#exchange.loseCalls(connection, fatalClass === '' ? CONNECTION_CLASS : fatalClass, message);
    this.#dialer.reopen(connection, wasOpen);
  }

  #run(): void {
    if (this.#isFinished) return;
    const { plan } = this.#start;
    const { loop, durationMs } = plan;
    this.#measureStartMs = this.#startMs + warmupMs(plan);
    if (durationMs !== null) this.#endMs = this.#measureStartMs + durationMs;
    this.#pacer = this.#createPacer();
    this.#exchange.pacer = this.#pacer;
    this.#exchange.time = {
      startMs: this.#measureStartMs,
      endMs: this.#endMs,
      earlyEndMs: this.#findEarlyEnd(),
      isTimed: durationMs !== null,
    };
    this.#lastOpenMs = performance.now();
    this.#nextSweepMs = this.#lastOpenMs + SWEEP_EACH_MS;
    for (const connection of this.#connections) if (connection.isOpen) this.#pacer.onOpen(connection);
    if (plan.spin === true) {
      this.#spin();
      return;
    }
    this.#tick = setInterval(() => this.#onTick(), loop.kind === 'closed' ? CLOSED_TICK_MS : TICK_MS);
    this.#onTick();
  }

  #findEarlyEnd(): number {
    const { plan, calls } = this.#start;
    if (plan.durationMs !== null) return this.#measureStartMs + plan.durationMs * EARLY_SHARE;
    const first = this.#schedule.countBefore(warmupMs(plan));
    const count = calls ?? this.#schedule.count - first;
    return this.#startMs + this.#schedule.dueMs(first + Math.ceil(count * EARLY_SHARE));
  }

  /** Looks at the clock as often as the event loop goes round, which it then does without sleeping. */
  readonly #spin = (): void => {
    if (this.#isFinished) return;
    this.#onTick();
    setImmediate(this.#spin);
  };

  #createPacer(): Pacer {
    const { plan, calls } = this.#start;
    const exchange = this.#exchange;
    const [startMs, measureStartMs, endMs] = [this.#startMs, this.#measureStartMs, this.#endMs];
    switch (plan.loop.kind) {
      case 'closed':
        return new ClosedPacer(exchange, measureStartMs, endMs, calls);
      case 'open':
        return new OpenPacer(exchange, this.#schedule, startMs, measureStartMs, endMs, calls);
      case 'replay': {
        const pacer = this.#replayPacer as ReplayPacer;
        pacer.startMs = startMs;
        return pacer;
      }
    }
  }

  #onTick(): void {
    const now = performance.now();
    const pacer = this.#pacer as Pacer;
    if (!this.#isMeasuring && now >= this.#measureStartMs) {
      this.#isMeasuring = true;
      this.#self.start();
    }
    if (now >= this.#endMs) this.#self.stop();
    this.#exchange.issue(now);
    while (now >= this.#startMs + (this.#second + 1) * SECOND_MS) this.#reportSecond(now);
    if (now >= this.#nextSweepMs) {
      this.#nextSweepMs = now + SWEEP_EACH_MS;
      this.#sweep(now);
    }
    const isOver = pacer.isOver && (this.#start.plan.durationMs === null || now >= this.#endMs);
    if ((isOver && this.#exchange.inFlight === 0) || now >= this.#giveUpMs) this.#finish();
  }

  #sweep(nowMs: number): void {
    for (const connection of this.#connections) this.#exchange.expireCalls(connection, nowMs);
    if (this.#openCount > 0) this.#lastOpenMs = nowMs;
    const unreachableMs = nowMs - this.#lastOpenMs;
    const { durationMs, timeoutMs } = this.#start.plan;
    if (durationMs === null && unreachableMs > Math.max(MIN_UNREACHABLE_MS, timeoutMs)) this.#giveUp();
  }

  #giveUp(): void {
    // One that is being stopped waits for nothing but replies.
    if (this.#giveUpMs !== Number.POSITIVE_INFINITY) return;
    this.#gaveUp = true;
    this.#exchange.givesUp = true;
    this.stop();
  }

  #reportSecond(nowMs: number): void {
    const secondMs = this.#startMs + this.#second * SECOND_MS;
    const measured = secondMs >= this.#measureStartMs && secondMs < this.#endMs;
    const waiting = (this.#pacer as Pacer).countWaiting(nowMs);
    this.#post(this.#recorder.takeSecond(this.#second++, measured, waiting, this.#exchange.inFlight));
  }

  #finish(): void {
    const now = performance.now();
    if (this.#pacer !== null && this.#recorder.hasCounts) this.#reportSecond(now);
    this.#post(this.#reportFinal(now));
    this.#close();
  }

  #reportFinal(nowMs: number): FinalReport {
    const pacer = this.#pacer;
    const exchange = this.#exchange;
    let unanswered = 0;
    for (const connection of this.#connections) unanswered += exchange.countUnanswered(connection);
    return {
      kind: 'final',
      replies: exchange.replies,
      keptUp: exchange.keptUp,
      early: exchange.early,
      nothingFound: exchange.nothingFound,
      ...this.#findMeasuredTime(nowMs),
      due: pacer?.due ?? 0,
      lateForSlots: pacer?.lateForSlots ?? 0,
      lateForLoader: pacer?.lateForLoader ?? 0,
      unsent: pacer?.unsent ?? 0,
      unanswered,
      gaveUp: this.#gaveUp,
      sendDelay: pacer?.sendDelay ?? NO_COUNTS,
      substituted: exchange.substituted,
      cells: this.#recorder.reportCells(),
      self: this.#self.finish(),
    };
  }

  #findMeasuredTime(nowMs: number): Pick<FinalReport, 'measuredFromMs' | 'measuredToMs'> {
    const { firstSentMs, lastReplyMs, replies } = this.#exchange;
    const { plan } = this.#start;
    const startMs = this.#startMs;
    let fromMs = firstSentMs - startMs;
    let toMs = (replies > 0 ? lastReplyMs : nowMs) - startMs;
    if (plan.durationMs !== null) {
      fromMs = warmupMs(plan);
      toMs = Math.min(fromMs + plan.durationMs, this.#stopMs - startMs);
    }
    // Not begun, or no call was due in it.
    if (this.#pacer === null || !(toMs > fromMs)) return { measuredFromMs: 0, measuredToMs: 0 };
    return { measuredFromMs: fromMs, measuredToMs: toMs };
  }

  /** One message for each thread and turn. */
  #announce(thread: number, number: number): void {
    if (this.#announced.size === 0) setImmediate(() => this.#postAnnounced());
    const numbers = this.#announced.get(thread);
    if (numbers === undefined) this.#announced.set(thread, [number]);
    else numbers.push(number);
  }

  #postAnnounced(): void {
    for (const [thread, numbers] of this.#announced) {
      this.#post({ kind: 'over', thread, calls: Int32Array.from(numbers) });
    }
    this.#announced.clear();
  }

  #fail(message: string): void {
    if (this.#isFinished) return;
    this.#post({ kind: 'failed', message });
    this.#close();
  }

  #close(): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    clearInterval(this.#tick);
    this.#dialer.end();
    this.#self.finish();
    this.#exchange.pacer = null;
    const abruptly = this.#start.plan.connections > MAX_CLOSED_IN_ORDER;
    for (const connection of this.#connections) connection.end(abruptly);
    this.#done.resolve();
  }
}

/** Index in `users` of the user of each call; -1 when it is not among them. */
function findUsers(users: readonly string[], calls: readonly ReplayCall[]): Int32Array {
  const indexes = new Map(users.map((user, index) => [user, index]));
  return Int32Array.from(calls, ({ user }) => indexes.get(user) ?? -1);
}
