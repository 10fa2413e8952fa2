import { afterEach, expect, it } from 'vitest';
import type { ServiceTime } from '../../src/simulator/service-time.ts';
import { startSimulator } from '../../src/simulator/simulator.ts';
import { disposeOpened } from '../support/dispose-opened.ts';
import { check } from '../support/history/checker.ts';
import { type Carrier, HistoryClient } from '../support/history/client.ts';
import { History } from '../support/history/history.ts';
import type { Report } from '../support/history/report.ts';
import { runWorkload, writeAll } from '../support/history/workload.ts';

/*
 * Clients at the NameNodes themselves, without any router: an observer that is asked with the state id of its client keeps every rule however
 * far it lags; asked with another one it breaks them, and the checker says so. What breaks behind a router is the router's.
 */

const CLIENTS = 8;
const OPERATIONS = 20_000;
const RANDOM: ServiceTime = { kind: 'exponential', meanMs: 3 };
const opened: (Disposable | AsyncDisposable)[] = [];

afterEach(() => disposeOpened(opened));

async function play(carrier: Carrier, operations: number): Promise<Report> {
  const simulator = await startSimulator({ nameservices: ['ns0'], superuser: 'hdfs', observers: 2 });
  opened.push(simulator);
  const history = new History({ nameservices: ['ns0'], filesPerNameservice: 32, clients: CLIENTS });
  const [active, , ...observers] = simulator.nameservices[0]!.namenodes;
  const namenodes = [active!, ...observers];
  const routers = namenodes.map((namenode) => () => namenode);
  const clients = Array.from({ length: CLIENTS }, (_, index) => {
    const client = new HistoryClient({ history, index, routers, pathOf: (file) => `/history/f${file}`, carrier });
    opened.push(client);
    return client;
  });
  await writeAll(history, clients[0]!, 0);
  await simulator.control({ op: 'lag', nameservice: 'ns0', namenode: 'nn2', lagMs: 5 });
  await simulator.control({ op: 'lag', nameservice: 'ns0', namenode: 'nn3', lagTime: RANDOM });
  await runWorkload({ history, clients, routers: routers.length, active: 0, seed: 1, operations, msyncs: 0.05 });
  return check(history);
}

it('with the state ids that they have seen: no violation', async () => {
  const report = await play('direct', OPERATIONS);
  expect(report.text).toContain(' 0 violations');
  expect(report.failed).toBe(0);
});

it('with the state id 0: violations of every rule', async () => {
  const report = await play('zero', OPERATIONS);
  for (const rule of ['read-your-writes', 'monotonic reads', 'writes-follow-reads', 'msync'] as const) {
    expect(report.countOf(rule), rule).toBeGreaterThan(0);
  }
  for (const rule of ['wrong answer', 'executed twice', 'one version twice'] as const) {
    expect(report.countOf(rule), rule).toBe(0);
  }
});
