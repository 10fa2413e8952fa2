import { describe, expect, it } from 'vitest';
import { type Cell, cutCells } from '../../src/composed/subtree/cells.ts';
import { isFile, limitOf, totalOf, totalWithDirectories, typesOf } from '../../src/composed/subtree/counts.ts';
import type { Subtree } from '../../src/composed/subtree/gather.ts';
import type { Place, Region } from '../../src/composed/subtree/regions.ts';
import type { Plain } from '../../src/wire/messages.ts';

const LARGEST = 2n ** 63n - 1n;

const place = (path: string, nameservice = 0): Place => ({ nameservice, path, prefixBytes: path.length });

function region(clientPath: string, path: string, hidden: Readonly<Record<string, string>> = {}): Region {
  const shadows = Object.values(hidden).map((each) => place(each));
  return {
    clientPath,
    places: [{ ...place(path), shadows }],
    everywhere: false,
    hidden: Object.keys(hidden),
    between: [],
    isTrash: false,
  };
}

function weights(regions: readonly Region[]): Record<string, number> {
  return Object.fromEntries(cutCells(regions).map(({ path, weight }) => [path, weight]));
}

function subtreeOf(own: Plain[], counted: readonly (readonly [weight: 1 | -1, count: Plain])[]): Subtree {
  const cells = counted.map(([weight, count]) => {
    const cell: Cell = { ...place('/'), clientPath: '/', around: null, owner: null, weight, topOf: [] };
    return { cell, count };
  });
  return { counted: cells, own, whole: null, directoriesTwice: 0n, directoriesOfMounts: 0n };
}

const types = (...infos: readonly (readonly [type: string, quota: number, consumed: number])[]): Plain => ({
  typeQuotaInfos: { typeQuotaInfo: infos.map(([type, quota, consumed]) => ({ type, quota, consumed })) },
});

describe('cells of a nameservice', () => {
  it('are taken away where a mount point hides them, and counted where another shows them', () => {
    expect(weights([region('/a', '/a', { '/a/b': '/a/b' }), region('/a/b', '/elsewhere')])).toEqual({
      '/a': 1,
      '/a/b': -1,
      '/elsewhere': 1,
    });
    expect(weights([region('/', '/', { '/x': '/x', '/y': '/y' }), region('/x', '/y/in'), region('/y', '/z')])).toEqual({
      '/': 1,
      '/x': -1,
      '/y': -1,
      '/y/in': 1,
      '/z': 0,
    });
  });

  it('need no request when they are seen anyway', () => {
    expect(weights([region('/', '/', { '/a': '/a' }), region('/a', '/a'), region('/b', '/a/c')])).toEqual({
      '/': 1,
      '/a': 0,
      '/a/c': 0,
    });
  });

  it('go by whole components and by nameservice', () => {
    expect(weights([region('/a', '/a', { '/a/b': '/a/b' }), region('/a/b', '/ab')])).toEqual({
      '/a': 1,
      '/a/b': -1,
      '/ab': 1,
    });
    const other: Region = { ...region('/a/b', '/a/b'), places: [{ ...place('/a/b', 1), shadows: [] }] };
    const cells = cutCells([region('/a', '/a', { '/a/b': '/a/b' }), other]);
    expect(cells.map(({ nameservice, path, weight }) => [nameservice, path, weight])).toEqual([
      [0, '/a', 1],
      [0, '/a/b', -1],
      [1, '/a/b', 1],
    ]);
  });
});

describe('counts of several answers', () => {
  it('are summed up, snapshots too, and never below zero', () => {
    const subtree = subtreeOf(
      [],
      [
        [1, { length: 10, snapshotFileCount: 3 }],
        [1, { length: LARGEST - 100n, snapshotFileCount: 4 }],
        [-1, { length: 5, snapshotFileCount: 9 }],
      ],
    );
    expect(totalOf(subtree, 'length')).toBe(LARGEST - 95n);
    expect(totalOf(subtree, 'snapshotFileCount')).toBe(0n);
    expect(totalOf(subtree, 'snapshotLength')).toBe(0n);
  });

  it('of directories leave out those of other locations and add those of mount points', () => {
    const subtree: Subtree = {
      ...subtreeOf([], [[1, { directoryCount: 7 }]]),
      directoriesTwice: 3n,
      directoriesOfMounts: 2n,
    };
    expect(totalWithDirectories(subtree, 'directoryCount')).toBe(6n);
  });

  it('keep a limit that all locations of the path have, the smallest', () => {
    const limit = (...quotas: (number | bigint)[]): bigint =>
      limitOf(
        subtreeOf(
          quotas.map((quota) => ({ quota })),
          [],
        ),
        'quota',
      );
    expect(limit()).toBe(-1n);
    expect(limit(5)).toBe(5n);
    expect(limit(5, 5)).toBe(5n);
    expect(limit(7, 5, LARGEST)).toBe(5n);
    expect(limit(7, -1)).toBe(-1n);
  });

  it('keep limits by storage type (the Java Router loses them)', () => {
    const own = types(['SSD', 10, 1], ['DISK', -1, 2]);
    const subtree = subtreeOf(
      [own],
      [
        [1, own],
        [1, types(['SSD', 99, 5], ['ARCHIVE', -1, 4])],
        [-1, types(['DISK', -1, 2])],
      ],
    );
    expect(typesOf(subtree)).toEqual({
      typeQuotaInfo: [
        { type: 'SSD', quota: 10n, consumed: 6n },
        { type: 'DISK', quota: -1n, consumed: 0n },
        { type: 'ARCHIVE', quota: -1n, consumed: 4n },
      ],
    });
    expect(typesOf(subtreeOf([{}], [[1, {}]]))).toBeUndefined();
  });

  it('tell a file from an empty directory', () => {
    expect(isFile({ fileCount: 1, directoryCount: 0 })).toBe(true);
    expect(isFile({ fileCount: 0, directoryCount: 1 })).toBe(false);
  });
});
