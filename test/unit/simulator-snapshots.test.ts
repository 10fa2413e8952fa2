import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Plain } from '../../src/wire/messages.ts';
import { type Answer, DENIED, ILLEGAL, NOT_FOUND, namesOf, SimulatorCaller } from './simulator-caller.ts';

const SNAPSHOT = 'org.apache.hadoop.hdfs.protocol.SnapshotException';
const READ_ONLY =
  'org.apache.hadoop.hdfs.protocol.SnapshotAccessControlException: Modification on a read-only snapshot is disallowed';

let nn: SimulatorCaller;

beforeAll(async () => {
  nn = await SimulatorCaller.start({ listingLimit: 2, datanodes: [{ uuid: 'd0' }] });
});

afterAll(async () => {
  await nn.checkStandby();
  await nn[Symbol.asyncDispose]();
});

const allow = (snapshotRoot: string, user?: string): Promise<Answer> => nn.ask('allowSnapshot', { snapshotRoot }, user);
const take = (snapshotRoot: string, snapshotName?: string, user?: string): Promise<Answer> =>
  nn.ask('createSnapshot', { snapshotRoot, ...(snapshotName === undefined ? {} : { snapshotName }) }, user);
const drop = (snapshotRoot: string, snapshotName: string): Promise<Answer> =>
  nn.ask('deleteSnapshot', { snapshotRoot, snapshotName });

describe('snapshots', () => {
  it('show the tree as it was', async () => {
    await nn.mkdirs('/s/d');
    await nn.write('/s/d/f', [10]);
    expect(await take('/s', 's1')).toBe(`${SNAPSHOT}: Directory is not a snapshottable directory: /s`);
    expect(await allow('/s')).toEqual({});
    expect(await nn.info('/s')).toMatchObject({ flags: 8 });
    expect(await take('/s', 's1')).toEqual({ snapshotPath: '/s/.snapshot/s1' });
    await nn.write('/s/d/f', [20]);
    await nn.ask('delete', { src: '/s/d/f', recursive: false });
    expect(await nn.page('/s/.snapshot/s1/d')).toEqual({ names: ['f'], remaining: 0 });
    expect(await nn.info('/s/.snapshot/s1/d/f')).toMatchObject({ length: 10 });
    expect(await nn.ask('getBlockLocations', { src: '/s/.snapshot/s1/d/f', offset: 0, length: 1 })).toMatchObject({
      locations: { fileLength: 10 },
    });
    expect(await nn.info('/s/.snapshot')).toMatchObject({ fileType: 'IS_DIR', permission: { perm: 0o777 }, owner: '' });
    expect(await nn.info('/s/.snapshot/none')).toBeUndefined();
    expect(await nn.info('/s/d/.snapshot')).toBeUndefined();
    expect(await nn.page('/s/d/.snapshot')).toBe(`${NOT_FOUND}: Directory does not exist: /s/d/.snapshot`);
    const { summary } = (await nn.ask('getContentSummary', { path: '/s' })) as { summary: Plain };
    expect(summary).toMatchObject({ fileCount: 0, snapshotFileCount: 0 });
  });

  it('cannot be changed', async () => {
    expect(await nn.mkdirs('/s/.snapshot/s1/x')).toBe(READ_ONLY);
    expect(await nn.mkdirs('/s/.snapshot/x')).toBe(READ_ONLY);
    expect(await nn.ask('delete', { src: '/s/.snapshot/s1', recursive: true })).toBe(READ_ONLY);
    expect(await nn.ask('setPermission', { src: '/s/.snapshot/s1/d', permission: { perm: 0 } })).toBe(READ_ONLY);
    expect(await nn.ask('rename2', { src: '/s/d', dst: '/s/.snapshot/s1/e', overwriteDest: false })).toBe(READ_ONLY);
    expect(await nn.mkdirs('/s/d/.snapshot')).toBe(`${ILLEGAL}: ".snapshot" is a reserved name.`);
  });

  it('hold their directory back', async () => {
    const held = `${SNAPSHOT}: The directory /s cannot be deleted since /s is snapshottable and already has snapshots`;
    expect(await nn.ask('delete', { src: '/s', recursive: true })).toBe(held);
    expect(await nn.ask('rename2', { src: '/s', dst: '/moved', overwriteDest: false })).toBe(held);
    expect(await nn.ask('disallowSnapshot', { snapshotRoot: '/s' })).toBe(
      `${SNAPSHOT}: The directory /s has snapshot(s). Please redo the operation after removing all the snapshots.`,
    );
  });

  it('are named, renamed, listed and deleted', async () => {
    await nn.mkdirs('/n');
    await allow('/n');
    for (const name of ['b', 'a', 'c']) await take('/n', name);
    expect(await take('/n', 'b')).toBe(
      `${SNAPSHOT}: Failed to add snapshot: there is already a snapshot with the same name "b".`,
    );
    expect(await take('/n', 'x/y')).toBe(`${ILLEGAL}: Snapshot name cannot contain "/"`);
    expect(await take('/n', '.snapshot')).toContain('is a reserved name');
    expect(await nn.page('/n/.snapshot')).toEqual({ names: ['a', 'b'], remaining: 1 });
    expect(await nn.page('/n/.snapshot', 'b')).toEqual({ names: ['c'], remaining: 0 });
    const rename = (snapshotOldName: string, snapshotNewName: string): Promise<Answer> =>
      nn.ask('renameSnapshot', { snapshotRoot: '/n', snapshotOldName, snapshotNewName });
    expect(await rename('a', 'z')).toEqual({});
    expect(await rename('a', 'y')).toBe(`${SNAPSHOT}: The snapshot a does not exist for directory /n`);
    expect(await rename('b', 'c')).toBe(`${SNAPSHOT}: The snapshot c already exists for directory /n`);
    expect(await nn.info('/n/.snapshot/z')).toBeDefined();
    const { snapshotList } = (await nn.ask('getSnapshotListing', { snapshotRoot: '/n' })) as { snapshotList: Plain };
    const listed = snapshotList['snapshotListing'] as Plain[];
    expect(listed.map((one) => `${(one['dirStatus'] as Plain)['path']} ${one['snapshotID']}`)).toEqual([
      'b 1',
      'c 3',
      'z 2',
    ]);
    expect(String(listed[0]!['parent_fullpath'])).toBe('/n');
    expect(await drop('/n', 'none')).toBe(
      `${SNAPSHOT}: Cannot delete snapshot none from path /n: the snapshot does not exist.`,
    );
    expect(await drop('/n', 'c')).toEqual({});
    expect(await nn.info('/n/.snapshot/c')).toBeUndefined();
    const unnamed = (await take('/n')) as Plain;
    expect(unnamed['snapshotPath']).toMatch(/^\/n\/\.snapshot\/s\d{8}-\d{6}\.\d{3}$/);
  });

  it('are allowed by the superuser, not within one another, and taken by the owner', async () => {
    await nn.mkdirs('/o/p/q');
    expect(await allow('/o/p', 'bob')).toContain(DENIED);
    expect(await allow('/none')).toBe(`${NOT_FOUND}: Directory does not exist: /none`);
    await allow('/o/p');
    const nested = `${SNAPSHOT}: Nested snapshottable directories not allowed: path=`;
    expect(await allow('/o')).toBe(`${nested}/o, the subdirectory /o/p is already a snapshottable directory.`);
    expect(await allow('/o/p/q')).toBe(`${nested}/o/p/q, the ancestor /o/p is already a snapshottable directory.`);
    expect(await take('/o/p', 's', 'bob')).toContain('user=bob is not the owner of inode=/o/p');
    await nn.ask('setOwner', { src: '/o/p', username: 'bob' });
    expect(await take('/o/p', 's', 'bob')).toEqual({ snapshotPath: '/o/p/.snapshot/s' });
    const pathsOf = (answer: Answer): string[] =>
      (((answer as Plain)['snapshottableDirList'] as Plain)['snapshottableDirListing'] as Plain[]).map(
        (one) => `${one['parent_fullpath']} ${(one['dirStatus'] as Plain)['path']} ${one['snapshot_number']}`,
      );
    expect(pathsOf(await nn.ask('getSnapshottableDirListing'))).toEqual(['/ n 3', '/o p 1', '/ s 1']);
    expect(pathsOf(await nn.ask('getSnapshottableDirListing', {}, 'bob'))).toEqual(['/o p 1']);
    await drop('/o/p', 's');
    expect(await nn.ask('disallowSnapshot', { snapshotRoot: '/o/p' })).toEqual({});
    expect(await nn.ask('delete', { src: '/o', recursive: true })).toEqual({ result: true });
  });
});

describe('snapshot differences', () => {
  const diff = (fromSnapshot: string, toSnapshot: string, snapshotRoot = '/diff'): Promise<Answer> =>
    nn.ask('getSnapshotDiffReport', { snapshotRoot, fromSnapshot, toSnapshot });
  const linesOf = (answer: Answer): string[] =>
    (((answer as Plain)['diffReport'] as Plain)['diffReportEntries'] as Plain[]).map((one) =>
      [one['modificationLabel'], one['fullpath'], one['targetPath'] ?? ''].join(' ').trim(),
    );

  beforeAll(async () => {
    for (const path of ['/diff/keep', '/diff/gone', '/diff/old']) await nn.mkdirs(path);
    await nn.write('/diff/f', [1]);
    await allow('/diff');
    await take('/diff', 'a');
    await nn.ask('delete', { src: '/diff/gone', recursive: true });
    await nn.ask('rename2', { src: '/diff/old', dst: '/diff/keep/new', overwriteDest: false });
    await nn.mkdirs('/diff/made');
    await nn.ask('setPermission', { src: '/diff/f', permission: { perm: 0o600 } });
    await take('/diff', 'b');
  });

  it('are reported from either side', async () => {
    expect(linesOf(await diff('a', 'b'))).toEqual(['M', '+ made', '- gone', 'R old keep/new', 'M f', 'M keep']);
    expect(linesOf(await diff('b', 'a'))).toEqual(['M', '+ gone', '- made', 'M f', 'M keep', 'R keep/new old']);
    expect(linesOf(await diff('a', ''))).toEqual(linesOf(await diff('a', 'b')));
    expect(linesOf(await diff('b', ''))).toEqual([]);
    expect(linesOf(await diff('a', 'a'))).toEqual([]);
    expect(linesOf(await diff('a', 'b', '/diff/keep'))).toEqual(['M', '+ new']);
    expect(await diff('a', 'x')).toBe(`${SNAPSHOT}: Cannot find the snapshot of directory /diff with name x`);
    await nn.mkdirs('/plain');
    expect(await diff('a', 'b', '/plain')).toBe(
      `${SNAPSHOT}: The path /plain is neither snapshottable nor under a snapshot root!`,
    );
  });

  it('are listed page by page, from the earlier to the later', async () => {
    const seen: string[] = [];
    let cursor: unknown;
    for (let page = 0; page < 10; page++) {
      const { diffReport } = (await nn.ask('getSnapshotDiffReportListing', {
        snapshotRoot: '/diff',
        fromSnapshot: 'b',
        toSnapshot: 'a',
        ...(cursor === undefined ? {} : { cursor }),
      })) as { diffReport: Plain };
      expect(diffReport['isFromEarlier']).toBe(false);
      for (const kind of ['modifiedEntries', 'createdEntries', 'deletedEntries']) {
        for (const one of diffReport[kind] as Plain[]) seen.push(`${kind[0]} ${one['fullpath']}`.trim());
      }
      cursor = diffReport['cursor'];
      if ((cursor as Plain)['index'] === -1) break;
    }
    expect(seen.toSorted()).toEqual(['c keep/new', 'c made', 'd gone', 'd old', 'm', 'm f', 'm keep']);
  });
});

it('lists what is in a snapshot by its own names', async () => {
  const answer = (await nn.ask('getListing', {
    src: '/diff/.snapshot/a',
    startAfter: Buffer.alloc(0),
    needLocation: false,
  })) as Plain;
  expect(namesOf(answer['dirList'] as Plain)).toEqual(['f', 'gone']);
});
