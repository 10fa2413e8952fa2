import { grouped, markdownTable, type PrintTable, printTable, rangeOf } from '../harness/table.ts';
import { printCounts, printStages } from '../pressure/state.ts';
import { ATTACK_MEANINGS } from './attacks.ts';
import type { Figures } from './figures.ts';

/** What the project aims at. */
const MAX_P99_RATIO = 2;

const HEADINGS = [
  'abuse',
  'by',
  'p99 ms without',
  'with',
  'ratio',
  'of the pairs',
  'calls/s without',
  'with',
  'ratio',
  'errors without',
  'with',
  'memory +MB',
  'sockets left',
  'aim',
];

export function printReport(figures: readonly Figures[]): string {
  return sectionsOf(printTable, figures).join('\n\n');
}

export function markdownReport(conditions: string, figures: readonly Figures[]): string {
  return `# Abuse\n\n${conditions}\n\n${sectionsOf(markdownTable, figures).join('\n\n')}\n`;
}

function sectionsOf(print: PrintTable, figures: readonly Figures[]): string[] {
  return [
    `What the others saw\n\n${print(HEADINGS, figures.map(rowOf))}`,
    notesOf(figures).join('\n'),
    ...printStages(
      print,
      figures.map(({ attack, peer, fullest, stagesLeft }) => ({
        name: `${attack}, ${peer}`,
        fullest,
        left: stagesLeft,
      })),
    ),
  ];
}

function rowOf(row: Figures): string[] {
  return [
    row.attack,
    row.peer,
    row.calmP99Ms.toFixed(2),
    row.attackedP99Ms.toFixed(2),
    row.p99Ratio.toFixed(2),
    rangeOf(row.p99Ratios),
    grouped(row.calmThroughput),
    grouped(row.attackedThroughput),
    row.throughputRatio.toFixed(2),
    String(row.calmErrors),
    String(row.errors),
    (row.mostGrownBytes / 1e6).toFixed(1),
    String(row.socketsLeft),
    `≤ ${MAX_P99_RATIO}: ${row.p99Ratio <= MAX_P99_RATIO ? 'reached' : 'missed'}`,
  ];
}

function notesOf(figures: readonly Figures[]): string[] {
  const attacks = [...new Set(figures.map(({ attack }) => attack))];
  return [
    ...attacks.map((attack) => `- ${attack}: ${ATTACK_MEANINGS[attack]}`),
    ...figures.flatMap(({ attack, peer, done, counts, firstError, limitedLegs, pairs }) => [
      `- ${attack}, ${peer}: ${Object.entries(done)
        .map(([what, count]) => `${grouped(count)} ${what}`)
        .join(', ')}`,
      ...printCounts(`${attack}, ${peer}`, counts),
      ...(firstError === ''
        ? []
        : [`- ${attack}, ${peer}: first error of the others: ${firstError.split('\n', 1)[0]}`]),
      ...(limitedLegs > 0
        ? [`- ${attack}, ${peer}: the load tool was the limit in ${limitedLegs} of ${pairs * 2} legs`]
        : []),
    ]),
  ];
}
