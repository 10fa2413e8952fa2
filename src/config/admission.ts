import type { AdmissionSettings, Topology } from '../shared/settings.ts';
import { type KnownClasses, readClass } from './class-names.ts';
import type { Configuration } from './configuration.ts';
import { readFairness } from './fairness.ts';
import { ofPortOrAll, oldOrNew, type PortKey, readScheduler } from './scheduler.ts';

const HANDLERS = 'dfs.federation.router.handler.count';
const SLOTS = 'dfs.federation.router.handler.queue.size';
const TIME_LIMIT = 'switchyard.queue.time-limit';
const COALESCE = 'switchyard.coalesce.reads';
const CAPACITY_WEIGHTS = 'callqueue.capacity.weights';
const MULTIPLEXER_WEIGHTS = 'faircallqueue.multiplexer.weights';
/** Calls that may wait for one nameservice when no key says how many. */
const DEFAULT_CAPACITY = 16_384;
/** As in Java, where it is a number of 32 bits. */
const MAX_CAPACITY = 2_147_483_647;

const QUEUES: KnownClasses<'fifo' | 'fair'> = new Map([
  ['java.util.concurrent.LinkedBlockingQueue', 'fifo'],
  ['org.apache.hadoop.ipc.FairCallQueue', 'fair'],
]);
const SCHEDULERS: KnownClasses<'default' | 'decay'> = new Map([
  ['org.apache.hadoop.ipc.DefaultRpcScheduler', 'default'],
  ['org.apache.hadoop.ipc.DecayRpcScheduler', 'decay'],
]);

/**
 * What the keys of the call queue, the scheduler and the fairness policy say about admission; `port` is the router's RPC port. A ConfigError
 * for what the Java classes refuse, and for what would stop them: a level that never gives its turn away.
 */
export function readAdmission(configuration: Configuration, topology: Topology, port: number): AdmissionSettings {
  const key: PortKey = (name) => `ipc.${port}.${name}`;
  const isFair = readClass(configuration, ofPortOrAll(configuration, key, 'callqueue.impl'), QUEUES) === 'fair';
  const isDecaying = readsDecayScheduler(configuration, key);
  const levels = configuration.readInteger(
    oldOrNew(configuration, key, 'faircallqueue.priority-levels', 'scheduler.priority.levels'),
  );
  const backoff = configuration.readBoolean(ofPortOrAll(configuration, key, 'backoff.enable'));
  const capacity = readCapacity(configuration);
  const capacityWeights = readWeights(
    configuration,
    key(CAPACITY_WEIGHTS),
    Array.from({ length: levels }, () => 1),
    `${CAPACITY_WEIGHTS} must specify ${levels} capacity weights: one for each priority level`,
    (weight) => `${CAPACITY_WEIGHTS} only takes positive weights. ${weight} capacity weight found`,
  );
  const fairness = readFairness(configuration, topology);
  return {
    capacity,
    ...(isFair
      ? {
          levels,
          capacityWeights: requireRoom(configuration, key, capacityWeights, capacity),
          multiplexerWeights: readMultiplexerWeights(configuration, key, levels),
        }
      : { levels: 1, capacityWeights: [1], multiplexerWeights: [1] }),
    scheduler: isDecaying ? readScheduler(configuration, key, levels, backoff) : null,
    backoff,
    overflowFailover: configuration.readBoolean(ofPortOrAll(configuration, key, 'callqueue.overflow.trigger.failover')),
    timeLimitMs: fairness.acquireMs ?? configuration.readDurationMs(TIME_LIMIT),
    windows: fairness.windows,
    coalesceReads: configuration.readBoolean(COALESCE),
  };
}

/** A FairCallQueue that was set for this very port brings the scheduler with it, before the one for all ports. */
function readsDecayScheduler(configuration: Configuration, key: PortKey): boolean {
  const own = readClass(configuration, key('scheduler.impl'), SCHEDULERS);
  if (own !== null) return own === 'decay';
  if (readClass(configuration, key('callqueue.impl'), QUEUES) === 'fair') return true;
  return readClass(configuration, 'ipc.scheduler.impl', SCHEDULERS) === 'decay';
}

function readCapacity(configuration: Configuration): number {
  const handlers = configuration.readInteger(HANDLERS);
  const slots = configuration.readInteger(SLOTS);
  if (!configuration.isSet(HANDLERS) && !configuration.isSet(SLOTS)) return DEFAULT_CAPACITY;
  if (handlers * slots <= MAX_CAPACITY) return handlers * slots;
  throw configuration.error(
    SLOTS,
    `times ${HANDLERS} (${handlers}) does not fit in 32 bits`,
    'make one of them smaller',
  );
}

/** Every level must have room for a call. */
function requireRoom(
  configuration: Configuration,
  key: PortKey,
  weights: readonly number[],
  capacity: number,
): readonly number[] {
  const sum = weights.reduce((total, weight) => total + weight, 0);
  if (sum <= capacity) return weights;
  const name = configuration.isSet(key(CAPACITY_WEIGHTS)) ? key(CAPACITY_WEIGHTS) : SLOTS;
  throw configuration.error(
    name,
    `a queue for ${capacity} calls has no room for levels of ${sum} shares together`,
    `lower ${key(CAPACITY_WEIGHTS)}, or raise ${HANDLERS} or ${SLOTS}`,
  );
}

function readMultiplexerWeights(configuration: Configuration, key: PortKey, levels: number): readonly number[] {
  const name = key(MULTIPLEXER_WEIGHTS);
  return readWeights(
    configuration,
    name,
    Array.from({ length: levels }, (_, level) => 2 ** (levels - 1 - level)),
    `${name} must specify exactly ${levels} weights: one for each priority level.`,
    (weight, level) => `with weight ${weight} level ${level} would never give its turn to the next`,
  );
}

/** One number above 0 for each of as many levels as there are defaults. */
function readWeights(
  configuration: Configuration,
  name: string,
  defaults: readonly number[],
  wrongCount: string,
  wrongWeight: (weight: number, level: number) => string,
): readonly number[] {
  const weights = configuration.isSet(name) ? configuration.readIntegers(name) : [];
  if (weights.length === 0) return defaults;
  if (weights.length !== defaults.length) {
    throw configuration.error(name, wrongCount, `write ${defaults.length} numbers, e.g. ${defaults.join(',')}`);
  }
  const level = weights.findIndex((weight) => weight < 1);
  if (level < 0) return weights;
  throw configuration.error(name, wrongWeight(weights[level] ?? 0, level), 'allowed: numbers of 1 or more');
}
