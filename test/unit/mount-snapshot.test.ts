import { describe, expect, it } from 'vitest';
import { ORDERS } from '../../src/mount/entry.ts';
import { buildSnapshot } from '../../src/mount/radix-build.ts';
import { MountSnapshot, NO_MOUNT } from '../../src/mount/snapshot.ts';
import { lookUp, mount, snapshotOf } from './mount-samples.ts';

describe('find', () => {
  it('takes the deepest mount on a component boundary', () => {
    const snapshot = snapshotOf({ '/mnt/a': 'ns0:/x', '/mnt/a/b/c': 'ns1:/y/z', '/mnt/ab': 'ns1:/mnt/ab' });
    const none = { mount: null, target: '', atMount: false, mountsBelow: false };
    expect(lookUp(snapshot, '/mnt/a')).toEqual({ mount: '/mnt/a', target: 'ns0:/x', atMount: true, mountsBelow: true });
    expect(lookUp(snapshot, '/mnt/a/f')).toEqual({
      mount: '/mnt/a',
      target: 'ns0:/x/f',
      atMount: false,
      mountsBelow: false,
    });
    expect(lookUp(snapshot, '/mnt/a/b')).toEqual({
      mount: '/mnt/a',
      target: 'ns0:/x/b',
      atMount: false,
      mountsBelow: true,
    });
    expect(lookUp(snapshot, '/mnt/a/b/c')).toEqual({
      mount: '/mnt/a/b/c',
      target: 'ns1:/y/z',
      atMount: true,
      mountsBelow: false,
    });
    expect(lookUp(snapshot, '/mnt/a/b/c/d/e')).toEqual({
      mount: '/mnt/a/b/c',
      target: 'ns1:/y/z/d/e',
      atMount: false,
      mountsBelow: false,
    });
    expect(lookUp(snapshot, '/mnt/a/b/cd')).toEqual({
      mount: '/mnt/a',
      target: 'ns0:/x/b/cd',
      atMount: false,
      mountsBelow: false,
    });
    expect(lookUp(snapshot, '/mnt/ab/f')).toEqual({
      mount: '/mnt/ab',
      target: 'ns1:/mnt/ab/f',
      atMount: false,
      mountsBelow: false,
    });
    expect(lookUp(snapshot, '/mnt/abc')).toEqual(none);
    expect(lookUp(snapshot, '/mnt')).toEqual({ ...none, mountsBelow: true });
    expect(lookUp(snapshot, '/')).toEqual({ ...none, mountsBelow: true });
    expect(lookUp(snapshot, '/mn')).toEqual(none);
    expect(lookUp(snapshot, '/other')).toEqual(none);
  });

  it('lets the mount / cover everything absolute', () => {
    const snapshot = snapshotOf({ '/': 'ns0:/root', '/a': 'ns1:/' });
    expect(lookUp(snapshot, '/')).toEqual({ mount: '/', target: 'ns0:/root', atMount: true, mountsBelow: true });
    expect(lookUp(snapshot, '/b/c')).toEqual({
      mount: '/',
      target: 'ns0:/root/b/c',
      atMount: false,
      mountsBelow: false,
    });
    expect(lookUp(snapshot, '/a')).toEqual({ mount: '/a', target: 'ns1:/', atMount: true, mountsBelow: false });
    expect(lookUp(snapshot, '/a/b')).toEqual({ mount: '/a', target: 'ns1:/b', atMount: false, mountsBelow: false });
    expect(lookUp(snapshot, 'relative').mount).toBeNull();
    expect(lookUp(snapshot, '').mount).toBeNull();
    const alone = snapshotOf({ '/': 'ns0:/' });
    expect(lookUp(alone, '/')).toEqual({ mount: '/', target: 'ns0:/', atMount: true, mountsBelow: false });
    expect(lookUp(alone, '/x')).toEqual({ mount: '/', target: 'ns0:/x', atMount: false, mountsBelow: false });
  });

  it('works on an empty table', () => {
    const snapshot = snapshotOf({});
    expect(snapshot.mountCount).toBe(0);
    expect(lookUp(snapshot, '/')).toEqual({ mount: null, target: '', atMount: false, mountsBelow: false });
    expect(lookUp(snapshot, '/a').mount).toBeNull();
    expect(snapshot.childrenOf('/')).toBeNull();
    expect(snapshot.mountsUnder('/')).toEqual([]);
    expect(snapshot.nameserviceName(1)).toBe('ns1');
  });

  it('goes 100 levels deep and takes paths of 8,000 bytes', () => {
    const deep: Record<string, string> = {};
    let path = '';
    for (let level = 0; level < 100; level++) {
      path += `/d${level}`;
      deep[path] = `ns${level % 2}:/t${level}`;
    }
    const snapshot = snapshotOf(deep);
    path = '';
    for (let level = 0; level < 100; level++) {
      path += `/d${level}`;
      const found = { mount: path, atMount: true, mountsBelow: level < 99, target: `ns${level % 2}:/t${level}` };
      expect(lookUp(snapshot, path)).toEqual(found);
    }
    const long = `/${'q'.repeat(3_998)}/${'r'.repeat(3_999)}`;
    const longest = snapshotOf({ [long]: `ns0:${long}s` });
    expect(lookUp(longest, `${long}/f`).target).toBe(`ns0:${long}s/f`);
    expect(lookUp(longest, `${long}f`).mount).toBeNull();
    expect(longest.childrenOf(long.slice(0, 3_999))).toEqual(['r'.repeat(3_999)]);
  });

  it('finds each of 5,000 siblings, so many that children are bisected', () => {
    const mounts: Record<string, string> = {};
    for (let i = 0; i < 5_000; i++)
      mounts[`/w/${String.fromCodePoint(0x21 + (i % 90) + (i % 90 >= 14 ? 1 : 0))}${i}`] = `ns0:/t${i}`;
    const snapshot = snapshotOf(mounts);
    for (const [source, target] of Object.entries(mounts))
      expect(lookUp(snapshot, source)).toMatchObject({ mount: source, target });
    expect(lookUp(snapshot, '/w/\u0001').mount).toBeNull();
    expect(lookUp(snapshot, '/w/\u{10ffff}').mount).toBeNull();
  });

  it('takes any byte in names', () => {
    const names = [
      '\u0000',
      '\u0001',
      '!',
      '.',
      '..',
      '0',
      ' ',
      '%2F',
      '\n',
      '\\',
      '\u007f',
      'é',
      '\uffff',
      '😀',
      '\u{10ffff}',
    ];
    const mounts = Object.fromEntries(
      names.flatMap((name) => [`/n/${name}`, `/n/${name}/in`]).map((path) => [path, `ns1:${path}`]),
    );
    const snapshot = snapshotOf(mounts);
    for (const path of Object.keys(mounts)) {
      expect(lookUp(snapshot, `${path}/x`)).toMatchObject({ mount: path, target: `ns1:${path}/x` });
    }
    const sorted = names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    expect(snapshot.childrenOf('/n')).toEqual(sorted);
    // Bytes that are no UTF-8 at all are looked up like any others.
    const path = Buffer.from([0x2f, 0x6e, 0x2f, 0xff, 0xc0, 0x2f, 0x78]);
    expect(snapshot.find(path, 0, path.length)).toBe(NO_MOUNT);
  });
});

describe('accessors', () => {
  const entry = mount('/multi', ['ns1:/m1', 'later:/', 'ns0:/multi/'], {
    order: 'HASH_ALL',
    readOnly: true,
    faultTolerant: true,
    owner: 'bob',
    group: '',
    mode: 0o1777,
    dateModified: 1_700_000_123_456,
    quota: {
      fileAndDirectoryCount: 12n,
      namespaceQuota: 1_000n,
      spaceConsumed: 3_456n,
      spaceQuota: (1n << 63n) - 1n,
      types: [{ type: 'NVDIMM', quota: -1n, consumed: 7n }],
    },
  });
  const snapshot = MountSnapshot.from(
    buildSnapshot([entry, mount('/same', ['ns0:/same/']), mount('/', ['ns0:/'])], ['ns0', 'ns1'], 77, null),
  );

  it('numbers nameservices as the topology does, unknown ones after them', () => {
    expect(snapshot.epoch).toBe(77);
    expect([0, 1, 2].map((index) => snapshot.nameserviceName(index))).toEqual(['ns0', 'ns1', 'later']);
    expect(snapshot.nameserviceCount).toBe(3);
    expect(() => snapshot.nameserviceName(3)).toThrow(/nameservice 3 is not in/);
    const multi = snapshot.find(Buffer.from('/multi'), 0, 6);
    expect([0, 1, 2].map((i) => snapshot.destinationNameservice(multi, i))).toEqual([1, 2, 0]);
  });

  it('gives flags, order and destinations', () => {
    const multi = snapshot.find(Buffer.from('/multi'), 0, 6);
    const same = snapshot.find(Buffer.from('/same'), 0, 5);
    const root = snapshot.find(Buffer.from('/'), 0, 1);
    expect(snapshot.destinationCount(multi)).toBe(3);
    expect([multi, same].map((at) => snapshot.isReadOnly(at))).toEqual([true, false]);
    expect([multi, same].map((at) => snapshot.isFaultTolerant(at))).toEqual([true, false]);
    expect([multi, same, root].map((at) => snapshot.sameAsTarget(at))).toEqual([false, true, true]);
    expect(ORDERS[snapshot.orderOf(multi)]).toBe('HASH_ALL');
    const texts = [0, 1, 2].map((i) =>
      snapshot.bytes.toString('utf8', snapshot.destinationStart(multi, i), snapshot.destinationEnd(multi, i)),
    );
    expect(texts).toEqual(['/m1', '', '/multi']);
  });

  it('gives whole records back, destination paths in canonical form', () => {
    const multi = snapshot.find(Buffer.from('/multi'), 0, 6);
    expect(snapshot.entryOf(multi)).toEqual({
      ...entry,
      destinations: [...entry.destinations.slice(0, 2), { nameservice: 'ns0', path: '/multi' }],
    });
    expect(() => snapshot.entryOf(3)).toThrow(/mount 3 is not in/);
    expect(() => snapshot.entryOf(-1)).toThrow(/mount -1 is not in/);
  });
});

describe('directories made visible by mounts', () => {
  const entries = [
    mount('/a', ['ns0:/a'], { dateModified: 10 }),
    mount('/a/b/c', ['ns0:/c'], { dateModified: 30 }),
    mount('/a/b/d', ['ns0:/d'], { dateModified: 20 }),
    mount('/a!', ['ns0:/e'], { dateModified: 99 }),
    mount('/a/b!', ['ns0:/e'], { dateModified: 98 }),
    mount('/v/xy', ['ns0:/f'], { dateModified: 40 }),
  ];
  const snapshot = MountSnapshot.from(buildSnapshot(entries, ['ns0'], 1, null));

  it('lists children, distinct and in byte order', () => {
    expect(snapshot.childrenOf('/')).toEqual(['a', 'a!', 'v']);
    expect(snapshot.childrenOf('/a')).toEqual(['b', 'b!']);
    expect(snapshot.childrenOf('/a/b')).toEqual(['c', 'd']);
    expect(snapshot.childrenOf('/a/b/c')).toEqual([]);
    for (const path of ['/', '/a', '/a/b']) {
      const all = snapshot.childrenOf(path) ?? [];
      for (const after of ['', '!', 'a', 'a!', 'b', 'c', 'z', '\u{10ffff}']) {
        const behind = all.filter((name) => Buffer.compare(Buffer.from(name), Buffer.from(after)) > 0);
        for (const most of [1, 2, 9]) {
          expect(snapshot.childrenOf(path, Buffer.from(after), most), `${path} behind ${after}`).toEqual(
            behind.slice(0, most),
          );
        }
      }
    }
    expect(snapshot.childrenOf('/a/b/c/x')).toBeNull();
    expect(snapshot.childrenOf('/v/x')).toBeNull();
    expect(snapshot.childrenOf('a')).toBeNull();
    expect(snapshotOf({ '/': 'ns0:/' }).childrenOf('/')).toEqual([]);
  });

  it('gives the latest date at or below, by components', () => {
    expect(snapshot.latestDateBelow('/a')).toBe(98);
    expect(snapshot.latestDateBelow('/a/b')).toBe(30);
    expect(snapshot.latestDateBelow('/a/b/d')).toBe(20);
    expect(snapshot.latestDateBelow('/')).toBe(99);
    expect(snapshot.latestDateBelow('/v/x')).toBe(0);
  });

  it('names the mounts at or below', () => {
    const sources = (path: string): string[] => snapshot.mountsUnder(path).map((at) => snapshot.entryOf(at).sourcePath);
    expect(sources('/a')).toEqual(['/a', '/a/b/c', '/a/b/d', '/a/b!']);
    expect(sources('/')).toEqual(['/a', '/a/b/c', '/a/b/d', '/a/b!', '/a!', '/v/xy']);
    expect(sources('/v/x')).toEqual([]);
  });
});

describe('build', () => {
  it('refuses what it cannot represent, by position', () => {
    expect(() => buildSnapshot([mount('/a', ['ns0:/']), mount('/b/', ['ns0:/'])], [], 1, null)).toThrow(
      /entry 1: .*write '\/b'/,
    );
    const twice = [mount('/a', ['ns0:/']), mount('/b', ['ns0:/']), mount('/a', ['ns1:/'])];
    expect(() => buildSnapshot(twice, [], 1, null)).toThrow(/mount '\/a' is in the mount table twice/);
    expect(() => buildSnapshot([], [], 0, null)).toThrow(/epoch 0/);
    expect(() => buildSnapshot([], [], 2 ** 31, null)).toThrow(/epoch 2147483648/);
  });

  it('reuses memory that is large enough, also when the table shrinks, and takes new memory otherwise', () => {
    const many = Array.from({ length: 2_000 }, (_, i) => mount(`/m/${i}`, [`ns0:/target-${i}`]));
    const small = buildSnapshot(many.slice(0, 10), ['ns0'], 1, null);
    const large = buildSnapshot(many, ['ns0'], 2, small);
    expect(large).not.toBe(small);
    expect(buildSnapshot(many.slice(5, 8), ['ns0'], 3, large)).toBe(large);
    const snapshot = MountSnapshot.from(large);
    expect([snapshot.epoch, snapshot.mountCount]).toEqual([3, 3]);
    expect(lookUp(snapshot, '/m/6').target).toBe('ns0:/target-6');
    expect(lookUp(snapshot, '/m/4').mount).toBeNull();
  });
});
