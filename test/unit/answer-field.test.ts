import { expect, it } from 'vitest';
import { Answers } from '../../src/call/answer.ts';
import { Call } from '../../src/call/call.ts';
import { Client } from '../../src/call/client.ts';
import { type AcceptorLink, ReplyFlag } from '../../src/handoff/link.ts';
import { READ_HEADROOM_BYTES } from '../../src/namenode/connection.ts';
import { User } from '../../src/namenode/user.ts';
import { Block } from '../../src/wire/block.ts';
import { CallScan, SCAN_OK, scanHeader } from '../../src/wire/call-scan.ts';
import { encode, encodeDelimited, messageType } from '../../src/wire/messages.ts';
import { ReplyScan, scanReply } from '../../src/wire/reply-scan.ts';
import { delimited } from '../wire/vectors.ts';

const HEADER = messageType('hadoop.common.RpcRequestHeaderProto');
const ANSWER = messageType('hadoop.common.RpcResponseHeaderProto');
const STATE = messageType('hadoop.hdfs.RouterFederatedStateProto');
const LENGTH_BYTES = 4;
/** A tag as the router gives them, which NameNodes send back as retryCount. */
const TAG = 0x4000_0001;
const FILLER = 0xee;

/** An acceptor that takes answers or refuses them. */
class Taker implements AcceptorLink {
  readonly acceptor = 0;
  full = false;
  readonly pieces: number[] = [];
  readonly taken: Buffer[] = [];
  /** The memory of the last one, when it was given away. */
  given: ArrayBufferLike | null = null;

  reply(...args: Parameters<AcceptorLink['reply']>): boolean {
    const [, , , flags, head, headStart, headEnd, body, bodyStart, bodyEnd, owned = false] = args;
    if (this.full) return false;
    if ((flags & ReplyFlag.NONE) !== 0) return true;
    this.pieces.push(Number(headEnd > headStart) + Number(bodyEnd > bodyStart));
    this.given = owned ? body.buffer : null;
    this.taken.push(Buffer.concat([head.subarray(headStart, headEnd), body.subarray(bodyStart, bodyEnd)]));
    return true;
  }

  flush(): void {}
}

interface Case {
  readonly clientId: Buffer;
  readonly retryCount: number;
  readonly namespaceStateIds: Record<string, number>;
  readonly body: Buffer;
  /** Bytes that lie before the reply in the same memory, its length prefix included. */
  readonly before: number;
  readonly full?: boolean;
  /** Its memory is used for nothing else. */
  readonly owned?: boolean;
}

function pass({ clientId, retryCount, namespaceStateIds, body, before, full = false, owned = false }: Case) {
  const header = encodeDelimited(HEADER, { rpcKind: 2, rpcOp: 0, callId: 1234, clientId, retryCount });
  const call = new Call(new Block(Buffer.alloc(1024)), 0);
  header.copy(call.frame);
  const found = new CallScan();
  expect(scanHeader(header, 0, header.length, found)).toBe(SCAN_OK);
  Object.assign(call.fields, {
    callId: 1234,
    retryCount,
    clientIdStart: found.clientIdStart,
    clientIdEnd: found.clientIdEnd,
  });
  const taker = new Taker();
  const identity = { user: 'alice', realUser: '', address: '127.0.0.1', port: 1 };
  call.client = new Client(taker, 0, 0, identity, new User('alice', 1));

  const state = encode(STATE, { namespaceStateIds });
  // Other bytes stand around it.
  const bytes = Buffer.concat([Buffer.from('xx'), Buffer.of(0x52), delimited(state), Buffer.from('yy')]);
  const end = bytes.length - 2;
  const answers = new Answers({ bytes, start: 2, end, write: () => end - 2 });

  const ids = { callId: 1234, status: 0, serverIpcVersionNum: 9, clientId };
  const reply = Buffer.concat([encodeDelimited(ANSWER, { ...ids, retryCount: TAG, stateId: 5 }), body]);
  const buffer = Buffer.concat([Buffer.alloc(before, FILLER), reply, Buffer.alloc(8, FILLER)]);
  const replyEnd = before + reply.length;
  const scan = new ReplyScan();
  expect(scanReply(buffer, before, replyEnd, scan)).toBe(SCAN_OK);
  taker.full = full;
  answers.passSuccess(call, scan, buffer, before, replyEnd, owned);
  expect(taker.taken.length).toBe(full ? 0 : 1);
  taker.full = false;
  // What waits is no longer where it was: the next read overwrites it.
  if (full && !owned) buffer.fill(FILLER, 0, replyEnd);
  answers.resume(taker);
  if (owned) expect(taker.given).toBe(buffer.buffer);

  const expected = Buffer.concat([encodeDelimited(ANSWER, { ...ids, retryCount, routerFederatedState: state }), body]);
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeInt32BE(expected.length);
  expect(taker.taken).toEqual([Buffer.concat([length, expected])]);
  expect(buffer.subarray(replyEnd)).toEqual(Buffer.alloc(8, FILLER));
  return taker.pieces[0];
}

const ID = Buffer.from('00112233445566778899aabbccddeeff', 'hex');
const usual: Case = {
  clientId: ID,
  retryCount: 0,
  namespaceStateIds: { ns0: 123_456_789 },
  body: Buffer.alloc(150, 7),
  before: READ_HEADROOM_BYTES + LENGTH_BYTES,
};
const many = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`nameservice-of-some-length-${i}`, 2 ** 40 + i]));

it.each([
  ['the first reply of a read', {}, 1],
  ['the first reply of a read, refused by the acceptor', { full: true }, 1],
  ['a reply that has its memory for itself', { owned: true }, 1],
  ['a reply that has its memory for itself, refused by the acceptor', { owned: true, full: true }, 1],
  ['a body of no bytes', { body: Buffer.alloc(0) }, 1],
  ['a body of 40 KB', { body: Buffer.alloc(40_000, 7) }, 1],
  ['a retryCount and a client id of other lengths', { retryCount: 300, clientId: Buffer.from('a-named-client') }, 1],
  ['a state of no entries', { namespaceStateIds: {} }, 1],
  ['a header of two length bytes', { namespaceStateIds: Object.fromEntries(Object.entries(many).slice(0, 4)) }, 1],
  ['a reply with just enough room', { before: 8 + LENGTH_BYTES }, 1],
  ['a reply with a byte too little', { before: 7 + LENGTH_BYTES }, 2],
  ['a reply that came in pieces, alone in its memory', { before: 0 }, 2],
  ['a reply that came in pieces, refused by the acceptor', { before: 0, full: true }, 1],
  ['a state that is longer than the room', { namespaceStateIds: many }, 2],
])('%s is given back with the state ids, byte for byte', (_, change, pieces) => {
  expect(pass({ ...usual, ...change })).toBe(pieces);
});

it('a client id longer than usual', () => {
  expect(pass({ ...usual, clientId: Buffer.alloc(80, 'n') })).toBe(1);
});
