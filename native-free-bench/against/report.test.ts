/** What a reader of the comparison gets to see. */

import { describe, expect, it } from 'vitest';
import type { Driven } from '../harness/drive.ts';
import type { Plan } from './plan.ts';
import { printScenario, printVerdicts, type Report, reportJson, toMarkdown } from './report.ts';
import { type Peer, SCENARIOS, type Scenario } from './scenarios.ts';
import { judge, type Round, summarise } from './summary.ts';

const CLOSED = SCENARIOS[0] as Scenario;
const OPEN = SCENARIOS.at(-1) as Scenario;

function round(made: Partial<Driven>): Round {
  const driven: Driven = {
    calls: 40_000,
    seconds: 4,
    callsPerSecond: 10_000,
    p50: 101,
    p99: 202,
    p999: 303,
    serviceP50: 101,
    serviceP99: 202,
    serviceP999: 303,
    errors: 0,
    firstError: '',
    cpuSeconds: 3.9,
    contextSwitches: 20_000,
    rssBytes: 0,
    loaderBusy: 0.25,
    loaderWasTheLimit: false,
    ...made,
  };
  return { driven, namenodeBusy: 0.125, othersBusy: 0.02, namenodeConnections: 4, rssBytes: 123e6 };
}

const closed = summarise(
  CLOSED,
  0,
  new Map<Peer, Round[]>([
    ['haproxy', [round({ cpuSeconds: 2 }), round({ cpuSeconds: 2 })]],
    ['java-pool', [round({}), round({})]],
    ['ring', [round({}), round({ errors: 1, firstError: 'lost' })]],
  ]),
  1,
);
const open = summarise(OPEN, 12_345, new Map<Peer, Round[]>([['java-pool', [round({})]]]), 1);

const report: Report = {
  machine: { processor: 'P', cores: 2, kernel: 'K', node: 'v24' },
  plan: {
    scenarios: [CLOSED, OPEN],
    peers: ['haproxy', 'java-pool', 'ring'],
    rounds: 2,
    seconds: 4,
    starts: 2,
    javaWarmupSeconds: 150,
    ceiling: 0,
    backend: 'stub',
    json: undefined,
    markdown: undefined,
    peerCores: '1',
    toolCores: '0',
    toolCoreCount: 1,
    versions: { haproxy: 'HAProxy 2', java: 'JDK 17' },
  } satisfies Plan,
  starts: new Map<Peer, { readyMs: number; firstCallMs: number }[]>([
    [
      'ring',
      [
        { readyMs: 100, firstCallMs: 120 },
        { readyMs: 110, firstCallMs: 140 },
      ],
    ],
  ]),
  ceiling: { peer: 'java-pool', callsPerSecond: 10_000 },
  scenarios: [closed, open],
  verdicts: [...judge(CLOSED, closed), ...judge(OPEN, open)],
};

describe('text', () => {
  const lines = printScenario(closed).split('\n');

  it('puts figures that say nothing about their peer in parentheses and tells why', () => {
    const haproxy = lines.find((line) => line.startsWith('  haproxy')) as string;
    expect(haproxy).toContain('(10,000)');
    expect(haproxy).toContain('(202)');
    expect(haproxy).toContain(' 50.00 ');
    expect(lines).toContain('  haproxy: neither end was saturated: load and NameNode were busy 38 %');
    const ring = lines.find((line) => line.startsWith('  ring ')) as string;
    expect(ring).not.toContain('(');
    expect(ring).toContain(' 0.500 ');
    expect(ring).toContain(' 123 ');
  });

  it('names the first error, and the rate that was not kept', () => {
    expect(lines).toContain('  ring: first error: lost');
    const text = printScenario(open);
    expect(text).toContain('12,345 calls/s');
    expect(text).toContain('java-pool: saturated, 81.0 % of the asked rate');
  });

  it('lists every target with its result', () => {
    const text = printVerdicts(report.verdicts);
    expect(text).toMatch(/64x1 +ring +calls per CPU-second \/ Java Router +≥ 8, aim 10 +1\.0 +missed/);
    expect(text).toMatch(/64x1 +ring +CPU per call \/ HAProxy +≤ 0\.9, aim 0\.7 +1\.95 +missed/);
  });
});

describe('files', () => {
  it('holds every round in the JSON, and the settings of the Java Routers', () => {
    const json = JSON.parse(reportJson(report));
    const ring = json.scenarios[0].peers.find((row: { peer: string }) => row.peer === 'ring');
    expect(ring.rounds.map((own: Round) => own.driven.errors)).toEqual([0, 1]);
    expect(json.javaSettings['java-pool']['dfs.federation.router.handler.count']).toBe('256');
    expect(json.starts).toEqual([{ peer: 'ring', readyMs: 105, firstCallMs: 130, starts: report.starts.get('ring') }]);
    expect(json).toMatchObject({ bench: 'against', backend: 'stub', ceiling: { callsPerSecond: 10_000 }, kernel: 'K' });
  });

  it('has the same tables in Markdown, with as many cells in each row', () => {
    const text = toMarkdown(report);
    for (const heading of ['64x1', 'rate-80', 'Start', 'Targets'])
      expect(text).toMatch(new RegExp(`^## ${heading}`, 'm'));
    const tables = text.split('\n\n').filter((part) => part.startsWith('|'));
    expect(tables).toHaveLength(4);
    for (const table of tables) {
      const widths = table
        .trimEnd()
        .split('\n')
        .map((line) => line.split('|').length);
      expect(new Set(widths).size).toBe(1);
    }
  });
});
