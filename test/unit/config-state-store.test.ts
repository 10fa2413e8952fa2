import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Configuration } from '../../src/config/configuration.ts';
import { readStateStore } from '../../src/config/state-store.ts';

const DRIVER = 'dfs.federation.router.store.driver.class';
const DIRECTORY = 'dfs.federation.router.store.driver.file.directory';
const IMPLEMENTATIONS = 'org.apache.hadoop.hdfs.server.federation.store.driver.impl';
const FILE = { [DRIVER]: ` ${IMPLEMENTATIONS}.StateStoreFileImpl ` };
const FS_PATH = 'dfs.federation.router.store.driver.fs.path';
const FILE_SYSTEM = { [DRIVER]: `${IMPLEMENTATIONS}.StateStoreFileSystemImpl` };
const ADDRESS = 'hadoop.zk.address';
let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'switchyard-store-'));
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

function configure(settings: Readonly<Record<string, string>>): Configuration {
  const overrides = Object.entries(settings).map(([key, value]) => ({ key, value, origin: '--set' }));
  return new Configuration({ overrides, environment: {} });
}

describe('State Store', () => {
  it('is the directory of the file driver', () => {
    expect(readStateStore(configure({ ...FILE, [DIRECTORY]: root }))).toEqual({ kind: 'file', directory: root });
  });

  it('is none without a driver that has been set up', () => {
    expect(readStateStore(configure({}))).toEqual({ kind: 'none' });
    expect(readStateStore(configure({ [DIRECTORY]: root }))).toEqual({ kind: 'none' });
    expect(readStateStore(configure(FILE))).toEqual({ kind: 'none' });
    const off = { 'dfs.federation.router.store.enable': 'false' };
    expect(readStateStore(configure({ ...FILE, [DIRECTORY]: root, ...off }))).toEqual({ kind: 'none' });
    expect(readStateStore(configure({ 'hadoop.zk.address': 'zk:2181', ...off }))).toEqual({ kind: 'none' });
  });

  it.each([
    [{ [DRIVER]: `${IMPLEMENTATIONS}.StateStoreZooKeeperImpl` }, DRIVER],
    [{ [DRIVER]: `${IMPLEMENTATIONS}.StateStoreMySQLImpl` }, DRIVER],
    [{ [DRIVER]: `${IMPLEMENTATIONS}.StateStoreFileSystemImpl` }, DRIVER],
    [{ [DRIVER]: 'com.example.Store' }, DRIVER],
    [{ ...FILE_SYSTEM, [FS_PATH]: 'hdfs://ns0/store' }, FS_PATH],
    [{ ...FILE_SYSTEM, [FS_PATH]: '/store' }, FS_PATH],
  ])('is not read: %j', (settings, key) => {
    expect(readStateStore(configure(settings))).toEqual({ kind: 'unread', key });
  });

  it('is the local path of the FileSystem driver', () => {
    for (const uri of [`file://${root}`, `file:${root}`]) {
      expect(readStateStore(configure({ ...FILE_SYSTEM, [FS_PATH]: uri }))).toEqual({ kind: 'file', directory: root });
    }
    expect(() => readStateStore(configure({ ...FILE_SYSTEM, [FS_PATH]: 'file:///nonexist' }))).toThrow(
      'no such directory',
    );
    expect(() => readStateStore(configure({ ...FILE_SYSTEM, [FS_PATH]: 'file://host/x' }))).toThrow(
      'not the URI of a local',
    );
  });

  it("is the ensemble of an address, with Hadoop's defaults", () => {
    expect(readStateStore(configure({ [ADDRESS]: ' zk1, zk2:2182,[::1]:2183 ' }))).toEqual({
      kind: 'zookeeper',
      key: ADDRESS,
      zookeeper: {
        servers: [
          { host: 'zk1', port: 2181 },
          { host: 'zk2', port: 2182 },
          { host: '::1', port: 2183 },
        ],
        chroot: '',
        parentPath: '/hdfs-federation',
        timeoutMs: 10_000,
        numRetries: 1_000,
        retryIntervalMs: 1_000,
        acl: [{ permissions: 31, scheme: 'world', id: 'anyone' }],
        auth: [],
      },
    });
    const named = { [DRIVER]: `${IMPLEMENTATIONS}.StateStoreZooKeeperImpl`, [ADDRESS]: 'zk/a/b/' };
    expect(
      readStateStore(configure({ ...named, 'dfs.federation.router.store.driver.zk.parent-path': '/' })),
    ).toMatchObject({
      zookeeper: { servers: [{ host: 'zk', port: 2181 }], chroot: '/a/b', parentPath: '/' },
    });
  });

  it('takes rights and credentials of ZooKeeper as they are, or from files', () => {
    const acl = join(root, 'acl');
    const auth = join(root, 'auth');
    writeFileSync(acl, '\n digest:u:Jq7wMyA/w2Vd5WIDAKdu4OIIFEQ=:rwcda,\nip:10.0.0.0/8:r\n');
    writeFileSync(auth, 'digest:u:p:q\n');
    const read = (settings: Readonly<Record<string, string>>) =>
      readStateStore(configure({ [ADDRESS]: 'zk', ...settings }));
    const expected = {
      zookeeper: {
        acl: [
          { permissions: 31, scheme: 'digest', id: 'u:Jq7wMyA/w2Vd5WIDAKdu4OIIFEQ=' },
          { permissions: 1, scheme: 'ip', id: '10.0.0.0/8' },
        ],
        auth: [{ scheme: 'digest', auth: 'u:p:q' }],
      },
    };
    expect(read({ 'hadoop.zk.acl': `@${acl}`, 'hadoop.zk.auth': ` @${auth}` })).toMatchObject(expected);
    const inline = 'digest:u:Jq7wMyA/w2Vd5WIDAKdu4OIIFEQ=:rwcda,ip:10.0.0.0/8:r';
    expect(read({ 'hadoop.zk.acl': inline, 'hadoop.zk.auth': 'digest:u:p:q' })).toMatchObject(expected);
  });

  it.each([
    [{ [ADDRESS]: 'zk1:2181;zk2' }, "'zk1:2181;zk2' is not an address; write host:port,host:port"],
    [{ [ADDRESS]: 'zk:99999' }, "'zk:99999' is port 99999 is out of range"],
    [{ [ADDRESS]: '/only/a/path' }, 'names 0 servers'],
    [{ [ADDRESS]: Array.from({ length: 65 }, (_, i) => `zk${i}`).join() }, 'names 65 servers; name 1 to 64'],
    [{ [ADDRESS]: 'zk/a//b' }, "'/a//b' is no path of a node"],
    [{ 'dfs.federation.router.store.driver.zk.parent-path': 'relative' }, "'relative' is no path of a node"],
    [{ 'dfs.federation.router.store.driver.zk.parent-path': '/a/../b' }, 'is no path of a node'],
    [{ 'hadoop.zk.acl': 'world:anyone' }, "'world:anyone' is not scheme:id:rights"],
    [{ 'hadoop.zk.acl': 'world:anyone:rx' }, "'x' is no right; write scheme:id:rights"],
    [{ 'hadoop.zk.acl': 'world:anyone:' }, 'gives no right'],
    [{ 'hadoop.zk.acl': '@/nonexist' }, 'its file cannot be read (ENOENT)'],
    [{ 'hadoop.zk.auth': 'sesame' }, 'hadoop.zk.auth: an item is not scheme:auth'],
    [{ 'hadoop.zk.timeout-ms': '0' }, 'out of range'],
    [{ 'hadoop.zk.num-retries': '-1' }, 'out of range'],
    [{ 'hadoop.zk.retry-interval-ms': 'soon' }, 'a whole number'],
  ])('a wrong value of ZooKeeper is refused: %j', (settings, message) => {
    const all = { [ADDRESS]: 'zk', ...settings } as Record<string, string>;
    const error = captureError(() => readStateStore(configure(all)));
    expect(error.message).toContain(message);
    expect(error.message).not.toContain('sesame');
  });

  it('refuses what is no directory', () => {
    const file = join(root, 'file');
    writeFileSync(file, '');
    const readIn = (directory: string) => () => readStateStore(configure({ ...FILE, [DIRECTORY]: directory }));
    expect(readIn('/nonexist')).toThrow(
      `--set: ${DIRECTORY} = "/nonexist": there is no such directory; create it, or correct the path`,
    );
    expect(readIn('relative')).toThrow(/ = "relative": a relative path, .*; write the path from the root/);
    expect(readIn(`file://${root}`)).toThrow(/: a URI, where the file driver takes a plain path; write the path alone/);
    expect(readIn(file)).toThrow(': not a directory; correct the path');
  });
});

function captureError(act: () => unknown): Error {
  try {
    act();
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error('nothing was refused');
}
