import { describe, expect, it } from 'vitest';
import { findUnproved, readMethodProofs } from '../../scripts/make-coverage.ts';
import { findProved, readProofs } from '../../scripts/proofs.ts';
import { METHODS } from '../../src/call/methods.ts';

const ROOT = new URL('../../', import.meta.url);

describe('the tests that prove methods', () => {
  it('are found by a literal and by a constant of the file, each name once', () => {
    const source = `
      const SUMMARY = 'ClientProtocol.getContentSummary';
      prove('ClientProtocol.create', 'title', {}, run);
      prove(
        'ClientProtocol.mkdirs',
        'title', {}, run);
      prove(SUMMARY, 'title', {}, run);
      prove(SUMMARY, 'another', {}, run);
    `;
    expect(findProved(source)).toEqual([
      'ClientProtocol.create',
      'ClientProtocol.mkdirs',
      'ClientProtocol.getContentSummary',
    ]);
  });

  it('are not guessed where the name is no plain literal or the constant is of another file', () => {
    expect(findProved('prove(`ClientProtocol.create`, title, {}, run)')).toEqual([null]);
    expect(findProved("prove(ELSEWHERE, 'title', {}, run)")).toEqual([null]);
    expect(findProved("prove(method, 'title', {}, run)")).toEqual([]);
  });

  it('must name methods that there are', () => {
    const { files, faults } = readProofs(ROOT, (name) => name !== 'ClientProtocol.create');
    expect(files.has('ClientProtocol.create')).toBe(false);
    expect(faults).toContain(
      'test/methods/locations-files.test.ts proves ClientProtocol.create, which src/call/methods.ts does not have: correct its name',
    );
  });

  it('prove every method', () => {
    expect(findUnproved(readMethodProofs())).toEqual([]);
  });

  it('are missed by name, with the remedy', () => {
    const unproved = findUnproved({ files: new Map(), faults: [] });
    expect(unproved).toHaveLength(METHODS.length);
    expect(unproved).toContain(
      "ClientProtocol.create has no test: write one with prove('ClientProtocol.create', …) below test/methods (test/support/prove.ts)",
    );
  });
});
