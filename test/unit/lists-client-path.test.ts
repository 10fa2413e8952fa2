import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ClientPaths } from '../../src/composed/lists/client-path.ts';
import { commonDirectory } from '../../src/composed/lists/reach.ts';

/** Paths of nameservices, as clients see them. */

interface Mount {
  readonly source: string;
  readonly nameservice: number;
  readonly destination: string;
}

function pathsOf(mounts: readonly Mount[]): ClientPaths {
  const paths = new ClientPaths();
  for (const { source, nameservice, destination } of mounts) paths.add(source, nameservice, destination);
  return paths;
}

function mount(source: string, nameservice: number, destination: string): Mount {
  return { source, nameservice, destination };
}

describe('the path under which clients see a file', () => {
  const paths = pathsOf([
    mount('/', 0, '/'),
    mount('/a', 1, '/x'),
    mount('/a/deep', 1, '/other'),
    mount('/b', 1, '/x/y'),
    mount('/c', 1, '/x'),
    mount('/r', 2, '/'),
    mount('/aB', 3, '/same'),
    mount('/a-', 3, '/same'),
  ]);

  it.each([
    ['of the default nameservice', 0, '/f', '/f'],
    ['hidden by a mount point', 0, '/a/f', null],
    ['beside a mount point', 0, '/ab', '/ab'],
    ['the root', 0, '/', '/'],
    ['below a mount', 1, '/x/f', '/a/f'],
    ['the target itself', 1, '/x', '/a'],
    ['of the deepest destination', 1, '/x/y/f', '/b/f'],
    ['hidden below one mount, seen through another', 1, '/x/deep/f', '/c/deep/f'],
    ['of a nested mount', 1, '/other/f', '/a/deep/f'],
    ['that no mount shows', 1, '/xy', null],
    ['above what is shown', 1, '/', null],
    ['of a mounted root', 2, '/f', '/r/f'],
    ['the mounted root', 2, '/', '/r'],
    ['the first in byte order', 3, '/same/f', '/a-/f'],
    ['of a nameservice without mounts', 4, '/f', null],
    ['no absolute path', 1, 'x/f', null],
  ])('%s', (_, nameservice, path, expected) => {
    expect(paths.clientPathOf(nameservice, path)).toBe(expected);
  });

  it('below a directory only', () => {
    expect(paths.clientPathOf(1, '/x/y/f', '/a')).toBe('/a/y/f');
    expect(paths.clientPathOf(1, '/x/y/f', '/b/f')).toBe('/b/f');
    expect(paths.clientPathOf(1, '/x/y/f', '/b/g')).toBeNull();
    expect(paths.clientPathOf(1, '/x/deep/f', '/a')).toBeNull();
  });
});

describe('random mount tables', () => {
  const names = ['a', 'b', 'a-'];
  const directory = fc.array(fc.constantFrom(...names), { maxLength: 3 }).map((parts) => `/${parts.join('/')}`);
  const table = fc.uniqueArray(
    fc.record({ source: directory, nameservice: fc.nat({ max: 1 }), destination: directory }),
    { selector: ({ source }) => source, maxLength: 8 },
  );

  /** As a router resolves: the deepest mount that covers the path. */
  function resolve(mounts: readonly Mount[], path: string): string | null {
    const covers = mounts.filter(({ source }) => source === '/' || path === source || path.startsWith(`${source}/`));
    const deepest = covers.toSorted((a, b) => b.source.length - a.source.length)[0];
    if (deepest === undefined) return null;
    const rest = (deepest.source === '/' ? path : path.slice(deepest.source.length)).slice(1);
    const parts = deepest.destination.split('/').concat(rest.split('/'));
    return `${deepest.nameservice}:/${parts.filter((part) => part !== '').join('/')}`;
  }

  it('every path that is found leads to the file, and none is found only where none does', () => {
    const everyPath = fc.sample(directory, 200);
    fc.assert(
      fc.property(table, fc.nat({ max: 1 }), directory, (mounts, nameservice, path) => {
        const found = pathsOf(mounts).clientPathOf(nameservice, path);
        const place = `${nameservice}:${path}`;
        if (found === null) expect(everyPath.filter((each) => resolve(mounts, each) === place)).toEqual([]);
        else expect(resolve(mounts, found)).toBe(place);
      }),
      { numRuns: 500 },
    );
  });
});

it.each([
  ['/a/b', '/a/b', '/a/b'],
  ['/a/b', '/a/b/c', '/a/b'],
  ['/a/bc', '/a/b', '/a'],
  ['/a', '/b', '/'],
  ['/', '/b', '/'],
])('the common directory of %s and %s', (a, b, common) => {
  expect(commonDirectory(a, b)).toBe(common);
  expect(commonDirectory(b, a)).toBe(common);
});
