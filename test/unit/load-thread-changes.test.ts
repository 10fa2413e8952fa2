import { userInfo } from 'node:os';
import { MessageChannel } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { describe, expect, test } from 'vitest';
import { HdfsClient } from '../../src/control/hdfs-client.ts';
import { countScratchGroups, filePath, isInside, scratchGroup } from '../../src/load/plan/layout.ts';
import { OPERATION_NAMES } from '../../src/load/plan/operations.ts';
import type { FinalReport, FromLoader, ReplayCall, ThreadStart } from '../../src/load/plan/plan.ts';
import { type SimulatedNameNode, startSimulator } from '../../src/simulator/simulator.ts';
import { encode, encodeDelimited, messageType } from '../../src/wire/messages.ts';
import { EchoNameNode } from '../support/echo-namenode.ts';
import { LoadRun, loadPlan, NO_LINKS, TARGET } from '../support/load-thread-run.ts';
import { answerPlainly, ScriptedNameNode } from '../support/scripted-namenode.ts';
import { within } from '../support/wait.ts';

const STATE = messageType('hadoop.hdfs.RouterFederatedStateProto');
const _OPEN = { kind: 'open', callsPerSecond: 1000, rampMs: 0 } as const;

function errorsOf(report: FinalReport): Record<string, number> {
  const all: Record<string, number> = {};
  for (const { errors } of report.cells) {
    for (const [name, { count }] of Object.entries(errors)) all[name] = (all[name] ?? 0) + count;
  }
  return all;
}

describe('changing operations', () => {
  test('create is followed by complete on the same connection, which is no call of its own', async () => {
    await using namenode = await ScriptedNameNode.start();
    namenode.handler = (call) => {
      if (call.method === 'complete') call.succeed({ result: namenode.callsOf({ method: 'complete' }).length !== 2 });
      else answerPlainly(call);
    };
    const plan = loadPlan({
      port: namenode.port,
      connections: 2,
      mix: [{ operation: 'create', weight: 1 }],
      calls: 20,
    });
    await using run = new LoadRun(plan);
    const report = await run.complete();
    expect(report).toMatchObject({ replies: 20, due: 20 });
    expect(report.cells.map(({ operation }) => operation)).toEqual(['create']);
    expect(errorsOf(report)).toEqual({ false: 1 });
    const created = namenode.callsOf({ method: 'create' });
    const completed = namenode.callsOf({ method: 'complete' });
    expect(completed.map(({ path }) => path).toSorted()).toEqual(created.map(({ path }) => path).toSorted());
    for (const { path, connection } of completed) {
      expect(created.find((each) => each.path === path)?.connection).toBe(connection);
    }
  });

  test('all of them succeed on a NameNode, by several users, and touch nothing but the own directory', async () => {
    await using simulator = await startSimulator({ nameservices: ['ns0'], namenodes: 1 });
    const { host, port } = simulator.nameservices.flatMap(({ namenodes }) => namenodes)[0] as SimulatedNameNode;
    using client = await HdfsClient.connect({ host, port, user: userInfo().username });
    await client.mkdirs(`${TARGET.own}/files/d00`, 0o777);
    for (let file = 0; file < 10; file++) await client.createEmptyFile(filePath(TARGET, file));
    const mix = OPERATION_NAMES.map((operation) => ({ operation, weight: operation === 'mkdirs' ? 3 : 1 }));
    const users = ['alice', 'bob', 'carol'];
    const plan = loadPlan({ port, connections: 6, inFlight: 8, users, mix, calls: 3000 });
    for (let group = 0; group < countScratchGroups(plan); group++) {
      await client.mkdirs(scratchGroup(TARGET, 0, group), 0o777);
    }
    await simulator.control({ op: 'clear' });
    await using run = new LoadRun(plan);
    const report = await run.complete();
    expect(errorsOf(report)).toEqual({});
    expect(report.replies).toBe(3000);
    expect(new Set(report.cells.map(({ operation }) => operation))).toEqual(new Set(OPERATION_NAMES));
    expect(report.substituted).toBeGreaterThan(0);
    const calls = await simulator.control({ op: 'calls' });
    const paths = calls.map(({ path }) => path).filter((path) => path !== '');
    expect(paths.length).toBeGreaterThan(1000);
    for (const path of paths) expect(isInside(TARGET, path), path).toBe(true);
  });
});

test('a replay makes the calls of its log, each as its user', async () => {
  await using namenode = await ScriptedNameNode.start();
  namenode.handler = (call) => (call.method === 'complete' ? call.succeed({ result: true }) : answerPlainly(call));
  const own = `${TARGET.own}/replay`;
  const replay: ReplayCall[] = [
    { atMs: 0, operation: 'mkdirs', user: 'alice', source: `${own}/a`, destination: '' },
    { atMs: 20, operation: 'rename', user: 'bob', source: `${own}/a`, destination: `${own}/b` },
    { atMs: 20, operation: 'create', user: 'alice', source: `${own}/c`, destination: '' },
    { atMs: 40, operation: 'getFileInfo', user: 'bob', source: '/elsewhere', destination: '' },
  ];
  const plan = loadPlan({
    port: namenode.port,
    loop: { kind: 'replay', speed: 2 },
    connections: 2,
    inFlight: 10,
    users: ['alice', 'bob'],
    mix: [],
    calls: null,
  });
  await using run = new LoadRun(plan, replay);
  const report = await run.complete();
  expect(report).toMatchObject({ replies: 4, due: 4, unsent: 0 });
  expect(namenode.calls.map(({ method, user, path }) => [method, user, path]).toSorted()).toEqual(
    [
      ['mkdirs', 'alice', `${own}/a`],
      ['rename', 'bob', `${own}/a`],
      ['create', 'alice', `${own}/c`],
      ['complete', 'alice', `${own}/c`],
      ['getFileInfo', 'bob', '/elsewhere'],
    ].toSorted(),
  );
  expect(namenode.callsOf({ method: 'rename' })[0]?.request['dst']).toBe(`${own}/b`);
  expect(report.cells.every(({ target }) => target === -1)).toBe(true);
});

test('with observer reads the state of replies goes into later calls, merged by maximum', async () => {
  await using namenode = await ScriptedNameNode.start();
  let number = 0;
  const tell = [{ ns0: 5, ns1: 9 }, { ns0: 3, ns1: 11 }, null, { ns0: 6 }];
  namenode.handler = (call) => {
    const ids = tell[number++] ?? null;
    const state = ids === null ? {} : { routerFederatedState: encode(STATE, { namespaceStateIds: ids }) };
    const header = encodeDelimited(messageType('hadoop.common.RpcResponseHeaderProto'), {
      callId: call.callId,
      status: 'SUCCESS',
      serverIpcVersionNum: 9,
      clientId: call.clientId,
      retryCount: 0,
      ...state,
    });
    const payload = Buffer.concat([header, encodeDelimited(messageType('hadoop.hdfs.GetFileInfoResponseProto'), {})]);
    const length = Buffer.alloc(4);
    length.writeInt32BE(payload.length);
    call.sendBytes(Buffer.concat([length, payload]));
  };
  const given = { paths: ['/given'], targets: [] };
  await using run = new LoadRun(loadPlan({ port: namenode.port, ...given, observerReads: true, calls: 5 }));
  const report = await run.complete();
  expect(errorsOf(report)).toEqual({});
  // An observer refuses reads without a state id.
  expect(namenode.calls.map(({ header }) => 'stateId' in header)).toEqual([true, false, false, false, false]);
  const states = namenode.calls.map(({ header }) => header['routerFederatedState'] as Buffer | undefined);
  const expected = [
    { ns0: 5, ns1: 9 },
    { ns0: 5, ns1: 11 },
    { ns0: 5, ns1: 11 },
    { ns0: 6, ns1: 11 },
  ];
  expect(states).toEqual([undefined, ...expected.map((ids) => Buffer.from(encode(STATE, { namespaceStateIds: ids })))]);
});

test('as a task of its own thread it says connected, each second, and final, and ends', async () => {
  await using namenode = await EchoNameNode.start();
  const piscina = new Piscina({
    filename: new URL('../../src/load/thread/loader.ts', import.meta.url).href,
    maxThreads: 1,
  });
  const { port1, port2 } = new MessageChannel();
  try {
    const plan = loadPlan({ port: namenode.port, calls: 100 });
    const start: ThreadStart = {
      plan,
      thread: 0,
      connections: [0],
      rateShare: 1,
      calls: 100,
      replay: [],
      links: NO_LINKS,
      port: port2,
    };
    const kinds: string[] = [];
    const final = Promise.withResolvers<FinalReport>();
    port1.on('message', (message: FromLoader) => {
      kinds.push(message.kind);
      if (message.kind === 'connected') port1.postMessage({ kind: 'begin', startAtEpochMs: Date.now() });
      if (message.kind === 'final') final.resolve(message);
    });
    const task = piscina.run(start, { transferList: [port2] });
    const report = await within(final.promise, 'the final report');
    await within(task, 'the end of the task');
    expect(report.replies).toBe(100);
    expect(kinds).toEqual(['connected', 'second', 'final']);
  } finally {
    port1.close();
    await piscina.destroy();
  }
});

test('a task whose plan cannot be carried out says so', async () => {
  const { default: runTask } = await import('../../src/load/thread/loader.ts');
  const { port1, port2 } = new MessageChannel();
  const said = Promise.withResolvers<FromLoader>();
  port1.on('message', said.resolve);
  const plan = loadPlan({ targets: [] });
  await runTask({
    plan,
    thread: 0,
    connections: [0],
    rateShare: 1,
    calls: 10,
    replay: [],
    links: NO_LINKS,
    port: port2,
  });
  expect(await within(said.promise, 'a message')).toMatchObject({ kind: 'failed' });
  port1.close();
});
