import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RpcClient } from '../../src/control/rpc-client.ts';
import { disposeOpened } from '../support/dispose-opened.ts';
import { InlineRouter, type InlineRouterOptions } from '../support/inline-router.ts';
import { RawClient } from '../support/raw-client.ts';
import { IO, type NameNodeCall, ScriptedNameNode, STANDBY } from '../support/scripted-namenode.ts';
import { waitUntil } from '../support/wait.ts';

/** Calls for all nameservices while one of them is sick. */

const BUDGET_MS = 1_500;
const ACCESS_CONTROL = 'org.apache.hadoop.security.AccessControlException';
const STATS = {
  low_redundancy: 1,
  corrupt_blocks: 0,
  missing_blocks: 0,
  blocks_in_future: 0,
  pending_deletion_blocks: 0,
};
const REPORT = { method: 'getDatanodeReport', request: { type: 'LIVE' } };
const STATISTICS = { method: 'getFsECBlockGroupStats', request: {} };
const REFRESH = { method: 'refreshNodes', request: {} };

let ns0: ScriptedNameNode;
let ns1: ScriptedNameNode;
const opened: (Disposable | AsyncDisposable)[] = [];

beforeEach(async () => {
  ns0 = await ScriptedNameNode.start('ns0');
  ns1 = await ScriptedNameNode.start('ns1');
  for (const each of [ns0, ns1]) each.handler = answer;
});

afterEach(async () => {
  await disposeOpened(opened);
  await ns0[Symbol.asyncDispose]();
  await ns1[Symbol.asyncDispose]();
});

function answer(call: NameNodeCall): void {
  call.succeed(call.method === 'getFsECBlockGroupStats' ? STATS : {});
}

async function start(options: Partial<InlineRouterOptions> = {}): Promise<{ router: InlineRouter; client: RawClient }> {
  const router = await InlineRouter.start({
    nameservices: { ns0: ns0.port, ns1: ns1.port },
    mounts: [],
    ...options,
    settings: { callBudgetMs: BUDGET_MS, mountStatusTimeoutMs: 100, ...options.settings },
  });
  opened.push(router);
  return { router, client: await connect(router) };
}

async function connect(router: InlineRouter): Promise<RawClient> {
  const client = await RawClient.connect(router, { user: 'alice' });
  opened.push(client);
  return client;
}

describe('a call that needs all nameservices', () => {
  /** The attempts may end by the call's budget before the wait for the nameservice does. */
  const unavailable = (method: string, trouble: string): RegExp =>
    new RegExp(
      `^No namenode available to invoke ${method} in ns1 from router:8888( within ${BUDGET_MS} ms)?; last trouble: 127.0.0.1:${ns1.port}${trouble}`,
    );

  it.each([STATISTICS, REPORT])('names the one that is dead: $method', async (call) => {
    const { router, client } = await start();
    await ns1.stop();
    const reply = await client.call(call);
    expect(reply.exception).toBe(STANDBY);
    expect(reply.message).toMatch(unavailable(call.method, ': connect ECONNREFUSED'));
    await waitUntil(() => router.engine.calls.inUse === 0, 'the parts have ended');
  });

  it('names the one that has only standby NameNodes', async () => {
    const { client } = await start();
    ns1.state = 'standby';
    const reply = await client.call(STATISTICS);
    expect(reply.exception).toBe(STANDBY);
    expect(reply.message).toMatch(unavailable(STATISTICS.method, ' is standby'));
  });

  it('names the one that is silent', async () => {
    const { router, client } = await start();
    ns1.handler = () => {};
    expect(await client.call(STATISTICS)).toMatchObject({
      exception: STANDBY,
      message: 'ns1 did not answer getFsECBlockGroupStats in time',
    });
    for (const call of ns1.calls) answer(call);
    await waitUntil(() => router.engine.calls.inUse === 0, 'the late reply is taken');
  });

  it('is answered when a failover ends in time', async () => {
    const { client } = await start({ settings: { callBudgetMs: 30_000 } });
    ns1.state = 'standby';
    client.send(STATISTICS);
    await ns1.waitForCall({ method: STATISTICS.method }, 2);
    ns1.state = 'active';
    expect((await client.receive()).status).toBe('SUCCESS');
  });

  it('is answered without a nameservice that has no NameNodes', async () => {
    const { client } = await start({ nameservices: { ns0: ns0.port, ns1: ns1.port, empty: [] } });
    expect(await client.result(STATISTICS)).toMatchObject({ low_redundancy: 2 });
  });

  it('fails where none has NameNodes', async () => {
    const { client } = await start({ nameservices: { empty: [] } });
    for (const call of [STATISTICS, REPORT, REFRESH]) {
      expect(await client.call(call)).toMatchObject({ exception: IO, message: 'No namespace available.' });
    }
  });

  it('ends with what a NameNode says, not with the wait for another', async () => {
    const { router, client } = await start({ settings: { callBudgetMs: 30_000 } });
    ns0.handler = (call) => call.fail(ACCESS_CONTROL, 'Access denied for user alice.');
    ns1.handler = () => {};
    expect(await client.call(REPORT)).toMatchObject({
      exception: ACCESS_CONTROL,
      message: 'Access denied for user alice.',
    });
    const late = await ns1.waitForCall({ method: REPORT.method });
    late.succeed({});
    await waitUntil(() => router.engine.calls.inUse === 0, 'the late reply is taken');
  });

  it('is an IOException that names the nameservice when a report cannot be read', async () => {
    const { router, client } = await start();
    // A DataNode without an id.
    ns1.handler = (call) => call.succeedWith(Buffer.from([4, 0x0a, 2, 0x10, 1]));
    expect(await client.call(REPORT)).toMatchObject({
      exception: IO,
      message:
        'The answer of the NameNode with its DataNodes cannot be read: that of ns1 is not valid: a DataNode without an id',
    });
    expect(router.count('callsBroken')).toBe(0);
  });
});

describe('what every NameNode is told', () => {
  it('is told to those that are there; the error names the one that is not', async () => {
    await using standby = await ScriptedNameNode.start('ns1 standby');
    standby.handler = answer;
    const { client } = await start({ nameservices: { ns0: ns0.port, ns1: [ns1.port, standby.port] } });
    await ns1.stop();
    const reply = await client.call(REFRESH);
    expect(reply.exception).toBe(STANDBY);
    const at = (port: number): string => `(127.0.0.1:${port})`;
    expect(reply.message).toContain(
      `[failed: ns1 ${at(ns1.port)}; done: ns0 ${at(ns0.port)}, ns1 ${at(standby.port)}]`,
    );
    expect([ns0, standby].map(({ calls }) => calls.length)).toEqual([1, 1]);
  });
});

describe('a shared DataNode report', () => {
  it('is asked for anew when the client that asked first has gone', async () => {
    const { router, client: first } = await start({ settings: { callBudgetMs: 30_000 } });
    const second = await connect(router);
    ns1.state = 'standby';
    first.send(REPORT);
    await ns1.waitForCall({ method: REPORT.method });
    second.send(REPORT);
    await waitUntil(() => router.engine.calls.inUse === 3, 'the first part is answered, the second call waits');
    first[Symbol.dispose]();
    await waitUntil(() => ns0.callsOf({ method: REPORT.method }).length === 2, 'the second asks itself');
    ns1.state = 'active';
    expect((await second.receive()).status).toBe('SUCCESS');
    await waitUntil(() => router.engine.calls.inUse === 0, 'nothing is left');
  });

  it('gives its memory back', async () => {
    const { router, client } = await start();
    expect((await client.call(REPORT)).status).toBe('SUCCESS');
    await waitUntil(() => router.block.usedKib === 0, 'it is no longer kept');
  });
});

describe('getGroupsForUser', () => {
  it('does not wait for a nameservice that cannot be reached', async () => {
    const { router } = await start({ settings: { callBudgetMs: 30_000 } });
    const rpc = await RpcClient.connect({ host: router.host, port: router.port, user: 'alice' });
    opened.push({ [Symbol.dispose]: () => rpc.close() });
    ns0.handler = (call) => call.succeed({ groups: ['staff'] });
    await ns1.stop();
    const { response } = await rpc.call(
      'org.apache.hadoop.tools.GetUserMappingsProtocol',
      'getGroupsForUser',
      'hadoop.common.GetGroupsForUserRequestProto',
      'hadoop.common.GetGroupsForUserResponseProto',
      { user: 'alice' },
    );
    expect(response).toEqual({ groups: ['staff'] });
  });
});

describe('renewLease over 64 nameservices', () => {
  it('is not held up by one that is silent', async () => {
    const namenodes = await Promise.all(Array.from({ length: 64 }, (_, i) => ScriptedNameNode.start(`n${i}`)));
    opened.push(...namenodes);
    const silent = namenodes[0] as ScriptedNameNode;
    silent.handler = () => {};
    const ports = Object.fromEntries(namenodes.map(({ port }, i) => [`n${i}`, port]));
    const { router, client } = await start({ nameservices: ports, settings: { callBudgetMs: 30_000 } });
    const renewal = { method: 'renewLease', request: { clientName: 'writer', namespaces: [] } };
    for (const times of [1, 2, 3]) {
      expect((await client.call(renewal)).status).toBe('SUCCESS');
      await Promise.all(namenodes.map((namenode) => namenode.waitForCall({ method: 'renewLease' }, times)));
    }
    for (const call of silent.calls) call.succeed();
    await waitUntil(() => router.engine.calls.inUse === 0, 'the late replies are taken');
  });
});
