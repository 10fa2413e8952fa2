/** Numbers of a bench run: what one round gives, how rounds are summed up, how it is printed. */

import { cpuMicros, findLimit, findShortfall, type Metered, peerBusy } from '../harness/limits.ts';
import type { Variant } from '../harness/proxies.ts';
import { grouped, markdownTable, median, percent, printBeside, printTable, rangeOf } from '../harness/table.ts';
import type { Scenario } from './scenarios.ts';

/** One variant in one round. */
export interface Round extends Metered {
  /** Connections that carried calls to the NameNode. */
  readonly namenodeConnections: number;
}

export interface VariantSummary {
  readonly variant: Variant;
  /** Why calls/s and latencies say nothing about the proxy; '' when they do. CPU per call stands in any case. */
  readonly limit: string;
  /** How much of the asked rate was achieved, when that is too little; '' otherwise. */
  readonly shortfall: string;
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
  /** Since the write of the calls. */
  readonly serviceP50Micros: number;
  readonly serviceP99Micros: number;
  /** Share of its core that the proxy used. */
  readonly proxyBusy?: number;
  readonly loaderBusy: number;
  readonly namenodeBusy: number;
  /** Of the proxy's core, used by others. */
  readonly othersBusy: number;
  readonly namenodeConnections: number;
  readonly errors: number;
  readonly firstError: string;
}

export interface ScenarioSummary {
  readonly scenario: string;
  readonly meaning: string;
  readonly variants: readonly VariantSummary[];
}

/** `rounds` holds as many rounds of every variant, in the order in which they were run. `toolCores`: cores that load and NameNode share. */
export function summarise(
  scenario: Scenario,
  rounds: ReadonlyMap<Variant, readonly Round[]>,
  toolCores: number,
): ScenarioSummary {
  const { name, meaning, ratePerSecond } = scenario;
  const peer = rounds.get('haproxy')?.map(cpuOf);
  const variants: VariantSummary[] = [];
  for (const [variant, own] of rounds) {
    const isProxy = variant !== 'direct';
    const cpu = isProxy ? own.map(cpuOf) : [];
    const ratios = peer === undefined ? [] : cpu.map((value, round) => value / (peer[round] as number));
    const medianOf = (figure: (round: Round) => number): number => median(own.map(figure));
    variants.push({
      variant,
      limit: findLimit(own, { ratePerSecond, toolCores, peerCores: isProxy ? 1 : 0 }),
      shortfall: findShortfall(own, ratePerSecond),
      ...(isProxy ? { cpuMicrosPerCall: median(cpu) } : {}),
      cpuMicrosOfRounds: cpu,
      ...(ratios.length > 0 ? { ratio: median(ratios) } : {}),
      ratioOfRounds: ratios,
      ...(variant === 'ring' || variant === 'inline' ? { target: scenario.target[variant] } : {}),
      callsPerSecond: medianOf((round) => round.driven.callsPerSecond),
      p50Micros: medianOf((round) => round.driven.p50),
      p99Micros: medianOf((round) => round.driven.p99),
      serviceP50Micros: medianOf((round) => round.driven.serviceP50),
      serviceP99Micros: medianOf((round) => round.driven.serviceP99),
      ...(isProxy ? { proxyBusy: medianOf((round) => peerBusy(round.driven)) } : {}),
      loaderBusy: medianOf((round) => round.driven.loaderBusy),
      namenodeBusy: medianOf((round) => round.namenodeBusy),
      othersBusy: medianOf((round) => round.othersBusy),
      namenodeConnections: Math.max(...own.map((round) => round.namenodeConnections)),
      errors: own.reduce((sum, round) => sum + round.driven.errors, 0),
      firstError: own.find((round) => round.driven.firstError !== '')?.driven.firstError ?? '',
    });
  }
  return { scenario: name, meaning, variants };
}

function cpuOf(round: Round): number {
  return cpuMicros(round.driven);
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
  'p50 since write',
  'p99 µs',
  'p99 since write',
  'proxy busy',
  'load busy',
  'NN busy',
  'others',
  'NN conns',
  'errors',
];

export function printScenario(summary: ScenarioSummary): string {
  const lines = printTable(HEADINGS, summary.variants.map(rowOf)).split('\n');
  const notes = notesOf(summary).map((note) => `  ${note}`);
  return [`${summary.scenario}: ${summary.meaning}`, ...lines.map((line) => `  ${line}`), ...notes, ''].join('\n');
}

export function markdownReport(conditions: string, summaries: readonly ScenarioSummary[]): string {
  const parts = [
    '# CPU and latency of the whole path',
    conditions,
    "ratio: CPU per call through HAProxy's of the same round. ( ): the proxy was not the limit, or not alone; CPU per call stands.",
  ];
  for (const summary of summaries) {
    parts.push(`## ${summary.scenario}: ${summary.meaning}`, markdownTable(HEADINGS, summary.variants.map(rowOf)));
    const notes = notesOf(summary).map((note) => `* ${note}`);
    if (notes.length > 0) parts.push(notes.join('\n'));
  }
  return `${parts.join('\n\n')}\n`;
}

/** What a reader must know of single rows. */
function notesOf(summary: ScenarioSummary): string[] {
  return summary.variants.flatMap(({ variant, limit, shortfall, errors, firstError }) => [
    ...(limit === '' ? [] : [`${variant}: ${limit}`]),
    ...(shortfall === '' ? [] : [`${variant}: ${shortfall}`]),
    ...(errors === 0 ? [] : [`${variant}: first error: ${firstError}`]),
  ]);
}

function rowOf(summary: VariantSummary): string[] {
  const { ratio, target, limit } = summary;
  const mark = (text: string): string => (limit === '' ? text : `(${text})`);
  return [
    summary.variant,
    summary.cpuMicrosPerCall?.toFixed(2) ?? '-',
    ratio === undefined ? '-' : printBeside(ratio, target ?? ratio, 2),
    rangeOf(summary.ratioOfRounds),
    target === undefined ? '' : `≤ ${target.toFixed(1)}`,
    ratio === undefined || target === undefined ? '' : ratio <= target ? 'reached' : 'missed',
    mark(grouped(summary.callsPerSecond)),
    mark(summary.p50Micros.toFixed(0)),
    mark(summary.serviceP50Micros.toFixed(0)),
    mark(summary.p99Micros.toFixed(0)),
    mark(summary.serviceP99Micros.toFixed(0)),
    summary.proxyBusy === undefined ? '-' : percent(summary.proxyBusy),
    percent(summary.loaderBusy),
    percent(summary.namenodeBusy),
    percent(summary.othersBusy),
    String(summary.namenodeConnections),
    String(summary.errors),
  ];
}
