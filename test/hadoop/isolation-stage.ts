import { readdirSync, readlinkSync } from 'node:fs';
import { RouterProcess } from '../support/router-process.ts';
import { waitUntil } from '../support/wait.ts';
import { findFreePort } from '../support/zookeeper-server.ts';
import { isRefusal, RawNamespace } from './raw-namespace.ts';
import { directEndpoint, OWN_KEYS, Rig } from './support.ts';

/** What the tests of isolation and overload share: three HA nameservices, routers with and without a fair queue, what these say of themselves. */

export const NAMESERVICES = ['ns0', 'ns1', 'ns2'] as const;
export type Nameservice = (typeof NAMESERVICES)[number];
/** Of each nameservice below its mount point; their permissions tell them apart. */
export const FILES = 10;
const EVERYBODY = 0o777;
/** Another program may take a port between its choice and its use. */
const STARTS = 3;
const SETTLED_WITHIN_MS = 60_000;

/** Path at which routers show /data of a nameservice. */
export function mountOf(nameservice: Nameservice): string {
  return `/data${nameservice.slice(2)}`;
}

/** Permission of file i of a nameservice. */
export function modeOf(nameservice: Nameservice, i: number): number {
  return 0o400 + FILES * NAMESERVICES.indexOf(nameservice) + i;
}

/** Of `GET /api/v1/queues`. */
export interface Queue {
  readonly nameservice: string;
  readonly window: number;
  readonly inFlight: number;
  readonly waiting: number;
  readonly levels: readonly { readonly waiting: number; readonly overflowed: number }[];
  readonly passed: number;
  readonly waited: number;
  readonly refused: Readonly<Record<'full' | 'slow' | 'late', number>>;
}

/** Of `GET /api/v1/nameservices`. */
interface SeenNameservice {
  readonly id: string;
  readonly namenodes: readonly { readonly state: string; readonly takesCalls: boolean }[];
}

async function read<T>(router: RouterProcess, path: string): Promise<readonly T[]> {
  // The connection is one of the sockets that are counted.
  const answer = await fetch(`http://127.0.0.1:${router.httpPort}/api/v1/${path}`, {
    headers: { connection: 'close' },
  });
  return ((await answer.json()) as { nameservices: readonly T[] }).nameservices;
}

export async function queuesOf(router: RouterProcess): Promise<readonly Queue[]> {
  return await read(router, 'queues');
}

export async function queueOf(router: RouterProcess, nameservice: Nameservice): Promise<Queue> {
  return (await queuesOf(router))[NAMESERVICES.indexOf(nameservice)] as Queue;
}

/** Whether the router takes a NameNode of the nameservice for the active one. */
export async function hasActive(router: RouterProcess, nameservice: Nameservice): Promise<boolean> {
  const all = await read<SeenNameservice>(router, 'nameservices');
  return all.some(({ id, namenodes }) => id === nameservice && namenodes.some(({ takesCalls }) => takesCalls));
}

/** What a process holds. */
export interface Held {
  readonly sockets: number;
  readonly threads: number;
}

export function heldBy({ pid }: RouterProcess): Held {
  let sockets = 0;
  for (const fd of readdirSync(`/proc/${pid}/fd`)) {
    try {
      if (readlinkSync(`/proc/${pid}/fd/${fd}`).startsWith('socket:')) sockets++;
    } catch {
      // closed meanwhile
    }
  }
  return { sockets, threads: readdirSync(`/proc/${pid}/task`).length };
}

/** Waits until nothing is on its way in the router, and it holds no more than that. */
export async function settled(router: RouterProcess, held: Held): Promise<readonly Queue[]> {
  let last = '';
  const look = async (): Promise<readonly Queue[] | null> => {
    const queues = await queuesOf(router);
    const { sockets, threads } = heldBy(router);
    last = JSON.stringify({ sockets, threads, queues });
    const free = queues.every(({ inFlight, waiting }) => inFlight === 0 && waiting === 0);
    return free && sockets <= held.sockets && threads <= held.threads ? queues : null;
  };
  try {
    return await waitUntil(look, 'the router is as it was', SETTLED_WITHIN_MS);
  } catch (error) {
    throw new Error(`${(error as Error).message}: ${last}, was ${JSON.stringify(held)}`, { cause: error });
  }
}

export interface RouterOptions {
  readonly keys?: Readonly<Record<string, string>>;
  readonly configDir?: string;
}

/** A router of this tree with a ring, and with its HTTP server, over the rig's configuration. */
export async function startRouter(rig: Rig, { keys = {}, configDir }: RouterOptions = {}): Promise<RouterProcess> {
  for (let tries = 1; ; tries++) {
    // In the State Store a router is known by its port.
    const port = await findFreePort();
    const all = { ...OWN_KEYS, 'switchyard.handoff': 'ring', ...keys };
    const args = Object.entries(all).flatMap(([key, value]) => ['--set', `${key}=${value}`]);
    const env = { HADOOP_USER_NAME: rig.up.user };
    try {
      return await RouterProcess.start({ configDir: configDir ?? rig.up.conf, port, http: true, args, env });
    } catch (error) {
      if (tries === STARTS || !(error as Error).message.includes('EADDRINUSE')) throw error;
    }
  }
}

export async function startIsolationRig(javaRouters: readonly Readonly<Record<string, string>>[]): Promise<Rig> {
  const rig = await Rig.start({
    nameservices: NAMESERVICES.length,
    datanodes: 1,
    mounts: [...NAMESERVICES.map((ns) => `${mountOf(ns)}=${ns}:/data`), `/all=${NAMESERVICES.join(',')}:/all@HASH_ALL`],
    javaRouters: javaRouters.length,
    routerConf: javaRouters,
  });
  for (const ns of NAMESERVICES) {
    using direct = await RawNamespace.connect(directEndpoint((await rig.active(ns)).rpc), rig.up.user);
    for (const directory of ['/data', '/all']) {
      await succeeded(direct.mkdirs(directory));
      await succeeded(direct.setPermission(directory, EVERYBODY));
    }
    for (let i = 0; i < FILES; i++) {
      await succeeded(direct.create(`/data/file-${i}`));
      await succeeded(direct.setPermission(`/data/file-${i}`, modeOf(ns, i)));
    }
  }
  return rig;
}

/** The answer, which is no refusal. */
export async function succeeded<T>(answer: Promise<T>): Promise<T> {
  const value = await answer;
  if (isRefusal(value)) throw new Error(`${value.refused}: ${value.message}`);
  return value;
}
