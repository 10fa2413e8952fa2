import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MAX_SUBTREE_PLACES } from '../../src/composed/subtree/regions.ts';
import type { Plain } from '../../src/wire/messages.ts';
import { disposeOpened } from '../support/dispose-opened.ts';
import { InlineRouter, type InlineRouterOptions } from '../support/inline-router.ts';
import { RawClient } from '../support/raw-client.ts';
import { IO, type NameNodeCall, ScriptedNameNode } from '../support/scripted-namenode.ts';
import { waitUntil } from '../support/wait.ts';

/** Content summaries and quota usage over nameservices of which one is dead, silent or slow. */

const KEYS = { 'dfs.federation.router.default.nameserviceId': 'ns0' };
const MOUNTS = ['/one=ns1:/one'];
const SOON_MS = 150;
/** Far more than a test takes: what waits for it is late. */
const BUDGET_MS = 60_000;
const STANDBY = 'org.apache.hadoop.ipc.StandbyException';
const NOT_FOUND = 'java.io.FileNotFoundException';

let ns0: ScriptedNameNode;
let ns1: ScriptedNameNode;
const opened: (Disposable | AsyncDisposable)[] = [];

beforeEach(async () => {
  ns0 = await ScriptedNameNode.start('ns0');
  ns1 = await ScriptedNameNode.start('ns1');
  ns0.handler = answerFrom({ '/': [10, 5], '/one': [2, 1], '/m': [1, 3] });
  ns1.handler = answerFrom({ '/one': [4, 2], '/m': [2, 4] });
});

afterEach(async () => {
  await disposeOpened(opened);
  await ns0[Symbol.asyncDispose]();
  await ns1[Symbol.asyncDispose]();
});

function summary(fileCount: number, directoryCount: number): Plain {
  return { length: 0, fileCount, directoryCount, quota: -1, spaceConsumed: 0, spaceQuota: -1 };
}

/** As many directories as are counted below the path, one beside the other; none below another path. */
function listing(directories: number): Plain {
  const partialListing = Array.from({ length: directories }, (_, i) => ({
    fileType: 'IS_DIR',
    path: Buffer.from(`d${i}`),
    length: 0,
    permission: { perm: 0o755 },
    owner: 'hdfs',
    group: 'supergroup',
    modification_time: 0,
    access_time: 0,
  }));
  return { dirList: { partialListing, remainingEntries: 0 } };
}

/** Files and directories by path; any other path does not exist. */
function answerFrom(counts: Readonly<Record<string, readonly [number, number]>>): (call: NameNodeCall) => void {
  return (call) => {
    const path = String(call.request['path'] ?? call.path);
    const count = counts[path];
    if (call.method === 'getFileInfo') call.succeed({});
    else if (call.method === 'getListing') call.succeed(listing((count?.[1] ?? 1) - 1));
    else if (count === undefined) call.fail(NOT_FOUND, `File does not exist: ${path}`);
    else if (call.method === 'getContentSummary') call.succeed({ summary: summary(...count) });
    else {
      const fileAndDirectoryCount = count[0] + count[1];
      call.succeed({ usage: { fileAndDirectoryCount, quota: -1, spaceConsumed: 0, spaceQuota: -1 } });
    }
  };
}

async function start(options: Partial<InlineRouterOptions> = {}): Promise<{ router: InlineRouter; client: RawClient }> {
  const router = await InlineRouter.start({
    nameservices: { ns0: ns0.port, ns1: ns1.port },
    mounts: MOUNTS,
    keys: KEYS,
    ...options,
    settings: { mountStatusTimeoutMs: SOON_MS, callBudgetMs: BUDGET_MS, ...options.settings },
  });
  opened.push(router);
  const client = await RawClient.connect(router, { user: 'alice' });
  opened.push(client);
  return { router, client };
}

const summaryOf = (path: string) => ({ method: 'getContentSummary', request: { path } });
const usageOf = (path: string) => ({ method: 'getQuotaUsage', request: { path } });

describe('a content summary over a sick nameservice', () => {
  it('takes away what the mount point hides', async () => {
    const { client } = await start();
    expect(await client.result(summaryOf('/'))).toMatchObject({ summary: { fileCount: 12, directoryCount: 6 } });
  });

  it('leaves it out; its mount point stays a directory; what was on its way ends', async () => {
    const { router, client } = await start();
    ns1.state = 'standby';
    expect(await client.result(summaryOf('/'))).toMatchObject({ summary: { fileCount: 8, directoryCount: 5 } });
    await waitUntil(() => router.engine.calls.inUse === 0, 'the part has ended');
    await ns1.stop();
    expect(await client.result(summaryOf('/'))).toMatchObject({ summary: { fileCount: 8, directoryCount: 5 } });
    await waitUntil(() => router.engine.calls.inUse === 0, 'the part has ended');
  });

  it('leaves out what hides in it too', async () => {
    const { client } = await start();
    ns0.state = 'standby';
    expect(await client.result(summaryOf('/'))).toMatchObject({ summary: { fileCount: 4, directoryCount: 3 } });
  });

  it('waits for one that was reached, however slow', async () => {
    const { router, client } = await start();
    const answer = ns1.handler;
    ns1.handler = () => {};
    client.send(summaryOf('/'));
    await ns1.until(() => ns1.calls.length === 1, 'it is asked');
    const seen = router.engine.clock.nowMs;
    await waitUntil(() => router.engine.clock.nowMs > seen + 2 * SOON_MS, 'the time-out has passed twice');
    for (const call of ns1.calls) answer(call);
    expect((await client.receive()).status).toBe('SUCCESS');
  });

  it('fails and names it when partial answers are off', async () => {
    const { client } = await start({
      keys: { ...KEYS, 'dfs.federation.router.client.allow-partial-listing': 'false' },
      settings: { callBudgetMs: 3 * SOON_MS },
    });
    ns1.state = 'standby';
    expect(await client.call(summaryOf('/'))).toMatchObject({
      exception: STANDBY,
      message: expect.stringContaining('ns1'),
    });
  });

  it('fails when nothing else answers', async () => {
    const mounts = [{ srcPath: '/m', destinations: places('/m'), destOrder: 'HASH_ALL' }];
    const { client } = await start({ mounts, settings: { callBudgetMs: 3 * SOON_MS } });
    expect(await client.result(summaryOf('/m'))).toMatchObject({ summary: { fileCount: 3, directoryCount: 4 } });
    ns1.state = 'standby';
    expect(await client.result(summaryOf('/m'))).toMatchObject({ summary: { fileCount: 1, directoryCount: 3 } });
    expect(await client.call(summaryOf('/m/x'))).toMatchObject({ exception: STANDBY });
    ns0.state = 'standby';
    expect(await client.call(summaryOf('/m'))).toMatchObject({ exception: STANDBY });
  });

  it('does not take less than all of one location for the whole: it is waited for', async () => {
    const { router, client } = await start();
    ns1.state = 'standby';
    client.send(summaryOf('/one'));
    const seen = router.engine.clock.nowMs;
    await waitUntil(() => router.engine.clock.nowMs > seen + 2 * SOON_MS, 'the time-out has passed twice');
    ns1.state = 'active';
    expect((await client.receive()).status).toBe('SUCCESS');
  });

  it('is refused for what a NameNode has against it', async () => {
    const { client } = await start();
    ns1.handler = (call) => call.fail('org.apache.hadoop.security.AccessControlException', 'Permission denied: /one');
    expect(await client.call(summaryOf('/'))).toMatchObject({
      exception: 'org.apache.hadoop.security.AccessControlException',
      message: 'Permission denied: /one',
    });
  });
});

describe('a content summary over very many mount points', () => {
  const mountsBelow = (count: number) => Array.from({ length: count }, (_, i) => `/d/m${i}=ns${i % 2}:/x${i}`);

  it('has them all, and gives its memory back', async () => {
    const { router, client } = await start({ mounts: mountsBelow(1_000) });
    const handler = (call: NameNodeCall): void => {
      if (call.method === 'getFileInfo') call.succeed({});
      else if (/^.x\d+$/.test(String(call.request['path']))) call.succeed({ summary: summary(2, 1) });
      else call.fail(NOT_FOUND, 'not there');
    };
    ns0.handler = handler;
    ns1.handler = handler;
    // `/d` itself is a directory too.
    expect(await client.result(summaryOf('/d'))).toMatchObject({
      summary: { fileCount: 2_000, directoryCount: 1_001 },
    });
    await waitUntil(() => router.block.usedKib === 0, 'nothing is claimed any more');
  });

  it('is refused, before anything is asked', async () => {
    const { client } = await start({ mounts: mountsBelow(MAX_SUBTREE_PLACES) });
    expect(await client.call(summaryOf('/d'))).toMatchObject({
      exception: IO,
      message: expect.stringContaining('mount points below /d lead to more than'),
    });
    expect([ns0.calls.length, ns1.calls.length]).toEqual([0, 0]);
  });
});

describe('quota usage over a sick nameservice', () => {
  it('is never partial', async () => {
    const { client } = await start({ settings: { callBudgetMs: 3 * SOON_MS } });
    expect(await client.result(usageOf('/'))).toMatchObject({ usage: { fileAndDirectoryCount: 18 } });
    ns1.state = 'standby';
    expect(await client.call(usageOf('/'))).toMatchObject({
      exception: STANDBY,
      message: expect.stringContaining('ns1'),
    });
  });
});

function places(path: string): { nameserviceId: string; path: string }[] {
  return ['ns0', 'ns1'].map((nameserviceId) => ({ nameserviceId, path }));
}
