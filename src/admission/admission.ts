import { type Call, leave, Place } from '../call/call.ts';
import { Deadline } from '../call/deadline.ts';
import type { Engine } from '../call/engine.ts';
import type { Method } from '../call/method.ts';
import { Counter } from '../shared/counters.ts';
import type { AdmissionSettings } from '../shared/settings.ts';
import { Status } from '../wire/reply-head.ts';
import { Coalescing } from './coalescing.ts';
import { Gate } from './gate.ts';
import { IS_CHEAP, LANE_OF, Lane } from './lanes.ts';
import type { FairCallQueue } from './queue/fair-call-queue.ts';
import { refuse } from './refusal.ts';
import { WorkerScheduler } from './scheduler/worker-scheduler.ts';
import { Figure } from './shared/figures.ts';
import type { AdmissionWords } from './shared/memory.ts';

/** How often it is looked whether calls have waited for too long, while any wait. */
const LOOK_MS = 100;
/** And how often at each of them, whether anybody waits for it still. */
const LOOK_AT_EACH_MS = 1000;

const QUEUE_TIME = 0;
const PROCESSING_TIME = 1;

/**
 * What stands between the strategies and the NameNodes, in a worker: each call is let through to its nameservice at once, after its turn in the
 * queue, or not at all. Everything happens in the event that drives the call, or at the end of the turn of the event loop (`pump`).
 */
export class Admission {
  readonly gates: readonly Gate[];
  /** Whose calls come first; null: nobody's. */
  scheduler: WorkerScheduler | null;
  /** Waiting reads that are answered together. */
  readonly coalescing: Coalescing;
  readonly #engine: Engine;
  readonly #words: AdmissionWords;
  #settings: AdmissionSettings;
  /** Gates whose windows have become free. */
  #due: Gate[] = [];
  #taking: Gate[] = [];
  readonly #look = new Deadline(() => this.#onLook());
  #lookedAtEachMs = 0;
  #each: Call[] = [];
  /** Highest number waiting at each gate since the figures were last written. */
  readonly #peaks: Int32Array;

  constructor(engine: Engine, settings: AdmissionSettings, words: AdmissionWords) {
    this.#engine = engine;
    this.#settings = settings;
    this.#words = words;
    this.scheduler = makeScheduler(settings);
    this.coalescing = new Coalescing(engine);
    const { nameservices } = engine.topology;
    this.gates = nameservices.map((_, n) => new Gate(n, settings, words.workers));
    this.#peaks = new Int32Array(nameservices.length);
    this.onSweep();
  }

  /** Before a call goes to its nameservice. True: now. False: it waits for its turn, or was refused and is answered. */
  admits(call: Call): boolean {
    if (call.ofRouter) return true;
    if (this.scheduler !== null && call.caller === null) {
      this.scheduler.assign(call);
      if (this.#settings.backoff && this.scheduler.refuses(call.level)) {
        this.#words.figures.add(call.nameservice, Figure.refusedSlow);
        refuse(this.#engine, this.#settings, call, true);
        return false;
      }
    }
    const gate = this.gates[call.nameservice] as Gate;
    call.lane = LANE_OF[(call.method as Method).index] as number;
    if (gate.enter(call)) {
      this.#words.figures.add(call.nameservice, Figure.passed);
      return true;
    }
    if (this.#settings.timeLimitMs > 0) {
      if (this.#settings.coalesceReads && this.coalescing.joins(call)) {
        this.#words.figures.add(call.nameservice, Figure.shared);
        return false;
      }
      if (gate.queue.put(call)) {
        this.coalescing.enters(call);
        this.#queued(gate, call);
        return false;
      }
    }
    this.#refuseAtQueue(call, this.#settings.timeLimitMs > 0 ? Figure.refusedFull : Figure.refusedLate);
    return false;
  }

  /** The call goes on later (it sleeps between two rounds over the NameNodes): others may go meanwhile. */
  stepAside(call: Call): void {
    const { gate } = call;
    if (gate === null) return;
    gate.leave(call);
    this.#askTurn(gate);
  }

  /** The call comes back from where it has slept. True: it goes on now. False: it waits, before all others, for its turn. */
  returns(call: Call): boolean {
    if (call.ofRouter) return true;
    const gate = this.gates[call.nameservice] as Gate;
    if (gate.enter(call)) return true;
    gate.queue.putBack(call);
    this.#queued(gate, call);
    return false;
  }

  /** The call leaves its nameservice without an answer for those that follow it: they come before all others, with one of them in front. */
  onLeaderLeft(call: Call): void {
    const gate = this.gates[call.nameservice] as Gate;
    const first = this.coalescing.succession(call);
    gate.queue.putBack(first);
    this.#queued(gate, first);
    this.#askTurn(gate);
  }

  /** The call has left its nameservice: it is answered, or goes to another one. */
  onLeft(call: Call): void {
    const gate = call.gate as Gate;
    gate.leave(call);
    if (gate.queue.length > 0) this.#askTurn(gate);
  }

  /** A NameNode has answered. */
  onAnswer(call: Call, status: number): void {
    const { gate } = call;
    if (gate === null) return;
    const now = this.#engine.clock.nowMs;
    const ms = now - call.sentMs;
    this.#words.figures.time(gate.nameservice, PROCESSING_TIME, ms);
    call.workedMs = Math.max(call.workedMs, 0) + ms;
    if (status !== Status.SUCCESS || call.mayWait) return;
    if (IS_CHEAP[(call.method as Method).index] === 1) gate.window.sample(ms, now);
  }

  /** The call ends: its caller is charged if a NameNode has answered it. */
  settle(call: Call): void {
    if (call.workedMs >= 0) this.scheduler?.settle(call, call.waitedMs, call.workedMs);
  }

  /** End of the turn: whoever waits goes where there is room. */
  pump(): void {
    if (this.#due.length === 0) return;
    const gates = this.#due;
    this.#due = this.#taking;
    this.#taking = gates;
    for (let i = 0; i < gates.length; i++) this.#pumpGate(gates[i] as Gate);
    gates.length = 0;
  }

  /** Other settings: the calls that wait go into the queues of these. */
  refresh(settings: AdmissionSettings): void {
    this.#settings = settings;
    this.scheduler = makeScheduler(settings);
    for (let n = 0; n < this.gates.length; n++) {
      const gate = this.gates[n] as Gate;
      gate.refresh(settings, this.#words.workers, this.#onRejected);
      if (gate.queue.length > 0) this.#askTurn(gate);
    }
    // Without a NameNode that is connected nothing else would tell the new windows.
    this.onSweep();
  }

  /** Each second while NameNodes are connected: workers divide the windows anew, and what is there now is told. */
  onSweep(): void {
    const { figures } = this.#words;
    for (let n = 0; n < this.gates.length; n++) {
      const gate = this.gates[n] as Gate;
      const { queue, inFlight } = gate;
      this.#takeShare(gate, gate.takeDemand());
      figures.set(n, Figure.inFlight, inFlight);
      figures.set(n, Figure.inFlightReads, gate.inFlightOf(Lane.READ));
      figures.set(n, Figure.inFlightWrites, gate.inFlightOf(Lane.WRITE));
      figures.set(n, Figure.inFlightHeavy, gate.inFlightOf(Lane.HEAVY));
      figures.set(n, Figure.window, gate.window.limit);
      figures.set(n, Figure.waiting, queue.length);
      figures.set(n, Figure.waitingReads, queue.lengthOf(Lane.READ));
      figures.set(n, Figure.waitingWrites, queue.lengthOf(Lane.WRITE));
      figures.set(n, Figure.waitingHeavy, queue.lengthOf(Lane.HEAVY));
      figures.set(n, Figure.waitingPeak, this.#peaks[n] as number);
      this.#peaks[n] = queue.length;
      for (let level = 0; level < this.#settings.levels; level++) {
        figures.setLevel(n, level, queue.lengthOfLevel(level), queue.overflowedOf(level));
      }
      if (queue.length > 0) this.#askTurn(gate);
    }
  }

  /** By the most that there was at one time lately: what there is at this moment may be nothing, between two bursts. */
  #takeShare(gate: Gate, calls: number): void {
    const { demand, workers } = this.#words;
    demand.tell(gate.nameservice, calls);
    if (workers > 1) gate.window.share = demand.shareOf(gate.nameservice, workers);
  }

  #pumpGate(gate: Gate): void {
    gate.turnAsked = false;
    const now = this.#engine.clock.nowMs;
    for (let call = gate.next(); call !== null; call = gate.next()) {
      this.#unqueued(call);
      const ms = now - call.queuedMs;
      call.waitedMs += ms;
      // One that was let through before has been counted.
      if (!call.queuedAgain) {
        this.#words.figures.add(gate.nameservice, Figure.waited);
        this.#words.figures.time(gate.nameservice, QUEUE_TIME, ms);
      }
      this.#engine.attempts.route(call);
    }
  }

  #queued(gate: Gate, call: Call): void {
    call.place = Place.QUEUED;
    call.queuedMs = this.#engine.clock.nowMs;
    gate.noteDemand();
    const { length } = gate.queue;
    const n = gate.nameservice;
    if (length > (this.#peaks[n] as number)) this.#peaks[n] = length;
    if (this.#look.wheelSlot < 0) this.#lookLater();
  }

  #lookLater(): void {
    this.#engine.wheel.add(this.#look, Math.min(LOOK_MS, Math.max(1, this.#settings.timeLimitMs)));
  }

  #askTurn(gate: Gate): void {
    if (gate.turnAsked) return;
    gate.turnAsked = true;
    this.#due.push(gate);
    this.#engine.flushSoon();
  }

  /** Calls that have waited for too long end here, and those whose whole time is over. */
  #onLook(): void {
    const now = this.#engine.clock.nowMs;
    const isEach = now - this.#lookedAtEachMs >= LOOK_AT_EACH_MS;
    if (isEach) this.#lookedAtEachMs = now;
    let waiting = false;
    for (let n = 0; n < this.gates.length; n++) {
      const gate = this.gates[n] as Gate;
      const { queue } = gate;
      for (let call = queue.oldest(now - this.#settings.timeLimitMs); call !== null; ) {
        queue.remove(call);
        this.#unqueued(call);
        for (let each = this.coalescing.nextFollower(call); each !== null; each = this.coalescing.nextFollower(call)) {
          this.#expire(each);
        }
        this.#expire(call);
        call = queue.oldest(now - this.#settings.timeLimitMs);
      }
      if (isEach && queue.length > 0) this.#endPointless(queue);
      if (queue.length === 0) continue;
      waiting = true;
      // It may have had nothing to do when the windows were divided.
      this.#takeShare(gate, gate.demand);
      this.#askTurn(gate);
    }
    if (waiting) this.#lookLater();
  }

  /** Calls whose time is over, or whose clients are gone, leave their places to others: they end as if it were their turn. */
  #endPointless(queue: FairCallQueue): void {
    const { attempts } = this.#engine;
    const each = this.#each;
    queue.listInto(each);
    for (let i = 0; i < each.length; i++) {
      const call = each[i] as Call;
      if (call.place !== Place.QUEUED || !attempts.isPointless(call)) continue;
      queue.remove(call);
      this.#unqueued(call);
      attempts.route(call);
    }
    each.length = 0;
  }

  /** It has waited, and there is no room for it in another queue. */
  readonly #onRejected = (call: Call): void => {
    this.#unqueued(call);
    for (let each = this.coalescing.nextFollower(call); each !== null; each = this.coalescing.nextFollower(call)) {
      this.#refuseAtQueue(each, Figure.refusedFull);
    }
    this.#refuseAtQueue(call, Figure.refusedFull);
  };

  #unqueued(call: Call): void {
    leave(call, Place.QUEUED);
    this.coalescing.leaves(call);
  }

  #expire(call: Call): void {
    this.#words.figures.add(call.nameservice, Figure.refusedLate);
    this.#engine.counters.add(Counter.callsExpired);
    this.#engine.overloaded(call);
  }

  #refuseAtQueue(call: Call, figure: number): void {
    this.#words.figures.add(call.nameservice, figure);
    refuse(this.#engine, this.#settings, call, false);
  }
}

function makeScheduler({ scheduler }: AdmissionSettings): WorkerScheduler | null {
  return scheduler === null ? null : new WorkerScheduler(scheduler);
}
