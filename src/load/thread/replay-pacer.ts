import { bucketOfMs, createCounts } from '../histogram/latency-buckets.ts';
import type { ReplayCall, ReplayLinks } from '../plan/plan.ts';
import { LoadError } from '../run/load-error.ts';
import type { LoadConnection } from './connection.ts';
import { LATE_MS, type Pacer, type Sender, takesCalls } from './pacer.ts';
import { ReadyList } from './ready-list.ts';
import type { Schedule } from './schedule.ts';

/** No call. */
const NONE = -1;
/** In ReplayLinks.awaited: call, thread, number. */
const AWAITED_NUMBERS = 3;

/** Tells another thread that a call is over, by the number that it has there. */
export type Announce = (thread: number, number: number) => void;

/** The connections of one user, and the calls that wait for a slot of them: a list from `first` to `last`, linked by number. */
class UserLine {
  readonly ready = new ReadyList();
  first: number = NONE;
  last: number = NONE;
  /** In the list of those to be looked at. */
  isWoken = false;
}

/**
 * The calls of a log: each is due at its time and goes to a connection of its user; a user without a free slot holds up no other. A call that
 * comes due while those are not over that it must not overtake waits for them first: without that, a pause of server or loader would make calls
 * meet what others have not made yet, or have removed already. Calls of other threads have numbers beyond those of the schedule here; these threads
 * say when they are over.
 */
export class ReplayPacer implements Pacer {
  lateForSlots = 0;
  lateForLoader = 0;
  unsent = 0;
  isOver = false;
  readonly sendDelay: Uint32Array = createCounts();
  /** Start of the run; performance.now. */
  startMs = 0;
  readonly #sender: Sender;
  readonly #schedule: Schedule;
  readonly #firstMeasured: number;
  /** By index in plan.users; users without a connection here have none. */
  readonly #lines: (UserLine | undefined)[] = [];
  readonly #userOf: Int32Array;
  /** The waiting call behind each waiting call, in the line of its user or of a call that it must not overtake. */
  readonly #behind: Int32Array;
  /** Calls that have to be over before call i: after[afterStarts[i], afterStarts[i + 1]). It waits for one after the other. */
  readonly #after: Int32Array;
  readonly #afterStarts: Int32Array;
  /** For each call the first that waits for it. */
  readonly #firstHeld: Int32Array;
  readonly #isCallOver: Uint8Array;
  readonly #links: ReplayLinks;
  /** Where in links.awaited a call begins that another thread waits for, and the next such place of the same call; NONE: nobody waits any more. */
  readonly #firstAwaited: Int32Array;
  readonly #nextAwaited: Int32Array;
  readonly #announce: Announce;
  #heldMeasured = 0;
  readonly #woken: UserLine[] = [];
  #lastCall: number;
  #next = 0;
  #waiting = 0;

  /**
   * Made before the run, for a long log takes a while; `startMs` is set when the run begins. `warmupMs` after it calls are measured. `userOf`: index in
   * plan.users for each call. Throws LoadError for a user without a connection.
   */
  constructor(
    sender: Sender,
    schedule: Schedule,
    warmupMs: number,
    connections: readonly LoadConnection[],
    userOf: Int32Array,
    calls: readonly Pick<ReplayCall, 'after'>[],
    links: ReplayLinks,
    announce: Announce,
  ) {
    this.#sender = sender;
    this.#schedule = schedule;
    this.#firstMeasured = schedule.countBefore(warmupMs);
    this.#lastCall = schedule.count;
    this.#userOf = userOf;
    this.#behind = new Int32Array(schedule.count);
    this.#afterStarts = new Int32Array(schedule.count + 1);
    for (const [call, { after = [] }] of calls.entries()) {
      this.#afterStarts[call + 1] = this.#afterStarts[call]! + after.length;
    }
    this.#after = new Int32Array(this.#afterStarts[schedule.count]!);
    for (const [call, { after = [] }] of calls.entries()) this.#after.set(after, this.#afterStarts[call]!);
    this.#firstHeld = new Int32Array(schedule.count + links.foreign.length).fill(NONE);
    this.#isCallOver = new Uint8Array(schedule.count + links.foreign.length);
    this.#links = links;
    this.#announce = announce;
    this.#firstAwaited = new Int32Array(schedule.count).fill(NONE);
    this.#nextAwaited = new Int32Array(links.awaited.length / AWAITED_NUMBERS);
    for (let at = 0; at < this.#nextAwaited.length; at++) {
      const call = links.awaited[at * AWAITED_NUMBERS]!;
      this.#nextAwaited[at] = this.#firstAwaited[call]!;
      this.#firstAwaited[call] = at;
    }
    for (const { user } of connections) this.#lines[user] ??= new UserLine();
    for (const user of userOf) {
      if (this.#lines[user] === undefined) throw new LoadError('replay: a user of the log has no connection');
    }
  }

  get due(): number {
    return Math.max(0, this.#lastCall - this.#firstMeasured);
  }

  onOpen(connection: LoadConnection): void {
    const line = this.#lines[connection.user]!;
    line.ready.add(connection);
    this.#wakeLine(line);
  }

  onBroken(connection: LoadConnection): void {
    this.#lines[connection.user]!.ready.remove(connection);
  }

  onSlotFree(connection: LoadConnection): void {
    if (!takesCalls(connection)) return;
    const line = this.#lines[connection.user]!;
    line.ready.add(connection);
    this.#wakeLine(line);
  }

  onWritable(connection: LoadConnection): void {
    this.onSlotFree(connection);
  }

  onCallOver(call: number): void {
    if (this.#isCallOver[call] === 1) return;
    this.#isCallOver[call] = 1;
    if (call < this.#firstAwaited.length) this.#tellOthers(call);
    let held = this.#firstHeld[call]!;
    this.#firstHeld[call] = NONE;
    while (held !== NONE) {
      const next = this.#behind[held]!;
      const before = this.#findBefore(held);
      if (before !== NONE) this.#hold(held, before);
      else this.#release(held);
      held = next;
    }
  }

  /** A thread has ended: what it has not made, it never will, and nobody waits for it. */
  onThreadEnded(thread: number): void {
    const { foreign } = this.#links;
    for (let i = 0; i < foreign.length; i++) {
      if (foreign[i] === thread) this.onCallOver(this.#firstAwaited.length + i);
    }
  }

  issue(nowMs: number): void {
    if (this.isOver) return;
    const elapsedMs = nowMs - this.startMs;
    for (let line = this.#woken.pop(); line !== undefined; line = this.#woken.pop()) {
      line.isWoken = false;
      this.#issueWaiting(line, elapsedMs);
    }
    for (; this.#next < this.#lastCall; this.#next++) {
      const dueMs = this.#schedule.dueMs(this.#next);
      if (dueMs > elapsedMs) return;
      const before = this.#findBefore(this.#next);
      if (before !== NONE) {
        if (this.#next >= this.#firstMeasured) this.#heldMeasured++;
        this.#waiting++;
        this.#hold(this.#next, before);
        continue;
      }
      const line = this.#lines[this.#userOf[this.#next]!]!;
      const connection = line.first === NONE ? line.ready.take() : null;
      if (connection === null) {
        this.#queue(line, this.#next);
        this.#waiting++;
      } else {
        if (this.#next >= this.#firstMeasured) this.#countDelay(elapsedMs - dueMs);
        this.#send(line, connection, this.#next);
      }
    }
    if (this.#waiting === 0) this.isOver = true;
  }

  end(nowMs: number, givesUp: boolean): void {
    if (this.isOver) return;
    if (!givesUp) {
      const dueBy = this.#schedule.countBefore(nowMs - this.startMs);
      this.#lastCall = Math.max(this.#next, Math.min(this.#lastCall, dueBy));
    }
    this.issue(nowMs);
    this.isOver = true;
    this.unsent = this.#heldMeasured + Math.max(0, this.#lastCall - Math.max(this.#next, this.#firstMeasured));
    for (const line of this.#lines) {
      for (let call = line?.first ?? NONE; call !== NONE; call = this.#behind[call]!) {
        if (call >= this.#firstMeasured) this.unsent++;
      }
    }
  }

  countWaiting(nowMs: number): number {
    if (this.isOver) return 0;
    const dueBy = Math.min(this.#lastCall, this.#schedule.countBefore(nowMs - this.startMs));
    return this.#waiting + Math.max(0, dueBy - this.#next);
  }

  #tellOthers(call: number): void {
    const { awaited } = this.#links;
    for (let at = this.#firstAwaited[call]!; at !== NONE; at = this.#nextAwaited[at]!) {
      this.#announce(awaited[at * AWAITED_NUMBERS + 1]!, awaited[at * AWAITED_NUMBERS + 2]!);
    }
  }

  /** Of a call that is about to be sent and has waited for nothing. */
  #countDelay(delayMs: number): void {
    const bucket = bucketOfMs(delayMs);
    this.sendDelay[bucket] = this.sendDelay[bucket]! + 1;
    if (delayMs > LATE_MS) this.lateForLoader++;
  }

  #wakeLine(line: UserLine): void {
    if (line.first === NONE || line.isWoken) return;
    line.isWoken = true;
    this.#woken.push(line);
    this.#sender.wake();
  }

  #issueWaiting(line: UserLine, elapsedMs: number): void {
    while (line.first !== NONE) {
      const connection = line.ready.take();
      if (connection === null) return;
      const call = line.first;
      line.first = this.#behind[call]!;
      this.#waiting--;
      if (call >= this.#firstMeasured && elapsedMs - this.#schedule.dueMs(call) > LATE_MS) this.lateForSlots++;
      this.#send(line, connection, call);
    }
  }

  /** A call that is not over and that `call` must not overtake. */
  #findBefore(call: number): number {
    const end = this.#afterStarts[call + 1]!;
    for (let at = this.#afterStarts[call]!; at < end; at++) {
      const before = this.#after[at]!;
      if (this.#isCallOver[before] === 0) return before;
    }
    return NONE;
  }

  #hold(call: number, before: number): void {
    this.#behind[call] = this.#firstHeld[before]!;
    this.#firstHeld[before] = call;
  }

  #release(call: number): void {
    if (call >= this.#firstMeasured) this.#heldMeasured--;
    const line = this.#lines[this.#userOf[call]!]!;
    this.#queue(line, call);
    this.#wakeLine(line);
  }

  #queue(line: UserLine, call: number): void {
    this.#behind[call] = NONE;
    if (line.first === NONE) line.first = call;
    else this.#behind[line.last] = call;
    line.last = call;
  }

  #send(line: UserLine, connection: LoadConnection, call: number): void {
    this.#sender.send(connection, call, this.startMs + this.#schedule.dueMs(call), call >= this.#firstMeasured);
    if (!takesCalls(connection)) line.ready.remove(connection);
  }
}
