import { grouped, markdownTable, median, type PrintTable, printTable } from '../harness/table.ts';

/** One measured load. */
export interface Run {
  readonly name: 'active' | 'observers';
  readonly readsPerSecond: number;
  readonly writesPerSecond: number;
  /** Of reads, from the write, ms. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly errors: number;
  /** Calls that the NameNodes executed, by nn0 (the active), nn1, …, and msyncs among them. */
  readonly executed: readonly number[];
  readonly msyncs: number;
}

/** What the project aims at: reads with two observers beside those of the active alone. */
const MIN_RATIO = 2;
const HEADINGS = ['reads from', 'reads/s', 'writes/s', 'read p50 ms', 'p99 ms', 'executed by', 'msyncs', 'errors'];

/** Median of the rounds' ratios: reads a second with observers by those without. */
export function ratioOf(runs: readonly Run[]): number {
  const alone = runs.filter(({ name }) => name === 'active');
  const both = runs.filter(({ name }) => name === 'observers');
  return median(both.map(({ readsPerSecond }, round) => readsPerSecond / (alone[round]?.readsPerSecond ?? 0)));
}

export function printReport(runs: readonly Run[]): string {
  return `${table(printTable, runs)}\n\n${verdict(runs)}`;
}

export function markdownReport(conditions: string, runs: readonly Run[]): string {
  return `# Reads from observers\n\n${conditions}\n\n${table(markdownTable, runs)}\n\n${verdict(runs)}\n`;
}

function verdict(runs: readonly Run[]): string {
  const ratio = ratioOf(runs);
  const judged = ratio >= MIN_RATIO ? 'reached' : 'missed';
  return `Reads with observers by reads of the active alone: ${ratio.toFixed(2)} (aim ≥ ${MIN_RATIO.toFixed(1)}: ${judged})`;
}

function table(print: PrintTable, runs: readonly Run[]): string {
  return print(
    HEADINGS,
    (['active', 'observers'] as const).map((name) =>
      rowOf(
        name,
        runs.filter((run) => run.name === name),
      ),
    ),
  );
}

function rowOf(name: string, runs: readonly Run[]): string[] {
  const of = (value: (run: Run) => number): number => median(runs.map(value));
  const executed = (runs[0]?.executed ?? []).map((_, i) => grouped(of((run) => run.executed[i] ?? 0)));
  return [
    name === 'active' ? 'the active alone' : 'two observers',
    grouped(of((run) => run.readsPerSecond)),
    grouped(of((run) => run.writesPerSecond)),
    of((run) => run.p50Ms).toFixed(2),
    of((run) => run.p99Ms).toFixed(2),
    executed.join(' / '),
    String(of((run) => run.msyncs)),
    String(of((run) => run.errors)),
  ];
}
