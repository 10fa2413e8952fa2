import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FaultProxy } from '../support/fault-proxy.ts';
import { decodeReply, RawClient } from '../support/raw-client.ts';
import type { RouterProcess } from '../support/router-process.ts';
import { WAIT_MS, waitUntil } from '../support/wait.ts';
import { modeOf, mountOf, type Nameservice, queueOf, startRouter } from './isolation-stage.ts';
import { type JavaClient, JavaClients, routerSettings } from './java-clients.ts';
import { directEndpoint, type Endpoint, type Rig, Shell } from './support.ts';

/**
 * Hadoop's clients before routers whose queues are full: what each refusal makes them do, and that they do the same before a Java Router of
 * the same settings.
 */

const NS: Nameservice = 'ns0';
const FILE = 3;
const PATH = `${mountOf(NS)}/file-${FILE}`;
const STATUS = { method: 'getFileInfo', request: { src: PATH } };
const ROUTER = 'dfs.federation.router';

/** One call at the NameNode, and so many behind it. */
const QUEUED = 4;
const SMALL = { [`${ROUTER}.handler.count`]: '1', [`${ROUTER}.handler.queue.size`]: String(QUEUED) };
/** As one handler. */
const NARROW = { 'switchyard.window.floor': '1', 'switchyard.window.ceiling': '1' };
const FAIR = {
  'ipc.callqueue.impl': 'org.apache.hadoop.ipc.FairCallQueue',
  'ipc.scheduler.impl': 'org.apache.hadoop.ipc.DecayRpcScheduler',
  'ipc.backoff.enable': 'true',
};
const FAIL_OVER = { ...FAIR, 'ipc.callqueue.overflow.trigger.failover': 'true' };

/** Of the Java Routers in the rig. */
export const JAVA_ROUTERS: readonly Readonly<Record<string, string>>[] = [
  { ...SMALL, ...FAIR },
  { ...SMALL, ...FAIL_OVER },
];

/** The only one whose calls have cost something, so that they are of the last level. */
const BUSY_USER = 'alice';
const CALLS_BEFORE = 32;
const NEW_USER = 'bob';

const RETRIES = 3;
const SHORT_PAUSES = { 'dfs.client.failover.sleep.base.millis': '20', 'dfs.client.failover.sleep.max.millis': '100' };
/** Of a client that gives up soon. */
const IMPATIENT = { ...SHORT_PAUSES, 'dfs.client.retry.max.attempts': String(RETRIES) };
/** Of a client that comes back for as long as a test may take. */
const PATIENT = { ...SHORT_PAUSES, 'dfs.client.retry.max.attempts': '10000' };

const OVERLOADED = /^ERROR StandbyException: Router .* is overloaded for NS: ns0$/;
const BUSY = 'ERROR RetriableException: Server too busy';
const DISCONNECTING = 'FATAL RetriableException: Server too busy - disconnecting';
const FAILING_OVER = 'FATAL StandbyException: Server too busy - disconnect and failover';

/** How many calls of clients a NameNode is working on for the router, and how many wait. */
type Occupancy = () => Promise<{ working: number; waiting: number }>;

function occupancyOf(router: RouterProcess): Occupancy {
  return async () => {
    const { inFlight, waiting } = await queueOf(router, NS);
    return { working: inFlight, waiting };
  };
}

function occupancyOfJava(http: string): Occupancy {
  return async () => {
    const query = 'qry=Hadoop:service=Router,name=FederationRPC';
    const answer = await fetch(`http://${http}/jmx?${query}`, { signal: AbortSignal.timeout(WAIT_MS) });
    const [bean] = ((await answer.json()) as { beans: Record<string, number>[] }).beans;
    return { working: bean?.['RpcClientNumActiveConnections'] ?? 0, waiting: bean?.['RpcServerCallQueue'] ?? 0 };
  };
}

/** A router whose queue is full, and a proxy before it that listens to what it says. */
class FullRouter implements AsyncDisposable {
  readonly #router: Pick<Endpoint, 'host' | 'port'>;
  readonly #occupancy: Occupancy;
  readonly #filler: RawClient;

  private constructor(router: Pick<Endpoint, 'host' | 'port'>, occupancy: Occupancy, filler: RawClient) {
    this.#router = router;
    this.#occupancy = occupancy;
    this.#filler = filler;
  }

  /** While the NameNode answers. */
  static async prepare(router: Pick<Endpoint, 'host' | 'port'>, occupancy: Occupancy): Promise<FullRouter> {
    using busy = await RawClient.connect(router, { user: BUSY_USER });
    for (let i = 0; i < CALLS_BEFORE; i++)
      await waitUntil(async () => (await busy.call(STATUS)).status === 'SUCCESS', PATH);
    return new FullRouter(router, occupancy, await RawClient.connect(router, { user: 'filler' }));
  }

  /** While the NameNode does not. */
  async fill(): Promise<void> {
    this.#filler.send(STATUS);
    await waitUntil(async () => (await this.#occupancy()).working === 1, 'a call is at the NameNode');
    for (let i = 0; i < QUEUED; i++) this.#filler.send(STATUS);
    await waitUntil(async () => (await this.#occupancy()).waiting === QUEUED, 'the queue is full');
  }

  /** The answers to the calls that have filled it. */
  async emptied(): Promise<string[]> {
    const statuses: string[] = [];
    for (let i = 0; i <= QUEUED; i++) statuses.push((await this.#filler.receive()).status);
    return statuses;
  }

  async overhear(): Promise<Overheard> {
    return await Overheard.start(this.#router);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#filler[Symbol.dispose]();
  }
}

/** What a router tells one client. */
class Overheard implements AsyncDisposable {
  /** `STATUS CLASS: message` of each answer, in order. */
  readonly told: string[] = [];
  readonly endpoint: Endpoint;
  readonly #proxy: FaultProxy;
  #pending: Buffer = Buffer.alloc(0);

  private constructor(proxy: FaultProxy) {
    this.#proxy = proxy;
    this.endpoint = directEndpoint(`${proxy.host}:${proxy.port}`);
    proxy.toClient.onBytes = (bytes) => this.#take(bytes);
  }

  static async start(router: Pick<Endpoint, 'host' | 'port'>): Promise<Overheard> {
    return new Overheard(await FaultProxy.start({ host: router.host, port: router.port }));
  }

  /** How often the client has connected. */
  get connections(): number {
    return this.#proxy.accepted;
  }

  /** The client has one connection at a time, and each ends with a whole answer. */
  #take(bytes: Buffer): void {
    this.#pending = Buffer.concat([this.#pending, bytes]);
    while (this.#pending.length >= 4 && this.#pending.length >= 4 + this.#pending.readInt32BE(0)) {
      const end = 4 + this.#pending.readInt32BE(0);
      const { status, exception, message } = decodeReply(this.#pending, 4, end);
      this.told.push(exception === '' ? status : `${status} ${exception.split('.').at(-1)}: ${message}`);
      this.#pending = this.#pending.subarray(end);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#proxy[Symbol.asyncDispose]();
  }
}

/** What became of a client that gave up. */
interface GaveUp {
  readonly told: readonly string[];
  readonly connections: number;
  /** What the application was told. */
  readonly error: string | undefined;
}

export function defineRefusalTests(rigOf: () => Rig): void {
  describe('a full queue', () => {
    const stack = new AsyncDisposableStack();
    let shell: Shell;
    let clients: JavaClients;
    /** The one to which clients go that are sent away. */
    let other: RouterProcess;
    let overloaded: FullRouter;
    let fair: Record<'switchyard' | 'java', FullRouter>;
    let failingOver: Record<'switchyard' | 'java', FullRouter>;
    let namenode: string;

    const lock = async (op: 'hang' | 'resume'): Promise<void> =>
      void (await rigOf().ctl({ op, ns: NS, nn: namenode, mode: 'lock' }));

    beforeAll(async () => {
      const rig = rigOf();
      namenode = (await rig.active(NS)).nn;
      shell = stack.use(await Shell.start(rig));
      clients = stack.use(JavaClients.start(rig));
      const ready = async (router: Pick<Endpoint, 'host' | 'port'>, occupancy: Occupancy): Promise<FullRouter> =>
        stack.use(await FullRouter.prepare(router, occupancy));
      const ours = async (keys: Readonly<Record<string, string>>): Promise<FullRouter> => {
        const router = stack.use(await startRouter(rig, { keys: { ...SMALL, ...NARROW, ...keys } }));
        return await ready(router, occupancyOf(router));
      };
      const java = async (index: number): Promise<FullRouter> => {
        const { rpc, http } = rig.up.routers[index] as { rpc: string; http: string };
        return await ready(directEndpoint(rpc), occupancyOfJava(http));
      };
      const [first, ...routers] = await Promise.all([
        startRouter(rig),
        ours({}),
        ours(FAIR),
        java(0),
        ours(FAIL_OVER),
        java(1),
      ]);
      other = stack.use(first);
      const [one, two, three, four, five] = routers as [FullRouter, FullRouter, FullRouter, FullRouter, FullRouter];
      overloaded = one;
      fair = { switchyard: two, java: three };
      failingOver = { switchyard: four, java: five };
      await lock('hang');
      await Promise.all(routers.map((router) => router.fill()));
    });

    afterAll(async () => {
      if (namenode !== undefined) await lock('resume');
      await stack.disposeAsync();
    });

    async function open(at: Overheard, user: string, conf: Readonly<Record<string, string>> = {}): Promise<JavaClient> {
      return await clients.open('plain', [at.endpoint, other], { user, conf });
    }

    async function untilItGivesUp(router: FullRouter, user: string): Promise<GaveUp> {
      await using at = await router.overhear();
      await using client = await open(at, user, IMPATIENT);
      const { error } = await client.attempt('status', PATH);
      return { told: at.told, connections: at.connections, error };
    }

    it.each([
      ['one that has called little', NEW_USER, BUSY, 1],
      ['who causes most of the load', BUSY_USER, DISCONNECTING, 1 + 1 + RETRIES],
    ] as const)(
      'with back-off: %s comes back to the same router, as to a Java Router',
      async (_, user, told, connections) => {
        const [switchyard, java] = await Promise.all([
          untilItGivesUp(fair.switchyard, user),
          untilItGivesUp(fair.java, user),
        ]);
        expect(switchyard).toEqual(java);
        expect(switchyard.told).toEqual(Array.from({ length: 1 + 1 + RETRIES }, () => told));
        expect(switchyard.connections).toBe(connections);
        expect(switchyard.error).toContain(told.slice(told.indexOf(': ') + 2));
        expect(await queueOf(other, NS)).toMatchObject({ passed: 0, waited: 0, inFlight: 0 });
      },
    );

    it('with back-off: hdfs dfs prints what it prints before a Java Router', async () => {
      const printed = async (router: FullRouter): Promise<object> => {
        await using at = await router.overhear();
        const { uri, conf } = routerSettings([at.endpoint, other]);
        const options = Object.entries({ ...conf, ...IMPATIENT }).flatMap(([key, value]) => ['-D', `${key}=${value}`]);
        const { code, out, err } = await shell.run([...options, '-fs', uri, '-ls', PATH], { user: NEW_USER });
        return { code, out, err };
      };
      const switchyard = await printed(fair.switchyard);
      expect(switchyard).toEqual(await printed(fair.java));
      expect(switchyard).toMatchObject({ code: 1, out: '', err: expect.stringContaining('ls: Server too busy') });
    });

    // The last: the NameNode answers again.
    it('sends to the other router whom it tells so, and serves whom it tells to come back', async () => {
      await using ending = new AsyncDisposableStack();
      const begin = async (
        router: FullRouter,
        user: string,
        conf: Readonly<Record<string, string>>,
      ): Promise<{ at: Overheard; outcome: ReturnType<JavaClient['attempt']> }> => {
        const at = ending.use(await router.overhear());
        const client = ending.use(await open(at, user, conf));
        return { at, outcome: client.attempt('status', PATH) };
      };
      const away = await Promise.all([
        begin(overloaded, NEW_USER, {}),
        begin(failingOver.switchyard, NEW_USER, {}),
        begin(failingOver.java, NEW_USER, {}),
        begin(failingOver.switchyard, BUSY_USER, {}),
        begin(failingOver.java, BUSY_USER, {}),
      ]);
      const back = await Promise.all([
        begin(fair.switchyard, NEW_USER, PATIENT),
        begin(fair.java, NEW_USER, PATIENT),
        begin(fair.switchyard, BUSY_USER, PATIENT),
        begin(fair.java, BUSY_USER, PATIENT),
      ]);
      await waitUntil(async () => (await queueOf(other, NS)).inFlight === away.length, 'they are at the other router');
      for (const { at } of back) await waitUntil(() => at.told.length >= 2, 'it has come back');
      expect(away.map(({ at }) => at.told)).toEqual([
        [expect.stringMatching(OVERLOADED)],
        ...Array.from({ length: 4 }, () => [FAILING_OVER]),
      ]);
      await lock('resume');
      for (const router of [overloaded, fair.switchyard, failingOver.switchyard]) {
        expect(await router.emptied()).toEqual(Array.from({ length: 1 + QUEUED }, () => 'SUCCESS'));
      }
      // A Java Router may have lost sight of the NameNode meanwhile.
      for (const router of [fair.java, failingOver.java]) await router.emptied();
      for (const { outcome } of [...away, ...back]) {
        expect(await outcome).toMatchObject({ ok: true, value: { mode: modeOf(NS, FILE) } });
      }
      for (const { at } of back) expect(at.told.at(-1)).toBe('SUCCESS');
      await waitUntil(async () => (await queueOf(other, NS)).inFlight === 0, 'all is answered');
      expect((await queueOf(other, NS)).passed).toBe(away.length);
    });
  });
}
