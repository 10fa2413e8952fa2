import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { METHODS } from '../../src/call/methods.ts';
import { HdfsClient } from '../../src/control/hdfs-client.ts';
import { startSimulator } from '../../src/simulator/simulator.ts';
import { administer, Deployment, entryOf } from '../support/deployment.ts';
import { type Bean, beansIn, isOfMethod, type JmxPorts, javaBeans, typeIn } from '../support/jmx-attributes.ts';
import { JmxServer } from '../support/jmx-server.ts';
import { RouterProcess } from '../support/router-process.ts';
import { waitUntil } from '../support/wait.ts';

const DRIVER = 'org.apache.hadoop.hdfs.server.federation.store.driver.impl.StateStoreFileImpl';
const USER = 'hdfs';
const ROUTER = 'Hadoop:service=Router,name=';
const NAMENODE = 'Hadoop:service=NameNode,name=';

/** Attributes of the Java Router's that depend on what has happened there, or on sinks that it was configured with. */
const NOT_HERE: Readonly<Record<string, readonly string[]>> = {
  [`${ROUTER}MetricsSystem,sub=Stats`]: [
    'Sink_prometheusNumOps',
    'Sink_prometheusAvgTime',
    'Sink_prometheusDropped',
    'Sink_prometheusQsize',
  ],
};

async function read(router: RouterProcess, query = ''): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${router.httpPort}/jmx${query}`);
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf8']);
  expect(answer.headers.get('access-control-allow-origin')).toBe('*');
  return await answer.text();
}

async function bean(router: RouterProcess, name: string): Promise<Bean> {
  const found = beansIn(await read(router, `?qry=${encodeURIComponent(name)}`)).get(name);
  if (found === undefined) throw new Error(`no bean ${name}`);
  return found;
}

/** JSON inside a text. */
// biome-ignore lint/suspicious/noExplicitAny: whatever the attribute has
function inner(from: Bean, attribute: string): any {
  return JSON.parse(from[attribute] as string);
}

describe('/jmx of a router with a State Store', () => {
  let root: string;
  let deployment: Deployment;
  let router: RouterProcess;

  beforeAll(async () => {
    root = mkdtempSync(join(tmpdir(), 'switchyard-jmx-'));
    mkdirSync(join(root, 'store'));
    deployment = await Deployment.start(
      {
        'dfs.federation.router.store.driver.class': DRIVER,
        'dfs.federation.router.store.driver.file.directory': join(root, 'store'),
        'dfs.federation.router.dn-report.cache-expire': '1s',
        'ipc.callqueue.impl': 'org.apache.hadoop.ipc.FairCallQueue',
        'ipc.scheduler.impl': 'org.apache.hadoop.ipc.DecayRpcScheduler',
      },
      0,
    );
    router = await deployment.add({}, true);
    await administer(router, 'addMountTableEntry', { entry: entryOf('/m', 'ns1', '/in-ns1') });
    await administer(router, 'addMountTableEntry', {
      entry: entryOf('/both"x', 'ns0', '/in-ns0', {
        destinations: ['ns0', 'ns1'].map((id) => ({ nameserviceId: id, path: `/in-${id}` })),
        destOrder: 'HASH_ALL',
        readOnly: true,
      }),
    });
  }, 60_000);

  afterAll(async () => {
    await deployment?.[Symbol.asyncDispose]();
    rmSync(root, { recursive: true, force: true });
  });

  it('has the beans of the Java Router, with its attributes and their types', async () => {
    using client = await HdfsClient.connect({ host: router.host, port: router.port, user: USER });
    await client.getFileInfo('/m');
    const text = await waitUntil(async () => {
      const now = await read(router);
      return beansIn(now).has(`Hadoop:service=ipc.${router.port},name=DecayRpcScheduler`) && now;
    }, 'the beans of the call queue are there');
    const ports: JmxPorts = { rpc: router.port, admin: router.adminPort, http: router.httpPort };
    const beans = beansIn(text);
    const wrong: string[] = [];
    for (const [name, attributes] of javaBeans(ports)) {
      const own = beans.get(name);
      if (own === undefined) {
        wrong.push(`${name} is missing`);
        continue;
      }
      for (const [attribute, wanted] of attributes) {
        // Callers are there when they have cost something.
        if (isOfMethod(attribute) || /^Caller\(/.test(attribute) || NOT_HERE[name]?.includes(attribute)) continue;
        const type = typeIn(text, name, attribute);
        const expected = wanted === 'null here' ? 'null' : wanted.startsWith('string') ? 'string' : wanted;
        if (type !== expected) wrong.push(`${name} ${attribute}: ${type}, not ${expected}`);
      }
      const known = new Set(attributes.keys());
      for (const attribute of Object.keys(own)) {
        if (['name', 'modelerType'].includes(attribute) || known.has(attribute)) continue;
        if (known.has('<Method>NumOps') || /^Caller\(/.test(attribute)) continue;
        wrong.push(`${name} has ${attribute} besides`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('has every method in the three families of a Java server', async () => {
    const detailed = await bean(router, `${ROUTER}RpcDetailedActivityForPort${router.port}`);
    for (const { name, protocol } of METHODS) {
      if (protocol !== 0) continue;
      const method = name.charAt(0).toUpperCase() + name.slice(1);
      for (const family of ['', 'Overall', 'Deferred']) {
        expect(detailed, name).toMatchObject({
          [`${family}${method}NumOps`]: expect.any(Number),
          [`${family}${method}AvgTime`]: expect.any(Number),
        });
      }
    }
  });

  it('counts calls, requests, refusals and bytes', async () => {
    const names = [
      `${ROUTER}RouterClientActivity`,
      `${ROUTER}RpcDetailedActivityForPort${router.port}`,
      `${ROUTER}FederationRPC`,
    ];
    const before = await Promise.all(names.map((name) => bean(router, name)));
    using client = await HdfsClient.connect({ host: router.host, port: router.port, user: USER });
    for (let i = 0; i < 5; i++) await client.getFileInfo('/m');
    await client.mkdirs('/m/made');
    await expect(client.mkdirs('/both"x/refused')).rejects.toThrow('read only mount point');
    await expect(client.getFileInfo('/nowhere')).rejects.toThrow();
    await client.list('/both"x');
    const after = await Promise.all(names.map((name) => bean(router, name)));
    const grown = (at: number, attribute: string): number =>
      Number(after[at]?.[attribute]) - Number(before[at]?.[attribute]);
    expect([grown(0, 'GetFileInfoOps'), grown(0, 'MkdirsOps')]).toEqual([expect.any(Number), 1]);
    expect(grown(0, 'GetFileInfoOps')).toBeGreaterThanOrEqual(5);
    expect(grown(0, 'ConcurrentGetListingOps')).toBe(1);
    expect([grown(1, 'GetFileInfoNumOps'), grown(1, 'OverallMkdirsNumOps'), grown(1, 'DeferredMkdirsNumOps')]).toEqual([
      6, 2, 0,
    ]);
    expect(grown(2, 'RouterFailureReadOnlyOps')).toBe(1);
    expect(grown(2, 'RouterFailureStateStoreOps')).toBe(2);
    const port = await bean(router, `${ROUTER}RpcActivityForPort${router.port}`);
    expect(port).toMatchObject({ 'tag.serverName': 'ClientNamenodeProtocol', RpcSlowCalls: 0 });
    expect(Number(port['ReceivedBytes'])).toBeGreaterThan(500);
    expect(Number(port['SentBytes'])).toBeGreaterThan(500);
    const admin = await bean(router, `${ROUTER}RpcDetailedActivityForPort${router.adminPort}`);
    expect(admin).toMatchObject({ AddMountTableEntryNumOps: 2, OverallAddMountTableEntryNumOps: 2 });
  });

  it('has mount table, NameNodes and routers as JSON in texts', async () => {
    const state = await waitUntil(async () => {
      const now = await bean(router, `${ROUTER}FederationState`);
      const routers = Object.values(inner(now, 'Routers') as Record<string, { lastMountTableUpdate: string }>);
      const isThere = inner(now, 'MountTable').length === 2 && routers[0]?.lastMountTableUpdate !== '-';
      return isThere && Object.keys(inner(now, 'Nameservices')).length === 2 && now;
    }, 'all is in the answer');
    expect(inner(state, 'MountTable')).toEqual([
      {
        sourcePath: '/both"x',
        destinations: ['ns0->/in-ns0', 'ns1->/in-ns1'],
        nameserviceId: 'ns0,ns1',
        path: '/in-ns0,/in-ns1',
        destOrder: 'HASH_ALL',
        order: 'HASH_ALL',
        readonly: true,
        faulttolerant: false,
        ownerName: USER,
        groupName: 'supergroup',
        mode: 'rwxr-xr-x',
        quota: '[NsQuota: -/-, SsQuota: -/-]',
        dateCreated: expect.stringMatching(/^\d{4}\/\d\d\/\d\d \d\d:\d\d:\d\d$/),
        dateModified: expect.any(String),
      },
      expect.objectContaining({ sourcePath: '/m', nameserviceId: 'ns1', order: '', destOrder: 'HASH' }),
    ]);
    expect(inner(state, 'Namenodes')).toMatchObject({
      'ns0-null': { nameserviceId: 'ns0', namenodeId: 'null', state: 'ACTIVE', isSafeMode: false, used: 0 },
      'ns1-null': { nameserviceId: 'ns1' },
    });
    const routers = inner(state, 'Routers');
    const [address = ''] = Object.keys(routers);
    expect(state['RouterId']).toBe(address);
    expect(state['HostAndPort']).toBe(address);
    expect(routers[address]).toMatchObject({
      address,
      status: 'RUNNING',
      lastMountTableUpdate: expect.stringMatching(/^\d{4}/),
    });
    expect(state).toMatchObject({
      NumNameservices: 2,
      NumNamenodes: 2,
      NumExpiredNamenodes: 0,
      RouterStatus: 'RUNNING',
    });
    expect(state['BlockPoolId']).toMatch(/^\[BP-\S+, BP-\S+\]$/);

    await administer(router, 'removeMountTableEntry', { srcPath: '/m' });
    await waitUntil(async () => {
      const now = inner(await bean(router, `${ROUTER}FederationState`), 'MountTable');
      return now.length === 1;
    }, 'an entry that is removed is gone');
    await administer(router, 'addMountTableEntry', { entry: entryOf('/m', 'ns1', '/in-ns1') });
  });

  it('tells of safe mode and of a nameservice that is disabled', async () => {
    await administer(router, 'enterSafeMode');
    expect(await bean(router, `${ROUTER}Router`)).toMatchObject({
      RouterStatus: 'SAFEMODE',
      Safemode: expect.stringContaining('Safe mode is ON'),
    });
    expect(await bean(router, `${NAMENODE}NameNodeInfo`)).toMatchObject({
      Safemode: expect.stringContaining('Safe mode is ON'),
    });
    using client = await HdfsClient.connect({ host: router.host, port: router.port, user: USER });
    await waitUntil(async () => {
      await client.mkdirs('/m/x').catch(() => {});
      return Number((await bean(router, `${ROUTER}FederationRPC`))['RouterFailureSafemodeOps']) > 0;
    }, 'a refusal in safe mode is counted');
    await administer(router, 'leaveSafeMode');
    expect(await bean(router, `${ROUTER}Router`)).toMatchObject({ RouterStatus: 'RUNNING', Safemode: '' });

    await administer(router, 'disableNameservice', { nameServiceId: 'ns1' });
    await waitUntil(
      async () => (await bean(router, `${ROUTER}FederationState`))['NumNameservices'] === 1,
      'the disabled nameservice is left out',
    );
    await administer(router, 'enableNameservice', { nameServiceId: 'ns1' });
  });

  it('answers questions as the Java Router does', async () => {
    const one = beansIn(await read(router, `?get=${ROUTER}Router::RouterStatus`));
    expect([...one.values()]).toEqual([
      { name: `${ROUTER}Router`, modelerType: expect.stringMatching(/RBFMetrics$/), RouterStatus: 'RUNNING' },
    ]);
    const several = beansIn(await read(router, '?get=Hadoop:service=NameNode,name=FSNamesystem*::FSState'));
    expect([...several.keys()].sort()).toEqual([`${NAMENODE}FSNamesystem`, `${NAMENODE}FSNamesystemState`]);
    // The first parameter of several counts, `get` before `qry`.
    expect(beansIn(await read(router, `?qry=${ROUTER}Router&qry=x`)).size).toBe(1);
    expect(JSON.parse(await read(router, '?qry=nothing:*'))).toEqual({ beans: [] });
    expect(JSON.parse(await read(router, '?qry=nonsense'))).toEqual({});
    expect(JSON.parse(await read(router, '?get=nonsense'))).toEqual({
      result: 'ERROR',
      message: 'query format is not as expected.',
    });
    expect(JSON.parse(await read(router, `?get=${ROUTER}Router::`))).toMatchObject({ result: 'ERROR' });
    for (const attribute of ['Nope', 'toString', '__proto__']) {
      expect(JSON.parse(await read(router, `?get=${ROUTER}Router::${attribute}`))).toEqual({
        beans: [
          {
            name: `${ROUTER}Router`,
            modelerType: expect.any(String),
            result: 'ERROR',
            message: `No attribute with name ${attribute} was found.`,
          },
        ],
      });
    }
    // One that is null counts as one that is not there.
    expect(await read(router, `?get=${NAMENODE}NameNodeInfo::DistinctVersions`)).toContain('No attribute with name');
  });

  it('refuses other methods and long queries', async () => {
    const url = `http://127.0.0.1:${router.httpPort}/jmx`;
    expect((await fetch(url, { method: 'POST' })).status).toBe(405);
    expect((await fetch(`${url}?qry=${'a'.repeat(2_000)}`)).status).toBe(400);
    expect((await fetch(`${url}?get=${'a'.repeat(100_000)}`)).status).toBe(431);
    expect((await fetch(`${url}/..%2f..%2fetc/passwd`)).status).toBe(404);
  });
});

describe('/jmx of a router without a State Store', () => {
  it('counts DataNodes once that serve several nameservices, and asks no NameNode for an answer', async () => {
    const datanodes = [1, 2, 3].map((host) => ({
      uuid: `dn${host}`,
      ip: `10.0.0.${host}`,
      host: `host${host}`,
      xferPort: 9866,
    }));
    const simulator = await startSimulator({ superuser: USER, namenodes: 1, datanodes });
    await using jmx = await JmxServer.start();
    try {
      const ports = simulator.nameservices.map(({ id, namenodes }) => [id, namenodes[0]?.port ?? 0] as const);
      await using router = await RouterProcess.start({
        nameservices: Object.fromEntries(ports.map(([id, port]) => [id, [{ port }]])),
        mounts: ['/a=ns0:/b'],
        keys: {
          // One heartbeat is enough: the next one would find nobody.
          'dfs.federation.router.heartbeat.interval': '3600000',
          ...Object.fromEntries(ports.map(([id]) => [`dfs.namenode.http-address.${id}`, `127.0.0.1:${jmx.port}`])),
        },
        env: { HADOOP_USER_NAME: USER },
        http: true,
      });
      const state = await waitUntil(async () => {
        const now = await bean(router, `${ROUTER}FederationState`);
        // Each nameservice reports a dead DataNode, of which its list of DataNodes knows nothing.
        return now['NumFiles'] === 22 && now['NumDeadNodes'] === 0 && now;
      }, 'each DataNode is counted once');
      // What nameservices have for themselves is added: 11 files each.
      expect(state).toMatchObject({ NumLiveNodes: 3, NumNameservices: 2 });
      const info = await bean(router, `${NAMENODE}NameNodeInfo`);
      expect(Object.keys(inner(info, 'LiveNodes')).sort()).toEqual(['host1:9866', 'host2:9866', 'host3:9866']);
      expect(inner(info, 'DeadNodes')).toEqual({});
      expect(state['TotalCapacity']).toBe(info['Total']);
      const capacities = Object.values(inner(info, 'LiveNodes') as Record<string, { capacity: number }>);
      expect(state['TotalCapacity']).toBe(capacities.reduce((sum, { capacity }) => sum + capacity, 0));
      expect(inner(state, 'MountTable')).toMatchObject([{ sourcePath: '/a', destinations: ['ns0->/b'] }]);

      // Without NameNodes there is the same answer.
      await simulator.close();
      expect(await bean(router, `${ROUTER}FederationState`)).toMatchObject({ NumLiveNodes: 3, NumFiles: 22 });
    } finally {
      await simulator.close();
    }
  }, 60_000);
});
