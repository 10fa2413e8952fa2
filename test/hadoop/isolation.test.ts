import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RawCall, RawClient } from '../support/raw-client.ts';
import type { RouterProcess } from '../support/router-process.ts';
import { waitUntil } from '../support/wait.ts';
import { defineRefreshTests } from './isolation-refresh.ts';
import { defineRefusalTests, JAVA_ROUTERS } from './isolation-refusals.ts';
import {
  FILES,
  type Held,
  hasActive,
  heldBy,
  modeOf,
  mountOf,
  type Nameservice,
  queueOf,
  settled,
  startIsolationRig,
  startRouter,
} from './isolation-stage.ts';
import { RawNamespace } from './raw-namespace.ts';
import { ENDPOINT, FULL, type Rig, Shell } from './support.ts';

/**
 * One of three real nameservices is sick: the callers of the others notice nothing, each call to the sick one has one answer, and afterwards
 * the router is as it was.
 */

const SICK: Nameservice = 'ns1';
const WELL: readonly Nameservice[] = ['ns0', 'ns2'];
const CLIENTS = 6;
const USERS = ['alice', 'bob', 'carol', 'dave'];
/** Calls that each client of the sick nameservice alone sends as it falls ill, once it is ill, and once this is felt: together more than a window holds. */
const CALLS = FULL ? 400 : 80;
/** The same of each client whose calls several nameservices have to answer, the sick one among them. */
const FANNED_OUT = FULL ? 150 : 20;
/** Rounds of each client of the nameservices that are well. */
const ROUNDS = FULL ? 200 : 25;
/** Calls on one connection to the sick nameservice, and behind them as many to another. */
const BEHIND = 20;
const FELT_WITHIN_MS = 60_000;
/** The time that a call may wait, and some. */
const ANSWERED_WITHIN_MS = 150_000;
const STANDBY = 'org.apache.hadoop.ipc.StandbyException';
/** What a router says when it has given up: clients go to another one. */
const GIVEN_UP = [STANDBY];

/** Of a window that moves. */
const FLOOR = 64;
const CEILING = 1024;

const KEYS = {
  'switchyard.workers': '2',
  'dfs.federation.router.connection.clean.ms': '1000',
};
const PATIENT = { ...KEYS, 'switchyard.namenode.hung-after': '100s' };
const FAIR = {
  ...KEYS,
  'switchyard.namenode.hung-after': '1s',
  'ipc.callqueue.impl': 'org.apache.hadoop.ipc.FairCallQueue',
  'ipc.scheduler.impl': 'org.apache.hadoop.ipc.DecayRpcScheduler',
};

let rig: Rig;
let shell: Shell;
/** With the default of admission, and patience with NameNodes that hang; with the fair queue, and without. */
let routers: readonly RouterProcess[];
let held: ReadonlyMap<RouterProcess, Held>;

const both = async (op: string, fields: object = {}): Promise<void> => {
  await Promise.all(['nn0', 'nn1'].map((nn) => rig.ctl({ op, ns: SICK, nn, ...fields })));
};
const becomeActive = async (nn: string): Promise<void> =>
  void (await rig.ctl({ op: 'transition', ns: SICK, nn, to: 'active' }));

/** The router knows: it takes nobody for the active one. */
const isMissed = async (router: RouterProcess): Promise<boolean> => !(await hasActive(router, SICK));
/** The router does not know: a whole window of calls is at NameNodes that do not answer. */
const isWaitedFor = async (router: RouterProcess): Promise<boolean> => {
  const { inFlight, window } = await queueOf(router, SICK);
  return inFlight >= Math.min(window, FLOOR);
};

interface Sickness {
  readonly name: string;
  begin(): Promise<unknown>;
  isFelt(router: RouterProcess): Promise<boolean>;
  end(): Promise<unknown>;
}

const SICKNESSES: readonly Sickness[] = [
  {
    name: 'hangs',
    begin: () => both('hang'),
    isFelt: (router) => (router === routers[0] ? isWaitedFor(router) : isMissed(router)),
    end: () => both('resume'),
  },
  {
    name: 'has no active NameNode',
    begin: () => rig.ctl({ op: 'transition', ns: SICK, nn: 'nn0', to: 'standby' }),
    isFelt: isMissed,
    // The other one than before.
    end: () => becomeActive('nn1'),
  },
  {
    name: 'is dead',
    begin: () => both('stop'),
    isFelt: isMissed,
    // One of two is enough.
    end: async () => {
      await rig.ctl({ op: 'start', ns: SICK, nn: 'nn0' });
      await becomeActive('nn0');
    },
  },
];

const sick = mountOf(SICK);
const listing = (src: string): RawCall => ({
  method: 'getListing',
  request: { src, startAfter: Buffer.alloc(0), needLocation: false },
});

function singleCall(i: number): RawCall {
  const src = `${sick}/file-${i % FILES}`;
  switch (i % 4) {
    case 0:
      return { method: 'getFileInfo', request: { src } };
    case 1:
      return listing(sick);
    case 2:
      return { method: 'setTimes', request: { src: sick, mtime: 1 + i, atime: -1 } };
    default:
      return {
        method: 'mkdirs',
        request: { src: `${sick}/made-${i}`, masked: { perm: 0o755 }, createParent: true },
      };
  }
}

function fannedOutCall(i: number): RawCall {
  switch (i % 5) {
    case 0:
      return listing('/all');
    case 1:
      return { method: 'getContentSummary', request: { path: '/all' } };
    case 2:
      return { method: 'getDatanodeReport', request: { type: 'ALL' } };
    case 3:
      return { method: 'renewLease', request: { clientName: 'switchyard-test' } };
    default:
      return listing('/');
  }
}

/** A client with calls on their way, whose answers are counted. */
class Caller implements Disposable {
  readonly client: RawClient;
  readonly #make: (i: number) => RawCall;
  readonly #sent = new Map<number, string>();

  private constructor(client: RawClient, make: (i: number) => RawCall) {
    this.client = client;
    this.#make = make;
  }

  static async connect(router: RouterProcess, user: string, make: (i: number) => RawCall): Promise<Caller> {
    return new Caller(await RawClient.connect(router, { user }), make);
  }

  send(count: number): void {
    for (let i = 0; i < count; i++) {
      const call = this.#make(this.#sent.size);
      this.#sent.set(this.client.send(call), call.method);
    }
  }

  /** One answer for each call, in any order, and no other: what was told, with how often. */
  async answers(): Promise<Map<string, number>> {
    const told = new Map<string, number>();
    const waiting = new Map(this.#sent);
    while (waiting.size > 0) {
      const reply = await this.client.receive(ANSWERED_WITHIN_MS);
      const method = waiting.get(reply.callId);
      if (method === undefined) throw new Error(`call ${reply.callId} was answered twice, or never sent`);
      waiting.delete(reply.callId);
      const what = `${method}: ${reply.exception === '' ? reply.status : `${reply.exception}: ${reply.message}`}`;
      told.set(what, (told.get(what) ?? 0) + 1);
    }
    // Answers that nobody has asked for would come before this one.
    expect((await this.client.call({ method: 'getServerDefaults', request: {} }, ANSWERED_WITHIN_MS)).status).toBe(
      'SUCCESS',
    );
    return told;
  }

  [Symbol.dispose](): void {
    this.client[Symbol.dispose]();
  }
}

/** What callers of a nameservice that is well do; throws with the first answer that is not as it should be. */
async function useWell(router: RouterProcess, ns: Nameservice, user: string, name: string): Promise<number> {
  const mount = mountOf(ns);
  let calls = 0;
  using namespace = await RawNamespace.connect(router, user);
  const own = `${mount}/${name}`;
  expect(await namespace.mkdirs(own)).toBe(true);
  for (let round = 0; round < ROUNDS; round++) {
    const i = round % FILES;
    expect(await namespace.status(`${mount}/file-${i}`)).toMatchObject({ mode: modeOf(ns, i) });
    expect(await namespace.create(`${own}/${round}`)).toBe(true);
    expect(await namespace.rename(`${own}/${round}`, `${own}/moved-${round}`)).toBe(true);
    expect(await namespace.names(own)).toHaveLength(round + 1);
    calls += 5;
  }
  expect(await namespace.summary(own)).toMatchObject({ files: ROUNDS, directories: 1 });
  expect(await namespace.delete(own, true)).toBe(true);
  return calls + 3;
}

async function useWellFromJava(router: RouterProcess, ns: Nameservice, name: string): Promise<void> {
  const dir = `${router.uri}${mountOf(ns)}/${name}`;
  await shell.ok(['-mkdir', dir]);
  await shell.ok(['-put', `${rig.home}/rig.json`, `${dir}/file`]);
  expect(JSON.parse(await shell.ok(['-cat', `${dir}/file`]))).toMatchObject({ pid: rig.up.pid });
  expect(await shell.ok(['-count', dir])).toMatch(/^\s+1\s+1\s+\d+/);
  await shell.ok(['-rm', '-r', '-skipTrash', dir]);
}

/** On a connection whose calls wait for the sick nameservice, those behind them are answered first. */
async function expectPassing(router: RouterProcess): Promise<Caller> {
  const caller = await Caller.connect(router, rig.up.user, singleCall);
  caller.send(BEHIND);
  const behind = Array.from({ length: BEHIND }, (_, i) =>
    caller.client.send({ method: 'getFileInfo', request: { src: `${mountOf('ns0')}/file-${i % FILES}` } }),
  );
  const answered: [number, string][] = [];
  for (let i = 0; i < BEHIND; i++) {
    const { callId, status } = await caller.client.receive(ANSWERED_WITHIN_MS);
    answered.push([callId, status]);
  }
  // A NameNode answers in any order.
  expect(answered.sort(([a], [b]) => a - b)).toEqual(behind.map((id) => [id, 'SUCCESS']));
  return caller;
}

/** All callers of the other nameservices at once, and Java's after them; the number of calls. */
async function useAllWell(router: RouterProcess, r: number): Promise<number> {
  const calls = await Promise.all(
    WELL.flatMap((ns) => USERS.slice(0, 2).map((user) => useWell(router, ns, user, `${user}-r${r}`))),
  );
  for (const [n, ns] of WELL.entries()) if (FULL || n === r) await useWellFromJava(router, ns, `java-r${r}`);
  return calls.reduce((sum, more) => sum + more, 0);
}

function addUp(all: readonly ReadonlyMap<string, number>[]): Record<string, number> {
  const sum: Record<string, number> = {};
  for (const told of all) for (const [what, count] of told) sum[what] = (sum[what] ?? 0) + count;
  return sum;
}

/** What does not say that a call was answered, or that the client is to go to another router. */
function unexpected(told: Readonly<Record<string, number>>): string[] {
  return Object.keys(told).filter(
    (what) => !what.endsWith(': SUCCESS') && !GIVEN_UP.some((className) => what.includes(`: ${className}: `)),
  );
}

async function callersOf(router: RouterProcess): Promise<Caller[]> {
  const callers: Caller[] = [];
  for (const user of USERS) callers.push(await Caller.connect(router, user, singleCall));
  // A report of the DataNodes is for the superuser.
  while (callers.length < CLIENTS) callers.push(await Caller.connect(router, rig.up.user, fannedOutCall));
  return callers;
}

function sendSome(callers: readonly Caller[]): void {
  for (const [i, caller] of callers.entries()) {
    if (i < CLIENTS) caller.send(i < USERS.length ? CALLS : FANNED_OUT);
  }
}

describe.skipIf(ENDPOINT !== 'switchyard')('with three nameservices', () => {
  beforeAll(async () => {
    rig = await startIsolationRig(JAVA_ROUTERS);
    shell = await Shell.start(rig);
    routers = await Promise.all([PATIENT, FAIR].map((keys) => startRouter(rig, { keys })));
    const atRest = new Map<RouterProcess, Held>();
    await Promise.all(
      routers.map(async (router, r) => {
        const { sockets } = heldBy(router);
        // All of its code has run, with all the threads that it takes.
        for (const ns of [SICK, ...WELL]) await useWell(router, ns, rig.up.user, `before-r${r}`);
        atRest.set(router, { ...heldBy(router), sockets });
        await settled(router, { ...heldBy(router), sockets });
      }),
    );
    held = atRest;
  });

  afterAll(async () => {
    for (const router of routers ?? []) await router[Symbol.asyncDispose]();
    await shell?.[Symbol.asyncDispose]();
    await rig?.[Symbol.asyncDispose]();
  });

  describe('one that', () => {
    it.each(SICKNESSES)(
      '$name harms nobody else, and is served again afterwards',
      async ({ name, begin, isFelt, end }) => {
        using clients = new DisposableStack();
        const callers = await Promise.all(routers.map(callersOf));
        for (const caller of callers.flat()) clients.use(caller);
        const began = performance.now();
        const since = (): string => `${((performance.now() - began) / 1000).toFixed(1)} s`;
        const times: string[] = [];
        try {
          const beginning = begin();
          for (const some of callers) sendSome(some);
          await beginning;
          for (const some of callers) sendSome(some);
          for (const [r, router] of routers.entries()) {
            await waitUntil(() => isFelt(router), `${SICK} ${name}, and the router feels it`, FELT_WITHIN_MS);
            (callers[r] as Caller[]).push(clients.use(await expectPassing(router)));
          }
          for (const some of callers) sendSome(some);
          times.push(`felt by both routers after ${since()}`);
          const calls = await Promise.all(routers.map((router, r) => useAllWell(router, r)));
          for (const router of routers) expect(await isFelt(router)).toBe(true);
          times.push(`${calls.map(String).join(' and ')} calls to the others until ${since()}`);
        } finally {
          await end();
        }
        times.push(`healed at ${since()}`);
        const told = await Promise.all(
          callers.map(async (some) => addUp(await Promise.all(some.map((caller) => caller.answers())))),
        );
        times.push(`all answered at ${since()}`);
        console.log(`${SICK} ${name}: ${times.join(', ')}\n${JSON.stringify(told, null, 1)}`);
        for (const one of told) expect(unexpected(one)).toEqual([]);

        for (const router of routers) {
          await useWell(router, SICK, USERS[0] as string, 'after');
          expect(await shell.ok(['-ls', `${router.uri}${sick}`])).toContain('file-0');
        }
        clients.dispose();
        for (const router of routers) {
          for (const { window } of await settled(router, held.get(router) as Held)) {
            // A worker at rest keeps the part that it had last.
            expect(window).toBeGreaterThan(0);
            expect(window).toBeLessThanOrEqual(CEILING);
          }
        }
      },
      300_000,
    );
  });

  defineRefusalTests(() => rig);
  defineRefreshTests(() => rig);
});
