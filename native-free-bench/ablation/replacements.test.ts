/** The replacement modules by themselves: what they find is what the router's own modules find, the slow way that they are named after. */

import { once } from 'node:events';
import net from 'node:net';
import { MessageChannel } from 'node:worker_threads';
import { describe, expect, it, vi } from 'vitest';
import type { Call } from '../../src/call/call.ts';
import { METHODS } from '../../src/call/methods.ts';
import { Outbox as BatchingOutbox, SlabPool } from '../../src/client/outbox.ts';
import { type AcceptorLink, CallFields, type ClientIdentity, type WorkerLink } from '../../src/handoff/link.ts';
import { makeRingPlumbing } from '../../src/handoff/ring-link.ts';
import { emptyEntry } from '../../src/mount/entry.ts';
import { buildSnapshot } from '../../src/mount/radix-build.ts';
import { MountSnapshot } from '../../src/mount/snapshot.ts';
import { BATCH_BYTES, NameNodeConnection as BatchingConnection } from '../../src/namenode/connection.ts';
import type { ConnectionGroup } from '../../src/namenode/group.ts';
import { NameNode } from '../../src/namenode/namenode.ts';
import type { NameNodePool } from '../../src/namenode/pool.ts';
import { User } from '../../src/namenode/user.ts';
import { Clock } from '../../src/shared/clock.ts';
import { Block } from '../../src/wire/block.ts';
import * as tagScan from '../../src/wire/call-scan.ts';
import { encode, messageType } from '../../src/wire/messages.ts';
import { encodeError, Status, SUCCESS_HEAD_BYTES, writeSuccessHead } from '../../src/wire/reply-head.ts';
import { ReplyScan, scanReply } from '../../src/wire/reply-scan.ts';
import { RequestSplice } from '../../src/wire/splice.ts';
import { bytesField, CallId, delimited, encodeCall, framed, numberField } from '../harness/frames.ts';
import { NameNodeConnection } from './flush/connection.ts';
import { Outbox } from './flush/outbox.ts';
import { RingAcceptorLink, RingWorkerLink } from './message/ring-link.ts';
import { MountSnapshot as MapSnapshot } from './mounts/snapshot.ts';
import { scanReply as decodeReply } from './reply/reply-scan.ts';
import * as decodingScan from './scan/call-scan.ts';

const CLIENT_ID = Buffer.from('00112233445566778899aabbccddeeff', 'hex');

describe('scan', () => {
  /** Code of the first scan that is not SCAN_OK, and all that was found. */
  function scanCall(scans: typeof tagScan, frame: Buffer, start: number, end: number, method: string) {
    const scan = new tagScan.CallScan();
    const row = METHODS.find(({ name }) => name === method) as (typeof METHODS)[number];
    scan.method = row.index;
    const code =
      scans.scanHeader(frame, start, end, scan) ||
      scans.scanRequestHeader(frame, start, end, scan) ||
      scans.scanBody(frame, start, scan, row.pathField, row.path2Field);
    return { code, scan };
  }

  const permission = { perm: 0o755 };
  const calls: [string, Buffer][] = [
    ['getFileInfo', bytesField(1, '/a/b')],
    ['rename', Buffer.concat([bytesField(1, '/a/b'), bytesField(2, '/c')])],
    ['rename', Buffer.concat([bytesField(2, '/c'), bytesField(1, '/a/b')])],
    ['mkdirs', encodeRequest('mkdirs', { src: '/täglich/é', masked: permission, createParent: true })],
    [
      'create',
      encodeRequest('create', {
        src: '/x',
        masked: permission,
        clientName: '/x',
        createFlag: 1,
        createParent: true,
        replication: 3,
        blockSize: 1024,
      }),
    ],
    ['getFileInfo', Buffer.concat([bytesField(1, '/a'), bytesField(77, 'unknown'), numberField(9, 5)])],
    ['getFileInfo', Buffer.concat([bytesField(1, '/a'), bytesField(1, '/b')])],
    ['getFileInfo', Buffer.alloc(0)],
    ['getServerDefaults', Buffer.alloc(0)],
  ];

  it.each(calls)('%s: finds what the tag scan finds, in each part of the frame too', (method, body) => {
    const call = encodeCall(method, body, CLIENT_ID, CallId.FIRST);
    const frame = Buffer.concat([Buffer.alloc(3), call, Buffer.alloc(3)]);
    for (let end = 3 + 4; end <= 3 + call.length; end++) {
      expect(scanCall(decodingScan, frame, 7, end, method)).toEqual(scanCall(tagScan, frame, 7, end, method));
    }
  });

  it('leaves a header with more than the usual fields to the tag scan', () => {
    const [header, ...rest] = [
      [numberField(1, 2), numberField(2, 0), numberField(3, 8), bytesField(4, CLIENT_ID), numberField(5, 0)],
      [bytesField(1, 'getFileInfo'), bytesField(2, 'p'), numberField(3, 1)],
      [bytesField(1, '/a')],
    ].map((fields) => Buffer.concat(fields)) as [Buffer, Buffer, Buffer];
    const context = bytesField(7, bytesField(1, 'clientIp:1.2.3.4'));
    const frame = framed(delimited(Buffer.concat([header, context])), ...rest.map(delimited));
    const found = scanCall(decodingScan, frame, 4, frame.length, 'getFileInfo');
    expect(found).toEqual(scanCall(tagScan, frame, 4, frame.length, 'getFileInfo'));
    expect(found.scan.contextEnd).toBeGreaterThan(0);
  });
});

describe('reply', () => {
  const success = Buffer.alloc(SUCCESS_HEAD_BYTES + CLIENT_ID.length + 8);
  const successEnd = writeSuccessHead(success, 0, 8, 77, CLIENT_ID, 0, CLIENT_ID.length, 0x3fff_fff0);
  const error = encodeError({
    callId: -33,
    status: Status.FATAL,
    detail: 15,
    className: 'java.io.IOException',
    message: 'no',
    clientId: CLIENT_ID,
    retryCount: 5,
  });
  const withState = framed(
    delimited(
      Buffer.concat([
        numberField(1, 9),
        numberField(2, 0),
        numberField(3, 9),
        bytesField(7, CLIENT_ID),
        numberField(8, 4),
        numberField(9, 2 ** 40 + 7),
        bytesField(10, 'state'),
      ]),
    ),
  );

  it.each([
    ['success', success.subarray(0, successEnd + 8)],
    ['error', error],
    ['state ids', withState],
    ['nothing required', framed(delimited(numberField(3, 9)))],
  ])('%s: finds what the tag scan finds, in each part of the frame too', (_, frame) => {
    for (let end = 4; end <= frame.length; end++) {
      const decoded = new ReplyScan();
      const scanned = new ReplyScan();
      const codes = [decodeReply(frame, 4, end, decoded), scanReply(frame, 4, end, scanned)];
      expect(codes[0]).toBe(codes[1]);
      if (codes[0] === tagScan.SCAN_OK) expect(decoded).toEqual({ ...scanned, usual: false });
    }
  });
});

describe('mounts', () => {
  it.each([[[]], [['/']]])('finds what the radix search finds, with the mounts %j more', (more) => {
    const sources = ['/a', '/a/b', '/ab', '/a/b/c/d/e', '/ü/ö', '/x/y/z', ...more];
    const entries = sources.map((source) => {
      const entry = emptyEntry(source, { routerUser: 'hdfs', superGroup: 'supergroup' });
      entry.destinations.push({ nameservice: 'ns0', path: source });
      return entry;
    });
    const buffer = buildSnapshot(entries, ['ns0'], 1, null);
    const radix = MountSnapshot.from(buffer);
    const map = MapSnapshot.from(buffer);
    const paths = ['/', '', 'a/b', '/a', '/a/b', '/a/bc', '/a/b/c', '/a/b/c/d', '/a/b/c/d/e/f', '/abc', '/ab/c'];
    paths.push('/ü', '/ü/ö', '/ü/ö/é', '/x', '/x/y', '/x/y/z', '/x/y/zz', '/none/of/them', '/a/b/c/dd');
    for (const path of paths) {
      const bytes = Buffer.from(`>>${path}<<`);
      const find = (snapshot: MountSnapshot) => {
        const mount = snapshot.find(bytes, 2, bytes.length - 2);
        const { matchedEnd, atMount, mountsBelow } = snapshot;
        return { path, mount, matchedEnd, atMount, mountsBelow };
      };
      expect(find(map)).toEqual(find(radix));
    }
    expect(map.epoch).toBe(1);
  });
});

describe('flush', () => {
  it('writes each reply by itself', () => {
    const written: string[] = [];
    const socket = { writableLength: 0, write: (bytes: Buffer) => written.push(bytes.toString()) };
    const reply = Buffer.from('reply');
    for (const outbox of [new BatchingOutbox(), new Outbox()]) {
      const pool = new SlabPool();
      for (let i = 0; i < 3; i++) outbox.add(socket as unknown as net.Socket, pool, reply, 0, reply.length);
      outbox.flush(socket as unknown as net.Socket, pool);
      written.push('|');
    }
    expect(written).toEqual(['replyreplyreply', '|', 'reply', 'reply', 'reply', '|']);
  });
});

describe('flush of calls', () => {
  /** What a connection to a NameNode that only listens writes for three calls of one turn, after its handshake. */
  async function countWrites(Connection: typeof BatchingConnection): Promise<{ writes: number; bytes: number }> {
    const server = net.createServer((socket) => socket.resume());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as net.AddressInfo;
    const opened = Promise.withResolvers<void>();
    const pool = fakePool();
    const namenode = new NameNode(0, 0, 0, '127.0.0.1', port);
    const group = { pool, namenode, user: new User('alice', 1), protocol: 'p', waiting: [], current: null };
    const events = { onOpened: opened.resolve, onLost: () => {}, onConnectFailed: opened.reject };
    const connection = new Connection({ ...group, ...events } as unknown as ConnectionGroup, false);
    try {
      await opened.promise;
      const write = vi.spyOn(net.Socket.prototype, 'write');
      for (let i = 0; i < 3; i++) connection.writeCall(makeCall());
      connection.flush();
      const sizes = write.mock.calls.map(([bytes]) => (bytes as Buffer).length);
      write.mockRestore();
      return { writes: sizes.length, bytes: sizes.reduce((sum, size) => sum + size, 0) };
    } finally {
      connection.destroy('the test is over');
      server.close();
    }
  }

  function fakePool(): NameNodePool {
    const clock = new Clock();
    const splice = new RequestSplice();
    const settings = {
      maxResponseBytes: 1 << 20,
      connectTimeoutMs: 20_000,
      proxyUser: 'alice',
      namenodeTcpNoDelay: true,
    };
    const wheel = { add: () => {}, remove: () => {} };
    const counters = { add: () => {} };
    const owner = { prepareSplice: () => splice };
    const batches = { takeBatch: () => new Block(Buffer.alloc(BATCH_BYTES)), giveBatch: () => {} };
    const events = { noteActivity: () => {}, markDirty: () => {} };
    const memory = { readBuffer: Buffer.alloc(1024), clientId: CLIENT_ID, budget: {} };
    return { settings, clock, wheel, counters, owner, ...batches, ...events, ...memory } as unknown as NameNodePool;
  }

  function makeCall(): Call {
    const frame = encodeCall('getFileInfo', bytesField(1, '/a'), CLIENT_ID, CallId.FIRST);
    const fields = new tagScan.CallScan();
    expect(tagScan.scanHeader(frame, 4, frame.length, fields)).toBe(tagScan.SCAN_OK);
    expect(tagScan.scanRequestHeader(frame, 4, frame.length, fields)).toBe(tagScan.SCAN_OK);
    expect(tagScan.scanBody(frame, 4, fields, 1, 0)).toBe(tagScan.SCAN_OK);
    return { frame, start: 4, end: frame.length, fields, slab: new Block(Buffer.alloc(0)) } as unknown as Call;
  }

  it('writes each call by itself', async () => {
    const batched = await countWrites(BatchingConnection);
    const single = await countWrites(NameNodeConnection);
    expect(batched.writes).toBe(1);
    expect(single).toEqual({ writes: 3, bytes: batched.bytes });
  });
});

describe('message', () => {
  const IDENTITY: ClientIdentity = { user: 'alice', realUser: '', address: '10.0.0.1', port: 4711 };

  it('carries openings, calls, closings and replies in their order, and says when a turn is over', async () => {
    const { port1, port2 } = new MessageChannel();
    const { calls, replies } = makeRingPlumbing(4096).acceptorEnd;
    const seen: string[] = [];
    const answered = Promise.withResolvers<void>();
    const acceptorSide = {
      onReply: (
        _link: WorkerLink,
        connection: number,
        generation: number,
        slot: number,
        flags: number,
        buffer: Buffer,
        start: number,
        end: number,
        owned: boolean,
      ) => {
        seen.push(
          `reply ${connection} ${generation} ${slot} ${flags} ${buffer.toString('latin1', start, end)} ${owned}`,
        );
      },
      onSpace: () => seen.push('space'),
      onDrained: () => answered.resolve(),
    };
    const workerSide = {
      onOpen: (_link: AcceptorLink, connection: number, generation: number, identity: ClientIdentity) =>
        seen.push(`open ${connection} ${generation} ${JSON.stringify(identity)}`),
      onClose: (_link: AcceptorLink, connection: number, generation: number) =>
        seen.push(`close ${connection} ${generation}`),
      onCall: (link: AcceptorLink, fields: CallFields, frame: Buffer, start: number, end: number) => {
        seen.push(`call ${fields.slot} ${fields.path2End} ${frame.toString('latin1', start, end)}`);
        const head = Buffer.from('-head');
        link.reply(fields.connection, fields.generation, fields.slot, 1, head, 1, 5, frame, start, end);
      },
      onReplySpace: () => seen.push('reply space'),
      onDrained: () => seen.push('turn'),
    };
    const workerLink = new RingWorkerLink(0, { calls, replies, port: port1 }, acceptorSide);
    const acceptorLink = new RingAcceptorLink(0, { calls, replies, port: port2 }, workerSide);
    try {
      const fields = Object.assign(new CallFields(), { connection: 3, generation: 9, path2End: 21 });
      workerLink.openClient(3, 9, IDENTITY);
      for (let slot = 0; slot < 2; slot++) {
        fields.slot = slot;
        expect(workerLink.call(fields, Buffer.from(`..call${slot}.`), 2, 7)).toBe(true);
      }
      workerLink.closeClient(3, 9);
      await answered.promise;
      expect(seen.filter((line) => line !== 'turn' && !line.startsWith('reply'))).toEqual([
        `open 3 9 ${JSON.stringify(IDENTITY)}`,
        'call 0 21 call0',
        'call 1 21 call1',
        'close 3 9',
      ]);
      expect(seen.filter((line) => line.startsWith('reply'))).toEqual([
        'reply 3 9 0 1 headcall0 false',
        'reply 3 9 1 1 headcall1 false',
      ]);
      expect(seen).toContain('turn');
      workerLink.close();
      expect(workerLink.call(fields, Buffer.alloc(1), 0, 1)).toBe(false);
    } finally {
      workerLink.close();
      acceptorLink.close();
    }
  });
});

function encodeRequest(method: string, message: object): Buffer {
  return encode(messageType(`hadoop.hdfs.${method.charAt(0).toUpperCase()}${method.slice(1)}RequestProto`), message);
}
