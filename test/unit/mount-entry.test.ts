import { describe, expect, it } from 'vitest';
import { canonicalPath, isCanonicalPath, writeCanonicalPath } from '../../src/mount/canonical.ts';
import {
  invalidReason,
  MAX_DESTINATIONS,
  type MountEntry,
  senselessReason,
  unusableReason,
} from '../../src/mount/entry.ts';
import { mount } from './mount-samples.ts';

describe('validation of mount entries', () => {
  it('accepts what Java routers accept', () => {
    const entries = [
      mount('/', ['ns0:/']),
      mount('/a', ['ns0:/a', 'ns0:/a']),
      mount('/a', ['nowhere://x//']),
      mount('/..', ['ns0:/..'], { mode: 0o1777, owner: '', group: '' }),
      mount('/a', ['ns0:/a', 'ns1:/a'], { faultTolerant: true, order: 'SPACE' }),
      mount('/a', ['ns0:/a', 'ns1:/a'], { faultTolerant: true, order: 'LEADER_FOLLOWER' }),
    ];
    for (const entry of entries) expect(invalidReason(entry)).toBeNull();
  });

  const unusable: [string, MountEntry, RegExp][] = [
    ['no source', mount('', ['ns0:/a']), /no source path; give/],
    ['relative source', mount('a/b', ['ns0:/a']), /'a\/b' is not absolute; write '\/a\/b'/],
    ['trailing slash', mount('/a/', ['ns0:/a']), /write '\/a'/],
    ['double slash', mount('/a//b', ['ns0:/a']), /write '\/a\/b'/],
    ['half a surrogate pair', mount('/a\ud800', ['ns0:/a']), /no valid Unicode/],
    ['endless source', mount(`/${'a'.repeat(24_000)}`, ['ns0:/a']), /longer than 24000 bytes/],
    ['endless destination', mount('/a', [`ns0:/${'a'.repeat(24_000)}`]), /longer than 24000 bytes/],
    ['no destination', mount('/a', []), /no destination; give/],
    ['too many destinations', mount('/a', new Array<string>(MAX_DESTINATIONS + 1).fill('ns0:/a')), /at most 1024/],
    ['no nameservice', mount('/a', [':/a']), /without a nameservice/],
    ['no destination path', mount('/a', ['ns0:']), /without a path in nameservice 'ns0'/],
    ['relative destination', mount('/a', ['ns0:b']), /'b' is not absolute; write '\/b'/],
  ];
  it.each(unusable)('%s cannot be used', (_name, entry, message) => {
    expect(unusableReason(entry)).toMatch(message);
    expect(invalidReason(entry)).toMatch(message);
  });

  const invalid: [string, MountEntry, RegExp][] = [
    [
      'fault tolerance of one destination',
      mount('/a', ['ns0:/a'], { faultTolerant: true, order: 'SPACE' }),
      /single destination/,
    ],
    [
      'fault tolerance with HASH',
      mount('/a', ['ns0:/a', 'ns1:/a'], { faultTolerant: true }),
      /order HASH; use HASH_ALL/,
    ],
    ['impossible mode', mount('/a', ['ns0:/a'], { mode: 0o2000 }), /mode 1024/],
    ['no date', mount('/a', ['ns0:/a'], { dateModified: 0 }), /dates must be positive/],
  ];
  it.each(invalid)('%s is refused when written, not when read', (_name, entry, message) => {
    expect(invalidReason(entry)).toMatch(message);
    expect(unusableReason(entry)).toBeNull();
  });

  const none = mount('/a', ['ns0:/a']).quota;
  const senseless: [string, MountEntry, RegExp][] = [
    ['.. in the source', mount('/a/../b', ['ns0:/a']), /the source path has a component '\.\.'/],
    ['. in the source', mount('/.', ['ns0:/a']), /the source path has a component '\.'/],
    ['.. in a destination', mount('/a', ['ns0:/a/..']), /a destination path has a component '\.\.'/],
    ['NUL in the source', mount('/a\0', ['ns0:/a']), /the source path has a NUL character/],
    ['NUL in a destination', mount('/a', ['ns0:/\0']), /a destination path has a NUL character/],
    ['/.reserved', mount('/.reserved', ['ns0:/a']), /\/\.reserved is HDFS's own/],
    ['below /.reserved', mount('/.reserved/raw', ['ns0:/a']), /\/\.reserved is HDFS's own/],
    ['a destination twice', mount('/a', ['ns0:/x', 'ns1:/x', 'ns0:/x/']), /has the destination ns0:\/x twice/],
    ['a quota below -1', mount('/a', ['ns0:/a'], { quota: { ...none, spaceQuota: -2n } }), /-2 is no quota; use -1/],
    [
      'a quota of a type below -1',
      mount('/a', ['ns0:/a'], { quota: { ...none, types: [{ type: 'SSD', quota: -7n, consumed: 0n }] } }),
      /-7 is no quota/,
    ],
  ];
  it.each(senseless)('%s makes no sense in a mount given to this router', (_name, entry, message) => {
    expect(senselessReason(entry)).toMatch(message);
    expect(invalidReason(entry)).toBeNull();
  });

  it('lets names pass that only look like those', () => {
    const entry = mount('/.reserved.old/...', ['ns0:/..a/.b', 'ns0:/c', 'ns1:/c']);
    expect(senselessReason(entry)).toBeNull();
    expect(senselessReason(mount('a', ['ns0:/a']))).toMatch('is not absolute');
  });
});

describe('canonical paths', () => {
  it.each([
    ['/', '/'],
    ['//', '/'],
    ['///', '/'],
    ['/a', '/a'],
    ['/a/', '/a'],
    ['/a//', '/a'],
    ['//a///b//', '/a/b'],
    ['/a/./../b', '/a/./../b'],
    ['/a%2fb', '/a%2fb'],
    ['', ''],
    ['a//b/', 'a/b'],
    ['/é//😀/', '/é/😀'],
  ])('%s → %s', (path, canonical) => {
    const bytes = Buffer.from(`/${path}/`);
    const end = bytes.length - 1;
    expect(isCanonicalPath(bytes, 1, end)).toBe(path === canonical);
    const target = Buffer.alloc(64, '/');
    expect(target.toString('utf8', 3, writeCanonicalPath(bytes, 1, end, target, 3))).toBe(canonical);
    expect(canonicalPath(path)).toBe(canonical);
  });
});
