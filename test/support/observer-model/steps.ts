import type * as Real from '../../../src/observer/rules.ts';
import { Answer, EPOCHS, NO_NAMENODE, NO_TXID, Proof, State, Way } from '../../../src/observer/rules.ts';
import {
  answerCall,
  becomeActive,
  becomeFenced,
  copyOf,
  countTransaction,
  endNamenode,
  freeCall,
  loseCall,
  mayHappen,
  noteOlder,
  releaseWaiting,
  routeAnew,
  sendCall,
  spend,
  writeTail,
} from './changes.ts';
import {
  ABANDONED,
  APPLIED,
  activeOf,
  Budget,
  CALLS,
  CANDIDATES,
  Call,
  Candidate,
  CLIENTS,
  Client,
  callAt,
  candidateAt,
  clientAt,
  DURABLE,
  isInUse,
  Kind,
  lastOf,
  NONE,
  OBSERVERS,
  Phase,
  REFRESH,
  ROUTERS,
  Role,
  Router,
  routerAt,
  type Scenario,
  STATE_IDS_OFF,
  type World,
} from './world.ts';

/** The rules under test: those of the router, or with one of them changed. */
export type Rules = Pick<typeof Real, 'afterAnswer' | 'wayOf' | 'exposed' | 'isOlder'>;

/** What must hold, by its name in facts or here. */
export class Broken extends Error {
  readonly invariant: string;

  constructor(invariant: string, what: string) {
    super(`${invariant}: ${what}`);
    this.invariant = invariant;
  }
}

/** Epochs matter only as the same or another one. */
const EPOCH = 7;

/** All that may happen next. Reuses its objects. */
export class Steps {
  readonly #scenario: Scenario;
  readonly #rules: Rules;
  readonly #emit: (world: World, label: () => string) => void;
  readonly #now = new State();
  readonly #next = new State();
  readonly #answer = new Answer();

  constructor(scenario: Scenario, rules: Rules, emit: (world: World, label: () => string) => void) {
    this.#scenario = scenario;
    this.#rules = rules;
    this.#emit = emit;
  }

  /** Emits each world that `world` may become, as a new object. */
  from(world: World): void {
    this.#clientsBegin(world);
    for (let slot = 0; slot < CALLS; slot++) this.#callGoesOn(world, slot);
    this.#namenodesChange(world);
  }

  /** What holds in each world. Throws Broken. */
  check(world: World): void {
    for (let router = 0; router < ROUTERS; router++) {
      this.#checkKnown(world, router);
      this.#checkRefresh(world, router);
    }
  }

  // --- clients

  #clientsBegin(world: World): void {
    for (let client = 0; client < CLIENTS; client++) {
      const at = clientAt(client);
      if (world[at + Client.LEFT] === 0 || world[callAt(client) + Call.PHASE] !== Phase.FREE) continue;
      for (let router = 0; router < ROUTERS; router++) {
        for (const kind of this.#scenario.kinds[client] as readonly number[]) {
          const next = copyOf(world);
          next[at + Client.LEFT] = (next[at + Client.LEFT] as number) - 1;
          const call = callAt(client);
          next[call + Call.KIND] = kind;
          next[call + Call.ROUTER] = router;
          const isPlain = this.#isPlain(client);
          next[call + Call.FLOOR] = isPlain ? NONE : (world[at + Client.FLOOR] as number);
          const seen = Math.max(world[at + Client.MUST] as number, world[at + Client.MUST_HERE + router] as number);
          // Who brings no state sees all that was written; and an msync brings the state of all that was.
          next[call + Call.MUST] = isPlain || kind === Kind.MSYNC ? (world[DURABLE] as number) : seen;
          this.#route(next, client);
        }
      }
    }
  }

  #isPlain(client: number): boolean {
    return client === 1 && this.#scenario.second === 'plain';
  }

  // --- calls

  #callGoesOn(world: World, slot: number): void {
    const at = callAt(slot);
    switch (world[at + Call.PHASE]) {
      case Phase.ROUTING:
        this.#route(world, slot);
        return;
      case Phase.SENT:
        this.#execute(world, slot);
        break;
      case Phase.SYNCING:
        this.#sync(world, slot);
        break;
      case Phase.ANSWERED:
        this.#deliver(world, slot);
        break;
      default:
        return;
    }
    if (slot < CLIENTS && (world[at + Call.NAMENODE] as number) < CANDIDATES) this.#abandon(world, slot);
    if (mayHappen(world, Budget.LOSSES)) {
      const next = copyOf(world);
      spend(next, Budget.LOSSES);
      loseCall(next, slot);
      this.#emit(next, () => `the connection of ${nameOf(slot)} is lost`);
    }
  }

  #route(world: World, slot: number): void {
    const at = callAt(slot);
    if (world[at + Call.KIND] !== Kind.READ || world[at + Call.NO_OBSERVERS] === 1) {
      this.#sendToActive(world, slot);
      return;
    }
    const router = world[at + Call.ROUTER] as number;
    const state = this.#stateOf(world, router);
    const floor = (world[at + Call.FLOOR] as number) - 1;
    const isFresh = world[routerAt(router) + Router.FRESH] === 1;
    const way = this.#rules.wayOf(state, floor, isFresh);
    if (way === Way.ACTIVE) this.#sendToActive(world, slot);
    else if (way === Way.REFRESH) this.#awaitRefresh(world, slot, router);
    else {
      if (state.txid !== NO_TXID && floor > state.txid) {
        throw new Broken('I3', `state id ${floor} goes to an observer, the router knows ${state.txid}`);
      }
      if (!isFresh) throw new Broken('I8', 'an observer is asked though the active was not heard of within the period');
      for (let i = 0; i < OBSERVERS; i++) {
        // Observers in the same state are the same.
        if (i === 1 && world[APPLIED] === world[APPLIED + 1]) return;
        const next = copyOf(world);
        sendCall(next, slot, CANDIDATES + i);
        this.#emit(next, () => `${begun(world, slot)}router ${router} sends ${nameOf(slot)} to observer ${i}`);
      }
    }
  }

  #awaitRefresh(world: World, slot: number, router: number): void {
    const next = copyOf(world);
    next[callAt(slot) + Call.PHASE] = Phase.WAITING;
    const refresh = callAt(REFRESH + router);
    if (next[refresh + Call.PHASE] === Phase.FREE) {
      next[refresh + Call.PHASE] = Phase.ROUTING;
      next[refresh + Call.KIND] = Kind.MSYNC;
      next[refresh + Call.ROUTER] = router;
    }
    this.#emit(next, () => `${begun(world, slot)}${nameOf(slot)} waits at router ${router}`);
  }

  /** To any NameNode that acts as the active one: whom the router believes to be it is not the matter of these rules. */
  #sendToActive(world: World, slot: number): void {
    const at = callAt(slot);
    const older = world[at + Call.OLDER] as number;
    let sent = 0;
    for (let i = 0; i < CANDIDATES; i++) {
      if ((older & (1 << i)) === 0 && this.#sendTo(world, slot, i, 0)) sent++;
    }
    if (sent > 0 || older === 0) return;
    const newest = (world[at + Call.NEWEST] as number) - 1;
    if (!this.#sendTo(world, slot, newest, 1)) this.#sendTo(world, slot, 1 - newest, 1);
  }

  /** False: it does not act as the active one. */
  #sendTo(world: World, slot: number, candidate: number, takesAll: number): boolean {
    const at = callAt(slot);
    const role = world[candidateAt(candidate) + Candidate.ROLE];
    if (role === Role.STANDBY || (role === Role.FENCED && world[at + Call.KIND] === Kind.WRITE)) return false;
    const next = copyOf(world);
    sendCall(next, slot, candidate);
    next[at + Call.TAKES_ALL] = takesAll;
    this.#emit(
      next,
      () => `${begun(world, slot)}router ${world[at + Call.ROUTER]} sends ${nameOf(slot)} to NameNode ${candidate}`,
    );
    return true;
  }

  #execute(world: World, slot: number): void {
    const at = callAt(slot);
    const namenode = world[at + Call.NAMENODE] as number;
    if (namenode >= CANDIDATES) {
      this.#executeAtObserver(world, slot, namenode - CANDIDATES);
      return;
    }
    const candidate = candidateAt(namenode);
    const isFenced = world[candidate + Candidate.ROLE] === Role.FENCED;
    const next = copyOf(world);
    if (world[at + Call.KIND] === Kind.WRITE) {
      next[at + Call.SHOWS] = countTransaction(next, namenode);
      next[at + Call.PHASE] = Phase.SYNCING;
    } else {
      const tail = world[candidate + Candidate.TAIL] as number;
      next[at + Call.SHOWS] = isFenced ? (world[candidate + Candidate.BASE] as number) : lastOf(world, namenode);
      if (isFenced && this.#isUntold(world, slot, tail)) next[at + Call.MUST] = 0;
      answerCall(next, slot, lastOf(world, namenode));
    }
    this.#emit(next, () => `NameNode ${namenode} executes ${nameOf(slot)}`);
  }

  /**
   * That a fenced NameNode answered does not show: its state id counts what was never written, or there is none, or its client brings
   * nothing to compare it with.
   */
  #isUntold(world: World, slot: number, tail: number): boolean {
    const isMsync = world[callAt(slot) + Call.KIND] === Kind.MSYNC;
    return tail > 0 || isMsync || world[STATE_IDS_OFF] === 1 || this.#isPlain(slot);
  }

  #executeAtObserver(world: World, slot: number, observer: number): void {
    const at = callAt(slot);
    const applied = world[APPLIED + observer] as number;
    const isWithout = this.#scenario.observersWithoutStateIds === true;
    if (!isWithout && applied < (world[at + Call.FLOOR] as number) - 1) {
      this.#loseObserver(world, slot);
      return;
    }
    const next = copyOf(world);
    next[at + Call.SHOWS] = applied;
    answerCall(next, slot, isWithout ? NO_TXID : applied);
    this.#emit(next, () => `observer ${observer} executes ${nameOf(slot)}`);
  }

  /** It does not answer in time. */
  #loseObserver(world: World, slot: number): void {
    const next = copyOf(world);
    loseCall(next, slot);
    this.#emit(next, () => `the patience with an observer for ${nameOf(slot)} ends`);
  }

  /** The journal takes the active's tail. */
  #sync(world: World, slot: number): void {
    const at = callAt(slot);
    const next = copyOf(world);
    const namenode = world[at + Call.NAMENODE] as number;
    writeTail(next, namenode);
    answerCall(next, slot, next[DURABLE] as number);
    this.#emit(next, () => `NameNode ${namenode} has written ${nameOf(slot)}`);
  }

  /** The answer reaches its router, and then the client. */
  #deliver(world: World, slot: number): void {
    const at = callAt(slot);
    const router = world[at + Call.ROUTER] as number;
    const namenode = world[at + Call.NAMENODE] as number;
    const floor = (world[at + Call.FLOOR] as number) - 1;
    const txid = (world[at + Call.TXID] as number) - 1;
    const proof = proofOf(world[at + Call.KIND] as number, namenode);
    const next = copyOf(world);
    if (world[at + Call.TAKES_ALL] === 0 && this.#rules.isOlder(proof, txid, floor)) {
      routeAnew(next, slot);
      if (proof !== Proof.OBSERVER) noteOlder(next, slot, namenode, txid);
      this.#emit(next, () => `the answer to ${nameOf(slot)} is older than what its client has seen`);
      return;
    }
    this.#merge(next, slot, proof, txid);
    if (slot < CLIENTS) this.#answerClient(next, slot, proof, txid, floor);
    else if (slot < ABANDONED) releaseWaiting(next, router, true);
    freeCall(next, slot);
    this.#emit(next, () => `router ${router} gets the answer to ${nameOf(slot)}: state id ${txid}`);
  }

  #merge(world: World, slot: number, proof: number, txid: number): void {
    const at = callAt(slot);
    const router = world[at + Call.ROUTER] as number;
    const namenode = world[at + Call.NAMENODE] as number;
    const now = this.#stateOf(world, router);
    const { txid: before, active } = now;
    const given = this.#answer;
    given.namenode = namenode;
    given.proof = proof;
    given.txid = txid;
    given.sentEpoch = world[at + Call.SENT_NOW] === 1 ? now.epoch : EPOCH - 1;
    given.sentAfterRaise = world[at + Call.SETTLED] === 1;
    const next = this.#next;
    const words = routerAt(router);
    if (this.#rules.afterAnswer(now, given, next)) {
      const isSame = next.epoch === now.epoch;
      if (!isSame && next.epoch !== (now.epoch + 1) % EPOCHS) throw new Broken('I4', 'epochs are not counted by one');
      if (isSame && next.txid < before) throw new Broken('I4', `${before} becomes ${next.txid} within an epoch`);
      if (next.txid !== NO_TXID && next.txid !== txid) throw new Broken('I4', `${next.txid} is no NameNode's state id`);
      if (!isSame) this.#checkCause(world, router, namenode, active, before, next);
      world[words + Router.ACTIVE] = next.active + 1;
      world[words + Router.TXID] = next.txid + 1;
      if (!isSame) world[words + Router.BEGUN] = world[at + Call.INCARNATION] as number;
      for (let other = 0; other < CALLS; other++) {
        if (!isInUse(world, other) || world[callAt(other) + Call.ROUTER] !== router) continue;
        world[callAt(other) + Call.SETTLED] = 0;
        if (!isSame) world[callAt(other) + Call.SENT_NOW] = 0;
      }
    }
    const isProved = proof === Proof.ACTIVE && world[words + Router.ACTIVE] === namenode + 1;
    if (isProved && world[at + Call.YOUNG] === 1) world[words + Router.FRESH] = 1;
  }

  #answerClient(world: World, client: number, proof: number, txid: number, floor: number): void {
    const at = callAt(client);
    const router = world[at + Call.ROUTER] as number;
    const kind = world[at + Call.KIND] as number;
    const state = this.#stateOf(world, router);
    const told = this.#scenario.tells === true ? state.txid : NO_TXID;
    const exposed = this.#rules.exposed(state, proof, txid, floor, told);
    if (exposed < txid) throw new Broken('I1', `the client is told ${exposed} by an answer of state ${txid}`);
    const must = world[at + Call.MUST] as number;
    const shows = world[at + Call.SHOWS] as number;
    if (kind === Kind.READ && shows < must) {
      throw new Broken('I1/I2', `client ${client} reads state ${shows}, but has seen or must see ${must}`);
    }
    const words = clientAt(client);
    if (!this.#isPlain(client))
      world[words + Client.FLOOR] = Math.max(world[words + Client.FLOOR] as number, exposed + 1);
    const seen = kind === Kind.MSYNC ? must : shows;
    const where = exposed === NO_TXID ? Client.MUST_HERE + router : Client.MUST;
    // An answer without a state id tells other routers nothing.
    world[words + where] = Math.max(world[words + where] as number, seen);
  }

  /** Its client has gone; the call goes on. */
  #abandon(world: World, slot: number): void {
    if (!mayHappen(world, Budget.ABANDONED)) return;
    const to = callAt(ABANDONED);
    if (world[to + Call.PHASE] !== Phase.FREE) return;
    const next = copyOf(world);
    spend(next, Budget.ABANDONED);
    const at = callAt(slot);
    next.copy(next, to, at, at + Call.COUNT);
    freeCall(next, slot);
    this.#emit(next, () => `client ${slot} gives up its call`);
  }

  // --- NameNodes

  #namenodesChange(world: World): void {
    const active = activeOf(world);
    const other = 1 - active;
    const otherRole = world[candidateAt(other) + Candidate.ROLE];
    for (let i = 0; i < OBSERVERS; i++) {
      if ((world[APPLIED + i] as number) >= (world[DURABLE] as number)) continue;
      const next = copyOf(world);
      next[APPLIED + i] = (next[APPLIED + i] as number) + 1;
      this.#emit(next, () => `observer ${i} applies an edit`);
    }
    if (otherRole === Role.FENCED) {
      const next = copyOf(world);
      endNamenode(next, other);
      this.#emit(next, () => `NameNode ${other}, fenced, ends`);
      if (mayHappen(world, Budget.UNSYNCED)) {
        const counted = copyOf(world);
        spend(counted, Budget.UNSYNCED);
        countTransaction(counted, other);
        this.#emit(counted, () => `NameNode ${other}, fenced, counts a transaction`);
      }
    } else if (mayHappen(world, Budget.FAILOVERS)) {
      this.#failOver(world, active, Role.STANDBY);
      this.#failOver(world, active, Role.FENCED);
    }
    if (mayHappen(world, Budget.RESTARTS)) {
      const next = copyOf(world);
      spend(next, Budget.RESTARTS);
      endNamenode(next, active);
      becomeActive(next, active);
      this.#emit(next, () => `NameNode ${active} restarts`);
    }
    if (mayHappen(world, Budget.STATE_IDS_OFF)) {
      const next = copyOf(world);
      spend(next, Budget.STATE_IDS_OFF);
      next[STATE_IDS_OFF] = 1;
      this.#emit(next, () => 'state ids are switched off');
    }
    if (mayHappen(world, Budget.EXPIRIES)) this.#expire(world);
  }

  #failOver(world: World, from: number, role: number): void {
    const next = copyOf(world);
    spend(next, Budget.FAILOVERS);
    if (role === Role.FENCED) becomeFenced(next, from);
    else endNamenode(next, from);
    becomeActive(next, 1 - from);
    this.#emit(
      next,
      () => `NameNode ${1 - from} becomes active, ${from} ${role === Role.FENCED ? 'is fenced' : 'ends'}`,
    );
  }

  #expire(world: World): void {
    for (let router = 0; router < ROUTERS; router++) {
      if (world[routerAt(router) + Router.FRESH] === 0) continue;
      const next = copyOf(world);
      spend(next, Budget.EXPIRIES);
      next[routerAt(router) + Router.FRESH] = 0;
      for (let slot = 0; slot < CALLS; slot++) {
        if (isInUse(next, slot) && next[callAt(slot) + Call.ROUTER] === router) next[callAt(slot) + Call.YOUNG] = 0;
      }
      this.#emit(next, () => `the refresh period of router ${router} expires`);
    }
  }

  // --- invariants

  /** The active is where its epoch says: otherwise reads would wait for what may never be written. */
  #checkKnown(world: World, router: number): void {
    const at = routerAt(router);
    const active = (world[at + Router.ACTIVE] as number) - 1;
    const txid = (world[at + Router.TXID] as number) - 1;
    if (active === NO_NAMENODE || active >= CANDIDATES) {
      if (active >= CANDIDATES) throw new Broken('I5', 'an observer is taken for the active');
      return;
    }
    const candidate = candidateAt(active);
    if (world[candidate + Candidate.ROLE] !== Role.ACTIVE) return;
    if (world[candidate + Candidate.INCARNATION] !== world[at + Router.BEGUN]) return;
    const last = lastOf(world, active);
    if (txid > last) throw new Broken('known', `router ${router} knows ${txid}, the active is at ${last}`);
  }

  /** After one msync to the active the router knows where that one is, whatever it believed. */
  #checkRefresh(world: World, router: number): void {
    const state = this.#stateOf(world, router);
    const active = activeOf(world);
    const expected = world[STATE_IDS_OFF] === 1 ? NO_TXID : lastOf(world, active);
    const given = this.#answer;
    given.namenode = active;
    given.proof = Proof.ACTIVE;
    given.txid = expected;
    given.sentEpoch = state.epoch;
    given.sentAfterRaise = true;
    const after = this.#rules.afterAnswer(state, given, this.#next) ? this.#next : state;
    if (after.txid === expected && after.active === active) return;
    throw new Broken(
      'refresh',
      `after an msync the router knows ${after.txid} of ${after.active}, it is ${expected} of ${active}`,
    );
  }

  /** An epoch ends when the active is another one, or was started anew, or told no state id: not because answers overtake each other. */
  #checkCause(world: World, router: number, namenode: number, active: number, before: number, next: State): void {
    if (namenode !== active || before === NO_TXID || next.txid === NO_TXID) return;
    const candidate = candidateAt(namenode);
    if (world[candidate + Candidate.ROLE] !== Role.ACTIVE) return;
    if (world[candidate + Candidate.INCARNATION] !== world[routerAt(router) + Router.BEGUN]) return;
    throw new Broken('cause', `an epoch ends though NameNode ${namenode} has been active throughout it`);
  }

  #stateOf(world: World, router: number): State {
    const at = routerAt(router);
    const state = this.#now;
    state.epoch = EPOCH;
    state.active = (world[at + Router.ACTIVE] as number) - 1;
    state.txid = (world[at + Router.TXID] as number) - 1;
    return state;
  }
}

const NAMES = ['a read', 'a write', 'an msync'] as const;

function nameOf(slot: number): string {
  if (slot < CLIENTS) return `the call of client ${slot}`;
  return slot < ABANDONED ? `the msync of router ${slot - REFRESH}` : 'the call that was given up';
}

function proofOf(kind: number, namenode: number): number {
  if (namenode >= CANDIDATES) return Proof.OBSERVER;
  return kind === Kind.READ ? Proof.READ : Proof.ACTIVE;
}

/** Before a call's first step. */
function begun(world: World, slot: number): string {
  const at = callAt(slot);
  return world[at + Call.PHASE] === Phase.FREE
    ? `client ${slot} begins ${NAMES[world[at + Call.KIND] as number]}, `
    : '';
}
