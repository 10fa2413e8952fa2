import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DeafListener } from '../support/deaf-listener.ts';
import { InlineRouter } from '../support/inline-router.ts';
import { RawClient, type RawReply } from '../support/raw-client.ts';
import { ScriptedCluster } from '../support/scripted-cluster.ts';
import {
  answerPlainly,
  type HaState,
  OBSERVER_RETRY,
  RETRIABLE,
  ScriptedNameNode,
  STANDBY,
} from '../support/scripted-namenode.ts';

/** Which NameNode of a nameservice is asked, and what happens while none of them is active. */

/** Each test has a nameservice of its own; all of them start with the first NameNode active, and the router knows it. */
const HA: readonly HaState[] = ['active', 'standby'];
const NAMESERVICES = [
  'standby',
  'refused',
  'reset',
  'timeout',
  'starting',
  'observer',
  'retryonactive',
  'retriable',
  'late',
  'flapping',
  'restarted',
] as const;
type Nameservice = (typeof NAMESERVICES)[number];

const CONNECT_TIMEOUT_MS = 500;
const BUDGET_MS = 3000;
/** What a busy machine may add to a time that the router keeps. */
const LATE_MS = 1000;
const WOKEN_WITHIN_MS = 300;

let cluster: ScriptedCluster;
let client: RawClient;

beforeAll(async () => {
  cluster = await ScriptedCluster.start({
    nameservices: Object.fromEntries(NAMESERVICES.map((ns) => [ns, HA])),
    keys: { 'dfs.federation.router.connect.timeout': `${CONNECT_TIMEOUT_MS}ms` },
  });
  client = await cluster.connect();
});

afterAll(async () => {
  client[Symbol.dispose]();
  await cluster[Symbol.asyncDispose]();
});

function pair(ns: Nameservice): [ScriptedNameNode, ScriptedNameNode] {
  return [cluster.namenode(ns), cluster.namenode(ns, 1)];
}

function ask(ns: string, by: RawClient = client): Promise<RawReply> {
  return by.call({ method: 'getFileInfo', request: { src: `/${ns}/file` } });
}

function change(ns: string, by: RawClient = client): Promise<RawReply> {
  return by.call({ method: 'delete', request: { src: `/${ns}/file`, recursive: false } });
}

async function succeeds(reply: Promise<RawReply>): Promise<void> {
  const { status, exception, message } = await reply;
  expect([status, exception, message]).toEqual(['SUCCESS', '', '']);
}

/** Two more calls, read and change, that must not touch the first NameNode again. */
async function expectRemembered(ns: Nameservice): Promise<void> {
  const [first, second] = pair(ns);
  const before = [first.calls.length, first.peers.length, second.calls.length];
  await succeeds(ask(ns));
  await succeeds(change(ns));
  expect([first.calls.length, first.peers.length, second.calls.length]).toEqual([
    before[0],
    before[1],
    (before[2] as number) + 2,
  ]);
}

function failOver(ns: Nameservice, firstBecomes: HaState): void {
  const [first, second] = pair(ns);
  first.state = firstBecomes;
  second.state = 'active';
}

describe('the next NameNode is asked, and remembered as the active one,', () => {
  it('when the first answers that it is standby', async () => {
    const [first, second] = pair('standby');
    await succeeds(ask('standby'));
    expect([first.calls.length, second.calls.length]).toEqual([1, 0]);
    failOver('standby', 'standby');
    await succeeds(change('standby'));
    expect([first.calls.length, second.calls.length]).toEqual([2, 1]);
    await expectRemembered('standby');
  });

  it('when it is not started yet', async () => {
    failOver('starting', 'starting');
    await succeeds(ask('starting'));
    expect(pair('starting')[0].calls).toHaveLength(1);
    await expectRemembered('starting');
  });

  it('when it has become an observer', async () => {
    failOver('observer', 'observer');
    await succeeds(ask('observer'));
    expect(pair('observer')[0].calls).toHaveLength(1);
    await expectRemembered('observer');
  });

  it('when an observer sends the call on to the active one', async () => {
    const [first] = pair('retryonactive');
    first.handler = (call) => call.fail(OBSERVER_RETRY, 'Operation needs the active NameNode');
    pair('retryonactive')[1].state = 'active';
    await succeeds(ask('retryonactive'));
    expect(first.calls).toHaveLength(1);
    await expectRemembered('retryonactive');
  });

  it('when it refuses connections', async () => {
    const [first, second] = pair('refused');
    await first.stop();
    second.state = 'active';
    await succeeds(ask('refused'));
    expect([first.calls.length, second.calls.length]).toEqual([0, 1]);
    await expectRemembered('refused');
  });

  it('when it resets every connection', async () => {
    const [first, second] = pair('reset');
    first.resetsConnections = true;
    second.state = 'active';
    await succeeds(ask('reset'));
    expect(first.calls).toHaveLength(0);
    expect(second.calls).toHaveLength(1);
    await expectRemembered('reset');
  });

  it('when connecting to it takes too long', async () => {
    const [first, second] = pair('timeout');
    await first.stop();
    await using _deaf = await DeafListener.listen(first.port);
    second.state = 'active';
    const from = performance.now();
    await succeeds(ask('timeout'));
    const took = performance.now() - from;
    expect(took).toBeGreaterThan(CONNECT_TIMEOUT_MS * 0.9);
    expect(took).toBeLessThan(CONNECT_TIMEOUT_MS + LATE_MS);
    expect(second.calls).toHaveLength(1);
    await expectRemembered('timeout');
  });

  it('and the first again once that is the active one', async () => {
    const [first, second] = pair('flapping');
    for (const [active, other] of [
      [second, first],
      [first, second],
      [second, first],
    ] as const) {
      active.state = 'active';
      other.state = 'standby';
      const before = [active.calls.length, other.calls.length] as const;
      await succeeds(change('flapping'));
      expect([active.calls.length, other.calls.length]).toEqual([before[0] + 1, before[1] + 1]);
      await succeeds(change('flapping'));
      expect([active.calls.length, other.calls.length]).toEqual([before[0] + 2, before[1] + 1]);
    }
  });
});

describe('a NameNode that takes no connections', () => {
  const USERS = 40;

  it('keeps the calls of many users no longer than those of one', async () => {
    await using second = await ScriptedNameNode.start('second', 'active');
    const first = await ScriptedNameNode.start('first', 'active');
    await first.stop();
    await using _deaf = await DeafListener.listen(first.port);
    await using router = await InlineRouter.start({
      nameservices: { ns0: [first.port, second.port] },
      mounts: ['/ns0=ns0:/ns0'],
      settings: { connectTimeoutMs: CONNECT_TIMEOUT_MS },
    });
    router.block.setActive(0, 0);
    const clients = await Promise.all(
      Array.from({ length: USERS }, (_, i) => RawClient.connect(router, { user: `user${i}` })),
    );
    const from = performance.now();
    for (const reply of clients.map((each) => ask('ns0', each))) await succeeds(reply);
    expect(performance.now() - from).toBeLessThan(CONNECT_TIMEOUT_MS + LATE_MS);
    expect(second.calls).toHaveLength(USERS);
    for (const each of clients) each[Symbol.dispose]();
  });

  it('keeps no call beyond its budget', async () => {
    const first = await ScriptedNameNode.start('first', 'active');
    await first.stop();
    await using _deaf = await DeafListener.listen(first.port);
    await using router = await InlineRouter.start({
      nameservices: { ns0: first.port },
      mounts: ['/ns0=ns0:/ns0'],
      settings: { connectTimeoutMs: 60_000, callBudgetMs: 500 },
    });
    using waiting = await RawClient.connect(router, { user: 'alice' });
    const { exception, message } = await ask('ns0', waiting);
    expect(exception).toBe(STANDBY);
    expect(message).toMatch(/within 500 ms; last trouble: 127\.0\.0\.1:\d+: no connection to it became free$/);
    expect(router.count('callsExpired')).toBe(1);
  });

  it('nor one that waits for its turn to be sent alone', async () => {
    const ALONE = 8;
    await using silent = await ScriptedNameNode.start('silent', 'active');
    silent.handler = () => {};
    await using router = await InlineRouter.start({
      nameservices: { ns0: silent.port },
      mounts: ['/ns0=ns0:/ns0'],
      settings: { callBudgetMs: 1500 },
    });
    using waiting = await RawClient.connect(router, { user: 'alice' });
    for (let i = 0; i <= ALONE; i++) waiting.send({ method: 'getFileInfo', request: { src: `/ns0/${i}` } });
    await silent.until(() => silent.calls.length === ALONE + 1, 'all are in flight');
    silent.resetAll();
    await silent.until(() => silent.calls.length === 2 * ALONE + 1, 'all but one are in flight alone');
    const { exception, message } = await waiting.receive();
    expect([exception, message.includes('no connection to it became free')]).toEqual([STANDBY, true]);
    expect(router.count('callsExpired')).toBe(1);
  });
});

it('a NameNode that cannot be reached is tried again when it listens again', async () => {
  const [first] = pair('restarted');
  await succeeds(ask('restarted'));
  await first.stop();
  const waiting = ask('restarted');
  // The standby one is asked in every round: two rounds without an answer have passed.
  await pair('restarted')[1].until(() => pair('restarted')[1].calls.length >= 2, 'two rounds');
  await first.listen();
  await succeeds(waiting);
});

it('a RetriableException for another reason is the answer of the active NameNode', async () => {
  const [first, second] = pair('retriable');
  first.handler = (call) =>
    call.fail(RETRIABLE, 'Cannot delete. Name node is in safe mode.\n\tat a.stack(Line.java)\n');
  const reply = await change('retriable');
  expect([reply.exception, reply.message]).toEqual([RETRIABLE, 'Cannot delete. Name node is in safe mode.']);
  expect([first.calls.length, second.calls.length]).toEqual([1, 0]);
});

it('an error of the application is the answer while no NameNode is known as active', async () => {
  await using namenode = await ScriptedNameNode.start('first', 'active');
  namenode.handler = (call) => call.fail('java.io.FileNotFoundException', 'File does not exist: /ns0/file');
  await using router = await InlineRouter.start({ nameservices: { ns0: namenode.port }, mounts: ['/ns0=ns0:/ns0'] });
  expect(router.block.activeOf(0)).toBe(-1);
  using asking = await RawClient.connect(router, { user: 'alice' });
  const reply = await ask('ns0', asking);
  expect([reply.exception, reply.message]).toEqual(['java.io.FileNotFoundException', 'File does not exist: /ns0/file']);
  expect(namenode.calls).toHaveLength(1);
});

it('calls wait while all are standby, and are answered once one is active', async () => {
  const [first, second] = pair('late');
  first.state = 'standby';
  const others = await cluster.connectMany(3);
  const waiting = [ask('late'), change('late', others[0]), ask('late', others[1]), change('late', others[2])];
  // Rounds come 0.1, 0.2, 0.4, 0.8, 1.6 s after each other, more or less.
  await second.until(() => second.calls.length >= 5 * waiting.length, 'five rounds');
  second.handler = answerPlainly;
  second.state = 'active';
  // The first call to succeed wakes the others: they need not sleep to their ends, 0.8 to 2.4 s later.
  await Promise.race(waiting);
  const firstAt = performance.now();
  for (const reply of waiting) await succeeds(reply);
  expect(performance.now() - firstAt).toBeLessThan(WOKEN_WITHIN_MS);
  await expectRemembered('late');
  for (const other of others) other[Symbol.dispose]();
});

it('with no active NameNode at all a call ends with StandbyException within its budget', async () => {
  await using poor = await ScriptedCluster.start({
    nameservices: { never: ['standby', 'standby'], gone: ['active', 'active'] },
    set: [`switchyard.call.budget=${BUDGET_MS}ms`],
  });
  for (const namenode of poor.namenodes('gone')) await namenode.stop();
  const clients = await poor.connectMany(2);
  const from = performance.now();
  const [refused, unreachable] = (await Promise.all([
    ask('never', clients[0] as RawClient),
    change('gone', clients[1] as RawClient),
  ])) as [RawReply, RawReply];
  // A pause that would end after the budget is not begun.
  expect(performance.now() - from).toBeLessThan(BUDGET_MS + LATE_MS);
  for (const reply of [refused, unreachable]) expect([reply.status, reply.exception]).toEqual(['ERROR', STANDBY]);
  expect(refused.message).toMatch(/^No namenode available to invoke getFileInfo in never from .* within 3000 ms; last/);
  expect(refused.message).toMatch(/last trouble: 127\.0\.0\.1:\d+ is standby$/);
  expect(unreachable.message).toContain('No namenode available to invoke delete in gone');
  expect(unreachable.message).toContain('ECONNREFUSED');
  // At 0, 0.1, 0.3 and 0.7 s at the latest by half: both were asked in each round.
  for (const namenode of poor.namenodes('never')) expect(namenode.calls.length).toBeGreaterThanOrEqual(4);
  for (const each of clients) each[Symbol.dispose]();
  const counters = await poor.stopAndCount();
  // The pause that would go beyond half the budget may go beyond all of it.
  expect(counters.callsExpired + counters.callsUnreached).toBe(2);
  expect(counters.callsExpired).toBeGreaterThanOrEqual(1);
});

it('with no NameNode that can be reached a call ends after half its budget; a failover, in which one can, and a restart are waited for', async () => {
  // Pauses are at most 3 s: half the budget, one pause, and another one in which the others learn of it.
  const budgetMs = 14_000;
  await using poor = await ScriptedCluster.start({
    nameservices: { gone: HA, back: HA, failing: HA },
    set: [`switchyard.call.budget=${budgetMs}ms`],
  });
  for (const ns of ['gone', 'back']) for (const namenode of poor.namenodes(ns)) await namenode.stop();
  const [dead, second] = poor.namenodes('failing') as readonly [ScriptedNameNode, ScriptedNameNode];
  await dead.stop();
  const clients = await poor.connectMany(3);
  const [gone, back, failing] = ['gone', 'back', 'failing'].map((ns, i) =>
    clients[i]?.call({ method: 'getFileInfo', request: { src: `/${ns}/file` } }, 2 * budgetMs),
  ) as [Promise<RawReply>, Promise<RawReply>, Promise<RawReply>];
  await second.until(() => second.calls.length >= 4, 'four rounds');
  await poor.namenode('back').listen();
  await succeeds(back);
  const refused = await gone;
  expect(refused.exception).toBe(STANDBY);
  expect(refused.message).toMatch(
    /^No namenode available to invoke getFileInfo in gone from .* after \d+ rounds: none could be reached for \d+ ms; last/,
  );
  expect(refused.message).toContain('ECONNREFUSED');
  // As long as that one nameservice has been gone, the other has been in failover.
  second.state = 'active';
  await succeeds(failing);
  for (const each of clients) each[Symbol.dispose]();
  const { callsExpired, callsUnreached } = await poor.stopAndCount();
  expect([callsExpired, callsUnreached]).toEqual([0, 1]);
});
