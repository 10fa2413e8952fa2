import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseMountSpec, parseMounts, readMountOptions } from '../../src/mount/spec.ts';
import { DEFAULTS, mount } from './mount-samples.ts';

const NOW = 1_700_000_000_000;
const WITH = { ...DEFAULTS, nowMs: NOW };

describe('--mount', () => {
  it.each([
    ['/src=ns:/dst', mount('/src', ['ns:/dst'])],
    ['/=ns0:/', mount('/', ['ns0:/'])],
    ['/src=ns0,ns1:/dst@HASH_ALL', mount('/src', ['ns0:/dst', 'ns1:/dst'], { order: 'HASH_ALL' })],
    ['/src=ns0,ns1:/dst@LEADER_FOLLOWER', mount('/src', ['ns0:/dst', 'ns1:/dst'], { order: 'LEADER_FOLLOWER' })],
    ['/dt=2024/a:b=ns0:/x=y:z', mount('/dt=2024/a:b', ['ns0:/x=y:z'])],
    ['/home=ns0:/users@example.com', mount('/home', ['ns0:/users@example.com'])],
    ['/a b/é=ns0:/é', mount('/a b/é', ['ns0:/é'])],
  ])('%s', (spec, entry) => {
    expect(parseMountSpec(spec, WITH)).toEqual(entry);
  });

  it.each([
    ['/src', /--mount \/src: not understood; write/],
    ['src=ns:/dst', /not understood/],
    ['/src=:/dst', /not understood/],
    ['/src=ns0,:/dst', /not understood/],
    ['/src=ns:dst', /not understood/],
    ['/src=ns:', /not understood/],
    ['', /not understood/],
    ['/src=ns:/dst@FASTEST', /'FASTEST' is no destination order; use HASH, LOCAL.*--mounts/],
    ['/src/=ns:/dst', /write '\/src'/],
    ['/a/../b=ns:/dst', /--mount \/a\/\.\.\/b=ns:\/dst: mount '\/a\/\.\.\/b': the source path has a component/],
    ['/src=ns,ns:/dst', /has the destination ns:\/dst twice/],
  ])('%s is refused', (spec, message) => {
    expect(() => parseMountSpec(spec, WITH)).toThrow(message);
  });
});

describe('--mounts', () => {
  const parse = (records: unknown): unknown => parseMounts(JSON.stringify(records), 'm.json', WITH);
  const dest = [{ nameserviceId: 'ns0', path: '/x' }];

  it('reads every field', () => {
    const record = {
      srcPath: '/m',
      destinations: [...dest, { nameserviceId: 'ns1', path: '/y' }],
      destOrder: 'RANDOM',
      readOnly: true,
      faultTolerant: true,
      ownerName: 'alice',
      groupName: 'staff',
      mode: '1750',
      dateCreated: 5,
      dateModified: 6,
      quota: {
        fileAndDirectoryCount: 1,
        quota: '9223372036854775807',
        spaceConsumed: '2',
        spaceQuota: 3,
        typeQuotaInfos: [{ type: 'SSD', quota: 4 }],
      },
    };
    const entry = mount('/m', ['ns0:/x', 'ns1:/y'], {
      order: 'RANDOM',
      readOnly: true,
      faultTolerant: true,
      owner: 'alice',
      group: 'staff',
      mode: 0o1750,
      dateCreated: 5,
      dateModified: 6,
      quota: {
        fileAndDirectoryCount: 1n,
        namespaceQuota: (1n << 63n) - 1n,
        spaceConsumed: 2n,
        spaceQuota: 3n,
        types: [{ type: 'SSD', quota: 4n, consumed: 0n }],
      },
    });
    expect(parse([record])).toEqual([entry]);
  });

  it('fills in what is absent', () => {
    expect(parse([{ srcPath: '/m', destinations: dest, quota: {}, mode: 448 }])).toEqual([
      mount('/m', ['ns0:/x'], { mode: 0o700 }),
    ]);
    expect(parse([])).toEqual([]);
  });

  const good = { srcPath: '/m', destinations: dest };
  it.each<[string, unknown, RegExp]>([
    ['no array', {}, /^m\.json: must be an array/],
    ['no object', [good, 7], /^m\.json:1: a mount record must be an object/],
    ['unknown field', [{ ...good, readonly: true, x: 1 }], /^m\.json:0: unknown field 'readonly', 'x'; remove/],
    [
      'unknown field below',
      [{ ...good, destinations: [{ ...dest[0], ns: 'a' }] }],
      /unknown field 'destinations\[0\]\.ns'/,
    ],
    ['unknown quota field', [{ ...good, quota: { nsQuota: 1 } }], /unknown field 'quota\.nsQuota'/],
    ['a field of the prototype', [{ ...good, constructor: 1 }], /unknown field 'constructor'/],
    ['no source', [{ destinations: dest }], /^m\.json:0: srcPath: is missing/],
    ['no destinations', [{ srcPath: '/m' }], /destinations: is missing/],
    ['empty destinations', [{ srcPath: '/m', destinations: [] }], /no destination; give/],
    ['destinations no array', [{ srcPath: '/m', destinations: {} }], /destinations: must be an array/],
    [
      'destination without path',
      [{ srcPath: '/m', destinations: [{ nameserviceId: 'a' }] }],
      /destinations\[0\]\.path: is missing/,
    ],
    ['flag as text', [{ ...good, readOnly: 'true' }], /readOnly: must be true or false/],
    ['order', [{ ...good, destOrder: 'hash' }], /destOrder: 'hash' is no destination order/],
    ['mode', [{ ...good, mode: '9' }], /mode: must be octal text/],
    ['mode too large', [{ ...good, mode: 4096 }], /mode 4096 is no permission/],
    ['date', [{ ...good, dateCreated: 1.5 }], /dateCreated: must be a whole number/],
    ['date zero', [{ ...good, dateModified: 0 }], /dates must be positive/],
    ['quota no object', [{ ...good, quota: 5 }], /quota must be an object/],
    [
      'quota inexact',
      [{ ...good, quota: { quota: 2 ** 60 } }],
      /quota\.quota: must be a whole number \(above 2\^53 in quotes\)/,
    ],
    ['quota above 64 bits', [{ ...good, quota: { quota: '9223372036854775808' } }], /must fit 64 bits/],
    [
      'storage type',
      [{ ...good, quota: { typeQuotaInfos: [{ type: 'TAPE' }] } }],
      /typeQuotaInfos\[0\]\.type: 'TAPE' is no storage type/,
    ],
    ['type twice', [{ ...good, quota: { typeQuotaInfos: [{ type: 'SSD' }, { type: 'SSD' }] } }], /SSD is given twice/],
    [
      'path twice',
      [good, { ...good, srcPath: '/n' }, good],
      /^m\.json:2: mount '\/m' is already given by m\.json:0; remove/,
    ],
    [
      'fault tolerance',
      [{ ...good, faultTolerant: true }],
      /^m\.json:0: mount '\/m' is fault tolerant with a single destination/,
    ],
  ])('refuses: %s', (_name, records, message) => {
    expect(() => parse(records)).toThrow(message);
  });

  it('refuses a field that is given twice, JSON.parse would take the last', () => {
    const record = (more: string): string =>
      `{"srcPath": "/a,}\\"{", "destinations": [{"nameserviceId": "ns0", "path": "/x"}]${more}}`;
    const first = record('').replace('/a', '/first');
    expect(parseMounts(`[${first}, ${record('')}]`, 'm.json', WITH)).toHaveLength(2);
    expect(() => parseMounts(`[${first}, ${record(', "\\u0073rcPath": "/b"')}]`, 'm.json', WITH)).toThrow(
      "m.json:1: field 'srcPath' is given twice; remove one",
    );
    expect(() => parseMounts(`[${record(', "quota": {"quota": 1, "quota": 2}')}]`, 'm.json', WITH)).toThrow(
      "m.json:0: field 'quota' is given twice",
    );
    expect(() => parseMounts(`[${record(', "quota": {"quota": 1}')}]`, 'm.json', WITH)).not.toThrow();
  });

  it('reads a file with a byte order mark', () => {
    expect(parseMounts(`\ufeff${JSON.stringify([good])}`, 'm.json', WITH)).toHaveLength(1);
  });

  it('refuses text that is no JSON', () => {
    expect(() => parseMounts('[{', 'm.json', WITH)).toThrow(/^m\.json: no JSON \(.*\); write an array/);
  });
});

describe('all options together', () => {
  let directory: string;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'mounts-'));
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  it('keeps the order and finds a path given twice', () => {
    const file = join(directory, 'm.json');
    writeFileSync(file, JSON.stringify([{ srcPath: '/b', destinations: [{ nameserviceId: 'ns0', path: '/' }] }]));
    const paths = readMountOptions(['/c=ns0:/', '/a=ns0:/'], [file], WITH).map(({ sourcePath }) => sourcePath);
    expect(paths).toEqual(['/c', '/a', '/b']);
    expect(() => readMountOptions(['/b=ns0:/'], [file], WITH)).toThrow(
      `${file}:0: mount '/b' is already given by --mount /b=ns0:/; remove`,
    );
    expect(() => readMountOptions(['/b=ns0:/', '/b=ns1:/'], [], WITH)).toThrow(
      /--mount \/b=ns1:\/: mount '\/b' is already given/,
    );
    expect(() => readMountOptions([], [join(directory, 'none.json')], WITH)).toThrow(
      /--mounts .*none\.json: ENOENT.*; give a readable file/,
    );
  });
});
