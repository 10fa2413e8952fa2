import { describe, expect, it } from 'vitest';
import { JuteWriter } from '../../src/state-store/zookeeper/jute.ts';
import { ErrorCode, frameOf, Operation, Xid, ZooKeeperError } from '../../src/state-store/zookeeper/protocol.ts';
import { type FakeAnswer, FakeZooKeeper, nodeData, reply, session } from '../support/fake-zookeeper.ts';
import { nextEvent, waitUntil } from '../support/wait.ts';
import { TestSession } from '../support/zookeeper-session.ts';

const SHORT = { timeoutMs: 600, retryIntervalMs: 20 };

/** Answers as a server does: every node holds 'x'. */
const RIGHT: FakeAnswer = ({ xid, operation }) => {
  if (operation === 0) return session(5_000, 42n);
  if (operation === Operation.GET_DATA) return reply(xid, 9n, 0, nodeData('x'));
  return reply(xid, operation === Operation.PING ? 0n : 9n, 0);
};

describe('a server that is wrong', () => {
  /** What the first connection gets in answer to getData; the second one is right. */
  const wrong: [string, (xid: number) => Buffer, RegExp][] = [
    ['a negative length', () => Buffer.from('fffffff0', 'hex'), /announces a message of -16 bytes/],
    ['a huge length', () => Buffer.from('7fffffff', 'hex'), /announces a message of 2147483647 bytes/],
    ['an empty message', () => Buffer.alloc(4), /cannot be read: 0 bytes of a header/],
    ['a cut header', () => frameOf(Buffer.alloc(15)), /cannot be read: 15 bytes of a header/],
    ['another xid', (xid) => reply(xid + 1, 1n, 0, nodeData('x')), /answers request 2, due is 1/],
    [
      'an answer nobody asked for',
      (xid) => Buffer.concat([reply(xid, 1n, 0, nodeData('x')), reply(9, 1n, 0)]),
      /answers request 9, due is none/,
    ],
    ['a reply without its record', (xid) => reply(xid, 1n, 0), /cannot be read: 4 bytes wanted/],
    [
      'a negative length of data',
      (xid) => reply(xid, 1n, 0, Buffer.from('fffffff0', 'hex')),
      /cannot be read: length -16/,
    ],
    [
      'data longer than the message',
      (xid) => reply(xid, 1n, 0, Buffer.from('7ffffff0', 'hex')),
      /cannot be read: .* wanted/,
    ],
    ['a node without its dates', (xid) => reply(xid, 1n, 0, nodeData('x').subarray(0, 40)), /cannot be read/],
    ['a cut event', () => reply(Xid.EVENT, -1n, 0, Buffer.alloc(7)), /cannot be read/],
    ['no session any more', (xid) => reply(xid, 1n, ErrorCode.SESSION_EXPIRED), /has dropped the session/],
  ];

  it.each(wrong)('%s: the connection ends with a reason, the next one serves', async (_name, bytes, reason) => {
    await using fake = await FakeZooKeeper.start((request, socket) => {
      if (request.connection === 1 && request.operation === Operation.GET_DATA) return bytes(request.xid);
      return RIGHT(request, socket);
    });
    await using client = await new TestSession([fake.address], SHORT).open();
    expect(await client.read('/a')).toBe('x');
    await client.remark(reason);
    expect(await client.read('/a')).toBe('x');
    expect(fake.accepted).toBe(2);
  });

  it.each([
    ['nothing', null],
    ['a cut answer', session(5_000, 42n).subarray(0, 20)],
    ['an answer without a session', frameOf(Buffer.alloc(10))],
    ['a huge length', Buffer.from('7fffffff', 'hex')],
  ])('%s to the handshake: another attempt is made, requests fail in time', async (_name, bytes) => {
    await using fake = await FakeZooKeeper.start(() => bytes);
    await using client = new TestSession([fake.address], SHORT);
    client.start();
    const error = await client.read('/a').catch((caught: unknown) => caught);
    expect(error instanceof ZooKeeperError && error.code).toBe(ErrorCode.OPERATION_TIMEOUT);
    await waitUntil(() => fake.accepted > 1, 'another attempt');
  });

  it('a reply in single bytes counts when it is whole', async () => {
    await using fake = await FakeZooKeeper.start((request, socket) => {
      const bytes = RIGHT(request, socket);
      for (const byte of bytes ?? []) socket.write(Buffer.of(byte));
      return null;
    });
    await using client = await new TestSession([fake.address], SHORT).open();
    expect(await client.read('/a')).toBe('x');
  });

  it('half a reply, and then silence: the request fails in time, the connection ends', async () => {
    await using fake = await FakeZooKeeper.start((request, socket) => {
      const bytes = RIGHT(request, socket);
      if (request.operation === 0) return session(900, 42n);
      return request.connection === 1 && request.operation === Operation.GET_DATA
        ? (bytes?.subarray(0, 30) ?? null)
        : null;
    });
    await using client = await new TestSession([fake.address], { ...SHORT, numRetries: 0 }).open();
    await expect(client.read('/a')).rejects.toThrow(/no answer in time|connection lost/);
    await client.remark(/no word from the server for 600 ms/);
  });

  it('an answer after the deadline is dropped, the next one is not mistaken for it', async () => {
    let held: Buffer | null = null;
    await using fake = await FakeZooKeeper.start((request, socket) => {
      if (request.operation === Operation.GET_DATA && held === null) {
        held = reply(request.xid, 1n, 0, nodeData('late'));
        return null;
      }
      if (request.operation === Operation.GET_DATA)
        return Buffer.concat([held as Buffer, RIGHT(request, socket) as Buffer]);
      return RIGHT(request, socket);
    });
    await using client = await new TestSession([fake.address], SHORT).open();
    await expect(client.read('/late')).rejects.toThrow(/no answer in time/);
    expect(await client.read('/a')).toBe('x');
    expect(fake.accepted).toBe(1);
  });

  it('what is read is tried again only so often', async () => {
    await using fake = await FakeZooKeeper.start((request, socket) => {
      if (request.operation === Operation.GET_DATA) socket.destroy();
      return request.operation === Operation.GET_DATA ? null : RIGHT(request, socket);
    });
    await using client = await new TestSession([fake.address], {
      timeoutMs: 5_000,
      retryIntervalMs: 1,
      numRetries: 3,
    }).open();
    await expect(client.read('/a')).rejects.toThrow(/connection lost/);
    expect(fake.requests.filter(({ operation }) => operation === Operation.GET_DATA).length).toBe(4);
  });
});

describe('a session', () => {
  it('asks again with its key and what it has seen; after its expiry for a new one, without watches', async () => {
    let isExpired = false;
    await using fake = await FakeZooKeeper.start((request, socket) => {
      if (request.operation !== 0) return RIGHT(request, socket);
      if (!isExpired) return session(5_000, 42n);
      isExpired = false;
      return session(0, 0n);
    });
    await using client = await new TestSession([fake.address], SHORT).open();
    await client.read('/a', true);
    const expired = nextEvent(client.events, 'expired', 'the session expires');
    isExpired = true;
    fake.send(Buffer.from('ffffffff', 'hex'));
    await expired;
    expect(client.watchesData('/a')).toBe(false);
    expect(await client.read('/a')).toBe('x');
    const keys = fake.requests
      .filter(({ operation }) => operation === 0)
      .map(({ reader }) => [reader.int(), reader.long(), reader.int(), reader.long(), reader.buffer().toString('hex')]);
    expect(keys).toEqual([
      [0, 0n, 600, 0n, '00'.repeat(16)],
      [0, 9n, 600, 42n, '07'.repeat(16)],
      [0, 0n, 600, 0n, '00'.repeat(16)],
    ]);
    expect(client.remarks.filter((text) => text === 'session expired').length).toBe(1);
  });

  it('authenticates first, then asks for its watches, then for what waits', async () => {
    await using fake = await FakeZooKeeper.start((request, socket) => {
      if (request.operation === Operation.GET_DATA && request.connection === 2)
        return reply(request.xid, 20n, 0, nodeData('y'));
      return RIGHT(request, socket);
    });
    const auth = [{ scheme: 'digest', auth: 'u:p' }];
    await using client = await new TestSession([fake.address], { ...SHORT, auth }).open();
    await client.read('/a', true);
    fake.send(Buffer.from('ffffffff', 'hex'));
    await client.remark(/no connection/);
    expect(await client.read('/b')).toBe('y');
    const second = fake.requests.filter(({ connection }) => connection === 2);
    expect(second.map(({ operation }) => operation)).toEqual([
      0,
      Operation.AUTH,
      Operation.SET_WATCHES,
      Operation.GET_DATA,
    ]);
    const watches = second[2]?.reader;
    expect([watches?.long(), watches?.texts(), watches?.texts(), watches?.texts()]).toEqual([9n, ['/a'], [], []]);
  });

  it('while watches are being set again in parts, changes count from the point before the loss', async () => {
    let parts = 0;
    await using fake = await FakeZooKeeper.start((request, socket) => {
      if (request.operation !== Operation.SET_WATCHES) return RIGHT(request, socket);
      // Of the first connection's watches one part is set again, then that connection is lost too.
      if (++parts === 2) socket.destroy();
      return parts === 2 ? null : reply(request.xid, 20n, 0);
    });
    await using client = await new TestSession([fake.address], { timeoutMs: 5_000, retryIntervalMs: 20 }).open();
    const paths = Array.from({ length: 300 }, (_, i) => `/${'n'.repeat(1_000)}${i}`);
    await Promise.all(paths.map((path) => client.read(path, true)));
    fake.send(Buffer.from('ffffffff', 'hex'));
    await waitUntil(() => parts === 4, 'both parts are set again');
    await client.read('/b');
    const asked = fake.requests.filter(({ operation }) => operation === Operation.SET_WATCHES);
    expect(asked.map(({ reader }) => reader.long())).toEqual([9n, 9n, 9n, 9n]);
    expect(asked.slice(2).flatMap(({ reader }) => reader.texts())).toEqual(paths);
  });

  it('an event is told, whatever its path', async () => {
    await using fake = await FakeZooKeeper.start(RIGHT);
    await using client = await new TestSession([fake.address], SHORT).open();
    await client.read('/a', true);
    const event = (path: string) => reply(Xid.EVENT, -1n, 0, new JuteWriter().int(3).int(3).text(path).finish());
    fake.send(Buffer.concat([event('/never-asked'), event('/a')]));
    await client.watchFired('/a');
    expect(client.fired.map(({ path }) => path)).toEqual(['/never-asked', '/a']);
    expect(client.watchesData('/a')).toBe(false);
  });

  it('a refused authentication is told, and not tried without pause', async () => {
    await using fake = await FakeZooKeeper.start((request, socket) => {
      return request.operation === Operation.AUTH ? reply(Xid.AUTH, 0n, ErrorCode.AUTH_FAILED) : RIGHT(request, socket);
    });
    const options = { timeoutMs: 600, retryIntervalMs: 10_000, auth: [{ scheme: 'x', auth: 'y' }] };
    await using client = new TestSession([fake.address], options);
    client.start();
    await client.remark(/authentication refused/);
    await expect(client.setData('/a', Buffer.from('b'))).rejects.toThrow(/authentication refused/);
    expect(fake.accepted).toBeLessThan(6);
  });
});
