/** A ZooKeeper server of the bench's own, as Debian's package `zookeeper` has it; its data lies in the directory of the run. */

import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { OPEN_ACL } from '../../src/state-store/zookeeper/protocol.ts';
import { ZooKeeperDriver } from '../../src/state-store/zookeeper-driver.ts';
import { refuse } from './arguments.ts';
import { Child } from './children.ts';
import { findFreePort } from './proxies.ts';

const JAR = '/usr/share/java/zookeeper.jar';
const HOST = '127.0.0.1';
const READY_MS = 30_000;
const RETRY_MS = 100;
const REQUEST_MS = 10_000;

export interface RunningZooKeeper {
  readonly child: Child;
  /** host:port */
  readonly address: string;
}

/** Ends the program when there is no ZooKeeper on this machine. */
export function requireZooKeeper(): void {
  if (!existsSync(JAR)) refuse(`there is no ${JAR}: install it (Debian: apt-get install zookeeper)`);
}

/** `cores` as taskset takes them; undefined: anywhere. */
export async function startZooKeeper(
  directory: string,
  cores: string | undefined,
  env: NodeJS.ProcessEnv,
): Promise<RunningZooKeeper> {
  const port = await findFreePort();
  const settings = join(directory, 'zoo.cfg');
  mkdirSync(directory, { recursive: true });
  writeFileSync(
    settings,
    [
      `dataDir=${join(directory, 'data')}`,
      `clientPort=${port}`,
      `clientPortAddress=${HOST}`,
      'tickTime=2000',
      'admin.enableServer=false',
      'maxClientCnxns=0',
    ].join('\n'),
  );
  const child = new Child({
    name: 'ZooKeeper',
    command: 'java',
    args: ['-Xmx512m', '-XX:+UseSerialGC', '-cp', JAR, 'org.apache.zookeeper.server.ZooKeeperServerMain', settings],
    cores,
    env,
  });
  const address = `${HOST}:${port}`;
  await Promise.race([untilReady(address), child.waitFor(() => false, READY_MS)]);
  return { child, address };
}

/** A client of its State Store; `start` it before use. */
export function driverFor(address: string): ZooKeeperDriver {
  return new ZooKeeperDriver({
    servers: [{ host: HOST, port: Number(address.slice(address.lastIndexOf(':') + 1)) }],
    chroot: '',
    parentPath: '/hdfs-federation',
    timeoutMs: REQUEST_MS,
    numRetries: 3,
    retryIntervalMs: RETRY_MS,
    acl: OPEN_ACL,
    auth: [],
  });
}

async function untilReady(address: string): Promise<void> {
  const driver = driverFor(address);
  try {
    for (const deadline = performance.now() + READY_MS; ; await sleep(RETRY_MS)) {
      try {
        await driver.start();
        return;
      } catch (error) {
        if (performance.now() > deadline) throw error;
      }
    }
  } finally {
    await driver.close();
  }
}
