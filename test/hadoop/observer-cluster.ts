import { RawClient } from '../support/raw-client.ts';
import { waitUntil } from '../support/wait.ts';
import { directEndpoint, Rig, type RigNameNode, type RigOptions, type RigStatus } from './support.ts';

/** Far more than a pause between two looks of an observer at the journal. */
const SETTLED_WITHIN_MS = 30_000;

/** What of the calls of a NameNode is counted: answered ones by method, refused ones by the class of the exception. */
export type Calls = Readonly<Record<string, number>>;

/** Sums by the role that a NameNode has. */
export interface CallsByRole {
  readonly active: Calls;
  readonly standby: Calls;
  readonly observer: Calls;
}

interface Metrics {
  readonly calls: Calls;
  readonly rpc: Readonly<Record<string, number>>;
}

type Role = keyof CallsByRole;

/** Nameservices whose observers can be made to lag, refuse, hang and die, and which count their calls. */
export class ObserverCluster implements AsyncDisposable {
  readonly rig: Rig;

  private constructor(rig: Rig) {
    this.rig = rig;
  }

  static async start(options: RigOptions): Promise<ObserverCluster> {
    return new ObserverCluster(await Rig.start(options));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.rig[Symbol.asyncDispose]();
  }

  /** The observers of a nameservice as it began. */
  observers(ns: string): string[] {
    return this.rig.up.namenodes.filter((one) => one.ns === ns && one.role === 'observer').map(({ nn }) => nn);
  }

  async #namenodes(ns: string): Promise<RigNameNode[]> {
    return (await this.#all()).filter((one) => one.ns === ns);
  }

  async #all(): Promise<readonly RigNameNode[]> {
    return ((await this.rig.ctl({ op: 'status' })) as RigStatus).namenodes;
  }

  async metrics(ns: string, nn: string): Promise<Metrics> {
    return (await this.rig.ctl({ op: 'metrics', ns, nn })) as Metrics;
  }

  /** The last transaction of each active NameNode, by nameservice. */
  async lastTxIds(): Promise<Map<string, number>> {
    const active = (await this.#all()).filter(({ role }) => role === 'active');
    return new Map(active.map(({ ns, lastTxId }) => [ns, lastTxId]));
  }

  /** Waits until every observer has what the active has. */
  async settled(ns: string): Promise<void> {
    await waitUntil(
      async () => {
        const running = (await this.#namenodes(ns)).filter(({ role }) => role === 'active' || role === 'observer');
        return new Set(running.map(({ lastTxId }) => lastTxId)).size === 1;
      },
      `the observers of ${ns} have caught up`,
      SETTLED_WITHIN_MS,
    );
  }

  /** How many calls NameNodes of each role answer while `run` runs. Calls of the routers themselves count like others. */
  async callsDuring(ns: string, run: () => Promise<unknown>): Promise<CallsByRole> {
    const before = await this.#callsOf(ns);
    await run();
    const after = await this.#callsOf(ns);
    const sums: Record<Role, Record<string, number>> = { active: {}, standby: {}, observer: {} };
    for (const [nn, { role, calls }] of after) {
      if (!Object.hasOwn(sums, role)) continue;
      const sum = sums[role as Role];
      for (const [method, count] of Object.entries(calls)) {
        const more = count - (before.get(nn)?.calls[method] ?? 0);
        if (more !== 0) sum[method] = (sum[method] ?? 0) + more;
      }
    }
    return sums;
  }

  /** The observers that have executed calls of this method meanwhile. */
  async observersServing(ns: string, method: string, run: () => Promise<unknown>): Promise<string[]> {
    const before = await this.#callsOf(ns);
    await run();
    const after = await this.#callsOf(ns);
    return [...after]
      .filter(([, { role }]) => role === 'observer')
      .filter(([nn, { calls }]) => (calls[method] ?? 0) > (before.get(nn)?.calls[method] ?? 0))
      .map(([nn]) => nn);
  }

  async #callsOf(ns: string): Promise<Map<string, { role: string; calls: Calls }>> {
    const found = new Map<string, { role: string; calls: Calls }>();
    for (const { nn, role } of await this.#namenodes(ns)) {
      if (role === 'stopped') continue;
      const { calls, rpc } = await this.metrics(ns, nn);
      found.set(nn, { role, calls: { ...calls, requeued: rpc['rpcRequeueCalls'] ?? 0 } });
    }
    return found;
  }

  /** One request for each observer of the nameservice. */
  async ctlObservers(op: string, ns: string, fields: Readonly<Record<string, unknown>> = {}): Promise<void> {
    for (const nn of this.observers(ns)) await this.rig.ctl({ op, ns, nn, ...fields });
  }

  /** A client of the active NameNode without any router between. */
  async direct(ns: string): Promise<RawClient> {
    return await RawClient.connect(directEndpoint((await this.rig.active(ns)).rpc), { user: this.rig.up.user });
  }

  /** So many changes of the root's modification time, a transaction each. */
  async burnTransactions(ns: string, count: number): Promise<void> {
    using client = await this.direct(ns);
    await client.pipeline(count, 256, (i) => ({ method: 'setTimes', request: { src: '/', mtime: i + 1, atime: -1 } }));
  }
}
