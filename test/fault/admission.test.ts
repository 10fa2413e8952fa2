import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Lane } from '../../src/admission/lanes.ts';
import { type Call, Place } from '../../src/call/call.ts';
import type { AdmissionSettings } from '../../src/shared/settings.ts';
import { AdmissionStage, FOUR_IN_FLIGHT as FOUR } from '../support/admission-stage.ts';
import type { InlineRouter, InlineRouterOptions } from '../support/inline-router.ts';
import type { RawClient } from '../support/raw-client.ts';
import {
  answerPlainly,
  type NameNodeCall,
  RETRIABLE,
  type ScriptedNameNode,
  STANDBY,
} from '../support/scripted-namenode.ts';
import { waitUntil } from '../support/wait.ts';

/** What stands in front of a nameservice: who is let through, who waits, who is sent away, and that nobody is ever lost or counted for ever. */

let stage: AdmissionStage;
let ns0: ScriptedNameNode;
let ns1: ScriptedNameNode;
let held: NameNodeCall[];

beforeEach(async () => {
  stage = await AdmissionStage.start();
  ({ ns0, ns1, held } = stage);
});

afterEach(() => stage[Symbol.asyncDispose]());

async function start(
  admission: Partial<AdmissionSettings> = {},
  options: Partial<InlineRouterOptions> = {},
): Promise<{ router: InlineRouter; client: RawClient }> {
  const router = await stage.router({ ...FOUR, ...admission }, options);
  return { router, client: await stage.connect(router) };
}

const status = (src: string) => ({ method: 'getFileInfo', request: { src } });
const locations = (src: string) => ({ method: 'getBlockLocations', request: { src, offset: 0, length: 1 } });
const mkdirs = (src: string) => ({
  method: 'mkdirs',
  request: { src, masked: { perm: 0o755 }, createParent: true },
});
const summary = (path: string) => ({ method: 'getContentSummary', request: { path } });

function gateOf(router: InlineRouter, nameservice = 0) {
  const gate = router.engine.admission.gates[nameservice];
  if (gate === undefined) throw new Error('there is no such nameservice');
  return gate;
}

async function counts(router: InlineRouter, inFlight: number, waiting: number): Promise<void> {
  await waitUntil(
    () => gateOf(router).inFlight === inFlight && gateOf(router).queue.length === waiting,
    `${inFlight} in flight and ${waiting} waiting`,
  );
}

function answerHeld(): void {
  for (const call of held.splice(0)) answerPlainly(call);
}

describe('a window', () => {
  it('lets through what it holds; the others come in the order of their coming as answers come', async () => {
    const { router, client } = await start();
    for (let i = 0; i < 10; i++) client.send(status(`/zero/${i}`));
    await counts(router, 4, 6);
    await ns0.until(() => ns0.calls.length === 4, 'four are at the NameNode');
    expect(ns0.calls.map(({ path }) => path)).toEqual(['/0', '/1', '/2', '/3']);
    answerPlainly(held.shift() as NameNodeCall);
    expect((await client.receive()).status).toBe('SUCCESS');
    await ns0.waitForCall({ path: '/4' });
    await counts(router, 4, 5);
    ns0.handler = answerPlainly;
    answerHeld();
    for (let i = 0; i < 9; i++) expect((await client.receive()).status).toBe('SUCCESS');
    await counts(router, 0, 0);
    expect(ns0.calls.map(({ path }) => path)).toEqual(Array.from({ length: 10 }, (_, i) => `/${i}`));
    expect(router.admitted(0).figures).toMatchObject({ passed: 4, waited: 6, refusedFull: 0 });
  });

  it('of a nameservice that hangs is no other one’s', async () => {
    const { router, client } = await start();
    for (let i = 0; i < 50; i++) client.send(status(`/zero/${i}`));
    await counts(router, 4, 46);
    const other = await stage.connect(router);
    expect((await other.call(status('/one/file'))).status).toBe('SUCCESS');
    expect(gateOf(router, 1).inFlight).toBe(0);
  });

  it('keeps room for reads while changes take long, and for both while summaries do', async () => {
    const { router, client } = await start({ windows: [{ floor: 8, ceiling: 8 }, FOUR.windows[1] as never] });
    for (let i = 0; i < 9; i++) client.send(mkdirs(`/zero/${i}`));
    await counts(router, 6, 3);
    for (let i = 0; i < 5; i++) client.send(summary(`/zero/${i}`));
    await counts(router, 8, 6);
    expect(gateOf(router).inFlightOf(Lane.HEAVY)).toBe(2);
    // The window is full: one place becomes free, and the read takes it, whatever has waited for longer in the other lanes.
    client.send(status('/zero/read'));
    await counts(router, 8, 7);
    await ns0.until(() => held.length === 8, 'eight are at the NameNode');
    answerPlainly(held.shift() as NameNodeCall);
    await waitUntil(() => ns0.callsOf({ path: '/read' }).length === 1, 'the read is at the NameNode');
  });

  it('is not moved by calls that take long by themselves', async () => {
    const { router, client } = await start({ windows: [{ floor: 64, ceiling: 1024 }, FOUR.windows[1] as never] });
    for (let round = 0; round < 4; round++) {
      for (let i = 0; i < 10; i++) client.send(summary(`/zero/${i}`));
      await ns0.until(() => held.length === 10, 'the summaries are at the NameNode');
      const since = router.engine.clock.nowMs;
      await waitUntil(() => router.engine.clock.nowMs - since > 120, 'longer than what a window is judged by');
      answerHeld();
      for (let i = 0; i < 10; i++) await client.receive();
    }
    expect(gateOf(router).window.limit).toBe(256);
  });
});

describe('a window of two workers', () => {
  const EIGHT = { windows: [{ floor: 8, ceiling: 8 }, FOUR.windows[1] as never] };

  it('is divided by the most that each had at one time, whatever it has at the moment', async () => {
    const { router, client } = await start(EIGHT, { workers: 2 });
    ns0.handler = answerPlainly;
    for (let i = 0; i < 10; i++) client.send(status(`/zero/${i}`));
    for (let i = 0; i < 10; i++) await client.receive();
    router.engine.admission.onSweep();
    expect(gateOf(router).window.limit).toBe(7);
    router.engine.admission.onSweep();
    expect(gateOf(router).window.limit).toBe(4);
  });

  it('is divided anew for calls that wait at one that had nothing to do', async () => {
    const { router, client } = await start(EIGHT, { workers: 2 });
    for (let i = 0; i < 10; i++) client.send(status(`/zero/${i}`));
    await waitUntil(() => gateOf(router).demand === 10, 'ten have come');
    router.engine.admission.onSweep();
    const { router: other, client: late } = await start(EIGHT, { beside: router });
    expect(gateOf(other).window.limit).toBe(1);
    vi.spyOn(other.engine.admission, 'onSweep').mockImplementation(() => {});
    for (let i = 0; i < 10; i++) late.send(status(`/zero/late${i}`));
    await waitUntil(() => gateOf(other).inFlight === 4, 'half of the window is there for them');
  });
});

describe('a call that finds no room', () => {
  it('waits in the queue; one too many is told to go to another router', async () => {
    const { router, client } = await start({ capacity: 3 });
    for (let i = 0; i < 7; i++) client.send(status(`/zero/${i}`));
    await counts(router, 4, 3);
    const reply = await client.call(status('/zero/7'));
    expect([reply.exception, reply.message]).toEqual([STANDBY, 'Router router:8888 is overloaded for NS: ns0']);
    expect(router.admitted(0).figures.refusedFull).toBe(1);
    await ns0.until(() => held.length === 4, 'four are at the NameNode');
    answerHeld();
    for (let i = 0; i < 4; i++) expect((await client.receive()).status).toBe('SUCCESS');
  });

  it('is told to go elsewhere once it has waited for as long as a call may', async () => {
    const { router, client } = await start({ timeLimitMs: 200 });
    for (let i = 0; i < 6; i++) client.send(status(`/zero/${i}`));
    for (let i = 0; i < 2; i++) {
      const { exception, callId } = await client.receive();
      expect([exception, callId]).toEqual([STANDBY, 4 + i]);
    }
    await counts(router, 4, 0);
    expect(router.admitted(0).figures.refusedLate).toBe(2);
    await ns0.until(() => held.length === 4, 'four are at the NameNode');
    answerHeld();
    for (let i = 0; i < 4; i++) expect((await client.receive()).status).toBe('SUCCESS');
  });

  it('with back-off is answered as by a Hadoop server, and so is its connection', async () => {
    const { router, client } = await start({ capacity: 1, backoff: true });
    for (let i = 0; i < 5; i++) client.send(status(`/zero/${i}`));
    await counts(router, 4, 1);
    const other = await stage.connect(router);
    const reply = await other.call(status('/zero/5'));
    expect([reply.status, reply.exception, reply.message]).toEqual([
      'FATAL',
      RETRIABLE,
      'Server too busy - disconnecting',
    ]);
    await waitUntil(() => other.ended !== '', 'the connection is closed');
    await ns0.until(() => held.length === 4, 'four are at the NameNode');
    answerHeld();
    for (let i = 0; i < 4; i++) expect((await client.receive()).status).toBe('SUCCESS');
  });

  it('with back-off and fail-over is sent to another router', async () => {
    const { router, client } = await start({ capacity: 1, backoff: true, overflowFailover: true });
    for (let i = 0; i < 5; i++) client.send(status(`/zero/${i}`));
    await counts(router, 4, 1);
    const other = await stage.connect(router);
    const reply = await other.call(status('/zero/5'));
    expect([reply.status, reply.exception, reply.message]).toEqual([
      'FATAL',
      STANDBY,
      'Server too busy - disconnect and failover',
    ]);
  });

  it('is not sent when its client has gone meanwhile', async () => {
    const { router, client } = await start();
    for (let i = 0; i < 4; i++) client.send(status(`/zero/${i}`));
    await ns0.until(() => held.length === 4, 'four are at the NameNode');
    const other = await stage.connect(router);
    for (let i = 4; i < 8; i++) other.send(status(`/zero/${i}`));
    await counts(router, 4, 4);
    other.socket.resetAndDestroy();
    await waitUntil(() => router.count('clientsClosed') === 1, 'the router knows');
    ns0.handler = answerPlainly;
    answerHeld();
    for (let i = 0; i < 4; i++) await client.receive();
    await counts(router, 0, 0);
    await waitUntil(() => router.engine.calls.inUse === 0, 'all calls have ended');
    expect(ns0.calls).toHaveLength(4);
  });

  it('gives its place to others soon after its client has gone, although the NameNode answers nobody', async () => {
    const { router, client } = await start({ capacity: 4 });
    for (let i = 0; i < 4; i++) client.send(status(`/zero/${i}`));
    const other = await stage.connect(router);
    for (let i = 4; i < 8; i++) other.send(status(`/zero/${i}`));
    await counts(router, 4, 4);
    other.socket.resetAndDestroy();
    await counts(router, 4, 0);
    client.send(status('/zero/8'));
    await counts(router, 4, 1);
    expect(router.admitted(0).figures.refusedLate).toBe(0);
  });

  it('waits no longer than its whole time, of which it has slept a part', async () => {
    const { router, client } = await start(
      { windows: [{ floor: 1, ceiling: 1 }, FOUR.windows[1] as never] },
      { settings: { callBudgetMs: 2000 } },
    );
    ns0.handler = (call) => (call.path === '/slept' ? call.fail(STANDBY, 'not the active one') : held.push(call));
    client.send(status('/zero/slept'));
    await ns0.waitForCall({ path: '/slept' });
    client.send(locations('/zero/held'));
    await waitUntil(() => held.length === 1, 'the window is taken');
    const { exception, callId } = await client.receive();
    expect([exception, callId]).toEqual([STANDBY, 0]);
    await counts(router, 1, 0);
  });

  it('is resolved anew when the mount table changes while it waits', async () => {
    const { router, client } = await start();
    for (let i = 0; i < 5; i++) client.send(status(`/zero/${i}`));
    await counts(router, 4, 1);
    await ns0.until(() => held.length === 4, 'four are at the NameNode');
    router.swapMounts(['/zero=ns1:/moved']);
    answerPlainly(held.shift() as NameNodeCall);
    await client.receive();
    expect((await client.receive()).status).toBe('SUCCESS');
    expect(ns1.calls.map(({ path }) => path)).toEqual(['/moved/4']);
  });
});

it('calls that sleep until a NameNode is active are in nobody’s way, and come before others', async () => {
  const { router, client } = await start({ windows: [{ floor: 1, ceiling: 1 }, FOUR.windows[1] as never] });
  ns0.state = 'standby';
  for (let i = 0; i < 5; i++) client.send(status(`/zero/${i}`));
  await waitUntil(() => new Set(ns0.calls.map(({ path }) => path)).size === 5, 'each was tried');
  ns0.handler = answerPlainly;
  ns0.state = 'active';
  for (let i = 0; i < 5; i++) expect((await client.receive()).status).toBe('SUCCESS');
  await counts(router, 0, 0);
  // Each was let through once, however often it came back.
  const { passed, waited } = router.admitted(0).figures;
  expect(passed + waited).toBe(5);
});

describe('other settings', () => {
  it('make the window larger at once for those that wait', async () => {
    const { router, client } = await start();
    for (let i = 0; i < 10; i++) client.send(status(`/zero/${i}`));
    await counts(router, 4, 6);
    router.engine.refreshAdmission({ ...FOUR, windows: [{ floor: 9, ceiling: 9 }, FOUR.windows[1] as never] });
    await ns0.until(() => held.length === 8, 'eight are there: seven eighths of the window, rounded up');
    await counts(router, 8, 2);
  });

  it('with a smaller queue send away those that it does not hold', async () => {
    const { router, client } = await start();
    for (let i = 0; i < 10; i++) client.send(status(`/zero/${i}`));
    await counts(router, 4, 6);
    router.engine.refreshAdmission({ ...FOUR, capacity: 2 });
    for (let i = 0; i < 4; i++) {
      const { exception, callId } = await client.receive();
      expect([exception, callId]).toEqual([STANDBY, 6 + i]);
    }
    await counts(router, 4, 2);
  });
});

describe('other settings for calls that wait', () => {
  it('leave nobody waiting for longer, whose level becomes one with others', async () => {
    const levels = { levels: 2, capacityWeights: [1, 1], multiplexerWeights: [2, 1] };
    const { router, client } = await start(levels);
    for (let i = 0; i < 4; i++) client.send(status(`/zero/${i}`));
    await counts(router, 4, 0);
    const calls = [1, 0].map((level) => {
      const call = router.engine.calls.take();
      call.place = Place.QUEUED;
      call.level = level;
      return call;
    });
    const gate = gateOf(router);
    calls.forEach((call, i) => {
      call.queuedMs = 100 + i;
      gate.queue.put(call);
    });
    gate.refresh(FOUR, 1, () => {
      throw new Error('there is room for both');
    });
    expect(gate.queue.oldest(100)).toBe(calls[0]);
    for (const call of calls) {
      gate.queue.remove(call);
      router.engine.calls.give(call);
    }
  });

  it('keep what follows from a refusal, and calls that were let through before', async () => {
    const { router, client } = await start();
    for (let i = 0; i < 4; i++) client.send(status(`/zero/${i}`));
    await counts(router, 4, 0);
    const gate = gateOf(router);
    const [came, alsoCame, next, back] = Array.from({ length: 4 }, () => router.engine.calls.take()) as [
      Call,
      Call,
      Call,
      Call,
    ];
    for (const call of [came, alsoCame]) gate.queue.put(call);
    gate.queue.putBack(back);
    const rejected: Call[] = [];
    gate.refresh({ ...FOUR, capacity: 1 }, 1, (call) => {
      rejected.push(call);
      // As a composer may that asks somebody else in its place.
      gate.queue.putBack(next);
    });
    expect(rejected).toEqual([alsoCame]);
    const left: Call[] = [];
    gate.queue.drainTo((call) => left.push(call));
    expect(left).toEqual([back, next, came]);
    for (const call of [came, alsoCame, next, back]) router.engine.calls.give(call);
  });

  it('are told although no call has come since', async () => {
    const { router } = await start();
    expect(router.admitted(0).figures.window).toBe(4);
    router.engine.refreshAdmission({ ...FOUR, windows: [{ floor: 9, ceiling: 9 }, FOUR.windows[1] as never] });
    expect(router.admitted(0).figures.window).toBe(9);
  });
});

it('mount points are told while the nameservice of their directory is silent and its window full', async () => {
  const { router, client } = await start(
    {},
    {
      keys: { 'dfs.federation.router.default.nameserviceId': 'ns0' },
      settings: { mountStatusTimeoutMs: 300, connectTimeoutMs: 500 },
    },
  );
  for (let i = 0; i < 6; i++) client.send(status(`/zero/${i}`));
  await counts(router, 4, 2);
  const other = await stage.connect(router);
  const listing = { method: 'getListing', request: { src: '/', startAfter: Buffer.alloc(0), needLocation: false } };
  expect((await other.call(listing)).status).toBe('SUCCESS');
  expect(gateOf(router).inFlight).toBe(4);
});

describe('whatever ends', () => {
  it.each([1, 2, 3, 4, 5, 6])('nothing stays in a window, a queue or a table (seed %i)', async (seed) => {
    const { router } = await start({ capacity: 12 }, { settings: { callBudgetMs: 3000 } });
    const random = generator(seed);
    const pick = (n: number): number => Math.floor(random() * n);
    const clients: RawClient[] = [];
    const calls = [status, locations, mkdirs];
    for (let step = 0; step < 120; step++) {
      const action = pick(12);
      if (action < 5) {
        if (clients.length === 0 || action === 0) clients.push(await stage.connect(router, `user${pick(3)}`));
        const client = clients[pick(clients.length)] as RawClient;
        for (let i = 0; i <= pick(8); i++) client.send((calls[pick(3)] as typeof status)(`/zero/${step}-${i}`));
      } else if (action === 5) clients.splice(pick(clients.length), 1)[0]?.socket.destroy();
      else if (action === 6) ns0.resetAll();
      else if (action === 7) ns0.state = pick(2) === 0 ? 'standby' : 'active';
      else if (action === 8) held[pick(held.length)]?.fail(RETRIABLE, 'NameNode still not started');
      else if (action === 9) router.swapMounts([`/zero=ns${pick(2)}:/`]);
      else if (action === 10) router.engine.refreshAdmission({ ...FOUR, capacity: 1 + pick(20) });
      else for (const call of held.splice(0, pick(6))) if (call.peer.open) answerPlainly(call);
      if (pick(3) === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    ns0.handler = answerPlainly;
    ns0.state = 'active';
    for (const call of held.splice(0)) if (call.peer.open) answerPlainly(call);
    await waitUntil(() => router.engine.calls.inUse === 0, 'all calls have ended');
    for (const gate of router.engine.admission.gates) expect([gate.inFlight, gate.queue.length]).toEqual([0, 0]);
    expect(router.acceptor.outstanding.count).toBe(0);
    const last = await stage.connect(router);
    expect((await last.call(status('/zero/last'))).status).toBe('SUCCESS');
  });
});

/** Numbers of [0, 1) that follow from a seed (xorshift). */
function generator(seed: number): () => number {
  let x = seed * 0x9e3779b9;
  return () => {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    return (x >>> 0) / 2 ** 32;
  };
}
