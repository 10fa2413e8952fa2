import {
  ABANDONED,
  BUDGET,
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
  lastOf,
  NONE,
  Phase,
  REFRESH,
  ROUTERS,
  Role,
  STATE_IDS_OFF,
  type World,
} from './world.ts';

/** What the steps of the model do to a world, each in place. */

export function copyOf(world: World): World {
  return Buffer.from(world);
}

export function mayHappen(world: World, budget: number): boolean {
  return world[BUDGET + budget] !== 0;
}

export function spend(world: World, budget: number): void {
  world[BUDGET + budget] = (world[BUDGET + budget] as number) - 1;
}

// --- calls

export function sendCall(world: World, slot: number, namenode: number): void {
  const at = callAt(slot);
  world[at + Call.PHASE] = Phase.SENT;
  world[at + Call.NAMENODE] = namenode;
  world[at + Call.SENT_NOW] = 1;
  world[at + Call.SETTLED] = 1;
  world[at + Call.YOUNG] = 1;
}

/** Its NameNode answers with this state id, -1 for none. */
export function answerCall(world: World, slot: number, txid: number): void {
  const at = callAt(slot);
  const namenode = world[at + Call.NAMENODE] as number;
  world[at + Call.PHASE] = Phase.ANSWERED;
  world[at + Call.TXID] = txid + 1;
  if (namenode >= CANDIDATES) return;
  if (world[STATE_IDS_OFF] === 1) world[at + Call.TXID] = NONE;
  world[at + Call.INCARNATION] = world[candidateAt(namenode) + Candidate.INCARNATION] as number;
}

export function freeCall(world: World, slot: number): void {
  world.fill(0, callAt(slot), callAt(slot) + Call.COUNT);
}

/** It gets no answer where it is: what observers were asked the active is asked next, other calls end. */
export function loseCall(world: World, slot: number): void {
  const at = callAt(slot);
  if ((world[at + Call.NAMENODE] as number) >= CANDIDATES) {
    routeAnew(world, slot);
    return;
  }
  if (slot >= REFRESH && slot < ABANDONED) releaseWaiting(world, slot - REFRESH, false);
  freeCall(world, slot);
}

/** To a NameNode that acts as the active one. */
export function routeAnew(world: World, slot: number): void {
  const at = callAt(slot);
  world[at + Call.PHASE] = Phase.ROUTING;
  world[at + Call.NO_OBSERVERS] = 1;
  for (const field of [
    Call.NAMENODE,
    Call.SENT_NOW,
    Call.SETTLED,
    Call.YOUNG,
    Call.SHOWS,
    Call.TXID,
    Call.INCARNATION,
  ]) {
    world[at + field] = 0;
  }
}

/** The answer of this candidate was older than what the client has seen. */
export function noteOlder(world: World, slot: number, candidate: number, txid: number): void {
  const at = callAt(slot);
  world[at + Call.OLDER] = (world[at + Call.OLDER] as number) | (1 << candidate);
  if (txid + 1 <= (world[at + Call.NEWEST_TXID] as number)) return;
  world[at + Call.NEWEST] = candidate + 1;
  world[at + Call.NEWEST_TXID] = txid + 1;
}

/** The router's msync has ended: observers may be asked when it was answered. */
export function releaseWaiting(world: World, router: number, answered: boolean): void {
  for (let slot = 0; slot < CLIENTS; slot++) {
    const at = callAt(slot);
    if (world[at + Call.PHASE] !== Phase.WAITING || world[at + Call.ROUTER] !== router) continue;
    world[at + Call.PHASE] = Phase.ROUTING;
    world[at + Call.NO_OBSERVERS] = answered ? 0 : 1;
  }
}

// --- NameNodes

export function becomeActive(world: World, candidate: number): void {
  const at = candidateAt(candidate);
  world[at + Candidate.ROLE] = Role.ACTIVE;
  world[at + Candidate.BASE] = 0;
  world[at + Candidate.TAIL] = 0;
  world[at + Candidate.INCARNATION] = (world[at + Candidate.INCARNATION] as number) + 1;
}

/** It reads on and does not know that its writes fail. */
export function becomeFenced(world: World, candidate: number): void {
  const at = candidateAt(candidate);
  world[at + Candidate.ROLE] = Role.FENCED;
  world[at + Candidate.BASE] = world[DURABLE] as number;
  for (let slot = 0; slot < CALLS; slot++) {
    if (isAt(world, slot, candidate) && world[callAt(slot) + Call.KIND] === 1) loseCall(world, slot);
  }
  forgetTail(world);
}

/** The process ends, with what it had not written. */
export function endNamenode(world: World, candidate: number): void {
  const at = candidateAt(candidate);
  world[at + Candidate.ROLE] = Role.STANDBY;
  world[at + Candidate.BASE] = 0;
  world[at + Candidate.TAIL] = 0;
  for (let slot = 0; slot < CALLS; slot++) if (isAt(world, slot, candidate)) loseCall(world, slot);
  forgetTail(world);
}

function isAt(world: World, slot: number, candidate: number): boolean {
  const at = callAt(slot);
  const phase = world[at + Call.PHASE];
  return (phase === Phase.SENT || phase === Phase.SYNCING) && world[at + Call.NAMENODE] === candidate;
}

/** What was never written nobody needs to see again, and whoever has its number has something else. */
function forgetTail(world: World): void {
  const durable = world[DURABLE] as number;
  const limit = (at: number): void => {
    if ((world[at] as number) > durable) world[at] = durable;
  };
  for (let i = 0; i < CLIENTS; i++) {
    limit(clientAt(i) + Client.MUST);
    for (let router = 0; router < ROUTERS; router++) limit(clientAt(i) + Client.MUST_HERE + router);
  }
  for (let slot = 0; slot < CALLS; slot++) {
    limit(callAt(slot) + Call.MUST);
    limit(callAt(slot) + Call.SHOWS);
  }
}

/** One more transaction of a candidate, not written yet; its number. */
export function countTransaction(world: World, candidate: number): number {
  const at = candidateAt(candidate) + Candidate.TAIL;
  world[at] = (world[at] as number) + 1;
  return lastOf(world, candidate);
}

/** The journal has taken the active's tail. */
export function writeTail(world: World, active: number): void {
  world[DURABLE] = lastOf(world, active);
  world[candidateAt(active) + Candidate.TAIL] = 0;
}
