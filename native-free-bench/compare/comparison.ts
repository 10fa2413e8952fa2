/** Baseline and fresh figures of one bench side by side, as a table and what must be known to read it. */

import type { PrintTable } from '../scale/report.ts';
import type { BenchFigures, Conditions, Figure } from './figures.ts';

const CONDITION_NAMES: Readonly<Record<keyof Conditions, string>> = {
  processor: 'processor',
  cores: 'number of cores',
  kernel: 'kernel',
  node: 'Node',
  handoff: 'hand-off',
};

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

/** A line for each condition that the two runs do not share, and one that says what that means. */
export function describeDifferences(baseline: Conditions, fresh: Conditions): string[] {
  const lines: string[] = [];
  for (const name of Object.keys(CONDITION_NAMES) as (keyof Conditions)[]) {
    const before = baseline[name];
    const now = fresh[name];
    if (before === now) continue;
    lines.push(`different ${CONDITION_NAMES[name]}: baseline ${before || 'not named'}, fresh ${now || 'not named'}`);
  }
  if (lines.length > 0)
    lines.push('so "fresh / baseline" compares two conditions too; ratios to peers of the same run suffer less');
  return lines;
}

export function describeConditions(conditions: Conditions): string {
  const { processor, cores, kernel, node, handoff } = conditions;
  const parts = [
    processor || 'processor not named',
    cores === '' ? '' : `${cores} cores`,
    kernel === '' ? '' : `Linux ${kernel}`,
    `Node ${node || 'not named'}`,
    handoff === '' ? '' : `hand-off ${handoff}`,
  ];
  return parts.filter((part) => part !== '').join(', ');
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
