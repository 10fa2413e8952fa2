import { beforeEach, describe, expect, it } from 'vitest';
import type { Plain } from '../../src/wire/messages.ts';
import {
  ask,
  asked,
  beginAnew,
  CREATE,
  complete,
  create,
  file,
  info,
  list,
  mkdirs,
  NOW_MS,
  newNameservice,
  OVERWRITE,
  rename,
  rename2,
} from './simulator-executed.ts';

const IO = 'java.io.IOException';
const NOT_FOUND = 'java.io.FileNotFoundException';
const DENIED = 'org.apache.hadoop.security.AccessControlException';
const EXISTS = 'org.apache.hadoop.fs.FileAlreadyExistsException';
const INVALID = 'org.apache.hadoop.fs.InvalidPathException';
const NOT_A_DIRECTORY = 'org.apache.hadoop.fs.ParentNotDirectoryException';
const ILLEGAL = 'org.apache.hadoop.HadoopIllegalArgumentException';
const LEASE = 'org.apache.hadoop.hdfs.server.namenode.LeaseExpiredException';
const OPEN = 'org.apache.hadoop.hdfs.protocol.AlreadyBeingCreatedException';

beforeEach(beginAnew);

describe('mkdirs', () => {
  it('makes parents that their owner can enter, and answers true for what is there', () => {
    expect(mkdirs('/z0/z1', 'root', 0)).toEqual({ result: true });
    expect(info('/z0')).toMatchObject({ permission: { perm: 0o300 }, owner: 'root', group: 'supergroup' });
    expect(info('/z0/z1')).toMatchObject({ permission: { perm: 0 }, modification_time: NOW_MS, access_time: 0 });
    expect(mkdirs('/z0/z1')).toEqual({ result: true });
    expect(info('/z0/z1')).toMatchObject({ permission: { perm: 0 } });
    expect(mkdirs('/')).toEqual({ result: true });
  });

  it.each([
    ['//x//y', `${INVALID}: Invalid path name Invalid file name: //x//y`],
    ['/a/../z', `${INVALID}: Invalid path name Invalid file name: /a/../z`],
    ['/a/x:y', `${INVALID}: Invalid path name Invalid file name: /a/x:y`],
    ['a', `${INVALID}: Invalid path name Invalid file name: a`],
    ['', 'java.lang.IllegalArgumentException: Can not create a Path from an empty string'],
    ['/a/.snapshot', `${ILLEGAL}: ".snapshot" is a reserved name.`],
    [`/${'abcdefg/'.repeat(1001)}`, `${IO}: mkdirs: Pathname too long.  Limit 8000 characters, 1000 levels.`],
    ['/f', `${EXISTS}: Path is not a directory: /f`],
    ['/f/d', `${NOT_A_DIRECTORY}: /f (is not a directory)`],
  ])('refuses %s', (path, text) => {
    file('/f');
    expect(mkdirs(path)).toBe(text);
  });

  it('refuses names above 255 bytes and leaves nothing behind', () => {
    expect(mkdirs(`/new/${'n'.repeat(255)}`)).toEqual({ result: true });
    expect(mkdirs(`/other/${'é'.repeat(128)}`)).toContain(
      'PathComponentTooLongException: The maximum path component name limit of é',
    );
    expect(info('/other')).toBeUndefined();
  });

  it('needs the parent when told so', () => {
    expect(mkdirs('/n1/n2', 'root', 0o755, false)).toBe(`${NOT_FOUND}: Parent directory doesn't exist: /n1`);
    expect(mkdirs('/n1', 'root', 0o755, false)).toEqual({ result: true });
  });
});

describe('create', () => {
  it('opens a file and closes it', () => {
    expect(create('/p1/p2/f')).toMatchObject({ fs: { fileType: 'IS_FILE', owner: 'root', block_replication: 3 } });
    expect(info('/p1/p2')).toMatchObject({ permission: { perm: 0o755 } });
    expect(ask('isFileClosed', { src: '/p1/p2/f' })).toEqual({ result: false });
    expect(complete('/p1/p2/f')).toEqual({ result: true });
    expect(complete('/p1/p2/f')).toEqual({ result: true });
    expect(ask('isFileClosed', { src: '/p1/p2/f' })).toEqual({ result: true });
    expect(ask('getBlockLocations', { src: '/p1/p2/f', offset: 0, length: 1 })).toEqual({
      locations: { fileLength: 0, blocks: [], underConstruction: false, isLastBlockComplete: false },
    });
  });

  it('says what is in its way', () => {
    mkdirs('/d');
    file('/f');
    expect(create('/d')).toBe(`${EXISTS}: /d already exists as a directory`);
    expect(create('/f')).toBe(`${EXISTS}: /f for client 10.0.0.1 already exists`);
    expect(create('/none', 'root', { createFlag: OVERWRITE })).toBe(`${NOT_FOUND}: Can't overwrite non-existent /none`);
    expect(create('/np/f', 'root', { createParent: false })).toBe(`${NOT_FOUND}: Parent directory doesn't exist: /np`);
    expect(create('/f/g/h')).toBe(`${NOT_A_DIRECTORY}: /f (is not a directory)`);
    expect(create('/a/../f')).toBe(`${INVALID}: Invalid path name /a/../f`);
    expect(create('/.reserved/f')).toBe(`${INVALID}: Invalid path name /.reserved/f`);
    expect(create('/r', 'root', { replication: 0 })).toBe(
      `${IO}: Requested replication factor of 0 is less than the required minimum of 1 for /r, clientName=10.0.0.1`,
    );
    expect(create('/r', 'root', { storagePolicy: 'NOPE' })).toBe(
      `${ILLEGAL}: Cannot find a block policy with the name NOPE`,
    );
    expect(info('/r')).toBeUndefined();
  });

  it('overwrites with a new inode', () => {
    file('/f');
    const before = info('/f') as Plain;
    expect(create('/f', 'root', { createFlag: CREATE | OVERWRITE })).toMatchObject({ fs: { length: 0 } });
    expect((info('/f') as Plain)['fileId']).not.toBe(before['fileId']);
  });

  it('guards files that are open', () => {
    create('/f');
    expect(create('/f')).toBe(
      `${OPEN}: Failed to CREATE_FILE /f for c1 on 10.0.0.1 because c1 is already the current lease holder.`,
    );
    expect(ask('append', { src: '/f', clientName: 'c2' })).toBe(
      `${OPEN}: Failed to APPEND_FILE /f for c2 on 10.0.0.1 because this file lease is currently owned by c1 on 10.0.0.1`,
    );
    expect(complete('/f', 'c2')).toBe(
      `${LEASE}: Client (=c2) is not the lease owner (=c1: /f (inode 0) Holder c2 does not have any open files.`,
    );
    expect(complete('/f', 'c1', { fileId: 99_999 })).toBe(
      `${NOT_FOUND}: File does not exist: /f (inode 99999) [Lease.  Holder: c1, pending creates: 1]`,
    );
  });

  it('gives up a lease that was not renewed for a minute', () => {
    create('/f');
    asked.nowMs += 50_000;
    ask('renewLease', { clientName: 'c1', namespaces: [] });
    asked.nowMs += 50_000;
    expect(ask('append', { src: '/f', clientName: 'c2' })).toContain(OPEN);
    asked.nowMs += 20_000;
    expect(ask('append', { src: '/f', clientName: 'c2' })).toMatchObject({ stat: { length: 0 } });
  });

  it('finds an open file by its id after a rename', () => {
    const created = create('/f') as Plain;
    const { fileId } = created['fs'] as Plain;
    rename('/f', '/g');
    expect(complete('/f', 'c1', { fileId })).toEqual({ result: true });
    expect(ask('isFileClosed', { src: '/g' })).toEqual({ result: true });
  });

  it('has no DataNodes to write to', () => {
    create('/f');
    expect(ask('addBlock', { src: '/f', clientName: 'c1', excludeNodes: [], favoredNodes: [], flags: [] })).toBe(
      `${IO}: File /f could only be written to 0 of the 1 minReplication nodes. ` +
        'There are 0 datanode(s) running and 0 node(s) are excluded in this operation.',
    );
    expect(ask('recoverLease', { src: '/f', clientName: 'c9' })).toEqual({ result: true });
    expect(ask('fsync', { src: '/f', client: 'c1' })).toBe(
      `${LEASE}: File is not open for writing: /f (inode 0) Holder c1 does not have any open files.`,
    );
  });
});

describe('delete', () => {
  it('removes what it may', () => {
    mkdirs('/a/b');
    expect(ask('delete', { src: '/a', recursive: false })).toBe(
      "org.apache.hadoop.fs.PathIsNotEmptyDirectoryException: `/a is non empty': Directory is not empty",
    );
    expect(ask('delete', { src: '/none', recursive: true })).toEqual({ result: false });
    expect(ask('delete', { src: '/', recursive: true })).toEqual({ result: false });
    expect(ask('delete', { src: '/a', recursive: true })).toEqual({ result: true });
    expect(info('/a/b')).toBeUndefined();
    expect(ask('delete', { src: 'a', recursive: true })).toBe(
      "java.lang.AssertionError: Absolute path required, but got 'a'",
    );
  });

  it('closes the files below', () => {
    create('/a/f');
    ask('delete', { src: '/a', recursive: true });
    expect(complete('/a/f')).toBe(
      `${NOT_FOUND}: File does not exist: /a/f (inode 0) Holder c1 does not have any open files.`,
    );
  });
});

describe('rename', () => {
  beforeEach(() => {
    mkdirs('/d1/e');
    mkdirs('/d2');
    file('/f1');
    file('/f2');
  });

  it.each([
    ['/none', '/x', false],
    ['/f1', '/f1', true],
    ['/d1', '/d1', false],
    ['/d1', '/d1/e/x', false],
    ['/f1', '/f2', false],
    ['/f1', '/d2', true],
    ['/f1', '/nope/x', false],
    ['/', '/x', false],
    ['/d1', '/d3', true],
    ['/d1/e', '/', true],
    ['/d1/e', '/d1', true],
    ['/f1', '/f3/', true],
    ['/../f1', '/x', false],
    ['/f1', '/f2/x', `${NOT_A_DIRECTORY}: /f2 (is not a directory)`],
    ['/f2/x', '/y', `${DENIED}: /f2 (is not a directory)`],
    ['/f1', '/a/../x', `${INVALID}: Invalid path name Invalid file name: /a/../x`],
    ['f1', '/x', "java.lang.AssertionError: Absolute path required, but got 'f1'"],
  ])('%s to %s', (src, dst, expected) => {
    expect(rename(src, dst)).toBe(expected);
  });

  it('moves into a directory under the old name, once', () => {
    rename('/f1', '/d2');
    expect(list('/d2')).toEqual(['f1']);
    file('/f1');
    expect(rename('/f1', '/d2')).toBe(false);
  });

  it.each([
    ['/none', '/x', false, `${NOT_FOUND}: rename source /none is not found.`],
    ['/', '/x', false, `${IO}: rename source cannot be the root`],
    ['/f1', '/', true, `${IO}: rename destination cannot be the root`],
    ['/f1', '/f1', true, `${EXISTS}: The source /f1 and destination /f1 are the same`],
    ['/d1', '/d1/e/x', false, `${IO}: Rename destination /d1/e/x is a directory or file under source /d1`],
    ['/f1', '/f2', false, `${EXISTS}: rename destination /f2 already exists`],
    ['/f1', '/d2', true, `${IO}: Source /f1 and destination /d2 must both be directories`],
    ['/d2', '/d1', true, `${IO}: rename destination directory is not empty: /d1`],
    ['/f1', '/nope/x', false, `${NOT_FOUND}: rename destination parent /nope/x not found.`],
  ])('rename2 %s to %s, overwrite %s', (src, dst, overwrite, text) => {
    expect(rename2(src, dst, overwrite)).toBe(text);
  });

  it('rename2 replaces files and empty directories', () => {
    const { fileId } = info('/f1') as Plain;
    expect(rename2('/f1', '/f2', true)).toEqual({});
    expect(info('/f2')).toMatchObject({ fileId });
    expect(info('/f1')).toBeUndefined();
    expect(rename2('/d1', '/d2', true)).toEqual({});
    expect(list('/d2')).toEqual(['e']);
  });
});

describe('listing', () => {
  it('pages in byte order', () => {
    asked.namenode = newNameservice(2).namenodes[0]!;
    const names = ['a', 'b.', 'b0', '\u{1f600}', '\uffee', 'é'];
    for (const name of names) mkdirs(`/l/${name}`);
    const ordered = [...names].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    const seen: string[] = [];
    const remaining: unknown[] = [];
    for (let after = ''; ; ) {
      const answer = ask('getListing', { src: '/l', startAfter: Buffer.from(after), needLocation: false }) as Plain;
      const page = answer['dirList'] as Plain;
      const entries = (page['partialListing'] as Plain[]).map((entry) => String(entry['path']));
      seen.push(...entries);
      remaining.push(page['remainingEntries']);
      if (page['remainingEntries'] === 0) break;
      after = entries.at(-1) ?? '';
    }
    expect(seen).toEqual(ordered);
    expect(remaining).toEqual([4, 2, 0]);
  });

  it('goes on after a name that is gone, and after an inode path', () => {
    for (const name of ['a', 'b', 'c']) mkdirs(`/l/${name}`);
    expect(list('/l', 'aa')).toEqual(['b', 'c']);
    const { fileId } = info('/l/b') as Plain;
    expect(list('/l', `/.reserved/.inodes/${fileId}`)).toEqual(['c']);
  });

  it('lists a file as itself and nothing for what is not there', () => {
    file('/f');
    expect(list('/f')).toEqual(['']);
    expect(ask('getListing', { src: '/none', startAfter: Buffer.alloc(0), needLocation: false })).toEqual({});
  });
});

describe('reserved paths', () => {
  it('lead to inodes by id and to the raw tree', () => {
    mkdirs('/a/b');
    const { fileId } = info('/a') as Plain;
    expect(info(`/.reserved/.inodes/${fileId}/b`)).toMatchObject({ fileType: 'IS_DIR' });
    expect(info(`/.reserved/.inodes/${fileId}/..`)).toMatchObject({ fileId: 16_385 });
    expect(info('/.reserved/raw/a')).toMatchObject({ fileId });
    expect(info('/.reserved/.inodes/99999')).toBe(
      `${NOT_FOUND}: File for given inode path does not exist: /.reserved/.inodes/99999`,
    );
  });
});

describe('permissions', () => {
  const denied = (access: string, inode: string): string =>
    `${DENIED}: Permission denied: user=alice, access=${access}, inode=${inode}`;
  const ROOT = '"/":root:supergroup:drwxr-xr-x';

  beforeEach(() => {
    mkdirs('/priv/sub', 'root', 0o700);
    ask('setPermission', { src: '/priv', permission: { perm: 0o700 } });
    mkdirs('/pub', 'root', 0o777);
    mkdirs('/sticky', 'root', 0o1777);
    file('/sticky/f');
    file('/f');
  });

  it('names the inode that refuses', () => {
    expect(mkdirs('/x/y', 'alice')).toBe(denied('WRITE', ROOT));
    expect(mkdirs('/pub', 'alice')).toEqual({ result: true });
    expect(info('/priv/sub', 'alice')).toBe(denied('EXECUTE', '"/priv":root:supergroup:drwx------'));
    expect(info('/priv', 'alice')).toMatchObject({ fileType: 'IS_DIR' });
    expect(list('/priv', '', 'alice')).toBe(denied('READ_EXECUTE', '"/priv":root:supergroup:drwx------'));
    expect(ask('append', { src: '/f', clientName: 'c' }, 'alice')).toBe(
      denied('WRITE', '"/f":root:supergroup:-rw-r--r--'),
    );
    expect(ask('getContentSummary', { path: '/' }, 'alice')).toBe(
      denied('READ_EXECUTE', '"/priv":root:supergroup:drwx------'),
    );
    expect(ask('delete', { src: '/f', recursive: true }, 'alice')).toBe(denied('WRITE', ROOT));
    expect(rename('/pub', '/z', 'alice')).toBe(denied('WRITE', ROOT));
    expect(ask('checkAccess', { path: '/f', mode: 'PERM_ALL' }, 'alice')).toBe(
      denied('ALL', '"/f":root:supergroup:-rw-r--r--'),
    );
    expect(info('/f/x', 'alice')).toBe(`${DENIED}: /f (is not a directory)`);
    expect(info('/f/x')).toBeUndefined();
    for (const user of ['alice', 'hdfs']) expect(list('/f/x', '', user)).toBe(`${DENIED}: /f (is not a directory)`);
    expect(ask('getLinkTarget', { path: '/f/x' }, 'alice')).toBe(`${DENIED}: /f (is not a directory)`);
    expect(ask('getLinkTarget', { path: '/f/x' })).toBe('java.io.FileNotFoundException: File does not exist: /f/x');
    for (const method of ['allowSnapshot', 'disallowSnapshot']) {
      expect(ask(method, { snapshotRoot: '/f/x' })).toBe(`${NOT_A_DIRECTORY}: /f (is not a directory)`);
    }
  });

  it('keeps sticky directories', () => {
    expect(ask('delete', { src: '/sticky/f', recursive: false }, 'alice')).toBe(
      `${DENIED}: Permission denied by sticky bit: user=alice, path="/sticky/f":root:supergroup:-rw-r--r--, ` +
        'parent="/sticky":root:supergroup:drwxrwxrwt',
    );
  });

  it('lets owners and group members act', () => {
    expect(create('/pub/f', 'alice')).toMatchObject({ fs: { owner: 'alice', group: 'supergroup' } });
    const setOwner = (username: string | undefined, groupname: string | undefined, user: string): Plain | string =>
      ask('setOwner', { src: '/pub/f', username, groupname }, user);
    expect(setOwner('bob', undefined, 'alice')).toBe(
      `${DENIED}: User alice is not a super user (non-super user cannot change owner).`,
    );
    expect(setOwner(undefined, 'zz', 'alice')).toBe(`${DENIED}: User alice does not belong to zz`);
    expect(setOwner('bob', 'other', 'root')).toEqual({});
    expect(setOwner(undefined, 'staff', 'bob')).toEqual({});
    expect(info('/pub/f')).toMatchObject({ owner: 'bob', group: 'staff' });
    expect(ask('setPermission', { src: '/pub/f', permission: { perm: 0o777 } }, 'alice')).toBe(
      `${DENIED}: Permission denied. user=alice is not the owner of inode=/pub/f`,
    );
  });

  it('reserves some operations for the superuser', () => {
    expect(ask('getDatanodeReport', { type: 'LIVE' }, 'alice')).toBe(
      `${DENIED}: Access denied for user alice. Superuser privilege is required for operation datanodeReport`,
    );
    expect(ask('getDatanodeReport', { type: 'LIVE' })).toEqual({ di: [] });
  });
});

describe('attributes', () => {
  it('change what is there', () => {
    file('/f');
    expect(ask('setTimes', { src: '/f', mtime: 1000, atime: -1 })).toEqual({});
    expect(ask('setReplication', { src: '/f', replication: 2 })).toEqual({ result: true });
    expect(ask('setReplication', { src: '/', replication: 2 })).toEqual({ result: false });
    expect(info('/f')).toMatchObject({ modification_time: 1000, access_time: NOW_MS, block_replication: 2 });
    expect(ask('setTimes', { src: '/none', mtime: 1, atime: 1 })).toBe(
      `${NOT_FOUND}: File/Directory /none does not exist.`,
    );
  });

  it('inherit storage policies', () => {
    file('/a/f');
    ask('setStoragePolicy', { src: '/a', policyName: 'COLD' });
    expect(info('/a/f')).toMatchObject({ storagePolicy: 2 });
    expect(ask('getStoragePolicy', { path: '/a/f' })).toMatchObject({ storagePolicy: { name: 'COLD' } });
    ask('unsetStoragePolicy', { src: '/a' });
    expect(ask('getStoragePolicy', { path: '/a/f' })).toMatchObject({ storagePolicy: { name: 'HOT' } });
  });

  it('hold extended attributes', () => {
    file('/f');
    const xAttr = { namespace: 'USER', name: 'k', value: Buffer.from('v') };
    expect(ask('setXAttr', { src: '/f', xAttr, flag: 1 })).toEqual({});
    expect(ask('setXAttr', { src: '/f', xAttr, flag: 1 })).toBe(
      `${IO}: XAttr: k already exists. The REPLACE flag must be specified.`,
    );
    expect(ask('getXAttrs', { src: '/f', xAttrs: [] })).toEqual({ xAttrs: [xAttr] });
    expect(ask('removeXAttr', { src: '/f', xAttr })).toEqual({});
    expect(ask('removeXAttr', { src: '/f', xAttr })).toBe(`${IO}: No matching attributes found for remove operation`);
  });

  it('limit names below a directory', () => {
    mkdirs('/q/d');
    const unset = 2n ** 63n - 1n;
    expect(ask('setQuota', { path: '/q', namespaceQuota: 3, storagespaceQuota: unset })).toEqual({});
    expect(mkdirs('/q/e')).toEqual({ result: true });
    const full = (count: number): string =>
      'org.apache.hadoop.hdfs.protocol.NSQuotaExceededException: The NameSpace quota (directories and files) of ' +
      `directory /q is exceeded: quota=3 file count=${count}`;
    expect(mkdirs('/q/g')).toBe(full(4));
    expect(mkdirs('/q/g/h')).toBe(full(5));
    expect(create('/q/g')).toBe(full(4));
    file('/f');
    expect(rename('/f', '/q/f')).toBe(full(4));
    expect(rename('/q/e', '/q/y')).toBe(true);
    expect(ask('getContentSummary', { path: '/q' })).toMatchObject({
      summary: { directoryCount: 3, fileCount: 0, quota: 3, spaceQuota: -1 },
    });
    expect(ask('setQuota', { path: '/q', namespaceQuota: -1, storagespaceQuota: unset })).toEqual({});
    expect(rename('/f', '/q/f')).toBe(true);
  });

  it('sum up', () => {
    file('/a/b/f');
    expect(ask('getContentSummary', { path: '/' })).toMatchObject({
      summary: { directoryCount: 3, fileCount: 1, length: 0, quota: 2n ** 63n - 1n },
    });
    expect(ask('getQuotaUsage', { path: '/a' })).toMatchObject({ usage: { fileAndDirectoryCount: 3, quota: -1 } });
    expect(ask('getContentSummary', { path: '/none' })).toBe(`${NOT_FOUND}: File does not exist: /none`);
  });
});

describe('safe mode', () => {
  it('stops changes, not reads', () => {
    expect(ask('setSafeMode', { action: 'SAFEMODE_ENTER', checked: false })).toEqual({ result: true });
    expect(mkdirs('/x')).toBe(
      'org.apache.hadoop.hdfs.server.namenode.SafeModeException: Cannot create directory /x. Name node is in safe ' +
        'mode.\nIt was turned on manually. Use "hdfs dfsadmin -safemode leave" to turn safe mode off. ' +
        'NamenodeHostName:localhost',
    );
    expect(info('/')).toMatchObject({ fileType: 'IS_DIR' });
    expect(ask('setSafeMode', { action: 'SAFEMODE_LEAVE', checked: false })).toEqual({ result: false });
    expect(mkdirs('/x')).toEqual({ result: true });
  });
});

describe('retry cache', () => {
  const ids = { clientId: Buffer.alloc(16, 7), callId: 5 };

  it('answers a repeated call with the first answer', () => {
    file('/f');
    const call = (method: string, request: object, more = ids): Plain | string => ask(method, request, 'root', more);
    expect(call('delete', { src: '/f', recursive: false })).toEqual({ result: true });
    expect(call('delete', { src: '/f', recursive: false })).toEqual({ result: true });
    expect(call('delete', { src: '/f', recursive: false }, { ...ids, callId: 6 })).toEqual({ result: false });
    asked.nowMs += 600_001;
    expect(call('delete', { src: '/f', recursive: false })).toEqual({ result: false });
  });

  it('does not keep failures, and refuses client ids of another length', () => {
    expect(ask('rename2', { src: '/f', dst: '/g', overwriteDest: false }, 'root', ids)).toContain(NOT_FOUND);
    file('/f');
    expect(ask('rename2', { src: '/f', dst: '/g', overwriteDest: false }, 'root', ids)).toEqual({});
    expect(ask('rename2', { src: '/f', dst: '/g', overwriteDest: false }, 'root', ids)).toEqual({});
    expect(ask('delete', { src: '/g', recursive: false }, 'root', { ...ids, clientId: Buffer.from('abc') })).toBe(
      'java.lang.IllegalArgumentException: Invalid clientId - length is 3 expected length 16',
    );
  });
});
