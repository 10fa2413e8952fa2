import { readFigures as readAdmissionFigures, type Sums } from '../../src/admission/shared/figures.ts';
import { type AdmissionMemory, createAdmissionMemory, openAdmissionMemory } from '../../src/admission/shared/memory.ts';
import { Engine } from '../../src/call/engine.ts';
import { Acceptor } from '../../src/client/acceptor.ts';
import { Configuration } from '../../src/config/configuration.ts';
import { readSettings } from '../../src/config/settings.ts';
import { Impersonation } from '../../src/control/impersonation.ts';
import { makeInlineLinks } from '../../src/handoff/inline-link.ts';
import { buildSnapshot } from '../../src/mount/radix-build.ts';
import { MountSnapshot } from '../../src/mount/snapshot.ts';
import { parseMounts } from '../../src/mount/spec.ts';
import { type FigureName, readFigures } from '../../src/observer/shared/figures.ts';
import { createObserverMemory, type ObserverMemory, openObserverMemory } from '../../src/observer/shared/memory.ts';
import { ClientCounts, createClientCounts } from '../../src/shared/client-counts.ts';
import { ControlBlock, createControlBlock } from '../../src/shared/control-block.ts';
import { Counter, type CounterName, Counters, createCounters, readCounters } from '../../src/shared/counters.ts';
import type { Settings, Topology } from '../../src/shared/settings.ts';

export interface MountRecord {
  readonly srcPath: string;
  readonly destinations: readonly { readonly nameserviceId: string; readonly path: string }[];
  readonly [field: string]: unknown;
}

export interface InlineRouterOptions {
  /** Ports of each nameservice's NameNodes, or `NAME:PORT` for those that have to be looked up. */
  readonly nameservices: Readonly<Record<string, Place | readonly Place[]>>;
  /** `/path=ns:/path`, or a record as in a mounts file. */
  readonly mounts: readonly (string | MountRecord)[];
  /** Hadoop keys. */
  readonly keys?: Readonly<Record<string, string>>;
  /** What no key can say. */
  readonly settings?: Partial<Settings>;
  /** A router of the same nameservices, of whose process this is another worker: it shares what all threads of a process know. */
  readonly beside?: InlineRouter;
  /** Workers that divide the windows of nameservices among them; left out: this one alone. */
  readonly workers?: number;
}

type Place = number | string;

const HOST = '127.0.0.1';
const ONE_THREAD = 1;
/** Workers that share what is known for reads from observers. */
const OBSERVER_THREADS = 2;

/**
 * Acceptor and engine of a router in the thread of the test, with inline links and no control plane: a test sees into both, and settings
 * may have values that no configuration gives.
 */
export class InlineRouter implements AsyncDisposable {
  readonly host = HOST;
  readonly port: number;
  readonly settings: Settings;
  readonly acceptor: Acceptor;
  readonly engine: Engine;
  readonly block: ControlBlock;
  /** What the acceptor said to an operator. */
  readonly notes: readonly string[];
  /** Resolves when a drain has ended. */
  readonly drained: Promise<void>;
  readonly #counters: SharedArrayBuffer;
  readonly #shared: SharedByThreads;

  private constructor(
    port: number,
    settings: Settings,
    acceptor: Acceptor,
    engine: Engine,
    block: ControlBlock,
    counters: SharedArrayBuffer,
    shared: SharedByThreads,
    notes: readonly string[],
    drained: Promise<void>,
  ) {
    this.port = port;
    this.settings = settings;
    this.acceptor = acceptor;
    this.engine = engine;
    this.block = block;
    this.notes = notes;
    this.drained = drained;
    this.#counters = counters;
    this.#shared = shared;
  }

  static async start(options: InlineRouterOptions): Promise<InlineRouter> {
    const { nameservices, mounts, keys = {}, settings = {}, beside, workers = 1 } = options;
    const topology: Topology = {
      nameservices: Object.entries(nameservices).map(([id, ports]) => ({
        id,
        namenodes: [ports].flat().map((place, i) => ({ id: `nn${i}`, ...addressOf(place) })),
      })),
    };
    const overrides = Object.entries(keys).map(([key, value]) => ({ key, value, origin: 'test' }));
    const configuration = new Configuration({ directory: null, overrides });
    const read = readSettings(configuration, topology, { HADOOP_USER_NAME: 'router' });
    const all: Settings = { ...read, rpcHost: HOST, routerId: 'router:8888', handoff: 'inline', ...settings };

    const shared = beside === undefined ? makeShared(all, topology, workers) : beside.#shared;
    const { control } = shared;
    const counters = createCounters(ONE_THREAD);
    const block = new ControlBlock(control, topology.nameservices.length);
    const observers = openObserverMemory(shared.observers, topology, beside === undefined ? 0 : 1);
    const admission = openAdmissionMemory(shared.admission, topology, beside === undefined ? 0 : 1);
    const engine = new Engine(all, topology, control, new Counters(counters, 0), () => {}, observers, admission);
    const clients = createClientCounts({ ...all, acceptors: 1 });
    const impersonation = new Impersonation(configuration);
    const notes: string[] = [];
    const drained = Promise.withResolvers<void>();
    const acceptor: Acceptor = new Acceptor(
      all,
      block,
      new Counters(counters, 0),
      {
        authorize: (connection, generation, identity) =>
          void impersonation
            .refusalOf(identity)
            .then((refusal) => acceptor.onAuthorized(connection, generation, refusal)),
        note: (text) => notes.push(text),
        drained: drained.resolve,
      },
      clients === null ? null : new ClientCounts(clients, 0),
    );
    const { workerLink, acceptorLink } = makeInlineLinks(0, 0, acceptor, engine);
    engine.addLink(acceptorLink);
    acceptor.addWorker(0, workerLink);
    engine.resolver.snapshot = snapshotOf(mounts, topology, all);
    const listening = Promise.withResolvers<number>();
    acceptor.listen(0, listening.resolve, listening.reject);
    const port = await listening.promise;
    return new InlineRouter(port, all, acceptor, engine, block, counters, shared, notes, drained.promise);
  }

  /** A mount table in place of the one before, as the control plane swaps them: between two events. */
  swapMounts(mounts: InlineRouterOptions['mounts']): void {
    const { resolver, topology, settings } = this.engine;
    resolver.snapshot = snapshotOf(mounts, topology, settings, resolver.epoch + 1);
  }

  /** Sum of one counter. */
  count(counter: CounterName): number {
    return readCounters(this.#counters)[counter];
  }

  /** Sets one counter of the thread that is a level. */
  setLevel(counter: CounterName, level: number): void {
    this.acceptor.counters.set(Counter[counter], level);
  }

  /** What became of reads from the observers of a nameservice, of all workers together. */
  figures(nameservice = 0): Readonly<Record<FigureName, number>> {
    const { observers } = this.#shared;
    if (observers === null) throw new Error('no nameservice takes part in reads from observers');
    const sums = readFigures(observers.figures, this.engine.topology.nameservices.length);
    return sums[nameservice] as Record<FigureName, number>;
  }

  /** What admission does at a nameservice, of all workers together. */
  admitted(nameservice = 0): Sums {
    return readAdmissionFigures(this.#shared.admission.figures, this.engine.topology.nameservices.length)[
      nameservice
    ] as Sums;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.acceptor.close();
    this.engine.close();
    // Sockets close in the turn after.
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Memory of all threads of a process. */
interface SharedByThreads {
  readonly control: SharedArrayBuffer;
  readonly observers: ObserverMemory | null;
  readonly admission: AdmissionMemory;
}

function makeShared(settings: Settings, topology: Topology, workers: number): SharedByThreads {
  return {
    control: createControlBlock(topology.nameservices.length),
    observers: createObserverMemory(settings, topology, OBSERVER_THREADS),
    admission: createAdmissionMemory(topology, OBSERVER_THREADS, workers),
  };
}

/** The mount table of strings and records. */
export function snapshotOf(
  mounts: InlineRouterOptions['mounts'],
  { nameservices }: Topology,
  { routerUser, superGroup }: Settings,
  epoch = 1,
): MountSnapshot {
  const records = mounts.map((mount) => (typeof mount === 'string' ? recordOf(mount) : mount));
  const entries = parseMounts(JSON.stringify(records), 'mounts', { routerUser, superGroup, nowMs: 1_700_000_000_000 });
  const names = nameservices.map(({ id }) => id);
  return MountSnapshot.from(buildSnapshot(entries, names, epoch, null));
}

function addressOf(place: Place): { host: string; port: number } {
  if (typeof place === 'number') return { host: HOST, port: place };
  const [host = '', port] = place.split(':');
  return { host, port: Number(port) };
}

function recordOf(spec: string): MountRecord {
  const [srcPath = '', target = ''] = spec.split('=');
  const colon = target.indexOf(':');
  return { srcPath, destinations: [{ nameserviceId: target.slice(0, colon), path: target.slice(colon + 1) }] };
}
