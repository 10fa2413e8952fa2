/** Numbers of the ablation bench: what the rounds of a load give for each variant, what each optimisation is worth, and the tables. */

import { cpuMicros, findLimit, findShortfall, type Metered, peerBusy } from '../harness/limits.ts';
import { grouped, markdownTable, median, percent, printTable } from '../harness/table.ts';
import { FULL, type Published, type Variant } from './variants.ts';

/** Marks calls a second and latencies that say nothing about the router, or come from a rate that was not achieved. */
const NO_EVIDENCE = '†';

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
  /** Why calls/s and latencies say nothing about the router; '' when they do. CPU per call stands in any case. */
  readonly limit: string;
  /** How much of the asked rate was achieved, when that is too little; '' otherwise. */
  readonly shortfall: string;
  /** Medians of the rounds. */
  readonly callsPerSecond: number;
  readonly cpuMicrosPerCall: number;
  readonly p50Micros: number;
  readonly p99Micros: number;
  /** Since the write of the calls. */
  readonly serviceP99Micros: number;
  /** Share of its core that the router used. */
  readonly busy: number;
  readonly loaderBusy: number;
  readonly namenodeBusy: number;
  /** Of the router's core, used by others. */
  readonly othersBusy: number;
  readonly errors: number;
  readonly firstError: string;
  /** Full router through this variant within each round, median: calls a second, calls per CPU second, p99 since the write. */
  readonly gain: Gain;
  readonly rounds: readonly Metered[];
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

/**
 * `rounds` holds as many rounds of each variant, FULL among them, in the order in which they were run. `toolCores`: cores that load and
 * NameNode share.
 */
export function summariseLoad(
  load: LoadPoint,
  rounds: ReadonlyMap<string, readonly Metered[]>,
  toolCores: number,
): LoadSummary {
  const { ratePerSecond } = load;
  const full = rounds.get(FULL.name) as readonly Metered[];
  const variants = [...rounds].map(([variant, own]): VariantSummary => {
    const medianOf = (figure: (round: Metered) => number): number => median(own.map(figure));
    const gainOf = (figure: (round: Metered) => number): number =>
      median(own.map((round, i) => figure(full[i] as Metered) / figure(round)));
    return {
      variant,
      limit: findLimit(own, { ratePerSecond, toolCores, peerCores: 1 }),
      shortfall: findShortfall(own, ratePerSecond),
      callsPerSecond: medianOf(({ driven }) => driven.callsPerSecond),
      cpuMicrosPerCall: medianOf(({ driven }) => cpuMicros(driven)),
      p50Micros: medianOf(({ driven }) => driven.p50),
      p99Micros: medianOf(({ driven }) => driven.p99),
      serviceP99Micros: medianOf(({ driven }) => driven.serviceP99),
      busy: medianOf(({ driven }) => peerBusy(driven)),
      loaderBusy: medianOf(({ driven }) => driven.loaderBusy),
      namenodeBusy: medianOf((round) => round.namenodeBusy),
      othersBusy: medianOf((round) => round.othersBusy),
      errors: own.reduce((sum, { driven }) => sum + driven.errors, 0),
      firstError: own.find(({ driven }) => driven.firstError !== '')?.driven.firstError ?? '',
      gain: {
        callsPerSecond: gainOf(({ driven }) => driven.callsPerSecond),
        callsPerCpuSecond: gainOf(({ driven }) => 1 / cpuMicros(driven)),
        p99: gainOf(({ driven }) => driven.serviceP99),
      },
      rounds: own,
    };
  });
  return { load, variants };
}

const LOAD_HEADINGS = [
  'variant',
  'calls/s',
  'CPU µs/call',
  'of full',
  'p50 µs',
  'p99 µs',
  'p99 since write',
  'router busy',
  'load busy',
  'NN busy',
  'others',
  'errors',
];

export function printLoad(summary: LoadSummary): string {
  const table = printTable(LOAD_HEADINGS, loadRows(summary)).split('\n');
  const notes = notesOf(summary).map((note) => `  ${note}`);
  return [`${summary.load.name}: ${summary.load.meaning}`, ...table.map((line) => `  ${line}`), ...notes, ''].join(
    '\n',
  );
}

function loadRows({ variants }: LoadSummary): string[][] {
  return variants.map((variant) => {
    const mark = markOf(variant);
    return [
      variant.variant,
      grouped(variant.callsPerSecond) + mark,
      variant.cpuMicrosPerCall.toFixed(2),
      variant.gain.callsPerCpuSecond.toFixed(2),
      variant.p50Micros.toFixed(0) + mark,
      variant.p99Micros.toFixed(0) + mark,
      variant.serviceP99Micros.toFixed(0) + mark,
      percent(variant.busy),
      percent(variant.loaderBusy),
      percent(variant.namenodeBusy),
      percent(variant.othersBusy),
      String(variant.errors),
    ];
  });
}

function markOf({ limit, shortfall }: VariantSummary): string {
  return limit === '' && shortfall === '' ? '' : NO_EVIDENCE;
}

/** What a reader must know of single rows. */
function notesOf({ variants }: LoadSummary): string[] {
  return variants.flatMap(({ variant, limit, shortfall, errors, firstError }) => [
    ...(limit === '' ? [] : [`${variant}: ${limit}`]),
    ...(shortfall === '' ? [] : [`${variant}: ${shortfall}`]),
    ...(errors === 0 ? [] : [`${variant}: first error: ${firstError}`]),
  ]);
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
      // A mark on either side is one on the change between them.
      const mark = markOf(own) || markOf(fullSummary);
      if (load.ratePerSecond > 0) row.push(change(own.gain.p99) + mark);
      else row.push(change(own.gain.callsPerSecond) + mark, change(own.gain.callsPerCpuSecond));
    }
    return [...row, ...publishedCells(variant.published)];
  });
  return { headings, rows };
}

function publishedCells(published: Published | null): string[] {
  if (published === null) return ['–', '–', '–'];
  return [published.step, change(1 + published.throughput / 100), change(1 + published.p99 / 100)];
}

/** A factor as a change: 1.25 is +25 %. */
function change(factor: number): string {
  const hundredths = Math.round((factor - 1) * 100);
  return `${hundredths < 0 ? '−' : '+'}${Math.abs(hundredths)} %`;
}

export const GAIN_NOTES: readonly string[] = [
  'Change of the full router against the one without the optimisation, within each round, median. capacity: calls per CPU second of the whole router. p99: from the write of the calls.',
  `${NO_EVIDENCE} the router was not the limit, or not alone, or did not achieve the rate: only capacity counts. The lines below each load say why.`,
  'Published: what a published optimisation of the Java Router reported for its own steps, on its own machines and load; serialization is one step for scan and reply, handlers one for message and inline.',
];

export function markdownReport(title: string, variants: readonly Variant[], loads: readonly LoadSummary[]): string {
  const { headings, rows } = gainTable(variants, loads);
  const parts = [`# ${title}`, '', markdownTable(headings, rows), '', ...GAIN_NOTES.map((note) => `- ${note}`)];
  for (const summary of loads) {
    parts.push('', `## ${summary.load.name}`, '', `${summary.load.meaning}.`, '');
    parts.push(markdownTable(LOAD_HEADINGS, loadRows(summary)));
    const notes = notesOf(summary).map((note) => `- ${note}`);
    if (notes.length > 0) parts.push('', ...notes);
  }
  return `${parts.join('\n')}\n`;
}
