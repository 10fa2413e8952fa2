/** One simulated nameservice with observers, and calls straight at each of its NameNodes with a state id of one's own. */
import { METHODS, PROTOCOLS } from '../../src/call/methods.ts';
import { HA_PROTOCOL } from '../../src/control/hdfs-client.ts';
import { RemoteError, RpcClient } from '../../src/control/rpc-client.ts';
import type { ControlRequest, NameNodeStatus, Which } from '../../src/simulator/control-requests.ts';
import type { SimulatorOptions } from '../../src/simulator/options.ts';
import { type Simulator, startSimulator } from '../../src/simulator/simulator.ts';
import type { Plain } from '../../src/wire/messages.ts';

export const STANDBY = 'org.apache.hadoop.ipc.StandbyException';
export const RETRIABLE = 'org.apache.hadoop.ipc.RetriableException';
export const OBSERVER_RETRY = 'org.apache.hadoop.ipc.ObserverRetryOnActiveException';

type StateId = number | bigint;

export interface Asked {
  readonly response: Plain;
  /** Of the reply; undefined when it has none. */
  readonly stateId: StateId | undefined;
}

/** Those requests that are about one NameNode, without its name. */
type OfNameNode = ControlRequest extends infer R ? (R extends Which ? Omit<R, keyof Which> : never) : never;

export class ObservedNameservice implements AsyncDisposable {
  readonly simulator: Simulator;
  readonly #clients = new Map<string, Promise<RpcClient>>();

  private constructor(simulator: Simulator) {
    this.simulator = simulator;
  }

  /** ns0: nn0 active, nn1 standby, nn2 observer. The superuser is hdfs. */
  static async start(options: SimulatorOptions = {}): Promise<ObservedNameservice> {
    const simulator = await startSimulator({ nameservices: ['ns0'], superuser: 'hdfs', observers: 1, ...options });
    return new ObservedNameservice(simulator);
  }

  /** Rejects with RemoteError or RpcError. A connection that was closed is opened again by the call after. */
  async ask(namenode: string, method: string, request: object = {}, stateId?: StateId): Promise<Asked> {
    const served = METHODS.find((one) => one.name === method);
    if (served === undefined) throw new Error(`no method ${method}`);
    const client = await this.connect(namenode);
    const protocol = PROTOCOLS[served.protocol]!.name;
    const { response, header } = await client.call<Plain>(protocol, method, served.request, served.response, request, {
      stateId,
    });
    return { response, stateId: header.stateId };
  }

  async refusal(namenode: string, method: string, request: object = {}, stateId?: StateId): Promise<RemoteError> {
    const error = await this.ask(namenode, method, request, stateId).catch((reason: unknown) => reason);
    if (error instanceof RemoteError) return error;
    throw new Error(`${namenode} does not refuse ${method}: ${String(error)}`);
  }

  /** HAServiceProtocol; the response of TransitionTo… and of GetServiceStatus. */
  async administer(namenode: string, method: string, request: object = {}): Promise<Plain> {
    const client = await this.connect(namenode);
    const stem = `hadoop.common.${method.charAt(0).toUpperCase()}${method.slice(1)}`;
    const { response } = await client.call<Plain>(
      HA_PROTOCOL,
      method,
      `${stem}RequestProto`,
      `${stem}ResponseProto`,
      request,
    );
    return response;
  }

  /** At the active; the state id of the reply. */
  async mkdirs(src: string, namenode = 'nn0'): Promise<number> {
    const { stateId } = await this.ask(namenode, 'mkdirs', { src, masked: { perm: 0o755 }, createParent: true });
    return Number(stateId);
  }

  /** Whether the NameNode knows the path, and the state id of its reply. */
  async see(namenode: string, src: string, stateId: StateId = 0): Promise<{ exists: boolean; stateId: number }> {
    const answer = await this.ask(namenode, 'getFileInfo', { src }, stateId);
    return { exists: answer.response['fs'] !== undefined, stateId: Number(answer.stateId) };
  }

  async control(namenode: string, request: OfNameNode): Promise<void> {
    await this.simulator.control({ ...request, nameservice: 'ns0', namenode } as ControlRequest);
  }

  async status(namenode: string): Promise<NameNodeStatus> {
    const found = (await this.simulator.control({ op: 'status' })).find((one) => one.namenode === namenode);
    if (found === undefined) throw new Error(`no NameNode ${namenode}`);
    return found;
  }

  /** The connection to a NameNode, a new one when the last was closed. */
  async connect(namenode: string): Promise<RpcClient> {
    const known = await this.#clients.get(namenode);
    if (known !== undefined && !known.isClosed) return known;
    const { host, port } = this.simulator.nameservices[0]!.namenodes.find(({ id }) => id === namenode)!;
    const client = RpcClient.connect({ host, port, user: 'hdfs' });
    this.#clients.set(namenode, client);
    return await client;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients.values()) (await client).close();
    await this.simulator.close();
  }
}
