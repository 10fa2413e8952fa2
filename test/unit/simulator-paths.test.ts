import { describe, expect, it } from 'vitest';
import { compareNames, isValidName } from '../../src/simulator/paths.ts';

describe('paths', () => {
  it.each([
    ['/', true],
    ['/a/b/', true],
    ['/a//b', false],
    ['/.', false],
    ['/..', false],
    ['/...', true],
    ['a', false],
    ['/.reserved/.inodes/7/..', true],
  ])('%s is valid: %s', (path, valid) => {
    expect(isValidName(path)).toBe(valid);
  });

  it('compare as their bytes do', () => {
    const names = ['', 'a', 'ab', 'z', 'é', '\u{10ffff}', '\ue000', '\uffff', '\u{10000}'];
    for (const a of names) {
      for (const b of names) {
        expect(Math.sign(compareNames(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
      }
    }
  });
});
