import type { Gate } from '../admission/gate.ts';
import type { Caller } from '../admission/scheduler/caller.ts';
import { CallFields } from '../handoff/link.ts';
import type { NameNodeConnection } from '../namenode/connection.ts';
import { WheelEntry } from '../shared/timer-wheel.ts';
import { Block } from '../wire/block.ts';
import type { ReplyScan } from '../wire/reply-scan.ts';
import type { Client } from './client.ts';
import type { Method } from './method.ts';

/**
 * Where a call is; it is in exactly one place.
 *
 * - FREE: in the engine's pool
 * - RESOLVING: on the stack of the engine, between two places
 * - WAITING: in the queue of a connection group, for a connection that is open and writable; leaves when one is, when connecting failed, or
 *   when that takes too long
 * - SUSPECT: in the suspects of a group, for a connection of its own; leaves when that is open
 * - IN_FLIGHT: in a slot of a NameNode connection, written to it; leaves by its reply, by the loss of the connection, or
 *   when it is an observer's that takes too long
 * - SLEEPING: in the timer wheel, between two rounds over the NameNodes; leaves when its time has come or an active NameNode is found
 * - COMPOSING: its composer asks for it, by parts that are calls of their own; leaves when the composer has its answer or knows where it goes
 * - REFRESHING: a read for an observer, in the queue of its nameservice; leaves when the active NameNode was heard of, or after a while
 * - QUEUED: in the queue in front of its nameservice, until there is room in the window, or it has waited for too long
 * - SHARED: among the followers of an identical call that waits or was sent; leaves with the answer or the refusal of that one, or when it
 *   takes its place
 * - PROBING: it was lost alone, and the NameNodes are asked for their states; leaves when they have answered or were given up
 */
export const Place = {
  FREE: 0,
  RESOLVING: 1,
  WAITING: 2,
  SUSPECT: 3,
  IN_FLIGHT: 4,
  SLEEPING: 5,
  COMPOSING: 6,
  PROBING: 7,
  REFRESHING: 8,
  QUEUED: 9,
  SHARED: 10,
} as const;

/** Frames up to this length are kept in the call's own piece of a slab, longer ones in a buffer of their own, which is not used again. */
export const SLAB_BYTES = 512;
const SLAB_CALLS = 64;

/**
 * Takes the answer of a call in place of the client: the strategies that inspect or merge answers. Exactly one of the two is called per part
 * (`onFailure` after it when `onReply` throws); bytes are valid only during the call.
 */
export interface Composer {
  /** It waits for the call itself, not for a part of another: it is made anew when the call is resolved anew. */
  readonly ofCall: boolean;
  /** Nobody waits for the part any more: it need not be sent, and what it brings is dropped. */
  readonly over: boolean;
  onReply(part: Call, scan: ReplyScan, buffer: Buffer, start: number, end: number): void;
  onFailure(part: Call, className: string, message: string): void;
}

/** A request in another form than the client sent it, in a buffer of its own. */
export interface RebuiltRequest {
  readonly frame: Buffer;
  readonly fields: CallFields;
}

/** A path in a list or an embedded message, as the NameNode gets it and as the client wrote it. */
export interface DeepPath {
  readonly target: Buffer;
  /** Bytes of the mount's own target at the front of `target`. */
  readonly prefixBytes: number;
  readonly mounted: Buffer;
}

/** One call on its way through a worker. Pooled: `CallPool.give` puts it back into its first state. */
export class Call extends WheelEntry {
  place: number = Place.FREE;
  readonly fields = new CallFields();
  /** The request frame (without its length prefix). */
  frame: Buffer;
  start = 0;
  end = 0;
  readonly slab: Block;
  readonly slabStart: number;
  /** Bytes claimed from the budget for a frame that does not fit the slab. */
  claimedBytes = 0;

  client: Client | null = null;
  method: Method | null = null;
  composer: Composer | null = null;
  /** For composers: which part of the whole this call is, and the call it is a part of (null when that has its answer). */
  part = 0;
  whole: Call | null = null;
  startedMs = 0;

  // Admission to its nameservice (admission/).
  /** Level in the queue, 0 is best, and which lane it takes. */
  level = 0;
  lane = 0;
  /** Level of the list that it waits in: lower than its own when that was full. */
  queuedLevel = 0;
  /** It was let through before, and waits once more. */
  queuedAgain = false;
  /** Since when it waits for its turn. */
  queuedMs = 0;
  /** The gate that has let it through, in which lane, and its neighbours among those that were; null while it is not in a window. */
  gate: Gate | null = null;
  gateLane = 0;
  gateNext: Call | null = null;
  gatePrev: Call | null = null;
  /** The router made it of itself: it is let through as it comes. */
  ofRouter = false;
  /** Whom it costs; null while nobody's cost is counted. */
  caller: Caller | null = null;
  /** Time it has waited in queues, and at NameNodes until they answered; -1 before one has. */
  waitedMs = 0;
  workedMs = -1;

  // Identical reads (admission/coalescing.ts).
  /** It waits, and others that ask the same may join it. */
  leads = false;
  /** Hash of what it asks, and its number among those that came to wait. */
  shareKey = 0;
  arrival = 0;
  /** Those that are answered with its answer; null: none. */
  followers: CallQueue | null = null;

  /** Index of the nameservice it goes to; more of them in `alternatives` for calls that any nameservice may answer. */
  nameservice = -1;
  alternatives: readonly number[] | null = null;
  alternativeAt = 0;
  /** NameNodes of the nameservice asked in this round (bits), the one asked now, rounds so far. */
  tried = 0;
  namenode = -1;
  /** The only NameNode of the nameservice that it may go to, -1 for whichever can answer. */
  onlyNamenode = -1;
  rounds = 0;
  /** Why the last NameNode did not answer for good, for the error that ends the call. */
  lastTrouble = '';

  // Reads from observers (observer/).
  /** State id that its client brought for the nameservice, -1 for none. It goes to observers only. */
  floor = -1;
  /** It goes to the NameNode as an observer, or is in flight to it so: then it also stands in the queue of such calls. */
  asObserver = false;
  /** The observer may have to catch up before it answers: how long that takes does not tell how busy it is. */
  mayWait = false;
  /** It has been there for longer than calls may, but its observer answers others. */
  takesLong = false;
  /** A part of a call that observers may not answer: what a change looks at before is to be as new as it would be in a NameNode. */
  ofActive = false;
  /** No observer is asked any more; how many were, and how often it has waited for an msync; since when it waits, for that or an observer. */
  leavesObservers = false;
  observersTried = 0;
  refreshWaits = 0;
  waitingSinceMs = 0;
  /** When it was written to its NameNode, and the epoch of the nameservice then. */
  sentMs = 0;
  sentEpoch = 0;
  /**
   * NameNode that gave the newest of the answers that were, or may be, older than what its client has seen, -1 for none, and its state id. When
   * no other one answers it is asked again, and then every answer counts.
   */
  olderFrom = -1;
  olderTxid = -1;
  takesOlder = false;
  /** The nameservice that answered it and the state id that its client is told; further ones of a composed call in `seenMore`. */
  seenNameservice = -1;
  seenTxid = -1;
  seenMore: Map<number, number> | null = null;

  /** Position in the connection's slots and the tag that its reply will carry. */
  connection: NameNodeConnection | null = null;
  slot = -1;
  tag = 0;
  /** Queue links of the place it waits in. */
  next: Call | null = null;
  prev: Call | null = null;
  /** The connection that carried it was lost: it goes on alone. Times lost alone. */
  suspect = false;
  lostAlone = 0;
  /** When it was for the first time. */
  lostAloneMs = 0;
  /** A connection was lost while it was in flight: a NameNode may have executed it. */
  wasLost = false;

  /** Its nameservice was found by its path, under the mount snapshot of this epoch: it is resolved anew when the table changes. */
  byPath = false;
  epoch = 0;
  /** What replaces the first and second path, null when it stays. */
  path: Buffer | null = null;
  path2: Buffer | null = null;
  /** Bytes of the mount's own target at the front of `path`. */
  pathPrefixBytes = 0;
  path2PrefixBytes = 0;
  /** The client's own request while a rebuilt one stands in its place; null when nothing was rebuilt. */
  received: RebuiltRequest | null = null;
  /** Paths that were replaced in a rebuilt request. */
  deepPaths: readonly DeepPath[] | null = null;

  constructor(slab: Block, slabStart: number) {
    super();
    this.slab = slab;
    this.slabStart = slabStart;
    this.frame = slab.bytes;
  }

  /** What its NameNode answered is, or may be, older than what its client has seen. */
  noteOlder(txid: number): void {
    if (this.olderFrom >= 0 && txid <= this.olderTxid) return;
    this.olderFrom = this.namenode;
    this.olderTxid = txid;
  }

  /** Its client is told that it has seen this state of the nameservice. */
  noteState(nameservice: number, txid: number): void {
    if (this.seenNameservice < 0 || this.seenNameservice === nameservice) {
      this.seenNameservice = nameservice;
      this.seenTxid = Math.max(this.seenTxid, txid);
      return;
    }
    this.seenMore ??= new Map();
    this.seenMore.set(nameservice, Math.max(this.seenMore.get(nameservice) ?? txid, txid));
  }
}

/** Free calls; grows by slabs, never shrinks: the number of calls at one time is bounded by the engine. */
export class CallPool {
  #free: Call | null = null;
  #slab = new Block(Buffer.alloc(0));
  #slabUsed = SLAB_CALLS;
  inUse = 0;

  take(): Call {
    this.inUse++;
    const call = this.#free;
    if (call !== null) {
      this.#free = call.next;
      call.next = null;
      call.place = Place.RESOLVING;
      return call;
    }
    if (this.#slabUsed === SLAB_CALLS) {
      this.#slab = new Block(Buffer.allocUnsafeSlow(SLAB_CALLS * SLAB_BYTES));
      this.#slabUsed = 0;
    }
    const made = new Call(this.#slab, this.#slabUsed++ * SLAB_BYTES);
    made.place = Place.RESOLVING;
    return made;
  }

  give(call: Call): void {
    // One call in two places would answer one client with what belongs to another.
    if (call.place === Place.FREE) throw new Error('a call was given back twice');
    call.place = Place.FREE;
    call.frame = call.slab.bytes;
    call.client = null;
    call.method = null;
    call.composer = null;
    call.part = 0;
    call.whole = null;
    call.floor = -1;
    call.level = 0;
    call.ofRouter = false;
    call.leads = false;
    call.asObserver = false;
    call.mayWait = false;
    call.ofActive = false;
    call.seenNameservice = -1;
    call.seenTxid = -1;
    call.seenMore = null;
    call.alternatives = null;
    call.alternativeAt = 0;
    call.caller = null;
    call.waitedMs = 0;
    call.workedMs = -1;
    call.tried = 0;
    call.namenode = -1;
    call.onlyNamenode = -1;
    call.rounds = 0;
    call.lastTrouble = '';
    call.connection = null;
    call.suspect = false;
    call.lostAlone = 0;
    call.wasLost = false;
    call.byPath = false;
    call.path = null;
    call.path2 = null;
    call.pathPrefixBytes = 0;
    call.path2PrefixBytes = 0;
    call.received = null;
    call.deepPaths = null;
    call.prev = null;
    call.next = this.#free;
    this.#free = call;
    this.inUse--;
  }
}

/** The call leaves a place for the stack of the engine. It must have been there: a call is in exactly one place. */
export function leave(call: Call, place: number): void {
  if (call.place !== place) throw new Error(`a call leaves place ${place}, but it is in ${call.place}`);
  call.place = Place.RESOLVING;
}

/** Copies what a hand-over record said into the call that keeps it. */
export function copyFields(from: CallFields, to: CallFields): void {
  to.connection = from.connection;
  to.generation = from.generation;
  to.slot = from.slot;
  to.method = from.method;
  to.flags = from.flags;
  to.callId = from.callId;
  to.retryCount = from.retryCount;
  to.headerStart = from.headerStart;
  to.headerEnd = from.headerEnd;
  to.statelessEnd = from.statelessEnd;
  to.clientIdStart = from.clientIdStart;
  to.clientIdEnd = from.clientIdEnd;
  to.contextStart = from.contextStart;
  to.contextEnd = from.contextEnd;
  to.federatedStart = from.federatedStart;
  to.federatedEnd = from.federatedEnd;
  to.bodyStart = from.bodyStart;
  to.bodyEnd = from.bodyEnd;
  to.pathStart = from.pathStart;
  to.pathEnd = from.pathEnd;
  to.path2Start = from.path2Start;
  to.path2End = from.path2End;
}

/** A first-in-first-out list of calls, linked through the calls themselves. */
export class CallQueue {
  head: Call | null = null;
  #tail: Call | null = null;
  length = 0;

  push(call: Call): void {
    call.next = null;
    call.prev = this.#tail;
    if (this.#tail === null) this.head = call;
    else this.#tail.next = call;
    this.#tail = call;
    this.length++;
  }

  shift(): Call | null {
    const call = this.head;
    if (call !== null) this.remove(call);
    return call;
  }

  remove(call: Call): void {
    if (call.prev === null) this.head = call.next;
    else call.prev.next = call.next;
    if (call.next === null) this.#tail = call.prev;
    else call.next.prev = call.prev;
    call.next = null;
    call.prev = null;
    this.length--;
  }
}
