import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MAX_CONCAT_FILES } from '../../src/composed/moves/concat.ts';
import type { Plain } from '../../src/wire/messages.ts';
import { disposeOpened } from '../support/dispose-opened.ts';
import { InlineRouter, type InlineRouterOptions } from '../support/inline-router.ts';
import { RawClient } from '../support/raw-client.ts';
import { fileStatus, IO, type NameNodeCall, ScriptedNameNode } from '../support/scripted-namenode.ts';
import { severalMount } from '../support/several-mounts.ts';
import { waitUntil } from '../support/wait.ts';

/** Moves, joins and reports over two nameservices, one of which is dead, silent or refuses. `/m` is ns0:/m0 and ns1:/m1. */

const SOON_MS = 150;
/** Far more than a test takes: what waits for it is late. */
const BUDGET_MS = 60_000;
const ACCESS_CONTROL = 'org.apache.hadoop.security.AccessControlException';
const NOT_FOUND = 'java.io.FileNotFoundException';
const STANDBY = 'org.apache.hadoop.ipc.StandbyException';
const DIRECTORY: Plain = { ...fileStatus(), fileType: 'IS_DIR', childrenNum: 1 };

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
    mounts: [severalMount()],
    ...options,
    settings: { mountStatusTimeoutMs: SOON_MS, callBudgetMs: BUDGET_MS, ...options.settings },
  });
  opened.push(router);
  const client = await RawClient.connect(router, { user: 'alice' });
  opened.push(client);
  return { router, client };
}

/** What a NameNode has: a status by path. Changes succeed, unless `change` takes them. */
function holding(
  statuses: Record<string, Plain>,
  change: (call: NameNodeCall) => void = (call) => call.succeed(call.method === 'rename' ? { result: true } : {}),
): (call: NameNodeCall) => void {
  return (call) => {
    const status = statuses[call.path] ?? (/^\/m\d$/.test(call.path) ? DIRECTORY : null);
    if (call.method !== 'getFileInfo') change(call);
    else call.succeed(status === null ? {} : { fs: status });
  };
}

const rename2 = (src: string, dst: string, callId = 3, retryCount = 0) => ({
  method: 'rename2',
  request: { src, dst, overwriteDest: false, moveToTrash: true },
  callId,
  retryCount,
});

describe('a directory in both nameservices', () => {
  it('does not move at all while one of them is dead', async () => {
    const { router, client } = await start({ settings: { callBudgetMs: 4 * SOON_MS } });
    ns0.handler = holding({ '/m0/d': DIRECTORY });
    await ns1.stop();
    const reply = await client.call(rename2('/m/d', '/m/e'));
    expect(reply.exception).toBe(STANDBY);
    expect(reply.message).toContain('ns1');
    expect(ns0.callsOf({ method: 'rename2' })).toEqual([]);
    await waitUntil(() => router.engine.calls.inUse === 0, 'all parts have ended');
  });

  it('does not move where it cannot be known whether the new name is free', async () => {
    const { client } = await start();
    ns0.handler = holding({ '/m0/d': DIRECTORY });
    ns1.handler = (call) => {
      if (call.path === '/m1/e') call.fail(ACCESS_CONTROL, 'Permission denied: inode="/m1"');
      else holding({ '/m1/d': DIRECTORY })(call);
    };
    expect(await client.call(rename2('/m/d', '/m/e'))).toMatchObject({ exception: ACCESS_CONTROL });
    expect([...ns0.callsOf({ method: 'rename2' }), ...ns1.callsOf({ method: 'rename2' })]).toEqual([]);
  });

  it.each(['rename', 'rename2'])(
    'has moved (%s) when one of them refuses after all, and that is counted',
    async (method) => {
      const { router, client } = await start();
      ns0.handler = holding({ '/m0/d': DIRECTORY });
      ns1.handler = holding({ '/m1/d': DIRECTORY }, (call) => call.fail(ACCESS_CONTROL, 'Permission denied'));
      const request = method === 'rename' ? { src: '/m/d', dst: '/m/e' } : rename2('/m/d', '/m/e').request;
      expect((await client.call({ method, request })).status).toBe('SUCCESS');
      expect(router.count('divergences')).toBe(1);
      // The last one refuses as well: nothing has happened, and nothing differs.
      ns0.handler = holding({ '/m0/d': DIRECTORY }, (call) => call.fail(ACCESS_CONTROL, 'Permission denied'));
      expect(await client.call({ method, request })).toMatchObject({ exception: ACCESS_CONTROL });
      expect(router.count('divergences')).toBe(1);
    },
  );

  it('moves in both at once, each time with the ids of the client', async () => {
    const { client } = await start();
    const held: NameNodeCall[] = [];
    ns0.handler = holding({ '/m0/d': DIRECTORY }, (call) => held.push(call));
    ns1.handler = holding({ '/m1/d': DIRECTORY }, (call) => held.push(call));
    client.send(rename2('/m/d', '/m/e', 77));
    const calls = await Promise.all([ns0, ns1].map((each) => each.waitForCall({ method: 'rename2' })));
    for (const [i, call] of calls.entries()) {
      expect(call.request).toMatchObject({ src: `/m${i}/d`, dst: `/m${i}/e`, moveToTrash: true });
      expect([call.callId, call.clientId]).toEqual([77, client.clientId]);
    }
    for (const call of held) call.succeed();
    expect((await client.receive()).status).toBe('SUCCESS');
  });
});

describe('a directory that moved in one nameservice before the call came again', () => {
  it('moves in the other, although its new name is there', async () => {
    const { client } = await start();
    ns0.handler = holding({ '/m0/e': DIRECTORY });
    ns1.handler = holding({ '/m1/d': DIRECTORY });
    expect((await client.call(rename2('/m/d', '/m/e', 4, 1))).status).toBe('SUCCESS');
    for (const each of [ns0, ns1]) expect(each.callsOf({ method: 'rename2' }).map(({ callId }) => callId)).toEqual([4]);
    // Another call is told that the name is taken.
    expect(await client.call(rename2('/m/d', '/m/e', 5))).toMatchObject({
      exception: 'org.apache.hadoop.fs.FileAlreadyExistsException',
    });
  });
});

describe('a file in one nameservice', () => {
  it('moves although the other is dead', async () => {
    const { client } = await start();
    ns0.handler = holding({ '/m0/f': fileStatus() });
    await ns1.stop();
    expect((await client.call(rename2('/m/f', '/m/g'))).status).toBe('SUCCESS');
    expect(ns0.callsOf({ method: 'rename2' }).length).toBe(1);
  });

  it('may be in the one that is dead: who has it is not known', async () => {
    const { client } = await start({ settings: { callBudgetMs: 4 * SOON_MS } });
    ns0.handler = holding({});
    await ns1.stop();
    const reply = await client.call(rename2('/m/f', '/m/g'));
    expect(reply).toMatchObject({ exception: STANDBY });
    expect(reply.message).toContain('ns1');
    expect(ns0.callsOf({ method: 'rename2' })).toEqual([]);
  });

  it('that is gone is asked for everywhere: one of them has moved it before', async () => {
    const { router, client } = await start();
    ns0.handler = holding({}, (call) => call.fail(NOT_FOUND, `rename source ${call.path} is not found.`));
    ns1.handler = holding({});
    expect((await client.call(rename2('/m/f', '/m/g', 9, 1))).status).toBe('SUCCESS');
    expect(ns1.callsOf({ method: 'rename2' })[0]?.callId).toBe(9);
    expect(router.count('divergences')).toBe(0);
    ns1.handler = ns0.handler;
    expect(await client.call(rename2('/m/f', '/m/g', 10))).toMatchObject({
      exception: NOT_FOUND,
      message: 'rename source /m/f is not found.',
    });
  });

  it('takes the place of one in the other; that this stays is counted', async () => {
    const { router, client } = await start();
    ns0.handler = holding({ '/m0/f': fileStatus() });
    ns1.handler = holding({ '/m1/g': fileStatus() }, (call) => call.fail(ACCESS_CONTROL, 'Permission denied'));
    const call = { method: 'rename2', request: { src: '/m/f', dst: '/m/g', overwriteDest: true } };
    expect((await client.call(call)).status).toBe('SUCCESS');
    expect(ns1.callsOf({ method: 'delete' }).map(({ path }) => path)).toEqual(['/m1/g']);
    expect(router.count('divergences')).toBe(1);
  });
});

describe('a concat', () => {
  const CALL = { method: 'concat', request: { trg: '/m/t', srcs: ['/m/a'] } };

  it('does not need the nameservice that has none of its files', async () => {
    const { client } = await start();
    ns0.handler = holding({ '/m0/t': fileStatus(), '/m0/a': fileStatus() });
    await ns1.stop();
    expect((await client.call(CALL)).status).toBe('SUCCESS');
    expect(ns0.callsOf({ method: 'concat' })[0]?.request).toMatchObject({ trg: '/m0/t', srcs: ['/m0/a'] });
  });

  it('of more files than are looked for is refused', async () => {
    const { client } = await start();
    const srcs = Array.from({ length: MAX_CONCAT_FILES }, (_, i) => `/m/${i}`);
    const reply = await client.call({ method: 'concat', request: { trg: '/m/t', srcs } });
    expect(reply).toMatchObject({ exception: IO, message: expect.stringContaining('join them in parts') });
    expect(ns0.calls).toEqual([]);
  });

  it('names the nameservice that may have one and is dead', async () => {
    const { client } = await start({ settings: { callBudgetMs: 4 * SOON_MS } });
    ns0.handler = holding({ '/m0/t': fileStatus() });
    await ns1.stop();
    const reply = await client.call(CALL);
    expect(reply).toMatchObject({ exception: STANDBY });
    expect(reply.message).toContain('ns1');
  });
});

describe('a report of bad blocks', () => {
  const block = (poolId: string): Plain => ({
    b: { poolId, blockId: 1, generationStamp: 1 },
    offset: 0,
    corrupt: false,
    blockToken: { identifier: Buffer.alloc(0), password: Buffer.alloc(0), kind: '', service: '' },
  });
  const CALL = { method: 'reportBadBlocks', request: { blocks: [block('BP-ns0'), block('BP-ns1')] } };

  it('goes to both at once, and the first failure is the answer', async () => {
    const { router, client } = await start();
    router.engine.blockPools.set('BP-ns0', 0);
    router.engine.blockPools.set('BP-ns1', 1);
    const held: NameNodeCall[] = [];
    ns0.handler = (call) => void held.push(call);
    ns1.handler = (call) => call.succeed();
    client.send(CALL);
    await Promise.all([ns0, ns1].map((each) => each.waitForCall({ method: 'reportBadBlocks' })));
    for (const call of held) call.fail(IO, 'no such block');
    expect(await client.receive()).toMatchObject({ exception: IO, message: 'no such block' });
  });
});
