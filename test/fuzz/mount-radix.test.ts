import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { MountEntry } from '../../src/mount/entry.ts';
import { buildSnapshot } from '../../src/mount/radix-build.ts';
import { MountSnapshot } from '../../src/mount/snapshot.ts';
import { type Found, lookUp, mount } from '../unit/mount-samples.ts';

const RUN = { seed: 20_240_611, numRuns: 20_000, interruptAfterTimeLimit: 2_000, markInterruptAsFailure: false };

// Few letters, so that names are prefixes of each other; bytes on both sides of `/`, several lengths in UTF-8.
const name = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: fc.constantFrom('a', 'b', '!', '0'), minLength: 1, maxLength: 3 }) },
  {
    weight: 1,
    arbitrary: fc.string({
      unit: fc.constantFrom('\u0000', '\u007f', 'é', '\uffff', '😀'),
      minLength: 1,
      maxLength: 2,
    }),
  },
);
const path = fc.array(name, { maxLength: 5 }).map((names) => `/${names.join('/')}`);

const entry = fc
  .record({
    source: path,
    target: path,
    nameservice: fc.constantFrom('ns0', 'ns1', 'elsewhere'),
    date: fc.integer({ min: 1, max: 1_000 }),
  })
  .map(({ source, target, nameservice, date }) => mount(source, [`${nameservice}:${target}`], { dateModified: date }));
const table = fc.uniqueArray(entry, { selector: ({ sourcePath }) => sourcePath, maxLength: 40 });

/** Whether `outer` is the path itself or an ancestor of it. */
function covers(outer: string, inner: string): boolean {
  return outer === '/' || inner === outer || inner.startsWith(`${outer}/`);
}

function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

function findNaively(entries: readonly MountEntry[], path: string): Found {
  const covering = entries.filter(({ sourcePath }) => covers(sourcePath, path));
  const deepest = covering.toSorted((a, b) => b.sourcePath.length - a.sourcePath.length)[0];
  const mountsBelow = entries.some(({ sourcePath }) => sourcePath !== path && covers(path, sourcePath));
  if (deepest === undefined) return { mount: null, target: '', atMount: false, mountsBelow };
  const rest =
    path === deepest.sourcePath ? '' : path.slice(deepest.sourcePath === '/' ? 0 : deepest.sourcePath.length);
  const { nameservice, path: base } = deepest.destinations[0] as { nameservice: string; path: string };
  const target = `${base === '/' ? '' : base}${rest}` || '/';
  return {
    mount: deepest.sourcePath,
    target: `${nameservice}:${target}`,
    atMount: deepest.sourcePath === path,
    mountsBelow,
  };
}

function childrenNaively(entries: readonly MountEntry[], path: string): string[] | null {
  const under = entries.filter(({ sourcePath }) => covers(path, sourcePath));
  if (under.length === 0) return null;
  const below = under.filter(({ sourcePath }) => sourcePath !== path);
  const depth = path === '/' ? 1 : path.split('/').length;
  return [...new Set(below.map(({ sourcePath }) => sourcePath.split('/')[depth] as string))].sort(byBytes);
}

/** Random paths, and paths near the mounts: themselves, their ancestors, one more component, one more letter. */
function pathsToTry(entries: readonly MountEntry[], random: readonly string[]): string[] {
  const paths = ['/', ...random];
  for (const { sourcePath } of entries) {
    const parent = sourcePath.slice(0, sourcePath.lastIndexOf('/')) || '/';
    const below = sourcePath === '/' ? '/x' : `${sourcePath}/x`;
    paths.push(sourcePath, parent, below, `${below}/a/b`, sourcePath === '/' ? '/a' : `${sourcePath}a`);
  }
  return paths;
}

it('agrees with a naive model on every question', () => {
  let tables = 0;
  fc.assert(
    fc.property(table, fc.array(path, { maxLength: 20 }), (entries, random) => {
      tables++;
      const snapshot = MountSnapshot.from(buildSnapshot(entries, ['ns0', 'ns1'], 1, null));
      for (const path of pathsToTry(entries, random)) {
        expect(lookUp(snapshot, path)).toEqual(findNaively(entries, path));
        expect(snapshot.childrenOf(path)).toEqual(childrenNaively(entries, path));
        const under = entries.filter(({ sourcePath }) => covers(path, sourcePath));
        const found = snapshot.mountsUnder(path).map((at) => snapshot.entryOf(at));
        expect(found.toSorted((a, b) => byBytes(a.sourcePath, b.sourcePath))).toEqual(
          under.toSorted((a, b) => byBytes(a.sourcePath, b.sourcePath)),
        );
        expect(snapshot.latestDateBelow(path)).toBe(Math.max(0, ...under.map(({ dateModified }) => dateModified)));
      }
    }),
    RUN,
  );
  expect(tables).toBeGreaterThan(20);
});

it('answers for any bytes without leaving the table', () => {
  const entries = ['/', '/a', '/a/b', '/é/x'].map((source) => mount(source, ['ns0:/t']));
  const snapshot = MountSnapshot.from(buildSnapshot(entries, ['ns0'], 1, null));
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      const path = Buffer.from([0x2f, ...bytes]);
      const found = snapshot.find(path, 0, path.length);
      expect(found).toBeGreaterThanOrEqual(0);
      expect(snapshot.matchedEnd).toBeLessThanOrEqual(path.length);
    }),
    { ...RUN, interruptAfterTimeLimit: 500 },
  );
});
