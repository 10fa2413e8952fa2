/**
 * One moment of a small deployment, as bytes: two NameNodes that may be active, two observers, two routers with their State (observer/rules.ts),
 * two clients, and the calls between them.
 *
 * A nameservice's log is a number: transactions are counted, and whoever has a transaction has all before it. What is written for good
 * (in the journal) reaches to DURABLE. The active has a tail beyond it, which is lost with the NameNode. A fenced one that does not know
 * it answers reads on: what it has up to BASE is everybody's, its tail is its own.
 */

export const CANDIDATES = 2;
export const OBSERVERS = 2;
export const ROUTERS = 2;
export const CLIENTS = 2;

/** Transactions in the log at the start. */
export const FIRST = 1;
/** Stored for `NO_TXID` and for no NameNode; other numbers are stored one higher. */
export const NONE = 0;

export const Role = { STANDBY: 0, ACTIVE: 1, FENCED: 2 } as const;

/** Of one NameNode that may be active. A new INCARNATION begins with each start and each time that it becomes active. */
export const Candidate = { ROLE: 0, BASE: 1, TAIL: 2, INCARNATION: 3, COUNT: 4 } as const;
/** ACTIVE and TXID as in rules.ts, BEGUN: incarnation of the active whose answer began the epoch. FRESH: the active was heard of since the period expired. */
export const Router = { ACTIVE: 0, TXID: 1, BEGUN: 2, FRESH: 3, COUNT: 4 } as const;
/**
 * LEFT: operations to go. FLOOR: what its answers told. MUST: transactions that it has written or seen. MUST_HERE: by router, what answers
 * without a state id showed it: no other router can know.
 */
export const Client = { LEFT: 0, FLOOR: 1, MUST: 2, MUST_HERE: 3, COUNT: 3 + ROUTERS } as const;

/** How often each thing may still happen. */
export const Budget = {
  FAILOVERS: 0,
  RESTARTS: 1,
  STATE_IDS_OFF: 2,
  LOSSES: 3,
  ABANDONED: 4,
  EXPIRIES: 5,
  UNSYNCED: 6,
  COUNT: 7,
} as const;

export const Phase = {
  FREE: 0,
  /** At the router, before an attempt. */
  ROUTING: 1,
  /** Until the router's msync ends. */
  WAITING: 2,
  SENT: 3,
  /** A write that is in the active's tail. */
  SYNCING: 4,
  ANSWERED: 5,
} as const;
export const Kind = { READ: 0, WRITE: 1, MSYNC: 2 } as const;

/**
 * One call. NAMENODE: 0 and 1 candidates, then observers. SENT_NOW: the router's epoch is the one in which it was sent. SETTLED: sent after
 * the last raise. YOUNG: sent since the refresh period expired. MUST: what a read has to show. SHOWS: what it shows. TXID: state id of the
 * answer, INCARNATION: of the candidate that gave it. NO_OBSERVERS: the active is to answer it.
 * OLDER: candidates (bits) whose answers were older than what the client has seen, NEWEST: the one whose was newest, with NEWEST_TXID. When no
 * other is left that one is asked again, and TAKES_ALL.
 */
export const Call = {
  PHASE: 0,
  KIND: 1,
  ROUTER: 2,
  NAMENODE: 3,
  FLOOR: 4,
  SENT_NOW: 5,
  SETTLED: 6,
  YOUNG: 7,
  MUST: 8,
  SHOWS: 9,
  TXID: 10,
  INCARNATION: 11,
  NO_OBSERVERS: 12,
  OLDER: 13,
  NEWEST: 14,
  NEWEST_TXID: 15,
  TAKES_ALL: 16,
  COUNT: 17,
} as const;

/** Calls by slot: of client c at c, the msync of router r at REFRESH + r, then those whose clients have gone. */
export const REFRESH = CLIENTS;
export const ABANDONED = REFRESH + ROUTERS;
export const CALLS: number = ABANDONED + 1;

export const DURABLE = 0;
/** Answers of candidates carry no state ids any more. */
export const STATE_IDS_OFF = 1;
const CANDIDATE_AT = 2;
/** Transactions that each observer has applied. */
export const APPLIED: number = CANDIDATE_AT + CANDIDATES * Candidate.COUNT;
const ROUTER_AT = APPLIED + OBSERVERS;
const CLIENT_AT = ROUTER_AT + ROUTERS * Router.COUNT;
export const BUDGET: number = CLIENT_AT + CLIENTS * Client.COUNT;
const CALL_AT = BUDGET + Budget.COUNT;
const BYTES = CALL_AT + CALLS * Call.COUNT;

export const candidateAt = (index: number): number => CANDIDATE_AT + index * Candidate.COUNT;
export const routerAt = (index: number): number => ROUTER_AT + index * Router.COUNT;
export const clientAt = (index: number): number => CLIENT_AT + index * Client.COUNT;
export const callAt = (slot: number): number => CALL_AT + slot * Call.COUNT;

export type World = Buffer;

/** Who begins, and with what. */
export interface Scenario {
  /** Operations of each client. */
  readonly operations: readonly number[];
  /** What each client may do; the same list for both makes them interchangeable. */
  readonly kinds: readonly [readonly number[], readonly number[]];
  /** The second client: brings what it was told, brings nothing, or claims to have seen what nobody has. */
  readonly second: 'federated' | 'plain' | 'hostile';
  readonly budget: Partial<Record<keyof typeof Budget, number>>;
  /** Observers answer whatever state ids they are asked with, and without one. */
  readonly observersWithoutStateIds?: boolean;
  /** Answers of observers also tell what the router knows by now; else only what their client has seen. */
  readonly tells?: boolean;
}

/** More than any NameNode ever has. */
export const MADE_UP = 99;

export function firstWorld({ operations, second, budget }: Scenario): World {
  const world = Buffer.alloc(BYTES);
  world[DURABLE] = FIRST;
  world[candidateAt(0) + Candidate.ROLE] = Role.ACTIVE;
  for (let i = 0; i < OBSERVERS; i++) world[APPLIED + i] = FIRST;
  for (let i = 0; i < CLIENTS; i++) world[clientAt(i) + Client.LEFT] = operations[i] as number;
  if (second === 'hostile') world[clientAt(1) + Client.FLOOR] = MADE_UP + 1;
  for (const [name, times] of Object.entries(budget)) world[BUDGET + Budget[name as keyof typeof Budget]] = times;
  return world;
}

/** Last transaction of a candidate. */
export function lastOf(world: World, candidate: number): number {
  const at = candidateAt(candidate);
  const role = world[at + Candidate.ROLE];
  if (role === Role.STANDBY) return world[DURABLE] as number;
  const base = role === Role.FENCED ? world[at + Candidate.BASE] : world[DURABLE];
  return (base as number) + (world[at + Candidate.TAIL] as number);
}

export function activeOf(world: World): number {
  return world[candidateAt(0) + Candidate.ROLE] === Role.ACTIVE ? 0 : 1;
}

/**
 * The same for most worlds that differ in nothing but which observer, router or client is which, so that fewer are visited. Changes the world
 * to the one that stands for them.
 */
export function keyOf(world: World, { kinds, second }: Scenario): string {
  const [first, other] = [world[APPLIED] as number, world[APPLIED + 1] as number];
  if (first > other || (first === other && firstAsked(world) === 1)) swapObservers(world);
  if (isBefore(world, routerAt(1), routerAt(0), Router.COUNT)) swapRouters(world);
  const areAlike = second === 'federated' && kinds[0] === kinds[1];
  if (areAlike && isBefore(world, clientAt(1), clientAt(0), Client.COUNT)) swapClients(world);
  return world.toString('latin1');
}

function isBefore(world: World, at: number, other: number, bytes: number): boolean {
  for (let i = 0; i < bytes; i++) {
    const difference = (world[at + i] as number) - (world[other + i] as number);
    if (difference !== 0) return difference < 0;
  }
  return false;
}

/** Of observers that are equal otherwise: the one of the first call to an observer. */
function firstAsked(world: World): number {
  for (let slot = 0; slot < CALLS; slot++) {
    const at = callAt(slot);
    const isAtNamenode = (world[at + Call.PHASE] as number) >= Phase.SENT;
    const observer = (world[at + Call.NAMENODE] as number) - CANDIDATES;
    if (isAtNamenode && observer >= 0) return observer;
  }
  return 0;
}

function swapObservers(world: World): void {
  swap(world, APPLIED, APPLIED + 1, 1);
  for (let slot = 0; slot < CALLS; slot++) {
    const at = callAt(slot) + Call.NAMENODE;
    if ((world[at] as number) >= CANDIDATES) world[at] = 2 * CANDIDATES + 1 - (world[at] as number);
  }
}

function swapRouters(world: World): void {
  swap(world, routerAt(0), routerAt(1), Router.COUNT);
  swap(world, callAt(REFRESH), callAt(REFRESH + 1), Call.COUNT);
  for (let i = 0; i < CLIENTS; i++) swap(world, clientAt(i) + Client.MUST_HERE, clientAt(i) + Client.MUST_HERE + 1, 1);
  for (let slot = 0; slot < CALLS; slot++) {
    const at = callAt(slot);
    if (isInUse(world, slot)) world[at + Call.ROUTER] = 1 - (world[at + Call.ROUTER] as number);
  }
}

function swapClients(world: World): void {
  swap(world, clientAt(0), clientAt(1), Client.COUNT);
  swap(world, callAt(0), callAt(1), Call.COUNT);
}

function swap(world: World, at: number, other: number, bytes: number): void {
  for (let i = 0; i < bytes; i++) {
    const byte = world[at + i] as number;
    world[at + i] = world[other + i] as number;
    world[other + i] = byte;
  }
}

export function isInUse(world: World, slot: number): boolean {
  return world[callAt(slot) + Call.PHASE] !== Phase.FREE;
}

export function worldOf(key: string): World {
  return Buffer.from(key, 'latin1');
}
