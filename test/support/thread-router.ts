import { createAdmissionMemory } from '../../src/admission/shared/memory.ts';
import { Configuration } from '../../src/config/configuration.ts';
import { readSettings } from '../../src/config/settings.ts';
import { Listeners } from '../../src/control/listeners.ts';
import { type RouterThread, type ThreadEvents, ThreadPool, type ThreadShare } from '../../src/control/thread-pool.ts';
import { makeRingPlumbing } from '../../src/handoff/ring-end.ts';
import type { MountEntry } from '../../src/mount/entry.ts';
import { buildSnapshot } from '../../src/mount/radix-build.ts';
import { createObserverMemory } from '../../src/observer/shared/memory.ts';
import { createClientCounts } from '../../src/shared/client-counts.ts';
import { ControlBlock, createControlBlock } from '../../src/shared/control-block.ts';
import { createCounters } from '../../src/shared/counters.ts';
import { allocateEpochWords } from '../../src/shared/epochs.ts';
import type { Settings, Topology } from '../../src/shared/settings.ts';
import type { FromThread, ToThread } from '../../src/threads/messages.ts';
import { recordLog } from './store-routers.ts';
import { within } from './wait.ts';

export interface ThreadRouterOptions {
  readonly handoff: Settings['handoff'];
  readonly topology: Topology;
  readonly entries: readonly MountEntry[];
  readonly keys?: Readonly<Record<string, string>>;
}

const HOST = '127.0.0.1';
const RING_BYTES = 256 * 1024;

/** The threads of a router (one acceptor, one worker, or both in one) without its control plane: a test is what tells them things. */
export class ThreadRouter implements AsyncDisposable, ThreadEvents {
  readonly host = HOST;
  port = 0;
  readonly block: ControlBlock;
  readonly settings: Settings;
  readonly #topology: Topology;
  readonly #entries: readonly MountEntry[];
  readonly #acceptors: ThreadPool;
  readonly #workers: ThreadPool | null;
  readonly #listeners: Listeners;
  readonly #ready = Promise.withResolvers<void>();

  private constructor({ handoff, topology, entries, keys = {} }: ThreadRouterOptions) {
    const overrides = Object.entries(keys).map(([key, value]) => ({ key, value, origin: 'test' }));
    const configuration = new Configuration({ directory: null, overrides });
    const read = readSettings(configuration, topology, { HADOOP_USER_NAME: 'router' });
    this.settings = { ...read, rpcHost: HOST, routerId: 'router:8888', handoff, acceptors: 1, workers: 1 };
    this.#topology = topology;
    this.#entries = entries;
    const { length } = topology.nameservices;
    const control = createControlBlock(length);
    this.block = new ControlBlock(control, length);
    const threads = handoff === 'inline' ? 1 : 2;
    const share: ThreadShare = {
      settings: this.settings,
      topology,
      control,
      counters: createCounters(threads),
      epochs: allocateEpochWords(threads),
      clients: createClientCounts(this.settings),
      observers: createObserverMemory(this.settings, topology, threads),
      admission: createAdmissionMemory(topology, threads, 1),
    };
    const { log } = recordLog();
    const kind = handoff === 'inline' ? 'inline' : 'acceptor';
    this.#acceptors = new ThreadPool(kind, 1, 0, share, this, log, () => 1);
    this.#workers = handoff === 'inline' ? null : new ThreadPool('worker', 1, 1, share, this, log, () => 1);
    this.#listeners = new Listeners(this.#acceptors.threads, 0);
  }

  static async start(options: ThreadRouterOptions): Promise<ThreadRouter> {
    const router = new ThreadRouter(options);
    await router.#start();
    return router;
  }

  /** To the thread with the engine. */
  tell(message: ToThread): void {
    for (const thread of (this.#workers ?? this.#acceptors).threads) thread.tell(message);
  }

  onReady(): void {
    const pools = this.#workers === null ? [this.#acceptors] : [this.#acceptors, this.#workers];
    if (pools.every(({ threads }) => threads.every(({ ready }) => ready))) this.#ready.resolve();
  }

  onMessage(thread: RouterThread, message: FromThread): void {
    if (message.kind === 'listening') this.#listeners.onListening(thread, message.port);
    else if (message.kind === 'authorize') {
      const { connection, generation } = message;
      thread.tell({ kind: 'authorized', connection, generation, refusal: null });
    }
  }

  onDeath(thread: RouterThread): void {
    this.#ready.reject(new Error(`${thread.kind} ${thread.index} has died`));
  }

  onHopeless(): void {}

  async #start(): Promise<void> {
    this.#acceptors.start();
    this.#workers?.start();
    await within(this.#ready.promise, 'the threads run');
    const [acceptor] = this.#acceptors.threads as [RouterThread];
    const [worker] = this.#workers?.threads ?? [];
    const ids = this.#topology.nameservices.map(({ id }) => id);
    this.tell({ kind: 'snapshot', buffer: buildSnapshot([...this.#entries], ids, 1, null) });
    if (worker !== undefined) {
      const { acceptorEnd, workerEnd } = makeRingPlumbing(RING_BYTES);
      worker.tell({ kind: 'link', peer: 0, plumbing: workerEnd }, [workerEnd.port]);
      acceptor.tell({ kind: 'link', peer: 0, plumbing: acceptorEnd }, [acceptorEnd.port]);
    }
    this.#listeners.serve(acceptor);
    this.port = await within(this.#listeners.all, 'it listens');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#acceptors.stop(), this.#workers?.stop()]);
  }
}
