import { ADMIN_PROTOCOL } from '../../src/admin/messages.ts';
import { HdfsClient } from '../../src/control/hdfs-client.ts';
import { RpcClient } from '../../src/control/rpc-client.ts';
import { type Simulator, startSimulator } from '../../src/simulator/simulator.ts';
import type { Plain } from '../../src/wire/messages.ts';
import { RouterProcess } from './router-process.ts';
import { findFreePort } from './zookeeper-server.ts';

const USER = 'hdfs';
const SOON = '1s';

/** One call of RouterAdminProtocol to a router. */
export async function administer(
  router: RouterProcess,
  method: string,
  request: object = {},
  user: string = USER,
): Promise<Plain> {
  const stem = `hadoop.hdfs.${method.charAt(0).toUpperCase()}${method.slice(1)}`;
  using client = await RpcClient.connect({
    host: router.host,
    port: router.adminPort,
    user,
    protocol: ADMIN_PROTOCOL,
  });
  const { response } = await client.call<Plain>(
    ADMIN_PROTOCOL,
    method,
    `${stem}RequestProto`,
    `${stem}ResponseProto`,
    request,
  );
  return response;
}

/** An entry as a tool sends it. */
export function entryOf(srcPath: string, nameserviceId: string, path: string, more: object = {}): object {
  const now = Date.now();
  return {
    srcPath,
    destinations: [{ nameserviceId, path }],
    dateCreated: now,
    dateModified: now,
    ownerName: USER,
    groupName: 'supergroup',
    mode: 0o755,
    ...more,
  };
}

/** Names that a router shows in a directory; null when it answers with an exception. */
export async function namesIn(router: RouterProcess, path: string): Promise<string[] | null> {
  using client = await HdfsClient.connect({ host: router.host, port: router.port, user: USER });
  try {
    return ((await client.list(path)) ?? []).map((entry) => entry.path.toString());
  } catch {
    return null;
  }
}

/** Two simulated nameservices, and routers before them that share a State Store. */
export class Deployment implements AsyncDisposable {
  readonly simulator: Simulator;
  readonly routers: RouterProcess[] = [];
  readonly #store: Readonly<Record<string, string>>;

  private constructor(simulator: Simulator, store: Readonly<Record<string, string>>) {
    this.simulator = simulator;
    this.#store = store;
  }

  /** `store`: the keys that name it. */
  static async start(store: Readonly<Record<string, string>>, routers: number): Promise<Deployment> {
    const simulator = await startSimulator({ superuser: USER, namenodes: 1 });
    const deployment = new Deployment(simulator, store);
    try {
      for (const { id, namenodes } of simulator.nameservices) {
        using client = await HdfsClient.connect({ host: '127.0.0.1', port: namenodes[0]?.port ?? 0, user: USER });
        await client.mkdirs(`/in-${id}`);
      }
      for (let i = 0; i < routers; i++) await deployment.add();
    } catch (error) {
      await deployment[Symbol.asyncDispose]();
      throw error;
    }
    return deployment;
  }

  /** One more router. `http`: with an HTTP server. */
  async add(keys: Readonly<Record<string, string>> = {}, http = false): Promise<RouterProcess> {
    const router = await RouterProcess.start({
      nameservices: Object.fromEntries(
        this.simulator.nameservices.map(({ id, namenodes }) => [id, namenodes.map(({ port }) => ({ port }))]),
      ),
      keys: {
        'dfs.federation.router.admin-address': '127.0.0.1:0',
        'dfs.federation.router.cache.ttl': SOON,
        'dfs.federation.router.safemode.extension': '0s',
        'dfs.federation.router.safemode.checkperiod': '200ms',
        'dfs.federation.router.heartbeat-state.interval': SOON,
        'dfs.federation.router.heartbeat.interval': SOON,
        ...this.#store,
        ...keys,
      },
      // In the State Store a router is known by its port.
      port: await findFreePort(),
      http,
      env: { HADOOP_USER_NAME: USER },
    });
    this.routers.push(router);
    return router;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.routers.map((router) => router[Symbol.asyncDispose]()));
    await this.simulator.close();
  }
}
