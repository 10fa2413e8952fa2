import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { Piscina } from 'piscina';
import type {
  FinalReport,
  FromLoader,
  LoadPlan,
  ReplayCall,
  SecondReport,
  ThreadStart,
  ToLoader,
} from '../plan/plan.ts';
import { shareOut, type ThreadShare } from '../plan/shares.ts';
import { LoadError } from './load-error.ts';

/** After `stop` a thread waits up to a second for replies and reports; one that takes this long is stuck. */
const STOP_LIMIT_MS = 10_000;
const REPORT_LIMIT_MS = 2_000;

/**
 * The loader threads of one run. `connected` and `finals` reject with LoadError as soon as one thread cannot connect, or dies; disposing ends
 * all of them.
 */
export class LoaderThreads implements AsyncDisposable {
  /** All connections of all threads are open. */
  readonly connected: Promise<void>;
  /** Final reports in the order of the threads. */
  readonly finals: Promise<readonly FinalReport[]>;
  onSecond: (thread: number, report: SecondReport) => void = () => {};
  onFinal: (thread: number) => void = () => {};
  readonly #piscina: Piscina;
  readonly #ports: MessagePort[] = [];
  readonly #connected = Promise.withResolvers<void>();
  readonly #finals = Promise.withResolvers<readonly FinalReport[]>();
  readonly #reports: (FinalReport | null)[];
  #unconnected: number;
  #stopTimer: NodeJS.Timeout | null = null;
  #begun = false;

  constructor(plan: LoadPlan, replay: readonly ReplayCall[]) {
    const suffix = import.meta.filename.endsWith('.ts') ? 'ts' : 'js';
    this.#piscina = new Piscina({
      filename: new URL(`../thread/loader.${suffix}`, import.meta.url).href,
      minThreads: plan.threads,
      maxThreads: plan.threads,
      concurrentTasksPerWorker: 1,
      maxQueue: plan.threads,
      idleTimeout: Number.POSITIVE_INFINITY,
      atomics: 'disabled',
      recordTiming: false,
    });
    this.connected = this.#connected.promise;
    this.finals = this.#finals.promise;
    // Who only waits for one of the two is not to die of the other.
    this.connected.catch(() => {});
    this.finals.catch(() => {});
    this.#unconnected = plan.threads;
    this.#reports = Array.from({ length: plan.threads }, () => null);
    for (const share of shareOut(plan, replay)) this.#run(plan, share);
  }

  /** All threads begin at this time. To be called once, when all are connected. */
  begin(startAtEpochMs: number): void {
    this.#begun = true;
    this.#tell({ kind: 'begin', startAtEpochMs });
  }

  /** Ends the run early; before `begin` it is given up. */
  stop(): void {
    if (!this.#begun) {
      this.#fail('ended before anything was measured');
      return;
    }
    this.#tell({ kind: 'stop' });
    this.#stopTimer ??= setTimeout(() => this.#fail('a loader thread does not end'), STOP_LIMIT_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#stopTimer !== null) clearTimeout(this.#stopTimer);
    for (const port of this.#ports) port.close();
    this.#fail('ended');
    await this.#piscina.destroy();
  }

  #run(plan: LoadPlan, share: ThreadShare): void {
    const { thread } = share;
    const { port1, port2 } = new MessageChannel();
    this.#ports.push(port1);
    port1.on('message', (message: FromLoader) => this.#receive(thread, message));
    const start: ThreadStart = { plan, ...share, port: port2 };
    this.#piscina
      .run(start, { transferList: [port2] })
      // The report travels on a line of its own and may come after the notice that the task has ended.
      .then(() => setTimeout(() => this.#requireReport(thread), REPORT_LIMIT_MS).unref())
      .catch((error: unknown) => {
        this.#fail(`loader thread ${thread} has died: ${error instanceof Error ? error.message : String(error)}`);
      });
  }

  #receive(thread: number, message: FromLoader): void {
    switch (message.kind) {
      case 'connected':
        if (--this.#unconnected === 0) this.#connected.resolve();
        return;
      case 'failed':
        this.#fail(message.message);
        return;
      case 'over':
        this.#ports[message.thread]?.postMessage({ kind: 'over', calls: message.calls } satisfies ToLoader);
        return;
      case 'second':
        this.onSecond(thread, message);
        return;
      case 'final':
        this.#reports[thread] = message;
        this.onFinal(thread);
        this.#tell({ kind: 'ended', thread });
        this.#settle();
    }
  }

  #settle(): void {
    const reports = this.#reports.filter((report) => report !== null);
    if (reports.length === this.#reports.length) this.#finals.resolve(reports);
  }

  #requireReport(thread: number): void {
    if (this.#reports[thread] === null) this.#fail(`loader thread ${thread} has ended without a report`);
  }

  #fail(message: string): void {
    const error = new LoadError(message);
    this.#connected.reject(error);
    this.#finals.reject(error);
  }

  #tell(message: ToLoader): void {
    for (const port of this.#ports) port.postMessage(message);
  }
}
