import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { encodeDelimited, messageType } from '../../src/wire/messages.ts';
import { ByteClient, callFrame, contextFrame, PREAMBLE, prefixOf, readReply } from '../support/client-bytes.ts';
import { directory, EchoNameNode } from '../support/echo-namenode.ts';
import { InlineRouter } from '../support/inline-router.ts';
import { RawClient } from '../support/raw-client.ts';
import { RouterProcess } from '../support/router-process.ts';
import { waitUntil } from '../support/wait.ts';

/** What one client may take of the router: beyond it that client waits or is told to go, and the others notice nothing. */

const KIB = 1024;
const MIB = 1024 * KIB;
const CALL = { method: 'getFileInfo', request: { src: '/a/x' } };
const OPEN = Buffer.concat([PREAMBLE, contextFrame({ user: 'mallory' })]);

let namenode: EchoNameNode;

beforeEach(async () => {
  namenode = await EchoNameNode.start();
});

afterEach(async () => {
  await namenode[Symbol.asyncDispose]();
});

async function startWith(keys: Record<string, string>): Promise<InlineRouter> {
  const prefixed = Object.entries(keys).map(([key, value]) => [`switchyard.${key}`, value]);
  return await InlineRouter.start({
    nameservices: { ns0: namenode.port },
    mounts: ['/a=ns0:/a'],
    keys: Object.fromEntries(prefixed),
  });
}

describe('connections', () => {
  it('of one address above its limit are closed without a word, and counted', async () => {
    await using router = await startWith({ 'client.connections-per-address': '2' });
    const first = await RawClient.connect(router, { user: 'alice' });
    using second = await RawClient.connect(router, { user: 'bob' });
    for (const client of [first, second]) await client.result(CALL);
    using third = await ByteClient.connect(router);
    expect((await third.whole()).length).toBe(0);
    expect(router.count('addressesRefused')).toBe(1);
    expect(router.count('clientsRefused')).toBe(0);
    expect(router.notes).toEqual([
      'client 127.0.0.1 refused: it has 2 connections, the limit (switchyard.client.connections-per-address)',
    ]);
    first[Symbol.dispose]();
    await waitUntil(() => router.acceptor.openConnections === 1, 'there is room');
    using fourth = await RawClient.connect(router, { user: 'alice' });
    await fourth.result(CALL);
  });

  it('of one user above its limit are told to go to another router', async () => {
    await using router = await startWith({ 'client.connections-per-user': '2' });
    const first = await RawClient.connect(router, { user: 'alice' });
    using second = await RawClient.connect(router, { user: 'alice' });
    for (const client of [first, second]) await client.result(CALL);
    using refused = await ByteClient.connect(router);
    refused.send(PREAMBLE, contextFrame({ user: 'alice' }), callFrame());
    expect(readReply(await refused.nextFrame()).header).toMatchObject({
      callId: -3,
      status: 'FATAL',
      exceptionClassName: 'org.apache.hadoop.ipc.StandbyException',
      errorMsg: 'Router router:8888 is overloaded: alice has 2 connections to it, the limit',
      errorDetail: 'ERROR_RPC_SERVER',
    });
    await refused.whole();
    expect(refused.ended).toBe('FIN');
    expect([router.count('usersRefused'), router.count('handshakesRefused')]).toEqual([1, 1]);
    expect(router.notes).toEqual([expect.stringMatching(/^client 127\.0\.0\.1:\d+ refused: alice has 2 connections/)]);
    // Another user is another matter, and so is alice once she has gone.
    using bob = await RawClient.connect(router, { user: 'bob' });
    await bob.result(CALL);
    refused[Symbol.dispose]();
    first[Symbol.dispose]();
    await waitUntil(() => router.acceptor.openConnections === 2, 'there is room');
    using third = await RawClient.connect(router, { user: 'alice' });
    await third.result(CALL);
  });

  it.each(['address', 'user'])('are counted over all acceptors: by %s', async (of) => {
    await using router = await RouterProcess.start({
      nameservices: { ns0: [{ port: namenode.port }] },
      mounts: ['/a=ns0:/a'],
      args: ['--acceptors', '3', '--set', `switchyard.client.connections-per-${of}=4`],
    });
    const clients: RawClient[] = [];
    const trouble: string[] = [];
    for (let i = 0; i < 12; i++) {
      const client = await RawClient.connect(router, { user: 'alice' });
      clients.push(client);
      await client.result(CALL).catch((error: Error) => trouble.push(error.message));
    }
    expect(trouble.length).toBe(8);
    expect(router.log).toMatch(/refused: .* 4 connections, the limit \(switchyard\.client\.connections-per-/);
    for (const client of clients) client[Symbol.dispose]();
  });

  it('whose peers may have vanished are asked by TCP', async () => {
    await using router = await startWith({});
    using client = await RawClient.connect(router, { user: 'alice' });
    await client.result(CALL);
    const left = await waitUntil(() => keepAliveSeconds(router.port, client.socket.localPort ?? 0), 'the timer runs');
    expect(left).toBeGreaterThan(200);
    expect(left).toBeLessThanOrEqual(300);
  });
});

/** Seconds until the kernel's keepalive timer of the server's end fires, from /proc/net/tcp; null while no such timer runs. */
function keepAliveSeconds(serverPort: number, clientPort: number): number | null {
  const ends = [serverPort, clientPort].map((port) => port.toString(16).toUpperCase().padStart(4, '0'));
  for (const line of readFileSync('/proc/net/tcp', 'utf8').split('\n')) {
    const [, local = '', remote = '', , , timer = ''] = line.trim().split(/\s+/);
    if (!local.endsWith(`:${ends[0]}`) || !remote.endsWith(`:${ends[1]}`)) continue;
    const [kind, when = ''] = timer.split(':');
    // Kind 2 is keepalive; the time is in hundredths of a second.
    return kind === '02' ? Number.parseInt(when, 16) / 100 : null;
  }
  return null;
}

describe('a client that owes something', () => {
  it.each([
    ['nothing at all', Buffer.alloc(0)],
    ['half a preamble', PREAMBLE.subarray(0, 3)],
    ['a preamble alone', PREAMBLE],
    ['half a connection context', OPEN.subarray(0, OPEN.length - 4)],
  ])('has sent %s: it is closed after the time for a handshake', async (_, bytes) => {
    await using router = await startWith({ 'client.handshake.timeout': '50ms' });
    using honest = await RawClient.connect(router, { user: 'honest' });
    await honest.result(CALL);
    using silent = await ByteClient.connect(router);
    silent.send(bytes);
    expect((await silent.whole()).length).toBe(0);
    expect(router.count('slowHandshakesClosed')).toBe(1);
    expect(router.notes).toEqual([expect.stringMatching(/no connection context within 50 ms/)]);
    await waitUntil(() => router.block.usedKib === 0, 'its memory is free');
    await honest.result(CALL);
  });

  it('is not closed for a handshake byte by byte that is in time, nor later for being quiet', async () => {
    await using router = await startWith({ 'client.handshake.timeout': '1h', 'client.frame.timeout': '1ms' });
    using client = await ByteClient.connect(router);
    await client.sendSlowly(OPEN, callFrame({ callId: 1 }));
    expect(readReply(await client.nextFrame()).header).toMatchObject({ callId: 1, status: 'SUCCESS' });
    await sweeps(router, 2);
    client.send(callFrame({ callId: 2 }));
    expect(readReply(await client.nextFrame()).header).toMatchObject({ callId: 2, status: 'SUCCESS' });
  });

  it('the rest of a call is closed after the time for a frame, however steadily it sends, and its memory is free', async () => {
    await using router = await startWith({ 'client.frame.timeout': '300ms' });
    using honest = await RawClient.connect(router, { user: 'honest' });
    using slow = await ByteClient.connect(router);
    slow.send(OPEN, prefixOf(MIB), Buffer.alloc(100 * KIB, 1));
    await waitUntil(() => router.block.usedKib >= 100, 'what has come is kept');
    const drops = setInterval(() => slow.send(Buffer.of(1)), 20);
    try {
      expect((await slow.whole()).length).toBe(0);
    } finally {
      clearInterval(drops);
    }
    expect(router.count('slowSendersClosed')).toBe(1);
    expect(router.notes).toEqual([expect.stringMatching(/the rest of a call has not come within \d+ ms/)]);
    await waitUntil(() => router.block.usedKib === 0, 'its memory is free');
    await honest.result(CALL);
  });

  it('gets less time while memory is short', async () => {
    await using router = await startWith({ 'client.frame.timeout': '1h' });
    const limitKib = router.settings.memoryBytes / KIB;
    expect(router.acceptor.patienceMs(3_600_000)).toBe(3_600_000);
    expect(router.block.claimKib(limitKib / 2 + 1, limitKib)).toBe(true);
    expect(router.acceptor.patienceMs(3_600_000)).toBe(10_000);
    expect(router.acceptor.patienceMs(500)).toBe(500);
  });
});

/** The acceptor has looked at all connections so many times. */
async function sweeps(router: InlineRouter, count: number): Promise<void> {
  // A level that only a sweep sets.
  for (let i = 0; i < count; i++) {
    router.setLevel('clientsOpen', -1);
    await waitUntil(() => router.count('clientsOpen') >= 0, 'a sweep');
  }
}

describe('calls in flight', () => {
  it('beyond the limit of a connection wait in its socket; all are answered in the end, others at once', async () => {
    await using router = await startWith({ 'client.calls-in-flight': '8' });
    namenode.hold();
    using busy = await RawClient.connect(router, { user: 'busy' });
    for (let i = 0; i < 100; i++) busy.send(CALL);
    await namenode.until(() => namenode.held === 8, 'as many as it may have');
    using honest = await RawClient.connect(router, { user: 'honest' });
    honest.send(CALL);
    await namenode.until(() => namenode.held === 9, 'the call of another client');
    expect(router.acceptor.paused).toBe(1);
    await sweeps(router, 1);
    expect([router.count('clientsPaused'), router.count('callsOutstanding')]).toEqual([1, 9]);
    expect(namenode.held).toBe(9);
    namenode.release();
    for (let i = 0; i < 100; i++) expect(await busy.receive()).toMatchObject({ callId: i, status: 'SUCCESS' });
    expect((await honest.receive()).status).toBe('SUCCESS');
    expect(router.count('pausesInFlight')).toBeGreaterThan(1);
    expect(router.acceptor.paused).toBe(0);
    expect(router.count('callsRefused')).toBe(0);
  });
});

describe('a client that never reads', () => {
  const PAGE = Array.from({ length: 4_000 }, (_, i) => directory('owner', 'group', `some-longish-file-name-${i}`));
  const LISTING = callFrame({
    method: 'getListing',
    body: encodeDelimited(messageType('hadoop.hdfs.GetListingRequestProto'), {
      src: '/a',
      startAfter: Buffer.alloc(0),
      needLocation: false,
    }),
  });
  /** Some 300 KiB each. */
  const LISTINGS = 200;

  it('is closed when more answers wait than it may have; never more than that is held, and others are served', async () => {
    namenode.answers['getListing'] = () => ({ dirList: { partialListing: PAGE, remainingEntries: 0 } });
    await using router = await startWith({ 'client.unread.limit': '8m' });
    using honest = await RawClient.connect(router, { user: 'honest' });
    await honest.result(CALL);
    namenode.hold();
    using client = await ByteClient.connect(router);
    client.socket.pause();
    client.send(OPEN, ...Array.from({ length: LISTINGS }, () => LISTING));
    await namenode.until(() => namenode.held === LISTINGS, 'all listings are asked for');
    namenode.release();
    let heldKib = 0;
    while (router.count('unreadRepliesClosed') === 0) {
      heldKib = Math.max(heldKib, router.block.usedKib);
      await honest.result(CALL);
    }
    expect(router.notes).toEqual([
      expect.stringMatching(/^client \S+ closed: \d+ bytes of answers that the client does not read, the limit is \d+/),
    ]);
    // One turn's answers are given to the socket before it is looked at.
    expect(heldKib).toBeLessThan(9 * KIB);
    await waitUntil(() => router.acceptor.openConnections === 1, 'it is gone');
    await waitUntil(() => router.block.usedKib === 0, 'its memory is free');
    await waitUntil(() => router.acceptor.outstanding.count === 0, 'its calls have ended');
    await honest.result(CALL);
  });

  it('owes nothing while it is not read from', async () => {
    namenode.answers['getListing'] = () => ({ dirList: { partialListing: PAGE, remainingEntries: 0 } });
    await using router = await startWith({ 'client.frame.timeout': '1h' });
    using client = await ByteClient.connect(router);
    client.socket.pause();
    const calls = Array.from({ length: 40 }, () => LISTING);
    client.send(OPEN, ...calls, LISTING.subarray(0, 20));
    await waitUntil(() => router.acceptor.paused === 1, 'it is not read from');
    const connection = router.acceptor.connectionOf(0);
    expect(connection?.owedSinceMs).toBeGreaterThan(0);
    const muchLater = performance.now() + 7_200_000;
    connection?.checkOverdue(muchLater);
    expect(router.count('slowSendersClosed')).toBe(0);
    client.socket.resume();
    for (const _ of calls) await client.nextFrame();
    await waitUntil(() => router.acceptor.paused === 0, 'it is read from again');
    connection?.checkOverdue(muchLater);
    expect(router.count('slowSendersClosed')).toBe(1);
    await client.whole();
  });

  it('may be owed one answer of any length, more than sockets buffer', async () => {
    const long = PAGE.concat(...Array.from({ length: 39 }, () => PAGE));
    namenode.answers['getListing'] = () => ({ dirList: { partialListing: long, remainingEntries: 0 } });
    await using router = await startWith({ 'client.unread.limit': '1m' });
    using client = await ByteClient.connect(router);
    client.socket.pause();
    client.send(OPEN, LISTING, callFrame({ callId: 1 }));
    await namenode.until(() => namenode.callsOf('getFileInfo').length === 1, 'both calls have arrived');
    await waitUntil(() => router.acceptor.outstanding.count === 0, 'both are answered');
    await sweeps(router, 1);
    expect(router.count('unreadKib')).toBeGreaterThan(KIB);
    client.socket.resume();
    for (let i = 0; i < 2; i++) {
      expect(readReply(await client.nextFrame()).header).toMatchObject({ status: 'SUCCESS' });
    }
    expect(router.count('unreadRepliesClosed')).toBe(0);
  });
});

describe('many clients that speak at the same moment', () => {
  const MANY = 640;

  it('are let in some at a time: a call of a client that is there already is answered before', async () => {
    await using router = await startWith({});
    using honest = await ByteClient.connect(router);
    honest.send(OPEN, callFrame({ method: 'noSuch' }));
    await honest.nextFrame();
    const many = await Promise.all(Array.from({ length: MANY }, () => ByteClient.connect(router)));
    await waitUntil(() => router.acceptor.openConnections === MANY + 1, 'all are accepted');
    const answers: ByteClient[] = [];
    for (const client of [...many, honest]) client.socket.on('data', () => answers.push(client));
    // Refused by the router itself: an answer takes one turn.
    for (const client of many) client.send(OPEN, callFrame({ method: 'noSuch' }));
    honest.send(callFrame({ method: 'noSuch' }));
    for (const client of many) expect(readReply(await client.nextFrame()).header).toMatchObject({ status: 'ERROR' });
    expect(answers.length).toBe(MANY + 1);
    expect(answers.indexOf(honest)).toBeLessThan(MANY / 2);
    expect(router.count('contextsDelayed')).toBeGreaterThan(MANY / 2);
    await waitUntil(() => router.block.usedKib === 0, 'its memory is free');
    for (const client of many) client[Symbol.dispose]();
  });
});
