import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bean, beansIn, typeIn } from '../support/jmx-attributes.ts';
import type { RouterProcess } from '../support/router-process.ts';
import { waitUntil } from '../support/wait.ts';
import { findFreePort } from '../support/zookeeper-server.ts';
import { startSwitchyard } from './mixed-deployment.ts';
import { type Endpoint, Rig, Shell, startEndpoint } from './support.ts';

const MANUAL = new URL('../../src/manual/monitoring.md', import.meta.url);
const SOON_MS = 90_000;
const ROUTER = 'Hadoop:service=Router,name=';
const NAMENODE = 'Hadoop:service=NameNode,name=';
const METRICS = 'org.apache.hadoop.hdfs.server.federation.metrics';

/** Why values of an attribute are not compared. */
type Reason =
  /** It names or describes the router that answers. */
  | 'its own'
  /** How busy that router is, and with what: the ways inside differ. */
  | 'its work'
  /** A DataNode counts once here, once for each nameservice there. */
  | 'once'
  /** Has no counterpart here: the value of nothing. */
  | 'nothing'
  /** JSON in a text: compared by itself below. */
  | 'inner';

/** `*` is all attributes of the bean. What is not here must be equal. */
const NOT_COMPARED: Readonly<Record<string, Readonly<Record<string, Reason>>>> = {
  [`${ROUTER}Router`]: identity(),
  [`${ROUTER}FederationState`]: {
    ...identity(),
    ...once('TotalCapacity', 'UsedCapacity', 'RemainingCapacity'),
    ...once('TotalCapacityBigInt', 'UsedCapacityBigInt', 'RemainingCapacityBigInt', 'NumLiveNodes'),
    MountTable: 'inner',
    Namenodes: 'inner',
    Nameservices: 'inner',
    Routers: 'inner',
  },
  [`${ROUTER}${METRICS}.RBFMetrics`]: once('NumLiveNodes'),
  [`${ROUTER}FederationRPC`]: {
    ...work('ProxyAvg', 'ProxyOps', 'ActiveProxyOps', 'ProcessingAvg', 'ProcessingOps', 'ProxyOpPermitAcceptedPerNs'),
    ...connections(),
    RpcClientConnections: 'nothing',
    AsyncCallerPool: 'nothing',
  },
  [`${ROUTER}${METRICS}.FederationRPCMetrics`]: {
    ...work(
      'ActiveProxyOp',
      'ProcessingNumOps',
      'ProcessingAvgTime',
      'ProcessingOp',
      'ProxyNumOps',
      'ProxyAvgTime',
      'ProxyOp',
    ),
    ...connections(),
  },
  [`${ROUTER}NameserviceActivity-ns0`]: nameservice(),
  [`${ROUTER}NameserviceActivity-ns1`]: nameservice(),
  [`${ROUTER}NameserviceActivity-concurrent`]: nameservice(),
  [`${ROUTER}RouterClientActivity`]: work(
    'GetFileInfoOps',
    'GetDatanodeStorageReportOps',
    'ConcurrentGetFileInfoOps',
    'ConcurrentOtherOps',
    'ConcurrentGetListingOps',
    'GetListingOps',
    'GetServerDefaultsOps',
    'MkdirsOps',
    'ConcurrentMkdirsOps',
    'OtherOps',
    'GetDatanodeReportOps',
    'ConcurrentGetDatanodeReportOps',
  ),
  [`${ROUTER}RouterActivity`]: work('SafeModeTime'),
  [`${ROUTER}StateStore`]: { '*': 'its work' },
  [`${ROUTER}StateStoreActivity`]: {
    ...work('ReadsNumOps', 'ReadsAvgTime', 'WritesNumOps', 'WritesAvgTime', 'RemovesNumOps', 'RemovesAvgTime'),
    ...work(
      ...['MembershipState', 'MountTable', 'RouterState', 'DisabledNameservice'].flatMap((type) => [
        `Cache${type}LoadNumOps`,
        `Cache${type}LoadAvgTime`,
      ]),
    ),
    locationCacheMissed: 'nothing',
    locationCacheAccessed: 'nothing',
  },
  [`${ROUTER}RpcActivityForPort{rpc}`]: {
    'tag.port': 'its own',
    ...work(
      'ReceivedBytes',
      'SentBytes',
      'RpcAuthorizationSuccesses',
      'RpcCallSuccesses',
      'TotalRequests',
      'TotalRequestsPerSecond',
    ),
    ...work('RpcProcessingTimeNumOps', 'RpcProcessingTimeAvgTime', 'RpcQueueTimeNumOps', 'RpcQueueTimeAvgTime'),
    ...work('RpcResponseTimeNumOps', 'RpcResponseTimeAvgTime', 'NumOpenConnections'),
    ...nothing('RpcEnQueueTimeNumOps', 'RpcEnQueueTimeAvgTime', 'RpcLockWaitTimeNumOps', 'RpcLockWaitTimeAvgTime'),
    ...nothing('tag.NumOpenConnectionsPerUser'),
  },
  [`${ROUTER}RpcActivityForPort{admin}`]: { 'tag.port': 'its own' },
  [`${ROUTER}RpcDetailedActivityForPort{rpc}`]: { '*': 'its work' },
  [`${ROUTER}RpcDetailedActivityForPort{admin}`]: { 'tag.port': 'its own' },
  [`${ROUTER}DecayRpcSchedulerDetailedMetrics.ipc.{rpc}`]: { '*': 'its work' },
  [`${ROUTER}DecayRpcSchedulerMetrics2.ipc.{rpc}`]: { '*': 'its work' },
  'Hadoop:service=ipc.{rpc},name=DecayRpcScheduler': { '*': 'its work' },
  [`${ROUTER}ipc.{rpc}.FairCallQueue`]: { 'tag.namespace': 'its own' },
  [`${ROUTER}HttpServer2-{http}`]: { '*': 'its work' },
  [`${ROUTER}JvmMetrics`]: { '*': 'its work' },
  [`${ROUTER}UgiMetrics`]: nothing('GetGroupsNumOps', 'GetGroupsAvgTime', 'LoginSuccessNumOps', 'LoginSuccessAvgTime'),
  [`${ROUTER}MetricsSystem,sub=Stats`]: { '*': 'its work' },
  [`${NAMENODE}FSNamesystem`]: once('CapacityTotal', 'CapacityRemaining', 'CapacityUsed', 'NumLiveDataNodes'),
  [`${NAMENODE}FSNamesystemState`]: once('CapacityTotal', 'CapacityRemaining', 'CapacityUsed', 'NumLiveDataNodes'),
  [`${NAMENODE}NameNodeInfo`]: {
    Threads: 'its own',
    Version: 'its own',
    SoftwareVersion: 'its own',
    CompileInfo: 'its own',
    NNStartedTimeInMillis: 'its own',
    BlockPoolId: 'inner',
    ...once('Used', 'Total', 'Free', 'PercentUsed', 'PercentRemaining'),
    LiveNodes: 'inner',
  },
  [`${NAMENODE}NameNodeStatus`]: { HostAndPort: 'its own' },
};

/** Attributes that come with events: a caller's, a failure's (counted under the method here), and those of a JVM's watch over its pauses. */
const OF_EVENTS = /^Caller\(|Exception(?:NumOps|AvgTime)$|^GcNum|^GcTotalExtra/;

/** Beans of the Java Router that are not here: of the Java platform, and of the admin port's queue, which there is none. */
const NOT_HERE = /^(?!Hadoop:)|ipc\.\{admin\}/;

function all(reason: Reason, names: readonly string[]): Record<string, Reason> {
  return Object.fromEntries(names.map((name) => [name, reason]));
}
function work(...names: string[]): Record<string, Reason> {
  return all('its work', names);
}
function once(...names: string[]): Record<string, Reason> {
  return all('once', names);
}
function nothing(...names: string[]): Record<string, Reason> {
  return all('nothing', names);
}
function identity(): Record<string, Reason> {
  const own = ['Version', 'RouterId', 'CompileInfo', 'HostAndPort', 'RouterStarted', 'CompiledDate'];
  return { ...all('its own', own), BlockPoolId: 'inner' };
}
function connections(): Record<string, Reason> {
  return work(
    ...['', 'Active', 'Idle', 'Creating'].map((kind) => `RpcClientNum${kind}Connections`),
    'RpcClientNumActiveConnectionsRecently',
    'RpcClientNumConnectionPools',
    'RpcServerNumOpenConnections',
  );
}
function nameservice(): Record<string, Reason> {
  return work('ProxyNumOps', 'ProxyAvgTime', 'ProxyOp', 'ProxyOpPermitAccepted');
}

/** One router's answer, ports in names of beans written as what they are for. */
interface Answer {
  readonly text: string;
  readonly beans: ReadonlyMap<string, Bean>;
}

async function readAll(http: string, ports: Readonly<Record<string, string>>): Promise<Answer> {
  const answer = await fetch(`http://${http}/jmx`);
  // The Java Router writes NaN bare.
  const text = (await answer.text()).replace(/ : NaN/g, ' : 0.0');
  const beans = new Map<string, Bean>();
  for (const [name, bean] of beansIn(text)) beans.set(renamed(name, ports), bean);
  return { text, beans };
}

function renamed(name: string, ports: Readonly<Record<string, string>>): string {
  return Object.entries(ports).reduce(
    (text, [kind, port]) => text.replace(new RegExp(`\\b${port}\\b|(?<=Port)${port}\\b`), `{${kind}}`),
    name,
  );
}

// biome-ignore lint/suspicious/noExplicitAny: whatever the attribute has
function inner(answer: Answer, bean: string, attribute: string): any {
  return JSON.parse(answer.beans.get(bean)?.[attribute] as string);
}

const STATE = `${ROUTER}FederationState`;
const INFO = `${NAMENODE}NameNodeInfo`;

describe('/jmx of this router and of a Java Router over the same NameNodes', () => {
  let rig: Rig;
  let java: Endpoint;
  let own: RouterProcess;
  let shell: Shell;
  let both: { readonly java: Answer; readonly own: Answer };
  let javaHttp = '';

  beforeAll(async () => {
    rig = await Rig.start({
      ha: 1,
      mounts: ['/data=ns0:/data', '/all=ns0,ns1:/all@HASH_ALL', '/one=ns1:/'],
      conf: {
        'ipc.callqueue.impl': 'org.apache.hadoop.ipc.FairCallQueue',
        'ipc.scheduler.impl': 'org.apache.hadoop.ipc.DecayRpcScheduler',
      },
    });
    await rig.makeTargets(['ns0:/data', 'ns0:/all', 'ns1:/all']);
    const http = { 'dfs.federation.router.http.enable': 'true' };
    const port = await findFreePort();
    javaHttp = `127.0.0.1:${port}`;
    java = await startEndpoint(rig, { ...http, 'dfs.federation.router.http-address': javaHttp }, 'java-router');
    own = await startSwitchyard(rig, { ...http, 'dfs.federation.router.http-address': '127.0.0.1:0' });
    shell = await Shell.start(rig);
    for (const { uri } of [java, own]) {
      await shell.ok(['-ls', `${uri}/data`]);
      await shell.ok(['-ls', `${uri}/all`]);
    }
    const adminPort = await adminPortOf(javaHttp);
    both = await waitUntil(
      async () => {
        const answers = {
          java: await readAll(javaHttp, { rpc: String(java.port), admin: adminPort, http: String(port) }),
          own: await readAll(`127.0.0.1:${own.httpPort}`, {
            rpc: String(own.port),
            admin: String(own.adminPort),
            http: String(own.httpPort),
          }),
        };
        // Beans of metrics are up to ten seconds old in the Java Router.
        const files = Number(answers.java.beans.get(STATE)?.['NumFiles']);
        const isThere = Object.values(answers).every(
          (answer) =>
            Object.keys(inner(answer, STATE, 'Namenodes')).length === 3 &&
            Object.keys(inner(answer, STATE, 'Routers')).length === 2 &&
            Object.keys(inner(answer, INFO, 'LiveNodes')).length === 2 &&
            Number(answer.beans.get(STATE)?.['TotalCapacity']) > 0 &&
            [STATE, `${ROUTER}${METRICS}.RBFMetrics`].every(
              (name) => Number(answer.beans.get(name)?.['NumFiles']) === files,
            ),
        );
        return isThere && isSettled(answers) && answers;
      },
      'both routers know all NameNodes, DataNodes and routers',
      SOON_MS,
    );
  });

  afterAll(async () => {
    await shell?.[Symbol.asyncDispose]();
    await own?.[Symbol.asyncDispose]();
    await java?.[Symbol.asyncDispose]();
    await rig?.[Symbol.asyncDispose]();
  });

  /** All nameservices have reported their figures to both. */
  function isSettled({ java: theirs, own: ours }: typeof both): boolean {
    const [twice, single] = [theirs, ours].map((answer) => Number(answer.beans.get(STATE)?.['NumLiveNodes']));
    const sizes = [theirs, ours].map(
      (answer) => answer.beans.get(`${ROUTER}StateStoreActivity`)?.['CacheMembershipStateSize'],
    );
    return twice === 4 && single === 2 && sizes[0] === 6 && sizes[1] === 6;
  }

  /** The rig gives it a port of its own. */
  async function adminPortOf(http: string): Promise<string> {
    const found = await waitUntil(async () => {
      const { beans } = await readAll(http, {});
      const admin = [...beans.values()].find((bean) => bean['tag.serverName'] === 'RouterAdminProtocolService');
      return admin?.['tag.port'] as string | undefined;
    }, 'the Java Router has an admin port');
    return found;
  }

  it('has its beans', () => {
    const missing = [...both.java.beans.keys()].filter((name) => !both.own.beans.has(name) && !NOT_HERE.test(name));
    expect(missing).toEqual([]);
    const more = [...both.own.beans.keys()].filter((name) => !both.java.beans.has(name));
    expect(more).toEqual([]);
  });

  it('has their attributes, with the types that they have there', () => {
    const wrong: string[] = [];
    for (const [name, theirs] of both.java.beans) {
      const ours = both.own.beans.get(name);
      if (ours === undefined || NOT_HERE.test(name)) continue;
      expect([name, ours['modelerType']]).toEqual([name, withoutPorts(theirs['modelerType'], ours['modelerType'])]);
      for (const attribute of Object.keys(theirs)) {
        if (['name', 'modelerType'].includes(attribute) || OF_EVENTS.test(attribute)) continue;
        const [wanted, is] = [
          typeIn(both.java.text, String(theirs['name']), attribute),
          typeIn(both.own.text, String(ours['name']), attribute),
        ];
        if (wanted !== is) wrong.push(`${name} ${attribute}: ${is}, there ${wanted}`);
      }
      // Methods of other protocols are there when they were called.
      const besides = Object.keys(ours).filter((attribute) => !(attribute in theirs) && !OF_EVENTS.test(attribute));
      if (besides.length > 0) wrong.push(`${name} has besides ${besides.slice(0, 5).join(', ')}`);
    }
    expect(wrong).toEqual([]);
  });

  it('has equal values where they describe the same thing', () => {
    const wrong: string[] = [];
    let compared = 0;
    for (const [name, theirs] of both.java.beans) {
      const ours = both.own.beans.get(name);
      if (ours === undefined || NOT_HERE.test(name)) continue;
      const reasons = NOT_COMPARED[name] ?? {};
      for (const [attribute, value] of Object.entries(theirs)) {
        const isOwn = ['name', 'modelerType'].includes(attribute) || OF_EVENTS.test(attribute);
        if (isOwn || '*' in reasons || attribute in reasons) continue;
        compared++;
        if (JSON.stringify(value) !== JSON.stringify(ours[attribute])) {
          wrong.push(`${name} ${attribute}: ${JSON.stringify(ours[attribute])}, there ${JSON.stringify(value)}`);
        }
      }
    }
    expect(wrong).toEqual([]);
    expect(compared).toBeGreaterThan(250);
  });

  it('counts DataNodes once, where the Java Router counts them for each nameservice', () => {
    const [theirs, ours] = [both.java.beans.get(STATE), both.own.beans.get(STATE)];
    expect([theirs?.['NumLiveNodes'], ours?.['NumLiveNodes']]).toEqual([4, 2]);
    expect(theirs?.['TotalCapacity']).toBe(2 * Number(ours?.['TotalCapacity']));
    const nodes = Object.values(inner(both.own, INFO, 'LiveNodes') as Record<string, { capacity: number }>);
    expect(ours?.['TotalCapacity']).toBe(nodes.reduce((sum, { capacity }) => sum + capacity, 0));
  });

  it('has the same JSON in texts', () => {
    const mounts = ({ own: answer }: { own: Answer }): unknown => inner(answer, STATE, 'MountTable');
    expect(mounts({ own: both.own })).toEqual(mounts({ own: both.java }));

    const still = (report: Record<string, unknown>): unknown => {
      // Of the router that reported last, and of the moment.
      const {
        routerId: _,
        lastHeartbeat,
        dateCreated,
        dateModified,
        lastContact,
        availableSpace,
        used,
        ...rest
      } = report;
      const types = [lastHeartbeat, dateCreated, dateModified, lastContact, availableSpace, used].map(
        (value) => typeof value,
      );
      return { ...rest, types };
    };
    for (const attribute of ['Namenodes', 'Nameservices']) {
      const [theirs, ours] = [inner(both.java, STATE, attribute), inner(both.own, STATE, attribute)];
      expect(Object.keys(ours)).toEqual(Object.keys(theirs).sort());
      for (const key of Object.keys(theirs))
        expect(still(ours[key]), `${attribute} ${key}`).toEqual(still(theirs[key]));
    }

    const [theirRouters, ourRouters] = [inner(both.java, STATE, 'Routers'), inner(both.own, STATE, 'Routers')];
    expect(Object.keys(ourRouters).sort()).toEqual(Object.keys(theirRouters).sort());
    for (const [address, router] of Object.entries(theirRouters as Record<string, object>)) {
      expect(Object.keys(ourRouters[address]).sort()).toEqual(Object.keys(router).sort());
      const fixed = ['address', 'status', 'version', 'compileInfo', 'adminAddress', 'dateStarted'] as const;
      for (const field of fixed)
        expect(ourRouters[address][field], field).toEqual((router as Record<string, unknown>)[field]);
    }

    const [theirNodes, ourNodes] = [inner(both.java, INFO, 'LiveNodes'), inner(both.own, INFO, 'LiveNodes')];
    expect(Object.keys(ourNodes).sort()).toEqual(Object.keys(theirNodes).sort());
    for (const [address, node] of Object.entries(theirNodes as Record<string, Record<string, unknown>>)) {
      expect(Object.keys(ourNodes[address]).sort()).toEqual(Object.keys(node).sort());
      for (const field of [
        'infoAddr',
        'infoSecureAddr',
        'xferaddr',
        'location',
        'adminState',
        'capacity',
        'version',
        'numBlocks',
      ]) {
        expect(ourNodes[address][field], field).toEqual(node[field]);
      }
    }
    const pools = (answer: Answer): string[] =>
      String(answer.beans.get(STATE)?.['BlockPoolId']).slice(1, -1).split(', ').sort();
    expect(pools(both.own)).toEqual(pools(both.java));
  });

  it('answers questions with the same bytes', async () => {
    for (const query of [
      'get=foo',
      'qry=foo',
      'qry=nothing:*',
      'qry=Hadoop:service=NameNode,name=FSNamesystem,extra=1',
      'get=Hadoop:service=Router,name=Router::',
      'get=Hadoop:service=Router,name=Router::RouterStatus',
      'get=Hadoop:service=Router,name=Router::Nope',
      'get=Hadoop:service=NameNode,name=NameNodeInfo::DistinctVersions',
      'get=Hadoop:service=Router,name=*::SafeModeTimeX',
      'qry=Hadoop:*,service=NameNode,name=NameNodeS?atus',
    ]) {
      const [theirs, ours] = await Promise.all(
        [javaHttp, `127.0.0.1:${own.httpPort}`].map(async (http) => {
          const answer = await fetch(`http://${http}/jmx?${query}`);
          const text = await answer.text();
          return [answer.status, answer.headers.get('content-type'), text];
        }),
      );
      if (query.includes('NameNodeS?atus')) {
        expect(JSON.parse(String(ours?.[2])).beans).toHaveLength(1);
        expect(JSON.parse(String(theirs?.[2])).beans).toHaveLength(1);
      } else if (query.includes('SafeModeTimeX')) {
        // Which bean comes first is nobody's promise.
        expect([ours?.[0], String(ours?.[2]).match(/"message" : .*/)?.[0]]).toEqual([
          theirs?.[0],
          String(theirs?.[2]).match(/"message" : .*/)?.[0],
        ]);
      } else expect(ours, query).toEqual(theirs);
    }
    const [theirs, ours] = await Promise.all(
      [javaHttp, `127.0.0.1:${own.httpPort}`].map(async (http) => {
        const answers = await Promise.all(
          ['/isActive', '/conf?name=nothing', '/conf?name=dfs.ha.namenodes.ns0'].map((path) =>
            fetch(`http://${http}${path}`),
          ),
        );
        // The rig sets some keys in two places, and all of them are named.
        const textOf = async (answer: Response): Promise<string> =>
          (await answer.text()).replace(/<source>.*<\/source>/g, '').trim();
        return await Promise.all(answers.map(async (answer) => [answer.status, await textOf(answer)]));
      }),
    );
    expect(ours).toEqual(theirs);
  });

  it('is told in the manual where it differs', () => {
    const manual = readFileSync(MANUAL, 'utf8');
    const untold: string[] = [];
    for (const [name, attributes] of Object.entries(NOT_COMPARED)) {
      for (const [attribute, reason] of Object.entries(attributes)) {
        if ((reason === 'nothing' || reason === 'once') && !manual.includes(`\`${attribute}\``))
          untold.push(`${name} ${attribute}`);
      }
    }
    expect(untold).toEqual([]);
  });
});

/** Some models have a port in them. */
function withoutPorts(theirs: unknown, ours: unknown): unknown {
  const blank = (text: unknown): string => String(text).replace(/\d{4,5}/g, '0');
  return blank(theirs) === blank(ours) ? ours : theirs;
}
