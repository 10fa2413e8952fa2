import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Plain } from '../../src/wire/messages.ts';
import { disposeOpened } from '../support/dispose-opened.ts';
import { InlineRouter, type InlineRouterOptions } from '../support/inline-router.ts';
import { decodeResponse, RawClient, type RawReply } from '../support/raw-client.ts';
import { answerPlainly, fileStatus, IO, ScriptedNameNode } from '../support/scripted-namenode.ts';
import { waitUntil } from '../support/wait.ts';

/** Calls that need more than one nameservice, or need none: what one dead or silent nameservice does to them. */

const DEFAULT_NS0 = { 'dfs.federation.router.default.nameserviceId': 'ns0' };
const MOUNTS = ['/one=ns1:/one', '/top/two=ns1:/two', '/nest=ns0:/nest', '/nest/in=ns1:/in'];
const SOON_MS = 150;
/** Far more than a test takes: what waits for it is late. */
const BUDGET_MS = 60_000;
const ACCESS_CONTROL = 'org.apache.hadoop.security.AccessControlException';

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
    mounts: MOUNTS,
    keys: DEFAULT_NS0,
    ...options,
    settings: { mountStatusTimeoutMs: SOON_MS, callBudgetMs: BUDGET_MS, ...options.settings },
  });
  opened.push(router);
  const client = await RawClient.connect(router, { user: 'alice' });
  opened.push(client);
  return { router, client };
}

const listing = (src: string) => ({
  method: 'getListing',
  request: { src, startAfter: Buffer.alloc(0), needLocation: false },
});
const status = (src: string) => ({ method: 'getFileInfo', request: { src } });

async function namesIn(client: RawClient, src: string): Promise<string[]> {
  const { dirList } = (await client.result(listing(src))) as { dirList: { partialListing: Plain[] } };
  return dirList.partialListing.map(({ path }) => String(path));
}

describe('a directory with mount points below', () => {
  it('is made of them while no NameNode of its nameservice is active; the parts left behind end by themselves', async () => {
    const { router, client } = await start();
    ns0.state = 'standby';
    expect(await namesIn(client, '/')).toEqual(['nest', 'one', 'top']);
    expect(await namesIn(client, '/nest')).toEqual(['in']);
    expect(await client.result(status('/top'))).toMatchObject({ fs: { fileType: 'IS_DIR', owner: 'router' } });
    await waitUntil(() => router.engine.calls.inUse === 0, 'the parts have ended');
    ns0.state = 'active';
    expect((await client.result(status('/nest/x')))['fs']).toMatchObject({ fileType: 'IS_FILE' });
  });

  it('is waited for while a NameNode is at it, however slow: what it has belongs to the answer', async () => {
    const { router, client } = await start();
    ns0.handler = () => {};
    client.send(listing('/'));
    client.send(status('/nest'));
    await ns0.until(() => ns0.calls.length === 2, 'both are at the NameNode');
    // Two deadlines pass without an answer.
    const seen = router.engine.clock.nowMs;
    await waitUntil(() => router.engine.clock.nowMs > seen + 2 * SOON_MS, 'the time-out has passed twice');
    ns0.handler = answerPlainly;
    for (const call of [...ns0.calls]) {
      if (call.method === 'getFileInfo') call.succeed({ fs: { ...fileStatus(77), fileType: 'IS_DIR' } });
      else call.succeed({ dirList: { partialListing: [fileStatus(1, 'file')], remainingEntries: 0 } });
    }
    // The listing asks for the mount points that it shows before it is given.
    const replies = [await client.receive(), await client.receive()];
    const listed = decodeResponse('getListing', (replies[1] as RawReply).body) as {
      dirList: { partialListing: Plain[] };
    };
    expect(listed.dirList.partialListing.map(({ path }) => String(path))).toEqual(['file', 'nest', 'one', 'top']);
    expect(decodeResponse('getFileInfo', (replies[0] as RawReply).body)).toMatchObject({ fs: { length: 77 } });
  });

  it('is not made of them on a later page: names of the NameNode would be missing', async () => {
    const { client } = await start({ settings: { callBudgetMs: 3 * SOON_MS } });
    ns0.state = 'standby';
    const page = { method: 'getListing', request: { src: '/', startAfter: Buffer.from('a'), needLocation: false } };
    expect(await client.call(page)).toMatchObject({ exception: 'org.apache.hadoop.ipc.StandbyException' });
  });

  it('keeps its part within the memory limit', async () => {
    const { router, client } = await start({
      settings: { memoryBytes: 4_000_000, maxRequestBytes: 1_300_000, mountStatusTimeoutMs: BUDGET_MS },
    });
    ns0.handler = () => {};
    const padded = { src: '/', startAfter: Buffer.alloc(0), needLocation: false };
    const big = { ...listing('/'), request: padded, header: { callerContext: { context: 'x'.repeat(1_000_000) } } };
    for (let i = 0; i < 6; i++) client.send(big);
    const refused = await client.receive();
    expect(refused).toMatchObject({ exception: 'org.apache.hadoop.ipc.StandbyException' });
    expect(router.block.usedKib).toBeLessThanOrEqual(4_000_000 / 1024);
    expect(ns0.calls.length).toBeLessThan(3);
  });

  it('is made of them at once when its nameservice has no NameNode', async () => {
    const { client } = await start({
      nameservices: { ns0: [], ns1: ns1.port },
      settings: { mountStatusTimeoutMs: BUDGET_MS },
    });
    expect(await namesIn(client, '/')).toEqual(['nest', 'one', 'top']);
    expect(await client.result(status('/'))).toMatchObject({ fs: { childrenNum: 3 } });
  });

  it('is made of them when its NameNodes are gone; the parts left behind end before they are sent', async () => {
    const { router, client } = await start();
    await ns0.stop();
    expect(await namesIn(client, '/')).toEqual(['nest', 'one', 'top']);
    await waitUntil(() => router.engine.calls.inUse === 0, 'the part has ended, long before its budget');
    expect(router.count('callsExpired')).toBe(0);
  });

  it('is what its nameservice says when that answers in time, errors too', async () => {
    const { client } = await start({ settings: { mountStatusTimeoutMs: BUDGET_MS } });
    const dirList = { partialListing: [fileStatus(1, 'file')], remainingEntries: 0 };
    ns0.handler = (call) => (call.method === 'getListing' ? call.succeed({ dirList }) : answerPlainly(call));
    expect(await namesIn(client, '/')).toEqual(['file', 'nest', 'one', 'top']);
    ns0.handler = (call) => call.fail(ACCESS_CONTROL, `Permission denied: inode="${call.path}"`);
    expect(await client.call(listing('/nest'))).toMatchObject({
      exception: ACCESS_CONTROL,
      message: 'Permission denied: inode="/nest"',
    });
  });
});

describe('a path by inode number', () => {
  const INODE = '/.reserved/.inodes/16386';

  it('says which nameservice could not be asked, in time', async () => {
    const { router, client } = await start();
    ns1.handler = () => {};
    expect(await client.call(status(INODE))).toMatchObject({
      exception: IO,
      message: `${INODE} cannot be resolved: ns1 could not be asked: no answer within ${SOON_MS} ms (dfs.federation.router.client.mount-status.time-out)`,
    });
    for (const call of ns1.calls) answerPlainly(call);
    await waitUntil(() => router.engine.calls.inUse === 0, 'the late reply is taken');
  });

  it('is found when all have answered, also under a mount of the root', async () => {
    const { client } = await start({ mounts: ['/=ns0:/', '/data=ns1:/data'], keys: {} });
    ns0.handler = (call) => call.succeed({});
    ns1.handler = (call) => call.succeed({ fs: fileStatus(77) });
    expect(await client.result(status(INODE))).toMatchObject({ fs: { length: 77 } });
    ns0.handler = ns1.handler;
    expect((await client.call(status(INODE))).message).toContain('is a file of several nameservices (ns0, ns1)');
  });
});

describe('a call that any nameservice answers', () => {
  const CALL = { method: 'getStoragePolicies', request: {} };

  it('is not asked of a nameservice without NameNodes', async () => {
    const { client } = await start({ nameservices: { ns0: [], ns1: ns1.port } });
    expect((await client.call(CALL)).status).toBe('SUCCESS');
    expect(ns1.calls.map(({ method }) => method)).toEqual(['getStoragePolicies']);
  });

  it('fails when there is no other', async () => {
    const { client } = await start({ nameservices: { ns0: [] }, mounts: ['/a=ns0:/a'] });
    expect(await client.call(CALL)).toMatchObject({ exception: IO, message: 'No namespace available.' });
  });
});

describe('a mount table that changes while calls wait', () => {
  const BEFORE = ['/m=ns0:/old'];
  const AFTER = ['/m=ns1:/new', '/m/below=ns0:/x'];

  it.each<[string, { method: string; request: object }, object]>([
    [
      'concat',
      { method: 'concat', request: { trg: '/m/t', srcs: ['/m/a', '/m/b'] } },
      { trg: '/new/t', srcs: ['/new/a', '/new/b'] },
    ],
    ['getFileInfo of a mount point', status('/m'), { src: '/new' }],
    [
      'createSnapshot',
      { method: 'createSnapshot', request: { snapshotRoot: '/m/s', snapshotName: 'n' } },
      { snapshotRoot: '/new/s', snapshotName: 'n' },
    ],
  ])('%s goes where the new one says', async (_, call, expected) => {
    const { router, client } = await start({ mounts: BEFORE });
    ns0.state = 'standby';
    ns1.handler = (each) =>
      each.method === 'createSnapshot' ? each.succeed({ snapshotPath: '/new/s/.snapshot/n' }) : answerPlainly(each);
    client.send(call);
    const first = await ns0.waitForCall({ method: call.method });
    expect(first.request).not.toMatchObject(expected);
    router.swapMounts(AFTER);
    const reply: RawReply = await client.receive();
    expect([reply.status, reply.message]).toEqual(['SUCCESS', '']);
    expect(ns1.calls.map(({ request }) => request)).toEqual([expect.objectContaining(expected)]);
    if (call.method === 'createSnapshot') expect(reply.body.toString()).toContain('/m/s/.snapshot/n');
    await waitUntil(() => router.engine.calls.inUse === 0, 'nothing is left');
  });

  it('concat keeps its own request when no path is replaced any more', async () => {
    const { router, client } = await start({ mounts: BEFORE });
    ns0.state = 'standby';
    client.send({ method: 'concat', request: { trg: '/m/t', srcs: ['/m/a'] } });
    await ns0.waitForCall({ method: 'concat' });
    router.swapMounts(['/m=ns1:/m']);
    expect((await client.receive()).status).toBe('SUCCESS');
    expect(ns1.calls.map(({ request }) => request)).toEqual([{ trg: '/m/t', srcs: ['/m/a'] }]);
  });
});
