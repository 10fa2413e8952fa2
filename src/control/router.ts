import { Demand } from '../admission/shared/demand.ts';
import { readFigures as readAdmissionFigures } from '../admission/shared/figures.ts';
import { createAdmissionMemory } from '../admission/shared/memory.ts';
import { Groups, readGroupOptions } from '../config/groups.ts';
import { bytesWaitingIn } from '../handoff/ring.ts';
import { makeRingPlumbing, type RingPlumbing } from '../handoff/ring-end.ts';
import { readFigures } from '../observer/shared/figures.ts';
import { createObserverMemory, openObserverMemory } from '../observer/shared/memory.ts';
import type { StateWords } from '../observer/shared/state-words.ts';
import { reclaim } from '../shared/byte-budget.ts';
import { createClientCounts } from '../shared/client-counts.ts';
import { ControlBlock, createControlBlock } from '../shared/control-block.ts';
import { Counters, createCounters, readCounters, readMethodCounts } from '../shared/counters.ts';
import { allocateEpochWords, announceFirst, NO_EPOCH } from '../shared/epochs.ts';
import type { AdmissionSettings } from '../shared/settings.ts';
import type { FromThread, ToThread } from '../threads/messages.ts';
import { SharedScheduler } from './admission/shared-scheduler.ts';
import { judgeDescriptorLimit, readDescriptorLimit } from './descriptors.ts';
import { Federation } from './federation.ts';
import { Impersonation } from './impersonation.ts';
import { raiseInlining } from './jit.ts';
import { Listeners } from './listeners.ts';
import type { Log } from './log.ts';
import { requireFreePort } from './port-probe.ts';
import {
  ListenError,
  type OpenAdministration,
  type RingLevels,
  type RouterOptions,
  type RouterServices,
  type RunningRouter,
  StartError,
  type ThreadView,
} from './router-types.ts';
import { type RouterThread, type ThreadEvents, ThreadPool, type ThreadShare } from './thread-pool.ts';

/** Size of each ring between an acceptor and a worker. */
const RING_BYTES = 1024 * 1024;
/** Pause before an acceptor that took the place of a dead one tries again to get the port. */
const LISTEN_AGAIN_MS = 500;
/** Longest wait for threads to end after everything was said. */
const STOP_MS = 5000;

/** Starts the threads of a router and resolves when it serves clients. Rejects when it cannot listen or the mount table cannot be built. */
export async function startRouter(options: RouterOptions): Promise<RunningRouter> {
  raiseInlining();
  const router = new Router(options);
  try {
    await router.start();
  } catch (error) {
    await router.stop();
    throw error;
  }
  return router;
}

/** The main thread's side of a router: supervises acceptors and workers, and decides what they ask. */
class Router implements RunningRouter, ThreadEvents {
  rpc = '';
  admin = '';
  http = '';
  readonly closed: Promise<number>;
  readonly #options: RouterOptions;
  readonly #log: Log;
  readonly #block: ControlBlock;
  readonly #share: ThreadShare;
  readonly #acceptors: ThreadPool;
  /** None with the inline hand-off, where every acceptor thread is a worker too. */
  readonly #workers: ThreadPool | null;
  readonly #federation: Federation;
  readonly #scheduler: SharedScheduler;
  /** By acceptor and worker. */
  readonly #rings = new Map<string, Pick<RingPlumbing, 'calls' | 'replies'>>();
  readonly #stateWords: StateWords | null;
  readonly #groups: Groups;
  readonly #impersonation: Impersonation;
  readonly #closed = Promise.withResolvers<number>();
  /** Rejects when the router ends before it serves. */
  readonly #abandoned = Promise.withResolvers<never>();
  readonly #listeners: Listeners;
  #serving = false;
  #drain: Promise<{ cut: number }> | null = null;
  readonly #drained = new Set<RouterThread>();
  #onDrained: () => void = () => {};
  readonly #cuts = new Map<RouterThread, number>();
  #stop: Promise<void> | null = null;
  #administration: OpenAdministration | null = null;
  /** Null: threads have those that they were started with. */
  #newAdmission: AdmissionSettings | null = null;

  constructor(options: RouterOptions) {
    const { settings, topology, configuration, log } = options;
    this.#options = options;
    this.#log = log;
    this.closed = this.#closed.promise;
    this.#abandoned.promise.catch(() => {});
    // First what may refuse the configuration: threads would have to be ended.
    this.#groups = new Groups(readGroupOptions(configuration));
    this.#impersonation = new Impersonation(configuration, this.#groups);
    const nameservices = topology.nameservices.length;
    const inline = settings.handoff === 'inline';
    const threads = settings.acceptors + (inline ? 0 : settings.workers);
    const control = createControlBlock(nameservices);
    this.#block = new ControlBlock(control, nameservices);
    this.#share = {
      settings,
      topology,
      control,
      counters: createCounters(threads),
      epochs: allocateEpochWords(threads),
      clients: createClientCounts(settings),
      observers: createObserverMemory(settings, topology, threads),
      admission: createAdmissionMemory(topology, threads, inline ? settings.acceptors : settings.workers),
    };
    this.#scheduler = new SharedScheduler(settings.admission);
    this.#stateWords = openObserverMemory(this.#share.observers, topology, 0)?.state ?? null;
    this.#federation = new Federation({
      settings,
      topology,
      configuration,
      given: options.entries,
      driver: options.driver,
      block: this.#block,
      epochs: this.#share.epochs,
      observers: this.#stateWords,
      version: options.version,
      log,
      tell: (message) => {
        for (const thread of this.#engines()) this.#tellEngine(thread, message);
      },
    });
    const epoch = (): number => this.#federation.publisher.epoch;
    // Acceptors look at no mount table: one that announced an epoch would never leave it.
    const none = (): number => NO_EPOCH;
    this.#acceptors = new ThreadPool(
      inline ? 'inline' : 'acceptor',
      settings.acceptors,
      0,
      this.#share,
      this,
      log,
      inline ? epoch : none,
    );
    this.#workers = inline
      ? null
      : new ThreadPool('worker', settings.workers, settings.acceptors, this.#share, this, log, epoch);
    this.#listeners = new Listeners(this.#acceptors.threads, settings.rpcPort);
  }

  /** Rejects when it cannot serve, or when it ends meanwhile. */
  async start(): Promise<void> {
    await Promise.race([this.#start(), this.#abandoned.promise]);
  }

  async #start(): Promise<void> {
    const { settings, topology, openAdministration } = this.#options;
    const tight = judgeDescriptorLimit(readDescriptorLimit(), settings, topology);
    if (tight !== null) this.#log.warn(tight);
    await Promise.all([this.#federation.start(), this.#startThreads()]);
    if (this.#stop !== null) return;
    if (openAdministration !== null) {
      const administration = await openAdministration({
        federation: this.#federation,
        block: this.#block,
        observerReads: this.#observerReads(),
        scheduler: () => this.#scheduler.report(),
        counters: () => readCounters(this.#share.counters),
        methodCounts: () => readMethodCounts(this.#share.counters),
        rings: () => this.#ringLevels(),
        threads: () => this.#viewThreads(),
        rpcAddress: () => this.rpc,
        isDraining: () => this.#drain !== null || this.#stop !== null,
        admission: () =>
          readAdmissionFigures(this.#share.admission.figures, topology.nameservices.length, this.#levels),
        admissionLevels: () => this.#levels,
        groups: this.#groups,
        impersonation: this.#impersonation,
        refreshAdmission: (admission) => this.#refreshAdmission(admission),
      });
      if (this.#stop !== null) {
        await administration.stop();
        return;
      }
      this.#administration = administration;
      this.admin = administration.adminAddress;
      this.http = administration.httpAddress;
    }
    if (settings.acceptors > 1 && settings.rpcPort !== 0) await this.#probePort();
    if (this.#stop !== null) return;
    // A thread that takes the place of one that dies from here on is given all that by `onReady`.
    this.#serving = true;
    this.#scheduler.start();
    for (const thread of this.#engines()) this.#prepareEngine(thread);
    for (const acceptor of this.#acceptors.threads) this.#connectAcceptor(acceptor);
    const port = await this.#listeners.all;
    this.rpc = `${settings.rpcHost.includes(':') ? `[${settings.rpcHost}]` : settings.rpcHost}:${port}`;
    this.#federation.serve(this.#administration?.recordedAddress ?? '');
    this.#log.info(
      {
        rpc: this.rpc,
        ...(this.admin === '' ? {} : { admin: this.admin }),
        ...(this.http === '' ? {} : { http: this.http }),
        mounts: this.#federation.live.entries.length,
        handoff: settings.handoff,
        acceptors: settings.acceptors,
        workers: settings.workers,
      },
      'serving',
    );
  }

  drain(): Promise<{ cut: number }> {
    this.#drain ??= this.#runDrain();
    return this.#drain;
  }

  stop(): Promise<void> {
    this.#stop ??= this.#runStop();
    this.#abandoned.reject(new StartError('the router has ended before it served clients; its log says why'));
    return this.#stop;
  }

  // --- events of the threads

  onReady(thread: RouterThread): void {
    if (!this.#serving) {
      this.#onStarted();
      return;
    }
    // It takes the place of one that died.
    if (thread.kind !== 'acceptor') this.#prepareEngine(thread);
    if (thread.kind === 'worker') for (const acceptor of this.#acceptors.threads) this.#connect(acceptor, thread);
    else if (this.#drain === null) this.#connectAcceptor(thread);
    else thread.tell({ kind: 'drain' });
  }

  onDeath(thread: RouterThread): void {
    if (thread.kind !== 'worker') this.#listeners.onDeath(thread);
    if (thread.kind !== 'acceptor') this.#scheduler.leave(thread.index);
    const counters = new Counters(this.#share.counters, thread.thread);
    reclaim(this.#block, counters);
    counters.forgetLevels();
    new Demand(this.#share.admission.demand, thread.thread, this.#options.topology.nameservices.length).forget();
    const peers = thread.kind === 'worker' ? this.#acceptors.threads : (this.#workers?.threads ?? []);
    for (const peer of peers) peer.tell({ kind: 'peer-down', peer: thread.index });
    // It holds no mount table any more.
    this.#federation.live.onAnnounced();
  }

  onHopeless(thread: RouterThread): void {
    this.#log.fatal({ thread: `${thread.kind} ${thread.index}` }, 'a thread dies again and again: the router ends');
    void this.stop().then(() => this.#closed.resolve(1));
  }

  onMessage(thread: RouterThread, message: FromThread): void {
    switch (message.kind) {
      case 'listening':
        this.#listeners.onListening(thread, message.port);
        break;
      case 'listen-failed':
        this.#onListenFailed(thread, message.message);
        break;
      case 'authorize': {
        const { connection, generation, identity } = message;
        const { port } = thread;
        // A thread that has taken its place since has other connections of these numbers.
        void this.#impersonation.refusalOf(identity).then((refusal) => {
          if (thread.port === port) thread.tell({ kind: 'authorized', connection, generation, refusal });
        });
        break;
      }
      case 'announced':
        this.#federation.live.onAnnounced();
        break;
      case 'admission-booked':
        this.#scheduler.onBooked(thread.index, message);
        break;
      case 'note':
        this.#log.warn({ thread: `${thread.kind} ${thread.index}` }, message.text);
        break;
      case 'drained':
        this.#drained.add(thread);
        if (this.#drained.size === this.#acceptors.threads.length) this.#onDrained();
        break;
      case 'stopped':
        this.#cuts.set(thread, message.cut);
        break;
      default:
        break;
    }
  }

  // --- start

  #onStarted: () => void = () => {};

  #startThreads(): Promise<void> {
    const pools = this.#workers === null ? [this.#acceptors] : [this.#acceptors, this.#workers];
    const started = Promise.withResolvers<void>();
    this.#onStarted = () => {
      if (pools.every((pool) => pool.threads.every((thread) => thread.ready))) started.resolve();
    };
    for (const pool of pools) pool.start();
    return started.promise;
  }

  async #probePort(): Promise<void> {
    const { rpcHost, rpcPort } = this.#options.settings;
    try {
      await requireFreePort(rpcHost, rpcPort);
    } catch (error) {
      throw this.#listenError(error instanceof Error ? error.message : String(error));
    }
  }

  #onListenFailed(acceptor: RouterThread, why: string): void {
    this.#listeners.onFailed(acceptor);
    if (this.rpc === '') {
      this.#listeners.fail(this.#listenError(why));
      return;
    }
    this.#log.error({ thread: `${acceptor.kind} ${acceptor.index}` }, `cannot listen again yet: ${why}`);
    setTimeout(() => {
      if (this.#drain === null) this.#listeners.ask(acceptor);
    }, LISTEN_AGAIN_MS).unref();
  }

  #listenError(why: string): ListenError {
    const { rpcHost, rpcPort } = this.#options.settings;
    return new ListenError(
      `cannot listen on ${rpcHost}:${rpcPort} (dfs.federation.router.rpc-address, --rpc): ${why}; choose another port, or stop what holds it`,
    );
  }

  #observerReads(): RouterServices['observerReads'] {
    const { observers, topology } = this.#share;
    const words = this.#stateWords;
    if (observers === null || words === null) return null;
    const { length } = topology.nameservices;
    return { words, lags: this.#federation.observerLags, figures: () => readFigures(observers.figures, length) };
  }

  #engines(): readonly RouterThread[] {
    return (this.#workers ?? this.#acceptors).threads;
  }

  #tellEngine(thread: RouterThread, message: ToThread): void {
    if (message.kind === 'snapshot' && thread.port !== null)
      announceFirst(this.#share.epochs, thread.thread, this.#federation.publisher.epoch);
    thread.tell(message);
  }

  /** Priority levels of the queues now. */
  get #levels(): number {
    return (this.#newAdmission ?? this.#options.settings.admission).levels;
  }

  #refreshAdmission(admission: AdmissionSettings): void {
    this.#newAdmission = admission;
    for (const thread of this.#engines()) thread.tell({ kind: 'admission', admission });
    this.#scheduler.apply(admission);
  }

  #prepareEngine(thread: RouterThread): void {
    if (this.#newAdmission !== null) thread.tell({ kind: 'admission', admission: this.#newAdmission });
    this.#scheduler.join(thread);
    this.#federation.tellAll((message) => this.#tellEngine(thread, message));
  }

  /** Gives it its workers, and clients as soon as there is one. */
  #connectAcceptor(acceptor: RouterThread): void {
    if (this.#workers === null) this.#listeners.serve(acceptor);
    else for (const worker of this.#workers.threads) this.#connect(acceptor, worker);
  }

  #connect(acceptor: RouterThread, worker: RouterThread): void {
    if (!acceptor.ready || !worker.ready) return;
    const { acceptorEnd, workerEnd } = makeRingPlumbing(RING_BYTES);
    this.#rings.set(`${acceptor.index} ${worker.index}`, acceptorEnd);
    worker.tell({ kind: 'link', peer: acceptor.index, plumbing: workerEnd }, [workerEnd.port]);
    acceptor.tell({ kind: 'link', peer: worker.index, plumbing: acceptorEnd }, [acceptorEnd.port]);
    if (this.#drain === null) this.#listeners.serve(acceptor);
  }

  #viewThreads(): ThreadView[] {
    const threads = [...this.#acceptors.threads, ...(this.#workers?.threads ?? [])];
    return threads.map(({ kind, index, ready, deaths }) => ({
      name: `${kind} ${index}`,
      ready,
      deaths: deaths.length,
    }));
  }

  #ringLevels(): RingLevels {
    let calls = 0;
    let replies = 0;
    for (const ring of this.#rings.values()) {
      calls += bytesWaitingIn(ring.calls);
      replies += bytesWaitingIn(ring.replies);
    }
    return { calls, replies, capacity: this.#rings.size * RING_BYTES };
  }

  // --- end

  async #runDrain(): Promise<{ cut: number }> {
    const { drainMs } = this.#options.settings;
    this.#block.setDraining();
    const drained = Promise.withResolvers<void>();
    this.#onDrained = drained.resolve;
    for (const acceptor of this.#acceptors.threads) acceptor.tell({ kind: 'drain' });
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([
      drained.promise,
      new Promise((resolve) => {
        timer = setTimeout(resolve, drainMs);
      }),
    ]);
    clearTimeout(timer);
    await this.stop();
    const cut = [...this.#cuts.values()].reduce((sum, each) => sum + each, 0);
    this.#closed.resolve(cut === 0 ? 0 : 1);
    return { cut };
  }

  /** In bounded time; never rejects. */
  async #runStop(): Promise<void> {
    this.#log.debug(readCounters(this.#share.counters), 'counters at the end');
    this.#scheduler.stop();
    const ended = Promise.allSettled([
      this.#acceptors.stop(),
      this.#workers?.stop(),
      this.#administration?.stop(),
      this.#federation.stop(),
    ]);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<null>((resolve) => {
      timer = setTimeout(() => resolve(null), STOP_MS);
    });
    const results = await Promise.race([ended, late]);
    clearTimeout(timer);
    if (results === null) this.#log.warn(`not everything has ended within ${STOP_MS} ms`);
    for (const result of results ?? []) {
      if (result.status === 'rejected')
        this.#log.error({ err: result.reason }, 'a part of the router did not end well');
    }
  }
}
