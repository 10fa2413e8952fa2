import { middleMicrosOf } from '../../src/load/histogram/latency-buckets.ts';
import type {
  FinalReport,
  FromLoader,
  LoadPlan,
  ReplayCall,
  ReplayLinks,
  SecondReport,
  Target,
} from '../../src/load/plan/plan.ts';
import { LoadThread } from '../../src/load/thread/load-thread.ts';
import { within } from './wait.ts';

export const TARGET: Target = { name: 'data', directory: '/data', own: '/data/switchyard-load-00c0ffee' };

/** No call waits for one of another thread. */
export const NO_LINKS: ReplayLinks = { foreign: new Int32Array(0), awaited: new Int32Array(0) };

/** A plan that reads files of TARGET in a closed loop over one connection, 10 calls; tests change what they are about. */
export function loadPlan(changes: Partial<LoadPlan> = {}): LoadPlan {
  return {
    host: '127.0.0.1',
    port: 1,
    loop: { kind: 'closed' },
    connections: 1,
    inFlight: 1,
    users: ['alice'],
    mix: [{ operation: 'getFileInfo', weight: 1 }],
    targets: [TARGET],
    paths: [],
    distribution: { kind: 'uniform' },
    filesPerTarget: 10,
    warmupMs: 0,
    durationMs: null,
    calls: changes.durationMs === undefined ? 10 : null,
    timeoutMs: 10_000,
    threads: 1,
    observerReads: false,
    watchedPid: null,
    seed: 1,
    ...changes,
  };
}

/** The load of one thread, in the thread of the test. */
export class LoadRun implements AsyncDisposable {
  readonly thread: LoadThread;
  readonly messages: FromLoader[] = [];
  readonly seconds: SecondReport[] = [];
  readonly #waiters = new Set<() => void>();

  constructor(plan: LoadPlan, replay: readonly ReplayCall[] = []) {
    const connections = Array.from({ length: plan.connections }, (_, index) => index);
    const start = {
      plan,
      thread: 0,
      connections,
      rateShare: 1,
      calls: plan.calls,
      replay,
      links: NO_LINKS,
      port: null as never,
    };
    this.thread = new LoadThread(start, (message) => {
      this.messages.push(message);
      if (message.kind === 'second') this.seconds.push(message);
      for (const waiter of [...this.#waiters]) waiter();
    });
  }

  /** All connections are open. */
  async connect(): Promise<this> {
    this.thread.connect();
    const { kind } = await this.message('connected', 'failed');
    if (kind !== 'connected') throw new Error(JSON.stringify(this.messages));
    return this;
  }

  begin(): void {
    this.thread.begin(performance.timeOrigin + performance.now());
  }

  /** From the first connection to the final report. */
  async complete(): Promise<FinalReport> {
    await this.connect();
    this.begin();
    return this.final();
  }

  async final(): Promise<FinalReport> {
    return (await this.message('final')) as FinalReport;
  }

  /** The first message of one of these kinds. */
  async message(...kinds: FromLoader['kind'][]): Promise<FromLoader> {
    const find = (): FromLoader | undefined => this.messages.find(({ kind }) => kinds.includes(kind));
    await this.until(() => find() !== undefined, `a message of the loader thread: ${kinds.join(' or ')}`);
    return find() as FromLoader;
  }

  /** A message has made the condition true. */
  async until(condition: () => boolean, what: string): Promise<void> {
    if (condition()) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiter = (): void => {
      if (condition()) resolve();
    };
    this.#waiters.add(waiter);
    try {
      await within(promise, what);
    } finally {
      this.#waiters.delete(waiter);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.thread.abandon();
    await this.thread.done;
  }
}

/** Records of at least so many ms. */
export function countFrom(counts: Uint32Array, leastMs: number): number {
  let sum = 0;
  for (let bucket = 0; bucket < counts.length; bucket++) {
    if (middleMicrosOf(bucket) >= leastMs * 1000) sum += counts[bucket] as number;
  }
  return sum;
}
