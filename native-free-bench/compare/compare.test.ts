import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { markdownTable } from '../harness/table.ts';
import { describeLeftOut, printBaseline, printComparison } from './comparison.ts';
import { describeConditions, describeDifferences } from './conditions.ts';
import { readFigures } from './figures.ts';

const MACHINE = { processor: 'one', cores: 2, kernel: '6.1', node: 'v24.1' };

function pathRow(variant: string, cpu: number, callsPerSecond: number, p99Micros: number, proxyBusy = 0.95): object {
  return { variant, cpuMicrosPerCall: cpu, ratio: cpu / 12, callsPerSecond, p99Micros, proxyBusy };
}

function pathResult(cpu: number, conditions: object = {}): object {
  return {
    ...MACHINE,
    rounds: 5,
    seconds: 4,
    ...conditions,
    scenarios: [
      {
        scenario: '64x1',
        variants: [pathRow('haproxy', 12, 50_000, 1000), pathRow('ring', cpu, 100_000, 500)],
      },
    ],
  };
}

function againstRow(peer: string, callsPerSecond: number, p99Micros: number, other: object = {}): object {
  return { peer, limit: '', cpuMicrosPerCall: 100, callsPerSecond, p99Micros, ...other };
}

const JAVA_ROWS = [againstRow('java-pool', 6_000, 30_000), againstRow('java-single', 5_000, 20_000)];
const RING_ROW = againstRow('ring', 90_000, 1_000, { cpuMicrosPerCall: 10, ofJava: 16, ofHaproxy: 0.8 });

function againstResult(peers: readonly object[], scenario: object = {}): object {
  return { bench: 'against', ...MACHINE, scenarios: [{ scenario: '64x1', ratePerSecond: 0, ...scenario, peers }] };
}

const readOf = (bench: Parameters<typeof readFigures>[0], value: unknown): ReturnType<typeof readFigures> =>
  readFigures(bench, JSON.stringify(value), 'x.json');

describe('figures', () => {
  it('of the path are put beside HAProxy of the same run', () => {
    expect(readOf('path', pathResult(9)).figures).toEqual([
      { row: '64x1 ring', unit: 'CPU µs/call', value: 9, ofPeers: { HAProxy: 0.75 } },
      { row: '64x1 ring', unit: 'calls/s', value: 100_000, ofPeers: { HAProxy: 2 } },
      { row: '64x1 ring', unit: 'p99 µs', value: 500, ofPeers: { HAProxy: 0.5 } },
    ]);
  });

  it('of a path row that was not the limit are its CPU per call alone', () => {
    const scenarios = [
      { scenario: '64x1', variants: [pathRow('haproxy', 12, 50_000, 1000, 0.89), pathRow('ring', 9, 1, 1)] },
      { scenario: '8x64', variants: [pathRow('haproxy', 12, 1, 1), pathRow('inline', 9, 1, 1, 0.5)] },
      {
        scenario: '1000x1',
        variants: [pathRow('haproxy', 12, 1, 1), { ...pathRow('ring', 9, 1, 1), limit: 'the loader' }],
      },
      { scenario: '64@10000', variants: [pathRow('haproxy', 12, 1, 1, 0.2), pathRow('ring', 9, 1, 3, 0.2)] },
    ];
    const { figures, leftOut } = readOf('path', { scenarios });
    expect(figures.map(({ row, unit, ofPeers }) => [row, unit, ofPeers['HAProxy'] ?? null])).toEqual([
      ['64x1 ring', 'CPU µs/call', 0.75],
      ['64x1 ring', 'calls/s', null],
      ['64x1 ring', 'p99 µs', null],
      ['8x64 inline', 'CPU µs/call', 0.75],
      ['1000x1 ring', 'CPU µs/call', 0.75],
      ['64@10000 ring', 'CPU µs/call', 0.75],
      ['64@10000 ring', 'calls/s', 1],
      ['64@10000 ring', 'p99 µs', 3],
    ]);
    expect(leftOut).toEqual(['64x1 haproxy', '8x64 inline', '1000x1 ring']);
    expect(describeLeftOut('fresh', readOf('path', { scenarios }))).toEqual([
      expect.stringMatching(/^fresh: .*: 64x1 haproxy, 8x64 inline, 1000x1 ring$/),
    ]);
  });

  it('against peers take the better Java Router', () => {
    const peers = [
      againstRow('direct', 200_000, 100, { limit: 'no peer in between', cpuMicrosPerCall: null }),
      againstRow('haproxy', 60_000, 900),
      ...JAVA_ROWS,
      RING_ROW,
    ];
    for (const bench of ['against', 'against-rig'] as const) {
      const { figures, leftOut } = readOf(bench, againstResult(peers));
      expect(figures).toEqual([
        { row: '64x1 ring', unit: 'CPU µs/call', value: 10, ofPeers: { HAProxy: 0.8, 'Java Router': 1 / 16 } },
        { row: '64x1 ring', unit: 'calls/s', value: 90_000, ofPeers: { HAProxy: 1.5, 'Java Router': 15 } },
        { row: '64x1 ring', unit: 'p99 µs', value: 1_000, ofPeers: { HAProxy: 1_000 / 900, 'Java Router': 0.05 } },
      ]);
      expect(leftOut).toEqual([]);
    }
  });

  it('against peers leave out calls/s and latencies of rows that had another limit, own and peers', () => {
    const peers = [
      againstRow('haproxy', 60_000, 900, { limit: 'the tools' }),
      againstRow('java-pool', 6_000, 30_000, { limit: 'disturbed' }),
      againstRow('java-single', 5_000, 20_000),
      RING_ROW,
      againstRow('inline', 1, 1, { limit: 'the load', ofJava: 20, ofHaproxy: 0.7 }),
    ];
    const { figures, leftOut } = readOf('against', againstResult(peers));
    expect(figures.map(({ row, unit, ofPeers }) => [row, unit, ofPeers])).toEqual([
      ['64x1 ring', 'CPU µs/call', { HAProxy: 0.8, 'Java Router': 1 / 16 }],
      ['64x1 ring', 'calls/s', { 'Java Router': 18 }],
      ['64x1 ring', 'p99 µs', { 'Java Router': 0.05 }],
      ['64x1 inline', 'CPU µs/call', { HAProxy: 0.7, 'Java Router': 1 / 20 }],
    ]);
    expect(leftOut).toEqual(['64x1 haproxy', '64x1 java-pool', '64x1 inline']);
  });

  it('at fixed rates have the latency since the write too, where the bench gives it', () => {
    const row = (peer: string, serviceP99Micros: number) => againstRow(peer, 5_000, 2_000, { serviceP99Micros });
    const rate = { scenario: 'rate-50', ratePerSecond: 5_000 };
    const peers = [row('haproxy', 100), row('java-pool', 800), row('java-single', 400), row('ring', 200)];
    const figures = [
      ...readOf('against', againstResult(peers, rate)).figures,
      ...readOf('path', {
        scenarios: [
          {
            scenario: '64@10000',
            variants: [
              { ...pathRow('haproxy', 1, 1, 1), serviceP99Micros: 50 },
              { ...pathRow('ring', 1, 1, 1), serviceP99Micros: 60 },
            ],
          },
        ],
      }).figures,
    ];
    expect(figures.filter(({ unit }) => unit === 'p99 µs since write')).toEqual([
      { row: 'rate-50 ring', unit: 'p99 µs since write', value: 200, ofPeers: { HAProxy: 2, 'Java Router': 0.5 } },
      { row: '64@10000 ring', unit: 'p99 µs since write', value: 60, ofPeers: { HAProxy: 1.2 } },
    ]);
  });

  it('of the ablation are put beside the full router, under one name for all fixed rates', () => {
    const gain = { callsPerSecond: 1.25, callsPerCpuSecond: 2, p99: 0.5 };
    const row = (variant: string, busy: number) => ({
      variant,
      busy,
      cpuMicrosPerCall: 20,
      callsPerSecond: 100,
      serviceP99Micros: 7,
      gain,
    });
    const loads = [
      { load: { name: '64x1', ratePerSecond: 0 }, variants: [row('full', 0.95), row('scan', 0.95), row('reply', 0.7)] },
      { load: { name: '8x64', ratePerSecond: 0 }, variants: [row('full', 0.7), row('scan', 0.95)] },
      {
        load: { name: '64@7100', connections: 64, ratePerSecond: 7100 },
        variants: [row('full', 0.3), row('scan', 0.5), { ...row('flush', 0.5), shortfall: 'saturated' }],
      },
    ];
    const { figures, leftOut, conditions } = readOf('ablation', { loads });
    const shown = figures.filter(({ row }) => !row.endsWith('full'));
    expect(shown.map(({ row, unit, ofPeers }) => [row, unit, ofPeers['full router'] ?? null])).toEqual([
      ['64x1 scan', 'CPU µs/call', 2],
      ['64x1 scan', 'calls/s', 0.8],
      ['64x1 reply', 'CPU µs/call', 2],
      ['8x64 scan', 'CPU µs/call', 2],
      ['8x64 scan', 'calls/s', null],
      ['64 at the fixed rate scan', 'CPU µs/call', 2],
      ['64 at the fixed rate scan', 'p99 µs since write', 2],
      ['64 at the fixed rate flush', 'CPU µs/call', 2],
    ]);
    expect(leftOut).toEqual(['64x1 reply', '8x64 full', '64 at the fixed rate flush']);
    expect(conditions.rates).toBe('64 at the fixed rate 7,100');
  });

  it('of the other benches are read too', () => {
    const micro = {
      node: 'v24',
      operations: [{ name: 'scan', medianNs: 100 }],
      comparisons: [{ operation: 'scan', alternativeNs: 400 }],
    };
    expect(readOf('micro', micro).figures).toEqual([
      { row: 'scan', unit: 'ns', value: 100, ofPeers: { alternative: 0.25 } },
    ]);
    const memory = {
      idle: { connections: 10_000, firstCount: 2_000, perConnection: 9_000, perFurtherConnection: 8_000 },
      start: { mounts: 1_000, medianMs: 500 },
      calls: { calls: 5_000, connections: 100, samples: [{ rssBytes: 1e6 }, { rssBytes: 2e6 }] },
    };
    expect(readOf('memory', memory).figures.map(({ row, value, unit }) => `${row}: ${value} ${unit}`)).toEqual([
      'resident after 5,000 calls of 100 connections: 2 MB',
      'each of 10,000 idle connections: 9 KB',
      'each of 10,000 idle connections, without the first 2,000: 8 KB',
      'start to ready with 1,000 mounts: 500 ms',
    ]);
    const scale = {
      machine: MACHINE,
      handoff: 'ring',
      axes: [{ axis: 'mounts', points: [{ point: { name: 'mounts=1' }, cpuMicrosPerCall: 9, ratio: 1 }] }],
      memory: [{ point: { name: '64 idle' }, rssBytes: 9e7 }],
      failures: ['mounts=10: too slow'],
    };
    const read = readOf('scale', scale);
    expect(read.conditions).toMatchObject({ ...MACHINE, cores: '2', handoff: 'ring', rounds: '' });
    expect(read.figures.map((figure) => figure.row)).toEqual(['mounts: mounts=1', 'memory: 64 idle']);
    expect(describeLeftOut('fresh', read)).toEqual(['fresh: not measured: mounts=10: too slow']);
  });

  it.each([
    ['path', [], /x\.json: an object is wanted/],
    ['path', {}, /x\.json: field 'scenarios' is missing/],
    [
      'path',
      { scenarios: [{ scenario: 'a', variants: [{ variant: 'ring' }] }] },
      /x\.json: scenarios\[0\]\.variants\[0\]: field 'cpuMicrosPerCall' is missing/,
    ],
    ['micro', { operations: [{ name: 'scan', medianNs: 'fast' }] }, /operations\[0\]\.medianNs: a number is wanted/],
    ['scale', { axes: 5, memory: [] }, /axes: a list is wanted/],
    ['memory', { node: 'v24' }, /x\.json: one of calls, idle and start is wanted/],
  ] as const)('of %s from %j are refused with their place', (bench, value, message) => {
    expect(() => readOf(bench, value)).toThrow(message);
  });
});

describe('tables', () => {
  const baseline = readOf('path', pathResult(12));
  const fresh = readOf('path', pathResult(9, { node: 'v26' }));

  it('show both runs, their ratio, and both beside their peers', () => {
    const lines = printComparison(baseline, fresh, markdownTable).split('\n');
    expect(lines[0]).toBe(
      '| measured | unit | baseline | fresh | fresh / baseline | baseline / HAProxy | fresh / HAProxy |',
    );
    expect(lines[2]).toBe('| 64x1 ring | CPU µs/call | 12 | 9 | 0.750 | 1.00 | 0.750 |');
    expect(printBaseline(baseline, markdownTable).split('\n')[2]).toBe('| 64x1 ring | CPU µs/call | 12 | 1.00 |');
  });

  it('show what only one run has', () => {
    const less = { ...fresh, figures: fresh.figures.slice(1) };
    expect(printComparison(baseline, less, markdownTable)).toContain('| CPU µs/call | 12 | - | - | 1.00 | - |');
    expect(printComparison(less, baseline, markdownTable)).toContain('| CPU µs/call | - | 12 | - | - | 1.00 |');
  });

  it('come with a warning for what differs', () => {
    expect(describeDifferences(baseline.conditions, baseline.conditions)).toEqual([]);
    expect(describeDifferences(baseline.conditions, fresh.conditions)).toEqual([
      'warning: different Node: baseline v24.1, fresh v26',
      expect.stringMatching(/compares two conditions/),
    ]);
    const quick = readOf('path', pathResult(9, { rounds: 1, seconds: 1, peer: 'HAProxy 3' }));
    expect(describeDifferences(baseline.conditions, quick.conditions)).toEqual([
      'warning: different HAProxy: baseline not named, fresh HAProxy 3',
      expect.stringMatching(/compares two conditions/),
      'warning: different number of rounds: baseline 5, fresh 1',
      'warning: different seconds of a round: baseline 4, fresh 1',
      expect.stringMatching(/the shorter of the two runs/),
    ]);
    expect(describeConditions(baseline.conditions)).toBe('one, 2 cores, Linux 6.1, Node v24.1, 5 rounds of 4 s');
  });

  it('come with a warning when fixed rates follow from different ceilings', () => {
    const at = (ratePerSecond: number) =>
      readOf('against', againstResult([RING_ROW], { scenario: 'rate-50', ratePerSecond })).conditions;
    expect(describeDifferences(at(7_000), at(8_000))).toEqual([
      'warning: different fixed rates in calls/s: baseline rate-50 7,000, fresh rate-50 8,000',
      expect.stringMatching(/only their ratios to peers/),
    ]);
  });
});

describe('bench:compare', () => {
  const script = fileURLToPath(new URL('../compare.ts', import.meta.url));
  let directory: string;
  const run = (...args: string[]): { status: number | null; stdout: string; stderr: string } =>
    spawnSync(process.execPath, [script, ...args], { encoding: 'utf8' });
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'compare-'));
    for (const name of ['fresh', 'empty', 'broken', 'rig']) mkdirSync(join(directory, name));
    writeFileSync(join(directory, 'fresh', 'path.json'), JSON.stringify(pathResult(5, { processor: 'other' })));
    writeFileSync(join(directory, 'rig', 'against-rig.json'), JSON.stringify(againstResult([RING_ROW])));
    writeFileSync(join(directory, 'broken', 'path.json'), '{"scenarios":7}');
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  it('shows the committed baselines beside their peers', () => {
    const { status, stdout, stderr } = run();
    expect(stderr).toBe('');
    expect(status).toBe(0);
    expect(stdout).toMatch(/path:\n/);
    expect(stdout).toMatch(/\/ HAProxy/);
    expect(stdout).toMatch(/micro:\n/);
  });

  it('compares a fresh run with the baseline and writes Markdown', () => {
    const file = join(directory, 'out.md');
    const { status, stdout } = run('path', '--fresh', join(directory, 'fresh'), '--markdown', file);
    expect(status).toBe(0);
    expect(stdout).toMatch(/warning: different processor: baseline .*, fresh other/);
    expect(stdout).not.toMatch(/missing/);
    expect(readFileSync(file, 'utf8')).toMatch(/^## path\n/);
    expect(stdout).toMatch(/64x1 ring +CPU µs\/call +[\d.]+ +5 /);
  });

  it('says which results are missing, and misses the one with a real NameNode only when one side has it', () => {
    const { status, stdout } = run('--fresh', join(directory, 'fresh'));
    expect(status).toBe(0);
    expect(stdout).toMatch(/missing:\n/);
    expect(stdout).toMatch(/fresh\/micro\.json is not there: npm run bench:micro -- --json/);
    const { stdout: ofRig } = run('--baselines', join(directory, 'rig'));
    expect(ofRig).toMatch(/against-rig:\n/);
    expect(ofRig).toMatch(/rig\/path\.json is not there: npm run bench -- --json/);
    expect(ofRig).not.toMatch(/against-rig\.json is not there/);
    const { stdout: ofFresh } = run('--baselines', join(directory, 'fresh'));
    expect(ofFresh).not.toMatch(/against-rig/);
  });

  it.each([
    [['nothing'], /nothing: no bench is called so; there are path, micro/],
    [['--fresh', 'no-such-directory'], /no such directory.*npm run bench -- --json no-such-directory\/path\.json/],
    [['micro', '--fresh', '@fresh'], /micro\.json is not there: npm run bench:micro -- --json/],
    [['--fresh', '@empty'], /empty holds no result/],
    [['--fresh', '@rig', '--baselines', '@fresh'], /have no result in common/],
    [['against-rig', '--baselines', '@fresh'], /npm run bench:against -- --backend rig --json/],
    [['--fresh', '@broken'], /scenarios: a list is wanted; make it anew/],
    [['--frob'], /frob/],
  ])('refuses %j', (args, message) => {
    const { status, stderr } = run(...args.map((arg) => arg.replace('@', `${directory}/`)));
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/ {4}at /);
    expect(status).toBe(2);
  });
});
