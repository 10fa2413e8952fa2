import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RawClient } from '../support/raw-client.ts';
import { RouterProcess } from '../support/router-process.ts';
import { answerPlainly, type NameNodeCall, ScriptedNameNode } from '../support/scripted-namenode.ts';
import { waitUntil } from '../support/wait.ts';

/** Queues, windows and callers of router processes, as `GET /api/v1/queues` tells them. */

let ns0: ScriptedNameNode;
let held: NameNodeCall[];
let directory: string;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'switchyard-queues-'));
  ns0 = await ScriptedNameNode.start('ns0');
  held = [];
});

afterEach(async () => {
  await ns0[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

interface Queue {
  readonly nameservice: string;
  readonly window: number;
  readonly inFlight: number;
  readonly waiting: number;
  readonly levels: readonly { readonly waiting: number; readonly overflowed: number }[];
  readonly passed: number;
  readonly waited: number;
  readonly refused: Readonly<Record<'full' | 'slow' | 'late', number>>;
  readonly queueTime: Readonly<Record<'calls' | 'p50' | 'max', number>>;
  readonly processingTime: Readonly<Record<'calls' | 'p50' | 'max', number>>;
}

interface Queues {
  readonly clients: { readonly open: number; readonly callsOutstanding: number };
  readonly rings: { readonly calls: number; readonly replies: number; readonly capacity: number };
  readonly nameservices: readonly [Queue];
  readonly scheduler: { readonly volume: number; readonly top: readonly { name: string; volume: number }[] } | null;
}

async function queuesOf(router: RouterProcess): Promise<Queues> {
  const answer = await fetch(`http://127.0.0.1:${router.httpPort}/api/v1/queues`);
  return (await answer.json()) as Queues;
}

async function start(keys: Readonly<Record<string, string>>): Promise<RouterProcess> {
  return await RouterProcess.start({
    nameservices: { ns0: [{ port: ns0.port }] },
    mounts: ['/=ns0:/'],
    keys,
    http: true,
  });
}

const status = (src: string) => ({ method: 'getFileInfo', request: { src } });
const FAIR = {
  'ipc.callqueue.impl': 'org.apache.hadoop.ipc.FairCallQueue',
  'ipc.scheduler.impl': 'org.apache.hadoop.ipc.DecayRpcScheduler',
  'switchyard.window.floor': '8',
  'switchyard.window.ceiling': '8',
};

describe.each([
  ['ring', { 'switchyard.handoff': 'ring', 'switchyard.workers': '2', 'switchyard.acceptors': '2' }],
  ['inline', { 'switchyard.handoff': 'inline' }],
])('a router with the hand-off %s', (_, keys) => {
  it('tells what is in flight and waits, what it has let through, and who has called', async () => {
    await using router = await start({ ...FAIR, ...keys });
    ns0.handler = (call) => held.push(call);
    const clients: RawClient[] = [];
    for (const user of ['alice', 'alice', 'bob', 'carol']) clients.push(await RawClient.connect(router, { user }));
    for (const client of clients) for (let i = 0; i < 10; i++) client.send(status(`/${i}`));
    // Each of two workers has what its own calls need of the eight, one at least, as soon as both have said what they have.
    await waitUntil(async () => {
      const [queue] = (await queuesOf(router)).nameservices;
      return queue.inFlight + queue.waiting === 40 && queue.window >= 8 && queue.window <= 10;
    }, 'all calls are there, and the window is divided');
    ns0.handler = answerPlainly;
    for (const call of held) answerPlainly(call);
    for (const client of clients) for (let i = 0; i < 10; i++) expect((await client.receive()).status).toBe('SUCCESS');
    const { nameservices, scheduler } = await waitUntil(async () => {
      const queues = await queuesOf(router);
      return queues.scheduler?.volume === 40 && queues.nameservices[0].inFlight === 0 && queues;
    }, 'all was told');
    await waitUntil(async () => {
      const { clients: levels, rings } = await queuesOf(router);
      return levels.open === 4 && levels.callsOutstanding === 0 && rings.calls + rings.replies === 0;
    }, 'nothing is on its way');
    const [queue] = nameservices;
    expect(queue.passed + queue.waited).toBe(40);
    expect(queue.waiting).toBe(0);
    expect(queue.levels).toHaveLength(4);
    expect(queue.levels.every(({ waiting, overflowed }) => waiting === 0 && overflowed === 0)).toBe(true);
    expect(queue.queueTime.calls).toBe(queue.waited);
    expect(queue.processingTime.calls).toBe(40);
    expect(queue.processingTime.max).toBeGreaterThanOrEqual(queue.processingTime.p50);
    expect(scheduler?.top.slice(0, 3).map(({ name, volume }) => [name, volume])).toEqual([
      ['alice', 20],
      ['bob', 10],
      ['carol', 10],
    ]);
    for (const client of clients) client[Symbol.dispose]();
  });
});

it('without a fair queue nobody is counted', async () => {
  await using router = await start({});
  const { nameservices, scheduler } = await queuesOf(router);
  expect(nameservices[0].levels).toHaveLength(1);
  expect(scheduler).toBe(null);
});
