/** What the comparison makes of its rounds: ratios within a round, ceilings, limits and targets. */

import { describe, expect, it } from 'vitest';
import type { Driven } from '../harness/drive.ts';
import { PEERS, type Peer, SCENARIOS, type Scenario } from './scenarios.ts';
import { findJavaCeiling, judge, type PeerSummary, type Round, summarise, type Verdict } from './summary.ts';

const CLOSED = SCENARIOS[0] as Scenario;
const OPEN = SCENARIOS.find((scenario) => scenario.ceilingShare === 0.5) as Scenario;

interface Made extends Partial<Driven> {
  readonly namenodeBusy?: number;
  readonly othersBusy?: number;
}

/** A round of 10,000 calls in 4 s on a busy core; `cpuMicros` for each. */
function round(cpuMicros: number, made: Made = {}): Round {
  const { namenodeBusy = 0.2, othersBusy = 0.01, ...driven } = made;
  const calls = 4e6 / cpuMicros;
  return {
    driven: {
      calls,
      seconds: 4,
      callsPerSecond: calls / 4,
      p50: 100,
      p99: 200,
      p999: 300,
      serviceP50: 100,
      serviceP99: 200,
      serviceP999: 300,
      errors: 0,
      firstError: '',
      cpuSeconds: 4,
      contextSwitches: calls / 10,
      rssBytes: 0,
      loaderBusy: 0.3,
      loaderWasTheLimit: false,
      ...driven,
    },
    namenodeBusy,
    othersBusy,
    namenodeConnections: 4,
    rssBytes: 5e7,
  };
}

function rowOf(rounds: ReadonlyMap<Peer, readonly Round[]>, peer: Peer, rate = 0): PeerSummary {
  const summary = summarise(rate > 0 ? OPEN : CLOSED, rate, rounds, 1);
  return summary.peers.find((row) => row.peer === peer) as PeerSummary;
}

function resultOf(verdicts: readonly Verdict[], what: string): string | undefined {
  return verdicts.find((verdict) => verdict.what.includes(what))?.result;
}

describe('ratios', () => {
  it('are taken within each round, against the better Java Router of that round', () => {
    const rounds = new Map<Peer, Round[]>([
      ['haproxy', [round(20), round(40), round(10)]],
      ['java-pool', [round(100), round(400), round(300)]],
      ['java-single', [round(200), round(200), round(200)]],
      ['ring', [round(10), round(20), round(20)]],
    ]);
    const ring = rowOf(rounds, 'ring');
    expect(ring.ofJavaOfRounds).toEqual([10, 10, 10]);
    expect(ring.ofHaproxyOfRounds).toEqual([0.5, 0.5, 2]);
    expect(ring.ofHaproxy).toBe(0.5);
    expect(ring.cpuMicrosPerCall).toBe(20);
    expect(rowOf(rounds, 'java-pool').ofJavaOfRounds[1]).toBe(0.5);
  });

  it('are missing without the peer, and the direct connection has no CPU', () => {
    const rounds = new Map<Peer, Round[]>([
      ['direct', [round(10)]],
      ['ring', [round(10)]],
    ]);
    expect(rowOf(rounds, 'ring')).toMatchObject({ ofJava: null, ofHaproxy: null, cpuMicrosPerCall: 10 });
    expect(rowOf(rounds, 'direct')).toMatchObject({ cpuMicrosPerCall: null, ofJava: null });
  });

  it('counts context switches for each call and errors over all rounds', () => {
    const rounds = new Map<Peer, Round[]>([
      ['ring', [round(10, { errors: 1, firstError: 'x' }), round(10, { errors: 2 })]],
    ]);
    expect(rowOf(rounds, 'ring')).toMatchObject({ errors: 3, firstError: 'x', contextSwitchesPerCall: 0.1 });
  });
});

describe('ceiling', () => {
  it('is the median of the best Java Router and no other peer', () => {
    const rounds = new Map<Peer, Round[]>([
      ['ring', [round(1)]],
      ['java-pool', [100, 900, 500].map((rate) => round(10, { callsPerSecond: rate }))],
      ['java-single', [400, 400, 9000].map((rate) => round(10, { callsPerSecond: rate }))],
    ]);
    expect(findJavaCeiling(rounds)).toEqual({ peer: 'java-pool', callsPerSecond: 500 });
  });

  it('is not there without a Java Router', () => {
    expect(findJavaCeiling(new Map<Peer, Round[]>([['ring', [round(1)]]]))).toBeUndefined();
  });
});

describe('limit', () => {
  const limitOf = (peer: Peer, own: Round[], rate = 0): string =>
    rowOf(new Map<Peer, Round[]>([[peer, own]]), peer, rate).limit;

  it('is found with the rate of the scenario', () => {
    const idle = round(10, { cpuSeconds: 2 });
    expect(limitOf('ring', [round(10)])).toBe('');
    expect(limitOf('haproxy', [idle])).toMatch(/^neither end was saturated/);
    expect(limitOf('ring', [idle], 1000)).toBe('');
    expect(limitOf('ring', [round(10, { loaderBusy: 0.6, namenodeBusy: 0.35 })], 1000)).toMatch(/^the tools/);
  });

  it('is the loader when it says so, and both when the core of the peer was full too', () => {
    const own = { loaderWasTheLimit: true };
    expect(limitOf('ring', [round(10, own)])).toMatch(/^peer and tools were both full/);
    expect(limitOf('ring', [round(10, { ...own, cpuSeconds: 2 })])).toBe('the loader was the limit');
    expect(limitOf('ring', [round(10, own)], 1000)).toBe('the loader was the limit');
    expect(limitOf('java-pool', [round(10, { loaderBusy: 0.7, namenodeBusy: 0.25 })])).toMatch(/both full: .* 95 %$/);
  });

  it('always holds for the direct connection in a closed loop', () => {
    expect(limitOf('direct', [round(10)])).toMatch(/no peer/);
    expect(limitOf('direct', [round(10)], 1000)).toBe('');
    expect(limitOf('direct', [round(10, { callsPerSecond: 900 })], 1000)).toMatch(/90\.0 % of the asked rate$/);
  });
});

describe('targets of closed loops', () => {
  const judged = (own: number, java: number, haproxy: number): Verdict[] => {
    const rounds = new Map<Peer, Round[]>([
      ['haproxy', [round(haproxy)]],
      ['java-single', [round(java)]],
      ['ring', [round(own)]],
    ]);
    return judge(CLOSED, summarise(CLOSED, 0, rounds, 1));
  };

  it('are reached, reached beyond, or missed', () => {
    expect(resultOf(judged(10, 79, 20), 'Java')).toBe('missed');
    expect(resultOf(judged(10, 90, 20), 'Java')).toBe('reached');
    expect(resultOf(judged(10, 100, 20), 'Java')).toBe('aim reached');
    expect(resultOf(judged(10, 100, 11), 'HAProxy')).toBe('missed');
    expect(resultOf(judged(10, 100, 12), 'HAProxy')).toBe('reached');
    expect(resultOf(judged(10, 100, 20), 'HAProxy')).toBe('aim reached');
  });

  it('are printed with the digits that tell a miss from a hit', () => {
    const [ofJava, ofHaproxy] = judged(10, 79.99, 11.106);
    expect(ofJava).toMatchObject({ target: '≥ 8, aim 10', value: '7.999', result: 'missed' });
    expect(ofHaproxy).toMatchObject({ target: '≤ 0.9, aim 0.7', value: '0.9004', result: 'missed' });
    expect(judged(10, 80, 20)[0]).toMatchObject({ value: '8.0', result: 'reached' });
  });

  it('are not measured without the peer, and other peers have none', () => {
    const verdicts = judge(CLOSED, summarise(CLOSED, 0, new Map<Peer, Round[]>([['inline', [round(10)]]]), 1));
    expect(verdicts.map((verdict) => verdict.result)).toEqual(['not measured', 'not measured']);
    const others = new Map<Peer, Round[]>(PEERS.slice(0, 4).map((peer) => [peer, [round(10)]]));
    expect(judge(CLOSED, summarise(CLOSED, 0, others, 1))).toEqual([]);
  });

  it('hold for every closed loop and only there', () => {
    for (const scenario of SCENARIOS) expect(scenario.target === undefined).toBe(scenario.ceilingShare > 0);
  });
});

describe('targets of fixed rates', () => {
  const judged = (peer: 'ring' | 'inline', own: Made, haproxyP99 = 100, direct: Made = {}): Verdict[] => {
    const rounds = new Map<Peer, Round[]>([
      ['direct', [round(1, { serviceP50: 50, ...direct })]],
      ['haproxy', [round(10, { p99: haproxyP99 })]],
      ['java-pool', [round(10, { p99: 4000 })]],
      ['java-single', [round(10, { p99: 2000 })]],
      [peer, [round(10, own)]],
    ]);
    return judge(OPEN, summarise(OPEN, 1000, rounds, 1));
  };

  it('allow the ring more above the direct connection than inline', () => {
    expect(resultOf(judged('inline', { serviceP50: 150 }), 'p50')).toBe('reached');
    expect(resultOf(judged('inline', { serviceP50: 151 }), 'p50')).toBe('missed');
    expect(resultOf(judged('ring', { serviceP50: 200 }), 'p50')).toBe('reached');
    expect(resultOf(judged('ring', { serviceP50: 201 }), 'p50')).toBe('missed');
  });

  it("bound p99 by the larger of a quarter of the better Java Router's and 1.5 times HAProxy's", () => {
    expect(resultOf(judged('ring', { p99: 500 }), 'p99')).toBe('reached');
    expect(resultOf(judged('ring', { p99: 501 }), 'p99')).toBe('missed');
    expect(resultOf(judged('ring', { p99: 600 }, 400), 'p99')).toBe('reached');
    expect(resultOf(judged('ring', { p99: 601 }, 400), 'p99')).toBe('missed');
  });

  it('judge p99 since the write apart, against the same share of the same peers', () => {
    const verdicts = judged('ring', { p99: 501, serviceP99: 300 });
    expect(resultOf(verdicts, 'p99, µs')).toBe('missed');
    expect(resultOf(verdicts, 'p99 since the write')).toBe('reached');
    const others = judged('ring', { p99: 500, serviceP99: 301 });
    expect(resultOf(others, 'p99, µs')).toBe('reached');
    expect(others.find((verdict) => verdict.what.includes('p99 since'))).toMatchObject({
      result: 'missed',
      target: expect.stringMatching(/^≤ 300 /),
      value: '301, 1.003 × the bound',
    });
  });

  it('are not measured when the tools were the limit', () => {
    const verdicts = judged('ring', { loaderWasTheLimit: true });
    expect(verdicts.map((verdict) => verdict.result)).toEqual(['not measured', 'not measured', 'not measured']);
  });

  it('are not measured when the peer that they depend on was not measured', () => {
    const verdicts = judged('ring', { p50: 100 }, 100, { othersBusy: 0.5 });
    expect(verdicts.map((verdict) => verdict.result)).toEqual(['not measured', 'reached', 'reached']);
  });
});
