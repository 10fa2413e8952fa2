import { describe, expect, it } from 'vitest';
import { METHODS } from '../../src/call/methods.ts';
import { byteText } from '../../src/mount/byte-text.ts';
import type { MountQuota } from '../../src/mount/entry.ts';
import {
  type Growth,
  growthOf,
  limitsAt,
  MountQuotas,
  type MountUsage,
  NO_USAGE,
  violationOf,
} from '../../src/mount/quota.ts';
import { buildSnapshot } from '../../src/mount/radix-build.ts';
import { MountSnapshot } from '../../src/mount/snapshot.ts';
import { parseMounts } from '../../src/mount/spec.ts';

const NAMES = 'org.apache.hadoop.hdfs.protocol.NSQuotaExceededException';
const BYTES = 'org.apache.hadoop.hdfs.protocol.DSQuotaExceededException';
const NO_LIMITS: MountQuota = {
  fileAndDirectoryCount: 0n,
  namespaceQuota: -1n,
  spaceConsumed: 0n,
  spaceQuota: -1n,
  types: [],
};

function usage(files: bigint, bytes: bigint, types: MountUsage['types'] = {}): MountUsage {
  return { files, bytes, types };
}

function decide(limits: Partial<MountQuota>, used: MountUsage, growth: Growth): string | null {
  return violationOf({ ...NO_LIMITS, ...limits }, used, growth)?.className ?? null;
}

describe('a limit of a mount point', () => {
  it('is named as the Java Router names it', () => {
    expect(violationOf({ ...NO_LIMITS, namespaceQuota: 10n }, usage(12n, 0n), 'name')).toEqual({
      className: NAMES,
      message: 'The NameSpace quota (directories and files) is exceeded: quota=10 file count=12',
    });
    expect(violationOf({ ...NO_LIMITS, spaceQuota: 1024n }, usage(0n, 1536n), 'bytes')).toEqual({
      className: BYTES,
      message: 'The DiskSpace quota is exceeded: quota = 1024 B = 1 KB but diskspace consumed = 1536 B = 1.50 KB',
    });
    const ssd = { type: 'SSD', quota: 100n, consumed: 0n } as const;
    expect(violationOf({ ...NO_LIMITS, types: [ssd] }, usage(0n, 0n, { SSD: 101n }), 'bytes')).toEqual({
      className: BYTES,
      message: 'The DiskSpace quota is exceeded: quota = 100 B = 100 B but diskspace consumed = 101 B = 101 B',
    });
  });

  it('stops what adds to it as soon as it is reached, as a NameNode does', () => {
    const at = { namespaceQuota: 10n, spaceQuota: 20n };
    expect(decide(at, usage(9n, 19n), 'name')).toBeNull();
    expect(decide(at, usage(10n, 19n), 'name')).toBe(NAMES);
    expect(decide(at, usage(10n, 19n), 'bytes')).toBeNull();
    expect(decide(at, usage(10n, 20n), 'bytes')).toBe(BYTES);
    expect(decide(at, usage(10n, 20n), 'unknown')).toBeNull();
    expect(decide(at, usage(11n, 20n), 'unknown')).toBe(NAMES);
    expect(decide({ spaceQuota: 0n }, usage(0n, 0n), 'bytes')).toBe(BYTES);
    // The next name is the one too many.
    expect(violationOf({ ...NO_LIMITS, ...at }, usage(10n, 0n), 'name')?.message).toContain('quota=10 file count=11');
  });

  it('of a storage type is reached at the same point as one of all space (the Java Router: one later)', () => {
    for (const type of ['SSD', 'DISK', 'ARCHIVE', 'PROVIDED', 'NVDIMM'] as const) {
      const limits = { types: [{ type, quota: 5n, consumed: 0n }] };
      expect(decide(limits, usage(0n, 0n, { [type]: 4n }), 'bytes')).toBeNull();
      expect(decide(limits, usage(0n, 0n, { [type]: 5n }), 'bytes')).toBe(BYTES);
      expect(decide(limits, usage(0n, 0n), 'bytes')).toBeNull();
    }
    const memory = { types: [{ type: 'RAM_DISK', quota: 5n, consumed: 0n }] } as const;
    expect(decide({ types: [...memory.types] }, usage(0n, 0n, { RAM_DISK: 9n }), 'bytes')).toBeNull();
  });

  it('never stops what ends a write or gives space back', () => {
    const over = usage(99n, 99n, { SSD: 99n });
    for (const method of ['complete', 'abandonBlock', 'truncate']) {
      expect(decide({ namespaceQuota: 1n, spaceQuota: 1n }, over, growthOf(method))).toBeNull();
    }
  });

  it('is looked at for every method that the table says', () => {
    const checked = METHODS.filter(({ quotaCheck }) => quotaCheck).map(({ name }) => [name, growthOf(name)]);
    expect(Object.fromEntries(checked)).toEqual({
      create: 'name',
      createSymlink: 'name',
      append: 'bytes',
      addBlock: 'bytes',
      mkdirs: 'unknown',
      setReplication: 'unknown',
      complete: 'nothing',
      abandonBlock: 'nothing',
      truncate: 'nothing',
    });
  });
});

describe('bytes in quota messages', () => {
  it.each<[bigint, string]>([
    [0n, '0 B'],
    [1023n, '1023 B'],
    [1024n, '1 KB'],
    [1536n, '1.50 KB'],
    [1025n, '1.00 KB'],
    [1152n, '1.13 KB'],
    [1048575n, '1.00 MB'],
    [1048576n, '1 MB'],
    [5n << 30n, '5 GB'],
    [(1n << 40n) + (1n << 39n), '1.50 TB'],
    [(1n << 63n) - 1n, '8.00 EB'],
    [-1536n, '-1.50 KB'],
  ])('%s is %s', (bytes, text) => {
    expect(byteText(bytes)).toBe(text);
  });
});

function table(mounts: readonly (readonly [path: string, quota: object])[], epoch = 1): MountSnapshot {
  const records = mounts.map(([srcPath, quota]) => ({
    srcPath,
    destinations: [{ nameserviceId: 'ns0', path: '/x' }],
    quota,
  }));
  const defaults = { routerUser: 'router', superGroup: 'supergroup', nowMs: 1 };
  return MountSnapshot.from(
    buildSnapshot(parseMounts(JSON.stringify(records), 'mounts', defaults), ['ns0'], epoch, null),
  );
}

function numberOf(snapshot: MountSnapshot, path: string): number {
  const bytes = Buffer.from(path);
  return snapshot.find(bytes, 0, bytes.length);
}

function quotasWith(used: Readonly<Record<string, MountUsage>>): MountQuotas {
  const quotas = new MountQuotas(true);
  quotas.usage = { usageOf: (path) => used[path] ?? null };
  return quotas;
}

describe('limits of a mount table', () => {
  it('hold for all mounts below, that of `/` too (the Java Router: for none)', () => {
    const snapshot = table([
      ['/', { quota: 5 }],
      ['/a', {}],
      ['/a/b', { spaceQuota: 7 }],
      ['/ab', {}],
    ]);
    const full = quotasWith({ '/': usage(6n, 0n) });
    for (const path of ['/', '/a', '/a/b', '/ab']) {
      expect(full.isReached(snapshot, numberOf(snapshot, path))).toBe(true);
      expect(full.violation(snapshot, numberOf(snapshot, path), 'mkdirs')?.className).toBe(NAMES);
    }
    const below = quotasWith({ '/': usage(1n, 0n), '/a/b': usage(1n, 7n) });
    const reached = ['/', '/a', '/a/b', '/ab'].map((path) => below.isReached(snapshot, numberOf(snapshot, path)));
    expect(reached).toEqual([false, false, true, false]);
    expect(below.violation(snapshot, numberOf(snapshot, '/a/b'), 'addBlock')?.className).toBe(BYTES);
    expect(below.violation(snapshot, numberOf(snapshot, '/a/b'), 'create')).toBeNull();
  });

  it('are looked at in every mount above, not only the nearest with a limit', () => {
    const snapshot = table([
      ['/a', { quota: 5 }],
      ['/a/b/c', { quota: 100 }],
    ]);
    const quotas = quotasWith({ '/a': usage(6n, 0n), '/a/b/c': usage(1n, 0n) });
    expect(quotas.violation(snapshot, numberOf(snapshot, '/a/b/c'), 'create')?.message).toContain('quota=5 ');
  });

  it('are compared again with another table and with other figures', () => {
    const before = table([['/a', { quota: 5 }]]);
    const after = table([['/a', { quota: 50 }]], 2);
    const quotas = quotasWith({ '/a': usage(6n, 0n) });
    expect(quotas.isReached(before, 0)).toBe(true);
    expect(quotas.isReached(after, 0)).toBe(false);
    quotas.usage = { usageOf: () => usage(60n, 0n) };
    expect(quotas.isReached(after, 0)).toBe(true);
  });

  it('cost nothing without figures or with quotas off', () => {
    const quotas = new MountQuotas(true);
    expect(quotas.active).toBe(false);
    quotas.usage = { usageOf: () => null };
    expect(quotas.active).toBe(true);
    quotas.usage = NO_USAGE;
    expect(quotas.active).toBe(false);
    const off = new MountQuotas(false);
    off.usage = { usageOf: () => null };
    expect(off.active).toBe(false);
  });

  it('come of each kind from the nearest mount that sets one', () => {
    const snapshot = table([
      ['/', { quota: 1, spaceQuota: 2, typeQuotaInfos: [{ type: 'SSD', quota: 3 }] }],
      ['/a', { spaceQuota: 20 }],
      ['/a/b', { quota: 100, typeQuotaInfos: [{ type: 'DISK', quota: 300 }] }],
    ]);
    expect(limitsAt(snapshot, numberOf(snapshot, '/a/b'))).toMatchObject({
      namespaceQuota: 100n,
      spaceQuota: 20n,
      types: [
        { type: 'DISK', quota: 300n },
        { type: 'SSD', quota: 3n },
      ],
    });
    expect(limitsAt(snapshot, numberOf(snapshot, '/a'))).toMatchObject({ namespaceQuota: 1n, spaceQuota: 20n });
  });
});
