/** The stub's replies of other sizes and its delays: sizes are exact, the order is kept, and what is refused is refused clearly. */

import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { decodePlain, messageType } from '../../src/wire/messages.ts';
import { Child } from './children.ts';
import { DelayedReplies } from './delayed-replies.ts';
import { bytesField, CallId, encodeCall, encodeHandshake, FrameReader, readVarint, varintEnd } from './frames.ts';
import { MAX_REPLY_BYTES, makeFileInfoBody, RequestFields, readRequest, writeReply } from './namenode-replies.ts';

const STUB = fileURLToPath(new URL('./stub-namenode.ts', import.meta.url));
const CLIENT_ID = Buffer.from('00112233445566778899aabbccddeeff', 'hex');
const WAIT_MS = 20_000;

function callOf(callId: number, method = 'getFileInfo'): Buffer {
  return encodeCall(method, bytesField(1, '/mnt/a'), CLIENT_ID, callId);
}

/** A stub with `args`, ended at the end of the scope. */
async function startStub(...args: string[]): Promise<Child & AsyncDisposable & { port: number }> {
  const stub = new Child({ name: 'stub', command: process.execPath, args: [STUB, ...args], channel: true });
  const ready = await stub.waitFor((line) => line['ready'] === true, WAIT_MS);
  const [port] = ready['ports'] as [number];
  return Object.assign(stub, { port, [Symbol.asyncDispose]: () => stub.stop() });
}

/** Sends all calls at once and resolves with the reply frames, lengths included, in the order in which they come. */
async function callAll(port: number, calls: readonly Buffer[]): Promise<Buffer[]> {
  const socket = net.connect({ host: '127.0.0.1', port, noDelay: true });
  const frames: Buffer[] = [];
  const reader = new FrameReader(0, (buffer, start, end) => {
    frames.push(Buffer.from(buffer.subarray(start - 4, end)));
    if (frames.length === calls.length) socket.emit('allFrames');
  });
  socket.on('data', (chunk: Buffer) => {
    if (!reader.feed(chunk, chunk.length)) socket.destroy(new Error('a frame of an impossible length'));
  });
  try {
    const all = once(socket, 'allFrames', { signal: AbortSignal.timeout(WAIT_MS) });
    socket.write(Buffer.concat([encodeHandshake('bench', CLIENT_ID), ...calls]));
    await all;
    return frames;
  } finally {
    socket.destroy();
  }
}

function callIdOf(frame: Buffer): number {
  // length:u32 headerBytes:u8 08 callId
  return readVarint(frame, 6);
}

describe('replies of other sizes', () => {
  it.each([100, 101, 128, 162, 164, 210, 1_000, 16_418, 16_421, 100_000, 1_000_000, MAX_REPLY_BYTES])(
    'takes exactly %i bytes',
    (replyBytes) => {
      const call = callOf(CallId.FIRST);
      const fields = new RequestFields();
      expect(readRequest(call, 4, call.length, fields)).toBe(true);
      const out = Buffer.alloc(replyBytes + 100);
      const end = writeReply(out, 0, call, fields, makeFileInfoBody(replyBytes));
      expect(end).toBe(replyBytes);
      expect(out.readUInt32BE(0)).toBe(replyBytes - 4);
      const headerBytes = readVarint(out, 4);
      const bodyBytes = readVarint(out, varintEnd + headerBytes);
      expect(varintEnd + bodyBytes).toBe(end);
      const body = decodePlain(messageType('hadoop.hdfs.GetFileInfoResponseProto'), out.subarray(varintEnd, end));
      expect(body).toMatchObject({ fs: { length: 73400320, group: 'g' } });
    },
  );

  it.each([99, 163, MAX_REPLY_BYTES + 1, 150.5])('refuses %d bytes', (replyBytes) => {
    expect(() => makeFileInfoBody(replyBytes)).toThrow(RangeError);
  });

  it.each([100, 3_000, 70_000, 2_000_000])('come from the stub with %i bytes, each to its call', async (replyBytes) => {
    await using stub = await startStub('--reply-bytes', String(replyBytes));
    const ids = [0, 1, 2, 3, 4].map((index) => CallId.FIRST + index);
    const frames = await callAll(
      stub.port,
      ids.map((id) => callOf(id)),
    );
    expect(frames.map((frame) => frame.length)).toEqual(ids.map(() => replyBytes));
    expect(frames.map(callIdOf)).toEqual(ids);
  });

  it('change while it runs, and only those to getFileInfo', async () => {
    await using stub = await startStub();
    const wanted = { delayMs: 0, replyBytes: 40_000 };
    expect(await stub.ask(JSON.stringify(wanted))).toEqual(wanted);
    const [other, frame] = (await callAll(stub.port, [
      callOf(CallId.FIRST, 'versionRequest'),
      callOf(CallId.FIRST + 1),
    ])) as [Buffer, Buffer];
    expect(other.length).toBeLessThan(200);
    expect(frame.length).toBe(40_000);
  });
});

describe('delays', () => {
  it.each(['0.2', '5'])('of %s ms keep the order; other calls do not wait', async (delayMs) => {
    await using stub = await startStub('--delay-ms', delayMs);
    const ids = Array.from({ length: 3_000 }, (_, index) => CallId.FIRST + index);
    const frames = await callAll(stub.port, [...ids.map((id) => callOf(id)), callOf(CallId.END - 1, 'versionRequest')]);
    const order = frames.map(callIdOf);
    expect(order.filter((id) => id !== CallId.END - 1)).toEqual(ids);
    expect(order.indexOf(CallId.END - 1)).toBeLessThan(ids.length);
    for (const frame of frames) if (callIdOf(frame) !== CallId.END - 1) expect(frame.length).toBe(210);
    expect(await stub.ask('stats')).toEqual({ calls: ids.length, connections: 1 });
  });

  it('keep what waits in order, across growth, and never bring a due time forward', () => {
    const queue = new DelayedReplies<string>(4_096);
    const fields = new RequestFields();
    const out = new RequestFields();
    let next = 0;
    let taken = 0;
    const push = (dueMs: number): boolean => {
      const call = callOf(CallId.FIRST + next);
      readRequest(call, 4, call.length, fields);
      return queue.push(`peer ${next++}`, call, fields, dueMs);
    };
    const shift = (): void => {
      expect(queue.shift(out)).toBe(`peer ${taken}`);
      expect(out.callId).toBe(CallId.FIRST + taken);
      expect(queue.clientIds.subarray(out.clientIdStart, out.clientIdEnd)).toEqual(CLIENT_ID);
      taken++;
    };
    expect(queue.nextDueMs()).toBe(Number.POSITIVE_INFINITY);
    for (let i = 0; i < 700; i++) push(i);
    for (let i = 0; i < 600; i++) shift();
    for (let i = 0; i < 1_500; i++) push(1_000);
    push(5);
    for (let i = 0; i < 1_600; i++) shift();
    expect(queue.nextDueMs()).toBe(1_000);
    shift();
    expect(queue.count).toBe(0);
  });

  it('refuse what goes beyond the bound', () => {
    const queue = new DelayedReplies<number>(2);
    const call = callOf(CallId.FIRST);
    const fields = new RequestFields();
    readRequest(call, 4, call.length, fields);
    expect([1, 2, 3].map((peer) => queue.push(peer, call, fields, peer))).toEqual([true, true, false]);
    expect(queue.shift(fields)).toBe(1);
    expect(queue.count).toBe(1);
  });
});

describe('command line', () => {
  it.each([
    [['--delay-ms', '60001'], /--delay-ms 60001: a number from 0 to 60000/],
    [['--reply-bytes', '12'], /--reply-bytes 12: a number from 100 to 16777216/],
    [['--reply-bytes', '163'], /163 bytes cannot be: take one byte more or less/],
    [['--frob'], /frob/],
  ])('refuses %j', (args, message) => {
    const { status, stderr } = spawnSync(process.execPath, [STUB, ...args], { encoding: 'utf8' });
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/ {4}at /);
    expect(status).toBe(2);
  });
});
