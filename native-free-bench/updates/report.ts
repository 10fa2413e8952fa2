import {
  grouped,
  markdownTable,
  type PrintTable,
  percent,
  printBeside,
  printTable,
  rangeOf,
} from '../harness/table.ts';
import type { ForwardingFigures, MemoryFigures, ReachFigures } from './figures.ts';

export interface Figures {
  readonly forwarding: readonly ForwardingFigures[];
  readonly reach: readonly ReachFigures[];
  readonly memory: readonly MemoryFigures[];
}

/** What the project aims at. */
const MAX_P99_RATIO = 1.3;
const MAX_REACH_MS = 1_000;
const MAX_GROWTH = 0.05;

export function printReport(figures: Figures): string {
  return sectionsOf(printTable, figures).join('\n\n');
}

export function markdownReport(conditions: string, figures: Figures): string {
  return `# Changes of the mount table\n\n${conditions}\n\n${sectionsOf(markdownTable, figures).join('\n\n')}\n`;
}

/** Calls or updates have failed: the figures mean nothing. */
export function hasFailures({ forwarding, memory }: Figures): boolean {
  return [...forwarding, ...memory].some(({ errors, failedUpdates }) => errors > 0 || failedUpdates > 0);
}

function sectionsOf(print: PrintTable, { forwarding, reach, memory }: Figures): string[] {
  const sections: string[] = [];
  if (forwarding.length > 0) {
    sections.push(
      print(
        [
          'forwarding',
          'updates/s',
          'p50 ms without',
          'with',
          'ratio',
          'p99 ms without',
          'with',
          'ratio',
          'of the pairs',
          'CPU µs/call without',
          'with',
          'errors',
          'aim',
        ],
        forwarding.map(forwardingRow),
      ),
    );
  }
  if (reach.length > 0) {
    sections.push(
      print(
        ['first routed call of another router', 'adds', 'answer ms', 'median ms', 'p99 ms', 'highest ms', 'aim'],
        reach.map(reachRow),
      ),
    );
  }
  if (memory.length > 0) {
    sections.push(
      print(
        ['resident MB', 'minutes', 'updates/s', 'CPU', 'quarters', 'highest', 'growth', 'errors', 'aim'],
        memory.map(memoryRow),
      ),
    );
  }
  return sections;
}

function forwardingRow(row: ForwardingFigures): string[] {
  const { p50Ms, p99Ms, cpuMicrosPerCall } = row;
  const spoilt = row.spoilt > 0 ? `; the load was the limit in ${row.spoilt}` : '';
  return [
    row.name,
    row.updatesPerSecond.toFixed(0),
    p50Ms[0].toFixed(2),
    p50Ms[1].toFixed(2),
    row.p50Ratio.toFixed(2),
    p99Ms[0].toFixed(2),
    p99Ms[1].toFixed(2),
    printBeside(row.p99Ratio, MAX_P99_RATIO, 2),
    rangeOf(row.p99Ratios),
    cpuMicrosPerCall[0].toFixed(1),
    cpuMicrosPerCall[1].toFixed(1),
    String(row.errors + row.failedUpdates),
    `p99 ≤ ${MAX_P99_RATIO}: ${verdict(row.p99Ratio <= MAX_P99_RATIO)}${spoilt}`,
  ];
}

function reachRow(row: ReachFigures): string[] {
  return [
    row.name,
    grouped(row.count),
    row.answeredMs.toFixed(0),
    row.medianMs.toFixed(0),
    printBeside(row.p99Ms, MAX_REACH_MS, 0),
    row.highestMs.toFixed(0),
    `p99 ≤ ${MAX_REACH_MS} ms: ${verdict(row.p99Ms <= MAX_REACH_MS)}`,
  ];
}

function memoryRow(row: MemoryFigures): string[] {
  return [
    row.name,
    String(row.minutes),
    row.updatesPerSecond.toFixed(0),
    percent(row.cpuShare),
    row.quarterMegabytes.map((megabytes) => megabytes.toFixed(0)).join(', '),
    row.highestMegabytes.toFixed(0),
    `${printBeside(row.growth * 100, MAX_GROWTH * 100, 1)} %`,
    String(row.errors + row.failedUpdates),
    `≤ ${percent(MAX_GROWTH)}: ${verdict(row.growth <= MAX_GROWTH)}`,
  ];
}

function verdict(isReached: boolean): string {
  return isReached ? 'reached' : 'missed';
}
