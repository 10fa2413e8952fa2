import { rmSync } from 'node:fs';
import { createServer } from 'node:net';
import type { Worker } from 'node:worker_threads';
import pino from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type StartOptions, startFromOptions } from '../../src/commands/start.ts';
import type { RunningRouter } from '../../src/control/router-types.ts';
import { ByteClient, callFrame, contextFrame, PREAMBLE, prefixOf } from '../support/client-bytes.ts';
import { EchoNameNode } from '../support/echo-namenode.ts';
import { RawClient, type RawReply } from '../support/raw-client.ts';
import { writeConfig } from '../support/router-process.ts';
import { nextEvent, waitUntil } from '../support/wait.ts';

/** Threads that die under a router, which runs in this process: its threads are ours to end. */

const MIB = 1024 * 1024;
const RETRIABLE = 'org.apache.hadoop.ipc.RetriableException';
const CALL = { method: 'getFileInfo', request: { src: '/a/x' } };

/** Threads in the order in which they were made: acceptors, then workers, then those that take the place of dead ones. */
let threads: Worker[];
let log: string[];
let namenode: EchoNameNode;
let configDir: string;
let router: RunningRouter;
let address: { host: string; port: number };

const onWorker = (worker: Worker): void => void threads.push(worker);

beforeEach(async () => {
  threads = [];
  log = [];
  process.on('worker', onWorker);
  namenode = await EchoNameNode.start();
  configDir = writeConfig({ nameservices: { ns0: [{ port: namenode.port }] } });
});

afterEach(async () => {
  process.off('worker', onWorker);
  namenode.release();
  await router.drain();
  await namenode[Symbol.asyncDispose]();
  rmSync(configDir, { recursive: true, force: true });
});

async function start(options: Partial<StartOptions>): Promise<void> {
  router = await startFromOptions({
    configDir,
    rpc: '127.0.0.1:0',
    mounts: ['/a=ns0:/a'],
    log: pino({ level: 'error' }, { write: (line: string) => void log.push(line) }),
    ...options,
  });
  address = { host: '127.0.0.1', port: Number(router.rpc.split(':')[1]) };
}

async function kill(index: number): Promise<void> {
  const thread = threads[index] as Worker;
  const exit = nextEvent(thread, 'exit', 'the thread has ended');
  await thread.terminate();
  await exit;
}

/** As `kill`, but by an error that the thread itself throws: its pool sends no such message. */
async function makeThrow(index: number): Promise<void> {
  const thread = threads[index] as Worker;
  const exit = nextEvent(thread, 'exit', 'the thread has ended');
  thread.postMessage(null);
  await exit;
}

/** A call on a new connection, tried until one is served. */
async function untilServed(): Promise<void> {
  await waitUntil(async () => {
    try {
      using client = await RawClient.connect(address, { user: 'late' });
      return (await client.call(CALL)).status === 'SUCCESS';
    } catch {
      return false;
    }
  }, 'the router serves again');
}

async function receive(client: RawClient, count: number): Promise<RawReply[]> {
  const replies: RawReply[] = [];
  for (let i = 0; i < count; i++) replies.push(await client.receive());
  return replies.sort((a, b) => a.callId - b.callId);
}

describe('a worker that dies', () => {
  it('takes its calls with it, which may be tried again, and nothing else', async () => {
    await start({ workers: 2 });
    // Users are spread over the workers: each of the two is on another one.
    using alice = await RawClient.connect(address, { user: 'alice' });
    using bob = await RawClient.connect(address, { user: 'bob' });
    const clients = [alice, bob];
    for (const client of clients) expect((await client.call(CALL)).status).toBe('SUCCESS');
    namenode.hold();
    for (const client of clients) for (let i = 0; i < 3; i++) client.send({ ...CALL, callId: 10 + i, retryCount: i });
    await namenode.until(() => namenode.held === 6, 'six calls are in flight');

    await kill(1);
    const firsts = clients.map((client) => client.receive());
    const lostFirst = await Promise.race(firsts.map(async (reply, index) => ({ index, reply: await reply })));
    const victim = clients[lostFirst.index] as RawClient;
    const spared = victim === alice ? bob : alice;
    const lost = [lostFirst.reply, ...(await receive(victim, 2))].sort((a, b) => a.callId - b.callId);
    for (const [i, reply] of lost.entries()) {
      expect(reply).toMatchObject({ callId: 10 + i, retryCount: i, status: 'ERROR', exception: RETRIABLE });
      expect(reply.header['errorDetail']).toBe('ERROR_APPLICATION');
    }

    // The connection stays, and its next call goes to the worker that takes the place of the dead one.
    const callId = victim.send(CALL);
    await namenode.until(() => namenode.held === 7, 'a new call of the victim is in flight');
    namenode.release();
    expect(await victim.receive()).toMatchObject({ callId, status: 'SUCCESS' });
    const kept = [await (firsts[1 - lostFirst.index] as Promise<RawReply>), ...(await receive(spared, 2))];
    kept.sort((a, b) => a.callId - b.callId);
    expect(kept.map((reply) => [reply.callId, reply.status])).toEqual([10, 11, 12].map((id) => [id, 'SUCCESS']));
    expect(log.filter((line) => line.includes('a thread has died')).length).toBe(1);
  });

  it('is replaced as often as it dies, while one client goes on and on', async () => {
    await start({ workers: 1 });
    using client = await RawClient.connect(address, { user: 'alice' });
    expect((await client.call(CALL)).status).toBe('SUCCESS');
    for (let death = 0; death < 3; death++) {
      namenode.hold();
      const before = client.send(CALL);
      await namenode.until(() => namenode.held === 1, 'a call is in flight');
      const made = threads.length;
      await (death === 1 ? makeThrow : kill)(death === 0 ? 1 : made - 1);
      expect(await client.receive()).toMatchObject({ callId: before, exception: RETRIABLE });
      namenode.release();
      // Some of these arrive while there is no worker at all: they wait for the next one.
      await client.pipeline(100, 10, () => CALL);
      await waitUntil(() => threads.length > made, 'another thread has been made');
    }
  });
});

describe('an acceptor that dies', () => {
  it('takes its connections with it, and another listens on the port', async () => {
    await start({});
    using client = await RawClient.connect(address, { user: 'alice' });
    namenode.hold();
    client.send(CALL);
    await namenode.until(() => namenode.held === 1, 'a call is in flight');
    await makeThrow(0);
    expect(log.some((line) => line.includes('TypeError'))).toBe(true);
    await expect(client.receive()).rejects.toThrow('no reply');
    namenode.release();
    await untilServed();
    using another = await RawClient.connect(address, { user: 'alice' });
    await another.pipeline(200, 20, () => CALL);
  });

  it('leaves those of others alone', async () => {
    await start({ acceptors: 2, workers: 2 });
    const clients = await Promise.all(
      Array.from({ length: 24 }, (_, i) => RawClient.connect(address, { user: `user${i % 3}` })),
    );
    for (const client of clients) await client.call(CALL);
    await kill(0);
    const served = await Promise.all(
      clients.map(async (client) => {
        try {
          return (await client.call(CALL)).status === 'SUCCESS';
        } catch {
          return false;
        }
      }),
    );
    // The kernel spreads connections over the two: all on one would be a chance of 1 in 8 million.
    expect(served).toContain(true);
    expect(served).toContain(false);
    await untilServed();
    for (const client of clients) client[Symbol.dispose]();
  });

  it('gives the memory budget back that it held', async () => {
    await start({ set: ['switchyard.memory.limit=16m', `ipc.maximum.data.length=${4 * MIB}`] });
    const before = [];
    // Half of the budget, and again half of it under the next acceptor, and the next.
    for (let life = 0; life < 3; life++) {
      const clients = await Promise.all([0, 1].map(() => ByteClient.connect(address)));
      for (const client of clients) {
        client.send(
          PREAMBLE,
          contextFrame({ user: 'alice' }),
          callFrame(),
          prefixOf(4 * MIB),
          Buffer.alloc(3 * MIB, 1),
        );
        await client.nextFrame();
      }
      using honest = await RawClient.connect(address, { user: 'bob' });
      await waitUntil(async () => {
        await honest.result(CALL);
        return clients.every(({ socket }) => socket.writableLength === 0);
      }, 'all has been read');
      await honest.result(CALL);
      expect(clients.map(({ ended }) => ended)).toEqual(['', '']);
      before.push(...clients);
      await kill(life === 0 ? 0 : threads.length - 1);
      await untilServed();
    }
    for (const client of before) client[Symbol.dispose]();
  });

  it('has no clients before it has a worker', async () => {
    await start({ workers: 1 });
    // Each death of the worker makes the pause before the next one longer: in the end it is that of the acceptor four times.
    for (let death = 0; death < 2; death++) {
      await kill(death === 0 ? 1 : threads.length - 1);
      await untilServed();
    }
    await Promise.all([kill(threads.length - 1), kill(0)]);
    await untilServed();
    expect(log.filter((line) => line.includes('a thread has died'))).toHaveLength(4);
    expect(log.join('')).not.toContain('TypeError');
  });

  it('tries again until it gets the port back', async () => {
    await start({});
    const holder = createServer();
    // Taken in the very turn in which the thread has ended.
    const taken = nextEvent(holder, 'listening', 'another has the port');
    (threads[0] as Worker).once('exit', () => holder.listen(address.port, address.host));
    await kill(0);
    await taken;
    await waitUntil(() => log.some((line) => line.includes('cannot listen again yet')), 'the port is missed');
    holder.close();
    await untilServed();
  });
});

it('another router does not get in beside one whose acceptors share the port', async () => {
  await start({ acceptors: 2 });
  for (const acceptors of [2, 1]) {
    const silent = pino({ level: 'silent' });
    const second = startFromOptions({ configDir, rpc: router.rpc, mounts: ['/a=ns0:/a'], acceptors, log: silent });
    await expect(second).rejects.toThrow(/cannot listen on .*EADDRINUSE.*choose another port/);
  }
  await untilServed();
});

describe('an inline thread that dies', () => {
  it('takes its connections with it, others go on, and it comes back', async () => {
    await start({ handoff: 'inline', acceptors: 2 });
    const clients = await Promise.all(
      Array.from({ length: 24 }, (_, i) => RawClient.connect(address, { user: `user${i % 3}` })),
    );
    namenode.hold();
    for (const client of clients) client.send(CALL);
    await namenode.until(() => namenode.held === 24, 'all calls are in flight');
    await kill(0);
    await waitUntil(() => clients.some(({ ended }) => ended !== ''), 'clients have lost their connection');
    namenode.release();
    const answers = await Promise.allSettled(clients.map((client) => client.receive()));
    const kept = answers.filter(({ status }) => status === 'fulfilled');
    expect(kept.length).toBeGreaterThan(0);
    expect(kept.length).toBeLessThan(24);
    for (const answer of kept) expect(answer).toMatchObject({ value: { status: 'SUCCESS' } });
    await untilServed();
    for (const client of clients) client[Symbol.dispose]();
  });
});
