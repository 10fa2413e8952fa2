import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { encodeDelimited, messageType } from '../../src/wire/messages.ts';
import { ByteClient, callFrame, contextFrame, PREAMBLE, prefixOf, readReply } from '../support/client-bytes.ts';
import { directory, EchoNameNode } from '../support/echo-namenode.ts';
import { InlineRouter } from '../support/inline-router.ts';
import { RawClient } from '../support/raw-client.ts';
import { residentKib } from '../support/resident.ts';
import { RouterProcess } from '../support/router-process.ts';
import { waitUntil } from '../support/wait.ts';

/** More than anyone can take: calls, replies, bytes. What is bounded waits in the sender; nobody else notices. */

const MIB = 1024 * 1024;
const PER_CONNECTION = 4_096;
/** Calls that may be at one nameservice: reads take seven eighths of them at most. And calls that may wait for it. */
const WINDOW = 16_384;
const READS = (WINDOW * 7) / 8;
const QUEUE = 16_384;
const WIDE = { 'switchyard.window.floor': String(WINDOW), 'switchyard.window.ceiling': String(WINDOW) };

let held: EchoNameNode;
let other: EchoNameNode;

beforeEach(async () => {
  held = await EchoNameNode.start('held');
  other = await EchoNameNode.start('other');
});

afterEach(async () => {
  await held[Symbol.asyncDispose]();
  await other[Symbol.asyncDispose]();
});

const status = (src: string) => ({ method: 'getFileInfo', request: { src } });

async function startProcess(args: string[] = [], keys: Record<string, string> = {}): Promise<RouterProcess> {
  return await RouterProcess.start({
    nameservices: { ns0: [{ port: held.port }], ns1: [{ port: other.port }] },
    mounts: ['/a=ns0:/a', '/b=ns1:/b'],
    // A test that fails with calls in flight is not to wait for them at its end.
    args: [...args, '--set', 'switchyard.drain.timeout=1s'],
    keys,
  });
}

describe.each([
  ['ring', 100_000, []],
  ['inline', 20_000, ['--handoff', 'inline']],
])('%s: a NameNode that does not answer', (_, count, args) => {
  it('leaves the calls of a client that does not stop with that client, and loses none', async () => {
    await using router = await startProcess(args, WIDE);
    using honest = await RawClient.connect(router, { user: 'honest' });
    await honest.pipeline(1_000, 16, () => status('/b/x'));
    held.hold();
    const before = residentKib(router.pid);
    using client = await RawClient.connect(router, { user: 'alice' });
    for (let i = 0; i < count; i++) client.send(status('/a/x'));
    await held.until(() => held.held === PER_CONNECTION, 'as many as one connection may have');
    await honest.pipeline(500, 16, () => status('/b/x'));
    expect(held.held).toBe(PER_CONNECTION);
    expect(residentKib(router.pid) - before).toBeLessThan(64 * 1024);

    held.release();
    const seen = new Uint8Array(count);
    for (let i = 0; i < count; i++) {
      const reply = await client.receive();
      if (reply.status !== 'SUCCESS') throw new Error(`${reply.callId}: ${reply.exception}`);
      seen[reply.callId] = (seen[reply.callId] as number) + 1;
    }
    expect(seen.every((times) => times === 1)).toBe(true);
    expect(residentKib(router.pid) - before).toBeLessThan(96 * 1024);
  });
});

it('too many calls for one nameservice are told to try another router', async () => {
  await using router = await startProcess([], WIDE);
  using honest = await RawClient.connect(router, { user: 'honest' });
  await honest.result(status('/b/x'));
  held.hold();
  // A user each: how many one connection to a NameNode takes is another limit.
  const clients = await Promise.all(
    Array.from({ length: 10 }, (_, i) => RawClient.connect(router, { user: `user${i}` })),
  );
  for (const client of clients) for (let i = 0; i < PER_CONNECTION; i++) client.send(status('/a/x'));
  const refused = clients.length * PER_CONNECTION - READS - QUEUE;
  await held.until(() => held.held === READS, 'as many as one nameservice may have');
  await honest.result(status('/b/x'));
  held.release();
  let answered = 0;
  let overloaded = 0;
  for (const client of clients) {
    for (let i = 0; i < PER_CONNECTION; i++) {
      const { status: outcome, exception, message } = await client.receive();
      if (outcome === 'SUCCESS') answered++;
      else if (exception.endsWith('.StandbyException') && message.endsWith('overloaded for NS: ns0')) overloaded++;
    }
    client[Symbol.dispose]();
  }
  expect([answered, overloaded]).toEqual([READS + QUEUE, refused]);
});

describe('a client that does not read', () => {
  const PAGE = Array.from({ length: 4_000 }, (_, i) => directory('owner', 'group', `some-longish-file-name-${i}`));
  const LISTING = callFrame({
    method: 'getListing',
    body: encodeDelimited(messageType('hadoop.hdfs.GetListingRequestProto'), {
      src: '/a',
      startAfter: Buffer.alloc(0),
      needLocation: false,
    }),
  });
  /** About 300 KB each: more than sockets buffer and the router waits for. */
  const FIRST = 24;

  async function startInline(slowReaderMs: number): Promise<InlineRouter> {
    held.answers['getListing'] = () => ({ dirList: { partialListing: PAGE, remainingEntries: 0 } });
    return await InlineRouter.start({
      nameservices: { ns0: held.port, ns1: other.port },
      mounts: ['/a=ns0:/a', '/b=ns1:/b'],
      settings: { slowReaderMs },
    });
  }

  /** Sends calls and reads nothing, until the router does not read from it any more. */
  async function stall(router: InlineRouter, client: ByteClient): Promise<void> {
    client.socket.pause();
    client.send(PREAMBLE, contextFrame({ user: 'slow' }), ...Array.from({ length: FIRST }, () => LISTING));
    await held.until(() => held.callsOf('getListing').length === FIRST, 'the first calls have arrived');
    await waitUntil(() => router.acceptor.outstanding.count === 0, 'all of them are answered');
    await waitUntil(() => router.acceptor.stalled.size === 1, 'the answers do not leave');
    client.send(LISTING, LISTING);
  }

  it('is not read from, and is served when it reads again', async () => {
    await using router = await startInline(60_000);
    using honest = await RawClient.connect(router, { user: 'honest' });
    using client = await ByteClient.connect(router);
    await stall(router, client);
    expect(router.block.usedKib).toBeGreaterThan(1024);
    await honest.pipeline(200, 8, (i) => status(i % 2 === 0 ? '/a/x' : '/b/x'));
    expect(held.callsOf('getListing').length).toBe(FIRST);
    client.socket.resume();
    for (let i = 0; i < FIRST + 2; i++)
      expect(readReply(await client.nextFrame()).header).toMatchObject({ status: 'SUCCESS' });
    await waitUntil(() => router.acceptor.stalled.size === 0 && router.block.usedKib === 0, 'all memory is given back');
    expect(router.count('slowReadersClosed')).toBe(0);
  });

  it('is closed after ipc.server.purge.interval, and what it was owed is forgotten', async () => {
    await using router = await startInline(200);
    using honest = await RawClient.connect(router, { user: 'honest' });
    using client = await ByteClient.connect(router);
    await stall(router, client);
    await honest.pipeline(200, 8, () => status('/a/x'));
    await waitUntil(() => router.count('slowReadersClosed') === 1, 'the slow reader is closed');
    expect(router.notes).toEqual([
      expect.stringMatching(/^client 127\.0\.0\.1:\d+ closed: the client has not read its/),
    ]);
    await waitUntil(() => router.acceptor.openConnections === 1, 'its connection is gone');
    expect(router.block.usedKib).toBe(0);
    expect(held.callsOf('getListing').length).toBe(FIRST);
    await honest.result(status('/a/x'));
  });

  it('is not saved by asking more and more', async () => {
    await using router = await startInline(400);
    using client = await ByteClient.connect(router);
    client.socket.pause();
    // Below what makes the router stop reading, above what the sockets buffer.
    client.send(PREAMBLE, contextFrame({ user: 'slow' }));
    let sent = 0;
    for (; router.acceptor.stalled.size === 0; sent++) {
      client.send(LISTING);
      await held.until(() => held.callsOf('getListing').length > sent, 'the call has arrived');
      await waitUntil(() => router.acceptor.outstanding.count === 0, 'it is answered');
      if (sent > 100) throw new Error('everything fits the buffers');
    }
    const more = setInterval(() => client.send(callFrame({ method: 'noSuch' })), 50);
    await waitUntil(() => router.count('slowReadersClosed') === 1, 'it is closed all the same').finally(() =>
      clearInterval(more),
    );
  });
});

describe('the memory budget', () => {
  const KEYS = { 'ipc.maximum.data.length': String(4 * MIB) };
  const ARGS = ['--set', 'switchyard.memory.limit=16m'];
  const OPEN = Buffer.concat([PREAMBLE, contextFrame({ user: 'alice' })]);
  const PART = Buffer.concat([prefixOf(4 * MIB), Buffer.alloc(3 * MIB, 1)]);

  it('closes clients whose frames do not fit, with a clear word in the log, and serves the others', async () => {
    await using router = await startProcess(ARGS, KEYS);
    using honest = await RawClient.connect(router, { user: 'honest' });
    await honest.result(status('/a/x'));
    const clients = await Promise.all(Array.from({ length: 12 }, () => ByteClient.connect(router)));
    for (const client of clients) client.send(OPEN, PART);
    const closed = () => clients.filter(({ ended }) => ended !== '');
    // Four fit at most, at least two.
    await waitUntil(() => closed().length >= 8, 'most are closed');
    await honest.pipeline(500, 16, (i) => status(i % 2 === 0 ? '/a/x' : '/b/x'));
    expect(closed().length).toBeLessThanOrEqual(10);
    expect(router.log).toMatch(/client 127\.0\.0\.1:\d+ closed: the memory budget is used up/);
    for (const client of clients) client[Symbol.dispose]();

    // All of it is there again: a large call is served.
    const src = `/a/${'x'.repeat(3 * MIB)}`;
    await waitUntil(async () => {
      using large = await RawClient.connect(router, { user: 'large' });
      large.send(status(src));
      return await large.receive().then(
        (reply) => reply.status === 'SUCCESS',
        () => false,
      );
    }, 'a large call is served');
    expect(held.calls.at(-1)?.path.length).toBe(src.length);
  });
});
