import type { Call } from '../call/call.ts';
import type { AdmissionSettings, WindowSettings } from '../shared/settings.ts';
import { LANES, TURNS } from './lanes.ts';
import { FairCallQueue } from './queue/fair-call-queue.ts';
import { Window } from './window.ts';

/** Calls that were let through, linked by a second pair of links: they stand in the list of the place they are in as well. */
class Passed {
  length = 0;
  #head: Call | null = null;

  add(call: Call): void {
    call.gatePrev = null;
    call.gateNext = this.#head;
    if (this.#head !== null) this.#head.gatePrev = call;
    this.#head = call;
    this.length++;
  }

  remove(call: Call): void {
    if (call.gatePrev === null) this.#head = call.gateNext;
    else call.gatePrev.gateNext = call.gateNext;
    if (call.gateNext !== null) call.gateNext.gatePrev = call.gatePrev;
    call.gateNext = null;
    call.gatePrev = null;
    this.length--;
  }
}

/**
 * The gate to one nameservice in one worker: the window, whose calls a NameNode has or is about to get, and the queue in front of it. A call is
 * let through, queued or refused; whoever is in the window is in its list, and the lists' lengths are the only count.
 */
export class Gate {
  readonly nameservice: number;
  readonly window: Window;
  /** A turn of this gate is asked for at the end of the turn of the event loop. */
  turnAsked = false;
  /** Most calls here at one time, in the window and in the queue, since `takeDemand`. */
  demand = 0;
  #queue: FairCallQueue;
  readonly #passed: readonly Passed[] = Array.from({ length: LANES }, () => new Passed());
  #turn = 0;

  constructor(nameservice: number, settings: AdmissionSettings, workers: number) {
    this.nameservice = nameservice;
    this.window = new Window(settings.windows[nameservice] as WindowSettings);
    this.#queue = makeQueue(settings, workers);
  }

  get queue(): FairCallQueue {
    return this.#queue;
  }

  get inFlight(): number {
    let sum = 0;
    for (let lane = 0; lane < LANES; lane++) sum += (this.#passed[lane] as Passed).length;
    return sum;
  }

  /** Calls of a lane in the window. */
  inFlightOf(lane: number): number {
    return (this.#passed[lane] as Passed).length;
  }

  /** A call has come here. */
  noteDemand(): void {
    const calls = this.inFlight + this.#queue.length;
    if (calls > this.demand) this.demand = calls;
  }

  /** The demand, which begins anew with what is here. */
  takeDemand(): number {
    const { demand } = this;
    this.demand = this.inFlight + this.#queue.length;
    return demand;
  }

  /** True: the call is in the window. False: there is no room, or others of its lane have waited for longer. */
  enter(call: Call): boolean {
    if (this.#queue.lengthOf(call.lane) > 0 || !this.#hasRoom(call.lane)) {
      this.window.noteWanted();
      return false;
    }
    this.#pass(call);
    this.noteDemand();
    return true;
  }

  /** The call leaves the window. */
  leave(call: Call): void {
    (this.#passed[call.gateLane] as Passed).remove(call);
    call.gate = null;
  }

  /** The next call that waits and for which there is room, in the window now; null when there is none. */
  next(): Call | null {
    if (this.#queue.length === 0) return null;
    for (let tried = 0; tried < TURNS.length; tried++) {
      const lane = TURNS[this.#turn] as number;
      this.#turn = this.#turn + 1 === TURNS.length ? 0 : this.#turn + 1;
      if (this.#queue.lengthOf(lane) === 0 || !this.#hasRoom(lane)) continue;
      const call = this.#queue.take(lane) as Call;
      this.#pass(call);
      return call;
    }
    this.window.noteWanted();
    return null;
  }

  /** Another queue takes the place of this one, with its calls; `rejected` gets each that it has no room for. */
  refresh(settings: AdmissionSettings, workers: number, rejected: (call: Call) => void): void {
    this.window.settings = settings.windows[this.nameservice] as WindowSettings;
    const calls: Call[] = [];
    this.#queue.drainTo((call) => calls.push(call));
    // Levels that become one: its list is in the order of waiting, as `oldest` needs it.
    calls.sort((a, b) => a.queuedMs - b.queuedMs);
    // Before any is rejected: what follows from that may wait here, too.
    this.#queue = makeQueue(settings, workers);
    for (const call of calls) {
      if (call.level >= settings.levels) call.level = settings.levels - 1;
      if (call.queuedAgain) this.#queue.putBack(call);
      else if (!this.#queue.put(call)) rejected(call);
    }
  }

  #hasRoom(lane: number): boolean {
    const { limit, laneLimits } = this.window;
    return this.inFlight < limit && (this.#passed[lane] as Passed).length < (laneLimits[lane] as number);
  }

  #pass(call: Call): void {
    call.gate = this;
    call.gateLane = call.lane;
    (this.#passed[call.lane] as Passed).add(call);
  }
}

/** Each worker has its part of the capacity, and room for a call of each level at least. */
function makeQueue(
  { capacity, capacityWeights, multiplexerWeights }: AdmissionSettings,
  workers: number,
): FairCallQueue {
  let least = 0;
  for (const weight of capacityWeights) least += weight;
  const part = Math.max(Math.ceil(capacity / workers), least);
  return new FairCallQueue(part, capacityWeights, multiplexerWeights, LANES);
}
