import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MAX_PARTS_AT_ONCE } from '../../src/composed/composition.ts';
import { MAX_DESTINATIONS_ASKED } from '../../src/composed/view/mount-children.ts';
import { HashRing } from '../../src/mount/order/hash-ring.ts';
import type { Plain } from '../../src/wire/messages.ts';
import { disposeOpened } from '../support/dispose-opened.ts';
import { InlineRouter, type InlineRouterOptions, type MountRecord } from '../support/inline-router.ts';
import { decodeResponse, RawClient } from '../support/raw-client.ts';
import {
  answerPlainly,
  fileStatus,
  IO,
  type NameNodeCall,
  ScriptedNameNode,
  STANDBY,
} from '../support/scripted-namenode.ts';
import { waitUntil } from '../support/wait.ts';

/** Listings and statuses over several nameservices, one of which is dead, silent, slow, or answers nonsense. */

const SOON_MS = 150;
/** Far more than a test takes: what waits for it is late. */
const BUDGET_MS = 60_000;
const ACCESS_CONTROL = 'org.apache.hadoop.security.AccessControlException';
const STRICT = { 'dfs.federation.router.client.allow-partial-listing': 'false' };

let ns0: ScriptedNameNode;
let ns1: ScriptedNameNode;
const opened: (Disposable | AsyncDisposable)[] = [];

beforeEach(async () => {
  ns0 = await ScriptedNameNode.start('ns0');
  ns1 = await ScriptedNameNode.start('ns1');
});

afterEach(async () => {
  await disposeOpened(opened);
  await ns0[Symbol.asyncDispose]();
  await ns1[Symbol.asyncDispose]();
});

const MANY: MountRecord = {
  srcPath: '/m',
  destinations: [
    { nameserviceId: 'ns0', path: '/m0' },
    { nameserviceId: 'ns1', path: '/m1' },
  ],
  destOrder: 'HASH_ALL',
};

async function start(options: Partial<InlineRouterOptions> = {}): Promise<{ router: InlineRouter; client: RawClient }> {
  const router = await InlineRouter.start({
    nameservices: { ns0: ns0.port, ns1: ns1.port },
    mounts: [MANY],
    ...options,
    settings: { mountStatusTimeoutMs: SOON_MS, callBudgetMs: BUDGET_MS, ...options.settings },
  });
  opened.push(router);
  const client = await RawClient.connect(router, { user: 'alice' });
  opened.push(client);
  return { router, client };
}

const directory = (name = '', more: object = {}): Plain => ({ ...fileStatus(0, name), fileType: 'IS_DIR', ...more });
const listing = (src: string, startAfter = '') => ({
  method: 'getListing',
  request: { src, startAfter: Buffer.from(startAfter), needLocation: false },
});
const status = (src: string) => ({ method: 'getFileInfo', request: { src } });

/** A NameNode with these names in every directory; its other answers are plain. */
function holds(...names: string[]): (call: NameNodeCall) => void {
  return (call) => {
    if (call.method !== 'getListing') return answerPlainly(call);
    call.succeed({ dirList: { partialListing: names.map((name) => fileStatus(1, name)), remainingEntries: 0 } });
  };
}

function namesOf(response: Plain): string[] {
  const { partialListing } = response['dirList'] as { partialListing: Plain[] };
  return partialListing.map(({ path }) => String(path));
}

describe('a listing over several nameservices, one of which', () => {
  it('cannot be reached: is given without it, or fails with its name', async () => {
    const { client } = await start();
    ns0.handler = holds('a', 'c');
    ns1.state = 'standby';
    expect(namesOf(await client.result(listing('/m')))).toEqual(['a', 'c']);
    const strict = await start({ keys: STRICT, settings: { callBudgetMs: 2 * SOON_MS } });
    expect(await strict.client.call(listing('/m'))).toMatchObject({
      exception: STANDBY,
      message: expect.stringContaining('getListing in ns1 '),
    });
  });

  it('refuses: is given without it, or fails with its exception and name', async () => {
    const { client } = await start();
    ns0.handler = (call) => call.fail(ACCESS_CONTROL, `Permission denied: inode="${call.path}"\n\tat X`);
    ns1.handler = holds('b');
    expect(namesOf(await client.result(listing('/m')))).toEqual(['b']);
    const strict = await start({ keys: STRICT });
    expect(await strict.client.call(listing('/m'))).toMatchObject({
      exception: ACCESS_CONTROL,
      message: 'Permission denied: inode="/m" (nameservice ns0)',
    });
    ns1.handler = ns0.handler;
    expect(await client.call(listing('/m'))).toMatchObject({ exception: ACCESS_CONTROL });
  });

  it('does not know the path: is that of the others', async () => {
    const { client } = await start({ keys: STRICT });
    ns0.handler = (call) => call.succeed({});
    ns1.handler = holds('b');
    expect(namesOf(await client.result(listing('/m/d')))).toEqual(['b']);
    ns1.handler = ns0.handler;
    expect(await client.result(listing('/m/d'))).toEqual({});
    ns1.handler = (call) => call.fail('java.io.FileNotFoundException', `File ${call.path} does not exist.`);
    expect(await client.call(listing('/m/d'))).toMatchObject({ message: 'File /m/d does not exist.' });
  });

  it('is down: a path that the others do not know is not said to be missing', async () => {
    const { client } = await start({ settings: { callBudgetMs: 2 * SOON_MS } });
    ns0.handler = (call) => call.succeed({});
    ns1.state = 'standby';
    expect(await client.call(listing('/m/d'))).toMatchObject({ exception: STANDBY });
  });

  it('answers nonsense: that one fails, with its name', async () => {
    const { router, client } = await start({ keys: STRICT });
    ns0.handler = holds('a');
    ns1.handler = (call) => call.succeedWith(Buffer.from([4, 0x0a, 2, 0x0a, 0x7f]));
    expect(await client.call(listing('/m'))).toMatchObject({
      exception: IO,
      message: 'The answer of the NameNode to getListing cannot be read: that of ns1 is not valid (nameservice ns1)',
    });
    ns1.handler = (call) => call.succeedWith(Buffer.from([2, 0x0a, 5]));
    ns0.handler = (call) => call.succeed({});
    expect(await client.call(status('/m'))).toMatchObject({
      exception: IO,
      message: 'The answer of the NameNode to getFileInfo cannot be read: that of ns1 is not valid',
    });
    expect(router.count('callsBroken')).toBe(0);
    ns0.handler = holds('a');
    ns1.handler = holds('b');
    expect(namesOf(await client.result(listing('/m')))).toEqual(['a', 'b']);
  });
});

describe('a status over several nameservices', () => {
  it('is the file, without waiting for a nameservice behind it', async () => {
    const { router, client } = await start({ settings: { mountStatusTimeoutMs: BUDGET_MS } });
    const names = Array.from({ length: 16 }, (_, i) => `/m/f${i}`);
    // By its hash each name belongs to one of the two, and that one has it; the other says nothing.
    const ring = new HashRing(['ns0', 'ns1']);
    const silent: NameNodeCall[] = [];
    const decide = (id: number) => (call: NameNodeCall) => {
      if (ring.ownerOf(call.path.replace(/^.m\d/, '/m')) === id) call.succeed({ fs: fileStatus(10) });
      else silent.push(call);
    };
    ns0.handler = decide(0);
    ns1.handler = decide(1);
    for (const name of names) expect(await client.result(status(name))).toMatchObject({ fs: { length: 10 } });
    await waitUntil(() => silent.length === names.length, 'the others were asked too');
    for (const call of silent) call.succeed({});
    await waitUntil(() => router.engine.calls.inUse === 0, 'late answers are taken');
  });

  it('is the directory of those that answer', async () => {
    const { client } = await start();
    ns0.handler = (call) => call.succeed({ fs: directory('', { childrenNum: 4 }) });
    ns1.state = 'standby';
    expect(await client.result(status('/m/d'))).toMatchObject({ fs: { fileType: 'IS_DIR', childrenNum: 4 } });
  });

  it('waits for the one that may have the path, unless the mount is fault tolerant', async () => {
    const { client } = await start();
    ns0.handler = (call) => call.succeed({});
    ns1.handler = (call) => call.succeed({ fs: fileStatus(11) });
    ns1.state = 'standby';
    client.send(status('/m/f'));
    await ns1.until(() => ns1.calls.length > 2, 'ns1 was asked more than once');
    ns1.state = 'active';
    const reply = await client.receive();
    expect(decodeResponse('getFileInfo', reply.body)).toMatchObject({ fs: { length: 11 } });
    ns1.state = 'standby';
    const tolerant = await start({ mounts: [{ ...MANY, faultTolerant: true }] });
    expect(await tolerant.client.result(status('/m/f'))).toEqual({});
  });

  it('of a mount point whose nameservices are down is not made up', async () => {
    const { client } = await start({ mounts: [MANY, '/one=ns1:/one'], settings: { callBudgetMs: 2 * SOON_MS } });
    ns0.state = 'standby';
    ns1.state = 'standby';
    expect(await client.call(status('/m'))).toMatchObject({ exception: STANDBY });
    expect(await client.call(status('/one'))).toMatchObject({ exception: STANDBY });
  });
});

describe('the mount points of a listing', () => {
  const RECORDS = [
    { srcPath: '/d/live', destinations: [{ nameserviceId: 'ns0', path: '/x' }], ownerName: 'keeper' },
    { srcPath: '/d/sick', destinations: [{ nameserviceId: 'ns1', path: '/x' }], ownerName: 'keeper' },
    { srcPath: '/d/unknown', destinations: [{ nameserviceId: 'ns9', path: '/x' }], ownerName: 'keeper' },
  ];
  const ownersIn = (response: Plain) =>
    (response['dirList'] as { partialListing: Plain[] }).partialListing.map(({ owner }) => owner);

  it.each<[string, () => unknown]>([
    ['is silent', () => (ns1.handler = () => {})],
    ['is dead', () => ns1.stop()],
    ['has no active NameNode', () => (ns1.state = 'standby')],
    ['refuses', () => (ns1.handler = (call) => call.fail(ACCESS_CONTROL, 'no'))],
    ['answers nonsense', () => (ns1.handler = (call) => call.succeedWith(Buffer.from([2, 0x0a, 5])))],
  ])('show their records when their nameservice %s', async (_, make) => {
    const { router, client } = await start({ mounts: RECORDS });
    await make();
    const response = await client.result(listing('/d'));
    expect(namesOf(response)).toEqual(['live', 'sick', 'unknown']);
    expect(ownersIn(response)).toEqual(['alice', 'keeper', 'keeper']);
    for (const call of ns1.calls) if (ns1.state === 'active' && call.peer.open) answerPlainly(call);
    ns1.state = 'active';
    await waitUntil(() => router.engine.calls.inUse === 0, 'the late parts have ended');
    expect(router.count('callsBroken')).toBe(0);
  });

  it('are asked so many at one time and for one page', async () => {
    const places = Array.from({ length: 4 }, (_, i) => ({ nameserviceId: `ns${i % 2}`, path: `/p${i}` }));
    const mounts = Array.from({ length: 200 }, (_, i) => ({
      srcPath: `/d/${String(i).padStart(3, '0')}`,
      destinations: places,
      destOrder: 'HASH_ALL',
      ownerName: 'keeper',
    }));
    const { client } = await start({ mounts, settings: { mountStatusTimeoutMs: BUDGET_MS } });
    const waiting: NameNodeCall[] = [];
    let most = 0;
    const handler = (call: NameNodeCall): void => {
      waiting.push(call);
      most = Math.max(most, waiting.length);
      if (waiting.length < MAX_PARTS_AT_ONCE) return;
      for (const each of waiting.splice(0)) each.succeed({ fs: directory() });
    };
    ns0.handler = handler;
    ns1.handler = handler;
    const owners = ownersIn(await client.result(listing('/d')));
    expect([most, ns0.calls.length + ns1.calls.length]).toEqual([MAX_PARTS_AT_ONCE, MAX_DESTINATIONS_ASKED]);
    expect(owners.filter((owner) => owner === 'alice').length).toBe(MAX_DESTINATIONS_ASKED / places.length);
    expect(owners.filter((owner) => owner === 'keeper').length).toBe(200 - MAX_DESTINATIONS_ASKED / places.length);
  });

  it('of many paths listed at once are asked no more at one time', async () => {
    const mounts = Array.from({ length: 96 }, (_, i) => `/d${i % 8}/m${i}=ns${i % 2}:/m${i}`);
    const { router, client } = await start({ mounts, settings: { mountStatusTimeoutMs: BUDGET_MS } });
    const waiting: NameNodeCall[] = [];
    const handler = (call: NameNodeCall): void => void waiting.push(call);
    ns0.handler = handler;
    ns1.handler = handler;
    const paths = Array.from({ length: 8 }, (_, i) => `/d${i}`);
    client.send({
      method: 'getBatchedListing',
      request: { paths: ['/d0', ...paths, ...paths, ...paths], startAfter: Buffer.alloc(0), needLocation: false },
    });
    let answered = 0;
    let most = 0;
    const answerAll = (): void => {
      most = Math.max(most, waiting.length);
      for (const each of waiting.splice(0)) {
        answered++;
        each.succeed({ fs: directory() });
      }
    };
    const reply = client.receive();
    let isOver = false;
    void reply.then(() => (isOver = true));
    await waitUntil(() => {
      if (waiting.length === router.engine.calls.inUse - 1) answerAll();
      return isOver;
    }, 'the listing has come');
    expect(answered).toBe(12 * (1 + 3 * paths.length));
    expect(most).toBeGreaterThan(12);
    expect(most).toBeLessThanOrEqual(MAX_PARTS_AT_ONCE);
  });

  it('are the whole first page, however many, when their directory cannot be asked', async () => {
    const names = Array.from({ length: 5_000 }, (_, i) => `m${String(i).padStart(4, '0')}`);
    const keys = { 'dfs.federation.router.default.nameserviceId': 'ns0' };
    const { client } = await start({ mounts: names.map((name) => `/${name}=ns1:/${name}`), keys });
    ns0.state = 'standby';
    const response = await client.result(listing('/'));
    expect(namesOf(response)).toEqual(names);
    expect((response['dirList'] as Plain)['remainingEntries']).toBe(0);
    // However many could be asked in time.
    expect(ns1.calls.length).toBeLessThanOrEqual(MAX_DESTINATIONS_ASKED);
    ns0.state = 'active';
  });

  it('are those of the mount table when the page is made', async () => {
    const { router, client } = await start({ mounts: ['/d=ns0:/d', '/d/old=ns1:/old', '/d/real=ns1:/r'] });
    ns0.handler = () => {};
    client.send(listing('/d'));
    const call = await ns0.waitForCall({ method: 'getListing' });
    router.swapMounts(['/d=ns0:/d', '/d/new=ns1:/new']);
    call.succeed({ dirList: { partialListing: [fileStatus(1, 'real')], remainingEntries: 0 } });
    const reply = await client.receive();
    expect(namesOf(decodeResponse('getListing', reply.body))).toEqual(['new', 'real']);
    // Gone while their targets were asked: the page is what it was when it was made.
    ns0.handler = holds('real');
    ns1.handler = () => {};
    client.send(listing('/d'));
    await ns1.until(() => ns1.callsOf({ path: '/new' }).length > 1, 'the target is asked');
    router.swapMounts(['/d=ns0:/d']);
    expect(namesOf(decodeResponse('getListing', (await client.receive()).body))).toEqual(['new', 'real']);
    for (const each of ns1.calls) answerPlainly(each);
    await waitUntil(() => router.engine.calls.inUse === 0, 'nothing is left');
  });
});

it('a mount point whose nameservice is disabled is the directory of its record', async () => {
  const record = { srcPath: '/one', destinations: [{ nameserviceId: 'ns1', path: '/one' }], ownerName: 'keeper' };
  const { router, client } = await start({ mounts: [record] });
  router.block.setDisabled(new Set([1]));
  expect(await client.result(status('/one'))).toMatchObject({ fs: { fileType: 'IS_DIR', owner: 'keeper' } });
  expect(namesOf(await client.result(listing('/one')))).toEqual([]);
  const acl = await client.result({ method: 'getAclStatus', request: { src: '/one' } });
  expect(acl).toMatchObject({ result: { owner: 'keeper', entries: [] } });
  expect(await client.call(status('/one/f'))).toMatchObject({ exception: expect.stringContaining('NoLocation') });
  expect(ns1.calls.length).toBe(0);
});

it('a listing for which the router has no memory is refused, not given in part', async () => {
  const { router, client } = await start();
  ns0.handler = holds('a');
  ns1.handler = () => {};
  client.send(listing('/m'));
  const call = await ns1.waitForCall({ method: 'getListing' });
  const { budget } = router.engine;
  const claimed: number[] = [];
  for (const bytes of [1024 * 1024, 1024]) while (budget.claim(bytes)) claimed.push(bytes);
  call.succeed({ dirList: { partialListing: [fileStatus(1, 'b')], remainingEntries: 0 } });
  expect(await client.receive()).toMatchObject({ exception: STANDBY, message: expect.stringContaining('no memory') });
  for (const bytes of claimed) budget.release(bytes);
  await waitUntil(() => router.block.usedKib === 0, 'nothing is claimed any more');
});

it('a client that goes away in the middle leaves nothing behind', async () => {
  const { router, client } = await start({ mounts: [MANY, '/m/x=ns1:/x'] });
  ns0.handler = () => {};
  ns1.handler = () => {};
  client.send(listing('/m'));
  client.send(status('/m/f'));
  await ns1.until(() => ns1.calls.length === 2, 'both are asked');
  client[Symbol.dispose]();
  ns0.handler = answerPlainly;
  ns1.handler = answerPlainly;
  for (const call of [...ns0.calls, ...ns1.calls]) {
    if (call.method === 'getListing') call.succeed({ dirList: { partialListing: [], remainingEntries: 0 } });
    else call.succeed({});
  }
  await waitUntil(() => router.engine.calls.inUse === 0, 'nothing is left');
  expect([router.count('callsBroken'), router.block.usedKib]).toEqual([0, 0]);
});
