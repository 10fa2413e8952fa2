import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  compareNames,
  ENTRIES_MALFORMED,
  ENTRIES_OK,
  EntryScan,
  entrySize,
  LISTING_HEAD_BYTES,
  LISTING_TAIL_BYTES,
  NO_CHILDREN_NUM,
  renamedBound,
  scanListing,
  scanStatus,
  writeEntry,
  writeListing,
  writeRenamed,
} from '../../src/wire/listing-scan.ts';
import { decodePlain, encode, messageType, type Plain } from '../../src/wire/messages.ts';

const LISTING = messageType('hadoop.hdfs.GetListingResponseProto');
const STATUS = messageType('hadoop.hdfs.HdfsFileStatusProto');
const INFO = messageType('hadoop.hdfs.GetFileInfoResponseProto');
const TIME_LIMIT = { interruptAfterTimeLimit: 1_500, markInterruptAsFailure: false };

function status(name: string, more: object = {}): Plain {
  return {
    fileType: 'IS_FILE',
    path: Buffer.from(name),
    length: 2 ** 40,
    permission: { perm: 0o644 },
    owner: 'alice',
    group: 'users',
    modification_time: 1_700_000_000_000,
    access_time: 0,
    ...more,
  };
}

const names = fc.array(
  fc.record({
    name: fc.string({ maxLength: 200 }),
    isDirectory: fc.boolean(),
    children: fc.integer({ min: -1, max: 1e6 }),
  }),
  { maxLength: 100 },
);

function scanned(body: Buffer): EntryScan {
  const scan = new EntryScan();
  expect(scanListing(body, 0, body.length, scan)).toBe(ENTRIES_OK);
  return scan;
}

describe('the scan of a listing', () => {
  it('finds what a decoder finds', () => {
    fc.assert(
      fc.property(names, fc.nat(), fc.nat({ max: 9 }), (entries, remaining, offset) => {
        const partialListing = entries.map(({ name, isDirectory, children }) =>
          status(name, { fileType: isDirectory ? 'IS_DIR' : 'IS_FILE', childrenNum: children, fileId: 16_385 }),
        );
        const plain = encode(LISTING, { dirList: { partialListing, remainingEntries: remaining } });
        const body = Buffer.concat([Buffer.alloc(offset, 0xff), plain, Buffer.alloc(3, 0xff)]);
        const scan = new EntryScan();
        expect(scanListing(body, offset, offset + plain.length, scan)).toBe(ENTRIES_OK);
        expect([scan.hasListing, scan.count, scan.remaining]).toEqual([true, entries.length, remaining]);
        for (const [i, { name, isDirectory, children }] of entries.entries()) {
          expect(body.subarray(scan.nameStartOf(i), scan.nameEndOf(i))).toEqual(Buffer.from(name));
          expect([scan.isDirectory(i), scan.childrenOf(i)]).toEqual([isDirectory, children]);
          expect(decodePlain(STATUS, body, scan.startOf(i), scan.endOf(i))).toEqual(partialListing[i]);
        }
      }),
      TIME_LIMIT,
    );
  });

  it('tells a missing directory from an empty one', () => {
    expect(scanned(Buffer.alloc(0)).hasListing).toBe(false);
    const scan = scanned(encode(LISTING, { dirList: { partialListing: [], remainingEntries: 0 } }));
    expect([scan.hasListing, scan.count, scan.remaining]).toEqual([true, 0, 0]);
  });

  it('takes the last of a field that stands twice, and steps over unknown ones and groups', () => {
    const entry = encode(STATUS, status('first', { childrenNum: 1 }));
    // path "last" · childrenNum 5 · field 50 a group with a varint in it.
    const twice = Buffer.concat([entry, Buffer.from('12046c617374700593030805940' + '3', 'hex')]);
    const list = Buffer.concat([Buffer.from([0x0a, twice.length]), twice, Buffer.from([0x10, 7, 0x10, 9])]);
    const body = Buffer.concat([Buffer.from([0x0a, list.length]), list]);
    const scan = scanned(body);
    expect(body.toString('utf8', scan.nameStartOf(0), scan.nameEndOf(0))).toBe('last');
    expect([scan.childrenOf(0), scan.remaining]).toEqual([5, 9]);
  });

  it('refuses what no decoder can read, without reading past the end', () => {
    const whole = encode(LISTING, { dirList: { partialListing: [status('a')], remainingEntries: 0 } });
    const scan = new EntryScan();
    for (let end = 1; end < whole.length; end++) expect(scanListing(whole, 0, end, scan)).toBe(ENTRIES_MALFORMED);
    const nameless = Buffer.from([0x0a, 4, 0x0a, 2, 0x08, 1]);
    expect(scanListing(nameless, 0, nameless.length, scan)).toBe(ENTRIES_MALFORMED);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        const body = Buffer.from(bytes);
        const code = scanListing(body, 0, body.length, scan);
        expect(code === ENTRIES_OK || code === ENTRIES_MALFORMED).toBe(true);
        for (let i = 0; i < scan.count; i++) expect(scan.endOf(i)).toBeLessThanOrEqual(body.length);
      }),
      { numRuns: 2_000, ...TIME_LIMIT },
    );
  });

  it('a changed byte of a real listing is found or read within its bounds', () => {
    const partialListing = ['a', 'bb', 'ccc'].map((name) => status(name));
    const whole = encode(LISTING, { dirList: { partialListing, remainingEntries: 3 } });
    fc.assert(
      fc.property(fc.nat({ max: whole.length - 1 }), fc.nat({ max: 255 }), (at, byte) => {
        const body = Buffer.from(whole);
        body[at] = byte;
        const scan = new EntryScan();
        if (scanListing(body, 0, body.length, scan) !== ENTRIES_OK) return;
        for (let i = 0; i < scan.count; i++) {
          expect(scan.nameStartOf(i)).toBeGreaterThanOrEqual(scan.startOf(i));
          expect(scan.nameEndOf(i)).toBeLessThanOrEqual(scan.endOf(i));
          expect(scan.endOf(i)).toBeLessThanOrEqual(body.length);
        }
      }),
      { numRuns: 2_000, ...TIME_LIMIT },
    );
  });
});

describe('entries written again', () => {
  it('are the same, with another number of children where one is given', () => {
    fc.assert(
      fc.property(names, fc.nat(), (entries, sum) => {
        const partialListing = entries.map(({ name, children }) => status(name, { childrenNum: children }));
        const body = encode(LISTING, { dirList: { partialListing, remainingEntries: 0 } });
        const scan = scanned(body);
        const pieces = partialListing.map((_, i) => {
          const childrenNum = i % 2 === 0 ? NO_CHILDREN_NUM : sum;
          const out = Buffer.alloc(entrySize(scan, i, childrenNum));
          expect(writeEntry(out, 0, body, scan, i, childrenNum)).toBe(out.length);
          return out;
        });
        const all = Buffer.concat(pieces);
        const out = Buffer.alloc(LISTING_HEAD_BYTES + all.length + LISTING_TAIL_BYTES);
        const end = writeListing(out, 0, all, 2 ** 40);
        expect(decodePlain(LISTING, out, 0, end)).toEqual({
          dirList: {
            partialListing: partialListing.map((each, i) => (i % 2 === 0 ? each : { ...each, childrenNum: sum })),
            remainingEntries: 2 ** 31 - 1,
          },
        });
      }),
      TIME_LIMIT,
    );
  });

  it('take another name', () => {
    fc.assert(
      fc.property(fc.string(), fc.string({ maxLength: 300 }), (before, after) => {
        const fs = status(before, { owner: 'x'.repeat(200), fileId: 7 });
        const body = encode(INFO, { fs });
        const scan = new EntryScan();
        expect([scanStatus(body, 0, body.length, scan), scan.count]).toEqual([ENTRIES_OK, 1]);
        const name = Buffer.from(after);
        const out = Buffer.alloc(renamedBound(scan, 0, name.length));
        const end = writeRenamed(out, 0, body, scan, 0, name);
        expect(decodePlain(STATUS, out, 0, end)).toEqual({ ...fs, path: name });
      }),
      TIME_LIMIT,
    );
  });
});

it('names are compared as bytes, unsigned', () => {
  fc.assert(
    fc.property(fc.uint8Array(), fc.uint8Array(), (a, b) => {
      const order = compareNames(Buffer.from(a), 0, a.length, Buffer.from(b), 0, b.length);
      expect(Math.sign(order)).toBe(Buffer.compare(a, b));
    }),
  );
});
