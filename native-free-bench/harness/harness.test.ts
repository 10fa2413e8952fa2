/** The bench measures what it says: its bytes are Hadoop's, its stub answers right. */

import { once } from 'node:events';
import net from 'node:net';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { REQUEST_NAMES } from '../../src/load/plan/operations.ts';
import { CallFrames, FIRST_CALL_ID } from '../../src/load/thread/call-frames.ts';
import { PathTable } from '../../src/load/thread/path-table.ts';
import { decodePlain, messageType, type Plain } from '../../src/wire/messages.ts';
import { type Round, summarise } from '../path/report.ts';
import { SCENARIOS, type Scenario } from '../path/scenarios.ts';
import { Child } from './children.ts';
import { benchPaths, type Driven } from './drive.ts';
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

  it('are as long as those that the load tool sends for the paths of the benches', () => {
    const paths = new PathTable();
    for (const path of benchPaths()) paths.add(path);
    const frames = new CallFrames([], 0, paths, 'bench');
    const out = Buffer.alloc(frames.frameBound);
    const getFileInfo = REQUEST_NAMES.indexOf('getFileInfo');
    for (const path of [0, 1, paths.count - 1]) {
      expect(frames.write(out, 0, getFileInfo, FIRST_CALL_ID, CLIENT_ID, path, 0, 0, 0)).toBe(160);
    }
    const own = encodeCall('getFileInfo', bytesField(1, benchPaths(1)[0] as string), CLIENT_ID, CallId.FIRST);
    frames.write(out, 0, getFileInfo, CallId.FIRST, CLIENT_ID, 0, 0, 0, 0);
    expect(out.toString('hex', 0, 160)).toBe(own.toString('hex'));
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

describe('report', () => {
  const round = (cpuSeconds: number, calls: number): Round => ({
    driven: {
      calls,
      seconds: 4,
      callsPerSecond: calls / 4,
      p50: 1,
      p99: 2,
      loaderBusy: 0.25,
      errors: 0,
      firstError: '',
      cpuSeconds,
    } as Driven,
    namenodeBusy: 0.25,
    othersBusy: 0,
    namenodeConnections: 4,
  });

  it('divides within each round and takes the median of the ratios', () => {
    const summary = summarise(
      SCENARIOS[0] as Scenario,
      new Map([
        ['haproxy', [round(1, 100_000), round(2, 100_000), round(4, 100_000)]],
        ['ring', [round(2, 100_000), round(2, 100_000), round(2, 100_000)]],
      ] as const),
      1,
    );
    const ring = summary.variants.find((variant) => variant.variant === 'ring');
    expect(ring).toMatchObject({ cpuMicrosPerCall: 20, ratioOfRounds: [2, 1, 0.5], ratio: 1, target: 0.9 });
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
