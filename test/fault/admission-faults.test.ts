import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { NameNode } from '../../src/namenode/namenode.ts';
import { disposeOpened } from '../support/dispose-opened.ts';
import { InlineRouter } from '../support/inline-router.ts';
import { RawClient } from '../support/raw-client.ts';
import { answerPlainly, IO, type NameNodeCall, ScriptedNameNode } from '../support/scripted-namenode.ts';
import { waitUntil } from '../support/wait.ts';

/**
 * One of two nameservices is sick while thousands of calls go to it, alone and as part of others. The other one answers all its calls, each call
 * gets exactly one answer, and afterwards nothing is left of it all.
 */

const CLIENTS = 5;
const CALLS_EACH = 1000;
/** Of them, each n-th is for the root directory, above the mount points of both nameservices. */
const ROOT_EVERY = 10;
const CALLS_TO_OTHER = 200;
const LIMIT_MS = 60_000;

let sick: ScriptedNameNode;
let well: ScriptedNameNode;
const opened: (Disposable | AsyncDisposable)[] = [];

beforeEach(async () => {
  sick = await ScriptedNameNode.start('ns0');
  well = await ScriptedNameNode.start('ns1');
});

afterEach(async () => {
  await disposeOpened(opened);
  await sick[Symbol.asyncDispose]();
  await well[Symbol.asyncDispose]();
});

interface Fault {
  begin(): Promise<void> | void;
  heal(): Promise<void> | void;
}

/** How often the flapping one has changed. */
let flaps: NodeJS.Timeout;

const FAULTS: Readonly<Record<string, Fault>> = {
  dead: { begin: () => sick.stop(), heal: () => sick.listen() },
  hung: { begin: () => sick.freeze(), heal: () => sick.thaw() },
  slow: {
    begin: () => {
      sick.handler = (call) => void setTimeout(() => answerWhileOpen(call), 100);
    },
    heal: answersAgain,
  },
  erroring: {
    begin: () => {
      sick.handler = (call) => call.fail(IO, 'the disk is on fire');
    },
    heal: answersAgain,
  },
  flapping: {
    begin: () => {
      flaps = setInterval(() => {
        sick.state = sick.state === 'active' ? 'standby' : 'active';
      }, 20);
    },
    heal: () => {
      clearInterval(flaps);
      sick.state = 'active';
    },
  },
};

function answersAgain(): void {
  sick.handler = answerPlainly;
}

function answerWhileOpen(call: NameNodeCall): void {
  if (call.peer.open) answerPlainly(call);
}

const status = (src: string) => ({ method: 'getFileInfo', request: { src } });
const listing = (src: string) => ({
  method: 'getListing',
  request: { src, startAfter: Buffer.alloc(0), needLocation: false },
});

async function start(): Promise<InlineRouter> {
  const router = await InlineRouter.start({
    nameservices: { ns0: sick.port, ns1: well.port },
    mounts: ['/zero=ns0:/', '/one=ns1:/'],
    keys: { 'dfs.federation.router.handler.count': '10', 'dfs.federation.router.handler.queue.size': '100' },
    settings: { connectTimeoutMs: 500, hungAfterMs: 500, callBudgetMs: 20_000, namenodeIdleMs: 300 },
  });
  opened.push(router);
  return router;
}

describe.each(Object.entries(FAULTS))('one nameservice is %s', (_, fault) => {
  it('calls to the other are all served, each call is answered once, and nothing stays', {
    timeout: 2 * LIMIT_MS,
  }, async () => {
    const router = await start();
    const clients: RawClient[] = [];
    for (let i = 0; i < CLIENTS; i++) clients.push(await RawClient.connect(router, { user: `user${i}` }));
    opened.push(...clients);
    const other = await RawClient.connect(router, { user: 'other' });
    opened.push(other);
    for (const client of clients) expect((await client.call(status('/zero/before'))).status).toBe('SUCCESS');

    await fault.begin();
    for (let i = 0; i < CALLS_EACH; i++) {
      for (const client of clients) client.send(i % ROOT_EVERY === 0 ? listing('/') : status(`/zero/${i}`));
    }
    for (let i = 0; i < CALLS_TO_OTHER; i++) expect((await other.call(status(`/one/${i}`))).status).toBe('SUCCESS');
    await fault.heal();

    for (const client of clients) {
      const answered = new Set<number>();
      for (let i = 0; i < CALLS_EACH; i++) answered.add((await client.receive(LIMIT_MS)).callId);
      expect(answered.size).toBe(CALLS_EACH);
      expect((await client.call(status('/zero/after'))).status).toBe('SUCCESS');
    }
    const namenodes = router.engine.pool.namenodes.flat() as NameNode[];
    await waitUntil(
      () => router.engine.calls.inUse === 0 && namenodes.every(({ connections }) => connections.size === 0),
      'nothing is on its way, and idle connections are closed',
    );
    for (const gate of router.engine.admission.gates) expect([gate.inFlight, gate.queue.length]).toEqual([0, 0]);
    for (const namenode of namenodes) expect([namenode.inFlight, namenode.circuit.isClosed]).toEqual([0, true]);
    expect(router.acceptor.outstanding.count).toBe(0);
    expect(router.block.usedKib).toBe(0);
  });
});
