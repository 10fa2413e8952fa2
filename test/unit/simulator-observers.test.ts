import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PROTOCOLS } from '../../src/call/methods.ts';
import { HdfsClient } from '../../src/control/hdfs-client.ts';
import { RpcClient } from '../../src/control/rpc-client.ts';
import type { Plain } from '../../src/wire/messages.ts';
import { waitUntil } from '../support/wait.ts';
import { OBSERVER_RETRY, ObservedNameservice, RETRIABLE, STANDBY } from './simulator-observed.ts';

const OLDEST_MS = 1;
const FAR = 10n ** 15n;
const MIN = -(2n ** 63n);

let ns: ObservedNameservice;

beforeEach(async () => {
  ns = await ObservedNameservice.start({ datanodes: 3 });
});

afterEach(async () => {
  await ns[Symbol.asyncDispose]();
});

/** Waits until a NameNode has put `calls` calls back into its queue. */
async function untilRequeued(namenode: string, calls: number): Promise<void> {
  await waitUntil(
    async () => (await ns.status(namenode)).requeued >= calls || null,
    `${calls} calls wait at ${namenode}`,
  );
}

/** A closed file of one block. */
async function writeFile(src: string): Promise<void> {
  const clientName = 'c1';
  const permission = { perm: 0o644 };
  await ns.ask('nn0', 'create', {
    src,
    masked: permission,
    clientName,
    createFlag: 1,
    createParent: true,
    replication: 3,
    blockSize: 1024,
    cryptoProtocolVersion: [],
  });
  const added = await ns.ask('nn0', 'addBlock', { src, clientName, excludeNodes: [], favoredNodes: [], flags: [] });
  const last = { ...((added.response['block'] as Plain)['b'] as Plain), numBytes: 10 };
  await ns.ask('nn0', 'complete', { src, clientName, last });
}

const locations = (src: string): object => ({ src, offset: 0, length: 1000 });
const listing = (src: string): object => ({ src, startAfter: Buffer.alloc(0), needLocation: true });

describe('state ids of replies', () => {
  it('are in answers, refusals and fatal ones, in every state', async () => {
    const stateId = await ns.mkdirs('/a');
    expect(stateId).toBe(1);
    for (const namenode of ['nn0', 'nn1', 'nn2']) {
      expect((await ns.ask(namenode, 'getHAServiceState')).stateId).toBe(stateId);
    }
    expect((await ns.refusal('nn1', 'getFileInfo', { src: '/a' })).header.stateId).toBe(stateId);
    expect((await ns.refusal('nn2', 'getFileInfo', { src: '/a' })).header.stateId).toBe(stateId);
    expect((await ns.refusal('nn0', 'getFileInfo', { src: 'a' })).header.stateId).toBe(stateId);
    const { host, port } = await ns.status('nn2');
    using stranger = await RpcClient.connect({ host, port, user: 'bob', realUser: 'eve' });
    const calling = stranger.call('x', 'y', 'hadoop.hdfs.MsyncRequestProto', 'hadoop.hdfs.MsyncResponseProto', {});
    await expect(calling).rejects.toMatchObject({ status: 'FATAL', header: { stateId } });
  });

  it('are absent, and those of requests are not looked at, where the state context is off', async () => {
    await ns.mkdirs('/a');
    await ns.simulator.control({
      op: 'settings',
      settings: { stateIds: false },
      of: { nameservice: 'ns0', namenode: 'nn2' },
    });
    const answer = await ns.ask('nn2', 'getFileInfo', { src: '/a' });
    expect(answer.response['fs']).toBeDefined();
    expect(answer.stateId).toBeUndefined();
    expect((await ns.ask('nn2', 'getFileInfo', { src: '/a' }, FAR)).response['fs']).toBeDefined();
    expect((await ns.ask('nn0', 'getHAServiceState')).stateId).toBe(1);
  });
});

describe('state ids of requests', () => {
  it('never make the active wait, not even when it has become standby meanwhile', async () => {
    for (const stateId of [FAR, MIN, 2n ** 63n - 1n])
      expect(await ns.see('nn0', '/', stateId)).toMatchObject({ exists: true });
    await ns.control('nn0', { op: 'hang' });
    const refused = ns.refusal('nn0', 'getFileInfo', { src: '/' }, FAR);
    await waitUntil(async () => (await ns.status('nn0')).queued === 1 || null, 'the call is read');
    await ns.control('nn0', { op: 'transition', to: 'standby' });
    await ns.control('nn0', { op: 'resume' });
    expect((await refused).className).toBe(STANDBY);
    expect((await ns.status('nn0')).requeued).toBe(0);
  });

  it('make a standby keep silent until it has caught up, and refuse then', async () => {
    await ns.control('nn1', { op: 'lag', paused: true });
    const stateId = await ns.mkdirs('/a');
    let isAnswered = false;
    const refused = ns.refusal('nn1', 'getFileInfo', { src: '/a' }, stateId).finally(() => {
      isAnswered = true;
    });
    await untilRequeued('nn1', 1);
    // What it has reached it refuses at once, on the same connection.
    expect((await ns.refusal('nn1', 'getFileInfo', { src: '/a' }, 0)).className).toBe(STANDBY);
    expect(isAnswered).toBe(false);
    await ns.control('nn1', { op: 'lag' });
    expect(await refused).toMatchObject({ className: STANDBY, detail: 'ERROR_APPLICATION' });
  });

  it('that a standby has read are waited for when it is active', async () => {
    const stateId = await ns.mkdirs('/a');
    const waiting = ns.see('nn1', '/b', stateId + 1);
    await untilRequeued('nn1', 1);
    await ns.simulator.control({ op: 'failover', nameservice: 'ns0', to: 'nn1' });
    await untilRequeued('nn1', 2);
    await ns.mkdirs('/b', 'nn1');
    expect(await waiting).toEqual({ exists: true, stateId: stateId + 1 });
  });

  it('may be 160000 ahead of an observer, and the call waits without an end', async () => {
    expect(await ns.see('nn2', '/', MIN)).toMatchObject({ exists: true });
    const stateId = await ns.mkdirs('/a');
    const ahead = stateId + 160_000;
    expect((await ns.refusal('nn2', 'getFileInfo', { src: '/' }, ahead + 1)).text).toBe(
      `Observer Node is too far behind: serverStateId = ${stateId} clientStateId = ${ahead + 1}`,
    );
    expect(await ns.refusal('nn2', 'getFileInfo', { src: '/' }, MIN)).toMatchObject({
      className: RETRIABLE,
      detail: 'ERROR_RPC_SERVER',
    });
    for (const low of [-1, 0]) expect(await ns.see('nn2', '/', low)).toMatchObject({ exists: true });
    const waiting = ns.ask('nn2', 'getFileInfo', { src: '/' }, ahead);
    waiting.catch(() => {});
    // It is looked at again with every edit.
    for (let edit = 1; edit <= 3; edit++) {
      await untilRequeued('nn2', edit);
      await ns.mkdirs(`/b${edit}`);
    }
    expect((await ns.status('nn2')).queued).toBe(1);
    await ns.control('nn2', { op: 'stop' });
    await expect(waiting).rejects.toMatchObject({ code: 'CLOSED' });
  });

  it('do not matter for methods that are not checked for freshness', async () => {
    await ns.control('nn2', { op: 'lag', paused: true });
    await ns.mkdirs('/a');
    for (const stateId of [undefined, 0, FAR]) {
      await expect(ns.ask('nn2', 'getFsStats', {}, stateId)).resolves.toMatchObject({ stateId: 0 });
      await expect(ns.ask('nn2', 'getHAServiceState', {}, stateId)).resolves.toMatchObject({
        response: { state: 'OBSERVER' },
      });
      // Only clients and routers keep this one away from observers.
      await expect(ns.ask('nn2', 'getQuotaUsage', { path: '/' }, stateId)).resolves.toMatchObject({ stateId: 0 });
    }
    expect((await ns.refusal('nn2', 'getFileInfo', { src: '/' })).className).toBe(STANDBY);
  });

  it('give up their place in a full queue to calls that come', async () => {
    const of = { nameservice: 'ns0', namenode: 'nn2' };
    await ns.simulator.control({ op: 'settings', settings: { queueCapacity: 2, overflow: 'block' }, of });
    const stateId = await ns.mkdirs('/a');
    const first = ns.refusal('nn2', 'getFileInfo', { src: '/' }, stateId + 1);
    await untilRequeued('nn2', 1);
    // On connections of their own, for what is fatal ends the first.
    const { host, port } = await ns.status('nn2');
    using second = new HdfsClient(await RpcClient.connect({ host, port, user: 'hdfs' }));
    using third = new HdfsClient(await RpcClient.connect({ host, port, user: 'hdfs' }));
    const waiting = second.rpc.call(
      PROTOCOLS[0]!.name,
      'getFileInfo',
      'hadoop.hdfs.GetFileInfoRequestProto',
      'hadoop.hdfs.GetFileInfoResponseProto',
      { src: '/' },
      { stateId: stateId + 1 },
    );
    await untilRequeued('nn2', 2);
    expect(await third.getHAServiceState()).toBe('OBSERVER');
    const refused = await first;
    expect(refused).toMatchObject({ status: 'FATAL', className: RETRIABLE, detail: 'ERROR_RPC_SERVER' });
    expect(refused.text).toContain(`${RETRIABLE}: Server too busy - disconnecting\n\tat `);
    await ns.mkdirs('/b');
    expect((await waiting).header.stateId).toBe(stateId + 1);
  });
});

describe('writes at an observer', () => {
  it.each([
    ['mkdirs', { src: '/a', masked: { perm: 0o755 }, createParent: true }],
    ['msync', {}],
    ['setTimes', { src: '/', mtime: 1, atime: 1 }],
  ])('%s is sent to the active, with a state id or without', async (method, request) => {
    for (const stateId of [undefined, 0, FAR]) {
      const refusal = await ns.refusal('nn2', method, request, stateId);
      expect(refusal).toMatchObject({ className: OBSERVER_RETRY, status: 'ERROR', detail: 'ERROR_APPLICATION' });
      expect(refusal.text).toContain('Operation category WRITE is not supported in state observer. Visit https://s.');
    }
  });
});

describe('block locations at an observer', () => {
  beforeEach(async () => {
    await writeFile('/d/f');
  });

  it('of a file that was not read for long are told by the active, which notes the access', async () => {
    expect((await ns.ask('nn2', 'getBlockLocations', locations('/d/f'), 0)).response['locations']).toBeDefined();
    const before = Number(
      (await ns.ask('nn0', 'setTimes', { src: '/d/f', mtime: OLDEST_MS, atime: OLDEST_MS })).stateId,
    );
    expect(await ns.refusal('nn2', 'getBlockLocations', locations('/d/f'), 0)).toMatchObject({
      className: OBSERVER_RETRY,
      detail: 'ERROR_APPLICATION',
    });
    // While in safe mode nobody notes anything.
    await ns.ask('nn2', 'setSafeMode', { action: 'SAFEMODE_ENTER', checked: false });
    await ns.ask('nn2', 'getBlockLocations', locations('/d/f'), 0);
    expect((await ns.ask('nn0', 'getBlockLocations', locations('/d/f'))).stateId).toBe(before + 1);
    const { response } = await ns.ask('nn2', 'getFileInfo', { src: '/d/f' }, before + 1);
    expect(Number((response['fs'] as Plain)['access_time'])).toBeGreaterThan(OLDEST_MS);
  });

  it('are unknown until DataNodes have reported them', async () => {
    await ns.control('nn2', { op: 'blockReports', arrive: false });
    const plain = { src: '/d', startAfter: Buffer.alloc(0), needLocation: false };
    expect((await ns.refusal('nn2', 'getBlockLocations', locations('/d/f'), 0)).message).toBe(
      `${OBSERVER_RETRY}: Zero blocklocations for /d/f`,
    );
    expect((await ns.refusal('nn2', 'getLocatedFileInfo', { src: '/d/f' }, 0)).message).toBe(
      `${OBSERVER_RETRY}: Zero blocklocations for /d/f`,
    );
    expect((await ns.refusal('nn2', 'getListing', listing('/d'), 0)).message).toMatch(
      /^org\.apache\.hadoop\.ipc\.ObserverRetryOnActiveException: Zero blocklocations for HdfsLocatedFileStatus\{path=null; isDirectory=false; length=10; replication=3; blocksize=1024; modification_time=\d+; access_time=\d+; owner=hdfs; group=supergroup; permission=rw-r--r--; isSymlink=false; hasAcl=false; isEncrypted=false; isErasureCoded=false\}$/,
    );
    expect((await ns.see('nn2', '/d/f')).exists).toBe(true);
    await expect(ns.ask('nn2', 'getListing', plain, 0)).resolves.toBeDefined();
    await expect(
      ns.ask('nn2', 'getBatchedListing', { paths: ['/d'], startAfter: Buffer.alloc(0), needLocation: true }, 0),
    ).resolves.toBeDefined();
    await ns.control('nn2', { op: 'blockReports', arrive: true });
    await expect(ns.ask('nn2', 'getListing', listing('/d'), 0)).resolves.toBeDefined();
  });

  it('are answered without DataNodes by an active that does not know them', async () => {
    await ns.control('nn0', { op: 'blockReports', arrive: false });
    const { response } = await ns.ask('nn0', 'getBlockLocations', locations('/d/f'));
    const { blocks } = response['locations'] as { blocks: Plain[] };
    expect(blocks).toHaveLength(1);
    expect(blocks[0]!['locs']).toEqual([]);
  });

  it.each(['nn0', 'nn2'])('are asked for again in safe mode, at %s', async (namenode) => {
    await ns.control(namenode, { op: 'blockReports', arrive: false });
    await ns.ask(namenode, 'setSafeMode', { action: 'SAFEMODE_ENTER', checked: false });
    const refusal = await ns.refusal(namenode, 'getBlockLocations', locations('/d/f'), 0);
    expect(refusal).toMatchObject({ className: RETRIABLE, detail: 'ERROR_APPLICATION' });
    expect(refusal.message).toBe(
      `${RETRIABLE}: org.apache.hadoop.hdfs.server.namenode.SafeModeException: Zero blocklocations for /d/f. Name node is in safe mode.`,
    );
    const listed = ns.ask(namenode, 'getListing', listing('/d'), 0);
    if (namenode === 'nn2') await expect(listed).rejects.toMatchObject({ className: OBSERVER_RETRY });
    else await expect(listed).resolves.toBeDefined();
  });

  it('are unknown in the safe mode of a start', async () => {
    const { stateId } = await ns.status('nn0');
    await ns.control('nn2', { op: 'restart', safeModeCalls: 1 });
    expect((await ns.refusal('nn2', 'getBlockLocations', locations('/d/f'), stateId)).text).toContain(
      'The reported blocks 0 needs additional 0 blocks to reach the threshold 0.9990 of total blocks 1.',
    );
    await expect(ns.ask('nn2', 'getBlockLocations', locations('/d/f'), stateId)).resolves.toBeDefined();
  });

  it('never renew an access time where the precision is 0', async () => {
    await using other = await ObservedNameservice.start({ accessTimePrecisionMs: 0 });
    await other.ask('nn0', 'create', {
      src: '/f',
      masked: { perm: 0o644 },
      clientName: 'c1',
      createFlag: 1,
      createParent: true,
      replication: 3,
      blockSize: 1024,
      cryptoProtocolVersion: [],
    });
    const set = await other.ask('nn0', 'setTimes', { src: '/f', mtime: OLDEST_MS, atime: OLDEST_MS });
    expect((await other.ask('nn2', 'getBlockLocations', locations('/f'), 0)).stateId).toBe(set.stateId);
    expect((await other.ask('nn0', 'getBlockLocations', locations('/f'))).stateId).toBe(set.stateId);
  });
});

describe('HA administration', () => {
  const reqInfo = { reqInfo: { reqSource: 'REQUEST_BY_USER' } };

  it('says what each NameNode is, and whether it may become active', async () => {
    expect(await ns.administer('nn0', 'getServiceStatus')).toMatchObject({
      state: 'ACTIVE',
      readyToBecomeActive: true,
    });
    expect(await ns.administer('nn1', 'getServiceStatus')).toMatchObject({
      state: 'STANDBY',
      readyToBecomeActive: true,
    });
    expect(await ns.administer('nn2', 'getServiceStatus')).toMatchObject({
      state: 'OBSERVER',
      readyToBecomeActive: false,
      notReadyReason: 'State is observer',
    });
    await ns.ask('nn1', 'setSafeMode', { action: 'SAFEMODE_ENTER', checked: false });
    const { readyToBecomeActive, notReadyReason } = await ns.administer('nn1', 'getServiceStatus');
    expect(readyToBecomeActive).toBe(false);
    expect(notReadyReason).toMatch(/^The NameNode is in safemode\. It was turned on manually\./);
  });

  it('makes no observer active, and no active an observer', async () => {
    await expect(ns.administer('nn2', 'transitionToActive', reqInfo)).rejects.toThrow(
      "ServiceFailedException: Cannot transition from 'observer' to 'active'",
    );
    await expect(ns.administer('nn0', 'transitionToObserver', reqInfo)).rejects.toThrow(
      "ServiceFailedException: Cannot transition from 'active' to 'observer'",
    );
    await ns.administer('nn2', 'transitionToStandby', reqInfo);
    await ns.administer('nn1', 'transitionToObserver', reqInfo);
    expect((await ns.refusal('nn1', 'getFileInfo', { src: '/' })).text).toContain('without stateId');
    expect((await ns.refusal('nn2', 'getFileInfo', { src: '/' })).text).toContain(
      'READ is not supported in state standby',
    );
  });
});
