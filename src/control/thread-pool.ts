import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { Piscina } from 'piscina';
import type { AdmissionMemory } from '../admission/shared/memory.ts';
import type { ObserverMemory } from '../observer/shared/memory.ts';
import type { EpochWords, SharedBytes } from '../shared/epochs.ts';
import { announceEpoch, retireThread } from '../shared/epochs.ts';
import type { Settings, Topology } from '../shared/settings.ts';
import type { FromThread, ThreadStart, ToThread } from '../threads/messages.ts';
import type { Log } from './log.ts';

export type ThreadKind = 'acceptor' | 'worker' | 'inline';

/** Deaths of one thread within RESTART_WINDOW_MS after which the process gives up. */
const MAX_RESTARTS = 10;
const RESTART_WINDOW_MS = 60_000;
const FIRST_RESTART_PAUSE_MS = 50;

/** Shared by all threads of the process. */
export interface ThreadShare {
  readonly settings: Settings;
  readonly topology: Topology;
  readonly control: SharedBytes;
  readonly counters: SharedBytes;
  readonly epochs: EpochWords;
  readonly clients: SharedBytes | null;
  readonly observers: ObserverMemory | null;
  readonly admission: AdmissionMemory;
}

export interface ThreadEvents {
  onMessage(thread: RouterThread, message: FromThread): void;
  /** It runs: for the first time, or again after it died. */
  onReady(thread: RouterThread): void;
  onDeath(thread: RouterThread): void;
  /** It dies again and again. */
  onHopeless(thread: RouterThread): void;
}

/** One long-running thread: its number, its line to the main thread. */
export class RouterThread {
  readonly kind: ThreadKind;
  readonly index: number;
  readonly thread: number;
  port: MessagePort | null = null;
  ready = false;
  readonly deaths: number[] = [];

  constructor(kind: ThreadKind, index: number, thread: number) {
    this.kind = kind;
    this.index = index;
    this.thread = thread;
  }

  tell(message: ToThread, transfer: MessagePort[] = []): void {
    this.port?.postMessage(message, transfer);
  }
}

/**
 * The threads of one kind. Piscina owns them: each runs one task that ends at stop; the rejection of that task is the notice of its death,
 * and piscina has a fresh thread ready for the next run.
 */
export class ThreadPool {
  readonly threads: readonly RouterThread[];
  readonly #piscina: Piscina;
  readonly #share: ThreadShare;
  readonly #events: ThreadEvents;
  readonly #log: Log;
  readonly #epoch: () => number;
  readonly #runs = new Set<Promise<void>>();
  #stopping = false;

  /** `firstThread` is the number of its first thread among all; `epoch` the mount snapshot that a starting thread will be given. */
  constructor(
    kind: ThreadKind,
    count: number,
    firstThread: number,
    share: ThreadShare,
    events: ThreadEvents,
    log: Log,
    epoch: () => number,
  ) {
    this.#share = share;
    this.#events = events;
    this.#log = log;
    this.#epoch = epoch;
    const suffix = import.meta.filename.endsWith('.ts') ? 'ts' : 'js';
    this.#piscina = new Piscina({
      filename: new URL(`../threads/${kind}.${suffix}`, import.meta.url).href,
      minThreads: count,
      maxThreads: count,
      concurrentTasksPerWorker: 1,
      maxQueue: count,
      idleTimeout: Number.POSITIVE_INFINITY,
      atomics: 'disabled',
      recordTiming: false,
    });
    this.threads = Array.from({ length: count }, (_, index) => new RouterThread(kind, index, firstThread + index));
  }

  start(): void {
    for (const thread of this.threads) this.#run(thread);
  }

  /** Every thread is told to stop and has ended. */
  async stop(): Promise<void> {
    this.#stopping = true;
    for (const thread of this.threads) thread.tell({ kind: 'stop' });
    await Promise.all(this.#runs);
    await this.#piscina.destroy();
  }

  #run(thread: RouterThread): void {
    const { port1, port2 } = new MessageChannel();
    thread.port = port1;
    announceEpoch(this.#share.epochs, thread.thread, this.#epoch());
    port1.on('message', (message: FromThread) => {
      if (message.kind === 'ready') {
        thread.ready = true;
        this.#events.onReady(thread);
      } else this.#events.onMessage(thread, message);
    });
    const start: ThreadStart = { index: thread.index, thread: thread.thread, port: port2, ...this.#share };
    const run: Promise<void> = this.#piscina
      .run(start, { transferList: [port2] })
      .catch((error: unknown) => this.#onDeath(thread, error))
      .finally(() => this.#runs.delete(run));
    this.#runs.add(run);
  }

  #onDeath(thread: RouterThread, error: unknown): void {
    retireThread(this.#share.epochs, thread.thread);
    thread.ready = false;
    thread.port?.close();
    thread.port = null;
    if (this.#stopping) return;
    this.#log.error(
      { err: error, thread: `${thread.kind} ${thread.index}` },
      'a thread has died; its calls are answered with RetriableException',
    );
    this.#events.onDeath(thread);
    const now = performance.now();
    thread.deaths.push(now);
    while ((thread.deaths[0] ?? now) < now - RESTART_WINDOW_MS) thread.deaths.shift();
    if (thread.deaths.length > MAX_RESTARTS) {
      this.#events.onHopeless(thread);
      return;
    }
    setTimeout(
      () => {
        if (!this.#stopping) this.#run(thread);
      },
      FIRST_RESTART_PAUSE_MS * 2 ** Math.min(thread.deaths.length - 1, 6),
    );
  }
}
