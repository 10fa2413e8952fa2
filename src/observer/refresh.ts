import { type Call, CallQueue, leave, Place } from '../call/call.ts';
import { Deadline } from '../call/deadline.ts';
import type { Engine } from '../call/engine.ts';
import type { OwnCall, OwnCalls } from './own-call.ts';
import { Figure, type Figures } from './shared/figures.ts';
import type { StateWords } from './shared/state-words.ts';

/** Calls wait so long for the active NameNode to be heard of; then they are sent to it. */
const WAIT_MS = 2000;
/** A claim that its worker never gave back (its thread is gone) ends after this. */
const CLAIM_MS = 5000;
/** After an msync failed nobody tries another for this long, and nobody waits. */
const COOLING_MS = 1000;
/** How often calls look whether another worker's msync has been answered. */
const LOOK_MS = 20;

/**
 * The msync that tells whether the active NameNode of a nameservice is where the router believes it to be: one at a time for all workers,
 * and only when calls need it. Calls wait for it here (place REFRESHING); whoever's worker holds the claim sends it.
 */
export class Refresh {
  readonly #engine: Engine;
  readonly #shared: StateWords;
  readonly #own: OwnCalls;
  readonly #figures: Figures;
  /** By nameservice; bounded by the calls of a worker. */
  readonly #waiting: readonly CallQueue[];
  readonly #looks: readonly Deadline[];

  constructor(engine: Engine, shared: StateWords, own: OwnCalls, figures: Figures) {
    this.#engine = engine;
    this.#shared = shared;
    this.#own = own;
    this.#figures = figures;
    this.#waiting = Array.from({ length: shared.nameservices }, () => new CallQueue());
    this.#looks = Array.from({ length: shared.nameservices }, (_, n) => new Deadline(() => this.#look(n)));
  }

  /** False: there is no use in waiting, the call goes to the active. True: it is routed again when the active was heard of. */
  wait(call: Call): boolean {
    const { nameservice } = call;
    const stamp = this.#engine.clock.stamp;
    if (this.#shared.isCooling(nameservice, stamp)) return false;
    const { nowMs } = this.#engine.clock;
    // Of one that waits again the time goes on, and it stands before those that come now, as it did.
    if (call.refreshWaits === 0) call.waitingSinceMs = nowMs;
    else if (nowMs - call.waitingSinceMs >= WAIT_MS) return false;
    call.refreshWaits++;
    call.place = Place.REFRESHING;
    (this.#waiting[nameservice] as CallQueue).push(call);
    const look = this.#looks[nameservice] as Deadline;
    if (look.wheelSlot < 0) this.#engine.wheel.add(look, LOOK_MS);
    if (!this.#shared.claimRefresh(nameservice, stamp, CLAIM_MS)) return true;
    // Another worker's may have ended since the call looked: then it goes by what that has told.
    const age = this.#shared.ageOf(nameservice, this.#engine.clock.stampOf(call.startedMs));
    if (age > this.#engine.settings.observers.refreshMs && !this.#shared.isCooling(nameservice, stamp)) {
      this.#send(nameservice);
    } else this.#end(nameservice);
    return true;
  }

  #send(nameservice: number): void {
    this.#figures.add(nameservice, Figure.refreshes);
    let own: OwnCall | null = null;
    const limit = new Deadline(() => own?.giveUp());
    this.#engine.wheel.add(limit, WAIT_MS);
    own = this.#own.msync(nameservice, (ok) => {
      this.#engine.wheel.remove(limit);
      if (!ok) {
        this.#figures.add(nameservice, Figure.refreshesFailed);
        this.#shared.cool(nameservice, this.#engine.clock.stamp, COOLING_MS);
      }
      this.#end(nameservice);
    });
  }

  #end(nameservice: number): void {
    this.#shared.releaseRefresh(nameservice);
    // Outside the event that brought the answer: the calls go on as if they had come now.
    this.#engine.pool.defer(() => this.#release(nameservice));
  }

  /** The msync of another worker has ended, or the oldest has waited long enough. */
  #look(nameservice: number): void {
    const queue = this.#waiting[nameservice] as CallQueue;
    const { clock } = this.#engine;
    const oldest = queue.head;
    if (oldest === null) return;
    if (!this.#shared.isClaimed(nameservice, clock.stamp) || clock.nowMs - oldest.waitingSinceMs >= WAIT_MS) {
      this.#release(nameservice);
    }
    if (queue.length > 0) this.#engine.wheel.add(this.#looks[nameservice] as Deadline, LOOK_MS);
  }

  #release(nameservice: number): void {
    const queue = this.#waiting[nameservice] as CallQueue;
    for (let left = queue.length; left > 0; left--) {
      const call = queue.shift() as Call;
      leave(call, Place.REFRESHING);
      this.#engine.attempts.route(call);
    }
  }
}
