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
    [{ 'hadoop.zk.address': 'zk:2181' }, 'hadoop.zk.address'],
    [{ [DRIVER]: `${IMPLEMENTATIONS}.StateStoreZooKeeperImpl` }, DRIVER],
    [{ [DRIVER]: `${IMPLEMENTATIONS}.StateStoreMySQLImpl` }, DRIVER],
    [{ [DRIVER]: `${IMPLEMENTATIONS}.StateStoreFileSystemImpl` }, DRIVER],
    [{ [DRIVER]: 'com.example.Store' }, DRIVER],
  ])('is not read: %j', (settings, key) => {
    expect(readStateStore(configure(settings))).toEqual({ kind: 'unread', key });
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
