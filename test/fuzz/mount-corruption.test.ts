import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MountError } from '../../src/mount/entry.ts';
import {
  DestinationWord,
  HEADER_BYTES,
  Header,
  hashHeader,
  MountWord,
  NameserviceWord,
  NodeWord,
} from '../../src/mount/layout.ts';
import { buildSnapshot } from '../../src/mount/radix-build.ts';
import { MountSnapshot } from '../../src/mount/snapshot.ts';
import { mount } from '../unit/mount-samples.ts';

const RUN = { seed: 7_301, numRuns: 20_000, interruptAfterTimeLimit: 1_500, markInterruptAsFailure: false };

const ENTRIES = [
  mount('/', ['ns0:/root']),
  mount('/a', ['ns0:/a', 'ns1:/b'], { order: 'SPACE' }),
  mount('/a/b/c', ['ns1:/c']),
  ...Array.from({ length: 12 }, (_, i) => mount(`/wide/${String.fromCharCode(97 + i)}`, ['ns1:/w'])),
];
const SOURCE = new Uint8Array(buildSnapshot(ENTRIES, ['ns0', 'ns1'], 5, null));
const USED = new Int32Array(SOURCE.buffer, 0, HEADER_BYTES / 4)[Header.USED_BYTES] as number;

function copyOf(bytes: Uint8Array, length = bytes.length): SharedArrayBuffer {
  const copy = new SharedArrayBuffer(length);
  new Uint8Array(copy).set(bytes.subarray(0, length));
  return copy;
}

/** Asks everything; nothing may throw, hang or lead out of the memory. */
function useAll(snapshot: MountSnapshot): void {
  for (const text of ['/', '/a', '/a/b', '/a/b/c/d', '/wide/d/x', '/wide/zz', '/none']) {
    const path = Buffer.from(text);
    const found = snapshot.find(path, 0, path.length);
    expect(found).toBeLessThan(snapshot.mountCount);
    expect(snapshot.matchedEnd).toBeLessThanOrEqual(path.length);
    snapshot.childrenOf(text);
    snapshot.latestDateBelow(text);
    snapshot.mountsUnder(text);
  }
  for (let at = 0; at < snapshot.mountCount; at++) snapshot.entryOf(at);
}

/** True when it was refused; anything else than a MountError or safe answers fails. */
function refusedOrSafe(buffer: SharedArrayBuffer): boolean {
  let snapshot: MountSnapshot;
  try {
    snapshot = MountSnapshot.from(buffer);
  } catch (error) {
    if (error instanceof MountError) return true;
    throw error;
  }
  useAll(snapshot);
  return false;
}

describe('a damaged snapshot', () => {
  it('is refused for every changed bit of the header', () => {
    for (let byte = 0; byte < (Header.CHECK + 1) * 4; byte++) {
      for (let bit = 0; bit < 8; bit++) {
        const buffer = copyOf(SOURCE);
        const bytes = new Uint8Array(buffer);
        bytes[byte] = (bytes[byte] as number) ^ (1 << bit);
        expect(() => MountSnapshot.from(buffer)).toThrow(/mount snapshot unusable/);
      }
    }
  });

  it('says what is wrong', () => {
    expect(() => MountSnapshot.from(new SharedArrayBuffer(0))).toThrow(/shorter than its header/);
    expect(() => MountSnapshot.from(new SharedArrayBuffer(4_096))).toThrow(/no magic number/);
    expect(() => MountSnapshot.from(copyOf(SOURCE, USED - 1))).toThrow(/bytes expected/);
    const buffer = copyOf(SOURCE);
    const words = new Int32Array(buffer, 0, HEADER_BYTES / 4);
    words[Header.VERSION] = 9;
    words[Header.CHECK] = hashHeader(words);
    expect(() => MountSnapshot.from(buffer)).toThrow(/layout version 9, this build reads 1/);
  });

  const tables: [string, number, number, number, RegExp][] = [
    ['child before its parent', Header.NODES_AT, NodeWord.FIRST_CHILD, 0, /children out of range/],
    ['children beyond the last node', Header.NODES_AT, NodeWord.CHILDREN, 10_000, /children out of range/],
    ['fewer than no children', Header.NODES_AT, NodeWord.CHILDREN, -1, /children out of range/],
    ['root with a label', Header.NODES_AT, NodeWord.LABEL_END, USED, /label of node 0/],
    ['label before the text', Header.NODES_AT, NodeWord.LABEL_START, 0, /text out of range/],
    ['mount that is not there', Header.NODES_AT, NodeWord.MOUNT, ENTRIES.length, /mount of node 0/],
    ['source path beyond the text', Header.MOUNTS_AT, MountWord.SOURCE_END, USED + 1, /text out of range/],
    ['destination before the first', Header.MOUNTS_AT, MountWord.FIRST_DESTINATION, -1, /destinations out of range/],
    ['more storage types than rows', Header.MOUNTS_AT, MountWord.TYPES, 1_000, /quota/],
    ['order without a name', Header.MOUNTS_AT, MountWord.ORDER, 6, /order of mount 0/],
    [
      'nameservice without a name',
      Header.DESTINATIONS_AT,
      DestinationWord.NAMESERVICE,
      2,
      /nameservice of destination 0/,
    ],
    ['destination path reversed', Header.DESTINATIONS_AT, DestinationWord.END, 0, /text out of range/],
    ['name beyond the text', Header.NAMESERVICES_AT, NameserviceWord.END, 0x7fff_ffff, /text out of range/],
  ];
  it.each(tables)('is refused: %s', (_name, section, word, value, message) => {
    const buffer = copyOf(SOURCE);
    const words = new Int32Array(buffer);
    words[(words[section] as number) / 4 + word] = value;
    expect(() => MountSnapshot.from(buffer)).toThrow(message);
  });

  it('never leads a lookup astray, whichever word of a table is wrong', () => {
    const words = new Int32Array(SOURCE.buffer);
    const first = (words[Header.NODES_AT] as number) / 4;
    const end = Math.floor((words[Header.FIRST_BYTES_AT] as number) / 4);
    for (let word = first; word < end; word++) {
      for (const value of [-0x8000_0000, -1, 0, 1, words.length, 0x7fff_ffff]) {
        const buffer = copyOf(SOURCE, USED);
        new Int32Array(buffer, 0, end)[word] = value;
        refusedOrSafe(buffer);
      }
    }
  });

  it('never leads a lookup astray when header words are wrong together with their hash', () => {
    let refused = 0;
    let runs = 0;
    const word = fc.integer({ min: Header.VERSION, max: Header.CHECK - 1 });
    const value = fc.oneof(fc.integer(), fc.integer({ min: -4, max: 300 }), fc.constantFrom(0, -1, 0x7fff_ffff));
    fc.assert(
      fc.property(fc.array(fc.tuple(word, value), { minLength: 1, maxLength: 3 }), (changes) => {
        const buffer = copyOf(SOURCE, USED);
        const words = new Int32Array(buffer, 0, HEADER_BYTES / 4);
        for (const [at, to] of changes) words[at] = to;
        words[Header.CHECK] = hashHeader(words);
        runs++;
        if (refusedOrSafe(buffer)) refused++;
      }),
      RUN,
    );
    expect(refused).toBeGreaterThan(runs / 2);
  });

  it('never leads a lookup astray when bytes behind the header are wrong', () => {
    let refused = 0;
    const change = fc.tuple(fc.integer({ min: HEADER_BYTES, max: USED - 1 }), fc.integer({ min: 0, max: 255 }));
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), (changes) => {
        const buffer = copyOf(SOURCE, USED);
        const bytes = new Uint8Array(buffer);
        for (const [at, to] of changes) bytes[at] = to;
        if (refusedOrSafe(buffer)) refused++;
      }),
      RUN,
    );
    expect(refused).toBeGreaterThan(0);
  });
});
