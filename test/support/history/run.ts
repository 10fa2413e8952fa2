import { Chaos, type Mischief } from './chaos.ts';
import { check } from './checker.ts';
import { Deployment, type DeploymentOptions } from './deployment.ts';
import { History } from './history.ts';
import type { Report } from './report.ts';
import { runWorkload, writeAll } from './workload.ts';

const CLIENTS = 32;
/** Every so many clients one sends no state. */
const PLAIN_EACH = 8;
const FILES = 32;
/** Operations between two looks whether there is a violation already. */
const CHUNK = 2000;
const REFRESH_MS = 250;
const PATIENCE_MS = 500;
/** As long as an observer may be stuck in a run; whoever reads on and on must have gone elsewhere by then. */
const FRESH_MS = 2000;

export interface RunOptions {
  readonly seed: number;
  readonly operations: number;
  /** Share of msyncs; default: that of workloads. */
  readonly msyncs?: number;
  /** What is done meanwhile; default: everything there is. */
  readonly mischief?: readonly Mischief[];
  /** Default inline. */
  readonly kind?: DeploymentOptions['kind'];
  /** Ends early with so many violations. */
  readonly endsAt?: number;
}

export interface RunResult {
  readonly report: Report;
  readonly operationsPerSecond: number;
  readonly mischief: ReadonlyMap<Mischief, number>;
  /** Calls that were sent again by clients, and why operations failed in the end, with their numbers. */
  readonly resent: number;
  readonly reasons: ReadonlyMap<string, number>;
  /** Reads that observers have executed, and all others. */
  readonly observerReads: number;
  readonly otherReads: number;
}

/** Two routers before two nameservices, clients that work through both, and harm done to all of them; what the checker says of the history. */
export async function run({
  seed,
  operations,
  msyncs,
  mischief,
  kind = 'inline',
  endsAt = Number.POSITIVE_INFINITY,
}: RunOptions): Promise<RunResult> {
  const keys = {
    'dfs.federation.router.observer.state.id.refresh.period': `${REFRESH_MS}ms`,
    'switchyard.observer.patience': `${PATIENCE_MS}ms`,
  };
  await using deployment = await Deployment.start({ kind, keys, simulator: { seed } });
  const history = new History({
    nameservices: deployment.nameservices,
    filesPerNameservice: FILES,
    clients: CLIENTS,
    freshMs: FRESH_MS,
  });
  const clients = Array.from({ length: CLIENTS }, (_, index) =>
    deployment.connect(history, index, index % PLAIN_EACH === PLAIN_EACH - 1 ? 'none' : 'federated'),
  );
  await writeAll(history, clients[0]!, 0);
  const chaos = new Chaos(deployment, history, seed, mischief);
  chaos.start();
  const startMs = performance.now();
  const shares = msyncs === undefined ? {} : { msyncs };
  const { routers } = deployment;
  if (endsAt === Number.POSITIVE_INFINITY)
    await runWorkload({ history, clients, routers, seed, operations, ...shares });
  else {
    for (let done = 0; done < operations && check(history).count < endsAt; done += CHUNK) {
      await runWorkload({ history, clients, routers, seed: seed + done, operations: CHUNK, ...shares });
    }
  }
  const seconds = (performance.now() - startMs) / 1000;
  await chaos.heal();
  const reasons = new Map<string, number>();
  for (const { trouble } of clients) {
    for (const [reason, count] of trouble.reasons) reasons.set(reason, (reasons.get(reason) ?? 0) + count);
  }
  const reads = Object.entries(await deployment.simulator.control({ op: 'counts' })).filter(([key]) =>
    key.endsWith(' getFileInfo'),
  );
  const sumOf = (isObserver: boolean): number =>
    reads.reduce((sum, [key, count]) => sum + (/ nn[01] /.test(key) === isObserver ? 0 : count), 0);
  return {
    report: check(history),
    operationsPerSecond: history.length / seconds,
    mischief: chaos.done,
    resent: clients.reduce((sum, { trouble }) => sum + trouble.resent, 0),
    reasons,
    observerReads: sumOf(true),
    otherReads: sumOf(false),
  };
}
