import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type LocationPage, mergePages, nameOf, writePicks } from '../../src/composed/view/merge.ts';
import { ENTRIES_OK, EntryScan, scanListing } from '../../src/wire/listing-scan.ts';
import { decodePlain, encode, messageType, type Plain } from '../../src/wire/messages.ts';

/** Pages of locations merged, from the first to the last, against the plain union of what they hold. */

const LISTING = messageType('hadoop.hdfs.GetListingResponseProto');
const NOTHING = Buffer.alloc(0);

interface Entry {
  readonly name: string;
  readonly isDirectory: boolean;
  readonly children: number;
}

const names = fc.string({
  unit: fc.constantFrom('a', 'b', '-', 'é', '\u{ffee}', '\u{1f600}'),
  minLength: 1,
  maxLength: 3,
});
const entries = fc.uniqueArray(fc.record({ name: names, isDirectory: fc.boolean(), children: fc.nat({ max: 9 }) }), {
  maxLength: 25,
  selector: ({ name }) => name,
});
const locations = fc.array(fc.record({ entries, pageSize: fc.integer({ min: 1, max: 6 }), hides: fc.boolean() }), {
  maxLength: 5,
});

/** Half of all names, the same ones in each location. */
const isHidden = (name: string): boolean => name.charCodeAt(0) % 2 === 0;
const sorted = (all: Iterable<string>): string[] =>
  [...new Set(all)]
    .map((each) => Buffer.from(each))
    .sort(Buffer.compare)
    .map(String);

function pageOf(all: readonly Entry[], pageSize: number, hides: boolean, startAfter: Buffer): LocationPage {
  const left = all
    .filter(({ name }) => Buffer.compare(Buffer.from(name), startAfter) > 0)
    .sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
  const partialListing = left.slice(0, pageSize).map(({ name, isDirectory, children }) => ({
    fileType: isDirectory ? 'IS_DIR' : 'IS_FILE',
    path: Buffer.from(name),
    length: 0,
    permission: { perm: 0o644 },
    owner: 'o',
    group: 'g',
    modification_time: 1,
    access_time: 1,
    childrenNum: children,
  }));
  const body = encode(LISTING, { dirList: { partialListing, remainingEntries: Math.max(0, left.length - pageSize) } });
  const scan = new EntryScan();
  expect(scanListing(body, 0, body.length, scan)).toBe(ENTRIES_OK);
  return { body, scan, shows: hides ? (name) => !isHidden(name) : null };
}

/** As the status of a path over all locations that show it: the first file, else the first directory with the children of all. */
function expectedOf(everywhere: boolean, holders: readonly Entry[]): object {
  const [first] = holders as [Entry];
  if (!everywhere) return { fileType: first.isDirectory ? 'IS_DIR' : 'IS_FILE', childrenNum: first.children };
  const file = holders.find(({ isDirectory }) => !isDirectory);
  if (file !== undefined) return { fileType: 'IS_FILE', childrenNum: file.children };
  return { fileType: 'IS_DIR', childrenNum: holders.reduce((sum, { children }) => sum + children, 0) };
}

it('every name comes once, in order, as its status is, whatever the pages', () => {
  fc.assert(
    fc.property(
      locations,
      fc.uniqueArray(names, { maxLength: 8 }),
      fc.boolean(),
      fc.integer({ min: 1, max: 4 }),
      (all, mounts, everywhere, maxMounts) => {
        const visible = all.map(({ entries: own, hides }) => own.filter(({ name }) => !(hides && isHidden(name))));
        const expected = sorted([...visible.flat().map(({ name }) => name), ...mounts]);
        const seen: string[] = [];
        for (let startAfter = NOTHING as Buffer, more = true; more; ) {
          const pages = all.map(({ entries: own, pageSize, hides }) => pageOf(own, pageSize, hides, startAfter));
          const children = sorted(mounts)
            .map((name) => Buffer.from(name))
            .filter((name) => Buffer.compare(name, startAfter) > 0);
          const { picks, remaining, end } = mergePages(pages, children, { everywhere, maxMounts });
          const real = picks.filter(({ child }) => child < 0);
          const bytes = writePicks(pages, real, new Map());
          const head = encode(LISTING, { dirList: { partialListing: [], remainingEntries: 0 } }).subarray(2);
          const list = decodePlain(messageType('hadoop.hdfs.DirectoryListingProto'), Buffer.concat([bytes, head]));
          for (const entry of list['partialListing'] as Plain[]) {
            const name = String(entry['path']);
            const holders = visible.flatMap((own) => own.filter((each) => each.name === name));
            expect(entry).toMatchObject(expectedOf(everywhere, holders));
          }
          for (const pick of picks) seen.push(String(nameOf(pages, children, pick)));
          const shown = new Set(seen);
          // Never none too early; while nothing is hidden, never too late either.
          if (expected.some((name) => !shown.has(name))) expect(remaining).toBeGreaterThan(0);
          else if (all.every(({ hides }) => !hides)) expect(remaining).toBe(0);
          more = remaining > 0;
          if (more) {
            expect(end !== null && Buffer.compare(end, startAfter) > 0).toBe(true);
            startAfter = Buffer.from(end as Buffer);
          }
        }
        expect(seen).toEqual(expected);
      },
    ),
    { seed: 11, numRuns: 600, interruptAfterTimeLimit: 4_000, markInterruptAsFailure: false },
  );
});

it('with many locations a page has fewer names, and all come in the end', () => {
  const all = Array.from({ length: 300 }, (_, i) => [
    { name: `n${String(i).padStart(4, '0')}`, isDirectory: false, children: 0 },
    { name: 'same', isDirectory: true, children: 1 },
  ]);
  const seen: string[] = [];
  let pagesSeen = 0;
  for (let startAfter = NOTHING as Buffer, more = true; more; pagesSeen++) {
    const pages = all.map((own) => pageOf(own, 10, false, startAfter));
    const { picks, remaining, end } = mergePages(pages, [], { everywhere: true, maxMounts: 1 });
    for (const pick of picks) seen.push(String(nameOf(pages, [], pick)));
    if (picks.length === 1) expect(picks[0]?.childrenNum).toBe(300);
    more = remaining > 0;
    startAfter = Buffer.from(end ?? NOTHING);
  }
  expect(seen).toEqual(sorted(all.flat().map(({ name }) => name)));
  expect(pagesSeen).toBe(5);
});
