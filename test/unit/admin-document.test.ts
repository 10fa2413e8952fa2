import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DeclaredMount } from '../../src/admin/client/declared/declared.ts';
import {
  MAX_DOCUMENT_BYTES,
  parseDocumentText,
  readDocumentFile,
} from '../../src/admin/client/declared/read-document.ts';
import { documentOf, shortDocumentOf, writeDocument } from '../../src/admin/client/declared/write-document.ts';
import { byteLimitText, parseByteLimit } from '../../src/admin/client/sizes.ts';
import { UsageError } from '../../src/commands/usage.ts';
import { ORDERS, STORAGE_TYPES } from '../../src/mount/entry.ts';

function complaint(text: string, file = 'm.yaml'): string {
  try {
    parseDocumentText(text, file);
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
  throw new Error(`accepted: ${text.slice(0, 200)}`);
}

function mountsOf(text: string): DeclaredMount[] {
  return parseDocumentText(text, 'm.yaml').map(({ mount }) => mount);
}

const NOTHING_ELSE = {
  order: 'HASH' as const,
  readOnly: false,
  faultTolerant: false,
  owner: null,
  group: null,
  mode: 0o755,
  namespaceQuota: -1n,
  spaceQuota: -1n,
  typeQuotas: new Map(),
};

describe('a file of mounts', () => {
  it('says as little as a destination, or everything', () => {
    expect(
      parseDocumentText(
        `mounts:
  /data: ns0:/x:y
  /all:
    destinations:
      - ns0:/all
      - { nameservice: "a:b", path: /b }
    order: RANDOM
    readOnly: true
    faultTolerant: true
    owner: 1000
    group: staff
    mode: 1750
    quota: { namespace: 9007199254740993, space: 10t, storageTypes: { SSD: 512 } }
`,
        'm.yaml',
      ),
    ).toEqual([
      {
        place: 'm.yaml:2:3',
        mount: { ...NOTHING_ELSE, sourcePath: '/data', destinations: [{ nameservice: 'ns0', path: '/x:y' }] },
      },
      {
        place: 'm.yaml:3:3',
        mount: {
          sourcePath: '/all',
          destinations: [
            { nameservice: 'ns0', path: '/all' },
            { nameservice: 'a:b', path: '/b' },
          ],
          order: 'RANDOM',
          readOnly: true,
          faultTolerant: true,
          owner: '1000',
          group: 'staff',
          mode: 0o1750,
          namespaceQuota: 9007199254740993n,
          spaceQuota: 10n << 40n,
          typeQuotas: new Map([['SSD', 512n]]),
        },
      },
    ]);
  });

  it('may be JSON, also with tabs', () => {
    expect(
      mountsOf('{\n\t"mounts": {\n\t\t"/a": "ns0:/a",\n\t\t"/b": {"destinations": ["ns1:/b"], "mode": "0700"}\n\t}\n}'),
    ).toEqual([
      { ...NOTHING_ELSE, sourcePath: '/a', destinations: [{ nameservice: 'ns0', path: '/a' }] },
      { ...NOTHING_ELSE, sourcePath: '/b', destinations: [{ nameservice: 'ns1', path: '/b' }], mode: 0o700 },
    ]);
    expect(mountsOf('mounts: {}')).toEqual([]);
  });

  it.each(['0755', '"0755"', '755', "'755'", '0o755'])('reads the mode %s as octal', (mode) => {
    expect(mountsOf(`mounts: { /a: { destinations: ns0:/a, mode: ${mode} } }`)[0]?.mode).toBe(0o755);
  });

  it('survives being written and read, in both formats', () => {
    const name = fc.stringMatching(/^[^\n]{1,8}$/);
    const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => `/${parts.join('/')}`);
    const limit = fc.oneof(fc.constant(-1n), fc.bigInt(0n, (1n << 63n) - 1n));
    const mount = fc.record({
      sourcePath: path,
      destinations: fc.array(fc.record({ nameservice: name, path }), { minLength: 1, maxLength: 3 }),
      order: fc.constantFrom(...ORDERS),
      readOnly: fc.boolean(),
      faultTolerant: fc.boolean(),
      owner: name,
      group: name,
      mode: fc.integer({ min: 0, max: 0o1777 }),
      namespaceQuota: limit,
      spaceQuota: limit,
      typeQuotas: fc
        .uniqueArray(fc.tuple(fc.constantFrom(...STORAGE_TYPES), fc.bigInt(0n, (1n << 63n) - 1n)), {
          selector: ([type]) => type,
        })
        .map((pairs) => new Map(pairs)),
    });
    const table = fc.uniqueArray(mount, { selector: ({ sourcePath }) => sourcePath, maxLength: 4 });
    fc.assert(
      fc.property(table, fc.constantFrom('yaml' as const, 'json' as const), (mounts, format) => {
        const text = writeDocument(
          mounts.map((each) => [each.sourcePath, documentOf(each)]),
          format,
          format === 'yaml' ? ['written'] : [],
        );
        expect(mountsOf(text)).toEqual(mounts);
      }),
      { numRuns: 300 },
    );
  });

  it('is short where little is said', () => {
    const mount = { ...NOTHING_ELSE, sourcePath: '/a', destinations: [{ nameservice: 'ns0', path: '/a' }] } as const;
    expect(writeDocument([['/a', shortDocumentOf(mount)]], 'yaml', ['one'])).toBe('# one\nmounts:\n  /a: ns0:/a\n');
    expect(shortDocumentOf({ ...mount, mode: 0o700 })).toEqual({ destinations: ['ns0:/a'], mode: '0700' });
  });
});

describe('a file of mounts that cannot be used', () => {
  it.each([
    ['', 'm.yaml: it is empty; write mounts: and the mounts below it'],
    ['- a', 'm.yaml:1:1: the file must be a mapping of names to values'],
    ['mount: {}', 'm.yaml:1:1: mount: no such field; there are mounts'],
    ['mounts: 3', 'm.yaml:1:9: mounts must be a mapping of names to values'],
    ['{}', 'm.yaml:1:1: mounts is missing'],
    ['mounts: {/a: }', 'mounts./a must be a mapping of names to values'],
    ['mounts:\n  /a: relative', "m.yaml:2:7: mounts./a: 'relative' is no destination; write NAMESERVICE:/PATH"],
    ['mounts:\n  /a: {}', 'm.yaml:2:7: mounts./a.destinations is missing'],
    ['mounts:\n  /a: {destinations: []}', 'mounts./a.destinations: at least one is needed'],
    ['mounts:\n  /a: {destinations: [3]}', "m.yaml:2:23: '3' is no destination"],
    ['mounts:\n  /a: {destinations: [[ns0:/a]]}', 'destinations[0] must be a mapping'],
    ['mounts:\n  /a: {destinations: {nameservice: ns0}}', 'destinations[0].path is missing'],
    ['mounts:\n  /a: {destinations: "ns0:/a", order: hash}', "mounts./a.order: 'hash' is none of HASH, LOCAL"],
    [
      'mounts:\n  /a: {destinations: "ns0:/a", readOnly: yes}',
      'm.yaml:2:42: mounts./a.readOnly: must be true or false',
    ],
    [
      'mounts:\n  /a: {destinations: "ns0:/a", readonly: true}',
      'mounts./a.readonly: no such field; there are destinations, ',
    ],
    ['mounts:\n  /a: {destinations: "ns0:/a", mode: 493}', "mounts./a.mode: '493' is no mode"],
    ['mounts:\n  /a: {destinations: "ns0:/a", mode: true}', 'mounts./a.mode: must be text'],
    ['mounts:\n  /a: {destinations: "ns0:/a", owner: ""}', 'mounts./a.owner: must not be empty'],
    [
      'mounts:\n  /a: {destinations: "ns0:/a", quota: {space: -1}}',
      "mounts./a.quota.space: '-1' is no number of bytes",
    ],
    [
      'mounts:\n  /a: {destinations: "ns0:/a", quota: {namespace: 1e3}}',
      "mounts./a.quota.namespace: '1e3' is no limit",
    ],
    [
      'mounts:\n  /a: {destinations: "ns0:/a", quota: {space: 8e}}',
      "mounts./a.quota.space: '8e' is no number of bytes",
    ],
    [
      'mounts:\n  /a: {destinations: "ns0:/a", quota: {storageTypes: {TAPE: 1}}}',
      'TAPE: no such field; there are DISK, SSD',
    ],
    ['mounts:\n  /a: ns0:/a\n  /a: ns0:/b', 'm.yaml:3:3: mounts./a is given twice; remove one'],
    ['mounts:\n  ? [a]\n  : ns0:/a', 'mounts: a name must be text'],
    ['mounts: {/a: "ns0:/a"}\n---\nmounts: {}', 'a second document begins; put all mounts into one'],
    ['mounts: [', 'neither YAML nor JSON'],
    ['mounts: !!js/function x', 'm.yaml:1:9: Unresolved tag'],
    ['a: &a [*a]\nmounts: *a', 'm.yaml:1:1: a: no such field'],
    ['mounts: &a\n  /a: *a', 'm.yaml:2:7: *a: references are not taken here; write the value in full'],
    ['mounts:\n  /a: &x {destinations: "ns0:/a"}\n  /b: {<<: *x}', 'mounts./b.<<: no such field'],
    ['mounts: *nowhere', 'm.yaml:1:9: *nowhere: references are not taken here'],
  ])('%j names the place and the remedy', (text, message) => {
    expect(complaint(text)).toContain(message);
  });

  it('is refused however deep it is, and keeps control characters off the terminal', () => {
    for (const text of ['['.repeat(10_000), '- '.repeat(10_000), `mounts: ${'{a: '.repeat(10_000)}`]) {
      expect(complaint(text)).toContain('m.yaml:1:');
    }
    expect(complaint('mounts: {"/a\\u001b[2J": 3}')).not.toContain('\u001b');
  });

  it('is refused when it is not there, a directory, too large or not UTF-8', () => {
    const directory = mkdtempSync(join(tmpdir(), 'switchyard-document-'));
    try {
      const file = join(directory, 'm.yaml');
      const refusal = (name: string): string => {
        try {
          readDocumentFile(name);
        } catch (error) {
          return error instanceof UsageError ? error.message : `no UsageError: ${error}`;
        }
        return 'accepted';
      };
      expect(refusal(file)).toContain('ENOENT');
      expect(refusal(directory)).toContain('it is a directory');
      writeFileSync(file, Buffer.from([0x6d, 0xff]));
      expect(refusal(file)).toContain('in UTF-8');
      writeFileSync(file, Buffer.alloc(MAX_DOCUMENT_BYTES + 1, 0x20));
      expect(refusal(file)).toContain(`more than ${MAX_DOCUMENT_BYTES} bytes`);
      writeFileSync(file, 'mounts: {/a: "ns0:/a"}');
      expect(readDocumentFile(file)).toHaveLength(1);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  it('never makes a fault of the program out of any text', () => {
    const words = fc.constantFrom(
      'mounts',
      ':',
      ' ',
      '\n',
      '  ',
      '/a',
      'ns0:/a',
      '{',
      '}',
      '[',
      ']',
      '-',
      '&x',
      '*x',
      '"',
      '? ',
      '!t ',
      '|',
      ',',
      'destinations',
      'quota',
      '\t',
      '#',
    );
    fc.assert(
      fc.property(fc.array(words, { maxLength: 30 }), (parts) => {
        try {
          parseDocumentText(parts.join(''), 'm.yaml');
        } catch (error) {
          if (!(error instanceof UsageError)) throw error;
        }
      }),
      { numRuns: 3_000 },
    );
  });
});

describe('numbers of bytes', () => {
  it('are written as they are read', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, (1n << 63n) - 1n), fc.integer({ min: 0, max: 60 }), (bytes, shift) => {
        const limit = (bytes >> BigInt(shift)) << BigInt(shift);
        expect(parseByteLimit(byteLimitText(limit))).toBe(limit);
      }),
    );
    expect(['10k', '10K', '10kb', '1t'].map(parseByteLimit)).toEqual([10_240n, 10_240n, 10_240n, 1n << 40n]);
    expect(['', 'k', '1.5k', '-1', '8e', '1x', ' 1'].map(parseByteLimit)).toEqual(Array(7).fill(null));
  });
});
