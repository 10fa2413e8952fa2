import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ENTRIES_PER_TURN,
  ReportError,
  readDataNodes,
  writeDataNodes,
  writeDataNodesBelow,
} from '../../src/composed/everywhere/datanode-entries.ts';
import { decodePlain, encode, messageType, type Plain } from '../../src/wire/messages.ts';

const REPORT = messageType('hadoop.hdfs.GetDatanodeReportResponseProto');
const STORAGE_REPORT = messageType('hadoop.hdfs.GetDatanodeStorageReportResponseProto');

const info = fc.record(
  {
    id: fc.record({
      ipAddr: fc.ipV4(),
      hostName: fc.string(),
      datanodeUuid: fc.uuid(),
      xferPort: fc.integer({ min: 0, max: 65_535 }),
      infoPort: fc.nat(),
      ipcPort: fc.nat(),
    }),
    capacity: fc.maxSafeNat(),
    dfsUsed: fc.maxSafeNat(),
    remaining: fc.maxSafeNat(),
    lastUpdate: fc.maxSafeNat(),
    location: fc.string(),
    adminState: fc.constantFrom('NORMAL', 'DECOMMISSIONED', 'IN_MAINTENANCE'),
    upgradeDomain: fc.string(),
    numBlocks: fc.nat(),
  },
  { requiredKeys: ['id'] },
);

describe('DataNodes of a report', () => {
  it('are read as a decoder reads them, and written again as they were', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(info, { maxLength: 5 }), async (di) => {
        const body = encode(REPORT, { di });
        const entries = await readDataNodes(body, false);
        expect(entries).toMatchObject(
          di.map((node) => ({
            address: `${node.id.ipAddr}:${node.id.xferPort}`,
            uuid: node.id.datanodeUuid,
            lastUpdateMs: node.lastUpdate ?? 0,
            isInService: (node.adminState ?? 'NORMAL') === 'NORMAL',
            capacityBytes: BigInt(node.capacity ?? 0),
            usedBytes: BigInt(node.dfsUsed ?? 0),
            remainingBytes: BigInt(node.remaining ?? 0),
            location: node.location ?? '',
          })),
        );
        expect(await writeDataNodes(entries)).toEqual(body);
        const below = decodePlain(REPORT, await writeDataNodesBelow(entries, () => 'ns'));
        const before = decodePlain(REPORT, body)['di'] as Plain[];
        expect(below['di']).toEqual(
          before.map((node) => ({ ...node, location: `/ns${node['location'] ?? '/default-rack'}` })),
        );
      }),
      { numRuns: 200, interruptAfterTimeLimit: 5_000 },
    );
  });

  it('are read below their storages', async () => {
    const id = { ipAddr: '10.0.0.1', hostName: 'h', datanodeUuid: 'u', xferPort: 1, infoPort: 2, ipcPort: 3 };
    const datanodeStorageReports = [
      { datanodeInfo: { id, lastUpdate: 5 }, storageReports: [{ storageUuid: 's' }] },
      { datanodeInfo: { id: { ...id, xferPort: 9 } }, storageReports: [] },
    ];
    const body = encode(STORAGE_REPORT, { datanodeStorageReports });
    const entries = await readDataNodes(body, true);
    expect(entries).toMatchObject([{ address: '10.0.0.1:1', uuid: 'u', lastUpdateMs: 5 }, { address: '10.0.0.1:9' }]);
    expect(await writeDataNodes(entries)).toEqual(body);
  });

  it('let other events have their turn', async () => {
    const id = { ipAddr: '10.0.0.1', hostName: 'h', datanodeUuid: 'u', xferPort: 1, infoPort: 2, ipcPort: 3 };
    const body = encode(REPORT, { di: Array.from({ length: 3 * ENTRIES_PER_TURN }, () => ({ id })) });
    let turns = 0;
    let ticking = true;
    const tick = (): void => {
      turns++;
      if (ticking) setImmediate(tick);
    };
    setImmediate(tick);
    await writeDataNodes(await readDataNodes(body, false));
    ticking = false;
    expect(turns).toBeGreaterThanOrEqual(6);
  });

  it('of bytes that are no report are a ReportError', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 60 }), fc.boolean(), async (bytes, nested) => {
        try {
          await readDataNodes(Buffer.from(bytes), nested);
        } catch (error) {
          expect(error).toBeInstanceOf(ReportError);
        }
      }),
      { numRuns: 2_000, interruptAfterTimeLimit: 5_000 },
    );
  });
});
