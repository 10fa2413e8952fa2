import { afterEach, describe, expect, it } from 'vitest';
import { disposeOpened } from '../support/dispose-opened.ts';
import { type ObserverClient, ObserverRig, type ObserverRigOptions } from '../support/observer-rig.ts';
import { IO, type NameNodeCall } from '../support/scripted-namenode.ts';
import { waitUntil } from '../support/wait.ts';

/** The msync that a router sends when it has not heard of the active for too long: one at a time, whoever waits for it. */

const opened: (Disposable | AsyncDisposable)[] = [];
afterEach(() => disposeOpened(opened));

const READ = { method: 'getFileInfo' };
const MSYNC = { method: 'msync' };
const AT_ACTIVE = 100;
const AT_OBSERVER = 105;
const BURST = 25;

/** An active and an observer; nothing has proved the active yet, so the first read that an observer could answer needs an msync. */
async function start(options: ObserverRigOptions = {}): Promise<{ rig: ObserverRig; client: ObserverClient }> {
  const rig = await ObserverRig.start({ nameservices: { ns0: ['active', 'observer'] }, ...options });
  opened.push(rig);
  rig.namenode(0).stateId = AT_ACTIVE;
  rig.namenode(1).stateId = AT_OBSERVER;
  const client = await rig.connect();
  // A read tells of the active's state, but not that it is the active.
  expect(await client.read()).toBe(AT_ACTIVE);
  return { rig, client };
}

/** msyncs stay unanswered until the test answers them. */
function holdMsyncs(rig: ObserverRig): void {
  const active = rig.namenode(0);
  const { handler } = active;
  active.handler = (call: NameNodeCall) => {
    if (call.method !== 'msync') handler(call);
  };
}

function sendBurst(client: ObserverClient): void {
  for (let i = 0; i < BURST; i++) client.sendRead(`/ns0/f${i}`);
}

async function receiveBurst(client: ObserverClient, expected: number): Promise<void> {
  for (let i = 0; i < BURST; i++) expect(await client.receiveRead()).toBe(expected);
}

async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}

describe('a burst of reads', () => {
  it('waits for one msync, however long that takes, and goes to observers', async () => {
    const { rig, client } = await start();
    holdMsyncs(rig);
    sendBurst(client);
    const msync = await rig.namenode(0).waitForCall(MSYNC);
    // Some looks of the waiting calls later.
    await pause(200);
    expect(rig.namenode(0).callsOf(MSYNC)).toHaveLength(1);
    expect(rig.namenode(0).callsOf(READ)).toHaveLength(1);
    expect(rig.namenode(1).callsOf(READ)).toHaveLength(0);
    expect(msync.user).toBe('router');
    expect(msync.stateId).toBeUndefined();
    msync.succeed();
    await receiveBurst(client, AT_OBSERVER);
    expect(rig.counted()).toMatchObject({ refreshes: 1, observerReads: BURST });
    expect(rig.figures().refreshesFailed).toBe(0);
  });

  it('at two workers at once waits for one msync of either', async () => {
    const { rig, client } = await start();
    const beside = await rig.startBeside();
    const other = await rig.connectWith({ ns0: AT_ACTIVE }, beside);
    holdMsyncs(rig);
    sendBurst(client);
    sendBurst(other);
    const msync = await rig.namenode(0).waitForCall(MSYNC);
    await pause(100);
    msync.succeed();
    await receiveBurst(client, AT_OBSERVER);
    await receiveBurst(other, AT_OBSERVER);
    expect(rig.namenode(0).callsOf(MSYNC)).toHaveLength(1);
    expect(rig.counted()).toMatchObject({ refreshes: 1, observerReads: 2 * BURST });
    // The first read, of which nothing was known yet.
    expect(rig.namenode(0).callsOf(READ)).toHaveLength(1);
  });

  it('needs none when another worker’s call has proved the active', async () => {
    const { rig, client } = await start();
    const beside = await rig.startBeside();
    await rig.connectAndWrite(beside);
    sendBurst(client);
    await receiveBurst(client, AT_OBSERVER);
    expect(rig.namenode(0).callsOf(MSYNC)).toHaveLength(0);
  });

  it('goes to the active when the msync fails, and nobody tries another for a while', async () => {
    const { rig, client } = await start();
    const active = rig.namenode(0);
    const { handler } = active;
    active.handler = (call) => (call.method === 'msync' ? call.fail(IO, 'not now') : handler(call));
    sendBurst(client);
    await receiveBurst(client, AT_ACTIVE);
    sendBurst(client);
    await receiveBurst(client, AT_ACTIVE);
    expect(active.callsOf(MSYNC)).toHaveLength(1);
    expect(rig.counted()).toMatchObject({ refreshes: 1, refreshesFailed: 1, notFresh: 2 * BURST });
    // When that time is over the next read tries again.
    active.handler = handler;
    rig.words.cool(0, rig.stamp - 1, 0);
    expect(await client.read()).toBe(AT_OBSERVER);
    expect(active.callsOf(MSYNC)).toHaveLength(2);
  });

  it('goes to the active when the msync is not answered', async () => {
    const { rig, client } = await start();
    holdMsyncs(rig);
    sendBurst(client);
    await receiveBurst(client, AT_ACTIVE);
    expect(rig.counted()).toMatchObject({ refreshes: 1, refreshesFailed: 1 });
    // Its late answer tells what it tells.
    rig.namenode(0).stateId = AT_ACTIVE + 1;
    rig.namenode(0).callsOf(MSYNC)[0]?.succeed();
    await waitUntil(() => rig.stateOf(0).txid === AT_ACTIVE + 1, 'the late answer is merged');
  });

  it('waits no longer than for the claim of a worker that is gone', async () => {
    const { rig, client } = await start();
    expect(rig.words.claimRefresh(0, rig.stamp, 300)).toBe(true);
    const startedMs = performance.now();
    sendBurst(client);
    await receiveBurst(client, AT_OBSERVER);
    expect(performance.now() - startedMs).toBeGreaterThan(200);
    expect(rig.namenode(0).callsOf(MSYNC)).toHaveLength(1);
    expect(rig.namenode(0).callsOf(READ)).toHaveLength(1);
  });

  it('waits no longer for the claim than for an msync', async () => {
    const { rig, client } = await start();
    expect(rig.words.claimRefresh(0, rig.stamp, 60_000)).toBe(true);
    const startedMs = performance.now();
    expect(await client.read()).toBe(AT_ACTIVE);
    // Once 2 s, not twice.
    expect(performance.now() - startedMs).toBeLessThan(3800);
    expect(rig.counted()).toMatchObject({ notFresh: 1 });
    expect(rig.figures().refreshes).toBe(0);
  });

  it('is not sent any more for a client that has gone meanwhile', async () => {
    const { rig, client } = await start();
    holdMsyncs(rig);
    sendBurst(client);
    const msync = await rig.namenode(0).waitForCall(MSYNC);
    client[Symbol.dispose]();
    const other = await rig.connectWith({ ns0: AT_ACTIVE });
    other.sendRead('/ns0/other');
    await pause(50);
    msync.succeed();
    expect(await other.receiveRead()).toBe(AT_OBSERVER);
    expect(
      rig
        .namenode(1)
        .callsOf(READ)
        .map(({ path }) => path),
    ).toEqual(['/ns0/other']);
    expect(rig.router.engine.calls.inUse).toBe(0);
  });
});

describe('the refresh period', () => {
  const PERIOD = 'dfs.federation.router.observer.state.id.refresh.period';

  it('begins with each change that the active has answered', async () => {
    const { rig, client } = await start();
    await client.write();
    for (let i = 0; i < 5; i++) expect(await client.read()).toBe(AT_OBSERVER);
    expect(rig.namenode(0).callsOf(MSYNC)).toHaveLength(0);
  });

  it('has an msync sent when it is over, and not before', async () => {
    const { rig, client } = await start({ keys: { [PERIOD]: '1s' } });
    await client.write();
    await client.read();
    expect(rig.figures().refreshes).toBe(0);
    rig.namenode(0).stateId = AT_OBSERVER;
    await pause(1050);
    expect(await client.read()).toBe(AT_OBSERVER);
    expect(rig.figures().refreshes).toBe(1);
    expect(rig.namenode(0).callsOf(MSYNC)).toHaveLength(1);
  });

  it('that is negative needs none, ever', async () => {
    const { rig, client } = await start({ keys: { [PERIOD]: '-1' } });
    sendBurst(client);
    await receiveBurst(client, AT_OBSERVER);
    expect(rig.namenode(0).callsOf(MSYNC)).toHaveLength(0);
  });

  it('of 0 needs one for each read that comes alone', async () => {
    const { rig, client } = await start({ keys: { [PERIOD]: '0' } });
    for (let i = 0; i < 4; i++) {
      await pause(5);
      expect(await client.read()).toBe(AT_OBSERVER);
    }
    expect(rig.namenode(0).callsOf(MSYNC)).toHaveLength(4);
  });
});
