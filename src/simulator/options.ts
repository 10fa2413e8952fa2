/** Options of a simulator, checked and completed; plain data that can be sent to its thread. */
import { userInfo } from 'node:os';
import type { SimulatedDataNode } from './datanodes.ts';
import { MAX_DATANODES, plainDataNodes } from './datanodes.ts';
import { LISTING_LIMIT } from './listing-operations.ts';
import type { Overflow } from './rpc-server.ts';
import type { ServiceTime } from './service-time.ts';
import { NO_SERVICE_TIME } from './service-time.ts';
import type { Lag } from './tailing.ts';

export const MAX_NAMESERVICES = 64;
/** NameNodes of one nameservice. */
export const MAX_NAMENODES = 16;

/** What may change while the simulator runs. */
export interface SimulatorSettings {
  readonly serviceTime: ServiceTime;
  /** Service times of single methods, by name. */
  readonly methodServiceTime: Readonly<Record<string, ServiceTime>>;
  /** Of each NameNode; 0: no cap. */
  readonly callsPerSecond: number;
  readonly handlers: number;
  readonly queueCapacity: number;
  readonly overflow: Overflow;
  /** Frames longer than this close the connection, `ipc.maximum.data.length`. */
  readonly maxFrameBytes: number;
  /** State ids in reply headers, `dfs.namenode.state.context.enabled`. */
  readonly stateIds: boolean;
  readonly proxyUsers: readonly string[];
  /** How long each answer is on its way, in whole milliseconds; later ones may pass it. */
  readonly answerDelay: ServiceTime;
  /** So many answers are kept back for a moment, and a random one leaves when another comes; 0: none is. */
  readonly reorderAnswers: number;
}

export interface SimulatorOptions extends Partial<SimulatorSettings> {
  /** Ids, default ns0 and ns1. */
  readonly nameservices?: readonly string[];
  /** NameNodes of each nameservice without observers: nn0 active, the others standby. Default 2. */
  readonly namenodes?: number;
  /** Observers, after the others. Default 0. */
  readonly observers?: number;
  /** Where observers differ from the others. */
  readonly observerSettings?: Partial<SimulatorSettings>;
  /** Age at which observers apply an edit, drawn for each; default: at once. */
  readonly observerLag?: ServiceTime;
  /** Ports from here on, in the order of nameservices and NameNodes; 0 (default): any free ones. */
  readonly portBase?: number;
  /** Owner of the root, and who may do everything. Default: who runs the simulator. */
  readonly superuser?: string;
  readonly supergroup?: string;
  readonly groups?: Readonly<Record<string, readonly string[]>>;
  readonly clusterId?: string;
  readonly listingLimit?: number;
  readonly replication?: number;
  readonly blockSizeBytes?: number;
  /** Age of an access time at which a read renews it, `dfs.namenode.accesstime.precision`; 0: never. Default one hour, as in HDFS. */
  readonly accessTimePrecisionMs?: number;
  /** Same seed, same service times, lags and delays. */
  readonly seed?: number;
  /** DataNodes, or how many plain ones; default none, so that files stay empty. */
  readonly datanodes?: number | readonly SimulatedDataNode[];
  /** Inode id of the root by nameservice; default 16385, as in HDFS. */
  readonly rootInodeIds?: Readonly<Record<string, number>>;
}

export interface CompleteOptions extends SimulatorSettings {
  readonly nameservices: readonly string[];
  readonly namenodes: number;
  readonly observers: number;
  readonly observerSettings: Partial<SimulatorSettings>;
  readonly observerLag: ServiceTime;
  readonly portBase: number;
  readonly superuser: string;
  readonly supergroup: string;
  readonly groups: Readonly<Record<string, readonly string[]>>;
  readonly clusterId: string;
  readonly listingLimit: number;
  readonly replication: number;
  readonly blockSizeBytes: number;
  readonly accessTimePrecisionMs: number;
  readonly seed: number;
  readonly datanodes: readonly SimulatedDataNode[];
  readonly rootInodeIds: Readonly<Record<string, number>>;
}

/** An option that cannot be; the message names it and what is allowed. */
export class SimulatorOptionError extends Error {
  override readonly name = 'SimulatorOptionError';
}

export function completeOptions(options: SimulatorOptions): CompleteOptions {
  const observers = options.observers ?? 0;
  const superuser = options.superuser ?? process.env['HADOOP_USER_NAME'] ?? userInfo().username;
  const complete: CompleteOptions = {
    nameservices: options.nameservices ?? ['ns0', 'ns1'],
    namenodes: options.namenodes ?? 2,
    observers,
    observerSettings: options.observerSettings ?? {},
    observerLag: options.observerLag ?? NO_SERVICE_TIME,
    portBase: options.portBase ?? 0,
    superuser,
    supergroup: options.supergroup ?? 'supergroup',
    groups: options.groups ?? {},
    clusterId: options.clusterId ?? 'CID-switchyard-simulator',
    listingLimit: options.listingLimit ?? LISTING_LIMIT,
    replication: options.replication ?? 3,
    blockSizeBytes: options.blockSizeBytes ?? 128 * 1024 * 1024,
    accessTimePrecisionMs: options.accessTimePrecisionMs ?? 3_600_000,
    seed: options.seed ?? 1,
    datanodes: listDataNodes(options.datanodes ?? []),
    rootInodeIds: options.rootInodeIds ?? {},
    serviceTime: options.serviceTime ?? NO_SERVICE_TIME,
    methodServiceTime: options.methodServiceTime ?? {},
    callsPerSecond: options.callsPerSecond ?? 0,
    handlers: options.handlers ?? 64,
    queueCapacity: options.queueCapacity ?? 6400,
    overflow: options.overflow ?? 'block',
    maxFrameBytes: options.maxFrameBytes ?? 128 * 1024 * 1024,
    stateIds: options.stateIds ?? observers > 0,
    proxyUsers: options.proxyUsers ?? [superuser],
    answerDelay: options.answerDelay ?? NO_SERVICE_TIME,
    reorderAnswers: options.reorderAnswers ?? 0,
  };
  check(complete);
  return complete;
}

function check(options: CompleteOptions): void {
  const { nameservices, namenodes, observers, portBase } = options;
  if (nameservices.length === 0 || nameservices.length > MAX_NAMESERVICES) {
    throw new SimulatorOptionError(
      `nameservices: ${nameservices.length} of them, allowed are 1 to ${MAX_NAMESERVICES}`,
    );
  }
  for (const id of nameservices) {
    if (!/^[A-Za-z0-9][A-Za-z0-9_-]*$/.test(id)) {
      throw new SimulatorOptionError(`nameservice ${JSON.stringify(id)}: use letters, digits, - and _`);
    }
  }
  if (new Set(nameservices).size !== nameservices.length) {
    throw new SimulatorOptionError(`nameservices ${nameservices.join(',')}: name each only once`);
  }
  wholeNumber('namenodes', namenodes, 1, MAX_NAMENODES);
  wholeNumber('observers', observers, 0, MAX_NAMENODES - namenodes);
  wholeNumber('port base', portBase, 0, 65_536 - nameservices.length * (namenodes + observers));
  checkSettings(options);
  checkSettings(settingsOfObservers(options));
  wholeNumber('access time precision', options.accessTimePrecisionMs, 0, Number.MAX_SAFE_INTEGER);
  wholeNumber('listing limit', options.listingLimit, 1, 1_000_000);
  for (const [id, inodeId] of Object.entries(options.rootInodeIds)) {
    wholeNumber(`root inode id of ${id}`, inodeId, 1, 2 ** 40);
  }
  checkDataNodes(options.datanodes);
}

function listDataNodes(nodes: number | readonly SimulatedDataNode[]): readonly SimulatedDataNode[] {
  if (typeof nodes === 'number') {
    wholeNumber('datanodes', nodes, 0, MAX_DATANODES);
    return plainDataNodes(nodes);
  }
  return nodes;
}

function checkDataNodes(nodes: readonly SimulatedDataNode[]): void {
  wholeNumber('datanodes', nodes.length, 0, MAX_DATANODES);
  const uuids = new Set(nodes.map((node) => node.uuid));
  if (uuids.size !== nodes.length || uuids.has('')) {
    throw new SimulatorOptionError('datanodes: each needs a uuid of its own');
  }
}

export function checkSettings(settings: SimulatorSettings): void {
  if (!(settings.callsPerSecond >= 0 && Number.isFinite(settings.callsPerSecond))) {
    throw new SimulatorOptionError(`calls per second ${settings.callsPerSecond}: 0 for no cap, else a positive number`);
  }
  wholeNumber('handlers', settings.handlers, 1, 10_000);
  wholeNumber('queue capacity', settings.queueCapacity, 1, 1_000_000);
  wholeNumber('max frame bytes', settings.maxFrameBytes, 1024, 0x7fff_ffff);
  wholeNumber('reordered answers', settings.reorderAnswers, 0, 10_000);
}

export function settingsOfObservers(options: CompleteOptions): SimulatorSettings {
  return { ...options, ...options.observerSettings };
}

export function checkLag({ lagTransactions, randomTransactions }: Lag): void {
  wholeNumber('lag in transactions', lagTransactions, 0, Number.MAX_SAFE_INTEGER);
  wholeNumber('random transactions', randomTransactions, 0, 2 ** 32 - 1);
}

export function wholeNumber(name: string, value: number, least: number, most: number): void {
  if (!Number.isInteger(value) || value < least || value > most) {
    throw new SimulatorOptionError(`${name} ${value}: a whole number from ${least} to ${most}`);
  }
}
