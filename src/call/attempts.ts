import { chooseNameNode } from '../namenode/choice.ts';
import type { NameNode } from '../namenode/namenode.ts';
import type { AttemptOwner } from '../namenode/pool.ts';
import { NameNodeState } from '../shared/control-block.ts';
import { Counter } from '../shared/counters.ts';
import { type Call, CallQueue, leave, Place } from './call.ts';
import type { Client } from './client.ts';
import type { Engine } from './engine.ts';
import { Failure } from './failure.ts';
import { LostAlone, MAX_LOST_ALONE } from './lost-alone.ts';
import { type Method, provesActive } from './method.ts';
import { restoreRequest } from './rebuild.ts';

/** Pause before the next round over a nameservice's NameNodes: doubles from the first to the last, jitter 0.5 to 1.5. */
const FIRST_PAUSE_MS = 100;
const LAST_PAUSE_MS = 2000;
/** Of a call's budget where no NameNode of its nameservice can be reached at all: in a failover the standby can. */
const GONE_BUDGET_SHARE = 0.5;

/**
 * Which NameNode a call goes to, and what becomes of it when that one does not answer: the next NameNode of the round, a pause and another
 * round, or an exception when the budget is spent. Knows who is active by what NameNodes answer.
 */
export class Attempts implements AttemptOwner {
  readonly #engine: Engine;
  /** Calls between two rounds, by nameservice; each also stands in the timer wheel. */
  readonly #sleepers: readonly CallQueue[];
  readonly #activeSeen: Int32Array;
  /** Of each nameservice: when a call that waits for it last found a NameNode that could be reached. */
  readonly #reachedMs: Float64Array;
  readonly #lostAlone: LostAlone;

  constructor(engine: Engine, nameservices: number) {
    this.#engine = engine;
    this.#sleepers = Array.from({ length: nameservices }, () => new CallQueue());
    this.#activeSeen = new Int32Array(nameservices).fill(-1);
    this.#reachedMs = new Float64Array(nameservices);
    this.#lostAlone = new LostAlone(engine, nameservices);
  }

  /** A call on its way to the next NameNode of its nameservice, or to sleep, or to its end. */
  route(call: Call): void {
    if ((call.client as Client).gone) {
      this.#engine.fail(
        call,
        Failure.IO,
        'The client has closed its side of the connection: the call is not sent any more',
      );
      return;
    }
    if (call.composer?.over === true) {
      this.#engine.fail(call, Failure.IO, 'The call was answered without this part of it');
      return;
    }
    if (this.#isTooOld(call)) {
      this.#expire(call, call.lastTrouble === '' ? 'it has waited for its turn' : call.lastTrouble);
      return;
    }
    if (this.#isStale(call)) {
      this.#resolveAnew(call);
      return;
    }
    const namenodes = this.#engine.pool.namenodes[call.nameservice] as readonly NameNode[];
    if (namenodes.length === 0) {
      this.#engine.fail(
        call,
        Failure.IO,
        `Cannot locate a registered namenode for ${this.#engine.nameserviceName(call.nameservice)} from ${this.#engine.settings.routerId}`,
      );
      return;
    }
    const { observers } = this.#engine;
    if (observers?.takes(call) === true) return;
    const namenode = chooseNameNode(call, namenodes, this.#engine.block, this.#engine.clock.nowMs);
    if (namenode === null) {
      this.#endRound(call);
      return;
    }
    this.#send(call, namenode);
  }

  /** Nobody waits for its answer any more: `route` ends it. */
  isPointless(call: Call): boolean {
    return (call.client as Client).gone || call.composer?.over === true || this.#isTooOld(call);
  }

  /** Its client has given it up, or is about to. */
  #isTooOld(call: Call): boolean {
    return this.#engine.clock.nowMs - call.startedMs > this.#engine.settings.callBudgetMs;
  }

  #send(call: Call, namenode: NameNode): void {
    call.namenode = namenode.index;
    call.tried |= 1 << namenode.index;
    this.#engine.pool.groupOf((call.client as Client).user, namenode, (call.method as Method).protocol).send(call);
  }

  /** The mount table has changed since it was resolved by its path. Parts of a whole keep their nameservice. */
  #isStale(call: Call): boolean {
    if (!call.byPath || call.epoch === this.#engine.resolver.epoch) return false;
    return call.composer === null || call.composer.ofCall;
  }

  /** Before it is sent (again), as if it had just come. */
  #resolveAnew(call: Call): void {
    this.#engine.assign(call, -1);
    restoreRequest(call);
    call.byPath = false;
    call.path = null;
    call.path2 = null;
    call.deepPaths = null;
    call.composer = null;
    call.tried = 0;
    call.epoch = this.#engine.resolver.epoch;
    this.#engine.handle(call);
  }

  /** Every NameNode of the nameservice was asked: the next nameservice that may answer, or a pause, or the end of the budget. */
  #endRound(call: Call): void {
    call.tried = 0;
    this.#wantClosed(call);
    if (call.onlyNamenode >= 0) {
      // It was asked for this NameNode alone: what others could answer is no answer.
      this.#engine.fail(
        call,
        Failure.STANDBY,
        `No namenode available to invoke ${nameOf(call)} in ${this.#engine.nameserviceName(call.nameservice)} from ${this.#engine.settings.routerId}; ${call.lastTrouble}`,
      );
      return;
    }
    if (call.olderFrom >= 0 && !call.takesOlder) {
      // No other one answers: it is the active after all, and its answer as new as can be.
      call.takesOlder = true;
      this.#send(
        call,
        (this.#engine.pool.namenodes[call.nameservice] as readonly NameNode[])[call.olderFrom] as NameNode,
      );
      return;
    }
    const alternatives = call.alternatives;
    if (alternatives !== null && alternatives.length > 1) {
      call.alternativeAt = (call.alternativeAt + 1) % alternatives.length;
      this.#engine.assign(call, alternatives[call.alternativeAt] as number);
      if (call.alternativeAt !== 0) {
        this.#engine.enter(call);
        return;
      }
    }
    const pause = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(call.rounds, 10), LAST_PAUSE_MS) * (0.5 + Math.random());
    call.rounds++;
    const { clock, settings } = this.#engine;
    const goneMs = this.#goneForMs(call);
    // A pause that would end too late is not begun.
    if (goneMs >= 0 && goneMs + pause > settings.callBudgetMs * GONE_BUDGET_SHARE) {
      this.#giveUp(call, goneMs);
      return;
    }
    if (clock.nowMs - call.startedMs + pause > settings.callBudgetMs) {
      this.#expire(call, call.lastTrouble);
      return;
    }
    this.#engine.admission.stepAside(call);
    call.place = Place.SLEEPING;
    (this.#sleepers[call.nameservice] as CallQueue).push(call);
    this.#engine.wheel.add(call, pause);
  }

  /** How long, since it came, no NameNode of the call's nameservice could be reached; -1 where one can, or others may answer it, and for parts, which have limits of their own. */
  #goneForMs(call: Call): number {
    const { nameservice, alternatives, composer } = call;
    const { block, clock, pool } = this.#engine;
    const namenodes = (pool.namenodes[nameservice] as readonly NameNode[]).length;
    for (let i = 0; i < namenodes; i++) {
      if (block.stateOf(nameservice, i) === NameNodeState.UNAVAILABLE) continue;
      this.#reachedMs[nameservice] = clock.nowMs;
      return -1;
    }
    if ((alternatives !== null && alternatives.length > 1) || (composer !== null && !composer.ofCall)) return -1;
    return clock.nowMs - Math.max(call.startedMs, this.#reachedMs[nameservice] as number);
  }

  /** The round has ended without an answer: NameNodes that no call goes to may have come back. */
  #wantClosed(call: Call): void {
    const namenodes = this.#engine.pool.namenodes[call.nameservice] as readonly NameNode[];
    for (let i = 0; i < namenodes.length; i++) {
      const namenode = namenodes[i] as NameNode;
      if (namenode.circuit.isClosed) continue;
      if (call.lastTrouble === '') call.lastTrouble = namenode.circuit.why;
      this.#engine.pool.want(namenode);
    }
  }

  /** Its time is over. */
  #expire(call: Call, trouble: string): void {
    this.#engine.counters.add(Counter.callsExpired);
    this.#endUnserved(call, `within ${this.#engine.settings.callBudgetMs} ms`, trouble);
  }

  /** Its time is not over, but there is nobody to ask. */
  #giveUp(call: Call, goneMs: number): void {
    this.#engine.counters.add(Counter.callsUnreached);
    this.#endUnserved(
      call,
      `after ${call.rounds} rounds: none could be reached for ${Math.round(goneMs)} ms`,
      call.lastTrouble,
    );
  }

  #endUnserved(call: Call, limit: string, trouble: string): void {
    const message = `No namenode available to invoke ${nameOf(call)} in ${this.#engine.nameserviceName(call.nameservice)} from ${this.#engine.settings.routerId} ${limit}; last trouble: ${trouble}`;
    this.#engine.note(message);
    this.#engine.fail(call, Failure.STANDBY, message);
  }

  /** A success that only an active NameNode gives names it as the active one. */
  prove(call: Call): void {
    const method = call.method as Method;
    if (call.asObserver) return;
    // A NameNode that was asked for by itself may be a standby: what is sent to each of them, all of them answer.
    const isChange = provesActive(method);
    if (!(method.coordinated || isChange) || call.onlyNamenode >= 0) return;
    if (isChange) this.#namenodeOf(call).provedMs = this.#engine.clock.nowMs;
    if (this.#engine.block.activeOf(call.nameservice) === call.namenode) return;
    this.#engine.block.setActive(call.nameservice, call.namenode);
    this.#engine.block.proveState(call.nameservice, call.namenode, NameNodeState.ACTIVE);
    this.#engine.counters.add(Counter.activeChanges);
    this.#engine.note(
      `${this.#namenodeOf(call).address} is the active NameNode of ${this.#engine.nameserviceName(call.nameservice)}`,
    );
    this.#activeSeen[call.nameservice] = call.namenode;
    const nameservice = call.nameservice;
    if ((this.#sleepers[nameservice] as CallQueue).length > 0)
      this.#engine.pool.defer(() => this.#wakeAll(nameservice));
  }

  /** For answers without a state id: whether one is by an observer that was not asked as one and knows of no state ids, so that it may be stale. */
  isByObserver(call: Call): boolean {
    const { nameservice, namenode, onlyNamenode, asObserver } = call;
    if (asObserver || onlyNamenode >= 0 || !(call.method as Method).coordinated) return false;
    return this.#engine.block.stateOf(nameservice, namenode) === NameNodeState.OBSERVER;
  }

  /** The NameNode is not the one to answer this: the call goes on to the next. */
  onUnfit(call: Call, state: number): void {
    this.#engine.counters.add(Counter.standbyAnswers);
    this.#engine.block.clearActive(call.nameservice, call.namenode);
    this.#engine.block.proveState(call.nameservice, call.namenode, state);
    call.lastTrouble = `${this.#namenodeOf(call).address} is ${state === NameNodeState.OBSERVER ? 'an observer' : 'standby'}`;
    this.route(call);
  }

  /** Its pause is over. */
  wake(call: Call): void {
    leave(call, Place.SLEEPING);
    (this.#sleepers[call.nameservice] as CallQueue).remove(call);
    this.goOn(call);
  }

  /** The call had stepped aside: it goes to a NameNode when there is room for it again. */
  goOn(call: Call): void {
    if (this.#engine.admission.returns(call)) this.route(call);
  }

  /** Each second: another worker may have found the active NameNode that calls here wait for. */
  lookForActives(): void {
    for (let n = 0; n < this.#sleepers.length; n++) {
      const active = this.#engine.block.activeOf(n);
      if (active !== this.#activeSeen[n]) {
        this.#activeSeen[n] = active;
        if (active >= 0) this.#wakeAll(n);
      }
    }
  }

  mayLeaveQueue(call: Call): boolean {
    if (!this.isPointless(call) && !this.#isStale(call)) return true;
    leave(call, call.suspect ? Place.SUSPECT : Place.WAITING);
    this.route(call);
    return false;
  }

  onConnectFailed(call: Call, why: string): void {
    const namenode = this.#namenodeOf(call);
    // Others may be served by it on connections that are open: only a NameNode that gives no sign of life loses its place.
    if (!namenode.isAlive(this.#engine.clock.nowMs, this.#engine.settings.connectTimeoutMs)) {
      this.#engine.block.clearActive(call.nameservice, call.namenode);
      this.#engine.block.proveState(call.nameservice, call.namenode, NameNodeState.UNAVAILABLE);
      // What closed its connection before was the end of the NameNode, not the call.
      call.suspect = false;
    }
    call.lastTrouble = `${namenode.address}: ${why}`;
    if (call.asObserver) this.#engine.observers?.onUnreachable(call);
    this.route(call);
  }

  /** No NameNode has the call, and the one that it waits for, if any, gives no sign of life; in the queue that is each of its nameservice. */
  isUnreached(call: Call): boolean {
    if (call.place === Place.SLEEPING) return true;
    if (call.place === Place.QUEUED) return !this.#hasAlive(call.nameservice);
    if (call.place !== Place.WAITING && call.place !== Place.SUSPECT) return false;
    return !this.#namenodeOf(call).isAlive(this.#engine.clock.nowMs, this.#engine.settings.connectTimeoutMs);
  }

  #hasAlive(nameservice: number): boolean {
    const { clock, pool, settings } = this.#engine;
    const namenodes = pool.namenodes[nameservice] as readonly NameNode[];
    for (let i = 0; i < namenodes.length; i++) {
      if ((namenodes[i] as NameNode).isAlive(clock.nowMs, settings.connectTimeoutMs)) return true;
    }
    return false;
  }

  onExpired(call: Call): void {
    const trouble = `${this.#namenodeOf(call).address}: no connection to it became free`;
    if (call.asObserver) {
      call.lastTrouble = trouble;
      this.#engine.observers?.onExpired(call);
    } else this.#expire(call, trouble);
  }

  onLost(call: Call, explained: boolean, lone: boolean, why: string): void {
    const namenode = this.#namenodeOf(call);
    call.lastTrouble = `${namenode.address}: ${why}`;
    call.wasLost = true;
    if (call.asObserver) {
      if (explained) this.#engine.observers?.onLostBeside(call);
      else this.#engine.observers?.onUnreachable(call);
    }
    if (!mayResend(call)) {
      this.#engine.fail(
        call,
        Failure.IO,
        `The connection to ${namenode.address} was lost while ${nameOf(call)} was in flight (${why}); it may have been executed and was not sent again, because it carries no client id for the retry cache`,
      );
      return;
    }
    this.#engine.counters.add(Counter.callsResent);
    if (explained) {
      if (namenode.circuit.isClosed) call.tried &= ~(1 << call.namenode);
      this.route(call);
      return;
    }
    if (!lone) {
      // The NameNode may have closed because of this call or of one beside it: each goes on alone, so that the innocent are served.
      call.suspect = true;
      call.tried &= ~(1 << call.namenode);
      this.route(call);
      return;
    }
    if (call.asObserver && call.lostAlone + 1 < MAX_LOST_ALONE) {
      // Whether the observer lives on or not: what it did not answer the active may, alone too.
      call.lostAlone++;
      call.suspect = true;
      this.route(call);
      return;
    }
    this.#lostAlone.take(call);
  }

  onRefused(call: Call, className: string, message: string): void {
    if (call.asObserver) {
      call.lastTrouble = `${this.#namenodeOf(call).address}: ${className}: ${message}`;
      this.#engine.observers?.onRefused(call, className);
    } else if (className === Failure.STANDBY) this.onUnfit(call, NameNodeState.STANDBY);
    else this.#engine.fail(call, className, message);
  }

  onHung(namenode: NameNode): void {
    this.#engine.block.clearActive(namenode.nameservice, namenode.index);
    this.#engine.block.proveState(namenode.nameservice, namenode.index, NameNodeState.UNAVAILABLE);
    this.#engine.note(
      `${namenode.address} of ${this.#engine.nameserviceName(namenode.nameservice)} is hung: no byte for ${this.#engine.settings.hungAfterMs} ms, and a probe was not answered; its ${namenode.inFlight} calls go elsewhere`,
    );
  }

  isSuperseded({ nameservice, index }: NameNode): boolean {
    const { block } = this.#engine;
    const active = block.activeOf(nameservice);
    return active >= 0 && active !== index && block.stateOf(nameservice, index) !== NameNodeState.OBSERVER;
  }

  onBack({ nameservice, index, address }: NameNode, state: number): void {
    const { block, pool } = this.#engine;
    // Whoever is asked next: it need not be the last one.
    if (block.stateOf(nameservice, index) === NameNodeState.UNAVAILABLE) block.proveState(nameservice, index, state);
    this.#engine.note(`${address} of ${this.#engine.nameserviceName(nameservice)} can be reached again`);
    if ((this.#sleepers[nameservice] as CallQueue).length > 0) pool.defer(() => this.#wakeAll(nameservice));
  }

  #wakeAll(nameservice: number): void {
    const sleepers = this.#sleepers[nameservice] as CallQueue;
    for (let left = sleepers.length; left > 0; left--) {
      const call = sleepers.head as Call;
      this.#engine.wheel.remove(call);
      this.wake(call);
    }
  }

  #namenodeOf(call: Call): NameNode {
    return (this.#engine.pool.namenodes[call.nameservice] as readonly NameNode[])[call.namenode] as NameNode;
  }
}

/** Whether a call that may have been executed may be sent again: reads, idempotent calls, and what the NameNode's retry cache recognises. */
function mayResend(call: Call): boolean {
  const method = call.method as Method;
  if (method.effect === 'read' || method.retry === 'Idempotent') return true;
  return (
    method.retry === 'AtMostOnce' &&
    call.fields.callId >= 0 &&
    call.fields.clientIdEnd - call.fields.clientIdStart === 16
  );
}

function nameOf(call: Call): string {
  return (call.method as Method).name;
}
