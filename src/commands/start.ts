import { Configuration, configurationDirectory, type Override } from '../config/configuration.ts';
import { isProtectionKey, protectionKeys, refuseUnprotected, type Unprotected } from '../config/fail-closed.ts';
import { readHttpSettings } from '../config/http-settings.ts';
import { requireLocalHost } from '../config/listen-address.ts';
import { NOWHERE, type Review, reviewConfiguration } from '../config/review.ts';
import { readSettings } from '../config/settings.ts';
import { readStateStore, type StateStore, UNREAD_STORE } from '../config/state-store.ts';
import { findLocalHosts, readTopology, requireNameservices } from '../config/topology.ts';
import { createLog, type Log } from '../control/log.ts';
import type { RunningRouter } from '../control/router-types.ts';
import { type MountEntry, MountError } from '../mount/entry.ts';
import { readMountOptions } from '../mount/spec.ts';
import type { Settings, Topology } from '../shared/settings.ts';
import type { StoreDriver } from '../state-store/driver.ts';
import { FileDriver } from '../state-store/file-driver.ts';
import { ZooKeeperDriver } from '../state-store/zookeeper-driver.ts';
import { CONFIG_FLAGS, readOverrides } from './config-flags.ts';
import { ExitCode, parseFlags, printLine, UsageError } from './usage.ts';
import { readVersion } from './version.ts';

const RPC_ADDRESS = 'dfs.federation.router.rpc-address';
const NO_FIXED_PORT = {
  problem:
    'port 0 (any that is free) together with a State Store: the other routers know this one by its host and port',
  remedy: 'give it a port of its own, here or with --rpc',
};

/** What a router is started with: the flags of `start`. Paths are relative to the working directory. */
export interface StartOptions {
  /** Left out: HADOOP_CONF_DIR, else HADOOP_HOME/etc/hadoop; null: no files. */
  readonly configDir?: string | null | undefined;
  readonly mounts?: readonly string[] | undefined;
  readonly mountsFile?: string | undefined;
  /** host:port */
  readonly rpc?: string | undefined;
  readonly acceptors?: string | number | undefined;
  readonly workers?: string | number | undefined;
  readonly handoff?: string | undefined;
  /** key=value each. */
  readonly set?: readonly string[] | undefined;
  /** Keys whose promise of protection need not be kept. */
  readonly insecure?: readonly string[] | undefined;
  /** Left out: one to stderr at switchyard.log.level. */
  readonly log?: Log | undefined;
}

/** `switchyard start`: serves until a signal ends it or the router ends by itself. */
export async function run(args: string[]): Promise<number> {
  const {
    'config-dir': configDir,
    mount: mounts,
    mounts: mountsFile,
    ...flags
  } = parseFlags(args, {
    ...CONFIG_FLAGS,
    mount: { type: 'string', multiple: true },
    mounts: { type: 'string' },
    acceptors: { type: 'string' },
    workers: { type: 'string' },
    handoff: { type: 'string' },
    insecure: { type: 'string', multiple: true },
  });
  const { router, log } = await launch({ ...flags, configDir, mounts, mountsFile });
  const { rpc, admin, http } = router;
  const others = { ...(admin === '' ? {} : { admin }), ...(http === '' ? {} : { http }) };
  printLine(JSON.stringify({ ready: true, pid: process.pid, rpc, ...others }));
  return await serve(router, log, process);
}

/** Starts a router in this process and resolves when it serves. Throws what `run` reports with exit code 2 for a wrong configuration. */
export async function startFromOptions(options: StartOptions): Promise<RunningRouter> {
  return (await launch(options)).router;
}

/** Supervisors and terminals may deliver one request to stop twice: a signal so soon after the first says nothing new. */
const SAME_REQUEST_MS = 1_000;

/** Where signals come from: the process. */
interface SignalSource {
  on(signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void): unknown;
  off(signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void): unknown;
}

/**
 * Waits for the end of a router: drains it at the first SIGTERM or SIGINT, gives up waiting at the second. Resolves with the exit code:
 * 0 when everything in flight was answered, 1 when calls were cut, the router's own code when it ended without a signal.
 */
export async function serve(
  router: RunningRouter,
  log: Log,
  signals: SignalSource,
  now: () => number = () => performance.now(),
): Promise<number> {
  const first = Promise.withResolvers<'drain'>();
  const second = Promise.withResolvers<number>();
  let askedAtMs: number | null = null;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (askedAtMs !== null) {
      if (now() - askedAtMs < SAME_REQUEST_MS) return;
      log.warn({ signal }, 'ending at once');
      second.resolve(ExitCode.FAILED);
      return;
    }
    askedAtMs = now();
    log.info({ signal }, 'draining: no new connections, calls in flight may finish');
    first.resolve('drain');
  };
  signals.on('SIGTERM', onSignal);
  signals.on('SIGINT', onSignal);
  try {
    const ended = await Promise.race([first.promise, router.closed]);
    if (ended !== 'drain') return ended;
    return await Promise.race([second.promise, drain(router, log)]);
  } finally {
    signals.off('SIGTERM', onSignal);
    signals.off('SIGINT', onSignal);
  }
}

async function drain(router: RunningRouter, log: Log): Promise<number> {
  const { cut } = await router.drain();
  if (cut === 0) {
    log.info('drained');
    return ExitCode.OK;
  }
  log.warn({ cut }, `${cut} calls were cut: they did not finish within switchyard.drain.timeout`);
  return ExitCode.FAILED;
}

async function launch(options: StartOptions): Promise<{ router: RunningRouter; log: Log }> {
  const insecure = options.insecure ?? [];
  for (const key of insecure) {
    if (!isProtectionKey(key)) throw new UsageError(`--insecure ${key}: not one of ${protectionKeys().join(', ')}`);
  }
  const overrides = [...readOverrides(options), ...readThreadFlags(options)];
  const directory = options.configDir ?? directoryByDefault(options);
  const configuration = new Configuration({ directory, overrides });
  const passed = refuseUnprotected(configuration, insecure);
  const localHosts = await findLocalHosts(configuration);
  const topology = requireNameservices(readTopology(configuration, localHosts), configuration);
  const settings = readSettings(configuration, topology);
  const http = readHttpSettings(configuration);
  const store = readStateStore(configuration);
  const hasGivenMounts = (options.mounts ?? []).length > 0 || options.mountsFile !== undefined;
  if (store.kind === 'unread' && !hasGivenMounts) {
    throw configuration.error(store.key, UNREAD_STORE.problem, UNREAD_STORE.remedy);
  }
  if ((store.kind === 'file' || store.kind === 'zookeeper') && settings.rpcPort === 0) {
    throw configuration.error(RPC_ADDRESS, NO_FIXED_PORT.problem, NO_FIXED_PORT.remedy);
  }
  await requireLocalHost(configuration);
  const log = options.log ?? (await createLog(settings.logLevel));
  const given = readGivenMounts(options, settings, topology);
  logReview(reviewConfiguration(configuration, localHosts), passed, log);
  if (store.kind === 'none' || store.kind === 'unread') warnOfUnservedPaths(given, settings, log);
  const { startRouter } = await import('../control/router.ts');
  const { openOperatorPorts } = await import('./operator-ports.ts');
  const readConfiguration = (): Configuration =>
    new Configuration({ directory, overrides, expected: configuration.files });
  const version = {
    version: readVersion(),
    compileInfo: `switchyard on node ${process.versions.node}`,
    startedMs: Math.round(performance.timeOrigin),
  };
  const opened = { settings, topology, configuration, readConfiguration, http, version, log };
  const router = await startRouter({
    settings,
    topology,
    entries: given,
    driver: driverOf(store, log),
    configuration,
    version,
    log,
    openAdministration: (services) => openOperatorPorts(opened, services),
  });
  return { router, log };
}

function driverOf(store: StateStore, log: Log): StoreDriver | null {
  if (store.kind === 'file') return new FileDriver(store.directory);
  if (store.kind === 'zookeeper') return new ZooKeeperDriver(store.zookeeper, (text) => log.info(text));
  return null;
}

function directoryByDefault({ configDir }: StartOptions): string | null {
  return configDir === null ? null : configurationDirectory();
}

function readThreadFlags({ acceptors, workers, handoff }: StartOptions): Override[] {
  const flags = { acceptors, workers, handoff };
  return Object.entries(flags).flatMap(([flag, value]) =>
    value === undefined ? [] : [{ key: `switchyard.${flag}`, value: String(value), origin: `--${flag}` }],
  );
}

function readGivenMounts(
  { mounts = [], mountsFile }: StartOptions,
  settings: Settings,
  topology: Topology,
): MountEntry[] {
  const { routerUser, superGroup } = settings;
  const entries = readMountOptions(mounts, mountsFile === undefined ? [] : [mountsFile], {
    routerUser,
    superGroup,
    nowMs: Date.now(),
  });
  for (const entry of entries) {
    const unknown = unknownNameservice(entry, topology);
    if (unknown === null) continue;
    const known = topology.nameservices.map(({ id }) => id).join(', ');
    throw new MountError(
      `mount '${entry.sourcePath}': no nameservice behind this router is called ${unknown}; there are ${known}`,
    );
  }
  return entries;
}

function warnOfUnservedPaths(entries: readonly MountEntry[], { defaultNameservice }: Settings, log: Log): void {
  if (entries.length === 0 && defaultNameservice < 0) log.warn(`${NOWHERE.problem}; ${NOWHERE.remedy}`);
}

function unknownNameservice({ destinations }: MountEntry, { nameservices }: Topology): string | null {
  return (
    destinations.find(({ nameservice }) => !nameservices.some(({ id }) => id === nameservice))?.nameservice ?? null
  );
}

function logReview({ findings, unsupported }: Review, passed: readonly Unprotected[], log: Log): void {
  for (const { key, value, origin, remedy } of passed)
    log.warn({ key, value, origin }, `running without this protection: ${remedy}`);
  for (const { severity, place, key, message } of findings) {
    const text = `${place}: ${key === '' ? '' : `${key}: `}${message}`;
    if (severity === 'note') log.info(text);
    else log.warn(text);
  }
  if (unsupported.length > 0) {
    log.info({ keys: unsupported.map(({ name }) => name) }, 'keys without effect in this release, see check-config');
  }
}
