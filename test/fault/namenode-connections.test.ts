import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RawCall, RawReply } from '../support/raw-client.ts';
import { all, disposeAll, ScriptedCluster } from '../support/scripted-cluster.ts';
import { answerPlainly, type NameNodeCall, type ScriptedNameNode } from '../support/scripted-namenode.ts';

/** How many connections a NameNode sees, when they come and when they go. */

const POOL_SIZE = 3;
const IDLE_MS = 500;
const PING_MS = 1000;
/** More than two pings take. */
const BUDGET_MS = 6000;
/** Connections are looked at once a second. */
const SWEEP_MS = 1000;
const MANY = 200;
/** So many calls in flight on each of its connections are a reason for the router to open one more. */
const GROW_AT = 16;

let cluster: ScriptedCluster;
let namenode: ScriptedNameNode;

beforeAll(async () => {
  cluster = await ScriptedCluster.start({
    nameservices: { ns0: ['active'] },
    keys: {
      'switchyard.window.floor': '1024',
      'dfs.federation.router.connection.pool-size': String(POOL_SIZE),
      'dfs.federation.router.connection.clean.ms': String(IDLE_MS),
      'ipc.ping.interval': String(PING_MS),
    },
    set: [`switchyard.call.budget=${BUDGET_MS}ms`],
  });
  namenode = cluster.namenode('ns0');
});

afterAll(async () => {
  await cluster[Symbol.asyncDispose]();
});

function read(src: string): RawCall {
  return { method: 'getFileInfo', request: { src } };
}

function expectSuccess(reply: RawReply): void {
  expect([reply.status, reply.exception, reply.message]).toEqual(['SUCCESS', '', '']);
}

function untilAllClosed(user?: string): Promise<void> {
  return namenode.until(() => namenode.openPeers(user).length === 0, 'idle connections are closed');
}

describe('connections of a user', () => {
  it('become more while many calls are in flight, up to the size of the pool, and fewer when idle', async () => {
    namenode.handler = () => {};
    const clients = await cluster.connectMany(4, 'alice');
    let sent = 0;
    const send = async (count: number): Promise<void> => {
      for (let i = 0; i < count; i++) clients[sent % 4]?.send(read(`/ns0/many-${sent++}`));
      await namenode.until(() => namenode.callsOf({ user: 'alice' }).length === sent, `${sent} calls have come`);
    };
    // One after the other, none answered: each finds the others in flight.
    for (let i = 0; i < GROW_AT - 1; i++) await send(1);
    expect(namenode.openPeers('alice')).toHaveLength(1);
    while (sent < MANY) await send(1);
    expect(namenode.openPeers('alice')).toHaveLength(POOL_SIZE);
    await send(MANY);
    expect(namenode.peers.filter((peer) => peer.user === 'alice')).toHaveLength(POOL_SIZE);
    // They went to those with the least to do.
    for (const peer of namenode.openPeers('alice')) expect(peer.unanswered).toBeGreaterThan(GROW_AT);

    for (const call of namenode.calls) answerPlainly(call);
    for (let i = 0; i < sent; i++) expectSuccess(await (clients[i % 4] as (typeof clients)[number]).receive());
    await untilAllClosed('alice');
    // In order: nothing was lost, and the next call opens one again.
    namenode.handler = answerPlainly;
    expectSuccess(await (clients[0] as (typeof clients)[number]).call(read('/ns0/after')));
    expect(namenode.openPeers('alice')).toHaveLength(1);
    disposeAll(clients);
  });

  it('stay at one for calls that come one after the other', async () => {
    namenode.handler = answerPlainly;
    using client = await cluster.connect('carol');
    for (let i = 0; i < 3 * GROW_AT; i++) expectSuccess(await client.call(read('/ns0/file')));
    expect(new Set(namenode.callsOf({ user: 'carol' }).map((call) => call.connection)).size).toBe(1);
  });

  it('are not those of another', async () => {
    namenode.handler = answerPlainly;
    const clients = await all(['dora', 'emil', 'frida'].map((user) => cluster.connect(user)));
    await all(clients.map((client) => client.call(read('/ns0/file'))));
    for (const user of ['dora', 'emil', 'frida']) expect(namenode.callsOf({ user })).toHaveLength(1);
    disposeAll(clients);
  });

  it('are kept, and pinged, while a call is in flight; the one for a suspect call closes like any other', async () => {
    namenode.handler = () => {};
    using client = await cluster.connect('gustav');
    client.send(read('/ns0/long'));
    const long = await namenode.waitForCall({ user: 'gustav' });
    await namenode.until(() => long.peer.pings >= 2, 'two pings');
    expect(long.peer.open).toBe(true);
    // It goes on alone, on a second connection, and the first place of the user stays empty.
    long.reset();
    const again = await namenode.waitForCall({ user: 'gustav' }, 2);
    expect(again.connection).not.toBe(long.connection);
    answerPlainly(again);
    expectSuccess(await client.receive());
    await untilAllClosed('gustav');
  });
});

it('a call after a long time without any has its whole budget', async () => {
  namenode.handler = answerPlainly;
  using client = await cluster.connect('hanna');
  expectSuccess(await client.call(read('/ns0/early')));
  await untilAllClosed();
  // Until the sweep finds nothing left to look at, and then for longer than a call may take.
  await new Promise((resolve) => setTimeout(resolve, SWEEP_MS + BUDGET_MS + IDLE_MS));
  namenode.state = 'standby';
  const waiting = client.call(read('/ns0/late'));
  await namenode.waitForCall({ path: '/ns0/late' });
  namenode.state = 'active';
  expectSuccess(await waiting);
  expect(namenode.callsOf({ path: '/ns0/late' }).map((call: NameNodeCall) => call.user)).toEqual(['hanna', 'hanna']);
});

it('what was opened, lost and pinged was counted', async () => {
  const opened = namenode.peers.filter((peer) => peer.user !== '' && namenode.callsOf({ user: peer.user }).length > 0);
  const counters = await cluster.stopAndCount();
  expect(counters.namenodeConnectionsOpened).toBe(opened.length);
  expect(counters.namenodeConnectionsLost).toBe(1);
  expect(counters.suspectsSent).toBe(1);
  expect(counters.callsResent).toBe(1);
  expect(counters.pingsSent).toBe(namenode.peers.reduce((sum, peer) => sum + peer.pings, 0));
  expect(counters.namenodesHung).toBe(0);
});
