import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { Answers } from '../../src/call/answer.ts';
import { Call } from '../../src/call/call.ts';
import { Client } from '../../src/call/client.ts';
import { type AcceptorLink, ReplyFlag } from '../../src/handoff/link.ts';
import { User } from '../../src/namenode/user.ts';
import { Block } from '../../src/wire/block.ts';

/** The answers of a Java server that refuses calls: frames of a real one. */

const RETRIABLE = 'org.apache.hadoop.ipc.RetriableException';
const STANDBY = 'org.apache.hadoop.ipc.StandbyException';

function sample(name: string): Buffer {
  return Buffer.from(readFileSync(new URL(`frames/${name}.hex`, import.meta.url), 'utf8').trim(), 'hex');
}

/** Frame length, header length, tag of the call id, the call id in one byte. */
function callIdOf(frame: Buffer): number {
  return frame[6] as number;
}

class Taker implements AcceptorLink {
  readonly acceptor = 0;
  full = false;
  readonly taken: { flags: number; bytes: Buffer }[] = [];

  reply(...args: Parameters<AcceptorLink['reply']>): boolean {
    const [, , , flags, head, headStart, headEnd, body, bodyStart, bodyEnd] = args;
    const bytes = Buffer.concat([head.subarray(headStart, headEnd), body.subarray(bodyStart, bodyEnd)]);
    if (!this.full) this.taken.push({ flags, bytes });
    return !this.full;
  }

  flush(): void {}
}

function callOf(taker: Taker, callId: number): Call {
  const call = new Call(new Block(Buffer.alloc(1024, 7)), 0);
  // A client id, which such an answer does not repeat.
  Object.assign(call.fields, { callId, retryCount: 0, clientIdStart: 10, clientIdEnd: 26 });
  const identity = { user: 'alice', realUser: '', address: '127.0.0.1', port: 1 };
  call.client = new Client(taker, 0, 0, identity, new User('alice', 1));
  return call;
}

it.each([
  ['27-fatal-call-queue-overflow', RETRIABLE, 'Server too busy - disconnecting', true],
  ['28-error-overflow-keepalive', RETRIABLE, 'Server too busy', false],
  ['29-fatal-call-queue-overflow-failover', STANDBY, 'Server too busy - disconnect and failover', true],
] as const)('%s', (name, className, message, fatal) => {
  const frame = sample(name);
  const taker = new Taker();
  new Answers().failBusy(callOf(taker, callIdOf(frame)), className, message, fatal);
  expect(taker.taken).toEqual([{ flags: fatal ? ReplyFlag.CLOSE : 0, bytes: frame }]);
});

it('one that waits for room is still the last of its connection', () => {
  const taker = new Taker();
  taker.full = true;
  const answers = new Answers();
  const frame = sample('27-fatal-call-queue-overflow');
  answers.failBusy(callOf(taker, callIdOf(frame)), RETRIABLE, 'Server too busy - disconnecting', true);
  expect(taker.taken).toEqual([]);
  taker.full = false;
  answers.resume(taker);
  expect(taker.taken).toEqual([{ flags: ReplyFlag.CLOSE, bytes: frame }]);
});
