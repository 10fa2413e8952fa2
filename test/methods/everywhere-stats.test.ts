import { describe, expect } from 'vitest';
import type { SimulatedDataNode } from '../../src/simulator/datanodes.ts';
import type { Plain } from '../../src/wire/messages.ts';
import { prove } from '../support/prove.ts';
import { createRequest } from '../support/several-mounts.ts';

/** Figures of all nameservices added up. */

const TERABYTE = 2 ** 40;
/** The router's own user may read DataNode reports, as superusers do. */
const TRUSTED = { router: ['supergroup'] };

const SHARED: SimulatedDataNode = {
  uuid: 'shared',
  ip: '10.0.0.1',
  capacityBytes: 10 * TERABYTE,
  nonDfsUsedBytes: 0,
  figures: {
    ns0: { dfsUsedBytes: TERABYTE, lastUpdateMs: 1000 },
    ns1: { dfsUsedBytes: 2 * TERABYTE, lastUpdateMs: 2000 },
  },
};
const OWN: SimulatedDataNode = {
  uuid: 'own',
  ip: '10.0.0.2',
  capacityBytes: TERABYTE,
  dfsUsedBytes: 1000,
  nameservices: ['ns0'],
};
const RETIRED: SimulatedDataNode = {
  uuid: 'dead',
  ip: '10.0.0.3',
  capacityBytes: TERABYTE,
  isLive: false,
};

const DATANODES = [SHARED, OWN, RETIRED];

describe('getFsStats', () => {
  prove(
    'ClientProtocol.getFsStats',
    'the disks of a DataNode that serves several nameservices count once, for users too who may not see DataNodes',
    { simulator: { datanodes: DATANODES, groups: TRUSTED } },
    async (cluster) => {
      const expected = { capacity: 11 * TERABYTE, used: 2 * TERABYTE + 1000, remaining: 9 * TERABYTE - 1000 };
      for (const user of ['alice', 'hdfs']) {
        const client = await cluster.connect(user);
        expect(await client.call('ClientProtocol.getFsStats')).toMatchObject(expected);
      }
      const calls = await cluster.simulator.control({ op: 'calls', method: 'getDatanodeReport' });
      expect(calls.map(({ nameservice, user }) => `${nameservice} ${user}`).sort()).toEqual([
        'ns0 router',
        'ns1 router',
      ]);
    },
  );

  prove(
    'ClientProtocol.getFsStats',
    'where the router may not see DataNodes, each nameservice counts what it has',
    { simulator: { datanodes: DATANODES } },
    async (cluster) => {
      const client = await cluster.connect('alice');
      expect(await client.call('ClientProtocol.getFsStats')).toMatchObject({
        capacity: 21 * TERABYTE,
        used: 3 * TERABYTE + 1000,
      });
    },
  );

  prove(
    'ClientProtocol.getFsStats',
    'of one nameservice they are its own',
    { nameservices: ['ns0'], simulator: { datanodes: DATANODES } },
    async (cluster) => {
      const [client, direct] = await Promise.all([cluster.connect('alice'), cluster.direct('ns0', 'alice')]);
      expect(await client.call('ClientProtocol.getFsStats')).toEqual(await direct.call('ClientProtocol.getFsStats'));
    },
  );
});

describe('block statistics', () => {
  for (const name of ['getFsReplicatedBlockStats', 'getFsECBlockGroupStats'] as const) {
    const title = 'sums of the nameservices, field by field';
    const options = { mounts: ['/a=ns0:/', '/b=ns1:/'], simulator: { datanodes: [OWN] } };
    const run = async (cluster: Parameters<Parameters<typeof prove>[3]>[0]): Promise<void> => {
      const [router, ns0, ns1] = await Promise.all([cluster.connect(), cluster.direct('ns0'), cluster.direct('ns1')]);
      for (const path of ['/a/x', '/a/y']) {
        await router.call('ClientProtocol.create', createRequest(path, { replication: 3 }));
        const { block } = await router.call<{ block: Plain }>('ClientProtocol.addBlock', {
          src: path,
          clientName: 'writer',
        });
        const last = { ...(block['b'] as Plain), numBytes: 10 };
        await router.call('ClientProtocol.complete', { src: path, clientName: 'writer', last });
      }
      const method = `ClientProtocol.${name}`;
      const [sum, one, two] = await Promise.all([router, ns0, ns1].map((client) => client.call(method)));
      const expected = Object.keys(one ?? {}).map((field) => [field, Number(one?.[field]) + Number(two?.[field])]);
      expect(sum).toEqual(Object.fromEntries(expected));
      expect(Object.keys(sum ?? {})).toContain('highest_prio_low_redundancy_blocks');
      if (name === 'getFsReplicatedBlockStats') expect(sum).toMatchObject({ low_redundancy: 2 });
    };
    if (name === 'getFsReplicatedBlockStats') prove('ClientProtocol.getFsReplicatedBlockStats', title, options, run);
    else prove('ClientProtocol.getFsECBlockGroupStats', title, options, run);
  }
});
