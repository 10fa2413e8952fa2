import { hostname, networkInterfaces } from 'node:os';
import { MAX_NAMENODES } from '../shared/control-block.ts';
import type { NameNodeAddress, Nameservice, Topology } from '../shared/settings.ts';
import { ConfigError } from './config-error.ts';
import type { Configuration } from './configuration.ts';
import { type LookUpHost, lookUpHost } from './host-names.ts';
import { DEFAULT_ROUTER_PORT, readListenHost } from './listen-address.ts';

const RPC_ADDRESS = 'dfs.namenode.rpc-address';
const MONITORED = 'dfs.federation.router.monitor.namenode';
const DEFAULT_NAMENODE_PORT = 8020;
/** The index of a nameservice must fit where shared memory and mount snapshots keep it. */
const MAX_NAMESERVICES = 1_024;

/** A configured nameservice that is not behind this router, and why. */
export interface SkippedNameservice {
  readonly id: string;
  readonly reason: 'no-address' | 'own-address';
  readonly message: string;
}

export interface ReadTopology {
  readonly topology: Topology;
  readonly skipped: readonly SkippedNameservice[];
}

/** Host names and addresses, as the configuration writes them, that mean this machine. */
export type LocalHosts = ReadonlySet<string>;

/**
 * The nameservices behind this router: those of `dfs.federation.router.monitor.namenode` (`ns` or `ns.nn`, always with all their
 * NameNodes), else all of `dfs.nameservices` but those whose NameNodes are routers: one of their addresses is this router's own.
 */
export function readTopology(configuration: Configuration, localHosts: LocalHosts = namesOfThisHost()): ReadTopology {
  const monitored = readMonitored(configuration);
  const ids = monitored.size > 0 ? [...monitored.keys()] : configuration.readList('dfs.nameservices');
  if (ids.length > MAX_NAMESERVICES) {
    const key = monitored.size > 0 ? MONITORED : 'dfs.nameservices';
    throw configuration.error(key, `${ids.length} nameservices`, `at most ${MAX_NAMESERVICES} are possible`);
  }
  const nameservices: Nameservice[] = [];
  const skipped: SkippedNameservice[] = [];
  for (const id of ids) {
    const named = monitored.get(id) ?? new Set<string>();
    const namenodes = readNamenodes(configuration, id, named);
    const own = namenodes.find((namenode) => isOwnAddress(configuration, namenode, localHosts));
    if (namenodes.length > MAX_NAMENODES) {
      const remedy = `at most ${MAX_NAMENODES} are possible`;
      throw configuration.error(`dfs.ha.namenodes.${id}`, `${namenodes.length} NameNodes`, remedy);
    }
    if (namenodes.length === 0) {
      const message = `nameservice ${id} has no NameNode with an address; set ${RPC_ADDRESS}.${id}[.NAMENODE]`;
      skipped.push({ id, reason: 'no-address', message });
    } else if (own !== undefined) {
      const at = own.id === '' ? id : `${id}.${own.id}`;
      const message = `nameservice ${id} is this router itself: ${RPC_ADDRESS}.${at} is the address of its client port`;
      if (monitored.size > 0) throw configuration.error(MONITORED, message, `take ${id} out of the list`);
      skipped.push({ id, reason: 'own-address', message });
    } else {
      nameservices.push({ id, namenodes });
    }
  }
  return { topology: { nameservices }, skipped };
}

/** The nameservices; a ConfigError when there is none, because then no path leads anywhere. */
export function requireNameservices({ topology, skipped }: ReadTopology, configuration: Configuration): Topology {
  if (topology.nameservices.length > 0) return topology;
  const why = skipped.map(({ message }) => message).join('; ');
  const isSelf = skipped.some(({ reason }) => reason === 'own-address');
  throw new ConfigError({
    place: configuration.directory ?? 'configuration',
    key: 'dfs.nameservices',
    problem: why === '' ? 'no nameservice is configured' : why,
    remedy: isSelf
      ? 'correct that address, or give the router another port (--rpc, dfs.federation.router.rpc-address)'
      : `name the nameservices in dfs.nameservices and their NameNodes in ${RPC_ADDRESS}.NAMESERVICE[.NAMENODE]`,
  });
}

/** Names and numeric addresses of this machine that need no name service. */
export function namesOfThisHost(): Set<string> {
  const names = new Set(['localhost', hostname().toLowerCase(), '0.0.0.0', '::']);
  for (const interfaces of Object.values(networkInterfaces())) {
    for (const { address } of interfaces ?? []) names.add(address.toLowerCase());
  }
  return names;
}

/** `namesOfThisHost` and those configured NameNode hosts with the router's port that resolve to one of them. */
export async function findLocalHosts(
  configuration: Configuration,
  lookUp: LookUpHost = lookUpHost,
): Promise<LocalHosts> {
  const local = namesOfThisHost();
  const port = readRouterPort(configuration);
  const candidates = new Set<string>();
  for (const name of configuration.names()) {
    if (!name.startsWith(`${RPC_ADDRESS}.`)) continue;
    const address = tryAddress(configuration, name);
    if (address !== null && address.port === port) candidates.add(address.host.toLowerCase());
  }
  const everywhere = listensEverywhere(configuration);
  const isLocal = async (host: string): Promise<boolean> =>
    (await lookUp(host)).some((address) => local.has(address.toLowerCase()) || (everywhere && isLoopback(address)));
  const hosts = [...candidates].filter((host) => !local.has(host));
  const answers = await Promise.all(hosts.map(isLocal));
  return new Set([...local, ...hosts.filter((_, index) => answers[index])]);
}

/** Nameservice → NameNodes named one by one. */
function readMonitored(configuration: Configuration): Map<string, Set<string>> {
  const monitored = new Map<string, Set<string>>();
  for (const item of configuration.readList(MONITORED)) {
    const [id = '', namenode, ...rest] = item.split('.');
    if (id === '' || namenode === '' || rest.length > 0) {
      throw configuration.error(
        MONITORED,
        `'${item}' is no NameNode`,
        'write NAMESERVICE or NAMESERVICE.NAMENODE; ids have no dots',
      );
    }
    const named = monitored.get(id) ?? new Set();
    if (namenode !== undefined) named.add(namenode);
    monitored.set(id, named);
  }
  return monitored;
}

function readNamenodes(configuration: Configuration, ns: string, named: ReadonlySet<string>): NameNodeAddress[] {
  const configured =
    configuration.get(`dfs.ha.namenodes.${ns}`) === null ? [] : configuration.readList(`dfs.ha.namenodes.${ns}`);
  const ids = new Set([...configured, ...named]);
  if (ids.size === 0) ids.add('');
  const namenodes: NameNodeAddress[] = [];
  for (const id of ids) {
    const key = id === '' ? `${RPC_ADDRESS}.${ns}` : `${RPC_ADDRESS}.${ns}.${id}`;
    if ((configuration.get(key) ?? '').trim() === '') {
      if (!named.has(id)) continue;
      throw configuration.error(
        MONITORED,
        `NameNode ${ns}.${id} has no address`,
        `set ${key}, or take ${ns}.${id} out of the list`,
      );
    }
    const { host, port } = configuration.readAddress(key, DEFAULT_NAMENODE_PORT);
    if (port === 0) throw configuration.error(key, 'port 0 is no port to connect to', 'allowed: 1 to 65535');
    namenodes.push({ id, host, port });
  }
  return namenodes;
}

function isOwnAddress(configuration: Configuration, namenode: NameNodeAddress, localHosts: LocalHosts): boolean {
  const { host, port } = configuration.readAddress('dfs.federation.router.rpc-address', DEFAULT_ROUTER_PORT);
  const name = namenode.host.toLowerCase();
  if (namenode.port !== port) return false;
  return localHosts.has(name) || name === host.toLowerCase() || (isLoopback(name) && listensEverywhere(configuration));
}

/** Addresses that lead back to this machine, of which interfaces list only the first. */
function isLoopback(address: string): boolean {
  return /^(?:::ffff:)?127(?:\.\d{1,3}){3}$/i.test(address) || address === '::1';
}

function listensEverywhere(configuration: Configuration): boolean {
  const { host } = readListenHost(configuration);
  return host === '0.0.0.0' || host === '::';
}

function readRouterPort(configuration: Configuration): number {
  return configuration.readAddress('dfs.federation.router.rpc-address', DEFAULT_ROUTER_PORT).port;
}

function tryAddress(configuration: Configuration, key: string): { host: string; port: number } | null {
  try {
    return configuration.readAddress(key, DEFAULT_NAMENODE_PORT);
  } catch (error) {
    if (error instanceof ConfigError) return null;
    throw error;
  }
}
