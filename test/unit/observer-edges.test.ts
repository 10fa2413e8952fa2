import { afterEach, describe, expect, it, vi } from 'vitest';
import { compose } from '../../src/composed/composition.ts';
import type { NameNodeConnection } from '../../src/namenode/connection.ts';
import { NameNodeState } from '../../src/shared/control-block.ts';
import { disposeOpened } from '../support/dispose-opened.ts';
import { ObserverRig, type ObserverRigOptions } from '../support/observer-rig.ts';
import { fileStatus, type NameNodeCall, type ScriptedNameNode } from '../support/scripted-namenode.ts';
import { waitUntil } from '../support/wait.ts';

/** Reads from observers where errors, connections and threads are not as usual. */

const opened: (Disposable | AsyncDisposable)[] = [];
afterEach(() => disposeOpened(opened));

const PATIENCE_MS = 120;
const NOT_FOUND = 'java.io.FileNotFoundException';
const READ = { method: 'getFileInfo' };
const AT_ACTIVE = 100;
const AT_FIRST = 101;
const AT_SECOND = 102;
/** The slot that a tag names. */
const SLOT_MASK = (1 << 14) - 1;

async function start(options: ObserverRigOptions = {}): Promise<ObserverRig> {
  const keys = { 'switchyard.observer.patience': `${PATIENCE_MS}ms`, ...options.keys };
  const rig = await ObserverRig.start({ ...options, keys });
  opened.push(rig);
  return rig;
}

/** An active and two observers, of which the first is asked first. */
async function startWithTwo(
  options: ObserverRigOptions = {},
): Promise<{ rig: ObserverRig; first: ScriptedNameNode; second: ScriptedNameNode }> {
  const rig = await start(options);
  const [first, second] = [rig.namenode(1), rig.namenode(2)];
  [rig.namenode(0).stateId, first.stateId, second.stateId] = [AT_ACTIVE, AT_FIRST, AT_SECOND];
  rig.words.setBehind(0, 2, 1_000_000);
  return { rig, first, second };
}

function connectionsTo(rig: ObserverRig, index: number): NameNodeConnection[] {
  return [...(rig.router.engine.pool.namenodes[0]?.[index]?.connections ?? [])];
}

function answerTrue(namenode: ScriptedNameNode, method: string): void {
  const { handler } = namenode;
  namenode.handler = (call) => (call.method === method ? call.succeed({ result: true }) : handler(call));
}

describe('an exception', () => {
  it('of an observer without state ids is no answer: what is not found there may have come since', async () => {
    const { rig, first } = await startWithTwo();
    const client = await rig.connectAndWrite();
    first.handler = (call) => call.fail(NOT_FOUND, 'no /ns0/f', 'ERROR_APPLICATION', { stateId: null });
    expect(await client.read()).toBe(AT_SECOND);
    expect(rig.counted()).toMatchObject({ observerOlder: 1, holds: 1 });
  });

  it('from before the state of the client is none either, and says nothing of the observer', async () => {
    const { rig, first } = await startWithTwo();
    const client = await rig.connectAndWrite();
    first.handler = (call) => call.fail(NOT_FOUND, 'no', 'ERROR_APPLICATION', { stateId: AT_ACTIVE - 1 });
    expect(await client.read()).toBe(AT_SECOND);
    expect(rig.counted()).toMatchObject({ observerOlder: 1 });
    expect(rig.words.isSuspect(0, 1)).toBe(false);
  });

  it('of a NameNode that was fenced and does not know is none when another one answers', async () => {
    const rig = await start({ nameservices: { ns0: ['active', 'standby', 'observer'] } });
    rig.setStateIds(100);
    await rig.connectAndWrite();
    rig.namenode(0).handler = (call) => call.fail(NOT_FOUND, 'no /ns0/f');
    rig.namenode(1).state = 'active';
    rig.namenode(1).stateId = 110;
    const client = await rig.connectWith({ ns0: 110 });
    expect(await client.read()).toBe(110);
    expect(rig.namenode(0).callsOf(READ)).toHaveLength(1);
    expect(rig.counted()).toMatchObject({ activeOlder: 1 });
  });

  it('of the active reaches a client with a state of no NameNode', async () => {
    const rig = await start({ nameservices: { ns0: ['active', 'standby', 'observer'] } });
    rig.setStateIds(100);
    await rig.connectAndWrite();
    rig.namenode(0).handler = (call) => call.fail(NOT_FOUND, 'no /ns0/f');
    const client = await rig.connectWith({ ns0: 2 ** 40 });
    expect((await client.call('getFileInfo', { src: '/ns0/f' })).exception).toBe(NOT_FOUND);
    expect(rig.namenode(0).callsOf(READ)).toHaveLength(2);
  });
});

describe('an observer that', () => {
  it('gives the connection up at a call does not answer the call', async () => {
    const { rig, first } = await startWithTwo();
    const client = await rig.connectAndWrite();
    first.handler = (call) => call.fatal('org.apache.hadoop.ipc.RpcServerException', 'not for me');
    expect(await client.read()).toBe(AT_SECOND);
  });

  it('refuses the user is left for the next one', async () => {
    const { rig, first } = await startWithTwo();
    const client = await rig.connectAndWrite();
    first.handler = (call) =>
      call.fatal('org.apache.hadoop.security.authorize.AuthorizationException', 'not you', 'FATAL_UNAUTHORIZED', {
        callId: -1,
      });
    expect(await client.read()).toBe(AT_SECOND);
    expect(rig.counted()).toMatchObject({ observerUnreachable: 1 });
    // It serves others, and this user is not taken there again.
    first.handler = (call) => call.succeed({ fs: fileStatus(AT_FIRST) });
    first.stateId = AT_SECOND;
    const other = await rig.connect(rig.router, 'bob');
    await other.write();
    rig.words.hold(0, 2, rig.stamp, 60_000, 60_000);
    expect(await other.read()).toBe(AT_FIRST);
    rig.words.letGo(0, 2);
    expect(await client.read()).toBe(AT_SECOND);
    expect(first.callsOf({ ...READ, user: 'alice' })).toHaveLength(1);
    expect(rig.words.isSuspect(0, 1)).toBe(false);
  });

  it('gives the connection up at one call is not left alone by those beside it', async () => {
    const { rig, first } = await startWithTwo({ keys: { 'dfs.federation.router.connection.pool-size': '1' } });
    const client = await rig.connectAndWrite();
    first.handler = (call) => {
      if (call.path === '/ns0/bad') call.fatal('org.apache.hadoop.ipc.RpcServerException', 'not for me');
    };
    client.sendRead('/ns0/good');
    client.sendRead('/ns0/bad');
    await first.waitForCall({ path: '/ns0/bad' });
    first.handler = (call) => call.succeed({ fs: fileStatus(AT_FIRST) });
    for (let i = 0; i < 2; i++) expect([AT_FIRST, AT_SECOND]).toContain(await client.receiveRead());
    expect(rig.counted()).toMatchObject({ observerUnreachable: 1, observerReads: 2 });
    expect(rig.figures().holds).toBe(0);
  });

  it('loses a call that is alone is not asked for a sign of life before the active is asked', async () => {
    const { rig, first, second } = await startWithTwo();
    const client = await rig.connectAndWrite();
    for (const observer of [first, second]) {
      observer.handler = (call) => call.reset();
      observer.holdsStateQuestions = true;
    }
    const startedMs = performance.now();
    expect(await client.read()).toBe(AT_ACTIVE);
    // Such a question is given up after 5 s.
    expect(performance.now() - startedMs).toBeLessThan(4000);
    expect(rig.counted()).toMatchObject({ observerUnreachable: 2 });
  });

  it('takes no more bytes keeps nobody waiting for longer than one that does not answer', async () => {
    const { rig } = await startWithTwo({ keys: { 'dfs.federation.router.connection.pool-size': '1' } });
    const client = await rig.connectAndWrite();
    expect(await client.read()).toBe(AT_FIRST);
    for (const connection of connectionsTo(rig, 1)) vi.spyOn(connection, 'canTake').mockReturnValue(false);
    expect(await client.read()).toBe(AT_ACTIVE);
    expect(rig.counted()).toMatchObject({ observerUnreachable: 1 });
    expect(rig.words.isHeld(0, 1, rig.stamp)).toBe(true);
  });

  it('answers late finds no other call in the place of the one that it answers', async () => {
    const { rig, first } = await startWithTwo();
    const client = await rig.connectAndWrite();
    rig.words.hold(0, 2, rig.stamp, 60_000, 60_000);
    first.handler = () => {};
    expect(await client.read()).toBe(AT_ACTIVE);
    const [late] = first.callsOf(READ) as [NameNodeCall];
    first.handler = (call) => call.succeed({ fs: fileStatus(AT_FIRST) });
    for (let i = 0; i < 2; i++) {
      rig.words.letGo(0, 1);
      expect(await client.read()).toBe(AT_FIRST);
    }
    const slots = first.callsOf(READ).map(({ tag }) => tag & SLOT_MASK);
    expect(slots.slice(1)).not.toContain(slots[0]);
    // It is free again when that answer has come.
    const before = rig.router.count('unknownReplies');
    late.succeed({ fs: fileStatus(7) });
    await waitUntil(() => rig.router.count('unknownReplies') > before, 'the late answer has come');
    expect(await client.read()).toBe(AT_FIRST);
    expect((first.callsOf(READ).at(-1)?.tag ?? -1) & SLOT_MASK).toBe(slots[0]);
  });

  it('has answered is not to blame for a thread that stood still', async () => {
    const { rig, first } = await startWithTwo();
    const client = await rig.connectAndWrite();
    first.handler = (call) => {
      call.succeed({ fs: fileStatus(AT_FIRST) });
      const untilMs = performance.now() + PATIENCE_MS + 400;
      while (performance.now() < untilMs);
    };
    expect(await client.read()).toBe(AT_FIRST);
    expect(rig.figures().holds).toBe(0);
  });

  it('may have answered is not left alone while there is no room for answers', async () => {
    const { rig, first } = await startWithTwo();
    const client = await rig.connectAndWrite();
    first.handler = () => {
      for (const connection of connectionsTo(rig, 1)) connection.held = true;
    };
    expect(await client.read()).toBe(AT_ACTIVE);
    expect(rig.counted()).toMatchObject({ observerTimedOut: 1 });
    expect(rig.words.isSuspect(0, 1)).toBe(false);
  });

  it('says that it is in no safe mode is no active NameNode', async () => {
    const rig = await start({ nameservices: { ns0: ['standby', 'observer'], ns1: ['active'] } });
    rig.setStateIds(100);
    rig.namenode(1).state = 'active';
    const client = await rig.connect();
    for (const namenode of [rig.namenode(1), rig.namenode(0, 'ns1')]) answerTrue(namenode, 'setSafeMode');
    await client.call('setSafeMode', { action: 'SAFEMODE_GET', checked: true });
    expect(rig.namenode(1).callsOf({ method: 'setSafeMode' })).toHaveLength(1);
    expect(rig.router.block.activeOf(0)).toBe(-1);
    expect(rig.stateOf(0)).toMatchObject({ active: -1, txid: -1 });
    expect(rig.router.block.stateOf(0, 1)).toBe(NameNodeState.OBSERVER);
  });
});

describe('where no observer serves reads', () => {
  it('an observer without state ids answers none all the same when no active does', async () => {
    const rig = await start({
      nameservices: { ns0: ['standby', 'observer'] },
      keys: { 'dfs.federation.router.observer.read.default': 'false' },
    });
    rig.setStateIds(null);
    rig.namenode(1).state = 'active';
    const client = await rig.connect();
    client.sendRead();
    await rig.namenode(0).waitForCall(READ, 2);
    rig.namenode(0).state = 'active';
    expect((await client.receive()).exception).toBe('');
    expect(rig.router.block.activeOf(0)).toBe(0);
  });
});

describe('a call to several nameservices', () => {
  const two = { ns0: ['active', 'observer'], ns1: ['active', 'observer'] } as const;
  const mount = {
    srcPath: '/both',
    destinations: [
      { nameserviceId: 'ns0', path: '/a' },
      { nameserviceId: 'ns1', path: '/b' },
    ],
    destOrder: 'HASH_ALL',
  };

  it('that changes something asks no observer what is there', async () => {
    const rig = await start({ nameservices: two, mounts: [mount, '/ns0=ns0:/ns0', '/ns1=ns1:/ns1'] });
    for (const ns of ['ns0', 'ns1']) answerTrue(rig.namenode(0, ns), 'delete');
    const client = await rig.connectAndWrite();
    await client.write('/ns1/d');
    await client.call('delete', { src: '/both/f', recursive: false });
    const reads = ['ns0', 'ns1'].flatMap((ns) => [0, 1].map((i) => rig.namenode(i, ns).callsOf(READ).length));
    expect(reads[0]).toBeGreaterThan(0);
    expect([reads[1], reads[3]]).toEqual([0, 0]);
    // A read does.
    expect((await client.call('getFileInfo', { src: '/both/f' })).exception).toBe('');
    expect(rig.namenode(1, 'ns0').callsOf(READ).length + rig.namenode(1, 'ns1').callsOf(READ).length).toBeGreaterThan(
      0,
    );
  });

  it('that was answered without one of them is told nothing by it, nor is the next in its place', async () => {
    const rig = await start({ nameservices: two });
    const client = await rig.connect();
    const { engine } = rig.router;
    const handle = engine.handle.bind(engine);
    const held: NameNodeCall[] = [];
    rig.namenode(0, 'ns1').handler = (call) => void held.push(call);
    engine.handle = (call) =>
      compose(engine, call, async (composition) => {
        void composition.ask(composition.own, { nameservice: 1, path: null, prefixBytes: 0 });
        return Buffer.alloc(0);
      });
    expect((await client.call('getFileInfo', { src: '/ns0/f' })).exception).toBe('');
    await rig.namenode(0, 'ns1').waitForCall(READ);
    engine.handle = handle;
    // The next call, which takes the place of the one that ended, is in flight when the part is answered.
    rig.namenode(0).handler = (call) => void held.push(call);
    client.sendRead('/ns0/g');
    await rig.namenode(0).waitForCall(READ);
    held[0]?.succeed({ fs: fileStatus(1) });
    await waitUntil(() => rig.stateOf(1).txid > 0, 'the part is answered');
    held[1]?.succeed({ fs: fileStatus(2) });
    await client.receiveRead();
    expect(Object.keys(client.toldIds)).toEqual(['ns0']);
  });
});

describe('a read that takes the msync', () => {
  it('sends none when another worker’s was answered meanwhile', async () => {
    const rig = await start({ nameservices: { ns0: ['active', 'observer'] } });
    rig.setStateIds(100);
    const client = await rig.connect();
    await client.read();
    const { words } = rig;
    const claim = words.claimRefresh.bind(words);
    vi.spyOn(words, 'claimRefresh').mockImplementationOnce((...args) => {
      words.prove(0, rig.stamp);
      return claim(...args);
    });
    await client.read();
    expect(rig.namenode(0).callsOf({ method: 'msync' })).toHaveLength(0);
    expect(rig.namenode(1).callsOf(READ)).toHaveLength(1);
    expect(words.isClaimed(0, rig.stamp)).toBe(false);
  });

  it('sends none when another worker’s failed meanwhile', async () => {
    const rig = await start({ nameservices: { ns0: ['active', 'observer'] } });
    rig.setStateIds(100);
    const client = await rig.connect();
    await client.read();
    const { words } = rig;
    const claim = words.claimRefresh.bind(words);
    vi.spyOn(words, 'claimRefresh').mockImplementationOnce((...args) => {
      words.cool(0, rig.stamp, 1000);
      return claim(...args);
    });
    await client.read();
    expect(rig.namenode(0).callsOf({ method: 'msync' })).toHaveLength(0);
    expect(rig.counted()).toMatchObject({ notFresh: 1 });
  });
});
