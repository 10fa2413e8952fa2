import { describe, expect, it } from 'vitest';
import type { DatanodeInfo } from '../../src/control/hdfs-client.ts';
import type { ListedNamenode } from '../../src/control/membership/election.ts';
import { type DatanodeReport, mergeReports, nodesText, usageText } from '../../src/http/jmx/datanodes.ts';
import { reportsText, sortReports } from '../../src/http/jmx/reports.ts';
import { addUp } from '../../src/http/jmx/totals.ts';
import type { MembershipRecord } from '../../src/state-store/records.ts';

function datanode(host: number, more: Partial<DatanodeInfo> = {}): DatanodeInfo {
  const ipAddr = `10.0.0.${host}`;
  return {
    id: { ipAddr, hostName: `dn${host}`, xferPort: 9866, infoPort: 9864, infoSecurePort: 0 },
    capacity: 1000,
    dfsUsed: 100 * host,
    remaining: 800,
    blockPoolUsed: 50,
    nonDfsUsed: 7,
    lastUpdate: 1_000_000,
    location: '/rack',
    adminState: 'NORMAL',
    ...more,
  };
}

function listed(nameserviceId: string, stats: Record<string, number | bigint> | null, more = {}): ListedNamenode {
  const record: MembershipRecord = {
    dateCreated: 1,
    dateModified: 5_000,
    lastContact: 5_000,
    routerId: 'r:8888',
    nameserviceId,
    namenodeId: 'nn0',
    clusterId: 'c',
    blockPoolId: `BP-${nameserviceId}`,
    webAddress: 'h:1',
    rpcAddress: 'h:2',
    serviceAddress: 'h:3',
    lifelineAddress: 'h:4',
    webScheme: 'http',
    state: 'ACTIVE',
    safeMode: false,
    stats,
    ...more,
  };
  return { record, state: record.state };
}

const STATS = {
  totalSpace: 2000,
  availableSpace: 1600,
  numOfActiveDatanodes: 2,
  numOfFiles: 5,
  numOfStaleDatanodes: 1,
};

describe('sums over nameservices', () => {
  const lists = new Map([
    ['ns0', [listed('ns0', STATS), listed('ns0', { numOfFiles: 100 })]],
    ['ns1', [listed('ns1', { ...STATS, corruptFilesCount: -1 })]],
    ['ns2', [listed('ns2', null)]],
  ]);
  const shared: DatanodeReport = { live: [datanode(1), datanode(2)], dead: [] };

  it('have each DataNode once, and what else the first NameNode of each reports', () => {
    const totals = addUp(
      lists,
      mergeReports(
        new Map([
          ['ns0', shared],
          ['ns1', shared],
          ['ns2', shared],
        ]),
      ),
    );
    expect(totals).toMatchObject({ live: 2, dead: 0, stale: 2, capacity: 2000n, remaining: 1600n });
    expect([totals.count('numOfFiles'), totals.count('corruptFilesCount')]).toEqual([10, 0]);
  });

  it('add nameservices whose DataNodes are not known as they report themselves', () => {
    const some = addUp(lists, mergeReports(new Map([['ns0', shared]])));
    expect(some).toMatchObject({ live: 4, capacity: 4000n, remaining: 3200n });
    expect(addUp(lists, mergeReports(new Map()))).toMatchObject({ live: 4, capacity: 4000n });
  });

  it('are exact above 2^53', () => {
    const huge = new Map([['ns0', [listed('ns0', { totalSpace: 2n ** 62n + 1n, availableSpace: 2 ** 40 })]]]);
    expect(addUp(huge, mergeReports(new Map())).capacity).toBe(2n ** 62n + 1n);
  });

  it('tell DataNodes apart by what they are for the nameservice that knows best', () => {
    const known = mergeReports(
      new Map([
        ['ns0', { live: [datanode(1, { adminState: 'DECOMMISSIONED' })], dead: [datanode(2), datanode(3)] }],
        [
          'ns1',
          {
            live: [datanode(2, { lastUpdate: 1 }), datanode(1, { lastUpdate: 2_000_000 })],
            dead: [datanode(4, { adminState: 'IN_MAINTENANCE' })],
          },
        ],
      ]),
    );
    expect(addUp(new Map(), known)).toMatchObject({
      live: 2,
      dead: 2,
      decommissionedLive: 0,
      inMaintenanceDead: 1,
      capacity: 2000n,
    });
    const states = ['DECOMMISSION_INPROGRESS', 'DECOMMISSIONED', 'ENTERING_MAINTENANCE', 'IN_MAINTENANCE'];
    const live = states.map((adminState, host) => datanode(host, { adminState }));
    expect(addUp(new Map(), mergeReports(new Map([['ns0', { live, dead: [] }]])))).toMatchObject({
      live: 4,
      decommissioning: 1,
      decommissionedLive: 1,
      enteringMaintenance: 1,
      inMaintenanceLive: 1,
    });
  });
});

describe('lists of DataNodes', () => {
  it('have the fields of the Java Router', () => {
    const { nodes } = mergeReports(new Map([['ns0', { live: [datanode(1, { capacity: 2n ** 60n })], dead: [] }]]));
    expect(JSON.parse(nodesText(nodes, 1_003_500))).toEqual({
      'dn1:9866': {
        infoAddr: '10.0.0.1:9864',
        infoSecureAddr: '10.0.0.1:0',
        xferaddr: '10.0.0.1:9866',
        location: '/rack',
        lastContact: 3,
        usedSpace: 100,
        used: 100,
        adminState: 'In Service',
        nonDfsUsedSpace: 7,
        capacity: 2 ** 60,
        remaining: 800,
        blockPoolUsed: 50,
        blockPoolUsedPercent: 4.3368087e-15,
        blockPoolUsedPercentStdDev: 0,
        version: 'UNKNOWN',
        numBlocks: -1,
        blockScheduled: -1,
        volfails: -1,
      },
    });
  });

  it('tell how evenly they are filled', () => {
    const live = [1, 2, 6].map((host) => datanode(host));
    const { nodes } = mergeReports(new Map([['ns0', { live, dead: [datanode(9)] }]]));
    expect(JSON.parse(usageText(nodes))).toEqual({
      nodeUsage: { min: '10.00%', median: '20.00%', max: '60.00%', stdDev: '21.60%' },
    });
    expect(JSON.parse(usageText([])).nodeUsage.max).toBe('0.00%');
  });
});

describe('reports of NameNodes', () => {
  it('are JSON in a text, with the state as it is known now', () => {
    const { record } = listed('ns0', STATS);
    const text = reportsText([{ record, state: 'STANDBY' }], 9_999).json.toString();
    expect(JSON.parse(JSON.parse(text) as string)['ns0-nn0']).toMatchObject({
      state: 'STANDBY',
      lastHeartbeat: 4,
      used: 400,
      totalSpace: 2000,
      numOfFiles: 5,
      pendingSPSPaths: 0,
      highestPriorityLowRedundancyECBlocks: 0,
      isSafeMode: false,
      namenodeId: 'nn0',
    });
  });

  it('keep names that would end a text', () => {
    const { record } = listed('n"s\\', null, { routerId: 'a\n"' });
    const text = reportsText([{ record, state: 'ACTIVE' }], 0).json.toString();
    expect(JSON.parse(JSON.parse(text) as string)).toMatchObject({ 'n"s\\-nn0': { routerId: 'a\n"' } });
  });

  it('are sorted by nameservice, NameNode and router', () => {
    const [a, b, c] = [
      listed('ns1', null).record,
      listed('ns0', null, { routerId: 's' }).record,
      listed('ns0', null).record,
    ];
    expect(sortReports([a, b, c])).toEqual([c, b, a]);
  });
});
