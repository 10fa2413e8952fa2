import { describe, expect, it } from 'vitest';
import {
  type ArrivalPlan,
  FOUR_LEVEL_QUEUE,
  MIXED_COSTS,
  ONE_HEAVY_USER,
  ONE_USER_ALMOST_ALONE,
  QueueScript,
  runArrivals,
  type ScriptSettings,
  sharesOf,
  TWO_LEVEL_QUEUE,
  WEIGHTED_QUEUE,
} from '../support/queue-script.ts';
import { runRigClass } from './support.ts';

/** The same scripts for ours and for Hadoop's FairCallQueue, DecayRpcScheduler and WeightedRoundRobinMultiplexer: all that they answer is equal. */

function keysOf({ multiplexerWeights, scheduler }: ScriptSettings): string[] {
  const { weightedCost, responseTimesMs } = scheduler;
  const keys: Record<string, string> = {
    'faircallqueue.multiplexer.weights': multiplexerWeights.join(','),
    'decay-scheduler.decay-factor': String(scheduler.factor),
    'decay-scheduler.service-users': scheduler.serviceUsers.join(','),
  };
  // Java takes whole percents; left out, it has 12.5, 25 and 50.
  const percents = scheduler.thresholds.map((each) => each * 100);
  if (percents.every(Number.isInteger)) keys['decay-scheduler.thresholds'] = percents.join(',');
  if (weightedCost !== null) {
    keys['cost-provider.impl'] = 'org.apache.hadoop.ipc.WeightedTimeCostProvider';
    keys['weighted-cost.queue'] = String(weightedCost.queue);
    keys['weighted-cost.processing'] = String(weightedCost.processing);
    keys['weighted-cost.lockshared'] = String(weightedCost.lockShared);
    keys['weighted-cost.lockexclusive'] = String(weightedCost.lockExclusive);
  }
  if (responseTimesMs !== null) {
    keys['decay-scheduler.backoff.responsetime.enable'] = 'true';
    keys['decay-scheduler.backoff.responsetime.thresholds'] = responseTimesMs.map((ms) => `${ms}ms`).join(',');
  }
  return Object.entries(keys)
    .filter(([, value]) => value !== '')
    .map(([key, value]) => `set ${key} ${value}`);
}

async function runJava(settings: ScriptSettings, script: readonly string[]): Promise<string[]> {
  const { levels, capacity, capacityWeights } = settings;
  const lines = [...keysOf(settings), `open ${levels} ${capacity} ${capacityWeights.join(',')}`, ...script, ''];
  const out = await runRigClass('org.apache.hadoop.ipc.QueueScript', ['script'], { script: lines.join('\n') });
  return out.trimEnd().split('\n');
}

/** What both answer. */
async function compare(settings: ScriptSettings, script: readonly string[]): Promise<string[]> {
  const java = await runJava(settings, script);
  expect(new QueueScript(settings).run(script)).toEqual(java);
  return java;
}

function repeat(line: string, times: number): string[] {
  return new Array<string>(times).fill(line);
}

function charge(user: string, times = 1): string[] {
  return repeat(`done ${user} 0 0 0 read`, times);
}

function look(...users: string[]): string[] {
  return [...users.map((user) => `level ${user}`), 'totals'];
}

describe('the vectors', () => {
  it('of levels by number of calls', async () => {
    const answers = await compare(FOUR_LEVEL_QUEUE, [
      ...[...charge('a'), ...look('a', 'b'), ...charge('b'), ...look('a', 'b'), ...charge('a', 6), ...look('a', 'b')],
      ...['sweep', ...look('a', 'b'), ...charge('c', 10), ...look('a', 'b', 'c'), 'sweep', ...look('a', 'c')],
      ...[...charge('b', 40), ...look('a', 'c', 'b'), 'sweep', ...look('a', 'b', 'c')],
      ...Array.from({ length: 5 }, () => ['sweep', ...look('b', 'c')]).flat(),
    ]);
    expect(answers.filter((line) => line.startsWith('total ')).map((line) => line.split(' ')[1])).toEqual([
      '1',
      '2',
      '8',
      '3',
      '13',
      '6',
      '46',
      '22',
      '11',
      '5',
      '2',
      '1',
      '0',
    ]);
  });

  it('of levels by cost, and of service users', async () => {
    const settings = {
      ...FOUR_LEVEL_QUEUE,
      scheduler: {
        ...FOUR_LEVEL_QUEUE.scheduler,
        serviceUsers: ['svc'],
        weightedCost: { queue: 2, processing: 4, lockShared: 7, lockExclusive: 8 },
      },
    };
    const costs = Object.entries({ a: 125, b: 250, c: 500, d: 124, e: 1, svc: 1000 });
    await compare(settings, [
      ...costs.map(([user, ms]) => `done ${user} 0 0 ${ms} read`),
      ...look('a', 'b', 'c', 'd', 'e', 'svc'),
      'sweep',
      ...look('a', 'b', 'c', 'd', 'e', 'svc'),
      ...['done x 1 3 5 write', 'done svc 2 3 5 read', ...look('x', 'svc'), 'sweep', ...look('x', 'svc')],
    ]);
  });

  it('of back-off by response time', async () => {
    const settings = {
      ...FOUR_LEVEL_QUEUE,
      scheduler: { ...FOUR_LEVEL_QUEUE.scheduler, responseTimesMs: [10, 20, 30, 40] },
    };
    const answers = await compare(settings, [
      ...[0, 1, 2, 3].map((level) => `done u ${level} 5 20 read`),
      ...['refuses', 'sweep', 'refuses', 'totals', 'sweep', 'refuses', 'totals'],
      ...[...repeat('done u 1 2 4 read', 3), 'sweep', 'refuses', 'totals'],
    ]);
    expect(answers.filter((line) => line.startsWith('refuses'))).toEqual([
      'refuses',
      'refuses 0 1 2 3',
      'refuses 0 1 2 3',
      'refuses',
    ]);
  });

  it.each([
    [[8, 4, 2, 1], '0000000011112230000000011112230000000011'],
    [[4, 2, 1], '0000112000011200001120000112000011200001'],
    [[2, 1], '0010010010010010010010010010010010010010'],
    [[4, 2, 1, 1], '0000112300001123000011230000112300001123'],
  ])('of turns of the weights %j', async (multiplexerWeights, turns) => {
    const levels = multiplexerWeights.length;
    const thresholds = multiplexerWeights.slice(1).map((_, i) => (i + 1) / 10);
    const scheduler = { ...FOUR_LEVEL_QUEUE.scheduler, thresholds };
    const capacityWeights = multiplexerWeights.map(() => 1);
    const settings = { levels, capacity: 40, capacityWeights, multiplexerWeights, scheduler };
    expect(await compare(settings, ['turns 40'])).toEqual([turns]);
  });

  it('of the order of levels, and of a full queue', async () => {
    const queue = (level: number, count: number): string[] =>
      Array.from({ length: count }, (_, i) => `queue p${level}-${i} u ${level}`);
    const forty = { ...FOUR_LEVEL_QUEUE, capacity: 40 };
    await compare(forty, [...[0, 1, 2, 3].flatMap((level) => queue(level, 10)), 'take 41', 'totals']);
    await compare(forty, [...queue(3, 3), ...queue(1, 2), 'take 3', ...queue(0, 1), 'take 4', 'totals']);
    const answers = await compare({ ...FOUR_LEVEL_QUEUE, capacity: 43 }, [
      ...[...queue(0, 44), 'totals', ...queue(3, 1), 'totals', 'take 50'],
    ]);
    expect(answers).toContain('overflowed 31 21 11 1');
    expect(answers).toContain('p3-0 3 Server too busy - disconnecting');
    const weighted = { ...FOUR_LEVEL_QUEUE, capacity: 103, capacityWeights: [4, 3, 2, 1] };
    await compare(weighted, [...queue(0, 60), ...queue(2, 60), 'totals', 'take 110', 'totals']);
  });
});

describe('a fixed arrival script', () => {
  const plans: readonly [string, ScriptSettings, ArrivalPlan][] = [
    ['one user at 50 times the others’ rate', FOUR_LEVEL_QUEUE, ONE_HEAVY_USER],
    ['two levels, as in the guide', TWO_LEVEL_QUEUE, ONE_USER_ALMOST_ALONE],
    ['calls that cost by their time', WEIGHTED_QUEUE, MIXED_COSTS],
  ];

  it.each(plans)('%s: the same calls are served in the same order', async (_name, settings, plan) => {
    const ours = new QueueScript(settings);
    let seen = 0;
    const script = runArrivals(plan, (lines) => {
      const output = ours.run(lines);
      const fresh = output.slice(seen);
      seen = output.length;
      return fresh;
    });
    const java = await runJava(settings, script);
    const [mine, theirs] = [sharesOf(ours.output), sharesOf(java)];
    for (const { name } of plan.users) expect(Math.abs((mine[name] ?? 0) - (theirs[name] ?? 0))).toBeLessThanOrEqual(2);
    expect(ours.output).toEqual(java);
  });
});
