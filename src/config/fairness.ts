import type { Topology, WindowSettings } from '../shared/settings.ts';
import { type KnownClasses, readClass } from './class-names.ts';
import type { Configuration } from './configuration.ts';

const ROUTER = 'dfs.federation.router';
const POLICY = `${ROUTER}.fairness.policy.controller.class`;
const HANDLERS = `${ROUTER}.handler.count`;
const DEDICATED = `${ROUTER}.fairness.handler.count`;
const PROPORTION = `${ROUTER}.fairness.handler.proportion`;
const PERMITS = `${ROUTER}.async.rpc.max.asynccall.permit`;
const ACQUIRE_TIMEOUT = `${ROUTER}.fairness.acquire.timeout`;
const MONITORED = `${ROUTER}.monitor.namenode`;
const FLOOR = 'switchyard.window.floor';
const CEILING = 'switchyard.window.ceiling';

/** Calls to several nameservices take handlers of this name; in the windows here they count at each nameservice that they go to. */
const CONCURRENT = 'concurrent';
/** Stands for the nameservices that a proportional policy was not told of. */
const DEFAULT_NAMESERVICE = 'default_ns';
const DEFAULT_PERMITS = 20_000;
const DEFAULT_ACQUIRE_MS = 1_000;
/** No window is larger, whatever the keys say. */
const MAX_WINDOW = 1_000_000;

type ReadWindows = (configuration: Configuration, topology: Topology) => WindowSettings[];

const PACKAGE = 'org.apache.hadoop.hdfs.server.federation.fairness';
const NO_POLICY = `${PACKAGE}.NoRouterRpcFairnessPolicyController`;
const POLICIES: readonly (readonly [string, ReadWindows])[] = [
  [NO_POLICY, readAdaptive],
  [`${PACKAGE}.StaticRouterRpcFairnessPolicyController`, readStatic],
  [`${PACKAGE}.ProportionRouterRpcFairnessPolicyController`, readProportional],
  [`${PACKAGE}.RouterAsyncRpcFairnessPolicyController`, readPermits],
];
const CLASSES: KnownClasses<(typeof POLICIES)[number]> = new Map(POLICIES.map((policy) => [policy[0], policy]));

/** How the nameservices share the router. */
export interface Fairness {
  /** Full name of the Java class of this policy. */
  readonly policy: string;
  /** By nameservice, in the topology's order. */
  readonly windows: readonly WindowSettings[];
  /** How long a call may wait for room in the window; null: the policy does not say. */
  readonly acquireMs: number | null;
}

/** The fairness policy of the Java Router, as windows; a ConfigError when there is no such policy, or too few handlers for it. */
export function readFairness(configuration: Configuration, topology: Topology): Fairness {
  const [policy, readWindows] = readClass(configuration, POLICY, CLASSES) ?? [NO_POLICY, readAdaptive];
  const windows = readWindows(configuration, topology);
  if (policy === NO_POLICY) return { policy, windows, acquireMs: null };
  const acquireMs = configuration.readDurationMs(ACQUIRE_TIMEOUT);
  return { policy, windows, acquireMs: acquireMs < 0 ? DEFAULT_ACQUIRE_MS : acquireMs };
}

function readAdaptive(configuration: Configuration, { nameservices }: Topology): WindowSettings[] {
  const ceiling = configuration.readInteger(CEILING);
  const floor = readFloor(configuration, ceiling);
  if (floor > ceiling) {
    throw configuration.error(FLOOR, `above ${CEILING} (${ceiling})`, `make it smaller, or raise ${CEILING}`);
  }
  return nameservices.map(() => ({ floor, ceiling }));
}

/** The floor's default gives way to a lower ceiling. */
function readFloor(configuration: Configuration, ceiling: number): number {
  const floor = configuration.readInteger(FLOOR);
  return configuration.isSet(FLOOR) ? floor : Math.min(floor, ceiling);
}

/** Handlers of each nameservice's own, an equal share of the rest for those without, what is left over for calls to several. */
function readStatic(configuration: Configuration, topology: Topology): WindowSettings[] {
  const total = configuration.readInteger(HANDLERS);
  const names = [...new Set([...readMonitored(configuration), ...topology.nameservices.map(({ id }) => id)])];
  const dedicated = new Map([...names, CONCURRENT].map((name) => [name, readDedicated(configuration, name)]));
  const counts = [...dedicated.values()];
  const needed = counts.reduce((sum, count) => sum + Math.max(count, 1), 0);
  if (needed > total) {
    throw configuration.error(
      HANDLERS,
      `Configured handlers ${HANDLERS}= ${total} is less than the minimum required handlers ${needed}`,
      `make it at least ${needed}, or lower ${DEDICATED}.*`,
    );
  }
  const rest = total - counts.reduce((sum, count) => sum + count, 0);
  const sharing = counts.filter((count) => count === 0).length;
  const share = sharing === 0 ? 0 : Math.trunc(rest / sharing);
  const handlersOf = (name: string): number => dedicated.get(name) || share;
  const concurrent = handlersOf(CONCURRENT) + rest - share * sharing;
  return topology.nameservices.map(({ id }) => fixedWindow(handlersOf(id) + concurrent));
}

/** 0 for none. */
function readDedicated(configuration: Configuration, name: string): number {
  return Math.max(configuration.readInteger(`${DEDICATED}.${name}`), 0);
}

/** For each nameservice a part of all handlers; the parts may be more than the whole. */
function readProportional(configuration: Configuration, { nameservices }: Topology): WindowSettings[] {
  const total = configuration.readInteger(HANDLERS);
  const handlersOf = (name: string): number =>
    Math.max(Math.trunc(configuration.readFloat(`${PROPORTION}.${name}`) * total), 1);
  const monitored = readMonitored(configuration);
  const isTold = (id: string): boolean => monitored.has(id) || configuration.isSet(`${PROPORTION}.${id}`);
  const concurrent = handlersOf(CONCURRENT);
  return nameservices.map(({ id }) => fixedWindow(handlersOf(isTold(id) ? id : DEFAULT_NAMESERVICE) + concurrent));
}

/** One bound for every nameservice, below which the window follows what the nameservice answers well. Calls to several have none of their own. */
function readPermits(configuration: Configuration, { nameservices }: Topology): WindowSettings[] {
  const permits = configuration.readInteger(PERMITS);
  const ceiling = Math.min(permits > 0 ? permits : DEFAULT_PERMITS, MAX_WINDOW);
  const floor = Math.min(readFloor(configuration, ceiling), ceiling);
  return nameservices.map(() => ({ floor, ceiling }));
}

function fixedWindow(calls: number): WindowSettings {
  const size = Math.min(calls, MAX_WINDOW);
  return { floor: size, ceiling: size };
}

/** The nameservices that the Java Router knows when it makes its policy. */
function readMonitored(configuration: Configuration): Set<string> {
  return new Set(configuration.readList(MONITORED).map((item) => item.split('.', 1)[0] ?? item));
}
