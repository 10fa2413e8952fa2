import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ZooKeeperSettings } from '../../src/config/zookeeper.ts';
import type { RawRecord } from '../../src/state-store/driver.ts';
import { decodeMount, encodeMount, RECORD_TYPES, type RecordType } from '../../src/state-store/records.ts';
import { OPEN_ACL } from '../../src/state-store/zookeeper/protocol.ts';
import { ZooKeeperDriver } from '../../src/state-store/zookeeper-driver.ts';
import { FaultProxy } from '../support/fault-proxy.ts';
import { waitUntil } from '../support/wait.ts';
import { ZooKeeperServer } from '../support/zookeeper-server.ts';
import { TestSession } from '../support/zookeeper-session.ts';
import { DEFAULTS, mount } from '../unit/mount-samples.ts';

const TYPES = Object.keys(RECORD_TYPES) as RecordType[];
const UPDATE = { update: true, errorIfExists: false };
const ADD = { update: false, errorIfExists: true };
const KEEP = { update: false, errorIfExists: false };
const USER_ACL = [{ permissions: 31, scheme: 'digest', id: 'u:Jq7wMyA/w2Vd5WIDAKdu4OIIFEQ=' }];
const USER_AUTH = [{ scheme: 'digest', auth: 'u:p' }];
const MANY = 10_000;
const ROUNDS = 300;

let server: ZooKeeperServer;
beforeAll(async () => {
  server = await ZooKeeperServer.start();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

/** A driver that counts the changes it tells, below a parent path of its own. */
class TestDriver extends ZooKeeperDriver implements AsyncDisposable {
  readonly changes: RecordType[] = [];

  constructor(parentPath: string, more: Partial<ZooKeeperSettings> = {}, remarks: string[] = []) {
    super(
      {
        ...{ servers: [server.address], chroot: '', parentPath, timeoutMs: 5_000, numRetries: 1_000 },
        ...{ retryIntervalMs: 200, acl: OPEN_ACL, auth: [] },
        ...more,
      },
      (text) => remarks.push(text),
    );
    this.onChange = (type) => this.changes.push(type);
  }

  async open(): Promise<this> {
    await this.start();
    return this;
  }

  async sources(): Promise<string[]> {
    const { records } = await this.readAll('MountTable');
    return records.map((record) => mountOf(record).sourcePath);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

function bytesOf(source: string, target = '/x'): Buffer {
  return encodeMount(mount(source, [`ns0:${target}`]));
}

function mountOf({ bytes }: RawRecord) {
  return decodeMount(bytes, DEFAULTS).record.entry;
}

describe('znodes as Hadoop writes them', () => {
  it('have the same paths, data and rights; record nodes are open to all', async () => {
    await using driver = await new TestDriver('/a/hdfs-federation', { acl: USER_ACL, auth: USER_AUTH }).open();
    await using session = await new TestSession([server.address], { auth: USER_AUTH }).open();
    for (const type of ['', ...TYPES.map((type) => `/${type}`)]) {
      expect(await session.getAcl(`/a/hdfs-federation${type}`)).toEqual(USER_ACL);
    }
    const { samples } = JSON.parse(
      readFileSync(new URL('../unit/state-store-samples/index.json', import.meta.url), 'utf8'),
    ) as { samples: { record: RecordType; znode: string; protobufHex: string; fileText: string }[] };
    for (const { record, znode, protobufHex, fileText } of samples) {
      const name = znode.slice(znode.lastIndexOf('/') + 1);
      expect(await driver.put(record, name, Buffer.from(protobufHex, 'hex'), ADD)).toBe(true);
      expect(await session.read(`/a${znode}`)).toBe(fileText);
      expect(await session.getAcl(`/a${znode}`)).toEqual(OPEN_ACL);
    }
    for (const type of TYPES) {
      const { records, problems } = await driver.readAll(type);
      const expected = samples.filter(({ record }) => record === type).map(({ protobufHex }) => protobufHex);
      expect(records.map(({ bytes }) => bytes.toString('hex')).toSorted()).toEqual(expected.toSorted());
      expect(problems).toEqual([]);
    }
  });

  it('are below a chroot when the address has one', async () => {
    await using driver = await new TestDriver('/p', { chroot: '/root/of' }).open();
    await driver.put('MountTable', 'a', bytesOf('/a'), ADD);
    await using session = await new TestSession([server.address]).open();
    expect(await session.getChildren('/root/of/p/MountTable', false)).toEqual(['a']);
  });

  it('give the dates: ctime and mtime of the node', async () => {
    await using driver = await new TestDriver('/dates').open();
    await driver.put('MountTable', 'a', bytesOf('/a'), ADD);
    const [first] = (await driver.readAll('MountTable')).records;
    await waitUntil(() => Date.now() > (first?.modifiedMs ?? 0), 'the clock goes on');
    await driver.put('MountTable', 'a', bytesOf('/a', '/y'), UPDATE);
    const [second] = (await driver.readAll('MountTable')).records;
    expect([first?.createdMs === first?.modifiedMs, first?.version]).toEqual([true, 0]);
    expect([second?.createdMs, second?.version]).toEqual([first?.createdMs, 1]);
    expect(second?.modifiedMs).toBeGreaterThan(first?.modifiedMs ?? Number.POSITIVE_INFINITY);
  });
});

describe('writing', () => {
  it('adds once, updates, compares versions, removes', async () => {
    await using driver = await new TestDriver('/writing').open();
    const put = (target: string, options: typeof ADD & { version?: number }) =>
      driver.put('MountTable', 'm', bytesOf('/m', target), options);
    const target = async () =>
      (await driver.readAll('MountTable')).records.map((one) => mountOf(one).destinations[0]?.path);
    expect(await put('/none', { ...UPDATE, version: 0 })).toBe(false);
    expect(await put('/0', ADD)).toBe(true);
    expect(await put('/no', ADD)).toBe(false);
    expect(await target()).toEqual(['/0']);
    expect(await put('/1', UPDATE)).toBe(true);
    expect(await put('/stale', { ...UPDATE, version: 0 })).toBe(false);
    expect(await target()).toEqual(['/1']);
    expect(await put('/2', { ...UPDATE, version: 1 })).toBe(true);
    expect(await put('/3', { ...UPDATE, version: -1 })).toBe(true);
    expect(await put('/4', KEEP)).toBe(true);
    expect(await target()).toEqual(['/4']);
    expect(await driver.remove('MountTable', 'm')).toBe(true);
    expect(await driver.remove('MountTable', 'm')).toBe(false);
    expect(await put('/5', UPDATE)).toBe(true);
    expect(await target()).toEqual(['/5']);
  });

  it('of many adds of one key one succeeds; versioned updates of two routers lose nothing', async () => {
    await using one = await new TestDriver('/two').open();
    await using two = await new TestDriver('/two').open();
    const adds = Array.from({ length: 100 }, (_, i) =>
      (i % 2 === 0 ? one : two).put('MountTable', 'k', bytesOf('/k', '/0'), ADD),
    );
    expect((await Promise.all(adds)).filter(Boolean).length).toBe(1);
    const count = async (driver: TestDriver): Promise<void> => {
      for (let done = 0; done < 40; ) {
        const [record] = (await driver.readAll('MountTable')).records;
        if (record === undefined) throw new Error('the record is gone');
        const next = Number(mountOf(record).destinations[0]?.path.slice(1)) + 1;
        if (await driver.put('MountTable', 'k', bytesOf('/k', `/${next}`), { ...UPDATE, version: record.version }))
          done++;
      }
    };
    await Promise.all([count(one), count(two)]);
    const [last] = (await two.readAll('MountTable')).records;
    expect(last === undefined ? null : [mountOf(last).destinations[0]?.path, last.version]).toEqual(['/80', 80]);
  });

  it('what is too large, or has no possible name, is refused with a remedy', async () => {
    await using driver = await new TestDriver('/refused').open();
    const put = (name: string, bytes: Buffer) => driver.put('MountTable', name, bytes, ADD);
    await expect(put('big', Buffer.alloc(1024 * 1024))).rejects.toThrow(/MountTable\/big: .*make the record smaller/);
    await expect(put('a/b', bytesOf('/a'))).rejects.toThrow(/slash.*; choose another/);
    await expect(put('a\u0001', bytesOf('/a'))).rejects.toThrow(/choose another/);
    await expect(put('😀', bytesOf('/a'))).rejects.toThrow(/takes no such name or value; choose another/);
    expect(await put('a b:é', bytesOf('/a'))).toBe(true);
    expect(await driver.sources()).toEqual(['/a']);
  });

  it('without rights is refused with a remedy', async () => {
    await using owner = await new TestDriver('/owned', { acl: USER_ACL, auth: USER_AUTH }).open();
    await owner.put('MountTable', 'a', bytesOf('/a'), ADD);
    await using stranger = await new TestDriver('/owned').open();
    await expect(stranger.readAll('MountTable')).rejects.toThrow(
      /\/owned\/MountTable: no permission; .*hadoop\.zk\.auth/,
    );
    await expect(stranger.put('MountTable', 'b', bytesOf('/b'), ADD)).rejects.toThrow(/no permission/);
    await using session = await new TestSession([server.address], { auth: USER_AUTH }).open();
    await session.create('/owned/MountTable/mine', Buffer.from('x'), [{ permissions: 31, scheme: 'auth', id: '' }]);
    await using open = await new TestDriver('/half', {}).open();
    await session.create('/half/MountTable/mine', Buffer.from('x'), [{ permissions: 31, scheme: 'auth', id: '' }]);
    await open.put('MountTable', 'a', bytesOf('/a'), ADD);
    const { records, problems } = await open.readAll('MountTable');
    expect(records.map(({ name }) => name)).toEqual(['a']);
    expect(problems).toEqual([
      { name: 'mine', place: '/half/MountTable/mine', reason: expect.stringContaining('no permission') },
    ]);
  });
});

describe('reading', () => {
  it('reports what is no record, keeps it, and reads the others', async () => {
    await using driver = await new TestDriver('/garbage').open();
    await using session = await new TestSession([server.address]).open();
    await driver.put('MountTable', 'good', bytesOf('/good'), ADD);
    for (const [name, data] of [
      ['empty', null],
      ['none', Buffer.from('!!!!')],
    ] as const) {
      await session.create(`/garbage/MountTable/${name}`, data, OPEN_ACL);
    }
    await session.create('/garbage/MountTable/child-of', Buffer.from(bytesOf('/c').toString('base64')), OPEN_ACL);
    await session.create('/garbage/MountTable/child-of/child', null, OPEN_ACL);
    for (let round = 0; round < 2; round++) {
      const { records, problems } = await driver.readAll('MountTable');
      expect(records.map(({ name }) => name)).toEqual(['child-of', 'good']);
      expect(problems.map(({ name, reason }) => [name, reason])).toEqual([
        ['empty', expect.stringContaining('the node is empty; remove it')],
        ['none', expect.stringContaining('no base64 in the node')],
      ]);
    }
    expect((await session.getChildren('/garbage/MountTable', false)).length).toBe(4);
    // Whole when it is read by anybody: node and data come in one call.
    await session.setData('/garbage/MountTable/empty', Buffer.from(bytesOf('/e').toString('base64')));
    expect(await driver.sources()).toEqual(['/c', '/e', '/good']);
  });

  it(`${MANY} records are read, then only what has changed`, async () => {
    await using proxy = await FaultProxy.start(server);
    const servers = [{ host: proxy.host, port: proxy.port }];
    await using driver = await new TestDriver('/many', { servers, timeoutMs: 20_000 }).open();
    const names = Array.from({ length: MANY }, (_, i) => `0SLASH0m${i}`);
    for (let at = 0; at < MANY; at += 1_000) {
      await Promise.all(
        names
          .slice(at, at + 1_000)
          .map((name) => driver.put('MountTable', name, bytesOf(name.replace('0SLASH0', '/')), ADD)),
      );
    }
    const first = await driver.readAll('MountTable');
    expect(first.records.length).toBe(MANY);
    await using other = await new TestDriver('/many').open();
    await other.put('MountTable', names[7] as string, bytesOf('/m7', '/changed'), UPDATE);
    await other.remove('MountTable', names[8] as string);
    const before = proxy.toServer.passedBytes;
    const second = await driver.readAll('MountTable');
    expect(proxy.toServer.passedBytes - before).toBeLessThan(1_000);
    expect(second.records.length).toBe(MANY - 1);
    const byName = new Map(first.records.map((record) => [record.name, record]));
    const changed = second.records.filter((record) => byName.get(record.name) !== record);
    expect(changed.map((record) => [record.name, mountOf(record).destinations[0]?.path])).toEqual([
      ['0SLASH0m7', '/changed'],
    ]);
  });

  it('tells changes of mounts and disabled nameservices, several as one, not those of routers', async () => {
    await using driver = await new TestDriver('/news').open();
    await using other = await new TestDriver('/news').open();
    await waitUntil(() => driver.changes.length === 2, 'the new session tells of everything');
    for (const type of TYPES) await driver.readAll(type);
    driver.changes.length = 0;
    await other.put('RouterState', 'r', bytesOf('/not-looked-at'), UPDATE);
    await other.put('DisabledNameservice', 'ns0', bytesOf('/not-looked-at'), KEEP);
    await waitUntil(() => driver.changes.length > 0, 'a change is told');
    expect(driver.changes).toEqual(['DisabledNameservice']);
    await driver.readAll('DisabledNameservice');
    for (let i = 0; i < 20; i++) await other.put('MountTable', `m${i}`, bytesOf(`/m${i}`), ADD);
    await waitUntil(() => driver.changes.length > 1, 'a change is told');
    expect((await driver.sources()).length).toBe(20);
    driver.changes.length = 0;
    await Promise.all(
      Array.from({ length: 20 }, (_, i) => other.put('MountTable', `m${i}`, bytesOf(`/m${i}`, '/y'), UPDATE)),
    );
    await other.remove('MountTable', 'm0');
    await waitUntil(() => driver.changes.length > 0, 'a change is told');
    const { records } = await driver.readAll('MountTable');
    expect(new Set(records.map((record) => mountOf(record).destinations[0]?.path))).toEqual(new Set(['/y']));
    expect(records.length).toBe(19);
  });

  it('type nodes that are gone are made again', async () => {
    await using driver = await new TestDriver('/gone').open();
    await using session = await new TestSession([server.address]).open();
    const empty = async () => {
      for (const type of TYPES) await session.delete(`/gone/${type}`);
      await session.delete('/gone');
    };
    await empty();
    expect(await driver.readAll('RouterState')).toEqual({ records: [], problems: [] });
    expect((await session.getChildren('/gone', false)).toSorted()).toEqual(TYPES.toSorted());
    await empty();
    expect(await driver.put('MountTable', 'a', bytesOf('/a'), UPDATE)).toBe(true);
    expect(await driver.sources()).toEqual(['/a']);
  });
});

describe('an ensemble that fails', () => {
  it('absent at the start: told in bounded time; when it comes, everything is made and works', async () => {
    await using own = await ZooKeeperServer.start();
    await own.kill();
    await using driver = new TestDriver('/late', { servers: [own.address], timeoutMs: 800 });
    await expect(driver.start()).rejects.toThrow(
      /State Store in ZooKeeper at 127\.0\.0\.1:\d+, \/late: .*ECONNREFUSED.*hadoop\.zk\.address/,
    );
    await expect(driver.readAll('MountTable')).rejects.toThrow(/no answer in time/);
    expect(driver.ready).toBe(false);
    await own.restart();
    await waitUntil(() => driver.ready, 'the driver is connected');
    expect(await driver.readAll('MountTable')).toEqual({ records: [], problems: [] });
    expect(await driver.put('MountTable', 'a', bytesOf('/a'), ADD)).toBe(true);
    await driver.start();
    await waitUntil(() => driver.changes.includes('MountTable'), 'the new session tells of everything');
  });

  it('a hung server: reads and writes fail in time, afterwards all is as before', async () => {
    await using own = await ZooKeeperServer.start();
    const remarks: string[] = [];
    await using driver = await new TestDriver('/hung', { servers: [own.address], timeoutMs: 1_500 }, remarks).open();
    await driver.put('MountTable', 'a', bytesOf('/a'), ADD);
    expect(await driver.sources()).toEqual(['/a']);
    own.hang();
    const failures = await Promise.allSettled([
      driver.readAll('MountTable'),
      driver.put('MountTable', 'b', bytesOf('/b'), UPDATE),
      driver.remove('MountTable', 'zzz'),
    ]);
    expect(failures.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(remarks.some((text) => text.includes('no word from the server'))).toBe(true);
    own.resume();
    await waitUntil(() => driver.readAll('MountTable').catch(() => null), 'the store can be read');
    await driver.put('MountTable', 'c', bytesOf('/c'), UPDATE);
    const sources = await driver.sources();
    // The write of /b may have been done: it lay in the hung server's buffer.
    expect(sources.filter((source) => source !== '/b')).toEqual(['/a', '/c']);
  });

  it('cut in the middle of writes: an add knows whether it was its own', async () => {
    await using proxy = await FaultProxy.start(server);
    const servers = [{ host: proxy.host, port: proxy.port }];
    await using driver = await new TestDriver('/cuts', { servers, retryIntervalMs: 20 }).open();
    for (let i = 0; i < 30; i++) {
      const name = `k${i}`;
      // The answer is dropped before, in, or after its first bytes.
      proxy.toClient.freeze();
      const adding = driver.put('MountTable', name, bytesOf(`/k${i}`), ADD);
      if (i % 3 !== 0) await waitUntil(() => existsIn('/cuts/MountTable', name), 'the node is there');
      proxy.resetAll();
      proxy.toClient.thaw();
      expect(await adding).toBe(true);
      expect(await driver.put('MountTable', name, bytesOf(`/k${i}`, '/other'), ADD)).toBe(false);
      expect(await driver.put('MountTable', name, bytesOf(`/k${i}`, '/new'), { ...UPDATE, version: 0 })).toBe(true);
    }
    expect((await driver.readAll('MountTable')).records.length).toBe(30);
  });

  it('an expired session: watches are set again, no change is missed', async () => {
    await using proxy = await FaultProxy.start(server);
    const servers = [{ host: proxy.host, port: proxy.port }];
    const remarks: string[] = [];
    await using driver = await new TestDriver('/expired', { servers, timeoutMs: 1_000 }, remarks).open();
    await using other = await new TestDriver('/expired').open();
    await driver.put('MountTable', 'a', bytesOf('/a'), ADD);
    expect(await driver.sources()).toEqual(['/a']);
    proxy.freeze();
    await waitUntil(() => remarks.some((text) => text.includes('session expired')), 'the session expires');
    await other.put('MountTable', 'a', bytesOf('/a', '/y'), UPDATE);
    await other.put('MountTable', 'b', bytesOf('/b'), ADD);
    driver.changes.length = 0;
    proxy.resetAll();
    proxy.thaw();
    await waitUntil(() => driver.changes.includes('MountTable'), 'a change is told');
    const { records } = await driver.readAll('MountTable');
    expect(records.map((record) => mountOf(record).destinations[0]?.path)).toEqual(['/y', '/x']);
    driver.changes.length = 0;
    await other.put('MountTable', 'a', bytesOf('/a', '/z'), UPDATE);
    await waitUntil(() => driver.changes.includes('MountTable'), 'the watch is set again');
  });

  it('changes while records are read, and while connections break: in the end each is read as it is', async () => {
    await using proxy = await FaultProxy.start(server);
    const servers = [{ host: proxy.host, port: proxy.port }];
    await using driver = await new TestDriver('/while', { servers, retryIntervalMs: 20 }).open();
    await using other = await new TestDriver('/while').open();
    const stored = new Map<string, string>();
    for (let round = 0; round < ROUNDS; round++) {
      const reading = driver.readAll('MountTable');
      const changes = Array.from({ length: 1 + (round % 4) }, async (_, i) => {
        const name = `r${(round * 5 + i * 7) % 12}`;
        if ((round + i) % 4 === 0) {
          stored.delete(name);
          await other.remove('MountTable', name);
        } else {
          stored.set(name, `/${round}`);
          await other.put('MountTable', name, bytesOf(`/${name}`, `/${round}`), UPDATE);
        }
      });
      if (round % 10 === 9) proxy.resetAll();
      await Promise.all([reading, ...changes]);
      if (round % 3 !== 2) continue;
      const { records, problems } = await driver.readAll('MountTable');
      const read = records.map((record) => [record.name, mountOf(record).destinations[0]?.path]);
      expect([problems, read]).toEqual([[], [...stored].sort()]);
    }
  });
});

async function existsIn(parent: string, name: string): Promise<boolean> {
  await using session = await new TestSession([server.address]).open();
  return (await session.exists(`${parent}/${name}`)) !== null;
}
