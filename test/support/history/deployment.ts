import { NameNodeState } from '../../../src/shared/control-block.ts';
import type { NameNodeStatus } from '../../../src/simulator/control-requests.ts';
import type { SimulatorOptions } from '../../../src/simulator/options.ts';
import { type Simulator, startSimulator } from '../../../src/simulator/simulator.ts';
import { InlineRouter } from '../inline-router.ts';
import { RouterProcess } from '../router-process.ts';
import { type Carrier, HistoryClient } from './client.ts';
import type { Server } from './connection.ts';
import type { History } from './history.ts';

const USER = 'hdfs';
const STATES: Readonly<Record<string, number>> = {
  active: NameNodeState.ACTIVE,
  standby: NameNodeState.STANDBY,
  observer: NameNodeState.OBSERVER,
};
/** Between two looks at the states of the NameNodes, as heartbeats have it. */
const HEARTBEAT_MS = 100;

export interface DeploymentOptions {
  /** Routers in the thread of the test, or processes of their own with threads and rings. */
  readonly kind: 'inline' | 'process';
  readonly nameservices?: readonly string[];
  readonly observers?: number;
  readonly routers?: number;
  /** Hadoop keys of all routers, beside those that turn observer reads on. */
  readonly keys?: Readonly<Record<string, string>>;
  readonly simulator?: SimulatorOptions;
}

/** Nameservices of an active, a standby and observers, each mounted at `/ID`, behind several routers that can be started again. */
export class Deployment implements AsyncDisposable {
  readonly simulator: Simulator;
  readonly nameservices: readonly string[];
  readonly #options: DeploymentOptions;
  readonly #routers: (InlineRouter | RouterProcess)[] = [];
  readonly #clients: HistoryClient[] = [];
  #heartbeats: NodeJS.Timeout | null = null;
  #isClosed = false;

  private constructor(simulator: Simulator, options: DeploymentOptions) {
    this.simulator = simulator;
    this.nameservices = simulator.nameservices.map(({ id }) => id);
    this.#options = options;
  }

  static async start(options: DeploymentOptions): Promise<Deployment> {
    const { nameservices = ['ns0', 'ns1'], observers = 2, routers = 2, simulator = {} } = options;
    const started = await startSimulator({ superuser: USER, namenodes: 2, observers, ...simulator, nameservices });
    const deployment = new Deployment(started, options);
    try {
      for (let router = 0; router < routers; router++) deployment.#routers.push(await deployment.#startRouter());
      if (options.kind === 'inline') await deployment.#beat();
    } catch (error) {
      await deployment[Symbol.asyncDispose]();
      throw error;
    }
    return deployment;
  }

  get routers(): number {
    return this.#routers.length;
  }

  serverOf(router: number): Server {
    const { host, port } = this.#routers[router]!;
    return { host, port };
  }

  /** Of routers in this thread. */
  inline(router: number): InlineRouter {
    const found = this.#routers[router];
    if (!(found instanceof InlineRouter)) throw new Error(`router ${router} is not in this thread`);
    return found;
  }

  /** Ends a router, with the calls that it has, and starts it anew: it knows nothing. */
  async restartRouter(router: number): Promise<void> {
    const old = this.#routers[router]!;
    if (old instanceof RouterProcess) await old.stop('SIGKILL');
    await old[Symbol.asyncDispose]();
    this.#routers[router] = await this.#startRouter();
    if (this.#options.kind === 'inline') await this.report();
  }

  /** A new client, closed with the deployment. */
  connect(history: History, index: number, carrier: Carrier, routers = this.#allRouters()): HistoryClient {
    const client = new HistoryClient({
      history,
      index,
      carrier,
      user: USER,
      routers: routers.map((router) => () => this.serverOf(router)),
      pathOf: (file) => `/${this.nameservices[history.nameserviceOf(file)]}/history/f${file}`,
    });
    this.#clients.push(client);
    return client;
  }

  /** What heartbeats do where there is a control plane: tells routers of this thread the states of all NameNodes. */
  async report(): Promise<void> {
    const status = await this.simulator.control({ op: 'status' });
    for (const router of this.#routers) {
      if (!(router instanceof InlineRouter)) continue;
      for (const one of status) router.block.setState(...this.#wordOf(one), stateOf(one));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    if (this.#heartbeats !== null) clearTimeout(this.#heartbeats);
    for (const client of this.#clients) client[Symbol.dispose]();
    for (const router of this.#routers) await router[Symbol.asyncDispose]();
    await this.simulator.close();
  }

  async #beat(): Promise<void> {
    if (this.#isClosed) return;
    await this.report();
    if (!this.#isClosed) this.#heartbeats = setTimeout(() => void this.#beat(), HEARTBEAT_MS);
  }

  #allRouters(): number[] {
    return this.#routers.map((_, router) => router);
  }

  #wordOf({ nameservice, namenode }: NameNodeStatus): [nameservice: number, namenode: number] {
    const at = this.nameservices.indexOf(nameservice);
    return [at, this.simulator.nameservices[at]!.namenodes.findIndex(({ id }) => id === namenode)];
  }

  #startRouter(): Promise<InlineRouter | RouterProcess> {
    const { kind, keys = {} } = this.#options;
    const mounts = this.nameservices.map((id) => `/${id}=${id}:/`);
    const all = { 'dfs.federation.router.observer.read.default': 'true', ...keys };
    if (kind === 'inline') {
      const ports = this.simulator.nameservices.map(({ id, namenodes }) => [id, namenodes.map(({ port }) => port)]);
      return InlineRouter.start({ nameservices: Object.fromEntries(ports), mounts, keys: all });
    }
    return RouterProcess.start({
      nameservices: Object.fromEntries(this.simulator.nameservices.map(({ id, namenodes }) => [id, namenodes])),
      mounts,
      keys: { 'dfs.federation.router.heartbeat.interval': String(HEARTBEAT_MS), ...all },
      args: ['--workers', '2', '--acceptors', '1'],
    });
  }
}

function stateOf({ running, hung, state }: NameNodeStatus): number {
  return running && hung === null ? STATES[state]! : NameNodeState.UNAVAILABLE;
}
