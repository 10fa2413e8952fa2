import { METHODS, PROTOCOLS } from '../../src/call/methods.ts';
import { RpcClient } from '../../src/control/rpc-client.ts';
import type { SimulatorOptions } from '../../src/simulator/options.ts';
import { type Simulator, startSimulator } from '../../src/simulator/simulator.ts';
import type { Plain } from '../../src/wire/messages.ts';
import { InlineRouter, type InlineRouterOptions } from './inline-router.ts';

export interface MethodClusterOptions extends Partial<Omit<InlineRouterOptions, 'nameservices'>> {
  /** Default ns0 and ns1. */
  readonly nameservices?: readonly string[];
  readonly simulator?: SimulatorOptions;
}

const SUPERUSER = 'hdfs';

/** A client that calls any method of the client port by its name in the manual, `PROTOCOL.METHOD`. */
export class MethodClient implements Disposable {
  readonly rpc: RpcClient;
  readonly #called: Set<string>;

  constructor(rpc: RpcClient, called: Set<string>) {
    this.rpc = rpc;
    this.#called = called;
  }

  /** The response message. Rejects with RemoteError. */
  async call<Response extends object = Plain>(name: string, request: object = {}): Promise<Response> {
    const [protocolName, methodName] = name.split('.');
    const protocol = PROTOCOLS.findIndex((each) => each.simpleName === protocolName);
    const method = METHODS.find((each) => each.protocol === protocol && each.name === methodName);
    if (method === undefined) throw new Error(`no method ${name}`);
    this.#called.add(name);
    const { response } = await this.rpc.call<Response>(
      (PROTOCOLS[protocol] as (typeof PROTOCOLS)[number]).name,
      method.name,
      method.request,
      method.response,
      request,
    );
    return response;
  }

  [Symbol.dispose](): void {
    this.rpc.close();
  }
}

/** A router in this thread over simulated nameservices of one NameNode each, and clients to it and to the NameNodes. */
export class MethodCluster implements AsyncDisposable {
  readonly router: InlineRouter;
  readonly simulator: Simulator;
  /** Methods that were called through the router. */
  readonly called = new Set<string>();
  readonly #clients: MethodClient[] = [];

  private constructor(router: InlineRouter, simulator: Simulator) {
    this.router = router;
    this.simulator = simulator;
  }

  static async start({
    nameservices = ['ns0', 'ns1'],
    mounts = [],
    simulator: simulatorOptions = {},
    ...rest
  }: MethodClusterOptions = {}): Promise<MethodCluster> {
    const simulator = await startSimulator({ superuser: SUPERUSER, namenodes: 1, ...simulatorOptions, nameservices });
    const ports = simulator.nameservices.map(({ id, namenodes }) => [id, namenodes.map(({ port }) => port)] as const);
    const router = await InlineRouter.start({ nameservices: Object.fromEntries(ports), mounts, ...rest });
    const cluster = new MethodCluster(router, simulator);
    for (const [index, id] of nameservices.entries()) {
      using client = await cluster.#open({ host: '127.0.0.1', port: cluster.port(id) }, SUPERUSER, new Set());
      const { info } = await client.call<{ info: { blockPoolID: string } }>('NamenodeProtocol.versionRequest');
      router.engine.blockPools.set(info.blockPoolID, index);
    }
    return cluster;
  }

  /** Port of the first NameNode of a nameservice. */
  port(nameservice: string): number {
    const found = this.simulator.nameservices.find(({ id }) => id === nameservice)?.namenodes[0];
    if (found === undefined) throw new Error(`no nameservice ${nameservice}`);
    return found.port;
  }

  /** A client of the router, closed with the cluster. */
  async connect(user = SUPERUSER): Promise<MethodClient> {
    return this.#keep(await this.#open(this.router, user, this.called));
  }

  /** A client of a NameNode itself, closed with the cluster. */
  async direct(nameservice: string, user = SUPERUSER): Promise<MethodClient> {
    return this.#keep(await this.#open({ host: '127.0.0.1', port: this.port(nameservice) }, user, new Set()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) client[Symbol.dispose]();
    await this.router[Symbol.asyncDispose]();
    await this.simulator.close();
  }

  #keep(client: MethodClient): MethodClient {
    this.#clients.push(client);
    return client;
  }

  async #open(server: { host: string; port: number }, user: string, called: Set<string>): Promise<MethodClient> {
    return new MethodClient(await RpcClient.connect({ host: server.host, port: server.port, user }), called);
  }
}
