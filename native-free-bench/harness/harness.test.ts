/** The bench measures what it says: its bytes are Hadoop's, its stub answers right, its loader notices wrong answers. */

import { once } from 'node:events';
import net from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { LatencyBuckets } from '../../src/load/thread/latency-buckets.ts';
import { decodePlain, messageType, type Plain } from '../../src/wire/messages.ts';
import { type Round, summarise } from '../path/report.ts';
import { SCENARIOS, type Scenario } from '../path/scenarios.ts';
import { Child } from './children.ts';
import {
  bytesField,
  CallId,
  delimited,
  encodeCall,
  encodeHandshake,
  FrameReader,
  framed,
  numberField,
} from './frames.ts';
import { Load, LoadClient } from './load-client.ts';
import type { LoadResult } from './loader.ts';
import { RequestFields, readRequest, writeReply } from './namenode-replies.ts';

const CLIENT_ID = Buffer.from('00112233445566778899aabbccddeeff', 'hex');
const PATH = '/mnt/warehouse/orders/year=2026/month=11/part-m-0000001.orc';
const WAIT_MS = 20_000;

function callOf(method: string, callId: number = CallId.FIRST): Buffer {
  return encodeCall(method, bytesField(1, PATH), CLIENT_ID, callId);
}

/** The delimited messages of a frame without its length. */
function cut(frame: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  for (let at = 0; at < frame.length; ) {
    let bytes = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = frame[at++] as number;
      bytes |= (byte & 127) << shift;
      if (byte < 128) break;
    }
    parts.push(frame.subarray(at, at + bytes));
    at += bytes;
  }
  return parts;
}

function decodeReply(frame: Buffer, response: string): { header: Plain; body: Plain } {
  const [header, body] = cut(frame) as [Buffer, Buffer];
  return {
    header: decodePlain(messageType('hadoop.common.RpcResponseHeaderProto'), header),
    body: decodePlain(messageType(response), body),
  };
}

describe('frames', () => {
  it('makes a call of 160 bytes that protobufjs reads', () => {
    const call = callOf('getFileInfo', 5_000_000);
    expect(call.length).toBe(160);
    const [header, name, request] = cut(call.subarray(4)) as [Buffer, Buffer, Buffer];
    expect(decodePlain(messageType('hadoop.common.RpcRequestHeaderProto'), header)).toMatchObject({
      callId: 5_000_000,
      clientId: CLIENT_ID,
      retryCount: 0,
    });
    expect(decodePlain(messageType('hadoop.common.RequestHeaderProto'), name)).toMatchObject({
      methodName: 'getFileInfo',
    });
    expect(decodePlain(messageType('hadoop.hdfs.GetFileInfoRequestProto'), request)).toEqual({ src: PATH });
  });

  it('makes a reply of 210 bytes that protobufjs reads', () => {
    const call = callOf('getFileInfo');
    const fields = new RequestFields();
    expect(readRequest(call, 4, call.length, fields)).toBe(true);
    const out = Buffer.alloc(1024);
    const end = writeReply(out, 0, call, fields);
    expect(end).toBe(210);
    expect(out.readUInt32BE(0)).toBe(206);
    const { header, body } = decodeReply(out.subarray(4, end), 'hadoop.hdfs.GetFileInfoResponseProto');
    expect(header).toMatchObject({ callId: CallId.FIRST, status: 'SUCCESS', clientId: CLIENT_ID, retryCount: 0 });
    expect(body).toMatchObject({ fs: { owner: 'warehouse-loader', length: 73400320 } });
  });

  it('takes the last of two retry counts, as a protobuf decoder does, and echoes it', () => {
    const [header, ...rest] = cut(callOf('getFileInfo').subarray(4)) as [Buffer, ...Buffer[]];
    const appended = Buffer.concat([
      header,
      numberField(5, 2 * 0x3fff_fff0),
      bytesField(7, bytesField(1, 'clientIp:1.2.3.4')),
    ]);
    const frame = framed(delimited(appended), ...rest.map(delimited));
    const fields = new RequestFields();
    expect(readRequest(frame, 4, frame.length, fields)).toBe(true);
    const out = Buffer.alloc(1024);
    const end = writeReply(out, 0, frame, fields);
    const reply = decodeReply(out.subarray(4, end), 'hadoop.hdfs.GetFileInfoResponseProto');
    expect(reply.header).toMatchObject({ retryCount: 0x3fff_fff0, clientId: CLIENT_ID });
  });

  it('refuses what is no request', () => {
    const call = callOf('getFileInfo');
    for (let end = 5; end < 4 + 30; end++) expect(readRequest(call, 4, end, new RequestFields())).toBe(false);
  });

  it.each([1, 2, 3, 7, 64, 1000])('reads frames from pieces of %i bytes', (pieceBytes) => {
    const stream = Buffer.concat([
      encodeHandshake('bench', CLIENT_ID),
      callOf('getFileInfo'),
      callOf('msync'),
      callOf('getListing'),
    ]);
    const got: string[] = [];
    const reader = new FrameReader(7, (buffer, start, end) => got.push(buffer.toString('hex', start, end)));
    for (let at = 0; at < stream.length; at += pieceBytes) {
      const piece = Buffer.from(stream.subarray(at, at + pieceBytes));
      expect(reader.feed(piece, piece.length)).toBe(true);
    }
    expect(got.slice(1)).toEqual(['getFileInfo', 'msync', 'getListing'].map((name) => callOf(name).toString('hex', 4)));
  });

  it('refuses an impossible frame length', () => {
    const reader = new FrameReader(0, () => {});
    expect(reader.feed(Buffer.from([0x7f, 0, 0, 0, 1]), 5)).toBe(false);
  });
});

describe('latency buckets', () => {
  it('give quantiles within one percent', () => {
    const buckets = new LatencyBuckets();
    for (let micros = 1; micros <= 100_000; micros++) buckets.recordMs(micros / 1000);
    for (const share of [0.01, 0.5, 0.9, 0.99, 0.999]) {
      const exact = share * 100_000;
      expect(Math.abs(buckets.quantileMicros(share) - exact) / exact).toBeLessThan(0.01);
    }
  });

  it('take values that are too large or negative, and none at all', () => {
    const buckets = new LatencyBuckets();
    expect(buckets.quantileMicros(0.5)).toBe(0);
    buckets.recordMs(-1);
    buckets.recordMs(1e9);
    expect(buckets.count).toBe(2);
    expect(buckets.quantileMicros(0.5)).toBeLessThan(1);
    expect(buckets.quantileMicros(1)).toBeGreaterThan(2e8);
  });
});

describe('report', () => {
  const round = (cpuSeconds: number, calls: number): Round => ({
    load: {
      event: 'result',
      calls,
      seconds: 4,
      callsPerSecond: calls / 4,
      p50: 1,
      p99: 2,
      p999: 3,
      sentP50: 1,
      sentP99: 2,
      errors: 0,
      firstError: '',
      cpuSeconds,
      loaderCpuSeconds: 1,
    } satisfies LoadResult,
    namenodeConnections: 4,
  });

  it('divides within each round and takes the median of the ratios', () => {
    const summary = summarise(
      SCENARIOS[0] as Scenario,
      new Map([
        ['haproxy', [round(1, 100_000), round(2, 100_000), round(4, 100_000)]],
        ['ring', [round(2, 100_000), round(2, 100_000), round(2, 100_000)]],
      ] as const),
    );
    const ring = summary.variants.find((variant) => variant.variant === 'ring');
    expect(ring).toMatchObject({ cpuMicrosPerCall: 20, ratioOfRounds: [2, 1, 0.5], ratio: 1, target: 1.1 });
  });
});

describe('stub NameNode', () => {
  it('answers the probes of a router and a call, fed byte by byte', async () => {
    const script = fileURLToPath(new URL('./stub-namenode.ts', import.meta.url));
    const stub = new Child({ name: 'stub', command: process.execPath, args: [script, '--ports', '2'], channel: true });
    try {
      const ready = await stub.waitFor((line) => line['ready'] === true, WAIT_MS);
      const [, port] = ready['ports'] as [number, number];
      const frames: Buffer[] = [];
      const socket = net.connect({ host: '127.0.0.1', port, noDelay: true });
      const reader = new FrameReader(0, (buffer, start, end) => {
        frames.push(Buffer.from(buffer.subarray(start, end)));
        if (frames.length === 4) socket.emit('allFrames');
      });
      socket.on('data', (chunk: Buffer) => reader.feed(chunk, chunk.length));
      await once(socket, 'connect');
      const all = once(socket, 'allFrames', { signal: AbortSignal.timeout(WAIT_MS) });
      const methods = ['getServiceStatus', 'versionRequest', 'getHAServiceState', 'getFileInfo'];
      const stream = Buffer.concat([encodeHandshake('bench', CLIENT_ID), ...methods.map((method) => callOf(method))]);
      for (const byte of stream) socket.write(Buffer.of(byte));
      await all;
      const responses = [
        'hadoop.common.GetServiceStatusResponseProto',
        'hadoop.hdfs.VersionResponseProto',
        'hadoop.hdfs.HAServiceStateResponseProto',
        'hadoop.hdfs.GetFileInfoResponseProto',
      ];
      const bodies = frames.map((frame, i) => decodeReply(frame, responses[i] as string).body);
      expect(bodies[0]).toMatchObject({ state: 'ACTIVE', readyToBecomeActive: true });
      expect(bodies[1]).toMatchObject({ info: { blockPoolID: 'BP-1-127.0.0.1-1', softwareVersion: '3.4.1' } });
      expect(bodies[2]).toMatchObject({ state: 'ACTIVE' });
      expect(bodies[3]).toMatchObject({ fs: { blocksize: 134217728 } });
      expect(await stub.ask('stats')).toEqual({ calls: 1, connections: 1 });
      expect(await stub.ask('stats')).toEqual({ calls: 0, connections: 0 });
      socket.destroy();
    } finally {
      await stub.stop();
    }
  });
});

describe('load client', () => {
  const cleanUp: (() => void)[] = [];
  afterEach(() => {
    for (const end of cleanUp.splice(0)) end();
  });

  /** Runs one client for `calls` calls against a server that passes each reply through `spoil`. Resolves at the last reply or error. */
  async function run(
    calls: number,
    depth: number,
    spoil: (reply: Buffer, socket: net.Socket) => Buffer,
  ): Promise<Load> {
    const fields = new RequestFields();
    const server = net.createServer((socket) => {
      const reader = new FrameReader(7, (buffer, start, end) => {
        readRequest(buffer, start, end, fields);
        if (fields.callId < 0) return;
        const reply = Buffer.alloc(1024);
        socket.write(spoil(reply.subarray(0, writeReply(reply, 0, buffer, fields)), socket));
      });
      socket.on('data', (chunk: Buffer) => reader.feed(chunk, chunk.length));
      socket.on('error', () => socket.destroy());
      cleanUp.push(() => socket.destroy());
    });
    server.listen(0, '127.0.0.1');
    cleanUp.push(() => server.close());
    await once(server, 'listening');
    const load = new Load();
    const { port } = server.address() as net.AddressInfo;
    await new Promise<void>((resolve) => {
      load.onReplies = () => {
        if (load.errors > 0 || load.replies === calls) resolve();
      };
      const options = {
        host: '127.0.0.1',
        port,
        user: 'bench',
        clientId: CLIENT_ID,
        path: PATH,
        slots: depth,
        closedLoop: true,
        calls,
      };
      const client: LoadClient = new LoadClient(load, options, () => client.start());
      cleanUp.push(() => client.end());
    });
    load.stopped = true;
    return load;
  }

  it('makes as many calls as it is told and finds nothing wrong', async () => {
    const load = await run(1000, 16, (reply) => reply);
    expect(load).toMatchObject({ replies: 1000, errors: 0 });
  });

  const CALL_ID_AT = 6;
  const STATUS_AT = 11;
  const CLIENT_ID_AT = 16;
  it.each([
    ['a call that is not in flight', CALL_ID_AT, /not in flight/],
    ['an error status', STATUS_AT, /status 1/],
    ["another client's id", CLIENT_ID_AT, /another client/],
  ])('notices %s', async (_, at, message) => {
    const load = await run(3, 1, (reply) => {
      reply[at] = (reply[at] as number) ^ 1;
      return reply;
    });
    expect(load.errors).toBe(1);
    expect(load.firstError).toMatch(message);
  });

  it('notices a reply that comes twice', async () => {
    const load = await run(10, 1, (reply) => Buffer.concat([reply, reply]));
    expect(load.firstError).toMatch(/not in flight/);
  });

  it('notices a connection that closes', async () => {
    let count = 0;
    const load = await run(10, 1, (reply, socket) => {
      if (++count === 2) socket.destroy();
      return reply;
    });
    expect(load.replies).toBe(1);
    expect(load.errors).toBe(1);
    expect(load.firstError).toMatch(/closed|ECONNRESET/);
  });
});
