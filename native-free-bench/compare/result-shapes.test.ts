/** The sums of the benches themselves, as their JSON has them, are read: a change of a field's name there fails here. */

import { describe, expect, it } from 'vitest';
import { type LoadPoint, summariseLoad } from '../ablation/report.ts';
import { SCENARIOS as AGAINST_SCENARIOS, type Scenario as AgainstScenario, type Peer } from '../against/scenarios.ts';
import { type Round as AgainstRound, summarise as summariseAgainst } from '../against/summary.ts';
import type { Driven } from '../harness/drive.ts';
import { toJson } from '../harness/machine.ts';
import type { Variant } from '../harness/proxies.ts';
import { compare } from '../micro/report.ts';
import { type Round as PathRound, summarise as summarisePath } from '../path/report.ts';
import { SCENARIOS as PATH_SCENARIOS, type Scenario as PathScenario } from '../path/scenarios.ts';
import { type BenchFigures, type BenchName, readFigures } from './figures.ts';

const MACHINE = { processor: 'one', cores: 2, kernel: '6.1', node: 'v24.1' };

/** A second on a core that was busy for `busy` of it. */
function driven(callsPerSecond: number, busy: number, p99: number): Driven {
  return {
    calls: callsPerSecond,
    seconds: 1,
    callsPerSecond,
    p50: p99 / 2,
    p99: p99 * 10,
    p999: p99 * 20,
    serviceP50: p99 / 2,
    serviceP99: p99,
    serviceP999: p99 * 2,
    errors: 0,
    firstError: '',
    cpuSeconds: busy,
    contextSwitches: 0,
    rssBytes: 0,
    loaderBusy: 0.3,
    loaderWasTheLimit: false,
  };
}

function round(callsPerSecond: number, busy: number, p99: number): PathRound & AgainstRound {
  return {
    driven: driven(callsPerSecond, busy, p99),
    namenodeBusy: 0.2,
    othersBusy: 0,
    namenodeConnections: 1,
    rssBytes: 0,
  };
}

const read = (bench: BenchName, result: object): BenchFigures =>
  readFigures(bench, toJson({ ...MACHINE, rounds: 1, seconds: 1, ...result }), 'x.json');
const shown = ({ figures }: BenchFigures): unknown[] =>
  figures.map(({ row, unit, value, ofPeers }) => [row, unit, value, ofPeers]);

describe('results', () => {
  it('of the path', () => {
    const ofScenario = (name: string, rounds: [Variant, PathRound][]) => {
      const scenario = PATH_SCENARIOS.find((candidate) => candidate.name === name) as PathScenario;
      return summarisePath(scenario, new Map(rounds.map(([variant, own]) => [variant, [own]])), 1);
    };
    const result = read('path', {
      scenarios: [
        ofScenario('64x1', [
          ['haproxy', round(1000, 1, 8)],
          ['ring', round(2000, 1, 4)],
          ['inline', round(2000, 0.5, 4)],
        ]),
        ofScenario('64@10000', [
          ['haproxy', round(10_000, 0.1, 8)],
          ['ring', round(10_000, 0.2, 4)],
        ]),
      ],
    });
    expect(shown(result)).toEqual([
      ['64x1 ring', 'CPU µs/call', 500, { HAProxy: 0.5 }],
      ['64x1 ring', 'calls/s', 2000, { HAProxy: 2 }],
      ['64x1 ring', 'p99 µs', 40, { HAProxy: 0.5 }],
      ['64x1 inline', 'CPU µs/call', 250, { HAProxy: 0.25 }],
      ['64@10000 ring', 'CPU µs/call', 20, { HAProxy: 2 }],
      ['64@10000 ring', 'calls/s', 10_000, { HAProxy: 1 }],
      ['64@10000 ring', 'p99 µs', 40, { HAProxy: 0.5 }],
      ['64@10000 ring', 'p99 µs since write', 4, { HAProxy: 0.5 }],
    ]);
    expect(result.leftOut).toEqual(['64x1 inline']);
    expect(result.conditions).toMatchObject({ ...MACHINE, cores: '2', rounds: '1', seconds: '1' });
  });

  it('against peers', () => {
    const rounds = (own: [Peer, AgainstRound][]) => new Map(own.map(([peer, measured]) => [peer, [measured]]));
    const [closed] = AGAINST_SCENARIOS as readonly [AgainstScenario];
    const open = AGAINST_SCENARIOS.find((scenario) => scenario.ceilingShare > 0) as AgainstScenario;
    const result = read('against', {
      scenarios: [
        summariseAgainst(
          closed,
          0,
          rounds([
            ['haproxy', round(1000, 0.5, 8)],
            ['java-pool', round(100, 1, 80)],
            ['ring', round(2000, 1, 4)],
          ]),
          1,
        ),
        summariseAgainst(
          open,
          500,
          rounds([
            ['java-single', round(500, 0.8, 80)],
            ['inline', round(500, 0.1, 4)],
          ]),
          1,
        ),
      ],
    });
    expect(shown(result)).toEqual([
      ['64x1 ring', 'CPU µs/call', 500, { HAProxy: 1, 'Java Router': 0.05 }],
      ['64x1 ring', 'calls/s', 2000, { 'Java Router': 20 }],
      ['64x1 ring', 'p99 µs', 40, { 'Java Router': 0.05 }],
      ['rate-50 inline', 'CPU µs/call', 200, { 'Java Router': 0.125 }],
      ['rate-50 inline', 'calls/s', 500, { 'Java Router': 1 }],
      ['rate-50 inline', 'p99 µs', 40, { 'Java Router': 0.05 }],
      ['rate-50 inline', 'p99 µs since write', 4, { 'Java Router': 0.05 }],
    ]);
    expect(result.leftOut).toEqual(['64x1 haproxy']);
    expect(result.conditions.rates).toBe('rate-50 500');
  });

  it('of the ablation', () => {
    const closed: LoadPoint = { name: '64x1', meaning: '', connections: 64, inFlight: 1, ratePerSecond: 0 };
    const open: LoadPoint = { name: '64@500', meaning: '', connections: 64, inFlight: 0, ratePerSecond: 500 };
    const rounds = (full: PathRound, scan: PathRound) =>
      new Map([
        ['full', [full]],
        ['scan', [scan]],
      ]);
    const result = read('ablation', {
      loads: [
        summariseLoad(closed, rounds(round(2000, 1, 4), round(1000, 1, 8)), 1),
        summariseLoad(open, rounds(round(500, 0.2, 4), round(500, 0.4, 8)), 1),
      ],
    });
    expect(shown(result).filter((figure) => String((figure as string[])[0]).endsWith('scan'))).toEqual([
      ['64x1 scan', 'CPU µs/call', 1000, { 'full router': 2 }],
      ['64x1 scan', 'calls/s', 1000, { 'full router': 0.5 }],
      ['64 at the fixed rate scan', 'CPU µs/call', 800, { 'full router': 2 }],
      ['64 at the fixed rate scan', 'p99 µs since write', 8, { 'full router': 2 }],
    ]);
    expect(result.leftOut).toEqual([]);
  });

  it('of single operations', () => {
    const run = (): number => 1;
    const subjects = [{ name: 'fast', run, alternative: { name: 'slow', run } }];
    const operations = ['fast', 'slow'].map((name, i) => ({ name, medianNs: 10 + 30 * i, p99Ns: 1, operations: 1 }));
    const result = read('micro', { operationMs: 50, operations, comparisons: compare(subjects, operations) });
    expect(shown(result)).toEqual([
      ['fast', 'ns', 10, { alternative: 0.25 }],
      ['slow', 'ns', 40, {}],
    ]);
    expect(result.conditions.operationMs).toBe('50');
  });
});
