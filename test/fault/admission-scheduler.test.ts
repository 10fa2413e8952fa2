import type { Worker } from 'node:worker_threads';
import pino from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OTHERS } from '../../src/admission/scheduler/decay-scheduler.ts';
import type { SchedulerState } from '../../src/admission/scheduler/exchanged.ts';
import { MAX_CONTEXT_BYTES } from '../../src/admission/scheduler/identity.ts';
import type { WorkerScheduler } from '../../src/admission/scheduler/worker-scheduler.ts';
import { Configuration } from '../../src/config/configuration.ts';
import { readSettings } from '../../src/config/settings.ts';
import { readTopology, requireNameservices } from '../../src/config/topology.ts';
import { startRouter } from '../../src/control/router.ts';
import type { RouterServices, RunningRouter } from '../../src/control/router-types.ts';
import type { AdmissionSettings, SchedulerSettings } from '../../src/shared/settings.ts';
import { disposeOpened } from '../support/dispose-opened.ts';
import { InlineRouter } from '../support/inline-router.ts';
import { RawClient } from '../support/raw-client.ts';
import { FOUR_LEVELS } from '../support/scheduler-settings.ts';
import { answerPlainly, type NameNodeCall, RETRIABLE, ScriptedNameNode } from '../support/scripted-namenode.ts';
import { nextEvent, waitUntil } from '../support/wait.ts';
import { mount } from '../unit/mount-samples.ts';

/** Whom calls cost and how much, and that this decides who comes first: from a client's socket to a NameNode's. */

const MOUNTS = ['/zero=ns0:/', '/one=ns1:/'];
const FOUR: AdmissionSettings = {
  capacity: 400,
  levels: 4,
  capacityWeights: [1, 1, 1, 1],
  multiplexerWeights: [8, 4, 2, 1],
  scheduler: FOUR_LEVELS,
  backoff: true,
  overflowFailover: false,
  coalesceReads: false,
  timeLimitMs: 60_000,
  windows: [
    { floor: 1, ceiling: 1 },
    { floor: 1, ceiling: 1 },
  ],
};

let ns0: ScriptedNameNode;
let ns1: ScriptedNameNode;
const opened: (Disposable | AsyncDisposable)[] = [];

beforeEach(async () => {
  ns0 = await ScriptedNameNode.start('ns0');
  ns1 = await ScriptedNameNode.start('ns1');
});

afterEach(async () => {
  await disposeOpened(opened);
  await ns0[Symbol.asyncDispose]();
  await ns1[Symbol.asyncDispose]();
});

async function start(
  admission: Partial<AdmissionSettings> = {},
  scheduler: Partial<SchedulerSettings> = {},
): Promise<InlineRouter> {
  const router = await InlineRouter.start({
    nameservices: { ns0: ns0.port, ns1: ns1.port },
    mounts: MOUNTS,
    settings: { admission: { ...FOUR, ...admission, scheduler: { ...FOUR_LEVELS, ...scheduler } } },
  });
  opened.push(router);
  return router;
}

async function connect(router: { readonly host: string; readonly port: number }, user: string): Promise<RawClient> {
  const client = await RawClient.connect(router, { user });
  opened.push(client);
  return client;
}

const status = (src: string, header: object = {}) => ({ method: 'getFileInfo', request: { src }, header });
const mkdirs = (src: string) => ({
  method: 'mkdirs',
  request: { src, masked: { perm: 0o755 }, createParent: true },
});

function schedulerOf({ engine }: InlineRouter): WorkerScheduler {
  if (engine.admission.scheduler === null) throw new Error('nobody’s cost is counted');
  return engine.admission.scheduler;
}

function costs(router: InlineRouter): Record<string, number> {
  return Object.fromEntries(Array.from(schedulerOf(router).decay.charged(), ({ name, raw }) => [name, raw]));
}

async function callOften(client: RawClient, calls: number): Promise<void> {
  for (let i = 0; i < calls; i++) expect((await client.call(status('/zero/x'))).status).toBe('SUCCESS');
}

describe('who has cost the most', () => {
  it('comes last, in the order that the weights say', async () => {
    const router = await start();
    const heavy = await connect(router, 'z');
    const light = await connect(router, 'alice');
    await callOften(heavy, 20);
    await callOften(light, 1);
    expect(costs(router)).toEqual({ z: 20, alice: 1 });
    const before = ns0.calls.length;
    const held: NameNodeCall[] = [];
    ns0.handler = (call) => held.push(call);
    for (let i = 0; i < 10; i++) heavy.send(status(`/zero/z${i}`));
    const gate = router.engine.admission.gates[0];
    await waitUntil(() => gate?.queue.lengthOfLevel(3) === 9, 'nine calls of z wait');
    for (let i = 0; i < 10; i++) light.send(status(`/zero/a${i}`));
    await waitUntil(() => gate?.queue.lengthOfLevel(0) === 10, 'ten calls of alice wait');
    ns0.handler = answerPlainly;
    await ns0.until(() => held.length === 1, 'the first call is there');
    answerPlainly(held[0] as NameNodeCall);
    for (let i = 0; i < 10; i++) await light.receive();
    for (let i = 0; i < 10; i++) await heavy.receive();
    const order = ns0.calls
      .slice(before)
      .map(({ path }) => (path as string)[1])
      .join('');
    // The turns of the levels between them are alice's as well: of fifteen, one is z's.
    expect(order).toBe('zaaaaaaaaaazzzzzzzzz');
  });

  it('is who is behind the call: the user’s short name, of parts the client’s, and nobody for what was not answered', async () => {
    const router = await start({ windows: [FOUR.windows[0] as never, { floor: 4, ceiling: 4 }] });
    const client = await connect(router, 'alice/host@REALM');
    await callOften(client, 2);
    expect((await client.call({ method: 'refreshNodes', request: {} })).status).toBe('SUCCESS');
    expect(costs(router)).toEqual({ alice: 4 });
    const leaving = await connect(router, 'bob');
    ns0.handler = () => {};
    leaving.send(status('/zero/x'));
    leaving.send(status('/zero/y'));
    await waitUntil(() => router.engine.admission.gates[0]?.queue.length === 1, 'one waits');
    leaving.socket.resetAndDestroy();
    await waitUntil(() => router.count('clientsClosed') === 1, 'the router knows');
    expect(costs(router)).toEqual({ alice: 4 });
    // The same without a scheduler, and with another one.
    router.engine.refreshAdmission({
      ...FOUR,
      levels: 1,
      capacityWeights: [1],
      multiplexerWeights: [1],
      scheduler: null,
    });
    expect((await client.call(status('/one/x'))).status).toBe('SUCCESS');
    router.engine.refreshAdmission(FOUR);
    expect((await client.call(status('/one/x'))).status).toBe('SUCCESS');
    expect(costs(router)).toEqual({ alice: 1 });
  });

  it('is told apart by what its calls take at the NameNode, changes ten times as much', async () => {
    const weights = { queue: 0, processing: 0, lockShared: 10, lockExclusive: 100 };
    const router = await start({}, { weightedCost: weights });
    const reader = await connect(router, 'reader');
    const writer = await connect(router, 'writer');
    let sent = 0;
    ns0.handler = (call) => {
      sent++;
      void waitUntil(() => router.engine.clock.tick() > begun + 20 * sent, 'it takes its time').then(() =>
        answerPlainly(call),
      );
    };
    const begun = router.engine.clock.nowMs;
    expect((await reader.call(status('/zero/x'))).status).toBe('SUCCESS');
    expect((await writer.call(mkdirs('/zero/x'))).status).toBe('SUCCESS');
    const { reader: read, writer: written } = costs(router) as { reader: number; writer: number };
    expect(read).toBeGreaterThan(10 * 5e6);
    expect(written).toBeGreaterThan(100 * 5e6);
    const responses = schedulerOf(router).decay.responses;
    expect(responses.answered[0]).toBe(2);
    expect(responses.processingMs[0]).toBeGreaterThanOrEqual(Math.floor(read / 10e6) + Math.floor(written / 100e6));
  });
});

describe('by caller context', () => {
  const calls = [
    ['job_1', 'job_1'],
    ['job_2', 'job_2'],
    ['', 'alice'],
    ['j'.repeat(MAX_CONTEXT_BYTES + 1), 'j'.repeat(MAX_CONTEXT_BYTES)],
    [OTHERS, OTHERS],
  ] as const;

  it('calls with one cost that, others their user', async () => {
    const router = await start({}, { identity: 'caller-context' });
    const client = await connect(router, 'alice');
    await callOften(client, 1);
    for (const [context] of calls) {
      await client.call(status('/zero/x', { callerContext: { context, signature: Buffer.from('signed') } }));
    }
    await client.call(status('/zero/x', { callerContext: { context: 'job_1' } }));
    expect(costs(router)).toEqual({
      alice: 2,
      job_1: 2,
      job_2: 1,
      ['j'.repeat(MAX_CONTEXT_BYTES)]: 1,
      [OTHERS]: 1,
    });
  });
});

describe('calls are refused for their response times', () => {
  const SLOW: SchedulerState = {
    names: ['z'],
    decayed: Float64Array.of(8),
    raw: Float64Array.of(8),
    cachedLevels: Uint8Array.of(3),
    rawTotal: 8,
    serviceRawTotal: 0,
    averagesMs: Float64Array.of(0, 0, 31, 0),
    lastAnswered: Float64Array.of(0, 0, 1, 0),
  };

  it.each([
    ['four levels', FOUR],
    ['one level', { ...FOUR, levels: 1, capacityWeights: [1], multiplexerWeights: [1] }],
  ] as const)(
    'with a queue of %s: those of a level that is too slow or below, and their connection ends',
    async (_, admission) => {
      const router = await start(admission, { responseTimesMs: [10, 20, 30, 40] });
      const heavy = await connect(router, 'z');
      const light = await connect(router, 'alice');
      await callOften(heavy, 1);
      schedulerOf(router).tell({ kind: 'admission-state', generation: 0, state: SLOW });
      await callOften(light, 1);
      const reply = await heavy.call(status('/zero/x'));
      expect([reply.status, reply.exception, reply.message]).toEqual([
        'FATAL',
        RETRIABLE,
        'Server too busy - disconnecting',
      ]);
      await waitUntil(() => heavy.ended !== '', 'the connection ends');
      expect(router.admitted(0).figures).toMatchObject({ refusedSlow: 1 });
      expect(ns0.calls).toHaveLength(2);
    },
  );

  it('not without back-off', async () => {
    const router = await start({ backoff: false }, { responseTimesMs: [10, 20, 30, 40] });
    schedulerOf(router).tell({ kind: 'admission-state', generation: 0, state: SLOW });
    await callOften(await connect(router, 'z'), 1);
  });
});

describe('several workers', () => {
  const workers: Worker[] = [];
  const onWorker = (worker: Worker): void => void workers.push(worker);
  let router: RunningRouter | null = null;
  let services: RouterServices;

  beforeEach(() => process.on('worker', onWorker));

  afterEach(async () => {
    process.off('worker', onWorker);
    await router?.drain();
    router = null;
    workers.length = 0;
  });

  async function startThreads(): Promise<void> {
    const keys = {
      'dfs.nameservices': 'ns0',
      'dfs.namenode.rpc-address.ns0': `127.0.0.1:${ns0.port}`,
      'dfs.federation.router.rpc-address': '127.0.0.1:0',
      'switchyard.acceptors': '1',
      'switchyard.workers': '2',
      'ipc.0.callqueue.impl': 'org.apache.hadoop.ipc.FairCallQueue',
      'ipc.0.decay-scheduler.period-ms': '600000',
    };
    const overrides = Object.entries(keys).map(([key, value]) => ({ key, value, origin: 'test' }));
    const configuration = new Configuration({ directory: null, overrides });
    const topology = requireNameservices(readTopology(configuration, new Set()), configuration);
    router = await startRouter({
      settings: readSettings(configuration, topology, { HADOOP_USER_NAME: 'hdfs' }),
      topology,
      entries: [mount('/zero', ['ns0:/'])],
      driver: null,
      configuration,
      version: { version: '1', compileInfo: '', startedMs: 1 },
      log: pino({ level: 'silent' }),
      openAdministration: (given) => {
        services = given;
        return Promise.resolve({ adminAddress: '', httpAddress: '', recordedAddress: '', stop: async () => {} });
      },
    });
  }

  const volumes = (): string =>
    (services.scheduler()?.top ?? []).map(({ name, volume, level }) => `${name} ${volume} ${level}`).join(', ');

  it('tell what their callers have cost, one that takes the place of another as well', async () => {
    await startThreads();
    const at = { host: '127.0.0.1', port: Number(router?.rpc.split(':')[1]) };
    expect(services.scheduler()).toMatchObject({ callers: 0, volume: 0 });
    const alice = [await connect(at, 'alice'), await connect(at, 'alice')];
    const bob = await connect(at, 'bob');
    for (const client of alice) await callOften(client, 4);
    await callOften(bob, 1);
    await waitUntil(() => volumes() === 'alice 8 3, bob 1 0', 'all that was charged is known');
    const [, first] = workers;
    const exit = nextEvent(first as Worker, 'exit', 'the thread has ended');
    await first?.terminate();
    await exit;
    await waitUntil(async () => {
      using client = await RawClient.connect(at, { user: 'carol' });
      using other = await RawClient.connect(at, { user: 'carol' });
      const replies = await Promise.all([client.call(status('/zero/x')), other.call(status('/zero/x'))]);
      return replies.every((reply) => reply.status === 'SUCCESS');
    }, 'both workers serve');
    const before = services.scheduler()?.volume ?? 0;
    const later = [await connect(at, 'dave'), await connect(at, 'dave')];
    for (const client of later) await callOften(client, 30);
    await waitUntil(() => volumes().startsWith('dave 60 3, alice 8 '), 'those of both are known');
    expect(services.scheduler()?.volume).toBeGreaterThanOrEqual(before + 60);
  });
});
