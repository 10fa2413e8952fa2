import { hostname, userInfo } from 'node:os';
import type { ProtectionSettings, Settings, Topology } from '../shared/settings.ts';
import { formatAddress } from './address.ts';
import { readAdmission } from './admission.ts';
import type { Configuration } from './configuration.ts';
import { DEFAULT_ROUTER_PORT, readListenHost } from './listen-address.ts';

const ROUTER = 'dfs.federation.router';
/** How often the longest request is in memory at once: its buffer while it grows (the old one and the new), or acceptor and worker. */
const LONGEST_REQUEST_COPIES = 3;

/** Longest time a Node timer can wait; a longer one would fire at once. */
const MAX_TIMER_MS = 2_147_483_647;
const MINUTE_MS = 60_000;

/** What the data path needs, from the configuration; a ConfigError names the first value that cannot be used. */
export function readSettings(
  configuration: Configuration,
  topology: Topology,
  environment: NodeJS.ProcessEnv = process.env,
): Settings {
  if (!configuration.readBoolean(`${ROUTER}.rpc.enable`)) {
    throw configuration.error(
      `${ROUTER}.rpc.enable`,
      'a router without its client port serves nothing',
      'set it to true',
    );
  }
  const address = configuration.readAddress(`${ROUTER}.rpc-address`, DEFAULT_ROUTER_PORT);
  const routerUser = readRouterUser(environment);
  const maxRequestBytes = configuration.readInteger('ipc.maximum.data.length');
  const memoryBytes = configuration.readBytes('switchyard.memory.limit');
  if (memoryBytes < LONGEST_REQUEST_COPIES * maxRequestBytes) {
    const remedy = `make it at least ${LONGEST_REQUEST_COPIES} times ipc.maximum.data.length (${LONGEST_REQUEST_COPIES * maxRequestBytes})`;
    throw configuration.error('switchyard.memory.limit', 'the longest request would not fit', remedy);
  }
  return {
    routerId: formatAddress(hostname(), address.port),
    routerUser,
    superGroup: configuration.readTrimmed('dfs.permissions.superusergroup'),

    rpcHost: readListenHost(configuration).host,
    rpcPort: address.port,
    acceptors: configuration.readInteger('switchyard.acceptors'),
    workers: configuration.readInteger('switchyard.workers'),
    handoff: configuration.readChoice('switchyard.handoff') === 'inline' ? 'inline' : 'ring',
    maxRequestBytes,
    maxResponseBytes: readCount(configuration, 'ipc.maximum.response.length', 1),
    maxConnections: readCount(configuration, 'ipc.server.max.connections', 0),
    // A server allows twice the time after which clients close by themselves.
    idleMs: timerMs(2 * readCount(configuration, 'ipc.client.connection.maxidletime', 1)),
    idleScanMs: readCount(configuration, 'ipc.client.connection.idle-scan-interval.ms', 1),
    idleThreshold: readCount(configuration, 'ipc.client.idlethreshold', 0),
    idleKillMax: readCount(configuration, 'ipc.client.kill.max', 1),
    protection: readProtection(configuration),
    slowReaderMs: timerMs(MINUTE_MS * readCount(configuration, 'ipc.server.purge.interval', 1)),
    tcpNoDelay: configuration.readBoolean('ipc.server.tcpnodelay'),

    connectTimeoutMs: readConnectTimeout(configuration),
    connectionsPerUser: readCount(configuration, `${ROUTER}.connection.pool-size`, 1),
    namenodeIdleMs: timerMs(readDuration(configuration, `${ROUTER}.connection.clean.ms`, 1)),
    pingIntervalMs: configuration.readBoolean('ipc.client.ping')
      ? readCount(configuration, 'ipc.ping.interval', 1)
      : MAX_TIMER_MS,
    hungAfterMs: configuration.readDurationMs('switchyard.namenode.hung-after'),
    callBudgetMs: readCallBudget(configuration),
    namenodeTcpNoDelay: configuration.readBoolean('ipc.client.tcpnodelay'),
    proxyUser: configuration.readList('dfs.namenode.ip-proxy-users').length > 0 ? routerUser : '',
    callerContextSeparator: readSeparator(configuration),

    defaultNameservice: readDefaultNameservice(configuration, topology),
    resolverName: configuration.readTrimmed(`${ROUTER}.file.resolver.client.class`).split(/[.$]/).at(-1) ?? '',
    serverDefaultsMs: configuration.readLong('dfs.client.server-defaults.validity.period.ms'),
    mountStatusTimeoutMs: timerMs(readDuration(configuration, `${ROUTER}.client.mount-status.time-out`, 1)),
    allowPartialListing: configuration.readBoolean(`${ROUTER}.client.allow-partial-listing`),
    quotaEnabled: configuration.readBoolean(`${ROUTER}.quota.enable`),
    spacePreferencePercent: readSpacePreference(configuration),

    observers: {
      enabled: readObserverNameservices(configuration, topology),
      maxStateIds: readCount(configuration, `${ROUTER}.observer.federated.state.propagation.maxsize`, 0),
      refreshMs: configuration.readDurationMs(`${ROUTER}.observer.state.id.refresh.period`),
      patienceMs: configuration.readDurationMs('switchyard.observer.patience'),
    },

    admission: readAdmission(configuration, topology, address.port),

    drainMs: configuration.readDurationMs('switchyard.drain.timeout'),
    memoryBytes,
    logLevel: configuration.readChoice('switchyard.log.level'),
  };
}

function readProtection(configuration: Configuration): ProtectionSettings {
  return {
    connectionsPerAddress: configuration.readInteger('switchyard.client.connections-per-address'),
    connectionsPerUser: configuration.readInteger('switchyard.client.connections-per-user'),
    callsInFlight: configuration.readInteger('switchyard.client.calls-in-flight'),
    handshakeMs: configuration.readDurationMs('switchyard.client.handshake.timeout'),
    frameMs: configuration.readDurationMs('switchyard.client.frame.timeout'),
    unreadBytes: configuration.readBytes('switchyard.client.unread.limit'),
  };
}

/** The user this router runs as towards Hadoop: HADOOP_USER_NAME, else the one of the operating system. */
export function readRouterUser(environment: NodeJS.ProcessEnv = process.env): string {
  const given = environment['HADOOP_USER_NAME'];
  return given === undefined || given === '' ? userInfo().username : given;
}

function readConnectTimeout(configuration: Configuration): number {
  const ms = configuration.readDurationMs(`${ROUTER}.connect.timeout`);
  if (ms < 0) return readCount(configuration, 'ipc.client.connect.timeout', 1);
  // To Java 0 means no limit; one that is never felt serves as well.
  return ms === 0 ? MAX_TIMER_MS : timerMs(ms);
}

function readDefaultNameservice(configuration: Configuration, { nameservices }: Topology): number {
  const key = `${ROUTER}.default.nameserviceId`;
  const id = configuration.readString(key);
  if (id === '' || !configuration.readBoolean(`${ROUTER}.default.nameservice.enable`)) return -1;
  const index = nameservices.findIndex((nameservice) => nameservice.id === id);
  if (index < 0) {
    const known = nameservices.map((nameservice) => nameservice.id).join(', ');
    throw configuration.error(
      key,
      'no nameservice behind this router',
      `allowed: ${known === '' ? 'none are configured' : known}`,
    );
  }
  return index;
}

/** Nameservices whose observers serve reads: names in the overrides that are none behind this router are passed over, as in Java. */
function readObserverNameservices(configuration: Configuration, { nameservices }: Topology): boolean[] {
  const byDefault = configuration.readBoolean(`${ROUTER}.observer.read.default`);
  const others = new Set(configuration.readList(`${ROUTER}.observer.read.overrides`));
  return nameservices.map(({ id }) => byDefault !== others.has(id));
}

/** Java reads and multiplies a 32-bit number, then cuts what is behind the point. */
function readSpacePreference(configuration: Configuration): number {
  const fraction = configuration.readFloat(`${ROUTER}.available-space-resolver.balanced-space-preference-fraction`);
  return Math.trunc(Math.fround(100 * Math.fround(fraction)));
}

function readSeparator(configuration: Configuration): string {
  const key = 'hadoop.caller.context.separator';
  const separator = configuration.readString(key);
  // These end a line, a field or a key in what NameNodes parse; Java refuses them too.
  if (separator === '' || /[\t\n=]/.test(separator)) {
    throw configuration.error(key, 'no separator', 'allowed: any text without tab, line break and equals sign');
  }
  return separator;
}

function readCount(configuration: Configuration, key: string, min: number): number {
  const count = configuration.readInteger(key);
  if (count < min) throw configuration.error(key, 'too small', `allowed: ${min} or more`);
  return count;
}

function readDuration(configuration: Configuration, key: string, minMs: number): number {
  const ms = configuration.readDurationMs(key);
  if (ms < minMs) throw configuration.error(key, 'too short', `allowed: ${minMs} ms or more`);
  return ms;
}

/** Clients have given a call up when their own time-out has passed; a twelfth of that is left for the answer to reach them. */
function readCallBudget(configuration: Configuration): number {
  const budgetMs = configuration.readDurationMs('switchyard.call.budget');
  const clientMs = configuration.readInteger('ipc.client.rpc-timeout.ms');
  return clientMs > 0 ? Math.min(budgetMs, Math.floor((clientMs * 11) / 12)) : budgetMs;
}

function timerMs(ms: number): number {
  return Math.min(ms, MAX_TIMER_MS);
}
