import dns from 'node:dns';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { disposeOpened } from '../support/dispose-opened.ts';
import { InlineRouter } from '../support/inline-router.ts';
import { RawClient, type RawReply } from '../support/raw-client.ts';
import { answerPlainly, IO, ScriptedNameNode, STANDBY } from '../support/scripted-namenode.ts';
import { waitUntil } from '../support/wait.ts';

/** NameNodes that no call goes to for a while, and what becomes of the calls; times that are over. */

const USERS = 20;
const opened: (Disposable | AsyncDisposable)[] = [];

afterEach(async () => {
  vi.restoreAllMocks();
  await disposeOpened(opened);
});

async function makeNameNode(name: string, state: ScriptedNameNode['state'] = 'active'): Promise<ScriptedNameNode> {
  const namenode = await ScriptedNameNode.start(name, state);
  opened.push(namenode);
  return namenode;
}

async function makeRouter(
  namenodes: readonly ScriptedNameNode[],
  options: Partial<Parameters<typeof InlineRouter.start>[0]> = {},
): Promise<InlineRouter> {
  const router = await InlineRouter.start({
    nameservices: { ns0: namenodes.map(({ port }) => port) },
    mounts: ['/ns0=ns0:/ns0'],
    ...options,
  });
  opened.push(router);
  return router;
}

async function makeClient(router: InlineRouter, user = 'alice'): Promise<RawClient> {
  const client = await RawClient.connect(router, { user });
  opened.push(client);
  return client;
}

function ask(client: RawClient, src = '/ns0/file'): Promise<RawReply> {
  return client.call({ method: 'getFileInfo', request: { src } });
}

function change(client: RawClient): Promise<RawReply> {
  return client.call({ method: 'delete', request: { src: '/ns0/file', recursive: false } });
}

async function expectSuccess(reply: Promise<RawReply>): Promise<void> {
  const { status, exception, message } = await reply;
  expect([status, exception, message]).toEqual(['SUCCESS', '', '']);
}

function circuitOf(router: InlineRouter, index = 0) {
  const circuit = router.engine.pool.namenodes[0]?.[index]?.circuit;
  if (circuit === undefined) throw new Error('no such NameNode');
  return circuit;
}

describe('the circuit of a NameNode', () => {
  it('opens with failures in a row: calls of many users make no connection more; one probe closes it, and all go on', async () => {
    const namenode = await makeNameNode('nn0');
    await namenode.stop();
    const router = await makeRouter([namenode]);
    const clients = await Promise.all(Array.from({ length: USERS }, (_, i) => makeClient(router, `user${i}`)));
    const replies = clients.map((client) => ask(client));
    await waitUntil(() => circuitOf(router).isOpen, 'the circuit is open');
    // All of them wait, round after round; only those connect that had begun to before the circuit opened.
    await waitUntil(() => circuitOf(router).msUntilProbe(router.engine.clock.nowMs) > 1000, 'probes have failed');
    expect(router.count('namenodeConnectFailures')).toBeLessThanOrEqual(8);
    await namenode.listen();
    for (const reply of replies) await expectSuccess(reply);
    expect(circuitOf(router).isClosed).toBe(true);
    // The probe, and a connection for each user.
    expect(namenode.peers).toHaveLength(1 + USERS);
    expect(namenode.stateQuestions).toBe(1);
  });

  it('opens when it hangs, and closes when it goes on', async () => {
    const namenode = await makeNameNode('nn0');
    const router = await makeRouter([namenode], { settings: { hungAfterMs: 300 } });
    const client = await makeClient(router);
    await expectSuccess(ask(client));
    namenode.freeze();
    const waiting = ask(client);
    await waitUntil(() => circuitOf(router).isOpen, 'the circuit is open');
    expect(circuitOf(router).why).toContain('is hung');
    namenode.thaw();
    await expectSuccess(waiting);
    expect(circuitOf(router).isClosed).toBe(true);
  });

  it('says why to a call whose time is over', async () => {
    const namenode = await makeNameNode('nn0');
    await namenode.stop();
    const router = await makeRouter([namenode], { settings: { callBudgetMs: 3000 } });
    const client = await makeClient(router);
    const refused = [await ask(client), await ask(client)];
    for (const { exception, message } of refused) {
      expect(exception).toBe(STANDBY);
      expect(message).toMatch(/none could be reached for \d+ ms; last trouble: .*ECONNREFUSED/);
    }
    expect([router.count('callsUnreached'), router.count('callsExpired')]).toEqual([2, 0]);
  });

  it('of one NameNode leaves the others alone', async () => {
    const [dead, second] = [await makeNameNode('nn0'), await makeNameNode('nn1', 'standby')];
    await dead.stop();
    const router = await makeRouter([dead, second]);
    const client = await makeClient(router);
    const waiting = change(client);
    await waitUntil(() => !circuitOf(router).isClosed, 'the circuit is not closed');
    expect(circuitOf(router, 1).isClosed).toBe(true);
    second.state = 'active';
    await expectSuccess(waiting);
    // Nobody needs it: nobody asks for it.
    await dead.listen();
    await expectSuccess(change(client));
    expect(dead.peers).toHaveLength(0);
  });
});

describe('a call that was alone on a connection that the NameNode closed', () => {
  it('goes to another one that says it is the active, once it does', async () => {
    const [fenced, second] = [await makeNameNode('nn0'), await makeNameNode('nn1', 'standby')];
    const router = await makeRouter([fenced, second]);
    const client = await makeClient(router);
    await expectSuccess(change(client));
    fenced.handler = (call) => (call.method === 'delete' ? call.reset() : answerPlainly(call));
    const waiting = change(client);
    await second.until(() => second.stateQuestions > 0, 'the other one was asked');
    expect(second.calls).toHaveLength(0);
    second.state = 'active';
    await expectSuccess(waiting);
    expect([fenced.callsOf({ method: 'delete' }).length, second.calls.length]).toEqual([3, 1]);
    // Its claim to be active is gone, whatever it says.
    await expectSuccess(ask(client));
    expect(fenced.callsOf({ method: 'getFileInfo' })).toHaveLength(0);
  });

  it('ends no third one: the second to be active closes it too', async () => {
    const namenodes = [await makeNameNode('nn0'), await makeNameNode('nn1'), await makeNameNode('nn2')];
    for (const namenode of namenodes) namenode.handler = (call) => call.reset();
    const router = await makeRouter(namenodes);
    const { exception, message } = await change(await makeClient(router));
    expect([exception, message.includes('alone ended without an answer')]).toEqual([IO, true]);
    expect(namenodes.map(({ calls }) => calls.length)).toEqual([2, 1, 0]);
  });

  it('is the reason, when the NameNode has changed something since', async () => {
    const [first, second] = [await makeNameNode('nn0'), await makeNameNode('nn1', 'standby')];
    first.handler = (call) => (call.path === '/ns0/poison' ? call.reset() : answerPlainly(call));
    const router = await makeRouter([first, second]);
    const [poisoner, other] = [await makeClient(router), await makeClient(router)];
    const poisoned = ask(poisoner, '/ns0/poison');
    await second.until(() => second.stateQuestions > 0, 'the call was lost alone');
    await expectSuccess(change(other));
    expect((await poisoned).exception).toBe(IO);
    // The next question, not the last.
    expect(second.stateQuestions).toBeLessThanOrEqual(3);
    expect(second.calls).toHaveLength(0);
  });
});

describe('a call whose time is over', () => {
  it('is not sent again', async () => {
    const [first, second] = [await makeNameNode('nn0'), await makeNameNode('nn1')];
    first.handler = () => {};
    const router = await makeRouter([first, second], { settings: { callBudgetMs: 300 } });
    const client = await makeClient(router);
    const late = ask(client);
    await first.waitForCall({ method: 'getFileInfo' });
    const sentMs = router.engine.clock.nowMs;
    await waitUntil(() => performance.now() > sentMs + 400, 'its time is over');
    first.resetAll();
    const { exception, message } = await late;
    expect(exception).toBe(STANDBY);
    expect(message).toMatch(/No namenode available to invoke getFileInfo in ns0 from .* within 300 ms; last trouble: /);
    expect(first.calls.length + second.calls.length).toBe(1);
    expect([router.count('callsExpired'), router.count('callsUnreached')]).toEqual([1, 0]);
  });

  it('whose client is gone is not sent again either, and what comes late is dropped', async () => {
    const namenode = await makeNameNode('nn0');
    namenode.handler = () => {};
    const router = await makeRouter([namenode]);
    const client = await RawClient.connect(router, { user: 'alice' });
    client.send({ method: 'getFileInfo', request: { src: '/ns0/one' } });
    const call = await namenode.waitForCall({ path: '/ns0/one' });
    client.socket.resetAndDestroy();
    await waitUntil(() => router.acceptor.openConnections === 0, 'the client is gone');
    answerPlainly(call);
    await waitUntil(() => router.engine.calls.inUse === 0, 'the late reply is taken');

    const second = await RawClient.connect(router, { user: 'alice' });
    second.send({ method: 'getFileInfo', request: { src: '/ns0/two' } });
    await namenode.waitForCall({ path: '/ns0/two' });
    second.socket.resetAndDestroy();
    await waitUntil(() => router.acceptor.openConnections === 0, 'the client is gone');
    namenode.resetAll();
    await waitUntil(() => router.engine.calls.inUse === 0, 'the call has ended');
    expect(namenode.callsOf({ path: '/ns0/two' })).toHaveLength(1);
  });
});

describe('a resolver', () => {
  const NAME = 'nn0.failover.test';
  let asked: string[];

  beforeEach(() => {
    asked = [];
  });

  type Answer = (error: Error | null, addresses?: { address: string; family: number }[]) => void;

  /** What the names of the test are answered with; one that is not in it is not answered at all. */
  function resolveWith(addresses: ReadonlyMap<string, string>): Answer[] {
    const unanswered: Answer[] = [];
    const system = dns.lookup;
    vi.spyOn(dns, 'lookup').mockImplementation(((host: string, options: object, found: Answer) => {
      if (!host.endsWith('.failover.test')) {
        (system as (...all: unknown[]) => void)(host, options, found);
        return;
      }
      asked.push(host);
      const address = addresses.get(host);
      if (address === undefined) unanswered.push(found);
      else setImmediate(() => found(null, [{ address, family: 4 }]));
    }) as unknown as typeof dns.lookup);
    return unanswered;
  }

  it('that does not answer for one NameNode does not hold up another, and is asked once however many wait', async () => {
    const [silent, second] = [await makeNameNode('nn0'), await makeNameNode('nn1')];
    const unanswered = resolveWith(new Map([['nn1.failover.test', '127.0.0.1']]));
    const router = await makeRouter([], {
      nameservices: { ns0: [`${NAME}:${silent.port}`], ns1: [`nn1.failover.test:${second.port}`] },
      mounts: ['/ns0=ns0:/ns0', '/ns1=ns1:/ns1'],
      settings: { connectTimeoutMs: 60_000 },
    });
    const clients = await Promise.all(Array.from({ length: USERS }, (_, i) => makeClient(router, `user${i}`)));
    const waiting = clients.map((client) => ask(client));
    await expectSuccess(ask(await makeClient(router), '/ns1/file'));
    expect(unanswered).toHaveLength(1);
    unanswered[0]?.(null, [{ address: '127.0.0.1', family: 4 }]);
    for (const reply of waiting) await expectSuccess(reply);
    expect(asked.toSorted()).toEqual([NAME, 'nn1.failover.test']);
  });

  it('that fails is not needed for a NameNode whose address is known', async () => {
    const namenode = await makeNameNode('nn0');
    const addresses = new Map([[NAME, '127.0.0.1']]);
    resolveWith(addresses);
    const router = await makeRouter([], { nameservices: { ns0: [`${NAME}:${namenode.port}`] } });
    const client = await makeClient(router);
    await expectSuccess(ask(client));
    addresses.clear();
    await namenode.stop();
    const waiting = ask(client);
    await waitUntil(() => !circuitOf(router).isClosed, 'it could not be reached');
    await namenode.listen();
    await expectSuccess(waiting);
    await expectSuccess(ask(await makeClient(router, 'bob')));
  });
});
