import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Call } from '../../src/call/call.ts';
import { Client } from '../../src/call/client.ts';
import type { Method } from '../../src/call/method.ts';
import { METHODS, methodIndex } from '../../src/call/methods.ts';
import { BY_INODE, REFUSED, Resolver, SEVERAL } from '../../src/call/resolve.ts';
import type { AcceptorLink } from '../../src/handoff/link.ts';
import { buildSnapshot } from '../../src/mount/radix-build.ts';
import { MountSnapshot } from '../../src/mount/snapshot.ts';
import { User } from '../../src/namenode/user.ts';
import type { Settings } from '../../src/shared/settings.ts';
import { Block } from '../../src/wire/block.ts';
import { mount, snapshotOf } from './mount-samples.ts';

const NAMES = ['ns0', 'ns1'];
const TOPOLOGY = { nameservices: NAMES.map((id) => ({ id, namenodes: [] })) };

function resolverOf(mounts: Record<string, string>, defaultNameservice = -1): Resolver {
  const settings = { defaultNameservice, routerId: 'router:8888' } as unknown as Settings;
  const resolver = new Resolver(settings, TOPOLOGY);
  resolver.snapshot = snapshotOf(mounts);
  return resolver;
}

function callOf(method = 'getFileInfo', user = 'alice'): Call {
  const call = new Call(new Block(Buffer.alloc(0)), 0);
  call.method = METHODS[methodIndex(0, method)] as Method;
  const identity = { user, realUser: '', address: '', port: 0 };
  call.client = new Client(undefined as unknown as AcceptorLink, 0, 0, identity, new User(user, 0));
  return call;
}

/** `nameservice:path` as a NameNode would be asked, or the refusal. The path lies in the middle of a buffer. */
function resolve(resolver: Resolver, path: string, call = callOf(), mountCheck = false): string {
  const bytes = Buffer.from(path);
  const buffer = Buffer.concat([Buffer.from('/u'), bytes, Buffer.from('/x')]);
  const nameservice = resolver.resolve(call, buffer, 2, 2 + bytes.length, mountCheck);
  if (nameservice === REFUSED) return `${resolver.className.split('.').at(-1)}: ${resolver.message}`;
  const where = nameservice === SEVERAL ? 'several' : NAMES[nameservice];
  return `${where}:${resolver.path === null ? path : resolver.path}`;
}

describe('a path', () => {
  it('that stays as it is, is not written again', () => {
    const resolver = resolverOf({ '/a': 'ns0:/a' }, 1);
    for (const path of ['/a', '/a/b', '/b', 'rel', '']) {
      resolve(resolver, path);
      expect(resolver.path).toBe(null);
    }
    resolve(resolver, '/a//b');
    expect(String(resolver.path)).toBe('/a/b');
  });

  it('gets the target of its mount, and it is known how much of it that is', () => {
    const resolver = resolverOf({ '/a': 'ns1:/x/y', '/r': 'ns0:/' });
    expect(resolve(resolver, '/a/b/c')).toBe('ns1:/x/y/b/c');
    expect(resolver.prefixBytes).toBe('/x/y'.length);
    expect(resolve(resolver, '/a/')).toBe('ns1:/x/y');
    expect(resolver.prefixBytes).toBe('/x/y'.length);
    expect(resolve(resolver, '/r/b')).toBe('ns0:/b');
    expect(resolver.prefixBytes).toBe(1);
    expect(resolve(resolver, '//r/')).toBe('ns0:/');
    expect(resolver.prefixBytes).toBe(1);
  });

  it('that is an inode number names no nameservice where there are several, also under a mount of the root', () => {
    const byInode = (resolver: Resolver, path: string, method?: string): number => {
      const bytes = Buffer.from(path);
      return resolver.resolve(callOf(method), bytes, 0, bytes.length, false);
    };
    const path = '/.reserved/.inodes/16386';
    for (const mounts of [
      { '/data': 'ns1:/data', '/x': 'ns0:/x' },
      { '/': 'ns0:/', '/data': 'ns1:/data' },
    ]) {
      expect(byInode(resolverOf(mounts), path)).toBe(BY_INODE);
      expect(byInode(resolverOf(mounts), `${path}/below`)).toBe(BY_INODE);
      expect(byInode(resolverOf(mounts, 0), `/${path}`)).toBe(BY_INODE);
    }
    expect(byInode(resolverOf({ '/': 'ns1:/' }), path)).toBe(1);
    expect(byInode(resolverOf({ '/': 'ns0:/', '/data': 'ns1:/' }), '/.reserved/raw')).toBe(0);
    const locked = resolverOf({});
    const entries = [mount('/', ['ns0:/'], { readOnly: true }), mount('/data', ['ns1:/data'])];
    locked.snapshot = MountSnapshot.from(buildSnapshot(entries, NAMES, 1, null));
    expect(byInode(locked, path, 'setPermission')).toBe(REFUSED);
    expect(byInode(locked, path)).toBe(BY_INODE);
  });

  it('says nothing about the one before it', () => {
    const resolver = resolverOf({ '/a': 'ns1:/x', '/b/c': 'ns0:/c' });
    resolve(resolver, '/a');
    expect([resolver.mount >= 0, resolver.atMount, resolver.mountsBelow]).toEqual([true, true, false]);
    resolve(resolver, '/b');
    expect([resolver.mount >= 0, resolver.atMount, resolver.mountsBelow]).toEqual([false, false, true]);
    resolve(resolver, '/z');
    expect([resolver.mount, resolver.path, resolver.atMount, resolver.mountsBelow]).toEqual([-1, null, false, false]);
  });

  it('goes where a plain reading of the mount table says', () => {
    const component = fc.constantFrom('a', 'b', 'ab', '.', '..', 'é');
    const canonical = fc.array(component, { maxLength: 4 }).map((parts) => `/${parts.join('/')}`);
    const raw = fc
      .tuple(
        fc.array(fc.tuple(fc.constantFrom('/', '//', '///'), component), { maxLength: 5 }),
        fc.constantFrom('', '/', '//'),
      )
      .map(([parts, end]) => `${parts.flat().join('')}${end}` || '/');
    const tables = fc.dictionary(
      canonical,
      fc.tuple(fc.constantFrom(...NAMES), canonical).map((t) => t.join(':')),
      { minKeys: 1 },
    );
    fc.assert(
      fc.property(tables, fc.array(raw, { minLength: 1, maxLength: 8 }), (table, paths) => {
        const resolver = resolverOf(table, 1);
        for (const path of paths) expect([path, resolve(resolver, path)]).toEqual([path, expected(table, path)]);
      }),
      { seed: 1, numRuns: 2_000, interruptAfterTimeLimit: 2_000, markInterruptAsFailure: false },
    );
  });
});

/** By components: the longest mount that is a prefix; its target and the rest. Without one the default nameservice, ns1. */
function expected(table: Record<string, string>, path: string): string {
  const parts = path.split('/').filter((part) => part !== '');
  for (let length = parts.length; length >= 0; length--) {
    const target = table[`/${parts.slice(0, length).join('/')}`];
    if (target === undefined) continue;
    const colon = target.indexOf(':');
    const below = target
      .slice(colon + 1)
      .split('/')
      .filter((part) => part !== '');
    return `${target.slice(0, colon)}:/${[...below, ...parts.slice(length)].join('/')}`;
  }
  return `ns1:/${parts.join('/')}`;
}

describe('a refusal', () => {
  const entries = [
    mount('/ro', ['ns0:/ro'], { readOnly: true }),
    mount('/ro/rw', ['ns0:/rw']),
    mount('/two', ['ns0:/two', 'ns1:/two']),
    mount('/far', ['elsewhere:/far']),
    mount('/p/q', ['ns0:/q']),
  ];
  const resolver = resolverOf({});
  resolver.snapshot = MountSnapshot.from(buildSnapshot(entries, NAMES, 1, null));

  it('says why', () => {
    expect(resolve(resolver, '/z')).toBe(
      'RouterResolveException: Cannot find locations for /z, because the default nameservice is disabled to read or write',
    );
    expect(resolve(resolver, '/ro//x', callOf('setPermission'))).toBe(
      'IOException: /ro/x is in a read only mount point',
    );
    expect(resolve(resolver, '/ro/rw/x', callOf('setPermission'))).toBe('ns0:/rw/x');
    expect(resolve(resolver, '/ro/x')).toBe('ns0:/ro/x');
    expect(resolve(resolver, '/two/x')).toBe('several:/two/x');
    expect(resolve(resolver, '/far/x')).toBe(
      'IOException: Cannot locate a registered namenode for elsewhere from router:8888',
    );
  });

  it('of the mount check comes before all others', () => {
    const remove = callOf('delete');
    expect(resolve(resolver, '/p', remove, true)).toBe(
      'AccessControlException: The operation is not allowed because there are mount points: q under the path: /p',
    );
    expect(resolve(resolver, '/two', remove, true)).toBe(
      'AccessControlException: The operation is not allowed because the path: /two is a mount point',
    );
    expect(resolve(resolver, '/ro', remove, true)).toContain('there are mount points: rw under the path: /ro');
    expect(resolve(resolver, '/ro/x', remove, true)).toContain('read only mount point');
    expect(resolve(resolver, '/p/q/x', remove, true)).toBe('ns0:/q/x');
    expect(resolve(resolver, '/p', remove, false)).toContain('RouterResolveException');
  });
});

describe('trash', () => {
  const resolver = resolverOf({ '/a': 'ns1:/x', '/user': 'ns0:/user' });

  it.each([
    ['/user/alice/.Trash/Current/a/f', 'ns1'],
    ['/user/alice/.Trash/200101010101/a/f', 'ns1'],
    ['/user/alice/.Trash/200101010101-12/a', 'ns1'],
    ['/user/alice/.Trash/Current/user/f', 'ns0'],
    ['/user/alice/.Trash/Currents/a/f', 'ns0'],
    ['/user/alice/.Trash/20x/a/f', 'ns0'],
    ['/user/alice/.Trash/-1/a/f', 'ns0'],
    ['/user/alicex/.Trash/Current/a/f', 'ns0'],
    ['/user/alice/.Trash', 'several'],
    ['/user/alice/.Trash/Current', 'several'],
    ['/usr/alice/.Trash/Current/a/f', ''],
  ])('%s belongs to %s', (path, nameservice) => {
    const found = resolve(resolver, path);
    if (nameservice === '') expect(found).toContain('RouterResolveException');
    else expect(found).toBe(`${nameservice}:${path}`);
  });

  it('itself has no mount points', () => {
    expect(resolve(resolver, '/user/alice/.Trash/Current', callOf('delete'), true)).toBe(
      'several:/user/alice/.Trash/Current',
    );
    expect(resolve(resolver, '/user/alice/.Trash/Current/a', callOf('delete'), true)).toBe(
      'ns1:/user/alice/.Trash/Current/a',
    );
  });

  it('is shared above mount points, and made where its own path leads', () => {
    const nested = resolverOf({ '/p': 'ns1:/p', '/p/q/r': 'ns0:/r', '/s/t': 'ns1:/t' }, 0);
    const shared = (path: string, method = 'delete'): unknown => {
      const found = resolve(nested, `/user/alice/.Trash/${path}`, callOf(method));
      return nested.shared === null ? found.split(':')[0] : nested.shared.nameservices.map((each) => NAMES[each]);
    };
    expect(shared('')).toEqual(['ns0', 'ns1']);
    expect(shared('Current/')).toEqual(['ns0', 'ns1']);
    expect(shared('210101010101-1')).toEqual(['ns0', 'ns1']);
    expect(shared('Current/p/q')).toEqual(['ns1', 'ns0']);
    expect(shared('Current/p/q/r')).toBe('ns0');
    expect(shared('Current/p/x')).toBe('ns1');
    expect(shared('Current/s')).toEqual(['ns0', 'ns1']);
    expect(shared('Current/s', 'mkdirs')).toBe('ns0');
    expect(shared('Current/x')).toBe('ns0');
  });

  it('of one nameservice is that of this one', () => {
    const alone = resolverOf({ '/a': 'ns1:/x', '/b/c': 'ns1:/y' });
    for (const path of ['', '/Current', '/Current/b']) {
      expect(resolve(alone, `/user/alice/.Trash${path}`)).toBe(`ns1:/user/alice/.Trash${path}`);
    }
    // Its home has another path there than its trash.
    expect(resolve(resolverOf({ '/user': 'ns1:/home' }), '/user/alice/.Trash')).toBe('several:/home/alice/.Trash');
  });

  it('may go from below a mount that nothing may change', () => {
    const kept = resolverOf({});
    const entries = [mount('/ro', ['ns0:/ro'], { readOnly: true })];
    kept.snapshot = MountSnapshot.from(buildSnapshot(entries, NAMES, 1, null));
    expect(resolve(kept, '/user/alice/.Trash/Current/ro/x', callOf('delete'))).toBe(
      'ns0:/user/alice/.Trash/Current/ro/x',
    );
  });
});
