import { describe, expect, it } from 'vitest';
import { type JmxAnswer, JmxClient } from '../../src/control/membership/jmx.ts';
import { FSNAMESYSTEM, FSNAMESYSTEM_STATE, JmxServer } from '../support/jmx-server.ts';
import { within } from '../support/wait.ts';

const SHORT_MS = 200;

async function read(port: number, host = '127.0.0.1'): Promise<JmxAnswer> {
  const client = new JmxClient(SHORT_MS, SHORT_MS);
  try {
    return await within(client.readStats('http', { host, port }), 'the figures or their absence');
  } finally {
    await client.close();
  }
}

describe('figures of a NameNode', () => {
  it('are those of three beans, 0 or -1 where they are absent', async () => {
    await using jmx = await JmxServer.start();
    const { stats, problem } = await read(jmx.port);
    expect(problem).toBe('');
    expect(stats).toEqual({
      totalSpace: 1_000,
      availableSpace: 600,
      providedSpace: 5,
      numOfFiles: 11,
      numOfBlocks: 12,
      numOfBlocksMissing: 1,
      numOfBlocksPendingReplication: 2,
      numOfBlocksUnderReplicated: 3,
      numOfBlocksPendingDeletion: 4,
      numOfActiveDatanodes: 3,
      numOfDeadDatanodes: 1,
      numOfDecommissioningDatanodes: 0,
      numOfDecomActiveDatanodes: 0,
      numOfDecomDeadDatanodes: 0,
      numOfStaleDatanodes: 0,
      numOfInMaintenanceLiveDataNodes: 2,
      numOfInMaintenanceDeadDataNodes: 0,
      numOfEnteringMaintenanceDataNodes: 0,
      corruptFilesCount: 7,
      scheduledReplicationBlocks: 0,
      numberOfMissingBlocksWithReplicationFactorOne: 8,
      highestPriorityLowRedundancyReplicatedBlocks: 9,
      HighestPriorityLowRedundancyECBlocks: -1,
      pendingSPSPaths: 0,
    });
  });

  it('are read over IPv6', async () => {
    await using jmx = await JmxServer.start('::1');
    expect((await read(jmx.port, '::1')).stats?.['numOfFiles']).toBe(11);
  });

  it('end where a required one is absent', async () => {
    await using jmx = await JmxServer.start();
    const { NumLiveDataNodes: _, ...state } = FSNAMESYSTEM_STATE;
    jmx.beans = [state, FSNAMESYSTEM];
    const { stats, problem } = await read(jmx.port);
    expect(problem).toContain('FSNamesystemState has no NumLiveDataNodes');
    expect(stats?.['availableSpace']).toBe(-1);
    expect(Object.values(stats ?? {}).every((value) => value === -1)).toBe(true);
  });

  it('are exact beyond 2 to 53, and NaN beside them does no harm', async () => {
    await using jmx = await JmxServer.start();
    const text = JSON.stringify({ beans: [FSNAMESYSTEM] })
      .replace('"CapacityTotal":1000', '"CapacityTotal":9223372036854775807,"Load":NaN,"Peak":-Infinity')
      .replace('"FilesTotal":11', '"FilesTotal":1.5e3');
    jmx.respond = (_, response) => response.end(text);
    const { stats } = await read(jmx.port);
    expect(stats?.['totalSpace']).toBe(9_223_372_036_854_775_807n);
    expect(stats?.['numOfFiles']).toBe(1_500);
  });
});

describe('no figures', () => {
  const faults: [string, (server: JmxServer) => void, RegExp][] = [
    ['without beans', (jmx) => (jmx.beans = []), /neither FSNamesystem nor FSNamesystemState/],
    ['from garbage', (jmx) => (jmx.respond = (_, response) => response.end('{"beans":[{')), /no JSON/],
    ['from JSON of another form', (jmx) => (jmx.respond = (_, response) => response.end('[null]')), /no beans/],
    ['from beans that are none', (jmx) => (jmx.beans = [null as unknown as object, 1 as unknown as object]), /neither/],
    [
      'from a refusal',
      (jmx) =>
        (jmx.respond = (_, response) => {
          response.statusCode = 401;
          response.end('who are you?');
        }),
      /status 401/,
    ],
    ['from a server that hangs', (jmx) => (jmx.respond = () => {}), /[Tt]imeout/],
    [
      'from an answer that never ends',
      (jmx) =>
        (jmx.respond = (_, response) => {
          response.write('{"beans":[');
        }),
      /[Tt]imeout/,
    ],
    [
      'from an answer of 50 MB',
      (jmx) =>
        (jmx.respond = (_, response) => {
          response.end(`{"beans":["${'x'.repeat(50 * 1024 * 1024)}"]}`);
        }),
      /exceed|max/i,
    ],
    ['from a connection that is cut', (jmx) => (jmx.respond = (request) => request.socket.resetAndDestroy()), /./],
  ];
  it.each(faults)('%s', async (_, prepare, expected) => {
    await using jmx = await JmxServer.start();
    prepare(jmx);
    const { stats, problem } = await read(jmx.port);
    expect(stats).toBeNull();
    expect(problem).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/jmx: /);
    expect(problem).toMatch(expected);
  });

  it('where nobody listens', async () => {
    const jmx = await JmxServer.start();
    const { port } = jmx;
    await jmx[Symbol.asyncDispose]();
    expect((await read(port)).problem).toContain('ECONNREFUSED');
  });

  it('when they are given up', async () => {
    await using jmx = await JmxServer.start();
    const client = new JmxClient();
    jmx.respond = () => void client.close();
    const asked = client.readStats('http', { host: '127.0.0.1', port: jmx.port });
    expect((await within(asked, 'the end')).stats).toBeNull();
  });
});
