import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CallReader, ReadCall } from '../../src/client/read-call.ts';
import { SCAN_OK, scanHeader } from '../../src/wire/call-scan.ts';
import { callFrame, contextFrame, PREAMBLE, prefixOf } from '../support/client-bytes.ts';
import { EchoNameNode } from '../support/echo-namenode.ts';
import { measureUsed } from '../support/heap.ts';
import { InlineRouter } from '../support/inline-router.ts';
import { RawClient } from '../support/raw-client.ts';
import { waitUntil, within } from '../support/wait.ts';

/** Acceptor and engine in this process, with inline links: what they keep. */

const MIB = 1024 * 1024;
const OPEN = Buffer.concat([PREAMBLE, contextFrame({ user: 'alice' })]);
const CALL = callFrame({ path: '/a/x' });

let namenode: EchoNameNode;
let router: InlineRouter;

beforeEach(async () => {
  namenode = await EchoNameNode.start();
  router = await InlineRouter.start({
    nameservices: { ns0: namenode.port },
    mounts: ['/a=ns0:/a'],
    keys: {
      'ipc.maximum.data.length': String(8 * MIB),
      'switchyard.memory.limit': '64m',
      'switchyard.window.floor': '1024',
    },
  });
});

afterEach(async () => {
  await router[Symbol.asyncDispose]();
  await namenode[Symbol.asyncDispose]();
});

/** A client that keeps nothing of what it reads; connected, and answered once. */
async function open(): Promise<Socket> {
  const socket = connect({ host: router.host, port: router.port, noDelay: true });
  const answered = new Promise((resolve) => socket.once('data', resolve));
  socket.resume();
  await within(once(socket, 'connect'), 'connected');
  socket.write(Buffer.concat([OPEN, CALL]));
  await within(answered, 'a first answer');
  return socket;
}

/** A few at a time: what the engine keeps for calls depends on how many there are at once. */
async function openMany(count: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  while (sockets.length < count) {
    const some = Math.min(20, count - sockets.length);
    sockets.push(...(await Promise.all(Array.from({ length: some }, open))));
  }
  return sockets;
}

async function closeAll(sockets: Socket[]): Promise<void> {
  for (const socket of sockets) socket.destroy();
  await waitUntil(() => router.acceptor.openConnections === 0, 'all connections are gone');
  namenode.calls.length = 0;
}

describe('connections', () => {
  it('that come and go leave nothing', async () => {
    const cycle = async (): Promise<void> => closeAll(await openMany(100));
    for (let i = 0; i < 5; i++) await cycle();
    const before = await measureUsed();
    for (let i = 0; i < 15; i++) await cycle();
    const after = await measureUsed();
    // A connection that stayed would be 2 KiB at least.
    expect(after.heap - before.heap).toBeLessThan(1_500 * 600);
    expect(after.buffers - before.buffers).toBeLessThan(1_500 * 100);
    expect(router.count('clientsAccepted')).toBe(2_000);
    expect(router.count('clientsClosed')).toBe(2_000);
    expect(router.acceptor.outstanding.count).toBe(0);
    expect(router.engine.calls.inUse).toBe(0);
    expect(router.block.usedKib).toBe(0);
  });

  it('own no buffer while they are idle', async () => {
    const count = 500;
    await closeAll(await openMany(count));
    const before = await measureUsed();
    const sockets = await openMany(count);
    namenode.calls.length = 0;
    const after = await measureUsed();
    // What it adds to caller contexts, and the head of its calls, are about 1 KiB. A slab would be 16 KiB more, the smallest part of a frame 1 KiB.
    expect((after.buffers - before.buffers) / count).toBeLessThan(1500);
    // Both ends of each are in this process.
    expect((after.heap - before.heap) / count).toBeLessThan(8 * 1024);
    expect(router.block.usedKib).toBe(0);
    await closeAll(sockets);
  });
});

describe('calls', () => {
  it('leave nothing, whatever their number', async () => {
    using client = await RawClient.connect(router, { user: 'alice' });
    const run = async (count: number): Promise<void> => {
      for (let done = 0; done < count; done += 10_000) {
        await client.pipeline(10_000, 200, (i) => ({ method: 'getFileInfo', request: { src: `/a/${i}` } }));
        namenode.calls.length = 0;
      }
    };
    await run(10_000);
    const before = await measureUsed();
    await run(100_000);
    const after = await measureUsed();
    // Ten bytes of each call that stayed would show.
    expect(after.heap - before.heap).toBeLessThan(MIB);
    expect(after.buffers - before.buffers).toBeLessThan(MIB);
    expect(router.engine.calls.inUse).toBe(0);
    expect(router.acceptor.outstanding.count).toBe(0);
    expect(router.block.usedKib).toBe(0);
  });

  it('of many MiB give their memory back', async () => {
    using client = await RawClient.connect(router, { user: 'alice' });
    const large = (i: number) => ({ method: 'getFileInfo', request: { src: `/a/${'x'.repeat(MIB)}${i}` } });
    const run = async (count: number): Promise<void> => {
      await client.pipeline(count, 2, large);
      namenode.calls.length = 0;
      await waitUntil(() => router.block.usedKib === 0, 'the budget is given back');
    };
    await run(3);
    const before = await measureUsed();
    await run(12);
    const after = await measureUsed();
    expect(after.buffers - before.buffers).toBeLessThan(4 * MIB);
    expect(after.heap - before.heap).toBeLessThan(4 * MIB);
  });

  it('of many MiB are not kept by the reader until the next one comes', async () => {
    const reader = new CallReader();
    const read = (): WeakRef<ArrayBufferLike> => {
      const frame = callFrame({ path: `/a/${'x'.repeat(MIB)}` }).subarray(4);
      // The second time its method header is known.
      for (let time = 0; time < 2; time++) {
        expect(scanHeader(frame, 0, frame.length, reader.scan)).toBe(SCAN_OK);
        expect(reader.readCall(frame, 0, frame.length, SCAN_OK, '')).toBe(ReadCall.CALL);
      }
      return new WeakRef(frame.buffer);
    };
    const memory = read();
    reader.release();
    await measureUsed();
    expect(memory.deref()).toBe(undefined);
    expect(reader.scan.pathEnd).toBeGreaterThan(MIB);

    // A connection has its reader let go of each.
    using client = await RawClient.connect(router, { user: 'alice' });
    await client.result({ method: 'getFileInfo', request: { src: `/a/${'x'.repeat(MIB)}` } });
    expect(router.acceptor.reader.frame.length).toBe(0);
  });

  it('that never become whole give it back when their connection ends', async () => {
    const sockets = await openMany(8);
    for (const socket of sockets) socket.write(Buffer.concat([prefixOf(6 * MIB), Buffer.alloc(3 * MIB)]));
    await waitUntil(() => router.block.usedKib >= 8 * 4 * 1024, 'all parts have arrived');
    await closeAll(sockets);
    expect(router.block.usedKib).toBe(0);
  });

  it('whose clients have gone give everything back', async () => {
    const sockets = await openMany(8);
    namenode.hold();
    for (const socket of sockets)
      for (let i = 0; i < 50; i++) socket.write(callFrame({ callId: i, path: `/a/${'y'.repeat(2_000)}` }));
    await namenode.until(() => namenode.held === 400, 'all calls are in flight');
    expect(router.engine.calls.inUse).toBe(400);
    expect(router.block.usedKib).toBeGreaterThan(400);
    for (const socket of sockets) socket.resetAndDestroy();
    await waitUntil(() => router.acceptor.openConnections === 0, 'the clients are gone');
    namenode.release();
    await waitUntil(() => router.engine.calls.inUse === 0, 'the calls have ended');
    expect(router.acceptor.outstanding.count).toBe(0);
    expect(router.block.usedKib).toBe(0);
    expect(router.count('repliesDropped')).toBe(400);
  });
});
