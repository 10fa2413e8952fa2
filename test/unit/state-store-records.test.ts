import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  decodeDisabledNameservice,
  decodeMembership,
  decodeMount,
  decodeRouter,
  encodeDisabledNameservice,
  encodeMembership,
  encodeMount,
  encodeRouter,
  isRecord,
  type MountRecord,
  stampModified,
} from '../../src/state-store/records.ts';
import { encode, messageType } from '../../src/wire/messages.ts';
import { DEFAULTS, mount } from './mount-samples.ts';

interface Sample {
  record: string;
  primaryKey: string;
  fields: Record<string, unknown>;
  protobufHex: string;
}
const SAMPLES = (
  JSON.parse(readFileSync(new URL('./state-store-samples/index.json', import.meta.url), 'utf8')) as {
    samples: Sample[];
  }
).samples;

function bytesOf(record: string, primaryKey: string): Buffer {
  const sample = SAMPLES.find((one) => one.record === record && one.primaryKey === primaryKey);
  if (sample === undefined) throw new Error(`no sample ${record} ${primaryKey}`);
  return Buffer.from(sample.protobufHex, 'hex');
}

function decodeSample(primaryKey: string): MountRecord {
  const { record, remarks } = decodeMount(bytesOf('MountTable', primaryKey), DEFAULTS);
  expect(remarks).toEqual([]);
  return record;
}

/** A mount record of /m → ns0:/x with more bytes behind it. */
function recordWith(hex: string): Buffer {
  const base = encode(messageType('hadoop.hdfs.MountTableRecordProto'), {
    srcPath: '/m',
    destinations: [{ nameserviceId: 'ns0', path: '/x' }],
    dateCreated: 5,
    dateModified: 6,
  });
  return Buffer.concat([base, Buffer.from(hex, 'hex')]);
}

const DATES = { dateCreated: 1_700_000_000_000, dateModified: 1_700_000_123_456 };

describe('mount table records written by Hadoop', () => {
  it('are read with all fields, and defaults for absent ones', () => {
    const paths = SAMPLES.filter(({ record }) => record === 'MountTable').map(
      ({ primaryKey }) => decodeSample(primaryKey).entry.sourcePath,
    );
    expect(paths).toEqual(['/data/logs', '/', '/multi', '/odd_name:x/sp ace%41/é', '/explicit-defaults']);
    expect(decodeSample('/').entry).toEqual(mount('/', ['ns0:/'], DATES));
    expect(decodeSample('/data/logs').entry).toEqual(
      mount('/data/logs', ['ns0:/target/logs'], { ...DATES, owner: 'alice', group: 'staff' }),
    );
    expect(decodeSample('/multi').entry).toEqual(
      mount('/multi', ['ns0:/m0', 'ns1:/m1', 'ns2:/m2'], {
        ...DATES,
        order: 'HASH_ALL',
        readOnly: true,
        faultTolerant: true,
        owner: 'bob',
        group: 'eng',
        mode: 0o1777,
        quota: {
          fileAndDirectoryCount: 12n,
          namespaceQuota: 1_000n,
          spaceConsumed: 3_456n,
          spaceQuota: 1n << 40n,
          types: [],
        },
      }),
    );
    const odd = decodeSample('/odd_name:x/sp ace%41/é').entry;
    expect(odd.order).toBe('SPACE');
    expect(odd.quota.types.map(({ type, quota }) => [type, quota])).toEqual([
      ['RAM_DISK', -1n],
      ['SSD', 1_048_576n],
      ['DISK', 5n],
      ['ARCHIVE', -1n],
      ['PROVIDED', -1n],
      ['NVDIMM', -1n],
    ]);
  });

  it('are written as the command line of Hadoop writes them: owner, group, mode, quota and order always', () => {
    for (const { record, primaryKey } of SAMPLES) {
      if (record !== 'MountTable') continue;
      const { entry } = decodeSample(primaryKey);
      const again = decodeMount(encodeMount(entry), { routerUser: 'x', superGroup: 'y' });
      expect(again.record.entry).toEqual(entry);
    }
    // This one has every field set, so its bytes come out the same.
    const multi = bytesOf('MountTable', '/multi');
    expect(encodeMount(decodeSample('/multi').entry).toString('hex')).toBe(multi.toString('hex'));
    const withOrder = encodeMount(decodeSample('/data/logs').entry).toString('hex');
    const sample = bytesOf('MountTable', '/data/logs').toString('hex');
    expect(withOrder.replace('30005205616c696365', '5205616c696365')).toBe(sample);
    expect(withOrder).not.toBe(sample);
  });
});

describe('mount table records with surprises', () => {
  it('LEADER_FOLLOWER is read and written', () => {
    const { record, remarks } = decodeMount(recordWith('3005'), DEFAULTS);
    expect([record.entry.order, remarks]).toEqual(['LEADER_FOLLOWER', []]);
    const { entry } = decodeMount(encodeMount(record.entry, record), DEFAULTS).record;
    expect(entry).toEqual(record.entry);
    expect(decodeMount(encodeMount({ ...entry, order: 'LOCAL' }, record), DEFAULTS).record.entry.order).toBe('LOCAL');
  });

  it.each([
    ['3009', 9],
    ['30e807', 1_000],
  ])('an unknown order reads as HASH, is reported and survives a rewrite (%s)', (hex, order) => {
    const { record, remarks } = decodeMount(recordWith(hex), DEFAULTS);
    expect(record.entry.order).toBe('HASH');
    expect(remarks).toEqual([expect.stringContaining(`destination order ${order} of mount '/m' is unknown`)]);
    expect(encodeMount(record.entry, record).toString('hex')).toContain(hex);
    const changed = decodeMount(encodeMount({ ...record.entry, order: 'RANDOM' }, record), DEFAULTS);
    expect([changed.record.entry.order, changed.remarks]).toEqual(['RANDOM', []]);
  });

  it.each(['readOnly', 'faultTolerant'] as const)(
    '%s that is no longer set is written as false, as Java does',
    (flag) => {
      const hex = { readOnly: ['2801', '2800'], faultTolerant: ['7001', '7000'] }[flag] as [string, string];
      const { record } = decodeMount(recordWith(hex[0]), DEFAULTS);
      const off = encodeMount({ ...record.entry, [flag]: false }, record);
      expect(off.toString('hex')).toContain(hex[1]);
      const again = decodeMount(off, DEFAULTS).record;
      expect(again.entry[flag]).toBe(false);
      expect(encodeMount(again.entry, again)).toEqual(off);
      expect(encodeMount(again.entry)).toEqual(off);
      expect(encodeMount({ ...again.entry, falseMarks: [] }).length).toBe(off.length - 2);
    },
  );

  it('unknown fields of the record, its quota and remaining destinations survive a rewrite', () => {
    // Field 99 = "top", 98 = "quo" in the quota, 97 = "dst" in a second destination.
    const destination = Buffer.from('0a036e733112022f79ca0603647374', 'hex');
    const quota = Buffer.from('08001001180020019206 03 71756f'.replaceAll(' ', ''), 'hex');
    const hex = `12${destination.length.toString(16).padStart(2, '0')}${destination.toString('hex')}6a${quota.length.toString(16).padStart(2, '0')}${quota.toString('hex')}9a0603746f70`;
    const { record } = decodeMount(recordWith(hex), DEFAULTS);
    expect(record.entry.destinations).toEqual([
      { nameservice: 'ns0', path: '/x' },
      { nameservice: 'ns1', path: '/y' },
    ]);
    const rewritten = encodeMount({ ...record.entry, readOnly: true }, record).toString('latin1');
    expect(['top', 'quo', 'dst'].map((word) => rewritten.includes(word))).toEqual([true, true, true]);
    const fewer = encodeMount(
      { ...record.entry, destinations: record.entry.destinations.slice(0, 1) },
      record,
    ).toString('latin1');
    expect(['top', 'quo', 'dst'].map((word) => fewer.includes(word))).toEqual([true, true, false]);
    expect(decodeMount(Buffer.from(rewritten, 'latin1'), DEFAULTS).record.entry).toEqual({
      ...record.entry,
      readOnly: true,
    });
  });

  it.each([
    ['nothing', '', /no record in it/],
    ['a cut message', '0a05', /MountTableRecordProto/],
    ['a quota without its required fields', '0a022f6d12080a036e733012012f6a020800', /MountTableRecordProto/],
    ['no source path', '12080a036e733012012f', /no source path/],
    ['a source path that no lookup reaches', '0a032f6d2f12080a036e733012012f', /write '\/m'/],
    ['no destination', '0a022f6d', /no destination/],
  ])('%s is an error', (_name, hex, message) => {
    expect(() => decodeMount(Buffer.from(hex, 'hex'), DEFAULTS)).toThrow(message);
  });
});

describe('the other record types', () => {
  it('membership', () => {
    const key = SAMPLES.find(({ record }) => record === 'MembershipState')?.primaryKey ?? '';
    const { record, remarks } = decodeMembership(bytesOf('MembershipState', key));
    expect(remarks).toEqual([]);
    expect(record).toMatchObject({
      nameserviceId: 'ns0',
      namenodeId: 'nn1',
      state: 'ACTIVE',
      safeMode: false,
      blockPoolId: 'BP-1234-10.0.0.1-1700000000000',
      rpcAddress: 'nn1.example.com:8020',
      lastContact: 1_700_000_123_456,
    });
    expect(record.stats).toMatchObject({ totalSpace: 1_099_511_627_776, numOfFiles: 1_001, pendingSPSPaths: -1 });
    for (const sample of SAMPLES.filter(({ record: type }) => type === 'MembershipState')) {
      const decoded = decodeMembership(bytesOf('MembershipState', sample.primaryKey));
      const text = sample.fields['13:state'] as string;
      const known = ['ACTIVE', 'OBSERVER', 'STANDBY', 'UNAVAILABLE', 'EXPIRED', 'DISABLED'].includes(text);
      expect([sample.primaryKey, decoded.record.state]).toEqual([sample.primaryKey, known ? text : 'UNAVAILABLE']);
      expect(decoded.remarks.length).toBe(known ? 0 : 1);
    }
    const odd = decodeMembership(Buffer.from('6a0454414e47', 'hex'));
    expect([odd.record.state, odd.record.stats, odd.remarks.length]).toEqual(['UNAVAILABLE', null, 1]);
  });

  it('router', () => {
    expect(decodeRouter(bytesOf('RouterState', 'router2.example.com:8888')).record).toEqual({
      ...DATES,
      address: 'router2.example.com:8888',
      status: 'SAFEMODE',
      membershipVersion: -1,
      mountTableVersion: -1,
      version: '3.4.1',
      compileInfo: '2024-10-09T14:57Z by mthakur from branch-3.4.1',
      dateStarted: 1_699_999_000_001,
      adminAddress: '',
    });
    expect(() => decodeRouter(Buffer.from('2204 46494e45'.replaceAll(' ', ''), 'hex'))).toThrow(
      /router status 'FINE' is none of/,
    );
  });

  it('disabled nameservice', () => {
    expect(decodeDisabledNameservice(bytesOf('DisabledNameservice', 'ns_bad')).record).toEqual({
      ...DATES,
      nameserviceId: 'ns_bad',
    });
    expect(() => decodeDisabledNameservice(Buffer.from('0801', 'hex'))).toThrow(/no nameservice/);
  });
});

describe('records written again', () => {
  const again = {
    MembershipState: (bytes: Buffer, original: Buffer | null) =>
      encodeMembership(decodeMembership(bytes).record, original),
    RouterState: (bytes: Buffer, original: Buffer | null) => encodeRouter(decodeRouter(bytes).record, original),
    DisabledNameservice: (bytes: Buffer, original: Buffer | null) =>
      encodeDisabledNameservice(decodeDisabledNameservice(bytes).record, original),
  };

  it.each(
    SAMPLES.filter(({ record }) => record !== 'MountTable').map(({ record, primaryKey }) => [record, primaryKey]),
  )('%s %s has the bytes that Hadoop wrote', (record, primaryKey) => {
    const bytes = bytesOf(record, primaryKey);
    const encode = again[record as keyof typeof again];
    expect(encode(bytes, null).toString('hex')).toBe(bytes.toString('hex'));
    expect(encode(bytes, bytes).toString('hex')).toBe(bytes.toString('hex'));
  });

  it('keep the fields of newer versions, also those of their parts', () => {
    const top = Buffer.from('9a0603746f70', 'hex');
    const membership = Buffer.concat([bytesOf('MembershipState', 'nn1-ns0-router1.example.com:8888'), top]);
    // One more field in the counts: they are a part with a length of its own, repeated parts merge.
    const counts = Buffer.from('7a069206036e6577', 'hex');
    const more = Buffer.concat([membership, counts]);
    const record = decodeMembership(more).record;
    const written = encodeMembership({ ...record, state: 'EXPIRED' }, more).toString('latin1');
    expect([written.includes('top'), written.includes('new'), written.includes('EXPIRED')]).toEqual([true, true, true]);
    const without = encodeMembership({ ...record, stats: null }, more).toString('latin1');
    expect([without.includes('top'), without.includes('new')]).toEqual([true, false]);
    const router = Buffer.concat([
      bytesOf('RouterState', 'router1.example.com:8888'),
      Buffer.from('2a069206036e6577', 'hex'),
      top,
    ]);
    const status = encodeRouter({ ...decodeRouter(router).record, status: 'EXPIRED' }, router).toString('latin1');
    expect([status.includes('top'), status.includes('new')]).toEqual([true, true]);
    const disabled = Buffer.concat([bytesOf('DisabledNameservice', 'ns_bad'), top]);
    expect(again.DisabledNameservice(disabled, disabled)).toEqual(disabled);
  });

  it('get another date of modification and nothing else, unless they have expired', () => {
    for (const { record, primaryKey, fields } of SAMPLES) {
      const bytes = bytesOf(record, primaryKey);
      const stamped = stampModified(record as 'MountTable', bytes, 1_700_000_123_457);
      const hex = bytes.toString('hex');
      const isExpired = fields['13:state'] === 'EXPIRED';
      expect(stamped.toString('hex') === hex).toBe(isExpired);
      expect(stamped.length).toBe(bytes.length);
      expect(stampModified(record as 'MountTable', stamped, 1_700_000_123_456).toString('hex')).toBe(hex);
    }
    const garbage = Buffer.from('0a05', 'hex');
    expect(stampModified('MountTable', garbage, 5)).toBe(garbage);
    expect([isRecord('MountTable', garbage), isRecord('MountTable', Buffer.alloc(0))]).toEqual([false, false]);
  });
});
