/**
 * The records of the two rings between an acceptor and a worker. Every record begins with the ring's int32 length and int32 kind.
 *
 *   ring of calls (acceptor ─▶ worker)
 *     OPEN   connection generation port userBytes realUserBytes addressBytes │ user realUser address (utf-8)
 *     CALL   the 22 fields of CallFields in their order                      │ frame
 *     CLOSE  connection generation
 *   ring of replies (worker ─▶ acceptor)
 *     REPLY  connection generation slot flags                                │ reply frame, length prefix included
 *
 * Kind | BESIDE: the words are here, the bytes after them travel beside the ring (beside.ts).
 */

import type { CallFields, ClientIdentity } from './link.ts';
import { RECORD_HEADER_BYTES } from './ring.ts';

export const Kind = { OPEN: 1, CALL: 2, CLOSE: 3, REPLY: 4 } as const;
/** Bit of the kind: the bytes of the record travel beside the ring. */
export const BESIDE = 0x100;

/** Bytes before the bytes of a record: header and words. */
export const OPEN_HEAD_BYTES = RECORD_HEADER_BYTES + 6 * 4;
export const CALL_HEAD_BYTES = RECORD_HEADER_BYTES + 22 * 4;
export const CLOSE_HEAD_BYTES = RECORD_HEADER_BYTES + 2 * 4;
export const REPLY_HEAD_BYTES = RECORD_HEADER_BYTES + 4 * 4;

/** Writes the fields after the header of the record at word index `at`. */
export function writeCallFields(words: Int32Array, at: number, fields: CallFields): void {
  words[at + 2] = fields.connection;
  words[at + 3] = fields.generation;
  words[at + 4] = fields.slot;
  words[at + 5] = fields.method;
  words[at + 6] = fields.flags;
  words[at + 7] = fields.callId;
  words[at + 8] = fields.retryCount;
  words[at + 9] = fields.headerStart;
  words[at + 10] = fields.headerEnd;
  words[at + 11] = fields.statelessEnd;
  words[at + 12] = fields.clientIdStart;
  words[at + 13] = fields.clientIdEnd;
  words[at + 14] = fields.contextStart;
  words[at + 15] = fields.contextEnd;
  words[at + 16] = fields.federatedStart;
  words[at + 17] = fields.federatedEnd;
  words[at + 18] = fields.bodyStart;
  words[at + 19] = fields.bodyEnd;
  words[at + 20] = fields.pathStart;
  words[at + 21] = fields.pathEnd;
  words[at + 22] = fields.path2Start;
  words[at + 23] = fields.path2End;
}

/** Reads the fields of the record at word index `at` into `into`. */
export function readCallFields(words: Int32Array, at: number, into: CallFields): void {
  into.connection = words[at + 2] as number;
  into.generation = words[at + 3] as number;
  into.slot = words[at + 4] as number;
  into.method = words[at + 5] as number;
  into.flags = words[at + 6] as number;
  into.callId = words[at + 7] as number;
  into.retryCount = words[at + 8] as number;
  into.headerStart = words[at + 9] as number;
  into.headerEnd = words[at + 10] as number;
  into.statelessEnd = words[at + 11] as number;
  into.clientIdStart = words[at + 12] as number;
  into.clientIdEnd = words[at + 13] as number;
  into.contextStart = words[at + 14] as number;
  into.contextEnd = words[at + 15] as number;
  into.federatedStart = words[at + 16] as number;
  into.federatedEnd = words[at + 17] as number;
  into.bodyStart = words[at + 18] as number;
  into.bodyEnd = words[at + 19] as number;
  into.pathStart = words[at + 20] as number;
  into.pathEnd = words[at + 21] as number;
  into.path2Start = words[at + 22] as number;
  into.path2End = words[at + 23] as number;
}

/** Bytes of the three texts of `identity` as packIdentity writes them. */
export function identityBytes(identity: ClientIdentity): number {
  return Buffer.byteLength(identity.user) + Buffer.byteLength(identity.realUser) + Buffer.byteLength(identity.address);
}

/** Writes words and texts of an OPEN record: words at word index `at`, texts at `into[start…]`, which has identityBytes of room. */
export function packIdentity(
  words: Int32Array,
  at: number,
  identity: ClientIdentity,
  into: Buffer,
  start: number,
): void {
  const user = into.write(identity.user, start);
  const realUser = into.write(identity.realUser, start + user);
  const address = into.write(identity.address, start + user + realUser);
  words[at + 4] = identity.port;
  words[at + 5] = user;
  words[at + 6] = realUser;
  words[at + 7] = address;
}

/** The identity of the OPEN record at word index `at`, whose texts are at `from[start…]`. Copies: nothing refers to the ring. */
export function unpackIdentity(words: Int32Array, at: number, from: Buffer, start: number): ClientIdentity {
  const userEnd = start + (words[at + 5] as number);
  const realUserEnd = userEnd + (words[at + 6] as number);
  const addressEnd = realUserEnd + (words[at + 7] as number);
  return {
    user: textOf(from, start, userEnd),
    realUser: textOf(from, userEnd, realUserEnd),
    address: textOf(from, realUserEnd, addressEnd),
    port: words[at + 4] as number,
  };
}

function textOf(from: Buffer, start: number, end: number): string {
  // biome-ignore lint/plugin/hot-path: once per connection, not per call
  return from.toString('utf8', start, end);
}
