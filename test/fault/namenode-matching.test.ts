import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Plain } from '../../src/wire/messages.ts';
import { decodeResponse, type RawClient, type RawReply } from '../support/raw-client.ts';
import { all, disposeAll, ScriptedCluster } from '../support/scripted-cluster.ts';
import {
  answerPlainly,
  fileStatus,
  IO,
  type NameNodeCall,
  type ScriptedNameNode,
} from '../support/scripted-namenode.ts';

/** Calls of many clients share a NameNode connection, their ids collide, and replies come in any order: each must find its caller. */

const CLIENTS = 64;
const ROUNDS = 6;
/** The retry counts that clients send: usual ones, and those that a tag must not be mistaken for. */
const RETRY_COUNTS = [0, 1, 2, -1, 16_384, 0x7fff_ffff, -0x8000_0000];

function pathOf(index: number): string {
  return `/ns0/file-${index}`;
}

function indexOf(call: NameNodeCall): number {
  return Number(call.path.slice(call.path.lastIndexOf('-') + 1));
}

/** The file status says whose answer it is. */
function answer(call: NameNodeCall): void {
  call.succeed({ fs: fileStatus(indexOf(call)) });
}

function lengthOf(reply: RawReply): number {
  return (decodeResponse('getFileInfo', reply.body)['fs'] as Plain)['length'] as number;
}

/** The same disorder in every run. */
function shuffle<T>(items: readonly T[], seed: number): T[] {
  const shuffled = [...items];
  let state = seed;
  for (let i = shuffled.length - 1; i > 0; i--) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    const j = state % (i + 1);
    [shuffled[i], shuffled[j]] = [shuffled[j] as T, shuffled[i] as T];
  }
  return shuffled;
}

const ORDERS: readonly ((calls: readonly NameNodeCall[], round: number) => NameNodeCall[])[] = [
  (calls) => [...calls].reverse(),
  (calls, round) => shuffle(calls, round),
];

/** Holds calls until all clients' are there, and answers them in the order that `arrange` makes. */
function answerTogether(namenode: ScriptedNameNode, reply: (call: NameNodeCall, round: number) => void): void {
  let held: NameNodeCall[] = [];
  let round = 0;
  namenode.handler = (call) => {
    held.push(call);
    if (held.length < CLIENTS) return;
    const order = (ORDERS[round % ORDERS.length] as (typeof ORDERS)[number])(held, round);
    held = [];
    for (const each of order) reply(each, round);
    round++;
  };
}

describe.each(['ring', 'inline'] as const)('replies of a NameNode, %s', (handoff) => {
  let cluster: ScriptedCluster;
  let namenode: ScriptedNameNode;

  beforeAll(async () => {
    cluster = await ScriptedCluster.start({
      nameservices: { ns0: ['active'] },
      handoff,
      // All are in flight at once.
      keys: { 'switchyard.window.floor': '1024' },
    });
    namenode = cluster.namenode('ns0');
  });

  afterAll(async () => {
    await cluster[Symbol.asyncDispose]();
  });

  async function askTogether(clients: readonly RawClient[], callId: number): Promise<void> {
    const replies = await all(
      clients.map((client, i) => {
        const retryCount = RETRY_COUNTS[(i + callId) % RETRY_COUNTS.length] as number;
        client.send({ method: 'getFileInfo', callId, retryCount, request: { src: pathOf(i) } });
        return client.receive();
      }),
    );
    for (const [i, reply] of replies.entries()) {
      expect(reply.callId).toBe(callId);
      expect(reply.retryCount).toBe(RETRY_COUNTS[(i + callId) % RETRY_COUNTS.length]);
      expect(reply.clientId).toEqual((clients[i] as RawClient).clientId);
      expect([reply.status, reply.exception]).toEqual(i % 5 === 4 ? ['ERROR', IO] : ['SUCCESS', '']);
      if (i % 5 === 4) expect(reply.message).toBe(`no answer for ${pathOf(i)}`);
      else expect(lengthOf(reply)).toBe(i);
    }
  }

  it.each(['own', 'equal', 'empty'] as const)(
    'reach 64 clients in lockstep on equal call ids, %s client ids',
    async (ids) => {
      const shared = ids === 'own' ? undefined : ids === 'equal' ? randomBytes(16) : Buffer.alloc(0);
      const clients = await cluster.connectMany(CLIENTS, 'alice', shared);
      const before = namenode.calls.length;
      // Every second round as a NameNode's reader answers: with an empty client id.
      answerTogether(namenode, (call, round) => {
        const changes = round % 2 === 0 ? {} : { clientId: Buffer.alloc(0) };
        if (indexOf(call) % 5 === 4) call.fail(IO, `no answer for ${call.path}`, 'ERROR_APPLICATION', changes);
        else call.succeed({ fs: fileStatus(indexOf(call)) }, changes);
      });
      for (let round = 0; round < ROUNDS; round++) await askTogether(clients, round);

      const calls = namenode.calls.slice(before);
      expect(calls).toHaveLength(CLIENTS * ROUNDS);
      // They shared one connection, and there no tag meant two calls.
      expect(new Set(calls.map((call) => call.connection)).size).toBe(1);
      expect(new Set(calls.map((call) => call.tag)).size).toBe(calls.length);
      // Ids reach the NameNode as they were sent: its retry cache lives on them.
      for (const call of calls) expect(call.clientId).toEqual((clients[indexOf(call)] as RawClient).clientId);
      disposeAll(clients);
    },
  );

  it('are consumed when they come twice, late or for no call at all', async () => {
    const [first, second] = (await cluster.connectMany(2)) as [RawClient, RawClient];
    namenode.handler = () => {};

    first.send({ method: 'getFileInfo', callId: 7, retryCount: 3, request: { src: pathOf(101) } });
    const one = await namenode.waitForCall({ path: pathOf(101) });
    answer(one);
    answer(one);
    expect(lengthOf(await first.receive())).toBe(101);

    // The next call takes the place of the first one; the first one's answer comes once more before its own.
    second.send({ method: 'getFileInfo', callId: 7, retryCount: 3, request: { src: pathOf(102) } });
    const two = await namenode.waitForCall({ path: pathOf(102) });
    expect(two.connection).toBe(one.connection);
    expect(two.tag & 16_383).toBe(one.tag & 16_383);
    answer(one);
    one.fail(IO, 'the wrong answer');
    for (const retryCount of [two.tag + 1, two.tag ^ 0x4000, 0x7fff_ffff, -1, -2, null]) {
      two.succeed({ fs: fileStatus(99) }, { retryCount });
    }
    two.succeed({ fs: fileStatus(99) }, { callId: -5 });
    answer(two);
    const reply = await second.receive();
    expect([reply.callId, reply.retryCount, lengthOf(reply)]).toEqual([7, 3, 102]);

    // Nothing of it disturbed the connection, and nobody got a second answer.
    namenode.handler = answer;
    for (const client of [first, second]) {
      expect(lengthOf(await client.call({ method: 'getFileInfo', callId: 8, request: { src: pathOf(3) } }))).toBe(3);
    }
    expect(namenode.calls.at(-1)?.connection).toBe(one.connection);
    disposeAll([first, second]);
  });

  it('are dropped when the client is gone, and others are served', async () => {
    const [leaving, staying] = (await cluster.connectMany(2)) as [RawClient, RawClient];
    namenode.handler = () => {};
    leaving.send({ method: 'getFileInfo', request: { src: pathOf(140) } });
    leaving.send({ method: 'getFileInfo', request: { src: pathOf(141) } });
    staying.send({ method: 'getFileInfo', callId: 0, request: { src: pathOf(142) } });
    const [success, failure, own] = [
      await namenode.waitForCall({ path: pathOf(140) }, namenode.callsOf({ path: pathOf(140) }).length || 1),
      await namenode.waitForCall({ path: pathOf(141) }, namenode.callsOf({ path: pathOf(141) }).length || 1),
      await namenode.waitForCall({ path: pathOf(142) }, namenode.callsOf({ path: pathOf(142) }).length || 1),
    ] as [NameNodeCall, NameNodeCall, NameNodeCall];
    await cluster.vanish(leaving);
    answer(success);
    failure.fail(IO, 'nobody is interested');
    answer(own);
    expect(lengthOf(await staying.receive())).toBe(142);
    namenode.handler = answerPlainly;
    expect((await staying.call({ method: 'getFileInfo', request: { src: pathOf(143) } })).status).toBe('SUCCESS');
    expect(own.peer.open).toBe(true);
    disposeAll([staying]);
  });

  it('were counted', async () => {
    const counters = await cluster.stopAndCount();
    // One duplicate, two late ones, six with a tag of no call, one to no call id.
    expect(counters.unknownReplies).toBe(10);
    expect(counters.repliesDropped).toBe(2);
    expect(counters.strayReplies).toBe(0);
    expect(counters.callsResent).toBe(0);
    expect(counters.namenodeConnectionsLost).toBe(0);
  });
});
