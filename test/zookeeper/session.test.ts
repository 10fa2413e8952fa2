import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ErrorCode, OPEN_ACL, ZooKeeperError } from '../../src/state-store/zookeeper/protocol.ts';
import { MAX_QUEUED, MAX_REQUEST_BYTES } from '../../src/state-store/zookeeper/session.ts';
import { FaultProxy } from '../support/fault-proxy.ts';
import { nextEvent, waitUntil } from '../support/wait.ts';
import { MIN_SESSION_MS, ZooKeeperServer } from '../support/zookeeper-server.ts';
import { TestSession } from '../support/zookeeper-session.ts';

let server: ZooKeeperServer;
beforeAll(async () => {
  server = await ZooKeeperServer.start();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

function fails(promise: Promise<unknown>, code: number): Promise<void> {
  return expect(promise).rejects.toSatisfy((error) => error instanceof ZooKeeperError && error.code === code);
}

describe('operations', () => {
  it('create, read, replace by version, list, delete', async () => {
    await using session = await new TestSession([server.address]).open();
    await session.create('/ops', Buffer.from('one'), OPEN_ACL);
    await fails(session.create('/ops', null, OPEN_ACL), ErrorCode.NODE_EXISTS);
    await fails(session.create('/none/x', null, OPEN_ACL), ErrorCode.NO_NODE);
    expect(await session.getData('/ops', false, ({ data, stat }) => [data.toString(), stat.version])).toEqual([
      'one',
      0,
    ]);
    expect((await session.setData('/ops', Buffer.from('two'), 0)).version).toBe(1);
    await fails(session.setData('/ops', Buffer.from('three'), 0), ErrorCode.BAD_VERSION);
    await session.create('/ops/é b', null, OPEN_ACL);
    await session.sync('/ops');
    expect(await session.getChildren('/ops', false)).toEqual(['é b']);
    expect(await session.getAcl('/ops')).toEqual(OPEN_ACL);
    expect(await session.exists('/ops')).toMatchObject({ version: 1, childCount: 1 });
    expect(await session.exists('/none')).toBeNull();
    await fails(session.delete('/ops'), ErrorCode.NOT_EMPTY);
    await session.delete('/ops/é b');
    await fails(session.delete('/ops', 7), ErrorCode.BAD_VERSION);
    await session.delete('/ops');
    await fails(session.read('/ops'), ErrorCode.NO_NODE);
    await fails(session.create('/bad\u0001name', null, OPEN_ACL), ErrorCode.BAD_ARGUMENTS);
  });

  it('a request that the server would not take fails here, the connection stays', async () => {
    await using session = await new TestSession([server.address]).open();
    await fails(session.create('/big', Buffer.alloc(MAX_REQUEST_BYTES), OPEN_ACL), ErrorCode.MARSHALLING);
    await session.create('/big', Buffer.alloc(MAX_REQUEST_BYTES - 100, 'x'), OPEN_ACL);
    expect((await session.read('/big')).length).toBe(MAX_REQUEST_BYTES - 100);
    expect(session.remarks.length).toBe(1);
  });

  it('watches fire once, for data and for children', async () => {
    await using session = await new TestSession([server.address]).open();
    await using other = await new TestSession([server.address]).open();
    await session.create('/w', Buffer.from('a'), OPEN_ACL);
    await session.read('/w', true);
    await session.getChildren('/w', true);
    expect([session.watchesData('/w'), session.watchesChildren('/w')]).toEqual([true, true]);
    await other.setData('/w', Buffer.from('b'));
    await session.watchFired('/w');
    expect([session.watchesData('/w'), session.watchesChildren('/w')]).toEqual([false, true]);
    await other.setData('/w', Buffer.from('c'));
    await other.create('/w/x', null, OPEN_ACL);
    await session.sync('/w');
    expect(session.fired.map(({ type }) => type)).toEqual([3, 4]);
    expect(await session.read('/w')).toBe('c');
  });

  it('digest authentication comes before everything else, on each connection', async () => {
    await using proxy = await FaultProxy.start(server);
    const auth = [{ scheme: 'digest', auth: 'u:p' }];
    await using session = await new TestSession([{ host: proxy.host, port: proxy.port }], { auth }).open();
    await session.create('/secret', Buffer.from('s'), [{ permissions: 31, scheme: 'auth', id: '' }]);
    expect(await session.getAcl('/secret')).toEqual([
      { permissions: 31, scheme: 'digest', id: 'u:Jq7wMyA/w2Vd5WIDAKdu4OIIFEQ=' },
    ]);
    await session.read('/secret', true);
    proxy.resetAll();
    expect(await session.read('/secret')).toBe('s');
    await using stranger = await new TestSession([server.address]).open();
    await fails(stranger.read('/secret'), ErrorCode.NO_AUTH);
    const other = [{ scheme: 'nonsense', auth: 'x' }];
    await using refused = new TestSession([server.address], { auth: other, timeoutMs: 1_000 });
    refused.start();
    const error = await refused.read('/secret').catch((caught: Error) => caught);
    expect(String(error)).toContain('authentication refused');
  });
});

describe('a connection that goes away', () => {
  it('the session goes on: reads are sent again, missed events come, watches are there', async () => {
    await using proxy = await FaultProxy.start(server);
    await using session = await new TestSession([{ host: proxy.host, port: proxy.port }]).open();
    await using other = await new TestSession([server.address]).open();
    await session.create('/lost', Buffer.from('a'), OPEN_ACL);
    for (const name of ['x', 'y', 'z']) await session.create(`/lost/${name}`, Buffer.from(name), OPEN_ACL);
    await session.getChildren('/lost', true);
    for (const name of ['x', 'y', 'z']) await session.read(`/lost/${name}`, true);
    const { id } = session;
    proxy.refuses = true;
    proxy.resetAll();
    await session.remark(/no connection/);
    await other.setData('/lost/x', Buffer.from('X'));
    await other.delete('/lost/y');
    const reading = session.read('/lost/x');
    proxy.refuses = false;
    expect(await reading).toBe('X');
    expect(session.id).toBe(id);
    await session.sync('/lost');
    expect(session.fired.map(({ type, path }) => `${type} ${path}`).toSorted()).toEqual([
      '2 /lost/y',
      '3 /lost/x',
      '4 /lost',
    ]);
    expect(['x', 'y', 'z'].map((name) => session.watchesData(`/lost/${name}`))).toEqual([false, false, true]);
    await other.setData('/lost/z', Buffer.from('Z'));
    await session.watchFired('/lost/z');
  });

  it('replies cut at every byte never reach the next connection', async () => {
    await using proxy = await FaultProxy.start(server);
    await using session = await new TestSession([{ host: proxy.host, port: proxy.port }], {
      retryIntervalMs: 20,
    }).open();
    await session.create('/cut', Buffer.from('payload of the cut node'), OPEN_ACL);
    await session.getChildren('/', true);
    // Each connection lives until one byte more of the answers has passed: handshake 41 bytes, watches 20, then the data.
    for (let bytes = 1; bytes < 150; bytes += 3) {
      proxy.toClient.resetAfterBytes = bytes;
      proxy.resetAll();
      const reading = session.read('/cut');
      const cut = proxy.accepted;
      await waitUntil(() => proxy.accepted > cut || session.isConnected, 'another connection');
      proxy.toClient.resetAfterBytes = -1;
      expect(await reading).toBe('payload of the cut node');
    }
    expect(session.remarks.filter((text) => /cannot be read|announces|answers request/.test(text))).toEqual([]);
    expect(session.remarks.filter((text) => text === 'session expired')).toEqual([]);
  });

  it('replies that come byte by byte are the same', async () => {
    await using proxy = await FaultProxy.start(server);
    proxy.toClient.sliceBytes = 1;
    await using session = await new TestSession([{ host: proxy.host, port: proxy.port }]).open();
    await session.create('/slow', Buffer.from('abc'), OPEN_ACL);
    expect(await Promise.all(Array.from({ length: 20 }, () => session.read('/slow')))).toEqual(
      new Array(20).fill('abc'),
    );
  });

  it('a write that was cut off fails, its outcome unknown', async () => {
    await using proxy = await FaultProxy.start(server);
    await using session = await new TestSession([{ host: proxy.host, port: proxy.port }]).open();
    proxy.toClient.freeze();
    const creating = session.create('/unknown', null, OPEN_ACL);
    await using other = await new TestSession([server.address]).open();
    await waitUntil(() => other.exists('/unknown'), 'the node is there');
    proxy.resetAll();
    proxy.thaw();
    await fails(creating, ErrorCode.CONNECTION_LOSS);
  });

  it('more watches than fit into one request come again in parts', async () => {
    await using proxy = await FaultProxy.start(server);
    await using session = await new TestSession([{ host: proxy.host, port: proxy.port }], { timeoutMs: 10_000 }).open();
    const parent = `/${'p'.repeat(700)}`;
    await session.create(parent, null, OPEN_ACL);
    const paths = Array.from({ length: 1_000 }, (_, i) => `${parent}/${'n'.repeat(600)}${i}`);
    await Promise.all(paths.map((path) => session.create(path, Buffer.from('a'), OPEN_ACL)));
    await Promise.all(paths.map((path) => session.read(path, true)));
    await using other = await new TestSession([server.address]).open();
    proxy.refuses = true;
    proxy.resetAll();
    await session.remark(/no connection/);
    const changed = [paths[0], paths[500], paths[999]] as string[];
    for (const path of changed) await other.setData(path, Buffer.from('b'));
    proxy.refuses = false;
    for (const path of changed) await session.watchFired(path);
    await session.sync(parent);
    expect(session.fired.length).toBe(3);
    expect(session.remarks.filter((text) => text === 'session expired')).toEqual([]);
  });
});

describe('a server that fails', () => {
  it('a hung server is noticed within the session time-out, requests fail by their deadline, and all recovers', async () => {
    await using session = await new TestSession([server.address], { timeoutMs: 2_000 }).open();
    await session.create('/hung', Buffer.from('h'), OPEN_ACL);
    server.hang();
    try {
      const reading = fails(session.read('/hung'), ErrorCode.OPERATION_TIMEOUT);
      await session.remark(/no word from the server/);
      await reading;
      // The kernel still accepts; nothing answers.
      await session.remark(/no session within/);
    } finally {
      server.resume();
    }
    expect(await waitUntil(() => session.read('/hung').catch(() => null), 'the server answers again')).toBe('h');
  });

  it('killed and started again: the session goes on; without its data: another one begins', async () => {
    await using own = await ZooKeeperServer.start();
    await using session = await new TestSession([own.address], { timeoutMs: 10_000 }).open();
    await session.create('/kept', Buffer.from('k'), OPEN_ACL);
    await session.read('/kept', true);
    const { id } = session;
    await own.kill();
    await session.remark(/no connection/);
    const reading = session.read('/kept');
    await own.restart();
    expect(await reading).toBe('k');
    expect(session.id).toBe(id);
    await using other = await new TestSession([own.address]).open();
    await other.setData('/kept', Buffer.from('l'));
    await session.watchFired('/kept');
    await using brief = await new TestSession([own.address], { timeoutMs: 2_000 }).open();
    await brief.sync('/');
    const { id: briefId } = brief;
    await own.kill();
    own.wipe();
    await own.restart();
    // A server that knows less than the session has seen refuses it, so that it has to be given up here.
    await waitUntil(() => brief.exists('/').catch(() => null), 'a session with the new server');
    await fails(brief.read('/kept'), ErrorCode.NO_NODE);
    expect(brief.id).not.toBe(briefId);
  });

  it('an expired session is told, and another one begins', async () => {
    await using proxy = await FaultProxy.start(server);
    await using session = await new TestSession([{ host: proxy.host, port: proxy.port }], {
      timeoutMs: MIN_SESSION_MS,
    }).open();
    await session.create('/expiry', Buffer.from('e'), OPEN_ACL);
    await session.read('/expiry', true);
    const { id } = session;
    const expired = nextEvent(session.events, 'expired', 'the session expires');
    proxy.freeze();
    await session.remark(/no word from the server/);
    await expired;
    const connected = nextEvent(session.events, 'connected', 'a new session');
    proxy.resetAll();
    proxy.thaw();
    expect(await connected).toEqual([true]);
    expect(session.id).not.toBe(id);
    expect(session.watchesData('/expiry')).toBe(false);
    expect(await session.read('/expiry')).toBe('e');
  });

  it('of several servers any will do', async () => {
    await using proxy = await FaultProxy.start(server);
    const dead = { host: '127.0.0.1', port: 1 };
    await using session = await new TestSession([dead, { host: proxy.host, port: proxy.port }, server.address]).open();
    await session.create('/several', Buffer.from('s'), OPEN_ACL);
    for (let i = 0; i < 4; i++) {
      proxy.resetAll();
      expect(await session.read('/several')).toBe('s');
    }
  });

  it('without a server requests wait, no longer than their deadline, and only so many', async () => {
    await using session = new TestSession([{ host: '127.0.0.1', port: 1 }], { timeoutMs: 2_000 });
    session.start();
    const waiting = Array.from({ length: MAX_QUEUED }, () => session.exists('/x').catch((error: unknown) => error));
    await fails(session.exists('/x'), ErrorCode.OPERATION_TIMEOUT);
    const errors = await Promise.all(waiting);
    expect(errors.every((error) => error instanceof ZooKeeperError && error.code === ErrorCode.OPERATION_TIMEOUT)).toBe(
      true,
    );
    expect(String(errors[0])).toContain('ECONNREFUSED');
    const closing = session.exists('/x');
    await Promise.all([session.close(), fails(closing, ErrorCode.CONNECTION_LOSS)]);
    await fails(session.exists('/x'), ErrorCode.CONNECTION_LOSS);
  });
});
