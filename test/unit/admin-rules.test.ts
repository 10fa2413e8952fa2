import { describe, expect, it } from 'vitest';
import { Access, Action, type AdminCaller, isAllowed, requirePlace, requireSuperuser } from '../../src/admin/access.ts';
import {
  comparePaths,
  describeEntry,
  isAtOrBelow,
  requireShortComponents,
  requireValid,
} from '../../src/admin/mount-rules.ts';
import { JAVA, RemoteException } from '../../src/control/rpc-server/remote-exception.ts';
import { emptyEntry, type MountEntry } from '../../src/mount/entry.ts';

const DEFAULTS = { routerUser: 'hdfs', superGroup: 'supergroup' };

function entry(sourcePath: string, more: Partial<MountEntry> = {}): MountEntry {
  return {
    ...emptyEntry(sourcePath, DEFAULTS),
    destinations: [{ nameservice: 'ns0', path: '/target' }],
    dateCreated: 1,
    dateModified: 1,
    ...more,
  };
}

function caller(user: string, ...groups: string[]): AdminCaller {
  return { user, groups, superuser: false };
}

function refusalOf(work: () => void): { javaClass: string; message: string } {
  try {
    work();
  } catch (error) {
    if (error instanceof RemoteException) return { javaClass: error.javaClass, message: error.message };
    throw error;
  }
  throw new Error('it was not refused');
}

describe('who may do what to a mount entry', () => {
  const owned = entry('/own', { owner: 'alice', group: 'staff', mode: 0o750 });

  it.each([
    ['alice', [], Action.WRITE, true],
    ['bob', ['staff'], Action.READ, true],
    ['bob', ['staff'], Action.WRITE, false],
    ['carol', ['guests'], Action.READ, false],
  ] as const)('%s in %j: action %i is %s', (user, groups, action, allowed) => {
    expect(isAllowed(caller(user, ...groups), owned, action)).toBe(allowed);
  });

  it('lets an owner without bits pass through those of the group, not through those of others', () => {
    const odd = entry('/odd', { owner: 'alice', group: 'staff', mode: 0o077 });
    expect(isAllowed(caller('alice', 'staff'), odd, Action.WRITE)).toBe(true);
    expect(isAllowed(caller('alice'), odd, Action.WRITE)).toBe(false);
    expect(isAllowed(caller('carol'), odd, Action.WRITE)).toBe(true);
  });

  it('gives a new entry its place by the nearest entry above, then by those above that', () => {
    const entries = new Map([
      ['/a', entry('/a', { owner: 'alice', mode: 0o711 })],
      ['/a/b', entry('/a/b', { owner: 'bob', mode: 0o755 })],
    ]);
    const find = (path: string): MountEntry | null => entries.get(path) ?? null;
    expect(() => requirePlace(caller('bob'), '/a/b/c/d', find)).not.toThrow();
    expect(() => requirePlace(caller('alice'), '/a/x', find)).not.toThrow();
    expect(refusalOf(() => requirePlace(caller('carol'), '/a/b/c', find))).toEqual({
      javaClass: JAVA.ACCESS_CONTROL,
      message: 'Permission denied while accessing mount table /a/b: user carol does not have WRITE permissions.',
    });
    entries.set('/a', entry('/a', { owner: 'alice', mode: 0o700 }));
    expect(refusalOf(() => requirePlace(caller('bob'), '/a/b/c', find)).message).toBe(
      'Permission denied while accessing mount table /a: user bob does not have EXECUTE permissions.',
    );
  });

  it('leaves places under no entry to the superuser, and asks the entry of the root', () => {
    const none = (): null => null;
    expect(refusalOf(() => requirePlace(caller('bob'), '/top', none)).javaClass).toBe(JAVA.ACCESS_CONTROL);
    expect(() => requirePlace({ ...caller('root'), superuser: true }, '/top', none)).not.toThrow();
    const root = entry('/', { owner: 'bob' });
    expect(() => requirePlace(caller('bob'), '/top', (path) => (path === '/' ? root : null))).not.toThrow();
    expect(refusalOf(() => requirePlace(caller('bob'), '/', (path) => (path === '/' ? root : null))).message).toContain(
      'Permission denied while accessing mount table /: user bob does not have WRITE permissions.',
    );
  });
});

describe('who is a superuser', () => {
  const access = (permissionsEnabled = true): Access =>
    new Access({
      routerUser: 'hdfs',
      superGroup: 'supergroup',
      permissionsEnabled,
      groupsOf: (user) =>
        user === 'broken'
          ? Promise.reject(new Error('no groups today'))
          : Promise.resolve(user === 'boss' ? ['supergroup'] : ['users']),
    });

  it('knows the router itself, its group, and everyone when permissions are off', async () => {
    expect(await access().callerOf('hdfs/host@REALM')).toMatchObject({ user: 'hdfs', superuser: true });
    expect(await access().callerOf('boss')).toMatchObject({ superuser: true });
    expect(await access().callerOf('bob')).toEqual({ user: 'bob', groups: ['users'], superuser: false });
    expect(await access(false).callerOf('bob')).toMatchObject({ superuser: true });
    expect(refusalOf(() => requireSuperuser(caller('bob')))).toEqual({
      javaClass: JAVA.ACCESS_CONTROL,
      message: 'bob is not a super user',
    });
  });

  it('refuses a user whose groups cannot be told', async () => {
    await expect(access().callerOf('broken')).rejects.toMatchObject({ javaClass: JAVA.IO, message: 'no groups today' });
  });
});

describe('what a mount entry must be', () => {
  it.each<[string, Partial<MountEntry> & { sourcePath?: string }, string]>([
    ['no source', { sourcePath: '' }, 'Invalid entry, no source path specified '],
    ['a relative source', { sourcePath: 'x' }, 'Invalid entry, all mount points must start with / '],
    ['no destination', { destinations: [] }, 'Invalid entry, no destination paths specified '],
    [
      'no nameservice',
      { destinations: [{ nameservice: '', path: '/' }] },
      'Invalid entry, invalid destination nameservice ',
    ],
    [
      'no destination path',
      { destinations: [{ nameservice: 'ns0', path: '' }] },
      'Invalid entry, invalid destination path ',
    ],
    [
      'a relative destination',
      { destinations: [{ nameservice: 'ns0', path: 'x' }] },
      'Invalid entry, all destination must start with / ',
    ],
    [
      'one fault tolerant destination',
      { faultTolerant: true },
      'Invalid entry, fault tolerance requires multiple destinations ',
    ],
    [
      'fault tolerance in one place',
      { faultTolerant: true, destinations: ['ns0', 'ns1'].map((nameservice) => ({ nameservice, path: '/' })) },
      'Invalid entry, fault tolerance only supported for ALL order ',
    ],
    ['no creation date', { dateCreated: 0 }, 'The creation time for the record cannot be negative.'],
    ['no modification date', { dateModified: -1 }, 'The modification time for the record cannot be negative.'],
    ['a trailing slash', { sourcePath: '/x/' }, 'Invalid entry, source path'],
    ['a mode beyond all', { mode: 0o7777 }, "Invalid entry, mount '/x': mode"],
  ])('refuses %s', (_, more, text) => {
    const refusal = refusalOf(() => requireValid(entry('/x', more), true));
    expect(refusal.javaClass).toBe(JAVA.ILLEGAL_ARGUMENT);
    expect(refusal.message.startsWith(text)).toBe(true);
  });

  it('refuses senseless new entries, and lets old ones be changed', () => {
    const twice = entry('/x', { destinations: Array.from({ length: 2 }, () => ({ nameservice: 'ns0', path: '/y' })) });
    expect(refusalOf(() => requireValid(twice, true)).message).toContain('twice');
    expect(() => requireValid(twice, false)).not.toThrow();
  });

  it('refuses components of destinations that are longer than configured', () => {
    const long = entry('/x', { destinations: [{ nameservice: 'ns0', path: '/a/äb' }] });
    expect(() => requireShortComponents(long, 3)).not.toThrow();
    expect(() => requireShortComponents(long, 0)).not.toThrow();
    expect(refusalOf(() => requireShortComponents(long, 2)).javaClass).toBe(JAVA.NAME_TOO_LONG);
  });

  it('describes an entry as Java routers do', () => {
    const { quota } = entry('/x');
    const all = entry('/x', {
      destinations: ['ns0', 'ns1'].map((nameservice) => ({ nameservice, path: '/y' })),
      order: 'HASH_ALL',
      readOnly: true,
      faultTolerant: true,
      owner: 'alice',
      group: 'staff',
      quota: { ...quota, namespaceQuota: 100n, fileAndDirectoryCount: 7n, spaceQuota: 10_240n },
    });
    expect(describeEntry(all)).toBe(
      '/x->[ns0->/y, ns1->/y][HASH_ALL][RO][FT][owner:alice][group:staff][mode:rwxr-xr-x][quota:[NsQuota: 100/7, SsQuota: 10 KB/0 B]]',
    );
    expect(describeEntry(entry('/x'))).toBe(
      '/x->[ns0->/target][owner:hdfs][group:supergroup][mode:rwxr-xr-x][quota:[NsQuota: -/-, SsQuota: -/-]]',
    );
  });

  it('sorts paths with the slash first, and finds those below one by whole names', () => {
    expect(['/a-b', '/a', '/a/c', '/A', '/'].sort(comparePaths)).toEqual(['/', '/A', '/a', '/a/c', '/a-b']);
    expect(['/', '/r', '/r/x', '/r1'].filter((path) => isAtOrBelow(path, '/r'))).toEqual(['/r', '/r/x']);
    expect(['/', '/r'].filter((path) => isAtOrBelow(path, '/'))).toEqual(['/', '/r']);
  });
});
