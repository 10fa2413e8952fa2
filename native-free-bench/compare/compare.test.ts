import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { markdownTable } from '../harness/table.ts';
import { describeDifferences, printBaseline, printComparison } from './comparison.ts';
import { readFigures } from './figures.ts';

const MACHINE = { processor: 'one', cores: 2, kernel: '6.1', node: 'v24.1' };

function pathResult(cpu: number, machine: object = MACHINE): object {
  return {
    ...machine,
    scenarios: [
      {
        scenario: '64x1',
        variants: [
          { variant: 'haproxy', cpuMicrosPerCall: 12, ratio: 1, callsPerSecond: 50_000, p99Micros: 1000 },
          { variant: 'ring', cpuMicrosPerCall: cpu, ratio: cpu / 12, callsPerSecond: 100_000, p99Micros: 500 },
        ],
      },
    ],
  };
}

const AGAINST = {
  bench: 'against',
  ...MACHINE,
  scenarios: [
    {
      scenario: '64x1',
      peers: [
        { peer: 'direct', limit: '', cpuMicrosPerCall: null, callsPerSecond: 200_000, p99Micros: 100 },
        { peer: 'haproxy', limit: 'the load', cpuMicrosPerCall: 12, callsPerSecond: 60_000, p99Micros: 900 },
        { peer: 'java-pool', limit: '', cpuMicrosPerCall: 160, callsPerSecond: 6_000, p99Micros: 30_000 },
        { peer: 'java-single', limit: '', cpuMicrosPerCall: 200, callsPerSecond: 5_000, p99Micros: 20_000 },
        {
          peer: 'ring',
          limit: '',
          cpuMicrosPerCall: 10,
          ofJava: 16,
          ofHaproxy: 0.8,
          callsPerSecond: 90_000,
          p99Micros: 1_000,
        },
        {
          peer: 'inline',
          limit: 'the load',
          cpuMicrosPerCall: 8,
          ofJava: 20,
          ofHaproxy: 0.7,
          callsPerSecond: 1,
          p99Micros: 1,
        },
      ],
    },
  ],
};

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

  it('against peers take the better Java Router, and only CPU from a row that the tools limited', () => {
    expect(readOf('against', AGAINST).figures).toEqual([
      { row: '64x1 ring', unit: 'CPU µs/call', value: 10, ofPeers: { HAProxy: 0.8, 'Java Router': 1 / 16 } },
      { row: '64x1 ring', unit: 'calls/s', value: 90_000, ofPeers: { HAProxy: 1.5, 'Java Router': 15 } },
      { row: '64x1 ring', unit: 'p99 µs', value: 1_000, ofPeers: { HAProxy: 1_000 / 900, 'Java Router': 0.05 } },
      { row: '64x1 inline', unit: 'CPU µs/call', value: 8, ofPeers: { HAProxy: 0.7, 'Java Router': 1 / 20 } },
    ]);
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
    const ablation = {
      loads: [
        {
          load: { name: '64x1' },
          variants: [{ variant: 'scan', cpuMicrosPerCall: 20, gain: { callsPerCpuSecond: 2 } }],
        },
      ],
    };
    expect(readOf('ablation', ablation).figures).toEqual([
      { row: '64x1 scan', unit: 'CPU µs/call', value: 20, ofPeers: { 'full router': 2 } },
    ]);
    const memory = {
      idle: { perConnection: 9_000, perFurtherConnection: 8_000 },
      start: { medianMs: 500 },
      calls: { samples: [{ rssBytes: 1e6 }, { rssBytes: 2e6 }] },
    };
    expect(readOf('memory', memory).figures.map(({ value, unit }) => `${value} ${unit}`)).toEqual([
      '2 MB',
      '9 KB',
      '8 KB',
      '500 ms',
    ]);
    const scale = {
      machine: MACHINE,
      handoff: 'ring',
      axes: [{ axis: 'mounts', points: [{ point: { name: 'mounts=1' }, cpuMicrosPerCall: 9, ratio: 1 }] }],
      memory: [{ point: { name: '64 idle' }, rssBytes: 9e7 }],
    };
    const read = readOf('scale', scale);
    expect(read.conditions).toEqual({ ...MACHINE, cores: '2', handoff: 'ring' });
    expect(read.figures.map((figure) => figure.row)).toEqual(['mounts: mounts=1', 'memory: 64 idle']);
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
  const fresh = readOf('path', pathResult(9, { ...MACHINE, node: 'v26' }));

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

  it('come with what differs between the machines', () => {
    expect(describeDifferences(baseline.conditions, fresh.conditions)).toEqual([
      'different Node: baseline v24.1, fresh v26',
      expect.stringMatching(/compares two conditions/),
    ]);
    expect(describeDifferences(baseline.conditions, baseline.conditions)).toEqual([]);
  });
});

describe('bench:compare', () => {
  const script = fileURLToPath(new URL('../compare.ts', import.meta.url));
  let directory: string;
  const run = (...args: string[]): { status: number | null; stdout: string; stderr: string } =>
    spawnSync(process.execPath, [script, ...args], { encoding: 'utf8' });
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'compare-'));
    for (const name of ['fresh', 'empty', 'broken']) mkdirSync(join(directory, name));
    writeFileSync(
      join(directory, 'fresh', 'path.json'),
      JSON.stringify(pathResult(5, { ...MACHINE, processor: 'other' })),
    );
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
    expect(stdout).toMatch(/different processor: baseline .*, fresh other/);
    expect(stdout).toMatch(/64x1 ring +CPU µs\/call +[\d.]+ +5 /);
  });

  it.each([
    [['nothing'], /nothing: no bench is called so; there are path, micro/],
    [['--fresh', 'no-such-directory'], /no such directory.*npm run bench -- --json no-such-directory\/path\.json/],
    [['micro', '--fresh', '@fresh'], /micro\.json is not there: npm run bench:micro -- --json/],
    [['--fresh', '@empty'], /empty holds no result/],
    [['--fresh', '@broken'], /scenarios: a list is wanted; make it anew/],
    [['--frob'], /frob/],
  ])('refuses %j', (args, message) => {
    const { status, stderr } = run(...args.map((arg) => arg.replace('@', `${directory}/`)));
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/ {4}at /);
    expect(status).toBe(2);
  });
});
