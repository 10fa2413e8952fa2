import type { CounterName } from '../../src/shared/counters.ts';
import { RawClient } from './raw-client.ts';
import { RouterProcess } from './router-process.ts';
import { type HaState, ScriptedNameNode } from './scripted-namenode.ts';

export interface ClusterOptions {
  /** NameNodes of each nameservice, as their states at the start. */
  readonly nameservices: Readonly<Record<string, readonly HaState[]>>;
  /** Left out: `/NS=NS:/NS` for each nameservice. */
  readonly mounts?: readonly string[];
  /** Hadoop keys of the router. */
  readonly keys?: Readonly<Record<string, string>>;
  /** `key=value` each, for --set. */
  readonly set?: readonly string[];
  readonly handoff?: 'ring' | 'inline';
}

/** One round of heartbeats at the start and no other: what the router learns later it learns from its calls. */
const ONE_HEARTBEAT = { 'dfs.federation.router.heartbeat.interval': '3600000' };

/** The counters are in the log at the end; a test that leaves calls behind does not wait for them. */
const ALWAYS_SET = ['switchyard.log.level=debug', 'switchyard.drain.timeout=1s'];

/** A router process before NameNodes whose answers the test decides. */
export class ScriptedCluster implements AsyncDisposable {
  readonly router: RouterProcess;
  readonly #namenodes: ReadonlyMap<string, readonly ScriptedNameNode[]>;

  private constructor(router: RouterProcess, namenodes: ReadonlyMap<string, readonly ScriptedNameNode[]>) {
    this.router = router;
    this.#namenodes = namenodes;
  }

  static async start(options: ClusterOptions): Promise<ScriptedCluster> {
    const namenodes = new Map<string, ScriptedNameNode[]>();
    for (const [ns, states] of Object.entries(options.nameservices)) {
      namenodes.set(ns, await Promise.all(states.map((state, i) => ScriptedNameNode.start(`${ns}.nn${i}`, state))));
    }
    const args = ['--handoff', options.handoff ?? 'ring'];
    for (const assignment of ALWAYS_SET) args.push('--set', assignment);
    for (const assignment of options.set ?? []) args.push('--set', assignment);
    const router = await RouterProcess.start({
      nameservices: Object.fromEntries(
        [...namenodes].map(([ns, all]) => [ns, all.map(({ port }, i) => ({ id: `nn${i}`, port }))]),
      ),
      mounts: options.mounts ?? [...namenodes.keys()].map((ns) => `/${ns}=${ns}:/${ns}`),
      keys: { ...ONE_HEARTBEAT, ...options.keys },
      args,
    });
    const cluster = new ScriptedCluster(router, namenodes);
    // The heartbeat's connection ends when its answers have been taken in.
    for (const namenode of cluster.all()) {
      await namenode.until(
        () => namenode.stateQuestions > 0 && namenode.openPeers().length === 0,
        'the first heartbeat is over',
      );
    }
    return cluster;
  }

  namenode(ns: string, index = 0): ScriptedNameNode {
    const found = this.#namenodes.get(ns)?.[index];
    if (found === undefined) throw new Error(`no NameNode ${index} of ${ns}`);
    return found;
  }

  /** All NameNodes of a nameservice. */
  namenodes(ns: string): readonly ScriptedNameNode[] {
    return this.#namenodes.get(ns) ?? [];
  }

  all(): ScriptedNameNode[] {
    return [...this.#namenodes.values()].flat();
  }

  connect(user = 'alice', clientId?: Buffer): Promise<RawClient> {
    return RawClient.connect(this.router, clientId === undefined ? { user } : { user, clientId });
  }

  async connectMany(count: number, user = 'alice', clientId?: Buffer): Promise<RawClient[]> {
    return await Promise.all(Array.from({ length: count }, () => this.connect(user, clientId)));
  }

  /** Cuts a client's connection, and returns when every thread of the router knows. */
  async vanish(client: RawClient): Promise<void> {
    client.socket.resetAndDestroy();
    // The news takes the way that these calls take, which the workers answer themselves.
    using other = await this.connect();
    for (let i = 0; i < 2; i++) await other.result({ method: 'getHAServiceState', request: {} });
  }

  /** Stops the router; what it has counted. */
  async stopAndCount(): Promise<Record<CounterName, number>> {
    await this.router.stop();
    const line = this.router.log.split('\n').find((each) => each.includes('"counters at the end"'));
    if (line === undefined) throw new Error(`no counters in the log\n${this.router.log}`);
    return JSON.parse(line) as Record<CounterName, number>;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.router[Symbol.asyncDispose]();
    await Promise.all(this.all().map((namenode) => namenode[Symbol.asyncDispose]()));
  }
}

export function disposeAll(clients: readonly Disposable[]): void {
  for (const client of clients) client[Symbol.dispose]();
}

/** Settles all and gives the first failure, so that one failing client does not hide what the others did. */
export async function all<T>(work: readonly Promise<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(work);
  return settled.map((each) => {
    if (each.status === 'rejected') throw each.reason;
    return each.value;
  });
}
