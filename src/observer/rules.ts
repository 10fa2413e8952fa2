/**
 * The rules by which observers may answer for the active NameNode, as pure functions: no memory, no clock, no NameNode. What other modules
 * keep in shared words, per nameservice, is the State here; tests explore these functions exhaustively.
 *
 * A state id is a NameNode's last transaction id. The router's value `txid` says: the active NameNode of this epoch has been at least here.
 * It only serves to decide whether an observer may be asked: an observer itself never answers before it has reached the client's own value.
 *
 * An epoch lasts as long as one NameNode is proved active and does not fall back. What was asked in an earlier epoch raises nothing: its
 * answer may come from a NameNode that was fenced meanwhile and counted transactions that were never written.
 */

/** No transaction id: none is known, or the header had none. */
export const NO_TXID = -1;
/** The largest transaction id that counts as one; what is above (or negative) is no NameNode's. */
export const MAX_TXID: number = 2 ** 48 - 2;
/** No NameNode is proved active. */
export const NO_NAMENODE = -1;
/** Epochs are counted modulo this. */
export const EPOCHS = 2048;

/** What is known of one nameservice; its fields together are one word of shared memory. */
export class State {
  epoch = 0;
  /** Index of the NameNode that is proved active in this epoch. */
  active: number = NO_NAMENODE;
  txid: number = NO_TXID;
}

/** What the success of a call proves about the NameNode that gave it. */
export const Proof = {
  /** Nothing: any NameNode gives it, whatever its state. */
  NONE: 0,
  /** It was asked as an observer, with a state id, and has reached it. */
  OBSERVER: 1,
  /** Asked without a state id for what observers and standbys then refuse: active, or fenced without knowing it. */
  READ: 2,
  /** A change or an msync: active. */
  ACTIVE: 3,
} as const;

/** One successful answer. */
export class Answer {
  namenode: number = NO_NAMENODE;
  proof: number = Proof.NONE;
  /** The state id of its header, NO_TXID when it has none. */
  txid: number = NO_TXID;
  /** Epoch in which the call was sent. */
  sentEpoch = 0;
  /** The call was sent when everybody knew of the last raise: had the NameNode been there, it would be still. */
  sentAfterRaise = false;
}

/** Writes into `next` what the answer makes of `now`; false: nothing changes. Must happen before the answer is given to the client. */
export function afterAnswer(now: State, answer: Answer, next: State): boolean {
  const { namenode, proof, txid } = answer;
  const isActive = now.active === namenode;
  if (txid === NO_TXID && proof >= Proof.READ) return forget(now, answer, next);
  if (proof === Proof.NONE || answer.sentEpoch !== now.epoch) return false;
  if (proof === Proof.OBSERVER) {
    // An observer applies only what was written for good, so it may be ahead of what this router has heard of the active.
    return now.txid !== NO_TXID && txid > now.txid && raise(now, txid, next);
  }
  if (proof === Proof.READ && !isActive) {
    // The proved one may be fenced, or this one: a change will tell. Without a proved one there is nothing to lose.
    return now.active === NO_NAMENODE && begin(now, namenode, txid, next);
  }
  if (!isActive) return begin(now, namenode, txid, next);
  if (txid > now.txid) return raise(now, txid, next);
  return txid < now.txid && answer.sentAfterRaise && begin(now, namenode, txid, next);
}

/**
 * State ids are switched off there, and a client sees what none tells: with what is known, or what answers on their way tell, an observer
 * could be asked that does not have it. So even when it was asked in an earlier epoch, and when nothing was known.
 */
function forget(now: State, { namenode, proof }: Answer, next: State): boolean {
  const isActive = now.active === namenode;
  if (isActive && now.txid === NO_TXID) return false;
  // A read does not prove another one than the active that is known: who is it a change will tell, or the next read that has a state id.
  const active = isActive || proof === Proof.ACTIVE || now.active === NO_NAMENODE ? namenode : NO_NAMENODE;
  return begin(now, active, NO_TXID, next);
}

function raise(now: State, txid: number, next: State): boolean {
  next.epoch = now.epoch;
  next.active = now.active;
  next.txid = txid;
  return true;
}

function begin(now: State, active: number, txid: number, next: State): boolean {
  next.epoch = (now.epoch + 1) % EPOCHS;
  next.active = active;
  next.txid = txid;
  return true;
}

/** Where a read goes that observers may answer. */
export const Way = { ACTIVE: 0, OBSERVER: 1, REFRESH: 2 } as const;

/**
 * `floor`: the state id that the client itself brought for this nameservice, NO_TXID for none. `isFresh`: the active was heard of within the
 * refresh period. A client without a floor reads from the active and gets one. A floor above what is known (from another router, or
 * made up) is served by the active too, which raises what is known: nobody else notices.
 */
export function wayOf(now: State, floor: number, isFresh: boolean): number {
  if (floor === NO_TXID || now.txid === NO_TXID || floor > now.txid) return Way.ACTIVE;
  return isFresh ? Way.OBSERVER : Way.REFRESH;
}

/**
 * Whether an answer is older than what its client has seen, and so is none. `served`: its state id, NO_TXID for none. An observer that was
 * asked as one answers so only when its state context is off. A NameNode that was asked as the active one does when it was fenced and does
 * not know, or when what the client brings is of no NameNode (made up, or counted by a fenced one and never written): if no other NameNode
 * can answer it is the active, and its answer is as new as can be.
 */
export function isOlder(proof: number, served: number, floor: number): boolean {
  if (proof === Proof.OBSERVER) return served < floor;
  return proof === Proof.READ && served !== NO_TXID && served < floor;
}

/**
 * The state id that the client gets for a nameservice that answered it. `served`: of the answer, NO_TXID for none. `told`: what the router
 * knew a refresh period ago, NO_TXID for nothing. After an observer it is no more than these: what others did meanwhile would only make
 * the client's next read wait. It is no less, so that whoever reads on and on is never further behind.
 */
export function exposed(now: State, proof: number, served: number, floor: number, told: number): number {
  if (proof === Proof.OBSERVER) return Math.max(served, floor, told);
  return Math.max(served, now.txid);
}
