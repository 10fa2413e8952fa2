/** The routers that are compared, each before the same nameservices and mounts, one alone at a time. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { writeConfigFiles } from '../../src/simulator/config-files.ts';
import { awaitFirstCall } from '../against/first-call.ts';
import { askJavaRouter } from '../against/java-router.ts';
import { pinProcess } from '../against/peers.ts';
import { Child } from '../harness/children.ts';
import { drive } from '../harness/drive.ts';
import type { CoreSplit } from '../harness/machine.ts';
import { findFreePort, ROUTER_SOURCES } from '../harness/proxies.ts';
import { letRunAlone } from '../harness/run-alone.ts';
import type { RunDirectory } from '../harness/run-directory.ts';
import { Caller, getListing } from './caller.ts';
import { ALL_MOUNT, type Namenodes } from './namenodes.ts';

export const PEERS = ['ring', 'inline', 'java', 'java-fair'] as const;
export type Peer = (typeof PEERS)[number];

/** No router: the load calls one NameNode itself, to see what the machine and the tools do to each other. */
export const DIRECT = 'direct' as const;

export const PEER_MEANINGS: Readonly<Record<Peer, string>> = {
  ring: 'Switchyard, acceptors and workers apart',
  inline: 'Switchyard, each acceptor a worker too',
  java: 'Java Router 3.4.1, 256 handlers, call queue of 5,120',
  'java-fair': 'the same with StaticRouterRpcFairnessPolicyController',
};

export interface RunningPeer {
  readonly peer: Peer | typeof DIRECT;
  readonly port: number;
  /** Base of the HTTP API; '' where there is none. */
  readonly http: string;
  /** Undefined for the direct connection. */
  readonly child: Child | undefined;
}

/** A router that was started. */
export interface RunningRouter extends RunningPeer {
  readonly peer: Peer;
  readonly child: Child;
}

export interface PeersOptions {
  readonly peers: readonly Peer[];
  readonly namenodes: Namenodes;
  readonly cores: CoreSplit;
  readonly directory: RunDirectory;
  /** Load of a Java Router on all cores before it has one of its own. */
  readonly javaWarmupSeconds: number;
  /** The NameNodes are in a JVM too: the first router warms it up, whichever it is. */
  readonly areNamenodesCold?: boolean;
  /** Call queue and scheduler: Hadoop's fair ones instead of first come, first served. */
  readonly isFair: boolean;
  readonly progress: (line: string) => void;
}

/** Of each of the 256 handlers: together about the 5,000 of published tunings. */
const JAVA_QUEUE_OF_HANDLER = 20;
const READY_MS = 120_000;
const FIRST_CALL_MS = 120_000;
const ROUTER = 'dfs.federation.router.';
/** The usual one takes no mounts with several destinations. */
const RESOLVER = 'org.apache.hadoop.hdfs.server.federation.resolver.MultipleDestinationMountTableResolver';
const FAIRNESS = 'org.apache.hadoop.hdfs.server.federation.fairness.StaticRouterRpcFairnessPolicyController';
const FAIR_QUEUE = 'org.apache.hadoop.ipc.FairCallQueue';
/** In bursts with pauses, in which the compiler catches up. */
const BURST_SECONDS = 5;
const BURST_PAUSE_MS = 2_000;
const WARMUP_CONNECTIONS = 64;
/** Connections that list a directory of all nameservices meanwhile. */
const WARMUP_LISTINGS = 8;
const WARMUP_LISTINGS_PER_SECOND = 200;

export function isJava(peer: Peer): boolean {
  return peer === 'java' || peer === 'java-fair';
}

/** Starts the peers one after the other; all are paused in the end. */
export async function startPeers(options: PeersOptions): Promise<RunningRouter[]> {
  const running: RunningRouter[] = [];
  for (const peer of options.peers) {
    const started = isJava(peer) ? await startJava(peer, options) : await startOwn(peer, options);
    await awaitServing(started, options.namenodes);
    const isFirst = running.length === 0;
    if (isJava(peer) || (isFirst && options.areNamenodesCold === true)) await warmUp(started, options);
    started.child.pause();
    running.push(started);
    options.progress(`${peer} is up`);
  }
  return running;
}

/** Only this peer runs from now on, and serves every nameservice. */
export async function takeAlone(peer: RunningPeer, all: readonly RunningPeer[], namenodes: Namenodes): Promise<void> {
  await letRunAlone(peer, all);
  await awaitServing(peer, namenodes);
}

async function awaitServing(peer: RunningPeer, { nameservices }: Namenodes): Promise<void> {
  if (peer.child === undefined) return;
  for (const { id } of nameservices) await awaitFirstCall(peer.port, `/${id}/f0`, FIRST_CALL_MS);
}

async function startOwn(peer: Peer, { namenodes, cores, directory, isFair }: PeersOptions): Promise<RunningRouter> {
  const configuration = join(directory.path, peer);
  writeConfigFiles(configuration, namenodes.nameservices, namenodes.config);
  const mountsFile = join(configuration, 'mounts.json');
  writeFileSync(
    mountsFile,
    JSON.stringify(
      namenodes.mounts.map(({ path, nameservices }) => ({
        srcPath: path,
        destOrder: 'HASH_ALL',
        destinations: nameservices.map((nameserviceId) => ({ nameserviceId, path })),
      })),
    ),
  );
  const port = await findFreePort();
  const settings = {
    [`${ROUTER}http-address`]: '127.0.0.1:0',
    // Simulated NameNodes have no web server.
    [`${ROUTER}namenode.heartbeat.jmx.interval`]: '-1',
    ...(isFair ? { [`ipc.${port}.callqueue.impl`]: FAIR_QUEUE } : {}),
  };
  const child = new Child({
    name: `router (${peer})`,
    command: process.execPath,
    args: [
      ...[ROUTER_SOURCES, 'start', '--config-dir', configuration, '--mounts', mountsFile],
      ...['--rpc', `127.0.0.1:${port}`, '--handoff', peer],
      ...Object.entries(settings).flatMap(([key, value]) => ['--set', `${key}=${value}`]),
    ],
    cores: cores.peerCores,
    env: directory.env,
  });
  const ready = await child.waitFor((line) => line['ready'] === true, READY_MS);
  return { peer, port, http: `http://${String(ready['http'])}`, child };
}

/** The settings that both variants of the comparison of speed have in common, HA nameservices, and the fairness policy. */
async function startJava(peer: Peer, { namenodes, directory, isFair }: PeersOptions): Promise<RunningRouter> {
  const own = join(directory.path, peer);
  mkdirSync(own, { recursive: true });
  const conf = join(own, 'conf');
  writeConfigFiles(conf, namenodes.nameservices, namenodes.config);
  const port = await findFreePort();
  const command = askJavaRouter({
    name: `Java Router (${peer})`,
    variant: 'java-pool',
    conf,
    directory: own,
    env: directory.env,
    mounts: namenodes.mounts.map(
      ({ path, nameservices }) =>
        `${path}=${nameservices.join(',')}:${path}${nameservices.length > 1 ? '@HASH_ALL' : ''}`,
    ),
    settings: {
      [`${ROUTER}default.nameserviceId`]: namenodes.ids[0] as string,
      [`${ROUTER}monitor.namenode`]: namenodes.nameservices
        .flatMap(({ id, namenodes: each }) => each.map((namenode) => `${id}.${namenode.id}`))
        .join(','),
      [`${ROUTER}rpc-address`]: `127.0.0.1:${port}`,
      [`${ROUTER}file.resolver.client.class`]: RESOLVER,
      [`${ROUTER}handler.queue.size`]: String(JAVA_QUEUE_OF_HANDLER),
      ...(peer === 'java-fair' ? { [`${ROUTER}fairness.policy.controller.class`]: FAIRNESS } : {}),
      ...(isFair ? { [`ipc.${port}.callqueue.impl`]: FAIR_QUEUE } : {}),
    },
  });
  const child = new Child(command);
  await child.waitFor((line) => typeof line['rpc'] === 'string', READY_MS);
  return { peer, port, http: '', child };
}

/** On one core the compiler of a busy JVM starves: it is driven on all cores first, and only then moved to the core of the peers. */
async function warmUp(running: RunningRouter, options: PeersOptions): Promise<void> {
  const { namenodes, cores, directory, javaWarmupSeconds, progress } = options;
  const endMs = performance.now() + javaWarmupSeconds * 1_000;
  while (performance.now() < endMs) {
    const listings = await new Caller({
      port: running.port,
      kinds: [getListing(ALL_MOUNT)],
      connections: WARMUP_LISTINGS,
      users: ['bench'],
      ratePerSecond: WARMUP_LISTINGS_PER_SECOND,
      inFlight: 1,
    }).start();
    const driven = await drive({
      port: running.port,
      connections: WARMUP_CONNECTIONS,
      inFlight: 1,
      ratePerSecond: 0,
      users: 1,
      seconds: Math.max(1, Math.min(BURST_SECONDS, (endMs - performance.now()) / 1_000)),
      warmupSeconds: 0,
      paths: namenodes.pathsOf(namenodes.ids),
      watchedPid: 0,
      cores: cores.toolCores,
      env: directory.env,
    });
    await listings.stop(BURST_PAUSE_MS);
    progress(`warm-up of ${running.peer}: ${driven.callsPerSecond.toFixed(0)} calls/s`);
    await sleep(BURST_PAUSE_MS);
  }
  pinProcess(running.child.pid, cores.peerCores);
}
