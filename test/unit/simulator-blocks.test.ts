import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Plain } from '../../src/wire/messages.ts';
import { BLOCK_BYTES, DENIED, DONT_SET, ILLEGAL, IO, NOT_FOUND, SimulatorCaller } from './simulator-caller.ts';

const GIGABYTE = 1024 ** 3;
let nn: SimulatorCaller;

beforeAll(async () => {
  nn = await SimulatorCaller.start({
    nameservices: ['ns0', 'ns1'],
    datanodes: [
      { uuid: 'd0', ip: '10.0.0.1', capacityBytes: GIGABYTE, rack: '/r0', nonDfsUsedBytes: 1000 },
      {
        uuid: 'd1',
        ip: '10.0.0.2',
        capacityBytes: GIGABYTE,
        rack: '/r1',
        isSlow: true,
        figures: { ns1: { dfsUsedBytes: 500, lastUpdateMs: 7, isLive: false } },
      },
      { uuid: 'd2', ip: '10.0.0.3', capacityBytes: GIGABYTE, rack: '/r2', nameservices: ['ns0'] },
      { uuid: 'd3', ip: '10.0.0.4', adminState: 'DECOMMISSION_INPROGRESS', nameservices: ['ns1'], storageType: 'SSD' },
    ],
  });
});

afterAll(async () => {
  await nn.checkStandby();
  await nn[Symbol.asyncDispose]();
});

const uuids = (infos: Plain[]): unknown[] => infos.map((info) => (info['id'] as Plain)['datanodeUuid']);
const locsOf = (located: Plain): unknown[] => uuids(located['locs'] as Plain[]);
const block = (located: Plain): Plain => located['b'] as Plain;

async function summary(path: string): Promise<Plain> {
  return ((await nn.ask('getContentSummary', { path })) as Plain)['summary'] as Plain;
}

async function usage(path: string): Promise<Plain> {
  return ((await nn.ask('getQuotaUsage', { path })) as Plain)['usage'] as Plain;
}

describe('blocks', () => {
  it('are given to a file, which then has their length', async () => {
    await nn.write('/w/two', [BLOCK_BYTES, 100]);
    expect(await nn.info('/w/two')).toMatchObject({ length: BLOCK_BYTES + 100, block_replication: 3 });
    const { locations } = (await nn.ask('getBlockLocations', { src: '/w/two', offset: 0, length: 9999 })) as {
      locations: Plain;
    };
    const blocks = locations['blocks'] as Plain[];
    expect(locations).toMatchObject({ fileLength: 1124, underConstruction: false, isLastBlockComplete: true });
    expect(blocks.map((one) => one['offset'])).toEqual([0, BLOCK_BYTES]);
    expect(locsOf(blocks[0]!).toSorted()).toEqual(['d0', 'd1', 'd2']);
    const listed = (await nn.ask('getListing', {
      src: '/w',
      startAfter: Buffer.alloc(0),
      needLocation: true,
    })) as Plain;
    const [entry] = (listed['dirList'] as Plain)['partialListing'] as Plain[];
    expect((entry!['locations'] as Plain)['blocks']).toEqual(blocks);
  });

  it('are given again when the answer was lost', async () => {
    await nn.open('/w/lost');
    const first = await nn.addBlock('/w/lost');
    expect(await nn.addBlock('/w/lost')).toEqual(first);
    const second = await nn.addBlock('/w/lost', { ...block(first), numBytes: BLOCK_BYTES });
    expect(await nn.addBlock('/w/lost', block(first))).toEqual(second);
    expect(second['offset']).toBe(BLOCK_BYTES);
    await expect(nn.addBlock('/w/lost', { ...block(second), blockId: 99 })).rejects.toThrow(
      "Cannot allocate block in /w/lost: passed 'previous' block",
    );
    await expect(nn.addBlock('/w/lost', { ...block(second), poolId: 'BP-other' })).rejects.toThrow(
      `${IO}: Unexpected BlockPoolId BP-other - expected ${block(second)['poolId']}`,
    );
    expect(await nn.ask('abandonBlock', { b: block(second), src: '/w/lost', holder: 'c1' })).toEqual({});
    expect(await nn.complete('/w/lost', { ...block(first), numBytes: BLOCK_BYTES })).toEqual({ result: true });
    expect(await nn.complete('/w/lost', block(first))).toEqual({ result: true });
    expect(await nn.info('/w/lost')).toMatchObject({ length: BLOCK_BYTES });
  });

  it('avoid nodes that are excluded, and say when none are left', async () => {
    await nn.open('/w/ex');
    const request = { src: '/w/ex', clientName: 'c1', favoredNodes: [], flags: [] };
    const { di } = (await nn.ask('getDatanodeReport', { type: 'LIVE' })) as { di: Plain[] };
    const some = (await nn.ask('addBlock', { ...request, excludeNodes: di.slice(0, 2) })) as Plain;
    expect(locsOf(some['block'] as Plain)).toEqual(['d2']);
    await nn.ask('abandonBlock', { b: block(some['block'] as Plain), src: '/w/ex', holder: 'c1' });
    expect(await nn.ask('addBlock', { ...request, excludeNodes: di })).toBe(
      `${IO}: File /w/ex could only be written to 0 of the 1 minReplication nodes. ` +
        'There are 3 datanode(s) running and 3 node(s) are excluded in this operation.',
    );
  });

  it('change their pipeline', async () => {
    await nn.open('/w/pipe', { replication: 2 });
    const given = await nn.addBlock('/w/pipe');
    const asked = { block: block(given), clientName: 'c1' };
    expect(await nn.ask('updateBlockForPipeline', { ...asked, clientName: 'c9' })).toContain('LeaseExpiredException');
    const renewed = (await nn.ask('updateBlockForPipeline', asked)) as Plain;
    const newBlock = { ...block(renewed['block'] as Plain), numBytes: 10 };
    expect(newBlock).toMatchObject({ blockId: block(given)['blockId'] });
    const additional = (await nn.ask('getAdditionalDatanode', {
      src: '/w/pipe',
      blk: block(given),
      existings: (given['locs'] as Plain[]).slice(0, 1),
      excludes: (given['locs'] as Plain[]).slice(1),
      numAdditionalNodes: 1,
      clientName: 'c1',
      existingStorageUuids: [],
    })) as Plain;
    const nodes = (additional['block'] as Plain)['locs'] as Plain[];
    expect(nodes).toHaveLength(2);
    const update = {
      clientName: 'c1',
      oldBlock: block(given),
      newBlock,
      newNodes: nodes.map((node) => node['id']),
      storageIDs: [],
    };
    expect(await nn.ask('updatePipeline', { ...update, newBlock: block(given) })).toContain(
      'does not have a larger generation stamp than the last block',
    );
    expect(await nn.ask('updatePipeline', update)).toEqual({});
    expect(await nn.complete('/w/pipe', newBlock)).toEqual({ result: true });
    const { locations } = (await nn.ask('getBlockLocations', { src: '/w/pipe', offset: 0, length: 9 })) as {
      locations: Plain;
    };
    const [located] = locations['blocks'] as Plain[];
    expect(locsOf(located!)).toEqual(uuids(nodes));
    expect(await nn.ask('updateBlockForPipeline', { block: newBlock, clientName: 'c1' })).toContain(
      'is COMPLETE but not UNDER_CONSTRUCTION',
    );
    expect(await nn.ask('updateBlockForPipeline', { block: { ...newBlock, blockId: 5 }, clientName: 'c1' })).toMatch(
      /blk_5_\d+ does not exist\.$/,
    );
  });

  it('are gone on with by append, cut by truncate, moved by concat', async () => {
    await nn.write('/w/app', [100]);
    const appended = (await nn.ask('append', { src: '/w/app', clientName: 'c1' })) as Plain;
    const last = block(appended['block'] as Plain);
    expect(last).toMatchObject({ numBytes: 100 });
    await nn.complete('/w/app', { ...last, numBytes: BLOCK_BYTES });
    expect(await nn.info('/w/app')).toMatchObject({ length: BLOCK_BYTES });
    expect(await nn.ask('append', { src: '/w/app', clientName: 'c1' })).not.toHaveProperty('block');
    const second = await nn.addBlock('/w/app', { ...last, numBytes: BLOCK_BYTES });
    await nn.complete('/w/app', { ...block(second), numBytes: 7 });

    const truncate = (newLength: number): Promise<unknown> =>
      nn.ask('truncate', { src: '/w/app', newLength, clientName: 'c1' });
    expect(await truncate(2000)).toBe(
      `${ILLEGAL}: Cannot truncate to a larger file size. Current size: 1031, truncate size: 2000.`,
    );
    expect(await truncate(BLOCK_BYTES)).toEqual({ result: true });
    expect(await truncate(10)).toEqual({ result: false });
    expect(await nn.info('/w/app')).toMatchObject({ length: 10 });

    await nn.write('/w/src1', [5]);
    await nn.write('/w/src2', [6, 7]);
    await nn.write('/w/none');
    const concat = (srcs: string[]): Promise<unknown> => nn.ask('concat', { trg: '/w/app', srcs });
    expect(await concat(['/w/src1', '/w/none'])).toBe(
      `${ILLEGAL}: concat: source file /w/none is invalid or empty or underConstruction`,
    );
    expect(await concat(['/w/src1', '/w/src2'])).toEqual({});
    expect(await nn.info('/w/app')).toMatchObject({ length: 28 });
    expect(await nn.info('/w/src1')).toBeUndefined();
  });

  it('may go bad', async () => {
    await nn.write('/bad/f', [50]);
    await nn.write('/bad/g', [50]);
    const { locations } = (await nn.ask('getBlockLocations', { src: '/bad/f', offset: 0, length: 9 })) as {
      locations: Plain;
    };
    const [located] = locations['blocks'] as Plain[];
    const locs = located!['locs'] as Plain[];
    await nn.ask('reportBadBlocks', { blocks: [{ ...located, locs: locs.slice(0, 1) }] });
    expect(await nn.ask('listCorruptFileBlocks', { path: '/' })).toEqual({ corrupt: { files: [], cookie: '0' } });
    expect(await nn.ask('getFsStats')).toMatchObject({ corrupt_blocks: 1, missing_blocks: 0 });
    await nn.ask('reportBadBlocks', { blocks: [located!] });
    expect(await nn.ask('listCorruptFileBlocks', { path: '/bad' })).toEqual({
      corrupt: { files: ['/bad/f'], cookie: '1' },
    });
    expect(await nn.ask('listCorruptFileBlocks', { path: '/bad', cookie: '1' })).toEqual({
      corrupt: { files: [], cookie: '1' },
    });
    expect(await nn.ask('getFsStats')).toMatchObject({ missing_blocks: 1 });
    expect(await nn.ask('getFsReplicatedBlockStats')).toMatchObject({ missing_blocks: 1, corrupt_blocks: 1 });
    expect(await nn.ask('getFsECBlockGroupStats')).toMatchObject({ missing_blocks: 0 });
    expect(await nn.ask('listCorruptFileBlocks', { path: '/' }, 'bob')).toContain(DENIED);
  });
});

describe('DataNodes', () => {
  const report = async (type: string, nameservice: number): Promise<Plain[]> =>
    ((await nn.ask('getDatanodeReport', { type }, 'root', nameservice)) as Plain)['di'] as Plain[];

  it('are reported as each nameservice sees them', async () => {
    expect(uuids(await report('ALL', 0))).toEqual(['d0', 'd1', 'd2']);
    expect(uuids(await report('ALL', 1))).toEqual(['d0', 'd1', 'd3']);
    expect(uuids(await report('LIVE', 1))).toEqual(['d0', 'd3']);
    expect(uuids(await report('DEAD', 1))).toEqual(['d1']);
    expect(uuids(await report('DECOMMISSIONING', 1))).toEqual(['d3']);
    expect(uuids(await report('IN_MAINTENANCE', 1))).toEqual([]);
    expect((await report('DEAD', 1))[0]).toMatchObject({ dfsUsed: 500, lastUpdate: 7, location: '/r1' });
    expect(await nn.ask('getDatanodeReport', { type: 'ALL' }, 'bob')).toContain(DENIED);
    const slow = (await nn.ask('getSlowDatanodeReport', {}, 'bob')) as Plain;
    expect(uuids(slow['datanodeInfoProto'] as Plain[])).toEqual(['d1']);
    const stored = (await nn.ask('getDatanodeStorageReport', { type: 'ALL' }, 'root', 1)) as Plain;
    const [, , last] = stored['datanodeStorageReports'] as Plain[];
    expect(last!['storageReports']).toMatchObject([{ storage: { storageType: 'SSD' } }]);
  });

  it('are summed up, with what is stored on them', async () => {
    const before = (await nn.ask('getFsStats')) as { used: number; remaining: number };
    expect(before).toMatchObject({ capacity: 3 * GIGABYTE });
    const [d0] = await report('ALL', 0);
    await nn.write('/stored', [1000]);
    const [after] = await report('ALL', 0);
    expect(after).toMatchObject({
      dfsUsed: (d0!['dfsUsed'] as number) + 1000,
      blockPoolUsed: (d0!['blockPoolUsed'] as number) + 1000,
      numBlocks: (d0!['numBlocks'] as number) + 1,
      nonDfsUsed: 1000,
    });
    expect(await nn.ask('getFsStats')).toMatchObject({
      used: before.used + 3000,
      remaining: before.remaining - 3000,
    });
    expect(await nn.ask('getFsStats', {}, 'root', 1)).toMatchObject({ capacity: GIGABYTE + 1024 * GIGABYTE, used: 0 });
  });

  it('list their blocks for balancers', async () => {
    const [d0] = await report('ALL', 0);
    const ask = { datanode: d0!['id'], size: 1100, minBlockSize: 1000 };
    const answer = (await nn.ask('getBlocks', ask)) as { blocks: Plain };
    const blocks = answer.blocks['blocks'] as Plain[];
    expect(blocks.length).toBeGreaterThan(0);
    for (const one of blocks) {
      expect((one['block'] as Plain)['numBytes']).toBeGreaterThanOrEqual(1000);
      expect(one['datanodeUuids']).toContain('d0');
    }
    expect(await nn.ask('getBlocks', { ...ask, size: 0 })).toBe(
      'java.lang.IllegalArgumentException: Unexpected not positive size: 0',
    );
    const unknown = { ...(d0!['id'] as Plain), datanodeUuid: 'x' };
    expect(await nn.ask('getBlocks', { ...ask, datanode: unknown })).toBe(
      `${ILLEGAL}: Datanode 10.0.0.1:9866 not found.`,
    );
    expect(await nn.ask('getBlockKeys')).toMatchObject({ keys: { isBlockTokenEnabled: false, allKeys: [] } });
    expect(await nn.ask('getBlockKeys', {}, 'bob')).toContain(DENIED);
  });
});

describe('space', () => {
  it('is summed up and counts for quotas', async () => {
    await nn.mkdirs('/q/d');
    await nn.write('/q/d/f', [BLOCK_BYTES, 24]);
    expect(await summary('/q')).toMatchObject({
      length: 1048,
      fileCount: 1,
      directoryCount: 2,
      spaceConsumed: 3144,
      quota: -1,
      spaceQuota: -1,
      erasureCodingPolicy: '',
    });
    expect(await summary('/q')).not.toHaveProperty('typeQuotaInfos');
    await nn.ask('setQuota', { path: '/q', namespaceQuota: DONT_SET, storagespaceQuota: 6144 });
    expect(await usage('/q')).toMatchObject({ fileAndDirectoryCount: 3, spaceConsumed: 3144, spaceQuota: 6144 });
    await nn.open('/q/g');
    await expect(nn.addBlock('/q/g')).rejects.toThrow(
      'org.apache.hadoop.hdfs.protocol.DSQuotaExceededException: The DiskSpace quota of /q is exceeded: ' +
        'quota = 6144 B = 6 KB but diskspace consumed = 6216 B = 6.07 KB',
    );
    expect(await nn.ask('setReplication', { src: '/q/d/f', replication: 6 })).toContain('DSQuotaExceededException');
    expect(await nn.ask('setReplication', { src: '/q/d/f', replication: 2 })).toEqual({ result: true });
    const given = await nn.addBlock('/q/g');
    expect(await usage('/q')).toMatchObject({ spaceConsumed: 2096 + 3 * BLOCK_BYTES });
    await nn.complete('/q/g', { ...block(given), numBytes: 1 });
    expect(await usage('/q')).toMatchObject({ spaceConsumed: 2096 + 3 });
    await nn.write('/big', [BLOCK_BYTES, BLOCK_BYTES]);
    expect(await nn.ask('rename2', { src: '/big', dst: '/q/big', overwriteDest: false })).toContain(
      'DSQuotaExceededException',
    );
    expect(await nn.ask('rename2', { src: '/q/d/f', dst: '/q/f', overwriteDest: false })).toEqual({});
  });

  it('has quotas by storage type, for files with a storage policy', async () => {
    await nn.mkdirs('/t');
    await nn.ask('setStoragePolicy', { src: '/t', policyName: 'ONE_SSD' });
    const set = (storagespaceQuota: number | bigint, storageType: string, namespaceQuota: number | bigint = DONT_SET) =>
      nn.ask('setQuota', { path: '/t', namespaceQuota, storagespaceQuota, storageType });
    expect(await set(5, 'SSD', 5)).toContain('UnsupportedActionException: Failed to set quota by storage type');
    expect(await set(1500, 'SSD')).toEqual({});
    await nn.write('/t/f', [BLOCK_BYTES]);
    const infos = ((await usage('/t'))['typeQuotaInfos'] as Plain)['typeQuotaInfo'];
    expect(infos).toEqual([
      { type: 'SSD', quota: 1500, consumed: BLOCK_BYTES },
      { type: 'DISK', quota: -1, consumed: 2 * BLOCK_BYTES },
      { type: 'ARCHIVE', quota: -1, consumed: 0 },
      { type: 'PROVIDED', quota: -1, consumed: 0 },
      { type: 'NVDIMM', quota: -1, consumed: 0 },
    ]);
    expect((await summary('/t'))['typeQuotaInfos']).toEqual({ typeQuotaInfo: infos });
    await nn.open('/t/g');
    await expect(nn.addBlock('/t/g')).rejects.toThrow(
      'QuotaByStorageTypeExceededException: Quota by storage type : SSD on path : /t is exceeded. ' +
        'quota = 1.46 KB but space consumed = 2 KB',
    );
    expect(await set(-1, 'SSD')).toEqual({});
    await nn.addBlock('/t/g');
    expect(await nn.ask('getQuotaUsage', { path: '/none' })).toBe(`${NOT_FOUND}: File/Directory does not exist: /none`);
  });
});
