import { randomBytes } from 'node:crypto';
import type { Call } from '../call/call.ts';
import { PROTOCOLS } from '../call/methods.ts';
import type { SharedBudget } from '../shared/byte-budget.ts';
import type { Clock } from '../shared/clock.ts';
import { Counter, type Counters } from '../shared/counters.ts';
import type { Settings, Topology } from '../shared/settings.ts';
import { type TimerWheel, WheelEntry } from '../shared/timer-wheel.ts';
import { Block } from '../wire/block.ts';
import { ReplyScan } from '../wire/reply-scan.ts';
import type { RequestSplice } from '../wire/splice.ts';
import { BATCH_BYTES, ConnectionState, type NameNodeConnection, READ_HEADROOM_BYTES } from './connection.ts';
import { ConnectionGroup } from './group.ts';
import { NameNode } from './namenode.ts';
import { PROBE_CLAIM_MS, PROBE_MS, probeNameNode } from './probe.ts';
import { User } from './user.ts';

/** Batch buffers kept for use again; more are made when more connections write in one turn. */
const SPARE_BATCHES = 64;
const READ_BYTES = 256 * 1024;
const SWEEP_MS = 1000;
/** Silence of a NameNode with calls in flight after which it is probed when another one is known as the active. */
const SUPERSEDED_MS = 2000;

/** What the pool tells of calls; the engine. */
export interface CallOwner {
  readonly attempts: AttemptOwner;
  /** Paths, context and tag for the frame of this call; valid until the next call of it. */
  prepareSplice(call: Call): RequestSplice;
  /** The call has left its connection. */
  onReleased(call: Call): void;
  /** False: no room for the answer, the frame is offered again later. Otherwise it may keep the memory of a frame that is `owned`. */
  onReply(call: Call, scan: ReplyScan, buffer: Buffer, start: number, end: number, owned: boolean): boolean;
  errorOf(scan: ReplyScan, buffer: Buffer): { className: string; message: string };
  describeError(scan: ReplyScan, buffer: Buffer): string;
  /** Something happened outside a hand-over: the worker flushes at the end of this turn. */
  flushSoon(): void;
}

/** Decides what becomes of a call that its NameNode does not answer. */
export interface AttemptOwner {
  /** False: the call that waits must not be written here any more (its client is gone, or the mount table has changed); it was taken care of. */
  mayLeaveQueue(call: Call): boolean;
  /** The call was never sent. */
  onConnectFailed(call: Call, why: string): void;
  /** The call has waited for a connection until its budget was spent, or for one to an observer as long as it should. */
  onExpired(call: Call): void;
  /** The call may have been executed. */
  onLost(call: Call, explained: boolean, lone: boolean, why: string): void;
  onRefused(call: Call, className: string, message: string): void;
  onHung(namenode: NameNode): void;
  /** Another NameNode is known as the active one, and this one is no observer: what it has may wait for nothing. */
  isSuperseded(namenode: NameNode): boolean;
  /** Its circuit has closed. `state`: a NameNodeState that it has told, UNKNOWN for none. */
  onBack(namenode: NameNode, state: number): void;
}

class Sweep extends WheelEntry {}

/** All connections of one worker to NameNodes. */
export class NameNodePool {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly wheel: TimerWheel;
  readonly budget: SharedBudget;
  readonly counters: Counters;
  readonly owner: CallOwner;
  /** Client id of the router's own frames (connection context, ping, probe). */
  readonly clientId = randomBytes(16);
  readonly readBuffer = Buffer.allocUnsafeSlow(READ_HEADROOM_BYTES + READ_BYTES);
  readonly replyScan = new ReplyScan();
  /** By nameservice, in the topology's order. */
  readonly namenodes: readonly (readonly NameNode[])[];
  readonly sweep = new Sweep();
  readonly #all: NameNode[] = [];
  readonly #users = new Map<string, User>();
  readonly #groups = new Set<ConnectionGroup>();
  readonly #batches: Block[] = [];
  #dirty: NameNodeConnection[] = [];
  #flushing: NameNodeConnection[] = [];
  #pumps: ConnectionGroup[] = [];
  #deferred: (() => void)[] = [];
  #closed = false;

  constructor(
    settings: Settings,
    topology: Topology,
    clock: Clock,
    wheel: TimerWheel,
    budget: SharedBudget,
    counters: Counters,
    owner: CallOwner,
  ) {
    this.settings = settings;
    this.clock = clock;
    this.wheel = wheel;
    this.budget = budget;
    this.counters = counters;
    this.owner = owner;
    const onPauseOver = (namenode: NameNode): void => this.#tryAgain(namenode);
    this.namenodes = topology.nameservices.map((nameservice, n) =>
      nameservice.namenodes.map((address, i) => {
        const namenode = new NameNode(this.#all.length, n, i, address.host, address.port, onPauseOver);
        this.#all.push(namenode);
        return namenode;
      }),
    );
  }

  /** Users with clients or connections. */
  get users(): number {
    return this.#users.size;
  }

  userOf(user: string): User {
    let found = this.#users.get(user);
    if (found === undefined) {
      found = new User(user, this.#all.length * PROTOCOLS.length);
      this.#users.set(user, found);
    }
    return found;
  }

  /** A client of this user is gone. */
  leave(user: User): void {
    user.clients--;
    this.#forgetUnused(user);
  }

  groupOf(user: User, namenode: NameNode, protocol: number): ConnectionGroup {
    const at = namenode.number * PROTOCOLS.length + protocol;
    const found = user.groups[at] as ConnectionGroup | null;
    return found === null ? this.#makeGroup(user, namenode, protocol, at) : found;
  }

  /** As `groupOf`, null where there is none. */
  groupAt(user: User, namenode: NameNode, protocol: number): ConnectionGroup | null {
    return user.groups[namenode.number * PROTOCOLS.length + protocol] as ConnectionGroup | null;
  }

  markDirty(connection: NameNodeConnection): void {
    this.#dirty.push(connection);
  }

  pumpAtFlush(group: ConnectionGroup): void {
    this.#pumps.push(group);
    this.owner.flushSoon();
  }

  /** Runs `work` at the next flush, outside the event that asked for it. */
  defer(work: () => void): void {
    this.#deferred.push(work);
    this.owner.flushSoon();
  }

  /** One clock read per batch of events. */
  noteActivity(): void {
    this.clock.tick();
    this.owner.flushSoon();
  }

  /** End of the turn: everything written in it leaves, one write per connection. */
  flush(): void {
    if (this.#deferred.length > 0) {
      const work = this.#deferred;
      this.#deferred = [];
      for (let i = 0; i < work.length; i++) (work[i] as () => void)();
    }
    if (this.#pumps.length > 0) {
      const groups = this.#pumps;
      this.#pumps = [];
      for (let i = 0; i < groups.length; i++) (groups[i] as ConnectionGroup).pumpNow();
    }
    const dirty = this.#dirty;
    if (dirty.length === 0) return;
    this.#dirty = this.#flushing;
    this.#flushing = dirty;
    for (let i = 0; i < dirty.length; i++) (dirty[i] as NameNodeConnection).flush();
    dirty.length = 0;
  }

  takeBatch(): Block {
    return this.#batches.pop() ?? new Block(Buffer.allocUnsafeSlow(BATCH_BYTES));
  }

  giveBatch(batch: Block): void {
    if (this.#batches.length < SPARE_BATCHES) this.#batches.push(batch);
  }

  /** Replies that found no room are read again. */
  resumeHeld(): void {
    for (const namenode of this.#all) {
      for (const connection of namenode.connections) if (connection.held) connection.resume();
    }
  }

  /** How long a NameNode with calls in flight may be silent before it is probed. */
  #patienceMs(namenode: NameNode): number {
    const { hungAfterMs } = this.settings;
    return this.owner.attempts.isSuperseded(namenode) ? Math.min(SUPERSEDED_MS, hungAfterMs) : hungAfterMs;
  }

  /** Each second while there are connections: idle ones close, due pings go out together, silent NameNodes are probed, calls that have waited too long end. */
  onSweep(): void {
    const now = this.clock.nowMs;
    let connections = 0;
    let opening = 0;
    let busy = 0;
    for (const namenode of this.#all) {
      connections += namenode.connections.size;
      for (const connection of namenode.connections) {
        if (connection.state === ConnectionState.OPENING) opening++;
        else if (connection.inFlight > 0) busy++;
        if (connection.state === ConnectionState.OPEN && now - connection.lastWriteMs >= this.settings.pingIntervalMs)
          connection.ping();
      }
      if (namenode.inFlight > 0 && !namenode.probing) {
        const since = Math.max(namenode.lastByteMs, namenode.busySinceMs);
        if (now - since >= this.#patienceMs(namenode)) this.#probe(namenode);
      }
    }
    for (const group of this.#groups) {
      group.closeIdle(now - this.settings.namenodeIdleMs);
      group.expire(now - this.settings.callBudgetMs, now - this.settings.observers.patienceMs);
      if (group.idle && !group.isRefused && group.waiting.length === 0 && group.suspects.length === 0) {
        this.#forgetGroup(group);
      }
    }
    this.counters.set(Counter.namenodeConnections, connections);
    this.counters.set(Counter.namenodeConnectionsBusy, busy);
    this.counters.set(Counter.namenodeConnectionsOpening, opening);
    this.counters.set(Counter.namenodePools, this.#groups.size);
    if (!this.#closed && (connections > 0 || this.#groups.size > 0)) this.wheel.add(this.sweep, SWEEP_MS);
  }

  /**
   * Asks the NameNode for a sign of life on a connection of its own, whatever its circuit says. `answered` is called once, with the state that
   * it tells (a NameNodeState), or null for no sign.
   */
  probe(namenode: NameNode, answered: (state: number | null) => void): void {
    const timeoutMs = Math.min(PROBE_MS, Math.max(1000, this.settings.hungAfterMs));
    probeNameNode(namenode, { user: this.settings.routerUser, clientId: this.clientId, timeoutMs }, (state) => {
      this.noteActivity();
      if (state !== null) this.noteAlive(namenode, state);
      answered(state);
    });
  }

  /** Somebody waits for a NameNode whose circuit is not closed: it is probed when its pause is over. */
  want(namenode: NameNode): void {
    const { circuit, pause } = namenode;
    if (circuit.isClosed || pause.wheelSlot >= 0) return;
    const waitMs = circuit.msUntilProbe(this.clock.nowMs);
    // While somebody finds out, what comes of it says when the next one may.
    if (circuit.isOpen || waitMs === 0) this.wheel.add(pause, waitMs);
  }

  /** It hangs, or a probe was not answered: no call goes there for now. `why` is for the calls' errors. */
  noteSilent(namenode: NameNode, why: string): void {
    namenode.hostAddress.invalidate();
    namenode.circuit.open(this.clock.nowMs, why);
  }

  /** A byte from it, or an answer with its state: if no call went there, calls do again. */
  noteAlive(namenode: NameNode, state: number): void {
    if (namenode.circuit.close()) this.owner.attempts.onBack(namenode, state);
  }

  /** Closes every connection to it; their calls come back through `onLost` as explained. */
  closeAllOf(namenode: NameNode, why: string): void {
    for (const connection of namenode.connections) connection.destroy(why);
  }

  close(): void {
    this.#closed = true;
    this.wheel.remove(this.sweep);
    for (const namenode of this.#all) {
      this.wheel.remove(namenode.pause);
      this.closeAllOf(namenode, 'the worker stops');
    }
  }

  #probe(namenode: NameNode): void {
    namenode.probing = true;
    const heardMs = namenode.lastByteMs;
    this.probe(namenode, (state) => {
      namenode.probing = false;
      // It answers others: its calls are slow, not lost. Asked again after the same silence.
      if (state !== null) namenode.lastByteMs = this.clock.nowMs;
      else if (namenode.inFlight > 0 && namenode.lastByteMs === heardMs) {
        this.counters.add(Counter.namenodesHung);
        const why = `${namenode.address} is hung: no byte for ${Math.round(this.clock.nowMs - heardMs)} ms, and a probe was not answered`;
        this.noteSilent(namenode, why);
        this.owner.attempts.onHung(namenode);
        this.closeAllOf(namenode, why);
      }
    });
  }

  #tryAgain(namenode: NameNode): void {
    if (this.#closed || !namenode.circuit.claimProbe(this.clock.nowMs, PROBE_CLAIM_MS)) return;
    this.probe(namenode, (state) => {
      if (state === null) this.noteSilent(namenode, namenode.circuit.why);
    });
  }

  #makeGroup(user: User, namenode: NameNode, protocol: number, at: number): ConnectionGroup {
    const group = new ConnectionGroup(this, user, namenode, (PROTOCOLS[protocol] as (typeof PROTOCOLS)[number]).name);
    user.groups[at] = group;
    user.open++;
    this.#groups.add(group);
    if (this.sweep.wheelSlot < 0) this.wheel.add(this.sweep, SWEEP_MS);
    return group;
  }

  #forgetGroup(group: ConnectionGroup): void {
    this.#groups.delete(group);
    const at = group.user.groups.indexOf(group);
    if (at < 0) return;
    group.user.groups[at] = null;
    group.user.open--;
    this.#forgetUnused(group.user);
  }

  #forgetUnused(user: User): void {
    // A call that came before its client went may open a group for a user that is forgotten already, or has come again.
    if (user.clients === 0 && user.open === 0 && this.#users.get(user.user) === user) this.#users.delete(user.user);
  }
}
