import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { MountOrder } from '../../src/mount/entry.ts';
import { NO_FIGURES } from '../../src/mount/order/figures.ts';
import { digestKey, HashRing, MAX_RING_POINTS, POINTS_PER_NAME, RingCache } from '../../src/mount/order/hash-ring.ts';
import { firstNameservice, MAX_REMEMBERED_MOUNTS } from '../../src/mount/order/order.ts';
import { buildSnapshot } from '../../src/mount/radix-build.ts';
import { MountSnapshot } from '../../src/mount/snapshot.ts';
import { mount } from './mount-samples.ts';

const SOURCE = '/data';
const [pathRows, keyRows] = readVectors();

function readVectors(): [string[][], string[][]] {
  const text = readFileSync(new URL('./hash-samples/vectors.tsv', import.meta.url), 'utf8');
  const rows = text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split('\t'));
  return [
    rows.filter((row) => row.length === 5 && row[0] !== 'namespaces'),
    rows.filter((row) => row.length === 3 && row[0] !== 'key'),
  ];
}

function snapshotOf(source: string, names: readonly string[], order: MountOrder): MountSnapshot {
  const destinations = names.map((name, i) => `${name}:/target${i}`);
  return MountSnapshot.from(buildSnapshot([mount(source, destinations, { order })], ['ns1', 'ns0'], 1, null));
}

/** Name of the first nameservice of a path on a mount of its own. */
function choose(
  source: string,
  names: readonly string[],
  order: MountOrder,
  path: string,
  mountSource = source,
): string {
  const snapshot = snapshotOf(source, names, order);
  const first = firstNameservice(snapshot, 0, path, mountSource, '127.0.0.1', NO_FIGURES, () => 0, 60);
  return snapshot.nameserviceName(first);
}

function ownerOf(names: readonly string[], key: string): string {
  return names[new HashRing(names).ownerOf(key)] as string;
}

function hex(key: string): string {
  return digestKey(key).toString('hex');
}

describe('vectors of the Java Router', () => {
  it('are all read', () => {
    expect([pathRows.length, keyRows.length]).toEqual([114, 7]);
  });

  it.each(pathRows)('%s %s %s', (names = '', order, path = '', _key, chosen) => {
    expect(choose(SOURCE, names.split(','), order as MountOrder, path)).toBe(chosen);
    // Neither the order in the record nor a nameservice named twice changes it.
    const others = names.split(',').reverse();
    expect(choose(SOURCE, [...others, ...others], order as MountOrder, path)).toBe(chosen);
  });

  it.each(keyRows)('key %s', (key = '', md5, owner) => {
    expect(hex(key)).toBe(md5);
    expect(ownerOf(['ns0', 'ns1', 'ns2'], key)).toBe(owner);
  });
});

describe('key bytes', () => {
  // Bytes as Hadoop's own class writes them.
  it.each([
    ['\0', '00'],
    ['é', 'c3a9'],
    ['\u0800', 'e0a080'],
    ['\uffff', 'efbfbf'],
    ['😀', 'eda0bdedb880'],
    ['a\0é😀', '6100c3a9eda0bdedb880'],
  ])('of %j are %s', (key, bytes) => {
    const md5 = createHash('md5').update(Buffer.from(bytes, 'hex')).digest('hex');
    expect(hex(key)).toBe(md5);
  });
});

describe('ring', () => {
  it('gives a key to the first point at it or behind it', () => {
    // The point itself is the key.
    expect(ownerOf(['ns0', 'ns1', 'ns2'], 'ns2/7')).toBe('ns2');
    expect(ownerOf(['ns0'], 'whatever')).toBe('ns0');
  });

  it('goes on at its start behind its end', () => {
    const names = ['a', 'b', 'c'];
    const points = names
      .flatMap((name) => Array.from({ length: POINTS_PER_NAME }, (_, i) => ({ name, digest: hex(`${name}/${i}`) })))
      .sort((x, y) => (x.digest < y.digest ? -1 : 1));
    const last = points.at(-1)?.digest ?? '';
    const beyond = Array.from({ length: 10_000 }, (_, i) => `k${i}`).filter((key) => hex(key) > last);
    expect(beyond).not.toEqual([]);
    for (const key of beyond) expect(ownerOf(names, key)).toBe(points[0]?.name);
  });

  it('is kept for its names and made again when too many points were kept', () => {
    const cache = new RingCache(5 * POINTS_PER_NAME);
    const first = cache.ringOf(['a', 'b']);
    expect(cache.ringOf(['a', 'b'])).toBe(first);
    expect(cache.ringOf(['a', 'bc'])).not.toBe(first);
    expect(cache.points).toBe(4 * POINTS_PER_NAME);
    const third = cache.ringOf(['c', 'd']);
    expect(cache.points).toBe(4 * POINTS_PER_NAME);
    expect(cache.ringOf(['c', 'd'])).toBe(third);
    const again = cache.ringOf(['a', 'b']);
    expect(again).not.toBe(first);
    expect(again.ownerOf('/x')).toBe(first.ownerOf('/x'));
    // One ring larger than the limit stands alone.
    const large = cache.ringOf(['1', '2', '3', '4', '5', '6']);
    expect([large.points, cache.points]).toEqual([6 * POINTS_PER_NAME, 6 * POINTS_PER_NAME]);
    expect(MAX_RING_POINTS).toBeGreaterThan(1_024 * POINTS_PER_NAME);
  });

  it('does not mix lists of names that read alike one after the other', () => {
    const cache = new RingCache(MAX_RING_POINTS);
    expect(cache.ringOf(['ab', 'c'])).not.toBe(cache.ringOf(['a', 'bc']));
    expect(cache.ringOf(['a', '1:b'])).not.toBe(cache.ringOf(['a1:b']));
  });
});

describe('what is hashed', () => {
  const names = ['ns0', 'ns1', 'ns2'];

  it.each([
    // [mount, path, key of HASH]
    ['/data', '/data', '/data'],
    ['/data', '/data/', '/data'],
    ['/data', '/data/y/z', '/data/y'],
    ['/data', '/data//y/z', '/data'],
    ['/data', '/data/y//z', '/data/y'],
    ['/', '/', '/'],
    ['/', '/y/z', '/y'],
    ['/', '//y/z', '/y'],
    ['/a/b', '/a/b/c.tmp', '/a/b/c'],
    ['/a/b', '//a/b/c/d', '/a/b/b'],
  ])('HASH on %s: %s by %s', (source, path, key) => {
    expect(choose(source, names, 'HASH', path)).toBe(ownerOf(names, key));
  });

  it('HASH_ALL: the whole path as the client wrote it', () => {
    for (const path of ['/data//d/f', '/data/d/f', '/data/d/f/', '/data/d/./f'])
      expect(choose(SOURCE, names, 'HASH_ALL', path)).toBe(ownerOf(names, path));
  });

  it('a path in trash: the whole path in both orders', () => {
    const trash = Array.from({ length: 20 }, (_, i) => `/user/u/.Trash/Current/data/d${i}/f`);
    const owners = trash.map((path) => ownerOf(names, path));
    expect(new Set(owners).size).toBe(3);
    expect(trash.map((path) => choose(SOURCE, names, 'HASH', path, path))).toEqual(owners);
    expect(trash.map((path) => choose(SOURCE, names, 'HASH_ALL', path, path))).toEqual(owners);
  });

  it('is right for more mounts than are remembered, and for two snapshots in turn', () => {
    const count = MAX_REMEMBERED_MOUNTS + 10;
    const pairs = [
      ['ns0', 'ns1'],
      ['ns1', 'ns2'],
      ['x', 'ns0', 'y'],
    ];
    const build = (shift: number): MountSnapshot => {
      const mounts = Array.from({ length: count }, (_, i) => {
        const destinations = (pairs[(i + shift) % pairs.length] as string[]).map((name) => `${name}:/t`);
        return mount(`/m${i}`, destinations, { order: 'HASH_ALL' });
      });
      return MountSnapshot.from(buildSnapshot(mounts, ['ns0'], 1, null));
    };
    const owners = pairs.map((names) => new HashRing(names));
    const snapshots = [build(0), build(1)];
    for (let i = 0; i < count; i++) {
      for (const shift of [0, 1]) {
        const snapshot = snapshots[shift] as MountSnapshot;
        const path = Buffer.from(`/m${i}/f`);
        const first = firstNameservice(
          snapshot,
          snapshot.find(path, 0, path.length),
          `/m${i}/f`,
          `/m${i}`,
          '',
          NO_FIGURES,
          () => 0,
          60,
        );
        const pair = (i + shift) % pairs.length;
        const owner = (pairs[pair] as string[])[(owners[pair] as HashRing).ownerOf(`/m${i}/f`)];
        expect(snapshot.nameserviceName(first)).toBe(owner);
      }
    }
  });
});
