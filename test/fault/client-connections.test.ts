import { describe, expect, it } from 'vitest';
import { ByteClient, callFrame, contextFrame, PREAMBLE, prefixOf, readReply } from '../support/client-bytes.ts';
import { EchoNameNode } from '../support/echo-namenode.ts';
import { InlineRouter } from '../support/inline-router.ts';
import { RawClient } from '../support/raw-client.ts';
import { RouterProcess } from '../support/router-process.ts';
import { waitUntil } from '../support/wait.ts';

/** Many connections: over several threads, above the limits, idle. */

const CALL = { method: 'getFileInfo', request: { src: '/a/x' } };

describe.each([
  ['one acceptor, two workers', ['--workers', '2']],
  ['two acceptors, one worker', ['--acceptors', '2']],
  ['two acceptors, two workers', ['--acceptors', '2', '--workers', '2']],
  ['inline in one thread', ['--handoff', 'inline']],
  ['inline in two threads', ['--handoff', 'inline', '--acceptors', '2']],
])('%s', (_, args) => {
  it('each of many clients with the same ids gets the answers to its own calls', async () => {
    await using namenode = await EchoNameNode.start();
    await using router = await RouterProcess.start({
      nameservices: { ns0: [{ port: namenode.port }] },
      mounts: ['/a=ns0:/a'],
      args,
    });
    const clientId = Buffer.alloc(16, 7);
    const answered = await Promise.all(
      Array.from({ length: 32 }, async (_each, index) => {
        using client = await RawClient.connect(router, { user: `user${index % 4}`, clientId });
        for (let round = 0; round < 10; round++) {
          const calls = Array.from({ length: 20 }, (_call, i) => `/a/${index}/${round}/${i}`);
          for (const [callId, src] of calls.entries()) client.send({ ...CALL, request: { src }, callId });
          for (let i = 0; i < calls.length; i++) {
            const { callId, body, status } = await client.receive();
            if (status !== 'SUCCESS' || !body.includes(calls[callId] as string))
              return `${index}: not ${calls[callId]}`;
          }
        }
        return '';
      }),
    );
    expect(answered.filter((trouble) => trouble !== '')).toEqual([]);
    expect(namenode.callsOf('getFileInfo').length).toBe(32 * 200);
    expect(await router.stop()).toBe(0);
    expect(router.log).not.toContain('has died');
  });
});

describe('limits', () => {
  it('connections above ipc.server.max.connections are closed without a word', async () => {
    await using namenode = await EchoNameNode.start();
    await using router = await InlineRouter.start({
      nameservices: { ns0: namenode.port },
      mounts: ['/a=ns0:/a'],
      keys: { 'ipc.server.max.connections': '2' },
    });
    using first = await RawClient.connect(router, { user: 'alice' });
    const second = await RawClient.connect(router, { user: 'alice' });
    for (const client of [first, second]) await client.result(CALL);
    using third = await ByteClient.connect(router);
    expect((await third.whole()).length).toBe(0);
    expect(router.count('clientsRefused')).toBe(1);
    second[Symbol.dispose]();
    await waitUntil(() => router.acceptor.openConnections === 1, 'there is room');
    using fourth = await RawClient.connect(router, { user: 'alice' });
    await fourth.result(CALL);
  });

  it('a frame above ipc.maximum.data.length closes its connection; the log says why, but not for each of many', async () => {
    await using namenode = await EchoNameNode.start();
    await using router = await InlineRouter.start({
      nameservices: { ns0: namenode.port },
      mounts: ['/a=ns0:/a'],
      keys: { 'ipc.maximum.data.length': '1024' },
    });
    using honest = await RawClient.connect(router, { user: 'alice' });
    await honest.result({ ...CALL, request: { src: `/a/${'x'.repeat(780)}` } });
    const many = await Promise.all(Array.from({ length: 20 }, () => ByteClient.connect(router)));
    for (const client of many) client.send(PREAMBLE, contextFrame({ user: 'bob' }), prefixOf(1025));
    for (const client of many) expect((await client.whole()).length).toBe(0);
    expect(router.notes[0]).toMatch(/closed: a frame of 1025 bytes, the limit is 1024 \(ipc\.maximum\.data\.length\)$/);
    await waitUntil(() => router.notes.at(-1)?.endsWith(' more of the like'), 'the rest is summed up');
    expect(router.notes.length).toBeLessThan(many.length);
    await honest.result(CALL);
  });

  it('what cannot be read is a refused call on an open connection, else a refused handshake', async () => {
    await using namenode = await EchoNameNode.start();
    await using router = await InlineRouter.start({ nameservices: { ns0: namenode.port }, mounts: ['/a=ns0:/a'] });
    const refused = (): number[] => [router.count('callsRefused'), router.count('handshakesRefused')];
    using open = await ByteClient.connect(router);
    open.send(PREAMBLE, contextFrame({ user: 'bob' }), prefixOf(0));
    await open.whole();
    expect(refused()).toEqual([1, 0]);
    using opening = await ByteClient.connect(router);
    opening.send(PREAMBLE, prefixOf(0));
    await opening.whole();
    expect(refused()).toEqual([1, 1]);
    // A call that ends its connection is one, not two.
    using fatal = await ByteClient.connect(router);
    fatal.send(PREAMBLE, contextFrame({ user: 'bob' }), callFrame({ header: { rpcOp: 'RPC_CLOSE_CONNECTION' } }));
    await fatal.whole();
    expect(refused()).toEqual([2, 1]);
  });

  it('idle connections are closed a few at a time, from a threshold up, never one with a call', async () => {
    await using namenode = await EchoNameNode.start();
    await using router = await InlineRouter.start({
      nameservices: { ns0: namenode.port },
      mounts: ['/a=ns0:/a'],
      settings: { idleMs: 50, idleScanMs: 1, idleKillMax: 2, idleThreshold: 4 },
    });
    const clients = await Promise.all(Array.from({ length: 6 }, () => RawClient.connect(router, { user: 'alice' })));
    namenode.hold();
    const busy = clients[0] as RawClient;
    busy.send(CALL);
    await namenode.until(() => namenode.held === 1, 'a call is in flight');
    // Six, four, and one less: the threshold is met no more.
    await waitUntil(() => router.acceptor.openConnections <= 4, 'the first are closed');
    expect(router.acceptor.openConnections).toBe(4);
    await waitUntil(() => router.acceptor.openConnections === 3, 'one more is closed');
    expect(router.count('idleClientsClosed')).toBe(3);
    namenode.release();
    expect((await busy.receive()).status).toBe('SUCCESS');
    for (const client of clients) client[Symbol.dispose]();
  });

  it('a connection that only says hello may stay, and is served when it calls', async () => {
    await using namenode = await EchoNameNode.start();
    await using router = await InlineRouter.start({ nameservices: { ns0: namenode.port }, mounts: ['/a=ns0:/a'] });
    const quiet = await Promise.all(Array.from({ length: 200 }, () => ByteClient.connect(router)));
    for (const [i, client] of quiet.entries()) client.send(PREAMBLE.subarray(0, i % 8));
    using client = await RawClient.connect(router, { user: 'alice' });
    await client.result(CALL);
    for (const [i, each] of quiet.entries())
      each.send(PREAMBLE.subarray(i % 8), contextFrame({ user: 'bob' }), callFrame());
    for (const each of quiet) expect(readReply(await each.nextFrame()).header).toMatchObject({ status: 'SUCCESS' });
    for (const each of quiet) each[Symbol.dispose]();
  });
});
