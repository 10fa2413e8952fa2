import { afterEach, describe, expect, it } from 'vitest';
import { NameNodeState } from '../../src/shared/control-block.ts';
import { disposeOpened } from '../support/dispose-opened.ts';
import { ObserverRig, type ObserverRigOptions } from '../support/observer-rig.ts';

/** Which calls go to observers, with which state id, and what answers tell. */

const opened: (Disposable | AsyncDisposable)[] = [];
afterEach(() => disposeOpened(opened));

const ACTIVE = 0;
const OBSERVER = 1;
const ONE_OBSERVER = { nameservices: { ns0: ['active', 'observer'] } } as const;
const INT64_MIN = -(2n ** 63n);

async function start(options: ObserverRigOptions = ONE_OBSERVER): Promise<ObserverRig> {
  const rig = await ObserverRig.start(options);
  opened.push(rig);
  return rig;
}

/** Methods and state ids of the calls that a NameNode got. */
function callsAt(
  rig: ObserverRig,
  index: number,
  ns = 'ns0',
): [method: string, stateId: number | bigint | undefined][] {
  return rig
    .namenode(index, ns)
    .callsOf({})
    .map(({ method, stateId }) => [method, stateId]);
}

describe('a client', () => {
  it('that brings no state id reads from the active and is told one, then from an observer with that', async () => {
    const rig = await start();
    const client = await rig.connect();
    rig.namenode(ACTIVE).stateId = 100;
    rig.namenode(OBSERVER).stateId = 103;
    expect(await client.read()).toBe(100);
    expect(client.toldIds).toEqual({ ns0: 100 });
    expect(await client.read()).toBe(103);
    expect(client.toldIds).toEqual({ ns0: 103 });
    expect(await client.read()).toBe(103);
    expect(callsAt(rig, ACTIVE)).toEqual([
      ['getFileInfo', undefined],
      ['msync', undefined],
    ]);
    expect(callsAt(rig, OBSERVER)).toEqual([
      ['getFileInfo', 100],
      ['getFileInfo', 103],
    ]);
    expect(rig.counted()).toMatchObject({ withoutFloor: 1, activeReads: 1, observerReads: 2, refreshes: 1 });
  });

  it('that a plain provider made never brings one and never reaches an observer', async () => {
    const rig = await start();
    const client = await rig.connect();
    for (let i = 0; i < 3; i++) {
      await client.read('/ns0/f', {});
      expect(client.toldIds).toEqual({ ns0: 4711 });
    }
    expect(callsAt(rig, OBSERVER)).toEqual([]);
    expect(rig.counted()).toMatchObject({ withoutFloor: 3, activeReads: 3 });
  });

  it('that brings a state id of its own as if the router were a NameNode reads from the active', async () => {
    const rig = await start();
    const client = await rig.connectAndWrite();
    expect(await client.read('/ns0/f', { stateId: 4711 })).toBe(4711);
    expect(callsAt(rig, OBSERVER)).toEqual([]);
    expect(callsAt(rig, ACTIVE)).toEqual([
      ['mkdirs', undefined],
      ['getFileInfo', undefined],
    ]);
  });

  it('with more than the router knows reads from the active, whose answer lets it know', async () => {
    const rig = await start();
    rig.setStateIds(100);
    await rig.connectAndWrite();
    const client = await rig.connectWith({ ns0: 120 });
    rig.namenode(ACTIVE).stateId = 120;
    expect(await client.read()).toBe(120);
    expect(rig.stateOf(0).txid).toBe(120);
    rig.namenode(OBSERVER).stateId = 121;
    expect(await client.read()).toBe(121);
    expect(callsAt(rig, OBSERVER)).toEqual([['getFileInfo', 120]]);
    // Not one msync for it.
    expect(rig.counted()).toMatchObject({ floorAbove: 1, observerReads: 1 });
    expect(rig.figures().refreshes).toBe(0);
  });

  it('is told nothing of what others did when an observer answered it', async () => {
    const rig = await start();
    rig.setStateIds(100);
    const client = await rig.connectAndWrite();
    await client.read();
    rig.namenode(ACTIVE).stateId = 130;
    await rig.connectAndWrite();
    expect(rig.stateOf(0).txid).toBe(130);
    expect(await client.read()).toBe(100);
    expect(client.toldIds).toEqual({ ns0: 100 });
  });

  it('is told what the router knew a refresh period ago, so that it is not left behind', async () => {
    const rig = await start({
      ...ONE_OBSERVER,
      keys: { 'dfs.federation.router.observer.state.id.refresh.period': '60ms' },
    });
    rig.setStateIds(100);
    const client = await rig.connectAndWrite();
    await client.read();
    rig.namenode(ACTIVE).stateId = 130;
    await rig.connectAndWrite();
    const startedMs = performance.now();
    while (client.toldIds['ns0'] !== 130) {
      expect(performance.now() - startedMs).toBeLessThan(5000);
      expect(await client.read()).toBe(100);
    }
    const last = rig.namenode(OBSERVER).waitForCall({ method: 'getFileInfo' }, rig.namenode(OBSERVER).calls.length + 1);
    await client.read();
    expect((await last).stateId).toBe(130);
  });

  it('is told that routers know of state ids when nothing is known, and stays so', async () => {
    const rig = await start();
    rig.setStateIds(null);
    const client = await rig.connect();
    await client.read();
    expect(client.told).toEqual(Buffer.alloc(0));
    rig.setStateIds(100);
    await client.read();
    expect(client.toldIds).toEqual({ ns0: 100 });
    await client.read();
    expect(callsAt(rig, OBSERVER)).toEqual([['getFileInfo', 100]]);
  });
});

describe('a state id', () => {
  it('of 0 is one', async () => {
    const rig = await start();
    rig.setStateIds(0);
    const client = await rig.connectAndWrite();
    expect(client.toldIds).toEqual({ ns0: 0 });
    expect(await client.read()).toBe(0);
    expect(callsAt(rig, OBSERVER)).toEqual([['getFileInfo', 0]]);
  });

  it('of many transactions goes to the observer as it is', async () => {
    const rig = await start();
    const stateId = 2 ** 40 + 2 ** 31 + 5;
    rig.setStateIds(stateId);
    const client = await rig.connectAndWrite();
    await client.read();
    expect(callsAt(rig, OBSERVER)).toEqual([['getFileInfo', stateId]]);
  });

  const odd: [string, object][] = [
    ['none for the nameservice', { ns1: 4000 }],
    ['the smallest int64', { ns0: INT64_MIN }],
    ['a negative one', { ns0: -1 }],
    ['the largest int64', { ns0: 2n ** 63n - 1n }],
    ['one that no NameNode has', { ns0: 2 ** 50 }],
  ];
  it.each(odd)('that is %s goes nowhere: the active answers', async (_name, stateIds) => {
    const rig = await start();
    const before = await rig.connectAndWrite();
    const client = await rig.connectWith(stateIds as Record<string, number | bigint>);
    expect(await client.read()).toBe(4711);
    expect(callsAt(rig, OBSERVER)).toEqual([]);
    for (const [, stateId] of callsAt(rig, ACTIVE)) expect(stateId).toBeUndefined();
    // And nobody else notices.
    expect(rig.stateOf(0)).toMatchObject({ epoch: 1, active: ACTIVE, txid: 4711 });
    expect(await before.read()).toBe(4711);
    expect(callsAt(rig, OBSERVER)).toEqual([['getFileInfo', 4711]]);
  });

  const bytes: [string, Buffer][] = [
    ['that is empty', Buffer.alloc(0)],
    ['that cannot be read', Buffer.from('not a state')],
    ['that is cut off', Buffer.from('0a0a0a036e7330', 'hex')],
    ['of more than 64 KiB', Buffer.alloc(65_537, Buffer.from('1800', 'hex'))],
  ];
  it.each(bytes)('in a field %s is none: the active answers', async (_name, routerFederatedState) => {
    const rig = await start();
    await rig.connectAndWrite();
    const client = await rig.connect();
    expect(await client.read('/ns0/f', { routerFederatedState })).toBe(4711);
    expect(callsAt(rig, OBSERVER)).toEqual([]);
    expect(rig.counted()).toMatchObject({ withoutFloor: 1 });
    expect(client.toldIds).toEqual({ ns0: 4711 });
  });

  it('is never that of another client', async () => {
    const rig = await start();
    rig.setStateIds(100);
    const first = await rig.connectAndWrite();
    rig.setStateIds(200);
    const second = await rig.connectAndWrite();
    await second.read();
    await first.read();
    expect(callsAt(rig, OBSERVER)).toEqual([
      ['getFileInfo', 200],
      ['getFileInfo', 100],
    ]);
  });
});

describe('what goes to an observer', () => {
  it('is neither a change nor what only the active answers nor what no state id orders', async () => {
    const rig = await start();
    const client = await rig.connectAndWrite();
    await client.read();
    await client.call('getQuotaUsage', { path: '/ns0/d' });
    await client.call('msync', {});
    await client.call('getFsStats', {});
    await client.write();
    await client.call('setTimes', { src: '/ns0/f', mtime: 1, atime: 1 });
    expect(callsAt(rig, OBSERVER).map(([method]) => method)).toEqual(['getFileInfo']);
    const atActive = callsAt(rig, ACTIVE);
    expect(new Set(atActive.map(([method]) => method))).toEqual(
      new Set(['mkdirs', 'getQuotaUsage', 'msync', 'getFsStats', 'setTimes']),
    );
    for (const [, stateId] of atActive) expect(stateId).toBeUndefined();
  });

  it('has no state of other nameservices with it', async () => {
    const rig = await start();
    const client = await rig.connectAndWrite();
    await client.read();
    for (const index of [ACTIVE, OBSERVER]) {
      for (const { header } of rig.namenode(index).calls) expect(header).not.toHaveProperty('routerFederatedState');
    }
  });

  it('is nothing of a nameservice that takes no part, of which clients are told nothing', async () => {
    const rig = await start({
      nameservices: { ns0: ['active', 'observer'], ns1: ['active', 'observer'] },
      keys: { 'dfs.federation.router.observer.read.overrides': 'ns1' },
    });
    const client = await rig.connectWith({ ns0: 4711, ns1: 4711 });
    for (let i = 0; i < 3; i++) {
      await client.read('/ns1/f');
      expect(client.toldIds).not.toHaveProperty('ns1');
    }
    await client.write('/ns1/d');
    expect(client.toldIds).not.toHaveProperty('ns1');
    expect(callsAt(rig, OBSERVER, 'ns1')).toEqual([]);
    expect(rig.counted(1)).toEqual({});
  });
});

describe('the state of the active', () => {
  it('that is not told any more turns reads from observers off, until it is again', async () => {
    const rig = await start();
    rig.setStateIds(100);
    const client = await rig.connectAndWrite();
    await client.read();
    rig.namenode(ACTIVE).stateId = null;
    await client.write();
    expect(rig.stateOf(0)).toMatchObject({ active: ACTIVE, txid: -1 });
    await client.read();
    expect(rig.counted()).toMatchObject({ unknownState: 1 });
    expect(callsAt(rig, OBSERVER)).toHaveLength(1);
    rig.namenode(ACTIVE).stateId = 105;
    await client.read();
    expect(client.toldIds).toEqual({ ns0: 105 });
    rig.namenode(OBSERVER).stateId = 105;
    expect(await client.read()).toBe(105);
    expect(callsAt(rig, OBSERVER).at(-1)).toEqual(['getFileInfo', 105]);
  });

  it('is not that of an observer without state ids, whatever it answers', async () => {
    const rig = await start();
    rig.setStateIds(100);
    // Its state context is off, so it answers what it is asked, with or without a state id.
    rig.namenode(OBSERVER).state = 'active';
    rig.namenode(OBSERVER).stateId = null;
    rig.namenode(ACTIVE).state = 'standby';
    const client = await rig.connect();
    client.sendRead();
    await rig.namenode(OBSERVER).waitForCall({ method: 'getFileInfo' });
    await rig.namenode(ACTIVE).waitForCall({ method: 'getFileInfo' }, 2);
    rig.namenode(ACTIVE).state = 'active';
    expect(await client.receiveRead()).toBe(100);
    expect(rig.router.block.activeOf(0)).toBe(ACTIVE);
    expect(rig.stateOf(0)).toMatchObject({ active: ACTIVE, txid: 100 });
  });

  describe('where no heartbeat has told of its NameNodes', () => {
    /** The first NameNode has its state context off, so that it answers like an active one, whatever it is. */
    async function startUnknown(second: 'active' | 'standby'): Promise<ObserverRig> {
      const rig = await start({ nameservices: { ns0: ['active', second] } });
      rig.namenode(0).stateId = null;
      rig.namenode(1).stateId = 100;
      for (const i of [0, 1]) rig.router.block.setState(0, i, NameNodeState.UNKNOWN);
      return rig;
    }

    it('is not that of the first to answer without a state id when another one is active', async () => {
      const rig = await startUnknown('active');
      const client = await rig.connect();
      expect(await client.read()).toBe(100);
      expect(rig.router.block.activeOf(0)).toBe(1);
      expect(rig.stateOf(0)).toMatchObject({ active: 1, txid: 100 });
      await client.read();
      expect(callsAt(rig, 0)).toHaveLength(1);
      expect(rig.figures().activeOlder).toBe(0);
    });

    it('is not that of the first to miss a file without a state id, either', async () => {
      const rig = await startUnknown('active');
      rig.namenode(0).handler = (call) => call.fail('java.io.FileNotFoundException', 'no /ns0/f');
      const client = await rig.connect();
      expect(await client.read()).toBe(100);
    });

    it('is that of one without state ids when no other one answers', async () => {
      const rig = await startUnknown('standby');
      const client = await rig.connect();
      expect(await client.read()).toBe(0);
      expect(rig.router.block.activeOf(0)).toBe(0);
      await client.read();
      expect(callsAt(rig, 1)).toHaveLength(1);
    });
  });

  it('is lower after a failover, and reads go on', async () => {
    const rig = await start({ nameservices: { ns0: ['active', 'observer', 'standby'] } });
    rig.setStateIds(100);
    const client = await rig.connectAndWrite();
    const other = await rig.connectWith({ ns0: 90 });
    rig.setStateIds(95);
    rig.namenode(ACTIVE).state = 'standby';
    rig.namenode(2).state = 'active';
    await other.write();
    expect(rig.stateOf(0)).toMatchObject({ epoch: 2, active: 2, txid: 95 });
    // What it had seen was lost: the active answers, as no observer would.
    expect(await client.read()).toBe(95);
    expect(await other.read()).toBe(95);
    expect(callsAt(rig, OBSERVER)).toEqual([['getFileInfo', 95]]);
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
  const list = ['getListing', { src: '/both', startAfter: Buffer.alloc(0), needLocation: false }] as const;

  it('is told the state ids of both, and goes to the observers of both with its own', async () => {
    const rig = await start({ nameservices: two, mounts: [mount] });
    rig.setStateIds(100, 'ns0');
    rig.setStateIds(200, 'ns1');
    const client = await rig.connect();
    expect((await client.call(...list)).exception).toBe('');
    expect(client.toldIds).toEqual({ ns0: 100, ns1: 200 });
    expect((await client.call(...list)).exception).toBe('');
    expect(client.toldIds).toEqual({ ns0: 100, ns1: 200 });
    expect(callsAt(rig, OBSERVER, 'ns0')).toEqual([['getListing', 100]]);
    expect(callsAt(rig, OBSERVER, 'ns1')).toEqual([['getListing', 200]]);
  });

  it('is told both by an msync, and only that of the one that answers it', async () => {
    const rig = await start({ nameservices: two });
    rig.setStateIds(100, 'ns0');
    rig.setStateIds(200, 'ns1');
    const client = await rig.connect();
    expect((await client.call('msync', {})).exception).toBe('');
    expect(client.toldIds).toEqual({ ns0: 100, ns1: 200 });
    const other = await rig.connect();
    rig.namenode(ACTIVE, 'ns1').handler = (call) => call.fail('java.io.IOException', 'not now');
    expect((await other.call('msync', {})).exception).toBe('');
    expect(other.toldIds).toEqual({ ns0: 100 });
    // Nor is it told its own value of the other one again, as if that had answered.
    expect((await client.call('msync', {})).exception).toBe('');
    expect(client.toldIds).toEqual({ ns0: 100 });
    expect(rig.counted()).toMatchObject({ clientMsyncs: 3 });
  });
});
