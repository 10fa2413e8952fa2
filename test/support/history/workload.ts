import { Random } from '../../../src/load/thread/random.ts';
import type { HistoryClient } from './client.ts';
import type { History } from './history.ts';

export interface WorkloadOptions {
  readonly history: History;
  readonly clients: readonly HistoryClient[];
  readonly routers: number;
  readonly seed: number;
  /** In all; the workload ends when they are over. */
  readonly operations: number;
  /** Operations of one client at a time. Default 4. */
  readonly depth?: number;
  /** Shares of all operations. Defaults 0.15 and 0.002. */
  readonly writes?: number;
  readonly msyncs?: number;
  /** The only one that writes and msyncs go to: clients of NameNodes know the active one. */
  readonly active?: number;
}

/** What a client does after an operation with the same file: readers come back, writers look at what they wrote. */
const SAME_FILE_SHARE = 0.5;
/** Goes to the router of the client's last operation; else to any. */
const SAME_ROUTER_SHARE = 0.4;

/** Lets all clients work until `operations` are over. The seed gives the choices, not the order of answers. */
export async function runWorkload(options: WorkloadOptions): Promise<void> {
  const { history, clients, routers, seed, operations, depth = 4, writes = 0.15, msyncs = 0.002, active } = options;
  let left = operations;

  async function work(client: HistoryClient, random: Random): Promise<void> {
    let file = random.nextBelow(history.files);
    let router = random.nextBelow(routers);
    while (left > 0) {
      left--;
      if (random.nextShare() >= SAME_FILE_SHARE) file = random.nextBelow(history.files);
      if (random.nextShare() >= SAME_ROUTER_SHARE) router = random.nextBelow(routers);
      const share = random.nextShare();
      if (share < writes) await client.write(file, active ?? router);
      else if (share < writes + msyncs) await client.msync(active ?? router);
      else await client.read(file, router);
    }
  }

  const loops = clients.flatMap((client, at) =>
    Array.from({ length: depth }, (_, loop) => work(client, new Random(seed, at * depth + loop))),
  );
  await Promise.all(loops);
}

/** Writes every file once. */
export async function writeAll(history: History, client: HistoryClient, router: number): Promise<void> {
  const all = Array.from({ length: history.files }, (_, file) => client.write(file, router));
  const written = await Promise.all(all);
  if (!written.every((succeeded) => succeeded)) {
    throw new Error(`not all files could be written: ${[...client.trouble.reasons.keys()].join('; ')}`);
  }
}
