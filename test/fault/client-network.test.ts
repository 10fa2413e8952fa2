import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { encodeDelimited, messageType } from '../../src/wire/messages.ts';
import {
  ByteClient,
  callFrame,
  contextFrame,
  frameOf,
  PREAMBLE,
  readReply,
  readResult,
} from '../support/client-bytes.ts';
import { directory, EchoNameNode } from '../support/echo-namenode.ts';
import { FaultProxy } from '../support/fault-proxy.ts';
import { RawClient } from '../support/raw-client.ts';
import { RouterProcess } from '../support/router-process.ts';
import { nextEvent } from '../support/wait.ts';

/** Bad networks on both sides of a router process. */

let namenode: EchoNameNode;
let behind: FaultProxy;
let router: RouterProcess;
let front: FaultProxy;
/** Beside the faulty way; its nameservice is beside the faulty one too. */
let honest: RawClient;
let other: EchoNameNode;

beforeAll(async () => {
  namenode = await EchoNameNode.start('nn');
  other = await EchoNameNode.start('other');
  behind = await FaultProxy.start({ port: namenode.port });
  router = await RouterProcess.start({
    nameservices: { ns0: [{ port: behind.port }], ns1: [{ port: other.port }] },
    mounts: ['/a=ns0:/a', '/b=ns1:/b'],
    // Calls that wait for their turn are not begun for a client that has said its last word.
    keys: { 'switchyard.window.floor': '1024' },
  });
  honest = await RawClient.connect(router, { user: 'honest' });
});

afterAll(async () => {
  honest[Symbol.dispose]();
  await router[Symbol.asyncDispose]();
  await behind[Symbol.asyncDispose]();
  await namenode[Symbol.asyncDispose]();
  await other[Symbol.asyncDispose]();
});

beforeEach(async () => {
  front = await FaultProxy.start({ port: router.port });
});

afterEach(async () => {
  namenode.release();
  for (const direction of [behind.toServer, behind.toClient]) {
    Object.assign(direction, { sliceBytes: 0, delayMs: 0, resetAfterBytes: -1, endAfterBytes: -1, slowBytes: 0 });
  }
  behind.thaw();
  await front[Symbol.asyncDispose]();
  for (const src of ['/a/honest', '/b/honest'])
    expect(await honest.result({ method: 'getFileInfo', request: { src } })).toMatchObject({ fs: { owner: src } });
});

const status = (src: string) => ({ method: 'getFileInfo', request: { src } });
const OPEN = Buffer.concat([PREAMBLE, contextFrame({ user: 'alice' })]);

describe('one byte at a time', () => {
  it('from and to the client', async () => {
    front.toServer.sliceBytes = 1;
    front.toClient.sliceBytes = 1;
    using client = await RawClient.connect(front, { user: 'alice' });
    await client.pipeline(20, 8, (i) => status(`/a/${i}`));
    expect(await client.result(status('/b/last'))).toMatchObject({ fs: { owner: '/b/last' } });
  });

  it('from and to the NameNode', async () => {
    behind.toServer.sliceBytes = 1;
    behind.toClient.sliceBytes = 1;
    using client = await RawClient.connect(router, { user: 'alice' });
    await client.pipeline(20, 8, (i) => status(`/a/${i}`));
  });
});

describe('a client that breaks off', () => {
  it('in the middle of a frame leaves nothing behind', async () => {
    const before = front.openSockets;
    front.toServer.resetAfterBytes = OPEN.length + 40;
    using client = await ByteClient.connect(front);
    client.send(OPEN, callFrame({ callId: 1 }), callFrame({ callId: 2 }));
    await client.whole();
    expect(client.received.length).toBe(0);
    expect(front.openSockets).toBe(before);
  });

  it('with calls in flight loses their answers, and nobody else does', async () => {
    namenode.hold();
    using client = await ByteClient.connect(router);
    client.send(OPEN, callFrame({ callId: 1 }), callFrame({ callId: 2 }));
    await namenode.until(() => namenode.held === 2, 'two calls are in flight');
    client.socket.resetAndDestroy();
    const callId = honest.send(status('/a/beside'));
    await namenode.until(() => namenode.held === 3, 'the third call is in flight');
    namenode.release();
    expect(await honest.receive()).toMatchObject({ callId, status: 'SUCCESS' });
  });
});

describe('a client that has said its last word', () => {
  it('still gets the answers of its calls in flight, then the end', async () => {
    namenode.hold();
    using client = await ByteClient.connect(router);
    client.send(OPEN, callFrame({ callId: 1, path: '/a/1' }), callFrame({ callId: 2, path: '/a/2' }));
    await namenode.until(() => namenode.held === 2, 'two calls are in flight');
    client.socket.end(callFrame({ callId: 3, method: 'noSuch' }));
    // Refused by the router itself, so it comes first.
    expect(readReply(await client.nextFrame()).header).toMatchObject({ callId: 3, status: 'ERROR' });
    namenode.release();
    for (const path of ['/a/1', '/a/2']) {
      expect(readResult(await client.nextFrame())).toMatchObject({ fs: { owner: path } });
    }
    await client.whole();
    expect(client.ended).toBe('FIN');
  });

  it('also when an answer is longer than all buffers on the way', async () => {
    const names = Array.from({ length: 20_000 }, (_, i) => directory('someone', 'some', `file-with-a-long-name-${i}`));
    namenode.answers['getListing'] = () => ({ dirList: { partialListing: names, remainingEntries: 0 } });
    namenode.hold();
    using client = await ByteClient.connect(router);
    const request = { src: '/a', startAfter: Buffer.alloc(0), needLocation: false };
    const body = encodeDelimited(messageType('hadoop.hdfs.GetListingRequestProto'), request);
    client.send(OPEN, callFrame({ method: 'getListing', body }));
    await namenode.until(() => namenode.held === 1, 'the call is in flight');
    client.socket.end();
    namenode.release();
    const { dirList } = readResult(await client.nextFrame(), 'getListing') as { dirList: { partialListing: object[] } };
    expect(dirList.partialListing.length).toBe(names.length);
    await client.whole();
  });

  it('is one of many such whose answers come at once', async () => {
    // A call that must wait for a connection to its NameNode would not be begun any more.
    using first = await RawClient.connect(router, { user: 'alice' });
    await first.result(status('/a/x'));
    namenode.hold();
    const clients = await Promise.all(Array.from({ length: 200 }, () => ByteClient.connect(router)));
    for (const client of clients) client.socket.end(Buffer.concat([OPEN, callFrame()]));
    await namenode.until(() => namenode.held === clients.length, 'all calls are in flight');
    // On each connection the router has read the end before another client's call is answered.
    await honest.result(status('/b/x'));
    namenode.release();
    for (const client of clients) {
      expect(readResult(await client.nextFrame())).toMatchObject({ fs: { owner: '/a/x' } });
      await client.whole();
      client[Symbol.dispose]();
    }
  });

  it('without a call in flight gets the end', async () => {
    for (const bytes of [Buffer.alloc(0), PREAMBLE, OPEN, Buffer.concat([OPEN, frameOf().subarray(0, 2)])]) {
      using client = await ByteClient.connect(router);
      client.socket.end(bytes);
      expect((await client.whole()).length).toBe(0);
      expect(client.ended).toBe('FIN');
    }
  });
});

describe('a silence', () => {
  it('of the client is nothing to the others', async () => {
    using client = await RawClient.connect(front, { user: 'alice' });
    await client.result(status('/a/x'));
    front.freeze();
    for (let i = 0; i < 100; i++) client.send(status(`/a/${i}`));
    await honest.pipeline(200, 16, (i) => status(`/a/${i}`));
    front.thaw();
    for (let i = 0; i < 100; i++) expect((await client.receive()).status).toBe('SUCCESS');
  });

  it('of one NameNode is nothing to another nameservice, and ends with all answers', async () => {
    using client = await RawClient.connect(router, { user: 'alice' });
    await client.result(status('/a/x'));
    behind.freeze();
    for (let i = 0; i < 100; i++) client.send(status(`/a/${i}`));
    await honest.pipeline(200, 16, (i) => status(`/b/${i}`));
    // The same connection as the calls that wait.
    const callId = client.send(status('/b/x'));
    expect((await client.receive()).callId).toBe(callId);
    behind.thaw();
    const seen = new Set<number>();
    for (let i = 0; i < 100; i++) seen.add((await client.receive()).callId);
    expect(seen.size).toBe(100);
  });

  it('that only delays an answer changes nothing', async () => {
    behind.toClient.delayMs = 60;
    using client = await RawClient.connect(router, { user: 'alice' });
    const late = client.send(status('/a/late'));
    const soon = client.send(status('/b/soon'));
    expect(await client.receive()).toMatchObject({ callId: soon, status: 'SUCCESS' });
    expect(await client.receive()).toMatchObject({ callId: late, status: 'SUCCESS' });
  });
});

describe('a NameNode that breaks off', () => {
  it('in the middle of an answer: the call is sent again on another connection', async () => {
    using client = await RawClient.connect(router, { user: 'breaking' });
    const closed = nextEvent(behind.events, 'closed', 'the first connection is gone');
    const before = behind.accepted;
    behind.toClient.resetAfterBytes = 30;
    behind.events.once('closed', () => {
      behind.toClient.resetAfterBytes = -1;
    });
    const callId = client.send(status('/a/again'));
    await closed;
    expect(await client.receive()).toMatchObject({ callId, status: 'SUCCESS' });
    expect(behind.accepted).toBeGreaterThan(before + 1);
    expect(namenode.calls.filter(({ path }) => path === '/a/again').length).toBe(2);
  });

  it('for all its calls at once: each is answered once', async () => {
    using client = await RawClient.connect(router, { user: 'alice' });
    namenode.hold();
    for (let i = 0; i < 50; i++) client.send(status(`/a/${i}`));
    await namenode.until(() => namenode.held === 50, 'fifty calls are in flight');
    behind.resetAll();
    await namenode.until(() => namenode.held >= 51, 'the first of them is sent again');
    namenode.release();
    const seen = new Set<number>();
    for (let i = 0; i < 50; i++) {
      const reply = await client.receive();
      expect(reply.status).toBe('SUCCESS');
      seen.add(reply.callId);
    }
    expect(seen.size).toBe(50);
  });
});
