import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HdfsClient } from '../../src/control/hdfs-client.ts';
import { RemoteError, RpcClient } from '../../src/control/rpc-client.ts';
import { type Simulator, startSimulator } from '../../src/simulator/simulator.ts';
import type { Plain } from '../../src/wire/messages.ts';
import { waitUntil, within } from '../support/wait.ts';

const PROTOCOL = 'org.apache.hadoop.hdfs.protocol.ClientProtocol';
const HA_PROTOCOL = 'org.apache.hadoop.ha.HAServiceProtocol';
const STANDBY = 'org.apache.hadoop.ipc.StandbyException';
const ACTIVE_NN = { nameservice: 'ns0', namenode: 'nn0' } as const;
const STANDBY_NN = { nameservice: 'ns0', namenode: 'nn1' } as const;
const OBSERVER_NN = { nameservice: 'ns0', namenode: 'nn2' } as const;

let simulator: Simulator;
const clients: RpcClient[] = [];

beforeEach(async () => {
  simulator = await startSimulator({ nameservices: ['ns0', 'ns1'], superuser: 'hdfs', observers: 1 });
});

afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await simulator.close();
});

async function connect(which: { namenode: string }, clientId?: Buffer): Promise<RpcClient> {
  const { host, port } = simulator.nameservices[0]!.namenodes.find(({ id }) => id === which.namenode)!;
  const client = await RpcClient.connect({ host, port, user: 'hdfs', clientId, timeoutMs: 10_000 });
  clients.push(client);
  return client;
}

interface Asked {
  readonly response: Plain;
  readonly stateId: number;
}

async function ask(client: RpcClient, method: string, request: object, options: object = {}): Promise<Asked> {
  const name = `hadoop.hdfs.${method[0]!.toUpperCase()}${method.slice(1)}`;
  const { response, header } = await client.call(
    PROTOCOL,
    method,
    `${name}RequestProto`,
    `${name}ResponseProto`,
    request,
    options,
  );
  return { response: response as Plain, stateId: Number((header as unknown as Plain)['stateId']) };
}

const mkdirs = (client: RpcClient, src: string, options: object = {}): Promise<Asked> =>
  ask(client, 'mkdirs', { src, masked: { perm: 0o755 }, createParent: true }, options);
const remove = (client: RpcClient, src: string, options: object = {}): Promise<Asked> =>
  ask(client, 'delete', { src, recursive: true }, options);
const info = (client: RpcClient, src: string, options: object = {}): Promise<Asked> =>
  ask(client, 'getFileInfo', { src }, options);

async function refusal(promise: Promise<unknown>): Promise<RemoteError> {
  const error = await promise.catch((reason: unknown) => reason);
  if (error instanceof RemoteError) return error;
  throw new Error(`not refused: ${String(error)}`);
}

describe('HA states', () => {
  it('start as active, standby and observer, in that order', async () => {
    const status = await simulator.control({ op: 'status' });
    expect(status.map((one) => `${one.nameservice} ${one.namenode} ${one.state}`)).toEqual([
      'ns0 nn0 active',
      'ns0 nn1 standby',
      'ns0 nn2 observer',
      'ns1 nn0 active',
      'ns1 nn1 standby',
      'ns1 nn2 observer',
    ]);
    using client = new HdfsClient(await connect(OBSERVER_NN));
    expect(await client.getHAServiceState()).toBe('OBSERVER');
    expect((await client.versionRequest()).blockPoolID).toMatch(/^BP-\d+-127\.0\.0\.1-\d+$/);
  });

  it('a standby refuses, a failover turns the parts around', async () => {
    const [first, second] = [await connect(ACTIVE_NN), await connect(STANDBY_NN)];
    await mkdirs(first, '/a');
    expect(await refusal(info(second, '/a'))).toMatchObject({
      className: STANDBY,
      message: `${STANDBY}: Operation category READ is not supported in state standby. Visit https://s.apache.org/sbnn-error`,
    });
    await simulator.control({ op: 'failover', nameservice: 'ns0', to: 'nn1' });
    expect((await info(second, '/a')).response['fs']).toBeDefined();
    expect((await refusal(mkdirs(first, '/b'))).className).toBe(STANDBY);
  });

  it('HAServiceProtocol moves them too, and not into two actives', async () => {
    const active = await connect(ACTIVE_NN);
    const standby = await connect(STANDBY_NN);
    const transition = (client: RpcClient, to: string): Promise<unknown> =>
      client.call(
        HA_PROTOCOL,
        `transitionTo${to}`,
        `hadoop.common.TransitionTo${to}RequestProto`,
        `hadoop.common.TransitionTo${to}ResponseProto`,
        { reqInfo: { reqSource: 'REQUEST_BY_USER' } },
      );
    expect((await refusal(transition(standby, 'Active'))).className).toBe(
      'org.apache.hadoop.ha.ServiceFailedException',
    );
    await transition(active, 'Standby');
    await transition(standby, 'Active');
    const states = await simulator.control({ op: 'status' });
    expect(states.slice(0, 2).map((one) => one.state)).toEqual(['standby', 'active']);
    await expect(simulator.control({ op: 'transition', ...ACTIVE_NN, to: 'active' })).rejects.toThrow(
      'nn1 of ns0 is active',
    );
  });

  it('the retry cache survives a failover', async () => {
    const clientId = Buffer.alloc(16, 3);
    const first = await connect(ACTIVE_NN, clientId);
    await mkdirs(first, '/a');
    expect((await remove(first, '/a', { callId: 40 })).response['result']).toBe(true);
    await simulator.control({ op: 'failover', nameservice: 'ns0', to: 'nn1' });
    const second = await connect(STANDBY_NN, clientId);
    expect((await remove(second, '/a', { callId: 40, retryCount: 1 })).response['result']).toBe(true);
    expect((await remove(second, '/a', { callId: 41 })).response['result']).toBe(false);
    const calls = await simulator.control({ op: 'calls', method: 'delete' });
    expect(calls.map((one) => [one.namenode, one.callId, one.retryCount, one.executed])).toEqual([
      ['nn0', 40, 0, true],
      ['nn1', 40, 1, false],
      ['nn1', 41, 0, true],
    ]);
  });
});

describe('observers', () => {
  it('answer reads with a state id, send writes away, and know nothing of reads without one', async () => {
    const active = await connect(ACTIVE_NN);
    const observer = await connect(OBSERVER_NN);
    const { stateId } = await mkdirs(active, '/a');
    expect(stateId).toBe(1);
    expect(await refusal(info(observer, '/a'))).toMatchObject({
      className: STANDBY,
      detail: 'ERROR_RPC_SERVER',
      text: 'Observer Node received request without stateId. This mostly likely is because client is not configured with ObserverReadProxyProvider',
    });
    expect((await info(observer, '/a', { stateId })).response['fs']).toBeDefined();
    expect((await refusal(mkdirs(observer, '/b', { stateId }))).className).toBe(
      'org.apache.hadoop.ipc.ObserverRetryOnActiveException',
    );
  });

  it('that lag show the past, and make those wait who have seen more', async () => {
    const active = await connect(ACTIVE_NN);
    const observer = await connect(OBSERVER_NN);
    await mkdirs(active, '/a');
    await simulator.control({ op: 'lag', ...OBSERVER_NN, paused: true });
    const { stateId } = await mkdirs(active, '/b');
    const past = await info(observer, '/b', { stateId: 0 });
    expect(past.response['fs']).toBeUndefined();
    expect(past.stateId).toBe(stateId - 1);
    let answered = false;
    const waiting = info(observer, '/b', { stateId }).finally(() => {
      answered = true;
    });
    // Other calls of the connection are not held up.
    expect((await info(observer, '/a', { stateId: 0 })).response['fs']).toBeDefined();
    expect(answered).toBe(false);
    await simulator.control({ op: 'lag', ...OBSERVER_NN });
    expect((await waiting).response['fs']).toBeDefined();
  });

  it('catch up by transactions and by age', async () => {
    const active = await connect(ACTIVE_NN);
    const observer = await connect(OBSERVER_NN);
    await simulator.control({ op: 'lag', ...OBSERVER_NN, lagTransactions: 2 });
    for (const name of ['a', 'b', 'c']) await mkdirs(active, `/${name}`);
    expect((await info(observer, '/', { stateId: 0 })).stateId).toBe(1);
    await simulator.control({ op: 'lag', ...OBSERVER_NN, lagMs: 30 });
    const { stateId } = await mkdirs(active, '/d');
    expect((await info(observer, '/d', { stateId })).response['fs']).toBeDefined();
  });

  it('that are too far behind say so', async () => {
    const observer = await connect(OBSERVER_NN);
    expect((await refusal(info(observer, '/', { stateId: 160_001 }))).text).toBe(
      'Observer Node is too far behind: serverStateId = 0 clientStateId = 160001',
    );
    const active = await connect(ACTIVE_NN);
    expect((await info(active, '/', { stateId: 10n ** 15n })).response['fs']).toBeDefined();
    await mkdirs(active, '/a');
    // The difference wraps, as in Java.
    expect((await refusal(info(observer, '/', { stateId: -(2n ** 63n) }))).className).toBe(
      'org.apache.hadoop.ipc.RetriableException',
    );
  });
});

describe('faults', () => {
  it('a NameNode that is stopped loses connections and its role, and comes back on the same port', async () => {
    const client = await connect(ACTIVE_NN);
    await mkdirs(client, '/a');
    await simulator.control({ op: 'stop', ...ACTIVE_NN });
    await expect(info(client, '/a')).rejects.toThrow();
    await expect(connect(ACTIVE_NN)).rejects.toMatchObject({ code: 'CONNECT' });
    await expect(simulator.control({ op: 'transition', ...ACTIVE_NN, to: 'active' })).rejects.toThrow('is stopped');
    await simulator.control({ op: 'transition', ...STANDBY_NN, to: 'active' });
    await mkdirs(await connect(STANDBY_NN), '/b');
    await simulator.control({ op: 'start', ...ACTIVE_NN });
    await expect(simulator.control({ op: 'start', ...ACTIVE_NN })).rejects.toThrow('is running');
    await simulator.control({ op: 'failover', nameservice: 'ns0', to: 'nn0' });
    expect((await info(await connect(ACTIVE_NN), '/b')).response['fs']).toBeDefined();
  });

  it.each(['calls', 'process'] as const)('a NameNode that hangs (%s) answers when it goes on', async (mode) => {
    const client = await connect(ACTIVE_NN);
    await mkdirs(client, '/a');
    await simulator.control({ op: 'hang', ...ACTIVE_NN, mode });
    let answered = false;
    const waiting = info(client, '/a').finally(() => {
      answered = true;
    });
    const queued = (await within(
      waitUntil(async () => {
        const [status] = await simulator.control({ op: 'status' });
        return mode === 'process' || status!.queued === 1 ? status : null;
      }, 'the call is queued'),
      'status',
    )) as { hung: string };
    expect(queued.hung).toBe(mode);
    expect(answered).toBe(false);
    await simulator.control({ op: 'resume', ...ACTIVE_NN });
    expect((await waiting).response['fs']).toBeDefined();
  });

  it('an answer that is lost belongs to a call that was executed', async () => {
    const clientId = Buffer.alloc(16, 4);
    await mkdirs(await connect(ACTIVE_NN), '/a');
    await simulator.control({ op: 'loseAnswers', ...ACTIVE_NN, method: 'delete', times: 1 });
    await expect(remove(await connect(ACTIVE_NN, clientId), '/a', { callId: 9 })).rejects.toMatchObject({
      code: 'CLOSED',
    });
    const again = await remove(await connect(ACTIVE_NN, clientId), '/a', { callId: 9, retryCount: 1 });
    expect(again.response['result']).toBe(true);
    expect(await simulator.control({ op: 'counts' })).toMatchObject({ 'ns0 nn0 delete': 1 });
  });

  it('one method may be slow while others are not', async () => {
    const client = await connect(ACTIVE_NN);
    const slow = { kind: 'constant', ms: 150 } as const;
    await simulator.control({ op: 'settings', settings: { methodServiceTime: { getContentSummary: slow } } });
    const order: string[] = [];
    const startMs = performance.now();
    await Promise.all([
      ask(client, 'getContentSummary', { path: '/' }).then(() => order.push('summary')),
      info(client, '/').then(() => order.push('info')),
    ]);
    expect(order).toEqual(['info', 'summary']);
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(149);
  });

  it('a full queue blocks, or refuses as told', async () => {
    const client = await connect(ACTIVE_NN);
    const busy = { serviceTime: { kind: 'constant', ms: 20 }, handlers: 1, queueCapacity: 1 } as const;
    const burst = (): Promise<PromiseSettledResult<Asked>[]> =>
      Promise.allSettled(Array.from({ length: 6 }, () => info(client, '/')));
    await simulator.control({ op: 'settings', settings: { ...busy, overflow: 'block' } });
    expect((await burst()).filter((one) => one.status === 'fulfilled')).toHaveLength(6);
    await simulator.control({ op: 'settings', settings: { overflow: 'busy' } });
    const refused = (await burst()).filter((one) => one.status === 'rejected');
    expect(refused.length).toBeGreaterThan(0);
    for (const { reason } of refused) expect(String(reason)).toContain('RetriableException: Server too busy');
  });

  it('unknown NameNodes are named with those that exist', async () => {
    await expect(simulator.control({ op: 'hang', nameservice: 'ns9', namenode: 'nn0' })).rejects.toThrow(
      'no NameNode ns9 nn0; there are ns0 nn0, ns0 nn1, ns0 nn2',
    );
  });
});
