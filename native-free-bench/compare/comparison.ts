/** Baseline and fresh figures of one bench side by side, as a table. */

import type { PrintTable } from '../harness/table.ts';
import type { BenchFigures, Figure } from './figures.ts';

/** A table of the baseline alone, beside its peers. */
export function printBaseline(baseline: BenchFigures, table: PrintTable): string {
  const peers = peersOf(baseline.figures);
  const rows = baseline.figures.map((figure) => [
    figure.row,
    figure.unit,
    round(figure.value),
    ...peers.map((peer) => ratio(figure.ofPeers[peer])),
  ]);
  return table(['measured', 'unit', 'baseline', ...peers.map((peer) => `/ ${peer}`)], rows);
}

/** Figures of both, and those that one of them lacks. */
export function printComparison(baseline: BenchFigures, fresh: BenchFigures, table: PrintTable): string {
  const peers = peersOf([...baseline.figures, ...fresh.figures]);
  const freshByKey = new Map(fresh.figures.map((figure) => [keyOf(figure), figure]));
  const baselineKeys = new Set(baseline.figures.map(keyOf));
  const rows = baseline.figures.map((figure) => rowOf(figure, freshByKey.get(keyOf(figure)), peers));
  for (const figure of fresh.figures) if (!baselineKeys.has(keyOf(figure))) rows.push(rowOf(undefined, figure, peers));
  const headings = ['measured', 'unit', 'baseline', 'fresh', 'fresh / baseline'];
  return table([...headings, ...peers.flatMap((peer) => [`baseline / ${peer}`, `fresh / ${peer}`])], rows);
}

/** What is not in the table, and why; nothing when all is. `run`: baseline or fresh. */
export function describeLeftOut(run: string, { leftOut, failures }: BenchFigures): string[] {
  const lines = failures.map((failure) => `${run}: not measured: ${failure}`);
  if (leftOut.length === 0) return lines;
  const rows = leftOut.join(', ');
  return [
    ...lines,
    `${run}: without calls/s and latencies, for not (or not alone) the limit of their load were: ${rows}`,
  ];
}

function rowOf(before: Figure | undefined, now: Figure | undefined, peers: readonly string[]): string[] {
  const known = (before ?? now) as Figure;
  return [
    known.row,
    known.unit,
    before === undefined ? '-' : round(before.value),
    now === undefined ? '-' : round(now.value),
    before === undefined || now === undefined || before.value === 0 ? '-' : ratio(now.value / before.value),
    ...peers.flatMap((peer) => [ratio(before?.ofPeers[peer]), ratio(now?.ofPeers[peer])]),
  ];
}

function peersOf(figures: readonly Figure[]): string[] {
  return [...new Set(figures.flatMap((figure) => Object.keys(figure.ofPeers)))];
}

function keyOf(figure: Figure): string {
  return `${figure.row}\n${figure.unit}`;
}

function ratio(value: number | undefined): string {
  return value === undefined ? '-' : value.toPrecision(3).replace(/e\+?(-?\d+)$/, ' · 10^$1');
}

function round(value: number): string {
  return value >= 1000 ? Math.round(value).toLocaleString('en-US') : String(Number(value.toPrecision(4)));
}
