import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { describe, expect, test, vi } from 'vitest';
import { countRecords } from '../../src/load/histogram/latency.ts';
import type { FinalReport, ReplayCall } from '../../src/load/plan/plan.ts';
import { encodeDelimited, messageType } from '../../src/wire/messages.ts';
import { EchoNameNode } from '../support/echo-namenode.ts';
import { countFrom, LoadRun, loadPlan } from '../support/load-thread-run.ts';
import { answerPlainly, type NameNodeCall, ScriptedNameNode, STANDBY } from '../support/scripted-namenode.ts';
import { within } from '../support/wait.ts';

const _STATE = messageType('hadoop.hdfs.RouterFederatedStateProto');
const OPEN = { kind: 'open', callsPerSecond: 1000, rampMs: 0 } as const;

function errorsOf(report: FinalReport): Record<string, number> {
  const all: Record<string, number> = {};
  for (const { errors } of report.cells) {
    for (const [name, { count }] of Object.entries(errors)) all[name] = (all[name] ?? 0) + count;
  }
  return all;
}

describe('a closed loop', () => {
  test('makes exactly the calls that were asked for, with no more in flight than allowed', async () => {
    await using namenode = await EchoNameNode.start();
    await using run = new LoadRun(loadPlan({ port: namenode.port, connections: 4, inFlight: 3, calls: 1000 }));
    const report = await run.complete();
    expect(namenode.calls).toHaveLength(1000);
    expect(report).toMatchObject({ replies: 1000, due: 1000, unsent: 0, lateForSlots: 0, lateForLoader: 0 });
    expect(report.measuredToMs).toBeGreaterThan(report.measuredFromMs);
    expect(report.cells[0]?.successes).toBe(1000);
    expect(report.cells).toHaveLength(1);
    expect(report.cells[0]).toMatchObject({ operation: 'getFileInfo', target: 0, errors: {} });
    expect(countRecords(report.cells[0]?.corrected as Uint32Array)).toBe(1000);
    expect(report.cells[0]?.service).toEqual(report.cells[0]?.corrected);
    expect(new Set(namenode.calls.map(({ path }) => path)).size).toBe(10);
    expect(run.seconds.reduce((sum, { replies }) => sum + replies, 0)).toBe(1000);
  });

  test('keeps each slot busy with one call', async () => {
    await using namenode = await EchoNameNode.start();
    namenode.hold();
    await using run = new LoadRun(loadPlan({ port: namenode.port, connections: 3, inFlight: 2, calls: 6 }));
    await run.connect();
    run.begin();
    await namenode.until(() => namenode.held === 6, 'all slots have a call');
    const perConnection = [1, 2, 3].map(
      (each) => namenode.calls.filter(({ connection }) => connection === each).length,
    );
    expect(perConnection).toEqual([2, 2, 2]);
    namenode.release();
    expect((await run.final()).replies).toBe(6);
  });

  test('by time: ends by itself, and says what was answered within it', async () => {
    await using namenode = await EchoNameNode.start();
    const plan = loadPlan({ port: namenode.port, warmupMs: 50, durationMs: 500, calls: null });
    await using run = new LoadRun(plan);
    const report = await run.complete();
    expect(report).toMatchObject({ measuredFromMs: 50, measuredToMs: 550 });
    expect(report.replies).toBeGreaterThan(0);
    expect(report.replies).toBeLessThan(namenode.calls.length);
    expect(countRecords(report.cells[0]?.corrected as Uint32Array)).toBe(report.due);
    expect(report.self.utilization).toBeGreaterThan(0);
  });

  test('replies that come byte by byte', async () => {
    await using namenode = await ScriptedNameNode.start();
    namenode.handler = (call) => {
      const header = { callId: call.callId, status: 'SUCCESS', serverIpcVersionNum: 9, clientId: call.clientId };
      const payload = Buffer.concat([
        encodeDelimited(messageType('hadoop.common.RpcResponseHeaderProto'), { ...header, retryCount: 0 }),
        encodeDelimited(messageType('hadoop.hdfs.GetFileInfoResponseProto'), {}),
      ]);
      const length = Buffer.alloc(4);
      length.writeInt32BE(payload.length);
      for (const byte of Buffer.concat([length, payload])) call.sendBytes(Buffer.from([byte]));
    };
    const plan = loadPlan({ port: namenode.port, paths: ['/given'], targets: [], inFlight: 4, calls: 50 });
    await using run = new LoadRun(plan);
    const report = await run.complete();
    expect(report.replies).toBe(50);
    expect(errorsOf(report)).toEqual({});
    expect(report.nothingFound).toBe(50);
    expect(report.cells[0]?.successes).toBe(50);
    // Files that the run has made have to be there.
    await using own = new LoadRun(loadPlan({ port: namenode.port, calls: 7 }));
    const missing = await own.complete();
    expect(errorsOf(missing)).toEqual({ missing: 7 });
    expect(missing).toMatchObject({ replies: 7, nothingFound: 0 });
    expect(missing.cells[0]?.successes).toBe(0);
  });

  test('what is merely under way at the end of an open loop has kept up, what waits for a stalled server has not', async () => {
    for (const isStalled of [false, true]) {
      await using namenode = await EchoNameNode.start();
      const loop = { kind: 'open', callsPerSecond: 100, rampMs: 0 } as const;
      const plan = loadPlan({ port: namenode.port, loop, inFlight: 1000, durationMs: 500, calls: null });
      await using run = new LoadRun(plan);
      if (isStalled) namenode.hold();
      const done = run.complete();
      // The seconds end after the measured time: by then every call is late.
      if (isStalled) {
        await run.until(() => run.seconds.length > 0, 'the first second');
        namenode.release();
      }
      const report = await done;
      expect(report.due).toBe(50);
      expect(report.cells[0]?.successes).toBe(50);
      if (isStalled) expect(report).toMatchObject({ keptUp: 0, replies: 0 });
      else expect(report.keptUp).toBeGreaterThanOrEqual(report.replies);
    }
  });

  test('users are those of the plan, in turn', async () => {
    await using namenode = await ScriptedNameNode.start();
    const plan = loadPlan({ port: namenode.port, connections: 5, users: ['alice', 'bob'], calls: 20 });
    await using run = new LoadRun(plan);
    await run.complete();
    expect(namenode.peers.map(({ user }) => user).toSorted()).toEqual(['alice', 'alice', 'alice', 'bob', 'bob']);
    const ids = new Set(namenode.calls.map(({ clientId }) => clientId.toString('hex')));
    expect(ids.size).toBe(5);
  });
});

describe('an open loop', () => {
  test('sends on schedule whatever the server does; a stall counts for all who waited, not only for who was stalled', async () => {
    await using namenode = await ScriptedNameNode.start();
    const held = Promise.withResolvers<NameNodeCall>();
    namenode.handler = (call) => {
      namenode.handler = answerPlainly;
      held.resolve(call);
    };
    await using run = new LoadRun(loadPlan({ port: namenode.port, loop: OPEN, calls: 2000 }));
    await run.connect();
    run.begin();
    const first = await within(held.promise, 'the first call');
    // One slot: until the first call is answered nothing else is sent, and a thousand calls become due in a second.
    await run.message('second');
    expect(namenode.calls).toHaveLength(1);
    expect(run.seconds[0]).toMatchObject({ second: 0, measured: true, replies: 0, inFlight: 1 });
    expect(run.seconds[0]?.waiting).toBeGreaterThanOrEqual(998);
    answerPlainly(first);
    const report = await run.final();
    expect(report).toMatchObject({ replies: 2000, due: 2000, unsent: 0 });
    const cell = report.cells[0];
    expect(countFrom(cell?.service as Uint32Array, 900)).toBeLessThan(5);
    expect(countFrom(cell?.corrected as Uint32Array, 500)).toBeGreaterThan(400);
    expect(report.lateForSlots).toBeGreaterThan(900);
  });

  test('calls that found no slot until the end are unsent', async () => {
    await using namenode = await EchoNameNode.start();
    namenode.hold();
    const plan = loadPlan({
      port: namenode.port,
      loop: OPEN,
      connections: 2,
      inFlight: 3,
      durationMs: 200,
      calls: null,
    });
    await using run = new LoadRun(plan);
    await run.connect();
    run.begin();
    await namenode.until(() => namenode.held === 6, 'all slots are taken');
    // The first second is reported after the end: nothing is sent any more.
    await run.message('second');
    namenode.release();
    const report = await run.final();
    expect(report).toMatchObject({ due: 200, unsent: 194, replies: 0 });
    expect(namenode.calls).toHaveLength(6);
    // Answered after the end, and recorded all the same.
    expect(countRecords(report.cells[0]?.corrected as Uint32Array)).toBe(6);
  });

  test('with a warm-up only the calls that are due after it are measured', async () => {
    await using namenode = await EchoNameNode.start();
    const plan = loadPlan({ port: namenode.port, loop: OPEN, inFlight: 100, warmupMs: 100, calls: 150 });
    await using run = new LoadRun(plan);
    const report = await run.complete();
    expect(report).toMatchObject({ due: 150, replies: 150 });
    expect(namenode.calls).toHaveLength(250);
    expect(countRecords(report.cells[0]?.corrected as Uint32Array)).toBe(150);
  });

  test('with spin it never sleeps; the delay of sending is that of each call', async () => {
    await using namenode = await EchoNameNode.start();
    const loop = { kind: 'open', callsPerSecond: 500, rampMs: 0 } as const;
    const plan = loadPlan({ port: namenode.port, loop, inFlight: 100, durationMs: 200, calls: null, spin: true });
    await using run = new LoadRun(plan);
    const report = await run.complete();
    expect(report).toMatchObject({ due: 100, unsent: 0 });
    expect(countRecords(report.sendDelay)).toBe(100);
    expect(report.self.utilization).toBeGreaterThan(0.99);
  });

  test('a stop ends it early, with a report of what there is', async () => {
    await using namenode = await EchoNameNode.start();
    const plan = loadPlan({ port: namenode.port, loop: OPEN, inFlight: 100, durationMs: 600_000, calls: null });
    await using run = new LoadRun(plan);
    await run.connect();
    run.begin();
    await run.message('second');
    run.thread.stop();
    const report = await run.final();
    expect(report.replies).toBeGreaterThan(0);
    expect(report.measuredToMs).toBeLessThan(600_000);
    expect(countRecords(report.cells[0]?.corrected as Uint32Array)).toBe(namenode.calls.length);
  });

  test('a stop before the beginning reports nothing', async () => {
    await using namenode = await EchoNameNode.start();
    await using run = new LoadRun(loadPlan({ port: namenode.port, loop: OPEN }));
    await run.connect();
    run.thread.stop();
    expect(await run.final()).toMatchObject({ replies: 0, due: 0, measuredFromMs: 0, measuredToMs: 0, cells: [] });
  });
});

describe('errors', () => {
  test('count by Java class, with the first line of the first message', async () => {
    await using namenode = await ScriptedNameNode.start();
    let number = 0;
    namenode.handler = (call) => {
      number++;
      if (number % 4 === 0) call.fail(STANDBY, `not active ${number}\n\tat java`);
      else if (number % 4 === 1) call.fail('java.io.FileNotFoundException', 'gone');
      else answerPlainly(call);
    };
    await using run = new LoadRun(loadPlan({ port: namenode.port, calls: 40 }));
    const report = await run.complete();
    expect(report.replies).toBe(40);
    expect(report.cells[0]?.errors).toEqual({
      [STANDBY]: { count: 10, firstMessage: 'not active 4' },
      'java.io.FileNotFoundException': { count: 10, firstMessage: 'gone' },
    });
    expect(run.seconds.reduce((sum, { errors }) => sum + errors, 0)).toBe(20);
  });

  test('an answer of false is one', async () => {
    await using namenode = await ScriptedNameNode.start();
    namenode.handler = (call) => call.succeed({ result: call.method === 'mkdirs' });
    const plan = loadPlan({ port: namenode.port, mix: [{ operation: 'delete', weight: 1 }], calls: 10 });
    await using run = new LoadRun(plan);
    const report = await run.complete();
    expect(errorsOf(report)).toEqual({ false: 5 });
    expect(report.substituted).toBe(5);
  });

  test('a call without a reply times out and frees its slot; the late reply is read past', async () => {
    await using namenode = await ScriptedNameNode.start();
    const late: NameNodeCall[] = [];
    namenode.handler = (call) => {
      if (late.length === 0) late.push(call);
      else {
        for (const each of late) each.succeed({});
        answerPlainly(call);
      }
    };
    await using run = new LoadRun(loadPlan({ port: namenode.port, timeoutMs: 1500, calls: 5 }));
    const report = await run.complete();
    expect(errorsOf(report)).toEqual({ timeout: 1 });
    expect(report.replies).toBe(4);
    const [cell] = report.cells;
    expect(countRecords(cell?.corrected as Uint32Array)).toBe(5);
    expect(countFrom(cell?.service as Uint32Array, 1480)).toBeGreaterThanOrEqual(1);
    expect(namenode.peers).toHaveLength(1);
  });

  test('calls of a lost connection count; it comes back, and others go on', async () => {
    await using namenode = await ScriptedNameNode.start();
    let resets = 2;
    namenode.handler = (call) => {
      if (call.connection === 1 && resets-- > 0) call.reset();
      else answerPlainly(call);
    };
    await using run = new LoadRun(
      loadPlan({ port: namenode.port, loop: OPEN, connections: 2, inFlight: 50, calls: 500 }),
    );
    const report = await run.complete();
    const { connection } = report.cells[0]?.errors ?? {};
    expect(connection?.count).toBeGreaterThanOrEqual(1);
    expect(connection?.firstMessage).toContain(`127.0.0.1:${namenode.port}: `);
    expect(report.replies + (connection?.count ?? 0)).toBe(500);
    // Each has a latency, and is a success or an error.
    expect(countRecords(report.cells[0]?.corrected as Uint32Array)).toBe(500);
    expect(report.cells[0]?.successes).toBe(report.replies);
    expect(report.unsent).toBe(0);
    await namenode.until(() => namenode.peers.length === 3, 'the lost connection is back');
    expect(namenode.peers[2]?.user).toBe('alice');
  });

  test('a FATAL says why the connection went', async () => {
    await using namenode = await ScriptedNameNode.start();
    namenode.handler = (call) => {
      namenode.handler = answerPlainly;
      call.fatal('org.apache.hadoop.ipc.RpcServerException', 'cannot go on', 'ERROR_RPC_SERVER', {
        callId: 0xffff_ffff,
      });
    };
    await using run = new LoadRun(loadPlan({ port: namenode.port, calls: 3 }));
    const report = await run.complete();
    expect(report.cells[0]?.errors).toEqual({
      'org.apache.hadoop.ipc.RpcServerException': { count: 1, firstMessage: expect.stringContaining('cannot go on') },
    });
    expect(report.replies).toBe(2);
  });

  test('a server that breaks the protocol loses its connection', async () => {
    await using namenode = await ScriptedNameNode.start();
    namenode.handler = (call) => {
      namenode.handler = answerPlainly;
      call.sendBytes(Buffer.from([0x7f, 0xff, 0xff, 0xff, 1]));
    };
    await using run = new LoadRun(loadPlan({ port: namenode.port, calls: 3 }));
    const report = await run.complete();
    expect(report.cells[0]?.errors['connection']?.firstMessage).toContain('impossible length');
    expect(report.replies).toBe(2);
  });

  test("a reply with another client's id is none", async () => {
    await using namenode = await ScriptedNameNode.start();
    namenode.handler = (call) => {
      namenode.handler = answerPlainly;
      call.succeed({}, { clientId: Buffer.alloc(16, 9) });
    };
    await using run = new LoadRun(loadPlan({ port: namenode.port, calls: 3 }));
    expect(errorsOf(await run.complete())).toEqual({ protocol: 1 });
  });
});

describe('calls that do not come back', () => {
  test('a call whose reply comes after its timeout is an error, however seldom anybody looks', async () => {
    await using namenode = await ScriptedNameNode.start();
    namenode.handler = (call) => setTimeout(() => answerPlainly(call), 60);
    await using run = new LoadRun(loadPlan({ port: namenode.port, timeoutMs: 10, calls: 3 }));
    const report = await run.complete();
    expect(errorsOf(report)).toEqual({ timeout: 3 });
    expect(report.replies).toBe(0);
    expect(report.cells[0]).toMatchObject({ serviceMaxMs: 10, successes: 0 });
  });

  test('of a lost connection they have taken until then', async () => {
    await using namenode = await ScriptedNameNode.start();
    const held: NameNodeCall[] = [];
    namenode.handler = (call) => held.push(call);
    await using run = new LoadRun(loadPlan({ port: namenode.port, inFlight: 5, calls: 5 }));
    await run.connect();
    run.begin();
    await run.message('second');
    held[0]?.reset();
    const report = await run.final();
    expect(errorsOf(report)).toEqual({ connection: 5 });
    expect(report).toMatchObject({ replies: 0, unsent: 0, unanswered: 0 });
    expect(countFrom(report.cells[0]?.service as Uint32Array, 900)).toBe(5);
  });

  test('those without a reply at an early end are unanswered', async () => {
    await using namenode = await EchoNameNode.start();
    namenode.hold();
    const plan = loadPlan({ port: namenode.port, loop: OPEN, inFlight: 6, durationMs: 600_000, calls: null });
    await using run = new LoadRun(plan);
    await run.connect();
    run.begin();
    await namenode.until(() => namenode.held === 6, 'all slots are taken');
    run.thread.stop();
    const report = await run.final();
    expect(report).toMatchObject({ unanswered: 6, replies: 0, cells: [], gaveUp: false });
    expect(report.unsent).toBe(report.due - 6);
  });

  test('a run of so many calls gives up when the server is gone, and says what it did not make', async () => {
    const namenode = await ScriptedNameNode.start();
    const realNow = performance.now.bind(performance);
    let aheadMs = 0;
    const now = vi.spyOn(performance, 'now').mockImplementation(() => realNow() + aheadMs);
    try {
      const plan = loadPlan({ port: namenode.port, loop: OPEN, inFlight: 100, calls: 1_000_000 });
      await using run = new LoadRun(plan);
      await run.connect();
      run.begin();
      await namenode.until(() => namenode.calls.length > 10, 'some calls');
      namenode.handler = (call) => {
        call.reset();
        void namenode.stop();
      };
      await run.until(() => run.seconds.some(({ errors }) => errors > 0), 'calls are lost');
      aheadMs = 60_000;
      const report = await run.final();
      expect(report).toMatchObject({ gaveUp: true, due: 1_000_000, unanswered: 0 });
      expect(report.unsent + countRecords(report.cells[0]?.corrected as Uint32Array)).toBe(1_000_000);
    } finally {
      now.mockRestore();
      await namenode.stop();
    }
  });

  test('a server that does not read is not written to without end; when it reads again, it is', async () => {
    const sockets: Socket[] = [];
    const server = createServer((socket) => {
      socket.on('error', () => {});
      sockets.push(socket);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    try {
      const loop = { kind: 'open', callsPerSecond: 20_000, rampMs: 0 } as const;
      const paths = ['/x'.repeat(3500)];
      const plan = loadPlan({ port, loop, paths, inFlight: 65_536, durationMs: 600_000, calls: null });
      await using run = new LoadRun(plan);
      await run.connect();
      run.begin();
      await run.message('second');
      // What the kernel takes, and a MiB.
      expect(run.seconds[0]?.inFlight).toBeLessThan(5000);
      expect(run.seconds[0]?.waiting).toBeGreaterThan(10_000);
      const { promise, resolve } = Promise.withResolvers<void>();
      let bytes = 0;
      sockets[0]?.on('data', (chunk) => {
        bytes += chunk.length;
        if (bytes > 30_000_000) resolve();
      });
      await within(promise, 'calls that have waited');
      run.thread.stop();
      const report = await run.final();
      expect(report.unanswered + report.unsent).toBe(report.due);
    } finally {
      for (const socket of sockets) socket.destroy();
      server.close();
    }
  });

  test('a server that reads slowly and does not answer gets all calls all the same', async () => {
    await using namenode = await EchoNameNode.start();
    namenode.hold();
    const paths = ['/x'.repeat(3500)];
    // A few of these batches are more than a connection may have to write, and than the kernel takes.
    const loop = { kind: 'open', callsPerSecond: 1_000_000, rampMs: 0 } as const;
    await using run = new LoadRun(loadPlan({ port: namenode.port, loop, paths, inFlight: 65_536, calls: 3000 }));
    await run.connect();
    run.begin();
    await namenode.until(() => namenode.held === 3000, 'all calls have come');
    namenode.release();
    const report = await run.final();
    expect(report).toMatchObject({ replies: 3000, unsent: 0 });
    expect(errorsOf(report)).toEqual({});
  });
});

describe('before the beginning', () => {
  test('a replay whose user has no connection is refused before any is opened', () => {
    const call: ReplayCall = { atMs: 0, operation: 'getFileInfo', user: 'mallory', source: '/a', destination: '' };
    const loop = { kind: 'replay', speed: 1 } as const;
    expect(() => new LoadRun(loadPlan({ loop, mix: [], calls: null }), [call])).toThrow('no connection');
  });

  test('a port where nobody listens is a failure with address and reason', async () => {
    await using namenode = await ScriptedNameNode.start();
    const { port } = namenode;
    await namenode.stop();
    await using run = new LoadRun(loadPlan({ port, connections: 3 }));
    run.thread.connect();
    const failed = await run.message('failed');
    expect(failed).toMatchObject({ message: expect.stringContaining(`127.0.0.1:${port}: `) });
    expect(failed).toMatchObject({ message: expect.stringContaining('ECONNREFUSED') });
    await within(run.thread.done, 'the end of the thread');
    expect(run.messages).toHaveLength(1);
  });

  test('a server that ends a connection too early is one, with what it said', async () => {
    await using namenode = await ScriptedNameNode.start();
    namenode.resetsConnections = true;
    await using run = new LoadRun(loadPlan({ port: namenode.port }));
    run.thread.connect();
    expect(await run.message('failed')).toMatchObject({ kind: 'failed' });
  });

  test('all connections open, a bounded number at once', async () => {
    await using namenode = await EchoNameNode.start();
    await using run = new LoadRun(loadPlan({ port: namenode.port, connections: 200, calls: 400 }));
    expect((await run.complete()).replies).toBe(400);
    expect(namenode.connections).toBe(200);
  });
});
