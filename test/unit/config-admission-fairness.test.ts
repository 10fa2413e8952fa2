import { describe, expect, it } from 'vitest';
import { readAdmission } from '../../src/config/admission.ts';
import { Configuration } from '../../src/config/configuration.ts';
import { type Fairness, readFairness } from '../../src/config/fairness.ts';
import type { Topology } from '../../src/shared/settings.ts';

const ROUTER = 'dfs.federation.router';
const PACKAGE = 'org.apache.hadoop.hdfs.server.federation.fairness';
const POLICY = `${ROUTER}.fairness.policy.controller.class`;
const HANDLERS = `${ROUTER}.handler.count`;
const COUNT = `${ROUTER}.fairness.handler.count`;
const PROPORTION = `${ROUTER}.fairness.handler.proportion`;
const MONITORED = `${ROUTER}.monitor.namenode`;
const PERMITS = `${ROUTER}.async.rpc.max.asynccall.permit`;

type Keys = Readonly<Record<string, string>>;

function configure(keys: Keys): Configuration {
  const overrides = Object.entries(keys).map(([key, value]) => ({ key, value, origin: '--set' }));
  return new Configuration({ overrides, environment: {} });
}

function topologyOf(ids: readonly string[]): Topology {
  return { nameservices: ids.map((id) => ({ id, namenodes: [] })) };
}

function read(policy: string, keys: Keys, ids: readonly string[] = ['ns1', 'ns2']): Fairness {
  return readFairness(configure({ [POLICY]: `${policy}RouterRpcFairnessPolicyController`, ...keys }), topologyOf(ids));
}

/** Sizes of windows that do not move. */
function fixed({ windows }: Fairness): number[] {
  return windows.map(({ floor, ceiling }) => {
    expect(floor).toBe(ceiling);
    return floor;
  });
}

describe('without a fairness policy', () => {
  it('windows move between floor and ceiling', () => {
    expect(read('No', {})).toEqual({
      policy: `${PACKAGE}.NoRouterRpcFairnessPolicyController`,
      windows: [
        { floor: 64, ceiling: 1024 },
        { floor: 64, ceiling: 1024 },
      ],
      acquireMs: null,
    });
    const tuned = { 'switchyard.window.floor': '64', 'switchyard.window.ceiling': '256' };
    expect(read('No', tuned, ['ns1']).windows).toEqual([{ floor: 64, ceiling: 256 }]);
  });

  it('a lower ceiling lowers the floor that nobody set, and no other', () => {
    const ceiling = { 'switchyard.window.ceiling': '16' };
    expect(fixed(read('No', ceiling, ['ns1']))).toEqual([16]);
    expect(() => read('No', { ...ceiling, 'switchyard.window.floor': '17' })).toThrow(
      '--set: switchyard.window.floor = "17": above switchyard.window.ceiling (16)',
    );
    expect(() => read('No', { 'switchyard.window.floor': '0' })).toThrow('allowed: 1 to 1000000');
  });
});

/** Permits that Java's class gives for the same keys: those of the nameservice and those of calls to several, which may go there, too. */
describe('static fairness', () => {
  it.each([
    ['equal shares', {}, [3 + 4, 3 + 4]],
    [
      'dedicated and the rest',
      { [HANDLERS]: '20', [`${COUNT}.ns1`]: '3', [`${COUNT}.concurrent`]: '2' },
      [3 + 2, 15 + 2],
    ],
    [
      'all dedicated',
      { [HANDLERS]: '20', [`${COUNT}.ns1`]: '3', [`${COUNT}.ns2`]: '3', [`${COUNT}.concurrent`]: '2' },
      [3 + 14, 3 + 14],
    ],
    ['a count below 0 is none', { [HANDLERS]: '12', [`${COUNT}.ns1`]: '-5', [`${COUNT}.ns2`]: '4' }, [4 + 4, 4 + 4]],
    ['just enough', { [HANDLERS]: '3' }, [1 + 1, 1 + 1]],
  ])('%s', (_, keys, sizes) => {
    expect(fixed(read('Static', keys as Keys))).toEqual(sizes);
    expect(fixed(read('Static', { ...keys, [MONITORED]: 'ns1.a,ns1.b,ns2' } as Keys))).toEqual(sizes);
  });

  it('counts nameservices that are monitored and have no address', () => {
    const keys = { [HANDLERS]: '12', [MONITORED]: 'ns1,ns2,gone' };
    expect(fixed(read('Static', keys))).toEqual([3 + 3, 3 + 3]);
  });

  it('needs a handler for each, in the words of the Java class', () => {
    expect(() => read('Static', { [HANDLERS]: '2' })).toThrow(
      `${HANDLERS} = "2": Configured handlers ${HANDLERS}= 2 is less than the minimum required handlers 3; make it at least 3`,
    );
    expect(() => read('Static', { [`${COUNT}.ns1`]: '9' })).toThrow('is less than the minimum required handlers 11');
  });
});

describe('proportional fairness', () => {
  it.each([
    // What a test of the Java class expects: 10, 16, and 20 for calls to several.
    [
      { [`${PROPORTION}.ns1`]: '0.5', [`${PROPORTION}.ns2`]: '0.8', [`${PROPORTION}.concurrent`]: '1' },
      [10 + 20, 16 + 20],
    ],
    [{}, [2 + 2, 2 + 2]],
    [{ [`${PROPORTION}.ns1`]: '0' }, [1 + 2, 2 + 2]],
    [{ [`${PROPORTION}.ns1`]: '1', [`${PROPORTION}.ns2`]: '1' }, [20 + 2, 20 + 2]],
    [{ [`${PROPORTION}.default_ns`]: '0.5', [`${PROPORTION}.ns2`]: '0.2' }, [10 + 2, 4 + 2]],
    [{ [`${PROPORTION}.default_ns`]: '0.5', [MONITORED]: 'ns1' }, [2 + 2, 10 + 2]],
  ])('%j', (keys, sizes) => {
    expect(fixed(read('Proportion', { [HANDLERS]: '20', ...keys } as Keys))).toEqual(sizes);
  });

  it('needs a proportion that is a number', () => {
    expect(() => read('Proportion', { [`${PROPORTION}.ns1`]: 'x' })).toThrow('not a number');
    expect(() => read('Proportion', { [`${PROPORTION}.ns1`]: '-1' })).toThrow('out of range');
  });
});

describe('fairness of the asynchronous router', () => {
  it.each([
    ['20000', {}],
    ['20000', { [PERMITS]: '0' }],
    ['20000', { [PERMITS]: '-1' }],
    ['30', { [PERMITS]: '30' }],
    ['1000000', { [PERMITS]: '2000000000' }],
  ])('at most %s calls each', (ceiling, keys) => {
    const [window] = readFairness(
      configure({ [POLICY]: `${PACKAGE}.RouterAsyncRpcFairnessPolicyController`, ...keys } as Keys),
      topologyOf(['ns1']),
    ).windows;
    expect(window).toEqual({ floor: Math.min(64, Number(ceiling)), ceiling: Number(ceiling) });
  });
});

describe('a fairness policy', () => {
  it('is named in full, as Java does', () => {
    expect(read('Static', {}).policy).toBe(`${PACKAGE}.StaticRouterRpcFairnessPolicyController`);
    const full = { [POLICY]: `${PACKAGE}.ProportionRouterRpcFairnessPolicyController` };
    expect(readFairness(configure(full), topologyOf(['ns1'])).policy).toBe(full[POLICY]);
  });

  it('that is unknown is refused', () => {
    expect(() => read('My', {})).toThrow(`allowed: ${PACKAGE}.NoRouterRpcFairnessPolicyController, `);
  });

  it('sets how long calls wait', () => {
    const limit = (keys: Keys): number => readAdmission(configure(keys), topologyOf(['ns1']), 8888).timeLimitMs;
    const policy = { [POLICY]: `${PACKAGE}.StaticRouterRpcFairnessPolicyController` };
    const timeout = `${ROUTER}.fairness.acquire.timeout`;
    expect(limit({})).toBe(30_000);
    expect(limit({ 'switchyard.queue.time-limit': '5s', [timeout]: '2s' })).toBe(5_000);
    expect(limit({ ...policy, 'switchyard.queue.time-limit': '5s' })).toBe(1_000);
    expect(limit({ ...policy, [timeout]: '100' })).toBe(100);
    expect(limit({ ...policy, [timeout]: '0' })).toBe(0);
    expect(limit({ ...policy, [timeout]: '-1' })).toBe(1_000);
  });
});
