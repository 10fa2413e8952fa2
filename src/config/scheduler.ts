import type { SchedulerSettings, TimeWeights } from '../shared/settings.ts';
import { type KnownClasses, readClass } from './class-names.ts';
import type { Configuration } from './configuration.ts';

const IPC = 'org.apache.hadoop.ipc';
const IDENTITIES: KnownClasses<SchedulerSettings['identity']> = new Map([
  [`${IPC}.UserIdentityProvider`, 'user'],
  // Hadoop lets a class of one's own see the caller context, and has none that uses it.
  [`${IPC}.CallerContextIdentityProvider`, 'caller-context'],
]);
const COSTS: KnownClasses<'call' | 'time'> = new Map([
  [`${IPC}.DefaultCostProvider`, 'call'],
  [`${IPC}.WeightedTimeCostProvider`, 'time'],
]);
const TOP_USERS = 'decay-scheduler.metrics.top.user.count';
/** Default step of the longest average response times from level to level. */
const RESPONSE_STEP_MS = 10_000;

/** Full name of a key of one port's call queue. */
export type PortKey = (name: string) => string;

/** The key for the port where it is set, else the one for all ports: for the few keys that Hadoop reads so. */
export function ofPortOrAll(configuration: Configuration, key: PortKey, name: string): string {
  return configuration.isSet(key(name)) ? key(name) : `ipc.${name}`;
}

/** The old name of a key where it is set: it wins, as in Hadoop. */
export function oldOrNew(configuration: Configuration, key: PortKey, old: string, name: string): string {
  return configuration.isSet(key(old)) ? key(old) : key(name);
}

/** DecayRpcScheduler as the keys of one port say. `levels` is at least 1; `backoff`: calls may be refused for their response time. */
export function readScheduler(
  configuration: Configuration,
  key: PortKey,
  levels: number,
  backoff: boolean,
): SchedulerSettings {
  const responseTimesMs = readResponseTimes(configuration, key, levels);
  const refusesSlow = backoff && configuration.readBoolean(key('decay-scheduler.backoff.responsetime.enable'));
  return {
    periodMs: configuration.readLong(readOld(configuration, key, 'decay-scheduler.period-ms')),
    factor: readFactor(configuration, key),
    thresholds: readThresholds(configuration, key, levels),
    serviceUsers: configuration.readList(key('decay-scheduler.service-users')),
    identity: readClass(configuration, ofPortOrAll(configuration, key, 'identity-provider.impl'), IDENTITIES) ?? 'user',
    weightedCost: readCost(configuration, key),
    responseTimesMs: refusesSlow ? responseTimesMs : null,
    topUsers: configuration.readInteger(configuration.isSet(key(TOP_USERS)) ? key(TOP_USERS) : TOP_USERS),
  };
}

function readOld(configuration: Configuration, key: PortKey, name: string): string {
  return oldOrNew(configuration, key, `faircallqueue.${name}`, name);
}

function readFactor(configuration: Configuration, key: PortKey): number {
  const name = readOld(configuration, key, 'decay-scheduler.decay-factor');
  const factor = configuration.readFloat(name);
  if (factor > 0 && factor < 1) return factor;
  throw configuration.error(name, 'Decay Factor must be between 0 and 1', 'neither 0 nor 1 is, e.g. 0.5');
}

function readThresholds(configuration: Configuration, key: PortKey, levels: number): number[] {
  const name = readOld(configuration, key, 'decay-scheduler.thresholds');
  const percents = configuration.isSet(name) ? configuration.readIntegers(name) : [];
  if (percents.length === 0) return Array.from({ length: levels - 1 }, (_, i) => 2 ** (i + 1 - levels));
  if (percents.length !== levels - 1) {
    throw configuration.error(
      name,
      `Number of thresholds should be ${levels - 1}. Was: ${percents.length}`,
      `write ${levels - 1}, one less than ${key('scheduler.priority.levels')}`,
    );
  }
  return percents.map((percent) => percent / 100);
}

/** Checked also while it is off, as in Hadoop: a file that is wrong shows itself before it is needed. */
function readResponseTimes(configuration: Configuration, key: PortKey, levels: number): number[] {
  const name = key('decay-scheduler.backoff.responsetime.thresholds');
  const times = configuration.isSet(name) ? configuration.readDurationsMs(name) : [];
  if (times.length === 0) return Array.from({ length: levels }, (_, i) => RESPONSE_STEP_MS * (i + 1));
  if (times.length !== levels) {
    throw configuration.error(
      name,
      'responseTimeThresholds must match with the number of priority levels',
      `write ${levels}, one for each level`,
    );
  }
  if (times.some((ms) => ms <= 0)) {
    throw configuration.error(name, 'responseTimeThreshold millis must be >= 0', 'write 1ms or more for each level');
  }
  return times;
}

function readCost(configuration: Configuration, key: PortKey): TimeWeights | null {
  if (readClass(configuration, ofPortOrAll(configuration, key, 'cost-provider.impl'), COSTS) !== 'time') return null;
  const weightOf = (part: string): number => configuration.readInteger(key(`weighted-cost.${part}`));
  return {
    queue: weightOf('queue'),
    processing: weightOf('processing'),
    lockShared: weightOf('lockshared'),
    lockExclusive: weightOf('lockexclusive'),
  };
}
