import { State } from '../../src/observer/rules.ts';
import type { FigureName } from '../../src/observer/shared/figures.ts';
import type { StateWords } from '../../src/observer/shared/state-words.ts';
import { NameNodeState } from '../../src/shared/control-block.ts';
import { decodePlain, encode, messageType } from '../../src/wire/messages.ts';
import { InlineRouter, type MountRecord } from './inline-router.ts';
import { decodeResponse, RawClient, type RawReply } from './raw-client.ts';
import { fileStatus, type HaState, type NameNodeCall, ScriptedNameNode } from './scripted-namenode.ts';

const FEDERATED_STATE = messageType('hadoop.hdfs.RouterFederatedStateProto');
const ON = { 'dfs.federation.router.observer.read.default': 'true' };
const BLOCK_STATES: Readonly<Record<HaState, number>> = {
  active: NameNodeState.ACTIVE,
  standby: NameNodeState.STANDBY,
  observer: NameNodeState.OBSERVER,
  starting: NameNodeState.STANDBY,
};

export type StateIds = Readonly<Record<string, number | bigint>>;

export interface ObserverRigOptions {
  /** NameNodes of each nameservice, as their states at the start; left out: an active and two observers of ns0. */
  readonly nameservices?: Readonly<Record<string, readonly HaState[]>>;
  /** Left out: `/NS=NS:/NS` for each nameservice. */
  readonly mounts?: readonly (string | MountRecord)[];
  readonly keys?: Readonly<Record<string, string>>;
}

/**
 * A router in the thread of the test before NameNodes whose answers and state ids the test decides; the router knows their states at the
 * start, as heartbeats would tell it. A status that is read has the state id of the NameNode as its length.
 */
export class ObserverRig implements AsyncDisposable {
  readonly router: InlineRouter;
  readonly #options: ObserverRigOptions;
  readonly #namenodes: ReadonlyMap<string, readonly ScriptedNameNode[]>;
  readonly #clients: ObserverClient[] = [];
  readonly #routers: InlineRouter[] = [];

  private constructor(
    options: ObserverRigOptions,
    router: InlineRouter,
    namenodes: ReadonlyMap<string, readonly ScriptedNameNode[]>,
  ) {
    this.#options = options;
    this.router = router;
    this.#namenodes = namenodes;
    this.#routers.push(router);
  }

  static async start(options: ObserverRigOptions = {}): Promise<ObserverRig> {
    const { nameservices = { ns0: ['active', 'observer', 'observer'] } } = options;
    const namenodes = new Map<string, ScriptedNameNode[]>();
    for (const [ns, states] of Object.entries(nameservices)) {
      const started = await Promise.all(states.map((state, i) => ScriptedNameNode.start(`${ns}.nn${i}`, state)));
      for (const namenode of started) namenode.handler = answerWithState(namenode);
      namenodes.set(ns, started);
    }
    const router = await startRouter(options, namenodes);
    for (const [n, all] of [...namenodes.values()].entries()) {
      for (const [i, { state }] of all.entries()) router.block.setState(n, i, BLOCK_STATES[state] as number);
    }
    return new ObserverRig(options, router, namenodes);
  }

  /** What all workers know. */
  get words(): StateWords {
    const { observers } = this.router.engine;
    if (observers === null) throw new Error('no nameservice takes part in reads from observers');
    return observers.shared;
  }

  /** What is known of a nameservice by now. */
  stateOf(nameservice: number): State {
    return this.words.read(nameservice, new State());
  }

  get stamp(): number {
    return this.router.engine.clock.stamp;
  }

  figures(nameservice = 0): Readonly<Record<FigureName, number>> {
    return this.router.figures(nameservice);
  }

  /** Those that are not 0. */
  counted(nameservice = 0): Partial<Record<FigureName, number>> {
    return Object.fromEntries(Object.entries(this.figures(nameservice)).filter(([, count]) => count !== 0));
  }

  namenode(index: number, ns = 'ns0'): ScriptedNameNode {
    const found = this.#namenodes.get(ns)?.[index];
    if (found === undefined) throw new Error(`no NameNode ${index} of ${ns}`);
    return found;
  }

  /** All state ids of a nameservice's NameNodes become this one. */
  setStateIds(stateId: number | null, ns = 'ns0'): void {
    for (const namenode of this.#namenodes.get(ns) ?? []) namenode.stateId = stateId;
  }

  /** Another worker of the router's process. */
  async startBeside(): Promise<InlineRouter> {
    const router = await startRouter(this.#options, this.#namenodes, this.router);
    this.#routers.push(router);
    return router;
  }

  async connect(router = this.router, user = 'alice'): Promise<ObserverClient> {
    const client = new ObserverClient(await RawClient.connect(router, { user }));
    this.#clients.push(client);
    return client;
  }

  /** A client that was told this before, by this router or by another one. */
  async connectWith(stateIds: StateIds, router = this.router): Promise<ObserverClient> {
    const client = await this.connect(router);
    client.seen = new Map(Object.entries(stateIds));
    return client;
  }

  /** As a Java client's first calls do: a change, whose answer brings the state id. */
  async connectAndWrite(router = this.router): Promise<ObserverClient> {
    const client = await this.connect(router);
    await client.write();
    return client;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) client[Symbol.dispose]();
    for (const router of this.#routers.reverse()) await router[Symbol.asyncDispose]();
    await Promise.all([...this.#namenodes.values()].flat().map((namenode) => namenode[Symbol.asyncDispose]()));
  }
}

async function startRouter(
  { mounts, keys }: ObserverRigOptions,
  namenodes: ReadonlyMap<string, readonly ScriptedNameNode[]>,
  beside?: InlineRouter,
): Promise<InlineRouter> {
  return await InlineRouter.start({
    nameservices: Object.fromEntries([...namenodes].map(([ns, all]) => [ns, all.map(({ port }) => port)])),
    mounts: mounts ?? [...namenodes.keys()].map((ns) => `/${ns}=${ns}:/${ns}`),
    keys: { ...ON, ...keys },
    ...(beside === undefined ? {} : { beside }),
  });
}

function answerWithState(namenode: ScriptedNameNode): (call: NameNodeCall) => void {
  return (call) => {
    if (call.method === 'getFileInfo') call.succeed({ fs: fileStatus(Number(namenode.stateId ?? 0)) });
    else if (call.method === 'mkdirs') call.succeed({ result: true });
    else if (call.method === 'getListing') call.succeed({ dirList: { partialListing: [], remainingEntries: 0 } });
    else if (call.method === 'getFsStats') call.succeed(NO_STATS);
    else if (call.method === 'getQuotaUsage') call.succeed({ usage: NO_USAGE });
    else call.succeed();
  };
}

const NO_STATS = { capacity: 0, used: 0, remaining: 0, under_replicated: 0, corrupt_blocks: 0, missing_blocks: 0 };
const NO_USAGE = {
  fileAndDirectoryCount: 1,
  quota: -1,
  spaceConsumed: 0,
  spaceQuota: -1,
  typeQuotaInfos: { typeQuotaInfo: [] },
};

/** A client that keeps the state ids that it is told and brings them with each call, as Java's do: the larger of two stays. */
export class ObserverClient implements Disposable {
  readonly raw: RawClient;
  seen = new Map<string, number | bigint>();
  /** The field of the last answer as it came; undefined: it had none. */
  told: Buffer | undefined = undefined;
  #hasSeen = false;

  constructor(raw: RawClient) {
    this.raw = raw;
  }

  /** The state ids of the last answer. */
  get toldIds(): StateIds {
    const state = this.told === undefined ? {} : decodePlain(FEDERATED_STATE, this.told);
    return (state['namespaceStateIds'] ?? {}) as StateIds;
  }

  /** Sends without waiting. */
  send(method: string, request: object, header: object = this.#header()): void {
    this.raw.send({ method, request, header });
  }

  async receive(): Promise<RawReply> {
    const reply = await this.raw.receive();
    this.told = reply.header['routerFederatedState'] as Buffer | undefined;
    for (const [ns, id] of Object.entries(this.toldIds)) {
      if (id > (this.seen.get(ns) ?? -1)) this.seen.set(ns, id);
    }
    this.#hasSeen ||= this.told !== undefined;
    return reply;
  }

  async call(method: string, request: object, header?: object): Promise<RawReply> {
    this.send(method, request, header);
    return await this.receive();
  }

  /** Reads a file; the state id of the NameNode that answered. */
  async read(path = '/ns0/f', header?: object): Promise<number> {
    return await this.#readStatus(await this.call('getFileInfo', { src: path }, header));
  }

  sendRead(path = '/ns0/f'): void {
    this.send('getFileInfo', { src: path });
  }

  async receiveRead(): Promise<number> {
    return await this.#readStatus(await this.receive());
  }

  async write(path = '/ns0/d'): Promise<void> {
    const reply = await this.call('mkdirs', { src: path, masked: { perm: 0o755 }, createParent: true });
    if (reply.exception !== '') throw new Error(`${reply.exception}: ${reply.message}`);
  }

  async #readStatus(reply: RawReply): Promise<number> {
    if (reply.exception !== '') throw new Error(`${reply.exception}: ${reply.message}`);
    return (decodeResponse('getFileInfo', reply.body)['fs'] as { length: number }).length;
  }

  #header(): object {
    if (this.seen.size === 0 && !this.#hasSeen) return {};
    return { routerFederatedState: encode(FEDERATED_STATE, { namespaceStateIds: Object.fromEntries(this.seen) }) };
  }

  [Symbol.dispose](): void {
    this.raw[Symbol.dispose]();
  }
}
