import { hostname, networkInterfaces, userInfo } from 'node:os';
import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../src/config/config-error.ts';
import { Configuration } from '../../src/config/configuration.ts';
import { readSettings } from '../../src/config/settings.ts';
import { findLocalHosts, namesOfThisHost, readTopology, requireNameservices } from '../../src/config/topology.ts';
import type { Settings, Topology } from '../../src/shared/settings.ts';

const ROUTER = 'dfs.federation.router';
const TWO_NAMESERVICES = {
  'dfs.nameservices': 'ns0, ns1',
  'dfs.ha.namenodes.ns0': 'nn1,nn2',
  'dfs.namenode.rpc-address.ns0.nn1': 'a.example.com:8020',
  'dfs.namenode.rpc-address.ns0.nn2': 'b.example.com',
  'dfs.namenode.rpc-address.ns1': 'hdfs://c.example.com:9000/',
};
const LOCAL = new Set(['localhost', '127.0.0.1', '0.0.0.0', 'me.example.com']);

function configure(settings: Readonly<Record<string, string>>): Configuration {
  const overrides = Object.entries(settings).map(([key, value]) => ({ key, value, origin: '--set' }));
  return new Configuration({ overrides, environment: {} });
}

function topologyOf(settings: Readonly<Record<string, string>>): Topology {
  return readTopology(configure(settings), LOCAL).topology;
}

function settingsOf(more: Readonly<Record<string, string>> = {}, environment: NodeJS.ProcessEnv = {}): Settings {
  const configuration = configure({ ...TWO_NAMESERVICES, ...more });
  return readSettings(configuration, readTopology(configuration, LOCAL).topology, environment);
}

describe('topology', () => {
  it('is all configured nameservices and their NameNodes', () => {
    expect(topologyOf(TWO_NAMESERVICES)).toEqual({
      nameservices: [
        {
          id: 'ns0',
          namenodes: [
            { id: 'nn1', host: 'a.example.com', port: 8020 },
            { id: 'nn2', host: 'b.example.com', port: 8020 },
          ],
        },
        { id: 'ns1', namenodes: [{ id: '', host: 'c.example.com', port: 9000 }] },
      ],
    });
  });

  it('has as many NameNodes in a nameservice as there are words for their states', () => {
    const withNamenodes = (count: number): Record<string, string> => {
      const ids = Array.from({ length: count }, (_, index) => `nn${index}`);
      return {
        'dfs.nameservices': 'big',
        'dfs.ha.namenodes.big': ids.join(),
        ...Object.fromEntries(ids.map((id) => [`dfs.namenode.rpc-address.big.${id}`, `${id}.example.com:8020`])),
      };
    };
    expect(topologyOf(withNamenodes(16)).nameservices[0]?.namenodes).toHaveLength(16);
    expect(() => topologyOf(withNamenodes(17))).toThrow(/dfs.ha.namenodes.big.*17 NameNodes.*at most 16/s);
  });

  it('is the monitored nameservices when there are some, each with all its NameNodes, in their order', () => {
    const monitored = { ...TWO_NAMESERVICES, [`${ROUTER}.monitor.namenode`]: 'ns1, ns0.nn2' };
    expect(topologyOf(monitored).nameservices.map(({ id, namenodes }) => [id, namenodes.length])).toEqual([
      ['ns1', 1],
      ['ns0', 2],
    ]);
    expect(topologyOf({ ...monitored, [`${ROUTER}.monitor.namenode`]: 'ns0.nn1,ns0.nn2' }).nameservices).toHaveLength(
      1,
    );
  });

  it('knows monitored NameNodes that no list names', () => {
    const settings = { [`${ROUTER}.monitor.namenode`]: 'ns5.x', 'dfs.namenode.rpc-address.ns5.x': 'h:1' };
    expect(topologyOf(settings).nameservices).toEqual([{ id: 'ns5', namenodes: [{ id: 'x', host: 'h', port: 1 }] }]);
  });

  it.each([
    ['ns0.nn1.x', "'ns0.nn1.x' is no NameNode"],
    ['ns0.', "'ns0.' is no NameNode"],
    ['ns0.nn9', 'NameNode ns0.nn9 has no address; set dfs.namenode.rpc-address.ns0.nn9'],
  ])('refuses to monitor %s', (item, message) => {
    expect(() => topologyOf({ ...TWO_NAMESERVICES, [`${ROUTER}.monitor.namenode`]: item })).toThrow(message);
  });

  it('leaves out NameNodes and nameservices without address, and says which', () => {
    const configuration = configure({
      ...TWO_NAMESERVICES,
      'dfs.namenode.rpc-address.ns0.nn1': ' ',
      'dfs.namenode.rpc-address.ns1': '',
    });
    const { topology, skipped } = readTopology(configuration, LOCAL);
    expect(topology.nameservices).toEqual([
      { id: 'ns0', namenodes: [{ id: 'nn2', host: 'b.example.com', port: 8020 }] },
    ]);
    expect(skipped).toMatchObject([{ id: 'ns1', reason: 'no-address' }]);
  });

  it('names the bad address', () => {
    expect(() => topologyOf({ ...TWO_NAMESERVICES, 'dfs.namenode.rpc-address.ns1': ':1' })).toThrow(
      '--set: dfs.namenode.rpc-address.ns1 = ":1": not an address',
    );
    expect(() => topologyOf({ ...TWO_NAMESERVICES, 'dfs.namenode.rpc-address.ns1': 'h:0' })).toThrow('port 0');
  });

  it('leaves out the nameservice whose NameNodes are routers', () => {
    const federation = {
      'dfs.nameservices': 'ns0,ns1,fed',
      'dfs.ha.namenodes.fed': 'r1,r2',
      'dfs.namenode.rpc-address.fed.r1': 'other.example.com:8888',
      'dfs.namenode.rpc-address.fed.r2': 'ME.example.com:8888',
    };
    const { topology, skipped } = readTopology(configure({ ...TWO_NAMESERVICES, ...federation }), LOCAL);
    expect(topology.nameservices.map(({ id }) => id)).toEqual(['ns0', 'ns1']);
    expect(skipped).toMatchObject([{ id: 'fed', reason: 'own-address' }]);
    const elsewhere = { ...TWO_NAMESERVICES, ...federation, [`${ROUTER}.rpc-address`]: '0.0.0.0:8889' };
    expect(topologyOf(elsewhere).nameservices).toHaveLength(3);
    const byAddress = { ...elsewhere, [`${ROUTER}.rpc-address`]: 'other.example.com:8888' };
    expect(topologyOf(byAddress).nameservices).toHaveLength(2);
    const monitored = { ...TWO_NAMESERVICES, ...federation, [`${ROUTER}.monitor.namenode`]: 'ns0,fed' };
    expect(() => topologyOf(monitored)).toThrow('nameservice fed is this router itself');
  });

  it('is this router when it listens everywhere and a NameNode has its port on a loopback address', () => {
    const own = { 'dfs.nameservices': 'ns0', 'dfs.namenode.rpc-address.ns0': '127.9.9.9:8888' };
    const everywhere = configure(own);
    const read = readTopology(everywhere, LOCAL);
    expect(read.skipped).toMatchObject([{ id: 'ns0', reason: 'own-address' }]);
    expect(() => requireNameservices(read, everywhere)).toThrow(
      /is the address of its client port; correct that address, or give the router another port \(--rpc, dfs\.federation\.router\.rpc-address\)$/,
    );
    expect(topologyOf({ ...own, [`${ROUTER}.rpc-bind-host`]: '127.0.0.1' }).nameservices).toHaveLength(1);
    expect(topologyOf({ ...own, [`${ROUTER}.rpc-address`]: '0.0.0.0:8889' }).nameservices).toHaveLength(1);
  });

  it('asks the name service for loopback addresses too when it listens everywhere', async () => {
    const own = { 'dfs.namenode.rpc-address.ns0': 'me.example.org:8888' };
    const lookUp = (): Promise<string[]> => Promise.resolve(['127.0.1.1']);
    expect(await findLocalHosts(configure(own), lookUp)).toContain('me.example.org');
    const bound = { ...own, [`${ROUTER}.rpc-address`]: '127.0.0.1:8888' };
    expect(await findLocalHosts(configure(bound), lookUp)).not.toContain('me.example.org');
  });

  it('refuses to be empty', () => {
    const configuration = configure({});
    expect(() => requireNameservices(readTopology(configuration, LOCAL), configuration)).toThrow(
      'no nameservice is configured',
    );
    const lost = configure({ 'dfs.nameservices': 'ns0' });
    expect(() => requireNameservices(readTopology(lost, LOCAL), lost)).toThrow(
      'nameservice ns0 has no NameNode with an address',
    );
  });

  it('knows the names of this host without a name service, and asks for those with the port of the router', async () => {
    const names = namesOfThisHost();
    expect(names.has('localhost') && names.has(hostname().toLowerCase()) && names.has('127.0.0.1')).toBe(true);
    for (const address of Object.values(networkInterfaces()).flatMap((each) => each ?? []))
      expect(names).toContain(address.address);
    const configuration = configure({
      'dfs.namenode.rpc-address.a': 'nowhere.example.com:8888',
      'dfs.namenode.rpc-address.d': 'R1.example.com:8888',
      'dfs.namenode.rpc-address.e': 'r1-too.example.com:9999',
      'dfs.namenode.rpc-address.b': '127.0.0.1:8888',
      'dfs.namenode.rpc-address.c': 'bad address',
    });
    const asked: string[] = [];
    const found = await findLocalHosts(configuration, async (host) => {
      asked.push(host);
      return host === 'r1.example.com' ? ['192.0.2.1', '127.0.0.1'] : ['192.0.2.1'];
    });
    expect(asked).toEqual(['nowhere.example.com', 'r1.example.com']);
    expect([...found].filter((name) => !names.has(name))).toEqual(['r1.example.com']);
    expect(await findLocalHosts(configure({ 'dfs.namenode.rpc-address.a': 'localhost:8888' }))).toEqual(names);
  });
});

describe('settings', () => {
  it('has the defaults of Hadoop', () => {
    const settings = settingsOf();
    expect(settings).toEqual({
      routerId: `${hostname()}:8888`,
      routerUser: userInfo().username,
      superGroup: 'supergroup',
      rpcHost: '0.0.0.0',
      rpcPort: 8888,
      acceptors: 1,
      workers: 1,
      handoff: 'ring',
      maxRequestBytes: 134_217_728,
      maxResponseBytes: 134_217_728,
      maxConnections: 0,
      idleMs: 20_000,
      idleScanMs: 10_000,
      idleThreshold: 4_000,
      idleKillMax: 10,
      slowReaderMs: 900_000,
      protection: {
        connectionsPerAddress: 0,
        connectionsPerUser: 0,
        callsInFlight: 4_096,
        handshakeMs: 60_000,
        frameMs: 120_000,
        unreadBytes: 128 * 1024 * 1024,
      },
      tcpNoDelay: true,
      connectTimeoutMs: 2_000,
      connectionsPerUser: 1,
      namenodeIdleMs: 10_000,
      pingIntervalMs: 60_000,
      hungAfterMs: 10_000,
      callBudgetMs: 110_000,
      namenodeTcpNoDelay: true,
      proxyUser: '',
      callerContextSeparator: ',',
      defaultNameservice: -1,
      resolverName: 'MountTableResolver',
      mountStatusTimeoutMs: 1_000,
      quotaEnabled: false,
      allowPartialListing: true,
      spacePreferencePercent: 60,
      serverDefaultsMs: 3_600_000,
      observers: { enabled: [false, false], maxStateIds: 5, refreshMs: 15_000, patienceMs: 2_000 },
      admission: {
        capacity: 16_384,
        levels: 1,
        capacityWeights: [1],
        multiplexerWeights: [1],
        scheduler: null,
        backoff: false,
        overflowFailover: false,
        coalesceReads: false,
        timeLimitMs: 30_000,
        windows: [
          { floor: 64, ceiling: 1024 },
          { floor: 64, ceiling: 1024 },
        ],
      },
      drainMs: 30_000,
      memoryBytes: 536_870_912,
      logLevel: 'info',
    } satisfies Settings);
  });

  it('takes the user from the environment and shows it to NameNodes when they know proxies', () => {
    expect(settingsOf({}, { HADOOP_USER_NAME: 'hdfs' }).routerUser).toBe('hdfs');
    expect(settingsOf({ 'dfs.namenode.ip-proxy-users': 'rbf' }, { HADOOP_USER_NAME: 'hdfs' }).proxyUser).toBe('hdfs');
    expect(settingsOf({ 'dfs.namenode.ip-proxy-users': ' , ' }, { HADOOP_USER_NAME: 'hdfs' }).proxyUser).toBe('');
  });

  it('binds to the bind host with the port of the address', () => {
    const { rpcHost, rpcPort, routerId } = settingsOf({
      [`${ROUTER}.rpc-address`]: 'r1:9999',
      [`${ROUTER}.rpc-bind-host`]: '127.0.0.1',
    });
    expect([rpcHost, rpcPort, routerId]).toEqual(['127.0.0.1', 9999, `${hostname()}:9999`]);
    expect(settingsOf({ [`${ROUTER}.rpc-address`]: 'r1:9999' }).rpcHost).toBe('r1');
  });

  it('finds the default nameservice', () => {
    const key = `${ROUTER}.default.nameserviceId`;
    expect(settingsOf({ [key]: 'ns1' }).defaultNameservice).toBe(1);
    expect(settingsOf({ [key]: 'ns1', [`${ROUTER}.default.nameservice.enable`]: 'false' }).defaultNameservice).toBe(-1);
    expect(() => settingsOf({ [key]: 'ns7' })).toThrow('"ns7": no nameservice behind this router; allowed: ns0, ns1');
  });

  it('takes values in all their forms', () => {
    const settings = settingsOf({
      [`${ROUTER}.connect.timeout`]: '-1',
      'ipc.client.connect.timeout': '3000',
      [`${ROUTER}.connection.clean.ms`]: '20s',
      'ipc.client.ping': 'false',
      'switchyard.memory.limit': '1g',
      'switchyard.call.budget': '90s',
      'switchyard.drain.timeout': '5s',
      'switchyard.handoff': 'inline',
    });
    expect(settings).toMatchObject({
      connectTimeoutMs: 3_000,
      namenodeIdleMs: 20_000,
      pingIntervalMs: 2_147_483_647,
      memoryBytes: 2 ** 30,
      callBudgetMs: 90_000,
      drainMs: 5_000,
      handoff: 'inline',
    });
  });

  it.each([
    ['110s', '120000', 110_000],
    ['110s', '60000', 55_000],
    ['50s', '60000', 50_000],
    ['200s', '0', 200_000],
    ['200s', '-1', 200_000],
  ])('ends calls before their clients give up: a budget of %s, a time-out of %s', (budget, timeout, callBudgetMs) => {
    const settings = settingsOf({ 'switchyard.call.budget': budget, 'ipc.client.rpc-timeout.ms': timeout });
    expect(settings.callBudgetMs).toBe(callBudgetMs);
  });

  it.each([
    ['0', 0],
    ['1', 100],
    ['0.5f', 50],
    ['0.29', 29],
    ['0.57', 57],
    ['0.999', 99],
    ['5e-3', 0],
  ])('gives the larger nameservice as many of 100 files as Java does for %s', (fraction, percent) => {
    const key = `${ROUTER}.available-space-resolver.balanced-space-preference-fraction`;
    expect(settingsOf({ [key]: fraction }).spacePreferencePercent).toBe(percent);
  });

  it('keeps times within what timers can wait', () => {
    const long = settingsOf({
      'ipc.client.connection.maxidletime': '2000000000',
      'ipc.server.purge.interval': '1000000',
      [`${ROUTER}.connect.timeout`]: '1000d',
    });
    expect([long.idleMs, long.slowReaderMs, long.connectTimeoutMs]).toEqual([
      2_147_483_647, 2_147_483_647, 2_147_483_647,
    ]);
  });

  it.each([
    [`${ROUTER}.rpc.enable`, 'false', 'set it to true'],
    [`${ROUTER}.rpc-address`, ':80', 'not an address'],
    [`${ROUTER}.connection.pool-size`, '0', 'allowed: 1 or more'],
    [`${ROUTER}.connection.pool-size`, '1.5', 'not a whole number'],
    [`${ROUTER}.connection.clean.ms`, '0', 'allowed: 1 ms or more'],
    [`${ROUTER}.client.mount-status.time-out`, '1 s', 'not a time'],
    [`${ROUTER}.available-space-resolver.balanced-space-preference-fraction`, '60', 'out of range; allowed: 0 to 1'],
    [`${ROUTER}.available-space-resolver.balanced-space-preference-fraction`, '-0.1', 'out of range; allowed: 0 to 1'],
    [`${ROUTER}.available-space-resolver.balanced-space-preference-fraction`, 'NaN', 'out of range; allowed: 0 to 1'],
    [`${ROUTER}.available-space-resolver.balanced-space-preference-fraction`, '60%', 'not a number'],
    ['ipc.maximum.data.length', '64m', 'not a whole number'],
    ['ipc.maximum.data.length', '2147483647', 'the longest request would not fit'],
    ['switchyard.memory.limit', '402653183', 'the longest request would not fit'],
    ['ipc.server.max.connections', '-1', 'allowed: 0 or more'],
    ['hadoop.caller.context.separator', '=', 'no separator'],
    ['switchyard.acceptors', '0', 'allowed: 1 to 64'],
    ['switchyard.workers', '65', 'allowed: 1 to 64'],
    ['switchyard.handoff', 'pipe', 'allowed: ring, inline'],
    ['switchyard.call.budget', '10ms', 'out of range'],
    ['switchyard.namenode.hung-after', '0', 'out of range'],
    ['switchyard.memory.limit', '1m', 'out of range'],
    ['switchyard.log.level', 'loud', 'allowed: trace, debug, info, warn, error, fatal, silent'],
  ])('refuses %s = %s', (key, value, message) => {
    expect(() => settingsOf({ [key]: value })).toThrow(ConfigError);
    expect(() => settingsOf({ [key]: value })).toThrow(message);
  });
});
