/** Numbers of the ablation bench: what the rounds of a load give for each variant, what each optimisation is worth, and the tables. */

import type { Driven } from '../harness/drive.ts';
import { markdownTable, median, printTable } from '../harness/table.ts';
import { FULL, type Published, type Variant } from './variants.ts';

/** Below this share of its core the router was not the limit: its calls a second say more about loader and stub. */
const BUSY_SHARE = 0.9;
/** Marks such numbers in the tables. */
const NOT_THE_LIMIT = '†';

export interface LoadPoint {
  readonly name: string;
  readonly meaning: string;
  readonly connections: number;
  readonly inFlight: number;
  /** 0: closed loop. */
  readonly ratePerSecond: number;
}

export interface VariantSummary {
  readonly variant: string;
  /** Medians of the rounds. */
  readonly callsPerSecond: number;
  readonly cpuMicrosPerCall: number;
  readonly p50Micros: number;
  readonly p99Micros: number;
  /** Share of its core that the router used. */
  readonly busy: number;
  readonly errors: number;
  readonly firstError: string;
  /** Full router through this variant within each round, median: calls a second, calls per CPU second, p99. */
  readonly gain: Gain;
  readonly rounds: readonly Driven[];
}

/** What the full router has of each, as a multiple of the variant's. */
export interface Gain {
  readonly callsPerSecond: number;
  readonly callsPerCpuSecond: number;
  readonly p99: number;
}

export interface LoadSummary {
  readonly load: LoadPoint;
  readonly variants: readonly VariantSummary[];
}

/** `rounds` holds as many rounds of each variant, FULL among them, in the order in which they were run. */
export function summariseLoad(load: LoadPoint, rounds: ReadonlyMap<string, readonly Driven[]>): LoadSummary {
  const full = rounds.get(FULL.name) as readonly Driven[];
  const variants = [...rounds].map(([variant, own]): VariantSummary => {
    const gainOf = (value: (round: Driven) => number): number =>
      median(own.map((round, i) => value(full[i] as Driven) / value(round)));
    return {
      variant,
      callsPerSecond: median(own.map((round) => round.callsPerSecond)),
      cpuMicrosPerCall: median(own.map(cpuMicros)),
      p50Micros: median(own.map((round) => round.p50)),
      p99Micros: median(own.map((round) => round.p99)),
      busy: median(own.map((round) => round.cpuSeconds / round.seconds)),
      errors: own.reduce((sum, round) => sum + round.errors, 0),
      firstError: own.find((round) => round.firstError !== '')?.firstError ?? '',
      gain: {
        callsPerSecond: gainOf((round) => round.callsPerSecond),
        callsPerCpuSecond: gainOf((round) => 1 / cpuMicros(round)),
        p99: gainOf((round) => round.p99),
      },
      rounds: own,
    };
  });
  return { load, variants };
}

function cpuMicros(round: Driven): number {
  return (round.cpuSeconds * 1e6) / round.calls;
}

const LOAD_HEADINGS = ['variant', 'calls/s', 'CPU µs/call', 'of full', 'p50 µs', 'p99 µs', 'router busy', 'errors'];

export function printLoad(summary: LoadSummary): string {
  const table = printTable(LOAD_HEADINGS, loadRows(summary)).split('\n');
  const faults = summary.variants
    .filter((variant) => variant.errors > 0)
    .map((variant) => `  ${variant.variant}: first error: ${variant.firstError}`);
  return [`${summary.load.name}: ${summary.load.meaning}`, ...table.map((line) => `  ${line}`), ...faults, ''].join(
    '\n',
  );
}

function loadRows({ load, variants }: LoadSummary): string[][] {
  return variants.map((variant) => [
    variant.variant,
    Math.round(variant.callsPerSecond).toLocaleString('en-US') + markOf(load, variant),
    variant.cpuMicrosPerCall.toFixed(2),
    variant.gain.callsPerCpuSecond.toFixed(2),
    variant.p50Micros.toFixed(0),
    variant.p99Micros.toFixed(0),
    `${(variant.busy * 100).toFixed(0)} %`,
    String(variant.errors),
  ]);
}

function markOf(load: LoadPoint, variant: VariantSummary): string {
  return load.ratePerSecond === 0 && variant.busy < BUSY_SHARE ? NOT_THE_LIMIT : '';
}

/** One row for each variant: what its optimisation gives the router, and what the publication reported. */
export function gainTable(
  variants: readonly Variant[],
  loads: readonly LoadSummary[],
): { headings: string[]; rows: string[][] } {
  const headings = ['optimisation', 'without it'];
  for (const { load } of loads) {
    headings.push(
      ...(load.ratePerSecond > 0 ? [`${load.name} p99`] : [`${load.name} calls/s`, `${load.name} capacity`]),
    );
  }
  headings.push('published step', 'throughput', 'p99');
  const rows = variants.map((variant) => {
    const row = [variant.name, variant.instead];
    for (const { load, variants: summaries } of loads) {
      const own = summaries.find((summary) => summary.variant === variant.name) as VariantSummary;
      const fullSummary = summaries.find((summary) => summary.variant === FULL.name) as VariantSummary;
      if (load.ratePerSecond > 0) row.push(percent(own.gain.p99));
      else {
        // Capped by loader or stub on either side, the two are nearer to each other than the routers are.
        const mark = markOf(load, own) || markOf(load, fullSummary);
        row.push(percent(own.gain.callsPerSecond) + mark, percent(own.gain.callsPerCpuSecond));
      }
    }
    return [...row, ...publishedCells(variant.published)];
  });
  return { headings, rows };
}

function publishedCells(published: Published | null): string[] {
  if (published === null) return ['–', '–', '–'];
  return [published.step, percent(1 + published.throughput / 100), percent(1 + published.p99 / 100)];
}

/** A factor as a change: 1.25 is +25 %. */
function percent(factor: number): string {
  const change = Math.round((factor - 1) * 100);
  return `${change < 0 ? '−' : '+'}${Math.abs(change)} %`;
}

export const GAIN_NOTES: readonly string[] = [
  'Change of the full router against the one without the optimisation, within each round, median. capacity: calls per CPU second of the whole router.',
  `${NOT_THE_LIMIT} the router was busy for less than ${BUSY_SHARE * 100} % of its core: loader or stub were the limit, only capacity counts.`,
  'Published: what a published optimisation of the Java Router reported for its own steps, on its own machines and load; serialization is one step for scan and reply, handlers one for message and inline.',
];

export function markdownReport(title: string, variants: readonly Variant[], loads: readonly LoadSummary[]): string {
  const { headings, rows } = gainTable(variants, loads);
  const parts = [`# ${title}`, '', markdownTable(headings, rows), '', ...GAIN_NOTES.map((note) => `- ${note}`)];
  for (const summary of loads) {
    parts.push('', `## ${summary.load.name}`, '', `${summary.load.meaning}.`, '');
    parts.push(markdownTable(LOAD_HEADINGS, loadRows(summary)));
  }
  return `${parts.join('\n')}\n`;
}
