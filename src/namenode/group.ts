import { type Call, CallQueue, Place } from '../call/call.ts';
import { Counter } from '../shared/counters.ts';
import type { ReplyScan } from '../wire/reply-scan.ts';
import { ConnectionState, NameNodeConnection } from './connection.ts';
import type { NameNode } from './namenode.ts';
import type { NameNodePool } from './pool.ts';
import type { User } from './user.ts';

/** A connection with this many calls in flight is reason enough to open another, up to `connectionsPerUser`. */
const GROW_AT_IN_FLIGHT = 16;
/** After the NameNode refused the user as an observer he gets no calls there for so long: others do. */
const REFUSED_MS = 60_000;
/** Connections that carry one suspect each at the same time, so that a slow one does not keep the others waiting. */
const MAX_LONE = 8;

/**
 * The connections of one user to one NameNode for one protocol, and the calls that wait for one.
 *
 * A turn's calls go to one connection (`current`), so that they leave in one write; the next turn picks the least loaded again.
 * Suspects (calls whose connection was lost under them for no known reason) go alone, on a connection that serves nothing else.
 */
export class ConnectionGroup {
  readonly pool: NameNodePool;
  readonly user: User;
  readonly namenode: NameNode;
  readonly protocol: string;
  readonly waiting = new CallQueue();
  readonly suspects = new CallQueue();
  /** Open shared connections. */
  readonly #open: NameNodeConnection[] = [];
  #opening = 0;
  /** It stands in the NameNode's queue for opening. */
  #openPending = false;
  /** Those for suspects, opening ones included. */
  readonly #lone: NameNodeConnection[] = [];
  #pumpAsked = false;
  current: NameNodeConnection | null = null;
  /** When the NameNode last refused the user as an observer. */
  refusedMs = Number.NEGATIVE_INFINITY;

  constructor(pool: NameNodePool, user: User, namenode: NameNode, protocol: string) {
    this.pool = pool;
    this.user = user;
    this.namenode = namenode;
    this.protocol = protocol;
  }

  get idle(): boolean {
    return this.#open.length === 0 && this.#opening === 0 && this.#lone.length === 0 && !this.#openPending;
  }

  get isRefused(): boolean {
    return this.pool.clock.nowMs - this.refusedMs < REFUSED_MS;
  }

  /** Takes the call: writes it, or keeps it until a connection can. */
  send(call: Call): void {
    if (call.suspect) {
      call.place = Place.SUSPECT;
      this.suspects.push(call);
      this.#serveSuspects();
      return;
    }
    let connection = this.current;
    if (connection === null || !connection.canTake()) {
      connection = this.#pick();
      this.current = connection;
    }
    if (connection === null) {
      call.place = Place.WAITING;
      this.waiting.push(call);
      this.#grow();
      return;
    }
    connection.writeCall(call);
    if (connection.inFlight >= GROW_AT_IN_FLIGHT) this.#grow();
  }

  /** Writes what waits, as far as connections take it. */
  pump(): void {
    while (this.waiting.length > 0) {
      const connection = this.#pick();
      if (connection === null) return;
      const call = this.waiting.shift() as Call;
      if (this.pool.owner.attempts.mayLeaveQueue(call)) connection.writeCall(call);
    }
  }

  /** As `pump`, once at the end of this turn. */
  pumpSoon(): void {
    if (this.#pumpAsked) return;
    this.#pumpAsked = true;
    this.pool.pumpAtFlush(this);
  }

  pumpNow(): void {
    this.#pumpAsked = false;
    this.pump();
  }

  onOpened(connection: NameNodeConnection): void {
    this.namenode.openingEnded();
    if (connection.lone) {
      this.#serveSuspects();
      return;
    }
    this.#opening--;
    this.#open.push(connection);
    this.pump();
  }

  /** TCP never came up: nothing was sent, so all that wait may go elsewhere. */
  onConnectFailed(connection: NameNodeConnection, why: string): void {
    this.#forget(connection);
    const { clock, settings } = this.pool;
    const isAlive = this.namenode.isAlive(clock.nowMs, settings.connectTimeoutMs);
    this.namenode.hostAddress.invalidate();
    // Before its calls look for another one.
    if (!isAlive) this.namenode.circuit.noteFailure(clock.nowMs, `${this.namenode.address}: ${why}`);
    if (connection.lone) this.#failQueue(this.suspects, why);
    else this.#opening--;
    this.#failWaiting(why);
    if (isAlive) this.namenode.openingEnded();
    else this.namenode.openingFailed(why);
  }

  /** It stood in the queue for opening, and the NameNode cannot be reached. */
  openRefused(why: string): void {
    this.#openPending = false;
    if (this.#lone.length === 0) this.#failQueue(this.suspects, why);
    this.#failWaiting(why);
  }

  /** Ends the calls that were taken before `beforeMs` and still wait; those for it as an observer when they came here before `observerBeforeMs`. */
  expire(beforeMs: number, observerBeforeMs: number): void {
    this.#expireQueue(this.waiting, beforeMs, observerBeforeMs);
    this.#expireQueue(this.suspects, beforeMs, observerBeforeMs);
  }

  /** An open connection is gone. `explained`: no call in flight on it can be the reason. */
  onLost(connection: NameNodeConnection, explained: boolean, why: string): void {
    this.#forget(connection);
    const calls = connection.takeAll();
    if (calls.length > 0 && !explained && !connection.lone) this.#closeIdleLone();
    for (const call of calls) this.pool.owner.attempts.onLost(call, explained, connection.lone, why);
    if (this.namenode.circuit.isOpen) {
      // It hangs: what waits for it moves on with what was in flight.
      this.#failQueue(this.waiting, why);
      this.#failQueue(this.suspects, why);
    }
    if (this.waiting.length > 0) this.#grow();
    if (this.suspects.length > 0) this.#serveSuspects();
  }

  /** The NameNode refused the connection itself (authorization, version): that answer is for every call on it. */
  onRefused(connection: NameNodeConnection, scan: ReplyScan, buffer: Buffer): void {
    const answer = this.pool.owner.errorOf(scan, buffer);
    const calls = connection.takeAll();
    for (let call = this.waiting.shift(); call !== null; call = this.waiting.shift()) {
      call.place = Place.RESOLVING;
      calls.push(call);
    }
    for (const call of calls) this.pool.owner.attempts.onRefused(call, answer.className, answer.message);
  }

  onLoneFree(connection: NameNodeConnection): void {
    connection.lastUseMs = this.pool.clock.nowMs;
    if (this.suspects.length > 0) this.pumpSuspectsSoon();
  }

  /** Its turn to open has come; what it was asked for may not be needed any more. */
  openQueued(): void {
    this.#openPending = false;
    if (this.waiting.length > 0) this.#grow();
    if (this.#needsLone()) this.#openLone();
  }

  /** Closes connections without calls that have not been used since `beforeMs`. */
  closeIdle(beforeMs: number): void {
    for (const connection of this.#open) {
      if (connection.inFlight === 0 && connection.lastUseMs < beforeMs) connection.destroy('idle');
    }
    for (const lone of this.#lone) {
      if (lone.state === ConnectionState.OPEN && lone.inFlight === 0 && lone.lastUseMs < beforeMs) lone.destroy('idle');
    }
  }

  /** What ended a connection may have ended these too: a suspect that is written to such a one would seem to be the reason. */
  #closeIdleLone(): void {
    for (const lone of this.#lone) {
      if (lone.state === ConnectionState.OPEN && lone.inFlight === 0) lone.destroy('idle');
    }
  }

  pumpSuspectsSoon(): void {
    this.pool.defer(this.#serveSuspectsBound);
  }

  readonly #serveSuspectsBound = (): void => this.#serveSuspects();

  #serveSuspects(): void {
    for (let i = 0; i < this.#lone.length && this.suspects.length > 0; i++) {
      const lone = this.#lone[i] as NameNodeConnection;
      if (lone.inFlight > 0 || !lone.canTake()) continue;
      const call = this.suspects.shift() as Call;
      if (!this.pool.owner.attempts.mayLeaveQueue(call)) {
        i--;
        continue;
      }
      this.pool.counters.add(Counter.suspectsSent);
      lone.writeCall(call);
    }
    if (this.#needsLone()) this.#openLone();
  }

  #openLone(): void {
    if (this.#openPending) return;
    const { circuit } = this.namenode;
    if (circuit.isOpen) {
      if (this.#lone.length === 0) this.#failQueue(this.suspects, circuit.why);
      return;
    }
    if (this.namenode.mayOpen(this)) this.#openOne(true);
    else this.#openPending = true;
  }

  /** Suspects wait, all connections for them are busy, and there may be one more: one after the other is opened. */
  #needsLone(): boolean {
    if (this.suspects.length === 0 || this.#lone.length >= MAX_LONE) return false;
    for (let i = 0; i < this.#lone.length; i++) {
      if ((this.#lone[i] as NameNodeConnection).state === ConnectionState.OPENING) return false;
    }
    return true;
  }

  #pick(): NameNodeConnection | null {
    let best: NameNodeConnection | null = null;
    for (let i = 0; i < this.#open.length; i++) {
      const connection = this.#open[i] as NameNodeConnection;
      if (connection.canTake() && (best === null || connection.inFlight < best.inFlight)) best = connection;
    }
    return best;
  }

  #grow(): void {
    // One opening at a time: a burst is not a reason for a storm of connections.
    if (this.#opening > 0 || this.#openPending) return;
    if (this.#open.length >= this.pool.settings.connectionsPerUser) return;
    const { circuit } = this.namenode;
    if (circuit.isOpen) {
      this.#failWaiting(circuit.why);
      return;
    }
    if (this.namenode.mayOpen(this)) this.#openOne(false);
    else this.#openPending = true;
  }

  #openOne(lone: boolean): void {
    const connection = new NameNodeConnection(this, lone);
    this.namenode.connections.add(connection);
    if (lone) this.#lone.push(connection);
    else this.#opening++;
  }

  #forget(connection: NameNodeConnection): void {
    this.namenode.connections.delete(connection);
    const among = connection.lone ? this.#lone : this.#open;
    const at = among.indexOf(connection);
    if (at >= 0) among.splice(at, 1);
  }

  /** As long as another connection is open or opening they wait for that one. */
  #failWaiting(why: string): void {
    if (this.#open.length === 0 && this.#opening === 0) this.#failQueue(this.waiting, why);
  }

  #expireQueue(queue: CallQueue, beforeMs: number, observerBeforeMs: number): void {
    // In the order of queueing, which is not that of taking: each is looked at once, and goes to the end when it stays.
    for (let left = queue.length; left > 0; left--) {
      const call = queue.shift();
      if (call === null) return;
      if (call.asObserver ? call.waitingSinceMs >= observerBeforeMs : call.startedMs >= beforeMs) queue.push(call);
      else {
        call.place = Place.RESOLVING;
        this.pool.owner.attempts.onExpired(call);
      }
    }
  }

  #failQueue(queue: CallQueue, why: string): void {
    // Only those that wait now: a call that comes back to this group meanwhile must not be failed again in this loop.
    for (let left = queue.length; left > 0; left--) {
      const call = queue.shift();
      if (call === null) return;
      call.place = Place.RESOLVING;
      this.pool.owner.attempts.onConnectFailed(call, why);
    }
  }
}
