import { describe, expect, it } from 'vitest';
import { canonicalPath, isCanonicalPath, writeCanonicalPath } from '../../src/mount/canonical.ts';

const shifted = (text: string) => Buffer.from(`//${text}//`);

function normalise(path: string): string {
  const buffer = shifted(path);
  const out = Buffer.alloc(path.length * 3 + 3, 0xee);
  const end = writeCanonicalPath(buffer, 2, buffer.length - 2, out, 1);
  return out.toString('utf8', 1, end);
}

describe('the canonical form of a path', () => {
  it.each([
    ['/', '/', true],
    ['//', '/', false],
    ['///', '/', false],
    ['/a', '/a', true],
    ['/a/', '/a', false],
    ['/a//', '/a', false],
    ['//a///b//', '/a/b', false],
    ['/a/b/c', '/a/b/c', true],
    ['/a/./../b', '/a/./../b', true],
    ['/é/ ', '/é/ ', true],
    ['', '', true],
    ['a//b/', 'a/b', false],
    ['a', 'a', true],
  ])('%s becomes %s', (path, expected, canonical) => {
    expect(normalise(path)).toBe(expected);
    expect(canonicalPath(path)).toBe(expected);
    const buffer = shifted(path);
    expect(isCanonicalPath(buffer, 2, buffer.length - 2)).toBe(canonical);
  });
});
