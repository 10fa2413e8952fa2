/** What the parts of this bench run against: a simulated NameNode, ZooKeeper with a mount table, and routers that share it. */

import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { HdfsClient } from '../../src/control/hdfs-client.ts';
import { RemoteError } from '../../src/control/rpc-client.ts';
import { Child } from '../harness/children.ts';
import type { CoreSplit } from '../harness/machine.ts';
import { findFreePort, ROUTER_SOURCES, type RunningProxy, startRouter } from '../harness/proxies.ts';
import type { RunDirectory } from '../harness/run-directory.ts';
import { driverFor, startZooKeeper } from '../harness/running-zookeeper.ts';
import { fillTable, sourceOf, USER } from './mount-table.ts';
import type { Written } from './writer.ts';

const READY_MS = 60_000;
const LOOK_MS = 1;
const WRITER = new URL('./writer.ts', import.meta.url).pathname;

export type Handoff = 'ring' | 'inline';

export interface Setup {
  readonly entries: number;
  readonly zookeeper: string;
  readonly namenodePort: number;
  readonly cores: CoreSplit;
  readonly directory: RunDirectory;
}

export interface Router {
  readonly port: number;
  readonly adminPort: number;
  readonly pid: number;
  readonly child: Child;
}

/** NameNode, ZooKeeper and the mount table, on the cores of the tools. */
export async function startSetup(entries: number, cores: CoreSplit, directory: RunDirectory): Promise<Setup> {
  const { toolCores } = cores;
  const simulator = new Child({
    name: 'simulated NameNode',
    command: process.execPath,
    args: [ROUTER_SOURCES, 'simulate', '--nameservices', 'ns0', '--namenodes', '1'],
    cores: toolCores,
    env: { ...directory.env, HADOOP_USER_NAME: USER },
  });
  const ready = await simulator.waitFor((line) => line['ready'] === true, READY_MS);
  const [nameservice] = ready['nameservices'] as [{ namenodes: [{ port: number }] }];
  const { address } = await startZooKeeper(join(directory.path, 'zookeeper'), toolCores, directory.env);
  const driver = driverFor(address);
  try {
    await driver.start();
    await fillTable(driver, entries);
  } finally {
    await driver.close();
  }
  return { entries, zookeeper: address, namenodePort: nameservice.namenodes[0].port, cores, directory };
}

/** A router of the deployment that serves the whole table. */
export async function startMember(setup: Setup, name: string, handoff: Handoff, cores: string): Promise<Router> {
  const { directory, namenodePort, zookeeper, entries } = setup;
  const running: RunningProxy = await startRouter({
    handoff,
    mounts: [],
    namenodePort,
    rpcPort: await findFreePort(),
    cores,
    directory: join(directory.path, name),
    env: { ...directory.env, HADOOP_USER_NAME: USER },
    routerMain: ROUTER_SOURCES,
    settings: {
      'hadoop.zk.address': zookeeper,
      'dfs.federation.router.admin-address': '127.0.0.1:0',
      // A path without a mount point is refused: so it shows when there is one.
      'dfs.federation.router.default.nameservice.enable': 'false',
      // The simulated NameNode has no web server.
      'dfs.federation.router.namenode.heartbeat.jmx.interval': '-1',
    },
  });
  const { port, adminPort = 0, child } = running;
  if (child === undefined) throw new Error(`${name} is no process`);
  using client = await HdfsClient.connect({ host: '127.0.0.1', port, user: USER });
  await untilRouted(client, `${sourceOf(Math.max(0, entries - 1))}/x`);
  return { port, adminPort, pid: child.pid, child };
}

/** Asks again and again until the router does not refuse the path; the time of the answer on the steady clock, ms. */
export async function untilRouted(client: HdfsClient, path: string): Promise<number> {
  for (const deadline = performance.now() + READY_MS; ; await sleep(LOOK_MS)) {
    try {
      await client.getFileInfo(path);
      return performance.now();
    } catch (error) {
      if (!(error instanceof RemoteError)) throw error;
      if (performance.now() > deadline) throw new Error(`${path} is not routed after ${READY_MS} ms: ${error.message}`);
    }
  }
}

/** Changes entries while `work` runs. `adminPort` 0: in ZooKeeper. */
export class Writer {
  readonly #child: Child;

  private constructor(child: Child) {
    this.#child = child;
  }

  static async start(setup: Setup, ratePerSecond: number, adminPort: number): Promise<Writer> {
    const { zookeeper, entries, cores, directory } = setup;
    const child = new Child({
      name: 'writer',
      command: process.execPath,
      args: [WRITER, zookeeper, String(entries), String(ratePerSecond), ...(adminPort > 0 ? [String(adminPort)] : [])],
      cores: cores.toolCores,
      env: directory.env,
      channel: true,
    });
    await child.waitFor((line) => line['ready'] === true, READY_MS);
    return new Writer(child);
  }

  async during<T>(work: () => Promise<T>): Promise<{ readonly result: T; readonly written: Written }> {
    await this.#child.ask('begin');
    const result = await work();
    const written = (await this.#child.ask('end')) as Written;
    return { result, written };
  }

  async stop(): Promise<void> {
    await this.#child.stop();
  }
}
