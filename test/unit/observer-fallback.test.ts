import { afterEach, describe, expect, it } from 'vitest';
import type { FigureName } from '../../src/observer/shared/figures.ts';
import { NameNodeState } from '../../src/shared/control-block.ts';
import { disposeOpened } from '../support/dispose-opened.ts';
import { type ObserverClient, ObserverRig, type ObserverRigOptions } from '../support/observer-rig.ts';
import {
  fileStatus,
  IO,
  type NameNodeCall,
  OBSERVER_RETRY,
  RETRIABLE,
  type ScriptedNameNode,
  STANDBY,
} from '../support/scripted-namenode.ts';

/** What becomes of a read that an observer does not answer: the client gets one answer, from the next observer or from the active. */

const opened: (Disposable | AsyncDisposable)[] = [];
afterEach(() => disposeOpened(opened));

const PATIENCE_MS = 120;
const KEYS = { 'switchyard.observer.patience': `${PATIENCE_MS}ms` };
const NOT_FOUND = 'java.io.FileNotFoundException';
const READ = { method: 'getFileInfo' };
/** By their state ids statuses tell who answered. */
const AT_ACTIVE = 100;
const AT_FIRST = 101;
const AT_SECOND = 102;

async function start(options: ObserverRigOptions = {}): Promise<ObserverRig> {
  const rig = await ObserverRig.start({ ...options, keys: { ...KEYS, ...options.keys } });
  opened.push(rig);
  return rig;
}

/** An active and two observers, of which the first is asked first. */
async function startWithTwo(): Promise<{ rig: ObserverRig; first: ScriptedNameNode; second: ScriptedNameNode }> {
  const rig = await start();
  const [first, second] = [rig.namenode(1), rig.namenode(2)];
  [rig.namenode(0).stateId, first.stateId, second.stateId] = [AT_ACTIVE, AT_FIRST, AT_SECOND];
  // Known to lag: chosen when the first cannot.
  rig.words.setBehind(0, 2, 1_000_000);
  return { rig, first, second };
}

interface Cause {
  readonly does: (call: NameNodeCall) => void;
  readonly figure: FigureName;
  readonly answeredBy: number;
  readonly held: boolean;
}

const CAUSES: Readonly<Record<string, Cause>> = {
  'is too far behind: the active is asked, as the others may be too': {
    does: (call) =>
      call.fail(
        RETRIABLE,
        'Observer Node is too far behind: serverStateId = 1 clientStateId = 200000',
        'ERROR_RPC_SERVER',
      ),
    figure: 'tooFarBehind',
    answeredBy: AT_ACTIVE,
    held: true,
  },
  'cannot do it, which only the active can: it is not left alone': {
    does: (call) => call.fail(OBSERVER_RETRY, 'Zero blocklocations for /ns0/f'),
    figure: 'retriedOnActive',
    answeredBy: AT_ACTIVE,
    held: false,
  },
  'has become standby': {
    does: (call) => call.fail(STANDBY, 'Operation category READ is not supported in state standby'),
    figure: 'observerStandby',
    answeredBy: AT_SECOND,
    held: true,
  },
  'is in safe mode': {
    does: (call) =>
      call.fail(RETRIABLE, 'org.apache.hadoop.hdfs.server.namenode.SafeModeException: Zero blocklocations'),
    figure: 'observerNotReady',
    answeredBy: AT_SECOND,
    held: true,
  },
  'has not started yet': {
    does: (call) => call.fail(RETRIABLE, 'NameNode still not started'),
    figure: 'observerNotReady',
    answeredBy: AT_SECOND,
    held: true,
  },
  'loses the connection': {
    does: (call) => call.reset(),
    figure: 'observerUnreachable',
    answeredBy: AT_SECOND,
    held: true,
  },
  'closes the connection': {
    does: (call) => call.close(),
    figure: 'observerUnreachable',
    answeredBy: AT_SECOND,
    held: true,
  },
  'does not answer in time: the active is asked, for the others may take as long': {
    does: () => {},
    figure: 'observerTimedOut',
    answeredBy: AT_ACTIVE,
    held: true,
  },
  'answers without a state id, so that nobody knows how old that is': {
    does: (call) => call.succeed({ fs: fileStatus(1) }, { stateId: null }),
    figure: 'observerOlder',
    answeredBy: AT_SECOND,
    held: true,
  },
  'answers with less than it was asked for': {
    does: (call) => call.succeed({ fs: fileStatus(1) }, { stateId: AT_ACTIVE - 1 }),
    figure: 'observerOlder',
    answeredBy: AT_SECOND,
    held: true,
  },
};

describe('an observer that', () => {
  it.each(Object.entries(CAUSES))('%s', async (_name, { does, figure, answeredBy, held }) => {
    const { rig, first } = await startWithTwo();
    const client = await rig.connectAndWrite();
    first.handler = does;
    expect(await client.read()).toBe(answeredBy);
    expect(rig.counted()).toMatchObject({ [figure]: 1, ...(held ? { holds: 1 } : {}) });
    expect(rig.words.isHeld(0, 1, rig.stamp)).toBe(held);
    expect(first.callsOf(READ)).toHaveLength(1);
    expect(rig.namenode(2).callsOf(READ)).toHaveLength(answeredBy === AT_SECOND ? 1 : 0);
    // The next read does not try it again while it is left alone.
    await client.read();
    expect(first.callsOf(READ)).toHaveLength(held ? 1 : 2);
    // One answer for each call, and no other.
    expect((await client.call('getHAServiceState', {})).exception).toBe('');
  });

  it('refuses connections is left for the next one', async () => {
    const { rig, first } = await startWithTwo();
    const client = await rig.connectAndWrite();
    await first.stop();
    expect(await client.read()).toBe(AT_SECOND);
    expect(rig.counted()).toMatchObject({ observerUnreachable: 1, holds: 1, observerReads: 1 });
    expect(rig.router.block.stateOf(0, 1)).toBe(NameNodeState.UNAVAILABLE);
  });

  it('answers with an exception of the application has answered', async () => {
    const { rig, first } = await startWithTwo();
    const client = await rig.connectAndWrite();
    first.handler = (call) => call.fail('java.io.FileNotFoundException', 'no /ns0/f');
    const reply = await client.call('getFileInfo', { src: '/ns0/f' });
    expect([reply.exception, reply.message]).toEqual(['java.io.FileNotFoundException', 'no /ns0/f']);
    expect(client.toldIds).toEqual({ ns0: AT_ACTIVE });
    expect(rig.namenode(2).callsOf(READ)).toHaveLength(0);
    expect(rig.figures().holds).toBe(0);
    // That is an answer as any other, of observers and of the active.
    rig.namenode(0).handler = first.handler;
    client.seen.clear();
    expect((await client.call('getFileInfo', { src: '/ns0/f' })).exception).toBe('java.io.FileNotFoundException');
    expect(rig.figures()).toMatchObject({ observerReads: 1, activeReads: 1, withoutFloor: 1 });
  });

  it('answers too late finds nobody who waits for it', async () => {
    const { rig, first } = await startWithTwo();
    const client = await rig.connectAndWrite();
    first.handler = () => {};
    expect(await client.read()).toBe(AT_ACTIVE);
    const [late] = first.callsOf(READ);
    late?.succeed({ fs: fileStatus(7) });
    const unknown = rig.router.count('unknownReplies');
    first.handler = (call) => call.succeed({ fs: fileStatus(AT_FIRST) });
    first.stateId = AT_SECOND + 1;
    rig.words.letGo(0, 1);
    rig.words.hold(0, 2, rig.stamp, 60_000, 60_000);
    expect(await client.read()).toBe(AT_FIRST);
    expect(rig.router.count('unknownReplies')).toBe(unknown + 1);
    // The late one told nothing.
    expect(late?.stateId).toBe(AT_ACTIVE);
    expect(client.toldIds).toEqual({ ns0: AT_SECOND + 1 });
  });

  it('is late for many is left by each in its time, and held once', async () => {
    const { rig, first } = await startWithTwo();
    const client = await rig.connectAndWrite();
    first.handler = () => {};
    rig.words.hold(0, 2, rig.stamp, 60_000, 60_000);
    const calls = 12;
    for (let i = 0; i < calls; i++) client.sendRead(`/ns0/f${i}`);
    for (let i = 0; i < calls; i++) expect(await client.receiveRead()).toBe(AT_ACTIVE);
    expect(rig.counted()).toMatchObject({ observerTimedOut: calls, activeReads: calls, holds: 1 });
    expect(first.callsOf(READ)).toHaveLength(calls);
  });

  it('takes long for one call and answers others keeps it: it would take as long elsewhere', async () => {
    const rig = await start({ nameservices: { ns0: ['active', 'observer'] } });
    const [active, observer] = [rig.namenode(0), rig.namenode(1)];
    [active.stateId, observer.stateId] = [AT_ACTIVE, AT_FIRST];
    const [client, other] = [await rig.connectAndWrite(), await rig.connectAndWrite()];
    const answer = observer.handler;
    const slow: NameNodeCall[] = [];
    observer.handler = (call) => {
      slow.push(call);
      observer.handler = answer;
    };
    client.sendRead('/ns0/large');
    while (slow.length === 0) await other.call('getHAServiceState', {});
    const sentMs = performance.now();
    while (performance.now() - sentMs < 3 * PATIENCE_MS) expect(await other.read()).toBe(AT_FIRST);
    expect(active.callsOf(READ)).toHaveLength(0);
    slow[0]?.succeed({ fs: fileStatus(AT_FIRST) });
    expect(await client.receiveRead()).toBe(AT_FIRST);
    expect(rig.counted()).not.toHaveProperty('observerTimedOut');
    expect(rig.counted()).not.toHaveProperty('holds');
  });
});

describe('an observer that answers others and then none', () => {
  it('keeps what was slow no longer than what came later: patience goes on from its last sign of life', async () => {
    const patienceMs = 500;
    const rig = await start({
      nameservices: { ns0: ['active', 'observer'] },
      keys: { 'switchyard.observer.patience': `${patienceMs}ms` },
    });
    const [active, observer] = [rig.namenode(0), rig.namenode(1)];
    [active.stateId, observer.stateId] = [AT_ACTIVE, AT_FIRST];
    const [client, other] = [await rig.connectAndWrite(), await rig.connectAndWrite()];
    observer.handler = (call) => {
      if (call.path === '/ns0/f') call.succeed({ fs: fileStatus(AT_FIRST) });
    };
    const startedMs = performance.now();
    const answerUntil = async (patiences: number): Promise<void> => {
      while (performance.now() - startedMs < patiences * patienceMs) expect(await other.read()).toBe(AT_FIRST);
    };
    client.sendRead('/ns0/first');
    await answerUntil(0.5);
    client.sendRead('/ns0/later');
    await answerUntil(1.2);
    for (let i = 0; i < 2; i++) expect(await client.receiveRead()).toBe(AT_ACTIVE);
    expect(active.callsOf(READ).map(({ path }) => path)).toEqual(['/ns0/first', '/ns0/later']);
    expect(rig.counted()).toMatchObject({ observerTimedOut: 2, holds: 1 });
  });
});

describe('an observer that answers some of its calls', () => {
  async function startWithOne(): Promise<{ rig: ObserverRig; observer: ScriptedNameNode; client: ObserverClient }> {
    const rig = await start({ nameservices: { ns0: ['active', 'observer'] } });
    const observer = rig.namenode(1);
    [rig.namenode(0).stateId, observer.stateId] = [AT_ACTIVE, AT_FIRST];
    return { rig, observer, client: await rig.connectAndWrite() };
  }

  it('and is behind by them does not keep one that it cannot answer, though it was further before it began anew', async () => {
    const { rig, observer, client } = await startWithOne();
    expect(await client.read()).toBe(AT_FIRST);
    client.seen.set('ns0', AT_ACTIVE);
    const behind = AT_ACTIVE - 10;
    observer.stateId = behind;
    observer.handler = (call) => {
      if (Number(call.stateId) <= behind) call.fail(NOT_FOUND, `no ${call.path}`);
    };
    const other = await rig.connectWith({ ns0: behind });
    const startedMs = performance.now();
    client.sendRead();
    // The other client is answered there until the observer is left alone.
    while ((await other.call('getFileInfo', { src: '/ns0/g' })).exception === NOT_FOUND) {
      expect(performance.now() - startedMs).toBeLessThan(20 * PATIENCE_MS);
      other.seen.set('ns0', behind);
    }
    expect(await client.receiveRead()).toBe(AT_ACTIVE);
    expect(rig.counted()).toMatchObject({ observerTimedOut: 1, holds: 1 });
  });

  it('but not whether it serves again is left alone for longer', async () => {
    const { rig, observer, client } = await startWithOne();
    expect(await client.read()).toBe(AT_FIRST);
    const slow: NameNodeCall[] = [];
    observer.handler = (call) => slow.push(call);
    const [reads, other] = [60, await rig.connectWith({ ns0: AT_ACTIVE })];
    for (let i = 0; i < reads; i++) client.sendRead();
    await observer.waitForCall({ ...READ, user: 'alice' }, reads + 1);
    rig.words.holdAnew(0, 1, rig.stamp - 100_000, 1000, 60_000);
    expect(await other.read()).toBe(AT_ACTIVE);
    await observer.waitForCall({ ...READ, user: 'router' });
    const bySlow = slow.filter(({ user }) => user === 'alice');
    while (rig.figures().holds === 0 && bySlow.length > 0) {
      bySlow.pop()?.succeed({ fs: fileStatus(AT_FIRST) });
      await new Promise((resolve) => setTimeout(resolve, PATIENCE_MS / 8));
    }
    expect(rig.figures().holds).toBeGreaterThan(0);
    expect(rig.words.isHeld(0, 1, rig.stamp)).toBe(true);
    expect(bySlow.length).toBeGreaterThan(0);
  });
});

describe('a read', () => {
  it('goes to the active when no observer answers, after two of them at most', async () => {
    const rig = await start({ nameservices: { ns0: ['active', 'observer', 'observer', 'observer'] } });
    rig.setStateIds(AT_ACTIVE);
    const client = await rig.connectAndWrite();
    for (let i = 1; i <= 3; i++) rig.namenode(i).handler = (call) => call.fail(RETRIABLE, 'busy');
    expect(await client.read()).toBe(AT_ACTIVE);
    const asked = [1, 2, 3].map((i) => rig.namenode(i).callsOf(READ).length);
    expect(asked.toSorted()).toEqual([0, 1, 1]);
    expect(rig.counted()).toMatchObject({ observerNotReady: 2, withoutObserver: 1, activeReads: 1 });
    // It did not take a state id there.
    expect(
      rig
        .namenode(0)
        .callsOf(READ)
        .map(({ stateId }) => stateId),
    ).toEqual([undefined]);
  });

  it('waits for one of two observers that do not answer, not for both', async () => {
    const { rig, first, second } = await startWithTwo();
    const client = await rig.connectAndWrite();
    for (const observer of [first, second]) observer.handler = () => {};
    expect(await client.read()).toBe(AT_ACTIVE);
    expect(rig.counted()).toMatchObject({ observerTimedOut: 1, activeReads: 1 });
    expect([first, second].map((observer) => observer.callsOf(READ).length)).toEqual([1, 0]);
  });

  it('goes to the active after it was lost at two observers that live on', async () => {
    const { rig, first, second } = await startWithTwo();
    const client = await rig.connectAndWrite();
    for (const observer of [first, second]) observer.handler = (call) => call.reset();
    expect(await client.read()).toBe(AT_ACTIVE);
    expect(rig.counted()).toMatchObject({ observerUnreachable: 2, activeReads: 1 });
    // Alone, as what NameNodes close connections for goes.
    expect(
      rig
        .namenode(0)
        .callsOf(READ)
        .map(({ besides }) => besides),
    ).toEqual([0]);
  });

  it('that NameNodes close connections for is not taken to a third after the active', async () => {
    const { rig, first, second } = await startWithTwo();
    const client = await rig.connectAndWrite();
    for (const namenode of [first, second, rig.namenode(0)]) namenode.handler = (call) => call.reset();
    const reply = await client.call('getFileInfo', { src: '/ns0/f' });
    expect(reply.exception).toBe(IO);
    expect(reply.message).toContain('ended without an answer');
    const asked = [0, 1, 2].map((i) => rig.namenode(i).callsOf(READ).length);
    expect(asked).toEqual([1, 1, 1]);
  });

  it('fails once when the active fails it, too', async () => {
    const { rig, first, second } = await startWithTwo();
    const client = await rig.connectAndWrite();
    for (const observer of [first, second]) observer.handler = (call) => call.fail(RETRIABLE, 'busy');
    rig.namenode(0).handler = (call) => call.fail(IO, 'the disk is gone');
    const reply = await client.call('getFileInfo', { src: '/ns0/f' });
    expect([reply.exception, reply.message]).toEqual([IO, 'the disk is gone']);
    expect((await client.call('getHAServiceState', {})).exception).toBe('');
  });

  it('without a state id that finds no active does not make an observer a standby', async () => {
    const { rig, first } = await startWithTwo();
    rig.namenode(0).state = 'standby';
    const client = await rig.connect();
    client.sendRead();
    await first.waitForCall(READ);
    await rig.namenode(0).waitForCall(READ, 2);
    expect(rig.router.block.stateOf(0, 1)).toBe(NameNodeState.OBSERVER);
    rig.namenode(0).state = 'active';
    expect(await client.receiveRead()).toBe(AT_ACTIVE);
    expect(await client.read()).toBe(AT_FIRST);
  });
});

describe('an answer of the active that is older than what the client has seen', () => {
  const HA = { nameservices: { ns0: ['active', 'standby', 'observer'] } } as const;

  it('is none when another NameNode has a newer one: the first was fenced and does not know', async () => {
    const rig = await start(HA);
    rig.setStateIds(100);
    await rig.connectAndWrite();
    const client = await rig.connectWith({ ns0: 110 });
    rig.namenode(1).state = 'active';
    rig.namenode(1).stateId = 110;
    expect(await client.read()).toBe(110);
    expect(rig.namenode(0).callsOf(READ)).toHaveLength(1);
    expect(rig.router.block.activeOf(0)).toBe(1);
    expect(rig.counted()).toMatchObject({ activeOlder: 1, floorAbove: 1 });
  });

  it('counts when no other one answers, and nothing else changes: the client brought what was never written', async () => {
    const rig = await start(HA);
    rig.setStateIds(100);
    await rig.connectAndWrite();
    const client = await rig.connectWith({ ns0: 2 ** 40 });
    expect(await client.read()).toBe(100);
    expect(rig.namenode(0).callsOf(READ)).toHaveLength(2);
    expect(rig.namenode(1).callsOf(READ)).toHaveLength(1);
    // Without a state id an observer could only refuse.
    expect(rig.namenode(2).callsOf({})).toHaveLength(0);
    expect(rig.router.block.activeOf(0)).toBe(0);
    expect(rig.stateOf(0)).toMatchObject({ epoch: 1, active: 0, txid: 100 });
  });

  it('counts at once when the others cannot be reached', async () => {
    const rig = await start(HA);
    rig.setStateIds(100);
    await rig.connectAndWrite();
    rig.router.block.setState(0, 1, NameNodeState.UNAVAILABLE);
    const client = await rig.connectWith({ ns0: 2 ** 40 });
    expect(await client.read()).toBe(100);
    expect(rig.namenode(1).callsOf({})).toHaveLength(0);
  });

  it('is the newest of two that both are', async () => {
    const rig = await start(HA);
    rig.setStateIds(100);
    await rig.connectAndWrite();
    rig.namenode(1).state = 'active';
    rig.namenode(1).stateId = 105;
    const client = await rig.connectWith({ ns0: 2 ** 40 });
    expect(await client.read()).toBe(105);
    expect([0, 1].map((i) => rig.namenode(i).callsOf(READ).length)).toEqual([1, 2]);
  });
});
