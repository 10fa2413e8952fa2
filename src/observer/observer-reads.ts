import { type Call, CallQueue } from '../call/call.ts';
import type { Client } from '../call/client.ts';
import { Deadline } from '../call/deadline.ts';
import type { Engine } from '../call/engine.ts';
import { Failure } from '../call/failure.ts';
import { type Method, provesActive } from '../call/method.ts';
import type { NameNodeConnection } from '../namenode/connection.ts';
import type { NameNode } from '../namenode/namenode.ts';
import { NameNodeState } from '../shared/control-block.ts';
import type { ObserverSettings } from '../shared/settings.ts';
import { findStateId } from '../wire/federated-state.ts';
import { Status } from '../wire/reply-head.ts';
import type { ReplyScan } from '../wire/reply-scan.ts';
import { Wide } from '../wire/varint.ts';
import { EarlierStates } from './earlier-states.ts';
import { ObserverChoice } from './observer-choice.ts';
import { OwnCalls } from './own-call.ts';
import { Refresh } from './refresh.ts';
import { Answer, exposed, isOlder, NO_TXID, Proof, State, Way, wayOf } from './rules.ts';
import { Figure, type Figures } from './shared/figures.ts';
import { type StateWords, txidOf } from './shared/state-words.ts';

/** Observers that one call tries before it goes to the active. */
const MAX_OBSERVERS = 2;
/** How often one call waits for an msync before it goes to the active. */
const MAX_WAITS = 2;
/** Later than this after its time the patience of a call ends only when the thread stood still: then answers are read first, for LOOK_MS. */
const STALL_MS = 200;
const LOOK_MS = 20;

/**
 * Reads from observers, in a worker: which NameNode a read may go to, what its answer proves, and how it goes on when an observer does not
 * serve. The rules stand in rules.ts; everything here happens in the event that drives the call.
 */
export class ObserverReads {
  readonly settings: ObserverSettings;
  readonly shared: StateWords;
  readonly figures: Figures;
  readonly #engine: Engine;
  readonly #choice: ObserverChoice;
  readonly #refresh: Refresh;
  readonly #earlier: EarlierStates;
  /** Calls in flight to observers, in the order of sending; all have the same patience, so the first is the first to lose it. */
  readonly #asked = new CallQueue();
  /** Calls that have lost it at observers that answer others (`takesLong`): they stay as long as those do. */
  readonly #slow = new CallQueue();
  readonly #patience = new Deadline(() => this.#onImpatience());
  #hasLooked = false;
  readonly #state = new State();
  readonly #answer = new Answer();
  readonly #wide = new Wide();

  constructor(engine: Engine, settings: ObserverSettings, shared: StateWords, figures: Figures) {
    this.#engine = engine;
    this.settings = settings;
    this.shared = shared;
    this.figures = figures;
    const own = new OwnCalls(engine);
    this.#choice = new ObserverChoice(engine, shared, own, figures);
    this.#refresh = new Refresh(engine, shared, own, figures);
    this.#earlier = new EarlierStates(shared.nameservices, settings.refreshMs);
  }

  /** Before each attempt of a call. True: an observer got it, or it waits until the active was heard of. False: it goes to the active. */
  takes(call: Call): boolean {
    // A probe has its observer already.
    if (call.onlyNamenode >= 0) return false;
    call.asObserver = false;
    call.mayWait = false;
    const { nameservice } = call;
    if (!(call.method as Method).coordinated || call.leavesObservers || this.settings.enabled[nameservice] !== true) {
      return false;
    }
    const state = this.shared.read(nameservice, this.#state);
    call.floor = this.#floorOf(call);
    if (call.ofActive) {
      call.leavesObservers = true;
      return false;
    }
    const stamp = this.#engine.clock.stampOf(call.startedMs);
    const { refreshMs } = this.settings;
    const isFresh = refreshMs < 0 || this.shared.ageOf(nameservice, stamp) <= refreshMs;
    const way = wayOf(state, call.floor, isFresh);
    if (way === Way.ACTIVE) return this.#toActive(call, reasonFor(state, call.floor));
    const observer = call.observersTried < MAX_OBSERVERS ? this.#choice.choose(call, state) : null;
    if (observer === null) return this.#toActive(call, Figure.withoutObserver);
    if (way === Way.REFRESH) {
      if (call.refreshWaits < MAX_WAITS && this.#refresh.wait(call)) return true;
      return this.#toActive(call, Figure.notFresh);
    }
    this.figures.add(nameservice, Figure.floorLag, state.txid - call.floor);
    call.observersTried++;
    call.asObserver = true;
    call.mayWait = !this.#choice.hasReached(observer, call.floor);
    call.waitingSinceMs = this.#engine.clock.nowMs;
    call.namenode = observer.index;
    call.tried |= 1 << observer.index;
    const { user } = call.client as Client;
    this.#engine.pool.groupOf(user, observer, (call.method as Method).protocol).send(call);
    return true;
  }

  /** The call is about to be written to its NameNode. */
  onWritten(call: Call): void {
    if (this.settings.enabled[call.nameservice] !== true) return;
    call.sentEpoch = this.shared.read(call.nameservice, this.#state).epoch;
    if (!call.asObserver) return;
    call.waitingSinceMs = call.sentMs;
    this.#asked.push(call);
    if (this.#patience.wheelSlot < 0) this.#engine.wheel.add(this.#patience, this.settings.patienceMs);
  }

  /** It has left its connection, answered or not. */
  onReleased(call: Call): void {
    if (!call.asObserver) return;
    if (call.takesLong) this.#slow.remove(call);
    else this.#asked.remove(call);
    call.takesLong = false;
  }

  /**
   * A NameNode has answered with success: what that tells is known to all before the answer goes anywhere. False: the answer may be older
   * than what its client has seen and is none, or not before others were asked; the call goes on (`goOn`).
   */
  onSuccess(call: Call, scan: ReplyScan): boolean {
    const { nameservice, namenode } = call;
    const method = call.method as Method;
    if (this.settings.enabled[nameservice] !== true) return true;
    const { clock } = this.#engine;
    const answer = this.#answer;
    answer.namenode = namenode;
    answer.proof = proofOf(call, method);
    answer.txid = scan.hasStateId ? txidOf(scan.stateIdHigh, scan.stateIdLow) : NO_TXID;
    answer.sentEpoch = call.sentEpoch;
    if (!call.takesOlder && this.#mayBeOlder(call, answer)) {
      this.#onOlder(call, answer, false);
      return false;
    }
    const sent = clock.stampOf(call.sentMs);
    const state = this.#state;
    this.shared.merge(nameservice, answer, sent, clock.stamp, state);
    if (answer.proof === Proof.ACTIVE && state.active === namenode) this.shared.prove(nameservice, sent);
    let told = NO_TXID;
    if (call.asObserver) {
      told = this.#earlier.of(nameservice, state, clock.nowMs);
      this.#choice.onAnswer(call, answer.txid);
    }
    this.#countAnswer(call);
    const txid = exposed(state, answer.proof, answer.txid, call.floor, told);
    if (txid === NO_TXID) return true;
    if (call.whole === null) call.noteState(nameservice, txid);
    else if (call.composer?.over === false) call.whole.noteState(nameservice, txid);
    return true;
  }

  /** The observer could not be reached, or the connection to it was lost. The call goes on. */
  onUnreachable(call: Call): void {
    this.#leaveAlone(call, Figure.observerUnreachable);
  }

  /** The connection was lost for a reason that is neither the observer's nor the call's: what another call on it was told. The call goes on. */
  onLostBeside(call: Call): void {
    this.#count(call, Figure.observerUnreachable);
  }

  /** The observer has refused the connection of the call's user: what others get there is not for him to change. */
  onRefused(call: Call, className: string): void {
    const { user } = call.client as Client;
    const { clock, pool } = this.#engine;
    if (className === Failure.STANDBY || className === Failure.RETRIABLE) this.onUnreachable(call);
    else {
      this.#count(call, Figure.observerUnreachable);
      pool.groupOf(user, this.#namenodeOf(call), (call.method as Method).protocol).refusedMs = clock.nowMs;
    }
    this.goOn(call);
  }

  /** No connection to the observer became free as long as its answer may take. */
  onExpired(call: Call): void {
    call.leavesObservers = true;
    this.onUnreachable(call);
    this.goOn(call);
  }

  /**
   * A NameNode has answered with an error. False: that is no answer to the call, which goes on elsewhere (`goOn`). `unfit`: index into the
   * engine's table of classes by which a NameNode says so: 0 StandbyException, 1 ObserverRetryOnActiveException, 2 RetriableException, -1
   * another one.
   */
  onError(call: Call, unfit: number, scan: ReplyScan, buffer: Buffer): boolean {
    if (!call.asObserver) {
      if (unfit >= 0) return true;
      if (this.#isOlderError(call, scan)) return false;
      if (this.settings.enabled[call.nameservice] === true) this.#countAnswer(call);
      return true;
    }
    if (scan.hasStateId) this.#choice.onAnswer(call, txidOf(scan.stateIdHigh, scan.stateIdLow));
    if (unfit < 0) {
      if (scan.status === Status.ERROR && !this.#isOlderError(call, scan)) {
        this.#countAnswer(call);
        return true;
      }
      // FATAL is for the connection, whatever the call.
      if (scan.status === Status.FATAL) call.lastTrouble = this.#describe(call, scan, buffer);
      return false;
    }
    if (unfit === 1) {
      // Only the active can do it, whichever observer is asked.
      call.leavesObservers = true;
      this.#count(call, Figure.retriedOnActive);
    } else if (unfit === 0) {
      this.#engine.block.proveState(call.nameservice, call.namenode, NameNodeState.STANDBY);
      this.#leaveAlone(call, Figure.observerStandby);
    } else if (isTooFarBehind(buffer, scan)) {
      call.leavesObservers = true;
      this.#leaveAlone(call, Figure.tooFarBehind);
    } else {
      this.#leaveAlone(call, Figure.observerNotReady);
    }
    call.lastTrouble = this.#describe(call, scan, buffer);
    return false;
  }

  /** What an observer did not answer goes to another one or to the active; a probe ends. */
  goOn(call: Call): void {
    if (call.onlyNamenode >= 0) this.#engine.fail(call, Failure.STANDBY, call.lastTrouble);
    else this.#engine.attempts.route(call);
  }

  #onOlder(call: Call, { proof, txid }: Answer, isError: boolean): void {
    const { address } = this.#namenodeOf(call);
    const has = txid === NO_TXID ? 'no state id' : `state id ${txid}`;
    const floor = call.floor === NO_TXID ? 'none' : call.floor;
    call.lastTrouble = `${address} answered with ${has}, the client has seen ${floor}`;
    if (proof === Proof.OBSERVER) {
      // An exception may have come before it waited: of a method that it does not know, say, whoever calls that.
      if (isError && txid !== NO_TXID) this.#count(call, Figure.observerOlder);
      else this.#leaveAlone(call, Figure.observerOlder);
    } else {
      if (txid !== NO_TXID) this.figures.add(call.nameservice, Figure.activeOlder);
      call.noteOlder(txid);
    }
  }

  /**
   * It is older than what the client has seen; or it is of a NameNode of which nothing is known, not its state id either: an observer whose state
   * context is off answers so, an active one too. If there is another active one, that is asked.
   */
  #mayBeOlder({ nameservice, floor }: Call, { namenode, proof, txid }: Answer): boolean {
    if (isOlder(proof, txid, floor)) return true;
    if (proof !== Proof.READ || txid !== NO_TXID) return false;
    return this.#engine.block.stateOf(nameservice, namenode) === NameNodeState.UNKNOWN;
  }

  /** As with answers: what an observer or a fenced NameNode does not find, say, may have come after its state. */
  #isOlderError(call: Call, { hasStateId, stateIdHigh, stateIdLow }: ReplyScan): boolean {
    const { nameservice, namenode } = call;
    if (call.takesOlder || this.settings.enabled[nameservice] !== true) return false;
    const answer = this.#answer;
    answer.namenode = namenode;
    answer.proof = proofOf(call, call.method as Method);
    answer.txid = hasStateId ? txidOf(stateIdHigh, stateIdLow) : NO_TXID;
    if (!this.#mayBeOlder(call, answer)) return false;
    this.#onOlder(call, answer, true);
    return true;
  }

  #describe(call: Call, scan: ReplyScan, buffer: Buffer): string {
    return `the observer ${this.#namenodeOf(call).address}: ${this.#engine.describeError(scan, buffer)}`;
  }

  #toActive(call: Call, why: number): false {
    call.leavesObservers = true;
    this.figures.add(call.nameservice, why);
    return false;
  }

  /** What the call's own client has seen of the nameservice: never more than that, whatever other clients brought. */
  #floorOf(call: Call): number {
    const { federatedStart, federatedEnd } = call.fields;
    if (federatedEnd === federatedStart) return NO_TXID;
    const name = this.#engine.nameserviceBytes[call.nameservice] as Buffer;
    const { frame, start } = call;
    if (!findStateId(frame, start + federatedStart, start + federatedEnd, name, this.#wide)) return NO_TXID;
    const { high, low } = this.#wide;
    if ((high | 0) < 0) return NO_TXID;
    return high * 2 ** 32 + (low >>> 0);
  }

  /** In the figures of reads, of which the router's own probes are none. */
  #count(call: Call, figure: number, amount = 1): void {
    if (call.onlyNamenode < 0) this.figures.add(call.nameservice, figure, amount);
  }

  /** A read that observers may answer has its answer, be it an exception. */
  #countAnswer(call: Call): void {
    if (!(call.method as Method).coordinated) return;
    const { asObserver, sentMs } = call;
    this.#count(call, asObserver ? Figure.observerReads : Figure.activeReads);
    this.#count(call, asObserver ? Figure.observerReadMs : Figure.activeReadMs, this.#engine.clock.nowMs - sentMs);
  }

  #leaveAlone(call: Call, why: number): void {
    this.#count(call, why);
    // The probe itself says how it ended.
    if (call.onlyNamenode < 0) this.#choice.leaveAlone(call.nameservice, call.namenode);
  }

  /** Calls that wait on an observer, maybe until it has caught up, for longer than they should. */
  #onImpatience(): void {
    const { clock, wheel } = this.#engine;
    const { patienceMs } = this.settings;
    if (clock.nowMs - this.#patience.wheelDueMs > STALL_MS && !this.#hasLooked) {
      this.#hasLooked = true;
      wheel.add(this.#patience, LOOK_MS);
      return;
    }
    this.#hasLooked = false;
    const beforeMs = clock.nowMs - patienceMs;
    let oldestMs = Number.POSITIVE_INFINITY;
    for (let left = this.#slow.length; left > 0 && this.#slow.head !== null; left--) {
      oldestMs = Math.min(oldestMs, this.#lookAt(this.#slow.head, this.#slow));
    }
    for (let call = this.#asked.head; call !== null && call.waitingSinceMs <= beforeMs; call = this.#asked.head) {
      oldestMs = Math.min(oldestMs, this.#lookAt(call, this.#asked));
    }
    const first = this.#asked.head;
    if (first !== null) oldestMs = Math.min(oldestMs, first.waitingSinceMs);
    if (oldestMs < Number.POSITIVE_INFINITY) wheel.add(this.#patience, oldestMs - beforeMs);
  }

  /**
   * A call that has lost its patience stays only while its observer answers others; returns the last sign of life of that, from which the
   * patience goes on, so that an observer that falls silent has it no longer than others. It stands in `from`.
   */
  #lookAt(call: Call, from: CallQueue): number {
    if (!this.#isSlow(call)) {
      this.#loseAtObserver(call);
      return Number.POSITIVE_INFINITY;
    }
    from.remove(call);
    call.takesLong = true;
    this.#slow.push(call);
    return this.#namenodeOf(call).lastByteMs;
  }

  /** The active gets it. */
  #loseAtObserver(call: Call): void {
    const connection = call.connection as NameNodeConnection;
    connection.giveUp(call);
    // Another observer may be stuck as well, and the client has waited long enough.
    call.leavesObservers = true;
    call.lastTrouble = `the observer ${this.#namenodeOf(call).address} did not answer within ${this.settings.patienceMs} ms`;
    // Its answer may be there: there is no room towards a client for what came before it.
    if (connection.held) this.#count(call, Figure.observerTimedOut);
    else this.#leaveAlone(call, Figure.observerTimedOut);
    this.goOn(call);
  }

  /** Its observer has what the call needs and answers others: the call takes long, elsewhere as well. A probe never should. */
  #isSlow(call: Call): boolean {
    if (call.onlyNamenode >= 0) return false;
    const namenode = this.#namenodeOf(call);
    const { clock } = this.#engine;
    return this.#choice.hasReached(namenode, call.floor) && namenode.isAlive(clock.nowMs, this.settings.patienceMs);
  }

  #namenodeOf(call: Call): NameNode {
    return (this.#engine.pool.namenodes[call.nameservice] as readonly NameNode[])[call.namenode] as NameNode;
  }
}

function reasonFor(state: State, floor: number): number {
  if (floor === NO_TXID) return Figure.withoutFloor;
  return state.txid === NO_TXID ? Figure.unknownState : Figure.floorAbove;
}

function proofOf(call: Call, method: Method): number {
  if (call.asObserver) return Proof.OBSERVER;
  // What each NameNode is asked for by itself, standby ones answer too.
  if (call.onlyNamenode >= 0) return Proof.NONE;
  if (provesActive(method)) return Proof.ACTIVE;
  return method.coordinated ? Proof.READ : Proof.NONE;
}

const TOO_FAR_BEHIND = Buffer.from('Observer Node is too far behind');

function isTooFarBehind(buffer: Buffer, { messageStart, messageEnd }: ReplyScan): boolean {
  const end = messageStart + TOO_FAR_BEHIND.length;
  return end <= messageEnd && buffer.compare(TOO_FAR_BEHIND, 0, TOO_FAR_BEHIND.length, messageStart, end) === 0;
}
