import { type Call, CallQueue, leave, Place, SLAB_BYTES } from '../call/call.ts';
import type { Client } from '../call/client.ts';
import type { Engine } from '../call/engine.ts';
import type { Method } from '../call/method.ts';
import { METHODS } from '../call/methods.ts';
import type { ReplyScan } from '../wire/reply-scan.ts';
import { readVarint64, skipValueLoosely, Wide } from '../wire/varint.ts';

/** Calls that are answered with the answer of one other: a copy of it is made for each in one turn of the event loop. */
export const MAX_FOLLOWERS = 64;

/** Idempotent reads of one path whose answers depend on nothing but request and user. Those with block locations are not among them. */
const SHAREABLE_NAMES: ReadonlySet<string> = new Set([
  'checkAccess',
  'getAclStatus',
  'getContentSummary',
  'getErasureCodingPolicy',
  'getFileInfo',
  'getFileLinkInfo',
  'getListing',
  'getPreferredBlockSize',
  'getQuotaUsage',
  'getStoragePolicy',
  'getXAttrs',
  'isFileClosed',
  'listXAttrs',
]);
const IS_SHAREABLE: Uint8Array = Uint8Array.from(METHODS, ({ name }) => (SHAREABLE_NAMES.has(name) ? 1 : 0));
const LISTING = METHODS.findIndex(({ name }) => name === 'getListing');
/** Field of GetListingRequestProto that asks for block locations. */
const NEED_LOCATION = 3;

const FNV_START = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

const wide = new Wide();

/**
 * Identical reads of one user that wait for the same nameservice, in a worker: the first one, the leader, goes to the NameNode, and the others,
 * its followers, get what it is answered.
 *
 *   queue      … ▪ ▪ L ▪ …        L is QUEUED: a call that asks the same joins it
 *                    └ f f f      followers are in place SHARED, in the leader's list and in no queue
 *
 * A leader that was taken out of the queue gets no more followers, so that no call is answered with what a NameNode read before it came. What
 * becomes of followers when their leader has no answer: those of one that the queue refuses are refused with it; else the first of them takes
 * its place, before all that wait.
 */
export class Coalescing {
  readonly #engine: Engine;
  /** The call that others may join, by hash of what it asks; as many as calls in the queues at most. */
  readonly #leaders = new Map<number, Call>();
  /** Calls that have come to stand here: what came later has a higher number. */
  #arrivals = 0;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** A change of this client has come: it joins no call that was there before. */
  noteWrite(client: Client): void {
    client.wroteAt = this.#arrivals;
  }

  /** A call on its way into the queue. True: it is answered with an identical one that waits there. */
  joins(call: Call): boolean {
    if (!this.#isShareable(call)) return false;
    call.leads = true;
    call.shareKey = keyOf(call);
    const leader = this.#leaders.get(call.shareKey);
    if (leader === undefined || !isSame(leader, call) || leader.arrival <= (call.client as Client).wroteAt)
      return false;
    // One with a lower priority (another caller of the same user) would keep it back.
    if (leader.level > call.level || (leader.followers?.length ?? 0) >= MAX_FOLLOWERS) return false;
    call.leads = false;
    call.place = Place.SHARED;
    leader.followers ??= new CallQueue();
    leader.followers.push(call);
    return true;
  }

  /** It has found a place in the queue, after `joins` was false. */
  enters(call: Call): void {
    if (!call.leads) return;
    call.arrival = ++this.#arrivals;
    this.#leaders.set(call.shareKey, call);
  }

  /** It is out of the queue. */
  leaves(call: Call): void {
    if (!call.leads) return;
    call.leads = false;
    if (this.#leaders.get(call.shareKey) === call) this.#leaders.delete(call.shareKey);
  }

  /** The NameNode's SUCCESS to the leader; its body is buffer[scan.headerEnd, end) and stays as it is. */
  succeed(leader: Call, scan: ReplyScan, buffer: Buffer, end: number): void {
    for (let call = this.nextFollower(leader); call !== null; call = this.nextFollower(leader)) {
      this.#engine.answers.passShared(call, buffer, scan.headerEnd, end);
      this.#engine.free(call);
    }
  }

  /** The NameNode's exception for the leader. */
  fail(leader: Call, scan: ReplyScan, buffer: Buffer): void {
    for (let call = this.nextFollower(leader); call !== null; call = this.nextFollower(leader)) {
      this.#engine.answers.passError(call, scan, buffer);
      this.#engine.free(call);
    }
  }

  /** One that follows no more; null when there is none left. */
  nextFollower(leader: Call): Call | null {
    const { followers } = leader;
    if (followers === null) return null;
    const call = followers.shift() as Call;
    if (followers.length === 0) leader.followers = null;
    leave(call, Place.SHARED);
    return call;
  }

  /** The leader ends without an answer, or goes elsewhere: the first of its followers, whom the others follow from now on. */
  succession(leader: Call): Call {
    const first = this.nextFollower(leader) as Call;
    first.followers = leader.followers;
    leader.followers = null;
    return first;
  }

  /** Whether an answer to it may be an answer to others: it goes as it came, to one nameservice, and to no observer. */
  #isShareable(call: Call): boolean {
    const { method, fields, nameservice } = call;
    if (IS_SHAREABLE[(method as Method).index] === 0 || !call.byPath) return false;
    if (call.composer !== null || call.whole !== null || call.alternatives !== null || call.received !== null)
      return false;
    // Long requests are rare, and to compare them takes time.
    if (call.end - call.start > SLAB_BYTES) return false;
    if (fields.federatedEnd > fields.federatedStart) return false;
    if (this.#engine.observers?.settings.enabled[nameservice] === true) return false;
    return (method as Method).index !== LISTING || !asksForLocations(call);
  }
}

/** Of user, method, nameservice and request message (FNV, 32 bits). */
export function keyOf({ frame, start, fields, method, nameservice, client }: Call): number {
  let hash = FNV_START ^ (client as Client).user.hash;
  hash = Math.imul(hash, FNV_PRIME) ^ (method as Method).index;
  hash = Math.imul(hash, FNV_PRIME) ^ nameservice;
  for (let at = start + fields.bodyStart, end = start + fields.bodyEnd; at < end; at++) {
    hash = Math.imul(hash, FNV_PRIME) ^ (frame[at] as number);
  }
  return hash;
}

/** A NameNode cannot tell them apart but by caller context and ids. */
function isSame(a: Call, b: Call): boolean {
  if (a.method !== b.method || a.nameservice !== b.nameservice || a.epoch !== b.epoch) return false;
  const one = a.client as Client;
  const other = b.client as Client;
  if (one.user !== other.user || one.identity.realUser !== other.identity.realUser) return false;
  const length = a.fields.bodyEnd - a.fields.bodyStart;
  if (b.fields.bodyEnd - b.fields.bodyStart !== length) return false;
  const from = b.start + b.fields.bodyStart;
  const at = a.start + a.fields.bodyStart;
  return a.frame.compare(b.frame, from, from + length, at, at + length) === 0;
}

/** True also for a message that cannot be read. */
function asksForLocations({ frame, start, fields }: Call): boolean {
  const end = start + fields.bodyEnd;
  let asks = false;
  for (let at = start + fields.bodyStart; at < end; ) {
    at = readVarint64(frame, at, end, wide);
    if (at < 0) return true;
    const tag = wide.low;
    if (tag === NEED_LOCATION << 3) {
      at = readVarint64(frame, at, end, wide);
      asks = wide.low !== 0 || wide.high !== 0;
    } else at = skipValueLoosely(frame, at, end, tag);
    if (at < 0) return true;
  }
  return asks;
}
