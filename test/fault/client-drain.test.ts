import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { EchoNameNode } from '../support/echo-namenode.ts';
import { RawClient } from '../support/raw-client.ts';
import { RouterProcess, type RouterProcessOptions } from '../support/router-process.ts';
import { nextEvent, waitUntil } from '../support/wait.ts';

/** SIGTERM to a router process with calls in flight. */

const CALL = { method: 'getFileInfo', request: { src: '/a/x' } };

async function startRouter(namenode: EchoNameNode, options: RouterProcessOptions = {}): Promise<RouterProcess> {
  return await RouterProcess.start({
    nameservices: { ns0: [{ port: namenode.port }] },
    mounts: ['/a=ns0:/a'],
    ...options,
  });
}

/** The error of a connection attempt; '' when it is made. */
async function connectionError({ host, port }: RouterProcess): Promise<string> {
  const socket = connect({ host, port });
  const refused = nextEvent(socket, 'error', 'refused').then(([error]) => (error as NodeJS.ErrnoException).code ?? '?');
  const made = nextEvent(socket, 'connect', 'connected').then(() => '');
  try {
    return await Promise.any([refused, made]);
  } finally {
    refused.catch(() => {});
    made.catch(() => {});
    socket.destroy();
  }
}

describe.each([
  ['ring', []],
  ['inline with two threads', ['--handoff', 'inline', '--acceptors', '2']],
  ['ring with two of each', ['--acceptors', '2', '--workers', '2']],
])('%s: a drain', (_, args) => {
  it('answers what is in flight, refuses what is new, and ends with 0', async () => {
    await using namenode = await EchoNameNode.start();
    await using router = await startRouter(namenode, { args });
    using client = await RawClient.connect(router, { user: 'alice' });
    using idle = await RawClient.connect(router, { user: 'bob' });
    await idle.result(CALL);
    namenode.hold();
    const callIds = [client.send(CALL), client.send(CALL), client.send(CALL)];
    await namenode.until(() => namenode.held === 3, 'three calls are in flight');

    router.kill('SIGTERM');
    await waitUntil(async () => (await connectionError(router)) === 'ECONNREFUSED', 'new connections are refused');
    for (const each of [client, idle]) {
      const reply = await each.call(CALL);
      expect(reply).toMatchObject({ status: 'ERROR', exception: 'org.apache.hadoop.ipc.StandbyException' });
      expect(reply.message).toMatch(/^Router .+ is shutting down$/);
      expect(reply.clientId).toEqual(each.clientId);
    }
    expect(namenode.held).toBe(3);

    namenode.release();
    const answered = [];
    for (let i = 0; i < 3; i++) {
      const reply = await client.receive();
      expect(reply.status).toBe('SUCCESS');
      answered.push(reply.callId);
    }
    expect(answered.sort()).toEqual(callIds);
    expect(await router.exited).toBe(0);
    expect(router.log).toContain('"drained"');
  });
});

it('a drain ends the connections of busy clients without a reset; what they sent last is refused, not lost', async () => {
  await using namenode = await EchoNameNode.start();
  await using router = await startRouter(namenode);
  const clients = await Promise.all(Array.from({ length: 20 }, (_, i) => RawClient.connect(router, { user: `u${i}` })));
  const last = clients.map(async (client) => {
    for (;;) {
      const reply = await client.call(CALL);
      if (reply.status !== 'SUCCESS') return reply.exception;
    }
  });
  await namenode.until(() => namenode.calls.length > 100, 'all are busy');
  router.kill('SIGTERM');
  expect(await Promise.all(last)).toEqual(clients.map(() => 'org.apache.hadoop.ipc.StandbyException'));
  expect(await router.exited).toBe(0);
  await waitUntil(() => clients.every(({ ended }) => ended !== ''), 'all connections are ended');
  expect(clients.map(({ ended }) => ended)).toEqual(clients.map(() => 'closed by the server'));
  for (const client of clients) client[Symbol.dispose]();
});

it('a drain without calls ends at once', async () => {
  await using namenode = await EchoNameNode.start();
  await using router = await startRouter(namenode);
  using client = await RawClient.connect(router, { user: 'alice' });
  await client.result(CALL);
  expect(await router.stop()).toBe(0);
  await expect(client.receive()).rejects.toThrow('no reply');
});

it('a call that never ends is cut after the time for it, and the log tells how many', async () => {
  await using namenode = await EchoNameNode.start();
  await using router = await startRouter(namenode, { args: ['--set', 'switchyard.drain.timeout=300ms'] });
  using client = await RawClient.connect(router, { user: 'alice' });
  await client.result(CALL);
  namenode.hold();
  client.send(CALL);
  client.send(CALL);
  await namenode.until(() => namenode.held === 2, 'two calls are in flight');
  expect(await router.stop()).toBe(1);
  expect(router.log).toContain('2 calls were cut: they did not finish within switchyard.drain.timeout');
});
