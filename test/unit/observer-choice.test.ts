import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Gate } from '../../src/admission/gate.ts';
import { NameNodeState } from '../../src/shared/control-block.ts';
import { disposeOpened } from '../support/dispose-opened.ts';
import { type ObserverClient, ObserverRig } from '../support/observer-rig.ts';
import { fileStatus, type NameNodeCall, RETRIABLE } from '../support/scripted-namenode.ts';
import { waitUntil } from '../support/wait.ts';

/** Which observer gets a read, and how one that failed comes back. */

const opened: (Disposable | AsyncDisposable)[] = [];
afterEach(() => disposeOpened(opened));

const READ = { method: 'getFileInfo' };
const ROUTER = 'router';
const AT_ACTIVE = 100;
/** Observers hold calls for as long as a test wants. */
const KEYS = { 'switchyard.observer.patience': '30s' };

async function start(observers: number): Promise<{ rig: ObserverRig; client: ObserverClient }> {
  const states = ['active', ...Array.from({ length: observers }, () => 'observer' as const)] as const;
  const rig = await ObserverRig.start({ nameservices: { ns0: states }, keys: KEYS });
  opened.push(rig);
  rig.setStateIds(AT_ACTIVE);
  return { rig, client: await rig.connectAndWrite() };
}

/** Reads that each observer has, answered or not. */
function readsAt(rig: ObserverRig, observers: number): number[] {
  return Array.from({ length: observers }, (_, i) => rig.namenode(i + 1).callsOf({ ...READ, user: 'alice' }).length);
}

describe('reads', () => {
  it('that come one after the other go round all observers', async () => {
    const { rig, client } = await start(3);
    for (let i = 0; i < 12; i++) await client.read();
    expect(Math.min(...readsAt(rig, 3))).toBeGreaterThan(0);
    expect(rig.namenode(0).callsOf(READ)).toHaveLength(0);
  });

  it('say nothing about how busy NameNodes are when the observer may have to catch up first', async () => {
    const { rig, client } = await start(1);
    const { window } = rig.router.engine.admission.gates[0] as Gate;
    const sample = vi.spyOn(window, 'sample');
    await client.read();
    expect(sample).toHaveBeenCalledTimes(0);
    await client.read();
    expect(sample).toHaveBeenCalledTimes(1);
    rig.setStateIds(AT_ACTIVE + 1);
    await client.write();
    await client.read();
    expect(sample).toHaveBeenCalledTimes(1);
    await client.read();
    expect(sample).toHaveBeenCalledTimes(2);
    expect(rig.namenode(0).callsOf(READ)).toHaveLength(0);
  });

  it('go to the observer that has the fewest unanswered', async () => {
    const { rig, client } = await start(3);
    const held: NameNodeCall[] = [];
    for (let i = 1; i <= 3; i++) rig.namenode(i).handler = (call) => held.push(call);
    const reads = 30;
    for (let i = 0; i < reads; i++) client.sendRead();
    for (let i = 1; i <= 3; i++) await rig.namenode(i).waitForCall(READ, reads / 3);
    expect(readsAt(rig, 3)).toEqual([10, 10, 10]);
    // Those of one are answered: the next ones go there.
    const first = held.filter(({ peer }) => rig.namenode(1).peers.includes(peer));
    for (const call of first) call.succeed({ fs: fileStatus(1) });
    for (const _ of first) expect(await client.receiveRead()).toBe(1);
    for (let i = 0; i < 10; i++) client.sendRead();
    await rig.namenode(1).waitForCall(READ, 20);
    expect(readsAt(rig, 3)).toEqual([20, 10, 10]);
    for (const call of [...held].filter((call) => !first.includes(call))) call.succeed({ fs: fileStatus(2) });
    for (let i = 0; i < reads; i++) await client.receiveRead();
  });

  it('go to one that lags only when the others have much to do', async () => {
    const { rig, client } = await start(2);
    rig.words.setBehind(0, 2, 800);
    const held: NameNodeCall[] = [];
    for (let i = 1; i <= 2; i++) rig.namenode(i).handler = (call) => held.push(call);
    const reads = 12;
    for (let i = 0; i < reads; i++) client.sendRead();
    await waitUntil(() => held.length === reads, 'all reads have come');
    const [first, second] = readsAt(rig, 2) as [number, number];
    expect(first - second).toBeGreaterThanOrEqual(7);
    expect(first - second).toBeLessThanOrEqual(9);
    for (const call of held) call.succeed({ fs: fileStatus(1) });
    for (let i = 0; i < reads; i++) await client.receiveRead();
  });

  it('go to one that lags as to others when it has what the client has seen', async () => {
    const { rig, client } = await start(2);
    for (let i = 0; i < 4; i++) await client.read();
    rig.words.setBehind(0, 2, 1_000_000);
    for (let i = 0; i < 8; i++) await client.read();
    expect(Math.min(...readsAt(rig, 2))).toBeGreaterThan(2);
  });

  it('go to no NameNode that is not known as an observer', async () => {
    const { rig, client } = await start(2);
    rig.router.block.setState(0, 1, NameNodeState.STANDBY);
    for (let i = 0; i < 4; i++) await client.read();
    expect(readsAt(rig, 2)).toEqual([0, 4]);
    rig.router.block.setState(0, 2, NameNodeState.UNAVAILABLE);
    await client.read();
    expect(rig.counted()).toMatchObject({ withoutObserver: 1 });
    expect(rig.namenode(0).callsOf(READ)).toHaveLength(1);
  });
});

describe('an observer that failed', () => {
  /** The time for which it is left alone is over. */
  function endHold(rig: ObserverRig, namenode: number): void {
    rig.words.holdAnew(0, namenode, rig.stamp - 100_000, 1000, 60_000);
    expect(rig.words.isHeld(0, namenode, rig.stamp)).toBe(false);
    expect(rig.words.isSuspect(0, namenode)).toBe(true);
  }

  async function startFailed(): Promise<{ rig: ObserverRig; client: ObserverClient }> {
    const started = await start(1);
    const { rig, client } = started;
    const { handler } = rig.namenode(1);
    rig.namenode(1).handler = (call) => call.fail(RETRIABLE, 'busy');
    expect(await client.read()).toBe(AT_ACTIVE);
    rig.namenode(1).handler = handler;
    return started;
  }

  it('is left alone by all workers', async () => {
    const { rig, client } = await startFailed();
    const other = await rig.connectWith({ ns0: AT_ACTIVE }, await rig.startBeside());
    for (let i = 0; i < 5; i++) {
      await client.read();
      await other.read();
    }
    expect(rig.namenode(1).callsOf({})).toHaveLength(1);
    expect(rig.counted()).toMatchObject({ holds: 1, withoutObserver: 11 });
  });

  it('is asked by the router itself whether it answers again, and then gets reads', async () => {
    const { rig, client } = await startFailed();
    endHold(rig, 1);
    rig.namenode(1).stateId = AT_ACTIVE + 7;
    // No client pays for finding out.
    expect(await client.read()).toBe(AT_ACTIVE);
    const probe = await rig.namenode(1).waitForCall({ ...READ, user: ROUTER });
    expect(probe.stateId).toBe(AT_ACTIVE);
    await rig.namenode(1).until(() => probe.peer.unanswered === 0, 'the probe is answered');
    // It comes back with the answer, which the router has not read yet.
    while (rig.words.isSuspect(0, 1)) await client.read();
    expect(await client.read()).toBe(AT_ACTIVE + 7);
    // The probe is no read, in the figures either.
    expect(rig.counted()).toMatchObject({ probes: 1, holds: 1, observerNotReady: 1, observerReads: 1 });
  });

  it.each([
    ['with an error', (call: NameNodeCall) => call.fail(RETRIABLE, 'busy')],
    ['with a lost connection', (call: NameNodeCall) => call.reset()],
    ['without a state id', (call: NameNodeCall) => call.succeed({ fs: fileStatus(1) }, { stateId: null })],
  ])('is left alone for longer when it answers that %s', async (_name, answer) => {
    const { rig, client } = await startFailed();
    endHold(rig, 1);
    rig.namenode(1).handler = answer;
    await client.read();
    await rig.namenode(1).waitForCall({ ...READ, user: ROUTER });
    while (rig.figures().holds < 2) await client.read();
    const { observerNotReady, observerUnreachable, observerOlder } = rig.figures();
    expect(rig.counted()).toMatchObject({ probes: 1, holds: 2 });
    expect(observerNotReady + observerUnreachable + observerOlder).toBe(1);
    expect(rig.words.isHeld(0, 1, rig.stamp)).toBe(true);
    // One client's read has failed there, and no other.
    expect(rig.namenode(1).callsOf({ user: 'alice' })).toHaveLength(1);
  });

  it('is asked by one worker of several', async () => {
    const { rig, client } = await startFailed();
    const other = await rig.connectWith({ ns0: AT_ACTIVE }, await rig.startBeside());
    endHold(rig, 1);
    const held: NameNodeCall[] = [];
    const { handler } = rig.namenode(1);
    rig.namenode(1).handler = (call) => held.push(call);
    for (let i = 0; i < 3; i++) {
      expect(await client.read()).toBe(AT_ACTIVE);
      expect(await other.read()).toBe(AT_ACTIVE);
    }
    await rig.namenode(1).waitForCall({ ...READ, user: ROUTER });
    expect(rig.figures().probes).toBe(1);
    expect(held).toHaveLength(1);
    rig.namenode(1).handler = handler;
    held[0]?.succeed({ fs: fileStatus(1) });
    while (rig.words.isSuspect(0, 1)) await client.read();
  });
});
