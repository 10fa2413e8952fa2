import { describe, expect, it } from 'vitest';
import { readAdmission } from '../../src/config/admission.ts';
import { ConfigError } from '../../src/config/config-error.ts';
import { Configuration } from '../../src/config/configuration.ts';
import type { AdmissionSettings, SchedulerSettings, Topology } from '../../src/shared/settings.ts';

const TOPOLOGY: Topology = { nameservices: ['ns0', 'ns1'].map((id) => ({ id, namenodes: [] })) };
const IPC = 'org.apache.hadoop.ipc';
const FAIR = { 'ipc.8888.callqueue.impl': `${IPC}.FairCallQueue` };
const HANDLERS = 'dfs.federation.router.handler.count';
const SLOTS = 'dfs.federation.router.handler.queue.size';

type Keys = Readonly<Record<string, string>>;

function read(keys: Keys): AdmissionSettings {
  const overrides = Object.entries(keys).map(([key, value]) => ({ key, value, origin: 'hdfs-rbf-site.xml:3' }));
  return readAdmission(new Configuration({ overrides, environment: {} }), TOPOLOGY, 8888);
}

function scheduler(keys: Keys): SchedulerSettings {
  const { scheduler: found } = read(keys);
  if (found === null) throw new Error('there is no scheduler');
  return found;
}

function refusal(keys: Keys): string {
  try {
    read(keys);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error('it was not refused');
}

describe('admission without keys', () => {
  it('is first come, first served, with room for many', () => {
    expect(read({})).toEqual({
      capacity: 16_384,
      levels: 1,
      capacityWeights: [1],
      multiplexerWeights: [1],
      scheduler: null,
      backoff: false,
      overflowFailover: false,
      timeLimitMs: 30_000,
      windows: [
        { floor: 64, ceiling: 1024 },
        { floor: 64, ceiling: 1024 },
      ],
      coalesceReads: false,
    });
  });

  it('answers identical reads together only when that is set', () => {
    expect(read({ 'switchyard.coalesce.reads': 'true' }).coalesceReads).toBe(true);
  });
});

describe('room in the queue', () => {
  it.each([
    [{ [HANDLERS]: '10' }, 1_000],
    [{ [SLOTS]: '100' }, 1_000],
    [{ [HANDLERS]: '50', [SLOTS]: '100' }, 5_000],
    [{ [HANDLERS]: '1', [SLOTS]: '1' }, 1],
  ])('of %j is %d', (keys, capacity) => {
    expect(read(keys).capacity).toBe(capacity);
  });

  it('is refused where there can be none', () => {
    expect(refusal({ [HANDLERS]: '0' })).toContain(`${HANDLERS} = "0": out of range`);
    expect(refusal({ [HANDLERS]: '100000', [SLOTS]: '100000' })).toContain('does not fit in 32 bits');
    expect(refusal({ ...FAIR, [HANDLERS]: '3', [SLOTS]: '1' })).toContain(`${SLOTS} = "1": a queue for 3 calls`);
    expect(read({ [HANDLERS]: '3', [SLOTS]: '1' }).capacity).toBe(3);
  });
});

describe('FairCallQueue', () => {
  it('has the levels and weights of Hadoop', () => {
    expect(read(FAIR)).toMatchObject({
      levels: 4,
      capacityWeights: [1, 1, 1, 1],
      multiplexerWeights: [8, 4, 2, 1],
      scheduler: {
        periodMs: 5_000,
        factor: 0.5,
        thresholds: [0.125, 0.25, 0.5],
        serviceUsers: [],
        identity: 'user',
        weightedCost: null,
        responseTimesMs: null,
        topUsers: 10,
      },
    });
  });

  it('reads the two-level example of its guide', () => {
    const guide = {
      'ipc.8888.callqueue.impl': 'org.apache.hadoop.ipc.FairCallQueue',
      'ipc.8888.scheduler.impl': 'org.apache.hadoop.ipc.DecayRpcScheduler',
      'ipc.8888.scheduler.priority.levels': '2',
      'ipc.8888.faircallqueue.multiplexer.weights': '99,1',
      'ipc.8888.decay-scheduler.thresholds': '90',
    };
    expect(read(guide)).toMatchObject({
      levels: 2,
      capacityWeights: [1, 1],
      multiplexerWeights: [99, 1],
      scheduler: { thresholds: [0.9] },
    });
  });

  it('may have one level, and has its defaults for any number', () => {
    const levels = (count: string): Keys => ({ ...FAIR, 'ipc.8888.scheduler.priority.levels': count });
    expect(read(levels('1'))).toMatchObject({ levels: 1, multiplexerWeights: [1], scheduler: { thresholds: [] } });
    expect(read(levels('2'))).toMatchObject({ multiplexerWeights: [2, 1], scheduler: { thresholds: [0.5] } });
    expect(read(levels('3'))).toMatchObject({ multiplexerWeights: [4, 2, 1], scheduler: { thresholds: [0.25, 0.5] } });
    expect(refusal(levels('0'))).toContain('allowed: 1 to 16');
    expect(refusal(levels('17'))).toContain('allowed: 1 to 16');
  });

  it('takes weights that repeat, and none that are wrong', () => {
    const weights = (value: string): Keys => ({ ...FAIR, 'ipc.8888.faircallqueue.multiplexer.weights': value });
    const shares = (value: string): Keys => ({ ...FAIR, 'ipc.8888.callqueue.capacity.weights': value });
    expect(read(weights('1, 1 ,3,3,')).multiplexerWeights).toEqual([1, 1, 3, 3]);
    expect(read(shares('4\n1,1,1')).capacityWeights).toEqual([4, 1, 1, 1]);
    expect(read(weights('')).multiplexerWeights).toEqual([8, 4, 2, 1]);
    // The texts of Java's own classes.
    expect(refusal(weights('1,2,3'))).toContain(
      'ipc.8888.faircallqueue.multiplexer.weights must specify exactly 4 weights: one for each priority level.',
    );
    expect(refusal(shares('1,2,3'))).toContain(
      'callqueue.capacity.weights must specify 4 capacity weights: one for each priority level',
    );
    expect(refusal(shares('1,2,3,0'))).toContain(
      'callqueue.capacity.weights only takes positive weights. 0 capacity weight found',
    );
    expect(refusal(shares('1,2,3,x'))).toContain('not a whole number');
    expect(refusal(weights('1,,3,3'))).toContain('not a whole number');
    // Java takes these, and then serves one level for ever.
    expect(refusal(weights('3,0,1,1'))).toContain('with weight 0 level 1 would never give its turn to the next');
    expect(refusal(weights('1,1,1,-1'))).toContain('with weight -1 level 3 would never give its turn');
  });

  it('names place, key and remedy of what is wrong', () => {
    expect(refusal({ ...FAIR, 'ipc.8888.decay-scheduler.thresholds': '10,20' })).toBe(
      'hdfs-rbf-site.xml:3: ipc.8888.decay-scheduler.thresholds = "10,20": Number of thresholds should be 3. Was: 2; ' +
        'write 3, one less than ipc.8888.scheduler.priority.levels',
    );
  });
});

describe('the class of queue and scheduler', () => {
  it.each([
    ['without keys', {}, 1, false],
    ['a fair queue of this port', FAIR, 4, true],
    ['its simple name', { 'ipc.8888.callqueue.impl': ' FairCallQueue ' }, 4, true],
    ['a fair queue of all ports brings no scheduler', { 'ipc.callqueue.impl': 'FairCallQueue' }, 4, false],
    [
      'each of all ports',
      { 'ipc.callqueue.impl': 'FairCallQueue', 'ipc.scheduler.impl': 'DecayRpcScheduler' },
      4,
      true,
    ],
    ['that of this port before that of all', { ...FAIR, 'ipc.callqueue.impl': 'LinkedBlockingQueue' }, 4, true],
    [
      'the fair queue before the scheduler of all ports',
      { ...FAIR, 'ipc.scheduler.impl': 'DefaultRpcScheduler' },
      4,
      true,
    ],
    ['the scheduler of this port', { ...FAIR, 'ipc.8888.scheduler.impl': 'DefaultRpcScheduler' }, 4, false],
    ['a scheduler without a fair queue', { 'ipc.8888.scheduler.impl': `${IPC}.DecayRpcScheduler` }, 1, true],
    ['a fair queue of another port', { 'ipc.8020.callqueue.impl': 'FairCallQueue' }, 1, false],
  ])('%s', (_, keys, levels, decays) => {
    const admission = read(keys as Keys);
    expect(admission.levels).toBe(levels);
    expect(admission.scheduler !== null).toBe(decays);
  });

  it('must be one that there is', () => {
    expect(refusal({ 'ipc.8888.callqueue.impl': 'com.example.Queue' })).toContain(
      'ipc.8888.callqueue.impl = "com.example.Queue": a class that has no counterpart in this router; ' +
        'allowed: java.util.concurrent.LinkedBlockingQueue, org.apache.hadoop.ipc.FairCallQueue',
    );
    expect(refusal({ 'ipc.callqueue.impl': 'com.example.FairCallQueue' })).toContain('ipc.callqueue.impl');
    expect(refusal({ 'ipc.scheduler.impl': 'x' })).toContain('DefaultRpcScheduler');
    expect(refusal({ ...FAIR, 'ipc.cost-provider.impl': 'x' })).toContain('WeightedTimeCostProvider');
    expect(refusal({ ...FAIR, 'ipc.8888.identity-provider.impl': 'x' })).toContain('UserIdentityProvider');
  });

  it('without a fair queue keeps the levels of the scheduler for its response times', () => {
    const keys = {
      'ipc.8888.scheduler.impl': 'DecayRpcScheduler',
      'ipc.8888.backoff.enable': 'true',
      'ipc.8888.decay-scheduler.backoff.responsetime.enable': 'true',
      'ipc.8888.scheduler.priority.levels': '3',
    };
    expect(read(keys)).toMatchObject({ levels: 1, multiplexerWeights: [1] });
    expect(scheduler(keys)).toMatchObject({ thresholds: [0.25, 0.5], responseTimesMs: [10_000, 20_000, 30_000] });
  });
});

describe('DecayRpcScheduler', () => {
  it('reads its keys', () => {
    expect(
      scheduler({
        ...FAIR,
        'ipc.8888.decay-scheduler.period-ms': '1000',
        'ipc.8888.decay-scheduler.decay-factor': '0.9',
        'ipc.8888.decay-scheduler.thresholds': '5, 5, 80',
        'ipc.8888.decay-scheduler.service-users': 'hive, yarn',
        'ipc.8888.identity-provider.impl': 'CallerContextIdentityProvider',
        'ipc.8888.cost-provider.impl': `${IPC}.WeightedTimeCostProvider`,
        'ipc.8888.weighted-cost.lockshared': '7',
        'ipc.8888.weighted-cost.queue': '2',
        'ipc.8888.weighted-cost.lockfree': '5',
        'decay-scheduler.metrics.top.user.count': '3',
      }),
    ).toEqual({
      periodMs: 1_000,
      factor: 0.9,
      thresholds: [0.05, 0.05, 0.8],
      serviceUsers: ['hive', 'yarn'],
      identity: 'caller-context',
      weightedCost: { queue: 2, processing: 0, lockShared: 7, lockExclusive: 100 },
      responseTimesMs: null,
      topUsers: 3,
    });
    expect(scheduler({ ...FAIR, 'ipc.cost-provider.impl': 'WeightedTimeCostProvider' }).weightedCost).toEqual({
      queue: 0,
      processing: 0,
      lockShared: 10,
      lockExclusive: 100,
    });
    const top = {
      'decay-scheduler.metrics.top.user.count': '3',
      'ipc.8888.decay-scheduler.metrics.top.user.count': '4',
    };
    expect(scheduler({ ...FAIR, ...top }).topUsers).toBe(4);
  });

  it('lets old names win', () => {
    expect(
      read({
        ...FAIR,
        'ipc.8888.faircallqueue.priority-levels': '2',
        'ipc.8888.scheduler.priority.levels': '3',
        'ipc.8888.faircallqueue.decay-scheduler.thresholds': '40',
        'ipc.8888.faircallqueue.decay-scheduler.period-ms': '700',
        'ipc.8888.decay-scheduler.period-ms': '800',
        'ipc.8888.faircallqueue.decay-scheduler.decay-factor': '0.25',
      }),
    ).toMatchObject({ levels: 2, scheduler: { thresholds: [0.4], periodMs: 700, factor: 0.25 } });
  });

  // The texts are those of Java's own class.
  it.each([
    ['decay-factor', '0', 'Decay Factor must be between 0 and 1'],
    ['decay-factor', '1', 'Decay Factor must be between 0 and 1'],
    ['decay-factor', 'NaN', 'Decay Factor must be between 0 and 1'],
    ['period-ms', '0', 'out of range'],
    ['thresholds', '10,20', 'Number of thresholds should be 3. Was: 2'],
    ['thresholds', '12.5,25,50', 'not a whole number'],
    [
      'backoff.responsetime.thresholds',
      '1s,2s,3s',
      'responseTimeThresholds must match with the number of priority levels',
    ],
    ['backoff.responsetime.thresholds', '1s,2s,3s,0s', 'responseTimeThreshold millis must be >= 0'],
    ['backoff.responsetime.thresholds', '1s,2s,3s,4 s', 'not a time'],
    ['metrics.top.user.count', '0', 'allowed: 1 to 1000'],
  ])('refuses %s = %s', (name, value, text) => {
    expect(refusal({ ...FAIR, [`ipc.8888.decay-scheduler.${name}`]: value })).toContain(text);
  });

  it('refuses calls for their response time only where that and back-off are on', () => {
    const slow = {
      'ipc.8888.decay-scheduler.backoff.responsetime.enable': 'true',
      'ipc.8888.decay-scheduler.backoff.responsetime.thresholds': '500,1s,1s,1m',
    };
    const backoff = { 'ipc.backoff.enable': 'true' };
    expect(scheduler({ ...FAIR, ...slow, ...backoff }).responseTimesMs).toEqual([500, 1_000, 1_000, 60_000]);
    expect(scheduler({ ...FAIR, ...slow }).responseTimesMs).toBeNull();
    expect(scheduler({ ...FAIR, ...backoff }).responseTimesMs).toBeNull();
  });
});

describe('back-off', () => {
  it('is that of this port, else that of all', () => {
    const trigger = 'callqueue.overflow.trigger.failover';
    expect(read({ 'ipc.backoff.enable': 'true', [`ipc.${trigger}`]: 'true' })).toMatchObject({
      backoff: true,
      overflowFailover: true,
    });
    expect(read({ 'ipc.backoff.enable': 'true', 'ipc.8888.backoff.enable': 'false' }).backoff).toBe(false);
    expect(read({ [`ipc.8888.${trigger}`]: 'true', [`ipc.${trigger}`]: 'false' }).overflowFailover).toBe(true);
    expect(read({ 'ipc.8889.backoff.enable': 'true' }).backoff).toBe(false);
  });
});
