import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { keyOf, MAX_FOLLOWERS } from '../../src/admission/coalescing.ts';
import type { Call } from '../../src/call/call.ts';
import type { AdmissionSettings } from '../../src/shared/settings.ts';
import { encode, messageType } from '../../src/wire/messages.ts';
import { AdmissionStage, FOUR_IN_FLIGHT } from '../support/admission-stage.ts';
import type { InlineRouter, InlineRouterOptions } from '../support/inline-router.ts';
import type { RawCall, RawClient, RawReply } from '../support/raw-client.ts';
import {
  answerPlainly,
  IO,
  type NameNodeCall,
  RETRIABLE,
  type ScriptedNameNode,
  STANDBY,
} from '../support/scripted-namenode.ts';
import { waitUntil } from '../support/wait.ts';

/** Identical reads that wait are answered with one call; and everything of which that must not be true. */

const ONE = { floor: 1, ceiling: 1 };
const SHARING: AdmissionSettings = { ...FOUR_IN_FLIGHT, windows: [ONE, ONE], coalesceReads: true };
const STATE = messageType('hadoop.hdfs.RouterFederatedStateProto');
const NOT_FOUND = 'java.io.FileNotFoundException';
const SUPERUSERS = { 'hadoop.proxyuser.oozie.hosts': '*', 'hadoop.proxyuser.oozie.groups': '*' };

let stage: AdmissionStage;
let ns0: ScriptedNameNode;
let ns1: ScriptedNameNode;
let held: NameNodeCall[];

beforeEach(async () => {
  stage = await AdmissionStage.start();
  ({ ns0, ns1, held } = stage);
});

afterEach(() => stage[Symbol.asyncDispose]());

async function start(
  admission: Partial<AdmissionSettings> = {},
  options: Partial<InlineRouterOptions> = {},
): Promise<InlineRouter> {
  return await stage.router({ ...SHARING, ...admission }, { mounts: ['/zero=ns0:/real', '/one=ns1:/'], ...options });
}

const status = (src: string): RawCall => ({ method: 'getFileInfo', request: { src } });
const listing = (src: string, needLocation: boolean): RawCall => ({
  method: 'getListing',
  request: { src, startAfter: Buffer.alloc(0), needLocation },
});
const mkdirs = (src: string): RawCall => ({
  method: 'mkdirs',
  request: { src, masked: { perm: 0o755 }, createParent: true },
});

/** A call that takes all of the window: what comes next waits. */
async function block(router: InlineRouter): Promise<RawClient> {
  const client = await stage.connect(router, 'blocker');
  client.send(status('/zero/blocker'));
  await ns0.waitForCall({ path: '/real/blocker' });
  return client;
}

function queueOf(router: InlineRouter) {
  const gate = router.engine.admission.gates[0];
  if (gate === undefined) throw new Error('there is no nameservice');
  return gate.queue;
}

/** The call that waits. */
function waitingAt(router: InlineRouter): Call {
  const call = queueOf(router).oldest(Number.POSITIVE_INFINITY);
  if (call === null) throw new Error('nothing waits');
  return call;
}

const sharedAt = (router: InlineRouter): number => router.admitted(0).figures.shared;

async function counts(router: InlineRouter, waiting: number, shared: number): Promise<void> {
  await waitUntil(
    () => queueOf(router).length === waiting && sharedAt(router) === shared,
    `${waiting} waiting and ${shared} shared`,
  );
}

/** All that ns0 has and gets is answered. */
function letGo(): void {
  ns0.handler = answerPlainly;
  for (const call of held.splice(0)) if (call.peer.open) answerPlainly(call);
}

async function receive(client: RawClient, count: number): Promise<RawReply[]> {
  const replies: RawReply[] = [];
  for (let i = 0; i < count; i++) replies.push(await client.receive());
  return replies;
}

async function allEnded(router: InlineRouter): Promise<void> {
  await waitUntil(() => router.engine.calls.inUse === 0, 'all calls have ended');
  expect(queueOf(router).length).toBe(0);
}

describe('identical reads that wait', () => {
  it('are one call at the NameNode, and each client gets its answer under its own ids', async () => {
    const router = await start();
    await block(router);
    const clients = [await stage.connect(router), await stage.connect(router)] as const;
    const ids = clients.map((client) => [1, 2, 3].map(() => client.send(status('/zero/file'))));
    await counts(router, 1, 5);
    ns0.handler = (call) => call.succeed({ fs: fileStatus(4711) });
    for (const call of held.splice(0)) answerPlainly(call);
    for (const [i, client] of clients.entries()) {
      const replies = await receive(client, 3);
      expect(replies.map(({ callId }) => callId).sort()).toEqual(ids[i]);
      for (const reply of replies) {
        expect(reply.status).toBe('SUCCESS');
        expect(reply.clientId).toEqual(client.clientId);
        expect(reply.body.includes(Buffer.from('number 4711'))).toBe(true);
      }
    }
    expect(ns0.callsOf({ path: '/real/file' })).toHaveLength(1);
    await allEnded(router);
  });

  it('share an exception, which names the path of each client', async () => {
    const router = await start();
    await block(router);
    const client = await stage.connect(router);
    for (let i = 0; i < 3; i++) client.send(status('/zero/gone'));
    await counts(router, 1, 2);
    ns0.handler = (call) => call.fail(NOT_FOUND, 'File does not exist: /real/gone');
    for (const call of held.splice(0)) answerPlainly(call);
    for (const { exception, message } of await receive(client, 3)) {
      expect([exception, message]).toEqual([NOT_FOUND, 'File does not exist: /zero/gone']);
    }
    expect(ns0.callsOf({ path: '/real/gone' })).toHaveLength(1);
  });

  it('take one place of the queue', async () => {
    const router = await start({ capacity: 1 });
    await block(router);
    const client = await stage.connect(router);
    for (let i = 0; i < 3; i++) client.send(status('/zero/file'));
    await counts(router, 1, 2);
    expect((await client.call(status('/zero/other'))).exception).toBe(STANDBY);
    letGo();
    for (const reply of await receive(client, 3)) expect(reply.status).toBe('SUCCESS');
  });

  it.each<[string, object]>([
    ['checkAccess', { path: '/zero/a', mode: 'READ' }],
    ['getAclStatus', { src: '/zero/a' }],
    ['getContentSummary', { path: '/zero/a' }],
    ['getErasureCodingPolicy', { src: '/zero/a' }],
    ['getFileInfo', { src: '/zero/a' }],
    ['getFileLinkInfo', { src: '/zero/a' }],
    ['getListing', { src: '/zero/a', startAfter: Buffer.alloc(0), needLocation: false }],
    ['getPreferredBlockSize', { filename: '/zero/a' }],
    ['getStoragePolicy', { path: '/zero/a' }],
    ['getXAttrs', { src: '/zero/a' }],
    ['isFileClosed', { src: '/zero/a' }],
    ['listXAttrs', { src: '/zero/a' }],
    ['getQuotaUsage', { path: '/zero/a' }],
  ])('may be %s', async (method, request) => {
    const router = await start();
    await block(router);
    const client = await stage.connect(router);
    for (let i = 0; i < 3; i++) client.send({ method, request });
    await counts(router, 1, 2);
    ns0.handler = (call) => (call.method === method ? call.succeedWith(Buffer.from([2, 8, 1])) : answerPlainly(call));
    for (const call of held.splice(0)) answerPlainly(call);
    for (const { status: result, body } of await receive(client, 3)) {
      expect([result, body]).toEqual(['SUCCESS', Buffer.from([2, 8, 1])]);
    }
    expect(ns0.callsOf({ method })).toHaveLength(method === 'getFileInfo' ? 2 : 1);
  });

  it('are so many at most; the next one waits by itself', async () => {
    const router = await start();
    await block(router);
    const client = await stage.connect(router);
    for (let i = 0; i < MAX_FOLLOWERS + 3; i++) client.send(status('/zero/file'));
    await counts(router, 2, MAX_FOLLOWERS + 1);
    letGo();
    for (const reply of await receive(client, MAX_FOLLOWERS + 3)) expect(reply.status).toBe('SUCCESS');
    expect(ns0.callsOf({ path: '/real/file' })).toHaveLength(2);
  });

  it('are answered when the client of the first one has gone, by one call', async () => {
    const router = await start();
    await block(router);
    const first = await stage.connect(router);
    first.send(status('/zero/file'));
    await counts(router, 1, 0);
    const other = await stage.connect(router);
    for (let i = 0; i < 3; i++) other.send(status('/zero/file'));
    await counts(router, 1, 3);
    first.socket.resetAndDestroy();
    await waitUntil(() => router.count('clientsClosed') === 1, 'the router knows');
    letGo();
    for (const reply of await receive(other, 3)) expect(reply.status).toBe('SUCCESS');
    expect(ns0.callsOf({ path: '/real/file' })).toHaveLength(1);
    await allEnded(router);
  });

  it('go one after the other when the first one ends without an answer', async () => {
    const router = await start();
    // Whoever waits is looked after each second: here it is to happen at once.
    router.engine.admission.onSweep = () => {};
    await block(router);
    const client = await stage.connect(router);
    for (let i = 0; i < 3; i++) client.send(status('/zero/file'));
    await counts(router, 1, 2);
    ns0.handler = (call) => call.reset();
    for (const call of held.splice(0)) answerPlainly(call);
    for (const { exception } of await receive(client, 3)) expect(exception).toBe(IO);
    await allEnded(router);
  });

  it('are answered when the NameNode was not active at first', async () => {
    const router = await start();
    const blocker = await block(router);
    const client = await stage.connect(router);
    for (let i = 0; i < 3; i++) client.send(status('/zero/file'));
    await counts(router, 1, 2);
    ns0.state = 'standby';
    for (const call of held.splice(0)) answerPlainly(call);
    await blocker.receive();
    await ns0.waitForCall({ path: '/real/file' });
    ns0.handler = answerPlainly;
    ns0.state = 'active';
    for (const reply of await receive(client, 3)) expect(reply.status).toBe('SUCCESS');
    await allEnded(router);
  });

  it('go where the mount table says when it changes meanwhile, all of them', async () => {
    const router = await start();
    await block(router);
    const client = await stage.connect(router);
    for (let i = 0; i < 3; i++) client.send(status('/zero/file'));
    await counts(router, 1, 2);
    router.swapMounts(['/zero=ns1:/moved']);
    letGo();
    for (const reply of await receive(client, 3)) expect(reply.status).toBe('SUCCESS');
    expect(ns0.callsOf({ path: '/real/file' })).toHaveLength(0);
    for (const { path } of ns1.calls) expect(path).toBe('/moved/file');
    await allEnded(router);
  });

  it('are refused together when the first one has waited for as long as a call may', async () => {
    const router = await start({ timeLimitMs: 200 });
    await block(router);
    const client = await stage.connect(router);
    for (let i = 0; i < 3; i++) client.send(status('/zero/file'));
    for (const { exception } of await receive(client, 3)) expect(exception).toBe(STANDBY);
    expect(router.admitted(0).figures).toMatchObject({ shared: 2, refusedLate: 3 });
  });

  it('are refused together when another queue has no room for the first one', async () => {
    const router = await start();
    await block(router);
    const client = await stage.connect(router);
    client.send(status('/zero/other'));
    for (let i = 0; i < 3; i++) client.send(status('/zero/file'));
    await counts(router, 2, 2);
    router.engine.refreshAdmission({ ...SHARING, capacity: 1 });
    for (const { exception } of await receive(client, 3)) expect(exception).toBe(STANDBY);
    letGo();
    expect((await client.receive()).status).toBe('SUCCESS');
    await allEnded(router);
  });
});

describe('no call is shared', () => {
  it('unless that is asked for', async () => {
    const router = await start({ coalesceReads: false });
    await block(router);
    const client = await stage.connect(router);
    for (let i = 0; i < 3; i++) client.send(status('/zero/file'));
    await counts(router, 3, 0);
  });

  it.each<[string, RawCall, RawCall]>([
    ['another path', status('/zero/a'), status('/zero/b')],
    ['another method', status('/zero/a'), { method: 'getFileLinkInfo', request: { src: '/zero/a' } }],
    [
      'another part of a listing',
      listing('/zero/a', false),
      { method: 'getListing', request: { src: '/zero/a', startAfter: Buffer.from('x'), needLocation: false } },
    ],
  ])('with one that asks something else: %s', async (_, first, second) => {
    const router = await start();
    await block(router);
    const client = await stage.connect(router);
    client.send(first);
    client.send(second);
    await counts(router, 2, 0);
  });

  it.each<[string, RawCall]>([
    ['block locations', { method: 'getBlockLocations', request: { src: '/zero/a', offset: 0, length: 1 } }],
    ['a status with locations', { method: 'getLocatedFileInfo', request: { src: '/zero/a', needBlockToken: false } }],
    ['a listing with locations', listing('/zero/a', true)],
    ['an answer in which paths are changed', { method: 'getEZForPath', request: { src: '/zero/a' } }],
    ['the status of a mount point, which the router changes', status('/zero')],
    ['a change', mkdirs('/zero/a')],
    ['a request that is long', status(`/zero/${'long'.repeat(200)}`)],
  ])('that asks for %s', async (_, call) => {
    const router = await start();
    await block(router);
    const client = await stage.connect(router);
    for (let i = 0; i < 2; i++) client.send(call);
    await counts(router, 2, 0);
  });

  it('with one whose hash is the same: of another user, or for another path', async () => {
    const router = await start();
    await block(router);
    const [one, other] = [await stage.connect(router, 'Aa'), await stage.connect(router, 'BB')];
    one.send(status('/zero/00000000'));
    await counts(router, 1, 0);
    const [first, second] = findCollision(waitingAt(router));
    other.send(status('/zero/00000000'));
    one.send(status(first));
    one.send(status(second));
    await counts(router, 4, 0);
    const keys = new Set<number>();
    queueOf(router).drainTo((call) => keys.add(keyOf(call)));
    expect(keys.size).toBe(2);
  });

  it('with one from before a change of the mount table', async () => {
    const router = await start();
    await block(router);
    const client = await stage.connect(router);
    client.send(status('/zero/file'));
    await counts(router, 1, 0);
    router.swapMounts(['/zero=ns0:/moved']);
    client.send(status('/zero/file'));
    await counts(router, 2, 0);
    client.send(status('/zero/file'));
    await counts(router, 2, 1);
  });

  it('with one of another user, or of the same through another one', async () => {
    const router = await start({}, { keys: SUPERUSERS });
    await block(router);
    const clients = [
      await stage.connect(router),
      await stage.connect(router, 'bob'),
      await stage.connect(router, 'alice', 'oozie'),
    ];
    for (const client of clients) client.send(status('/zero/file'));
    await counts(router, 3, 0);
    letGo();
    for (const client of clients) expect((await client.receive()).status).toBe('SUCCESS');
    expect(
      ns0
        .callsOf({ path: '/real/file' })
        .map(({ user }) => user)
        .sort(),
    ).toEqual(['alice', 'alice', 'bob']);
  });

  it('with one that was sent', async () => {
    const router = await start({ windows: [{ floor: 2, ceiling: 2 }, ONE] });
    await block(router);
    const client = await stage.connect(router);
    client.send(status('/zero/file'));
    await ns0.waitForCall({ path: '/real/file' });
    client.send(status('/zero/file'));
    await counts(router, 1, 0);
    // Nor with one that was sent and waits again.
    ns0.state = 'standby';
    const [, file] = held.splice(0, 2);
    file?.fail(STANDBY, 'Operation category READ is not supported in state standby');
    await waitUntil(() => ns0.callsOf({ path: '/real/file' }).length >= 2, 'the second one was sent');
    expect(sharedAt(router)).toBe(0);
  });

  it('with one from before a change of its client, answered or not', async () => {
    const router = await start({ windows: [{ floor: 2, ceiling: 2 }, ONE] });
    const [first, second] = [await block(router), await stage.connect(router)];
    first.send(status('/zero/blocker'));
    await ns0.until(() => held.length === 2, 'the window is full');
    second.send(status('/zero/file'));
    await counts(router, 1, 0);
    second.send(mkdirs('/one/dir'));
    expect((await second.receive()).status).toBe('SUCCESS');
    second.send(status('/zero/file'));
    await counts(router, 2, 0);
    // Those of other clients are not concerned, and what came after the change may be shared.
    const other = await stage.connect(router);
    other.send(status('/zero/file'));
    second.send(status('/zero/file'));
    await counts(router, 2, 2);
    second.send(mkdirs('/zero/dir'));
    second.send(status('/zero/file'));
    await counts(router, 4, 2);
  });

  it('of a client that brought a state id', async () => {
    const router = await start();
    await block(router);
    const client = await stage.connect(router);
    const routerFederatedState = encode(STATE, { namespaceStateIds: { ns0: 17 } });
    for (let i = 0; i < 2; i++) client.send({ ...status('/zero/file'), header: { routerFederatedState } });
    await counts(router, 2, 0);
    client.send(status('/zero/file'));
    await counts(router, 3, 0);
  });

  it('where observers serve reads', async () => {
    const router = await start({}, { keys: { 'dfs.federation.router.observer.read.default': 'true' } });
    await block(router);
    const client = await stage.connect(router);
    for (let i = 0; i < 2; i++) client.send(status('/zero/file'));
    await counts(router, 2, 0);
  });

  it('over several destinations, where each call has an order of its own', async () => {
    const destinations = ['ns0', 'ns1'].map((nameserviceId) => ({ nameserviceId, path: '/real' }));
    const router = await start(
      {},
      { mounts: ['/zero=ns0:/real', { srcPath: '/several', destinations, destOrder: 'RANDOM' }] },
    );
    await block(router);
    const client = await stage.connect(router);
    ns1.handler = () => {};
    for (let i = 0; i < 12; i++) client.send(status('/several/file'));
    await waitUntil(() => queueOf(router).length > 1, 'several wait at ns0');
    expect([0, 1].map((n) => router.admitted(n).figures.shared)).toEqual([0, 0]);
  });

  it('with one of lower priority', async () => {
    const router = await start({ levels: 2, capacityWeights: [1, 1], multiplexerWeights: [1, 1] });
    await block(router);
    const client = await stage.connect(router);
    client.send(status('/zero/file'));
    await counts(router, 1, 0);
    waitingAt(router).level = 1;
    client.send(status('/zero/file'));
    await counts(router, 2, 0);
    client.send(status('/zero/file'));
    await counts(router, 2, 1);
  });
});

describe('whatever ends', () => {
  it.each([1, 2, 3, 4, 5, 6])('each call has one answer, and nothing stays anywhere (seed %i)', async (seed) => {
    const router = await start(
      { capacity: 12, windows: [{ floor: 2, ceiling: 2 }, ONE] },
      { settings: { callBudgetMs: 3000 } },
    );
    const random = generator(seed);
    const pick = (n: number): number => Math.floor(random() * n);
    const clients: { readonly client: RawClient; sent: number }[] = [];
    for (let step = 0; step < 150; step++) {
      const action = pick(12);
      if (action < 6) {
        if (clients.length === 0 || action === 0)
          clients.push({ client: await stage.connect(router, `user${pick(2)}`), sent: 0 });
        const each = clients[pick(clients.length)] as (typeof clients)[number];
        for (let i = 0; i <= pick(8); i++) {
          each.client.send(pick(9) === 0 ? mkdirs('/zero/dir') : status(`/zero/${pick(3)}`));
          each.sent++;
        }
      } else if (action === 6) clients.splice(pick(clients.length), 1)[0]?.client.socket.destroy();
      else if (action === 7) ns0.resetAll();
      else if (action === 8) ns0.state = pick(2) === 0 ? 'standby' : 'active';
      else if (action === 9) router.swapMounts([`/zero=ns${pick(2)}:/real`]);
      else if (action === 10)
        router.engine.refreshAdmission({ ...SHARING, capacity: 1 + pick(20), coalesceReads: pick(4) > 0 });
      else if (pick(3) === 0) held.splice(pick(held.length), 1)[0]?.fail(RETRIABLE, 'NameNode still not started');
      else for (const call of held.splice(0, pick(6))) if (call.peer.open) answerPlainly(call);
      if (pick(3) === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    ns0.state = 'active';
    letGo();
    for (const { client, sent } of clients) {
      const ids = (await receive(client, sent)).map(({ callId }) => callId);
      expect(new Set(ids).size).toBe(sent);
    }
    await allEnded(router);
    for (const gate of router.engine.admission.gates) expect([gate.inFlight, gate.queue.length]).toEqual([0, 0]);
    expect(router.acceptor.outstanding.count).toBe(0);
    expect(sharedAt(router)).toBeGreaterThan(0);
  });
});

/** Two paths of the form of this call's, `/zero/` and eight digits, for which it has the same key. */
function findCollision(call: Call): [string, string] {
  const at = call.start + call.fields.pathStart;
  const own = call.frame.toString('latin1', at, call.start + call.fields.pathEnd);
  const found = new Map<number, string>();
  for (let i = 1; i < 1_000_000; i++) {
    const path = `/zero/${String(i).padStart(8, '0')}`;
    call.frame.write(path, at, 'latin1');
    const key = keyOf(call);
    const other = found.get(key);
    found.set(key, path);
    if (other === undefined) continue;
    call.frame.write(own, at, 'latin1');
    return [other, path];
  }
  throw new Error('no two paths have the same key');
}

function fileStatus(fileId: number): object {
  return {
    fileType: 'IS_FILE',
    path: Buffer.from(`number ${fileId}`),
    length: 0,
    permission: { perm: 0o644 },
    owner: 'o',
    group: 'g',
    modification_time: 0,
    access_time: 0,
  };
}

/** Numbers of [0, 1) that follow from a seed (xorshift). */
function generator(seed: number): () => number {
  let x = seed * 0x9e3779b9;
  return () => {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    return (x >>> 0) / 2 ** 32;
  };
}
