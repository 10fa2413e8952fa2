import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RawCall, RawReply } from '../support/raw-client.ts';
import { all, disposeAll, ScriptedCluster } from '../support/scripted-cluster.ts';
import { answerPlainly, IO, type NameNodeCall, type ScriptedNameNode } from '../support/scripted-namenode.ts';

/** A NameNode that is slow with a call and a NameNode that hangs look alike from one connection; only the second may lose its calls. */

const HUNG_AFTER_MS = 500;
/** Silence, the sweep that sees it (each second), the probe that is not answered (a second), and what a busy machine adds. */
const MOVED_WITHIN_MS = 8000;
const LARGE_CALLS = 12;
const LARGE_BYTES = 1024 * 1024;

let cluster: ScriptedCluster;

beforeAll(async () => {
  cluster = await ScriptedCluster.start({
    nameservices: {
      busy: ['active', 'standby'],
      quiet: ['active', 'standby'],
      silent: ['active', 'standby'],
      single: ['active'],
      slow: ['active', 'standby'],
      failing: ['active', 'standby'],
    },
    set: [`switchyard.namenode.hung-after=${HUNG_AFTER_MS}ms`],
  });
});

afterAll(async () => {
  for (const namenode of cluster.all()) namenode.thaw();
  const counters = await cluster.stopAndCount();
  await cluster[Symbol.asyncDispose]();
  expect(counters.namenodesHung).toBe(2);
});

function read(src: string): RawCall {
  return { method: 'getFileInfo', request: { src } };
}

function expectSuccess(reply: RawReply): void {
  expect([reply.status, reply.exception, reply.message]).toEqual(['SUCCESS', '', '']);
}

function untilProbed(namenode: ScriptedNameNode, times: number): Promise<void> {
  const before = namenode.stateQuestions;
  return namenode.until(() => namenode.stateQuestions >= before + times, `${times} probes`, MOVED_WITHIN_MS);
}

describe.concurrent('a NameNode that holds one call', () => {
  it('and answers others is not asked for a sign of life', async ({ expect }) => {
    const namenode = cluster.namenode('busy');
    namenode.handler = (call) => call.path !== '/busy/held' && answerPlainly(call);
    using holding = await cluster.connect();
    using working = await cluster.connect('bob');
    const holds = holding.call(read('/busy/held'), MOVED_WITHIN_MS);
    const held = await namenode.waitForCall({ path: '/busy/held' });
    const questions = namenode.stateQuestions;
    const until = performance.now() + 5 * HUNG_AFTER_MS;
    // Bob's connection is another one: the held call's own is silent all the time.
    for (let i = 0; performance.now() < until; i++) {
      expectSuccess(await working.call(read('/busy/other')));
      if (i % 100 === 0) await new Promise((resolve) => setTimeout(resolve, HUNG_AFTER_MS / 10));
    }
    expect(namenode.stateQuestions).toBe(questions);
    answerPlainly(held);
    expectSuccess(await holds);
    expect(namenode.callsOf({ path: '/busy/held' })).toHaveLength(1);
    expect(cluster.namenode('busy', 1).calls).toHaveLength(0);
  });

  it('and nothing else, but answers a probe, is left alone', async ({ expect }) => {
    const namenode = cluster.namenode('quiet');
    namenode.handler = () => {};
    using client = await cluster.connect();
    const holds = client.call(
      { method: 'delete', request: { src: '/quiet/held', recursive: true } },
      3 * MOVED_WITHIN_MS,
    );
    const held = await namenode.waitForCall({ path: '/quiet/held' });
    await untilProbed(namenode, 2);
    // Probed by the router itself, on connections that carry nothing else.
    expect(namenode.openPeers('alice')).toEqual([held.peer]);
    answerPlainly(held);
    expectSuccess(await holds);
    expect(namenode.callsOf({ path: '/quiet/held' })).toHaveLength(1);
    expect(cluster.namenode('quiet', 1).calls).toHaveLength(0);
  });

  it('for long is asked once, whatever happens in another nameservice meanwhile', async ({ expect }) => {
    const namenode = cluster.namenode('slow');
    namenode.handler = () => {};
    using counting = await cluster.connect();
    using working = await cluster.connect();
    const summary: RawCall = { method: 'getContentSummary', request: { path: '/slow/tree' } };
    const counts = counting.call(summary, 3 * MOVED_WITHIN_MS);
    const asked = await namenode.waitForCall({ method: 'getContentSummary' });
    const probed = untilProbed(namenode, 2);
    const [first, second] = cluster.namenodes('failing') as [ScriptedNameNode, ScriptedNameNode];
    expectSuccess(await working.call(read('/failing/before')));
    first.state = 'standby';
    const duringFailover = working.call(read('/failing/during'));
    await second.until(() => second.calls.length > 0, 'the other one is asked');
    await first.stop();
    second.state = 'active';
    expectSuccess(await duringFailover);
    await probed;
    expectSuccess(await working.call(read('/failing/after')));
    answerPlainly(asked);
    expectSuccess(await counts);
    expect(namenode.callsOf({ method: 'getContentSummary' })).toHaveLength(1);
    expect(cluster.namenode('slow', 1).calls).toHaveLength(0);
  });
});

describe.concurrent('a NameNode that gives no sign of life', () => {
  it('loses its calls to the next one: those in flight, and those that wait for its socket', async ({ expect }) => {
    const [first, second] = cluster.namenodes('silent') as [ScriptedNameNode, ScriptedNameNode];
    using known = await cluster.connect();
    expectSuccess(await known.call(read('/silent/before')));
    first.freeze();
    second.state = 'active';
    const clients = await cluster.connectMany(LARGE_CALLS);
    using noId = await cluster.connect('alice', Buffer.alloc(0));
    const reads = known.call(read('/silent/read'), MOVED_WITHIN_MS);
    const deletes = noId.call({ method: 'delete', request: { src: '/silent/gone', recursive: true } }, MOVED_WITHIN_MS);
    // More than the kernel takes for a reader that does not read: the last ones never leave the router.
    const value = Buffer.alloc(LARGE_BYTES, 7);
    const sets = clients.map((client, i) =>
      client.call(
        {
          method: 'setXAttr',
          request: { src: `/silent/large-${i}`, xAttr: { namespace: 'USER', name: 'n', value }, flag: 1 },
        },
        MOVED_WITHIN_MS,
      ),
    );
    const [reading, deleting] = [await reads, await deletes];
    expectSuccess(reading);
    // It may have been executed before the NameNode fell silent, and nothing would recognise it.
    expect([deleting.status, deleting.exception]).toEqual(['ERROR', IO]);
    expect(deleting.message).toContain('is hung');
    for (const reply of await all(sets)) expectSuccess(reply);
    expect(second.callsOf({ method: 'setXAttr' })).toHaveLength(LARGE_CALLS);
    expect(second.callsOf({ method: 'delete' })).toHaveLength(0);

    // Later calls do not try it again, and what it says when it comes back is said to nobody.
    const peers = first.peers.length;
    expectSuccess(await known.call(read('/silent/after')));
    first.thaw();
    expectSuccess(await known.call(read('/silent/afterwards')));
    expect(first.peers).toHaveLength(peers);
    expect(second.callsOf({ method: 'getFileInfo' })).toHaveLength(3);
    disposeAll(clients);
  });

  it('and is the only one answers its calls when it goes on', async ({ expect }) => {
    const namenode = cluster.namenode('single');
    using client = await cluster.connect();
    expectSuccess(await client.call(read('/single/before')));
    const connection = (namenode.calls[0] as NameNodeCall).peer;
    namenode.freeze();
    const waits = client.call(read('/single/during'), 3 * MOVED_WITHIN_MS);
    // A frozen NameNode sees neither probe nor end of its connection; the second attempt shows as a new connection.
    const attempts = namenode.peers.length + 2;
    await namenode.until(() => namenode.peers.length >= attempts, 'probe and new attempt', MOVED_WITHIN_MS);
    namenode.thaw();
    expectSuccess(await waits);
    const calls = namenode.callsOf({ path: '/single/during' });
    expect((calls.at(-1) as NameNodeCall).peer).not.toBe(connection);
  });
});
