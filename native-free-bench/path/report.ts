/** Numbers of a bench run: what one round gives, how rounds are summed up, how it is printed. */

import type { Driven } from '../harness/drive.ts';
import type { Variant } from '../harness/proxies.ts';
import { median, printTable } from '../harness/table.ts';
import type { Scenario } from './scenarios.ts';

/** One variant in one round. */
export interface Round {
  readonly load: Driven;
  /** Connections that carried calls to the NameNode. */
  readonly namenodeConnections: number;
}

export interface VariantSummary {
  readonly variant: Variant;
  /** CPU µs of the whole proxy process per call: median, and each round. Empty for the direct connection. */
  readonly cpuMicrosPerCall?: number;
  readonly cpuMicrosOfRounds: readonly number[];
  /** CPU per call divided by HAProxy's in the same round: median, and each round. */
  readonly ratio?: number;
  readonly ratioOfRounds: readonly number[];
  readonly target?: number;
  readonly callsPerSecond: number;
  readonly p50Micros: number;
  readonly p99Micros: number;
  /** Share of its core that the proxy used. */
  readonly proxyBusy?: number;
  readonly loaderBusy: number;
  readonly namenodeConnections: number;
  readonly errors: number;
  readonly firstError: string;
}

export interface ScenarioSummary {
  readonly scenario: string;
  readonly meaning: string;
  readonly variants: readonly VariantSummary[];
}

/** `rounds` holds as many rounds of every variant, in the order in which they were run. */
export function summarise(scenario: Scenario, rounds: ReadonlyMap<Variant, readonly Round[]>): ScenarioSummary {
  const peer = rounds.get('haproxy')?.map(cpuMicros);
  const variants: VariantSummary[] = [];
  for (const [variant, own] of rounds) {
    const isProxy = variant !== 'direct';
    const cpu = isProxy ? own.map(cpuMicros) : [];
    const ratios = peer === undefined ? [] : cpu.map((value, round) => value / (peer[round] as number));
    variants.push({
      variant,
      ...(isProxy ? { cpuMicrosPerCall: median(cpu) } : {}),
      cpuMicrosOfRounds: cpu,
      ...(ratios.length > 0 ? { ratio: median(ratios) } : {}),
      ratioOfRounds: ratios,
      ...(variant === 'ring' || variant === 'inline' ? { target: scenario.target[variant] } : {}),
      callsPerSecond: median(own.map((round) => round.load.callsPerSecond)),
      p50Micros: median(own.map((round) => round.load.p50)),
      p99Micros: median(own.map((round) => round.load.p99)),
      ...(isProxy ? { proxyBusy: median(own.map((round) => round.load.cpuSeconds / round.load.seconds)) } : {}),
      loaderBusy: median(own.map((round) => round.load.loaderBusy)),
      namenodeConnections: Math.max(...own.map((round) => round.namenodeConnections)),
      errors: own.reduce((sum, round) => sum + round.load.errors, 0),
      firstError: own.find((round) => round.load.firstError !== '')?.load.firstError ?? '',
    });
  }
  return { scenario: scenario.name, meaning: scenario.meaning, variants };
}

function cpuMicros(round: Round): number {
  return (round.load.cpuSeconds * 1e6) / round.load.calls;
}

const HEADINGS = [
  'variant',
  'CPU µs/call',
  'ratio',
  '(range)',
  'target',
  'result',
  'calls/s',
  'p50 µs',
  'p99 µs',
  'proxy busy',
  'NN conns',
  'errors',
];

export function printScenario(summary: ScenarioSummary): string {
  const lines = printTable(HEADINGS, summary.variants.map(rowOf)).split('\n');
  const faults = summary.variants
    .filter((variant) => variant.errors > 0)
    .map((variant) => `  ${variant.variant}: first error: ${variant.firstError}`);
  return [`${summary.scenario}: ${summary.meaning}`, ...lines.map((line) => `  ${line}`), ...faults, ''].join('\n');
}

function rowOf(summary: VariantSummary): string[] {
  const { ratio, target, ratioOfRounds } = summary;
  return [
    summary.variant,
    summary.cpuMicrosPerCall?.toFixed(2) ?? '-',
    ratio?.toFixed(2) ?? '-',
    ratioOfRounds.length > 1 ? `${Math.min(...ratioOfRounds).toFixed(2)}–${Math.max(...ratioOfRounds).toFixed(2)}` : '',
    target === undefined ? '' : `≤ ${target.toFixed(1)}`,
    ratio === undefined || target === undefined ? '' : ratio <= target ? 'reached' : 'missed',
    Math.round(summary.callsPerSecond).toLocaleString('en-US'),
    summary.p50Micros.toFixed(0),
    summary.p99Micros.toFixed(0),
    summary.proxyBusy === undefined ? '-' : `${(summary.proxyBusy * 100).toFixed(0)} %`,
    String(summary.namenodeConnections),
    String(summary.errors),
  ];
}
