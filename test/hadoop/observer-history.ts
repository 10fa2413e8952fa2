import { describe, expect, it } from 'vitest';
import { check } from '../support/history/checker.ts';
import { type Carrier, HistoryClient } from '../support/history/client.ts';
import { History } from '../support/history/history.ts';
import { runWorkload, writeAll } from '../support/history/workload.ts';
import type { ObserverCluster } from './observer-cluster.ts';
import { mountOf, NAMESERVICES, OBSERVED, type ObserverStage } from './observer-stage.ts';
import { directEndpoint, FULL } from './support.ts';

/** What clients of two routers read while observers fall behind and catch up, as a history that the checker judges. */

const SEED = Number(process.env['SWITCHYARD_TEST_SEED'] ?? 1);
const FILES_PER_NAMESERVICE = 8;
const CLIENTS = 10;
/** The last so many send no state. */
const PLAIN_CLIENTS = 2;
const OPERATIONS = FULL ? 100_000 : 6_000;
/** Enough for some of them to be stale. */
const DIRECT_OPERATIONS = 2_000;
/** Default of dfs.federation.router.observer.state.id.refresh.period. */
const REFRESH_MS = 15_000;
const PAUSED_MS = 250;
/** Longer than a router waits for an observer. */
const LONG_PAUSED_MS = 3_000;
const TAILING_MS = 150;
const LIMIT_MS = FULL ? 900_000 : 180_000;

const pause = async (ms: number): Promise<void> => await new Promise((resolve) => setTimeout(resolve, ms));

/**
 * In turns: one observer, then all of a nameservice are kept from the journal, and let go; in full runs now and then for long, and the last
 * nameservice fails over. Returns how often.
 */
async function disturb(
  cluster: ObserverCluster,
  nameservices: readonly string[],
  isOver: () => boolean,
): Promise<number> {
  let pauses = 0;
  for (let round = 0; !isOver(); round++) {
    const pausedMs = FULL && round % 4 === 3 ? LONG_PAUSED_MS : PAUSED_MS;
    for (const ns of nameservices) {
      for (const nn of [cluster.observers(ns)[round % 2], undefined]) {
        const who = nn === undefined ? { ns } : { ns, nn };
        await cluster.rig.ctl({ op: 'pauseTailing', ...who });
        pauses++;
        await pause(pausedMs);
        await cluster.rig.ctl({ op: 'resumeTailing', ...who });
        await pause(TAILING_MS);
      }
    }
    if (FULL) await cluster.rig.ctl({ op: 'failover', ns: nameservices.at(-1), to: `nn${(round + 1) % 2}` });
  }
  return pauses;
}

/** `work` amid disturbances, which end with it; how often tailing was paused. */
async function disturbed(
  cluster: ObserverCluster,
  nameservices: readonly string[],
  work: () => Promise<void>,
): Promise<number> {
  let isOver = false;
  const disturbing = disturb(cluster, nameservices, () => isOver);
  // Looked at below.
  disturbing.catch(() => {});
  try {
    await work();
  } finally {
    isOver = true;
    await disturbing;
  }
  return await disturbing;
}

export function defineHistoryTests(stage: () => ObserverStage): void {
  describe('a history', () => {
    it(
      'of two routers and seven nameservices has no violation while edit tailing is paused and resumed',
      async () => {
        const { cluster, routers } = stage();
        const history = new History({
          nameservices: NAMESERVICES,
          filesPerNameservice: FILES_PER_NAMESERVICE,
          clients: CLIENTS,
        });
        const pathOf = (file: number): string => {
          return `${mountOf(NAMESERVICES[history.nameserviceOf(file)] ?? '')}/history/f${file}`;
        };
        using ending = new DisposableStack();
        const clients = Array.from({ length: CLIENTS }, (_, index) => {
          const carrier: Carrier = index < CLIENTS - PLAIN_CLIENTS ? 'federated' : 'none';
          const servers = routers.map((router) => () => router);
          return ending.use(new HistoryClient({ history, index, routers: servers, pathOf, carrier }));
        });
        await writeAll(history, clients[0] as HistoryClient, 0);

        const started = performance.now();
        let pauses = 0;
        const calls = await cluster.callsDuring('ns0', async () => {
          pauses = await disturbed(cluster, OBSERVED, () =>
            runWorkload({ history, clients, routers: routers.length, seed: SEED, operations: OPERATIONS }),
          );
        });
        const ms = performance.now() - started;
        const report = check(history);
        console.log(
          `seed ${SEED}, ${(ms / 1000).toFixed(1)} s, ${pauses} times of paused tailing: ${report.summary}; ` +
            `of ns0: ${calls.observer['getFileInfo'] ?? 0} reads by observers, ${calls.active['getFileInfo'] ?? 0} by the active`,
        );
        expect(report.count, report.text).toBe(0);
        const reasons = clients.flatMap(({ trouble }) => [...trouble.reasons.keys()]);
        expect(report.failed, reasons.join('; ')).toBe(0);
        expect(pauses).toBeGreaterThan(0);
        expect(calls.observer['getFileInfo'] ?? 0).toBeGreaterThan(0);
        expect(calls.observer['create'] ?? 0).toBe(0);
        expect(calls.observer['observerRetryOnActiveException'] ?? 0).toBe(0);
        // Those of clients, and no more than one of each router in each refresh period.
        const resent = clients.reduce((sum, { trouble }) => sum + trouble.resent, 0);
        const periods = Math.ceil(ms / REFRESH_MS) + 1;
        expect(calls.active['msync'] ?? 0).toBeLessThanOrEqual(report.msyncs + resent + routers.length * periods);
      },
      LIMIT_MS,
    );

    // So that the one above could have had some.
    it('of clients that ask observers with the state id 0, without any router, has violations', async () => {
      const { cluster } = stage();
      const history = new History({
        nameservices: ['ns0'],
        filesPerNameservice: FILES_PER_NAMESERVICE,
        clients: CLIENTS,
      });
      const { nn } = await cluster.rig.active('ns0');
      const servers = [nn, ...cluster.observers('ns0')].map((id) => {
        const namenode = directEndpoint(cluster.rig.namenode('ns0', id).rpc);
        return () => namenode;
      });
      using ending = new DisposableStack();
      const pathOf = (file: number): string => `/d/history-direct/f${file}`;
      const clients = Array.from({ length: CLIENTS }, (_, index) =>
        ending.use(new HistoryClient({ history, index, routers: servers, pathOf, carrier: 'zero' })),
      );
      await writeAll(history, clients[0] as HistoryClient, 0);
      await disturbed(cluster, ['ns0'], () =>
        runWorkload({
          history,
          clients,
          routers: servers.length,
          active: 0,
          seed: SEED,
          operations: DIRECT_OPERATIONS,
          writes: 0.3,
        }),
      );
      const report = check(history);
      console.log(`without any router: ${report.summary}`);
      expect(report.countOf('read-your-writes'), report.summary).toBeGreaterThan(0);
      expect(report.countOf('monotonic reads'), report.summary).toBeGreaterThan(0);
      expect(report.countOf('wrong answer'), report.summary).toBe(0);
    });
  });
}
