import { JavaClients } from './java-clients.ts';
import { ObserverCluster } from './observer-cluster.ts';
import { ENDPOINT, type Endpoint, rigRouter, startEndpoint } from './support.ts';

/** What the tests of observer reads share: seven nameservices, two routers under test, Java Routers beside them. */

export const NAMESERVICES = ['ns0', 'ns1', 'ns2', 'ns3', 'ns4', 'ns5', 'ns6'] as const;
/** These have observers, two each; the others one NameNode. */
export const OBSERVED = ['ns0', 'ns1'] as const;
/** Observer reads are off for it. */
export const DISABLED = 'ns6';
/** So many transactions behind its client an observer refuses, see `ipc.client.connection.maxidletime` below. */
export const TOO_FAR_TRANSACTIONS = 8000;
/** A file with this access time gets a new one when it is opened, which only an active NameNode can give it. */
export const LONG_AGO_MS = 1_600_000_000_000;

const OBSERVER = 'dfs.federation.router.observer';
/** Of the Java Routers under test: the state never left out, and no two minutes of waiting for a NameNode that hangs. */
const UNDER_TEST = { [`${OBSERVER}.federated.state.propagation.maxsize`]: '64', 'ipc.client.rpc-timeout.ms': '1500' };
const READS_OFF = { [`${OBSERVER}.read.default`]: 'false', [`${OBSERVER}.read.overrides`]: '' };

/** Path at which routers show the directory /d of a nameservice. */
export function mountOf(nameservice: string): string {
  return `/d${nameservice.slice(2)}`;
}

/** A Java Router that has answered for these knows of ns0 only. */
const MOUNTS_OF_NS0 = [`${mountOf('ns0')}=`];

export class ObserverStage implements AsyncDisposable {
  readonly cluster: ObserverCluster;
  readonly clients: JavaClients;
  readonly routers: readonly [Endpoint, Endpoint];
  readonly #ended: AsyncDisposableStack;

  private constructor(
    cluster: ObserverCluster,
    clients: JavaClients,
    routers: readonly [Endpoint, Endpoint],
    ended: AsyncDisposableStack,
  ) {
    this.cluster = cluster;
    this.clients = clients;
    this.routers = routers;
    this.#ended = ended;
  }

  static async start(): Promise<ObserverStage> {
    await using starting = new AsyncDisposableStack();
    const cluster = starting.use(
      await ObserverCluster.start({
        nameservices: NAMESERVICES.length,
        ha: OBSERVED.length,
        observers: 2,
        datanodes: 1,
        mounts: NAMESERVICES.map((ns) => `${mountOf(ns)}=${ns}:/d`),
        javaRouters: 4,
        routerConf: [UNDER_TEST, UNDER_TEST, {}, READS_OFF],
        conf: {
          [`${OBSERVER}.read.overrides`]: DISABLED,
          // As it is by default: an hour.
          'dfs.namenode.accesstime.precision': '3600000',
        },
        // 10,000 transactions a second for twice this time, and a fifth less.
        namenodeConf: { 'ipc.client.connection.maxidletime': '500', 'dfs.heartbeat.interval': '1' },
      }),
    );
    for (const ns of NAMESERVICES) {
      using direct = await cluster.direct(ns);
      await direct.result({ method: 'mkdirs', request: { src: '/d', masked: { perm: 0o777 }, createParent: true } });
      await direct.result({ method: 'setPermission', request: { src: '/d', permission: { perm: 0o777 } } });
    }
    const routers = [starting.use(await startRouter(cluster, 0)), starting.use(await startRouter(cluster, 1))] as const;
    const clients = starting.use(JavaClients.start(cluster.rig));
    return new ObserverStage(cluster, clients, routers, starting.move());
  }

  get user(): string {
    return this.cluster.rig.up.user;
  }

  /** A further router under test, which a test may end. */
  async anotherRouter(): Promise<Endpoint> {
    return await startEndpoint(this.cluster.rig, ENDPOINT === 'java-router' ? UNDER_TEST : {});
  }

  /** Another router under test, or a Java Router, with observer reads off. */
  async routerWithReadsOff(): Promise<Endpoint> {
    if (ENDPOINT === 'java-router') return await rigRouter(this.cluster.rig, 3, MOUNTS_OF_NS0);
    return await startEndpoint(this.cluster.rig, READS_OFF);
  }

  /** A Java Router as it is by default, which has asked no other nameservice than ns0 yet. */
  async javaRouterBeside(): Promise<Endpoint> {
    return await rigRouter(this.cluster.rig, 2, MOUNTS_OF_NS0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#ended.disposeAsync();
  }
}

async function startRouter(cluster: ObserverCluster, index: number): Promise<Endpoint> {
  return ENDPOINT === 'java-router' ? await rigRouter(cluster.rig, index) : await startEndpoint(cluster.rig);
}
