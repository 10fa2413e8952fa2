import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PROTOCOLS } from '../../src/call/methods.ts';
import { RpcClient } from '../../src/control/rpc-client.ts';
import { AnswerDelivery } from '../../src/simulator/answer-delivery.ts';
import type { Edit } from '../../src/simulator/journal.ts';
import { seededRandom, seedFor } from '../../src/simulator/service-time.ts';
import { NO_LAG, Tailing } from '../../src/simulator/tailing.ts';
import type { Plain } from '../../src/wire/messages.ts';
import { waitUntil } from '../support/wait.ts';
import { ObservedNameservice, RETRIABLE, STANDBY } from './simulator-observed.ts';

const NOTHING = { kind: 'constant', ms: 0 } as const;

let ns: ObservedNameservice;

describe('a lag that is drawn', () => {
  const edit = (txid: number, timeMs: number): Edit => ({ txid, timeMs }) as Edit;

  /** How many of `edits` transactions are applied after each of them. */
  function appliedAfterEach(seed: number, edits: number, randomTransactions: number): number[] {
    const tailing = new Tailing(seed, 'ns0', 'nn2');
    tailing.configure({ ...NO_LAG, lagTransactions: 1, randomTransactions });
    let applied = 0;
    return Array.from({ length: edits }, (_, at) => {
      tailing.onEdit();
      while (applied <= at && tailing.isVisible(edit(applied + 1, 0), at + 1, 0)) applied++;
      return applied;
    });
  }

  it('in transactions is another one with each edit, within its limits, the same for the same seed', () => {
    const applied = appliedAfterEach(3, 200, 5);
    for (const [at, count] of applied.entries()) {
      expect(count).toBeGreaterThanOrEqual(Math.max(0, at + 1 - 6));
      expect(count).toBeLessThanOrEqual(at);
    }
    const behind = new Set(applied.map((count, at) => at + 1 - count));
    expect([...behind].sort()).toEqual([1, 2, 3, 4, 5, 6]);
    expect(appliedAfterEach(3, 200, 5)).toEqual(applied);
    expect(appliedAfterEach(4, 200, 5)).not.toEqual(applied);
  });

  it('in time belongs to each edit, whenever somebody looks', () => {
    const ages = (seed: number, stepMs: number): number[] => {
      const tailing = new Tailing(seed, 'ns0', 'nn2');
      tailing.configure({ ...NO_LAG, lagTime: { kind: 'exponential', meanMs: 10 } });
      return Array.from({ length: 100 }, (_, at) => {
        const next = edit(at + 1, 1_000);
        const waitMs = tailing.msUntilVisible(next, at + 1, 1_000 + stepMs);
        expect(tailing.isVisible(next, at + 1, 1_000 + stepMs + waitMs)).toBe(true);
        tailing.onApplied();
        return stepMs + waitMs;
      });
    };
    const drawn = ages(1, 0);
    expect(new Set(drawn).size).toBe(100);
    for (const [at, ageMs] of ages(1, 5).entries()) expect(ageMs).toBeCloseTo(Math.max(5, drawn[at]!), 9);
    expect(ages(2, 0)).not.toEqual(drawn);
  });

  it('differs from NameNode to NameNode', () => {
    expect(
      new Set([seedFor(1, 'ns0', 'nn2'), seedFor(1, 'ns0', 'nn3'), seedFor(2, 'ns0', 'nn2'), seedFor(1, 'ns0n', 'n2')])
        .size,
    ).toBe(4);
  });

  it.each([7, 8])('shows in the state ids of observers, seed %d', async (seed) => {
    const run = async (): Promise<number[]> => {
      await using one = await ObservedNameservice.start({ seed });
      await one.control('nn2', { op: 'lag', randomTransactions: 4 });
      const seen: number[] = [];
      for (let at = 0; at < 30; at++) {
        await one.mkdirs(`/d${at}`);
        const { exists, stateId } = await one.see('nn2', `/d${at}`);
        expect(exists).toBe(stateId === at + 1);
        seen.push(stateId);
      }
      return seen;
    };
    const seen = await run();
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
    expect(seen.some((stateId, at) => stateId <= at)).toBe(true);
    expect(await run()).toEqual(seen);
  });

  it('wakes calls that wait when the time has come', async () => {
    await using one = await ObservedNameservice.start({ observerLag: { kind: 'exponential', meanMs: 5 } });
    for (let at = 0; at < 20; at++) {
      const stateId = await one.mkdirs(`/d${at}`);
      expect((await one.see('nn2', `/d${at}`, stateId)).exists).toBe(true);
    }
  });

  it('has limits', async () => {
    await using one = await ObservedNameservice.start();
    await expect(one.control('nn2', { op: 'lag', lagTransactions: -1 })).rejects.toThrow(
      'lag in transactions -1: a whole',
    );
    await expect(one.control('nn2', { op: 'lag', randomTransactions: 0.5 })).rejects.toThrow('random transactions 0.5');
    await expect(one.control('nn2', { op: 'lag', lagMs: -1 })).rejects.toThrow('lag of -1 ms: a number from 0');
  });
});

describe('answers on their way', () => {
  /** The order in which answers 0 to 19 arrive when all are given at once. */
  async function order(seed: number, reorderAnswers: number): Promise<number[]> {
    const delivery = new AnswerDelivery({ answerDelay: NOTHING, reorderAnswers }, seededRandom(seed));
    const arrived: number[] = [];
    const receiver = { send: (bytes: Buffer) => arrived.push(bytes.readUInt8()) };
    for (let at = 0; at < 20; at++) delivery.send(receiver, Buffer.of(at));
    await waitUntil(() => arrived.length === 20 || null, 'all answers');
    return arrived;
  }

  it('arrive in another order, none lost, the same for the same seed', async () => {
    const given = Array.from({ length: 20 }, (_, at) => at);
    const arrived = await order(1, 4);
    expect(arrived).not.toEqual(given);
    expect([...arrived].sort((a, b) => a - b)).toEqual(given);
    // An answer is passed by those only that came while it was held: the first to leave is one of the first five.
    expect(arrived[0]).toBeLessThan(5);
    expect(await order(1, 4)).toEqual(arrived);
    expect(await order(2, 4)).not.toEqual(arrived);
    expect(await order(1, 0)).toEqual(given);
  });

  it('are lost with their server', async () => {
    const delivery = new AnswerDelivery({ answerDelay: { kind: 'constant', ms: 1 }, reorderAnswers: 0 }, Math.random);
    const arrived: Buffer[] = [];
    const receiver = { send: (bytes: Buffer) => arrived.push(bytes) };
    delivery.send(receiver, Buffer.of(1));
    delivery.clear();
    delivery.send(receiver, Buffer.of(2));
    await waitUntil(() => arrived.length > 0 || null, 'the second answer');
    expect(arrived).toEqual([Buffer.of(2)]);
  });

  it('take their time, while what they tell is the state of before', async () => {
    await using one = await ObservedNameservice.start();
    await one.control('nn2', { op: 'lag' });
    const of = { nameservice: 'ns0', namenode: 'nn2' };
    await one.simulator.control({ op: 'settings', settings: { answerDelay: { kind: 'constant', ms: 60 } }, of });
    const startMs = performance.now();
    const late = one.see('nn2', '/a');
    await waitUntil(
      async () => (await one.simulator.control({ op: 'counts' }))['ns0 nn2 getFileInfo'] ?? null,
      'the execution',
    );
    await one.mkdirs('/a');
    expect(await late).toEqual({ exists: false, stateId: 0 });
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(59);
  });

  it('cross between the calls of a connection', async () => {
    await using one = await ObservedNameservice.start({ reorderAnswers: 8 });
    const answered: number[] = [];
    const calls = Array.from({ length: 40 }, (_, at) => one.see('nn0', '/').then(() => answered.push(at)));
    await Promise.all(calls);
    expect(answered).not.toEqual([...answered].sort((a, b) => a - b));
  });
});

describe('a restart', () => {
  beforeEach(async () => {
    ns = await ObservedNameservice.start({ datanodes: 1 });
  });

  afterEach(async () => {
    await ns[Symbol.asyncDispose]();
  });

  it('of an observer loses what it applied last, until it follows again', async () => {
    for (let at = 1; at <= 20; at++) await ns.mkdirs(`/d${at}`);
    expect(await ns.see('nn2', '/d20')).toEqual({ exists: true, stateId: 20 });
    const before = await ns.connect('nn2');
    await ns.control('nn2', { op: 'restart', loseTransactions: 5, paused: true });
    await waitUntil(() => before.isClosed || null, 'the end of the old connection');
    expect(await ns.see('nn2', '/d15')).toEqual({ exists: true, stateId: 15 });
    expect((await ns.see('nn2', '/d16')).exists).toBe(false);
    const waiting = ns.see('nn2', '/d20', 20);
    await waitUntil(async () => (await ns.status('nn2')).requeued || null, 'the call waits');
    await ns.control('nn2', { op: 'lag' });
    expect(await waiting).toEqual({ exists: true, stateId: 20 });
    // Its tree and the one that it left behind go on from there.
    await ns.control('nn2', { op: 'restart', loseTransactions: 1000, paused: true });
    expect((await ns.status('nn2')).stateId).toBe(20);
    for (let at = 21; at <= 30; at++) await ns.mkdirs(`/d${at}`);
    await ns.control('nn2', { op: 'lag' });
    expect((await ns.see('nn2', '/d30', 30)).exists).toBe(true);
    await ns.control('nn2', { op: 'restart', loseTransactions: 1000, paused: true });
    expect((await ns.status('nn2')).stateId).toBe(20);
    await ns.control('nn2', { op: 'lag' });
    await ns.control('nn2', { op: 'transition', to: 'standby' });
    await ns.simulator.control({ op: 'failover', nameservice: 'ns0', to: 'nn2' });
    const [active, , observer] = await ns.simulator.control({ op: 'status' });
    expect(observer).toMatchObject({ state: 'active', stateId: 30, inodes: active!.inodes });
  });

  it('keeps the answers of calls that were executed before', async () => {
    const clientId = Buffer.alloc(16, 5);
    const remove = async (namenode: string, retryCount: number): Promise<unknown> => {
      const { host, port } = await ns.status(namenode);
      using client = await RpcClient.connect({ host, port, user: 'hdfs', clientId });
      const types = ['hadoop.hdfs.DeleteRequestProto', 'hadoop.hdfs.DeleteResponseProto'] as const;
      const request = { src: '/d', recursive: true };
      const options = { callId: 9, retryCount };
      return (await client.call<Plain>(PROTOCOLS[0]!.name, 'delete', ...types, request, options)).response['result'];
    };
    await ns.mkdirs('/d');
    expect(await remove('nn0', 0)).toBe(true);
    await ns.control('nn0', { op: 'restart' });
    expect(await remove('nn0', 1)).toBe(true);
    await ns.control('nn1', { op: 'restart', loseTransactions: 1 });
    await ns.simulator.control({ op: 'failover', nameservice: 'ns0', to: 'nn1' });
    expect(await remove('nn1', 2)).toBe(true);
    expect(await ns.simulator.control({ op: 'counts' })).toMatchObject({ 'ns0 nn0 delete': 1 });
  });

  it('ends after as many calls as it is told, those of a start first, then those in safe mode', async () => {
    await ns.mkdirs('/d');
    await ns.control('nn2', { op: 'restart', notStartedCalls: 2, safeModeCalls: 2 });
    for (const [method, request] of [
      ['getHAServiceState', {}],
      ['getFileInfo', { src: '/d' }],
    ] as const) {
      expect(await ns.refusal('nn2', method, request, 0)).toMatchObject({
        className: RETRIABLE,
        detail: 'ERROR_APPLICATION',
        message: `${RETRIABLE}: NameNode still not started`,
      });
      // It does not ask whether the start has ended.
      expect((await ns.refusal('nn2', 'msync')).className).toContain('ObserverRetryOnActive');
    }
    expect((await ns.status('nn2')).safeMode).toBe(true);
    expect((await ns.see('nn2', '/d', 1)).exists).toBe(true);
    expect((await ns.ask('nn2', 'getHAServiceState')).response['state']).toBe('OBSERVER');
    expect((await ns.status('nn2')).safeMode).toBe(false);
  });

  it('of an active in safe mode asks writers to come again, and can be ended by hand', async () => {
    await ns.control('nn0', { op: 'restart', safeModeCalls: 100 });
    const make = { src: '/d', masked: { perm: 0o755 }, createParent: true };
    const refusal = await ns.refusal('nn0', 'mkdirs', make);
    expect(refusal.message).toBe(
      `${RETRIABLE}: org.apache.hadoop.hdfs.server.namenode.SafeModeException: Cannot create directory /d. Name node is in safe mode.`,
    );
    expect(refusal.text).toContain(
      'The reported blocks 0 needs additional 0 blocks to reach the threshold 0.9990 of total',
    );
    await ns.ask('nn0', 'setSafeMode', { action: 'SAFEMODE_LEAVE', checked: false });
    expect(await ns.mkdirs('/d')).toBe(1);
  });

  it('loses nothing of an active but what it had not written', async () => {
    await expect(ns.control('nn0', { op: 'restart', loseTransactions: 1 })).rejects.toThrow(
      'ns0 nn0 cannot lose transactions: only standbys and observers',
    );
    await ns.mkdirs('/a');
    await ns.control('nn0', { op: 'fence', unsynced: 4 });
    expect(await ns.see('nn0', '/a')).toEqual({ exists: true, stateId: 5 });
    expect((await ns.ask('nn0', 'msync')).stateId).toBe(5);
    await ns.control('nn0', { op: 'restart' });
    expect(await ns.status('nn0')).toMatchObject({ state: 'active', fenced: false, stateId: 1 });
    expect(await ns.mkdirs('/b')).toBe(2);
    expect(await ns.see('nn2', '/b', 2)).toEqual({ exists: true, stateId: 2 });
  });

  it('is not possible of what does not run', async () => {
    await ns.control('nn2', { op: 'stop' });
    await expect(ns.control('nn2', { op: 'restart' })).rejects.toThrow('ns0 nn2 is stopped; start it first');
  });
});

describe('an active that is fenced', () => {
  beforeEach(async () => {
    ns = await ObservedNameservice.start();
    await ns.mkdirs('/a');
    await ns.simulator.control({ op: 'failover', nameservice: 'ns0', to: 'nn1', fence: { unsynced: 10 } });
  });

  afterEach(async () => {
    await ns[Symbol.asyncDispose]();
  });

  it('goes on answering with a state id that nobody else will reach soon', async () => {
    expect(await ns.mkdirs('/b', 'nn1')).toBe(2);
    expect((await ns.ask('nn0', 'getHAServiceState')).response['state']).toBe('ACTIVE');
    expect((await ns.ask('nn0', 'msync')).stateId).toBe(11);
    expect((await ns.ask('nn0', 'getCurrentEditLogTxid')).response['txid']).toBe(11);
    expect(await ns.see('nn0', '/a', 2)).toEqual({ exists: true, stateId: 11 });
    // What the new active wrote is not here.
    expect(await ns.see('nn0', '/b', 2)).toEqual({ exists: false, stateId: 11 });
    expect(await ns.see('nn2', '/b', 2)).toEqual({ exists: true, stateId: 2 });
    expect(await ns.status('nn0')).toMatchObject({ state: 'active', fenced: true, stateId: 11, appliedTxId: 1 });
  });

  it('gives no answer to writers, and nothing of theirs is done', async () => {
    await expect(ns.mkdirs('/c', 'nn0')).rejects.toMatchObject({ code: 'CLOSED' });
    for (const namenode of ['nn0', 'nn1', 'nn2']) expect((await ns.see(namenode, '/c')).exists).toBe(false);
    const calls = await ns.simulator.control({ op: 'calls', method: 'mkdirs', path: '/c' });
    expect(calls.map(({ namenode, executed }) => [namenode, executed])).toEqual([['nn0', false]]);
    expect(await ns.mkdirs('/c', 'nn1')).toBe(2);
  });

  it('follows the new one when it has become standby', async () => {
    await ns.mkdirs('/b', 'nn1');
    await ns.control('nn0', { op: 'transition', to: 'standby' });
    expect(await ns.status('nn0')).toMatchObject({ state: 'standby', fenced: false, stateId: 2 });
    expect((await ns.refusal('nn0', 'getFileInfo', { src: '/b' })).className).toBe(STANDBY);
    await ns.simulator.control({ op: 'failover', nameservice: 'ns0', to: 'nn0' });
    expect(await ns.see('nn0', '/b')).toEqual({ exists: true, stateId: 2 });
  });

  it('comes back as standby from a restart', async () => {
    await ns.mkdirs('/b', 'nn1');
    await ns.control('nn0', { op: 'restart' });
    expect(await ns.status('nn0')).toMatchObject({ state: 'standby', fenced: false, stateId: 2 });
  });

  it('is the one that was active', async () => {
    await expect(ns.control('nn0', { op: 'fence' })).rejects.toThrow('ns0 nn0 is not the active of its nameservice');
    await expect(ns.control('nn1', { op: 'fence', unsynced: -1 })).rejects.toThrow('unsynced transactions -1');
  });
});

describe('caps', () => {
  it('of observers may differ from those of the others', async () => {
    await using one = await ObservedNameservice.start({ observerSettings: { callsPerSecond: 500 } });
    const order: string[] = [];
    const burst = async (namenode: string): Promise<number> => {
      const startMs = performance.now();
      await Promise.all(Array.from({ length: 101 }, () => one.ask(namenode, 'getHAServiceState')));
      order.push(namenode);
      return performance.now() - startMs;
    };
    const [capped] = await Promise.all([burst('nn2'), burst('nn0')]);
    expect(order).toEqual(['nn0', 'nn2']);
    // 100 intervals of 2 ms, less the slack of 10 ms.
    expect(capped).toBeGreaterThanOrEqual(189);
  });
});
