import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FULL_PAGE_ENTRIES, MAX_PAGES } from '../../src/composed/lists/pages.ts';
import type { Plain } from '../../src/wire/messages.ts';
import { disposeOpened } from '../support/dispose-opened.ts';
import { InlineRouter, type InlineRouterOptions } from '../support/inline-router.ts';
import { decodeResponse, RawClient, type RawReply } from '../support/raw-client.ts';
import { fileStatus, ScriptedNameNode, STANDBY } from '../support/scripted-namenode.ts';
import { severalMount } from '../support/several-mounts.ts';
import { waitUntil } from '../support/wait.ts';

/** Lists over several nameservices whose NameNodes are away, or answer what simulated ones never do. */

const BUDGET_MS = 1_500;
const OPEN_FILES = { method: 'listOpenFiles', request: { id: 0, types: [], path: '/' } };
const POOLS = { method: 'listCachePools', request: { prevPoolName: '' } };

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

async function start(options: Partial<InlineRouterOptions> = {}): Promise<{ router: InlineRouter; client: RawClient }> {
  const router = await InlineRouter.start({
    nameservices: { ns0: ns0.port, ns1: ns1.port },
    mounts: ['/a=ns0:/x', '/b=ns1:/y', '/c=ns0:/x/c'],
    ...options,
    settings: { callBudgetMs: BUDGET_MS, mountStatusTimeoutMs: 100, ...options.settings },
  });
  opened.push(router);
  const client = await RawClient.connect(router, { user: 'hdfs' });
  opened.push(client);
  return { router, client };
}

function file(id: number, path: string): Plain {
  return { id, path, clientName: 'writer', clientMachine: '127.0.0.1' };
}

async function idle(router: InlineRouter): Promise<void> {
  await waitUntil(() => router.engine.calls.inUse === 0 && router.block.usedKib === 0, 'nothing is left of the call');
}

function responseOf(method: string, reply: RawReply): Plain {
  expect(reply).toMatchObject({ status: 'SUCCESS', message: '' });
  return decodeResponse(method, reply.body);
}

const page = (entries: Plain[], hasMore = false) => ({ entries, hasMore, types: [] });

describe('a nameservice that is away', () => {
  it.each([
    { ...OPEN_FILES, response: page([]) },
    { method: 'listEncryptionZones', request: { id: 0 }, response: { zones: [], hasMore: false } },
    { ...POOLS, response: { entries: [], hasMore: false } },
  ])('is named: $method', async ({ response, ...call }) => {
    const { router, client } = await start();
    ns0.handler = (each) => each.succeed(response);
    await ns1.stop();
    const reply = await client.call(call);
    expect(reply.exception).toBe(STANDBY);
    expect(reply.message).toMatch(new RegExp(`^No namenode available to invoke ${call.method} in ns1 `));
    await idle(router);
  });

  it('is not waited for where another has the path: getEZForPath', async () => {
    const { router, client } = await start({ mounts: [severalMount('SPACE')] });
    const zoneOf = { method: 'getEZForPath', request: { src: '/m/d' } };
    ns0.handler = (call) => call.succeed(call.method === 'getFileInfo' ? { fs: fileStatus() } : {});
    await ns1.stop();
    expect(responseOf('getEZForPath', await client.call(zoneOf))).toEqual({});
    // Nobody else has it: ns1 may.
    ns0.handler = (call) => call.succeed({});
    const reply = await client.call(zoneOf);
    expect(reply.exception).toBe(STANDBY);
    expect(reply.message).toMatch(/^No namenode available to invoke getEZForPath in ns1 /);
    await idle(router);
  });

  it('is not missed by a list below another one', async () => {
    const { client } = await start();
    ns0.handler = (call) => call.succeed(page([file(7, '/x/f')]));
    await ns1.stop();
    const reply = await client.call({ method: 'listOpenFiles', request: { id: 0, types: [], path: '/a' } });
    expect(responseOf('listOpenFiles', reply)).toMatchObject({ entries: [{ path: '/a/f' }], hasMore: false });
  });
});

describe('pages of NameNodes', () => {
  it('are passed over when nothing on them is shown', async () => {
    const { router, client } = await start();
    ns0.handler = (call) => {
      const id = Number(call.request['id']);
      if (id < 5) call.succeed(page([file(id + 1, `/hidden/${id}`)], true));
      else call.succeed(page([file(99, '/x/f')]));
    };
    ns1.handler = (call) => call.succeed(page([]));
    const reply = await client.call(OPEN_FILES);
    expect(responseOf('listOpenFiles', reply)).toMatchObject({ entries: [{ path: '/a/f' }], hasMore: false });
    await idle(router);
  });

  it('are looked through up to a bound', async () => {
    const { router, client } = await start({ settings: { callBudgetMs: 60_000 } });
    ns0.handler = (call) => call.succeed(page([file(1, '/hidden')], true));
    ns1.handler = (call) => call.succeed(page([]));
    expect((await client.call(OPEN_FILES)).message).toBe(
      `listOpenFiles: ${MAX_PAGES} pages of ns0 hold nothing that a mount point shows; ask a NameNode of ns0`,
    );
    await idle(router);
    let cookie = 0;
    ns0.handler = (call) => call.succeed({ corrupt: { files: ['/hidden'], cookie: String(++cookie) } });
    const reply = await client.call({ method: 'listCorruptFileBlocks', request: { path: '/a' } });
    expect(reply.message).toMatch(`${MAX_PAGES} pages of ns0 hold no file that can be seen below /a`);
    expect(cookie).toBe(MAX_PAGES);
  });

  it('that are empty but promise more are the end', async () => {
    const { client } = await start();
    for (const each of [ns0, ns1]) each.handler = (call) => call.succeed(page([], true));
    expect(responseOf('listOpenFiles', await client.call(OPEN_FILES))).toMatchObject({ entries: [], hasMore: false });
  });

  it('are not filled further when they are full', async () => {
    const { client } = await start();
    const full = (path: string): Plain[] =>
      Array.from({ length: FULL_PAGE_ENTRIES }, (_, i) => file(i + 1, `${path}/${i}`));
    for (const [each, path] of [
      [ns0, '/x'],
      [ns1, '/y'],
    ] as const) {
      each.handler = (call) => call.succeed(page(Number(call.request['id']) === 0 ? full(path) : []));
    }
    const first = responseOf('listOpenFiles', await client.call(OPEN_FILES));
    expect([(first['entries'] as Plain[]).length, first['hasMore']]).toEqual([FULL_PAGE_ENTRIES, true]);
    const id = (first['entries'] as Plain[]).at(-1)?.['id'];
    const second = responseOf(
      'listOpenFiles',
      await client.call({ ...OPEN_FILES, request: { ...OPEN_FILES.request, id } }),
    );
    expect([(second['entries'] as Plain[]).length, second['hasMore']]).toEqual([FULL_PAGE_ENTRIES, false]);
    const paths = [first, second].flatMap(({ entries }) => (entries as Plain[]).map(({ path }) => path));
    expect(new Set(paths).size).toBe(2 * FULL_PAGE_ENTRIES);
  });

  it('with an id beyond the bound are an error', async () => {
    const { client } = await start();
    ns0.handler = (call) => call.succeed(page([file(2 ** 50, '/x/f')]));
    ns1.handler = (call) => call.succeed(page([]));
    const reply = await client.call(OPEN_FILES);
    expect(reply.message).toMatch(/^ns0 has an id that is too large for a router of several nameservices: /);
  });

  it('that cannot be read are an error', async () => {
    const { router, client } = await start();
    for (const each of [ns0, ns1]) each.handler = (call) => call.succeedWith(Buffer.from([1, 0x0a]));
    expect((await client.call(OPEN_FILES)).message).toMatch(
      /^The answer of the NameNode to listOpenFiles cannot be read/,
    );
    expect(router.count('callsBroken')).toBe(0);
  });
});

describe('where a link leads', () => {
  it.each([
    ['beside the link', '/x/other', '/a/other'],
    ['below another mount', '/x/c/f', '/c/f'],
    ['to what no mount shows', '/elsewhere', '/elsewhere'],
    ['relative', 'other', 'other'],
  ])('%s', async (_, targetPath, expected) => {
    const { client } = await start();
    ns0.handler = (call) => call.succeed({ targetPath });
    const reply = await client.call({ method: 'getLinkTarget', request: { path: '/a/d/link' } });
    expect(responseOf('getLinkTarget', reply)).toEqual({ targetPath: expected });
    expect(ns0.calls.at(-1)?.request).toEqual({ path: '/x/d/link' });
  });
});

describe('cache pools', () => {
  const stats = (bytes: number, files: number): Plain => ({
    bytesNeeded: bytes,
    bytesCached: 1,
    bytesOverlimit: 0,
    filesNeeded: files,
    filesCached: files,
  });

  it('hold what they hold in all nameservices; who may read one in some sees it', async () => {
    const { client } = await start();
    const info = { poolName: 'p', ownerName: 'o', groupName: 'g', mode: 0o755, limit: 9 };
    ns0.handler = (call) =>
      call.succeed({ entries: [{ info: { poolName: 'p' }, stats: stats(0, 0) }], hasMore: false });
    ns1.handler = (call) => call.succeed({ entries: [{ info, stats: stats(70, 3) }], hasMore: false });
    expect(responseOf('listCachePools', await client.call(POOLS))).toEqual({
      entries: [{ info, stats: { ...stats(70, 3), bytesCached: 2 } }],
      hasMore: false,
    });
  });
});
