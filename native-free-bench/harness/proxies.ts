/** What stands between the clients and the NameNode: the router in its two hand-offs, HAProxy as the peer, or nothing. */

import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Child, type Line } from './children.ts';

export const VARIANTS = ['haproxy', 'ring', 'inline', 'direct'] as const;
export type Variant = (typeof VARIANTS)[number];

export interface RunningProxy {
  readonly port: number;
  /** Of a router with a State Store. */
  readonly adminPort?: number;
  /** Undefined for the direct connection. */
  readonly child: Child | undefined;
}

export interface ProxyOptions {
  readonly namenodePort: number;
  /** Core list for all threads of the proxy; undefined: anywhere. */
  readonly cores: string | undefined;
  /** Directory for the files that this proxy needs; made here. */
  readonly directory: string;
  readonly env: NodeJS.ProcessEnv;
  /** Entry file of the router: that of the sources, or of a build. */
  readonly routerMain: string;
}

export interface RouterOptions extends ProxyOptions {
  readonly handoff: 'ring' | 'inline';
  /** Arguments that say what is mounted. */
  readonly mounts: readonly string[];
  /** Ports of the NameNodes of ns0, ns1, …; without them `namenodePort` serves ns0 alone. */
  readonly namenodePorts?: readonly number[];
  /** Left out: any; by its port a router is known in a State Store. */
  readonly rpcPort?: number;
  /** Further configuration keys, and others than usual. */
  readonly settings?: Readonly<Record<string, string>>;
}

const READY_MS = 30_000;
const CONNECT_RETRY_MS = 20;
/** Room for 1,000 clients and as many server connections. */
const HAPROXY_MAX_CONNECTIONS = 4_000;
/** NameNode connections that the router opens for the one user of the load. */
const NAMENODE_CONNECTIONS = 4;
/** Entry file of the router in this work tree. */
export const ROUTER_SOURCES: string = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

export async function startProxy(variant: Variant, options: ProxyOptions): Promise<RunningProxy> {
  switch (variant) {
    case 'direct':
      return { port: options.namenodePort, child: undefined };
    case 'haproxy':
      return startHaproxy(options);
    case 'ring':
    case 'inline':
      return startRouter({ ...options, handoff: variant, mounts: ['--mount', '/mnt=ns0:/mnt'] });
  }
}

/** First line of `haproxy -v`, or an Error that says what to do. */
export function haproxyVersion(): string | Error {
  const run = spawnSync('haproxy', ['-v'], { encoding: 'utf8' });
  if (run.error !== undefined || run.status !== 0) {
    return new Error(
      'haproxy is not there: install it (Debian: apt-get install haproxy) or leave it out with --variants ring,inline',
    );
  }
  return (run.stdout.split('\n')[0] as string).replace(/ - .*/, '');
}

async function startHaproxy(options: ProxyOptions): Promise<RunningProxy> {
  const port = await findFreePort();
  mkdirSync(options.directory, { recursive: true });
  const file = join(options.directory, 'haproxy.cfg');
  writeFileSync(file, haproxyConfiguration(port, options.namenodePort));
  const child = new Child({
    name: 'haproxy',
    command: 'haproxy',
    args: ['-db', '-f', file],
    cores: options.cores,
    env: options.env,
  });
  await Promise.race([waitForListener(port), child.waitFor(() => false, READY_MS)]);
  return { port, child };
}

/** Plain TCP, one thread, no log: the least that HAProxy can do with a connection. */
function haproxyConfiguration(port: number, namenodePort: number): string {
  return [
    'global',
    '  nbthread 1',
    `  maxconn ${HAPROXY_MAX_CONNECTIONS}`,
    'defaults',
    '  mode tcp',
    '  timeout connect 5s',
    '  timeout client 1h',
    '  timeout server 1h',
    'listen namenode',
    `  bind 127.0.0.1:${port}`,
    `  server nn0 127.0.0.1:${namenodePort}`,
    '',
  ].join('\n');
}

/** Starts the router; resolves when it has printed its ready line. */
export async function startRouter(options: RouterOptions): Promise<RunningProxy> {
  writeRouterConfiguration(options.directory, options.namenodePorts ?? [options.namenodePort]);
  const settings = {
    'dfs.federation.router.connection.pool-size': String(NAMENODE_CONNECTIONS),
    'dfs.federation.router.http-address': '127.0.0.1:0',
    ...options.settings,
  };
  const child = new Child({
    name: `router (${options.handoff})`,
    command: process.execPath,
    args: [
      options.routerMain,
      'start',
      '--config-dir',
      options.directory,
      ...options.mounts,
      '--rpc',
      `127.0.0.1:${options.rpcPort ?? 0}`,
      '--handoff',
      options.handoff,
      ...Object.entries(settings).flatMap(([key, value]) => ['--set', `${key}=${value}`]),
    ],
    cores: options.cores,
    env: options.env,
  });
  const ready = await child.waitFor((line: Line) => line['ready'] === true, READY_MS);
  const port = portOf(ready['rpc']);
  if (!(port > 0)) throw new Error(`${child.name}: its ready line names no port: ${JSON.stringify(ready)}`);
  return ready['admin'] === undefined ? { port, child } : { port, child, adminPort: portOf(ready['admin']) };
}

function portOf(address: unknown): number {
  return Number(String(address).replace(/.*:/, ''));
}

function writeRouterConfiguration(directory: string, namenodePorts: readonly number[]): void {
  mkdirSync(directory, { recursive: true });
  const nameservices = namenodePorts.map((_, index) => `ns${index}`).join(',');
  const addresses = namenodePorts.map((port, index) => [`dfs.namenode.rpc-address.ns${index}`, `127.0.0.1:${port}`]);
  writeFileSync(
    join(directory, 'hdfs-site.xml'),
    hadoopXml({ 'dfs.nameservices': nameservices, ...Object.fromEntries(addresses) }),
  );
  writeFileSync(
    join(directory, 'hdfs-rbf-site.xml'),
    hadoopXml({ 'dfs.federation.router.monitor.namenode': nameservices }),
  );
}

/** A site file of Hadoop's. */
export function hadoopXml(properties: Readonly<Record<string, string>>): string {
  const lines = Object.entries(properties).map(
    ([name, value]) => `  <property><name>${name}</name><value>${value}</value></property>`,
  );
  return ['<?xml version="1.0"?>', '<configuration>', ...lines, '</configuration>', ''].join('\n');
}

/** A port that was free a moment ago, for what cannot be told to take any. */
export function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = net.createServer();
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as net.AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

async function waitForListener(port: number): Promise<void> {
  const deadline = performance.now() + READY_MS;
  while (!(await connects(port))) {
    if (performance.now() > deadline) throw new Error(`nothing listens on port ${port} after ${READY_MS} ms`);
    await sleep(CONNECT_RETRY_MS);
  }
}

function connects(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1');
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}
